//! Measurements as far as drift is concerned: as they were written down, and as they are.

use std::fs;
use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::error::{Error, Result, complaint};
use crate::eval::measurement::Measurement;
use crate::format::Manifest;

/// A measurement of one set.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Run {
    /// The index that was measured; `None` when a file does not tell.
    pub size: Option<Size>,
    /// The questions; none where single questions were not shown.
    pub questions: Vec<Seen>,
}

/// How much an index holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Size {
    /// Documents.
    pub documents: usize,
    /// Blocks.
    pub blocks: usize,
    /// Passages.
    pub passages: usize,
}

/// One question of a measurement.
#[derive(Debug, Clone, PartialEq)]
pub struct Seen {
    /// Its id.
    pub id: String,
    /// What arrived: reference and score, best first.
    pub supplied: Vec<(String, f64)>,
    /// Rank of the first relevant block.
    pub rank: Option<f64>,
    /// The stages that ran, in their order; none in files of earlier versions.
    pub stages: Vec<AtStage>,
}

/// What one stage held for one question.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct AtStage {
    /// The stage.
    pub name: String,
    /// Passages in its list.
    #[serde(default)]
    pub candidates: usize,
    /// The best score of its list.
    #[serde(default)]
    pub best: Option<f64>,
    /// The nearest-rank median of its scores.
    #[serde(default)]
    pub median: Option<f64>,
}

/// The measurement `measured` of the index of `manifest`.
pub fn run(measured: &Measurement, manifest: &Manifest) -> Run {
    let seen = measured.questions.iter().map(|question| Seen {
        id: question.id.clone(),
        supplied: question.supplied.iter().map(|b| (b.reference.clone(), b.score)).collect(),
        rank: question.value("rank"),
        stages: question
            .stages
            .iter()
            .map(|stage| AtStage {
                name: stage.name.to_owned(),
                candidates: stage.candidates,
                best: stage.best,
                median: stage.median,
            })
            .collect(),
    });
    let size = Size {
        documents: manifest.documents,
        blocks: manifest.blocks,
        passages: manifest.passages,
    };
    Run { size: Some(size), questions: seen.collect() }
}

#[derive(Deserialize)]
struct File {
    corpus: Option<Size>,
    sets: Vec<RecordedSet>,
}

#[derive(Deserialize)]
struct RecordedSet {
    name: String,
    per_question: Vec<RecordedQuestion>,
}

#[derive(Deserialize)]
struct RecordedQuestion {
    id: String,
    rank: Option<f64>,
    supplied: Vec<RecordedBlock>,
    #[serde(default)]
    stages: Vec<AtStage>,
}

#[derive(Deserialize)]
struct RecordedBlock {
    reference: String,
    score: f64,
}

/// The questions of the set called `set` in what `measure --format json` wrote to `path`; none where
/// single questions were not shown.
pub fn recorded(path: &Path, set: &str) -> Result<Run> {
    let text =
        fs::read_to_string(path).map_err(|e| Error::reading("reading measurement", path, e))?;
    let file: File = serde_json::from_str(&text).map_err(|fault| {
        let (problem, _) = complaint(&fault.to_string(), "");
        let help = "write one with `atlas measure --format json > FILE`";
        let line = Some(fault.line() as u64);
        Error::input(path, line, format!("it is no measurement: {problem}"), help)
    })?;
    let own = file.sets.into_iter().filter(|own| own.name == set);
    let seen = own.flat_map(|own| own.per_question).map(|question| Seen {
        id: question.id,
        supplied: question.supplied.into_iter().map(|b| (b.reference, b.score)).collect(),
        rank: question.rank,
        stages: question.stages,
    });
    Ok(Run { size: file.corpus, questions: seen.collect() })
}
