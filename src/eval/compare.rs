//! Two measurements of the same questions, question by question.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::bootstrap::{SEED, SignFlip, difference_floor, difference_interval, sign_flip};
use super::measurement::{Measured, Measurement, RANKING_MEASURES};
use super::statistics::{Interval, holm};
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

/// What a comparison reads of a receipt that was recorded.
#[derive(Debug, Deserialize)]
pub(super) struct RecordedReceipt {
    pub(super) id: String,
    pub(super) corpus: String,
    pub(super) sets: Vec<(String, String)>,
    mode: serde_json::Value,
    settings: serde_json::Map<String, serde_json::Value>,
    #[serde(default)]
    answers: Option<RecordedAnswers>,
}

#[derive(Debug, Deserialize)]
struct RecordedAnswers {
    answerer: String,
    judge: String,
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
    #[serde(default)]
    measures: BTreeMap<String, Option<f64>>,
}

#[derive(Debug, Deserialize)]
struct RecordedBlock {
    reference: String,
}

/// What became of one question.
#[derive(Debug, Clone, PartialEq, Serialize)]
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

/// What a measure is to a comparison.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Role {
    /// The one that decides.
    Primary,
    /// Declared beforehand: tested, with Holm's correction over all that are.
    Secondary,
    /// Not declared: looked at, and never tested.
    Exploratory,
}

/// Which measures a project has declared before it compares.
#[derive(Debug, Clone, PartialEq)]
pub struct Declared {
    /// The one that decides.
    pub primary: String,
    /// Those that are tested beside it.
    pub secondary: Vec<String>,
    /// A loss that is worth what it buys.
    pub accepted: Option<AcceptedLoss>,
}

/// A loss that was accepted before anything was measured, `[accepted_loss]` in `targets.toml`: a change
/// that is wanted for something else may cost so much, and not more.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AcceptedLoss {
    /// The measure that may lose.
    pub measure: String,
    /// How much its mean may lose, above 0 and at most 1.
    pub margin: f64,
}

/// Whether a loss stays within what was accepted: the test of non-inferiority.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Inferiority {
    /// How much was accepted.
    pub margin: f64,
    /// The one-sided 95 % limit of the difference: it is no lower.
    pub floor: f64,
    /// Whether that shows that no more is lost.
    pub holds: bool,
}

impl Default for Declared {
    fn default() -> Self {
        Self { primary: PRIMARY.to_owned(), secondary: Vec::new(), accepted: None }
    }
}

/// Measures of the context that every comparison shows.
const SHOWN: [&str; 3] = ["hit", "recall", "precision"];

impl Declared {
    /// Refuses a measure that no report has.
    pub fn check(&self) -> Result<()> {
        let known = || SHOWN.into_iter().chain(RANKING_MEASURES);
        for (key, name) in std::iter::once(("primary_measure", &self.primary))
            .chain(self.secondary.iter().map(|name| ("secondary_measures", name)))
            .chain(self.accepted.iter().map(|own| ("accepted_loss.measure", &own.measure)))
        {
            if !known().any(|own| own == name) {
                let expected = known().collect::<Vec<_>>().join(", ");
                let what = format!("{key} of targets.toml");
                return Err(Error::invalid(
                    what,
                    format!("`{name}`"),
                    format!("one of {expected}"),
                ));
            }
        }
        match &self.accepted {
            Some(own) if !(own.margin > 0.0 && own.margin <= 1.0) => Err(Error::invalid(
                "accepted_loss.margin of targets.toml",
                own.margin,
                "a number above 0, at most 1",
            )),
            _ => Ok(()),
        }
    }

    fn role(&self, name: &str) -> Role {
        match name {
            _ if name == self.primary => Role::Primary,
            _ if self.secondary.iter().any(|own| own == name) => Role::Secondary,
            _ => Role::Exploratory,
        }
    }

