//! Interpolated precision at a level of recall, the points of the recall-precision graph.

use crate::eval::judgments::Judgments;

use super::Measure;

/// The best precision at or after the place where a share of the evidence is found.
///
/// Formula: the largest precision at any place where at least `round(share × R)` evidence groups
/// (with qrels, relevant units) are covered; 0 if there is none. Cutoff: the share, 0 to 1. Ties: as
/// given. Nothing relevant: `None`.
///
/// Reference: `iprec_at_recall` of trec_eval 10 (`m_iprec_at_recall.c`); version 9 rounded the
/// number of groups otherwise.
#[derive(Debug, Clone, Copy)]
pub struct InterpolatedPrecision {
    /// The level of recall, `0.0..=1.0`.
    pub share: f64,
}

impl Measure for InterpolatedPrecision {
    fn name(&self) -> String {
        let two_digits = format!("{:.2}", self.share);
        let exact = two_digits.parse() == Ok(self.share);
        if exact { format!("iprec@{two_digits}") } else { format!("iprec@{}", self.share) }
    }

    fn score(&self, judgments: &Judgments, ranking: &[&str]) -> Option<f64> {
        let needed = (self.share * judgments.groups().len() as f64).round();
        let (mut found, mut covered, mut best) = (0_usize, 0_usize, 0.0_f64);
        for (index, place) in judgments.walk(ranking).iter().enumerate() {
            found += usize::from(place.is_relevant());
            covered += place.newly_covered;
            if covered as f64 >= needed {
                best = best.max(found as f64 / (index + 1) as f64);
            }
        }
        judgments.is_scoreable().then_some(best)
    }
}
