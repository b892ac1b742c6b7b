//! What became of the labels of a question set, for people and for machines.

use std::fmt::Write as _;

use serde_json::{Value, json};

use super::counted;
use crate::eval::labels::{Label, STALE, State};
use crate::eval::measurement::Measurement;

/// One line when every label has the text that it was made on, and a line more for each that has not.
/// Labels of questions that are not shown are counted.
pub(super) fn labels_text(out: &mut String, set: &Measurement, show_questions: bool) {
    let labels = &set.labels;
    if labels.is_empty() {
        return;
    }
    let count = |of: fn(&Label) -> bool| labels.iter().filter(|label| of(label)).count();
    let current = count(|label| label.state == State::Current);
    let _ = write!(out, "  labels     {current} of {} as judged", labels.len());
    for (n, what) in [
        (count(|label| matches!(label.state, State::Moved { .. })), "moved"),
        (count(Label::is_stale), "STALE"),
        (count(|label| label.state == State::Unrecorded), "without a hash"),
    ] {
        if n > 0 {
            let _ = write!(out, ", {n} {what}");
        }
    }
    out.push('\n');
    if !show_questions {
        return;
    }
    for label in labels {
        let (question, unit) = (&label.question, &label.unit);
        let _ = match &label.state {
            State::Current | State::Unrecorded => continue,
            State::Moved { to } => {
                writeln!(out, "  moved      {question}: {unit} is {to} now, by its text")
            }
            State::Split { into } => writeln!(
                out,
                "  STALE      {question}: {unit} was split, its text stands in {} now; review it",
                into.join(", ")
            ),
            State::Changed => writeln!(
                out,
                "  STALE      {question}: {unit} has another text than was judged; review it"
            ),
            State::Gone => {
                writeln!(out, "  STALE      {question}: {unit} and its text are gone; review it")
            }
        };
    }
    let unscored = set.questions.iter().filter(|q| q.unscoreable.as_deref() == Some(STALE)).count();
    if unscored > 0 {
        let _ = writeln!(
            out,
            "             {} left without evidence: not scored, and no miss",
            counted(unscored, "question")
        );
    }
}

/// Counts by state, and every label that is not as judged where questions may be shown.
pub(super) fn labels_json(set: &Measurement, show_questions: bool) -> Value {
    let count = |of: fn(&Label) -> bool| set.labels.iter().filter(|label| of(label)).count();
    let told = |label: &&Label| {
        show_questions && !matches!(label.state, State::Current | State::Unrecorded)
    };
    json!({
        "judged": set.labels.len(),
        "current": count(|label| label.state == State::Current),
        "unrecorded": count(|label| label.state == State::Unrecorded),
        "moved": count(|label| matches!(label.state, State::Moved { .. })),
        "stale": count(Label::is_stale),
        "differing": set.labels.iter().filter(told).collect::<Vec<_>>(),
    })
}

/// A line for reports that show no labels: how many are stale, and of which questions unless these are
/// `hidden`. `None` when none is.
pub fn stale_line(labels: &[Label], hidden: bool) -> Option<String> {
    let stale: Vec<&Label> = labels.iter().filter(|label| label.is_stale()).collect();
    let mut ids: Vec<&str> = stale.iter().map(|label| label.question.as_str()).collect();
    ids.dedup();
    let whose = if hidden { String::new() } else { format!(", of {}", ids.join(", ")) };
    (!stale.is_empty())
        .then(|| format!("STALE: {}{whose}; see `atlas review`", counted(stale.len(), "label")))
}
