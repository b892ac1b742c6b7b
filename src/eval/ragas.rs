//! Export for Ragas: one JSON object a line, with the field names of its dataset class, and a sidecar
//! with what Ragas drops on load.
//!
//! Verified against Ragas 0.4.3: every row has every key, since the class looks at the first row
//! alone; `retrieved_contexts` and `reference_contexts` are non-empty lists; there is no blank line
//! at the end. So only questions that can be scored and that retrieved something are written, and
//! the others are kept apart.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use serde::Deserialize;
use serde_json::{Value, json};

use super::measurement::Measurement;
use super::questions::QuestionSet;
use super::units::parse;
use crate::error::{Error, Result, complaint};
use crate::index::Index;
use crate::passage::Unit;

/// The lines for Ragas, the lines of the sidecar, and how many questions were left out.
#[derive(Debug, Clone, PartialEq)]
pub struct Exported {
    /// One object a line: `user_input`, `retrieved_contexts`, `retrieved_context_ids`, `response`,
    /// empty where no answer is recorded, `reference`, `reference_contexts`, `reference_context_ids`.
    pub rows: String,
    /// One object a line, in the same order: `id`, `kinds`, `references`, `corpus` (fingerprint).
    pub sidecar: String,
    /// Questions that cannot be expressed, one object a line: `id`, `user_input`, `reason`, `reference`
    /// and `retrieved_context_ids`.
    pub apart: String,
    /// How many those are.
    pub left_out: usize,
    /// Rows with a recorded answer.
    pub answered: usize,
}

/// Recorded answers by the ids of their questions.
pub type Answers = BTreeMap<String, String>;

/// Reads answers: one JSON object a line with `id` and `answer`; other keys are of no interest here.
pub fn read_answers(path: &Path) -> Result<Answers> {
    #[derive(Deserialize)]
    struct Line {
        id: String,
        answer: String,
    }
    let text = fs::read_to_string(path).map_err(|e| Error::reading("reading answers", path, e))?;
    let mut answers = Answers::new();
    for (at, line) in text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty()) {
        let place = Some(at as u64 + 1);
        let help = "write one JSON object a line with `id` and `answer`";
        let read: Line = serde_json::from_str(line).map_err(|fault| {
            let (problem, _) = complaint(&fault.to_string(), "");
            Error::input(path, place, format!("it is no answer: {problem}"), help)
        })?;
        if answers.insert(read.id.clone(), read.answer).is_some() {
            let problem = format!("question {} has an answer already", read.id);
            return Err(Error::input(path, place, problem, "keep one of the two"));
        }
    }
    Ok(answers)
}

/// Writes `measured` in Ragas' terms, with the answers that are recorded.
pub fn export(
    index: &Index,
    set: &QuestionSet,
    measured: &Measurement,
    answers: &Answers,
) -> Result<Exported> {
    let (mut rows, mut sidecar, mut apart, mut answered) = (Vec::new(), Vec::new(), Vec::new(), 0);
    for (question, measured) in set.questions.iter().zip(&measured.questions) {
        let mut wanted = Vec::new();
        for name in question.judgments.groups().iter().flatten() {
            wanted.extend(texts(index, name)?);
        }
        let mut contexts = Vec::new();
        for block in &measured.supplied {
            contexts.extend(texts(index, &block.reference)?);
        }
        let reason = if let Some(reason) = &measured.unscoreable {
            Some(reason.as_str())
        } else if contexts.is_empty() {
            Some("nothing retrieved")
        } else {
            (question.reference.is_empty() || wanted.is_empty()).then_some("no reference")
        };
        let ids =
            |all: &[(String, String)]| all.iter().map(|(id, _)| id.clone()).collect::<Vec<_>>();
        if let Some(reason) = reason {
            apart.push(json!({
                "id": question.id,
                "user_input": question.question,
                "reason": reason,
                "reference": question.reference,
                "retrieved_context_ids": ids(&contexts),
            }));
            continue;
        }
        let answer = answers.get(&question.id);
        answered += usize::from(answer.is_some());
        let said =
            |all: &[(String, String)]| all.iter().map(|(_, said)| said.clone()).collect::<Vec<_>>();
        rows.push(json!({
            "user_input": question.question,
            "retrieved_contexts": said(&contexts),
            "retrieved_context_ids": ids(&contexts),
            "response": answer.map_or("", String::as_str),
            "reference": question.reference,
            "reference_contexts": said(&wanted),
            "reference_context_ids": ids(&wanted),
        }));
        sidecar.push(json!({
            "id": question.id,
            "kinds": question.kinds,
            "references": ids(&contexts),
            "corpus": index.manifest().fingerprint,
        }));
    }
    let lines = |values: &[Value]| {
        let lines: Vec<String> = values.iter().map(ToString::to_string).collect();
        lines.join("\n")
    };
    Ok(Exported {
        rows: lines(&rows),
        sidecar: lines(&sidecar),
        left_out: apart.len(),
        apart: lines(&apart),
        answered,
    })
}

/// References and texts of the blocks that `name` names.
fn texts(index: &Index, name: &str) -> Result<Vec<(String, String)>> {
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
            let reference = format!("{}-{}", record.id, block.number);
            texts.push((reference, passages.block_text(&block)?.to_owned()));
        }
    }
    Ok(texts)
}
