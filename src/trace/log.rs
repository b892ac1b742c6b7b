//! The usage log: one JSON line a request.
//!
//! It holds the question, which is the asker's own text, and of what was found the references and
//! scores of the context alone: never a text, a title or a candidate that did not arrive.

use std::fs::{self, File, OpenOptions};
use std::io::{Read as _, Seek as _, SeekFrom, Write as _};
use std::path::Path;

use serde::{Deserialize, Serialize};

use super::Trace;
use crate::error::{Error, Result};

/// One request.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Entry {
    /// When it was asked: seconds since 1970.
    pub at_s: u64,
    /// Who asked; a pseudonym when the project wants one, `None` in an open project.
    pub asker: Option<String>,
    /// What was asked.
    pub question: String,
    /// Digest of the index that answered.
    pub index: String,
    /// Microseconds of every stage, in order.
    pub stages_us: Vec<(String, f64)>,
    /// Microseconds in all.
    pub total_us: f64,
    /// References and scores of the context, best first.
    pub context: Vec<(String, f64)>,
}

impl Entry {
    /// An entry of a search with `trace`.
    pub fn new(
        at_s: u64,
        asker: Option<String>,
        question: &str,
        index: &str,
        trace: &Trace,
        context: Vec<(String, f64)>,
    ) -> Self {
        let stages = trace.stages.iter().map(|stage| (stage.name.to_owned(), stage.elapsed_us));
        Self {
            at_s,
            asker,
            question: question.to_owned(),
            index: index.to_owned(),
            stages_us: stages.collect(),
            total_us: trace.total_us,
            context,
        }
    }

    /// Appends the entry to the log at `path`, which is made readable by its owner only.
    pub fn append(&self, path: &Path) -> Result<()> {
        let fault = |e| Error::io("writing the usage log", path, e);
        if let Some(folder) = path.parent().filter(|folder| !folder.as_os_str().is_empty()) {
            fs::create_dir_all(folder).map_err(fault)?;
        }
        let mut line = serde_json::to_vec(self).map_err(|e| fault(std::io::Error::other(e)))?;
        line.push(b'\n');
        let mut file = open(path).map_err(fault)?;
        if is_torn(&mut file).map_err(fault)? {
            line.insert(0, b'\n');
        }
        // One write of a whole line, so that processes that log at once do not mix.
        file.write_all(&line).map_err(fault)
    }
}

/// Whether the last line of `file` has no end, as when a process died in its midst.
fn is_torn(file: &mut File) -> std::io::Result<bool> {
    if file.seek(SeekFrom::End(0))? == 0 {
        return Ok(false);
    }
    file.seek(SeekFrom::End(-1))?;
    let mut last = [0];
    file.read_exact(&mut last)?;
    Ok(last != *b"\n")
}

/// The stand-in for an asker's id: the same for the same id and log, and not to be turned back
/// without the log's own key, which is its path in the project.
pub fn pseudonym(asker: &str, key: &str) -> String {
    let key = blake3::derive_key("atlas usage log pseudonym 1", key.as_bytes());
    blake3::keyed_hash(&key, asker.as_bytes()).to_hex()[..16].to_owned()
}

#[cfg(unix)]
fn open(path: &Path) -> std::io::Result<File> {
    use std::os::unix::fs::OpenOptionsExt as _;
    OpenOptions::new().create(true).read(true).append(true).mode(0o600).open(path)
}

#[cfg(not(unix))]
fn open(path: &Path) -> std::io::Result<File> {
    OpenOptions::new().create(true).read(true).append(true).open(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_appended_whole_and_read_back() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("log/usage.jsonl");
        let entry = Entry::new(7, None, "q\nr", "d", &Trace::default(), vec![("A-1".into(), 0.5)]);
        entry.append(&path).unwrap();
        entry.append(&path).unwrap();
        let text = fs::read_to_string(&path).unwrap();
        let lines: Vec<Entry> =
            text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        assert_eq!(lines, [entry.clone(), entry.clone()]);
        fs::write(&path, "{\"at_s\":").unwrap();
        entry.append(&path).unwrap();
        let text = fs::read_to_string(&path).unwrap();
        assert_eq!(serde_json::from_str::<Entry>(text.lines().nth(1).unwrap()).unwrap(), entry);
    }

    #[test]
    fn a_pseudonym_is_steady_and_depends_on_the_key() {
        assert_eq!(pseudonym("ada", "k"), pseudonym("ada", "k"));
        assert_ne!(pseudonym("ada", "k"), pseudonym("bob", "k"));
        assert_ne!(pseudonym("ada", "k"), pseudonym("ada", "l"));
    }
}
