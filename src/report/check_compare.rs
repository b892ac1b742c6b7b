//! Two checks side by side, for people.

use std::fmt::Write as _;

use super::measure_text::short;
use super::{Receipt, counted};
use crate::eval::check::compare::{Comparison, Moved};
use crate::eval::compare::CHANGES_MIN;

/// What changed, case by case and class by class, and what the set can tell of it.
pub fn check_compare_text(compared: &Comparison, receipt: &Receipt) -> String {
    let mut out = String::new();
    let _ = writeln!(
        out,
        "change      from {} to {}: {} gained, {} lost, {} on another rung, of {}",
        short(&compared.before),
        short(&receipt.id),
        compared.gained.len(),
        compared.lost.len(),
        compared.moved.len(),
        counted(compared.cases, "case")
    );
    for (differs, what) in
        [(compared.other_corpus, "the corpus"), (compared.other_set, "the set of cases")]
    {
        if differs {
            let _ =
                writeln!(out, "            {what} changed too: a difference is not of it alone");
        }
    }
    for setting in &compared.settings {
        let _ = writeln!(out, "  setting   {setting}");
    }
    if compared.settings.is_empty() {
        out.push_str("  setting   none differs\n");
    }
    if compared.apart > 0 {
        let _ =
            writeln!(out, "            {} in one of the two only", counted(compared.apart, "case"));
    }
    for (word, list) in
        [("lost", &compared.lost), ("gained", &compared.gained), ("moved", &compared.moved)]
    {
        for Moved { id, before, now } in list {
            let rung = |rung: &Option<String>| rung.clone().unwrap_or_else(|| "passed".to_owned());
            let _ = writeln!(out, "  {word:9} {id}: {} to {}", rung(before), rung(now));
        }
    }
    for (class, before, now) in &compared.classes {
        let _ = writeln!(out, "  class     {class}: {before} to {now}");
    }
    if let Some(test) = compared.test {
        let _ = writeln!(
            out,
            "  coverage  {} changed; exact sign-flip p {:.3}, at best {:.3}",
            test.changed, test.p, test.smallest
        );
    }
    let verdict = if compared.failing < CHANGES_MIN { ", so it cannot show a gain" } else { "" };
    let _ = writeln!(
        out,
        "  can it tell?  a gain needs {CHANGES_MIN} cases that change, all one way; failing now: {}{verdict}",
        compared.failing
    );
    out
}
