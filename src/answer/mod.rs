//! From evidence to an answer.
//!
//! An [`Answerer`] gets a question with its evidence, the blocks of a search's context as
//! [`Source`]s, and gives an [`Answer`]: what it says, from which sources, or that it declines. The
//! built-in one is [`Extractive`]: it quotes sentences and table rows of the evidence by a rule that
//! [`extract`] states, and declines when none scores enough. [`Recorded`] reads answers that another
//! system gave; an endpoint on this machine is a feature of its own.
//!
//! An answer is made of what the asker may read and of nothing else: the sources come from a search
//! within the asker's scope, and the weights of words are those of that scope.

mod asks;
#[cfg(feature = "answer-endpoint")]
pub mod endpoint;
pub mod extract;
mod recorded;
mod refusal;
mod settings;
mod source;
mod units;

use serde::Serialize;

pub use extract::Extractive;
pub use recorded::{Record, Recorded};
pub use refusal::{Refusal, fold, refusal};
pub use settings::{EndpointSettings, Settings};
pub use source::{Source, sources};
pub use units::{Unit, units};

use crate::error::Result;
use crate::search::{Outcome, Request};

/// A question on its way to an answer.
#[derive(Debug, Clone, Copy)]
pub struct Asked<'a> {
    /// The id of its case, for answers that were recorded by id; empty for a question by hand.
    pub id: &'a str,
    /// The question with the scope of its asker.
    pub request: &'a Request,
    /// What the search brought.
    pub outcome: &'a Outcome,
    /// The blocks of the context, best first: all that an answer may be made of.
    pub sources: &'a [Source],
}

/// What was answered.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
pub struct Answer {
    /// What the asker reads. An answer that declines is the abstention sentence of the settings.
    pub text: String,
    /// Whether the answerer says that it declines. A check never relies on it: it looks at the text.
    pub declined: bool,
    /// How sure the answerer is that the evidence answers, 0.0..=1.0; `None` when it cannot tell.
    pub score: Option<f64>,
    /// The sources that the answer names, in the order in which it names them, each once.
    pub citations: Vec<Citation>,
    /// The quotes that the text is made of, in order; empty when it was not quoted.
    pub quotes: Vec<Quote>,
    /// The blocks that it was made from, best first, where that was recorded with it; `None` is the
    /// context that it was asked with.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub context: Option<Vec<String>>,
}

/// A source that an answer names.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Citation {
    /// The block, or the document where the answer names no block.
    pub reference: String,
    /// The id of the document.
    pub document: String,
    /// Its title.
    pub title: String,
    /// Its revision, where it states one.
    pub revision: Option<String>,
}

/// A sentence or a table row of a source, as it stands in the answer.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Quote {
    /// The words quoted.
    pub text: String,
    /// The block that they stand in.
    pub reference: String,
    /// The unit's score, 0.0..=1.0.
    pub score: f64,
}

/// Whatever answers questions from evidence.
pub trait Answerer {
    /// What it is, with all that decides its answers; goes into receipts.
    fn id(&self) -> String;

    /// Answers one question. `Ok(None)` when it has no answer to give at all, as a file without a
    /// line for the question: that is no refusal, and no case is judged by it.
    fn answer(&self, asked: &Asked<'_>) -> Result<Option<Answer>>;
}
