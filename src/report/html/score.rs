//! The head of the page, the targets, the work, and what changed.

use std::fmt::Write as _;

use super::charts::{Whisker, whiskers};
use super::{Page, escaped};
use crate::eval::compare::Change;
use crate::eval::scorecard::Row;
use crate::eval::targets::{Kind, Verdict};
use crate::report::scorecard::{held, value};

/// The verdict with a sign, so that colour is not all that carries it.
pub(super) fn badge(verdict: Verdict, kind: Kind) -> String {
    let (class, sign) = match verdict {
        Verdict::Met => ("met", "✓"),
        Verdict::Missed => ("missed", "✗"),
        Verdict::GateFailed => ("failed", "✗"),
        Verdict::CannotTell => ("open", "?"),
        Verdict::NotMeasured => ("open", "–"),
    };
    format!(
        "<span class=\"verdict {class}\"><span aria-hidden=\"true\">{sign}</span> {}</span>",
        verdict.words(kind)
    )
}

pub(super) fn head(out: &mut String, page: &Page<'_>) {
    let card = page.card;
    let whole = match card.verdict() {
        Verdict::GateFailed => "The gate failed: no release.",
        Verdict::Missed => "A target is missed: there is work.",
        Verdict::NotMeasured => "Nothing is missed, and not everything was measured.",
        Verdict::CannotTell => "Nothing is missed, and some samples are too small to tell.",
        Verdict::Met => "The gate is passed, and every target is met.",
    };
    let _ = write!(
        out,
        "<p class=\"quiet\">{}; targets agreed {}</p>\n<p class=\"whole\">{whole}</p>\n",
        escaped(&card.date),
        escaped(&card.agreed)
    );
    if !card.moved.is_empty() {
        out.push_str("<div class=\"warn\"><strong>Nobody has acknowledged the targets as they stand.</strong><ul>");
        for moved in &card.moved {
            let _ = write!(out, "<li>{}</li>", escaped(moved));
        }
        out.push_str("</ul></div>\n");
    }
}

pub(super) fn targets(page: &Page<'_>) -> String {
    let mut out = String::from(
        "<table class=\"cards\"><caption>Held: whether this sample is within its limit. Verdict: whether the \
         true value is, at 95 %.</caption><thead><tr><th scope=\"col\">Name</th><th scope=\"col\">Limit</th>\
         <th scope=\"col\">Value</th><th scope=\"col\">Held</th><th scope=\"col\">Verdict</th></tr></thead><tbody>\n",
    );
    for row in &page.card.rows {
        row_html(&mut out, row);
    }
    out.push_str("</tbody></table>\n");
    let shares: Vec<Whisker> = page
        .card
        .rows
        .iter()
        .filter(|row| row.kind == Kind::Target && row.count.is_some())
        .filter_map(|row| {
            let (k, n) = row.count?;
            Some(Whisker {
                label: row.name.clone(),
                count: format!("{k} of {n}"),
                value: row.value?,
                interval: row.interval,
                limit: Some(row.limit),
            })
        })
        .collect();
    if !shares.is_empty() {
        let label = "Shares with their 95 % intervals; the values are in the table above";
        out.push_str(&whiskers(&shares, label));
        out.push_str("<p class=\"small\">Dotted: the limit.</p>\n");
    }
    for note in &page.card.notes {
        let _ = writeln!(out, "<p class=\"small quiet\">{}</p>", prose(note));
    }
    out
}

fn row_html(out: &mut String, row: &Row) {
    let kind = if row.kind == Kind::Gate { "gate" } else { "target" };
    let mut notes: Vec<&str> = Vec::new();
    notes.extend(Some(row.certainty.as_str()).filter(|text| !text.is_empty()));
    notes.extend(row.notes.iter().map(String::as_str).filter(|text| !text.is_empty()));
    let notes: Vec<String> = notes.into_iter().map(prose).collect();
    let _ = writeln!(
        out,
        "<tr><th scope=\"row\">{} <span class=\"quiet small\">{kind}</span></th>\
         <td data-label=\"Limit\"><div>{} {}</div></td>\
         <td data-label=\"Value\"><div>{}<br><span class=\"small quiet\">{}</span>\
         <details class=\"small\"><summary>How it is measured</summary><div><p>{}.</p>\
         <p>Method: {}. Sample: {}. Source: {}.</p></div></details></div></td>\
         <td data-label=\"Held\"><div>{}</div></td><td data-label=\"Verdict\"><div>{}</div></td></tr>",
        escaped(&row.name),
        escaped(&row.threshold),
        escaped(&row.unit),
        escaped(&value(row)),
        notes.join("; "),
        escaped(&row.definition),
        escaped(&row.method),
        escaped(&row.sample),
        escaped(&row.source),
        held(row),
        badge(row.verdict, row.kind),
    );
}

