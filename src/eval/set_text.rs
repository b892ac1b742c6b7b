//! Question sets as text: a change touches the lines of its question alone, comments and layout stay.

use std::collections::BTreeSet;
use std::fs;
use std::ops::Range;
use std::path::{Path, PathBuf};

use serde::Deserialize;

use super::questions::QuestionSet;
use crate::error::{Error, Result};

/// The ids of the set at `path`.
pub(super) fn ids(path: &Path) -> Result<BTreeSet<String>> {
    let set = QuestionSet::read(path)?;
    Ok(set.questions.into_iter().map(|question| question.id).collect())
}

/// A change that is refused, since the text does not allow it to be made safely.
pub(super) fn by_hand(path: &Path, id: &str, why: &str) -> Error {
    Error::input(path, None, format!("`{id}` cannot be changed: {why}"), "do it by hand")
}

/// The new text of a file under another name, which goes when the draft is not put in place.
pub(super) struct Draft<'a> {
    path: &'a Path,
    temporary: PathBuf,
}

impl<'a> Draft<'a> {
    /// Writes `text` beside the file at `path`.
    pub(super) fn write(path: &'a Path, text: &str) -> Result<Self> {
        let draft = Self { path, temporary: path.with_extension("yaml.new") };
        let fault = |e| Error::io("writing", &draft.temporary, e);
        fs::write(&draft.temporary, text).map_err(fault)?;
        Ok(draft)
    }

    /// Refuses a draft that does not hold the questions `wanted`.
    pub(super) fn check(&self, wanted: &BTreeSet<String>, id: &str) -> Result<()> {
        match ids(&self.temporary) {
            Ok(found) if found == *wanted => Ok(()),
            Ok(_) => Err(by_hand(self.path, id, "other questions would be lost with it")),
            Err(Error::Input { problem, .. }) => {
                Err(by_hand(self.path, id, &format!("this file would be faulty: {problem}")))
            }
            Err(other) => Err(other),
        }
    }

    /// The set that the draft holds.
    pub(super) fn read(&self) -> Result<QuestionSet> {
        QuestionSet::read(&self.temporary)
    }

    /// Puts the draft in the file's place.
    pub(super) fn put(self) -> Result<()> {
        fs::rename(&self.temporary, self.path).map_err(|e| Error::io("renaming to", self.path, e))
    }
}

impl Drop for Draft<'_> {
    fn drop(&mut self) {
        // Nothing is there to remove once it is put in place, and nothing depends on it.
        let _ = fs::remove_file(&self.temporary);
    }
}

/// The list under `questions` as it stands in a text.
pub(super) struct List {
    /// Spaces before its dashes.
    pub(super) indent: usize,
    /// The lines of each item, with blank lines below, up to whatever is indented no deeper than
    /// its dash.
    pub(super) items: Vec<Range<usize>>,
}

impl List {
    /// The list in `text`; empty when there is none.
    pub(super) fn of(text: &str) -> Self {
        let (mut list, mut at) = (Self { indent: 0, items: Vec::new() }, 0);
        let (mut begun, mut is_open) = (false, false);
        for line in text.split_inclusive('\n') {
            let start = at;
            at += line.len();
            let content = line.trim();
            if !begun {
                begun = line.starts_with("questions:");
                continue;
            }
            let indent = line.len() - line.trim_start_matches(' ').len();
            let is_dash = content == "-" || content.starts_with("- ");
            if is_dash && (list.items.is_empty() || indent == list.indent) {
                list.indent = indent;
                list.items.push(start..at);
                is_open = true;
            } else if content.is_empty() || is_open && indent > list.indent {
                if let Some(item) = list.items.last_mut().filter(|_| is_open) {
                    item.end = at;
                }
            } else if content.starts_with('#') {
                is_open = false;
            } else {
                break;
            }
        }
        list
    }
}

/// The id of the one item in `item`.
pub(super) fn id_of(item: &str) -> Option<String> {
    #[derive(Deserialize)]
    struct Named {
        id: String,
    }
    let options = serde_saphyr::options! { with_snippet: false, strict_booleans: true };
    let items: Vec<Named> = serde_saphyr::from_str_with_options(item, options).ok()?;
    items.into_iter().next().map(|named| named.id)
}

/// `item` with its dash `to` spaces from the left instead of `from`.
pub(super) fn shifted(item: &str, from: usize, to: usize) -> String {
    let shift = |line: &str| {
        let spaces = line.len() - line.trim_start_matches(' ').len();
        let rest = &line[spaces.min(from)..];
        if rest.trim().is_empty() { rest.to_owned() } else { format!("{}{rest}", " ".repeat(to)) }
    };
    item.split_inclusive('\n').map(shift).collect()
}
