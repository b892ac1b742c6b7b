//! Reading run files and qrels.
//!
//! Tolerated: tabs and runs of blanks between columns, blank lines, CRLF, a missing final newline, a
//! byte-order mark. Refused, with file and line: a wrong number of columns, a score that is not a
//! finite number, a grade that is not a whole one, a unit given twice, bytes that are not UTF-8, and
//! a question id that begins with `#`, which trec_eval 10 drops as a comment without a word.

use std::collections::BTreeMap;
use std::path::Path;

use crate::error::{Error, Result};

use super::{Qrels, Run};

/// How many columns a line of a run file may have.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Columns {
    /// Six: question, Q0, unit, rank, score, tag.
    #[default]
    Six,
    /// Six, and anything after them, which is not looked at, as in trec_eval.
    SixOrMore,
}

/// Reads a run file; see [`parse_run`].
pub fn read_run(path: &Path, columns: Columns) -> Result<Run> {
    parse_run(path, &read(path)?, columns)
}

/// Reads a qrels file; see [`parse_qrels`].
pub fn read_qrels(path: &Path) -> Result<Qrels> {
    parse_qrels(path, &read(path)?)
}

/// Reads a qrels file in BEIR's form; see [`parse_beir_qrels`].
pub fn read_beir_qrels(path: &Path) -> Result<Qrels> {
    parse_beir_qrels(path, &read(path)?)
}

/// A run in six columns: question, Q0 (not looked at), unit, rank (not looked at), score, tag.
///
/// The results of a question keep the order written; the tag is the first line's. `path` is for
/// messages.
pub fn parse_run(path: &Path, bytes: &[u8], columns: Columns) -> Result<Run> {
    let help = "a run line is `question Q0 unit rank score tag`";
    let mut tag = None;
    let mut questions: BTreeMap<&str, Vec<(String, f64)>> = BTreeMap::new();
    let mut lines = Once::new(path, "result");
    for (line, text) in content(path, bytes)? {
        no_comment(path, line, text)?;
        let parts: Vec<&str> = text.split_ascii_whitespace().collect();
        let (&[question, _, unit, _, score, name], []) = split(&parts, columns) else {
            return Err(columns_fault(path, line, "6 columns", parts.len(), help));
        };
        let score =
            score.parse::<f64>().ok().filter(|score| score.is_finite()).ok_or_else(|| {
                let problem = format!("expected a finite number as the score, found `{score}`");
                Error::input(path, Some(line), problem, help)
            })?;
        lines.first(question, unit, line)?;
        tag.get_or_insert(name);
        questions.entry(question).or_default().push((unit.to_owned(), score));
    }
    let mut run = Run::new(tag.unwrap_or_default());
    for (question, results) in questions {
        run.add(question, results)?;
    }
    Ok(run)
}

/// Judgments in four columns: question, iteration (not looked at), unit, grade.
///
/// `path` is for messages.
pub fn parse_qrels(path: &Path, bytes: &[u8]) -> Result<Qrels> {
    let help = "a qrels line is `question 0 unit grade`";
    let mut qrels = Qrels::default();
    let mut lines = Once::new(path, "judgment");
    for (line, text) in content(path, bytes)? {
        no_comment(path, line, text)?;
        let parts: Vec<&str> = text.split_ascii_whitespace().collect();
        let &[question, _, unit, grade] = parts.as_slice() else {
            return Err(columns_fault(path, line, "4 columns", parts.len(), help));
        };
        let grade = whole(path, line, grade, help)?;
        lines.first(question, unit, line)?;
        qrels.add(question, unit, grade)?;
    }
    Ok(qrels)
}

/// Judgments as BEIR has them: the header `query-id`, `corpus-id`, `score`, then a line for each,
/// with one tab between columns, so that ids may hold blanks.
///
/// `path` is for messages.
pub fn parse_beir_qrels(path: &Path, bytes: &[u8]) -> Result<Qrels> {
    const HEADER: &str = "query-id\tcorpus-id\tscore";
    let help = "a line is `question<tab>unit<tab>grade`";
    let mut qrels = Qrels::default();
    let mut once = Once::new(path, "judgment");
    let mut lines = content(path, bytes)?;
    if lines.next().is_none_or(|(_, text)| text.trim_end() != HEADER) {
        let problem = "expected the header `query-id<tab>corpus-id<tab>score`";
        let help = "add the header, or read the file as four-column qrels";
        return Err(Error::input(path, Some(1), problem, help));
    }
    for (line, text) in lines {
        let parts: Vec<&str> = text.split('\t').map(str::trim).collect();
        let &[question, unit, grade] = parts.as_slice() else {
            return Err(columns_fault(
                path,
                line,
                "3 columns, separated by tabs",
                parts.len(),
                help,
            ));
        };
        if question.is_empty() || unit.is_empty() {
            let problem = "expected a question id and a unit id, found an empty one";
            return Err(Error::input(path, Some(line), problem, help));
        }
        let grade = whole(path, line, grade, help)?;
        once.first(question, unit, line)?;
        qrels.add(question, unit, grade)?;
    }
    Ok(qrels)
}

