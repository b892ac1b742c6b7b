//! Limits and expected ranges against a run.

use serde::Serialize;

use super::{Run, TOTAL};
use crate::eval::statistics::{Percentile, percentile};
use crate::eval::targets::{Expected, Target, Threshold, Verdict};

/// The stages between the question's vector and the context: together, one retrieval.
pub const RETRIEVE: [&str; 6] = ["lexical", "dense", "fuse", "rerank", "min-score", "window"];

/// Names of the stage that writes the answer.
const GENERATE: [&str; 2] = ["generate", "answer"];

/// One limit of a target, judged.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Judged {
    /// `latency.p95_at_most`.
    pub name: String,
    /// The limit, in `unit`.
    pub limit: f64,
    /// The percentile that was observed, in `unit`.
    pub value: Option<f64>,
    /// Its 95 % interval, in `unit`; `None` when the sample is too small for one.
    pub interval: Option<(f64, f64)>,
    /// The unit of all three.
    pub unit: String,
    /// How many requests.
    pub n: usize,
    /// Whether the observed value holds the limit.
    pub held: Option<bool>,
    /// Whether the true one does.
    pub verdict: Verdict,
}

/// Judges the total of `run` by every limit of `target`. A limit is met or missed when the whole
/// interval of the percentile lies on one side of it; without an interval nothing is said of the true
/// percentile, whatever the observed one.
pub fn judge(target: &Target, run: &Run) -> Vec<Judged> {
    let totals = run.totals();
    let unit_us = target.unit_us().unwrap_or(1.0);
    let one = |limit: &Threshold| {
        let found = limit.share().and_then(|share| percentile(&totals, share));
        let interval = found
            .and_then(|found| found.interval)
            .map(|interval| (interval.low / unit_us, interval.high / unit_us));
        Judged {
            name: format!("{}.{}", target.name, limit.key),
            limit: limit.limit,
            value: found.map(|found| found.value / unit_us),
            interval,
            unit: target.unit.clone(),
            n: totals.len(),
            held: found.map(|found| limit.holds(found.value / unit_us)),
            verdict: verdict(limit, found.as_ref(), interval),
        }
    };
    target.thresholds.iter().map(one).collect()
}

fn verdict(limit: &Threshold, found: Option<&Percentile>, interval: Option<(f64, f64)>) -> Verdict {
    match (found, interval) {
        (None, _) => Verdict::NotMeasured,
        (Some(_), None) => Verdict::CannotTell,
        (Some(_), Some((low, high))) => match (limit.holds(low), limit.holds(high)) {
            (true, true) => Verdict::Met,
            (false, false) => Verdict::Missed,
            _ => Verdict::CannotTell,
        },
    }
}

/// A part of the request against the range that is expected of it.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Diagnosis {
    /// `embed`, `retrieve` or `generate`.
    pub part: &'static str,
    /// Its median in milliseconds.
    pub p50_ms: f64,
    /// Its 95th percentile in milliseconds.
    pub p95_ms: f64,
    /// The range expected, in milliseconds.
    pub expected_ms: (f64, f64),
    /// Where the median lies: `below`, `within` or `above` the range.
    pub place: &'static str,
    /// What it most likely means, where it is beyond what can be explained otherwise.
    pub finding: Option<String>,
}

/// Embedding, retrieval and generation of `run` against `expected`, and the two diagnoses: a retrieval
/// that is far too slow means the index and not the scale; a generation that is, too much context. A
/// part of which no request has a stage is left out.
pub fn diagnoses(run: &Run, expected: &Expected) -> Vec<Diagnosis> {
    let parts: [(&str, &[&str], (f64, f64)); 3] = [
        ("embed", &["embed"], expected.embed),
        ("retrieve", &RETRIEVE, expected.retrieve),
        ("generate", &GENERATE, expected.generate),
    ];
    let mut found = Vec::new();
    for (part, names, range) in parts {
        let chosen: Vec<usize> = run
            .stages
            .iter()
            .enumerate()
            .filter(|(_, stage)| names.contains(&stage.as_str()))
            .map(|(at, _)| at)
            .collect();
        if chosen.is_empty() {
            continue;
        }
        let times_ms: Vec<f64> = run
            .requests
            .iter()
            .map(|request| chosen.iter().map(|at| request.stages_us[*at]).sum::<f64>() / 1000.0)
            .collect();
        let (Some(p50), Some(p95)) = (percentile(&times_ms, 0.5), percentile(&times_ms, 0.95))
        else {
            continue;
        };
        let place = match p50.value {
            value if value < range.0 => "below",
            value if value > range.1 => "above",
            _ => "within",
        };
        let (limit, meaning) = match part {
            "retrieve" => (expected.retrieve_means_index, Meaning::Index),
            "generate" => (expected.generate_means_context, Meaning::Context),
            _ => (f64::INFINITY, Meaning::Index),
        };
        found.push(Diagnosis {
            part,
            p50_ms: p50.value,
            p95_ms: p95.value,
            expected_ms: range,
            place,
            finding: finding(run, &times_ms, limit, meaning),
        });
    }
    found
}

#[derive(Clone, Copy)]
enum Meaning {
    Index,
    Context,
}

/// What the requests at or above `limit` milliseconds say; `None` when there are none.
fn finding(run: &Run, times_ms: &[f64], limit: f64, meaning: Meaning) -> Option<String> {
    let slow: Vec<usize> = (0..times_ms.len()).filter(|at| times_ms[*at] >= limit).collect();
    if slow.is_empty() {
        return None;
    }
    let median_tokens = |wanted: &dyn Fn(usize) -> bool| {
        let tokens: Vec<f64> = (0..times_ms.len())
            .filter(|at| wanted(*at))
            .filter_map(|at| run.requests[at].tokens.map(|tokens| tokens as f64))
            .collect();
        percentile(&tokens, 0.5).map(|p| p.value)
    };
    let context = match (
        median_tokens(&|at| slow.contains(&at)),
        median_tokens(&|at| !slow.contains(&at)),
    ) {
        (Some(slow), Some(others)) => {
            format!(
                "their context has {slow:.0} tokens at the median, that of the others {others:.0}"
            )
        }
        (Some(slow), None) => format!("their context has {slow:.0} tokens at the median"),
        _ => "the size of their context is not known".to_owned(),
    };
    let (n, of) = (slow.len(), times_ms.len());
    Some(match meaning {
        Meaning::Index => format!(
            "{n} of {of} requests took {limit:.0} ms or more to retrieve: that is the index (its size, its \
             graph, a disk that is read anew), not the number of users; {context}"
        ),
        Meaning::Context => format!(
            "{n} of {of} requests took {limit:.0} ms or more to write the answer: that is too much context; \
             {context}; try a smaller search.k or search.window_tokens"
        ),
    })
}

impl Run {
    /// The row of the total.
    pub fn total(&self) -> Option<super::Row> {
        self.rows().into_iter().find(|row| row.name == TOTAL)
    }
}
