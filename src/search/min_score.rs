//! Dropping what scores too low.

use std::sync::Arc;

use super::{Candidates, Request, Settings, Stage};
use crate::error::Result;

/// Drops candidates whose reranked score is below the minimum; one at the value stays.
pub(super) struct MinScore(pub Arc<Settings>);

impl Stage for MinScore {
    fn name(&self) -> &'static str {
        "min-score"
    }

    fn run(&self, request: &Request, mut candidates: Candidates) -> Result<Candidates> {
        let least = request.min_score.unwrap_or(self.0.min_score);
        candidates.list.retain(|candidate| candidate.score >= least);
        candidates.note = format!("at least {least}");
        Ok(candidates)
    }
}
