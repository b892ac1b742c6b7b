//! Blocks that searches bring and nobody has judged: a worklist for a person, out and in.
//!
//! On a corpus that grows, the block that nobody judged is often right, and it counts as wrong. The list
//! pools what any setting brings, so that a grade is worth something whatever is chosen later.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::sync::Arc;

use serde::Serialize;

use super::judgments::Standing;
use super::labels::unit_hash;
use super::measurement::{Options, request};
use super::noise::{Evidence, Relation};
use super::questions::{Question, QuestionSet};
use super::sheet::{self, quoted};
use super::sweep::Knob;
use super::units::Units;
use crate::access::Scope;
use crate::error::{Error, Result};
use crate::search::{Mode, Outcome, Searcher};

/// Columns of the sheet, in order.
pub const COLUMNS: [&str; 12] = [
    "question", "block", "lists", "of", "place", "relation", "asked", "document", "text", "hash",
    "grade", "remark",
];

/// The highest grade that a sheet may give.
pub const GRADE_MAX: i32 = 3;

/// Characters of a block that the sheet shows.
const TEXT_CHARS: usize = 600;

/// A block that some setting brings for a question, and that nobody has judged for it.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Unjudged {
    /// The question's id.
    pub question: String,
    /// The block.
    pub block: String,
    /// Lists that have it among their first.
    pub lists: usize,
    /// Lists in all: both legs, and the ranking at every value of the swept weights.
    pub of: usize,
    /// Its best place in any of them, from 1.
    pub place: usize,
    /// Its relation to the evidence.
    pub relation: Relation,
    /// The question.
    pub asked: String,
    /// The title of its document.
    pub document: String,
    /// Its text, cut.
    pub text: String,
    /// The hash of its text, so that a grade is of that text and of no other.
    pub hash: String,
}

/// The pool of every scored question of `set`: the first `depth` blocks of both legs and of the ranking
/// at every value of `alpha` and `rrf_k` that a sweep tries, less those that are judged. What most lists
/// have comes first, ties by place, question and block.
///
/// Minimum and window only cut a ranking, so they add nothing to the pool.
pub fn worklist(
    searcher: &Searcher,
    set: &QuestionSet,
    depth: usize,
    scope_of: &dyn Fn(&Question) -> Result<Scope>,
) -> Result<Vec<Unjudged>> {
    let (index, settings) = (searcher.index(), searcher.settings());
    let mut searchers = Vec::new();
    for knob in [Knob::Alpha, Knob::RrfK] {
        for value in knob.fixed_values() {
            searchers.push(Searcher::new(Arc::clone(index), knob.set(settings, value))?);
        }
    }
    let passages = index.passages();
    let mut pool = Vec::new();
    for question in set.questions.iter().filter(|question| question.unscoreable.is_none()) {
        let options = Options { mode: Mode::Hybrid, ..Options::default() };
        let request = request(index, settings, question, options, scope_of(question)?)?;
        let recalled = searcher.recall(&request)?;
        let mut outcomes = Vec::with_capacity(searchers.len());
        for searcher in &searchers {
            outcomes.push(searcher.replay(&recalled)?);
        }
        let list = |outcome: &Outcome, stage: &str| {
            let list = outcome.trace.stage(stage).map_or(&[][..], |stage| &stage.list);
            list.iter().map(|scored| scored.row).collect::<Vec<u32>>()
        };
        let legs = outcomes.iter().take(1).flat_map(|o| [list(o, "lexical"), list(o, "dense")]);
        let lists: Vec<Vec<u32>> = legs.chain(outcomes.iter().map(|o| list(o, "rerank"))).collect();
        let units = Units::new(passages, &question.judgments, set.by_document)?;
        let evidence = Evidence::of(passages, &question.judgments)?;
        let mut found: BTreeMap<String, (usize, usize)> = BTreeMap::new();
        for list in &lists {
            for (at, unit) in units.fold(list.iter().copied())?.into_iter().take(depth).enumerate()
            {
                if question.judgments.standing(&unit) == Standing::Unjudged {
                    let (lists, place) = found.entry(unit).or_insert((0, at + 1));
                    (*lists, *place) = (*lists + 1, (at + 1).min(*place));
                }
            }
        }
        for (name, (count, place)) in found {
            let Some(hash) = unit_hash(passages, &name)? else { continue };
            let row = super::units::rows(passages, &name)?.start;
            let block = passages.passage(row)?.block;
            let record = passages.block(block)?;
            pool.push(Unjudged {
                question: question.id.clone(),
                lists: count,
                of: lists.len(),
                place,
                relation: evidence.relation(block)?,
                asked: question.question.clone(),
                document: passages.document(record.document)?.title,
                text: passages.block_text(&record)?.chars().take(TEXT_CHARS).collect(),
                block: name,
                hash,
            });
        }
    }
    pool.sort_by(|a, b| {
        let key = |one: &Unjudged| (std::cmp::Reverse(one.lists), one.place);
        key(a).cmp(&key(b)).then_with(|| (&a.question, &a.block).cmp(&(&b.question, &b.block)))
    });
    Ok(pool)
}

