//! The scorecard as Markdown, for the summary of a run at a code host.

use std::fmt::Write as _;

use super::cases::{Case, Outcome};
use super::scorecard::{held, value, whole};
use crate::eval::scorecard::Scorecard;

/// A table of the targets, the work, what changed, and the cases that are not as they should be.
pub fn markdown(card: &Scorecard, cases: &[Case]) -> String {
    let mut out = String::new();
    let _ = writeln!(out, "### Scorecard, {}\n\n**{}**\n", cell(&card.date), cell(&whole(card)));
    for moved in &card.moved {
        let _ = writeln!(out, "> **Targets moved, not acknowledged:** {}\n", cell(moved));
    }
    out.push_str("| Name | Limit | Value (95 %) | Held | Verdict | How certain |\n|---|---|---|---|---|---|\n");
    for row in &card.rows {
        let mut certainty = vec![row.certainty.clone()];
        certainty.extend(row.notes.iter().cloned());
        certainty.retain(|text| !text.is_empty());
        let _ = writeln!(
            out,
            "| {} | {} {} | {} | {} | **{}** | {} |",
            cell(&row.name),
            cell(&row.threshold),
            cell(&row.unit),
            cell(&value(row)),
            held(row),
            row.verdict.words(row.kind),
            cell(&certainty.join("; "))
        );
    }
    if !card.work.is_empty() {
        out.push_str("\n| Stage | Failures | Cases | Where to begin |\n|---|---|---|---|\n");
        for item in &card.work {
            let _ = writeln!(
                out,
                "| {} | {} of {} | {} | {} |",
                cell(&item.stage),
                item.ids.len(),
                item.of,
                cell(&item.ids.join(", ")),
                cell(&item.advice)
            );
        }
    }
    if let Some(changed) = card.changed.as_ref().filter(|changed| !changed.is_empty()) {
        out.push_str("\nChanged:\n\n");
        for line in changed {
            let _ = writeln!(out, "- {}", cell(line));
        }
    }
    let failed: Vec<&Case> = cases
        .iter()
        .filter(|case| matches!(case.outcome, Outcome::Failed(..)) && case.suite != "scorecard")
        .collect();
    if !failed.is_empty() {
        out.push_str("\n| Case | Where | What |\n|---|---|---|\n");
        for case in failed {
            let Outcome::Failed(class, what) = &case.outcome else { continue };
            let _ = writeln!(
                out,
                "| {} | {}:{} | {} |",
                cell(&case.name),
                cell(&case.path.to_string_lossy()),
                case.line,
                cell(&format!("{class}: {what}"))
            );
        }
    }
    let _ = writeln!(out, "\nReceipt {}, targets {}.", cell(&card.receipt), cell(&card.targets));
    out
}

/// `text` on one line of a table, with what Markdown or HTML would read as more than text escaped.
fn cell(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            '|' | '\\' | '`' | '*' | '[' | ']' | '#' | '!' => {
                out.push('\\');
                out.push(letter);
            }
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '&' => out.push_str("&amp;"),
            '\n' | '\r' | '\t' => out.push(' '),
            other if other.is_control() => {}
            other => out.push(other),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_breaks_out_of_a_cell() {
        assert_eq!(
            cell("a|b\n`c` <img src=x> [d](e)\u{7}"),
            "a\\|b \\`c\\` &lt;img src=x&gt; \\[d\\](e)"
        );
    }
}
