//! `latency` for people and for machines.

use std::fmt::Write as _;

use serde_json::{Value, json};

use super::counted;
use crate::eval::latency::{
    Comparison, Diagnosis, First, GAP, Judged, Load, Moved, P95_VALUES_MIN, RESPONSE, Row, Run,
    TOTAL, WAIT,
};
use crate::eval::statistics::Percentile;
use crate::eval::targets::{Kind, Verdict};

/// A run with everything that is said of it.
#[derive(Debug)]
pub struct LatencyReport<'r> {
    /// What was timed.
    pub run: &'r Run,
    /// Its rows, as [`Run::rows`] gives them.
    pub rows: Vec<Row>,
    /// On what: index, questions, load, machine; equal grounds can be compared.
    pub ground: String,
    /// The limits, judged.
    pub targets: Vec<Judged>,
    /// Why no limit was judged, when none was.
    pub no_targets: Option<String>,
    /// Parts against their expected ranges.
    pub expected: Vec<Diagnosis>,
    /// Remarks on the data: a log that was made up, lines that could not be read.
    pub remarks: Vec<String>,
    /// Against an earlier run.
    pub comparison: Option<Comparison>,
}

impl LatencyReport<'_> {
    /// The worst verdict over all limits; `None` without limits.
    pub fn verdict(&self) -> Option<Verdict> {
        let order = [Verdict::Missed, Verdict::NotMeasured, Verdict::CannotTell, Verdict::Met];
        order.into_iter().find(|verdict| self.targets.iter().any(|t| t.verdict == *verdict))
    }
}

/// Microseconds for people: `45.3 µs`, `3.21 ms`, `4.05 s`, `2.5 h`, `9.0 days`.
pub fn time(us: f64) -> String {
    match us.abs() {
        size if size < 999.5 => format!("{us:.1} µs"),
        size if size < 999_500.0 => format!("{:.2} ms", us / 1e3),
        size if size < 7.2e9 => format!("{:.2} s", us / 1e6),
        size if size < 1.728e11 => format!("{:.1} h", us / 3.6e9),
        _ => format!("{:.1} days", us / 8.64e10),
    }
}

/// The report for people.
pub fn latency_text(report: &LatencyReport<'_>) -> String {
    let mut out = String::new();
    let run = report.run;
    let _ = writeln!(out, "ground      {}", report.ground);
    let _ = writeln!(out, "load        {}", load_text(run));
    if let Some(First { open_us, search_us }) = run.first {
        let _ = writeln!(
            out,
            "first       the index opened in {}, and the first search took {}; neither is counted below",
            time(open_us),
            time(search_us)
        );
    }
    for remark in &report.remarks {
        let _ = writeln!(out, "remark      {remark}");
    }
    if run.failed() > 0 {
        let _ = writeln!(
            out,
            "failed      {} of {}; they count with the time that they took to fail",
            run.failed(),
            run.requests.len()
        );
    }
    out.push('\n');
    rows_text(&mut out, report);
    targets_text(&mut out, report);
    expected_text(&mut out, report);
    if let Some(comparison) = &report.comparison {
        comparison_text(&mut out, comparison);
    }
    out
}

pub(super) fn load_text(run: &Run) -> String {
    let (n, questions) = (run.requests.len(), run.questions());
    let asked = format!("{} of {}", counted(n, "request"), counted(questions, "distinct question"));
    let how = match &run.load {
        Load::Closed { workers } => format!("closed loop, {}", counted(*workers, "worker")),
        Load::Open { workers, arrivals } => format!(
            "open loop, {arrivals}, {}; timed from the moment a request was due",
            counted(*workers, "worker")
        ),
        Load::Logged => {
            return format!("usage log over {}: {asked}", time(run.elapsed_s * 1e6));
        }
    };
    let state = if run.cold { "cold: the index is opened anew for each" } else { "warm" };
    let before = if run.warm_up > 0 {
        format!("; {} before them not counted", run.warm_up)
    } else {
        String::new()
    };
    format!("{how}, {state}: {asked}{before}; {:.1} answered a second", rate(run))
}

fn rate(run: &Run) -> f64 {
    run.requests.len() as f64 / run.elapsed_s.max(1e-9)
}

