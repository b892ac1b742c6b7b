//! How much of a ranking was judged at all: without it the other numbers cannot be trusted.

use std::num::NonZeroUsize;

use crate::eval::judgments::Judgments;

use super::{Measure, first, named};

/// The denominator of [`Judged`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum JudgedOver {
    /// k, also when fewer came: a missing place is not a judged one.
    Cut,
    /// The places that came, at most k.
    Returned,
}

/// The share of the first k places that hold a judged unit.
///
/// Formula: units with a grade of 0 or more in the first k places, over k (`judged@k`) or over the
/// places that came (`judged_returned@k`, which is what ir_measures calls `Judged@k`). Print both.
/// Cutoff: k. Ties: as given. Nothing relevant: the share all the same; `judged_returned@k` of an
/// empty list: `None`.
///
/// Reference: `Judged` of ir_measures; Sakai and Kando, Information Retrieval 11, 2008.
#[derive(Debug, Clone, Copy)]
pub struct Judged {
    /// The number of places looked at.
    pub cut: NonZeroUsize,
    /// What the share is of.
    pub over: JudgedOver,
}

impl Measure for Judged {
    fn name(&self) -> String {
        let base = match self.over {
            JudgedOver::Cut => "judged",
            JudgedOver::Returned => "judged_returned",
        };
        named(base, Some(self.cut))
    }

    fn score(&self, judgments: &Judgments, ranking: &[&str]) -> Option<f64> {
        let places = judgments.walk(ranking);
        let seen = first(&places, Some(self.cut));
        let judged = seen.iter().filter(|place| place.is_judged()).count();
        let whole = match self.over {
            JudgedOver::Cut => self.cut.get(),
            JudgedOver::Returned => seen.len(),
        };
        (whole > 0).then(|| judged as f64 / whole as f64)
    }
}

/// The share of the first k places that hold a unit nobody judged.
///
/// Formula: unjudged units in the first k places, over k; a missing place counts as not unjudged, so
/// this is not 1 minus [`Judged`]. Cutoff: k. Ties: as given. Nothing relevant: the share all the
/// same.
///
/// Reference: `unj` of trec_eval 10 (`m_unjudged.c`).
#[derive(Debug, Clone, Copy)]
pub struct Unjudged {
    /// The number of places looked at, and the denominator.
    pub cut: NonZeroUsize,
}

impl Measure for Unjudged {
    fn name(&self) -> String {
        named("unjudged", Some(self.cut))
    }

    fn score(&self, judgments: &Judgments, ranking: &[&str]) -> Option<f64> {
        let places = judgments.walk(ranking);
        let seen = first(&places, Some(self.cut));
        let unjudged = seen.iter().filter(|place| !place.is_judged()).count();
        Some(unjudged as f64 / self.cut.get() as f64)
    }
}
