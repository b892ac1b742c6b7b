//! Retrieval: along the minimum score, by kind, and where evidence is lost.

use std::fmt::Write as _;

use super::charts::{Bar, Mark, Series, Whisker, bars, steps, whiskers};
use super::{Quality, Rung, escaped};
use crate::eval::measurement::Measurement;
use crate::eval::statistics::wilson;
use crate::eval::sweep::Step;
use crate::report::counted;

pub(super) fn min_score(found: &Quality<'_>) -> String {
    let points = |of: &dyn Fn(&Step) -> f64| found.steps.iter().map(|s| (s.value, of(s))).collect();
    let series = [
        Series { name: "recall", class: "first", points: points(&|step| step.recall) },
        Series { name: "precision", class: "second", points: points(&|step| step.precision) },
    ];
    let mut marks = Vec::new();
    for (at, recall, precision) in &found.held_out {
        marks.push(Mark { at: (*at, *recall), class: "first" });
        marks.push(Mark { at: (*at, *precision), class: "second" });
    }
    let x_max = found.steps.last().map_or(1.0, |step| step.value).max(0.1);
    let n = found.measured.scored(None).count();
    let mut out = format!(
        "<p>Mean recall and precision of what is handed over, on {n} scored development questions, for every \
         minimum score. Nothing is chosen on held-out questions.</p>\n"
    );
    out.push_str(&steps(
        &series,
        &marks,
        found.min_score,
        x_max,
        "Recall and precision along the minimum score; the values are in the table below",
    ));
    let (looks, bits) = found.looks;
    let told = if found.held_out.is_empty() {
        "The ledger tells nothing of the held-out questions under these settings, so they are not shown."
    } else {
        "Diamonds: the held-out questions, only where the ledger has already told them."
    };
    let _ = writeln!(
        out,
        "<p class=\"small quiet\">{told} So far {} at them told at most {bits:.1} bits.</p>\n\
         <details><summary>The values</summary><div class=\"scroll\"><table><thead><tr><th scope=\"col\" class=\"n\">\
         Minimum score</th><th scope=\"col\" class=\"n\">Hit</th><th scope=\"col\" class=\"n\">Recall</th>\
         <th scope=\"col\" class=\"n\">Precision</th><th scope=\"col\" class=\"n\">Tokens</th>\
         <th scope=\"col\" class=\"n\">Blocks</th></tr></thead><tbody>",
        counted(looks, "look")
    );
    for step in &found.steps {
        let _ = writeln!(
            out,
            "<tr><td class=\"n\">{:.4}{}</td><td class=\"n\">{:.2}</td><td class=\"n\">{:.2}</td>\
             <td class=\"n\">{:.2}</td><td class=\"n\">{:.0}</td><td class=\"n\">{:.2}</td></tr>",
            step.value,
            if step.value == found.min_score { " (in force)" } else { "" },
            step.hit,
            step.recall,
            step.precision,
            step.tokens,
            step.blocks
        );
    }
    out.push_str("</tbody></table></div></details>\n");
    for (at, recall, precision) in &found.held_out {
        let _ = writeln!(
            out,
            "<p class=\"small\">Held-out at {at}: recall {recall:.2}, precision {precision:.2}.</p>"
        );
    }
    out
}

pub(super) fn kinds(measured: &Measurement) -> String {
    let rows: Vec<Whisker> = measured
        .kinds()
        .into_iter()
        .filter_map(|kind| {
            let hits = measured.values("hit", Some(kind));
            let hit = hits.iter().filter(|hit| **hit > 0.0).count();
            let interval = wilson(hit, hits.len())?;
            Some(Whisker {
                label: kind.to_owned(),
                count: format!("{hit} of {}", hits.len()),
                value: hit as f64 / hits.len() as f64,
                interval: Some((interval.low, interval.high)),
                limit: None,
            })
        })
        .collect();
    if rows.is_empty() {
        return "<p>No question can be scored.</p>\n".to_owned();
    }
    let low = rows.iter().filter_map(|row| row.interval).map(|(low, _)| low).fold(0.0, f64::max);
    let overlap = rows.iter().all(|row| row.interval.is_none_or(|(_, high)| high >= low));
    let mut out =
        "<p>Questions that got at least one right block, with 95 % intervals (Wilson).</p>\n"
            .to_owned();
    let told: Vec<String> = rows.iter().map(|row| format!("{} {}", row.label, row.count)).collect();
    out.push_str(&whiskers(&rows, &told.join(", ")));
    if overlap && rows.len() > 1 {
        out.push_str(
            "<p class=\"small quiet\">The ranges overlap: no kind is better than another.</p>\n",
        );
    }
    out
}

pub(super) fn ladder(rungs: &[Rung], what: &str) -> String {
    let rows: Vec<Bar> = rungs
        .iter()
        .map(|rung| Bar {
            label: rung.name.clone(),
            value: rung.count as f64,
            text: rung.count.to_string(),
            class: if rung.lost { "lost" } else { "bar" },
        })
        .collect();
    let told: Vec<String> =
        rungs.iter().map(|rung| format!("{}: {}", rung.name, rung.count)).collect();
    let mut out = bars(&rows, &told.join(", "));
    let all: usize = rungs.iter().map(|rung| rung.count).sum();
    let _ = writeln!(
        out,
        "<p class=\"small quiet\">{}</p>",
        escaped(&format!("The counts add up to the {all} {what}."))
    );
    out
}
