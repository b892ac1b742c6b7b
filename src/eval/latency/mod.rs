//! How long requests take, stage by stage, and what the sample allows to say of it.
//!
//! A [`Run`] holds the times of every request as somebody with a clock took them: a load generator, or
//! the usage log of a live system. Percentiles are by nearest rank, with order-statistic intervals;
//! they are never averaged and never added up. What does add up is the mean: of the stages and of what
//! lies between them to the mean of the total.

mod compare;
mod distribution;
mod log;
mod verdict;

pub use compare::{Change, Comparison, Moved, Recorded, compare};
pub use distribution::Distribution;
pub use log::from_log;
pub use verdict::{Diagnosis, Judged, RETRIEVE, diagnoses, judge};

use serde::Serialize;

use super::statistics::{Percentile, percentile};

/// Fewest values for which a 95th percentile has an upper limit at all.
pub const P95_VALUES_MIN: usize = 59;

/// Name of the row for what no stage accounts for.
pub const GAP: &str = "between";

/// Name of the row for the whole request, from its start to its end.
pub const TOTAL: &str = "total";

/// Name of the row for the time from the moment that a request was due to its start.
pub const WAIT: &str = "wait";

/// Name of the row for the time from the moment that a request was due to its end.
pub const RESPONSE: &str = "response";

/// How requests came.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(tag = "kind", rename_all = "lowercase")]
pub enum Load {
    /// Each worker asks the next question when it has the answer to the last: no queue can form, and
    /// none is seen.
    Closed {
        /// Workers that ask at the same time.
        workers: usize,
    },
    /// Requests are due at times of their own, whether or not the last was answered. They are timed
    /// from the moment they were due, so a queue is seen.
    Open {
        /// Workers that answer.
        workers: usize,
        /// Where the times come from: `100 a second`, or the name of a log.
        arrivals: String,
    },
    /// Requests of a live system, from its usage log.
    Logged,
}

/// One request.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Timed {
    /// The number of its question: equal for equal questions.
    pub question: usize,
    /// Microseconds of every stage, in the order of [`Run::stages`]; 0 for one that did not run.
    pub stages_us: Vec<f64>,
    /// Microseconds from its start to its end.
    pub total_us: f64,
    /// Microseconds from the moment it was due to its start, in an open loop.
    pub wait_us: Option<f64>,
    /// Estimated tokens of the context, where they are known.
    pub tokens: Option<usize>,
    /// Whether it failed; it counts with the time that it took to fail.
    pub failed: bool,
}

/// The first search after opening, which pays for page faults and checksums.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct First {
    /// Microseconds that opening the index took.
    pub open_us: f64,
    /// Microseconds of the first search.
    pub search_us: f64,
}

/// Requests, timed.
#[derive(Debug, Clone, PartialEq)]
pub struct Run {
    /// How they came.
    pub load: Load,
    /// Names of the stages, in order.
    pub stages: Vec<String>,
    /// The requests, in the order in which they were due.
    pub requests: Vec<Timed>,
    /// Requests before them that were not counted.
    pub warm_up: usize,
    /// Whether every request opened the index anew.
    pub cold: bool,
    /// The first search after opening.
    pub first: Option<First>,
    /// Seconds from the first request's start to the last one's end.
    pub elapsed_s: f64,
}

/// One line of a report: a stage, what lies between them, the total, and so on.
#[derive(Debug, Clone, PartialEq)]
pub struct Row {
    /// Its name.
    pub name: String,
    /// Its values, as percentiles and as a distribution.
    pub n: usize,
    /// The median.
    pub p50: Option<Percentile>,
    /// The 95th percentile.
    pub p95: Option<Percentile>,
    /// The 99th percentile.
    pub p99: Option<Percentile>,
    /// The mean, which adds up over stages.
    pub mean_us: f64,
    /// Share of what makes slow requests slow that lies here: the mean over the slow ones less the mean
    /// over the others, as a share of the same difference of the total. Slow are those above the 95th
    /// percentile of the total. `None` when there are none, and for what is no part of the total.
    pub slow_share: Option<f64>,
    /// All values, to three significant digits.
    pub distribution: Distribution,
}

