//! Every way the library can fail.
//!
//! A message says what was being done, on which path or id, what was expected, what was found, and
//! the way out, in plain sentences: it is printed to people as it stands.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

/// The library's result.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// A failure, of one of the kinds that callers treat differently.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The operating system refused something.
    #[error("{doing} {}: {source}", path.display())]
    Io {
        /// What was being done, as a participle: `reading`, `creating`.
        doing: &'static str,
        /// The file or folder it was done to.
        path: PathBuf,
        /// What the operating system said.
        source: io::Error,
    },

    /// A file written by a person (document, question set, settings) is not as it must be.
    #[error("{}: {problem}{}", Place { path, line: *line }, way_out(help))]
    Input {
        /// The file.
        path: PathBuf,
        /// The line, counted from 1, where one can be named.
        line: Option<u64>,
        /// What was expected and what was found.
        problem: String,
        /// What to do about it; may be empty.
        help: String,
    },

    /// A value given by the caller (an argument, a setting, a request) is out of its range.
    #[error("{what} is {found}; expected {expected}")]
    Invalid {
        /// The name of the value, as the caller wrote it: `-k`, `search.min_score`.
        what: String,
        /// The value found.
        found: String,
        /// The values allowed.
        expected: String,
    },

    /// A file of an index is not what the manifest or its own header says.
    #[error("index file {} is damaged: {problem}; {help}", path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// What was expected and what was found.
        problem: String,
        /// The command that mends it.
        help: String,
    },

    /// The index cannot be used as it is: absent, of another format, or built with other settings.
    #[error("index {}: {problem}; {help}", path.display())]
    Unusable {
        /// The index folder.
        path: PathBuf,
        /// What was expected and what was found.
        problem: String,
        /// The command that mends it.
        help: String,
    },

    /// An invariant of the engine was about to be broken, and the request was stopped instead.
    #[error("stage {stage} broke an invariant: {problem}; the request was stopped")]
    Guard {
        /// The search stage.
        stage: &'static str,
        /// The invariant, never the passage.
        problem: String,
    },
}

/// The way out that every damaged index has.
pub const REBUILD: &str = "run `atlas build --full` to write it again from the corpus";

impl Error {
    /// An operating-system failure on `path`; `doing` is a participle such as `reading`.
    pub fn io(doing: &'static str, path: impl Into<PathBuf>, source: io::Error) -> Self {
        Self::Io { doing, path: path.into(), source }
    }

    /// A fault in a file written by a person.
    pub fn input(
        path: impl Into<PathBuf>,
        line: Option<u64>,
        problem: impl Into<String>,
        help: impl Into<String>,
    ) -> Self {
        Self::Input { path: path.into(), line, problem: problem.into(), help: help.into() }
    }

    /// A value out of its range.
    pub fn invalid(
        what: impl Into<String>,
        found: impl fmt::Display,
        expected: impl Into<String>,
    ) -> Self {
        Self::Invalid { what: what.into(), found: found.to_string(), expected: expected.into() }
    }

    /// A damaged index file; the way out is a full build.
    pub fn damaged(path: impl Into<PathBuf>, problem: impl Into<String>) -> Self {
        Self::Damaged { path: path.into(), problem: problem.into(), help: REBUILD.to_owned() }
    }

    /// An index that cannot be used as it is.
    pub fn unusable(
        path: impl Into<PathBuf>,
        problem: impl Into<String>,
        help: impl Into<String>,
    ) -> Self {
        Self::Unusable { path: path.into(), problem: problem.into(), help: help.into() }
    }
}

/// `path:line`, or the path alone.
struct Place<'a> {
    path: &'a Path,
    line: Option<u64>,
}

impl fmt::Display for Place<'_> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.line {
            Some(line) => write!(out, "{}:{line}", self.path.display()),
            None => write!(out, "{}", self.path.display()),
        }
    }
}

fn way_out(help: &str) -> String {
    if help.is_empty() { String::new() } else { format!("; {help}") }
}

/// The candidate nearest to `word`, for "did you mean"; `None` when nothing is near.
///
/// Nearness is Jaro–Winkler similarity of at least 0.8; ties go to the first candidate.
pub fn nearest<'a>(word: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let mut best: Option<(f64, &str)> = None;
    for candidate in candidates {
        let likeness = strsim::jaro_winkler(word, candidate);
        if likeness >= 0.8 && best.is_none_or(|(top, _)| likeness > top) {
            best = Some((likeness, candidate));
        }
    }
    best.map(|(_, candidate)| candidate)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_name_place_problem_and_way_out() {
        let fault = Error::input("a/b.md", Some(3), "no closing `---`", "close the front matter");
        assert_eq!(fault.to_string(), "a/b.md:3: no closing `---`; close the front matter");
        let fault = Error::invalid("-k", 0, "a whole number from 1 to 100");
        assert_eq!(fault.to_string(), "-k is 0; expected a whole number from 1 to 100");
    }

    #[test]
    fn nearest_finds_a_typing_error_and_refuses_a_stranger() {
        assert_eq!(nearest("WARR-R2-3", ["WARR-R2-2", "SPEC-C3-1"]), Some("WARR-R2-2"));
        assert_eq!(nearest("zzz", ["WARR-R2-2"]), None);
    }
}
