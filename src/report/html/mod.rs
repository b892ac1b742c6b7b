//! The scorecard as one page that carries everything with it: no script, no font, no picture from
//! elsewhere, and a policy in it that forbids the browser to fetch any. Light and dark, for a phone and
//! for paper.

mod charts;
mod quality;
mod questions;
mod score;
mod speed;
mod svg;

use std::fmt::Write as _;

use super::{AdoptionReport, LatencyReport};
use crate::eval::compare::Comparison;
use crate::eval::measurement::Measurement;
use crate::eval::scorecard::Scorecard;
use crate::eval::sweep::Step;

/// The style, for screens, phones and paper.
const STYLE: &str = include_str!("page.css");

/// Everything that the page shows; what is `None` is left out.
#[derive(Debug)]
pub struct Page<'p> {
    /// What the project is called.
    pub project: String,
    /// On what it was measured, one line.
    pub ground: String,
    /// The targets and the gate.
    pub card: &'p Scorecard,
    /// Retrieval on the development questions.
    pub quality: Option<Quality<'p>>,
    /// Searches, timed.
    pub latency: Option<&'p LatencyReport<'p>>,
    /// Who uses it.
    pub adoption: Option<&'p AdoptionReport<'p>>,
    /// Questions by where their evidence was lost; adds up to all that can be scored.
    pub ladder: Vec<Rung>,
    /// Answers by the rung on which they failed; adds up to all that were checked.
    pub answers: Vec<Rung>,
    /// Every question with what arrived.
    pub questions: Vec<Drill>,
    /// Against an earlier run.
    pub comparison: Option<&'p Comparison>,
}

/// One class of the ladder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rung {
    /// What it is.
    pub name: String,
    /// How many.
    pub count: usize,
    /// Whether it is a loss.
    pub lost: bool,
}

/// Retrieval, measured, and what every minimum score would do.
#[derive(Debug)]
pub struct Quality<'p> {
    /// The development questions.
    pub measured: &'p Measurement,
    /// Ascending by minimum score.
    pub steps: Vec<Step>,
    /// The minimum score in force.
    pub min_score: f64,
    /// What the ledger already tells of the held-out questions: minimum score, recall, precision. No look
    /// is spent for the page.
    pub held_out: Vec<(f64, f64, f64)>,
    /// Looks at the held-out questions so far, and the bits they told at most.
    pub looks: (usize, f64),
}

/// A question with what arrived and why.
#[derive(Debug, Clone, PartialEq)]
pub struct Drill {
    /// Its id.
    pub id: String,
    /// What is asked.
    pub question: String,
    /// Who asks, if anybody is named.
    pub asker: Option<String>,
    /// Its kinds.
    pub kinds: String,
    /// How it went: `hit at 1, recall 1.00, precision 0.50`.
    pub result: String,
    /// Whether evidence is missing.
    pub missed: bool,
    /// What arrived, best first.
    pub arrived: Vec<Arrived>,
    /// What did not, and where it was lost.
    pub lost: Vec<String>,
}

/// A block that arrived.
#[derive(Debug, Clone, PartialEq)]
pub struct Arrived {
    /// Its reference.
    pub reference: String,
    /// Document and section titles.
    pub title: String,
    /// The beginning of its text.
    pub text: String,
    /// Its score.
    pub score: f64,
    /// Its estimated tokens.
    pub tokens: usize,
    /// Whether it is judged relevant.
    pub relevant: bool,
    /// Its place and score in the list of words and in that of vectors, in words.
    pub why: String,
}

/// `text` with what HTML reads as more than text written out, and control characters left out.
pub(super) fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            '\n' | '\t' => out.push(' '),
            other if other.is_control() => {}
            // Marks that turn the direction of what follows, out of the question and into the page.
            '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' => {}
            other => out.push(other),
        }
    }
    out
}

/// The whole page.
pub fn html(page: &Page<'_>) -> String {
    let mut sections: Vec<(&str, &str, String)> = vec![
        ("targets", "Targets and gate", score::targets(page)),
        ("work", "What to work on", score::work(page)),
    ];
    if let Some(found) = &page.quality {
        sections.push(("min-score", "Along the minimum score", quality::min_score(found)));
        sections.push(("kinds", "By kind of question", quality::kinds(found.measured)));
    }
    if !page.ladder.is_empty() {
        let what = "questions that can be scored";
        sections.push(("ladder", "Where evidence is lost", quality::ladder(&page.ladder, what)));
    }
    if !page.answers.is_empty() {
        let title = "Where answers go wrong";
        sections.push((
            "answers",
            title,
            quality::ladder(&page.answers, "answers that were checked"),
        ));
    }
    if let Some(report) = page.latency {
        sections.push(("latency", "Where the time goes", speed::latency(report)));
    }
    if let Some(report) = page.adoption {
        sections.push(("adoption", "Who uses it", speed::adoption(report)));
    }
    if page.comparison.is_some() || page.card.changed.is_some() {
        sections.push(("change", "Against the run before", score::change(page)));
    }
    if !page.questions.is_empty() {
        sections.push(("questions", "Question by question", questions::questions(&page.questions)));
    }
    let mut out = String::new();
    let _ = write!(
        out,
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; img-src data:; style-src 'unsafe-inline'\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta name=\"color-scheme\" content=\"light dark\">\n\
         <title>Scorecard of {project}</title>\n<link rel=\"icon\" href=\"data:,\">\n\
         <style>{STYLE}</style>\n</head>\n<body>\n\
         <a class=\"skip\" href=\"#targets\">To the targets</a>\n<header>\n<h1>Scorecard of {project}</h1>\n",
        project = escaped(&page.project)
    );
    score::head(&mut out, page);
    out.push_str("<nav aria-label=\"Sections\"><ul>");
    for (id, title, _) in &sections {
        let _ = write!(out, "<li><a href=\"#{id}\">{title}</a></li>");
    }
    out.push_str("</ul></nav>\n</header>\n<main>\n");
    for (id, title, body) in &sections {
        let _ = write!(
            out,
            "<section aria-labelledby=\"{id}\">\n<h2 id=\"{id}\">{title}</h2>\n{body}</section>\n"
        );
    }
    let _ = write!(
        out,
        "</main>\n<footer>\n<p>{}</p>\n<p>Receipt <code>{}</code>, targets <code>{}</code>. Written by atlas {}. \
         The page holds texts of documents: whoever may not read those may not read it.</p>\n</footer>\n\
         </body>\n</html>\n",
        escaped(&page.ground),
        escaped(short(&page.card.receipt)),
        escaped(short(&page.card.targets)),
        env!("CARGO_PKG_VERSION")
    );
    out
}

fn short(hash: &str) -> &str {
    hash.get(..12).unwrap_or(hash)
}

#[cfg(test)]
mod tests;
