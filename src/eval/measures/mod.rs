//! The measures: numbers that say what one ranking was worth to one question.
//!
//! All of them stand behind one door, [`Measure`], and are made by name with [`parse`]. They take
//! the ranking in the order given and never sort it: a tie was settled by the engine, in one way for
//! every measure, or by [`crate::eval::trec`]. A unit that comes twice counts once, at its first
//! place. Where the judgments have groups of equivalent units, "relevant" means in any group, and
//! "found" means that a group is covered; with qrels, where each relevant unit is a group of its
//! own, the definitions are those of trec_eval, to the last digit it prints.

mod average_precision;
mod bpref;
mod counts;
mod interpolated;
mod judged;
mod names;
mod ndcg;
mod precision;
mod reciprocal_rank;
mod supplied;
#[cfg(test)]
mod tests;

use std::fmt::Debug;
use std::num::NonZeroUsize;

use crate::eval::judgments::{Judgments, Place};

pub use average_precision::{AveragePrecision, GeometricMeanAp, InferredAp};
pub use bpref::Bpref;
pub use counts::{Count, Counted};
pub use interpolated::InterpolatedPrecision;
pub use judged::{Judged, JudgedOver, Unjudged};
pub use names::{names, parse, parse_all};
pub use ndcg::Ndcg;
pub use precision::{PrecisionAt, RPrecision};
pub use reciprocal_rank::ReciprocalRank;
pub use supplied::{Hit, Precision, Rank, Recall, SetF};

/// One way to score a ranking against the judgments of its question.
pub trait Measure: Debug + Send + Sync {
    /// The canonical name, which [`parse`] reads back: `ndcg@10`.
    fn name(&self) -> String;

    /// The value for one question, or `None` when it cannot be scored.
    ///
    /// `ranking` is best first. `None` is neither 0 nor 1 and takes no part in a mean.
    fn score(&self, judgments: &Judgments, ranking: &[&str]) -> Option<f64>;

    /// How the values of many questions become one.
    fn combine(&self) -> Combine {
        Combine::Mean
    }
}

/// How the values of many questions become one; questions without a value are left out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Combine {
    /// The arithmetic mean.
    Mean,
    /// The arithmetic mean of the questions that were hit: never print it without the misses.
    MeanOfHits,
    /// The geometric mean, where a value under 0.00001 counts as that much (as in trec_eval).
    GeometricMean,
    /// The sum, for counts.
    Sum,
}

impl Combine {
    /// One value for many questions; `None` when no question has one.
    pub fn over(self, values: impl IntoIterator<Item = Option<f64>>) -> Option<f64> {
        let values: Vec<f64> = values.into_iter().flatten().collect();
        if values.is_empty() {
            return None;
        }
        let n = values.len() as f64;
        Some(match self {
            Self::Mean | Self::MeanOfHits => values.iter().sum::<f64>() / n,
            Self::GeometricMean => {
                (values.iter().map(|value| value.max(1e-5).ln()).sum::<f64>() / n).exp()
            }
            Self::Sum => values.iter().sum(),
        })
    }
}

/// The first `cut` places, or all of them; a cut beyond the end is no error.
fn first(places: &[Place], cut: Option<NonZeroUsize>) -> &[Place] {
    let end = cut.map_or(places.len(), |cut| places.len().min(cut.get()));
    places.get(..end).unwrap_or(places)
}

/// `base`, or `base@cut`.
fn named(base: &str, cut: Option<NonZeroUsize>) -> String {
    cut.map_or_else(|| base.to_owned(), |cut| format!("{base}@{cut}"))
}

/// Relevant units among the places.
fn relevant(places: &[Place]) -> usize {
    places.iter().filter(|place| place.is_relevant()).count()
}

/// Evidence groups covered by the places.
fn covered(places: &[Place]) -> usize {
    places.iter().map(|place| place.newly_covered).sum()
}
