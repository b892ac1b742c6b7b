//! Average precision, and two relatives.

use std::num::NonZeroUsize;

use crate::eval::judgments::{Judgments, Standing};

use super::{Combine, Measure, first, named};

/// Average precision; its mean is MAP.
///
/// Formula: the mean over **all** evidence groups of the precision at the place that first covers
/// the group, 0 for a group never covered; with qrels, the sum of the precision at each relevant
/// place over all relevant units. With a cut, only the first k places count, and the denominator
/// stays all groups (not min(k, R)). Cutoff: optional. Ties: as given. Nothing relevant: `None`.
///
/// Reference: `map` and `map_cut` of trec_eval (`m_map.c`, `m_map_cut.c`).
#[derive(Debug, Clone, Copy)]
pub struct AveragePrecision {
    /// The number of places looked at; all of them without it.
    pub cut: Option<NonZeroUsize>,
}

impl Measure for AveragePrecision {
    fn name(&self) -> String {
        named("map", self.cut)
    }

    fn score(&self, judgments: &Judgments, ranking: &[&str]) -> Option<f64> {
        let places = judgments.walk(ranking);
        let (mut found, mut sum) = (0_usize, 0.0);
        for (index, place) in first(&places, self.cut).iter().enumerate() {
            if place.is_relevant() {
                found += 1;
                let precision = found as f64 / (index + 1) as f64;
                sum += place.newly_covered as f64 * precision;
            }
        }
        judgments.is_scoreable().then(|| sum / judgments.groups().len() as f64)
    }
}

/// Average precision whose mean over questions is geometric: it rewards the absence of bad ones.
///
/// Formula, cutoff, ties and nothing relevant as in [`AveragePrecision`]; a question under 0.00001
/// counts as that in the mean. One bad question weighs more than many good ones.
///
/// Reference: Robertson, "On GMAP", CIKM 2006; `gm_map` of trec_eval (`m_gm_map.c`), which prints it
/// for all questions together only.
#[derive(Debug, Clone, Copy)]
pub struct GeometricMeanAp;

impl Measure for GeometricMeanAp {
    fn name(&self) -> String {
        "gm_map".to_owned()
    }

    fn score(&self, judgments: &Judgments, ranking: &[&str]) -> Option<f64> {
        AveragePrecision { cut: None }.score(judgments, ranking)
    }

    fn combine(&self) -> Combine {
        Combine::GeometricMean
    }
}

/// Inferred average precision, for pools of which only a sample was judged.
///
/// Formula: as [`AveragePrecision`], but the precision at a relevant place of rank r is
/// `1/r + (r-1)/r × (pooled above)/(r-1) × (relevant above + ε)/(judged above + 2ε)`, with ε 0.00001:
/// units in the pool are expected to be relevant as often as those judged, units outside it never.
/// Without grades below zero and with the whole pool judged it is average precision. Cutoff: none.
/// Ties: as given. Nothing relevant: `None`. Report the judged share beside it.
///
/// Reference: Yilmaz and Aslam, CIKM 2006; `infAP` of trec_eval (`m_infap.c`).
#[derive(Debug, Clone, Copy)]
pub struct InferredAp;

impl Measure for InferredAp {
    fn name(&self) -> String {
        "infap".to_owned()
    }

    fn score(&self, judgments: &Judgments, ranking: &[&str]) -> Option<f64> {
        const EPSILON: f64 = 0.00001;
        let (mut relevant, mut other, mut pooled) = (0.0, 0.0, 0.0);
        let mut sum = 0.0;
        for (index, place) in judgments.walk(ranking).iter().enumerate() {
            match place.standing {
                Standing::Unjudged => {}
                Standing::PoolUnjudged => pooled += 1.0,
                Standing::NotRelevant => other += 1.0,
                Standing::Relevant => {
                    let (above, rank) = (index as f64, (index + 1) as f64);
                    let expected = if index == 0 {
                        0.0
                    } else {
                        (above / rank)
                            * ((relevant + other + pooled) / above)
                            * ((relevant + EPSILON) / (relevant + other + 2.0 * EPSILON))
                    };
                    sum += place.newly_covered as f64 * (1.0 / rank + expected);
                    relevant += 1.0;
                }
            }
        }
        judgments.is_scoreable().then(|| sum / judgments.groups().len() as f64)
    }
}