    /// The measures of a comparison, in order: those always shown, then the others that are declared.
    fn names(&self) -> Vec<&str> {
        let declared = std::iter::once(&self.primary)
            .chain(&self.secondary)
            .chain(self.accepted.iter().map(|own| &own.measure))
            .map(String::as_str);
        let mut names = SHOWN.to_vec();
        for name in declared {
            if !names.contains(&name) {
                names.push(name);
            }
        }
        names
    }
}

/// One measure before and now, over the questions that both have.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Difference {
    /// The measure.
    pub name: String,
    /// What it is to the comparison.
    pub role: Role,
    /// Questions that have a value on both sides.
    pub n: usize,
    /// Its mean before.
    pub before: f64,
    /// Its mean now.
    pub now: f64,
    /// The 95 % interval of the difference, from paired questions.
    pub interval: Option<Interval>,
    /// Questions that have another value now.
    pub changed: usize,
    /// The exact sign-flip test, of the primary and of declared measures alone: of many tests one comes
    /// out by luck more often than it says.
    pub test: Option<SignFlip>,
    /// The p of a secondary measure, adjusted by Holm's procedure over all of them.
    pub adjusted: Option<f64>,
    /// Whether a loss that was accepted is exceeded, where one was.
    pub inferiority: Option<Inferiority>,
}

/// A comparison.
#[derive(Debug, Clone, Serialize)]
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
    /// Hit, recall and precision, and what else is declared.
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

