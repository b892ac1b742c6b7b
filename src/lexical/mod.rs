//! The lexical index: tantivy keeps the postings, the scores are ours.
//!
//! tantivy's own scorer takes its statistics from segments (deleted documents included), rounds
//! field lengths to one byte, and sums floats in an order that follows the layout of segments. Here
//! every score is a function of the passages alone: exact counts of the asker's scope, exact
//! lengths from a column of our own, 64-bit sums in one fixed order of terms, ties by row. So
//! results do not depend on segments, threads or the history of the index.

mod folder;
mod groups;
mod layer;
mod oracle;
mod query;
mod score;
mod search;
mod union;
mod write;

pub use groups::Group;
pub use oracle::exhaustive;
pub use query::Query;
pub use score::{Bm25, Explained};
pub use search::LexicalIndex;
pub use write::LexicalWriter;

/// Folder of tantivy's files inside a generation.
pub const FOLDER: &str = "lexical";

/// Kind of the part that holds passage lengths.
pub const LENGTHS_KIND: [u8; 4] = *b"LENS";

/// The analyzer's terms arrive separated by this; see [`crate::text::Analyzer::document`].
const SEPARATOR: u8 = b'\n';

#[cfg(test)]
mod tests;
