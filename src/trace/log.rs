//! The usage log: one JSON line a request.
//!
//! It holds the question, which is the asker's own text, and of what was found the references and
//! scores of the context alone: never a text, a title or a candidate that did not arrive.

use std::fs::{self, File, OpenOptions};
use std::io::{self, BufRead as _, BufReader, Write as _};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::Trace;
use crate::error::{Error, Result};
use crate::format::append_line;

/// What stands for the index in a log that was made up: reports say so wherever they read one.
pub const SYNTHETIC: &str = "synthetic";

/// Seconds of a day.
const DAY_S: f64 = 86_400.0;

/// One request.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Entry {
    /// When it was asked: seconds since 1970, to the millisecond.
    pub at_s: f64,
    /// Who asked; a pseudonym when the project wants one, `None` in an open project.
    pub asker: Option<String>,
    /// What was asked.
    pub question: String,
    /// Digest of the index that answered.
    pub index: String,
    /// Fingerprint of the corpus that it was built from; `None` in a log of an older version.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub corpus: Option<String>,
    /// Microseconds of every stage, in order. Another process may add stages of its own, such as
    /// `generate`.
    pub stages_us: Vec<(String, f64)>,
    /// Microseconds in all.
    pub total_us: f64,
    /// References and scores of the context, best first.
    pub context: Vec<(String, f64)>,
    /// Estimated tokens of the context; absent where nobody counted them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tokens: Option<usize>,
    /// Whether the request failed or ran out of time; `total_us` is then how long it took to fail.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub failed: bool,
}

impl Entry {
    /// An entry of a search with `trace`.
    pub fn new(
        at_s: f64,
        asker: Option<String>,
        question: &str,
        index: &str,
        trace: &Trace,
        context: Vec<(String, f64)>,
    ) -> Self {
        let stages = trace.stages.iter().map(|stage| (stage.name.to_owned(), stage.elapsed_us));
        Self {
            at_s: (at_s * 1000.0).round() / 1000.0,
            asker,
            question: question.to_owned(),
            index: index.to_owned(),
            corpus: None,
            stages_us: stages.collect(),
            total_us: trace.total_us,
            context,
            tokens: None,
            failed: false,
        }
    }

    /// The same entry with the fingerprint of the corpus that was asked.
    #[must_use]
    pub fn of_corpus(self, fingerprint: &str) -> Self {
        Self { corpus: Some(fingerprint.to_owned()), ..self }
    }

    /// The same with the estimated tokens of the context.
    #[must_use]
    pub fn with_tokens(mut self, tokens: usize) -> Self {
        self.tokens = Some(tokens);
        self
    }

    /// Appends the entry to the log at `path`, which is made readable by its owner only. With
    /// `keep_days`, lines that are older go, within a day of their time: then the log is written
    /// again, under a lock (`FILE.lock`) that every writer takes.
    pub fn append(&self, path: &Path, keep_days: Option<u32>) -> Result<()> {
        let fault = |e| Error::io("writing the usage log", path, e);
        let Some(days) = keep_days else {
            return append_line(path, self, true).map(|_| ()).map_err(fault);
        };
        if let Some(folder) = path.parent().filter(|folder| !folder.as_os_str().is_empty()) {
            fs::create_dir_all(folder).map_err(fault)?;
        }
        let lock = lock(path).map_err(fault)?;
        let oldest = self.at_s - f64::from(days) * DAY_S;
        prune(path, oldest).map_err(fault)?;
        append_line(path, self, true).map_err(fault)?;
        drop(lock);
        Ok(())
    }
}

/// Waits for the lock of the log at `path`; it ends when the file is dropped.
fn lock(path: &Path) -> io::Result<File> {
    let mut name = path.as_os_str().to_owned();
    name.push(".lock");
    let file =
        OpenOptions::new().create(true).truncate(false).write(true).open(PathBuf::from(name))?;
    file.lock()?;
    Ok(file)
}