impl Row {
    fn new(name: &str, values: &[f64]) -> Self {
        let n = values.len();
        Self {
            name: name.to_owned(),
            n,
            p50: percentile(values, 0.5),
            p95: percentile(values, 0.95),
            p99: percentile(values, 0.99),
            mean_us: mean(values.iter().copied()).unwrap_or(0.0),
            slow_share: None,
            distribution: Distribution::of(values),
        }
    }

    /// The percentile of a threshold: .5, .95 or .99.
    pub fn at(&self, share: f64) -> Option<Percentile> {
        match share {
            0.5 => self.p50,
            0.95 => self.p95,
            0.99 => self.p99,
            _ => None,
        }
    }
}

fn mean(values: impl Iterator<Item = f64>) -> Option<f64> {
    let (sum, n) = values.fold((0.0, 0.0), |(sum, n), value| (sum + value, n + 1.0));
    (n > 0.0).then_some(sum / n)
}

impl Run {
    /// Distinct questions among the requests.
    pub fn questions(&self) -> usize {
        let mut seen: Vec<usize> = self.requests.iter().map(|request| request.question).collect();
        seen.sort_unstable();
        seen.dedup();
        seen.len()
    }

    /// Requests that failed.
    pub fn failed(&self) -> usize {
        self.requests.iter().filter(|request| request.failed).count()
    }

    /// The total of every request.
    pub fn totals(&self) -> Vec<f64> {
        self.requests.iter().map(|request| request.total_us).collect()
    }

    /// Every stage in order, then what lies between, then the total; in an open loop then wait and
    /// response. Empty without requests.
    pub fn rows(&self) -> Vec<Row> {
        if self.requests.is_empty() {
            return Vec::new();
        }
        let mut parts: Vec<(&str, Vec<f64>)> = Vec::with_capacity(self.stages.len() + 2);
        for (at, name) in self.stages.iter().enumerate() {
            let stage = |request: &Timed| request.stages_us.get(at).copied().unwrap_or(0.0);
            parts.push((name, self.requests.iter().map(stage).collect()));
        }
        let gap = |request: &Timed| request.total_us - request.stages_us.iter().sum::<f64>();
        parts.push((GAP, self.requests.iter().map(gap).collect()));
        parts.push((TOTAL, self.totals()));
        let slow = self.slow();
        let excess = |values: &[f64]| {
            let of = |wanted: bool| {
                let chosen = values.iter().zip(&slow).filter(move |(_, slow)| **slow == wanted);
                mean(chosen.map(|(value, _)| *value))
            };
            Some(of(true)? - of(false)?)
        };
        let whole =
            parts.last().and_then(|(_, totals)| excess(totals)).filter(|whole| *whole > 0.0);
        let mut rows = Vec::with_capacity(parts.len() + 2);
        for (name, values) in &parts {
            let mut row = Row::new(name, values);
            row.slow_share = whole.and_then(|whole| Some(excess(values)? / whole));
            rows.push(row);
        }
        let waits: Vec<f64> = self.requests.iter().filter_map(|request| request.wait_us).collect();
        if waits.len() == self.requests.len() {
            let responses: Vec<f64> =
                self.requests.iter().zip(&waits).map(|(r, wait)| r.total_us + wait).collect();
            rows.push(Row::new(WAIT, &waits));
            rows.push(Row::new(RESPONSE, &responses));
        }
        rows
    }

    /// Which requests are above the 95th percentile of the total.
    fn slow(&self) -> Vec<bool> {
        let totals = self.totals();
        let limit = percentile(&totals, 0.95).map_or(f64::INFINITY, |p| p.value);
        totals.into_iter().map(|total| total > limit).collect()
    }
}

#[cfg(test)]
mod tests;
