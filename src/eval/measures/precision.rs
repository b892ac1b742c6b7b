//! Precision at a fixed depth.

use std::num::NonZeroUsize;

use crate::eval::judgments::Judgments;

use super::{Measure, first, named, relevant};

/// Precision at k.
///
/// Formula: relevant units in the first k places over k, also when fewer than k came: a missing
/// place is a wrong one. A threshold therefore lowers this while it raises [`super::Precision`].
/// Cutoff: k. Ties: as given. Nothing relevant: `None`.
///
/// Reference: `P` of trec_eval (`m_P.c`).
#[derive(Debug, Clone, Copy)]
pub struct PrecisionAt {
    /// The number of places looked at, and the denominator.
    pub cut: NonZeroUsize,
}

impl Measure for PrecisionAt {
    fn name(&self) -> String {
        named("p", Some(self.cut))
    }

    fn score(&self, judgments: &Judgments, ranking: &[&str]) -> Option<f64> {
        let found = relevant(first(&judgments.walk(ranking), Some(self.cut)));
        judgments.is_scoreable().then(|| found as f64 / self.cut.get() as f64)
    }
}

/// R-precision: precision at R, where R counts evidence groups (with qrels, relevant units).
///
/// Formula: relevant units in the first R places over R, also when fewer than R came. Cutoff: R.
/// Ties: as given. Nothing relevant: `None`.
///
/// Reference: `Rprec` of trec_eval (`m_Rprec.c`).
#[derive(Debug, Clone, Copy)]
pub struct RPrecision;

impl Measure for RPrecision {
    fn name(&self) -> String {
        "rprec".to_owned()
    }

    fn score(&self, judgments: &Judgments, ranking: &[&str]) -> Option<f64> {
        let cut = NonZeroUsize::new(judgments.groups().len())?;
        PrecisionAt { cut }.score(judgments, ranking)
    }
}
