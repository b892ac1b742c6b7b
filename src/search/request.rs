//! What is asked and what comes back.

use super::{Mode, Settings};
use crate::access::Scope;
use crate::corpus::unit;
use crate::error::{Error, Result};
use crate::lexical::Query;
use crate::trace::Trace;

/// A question with the scope of its asker: there is no way to make one without.
#[derive(Debug, Clone)]
pub struct Request {
    pub(super) question: String,
    pub(super) scope: Scope,
    pub(super) mode: Mode,
    pub(super) k: Option<usize>,
    pub(super) min_score: Option<f64>,
    pub(super) vector: Option<Box<[f32]>>,
}

impl Request {
    /// Asks `question` within `scope`, with the settings of the searcher.
    pub fn new(question: impl Into<String>, scope: Scope) -> Self {
        Self {
            question: question.into(),
            scope,
            mode: Mode::default(),
            k: None,
            min_score: None,
            vector: None,
        }
    }

    /// Uses only some legs.
    #[must_use]
    pub fn mode(mut self, mode: Mode) -> Self {
        self.mode = mode;
        self
    }

    /// Takes `k` blocks into the window instead of the setting's number; refused unless
    /// 1..=`settings.depth`.
    pub fn k(mut self, k: usize, settings: &Settings) -> Result<Self> {
        if !(1..=settings.depth).contains(&k) {
            let expected = format!("a whole number from 1 to {}, the depth", settings.depth);
            return Err(Error::invalid("-k", k, expected));
        }
        self.k = Some(k);
        Ok(self)
    }

    /// Uses `min_score` instead of the setting's; refused outside 0.0..=1.0.
    pub fn min_score(mut self, min_score: f64) -> Result<Self> {
        if !(0.0..=1.0).contains(&min_score) {
            return Err(Error::invalid("--min-score", min_score, "a number from 0 to 1"));
        }
        self.min_score = Some(min_score);
        Ok(self)
    }

    /// Brings the question's embedding, of any length but 0, instead of having it made: for an index whose
    /// vectors are from outside, or to try another model. The search refuses it unless it has as many
    /// numbers as a row of the index.
    ///
    /// # Errors
    ///
    /// A number that is not finite, and a vector of zeros.
    pub fn vector(mut self, vector: &[f32]) -> Result<Self> {
        let unit = unit(vector.iter().copied().map(f64::from)).map_err(|problem| {
            let expected = "finite numbers, not all of them 0";
            Error::invalid(
                "the vector of the request",
                format!("not usable: it {problem}"),
                expected,
            )
        })?;
        self.vector = Some(unit);
        Ok(self)
    }

    /// Asks the same within another scope.
    #[must_use]
    pub fn within(mut self, scope: Scope) -> Self {
        self.scope = scope;
        self
    }

    /// The question as it was asked.
    pub fn question(&self) -> &str {
        &self.question
    }

    /// What the asker may see.
    pub fn scope(&self) -> &Scope {
        &self.scope
    }
}

/// One block of the context, with the passage that brought it there.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ContextBlock {
    /// The block's number in the index.
    pub block: u32,
    /// Its best passage.
    pub row: u32,
    /// The passage's score, 0.0..=1.0.
    pub score: f64,
    /// Estimated tokens of the block.
    pub tokens: usize,
    /// The block that it is a neighbour of, where it was not found itself: `search.neighbours`. Its row
    /// is then its first, and the score is that of the block it is joined to.
    pub joined_to: Option<u32>,
}

/// What a search brought.
#[derive(Debug, Clone, Default)]
pub struct Outcome {
    /// Distinct blocks, best first, neighbours behind the hit that they are joined to: what would be
    /// handed to a reader or a model.
    pub context: Vec<ContextBlock>,
    /// What every stage did.
    pub trace: Trace,
    /// Rows that say the same as a hit and were collapsed into it, each with the hit's row.
    pub same: Vec<(u32, u32)>,
    /// The question as the lexical leg understood it.
    pub query: Query,
}

impl Outcome {
    /// Estimated tokens of the context.
    pub fn tokens(&self) -> usize {
        self.context.iter().map(|block| block.tokens).sum()
    }

    /// How many blocks of the context were found themselves: all but the neighbours, at most `k`.
    pub fn hits(&self) -> usize {
        self.context.iter().filter(|block| block.joined_to.is_none()).count()
    }

    /// The rows that were collapsed into the hit of `row`, best first.
    pub fn same_as(&self, row: u32) -> impl Iterator<Item = u32> + '_ {
        self.same.iter().filter(move |(_, hit)| *hit == row).map(|(row, _)| *row)
    }
}

/// Whatever answers requests: the engine in this process, or another one later. The evaluator sees
/// only this.
pub trait Retriever: Sync {
    /// Answers one request.
    fn retrieve(&self, request: &Request) -> Result<Outcome>;
}
