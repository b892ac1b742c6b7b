//! What question sets and expected answers share as files: how they are read, and what is refused in
//! both.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use serde::Deserialize;
use serde::de::DeserializeOwned;

use super::labels::{HASH_DIGITS, Hashes};
use crate::error::{Error, Result, nearest};

/// A word, or a list of words.
#[derive(Deserialize)]
#[serde(untagged)]
pub(super) enum OneOrMany {
    /// One.
    One(String),
    /// A list.
    Many(Vec<String>),
}

impl OneOrMany {
    /// The words, as a list.
    pub(super) fn into_vec(self) -> Vec<String> {
        match self {
            Self::One(one) => vec![one],
            Self::Many(many) => many,
        }
    }
}

/// Every entry of `written` as a list.
pub(super) fn lists(written: Vec<OneOrMany>) -> Vec<Vec<String>> {
    written.into_iter().map(OneOrMany::into_vec).collect()
}

/// Every value of `written` as a list.
pub(super) fn values(written: BTreeMap<String, OneOrMany>) -> BTreeMap<String, Vec<String>> {
    written.into_iter().map(|(key, value)| (key, value.into_vec())).collect()
}

/// Reads YAML strictly: `yes` is no boolean, and a complaint quotes nothing of the file.
pub(super) fn yaml<T: DeserializeOwned>(text: &str) -> Result<T, serde_saphyr::Error> {
    let options = serde_saphyr::options! { with_snippet: false, strict_booleans: true };
    serde_saphyr::from_str_with_options(text, options)
}

/// Where an entry of a file stands, and what such an entry is called, so that a fault names it.
#[derive(Clone, Copy)]
pub(super) struct Entry<'p> {
    /// The file.
    pub(super) path: &'p Path,
    /// `question` or `case`.
    pub(super) word: &'static str,
    /// Its line, from 1.
    pub(super) line: u64,
}

impl Entry<'_> {
    /// The fault `problem` with the way out.
    pub(super) fn fault<T>(&self, problem: String, help: &str) -> Result<T> {
        Err(Error::input(self.path, Some(self.line), problem, help))
    }

    /// Refuses an entry without an id or a text.
    pub(super) fn named(&self, id: &str, text: &str, needs: &str) -> Result<()> {
        if id.trim().is_empty() || text.trim().is_empty() {
            return self.fault(format!("a {} needs {needs}", self.word), "write both");
        }
        Ok(())
    }

    /// Refuses an id that `seen` has already, and remembers it.
    pub(super) fn fresh(&self, id: &str, seen: &mut BTreeMap<String, u64>) -> Result<()> {
        let (word, line) = (self.word, self.line);
        match seen.insert(id.to_owned(), line) {
            Some(first) => {
                let problem = format!("{word} {id} stands here and on line {first}");
                self.fault(problem, "give each an id of its own")
            }
            None => Ok(()),
        }
    }

    /// Refuses a kind that the file's list, if it has one, does not hold.
    pub(super) fn kinds(&self, id: &str, own: &[String], listed: Option<&[String]>) -> Result<()> {
        let Some(listed) = listed else { return Ok(()) };
        let Some(unknown) = own.iter().find(|kind| !listed.contains(kind)) else { return Ok(()) };
        let near = nearest(unknown, listed.iter().map(String::as_str));
        let help = near.map_or_else(
            || "add it to `kinds` at the top of the file".to_owned(),
            |near| format!("did you mean `{near}`?"),
        );
        let word = self.word;
        self.fault(format!("{word} {id} has kind `{unknown}`, which `kinds` does not list"), &help)
    }

    /// Refuses a unit that is named twice.
    pub(super) fn once<'u>(
        &self,
        id: &str,
        units: impl Iterator<Item = &'u String>,
        (place, help): (&str, &str),
    ) -> Result<()> {
        let mut named = BTreeSet::new();
        for unit in units {
            if !named.insert(unit) {
                return self.fault(format!("{} {id} names `{unit}` twice{place}", self.word), help);
            }
        }
        Ok(())
    }

    /// Refuses hashes of units that the entry does not name, and what is no hash.
    pub(super) fn hashes(&self, id: &str, hashes: &Hashes, judged: &[&str]) -> Result<()> {
        let word = self.word;
        for (unit, hash) in hashes {
            if !judged.contains(&unit.as_str()) {
                let problem =
                    format!("{word} {id} has a hash of `{unit}`, which it does not judge");
                let near = nearest(unit, judged.iter().copied());
                let help = near.map_or_else(
                    || "take it out".to_owned(),
                    |near| format!("did you mean `{near}`?"),
                );
                return self.fault(problem, &help);
            }
            if hash.len() != HASH_DIGITS || !hash.bytes().all(|b| b.is_ascii_hexdigit()) {
                let problem = format!("{word} {id}: the hash of `{unit}` is `{hash}`");
                let help = format!(
                    "expected {HASH_DIGITS} hexadecimal digits, as `atlas measure --record-hashes` writes them"
                );
                return self.fault(problem, &help);
            }
        }
        Ok(())
    }

    /// Refuses a unit that does not exist: `exists` says whether one does, and `all` lists those that
    /// could have been meant.
    pub(super) fn exist<'u>(
        &self,
        id: &str,
        units: impl Iterator<Item = &'u str>,
        exists: &dyn Fn(&str) -> Result<bool>,
        all: &dyn Fn() -> Result<Vec<String>>,
    ) -> Result<()> {
        for unit in units {
            if exists(unit)? {
                continue;
            }
            let all = all()?;
            let near = nearest(unit, all.iter().map(String::as_str));
            let help = near.map_or_else(
                || "name a document, block or passage of the corpus".to_owned(),
                |near| format!("did you mean `{near}`?"),
            );
            let problem = format!("{} {id} names `{unit}`, which is not in the index", self.word);
            return self.fault(problem, &help);
        }
        Ok(())
    }
}