/// The worklist as a sheet with nothing graded yet.
pub fn sheet_of(pool: &[Unjudged]) -> String {
    let mut out = COLUMNS.join(",");
    out.push_str("\r\n");
    for one in pool {
        let (lists, of, place) = (one.lists.to_string(), one.of.to_string(), one.place.to_string());
        let relation = one.relation.to_string();
        let fields = [
            &one.question,
            &one.block,
            &lists,
            &of,
            &place,
            &relation,
            &one.asked,
            &one.document,
            &one.text,
            &one.hash,
        ];
        let fields: Vec<String> = fields.into_iter().map(|field| quoted(field)).collect();
        out.push_str(&fields.join(","));
        out.push_str(",,\r\n");
    }
    out
}

/// A grade that a person gave.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Graded {
    /// The line of the sheet, from 1.
    #[serde(skip)]
    pub line: u64,
    /// The question's id.
    pub question: String,
    /// The block.
    pub block: String,
    /// The hash of the text that was graded.
    pub hash: String,
    /// 0 for not relevant, up to [`GRADE_MAX`].
    pub grade: i32,
}

/// The rows of the sheet at `path` that have a grade, in order. A grade that is none, and a block that
/// is graded twice for a question, are errors with their line.
pub fn read(path: &Path) -> Result<Vec<Graded>> {
    let text = fs::read_to_string(path).map_err(|e| Error::reading("reading grades", path, e))?;
    let help = "a sheet is written by `atlas judge --sheet FILE`";
    let columns = ["question", "block", "hash", "grade"];
    let mut graded: Vec<Graded> = Vec::new();
    for (line, [question, block, hash, grade]) in sheet::read(path, &text, columns, help)? {
        let word = |field: &str| field.trim().to_owned();
        if grade.trim().is_empty() {
            continue;
        }
        let grade = grade.trim().parse().ok().filter(|grade| (0..=GRADE_MAX).contains(grade));
        let Some(grade) = grade else {
            let problem = format!("the grade of `{}` is no whole number from 0 to 3", word(&block));
            return Err(Error::input(path, Some(line), problem, "0 is judged and not relevant"));
        };
        let one = Graded {
            line,
            question: word(&question),
            block: word(&block),
            hash: word(&hash),
            grade,
        };
        let twice = |own: &&Graded| own.question == one.question && own.block == one.block;
        if let Some(first) = graded.iter().find(twice) {
            let problem = format!("`{}` is graded here and on line {}", one.block, first.line);
            return Err(Error::input(path, Some(line), problem, "keep one of them"));
        }
        graded.push(one);
    }
    Ok(graded)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn one(text: &str) -> Unjudged {
        Unjudged {
            question: "q".into(),
            block: "A-1".into(),
            lists: 3,
            of: 35,
            place: 2,
            relation: Relation::OtherVersion,
            asked: "Why, \"exactly\"?".into(),
            document: "A".into(),
            text: text.into(),
            hash: "0123456789abcdef".into(),
        }
    }

    fn written(text: &str) -> Result<Vec<Graded>> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("sheet.csv");
        fs::write(&path, text).unwrap();
        read(&path)
    }

    #[test]
    fn a_worklist_goes_out_and_comes_back() {
        let text = sheet_of(&[one("=1, \"2\"\n3"), one("x")]);
        assert!(written(&text).unwrap().is_empty(), "nothing is graded yet");
        let read = written(&text.replacen(",,\r\n", ",2,\"so, so\"\r\n", 1)).unwrap();
        let found = (&*read[0].question, &*read[0].block, &*read[0].hash, read[0].grade);
        assert_eq!((found, read.len()), (("q", "A-1", "0123456789abcdef", 2), 1));
    }

    #[test]
    fn what_is_wrong_with_a_grade_is_named_with_its_line() {
        let head = "question,block,hash,grade\n";
        for (rows, expected) in [
            ("q,A-1,0,4\n", ":2: the grade of `A-1` is no whole number from 0 to 3"),
            ("q,A-1,0,-1\n", ":2: the grade of `A-1` is no whole number from 0 to 3"),
            ("q,A-1,0,1\nq,A-1,0,2\n", ":3: `A-1` is graded here and on line 2"),
        ] {
            let said = written(&format!("{head}{rows}")).unwrap_err().to_string();
            assert!(said.contains(expected), "{said}");
        }
        let said = written("question,block,grade\n").unwrap_err().to_string();
        assert!(said.contains("it needs the columns `question` and `block` and `hash`"), "{said}");
    }
}
