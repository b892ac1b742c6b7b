//! `scorecard` for people and for machines.

use std::fmt::Write as _;

use serde_json::{Value, json};

use super::latency::time;
use crate::eval::scorecard::{Row, Scorecard};
use crate::eval::targets::{Kind, Verdict};

/// Microseconds in a unit of time.
fn unit_us(unit: &str) -> Option<f64> {
    match unit {
        "s" => Some(1e6),
        "ms" => Some(1e3),
        "µs" | "us" => Some(1.0),
        _ => None,
    }
}

/// A row's value for people: `24 of 34 = 70.6 % (54 to 83)`, `45.3 µs (44.0 µs to 46.1 µs)`, `0 of 40`.
pub(super) fn value(row: &Row) -> String {
    let Some(found) = row.value else { return "–".to_owned() };
    if let Some(unit) = unit_us(&row.unit) {
        let range = row.interval.map_or_else(
            || "no interval".to_owned(),
            |(low, high)| format!("{} to {}", time(low * unit), time(high * unit)),
        );
        return format!("{} ({range}), n {}", time(found * unit), row.n);
    }
    match (row.count, row.kind) {
        (Some((k, n)), Kind::Gate) => format!("{k} of {n}"),
        (Some((k, n)), Kind::Target) => {
            let range = row.interval.map_or_else(String::new, |(low, high)| {
                format!(" ({:.0} to {:.0})", low * 100.0, high * 100.0)
            });
            format!("{k} of {n} = {:.1} %{range}", found * 100.0)
        }
        (None, _) => format!("{found}"),
    }
}

/// Whether a row's value is within its limit, in words.
pub(super) const fn held(row: &Row) -> &'static str {
    match row.held {
        Some(true) => "yes",
        Some(false) => "no",
        None => "–",
    }
}

/// The page for people: verdicts, work, what changed.
pub fn scorecard_text(card: &Scorecard) -> String {
    let mut out = String::new();
    let short = |hash: &str| hash.get(..12).unwrap_or(hash).to_owned();
    let _ = writeln!(
        out,
        "scorecard   {}   targets {} agreed {}   receipt {}",
        card.date,
        short(&card.targets),
        card.agreed,
        short(&card.receipt)
    );
    let width = card.rows.iter().map(|row| row.name.chars().count()).max().unwrap_or(0).max(14);
    for moved in &card.moved {
        let _ = writeln!(out, "MOVED       {moved}; `--acknowledge WHY` says that somebody knows");
    }
    let _ = writeln!(
        out,
        "\n  {:width$}  {:16}  {:5}  {:12}  value",
        "name", "limit", "held", "verdict"
    );
    for row in &card.rows {
        let _ = writeln!(
            out,
            "  {:width$}  {:16}  {:5}  {:12}  {}",
            row.name,
            row.threshold,
            held(row),
            row.verdict.words(row.kind),
            value(row)
        );
        let mut notes: Vec<&str> = vec![&row.certainty];
        notes.extend(row.notes.iter().map(String::as_str));
        for note in notes.iter().filter(|note| !note.is_empty()) {
            let _ = writeln!(out, "  {:55}  {note}", "");
        }
    }
    let _ = writeln!(
        out,
        "  held: whether this sample is within the limit; verdict: whether the true value is, at 95 %"
    );
    for note in &card.notes {
        let _ = writeln!(out, "note        {note}");
    }
    for (at, item) in card.work.iter().enumerate() {
        let _ = writeln!(
            out,
            "{}  {} of {} failures at {} ({}): {}",
            if at == 0 { "\nwork      " } else { "          " },
            item.ids.len(),
            item.of,
            item.stage,
            item.class,
            item.ids.join(", ")
        );
        let _ = writeln!(out, "              {}", item.advice);
    }
    match &card.changed {
        None => {}
        Some(changed) if changed.is_empty() => {
            let _ = writeln!(out, "\nchange      no verdict, count or limit changed");
        }
        Some(changed) => {
            for (at, line) in changed.iter().enumerate() {
                let _ = writeln!(
                    out,
                    "{}  {line}",
                    if at == 0 { "\nchange    " } else { "          " }
                );
            }
        }
    }
    let _ = writeln!(out, "\nwhole       {}", whole(card));
    out
}

/// What the page says, in a few words.
pub(super) fn whole(card: &Scorecard) -> String {
    let count = |verdict: Verdict| card.rows.iter().filter(|row| row.verdict == verdict).count();
    let mut parts = Vec::new();
    if count(Verdict::GateFailed) > 0 {
        parts.push("the gate FAILED, so no release".to_owned());
    } else if card.rows.iter().any(|row| row.kind == Kind::Gate && row.verdict == Verdict::Met) {
        parts.push("the gate is passed".to_owned());
    }
    let met =
        card.rows.iter().filter(|row| row.kind == Kind::Target && row.verdict == Verdict::Met);
    for (n, what) in [
        (met.count(), "met"),
        (count(Verdict::Missed), "missed"),
        (count(Verdict::CannotTell), "cannot be told at this n"),
        (count(Verdict::NotMeasured), "not measured"),
    ] {
        if n > 0 {
            parts.push(format!("{n} {what}"));
        }
    }
    parts.join("; ")
}

/// The page for machines. Keys are stable; additions only. `measured` is what `measure --format json`
/// gives, so that one file serves both comparisons.
pub fn scorecard_json(card: &Scorecard, measured: Value) -> Value {
    let mut whole = measured;
    let own = json!({
        "date": card.date,
        "targets": { "hash": card.targets, "agreed": card.agreed, "moved": card.moved },
        "verdict": card.verdict(),
        "rows": card.rows,
        "work": card.work,
        "notes": card.notes,
        "changed": card.changed,
    });
    match (whole.as_object_mut(), own) {
        (Some(fields), Value::Object(own)) => {
            fields.extend(own);
            whole
        }
        (_, own) => own,
    }
}
