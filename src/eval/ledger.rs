//! The ledger of a corpus's question sets: every look at held-out questions, every choice of a
//! setting, every question that moved. One JSON object a line, appended and never changed.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};
use crate::format::append_line;

/// One line.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "lowercase")]
pub enum Entry {
    /// A setting was chosen on development questions.
    Choice {
        /// The day, YYYY-MM-DD.
        date: String,
        /// The setting's key.
        setting: String,
        /// The value chosen.
        value: f64,
        /// The set that it was chosen on.
        set: String,
        /// The largest value at which recall holds.
        holds_to: f64,
        /// The distance of the value from it.
        margin: f64,
        /// Why.
        why: String,
    },
    /// Held-out questions were measured.
    Look {
        /// The day, YYYY-MM-DD.
        date: String,
        /// The set.
        set: String,
        /// The receipt's id: the same receipt is the same look.
        receipt: String,
        /// `totals` or `questions`.
        shown: String,
        /// The most that was learned about the set, in bits.
        bits: f64,
    },
    /// A held-out question moved to development.
    Promote {
        /// The day, YYYY-MM-DD.
        date: String,
        /// The question's id.
        id: String,
        /// Who moved it.
        who: String,
        /// Why.
        why: String,
        /// The change that it was used for.
        change: String,
    },
    /// The targets were acknowledged as they stand.
    Targets {
        /// The day, YYYY-MM-DD.
        date: String,
        /// Hash of the targets.
        hash: String,
        /// Every limit by `name.key`.
        limits: BTreeMap<String, f64>,
        /// Who acknowledged them.
        who: String,
        /// Why they are as they are now.
        why: String,
    },
    /// A person looked at a question after the corpus had changed, and it is right as it stands.
    Review {
        /// The day, YYYY-MM-DD.
        date: String,
        /// The set.
        set: String,
        /// The question's id.
        id: String,
        /// Who looked.
        who: String,
        /// Why it may stay, or what was mended.
        why: String,
        /// The hash of every unit that it names.
        hashes: BTreeMap<String, String>,
        /// Other blocks that were looked at for it, with their hashes.
        #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
        looked_at: BTreeMap<String, String>,
    },
}

/// Fresh questions owed for each that moved.
pub const FRESH_PER_PROMOTED: usize = 2;

/// The entries of the ledger at `path`, oldest first; none when there is no file.
pub fn read(path: &Path) -> Result<Vec<Entry>> {
    let text = match fs::read_to_string(path) {
        Ok(text) => text,
        Err(fault) if fault.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(fault) => return Err(Error::io("reading the ledger", path, fault)),
    };
    let lines = text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty());
    lines
        .map(|(at, line)| {
            serde_json::from_str(line).map_err(|fault| {
                let problem = format!("it is no ledger entry: {fault}");
                Error::input(
                    path,
                    Some(at as u64 + 1),
                    problem,
                    "restore the line; a ledger only grows",
                )
            })
        })
        .collect()
}

/// Appends `entry` on a line of its own, synced before it counts.
pub fn append(path: &Path, entry: &Entry) -> Result<()> {
    append_line(path, entry, false)
        .and_then(|file| file.sync_all())
        .map_err(|e| Error::io("writing the ledger", path, e))
}

/// What looks at `set` have cost so far.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Spent {
    /// Looks, equal receipts counted once.
    pub looks: usize,
    /// Bits learned, at most.
    pub bits: f64,
}

/// Sums the looks at `set`.
pub fn spent(entries: &[Entry], set: &str) -> Spent {
    let mut spent = Spent { looks: 0, bits: 0.0 };
    for entry in entries {
        if let Entry::Look { set: own, bits, .. } = entry
            && own == set
        {
            spent.looks += 1;
            spent.bits += bits;
        }
    }
    spent
}

/// The most that totals over `n` questions tell: one of `n + 1` counts. Single results tell `n` bits.
pub fn bits(n: usize, questions_shown: bool) -> f64 {
    if questions_shown { n as f64 } else { ((n + 1) as f64).log2() }
}

/// Whether the look with this receipt, showing this much, is in the ledger already.
pub fn known(entries: &[Entry], receipt: &str, shown: &str) -> bool {
    entries.iter().any(|entry| {
        matches!(entry, Entry::Look { receipt: own, shown: much, .. }
            if own == receipt && (much == shown || much == "questions"))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn look(receipt: &str, shown: &str, bits: f64) -> Entry {
        Entry::Look {
            date: "2026-11-30".into(),
            set: "held-out".into(),
            receipt: receipt.into(),
            shown: shown.into(),
            bits,
        }
    }

    #[test]
    fn the_same_receipt_is_the_same_look() {
        let entries = [look("a", "totals", 4.0), look("b", "questions", 16.0)];
        assert!(known(&entries, "a", "totals") && !known(&entries, "a", "questions"));
        assert!(known(&entries, "b", "totals"));
        assert_eq!(spent(&entries, "held-out"), Spent { looks: 2, bits: 20.0 });
        assert_eq!(bits(15, false), 4.0);
        assert_eq!(bits(15, true), 15.0);
    }

    #[test]
    fn entries_are_appended_and_read_and_a_bad_line_is_named() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("ledger.jsonl");
        assert!(read(&path).unwrap().is_empty());
        append(&path, &look("a", "totals", 4.0)).unwrap();
        append(&path, &look("b", "totals", 4.0)).unwrap();
        assert_eq!(read(&path).unwrap().len(), 2);
        // An editor may have taken the last line's end.
        let text = fs::read_to_string(&path).unwrap();
        fs::write(&path, text.trim_end()).unwrap();
        append(&path, &look("c", "totals", 4.0)).unwrap();
        assert_eq!(read(&path).unwrap().len(), 3);
        assert_eq!(fs::read_to_string(&path).unwrap().matches('\n').count(), 3);
        fs::write(&path, "{}\n").unwrap();
        let message = read(&path).unwrap_err().to_string();
        assert!(message.contains("ledger.jsonl:1: it is no ledger entry"), "{message}");
    }
}
