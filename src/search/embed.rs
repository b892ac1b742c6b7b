//! The question as terms and as a vector.

use std::sync::Arc;

use super::synonyms::Rules;
use super::{Candidates, Mode, Request, Settings, Stage};
use crate::error::{Error, Result};
use crate::index::Index;
use crate::lexical::Query;
use crate::vectors::Role;

/// Analyses and embeds the question.
pub(super) struct Embed {
    pub index: Arc<Index>,
    pub settings: Arc<Settings>,
    pub rules: Rules,
}

impl Embed {
    /// The terms of `question` with what may stand for them, and how that is told.
    fn query(&self, question: &str) -> (Query, Vec<String>) {
        let terms = self.index.analyzer().question(question);
        let (groups, told) = self.rules.groups(&terms, self.settings.synonym_weight);
        let query = Query::new(self.index.analyzer().asked(question));
        if groups.is_empty() { (query, told) } else { (query.with_groups(groups), told) }
    }
}

impl Stage for Embed {
    fn name(&self) -> &'static str {
        "embed"
    }

    fn run(&self, request: &Request, mut candidates: Candidates) -> Result<Candidates> {
        let told;
        (candidates.query, told) = self.query(&request.question);
        candidates.note = format!("{} terms", candidates.query.terms().len());
        let embedder = self.index.embedder();
        if request.mode == Mode::Lexical {
            // Its terms are all that it is asked by.
        } else if let Some(vector) = &request.vector {
            if vector.len() != embedder.dim() {
                let found = format!("{} numbers long", vector.len());
                let expected = format!("{}, as the rows of the index", embedder.dim());
                return Err(Error::invalid("the vector of the request", found, expected));
            }
            candidates.readable = 1.0;
            candidates.vector = Some(vector.to_vec());
            candidates.note += ", its vector brought";
        } else if embedder.reads_text() {
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
        } else if request.mode == Mode::Dense {
            let expected = "one beside the question, since the vectors of this index are from outside; \
                            or another mode";
            return Err(Error::invalid("the vector of the request", "missing", expected));
        } else {
            candidates.note += ", no vector brought";
        }
        for told in told {
            candidates.note += &format!("; {told}");
        }
        Ok(candidates)
    }
}