fn read(path: &Path) -> Result<Vec<u8>> {
    std::fs::read(path).map_err(|source| Error::io("reading", path, source))
}

/// The lines that hold anything, counted from 1 in the file.
fn content<'a>(
    path: &Path,
    bytes: &'a [u8],
) -> Result<impl Iterator<Item = (u64, &'a str)> + use<'a>> {
    let bytes = bytes.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(bytes);
    let text = std::str::from_utf8(bytes).map_err(|fault| {
        let before = bytes.get(..fault.valid_up_to()).unwrap_or_default();
        let line = 1 + before.iter().filter(|byte| **byte == b'\n').count() as u64;
        Error::input(path, Some(line), "expected UTF-8, found other bytes", "save it as UTF-8")
    })?;
    Ok((1_u64..).zip(text.lines()).filter(|(_, text)| !text.trim().is_empty()))
}

/// The first six parts, and those after them that the setting does not allow.
fn split<'a, 'b>(parts: &'b [&'a str], columns: Columns) -> (&'b [&'a str], &'b [&'a str]) {
    let (six, more) = parts.split_at(parts.len().min(6));
    (six, if columns == Columns::Six { more } else { &[] })
}

fn columns_fault(path: &Path, line: u64, expected: &str, found: usize, help: &str) -> Error {
    Error::input(path, Some(line), format!("expected {expected}, found {found}"), help)
}

/// Refuses a line that other readers would drop as a comment.
fn no_comment(path: &Path, line: u64, text: &str) -> Result<()> {
    if text.trim_start().starts_with('#') {
        let problem = "expected a question id, found `#`, which trec_eval 10 takes for a comment";
        let help = "remove the comment, or rename the question";
        return Err(Error::input(path, Some(line), problem, help));
    }
    Ok(())
}

fn whole(path: &Path, line: u64, grade: &str, help: &str) -> Result<i32> {
    grade.parse().map_err(|_| {
        let problem = format!("expected a whole number as the grade, found `{grade}`");
        Error::input(path, Some(line), problem, help)
    })
}

/// The line on which each unit of a question was first given.
struct Once<'a> {
    path: &'a Path,
    what: &'static str,
    seen: BTreeMap<String, BTreeMap<String, u64>>,
}

impl<'a> Once<'a> {
    fn new(path: &'a Path, what: &'static str) -> Self {
        Self { path, what, seen: BTreeMap::new() }
    }