/// `text` with what stands between backticks as code.
fn prose(text: &str) -> String {
    let parts: Vec<String> = text.split('`').map(escaped).collect();
    // An odd number of parts means that every backtick has its partner.
    if parts.len().is_multiple_of(2) {
        return parts.join("`");
    }
    let wrap = |(at, part): (usize, &String)| {
        if at % 2 == 1 { format!("<code>{part}</code>") } else { part.clone() }
    };
    parts.iter().enumerate().map(wrap).collect()
}

pub(super) fn work(page: &Page<'_>) -> String {
    if page.card.work.is_empty() {
        return "<p>No failure of the samples measured here asks for work.</p>\n".to_owned();
    }
    let mut out = String::from(
        "<table class=\"cards\"><caption>Failures by the first place where evidence was lost or the answer went \
         wrong.</caption><thead><tr><th scope=\"col\">Stage</th><th scope=\"col\">Failures</th>\
         <th scope=\"col\">Cases</th><th scope=\"col\">Where to begin</th></tr></thead><tbody>\n",
    );
    for item in &page.card.work {
        let _ = writeln!(
            out,
            "<tr><th scope=\"row\">{}<br><code class=\"quiet\">{}</code></th><td data-label=\"Failures\"><div>{} of {}</div></td>\
             <td data-label=\"Cases\"><div>{}</div></td><td data-label=\"Begin\"><div>{}</div></td></tr>",
            escaped(&item.stage),
            escaped(&item.class),
            item.ids.len(),
            item.of,
            escaped(&item.ids.join(", ")),
            prose(&item.advice)
        );
    }
    out.push_str("</tbody></table>\n");
    out
}

pub(super) fn change(page: &Page<'_>) -> String {
    let mut out = String::new();
    if let Some(changed) = &page.card.changed {
        if changed.is_empty() {
            out.push_str("<p>No verdict, count or limit changed.</p>\n");
        } else {
            out.push_str("<ul>");
            for line in changed {
                let _ = write!(out, "<li>{}</li>", escaped(line));
            }
            out.push_str("</ul>\n");
        }
    }
    let Some(found) = page.comparison else { return out };
    let _ = writeln!(
        out,
        "<p>Of {} questions in both runs {} gained, {} lost, {} moved.{}</p>",
        found.questions,
        found.gained.len(),
        found.lost.len(),
        found.moved.len(),
        if found.other_corpus || found.other_set {
            " Corpus or question set differ, so a difference is not of the engine alone."
        } else {
            ""
        }
    );
    let rows: Vec<(&str, &Change)> =
        [("lost", &found.lost), ("gained", &found.gained), ("moved", &found.moved)]
            .into_iter()
            .flat_map(|(word, list)| list.iter().map(move |change| (word, change)))
            .collect();
    if rows.is_empty() {
        return out;
    }
    out.push_str(
        "<table class=\"cards\"><caption>Questions whose evidence changed, worst first.</caption><thead><tr>\
         <th scope=\"col\">Question</th><th scope=\"col\">What</th><th scope=\"col\" class=\"n\">Recall</th>\
         <th scope=\"col\" class=\"n\">Rank</th></tr></thead><tbody>\n",
    );
    let rank =
        |rank: Option<f64>| rank.map_or_else(|| "none".to_owned(), |rank| format!("{rank:.0}"));
    for (word, change) in rows {
        let _ = writeln!(
            out,
            "<tr><th scope=\"row\">{}</th><td data-label=\"What\"><div>{word}</div></td>\
             <td data-label=\"Recall\" class=\"n\"><div>{:.2} to {:.2}</div></td><td data-label=\"Rank\" class=\"n\"><div>{} to {}</div></td></tr>",
            escaped(&change.id),
            change.recall.0,
            change.recall.1,
            rank(change.rank.0),
            rank(change.rank.1)
        );
    }
    out.push_str("</tbody></table>\n");
    out
}
