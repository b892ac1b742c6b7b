//! A judge's calibration for people.

use std::fmt::Write as _;

use super::check_text::share;
use crate::eval::calibration::Calibration;
use crate::eval::statistics::Interval;

/// The table of one judge on labelled answers, and what follows from it.
pub fn calibration_table(found: &Calibration) -> String {
    let mut out = String::new();
    let width = found.items.iter().map(|item| item.id.len()).max().unwrap_or(0).max(6);
    let _ = writeln!(out, "{:width$}  person   judge    note", "answer");
    for item in &found.items {
        let mark = if item.person == item.judge { "" } else { "  <- disagree" };
        let (person, judge) = (item.person.name(), item.judge.name());
        let _ = writeln!(out, "{:width$}  {person:7}  {judge:7}  {}{mark}", item.id, item.note);
    }
    out.push('\n');
    out.push_str(&calibration_summary(found));
    out
}

/// Agreement, kappa, errors and the constant judge, without the items.
pub fn calibration_summary(found: &Calibration) -> String {
    let mut out = String::new();
    let _ = writeln!(out, "agreement   {}", share(&found.agreement));
    let kappa = found.kappa.map_or_else(|| "undefined".to_owned(), |kappa| format!("{kappa:.2}"));
    let _ = writeln!(out, "            kappa {kappa}{}", ends(found.kappa_interval));
    let _ = writeln!(
        out,
        "            a judge that calls everything correct: {}",
        share(&found.constant)
    );
    let counts = found.confusion;
    let _ = writeln!(out, "                      judge: correct  wrong");
    let _ = writeln!(
        out,
        "            person: correct  {:12}  {:5}",
        counts.both_correct, counts.correct_rejected
    );
    let _ = writeln!(
        out,
        "                    wrong    {:12}  {:5}",
        counts.wrong_accepted, counts.both_wrong
    );
    let _ = writeln!(out, "            wrong accepted    {}", share(&found.wrong_accepted));
    let _ = writeln!(out, "            correct rejected  {}", share(&found.correct_rejected));
    out
}

/// Which kinds a judge may score.
pub fn calibration_permits(found: &Calibration) -> String {
    let mut out = String::new();
    let width = found.permits.iter().map(|permit| permit.kind.len()).max().unwrap_or(0);
    let mut first = "permits";
    for permit in &found.permits {
        let may = if permit.permitted { "may" } else { "may not" };
        let _ = writeln!(
            out,
            "{first:10}  {:width$}  {may:7}  agrees {}; constant {} of {}; wrong accepted {} of {}, correct \
             rejected {} of {}",
            permit.kind,
            share(&permit.agreement),
            permit.constant.k,
            permit.constant.n,
            permit.wrong_accepted.k,
            permit.wrong_accepted.n,
            permit.correct_rejected.k,
            permit.correct_rejected.n
        );
        first = "";
    }
    out
}

fn ends(interval: Option<Interval>) -> String {
    interval.map_or_else(String::new, |own| format!("  95%: {:.2} to {:.2}", own.low, own.high))
}
