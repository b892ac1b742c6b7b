//! The lexical leg.

use std::sync::Arc;

use super::{Candidates, Mode, Request, Settings, Stage};
use crate::error::Result;
use crate::index::Index;

/// Adds the best rows of BM25.
pub(super) struct Lexical {
    pub index: Arc<Index>,
    pub settings: Arc<Settings>,
}

impl Stage for Lexical {
    fn name(&self) -> &'static str {
        "lexical"
    }

    fn skipped(&self, request: &Request) -> Option<&'static str> {
        (request.mode == Mode::Dense).then_some("mode is dense")
    }

    fn run(&self, request: &Request, mut candidates: Candidates) -> Result<Candidates> {
        let Settings { bm25, depth, .. } = *self.settings;
        let hits = self.index.lexical().search(&candidates.query, &request.scope, bm25, depth)?;
        candidates.add(&hits, |candidate, score| candidate.lexical = Some(score));
        if candidates.query.terms().is_empty() {
            candidates.note = "the question holds no term".to_owned();
        }
        Ok(candidates)
    }
}
