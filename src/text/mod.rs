//! The one analyzer: text to terms, the same for documents, questions and judges.
//!
//! ```text
//! NFKC → lower case → Unicode words → joined codes beside their parts → CJK bigrams → stemming
//! ```
//!
//! A code written with hyphens, underscores or dots is indexed whole beside its parts
//! (`E-417` → `e`, `417`, `e417`; `3.2` → `3`, `2`, `3.2`), so that `E-417` and `E-471` share `e`
//! and nothing else. A term with accents is indexed without them as well (`café` → `café`, `cafe`).
//! Scripts written without spaces become overlapping pairs of characters. Stop
//! words stay in the index; a question drops them when something else is left of it, so that a
//! question made of nothing else still finds its words.

mod accents;
mod analyzer;
mod estimate;
mod script;
mod stem;
pub(crate) mod stop;

pub use accents::without as without_accents;
pub use analyzer::{Analyzer, Asked, HEADING, Settings, Stems};
pub use estimate::{ESTIMATOR, estimate_tokens, sentences};
pub use script::is_unspaced;
