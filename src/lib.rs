//! A local retrieval engine that measures itself.
//!
//! The order of the modules is the architecture: each uses only those above it, and
//! `tests/architecture.rs` holds them to it.

pub mod error;
pub mod format;
pub mod text;
pub mod access;
pub mod lexical;