/// Takes out what is older than `oldest_s`, if the first line is older by a day: so a log is written
/// again once a day at most. Lines that cannot be read stay.
fn prune(path: &Path, oldest_s: f64) -> io::Result<()> {
    let file = match File::open(path) {
        Ok(file) => file,
        Err(fault) if fault.kind() == io::ErrorKind::NotFound => return Ok(()),
        Err(fault) => return Err(fault),
    };
    let when = |line: &[u8]| serde_json::from_slice::<When>(line).ok().map(|when| when.at_s);
    let mut lines = BufReader::new(file).split(b'\n');
    let first = lines.next().transpose()?;
    if !first.as_deref().and_then(when).is_some_and(|at_s| at_s < oldest_s - DAY_S) {
        return Ok(());
    }
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    // A temporary file is its owner's alone, as the log is.
    let mut kept = tempfile::NamedTempFile::new_in(folder.unwrap_or_else(|| Path::new(".")))?;
    for line in lines {
        let line = line?;
        if !line.is_empty() && when(&line).is_none_or(|at_s| at_s >= oldest_s) {
            kept.write_all(&line)?;
            kept.write_all(b"\n")?;
        }
    }
    kept.as_file().sync_all()?;
    kept.persist(path)?;
    Ok(())
}

/// The time of an entry, whatever else it holds.
#[derive(Deserialize)]
struct When {
    at_s: f64,
}

/// A usage log as it was read.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Log {
    /// The entries, oldest first; equal times in the order of the file.
    pub entries: Vec<Entry>,
    /// Lines that are no entry, from 1: torn by a process that was killed, or written by something
    /// else. They are counted, never guessed at.
    pub unreadable: Vec<u64>,
}

impl Log {
    /// Reads the log at `path`. A line that is no entry is listed; a file without any entry is not
    /// a usage log, and an error.
    pub fn read(path: &Path) -> Result<Self> {
        let bytes = fs::read(path).map_err(|e| match e.kind() {
            io::ErrorKind::NotFound => {
                let help = "set `usage_log` in atlas.toml, so that searches write one, or name one with `--log FILE`";
                Error::input(path, None, "there is no usage log here", help)
            }
            _ => Error::io("reading the usage log", path, e),
        })?;
        let mut log = Self::default();
        let mut fault = None;
        for (at, line) in bytes.split(|byte| *byte == b'\n').enumerate() {
            if line.trim_ascii().is_empty() {
                continue;
            }
            match serde_json::from_slice::<Entry>(line) {
                Ok(entry) if entry.is_sound() => log.entries.push(entry),
                Ok(_) => log.unreadable.push(at as u64 + 1),
                Err(why) => {
                    fault.get_or_insert((at as u64 + 1, why.to_string()));
                    log.unreadable.push(at as u64 + 1);
                }
            }
        }
        if let (true, Some((line, why))) = (log.entries.is_empty(), fault) {
            let (problem, _) = crate::error::complaint(&why, "");
            let help = "a usage log holds one JSON object a line, as `search` writes them";
            return Err(Error::input(path, Some(line), format!("it is no entry: {problem}"), help));
        }
        log.entries.sort_by(|a, b| a.at_s.total_cmp(&b.at_s));
        Ok(log)
    }

    /// Whether any entry says that it was made up.
    pub fn is_synthetic(&self) -> bool {
        self.entries.iter().any(|entry| entry.index == SYNTHETIC)
    }
}

impl Entry {
    /// Whether times are numbers that a clock can give.
    fn is_sound(&self) -> bool {
        let fine = |value: f64| value.is_finite() && value >= 0.0;
        // The year 5138: what is later was not written by a clock.
        fine(self.at_s)
            && self.at_s < 1e11
            && fine(self.total_us)
            && self.stages_us.iter().all(|(_, us)| fine(*us))
    }
}

