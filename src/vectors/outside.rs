//! The embedder of an index whose vectors were brought by its documents.

use ndarray::Array2;

use super::embedder::{Embedder, Embeddings, Role};
use crate::error::Result;

/// What the id of every such embedder begins with.
const NAME: &str = "outside/";

/// Stands for a model that is not here: it has a dimension, and reads no text.
///
/// Every text gives zeros and the readable share 0, as the contract has it for a text of which a model
/// knows nothing. A passage has the vector of its document, and a question that which its request brings.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Outside {
    id: String,
    dim: usize,
}

impl Outside {
    /// An embedder of vectors of `dim` numbers.
    pub fn new(dim: usize) -> Self {
        Self { id: format!("{NAME}{dim}"), dim }
    }

    /// The one that was called `id`, if it was one.
    pub fn called(id: &str) -> Option<Self> {
        id.strip_prefix(NAME)?.parse().ok().map(Self::new)
    }
}

impl Embedder for Outside {
    fn id(&self) -> &str {
        &self.id
    }

    fn dim(&self) -> usize {
        self.dim
    }

    fn reads_text(&self) -> bool {
        false
    }

    fn embed(&self, _: Role, texts: &[&str]) -> Result<Embeddings> {
        let rows = Array2::zeros((texts.len(), self.dim));
        Ok(Embeddings { rows, readable: vec![0.0; texts.len()] })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_known_by_its_id_and_says_nothing_of_any_text() {
        let outside = Outside::new(3);
        assert_eq!(outside.id(), "outside/3");
        assert_eq!(Outside::called("outside/3"), Some(outside.clone()));
        assert_eq!(Outside::called("static-256@0d118bfe668edf26"), None);
        let said = outside.embed(Role::Query, &["a", "b"]).unwrap().checked(&outside, 2).unwrap();
        assert!(said.rows.iter().all(|x| *x == 0.0) && said.readable == [0.0, 0.0]);
    }
}
