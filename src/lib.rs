//! A local retrieval engine that measures itself.
//!
//! The order of the modules is the architecture: each uses only those above it, and
//! `tests/architecture.rs` holds them to it.

pub mod error;
pub mod format;
pub mod corpus;
pub mod text;
pub mod passage;
pub mod access;
pub mod lexical;
pub mod vectors;
pub mod index;
pub mod trace;
pub mod search;
pub mod answer;
pub mod eval;
pub mod report;
pub mod project;
