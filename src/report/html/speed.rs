//! Latency and adoption.

use std::fmt::Write as _;

use super::charts::{Bar, Whisker, bars, histogram, whiskers};
use super::escaped;
use crate::eval::latency::{GAP, RESPONSE, Row, TOTAL, WAIT};
use crate::eval::statistics::Percentile;
use crate::report::latency::load_text;
use crate::report::{AdoptionReport, LatencyReport, time};

pub(super) fn latency(report: &LatencyReport<'_>) -> String {
    let mut out = format!("<p>{}.</p>\n", escaped(&load_text(report.run)));
    if let Some(first) = report.run.first {
        let _ = writeln!(
            out,
            "<p class=\"small quiet\">The index opened in {}, and the first search after it took {}; neither is \
             counted.</p>",
            time(first.open_us),
            time(first.search_us)
        );
    }
    for remark in &report.remarks {
        let _ = writeln!(out, "<p class=\"warn\">{}</p>", escaped(remark));
    }
    let parts: Vec<&Row> = report
        .rows
        .iter()
        .filter(|row| ![TOTAL, WAIT, RESPONSE].contains(&row.name.as_str()))
        .collect();
    let all: f64 = parts.iter().map(|row| row.mean_us).sum();
    let rows: Vec<Bar> = parts
        .iter()
        .map(|row| Bar {
            label: if row.name == GAP { "between stages".to_owned() } else { row.name.clone() },
            value: row.mean_us,
            text: format!("{}, {:.0} %", time(row.mean_us), 100.0 * row.mean_us / all.max(1e-9)),
            class: if row.name == GAP { "gap" } else { "bar" },
        })
        .collect();
    out.push_str("<h3>Mean by stage</h3>\n");
    out.push_str(&bars(&rows, "Mean time by stage; the values are in the table below"));
    out.push_str(
        "<p class=\"small\">Means add up to the mean of the total; percentiles do not.</p>\n",
    );
    if let Some(total) = report.rows.iter().find(|row| row.name == TOTAL) {
        let counts: Vec<(f64, u64)> = total.distribution.counts().collect();
        let lines: Vec<(String, f64)> = [("p50", total.p50), ("p95", total.p95)]
            .into_iter()
            .filter_map(|(name, found)| {
                found.map(|found| (format!("{name} {}", time(found.value)), found.value))
            })
            .collect();
        out.push_str("<h3>How the totals are spread</h3>\n");
        let label = "Distribution of the totals on a logarithmic axis";
        out.push_str(&histogram(&counts, &lines, time, label));
    }
    table(&mut out, report);
    out
}

fn table(out: &mut String, report: &LatencyReport<'_>) {
    let found = |found: Option<Percentile>| {
        let Some(found) = found else { return "–".to_owned() };
        let range = found.interval.map_or_else(
            || "no interval".to_owned(),
            |interval| format!("{} to {}", time(interval.low), time(interval.high)),
        );
        format!("{} <span class=\"quiet small\">{range}</span>", time(found.value))
    };
    out.push_str(
        "<table class=\"cards\"><caption>Nearest rank, with 95 % intervals from the order of the values.</caption>\
         <thead><tr><th scope=\"col\">Stage</th><th scope=\"col\" class=\"n\">n</th><th scope=\"col\">p50</th>\
         <th scope=\"col\">p95</th><th scope=\"col\">p99</th><th scope=\"col\" class=\"n\">Of slow</th></tr></thead><tbody>\n",
    );
    for row in &report.rows {
        let slow = row
            .slow_share
            .map_or_else(|| "–".to_owned(), |s| format!("{:.0} %", (s * 100.0).round() + 0.0));
        let _ = writeln!(
            out,
            "<tr><th scope=\"row\">{}</th><td data-label=\"n\" class=\"n\"><div>{}</div></td><td data-label=\"p50\"><div>{}</div></td>\
             <td data-label=\"p95\"><div>{}</div></td><td data-label=\"p99\"><div>{}</div></td>\
             <td data-label=\"Of slow\" class=\"n\"><div>{slow}</div></td></tr>",
            escaped(&row.name),
            row.n,
            found(row.p50),
            found(row.p95),
            found(row.p99),
        );
    }
    out.push_str("</tbody></table>\n");
    out.push_str(
        "<p class=\"small quiet\">Of slow: where the requests above the 95th percentile of the total lose their \
         time.</p>\n",
    );
}

