//! Binary preference, a measure for incomplete judgments.

use crate::eval::judgments::{Judgments, Standing};

use super::Measure;

/// The share of preferences of relevant over not relevant units that the ranking keeps.
///
/// Formula, over judged units only: the mean over all evidence groups of
/// `1 - min(n, R) / min(N, R)` at the place that first covers the group, where n counts the judged
/// not relevant units above it, R the groups (with qrels, the relevant units) and N the judged not
/// relevant units, retrieved or not: the correction of 2005, by which those not retrieved count as
/// ranked below. With none above, the term is 1, so that neither denominator can be 0. A group never
/// covered gives 0. Cutoff: none. Ties: as given. Nothing relevant: `None`.
///
/// Reference: Buckley and Voorhees, SIGIR 2004; `bpref` of trec_eval (`m_bpref.c`).
#[derive(Debug, Clone, Copy)]
pub struct Bpref;

impl Measure for Bpref {
    fn name(&self) -> String {
        "bpref".to_owned()
    }

    fn score(&self, judgments: &Judgments, ranking: &[&str]) -> Option<f64> {
        let needed = judgments.groups().len();
        let bound = judgments.not_relevant().min(needed) as f64;
        let (mut above, mut sum) = (0_usize, 0.0);
        for place in judgments.walk(ranking) {
            match place.standing {
                Standing::NotRelevant => above += 1,
                Standing::Relevant => {
                    let broken = if above > 0 { above.min(needed) as f64 / bound } else { 0.0 };
                    sum += place.newly_covered as f64 * (1.0 - broken);
                }
                Standing::PoolUnjudged | Standing::Unjudged => {}
            }
        }
        judgments.is_scoreable().then(|| sum / needed as f64)
    }
}