fn with_interval(found: Option<&Percentile>) -> String {
    let Some(found) = found else { return "-".to_owned() };
    let range = found.interval.map_or_else(
        || "no interval".to_owned(),
        |interval| format!("{} to {}", time(interval.low), time(interval.high)),
    );
    format!("{} ({range})", time(found.value))
}

fn rows_text(out: &mut String, report: &LatencyReport<'_>) {
    let n = report.run.requests.len();
    let _ = writeln!(
        out,
        "  {:9}  {:>9}  {:31}  {:31}  {:31}  of slow",
        "stage", "mean", "p50 (95 %)", "p95 (95 %)", "p99 (95 %)"
    );
    for row in &report.rows {
        let share = row.slow_share.map_or_else(|| "-".to_owned(), percent);
        let _ = writeln!(
            out,
            "  {:9}  {:>9}  {:31}  {:31}  {:31}  {share:>7}",
            row.name,
            time(row.mean_us),
            with_interval(row.p50.as_ref()),
            with_interval(row.p95.as_ref()),
            with_interval(row.p99.as_ref()),
        );
    }
    let mean =
        |name: &str| report.rows.iter().find(|row| row.name == name).map_or(0.0, |r| r.mean_us);
    let (gap, total) = (mean(GAP), mean(TOTAL));
    let _ = writeln!(
        out,
        "  the means of the stages and of what lies between them make up the mean of the total; {} of it, \
         {:.1} %, lie between; percentiles do not add up",
        time(gap),
        100.0 * gap / total.max(1e-9)
    );
    let _ = writeln!(
        out,
        "  of slow: where the requests above the 95th percentile of the total lose their time"
    );
    if report.rows.iter().any(|row| row.name == WAIT) {
        let _ = writeln!(
            out,
            "  {WAIT}: from the moment a request was due to its start; {RESPONSE}: {WAIT} and {TOTAL}"
        );
    }
    if n < P95_VALUES_MIN {
        let _ = writeln!(
            out,
            "  the 95th percentile of {n} values has no upper limit; {P95_VALUES_MIN} are the fewest that \
             give one"
        );
    }
    let questions = report.run.questions();
    if questions < n && questions < P95_VALUES_MIN {
        let _ = writeln!(
            out,
            "  intervals are over requests; they rest on {}, and repeating one tells nothing of others",
            counted(questions, "distinct question")
        );
    }
}

fn targets_text(out: &mut String, report: &LatencyReport<'_>) {
    if let Some(why) = &report.no_targets {
        let _ = writeln!(out, "\ntargets     none judged: {why}");
    }
    for (at, judged) in report.targets.iter().enumerate() {
        let unit_us = match judged.unit.as_str() {
            "s" => 1e6,
            "ms" => 1e3,
            _ => 1.0,
        };
        let held = match judged.held {
            Some(true) => "held",
            Some(false) => "not held",
            None => "no data",
        };
        let range = judged.interval.map_or_else(
            || format!("no interval at {}", counted(judged.n, "request")),
            |(low, high)| format!("95 %: {} to {}", time(low * unit_us), time(high * unit_us)),
        );
        let value = judged.value.map_or_else(|| "-".to_owned(), |value| time(value * unit_us));
        let _ = writeln!(
            out,
            "{}  {:22}  limit {} {}  {held} at {value}, {range}  verdict: {}",
            if at == 0 { "\ntargets   " } else { "          " },
            judged.name,
            judged.limit,
            judged.unit,
            judged.verdict.words(Kind::Target)
        );
    }
}

fn expected_text(out: &mut String, report: &LatencyReport<'_>) {
    for (at, part) in report.expected.iter().enumerate() {
        let place = match part.place {
            "below" => "below",
            "above" => "ABOVE",
            _ => "within",
        };
        let _ = writeln!(
            out,
            "{}  {:9}  p50 {}, p95 {}: {place} the expected {} to {} ms",
            if at == 0 { "\nexpected  " } else { "          " },
            part.part,
            time(part.p50_ms * 1e3),
            time(part.p95_ms * 1e3),
            part.expected_ms.0,
            part.expected_ms.1
        );
        if let Some(finding) = &part.finding {
            let _ = writeln!(out, "              {finding}");
        }
    }
}