pub(super) fn adoption(report: &AdoptionReport<'_>) -> String {
    let mut out = format!(
        "<p>{}, launched {}; {} from {} to {}. ISO weeks, Monday to Sunday, at UTC{}.</p>\n",
        escaped(report.group),
        escaped(&report.launch),
        escaped(&report.log),
        escaped(&report.adoption.since),
        escaped(&report.adoption.until),
        escaped(&report.adoption.offset)
    );
    for remark in &report.remarks {
        let _ = writeln!(out, "<p class=\"warn\">{}</p>", escaped(remark));
    }
    let limit = report.judged.as_ref().and_then(|(target, ..)| target.thresholds.first());
    let rows: Vec<Whisker> = report
        .adoption
        .weeks
        .iter()
        .map(|week| Whisker {
            label: format!(
                "{}{}",
                week.week,
                if week.partial.is_some() { ", partial" } else { "" }
            ),
            count: format!("{} of {}", week.members_asking, week.members),
            value: week.coverage().unwrap_or(0.0),
            interval: None,
            limit: limit.map(|limit| limit.limit),
        })
        .collect();
    out.push_str(&whiskers(
        &rows,
        "Share of the roster that asked, week by week; the values are in the table",
    ));
    out.push_str(
        "<table class=\"cards\"><caption>Share of the roster that asked at least once; a census, so no interval. \
         Dotted above: the limit.</caption><thead><tr><th scope=\"col\">Week</th><th scope=\"col\" class=\"n\">Askers</th>\
         <th scope=\"col\" class=\"n\">Questions</th><th scope=\"col\" class=\"n\">Per asker</th>\
         <th scope=\"col\" class=\"n\">Of roster</th><th scope=\"col\" class=\"n\">Top three</th>\
         <th scope=\"col\" class=\"n\">Again</th><th scope=\"col\">Remark</th></tr></thead><tbody>\n",
    );
    for week in &report.adoption.weeks {
        let remark = week.partial.as_ref().map(|why| format!("partial: {why}"));
        let remark = remark.or_else(|| (week.questions == 0).then(|| "nobody asked".to_owned()));
        let remark: Vec<String> = remark.into_iter().chain(week.flag.clone()).collect();
        let dash = || "–".to_owned();
        let _ = writeln!(
            out,
            "<tr><th scope=\"row\">{}</th><td data-label=\"Askers\" class=\"n\"><div>{}</div></td>\
             <td data-label=\"Questions\" class=\"n\"><div>{}</div></td><td data-label=\"Per asker\" class=\"n\"><div>{}</div></td>\
             <td data-label=\"Of roster\" class=\"n\"><div>{} of {}</div></td><td data-label=\"Top three\" class=\"n\"><div>{}</div></td>\
             <td data-label=\"Again\" class=\"n\"><div>{}</div></td><td data-label=\"Remark\"><div>{}</div></td></tr>",
            escaped(&week.week),
            week.askers,
            week.questions,
            week.per_asker.map_or_else(dash, |per| format!("{per:.2}")),
            week.members_asking,
            week.members,
            week.top_three.map_or_else(dash, |top| format!("{:.0} %", top * 100.0)),
            week.returning.map_or_else(dash, |(again, of)| format!("{again} of {of}")),
            escaped(&remark.join("; "))
        );
    }
    out.push_str("</tbody></table>\n");
    out
}
