//! Reciprocal rank.

use std::num::NonZeroUsize;

use crate::eval::judgments::Judgments;

use super::{Measure, first, named};

/// One over the place of the first relevant unit; its mean is MRR.
///
/// Formula: 1 / rank, 0 if no relevant unit came (in the first k places). Cutoff: optional. Ties: as
/// given. Nothing relevant: `None`.
///
/// Reference: Voorhees, TREC-8 question answering, 1999; `recip_rank` of trec_eval
/// (`m_recip_rank.c`).
#[derive(Debug, Clone, Copy)]
pub struct ReciprocalRank {
    /// The number of places looked at; all of them without it.
    pub cut: Option<NonZeroUsize>,
}

impl Measure for ReciprocalRank {
    fn name(&self) -> String {
        named("mrr", self.cut)
    }

    fn score(&self, judgments: &Judgments, ranking: &[&str]) -> Option<f64> {
        let places = judgments.walk(ranking);
        let found = first(&places, self.cut).iter().position(|place| place.is_relevant());
        judgments.is_scoreable().then(|| found.map_or(0.0, |index| 1.0 / (index + 1) as f64))
    }
}
