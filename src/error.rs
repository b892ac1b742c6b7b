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
    #[error("{doing} {}: {source}{}", path.display(), way_out(refusal(source)))]
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

    /// Another process holds the right to build, which one at a time may have.
    #[error("index {}: process {holder} is building it{}; wait for it with `--wait`, or stop it", path.display(), Since(*since_ns))]
    Busy {
        /// The index folder.
        path: PathBuf,
        /// The process number of the builder, as it wrote it.
        holder: String,
        /// When it began, in nanoseconds since 1970; 0 where the system does not tell.
        since_ns: u64,
    },

    /// A build that would lose more than it may without being told to.
    #[error("index {}: {problem}; {help}", path.display())]
    Refused {
        /// The index folder.
        path: PathBuf,
        /// What would be lost.
        problem: String,
        /// How to have it done all the same.
        help: String,
    },

    /// An endpoint did not answer as it must.
    #[error("endpoint {url}: {problem}; {help}")]
    Endpoint {
        /// Where it listens.
        url: String,
        /// What was expected and what came.
        problem: String,
        /// What to do about it.
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

    /// A failure to read `path` as text: an input fault when it is not UTF-8, else the system's.
    pub fn reading(doing: &'static str, path: impl Into<PathBuf>, source: io::Error) -> Self {
        if source.kind() == io::ErrorKind::InvalidData {
            return Self::input(path, None, "it is not UTF-8", "save it as UTF-8");
        }
        Self::io(doing, path, source)
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

    /// An index that process `holder` has been building since `since_ns`.
    pub fn busy(path: impl Into<PathBuf>, holder: impl Into<String>, since_ns: u64) -> Self {
        Self::Busy { path: path.into(), holder: holder.into(), since_ns }
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

/// What to do about a refusal of the operating system; empty where its own words must do.
fn refusal(fault: &io::Error) -> &'static str {
    use io::ErrorKind::{
        FileTooLarge, PermissionDenied, QuotaExceeded, ReadOnlyFilesystem, StorageFull,
    };
    // These have no kind of their own yet: EIO, ENFILE, EMFILE.
    match fault.raw_os_error() {
        Some(5) if cfg!(unix) => return "check the disk",
        Some(23 | 24) if cfg!(unix) => return "allow more open files (`ulimit -n`)",
        _ => {}
    }
    match fault.kind() {
        StorageFull | QuotaExceeded => {
            "free some space, or keep the index elsewhere (`--index DIR`)"
        }
        FileTooLarge => "allow larger files (`ulimit -f`)",
        ReadOnlyFilesystem => "keep the index elsewhere (`--index DIR`)",
        PermissionDenied => "give this user the permission, or run as one who has it",
        _ => "",
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

/// ` since 2026-11-30 23:05:12 UTC`, or nothing when the time is not known.
struct Since(u64);

impl fmt::Display for Since {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match moment(self.0) {
            Some(moment) => write!(out, " since {moment}"),
            None => Ok(()),
        }
    }
}

/// A time in nanoseconds since 1970 as it is shown, `2026-11-30 23:05:12 UTC`; `None` for 0, which
/// stands for a time that is not known.
pub fn moment(ns: u64) -> Option<String> {
    let known = i64::try_from(ns / 1_000_000_000).ok().filter(|seconds| *seconds > 0)?;
    let time = time::OffsetDateTime::from_unix_timestamp(known).ok()?;
    let (date, hour, minute, second) = (time.date(), time.hour(), time.minute(), time.second());
    Some(format!("{date} {hour:02}:{minute:02}:{second:02} UTC"))
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

/// The complaint of a parser (serde's, for YAML, JSON or TOML) in our words, without its own place,
/// and what could have been meant, as a question. `before` is what stands before the fault on its
/// line, for the name of a key; it may be empty.
pub fn complaint(message: &str, before: &str) -> (String, Option<String>) {
    let message = message.lines().next().unwrap_or_default();
    let message = message.split(" at line ").next().unwrap_or(message).trim();
    let quoted = |start: &str| {
        let (word, rest) = message.strip_prefix(start)?.split_once('`')?;
        Some((word, rest.split_once("expected ").map_or("", |(_, expected)| expected)))
    };
    if let Some((word, known)) = quoted("unknown field `") {
        let known = known.strip_prefix("one of ").unwrap_or(known);
        let known = known.split(", ").flat_map(|keys| keys.split(" or "));
        let near = nearest(word, known.map(|key| key.trim_matches('`')));
        let meant = near.map(|near| format!("did you mean `{near}`?"));
        return (format!("unknown key `{word}`"), meant);
    }
    if let Some((word, _)) = quoted("missing field `") {
        return (format!("the key `{word}` is missing"), None);
    }
    if message.contains("expected sequence start") {
        let key = before.trim_end().strip_suffix(':').unwrap_or_default();
        let key = key.rsplit(|c: char| !c.is_alphanumeric() && c != '_' && c != '-').next();
        let key = key.filter(|key| !key.is_empty());
        let what = key.map_or_else(|| "what stands here".to_owned(), |key| format!("`{key}`"));
        return (format!("{what} must be a list"), None);
    }
    let problem = match message {
        "EOF while parsing a string" => "a text is not closed",
        _ if message.contains("did not match any variant") => {
            "what stands here must be a text or a list of texts"
        }
        _ if message.starts_with("EOF while parsing") => "it ends too early",
        _ if message.starts_with("invalid type: sequence") => "it is a list",
        _ => message,
    };
    (problem.to_owned(), None)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_parser_is_put_into_our_words() {
        let said = |message: &str, before: &str| match complaint(message, before) {
            (problem, Some(meant)) => format!("{problem}; {meant}"),
            (problem, None) => problem,
        };
        let meant = "unknown key `reads`; did you mean `read`?";
        assert_eq!(said("unknown field `reads`, expected one of id, read at line 3", ""), meant);
        assert_eq!(said("unknown field `reads`, expected `id` or `read`", ""), meant);
        assert_eq!(said("unknown field `zzz`, expected `read`", ""), "unknown key `zzz`");
        assert_eq!(
            said("missing field `text` at line 1 column 3", ""),
            "the key `text` is missing"
        );
        let list = "expected sequence start at line 1, column 9";
        assert_eq!(said(list, "  a: { read: "), "`read` must be a list");
        assert_eq!(said(list, "  "), "what stands here must be a list");
        assert_eq!(
            said("EOF while parsing a string at line 1 column 9", ""),
            "a text is not closed"
        );
    }

    #[test]
    fn messages_name_place_problem_and_way_out() {
        let fault = Error::input("a/b.md", Some(3), "no closing `---`", "close the front matter");
        assert_eq!(fault.to_string(), "a/b.md:3: no closing `---`; close the front matter");
        let fault = Error::invalid("-k", 0, "a whole number from 1 to 100");
        assert_eq!(fault.to_string(), "-k is 0; expected a whole number from 1 to 100");
    }

    #[test]
    #[cfg(unix)]
    fn a_refusal_of_the_system_says_the_way_out() {
        for (number, way_out) in [
            (5, "check the disk"),
            (13, "permission"),
            (24, "`ulimit -n`"),
            (27, "`ulimit -f`"),
            (28, "free some space"),
            (30, "`--index DIR`"),
        ] {
            let fault = Error::io("writing", "a.part", io::Error::from_raw_os_error(number));
            let fault = fault.to_string();
            let (said, told) = fault.split_once("; ").unwrap();
            assert!(said.starts_with("writing a.part: ") && told.contains(way_out), "{fault}");
        }
        let fault = Error::io("reading", "a", io::Error::from_raw_os_error(2)).to_string();
        assert!(!fault.contains(';'), "{fault}");
    }

    #[test]
    fn nearest_finds_a_typing_error_and_refuses_a_stranger() {
        assert_eq!(nearest("WARR-R2-3", ["WARR-R2-2", "SPEC-C3-1"]), Some("WARR-R2-2"));
        assert_eq!(nearest("zzz", ["WARR-R2-2"]), None);
    }
}
