//! What the commands say: standard output, standard error and exit code of the built binary, as one
//! text a test, compared with `tests/cli/snapshots/<test>.txt`.
//!
//! `ATLAS_UPDATE=1 cargo test --release --test cli` writes the snapshots again; read their diff like
//! any other.
#![expect(
    clippy::unwrap_used,
    clippy::panic,
    reason = "helpers of tests, which clippy takes for production code"
)]

#[path = "cli/adoption.rs"]
mod adoption;
#[path = "cli/answers.rs"]
mod answers;
#[path = "cli/bad_documents.rs"]
mod bad_documents;
#[path = "cli/bad_index.rs"]
mod bad_index;
#[path = "cli/bad_policy.rs"]
mod bad_policy;
#[path = "cli/bad_questions.rs"]
mod bad_questions;
#[path = "cli/bad_settings.rs"]
mod bad_settings;
#[path = "cli/batch.rs"]
mod batch;
#[path = "cli/diagnose.rs"]
mod diagnose;
#[path = "cli/diff.rs"]
mod diff;
#[path = "cli/filter.rs"]
mod filter;
#[path = "cli/generations.rs"]
mod generations;
#[path = "cli/json.rs"]
mod json;
#[path = "cli/latency.rs"]
mod latency;
#[path = "cli/judge.rs"]
mod judge;
#[path = "cli/leakage.rs"]
mod leakage;
#[path = "cli/measure.rs"]
mod measure;
#[path = "cli/model.rs"]
mod model;
#[path = "cli/pipes.rs"]
mod pipes;
#[path = "cli/project.rs"]
mod project;
#[path = "cli/scorecard.rs"]
mod scorecard;
#[path = "cli/search.rs"]
mod search;
#[path = "cli/session.rs"]
mod session;
#[cfg(unix)]
#[path = "cli/unreadable.rs"]
mod unreadable;
#[path = "cli/usage.rs"]
mod usage;
#[cfg(unix)]
#[path = "cli/watch.rs"]
mod watch;
#[path = "cli/worklist.rs"]
mod worklist;

use std::fs;
use std::path::Path;

/// A snapshot whose test was renamed or removed would stand there for ever, saying nothing.
#[test]
fn every_snapshot_belongs_to_a_test() {
    let home = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cli");
    let mut code = String::new();
    for entry in fs::read_dir(&home).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_some_and(|ending| ending == "rs") {
            code.push_str(&fs::read_to_string(path).unwrap());
        }
    }
    for entry in fs::read_dir(home.join("snapshots")).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_stem().unwrap().to_string_lossy();
        assert!(code.contains(&format!("fn {name}()")), "no test is called {name}");
    }
}

/// No message shows how Rust prints a value for itself.
#[test]
fn no_snapshot_holds_debug_output() {
    let home = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cli/snapshots");
    for entry in fs::read_dir(home).unwrap() {
        let path = entry.unwrap().path();
        let text = fs::read_to_string(&path).unwrap();
        for debug in
            ["Some(", "None)", "Ok(", "Err(", "Os {", "Error {", "panicked", "RUST_BACKTRACE"]
        {
            assert!(!text.contains(debug), "{} holds `{debug}`", path.display());
        }
    }
}
