//! Two measurements of the same questions, question by question.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use serde::Deserialize;

use super::bootstrap::{SEED, SignFlip, sign_flip};
use super::measurement::Measurement;
use crate::error::{Error, Result, complaint};

/// Fewest questions that must change, all one way, for an exact two-sided test to reach 5 %.
pub const CHANGES_MIN: usize = 6;

/// A measurement as `measure --format json` wrote it.
#[derive(Debug, Deserialize)]
pub struct Recorded {
    /// Where it was read.
    #[serde(skip)]
    path: PathBuf,
    receipt: RecordedReceipt,
    sets: Vec<RecordedSet>,
}

#[derive(Debug, Deserialize)]
struct RecordedReceipt {
    id: String,
    corpus: String,
    sets: Vec<(String, String)>,
}

#[derive(Debug, Deserialize)]
struct RecordedSet {
    name: String,
    per_question: Vec<RecordedQuestion>,
}

#[derive(Debug, Deserialize)]
struct RecordedQuestion {
    id: String,
    hit: Option<f64>,
    recall: Option<f64>,
    precision: Option<f64>,
    rank: Option<f64>,
}

/// What became of one question.
#[derive(Debug, Clone, PartialEq)]
pub struct Change {
    /// Its id.
    pub id: String,
    /// Recall before and now.
    pub recall: (f64, f64),
    /// Rank before and now; `None` when missed.
    pub rank: (Option<f64>, Option<f64>),
}

/// A comparison.
#[derive(Debug, Clone)]
pub struct Comparison {
    /// Questions in both.
    pub questions: usize,
    /// Questions in one only.
    pub apart: usize,
    /// Whether corpus and set are the same, so that a difference is of the engine.
    pub same_ground: bool,
    /// The recorded receipt's id.
    pub before: String,
    /// Evidence that arrived before and does not now, worst first.
    pub lost: Vec<Change>,
    /// Evidence that did not arrive before and does now.
    pub gained: Vec<Change>,
    /// Same recall, another rank.
    pub moved: Vec<Change>,
    /// Mean recall before, now, and the exact sign-flip test of the difference.
    pub recall: (f64, f64, Option<SignFlip>),
    /// The same of precision.
    pub precision: (f64, f64, Option<SignFlip>),
    /// Questions that miss now: how many a change could still gain.
    pub failing: usize,
}

/// Reads a recorded measurement.
pub fn read(path: &Path) -> Result<Recorded> {
    let help = "write one with `atlas measure --format json > FILE`";
    if !path.exists() {
        return Err(Error::input(path, None, "there is no such measurement", help));
    }
    let text =
        fs::read_to_string(path).map_err(|e| Error::reading("reading measurement", path, e))?;
    let recorded: Recorded = serde_json::from_str(&text).map_err(|fault| {
        let (problem, _) = complaint(&fault.to_string(), "");
        let line = Some(fault.line() as u64);
        Error::input(path, line, format!("it is no measurement: {problem}"), help)
    })?;
    Ok(Recorded { path: path.to_owned(), ..recorded })
}

/// Compares `now`, measured on the corpus with fingerprint `corpus`, with what was recorded.
pub fn compare(before: &Recorded, now: &Measurement, corpus: &str) -> Result<Comparison> {
    let Some(set) = before.sets.iter().find(|set| set.name == now.set) else {
        let names: Vec<&str> = before.sets.iter().map(|set| set.name.as_str()).collect();
        let problem = format!("it measures {}", names.join(", "));
        let help = format!("expected a measurement of {}", now.set);
        return Err(Error::input(&before.path, None, problem, help));
    };
    let known: BTreeMap<&str, &RecordedQuestion> =
        set.per_question.iter().map(|question| (question.id.as_str(), question)).collect();
    let same_set =
        before.receipt.sets.iter().any(|(name, hash)| *name == now.set && *hash == now.set_hash);
    let mut comparison = Comparison {
        questions: 0,
        apart: 0,
        same_ground: same_set && before.receipt.corpus == corpus,
        before: before.receipt.id.clone(),
        lost: Vec::new(),
        gained: Vec::new(),
        moved: Vec::new(),
        recall: (0.0, 0.0, None),
        precision: (0.0, 0.0, None),
        failing: 0,
    };
    let (mut recalls, mut precisions) = (Vec::new(), Vec::new());
    for question in now.scored(None) {
        let old = known.get(question.id.as_str()).filter(|old| old.hit.is_some());
        let Some(old) = old else {
            comparison.apart += 1;
            continue;
        };
        comparison.questions += 1;
        comparison.failing += usize::from(question.value("hit") != Some(1.0));
        let recall = (old.recall.unwrap_or(0.0), question.value("recall").unwrap_or(0.0));
        let rank = (old.rank, question.value("rank"));
        recalls.push(recall);
        precisions.push((old.precision.unwrap_or(0.0), question.value("precision").unwrap_or(0.0)));
        let change = Change { id: question.id.clone(), recall, rank };
        if recall.1 < recall.0 {
            comparison.lost.push(change);
        } else if recall.1 > recall.0 {
            comparison.gained.push(change);
        } else if rank.0 != rank.1 {
            comparison.moved.push(change);
        }
    }
    comparison.apart += known.len().saturating_sub(
        now.questions.iter().filter(|question| known.contains_key(question.id.as_str())).count(),
    );
    let loss = |change: &Change| change.recall.1 - change.recall.0;
    comparison.lost.sort_by(|a, b| loss(a).total_cmp(&loss(b)).then_with(|| a.id.cmp(&b.id)));
    comparison.recall = tested(&recalls);
    comparison.precision = tested(&precisions);
    Ok(comparison)
}

fn tested(pairs: &[(f64, f64)]) -> (f64, f64, Option<SignFlip>) {
    let n = pairs.len().max(1) as f64;
    let differences: Vec<f64> = pairs.iter().map(|(before, now)| now - before).collect();
    let sum = |of: fn(&(f64, f64)) -> f64| pairs.iter().map(of).sum::<f64>() / n;
    (sum(|pair| pair.0), sum(|pair| pair.1), sign_flip(&differences, SEED))
}
