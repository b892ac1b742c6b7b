//! What of a corpus is not taken, and why.

use std::path::Path;

use super::{Noted, RawFile, Skipped};
use crate::error::Error;

/// Something passed over, its reason still in parts.
pub(super) struct Passed {
    pub(super) path: String,
    pub(super) line: Option<u64>,
    pub(super) problem: String,
    /// The way out; may be empty.
    pub(super) help: String,
}

impl Passed {
    pub(super) fn new(path: String, problem: String, help: &str) -> Self {
        Self { path, line: None, problem, help: help.to_owned() }
    }

    /// The fault met while reading `file`.
    pub(super) fn by(file: &RawFile, fault: Error) -> Self {
        let (line, problem, help) = match fault {
            Error::Input { line, problem, help, .. } => (line, problem, help),
            Error::Io { source, .. } => {
                (None, format!("it could not be read: {source}"), String::new())
            }
            other => (None, other.to_string(), String::new()),
        };
        Self { path: file.path.clone(), line, problem, help }
    }

    pub(super) fn skipped(self) -> Skipped {
        let Self { path, line, problem, help } = self;
        let line = line.map_or_else(String::new, |line| format!("line {line}: "));
        let help = if help.is_empty() { help } else { format!("; {help}") };
        Skipped { path, reason: format!("{line}{problem}{help}") }
    }

    pub(super) fn noted(self, is_loss: bool) -> Noted {
        let Skipped { path, reason } = self.skipped();
        let reason = if is_loss { format!("read in part: {reason}") } else { reason };
        Noted { path, reason }
    }

    /// The error that it is where nothing may be passed over.
    pub(super) fn refused(&self, folder: &Path) -> Error {
        let own = Some(self.help.as_str()).filter(|help| !help.is_empty());
        let help = own.unwrap_or("mend it, exclude it, or build without `--strict`");
        Error::input(folder.join(&self.path), self.line, &self.problem, help)
    }
}
