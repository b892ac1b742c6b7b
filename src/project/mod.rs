//! A project: where its corpus, index and question sets lie, and its settings.
//!
//! `atlas.toml` states them. A folder without one is a project too: its documents are the corpus,
//! and everything else is the default. A folder in BEIR layout is a corpus and a question set as it
//! stands.

mod file;
mod live;
mod open;
mod shrink;
mod vectors;

pub use file::{OPEN, PROJECT_FILE, ProjectFile};
pub use live::{Follower, Live, Opened};
pub use open::{Project, Staleness};
pub use shrink::BuildSettings;
