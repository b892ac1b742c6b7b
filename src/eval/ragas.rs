//! Export for Ragas: one JSON object a line, with the field names of its dataset class, and a sidecar
//! with the ids, which Ragas drops on load.
//!
//! Verified against Ragas 0.4.3: every row has every key, since the class looks at the first row
//! alone; `retrieved_contexts` and `reference_contexts` are non-empty lists; there is no blank line
//! at the end. So only questions that can be scored and that retrieved something are written, and
//! how many were left out is returned.

use serde_json::{Value, json};

use super::measurement::Measurement;
use super::questions::QuestionSet;
use super::units::parse;
use crate::error::Result;
use crate::index::Index;
use crate::passage::Unit;

/// The lines for Ragas, the lines of the sidecar, and how many questions were left out.
#[derive(Debug, Clone, PartialEq)]
pub struct Exported {
    /// One object a line: `user_input`, `retrieved_contexts`, `reference`, `reference_contexts`, and
    /// `response`, empty where no answer is recorded.
    pub rows: String,
    /// One object a line, in the same order: `id`, `kinds`, `references`.
    pub sidecar: String,
    /// Questions that cannot be expressed: unscoreable, nothing retrieved, or without a reference.
    pub left_out: usize,
}

/// Writes `measured` in Ragas' terms.
pub fn export(index: &Index, set: &QuestionSet, measured: &Measurement) -> Result<Exported> {
    let (mut rows, mut sidecar, mut left_out) = (Vec::new(), Vec::new(), 0);
    for (question, measured) in set.questions.iter().zip(&measured.questions) {
        let mut wanted = Vec::new();
        for name in question.judgments.groups().iter().flatten() {
            wanted.extend(texts(index, name)?);
        }
        let mut contexts = Vec::new();
        for block in &measured.supplied {
            contexts.extend(texts(index, &block.reference)?);
        }
        let bare = question.reference.is_empty() || wanted.is_empty() || contexts.is_empty();
        if bare || !measured.is_scored() {
            left_out += 1;
            continue;
        }
        rows.push(json!({
            "user_input": question.question,
            "retrieved_contexts": contexts,
            "response": "",
            "reference": question.reference,
            "reference_contexts": wanted,
        }));
        let references: Vec<&str> =
            measured.supplied.iter().map(|b| b.reference.as_str()).collect();
        sidecar
            .push(json!({ "id": question.id, "kinds": question.kinds, "references": references }));
    }
    let lines = |values: &[Value]| {
        let lines: Vec<String> = values.iter().map(ToString::to_string).collect();
        lines.join("\n")
    };
    Ok(Exported { rows: lines(&rows), sidecar: lines(&sidecar), left_out })
}

/// The texts of the blocks that `name` names.
fn texts(index: &Index, name: &str) -> Result<Vec<String>> {
    let passages = index.passages();
    let Some(unit) = parse(passages, name)? else { return Ok(Vec::new()) };
    let Some(document) = passages.find(unit.document())? else { return Ok(Vec::new()) };
    let record = passages.document(document)?;
    let mut texts = Vec::new();
    for number in record.first_block..record.first_block + record.blocks {
        let block = passages.block(number)?;
        let wanted = match &unit {
            Unit::Document(_) => true,
            Unit::Block(own) => own.block == block.number,
            Unit::Passage(own) => own.block.block == block.number,
        };
        if wanted {
            texts.push(passages.block_text(&block)?.to_owned());
        }
    }
    Ok(texts)
}