/// The entries of the log at `path` in the order of the file, each with its line from 1. Lines that are
/// no entry are left out.
pub fn numbered(path: &Path) -> Result<Vec<(u64, Entry)>> {
    let text =
        fs::read_to_string(path).map_err(|e| Error::reading("reading the usage log", path, e))?;
    let lines = text.lines().enumerate();
    let entry = |(at, line): (usize, &str)| Some((at as u64 + 1, serde_json::from_str(line).ok()?));
    Ok(lines.filter_map(entry).filter(|(_, entry): &(u64, Entry)| entry.is_sound()).collect())
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
    use super::*;

    #[test]
    fn lines_are_appended_whole_and_read_back() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("log/usage.jsonl");
        let entry =
            Entry::new(7.0, None, "q\nr", "d", &Trace::default(), vec![("A-1".into(), 0.5)]);
        entry.append(&path, None).unwrap();
        entry.append(&path, None).unwrap();
        let text = fs::read_to_string(&path).unwrap();
        let lines: Vec<Entry> =
            text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        assert_eq!(lines, [entry.clone(), entry.clone()]);
        entry.clone().of_corpus("f").append(&path, None).unwrap();
        let found = numbered(&path).unwrap();
        assert_eq!(found[0], (1, entry.clone()));
        assert_eq!((found[2].0, found[2].1.corpus.as_deref()), (3, Some("f")));
        fs::write(&path, "{\"at_s\":").unwrap();
        entry.append(&path, None).unwrap();
        let text = fs::read_to_string(&path).unwrap();
        assert_eq!(serde_json::from_str::<Entry>(text.lines().nth(1).unwrap()).unwrap(), entry);
    }

    #[test]
    fn old_lines_go_and_what_cannot_be_read_is_counted() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("usage.jsonl");
        let at = |day: f64| Entry::new(day * DAY_S, None, "q", "d", &Trace::default(), Vec::new());
        for day in [1.0, 2.0, 9.0] {
            at(day).append(&path, Some(30)).unwrap();
        }
        fs::write(&path, format!("{}garbage\n", fs::read_to_string(&path).unwrap())).unwrap();
        let days = |log: &Log| log.entries.iter().map(|e| e.at_s / DAY_S).collect::<Vec<_>>();
        assert_eq!(days(&Log::read(&path).unwrap()), [1.0, 2.0, 9.0]);
        // The first line is one day older than the limit: not yet.
        at(10.0).append(&path, Some(8)).unwrap();
        assert_eq!(days(&Log::read(&path).unwrap()), [1.0, 2.0, 9.0, 10.0]);
        at(11.5).append(&path, Some(8)).unwrap();
        let log = Log::read(&path).unwrap();
        assert_eq!((days(&log), log.unreadable), (vec![9.0, 10.0, 11.5], vec![2]));
    }

    #[test]
    fn a_file_without_an_entry_is_refused_with_its_line() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("usage.jsonl");
        assert!(Log::read(&path).unwrap_err().to_string().contains("no usage log here"));
        fs::write(&path, "\n{\"at\": 1}\n").unwrap();
        let said = Log::read(&path).unwrap_err().to_string();
        assert!(said.contains("usage.jsonl:2: it is no entry: unknown key `at`"), "{said}");
        fs::write(&path, "").unwrap();
        assert_eq!(Log::read(&path).unwrap(), Log::default());
    }

    #[test]
    fn entries_are_sorted_and_times_that_no_clock_gives_are_refused() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("usage.jsonl");
        let at = |at_s| Entry::new(at_s, None, "q", "d", &Trace::default(), Vec::new());
        at(2.0).append(&path, None).unwrap();
        at(1.0).append(&path, None).unwrap();
        let mut wrong = at(1.0);
        wrong.total_us = -1.0;
        wrong.append(&path, None).unwrap();
        let log = Log::read(&path).unwrap();
        assert_eq!(log.entries.iter().map(|e| e.at_s).collect::<Vec<_>>(), [1.0, 2.0]);
        assert_eq!(log.unreadable, [3]);
        assert!(!log.is_synthetic());
    }

    #[test]
    fn a_pseudonym_is_steady_and_depends_on_the_key() {
        assert_eq!(pseudonym("ada", "k"), pseudonym("ada", "k"));
        assert_ne!(pseudonym("ada", "k"), pseudonym("bob", "k"));
        assert_ne!(pseudonym("ada", "k"), pseudonym("ada", "l"));
    }
}
