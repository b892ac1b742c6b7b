//! What a minimum score would do, at every value that makes a difference, from one pass.

use super::judgments::Judgments;
use super::measurement::{CONTEXT_MEASURES, Measurement};
use super::measures;
use super::questions::QuestionSet;
use super::units::Units;
use crate::error::Result;
use crate::index::Index;
use crate::search::{Settings, within};

/// One value of the minimum score.
#[derive(Debug, Clone, PartialEq, serde::Serialize)]
pub struct Step {
    /// The value; a candidate at it stays.
    pub min_score: f64,
    /// Mean hit over the scored questions.
    pub hit: f64,
    /// Mean recall.
    pub recall: f64,
    /// Mean precision over what was supplied; nothing supplied counts 0.
    pub precision: f64,
    /// Mean estimated tokens.
    pub tokens: f64,
    /// Mean number of blocks supplied.
    pub blocks: f64,
    /// Questions with nothing supplied.
    pub empty: usize,
}

/// The means at one value, from recorded scores.
pub fn at(
    index: &Index,
    settings: &Settings,
    set: &QuestionSet,
    measured: &Measurement,
    min_score: f64,
) -> Result<Step> {
    let list = measures::parse_all(CONTEXT_MEASURES)?;
    let mut step = Step {
        min_score,
        hit: 0.0,
        recall: 0.0,
        precision: 0.0,
        tokens: 0.0,
        blocks: 0.0,
        empty: 0,
    };
    let mut n = 0.0_f64;
    for (question, measured) in set.questions.iter().zip(&measured.questions) {
        if !measured.is_scored() {
            continue;
        }
        n += 1.0;
        let judgments: &Judgments = &question.judgments;
        let left: Vec<u32> = measured
            .reranked
            .iter()
            .filter(|scored| scored.score >= min_score)
            .map(|scored| scored.row)
            .collect();
        let places =
            within(index.passages(), left.iter().copied(), settings.k, settings.window_tokens)?;
        let rows: Vec<u32> = places.into_iter().map(|at| left[at]).collect();
        let units = Units::new(index.passages(), judgments, set.by_document)?;
        let names: Result<Vec<String>> = rows.iter().map(|row| units.of(*row)).collect();
        let names = names?;
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        let value = |at: usize| list[at].score(judgments, &names).unwrap_or(0.0);
        step.hit += value(0);
        step.recall += value(1);
        step.precision += value(2);
        step.blocks += rows.len() as f64;
        step.empty += usize::from(rows.is_empty());
        for row in rows {
            let block = index.passages().passage(row)?.block;
            step.tokens += f64::from(index.passages().block(block)?.tokens);
        }
    }
    for mean in
        [&mut step.hit, &mut step.recall, &mut step.precision, &mut step.tokens, &mut step.blocks]
    {
        *mean /= n.max(1.0);
    }
    Ok(step)
}

/// Every value at which some candidate of some scored question drops out, ascending: just above each
/// of them the outcome changes, and nowhere else.
pub fn breakpoints(measured: &Measurement) -> Vec<f64> {
    let mut scores: Vec<f64> = measured
        .scored(None)
        .flat_map(|question| question.reranked.iter().map(|scored| scored.score))
        .collect();
    scores.sort_by(f64::total_cmp);
    scores.dedup();
    scores
}

/// The largest minimum score at which mean recall is still what it is without one: just above it some
/// needed candidate drops out. `None` when no value lowers recall.
pub fn first_drop(
    index: &Index,
    settings: &Settings,
    set: &QuestionSet,
    measured: &Measurement,
) -> Result<Option<f64>> {
    let scores = breakpoints(measured);
    let whole = at(index, settings, set, measured, 0.0)?.recall;
    // Recall never rises with the minimum, so the drop can be found by halving.
    let (mut low, mut high) = (0, scores.len());
    while low < high {
        let middle = low + (high - low) / 2;
        if at(index, settings, set, measured, scores[middle])?.recall < whole {
            high = middle;
        } else {
            low = middle + 1;
        }
    }
    if low == scores.len() {
        return Ok(None);
    }
    Ok(Some(if low == 0 { 0.0 } else { scores[low - 1] }))
}
