//! The ledger of a corpus's question sets: every look at held-out questions, every choice of a
//! setting, every question that moved. One JSON object a line, appended and never changed.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};
use crate::format::append_line;
use crate::trace;

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
        /// What scores were made by then, by name: see [`super::scale`].
        #[serde(default, skip_serializing_if = "Option::is_none")]
        under: Option<BTreeMap<String, String>>,
    },
    /// Held-out questions were measured.
    Look {
        /// The day, YYYY-MM-DD.
        date: String,
        /// The set.
        set: String,
        /// The receipt's id: the same receipt is the same look.
        receipt: String,
        /// `totals`, `kinds`, `questions`, or `sweep` for totals at several minimum scores.
        shown: String,
        /// What was learned about which questions hit, in bits: see [`bits`].
        bits: f64,
        /// The settings in a line.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        settings: Option<String>,
        /// Where single questions were shown: those of which evidence was missing.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        missed: Option<Vec<String>>,
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
        /// Held-out questions left, so that fresh ones can be counted.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        left: Option<usize>,
    },
    /// A request of the usage log became a development question.
    Import {
        /// The day, YYYY-MM-DD.
        date: String,
        /// The question's id.
        id: String,
        /// Who took it over.
        who: String,
        /// What was wrong with the answer.
        why: String,
        /// Fingerprint of the corpus that was asked; `unknown` when the log does not tell.
        corpus: String,
        /// The request with its trace, as the log has it.
        request: trace::log::Entry,
    },
    /// What people should know when they read the history.
    Note {
        /// The day, YYYY-MM-DD.
        date: String,
        /// What it is about, in a few words.
        title: String,
        /// The text, in Markdown.
        text: String,
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
    /// A person graded blocks that nobody had judged.
    Judged {
        /// The day, YYYY-MM-DD.
        date: String,
        /// The set.
        set: String,
        /// Who graded.
        who: String,
        /// The grades by question and block.
        grades: BTreeMap<String, BTreeMap<String, i32>>,
    },
}

impl Entry {
    /// The day of the entry, YYYY-MM-DD.
    pub fn date(&self) -> &str {
        match self {
            Self::Choice { date, .. }
            | Self::Look { date, .. }
            | Self::Promote { date, .. }
            | Self::Import { date, .. }
            | Self::Note { date, .. }
            | Self::Targets { date, .. }
            | Self::Review { date, .. }
            | Self::Judged { date, .. } => date,
        }
    }
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
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Spent {
    /// Looks, equal receipts counted once.
    pub looks: usize,
    /// Bits learned, at most.
    pub bits: f64,
}

/// Sums the looks at `set`. Looks under one receipt show the same results, so they are one look, and
/// cost what the one that showed most did.
pub fn spent(entries: &[Entry], set: &str) -> Spent {
    let mut most: BTreeMap<&str, f64> = BTreeMap::new();
    for entry in entries {
        if let Entry::Look { set: own, receipt, bits, .. } = entry
            && own == set
        {
            let known = most.entry(receipt).or_default();
            *known = bits.max(*known);
        }
    }
    Spent { looks: most.len(), bits: most.values().fold(0.0, |sum, bits| sum + bits) }
}

/// What a look shows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Shown {
    /// Counts and means over the whole set.
    Totals,
    /// The same of each kind, which has so many questions.
    Kinds(Vec<usize>),
    /// Single questions.
    Questions,
}

impl Shown {
    /// As the ledger writes it.
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Totals => "totals",
            Self::Kinds(_) => "kinds",
            Self::Questions => "questions",
        }
    }
}

/// What a look at `n` questions tells about which of them hit, in bits: a count of hits is one of
/// `n + 1`; the counts of kinds tell the sum over the kinds, at most `n`; single results tell `n`.
///
/// It is the information of the hits alone. Means of other measures tell a little more about
/// questions that were answered in part.
pub fn bits(n: usize, shown: &Shown) -> f64 {
    let of_count = |n: usize| ((n + 1) as f64).log2();
    match shown {
        Shown::Totals => of_count(n),
        Shown::Kinds(kinds) => kinds.iter().map(|n| of_count(*n)).sum::<f64>().min(n as f64),
        Shown::Questions => n as f64,
    }
}

/// Whether the look with this receipt, showing this much or more, is in the ledger already.
pub fn known(entries: &[Entry], receipt: &str, shown: &str) -> bool {
    let order = ["totals", "kinds", "questions"];
    let much = |shown: &str| order.iter().position(|own| *own == shown);
    let covers = |other: &str| much(other).zip(much(shown)).is_some_and(|(all, part)| all >= part);
    entries.iter().any(|entry| {
        matches!(entry, Entry::Look { receipt: own, shown: own_shown, .. }
            if own == receipt && (own_shown == shown || covers(own_shown)))
    })
}

