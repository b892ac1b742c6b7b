//! `adoption` for people and for machines.

use std::fmt::Write as _;

use serde_json::{Value, json};

use super::counted;
use crate::eval::adoption::{Adoption, TARGET_WEEK, Week};
use crate::eval::targets::{Kind, Target, Verdict};

/// A table with everything that is said of it.
#[derive(Debug)]
pub struct AdoptionReport<'r> {
    /// The weeks.
    pub adoption: &'r Adoption,
    /// What the group is called.
    pub group: &'r str,
    /// The day of launch.
    pub launch: String,
    /// The log's file name.
    pub log: String,
    /// Remarks on the data.
    pub remarks: Vec<String>,
    /// The target, with value, verdict, and why there is none.
    pub judged: Option<(&'r Target, Option<f64>, Verdict, Option<String>)>,
}

fn share(of: usize, n: usize) -> String {
    if n == 0 { "-".to_owned() } else { format!("{:.0} %", 100.0 * of as f64 / n as f64) }
}

/// The report for people.
pub fn adoption_text(report: &AdoptionReport<'_>) -> String {
    let mut out = String::new();
    let adoption = report.adoption;
    let _ = writeln!(
        out,
        "adoption    {}, launched {}; {} from {} to {}; ISO weeks, Monday to Sunday, at UTC{}",
        report.group, report.launch, report.log, adoption.since, adoption.until, adoption.offset
    );
    for remark in &report.remarks {
        let _ = writeln!(out, "remark      {remark}");
    }
    let _ = writeln!(
        out,
        "\n  {:8}  {:>6}  {:>9}  {:>9}  {:>9}  {:>5}  {:>9}  {:>8}  {:>3}",
        "week",
        "askers",
        "questions",
        "per_asker",
        "of roster",
        "share",
        "top three",
        "again",
        "new"
    );
    for week in &adoption.weeks {
        week_text(&mut out, week);
    }
    let sum = |of: &dyn Fn(&Week) -> usize| adoption.weeks.iter().map(of).sum::<usize>();
    let (unnamed, excluded) = (sum(&|week| week.unnamed), sum(&|week| week.excluded));
    let outside = adoption.weeks.iter().filter(|week| week.outside > 0).count();
    let _ = writeln!(
        out,
        "\n  counted apart: {} without an asker, {excluded} of excluded accounts; askers who are not on the \
         roster in {}",
        counted(unnamed, "question"),
        counted(outside, "week"),
    );
    let (once, all) = adoption.tried_once;
    let _ = writeln!(
        out,
        "  tried once: {once} of {all} asked in one week only, of those who have had a whole week to come back"
    );
    out.push_str(
        "  top three: share of the questions that the three busiest asked; again: askers of the week before \
         who asked again; a census, so no interval\n",
    );
    if let Some((target, value, verdict, why)) = &report.judged {
        let week = &adoption.target_week;
        let limits: Vec<String> = target.thresholds.iter().map(|limit| limit.words()).collect();
        let what = match (value, why) {
            (Some(value), why) => format!(
                "{} of {} = {:.0} % in week {TARGET_WEEK} after launch, {}{}",
                week.members_asking,
                week.members,
                value * 100.0,
                week.week,
                why.as_ref().map_or_else(String::new, |why| format!("; {why}"))
            ),
            (None, why) => why.clone().unwrap_or_default(),
        };
        let _ = writeln!(
            out,
            "\ntarget      {}: {what}  verdict: {}",
            limits.join(", "),
            verdict.words(Kind::Target)
        );
    }
    out
}

fn week_text(out: &mut String, week: &Week) {
    let number = |value: Option<f64>| value.map_or_else(|| "-".to_owned(), |v| format!("{v:.2}"));
    let again =
        week.returning.map_or_else(|| "-".to_owned(), |(again, of)| format!("{again} of {of}"));
    let mut notes: Vec<String> = Vec::new();
    if let Some(why) = &week.partial {
        notes.push(format!("partial: {why}"));
    } else if week.questions == 0 {
        notes.push("nobody asked".to_owned());
    }
    notes.extend(week.flag.iter().map(|flag| format!("FLAG: {flag}")));
    let line = format!(
        "  {:8}  {:6}  {:9}  {:>9}  {:>9}  {:>5}  {:>9}  {again:>8}  {:3}  {}",
        week.week,
        week.askers,
        week.questions,
        number(week.per_asker),
        format!("{} of {}", week.members_asking, week.members),
        share(week.members_asking, week.members),
        week.top_three.map_or_else(|| "-".to_owned(), |top| format!("{:.0} %", top * 100.0)),
        week.new,
        notes.join("; "),
    );
    let _ = writeln!(out, "{}", line.trim_end());
}

/// The report for machines. Keys are stable; additions only.
pub fn adoption_json(report: &AdoptionReport<'_>) -> Value {
    let weeks: Vec<Value> = report.adoption.weeks.iter().map(week_json).collect();
    json!({
        "group": report.group,
        "launch": report.launch,
        "log": report.log,
        "since": report.adoption.since,
        "until": report.adoption.until,
        "utc_offset": report.adoption.offset,
        "weeks": weeks,
        "tried_once": { "once": report.adoption.tried_once.0, "of": report.adoption.tried_once.1 },
        "remarks": report.remarks,
        "target": report.judged.as_ref().map(|(target, value, verdict, why)| json!({
            "limit": target.thresholds.first().map(|limit| limit.limit),
            "week": week_json(&report.adoption.target_week),
            "value": value,
            "verdict": verdict,
            "why": why,
        })),
    })
}

fn week_json(week: &Week) -> Value {
    let mut value = serde_json::to_value(week).unwrap_or_default();
    if let Some(fields) = value.as_object_mut() {
        fields.insert("coverage".to_owned(), json!(week.coverage()));
    }
    value
}
