//! Two measurements side by side, for people.

use std::fmt::Write as _;

use super::fold::folded;
use super::measure_text::short;
use super::{Receipt, counted};
use crate::eval::compare::{CHANGES_MIN, Change, Comparison};

/// What changed, question by question where `show_questions`, and what the set can tell of it.
pub fn compare_text(
    compared: &Comparison,
    receipt: &Receipt,
    show_questions: bool,
    columns: usize,
) -> String {
    let mut out = String::new();
    let _ = writeln!(
        out,
        "change      from {} to {}: {} gained, {} lost, {} moved, of {}",
        short(&compared.before),
        short(&receipt.id),
        compared.gained.len(),
        compared.lost.len(),
        compared.moved.len(),
        counted(compared.questions, "question")
    );
    if compared.other_corpus || compared.other_set {
        let what = match (compared.other_corpus, compared.other_set) {
            (true, true) => "corpus and question set",
            (true, false) => "the corpus",
            _ => "the question set",
        };
        let _ = writeln!(
            out,
            "            {what} changed too: a difference is not of the engine alone"
        );
    }
    for setting in &compared.settings {
        let _ = writeln!(out, "  setting   {setting}");
    }
    if compared.settings.is_empty() {
        out.push_str("  setting   none differs\n");
    }
    if compared.apart > 0 {
        let _ = writeln!(
            out,
            "            {} in one of the two only",
            counted(compared.apart, "question")
        );
    }
    for (word, list) in
        [("lost", &compared.lost), ("gained", &compared.gained), ("moved", &compared.moved)]
    {
        for change in list.iter().filter(|_| show_questions) {
            change_text(&mut out, word, change);
        }
    }
    for difference in &compared.differences {
        let range = difference.interval.as_ref().map_or_else(
            || "unknown".to_owned(),
            |range| format!("{:+.2} to {:+.2}", range.low, range.high),
        );
        let test = difference.test.map_or_else(
            || "exploratory, no p".to_owned(),
            |test| {
                let how = if test.exact { "exact" } else { "drawn" };
                let holm = difference.adjusted;
                let holm = holm.map_or_else(String::new, |p| format!(", {p:.3} by Holm"));
                format!("{how} sign-flip p {:.3}{holm}, at best {:.3}", test.p, test.smallest)
            },
        );
        let accepted = difference.inferiority.map_or_else(String::new, |own| {
            let what = if own.holds { "shown" } else { "not shown" };
            format!(
                "; that no more than the accepted {} is lost is {what}, one-sided 95 %: from {:+.2}",
                own.margin, own.floor
            )
        });
        let _ = writeln!(
            out,
            "  {:9} {:.3} to {:.3} (n {})   95 %: {range}   {} changed; {test}{accepted}",
            difference.name, difference.before, difference.now, difference.n, difference.changed
        );
    }
    let verdict = if compared.failing < CHANGES_MIN { ", so it cannot show a gain" } else { "" };
    let _ = writeln!(
        out,
        "  can it tell?  a gain in hits needs {CHANGES_MIN} questions that change, all one way; failing \
         now: {}{verdict}",
        compared.failing
    );
    folded(&out, columns)
}

fn change_text(out: &mut String, word: &str, change: &Change) {
    let rank =
        |rank: Option<f64>| rank.map_or_else(|| "none".to_owned(), |rank| format!("{rank:.0}"));
    let _ = write!(
        out,
        "  {word:9} {}: recall {:.2} to {:.2}, rank {} to {}",
        change.id,
        change.recall.0,
        change.recall.1,
        rank(change.rank.0),
        rank(change.rank.1)
    );
    for (what, blocks) in [("in", &change.entered), ("out", &change.left)] {
        if !blocks.is_empty() {
            let _ = write!(out, "; {what} {}", blocks.join(", "));
        }
    }
    out.push('\n');
}
