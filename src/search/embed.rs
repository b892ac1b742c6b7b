//! The question as terms and as a vector.

use std::sync::Arc;

use super::{Candidates, Mode, Request, Stage};
use crate::error::Result;
use crate::index::Index;
use crate::lexical::Query;
use crate::vectors::Role;

/// Analyses and embeds the question.
pub(super) struct Embed(pub Arc<Index>);

impl Stage for Embed {
    fn name(&self) -> &'static str {
        "embed"
    }

    fn run(&self, request: &Request, mut candidates: Candidates) -> Result<Candidates> {
        candidates.query = Query::new(self.0.analyzer().question(&request.question));
        candidates.note = format!("{} terms", candidates.query.terms().len());
        if request.mode != Mode::Lexical {
            let embedder = self.0.embedder();
            let embedded = embedder.embed(Role::Query, &[&request.question])?;
            let embedded = embedded.checked(embedder, 1)?;
            candidates.readable = embedded.readable.first().copied().map_or(0.0, f64::from);
            let vector = embedded.rows.row(0).to_vec();
            let says_something = candidates.readable > 0.0 || !candidates.query.terms().is_empty();
            if says_something && vector.iter().any(|component| *component != 0.0) {
                candidates.vector = Some(vector);
            }
            candidates.note +=
                &format!(", {:.0} % of it read by the model", candidates.readable * 100.0);
        }
        Ok(candidates)
    }
}
