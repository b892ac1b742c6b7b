//! The usage log: one JSON line a request.
//!
//! It holds the question, which is the asker's own text, and of what was found the references and
//! scores of the context alone: never a text, a title or a candidate that did not arrive.

use std::path::Path;

use serde::{Deserialize, Serialize};

use super::Trace;
use crate::error::{Error, Result};
use crate::format::append_line;

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
        append_line(path, self, true)
            .map(|_| ())
            .map_err(|e| Error::io("writing the usage log", path, e))
    }
}

/// The stand-in for an asker's id: the same for the same id and key. Whoever knows the key, which is the
/// project's path, can find out which of the ids they know it stands for: it hides names from readers
/// of the log, not from the project's own people.
pub fn pseudonym(asker: &str, key: &str) -> String {
    let key = blake3::derive_key("atlas usage log pseudonym 1", key.as_bytes());
    blake3::keyed_hash(&key, asker.as_bytes()).to_hex()[..16].to_owned()
}

#[cfg(test)]
mod tests {
    use std::fs;

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