/// Compares `now`, which has the receipt `receipt`, with what was recorded. The measures `declared` are
/// tested; the others get an interval and no p.
pub fn compare(
    before: &Recorded,
    now: &Measurement,
    receipt: &Receipt<'_>,
    declared: &Declared,
) -> Result<Comparison> {
    declared.check()?;
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
    let names = declared.names();
    let mut pairs: Vec<Vec<(f64, f64)>> = vec![Vec::new(); names.len()];
    for question in now.scored(None) {
        let old = known.get(question.id.as_str()).filter(|old| old.hit.is_some());
        let Some(old) = old else {
            comparison.apart += 1;
            continue;
        };
        comparison.questions += 1;
        comparison.failing += usize::from(question.value("hit") != Some(1.0));
        for (pairs, name) in pairs.iter_mut().zip(&names) {
            pairs.extend(old.value(name).zip(question.value(name)));
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
    let each = names.into_iter().zip(&pairs);
    comparison.differences = each.map(|(name, pairs)| difference(name, pairs, declared)).collect();
    correct(&mut comparison.differences);
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
    /// What answered and what judged; `None` where retrieval alone was measured.
    pub answers: Option<(&'r str, &'r str)>,
}

/// The settings that differ, each with its value before and now.
pub(super) fn settings_apart(before: &RecordedReceipt, now: &Receipt<'_>) -> Vec<String> {
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
    if let (Some(old), Some((answerer, judge))) = (&before.answers, now.answers) {
        for (what, old, new) in
            [("answers by", &old.answerer, answerer), ("judge", &old.judge, judge)]
        {
            if old != new {
                let short = |id: &str| id.chars().take(28).collect::<String>();
                apart.push(format!("{what} {} -> {}", short(old), short(new)));
            }
        }
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

impl RecordedQuestion {
    fn value(&self, name: &str) -> Option<f64> {
        match name {
            "hit" => self.hit,
            "recall" => self.recall,
            "precision" => self.precision,
            _ => self.measures.get(name).copied().flatten(),
        }
    }
}

fn difference(name: &str, pairs: &[(f64, f64)], declared: &Declared) -> Difference {
    let role = declared.role(name);
    let n = pairs.len().max(1) as f64;
    let (before, now): (Vec<f64>, Vec<f64>) = pairs.iter().copied().unzip();
    let differences: Vec<f64> = pairs.iter().map(|(before, now)| now - before).collect();
    let is_tested = role != Role::Exploratory;
    Difference {
        name: name.to_owned(),
        role,
        n: pairs.len(),
        before: before.iter().sum::<f64>() / n,
        now: now.iter().sum::<f64>() / n,
        interval: difference_interval(&before, &now, SEED),
        changed: differences.iter().filter(|difference| **difference != 0.0).count(),
        test: is_tested.then(|| sign_flip(&differences, SEED)).flatten(),
        adjusted: None,
        inferiority: declared.accepted.as_ref().filter(|own| own.measure == name).and_then(|own| {
            let floor = difference_floor(&before, &now, SEED)?;
            Some(Inferiority { margin: own.margin, floor, holds: floor > -own.margin })
        }),
    }
}

/// Adjusts the p-values of the secondary measures for each other.
fn correct(differences: &mut [Difference]) {
    let mut secondary: Vec<&mut Difference> = differences
        .iter_mut()
        .filter(|own| own.role == Role::Secondary && own.test.is_some())
        .collect();
    let p: Vec<f64> = secondary.iter().filter_map(|own| own.test).map(|test| test.p).collect();
    for (own, adjusted) in secondary.iter_mut().zip(holm(&p)) {
        own.adjusted = Some(adjusted);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secondary_measures_are_corrected_for_each_other_and_exploratory_ones_have_no_p() {
        let pairs = |changed: usize| -> Vec<(f64, f64)> {
            (0..12).map(|at| (0.5, if at < changed { 1.0 } else { 0.5 })).collect()
        };
        let declared = Declared {
            secondary: vec!["precision".to_owned(), "mrr".to_owned()],
            ..Declared::default()
        };
        let mut found = [
            difference("recall", &pairs(6), &declared),
            difference("precision", &pairs(6), &declared),
            difference("mrr", &pairs(7), &declared),
            difference("hit", &pairs(6), &declared),
        ];
        correct(&mut found);
        // Six of one direction: 2^-5. Of two, the smaller p is doubled, and the other is no smaller.
        let p: Vec<Option<f64>> = found.iter().map(|own| own.test.map(|test| test.p)).collect();
        assert_eq!(p, [Some(0.03125), Some(0.03125), Some(0.015_625), None]);
        let adjusted: Vec<Option<f64>> = found.iter().map(|own| own.adjusted).collect();
        assert_eq!(adjusted, [None, Some(0.03125), Some(0.03125), None]);
    }

    #[test]
    fn a_loss_is_within_what_was_accepted_only_where_enough_questions_say_so() {
        let declared = |margin| Declared {
            accepted: Some(AcceptedLoss { measure: "recall".to_owned(), margin }),
            ..Declared::default()
        };
        let shown = |n: usize, lost: usize, margin| {
            let pairs: Vec<(f64, f64)> =
                (0..n).map(|at| (1.0, if at < lost { 0.0 } else { 1.0 })).collect();
            difference("recall", &pairs, &declared(margin)).inferiority.unwrap().holds
        };
        // Nothing lost of eight shows little, of a hundred it shows that no twentieth is.
        assert!(!shown(8, 0, 0.05) && shown(100, 0, 0.05));
        assert!(!shown(100, 3, 0.05) && shown(100, 3, 0.1));
        assert!(difference("hit", &[(1.0, 1.0)], &declared(0.1)).inferiority.is_none());
        let said = declared(0.0).check().unwrap_err().to_string();
        assert!(said.starts_with("accepted_loss.margin of targets.toml is 0"), "{said}");
    }

    #[test]
    fn a_measure_that_no_report_has_is_refused() {
        let declared = |secondary: &str| Declared {
            secondary: vec![secondary.to_owned()],
            ..Declared::default()
        };
        assert_eq!(declared("mrr").names(), ["hit", "recall", "precision", "mrr"]);
        let said = declared("presicion").check().unwrap_err().to_string();
        assert!(said.starts_with("secondary_measures of targets.toml is `presicion`"), "{said}");
    }
}
