//! From a question to its evidence.
//!
//! ```text
//! Request → embed → lexical → dense → fuse → rerank → min-score → window → Outcome
//! ```
//!
//! Each stage is one [`Stage`] in a file of its own; `pipeline` runs them, reads the clock, writes
//! the trace, and checks after every one of them that no candidate is outside the asker's scope.
//! The laws that every stage keeps: `lexical` and `dense` only add, within the scope; `fuse`
//! neither adds nor drops; `rerank` only reorders; `min-score` and `window` only drop; the order is
//! always score descending, ties by row, which is by passage reference.

mod candidates;
mod cues;
mod dense;
mod duplicates;
mod embed;
mod fuse;
mod lexical;
mod min_score;
mod pipeline;
mod request;
mod rerank;
mod settings;
mod synonyms;
mod window;

pub use candidates::{Candidate, Candidates, Stage};
pub use fuse::Fusion;
pub use pipeline::{Recalled, Searcher};
pub use request::{ContextBlock, Outcome, Request, Retriever};
pub use rerank::CALIBRATION;
pub use settings::{DensePath, Mode, Settings};
pub use synonyms::Synonyms;
pub(crate) use window::choose;
