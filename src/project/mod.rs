//! A project: where its corpus, index and question sets lie, and its settings.
//!
//! `atlas.toml` states them. A folder without one is a project too: its documents are the corpus,
//! and everything else is the default. A folder in BEIR layout is a corpus and a question set as it
//! stands.

mod file;
mod open;

pub use file::{OPEN, PROJECT_FILE, ProjectFile};
pub use open::{Project, Staleness};