    /// Notes the line, and refuses a unit given before.
    fn first(&mut self, question: &str, unit: &str, line: u64) -> Result<()> {
        if !self.seen.contains_key(question) {
            self.seen.insert(question.to_owned(), BTreeMap::new());
        }
        let units = self.seen.entry(question.to_owned()).or_default();
        if let Some(before) = units.insert(unit.to_owned(), line) {
            let problem = format!(
                "second {} of `{unit}` for question `{question}`, after line {before}",
                self.what
            );
            return Err(Error::input(self.path, Some(line), problem, "keep one of them"));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn run(text: &str) -> Result<Run> {
        parse_run(Path::new("a.run"), text.as_bytes(), Columns::Six)
    }

    fn said<T: std::fmt::Debug>(result: Result<T>) -> String {
        result.unwrap_err().to_string()
    }

    #[test]
    fn blanks_line_ends_and_marks_do_not_matter() {
        let plain = run("1 Q0 a 1 2.5 tag\n1 Q0 b 2 1e-3 tag\n").unwrap();
        let odd = run("\u{feff}1\tQ0\t a  9   2.5 tag\r\n\r\n  1 Q0 b x 0.001 other \t").unwrap();
        assert_eq!(plain, odd);
        assert_eq!(plain.tag(), "tag");
        assert_eq!(plain.ranking("1"), ["a", "b"]);
        assert_eq!(run("").unwrap().questions().count(), 0);
        let qrels =
            parse_qrels(Path::new("q"), "\u{feff}1 0\ta  -1\r\n2 0 a 3".as_bytes()).unwrap();
        assert_eq!(qrels.questions().count(), 2);
    }

    #[test]
    fn ids_that_look_like_numbers_stay_strings() {
        let run = run("2 Q0 007 1 1 t\n10 Q0 7 1 1 t\n02 Q0 7.0 1 1 t").unwrap();
        let ids: Vec<&str> = run.questions().map(|(question, _)| question).collect();
        assert_eq!(ids, ["02", "10", "2"]);
        assert_eq!(run.ranking("2"), ["007"]);
    }

    #[test]
    fn faults_name_file_and_line() {
        let help = "; a run line is `question Q0 unit rank score tag`";
        assert_eq!(
            said(run("1 Q0 a 1 2 t\n1 Q0 b 2 2")),
            format!("a.run:2: expected 6 columns, found 5{help}")
        );
        assert_eq!(
            said(run("1 Q0 a 1 2 t u")),
            format!("a.run:1: expected 6 columns, found 7{help}")
        );
        for score in ["nan", "inf", "-inf", "1e999", "two", "0x1"] {
            let expected =
                format!("a.run:3: expected a finite number as the score, found `{score}`{help}");
            assert_eq!(said(run(&format!("\n\n1 Q0 a 1 {score} t"))), expected);
        }
        assert_eq!(
            said(run("1 Q0 a 1 2 t\n2 Q0 a 1 2 t\n1 Q0 a 2 1 t")),
            "a.run:3: second result of `a` for question `1`, after line 1; keep one of them"
        );
        assert_eq!(
            said(run("# a comment\n")),
            "a.run:1: expected a question id, found `#`, which trec_eval 10 takes for a comment; \
             remove the comment, or rename the question"
        );
        let bytes = parse_run(Path::new("a.run"), b"1 Q0 a 1 2 t\n\xff\n", Columns::Six);
        assert!(said(bytes).starts_with("a.run:2: expected UTF-8"));
        let qrels = |text: &str| parse_qrels(Path::new("q"), text.as_bytes());
        assert!(said(qrels("1 0 a 1.0")).starts_with("q:1: expected a whole number as the grade"));
        assert!(said(qrels("1 0 a")).starts_with("q:1: expected 4 columns, found 3"));
        assert!(said(qrels("1 0 a 1\n1 1 a 0")).starts_with("q:2: second judgment of `a`"));
        assert!(
            said(read_run(Path::new("/no/such"), Columns::Six)).starts_with("reading /no/such")
        );
    }

    #[test]
    fn more_columns_are_let_through_when_asked_for() {
        let text = b"1 Q0 a 1 2 t and more words\n";
        let run = parse_run(Path::new("a.run"), text, Columns::SixOrMore).unwrap();
        assert_eq!((run.tag(), run.ranking("1")), ("t", vec!["a"]));
    }

    #[test]
    fn beir_columns_are_parted_by_tabs() {
        let beir = |text: &str| parse_beir_qrels(Path::new("test.tsv"), text.as_bytes());
        let qrels = beir("query-id\tcorpus-id\tscore\r\n10\tGeneva Durben\t2\r\n").unwrap();
        let judgments = qrels.judgments("10", 1).unwrap();
        assert_eq!(judgments.grades().get("Geneva Durben"), Some(&2));
        assert!(qrels.judgments("11", 1).is_none());
        assert!(said(beir("10\ta\t2\n")).starts_with("test.tsv:1: expected the header"));
        assert!(said(beir("")).starts_with("test.tsv:1: expected the header"));
        assert!(said(beir("query-id\tcorpus-id\tscore\n1 a 1\n")).contains("found 1"));
        assert!(said(beir("query-id\tcorpus-id\tscore\n\ta\t1\n")).contains("found an empty one"));
    }

    proptest! {
        #[test]
        fn no_bytes_make_the_readers_panic(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            let path = Path::new("x");
            let _ = parse_run(path, &bytes, Columns::SixOrMore);
            let _ = parse_qrels(path, &bytes);
            let _ = parse_beir_qrels(path, &bytes);
        }
    }
}
