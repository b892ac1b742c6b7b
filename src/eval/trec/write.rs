//! Writing run files and qrels, so that every other reader gets back what was meant.
//!
//! An id that holds a blank, or a question id that begins with `#`, cannot be written in these
//! formats: it is refused, never changed.

use std::fmt::Write as _;
use std::path::Path;

use crate::error::{Error, Result};

use super::{Qrels, Run};

/// Writes a run file; see [`format_run`].
pub fn write_run(path: &Path, run: &Run) -> Result<()> {
    write(path, &format_run(run)?)
}

/// Writes a qrels file; see [`format_qrels`].
pub fn write_qrels(path: &Path, qrels: &Qrels) -> Result<()> {
    write(path, &format_qrels(qrels)?)
}

/// The run in six columns, questions in byte order, results in the order held, ranks from 1.
///
/// Scores are written with as many digits as it takes to read the same number back. Where
/// [`Run::reordered`] is not 0, trec_eval will take another order than the one written.
pub fn format_run(run: &Run) -> Result<String> {
    let tag = writable("the run's tag", run.tag())?;
    let mut text = String::new();
    for (question, results) in run.questions() {
        let question = writable_question(question)?;
        for (index, (unit, score)) in results.iter().enumerate() {
            let unit = writable("unit id", unit)?;
            line(&mut text, format_args!("{question} Q0 {unit} {} {score} {tag}", index + 1));
        }
    }
    Ok(text)
}

/// The judgments in four columns, questions and units in byte order.
pub fn format_qrels(qrels: &Qrels) -> Result<String> {
    let mut text = String::new();
    for (question, grades) in qrels.questions() {
        let question = writable_question(question)?;
        for (unit, grade) in grades {
            let unit = writable("unit id", unit)?;
            line(&mut text, format_args!("{question} 0 {unit} {grade}"));
        }
    }
    Ok(text)
}

fn write(path: &Path, text: &str) -> Result<()> {
    std::fs::write(path, text).map_err(|source| Error::io("writing", path, source))
}

fn line(text: &mut String, columns: std::fmt::Arguments<'_>) {
    // Writing to a string cannot fail.
    let _ = writeln!(text, "{columns}");
}

fn writable_question(id: &str) -> Result<&str> {
    if id.starts_with('#') {
        let expected = "an id that does not begin with `#`, which trec_eval 10 reads as a comment";
        return Err(Error::invalid("question id", format!("`{id}`"), expected));
    }
    writable("question id", id)
}

fn writable<'a>(what: &str, id: &'a str) -> Result<&'a str> {
    let odd = |c: char| c.is_whitespace() || c.is_control() || c == '\u{feff}';
    if id.is_empty() || id.contains(odd) {
        let expected = "an id without blanks, because the columns of TREC files are parted by them";
        return Err(Error::invalid(what, format!("`{}`", id.escape_debug()), expected));
    }
    Ok(id)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::eval::trec::{Columns, parse_qrels, parse_run};
    use proptest::prelude::*;

    #[test]
    fn what_is_written_is_six_and_four_columns() {
        let mut run = Run::new("atlas");
        run.add("10", vec![("b".into(), 3.0 / 7.0), ("a".into(), 3.0 / 7.0)]).unwrap();
        run.add("2", vec![("a".into(), 1e-7)]).unwrap();
        let expected = "10 Q0 b 1 0.42857142857142855 atlas\n\
                        10 Q0 a 2 0.42857142857142855 atlas\n\
                        2 Q0 a 1 0.0000001 atlas\n";
        assert_eq!(format_run(&run).unwrap(), expected);
        let mut qrels = Qrels::default();
        qrels.add("2", "b", -1).unwrap();
        qrels.add("2", "a", 3).unwrap();
        assert_eq!(format_qrels(&qrels).unwrap(), "2 0 a 3\n2 0 b -1\n");
    }

    #[test]
    fn ids_that_cannot_be_written_are_refused() {
        for unit in ["Geneva Durben", "a\tb", "a\u{a0}b", "", "a\n"] {
            let mut run = Run::new("atlas");
            run.add("1", vec![(unit.to_owned(), 1.0)]).unwrap();
            let fault = format_run(&run).unwrap_err().to_string();
            assert!(fault.starts_with("unit id is `"), "{fault}");
        }
        let mut run = Run::new("atlas");
        run.add("#1", Vec::new()).unwrap();
        let fault = format_run(&run).unwrap_err().to_string();
        assert!(fault.contains("trec_eval 10 reads as a comment"), "{fault}");
        assert!(format_run(&Run::new("two words")).is_err());
        let mut qrels = Qrels::default();
        qrels.add("a b", "c", 1).unwrap();
        assert!(format_qrels(&qrels).is_err());
    }

    proptest! {
        #[test]
        fn a_run_and_its_judgments_come_back(
            rows in prop::collection::btree_map(("[0-9a-zé-]{1,4}", "[!-~]{1,5}"), any::<f64>(), 0..20),
            grade in any::<i32>(),
        ) {
            let mut run = Run::new("t");
            let mut qrels = Qrels::default();
            let mut results: std::collections::BTreeMap<&str, Vec<(String, f64)>> = Default::default();
            for ((question, unit), score) in &rows {
                let score = if score.is_finite() { *score } else { 0.0 };
                results.entry(question).or_default().push((unit.clone(), score));
                qrels.add(question.as_str(), unit.as_str(), grade).unwrap();
            }
            for (question, results) in results {
                run.add(question, results).unwrap();
            }
            let path = Path::new("x");
            let text = format_run(&run).unwrap();
            let back = parse_run(path, text.as_bytes(), Columns::Six).unwrap();
            if !rows.is_empty() {
                prop_assert_eq!(back, run);
            }
            let text = format_qrels(&qrels).unwrap();
            prop_assert_eq!(parse_qrels(path, text.as_bytes()).unwrap(), qrels);
        }
    }
}
