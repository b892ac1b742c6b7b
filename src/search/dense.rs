//! The dense leg.

use std::sync::Arc;

use super::{Candidates, DensePath, Mode, Request, Settings, Stage};
use crate::error::Result;
use crate::index::Index;

/// Adds the rows nearest to the question's embedding.
pub(super) struct Dense {
    pub index: Arc<Index>,
    pub settings: Arc<Settings>,
}

impl Stage for Dense {
    fn name(&self) -> &'static str {
        "dense"
    }

    fn skipped(&self, request: &Request) -> Option<&'static str> {
        (request.mode == Mode::Lexical).then_some("mode is lexical")
    }

    fn run(&self, request: &Request, mut candidates: Candidates) -> Result<Candidates> {
        let Some(vector) = candidates.vector.as_deref() else {
            let why = if self.index.embedder().reads_text() {
                "the model could read nothing of the question"
            } else {
                "the vectors of the index are from outside, and the request brings none"
            };
            candidates.note = why.to_owned();
            return Ok(candidates);
        };
        let path = match self.settings.dense {
            DensePath::Auto if request.scope.is_restricted() => DensePath::Exact,
            path => path,
        };
        let Settings { depth, ef, .. } = *self.settings;
        let vectors = self.index.vectors();
        let found = match path {
            DensePath::Auto => vectors.search(vector, &request.scope, depth, ef)?,
            DensePath::Exact => vectors.scan(vector, &request.scope, depth)?,
            DensePath::Graph => vectors.walk(vector, &request.scope, depth, ef)?,
        };
        candidates.add(&found.hits, |candidate, score| candidate.dense = Some(score));
        candidates.note = found.note;
        Ok(candidates)
    }
}
