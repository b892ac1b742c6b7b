//! The ledger, as people read it.

use std::fmt::Write as _;

use super::ledger::{Entry, owed, spent};

/// The ledger of `name` in Markdown, oldest first, with what all of it comes to at the end.
///
/// `held_out` is how many questions the set called `held-out` holds now. The text depends on nothing
/// else, so a committed copy can be compared with it.
pub fn history(name: &str, entries: &[Entry], held_out: usize) -> String {
    let mut out = format!(
        "# History of the evaluation: {name}\n\n\
         What was chosen by measuring, who looked at held-out questions, which questions moved, and why. \
         Oldest first.\n`atlas history` prints this page from `{name}/ledger.jsonl`, and \
         `atlas history --note` adds to it.\n"
    );
    let mut day = "";
    for entry in entries {
        if entry.date() != day {
            day = entry.date();
            let _ = write!(out, "\n## {day}\n");
        }
        let _ = write!(out, "\n{}\n", told(entry));
    }
    let total = spent(entries, "held-out");
    let _ = write!(
        out,
        "\n## In all\n\n- Looks at the held-out questions: {}, which told {:.1} bits of which hit.\n\
         - Held-out questions that moved: {}. Fresh ones owed: {}.\n\
         - Requests of a usage log that became questions: {}.\n",
        total.looks,
        total.bits,
        count(entries, |entry| matches!(entry, Entry::Promote { .. })),
        owed(entries, held_out),
        count(entries, |entry| matches!(entry, Entry::Import { .. })),
    );
    out
}

fn count(entries: &[Entry], wanted: impl Fn(&Entry) -> bool) -> usize {
    entries.iter().filter(|entry| wanted(entry)).count()
}

fn told(entry: &Entry) -> String {
    match entry {
        Entry::Choice { setting, value, set, holds_to, margin, why, .. } => format!(
            "**Chosen: `{setting}` = {value}**, on the {set} questions. Recall holds up to {holds_to}; the \
             margin is {margin}. Why: {}.",
            sentence(why)
        ),
        Entry::Look { set, receipt, shown, bits, settings, .. } => {
            let settings =
                settings.as_ref().map_or_else(String::new, |line| format!(" with {line}"));
            format!(
                "**Look** at the {set} questions{settings}: {shown} shown, {bits:.1} bits. Receipt {}.",
                receipt.get(..12).unwrap_or(receipt)
            )
        }
        Entry::Promote { id, who, why, change, .. } => format!(
            "**Moved: `{id}`** from held-out to development, by {who}. Used for: {}. Why: {}.",
            sentence(change),
            sentence(why)
        ),
        Entry::Import { id, who, why, corpus, request, .. } => format!(
            "**From the usage log: `{id}`**, by {who}. What was wrong: {}. {} blocks had arrived, on \
             corpus {}.",
            sentence(why),
            request.context.len(),
            corpus.get(..12).unwrap_or(corpus)
        ),
        Entry::Targets { hash, limits, who, why, .. } => format!(
            "**Targets acknowledged** as they stand, by {who}: {} limits, hash {}. Why: {}.",
            limits.len(),
            hash.get(..12).unwrap_or(hash),
            sentence(why)
        ),
        Entry::Review { set, id, who, why, looked_at, .. } => format!(
            "**Reviewed: `{id}`** of the {set} questions, by {who}, with {} other blocks. Why: {}.",
            looked_at.len(),
            sentence(why)
        ),
        Entry::Judged { set, who, grades, .. } => format!(
            "**Judged** for {} of the {set} questions, by {who}: {} blocks.",
            grades.len(),
            grades.values().map(std::collections::BTreeMap::len).sum::<usize>()
        ),
        Entry::Note { title, text, .. } => format!("**{}.** {}", sentence(title), text.trim()),
    }
}

/// A text without the full stop at its end.
fn sentence(text: &str) -> &str {
    text.trim().trim_end_matches('.')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_entry_is_told_and_the_account_stands_at_the_end() {
        let text = |text: &str| text.to_owned();
        let moved = Entry::Promote {
            date: text("2026-12-01"),
            id: text("ho-a"),
            who: text("Kim"),
            why: text("it was shown."),
            change: text("stemming"),
            left: Some(15),
        };
        let look = Entry::Look {
            date: text("2026-12-01"),
            set: text("held-out"),
            receipt: text("0123456789abcdef"),
            shown: text("totals"),
            bits: 4.0,
            settings: Some(text("hybrid, k 5")),
            missed: None,
        };
        let note =
            Entry::Note { date: text("2026-12-02"), title: text("On it"), text: text("So.\n") };
        let told = history("pumps", &[look, moved, note], 16);
        let (_, told) = told.split_once("adds to it.\n").unwrap();
        assert_eq!(
            told,
            "\n## 2026-12-01\n\n**Look** at the held-out questions with hybrid, k 5: totals shown, 4.0 bits. \
             Receipt 0123456789ab.\n\n**Moved: `ho-a`** from held-out to development, by Kim. Used for: \
             stemming. Why: it was shown.\n\n## 2026-12-02\n\n**On it.** So.\n\n## In all\n\n- Looks at the \
             held-out questions: 1, which told 4.0 bits of which hit.\n- Held-out questions that moved: 1. \
             Fresh ones owed: 1.\n- Requests of a usage log that became questions: 0.\n"
        );
    }
}
