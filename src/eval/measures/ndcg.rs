//! Normalised discounted cumulative gain.

use std::num::NonZeroUsize;

use crate::eval::judgments::Judgments;

use super::{Measure, first, named};

/// Normalised discounted cumulative gain, with linear gain.
///
/// Formula: the sum of gain / log2(rank + 1) over the list (its first k places), over the same sum
/// for the ideal list. The gain is the grade itself; an unjudged unit and a grade below zero give 0.
/// The ideal list is made from **all** judged units of the question, cut at k, never from what came
/// back. Evidence groups: each pays once, where it is first covered, and the ideal list covers one a
/// place, best grade first; a unit that covers several at once could beat that, so the value is held
/// at 1. Cutoff: optional. Ties: as given. No unit with a grade above 0: `None`. The relevance level
/// does not touch it.
///
/// The exponential gain, 2^grade - 1, is another measure: grades 1 and 3 in that order give 0.797
/// here and 0.710 there.
///
/// Reference: Järvelin and Kekäläinen, TOIS 20, 2002; `ndcg` and `ndcg_cut` of trec_eval
/// (`m_ndcg.c`, `m_ndcg_cut.c`).
#[derive(Debug, Clone, Copy)]
pub struct Ndcg {
    /// The number of places looked at; all of them without it.
    pub cut: Option<NonZeroUsize>,
}

impl Measure for Ndcg {
    fn name(&self) -> String {
        named("ndcg", self.cut)
    }

    fn score(&self, judgments: &Judgments, ranking: &[&str]) -> Option<f64> {
        let places = judgments.walk(ranking);
        let found = discounted(first(&places, self.cut).iter().map(|place| place.gain));
        let ideal_gains = judgments.ideal_gains();
        let cut = self.cut.map_or(usize::MAX, NonZeroUsize::get);
        let ideal = discounted(ideal_gains.into_iter().take(cut));
        (ideal > 0.0).then(|| (found / ideal).min(1.0))
    }
}

fn discounted(gains: impl Iterator<Item = f64>) -> f64 {
    gains.enumerate().map(|(index, gain)| gain / ((index + 2) as f64).log2()).sum()
}
