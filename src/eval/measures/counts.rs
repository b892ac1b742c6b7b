//! Plain counts, which explain a mean that looks odd.

use crate::eval::judgments::{Judgments, Standing};

use super::{Combine, Measure, covered};

/// What is counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Counted {
    /// Units returned: `num_ret`.
    Returned,
    /// Evidence groups, with qrels relevant units: `num_rel`.
    Relevant,
    /// Evidence groups covered, with qrels relevant units returned: `num_rel_ret`.
    RelevantReturned,
    /// Units returned that were judged not relevant: `num_nonrel_judged_ret`.
    NotRelevantReturned,
}

/// A count for one question, summed over questions.
///
/// Formula: see [`Counted`]. Cutoff: none. Ties: do not matter. Nothing relevant: 0 or the count.
///
/// Reference: `num_ret`, `num_rel`, `num_rel_ret` and `num_nonrel_judged_ret` of trec_eval.
#[derive(Debug, Clone, Copy)]
pub struct Count(
    /// What is counted.
    pub Counted,
);

impl Measure for Count {
    fn name(&self) -> String {
        let name = match self.0 {
            Counted::Returned => "num_ret",
            Counted::Relevant => "num_rel",
            Counted::RelevantReturned => "num_rel_ret",
            Counted::NotRelevantReturned => "num_nonrel_judged_ret",
        };
        name.to_owned()
    }

    fn score(&self, judgments: &Judgments, ranking: &[&str]) -> Option<f64> {
        let places = judgments.walk(ranking);
        let count = match self.0 {
            Counted::Returned => places.len(),
            Counted::Relevant => judgments.groups().len(),
            Counted::RelevantReturned => covered(&places),
            Counted::NotRelevantReturned => {
                places.iter().filter(|place| place.standing == Standing::NotRelevant).count()
            }
        };
        Some(count as f64)
    }

    fn combine(&self) -> Combine {
        Combine::Sum
    }
}
