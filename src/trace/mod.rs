//! What one search did, as data.
//!
//! The pipeline writes a [`Trace`] while it runs; explanations, usage logs and the evaluator read
//! it. A stage that did not run is in it with its reason, so nothing is skipped silently.

pub mod log;

use serde::Serialize;

/// One row at one stage.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Scored {
    /// The passage's row in the index.
    pub row: u32,
    /// Its score after the stage; higher is better.
    pub score: f64,
}

/// What one stage did.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct StageTrace {
    /// Its name: `embed`, `lexical`, `dense`, `fuse`, `rerank`, `min-score`, `window`.
    pub name: &'static str,
    /// Microseconds it took; 0 when it did not run.
    pub elapsed_us: f64,
    /// Candidates before it.
    #[serde(rename = "in")]
    pub before: usize,
    /// Candidates after it.
    #[serde(rename = "out")]
    pub after: usize,
    /// How it did its work, or why it did not run.
    pub note: String,
    /// The stage's own list, best first: a leg's hits for `lexical` and `dense`, the candidates
    /// that are left for all others.
    #[serde(skip)]
    pub list: Vec<Scored>,
}

impl StageTrace {
    /// Whether it ran: one that did not says why in its note.
    pub fn ran(&self) -> bool {
        !self.note.starts_with("did not run")
    }
}

/// A whole search.
#[derive(Debug, Clone, PartialEq, Serialize, Default)]
pub struct Trace {
    /// Every stage in the order of the pipeline.
    pub stages: Vec<StageTrace>,
    /// Microseconds from the question's text to the context. The stages' times add up to it but for
    /// the time between stages, which is [`Trace::gap_us`].
    pub total_us: f64,
}

impl Trace {
    /// The stage called `name`.
    pub fn stage(&self, name: &str) -> Option<&StageTrace> {
        self.stages.iter().find(|stage| stage.name == name)
    }

    /// Microseconds of the total that no stage accounts for: making and checking the trace.
    pub fn gap_us(&self) -> f64 {
        self.total_us - self.stages.iter().map(|stage| stage.elapsed_us).sum::<f64>()
    }

    /// The place of `row` in the list of the stage called `name`, from 1, and its score.
    pub fn rank(&self, name: &str, row: u32) -> Option<(usize, f64)> {
        let list = &self.stage(name)?.list;
        let at = list.iter().position(|scored| scored.row == row)?;
        Some((at + 1, list[at].score))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_add_up_and_ranks_count_from_one() {
        let stage = |name, elapsed_us| StageTrace {
            name,
            elapsed_us,
            before: 0,
            after: 1,
            note: String::new(),
            list: vec![Scored { row: 7, score: 0.5 }],
        };
        let trace =
            Trace { stages: vec![stage("lexical", 3.0), stage("dense", 4.0)], total_us: 8.0 };
        assert_eq!(trace.gap_us(), 1.0);
        assert_eq!(trace.rank("dense", 7), Some((1, 0.5)));
        assert_eq!(trace.rank("dense", 8), None);
        assert_eq!(trace.rank("fuse", 7), None);
    }
}
