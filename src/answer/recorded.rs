//! Answers that another system gave, one JSON object a line; `context` may be left out.
//!
//! ```text
//! {"id": "ret-001", "answer": "Within 30 days of delivery.", "citations": ["POL-RETURNS-2"],
//!  "context": ["POL-RETURNS-2", "POL-RETURNS-3"]}
//! ```

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use serde::{Deserialize, Serialize};

use super::source::revision;
use super::{Answer, Answerer, Asked, Citation};
use crate::error::{Error, Result, complaint};
use crate::index::Index;
use crate::passage::Unit;

/// One line of the file.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Record {
    /// The id of the case that was answered.
    pub id: String,
    /// The answer, as it was given.
    pub answer: String,
    /// The blocks or documents that it names as its sources. What was merely retrieved is none.
    #[serde(default)]
    pub citations: Vec<String>,
    /// The blocks that were its context, best first, where the system tells: then citations, claims and
    /// evidence are judged by it, and by what the engine here brings where it does not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub context: Option<Vec<String>>,
}

/// A file of recorded answers.
#[derive(Debug, Clone)]
pub struct Recorded {
    hash: String,
    answers: BTreeMap<String, Answer>,
}

/// The form of a line, for messages.
const FORM: &str = "a line is {\"id\": .., \"answer\": .., \"citations\": [..]}";

impl Recorded {
    /// Reads the file at `path`. A line that is no record, an id that stands twice and a source that
    /// is not in `index` are errors with their line.
    pub fn read(path: &Path, index: &Index) -> Result<Self> {
        let text =
            fs::read_to_string(path).map_err(|e| Error::reading("reading answers", path, e))?;
        let mut lines: BTreeMap<String, u64> = BTreeMap::new();
        let mut answers = BTreeMap::new();
        for (at, line) in text.lines().enumerate() {
            let number = at as u64 + 1;
            let fault =
                |problem: String, help: &str| Err(Error::input(path, Some(number), problem, help));
            if line.trim().is_empty() {
                return fault("the line is empty".to_owned(), "one answer a line, no line between");
            }
            let record: Record = match serde_json::from_str(line) {
                Ok(record) => record,
                Err(e) => {
                    let (problem, meant) = complaint(&e.to_string(), "");
                    return fault(problem, meant.as_deref().unwrap_or(FORM));
                }
            };
            if let Some(first) = lines.insert(record.id.clone(), number) {
                let problem = format!("{} is answered here and on line {first}", record.id);
                return fault(problem, "keep one of them");
            }
            let mut citations = Vec::with_capacity(record.citations.len());
            for name in &record.citations {
                match cited(index, name)? {
                    Some(citation) => citations.push(citation),
                    None => {
                        let problem = format!("`{name}` is no block or document of the index");
                        return fault(problem, "cite by reference, as in `WARR-R2-2`");
                    }
                }
            }
            let mut context = record.context.as_ref().map(|names| Vec::with_capacity(names.len()));
            for name in record.context.iter().flatten() {
                match cited(index, name)?.filter(|own| own.reference != own.document) {
                    Some(block) => {
                        if let Some(context) =
                            context.as_mut().filter(|own| !own.contains(&block.reference))
                        {
                            context.push(block.reference);
                        }
                    }
                    None => {
                        let problem = format!("`{name}`, of its context, is no block of the index");
                        return fault(problem, "name blocks by reference, as in `WARR-R2-2`");
                    }
                }
            }
            let answer = Answer { text: record.answer, citations, context, ..Answer::default() };
            answers.insert(record.id, answer);
        }
        if answers.is_empty() {
            return Err(Error::input(path, None, "it holds no answer", FORM));
        }
        Ok(Self { hash: blake3::hash(text.as_bytes()).to_hex().to_string(), answers })
    }

    /// The ids that are answered, in order.
    pub fn ids(&self) -> impl Iterator<Item = &str> {
        self.answers.keys().map(String::as_str)
    }
}

impl Answerer for Recorded {
    fn id(&self) -> String {
        format!("recorded/{}", self.hash)
    }

    fn answer(&self, asked: &Asked<'_>) -> Result<Option<Answer>> {
        Ok(self.answers.get(asked.id).cloned())
    }
}

/// The block or document called `name`, if there is one.
pub(super) fn cited(index: &Index, name: &str) -> Result<Option<Citation>> {
    let passages = index.passages();
    for unit in Unit::readings(name) {
        let Some(number) = passages.find(unit.document())? else { continue };
        let record = passages.document(number)?;
        let block = match &unit {
            Unit::Document(_) => None,
            Unit::Block(block) => Some(block.block),
            Unit::Passage(passage) => Some(passage.block.block),
        };
        if let Some(block) = block {
            let numbers = record.first_block..record.first_block + record.blocks;
            let mut there = false;
            for own in numbers {
                there |= passages.block(own)?.number == block;
            }
            if !there {
                continue;
            }
        }
        let revision = revision(&record.metadata);
        let reference = match unit {
            Unit::Passage(passage) => passage.block.to_string(),
            other => other.to_string(),
        };
        let citation = Citation { reference, document: record.id, title: record.title, revision };
        return Ok(Some(citation));
    }
    Ok(None)
}