fn comparison_text(out: &mut String, comparison: &Comparison) {
    let moved = |moved: Option<&Moved>| {
        let Some(moved) = moved else { return "-".to_owned() };
        let range = moved.interval.map_or_else(
            || "no interval".to_owned(),
            |interval| format!("{} to {}", signed(interval.low), signed(interval.high)),
        );
        format!("{} ({range})", signed(moved.now_us - moved.before_us))
    };
    let _ = writeln!(
        out,
        "\nchange      {}",
        match &comparison.moved {
            Some(stage) => {
                let share = comparison.changes.iter().find(|change| change.name == *stage);
                let share = share.and_then(|change| change.share).unwrap_or(0.0);
                format!(
                    "{stage} moved: it explains {:.0} % of the change of the total",
                    share * 100.0
                )
            }
            None => "no stage moved clearly".to_owned(),
        }
    );
    if !comparison.same_ground {
        out.push_str(
            "            index, questions, load or machine differ, so a difference is not of the engine alone\n",
        );
    }
    let _ = writeln!(
        out,
        "  {:9}  {:>10}  {:>10}  {:36}  {:36}  share",
        "stage", "mean was", "is", "p50 by (95 %)", "p95 by (95 %)"
    );
    for change in &comparison.changes {
        let share = change.share.map_or_else(|| "-".to_owned(), percent);
        let _ = writeln!(
            out,
            "  {:9}  {:>10}  {:>10}  {:36}  {:36}  {share:>5}",
            change.name,
            time(change.mean_us.0),
            time(change.mean_us.1),
            moved(change.p50.as_ref()),
            moved(change.p95.as_ref()),
        );
    }
    if !comparison.apart.is_empty() {
        let _ = writeln!(out, "  in one of the two only: {}", comparison.apart.join(", "));
    }
}

/// `12 %`, and never `-0 %`.
fn percent(share: f64) -> String {
    format!("{:.0} %", (share * 100.0).round() + 0.0)
}

fn signed(us: f64) -> String {
    if us >= 0.0 { format!("+{}", time(us)) } else { time(us) }
}

/// The report for machines. Keys are stable; additions only.
pub fn latency_json(report: &LatencyReport<'_>) -> Value {
    let run = report.run;
    let rows: Vec<&Row> = report.rows.iter().collect();
    let row = |name: &str| rows.iter().find(|row| row.name == name).map(|row| row_json(row));
    let apart = [TOTAL, WAIT, RESPONSE];
    let stages = rows.iter().filter(|row| !apart.contains(&row.name.as_str()));
    json!({
        "ground": report.ground,
        "load": run.load,
        "cold": run.cold,
        "requests": run.requests.len(),
        "questions": run.questions(),
        "failed": run.failed(),
        "warm_up": run.warm_up,
        "first": run.first,
        "elapsed_us": run.elapsed_s * 1e6,
        "stages": stages.map(|row| row_json(row)).collect::<Vec<_>>(),
        "total": row(TOTAL),
        "wait": row(WAIT),
        "response": row(RESPONSE),
        "targets": report.targets,
        "expected": report.expected,
        "remarks": report.remarks,
        "comparison": report.comparison,
    })
}

fn row_json(row: &Row) -> Value {
    let value = |found: Option<Percentile>| found.map(|found| found.value);
    let interval = |found: Option<Percentile>| {
        found.and_then(|found| found.interval).map(|interval| [interval.low, interval.high])
    };
    json!({
        "name": row.name,
        "n": row.n,
        "mean_us": row.mean_us,
        "p50_us": value(row.p50),
        "p95_us": value(row.p95),
        "p99_us": value(row.p99),
        "p50_interval": interval(row.p50),
        "p95_interval": interval(row.p95),
        "p99_interval": interval(row.p99),
        "slow_share": row.slow_share,
        "counts": row.distribution.to_json(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_written_in_the_unit_that_fits() {
        assert_eq!(time(45.34), "45.3 µs");
        assert_eq!(time(999.6), "1.00 ms");
        assert_eq!(time(20_040.0), "20.04 ms");
        assert_eq!(time(4_050_000.0), "4.05 s");
        assert_eq!(time(7_500_000_000.0), "2.1 h");
        assert_eq!(percent(-0.001), "0 %");
        assert_eq!(signed(-3.0), "-3.0 µs");
    }
}