/// How likely `looks` comparisons at 5 % show a difference by luck alone: `1 - 0.95^looks`.
pub fn false_discovery(looks: usize) -> f64 {
    1.0 - 0.95_f64.powi(i32::try_from(looks).unwrap_or(i32::MAX))
}

/// Questions of `set` that were shown as missed under another receipt than `receipt`, and of which all
/// evidence arrives now by `arrives`: whatever was changed in between may have been changed for them,
/// so they are used up.
pub fn used_up<'e>(
    entries: &'e [Entry],
    set: &str,
    receipt: &str,
    arrives: impl Fn(&str) -> bool,
) -> Vec<&'e str> {
    let mut used: Vec<&str> = Vec::new();
    for entry in entries {
        if let Entry::Look { set: own, receipt: old, missed: Some(missed), .. } = entry
            && own == set
            && old != receipt
        {
            used.extend(missed.iter().map(String::as_str).filter(|id| arrives(id)));
        }
    }
    used.sort_unstable();
    used.dedup();
    used
}

/// Fresh held-out questions that are owed, for a set that holds `held_out` now: two for each that
/// moved, less those that were added since.
pub fn owed(entries: &[Entry], held_out: usize) -> usize {
    let (mut owed, mut before) = (0, None);
    for entry in entries {
        if let Entry::Promote { left, .. } = entry {
            owed += FRESH_PER_PROMOTED;
            if let (Some(before), Some(left)) = (before, *left) {
                // The question that moved is no longer among those left.
                owed = owed.saturating_sub((left + 1_usize).saturating_sub(before));
            }
            before = *left;
        }
    }
    owed.saturating_sub(before.map_or(0, |before: usize| held_out.saturating_sub(before)))
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
            settings: None,
            missed: (shown == "questions").then(|| vec!["q1".to_owned()]),
        }
    }

    fn promoted(left: usize) -> Entry {
        let text = || "x".to_owned();
        let (date, id, who, why, change) = (text(), text(), text(), text(), text());
        Entry::Promote { date, id, who, why, change, left: Some(left) }
    }

    #[test]
    fn kinds_tell_more_than_totals_and_less_than_questions() {
        assert_eq!(bits(15, &Shown::Totals), 4.0);
        assert_eq!(bits(15, &Shown::Kinds(vec![7, 7, 1])), 7.0);
        assert_eq!(bits(3, &Shown::Kinds(vec![1, 1, 1, 3])), 3.0);
        assert_eq!(bits(15, &Shown::Questions), 15.0);
        assert_eq!((false_discovery(20) * 100.0).round(), 64.0);
    }

    #[test]
    fn a_question_shown_as_missed_that_arrives_later_is_used_up() {
        let entries = [look("a", "totals", 4.0), look("b", "questions", 16.0)];
        let used = |receipt, arrives| used_up(&entries, "held-out", receipt, |_| arrives);
        assert_eq!(used("c", true), ["q1"]);
        assert!(used("c", false).is_empty() && used("b", true).is_empty());
        assert!(used_up(&entries, "other", "c", |_| true).is_empty());
    }

    #[test]
    fn two_fresh_questions_are_owed_for_each_that_moved() {
        assert_eq!(owed(&[], 16), 0);
        // 16 questions, one moves; two are written; another moves; one is written.
        let moved = [promoted(15), promoted(16)];
        assert_eq!(owed(&moved[..1], 15), 2);
        assert_eq!(owed(&moved[..1], 17), 0);
        assert_eq!(owed(&moved, 16), 2);
        assert_eq!(owed(&moved, 17), 1);
        assert_eq!(owed(&moved, 40), 0);
    }

    #[test]
    fn the_same_receipt_is_the_same_look() {
        let entries = [look("a", "totals", 4.0), look("b", "questions", 16.0)];
        assert!(known(&entries, "a", "totals") && !known(&entries, "a", "questions"));
        assert!(known(&entries, "b", "totals"));
        assert_eq!(spent(&entries, "held-out"), Spent { looks: 2, bits: 20.0 });
        let again = [look("a", "totals", 4.0), look("a", "questions", 16.0)];
        assert_eq!(spent(&again, "held-out"), Spent { looks: 1, bits: 16.0 });
        assert!(!known(&entries, "a", "kinds") && known(&entries, "b", "kinds"));
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
