//! Two measurements of the same questions, question by question.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use serde::Deserialize;

use super::bootstrap::{SEED, SignFlip, difference_interval, sign_flip};
use super::measurement::{Measured, Measurement};
use super::statistics::Interval;
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
    mode: serde_json::Value,
    settings: serde_json::Map<String, serde_json::Value>,
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
    supplied: Vec<RecordedBlock>,
}

#[derive(Debug, Deserialize)]
struct RecordedBlock {
    reference: String,
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
    /// Blocks that were not handed over before and are now, best first.
    pub entered: Vec<String>,
    /// Blocks that were handed over before and are not now.
    pub left: Vec<String>,
}

/// One measure before and now, over the questions that both have.
#[derive(Debug, Clone, PartialEq)]
pub struct Difference {
    /// The measure.
    pub name: &'static str,
    /// Its mean before.
    pub before: f64,
    /// Its mean now.
    pub now: f64,
    /// The 95 % interval of the difference, from paired questions.
    pub interval: Option<Interval>,
    /// Questions that have another value now.
    pub changed: usize,
    /// The exact sign-flip test; only of the primary measure, since of three tests one would come out
    /// by luck more often than it says.
    pub test: Option<SignFlip>,
}

/// A comparison.
#[derive(Debug, Clone)]
pub struct Comparison {
    /// Questions in both.
    pub questions: usize,
    /// Questions in one only.
    pub apart: usize,
    /// Whether the corpora differ, so that a difference is not of the engine alone.
    pub other_corpus: bool,
    /// Whether the question sets differ.
    pub other_set: bool,
    /// Settings that differ, as `k 5 -> 3`.
    pub settings: Vec<String>,
    /// The recorded receipt's id.
    pub before: String,
    /// Evidence that arrived before and does not now, worst first.
    pub lost: Vec<Change>,
    /// Evidence that did not arrive before and does now.
    pub gained: Vec<Change>,
    /// Same recall, another rank.
    pub moved: Vec<Change>,
    /// Hit, recall and precision.
    pub differences: Vec<Difference>,
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

/// The measure that is tested when a project names none.
pub const PRIMARY: &str = "recall";

/// Compares `now`, which has the receipt `receipt`, with what was recorded. `primary` is the measure
/// that is tested; the others get an interval and no p.
pub fn compare(
    before: &Recorded,
    now: &Measurement,
    receipt: &Receipt<'_>,
    primary: &str,
) -> Result<Comparison> {
    let Some(set) = before.sets.iter().find(|set| set.name == now.set) else {
        let names: Vec<&str> = before.sets.iter().map(|set| set.name.as_str()).collect();
        let problem = format!("it measures {}", names.join(", "));
        let help = format!("expected a measurement of {}", now.set);
        return Err(Error::input(&before.path, None, problem, help));
    };
    if set.per_question.is_empty() {
        let problem = "it shows no single question";
        let help = "a comparison needs them: record held-out questions with `--reveal`";
        return Err(Error::input(&before.path, None, problem, help));
    }
    let known: BTreeMap<&str, &RecordedQuestion> =
        set.per_question.iter().map(|question| (question.id.as_str(), question)).collect();
    let same_set =
        before.receipt.sets.iter().any(|(name, hash)| *name == now.set && *hash == now.set_hash);
    let mut comparison = Comparison {
        questions: 0,
        apart: 0,
        other_corpus: before.receipt.corpus != receipt.corpus,
        other_set: !same_set,
        settings: settings_apart(&before.receipt, receipt),
        before: before.receipt.id.clone(),
        lost: Vec::new(),
        gained: Vec::new(),
        moved: Vec::new(),
        differences: Vec::new(),
        failing: 0,
    };
    let mut pairs: [Vec<(f64, f64)>; 3] = Default::default();
    for question in now.scored(None) {
        let old = known.get(question.id.as_str()).filter(|old| old.hit.is_some());
        let Some(old) = old else {
            comparison.apart += 1;
            continue;
        };
        comparison.questions += 1;
        comparison.failing += usize::from(question.value("hit") != Some(1.0));
        let values = [("hit", old.hit), ("recall", old.recall), ("precision", old.precision)];
        for (pairs, (name, old)) in pairs.iter_mut().zip(values) {
            pairs.push((old.unwrap_or(0.0), question.value(name).unwrap_or(0.0)));
        }
        let change = change(old, question);
        if change.recall.1 < change.recall.0 {
            comparison.lost.push(change);
        } else if change.recall.1 > change.recall.0 {
            comparison.gained.push(change);
        } else if change.rank.0 != change.rank.1 {
            comparison.moved.push(change);
        }
    }
    comparison.apart += known.len().saturating_sub(
        now.questions.iter().filter(|question| known.contains_key(question.id.as_str())).count(),
    );
    let loss = |change: &Change| change.recall.1 - change.recall.0;
    comparison.lost.sort_by(|a, b| loss(a).total_cmp(&loss(b)).then_with(|| a.id.cmp(&b.id)));
    comparison.differences = ["hit", "recall", "precision"]
        .into_iter()
        .zip(&pairs)
        .map(|(name, pairs)| difference(name, pairs, name == primary))
        .collect();
    Ok(comparison)
}

/// What a comparison reads of a receipt.
#[derive(Debug)]
pub struct Receipt<'r> {
    /// Fingerprint of the corpus.
    pub corpus: &'r str,
    /// The legs used, as a report writes them.
    pub mode: serde_json::Value,
    /// The pipeline's settings, as a report writes them.
    pub settings: serde_json::Value,
}

/// The settings that differ, each with its value before and now.
fn settings_apart(before: &RecordedReceipt, now: &Receipt<'_>) -> Vec<String> {
    let mut apart = Vec::new();
    let mut one = |key: &str, old: &serde_json::Value, new: &serde_json::Value| {
        if old != new {
            apart.push(format!("{key} {old} -> {new}"));
        }
    };
    one("mode", &before.mode, &now.mode);
    for (key, old) in &before.settings {
        one(key, old, &now.settings[key.as_str()]);
    }
    apart
}

fn change(old: &RecordedQuestion, now: &Measured) -> Change {
    let was = |reference: &str| old.supplied.iter().any(|block| block.reference == reference);
    let is = |reference: &str| now.supplied.iter().any(|block| block.reference == reference);
    let new = now.supplied.iter().map(|block| &block.reference);
    let gone = old.supplied.iter().map(|block| &block.reference);
    Change {
        id: now.id.clone(),
        recall: (old.recall.unwrap_or(0.0), now.value("recall").unwrap_or(0.0)),
        rank: (old.rank, now.value("rank")),
        entered: new.filter(|reference| !was(reference)).cloned().collect(),
        left: gone.filter(|reference| !is(reference)).cloned().collect(),
    }
}

fn difference(name: &'static str, pairs: &[(f64, f64)], is_primary: bool) -> Difference {
    let n = pairs.len().max(1) as f64;
    let (before, now): (Vec<f64>, Vec<f64>) = pairs.iter().copied().unzip();
    let differences: Vec<f64> = pairs.iter().map(|(before, now)| now - before).collect();
    Difference {
        name,
        before: before.iter().sum::<f64>() / n,
        now: now.iter().sum::<f64>() / n,
        interval: difference_interval(&before, &now, SEED),
        changed: differences.iter().filter(|difference| **difference != 0.0).count(),
        test: is_primary.then(|| sign_flip(&differences, SEED)).flatten(),
    }
}
