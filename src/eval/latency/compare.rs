//! Two runs, stage by stage: which one moved.

use std::fs;
use std::path::Path;

use serde::Deserialize;

use super::{Distribution, GAP, Row, TOTAL};
use crate::error::{Error, Result, complaint};
use crate::eval::statistics::{Interval, Percentile};

/// A run as `latency --format json` wrote it, or several of them, added up.
#[derive(Debug, Clone, PartialEq)]
pub struct Recorded {
    /// What the numbers depend on, as it was written.
    pub ground: String,
    /// Every stage and the total, by name.
    pub rows: Vec<(String, Distribution)>,
}

#[derive(Deserialize)]
struct File {
    ground: String,
    stages: Vec<FileRow>,
    total: FileRow,
}

#[derive(Deserialize)]
struct FileRow {
    name: String,
    counts: Vec<(f64, u64)>,
}

impl Recorded {
    /// Reads one file.
    pub fn read(path: &Path) -> Result<Self> {
        let text =
            fs::read_to_string(path).map_err(|e| Error::reading("reading latency", path, e))?;
        let file: File = serde_json::from_str(&text).map_err(|fault| {
            let (problem, _) = complaint(&fault.to_string(), "");
            let help = "write one with `atlas latency --format json > FILE`";
            let line = Some(fault.line() as u64).filter(|line| *line > 0);
            Error::input(path, line, format!("it is no recorded latency: {problem}"), help)
        })?;
        let rows = file.stages.into_iter().chain([file.total]);
        let rows = rows.map(|row| (row.name, Distribution::from_counts(&row.counts))).collect();
        Ok(Self { ground: file.ground, rows })
    }

    /// Adds the requests of `other`; its ground is kept when both are the same, else it is `mixed`.
    pub fn merge(&mut self, other: &Self) {
        if self.ground != other.ground {
            self.ground = "mixed".to_owned();
        }
        for (name, distribution) in &other.rows {
            match self.rows.iter_mut().find(|(own, _)| own == name) {
                Some((_, own)) => own.merge(distribution),
                None => self.rows.push((name.clone(), distribution.clone())),
            }
        }
    }
}

/// How one percentile moved, in microseconds.
#[derive(Debug, Clone, Copy, PartialEq, serde::Serialize)]
pub struct Moved {
    /// Before.
    pub before_us: f64,
    /// Now.
    pub now_us: f64,
    /// The 95 % interval of the difference, now less before; `None` when a sample is too small.
    pub interval: Option<Interval>,
}

impl Moved {
    /// Whether the interval leaves 0 out.
    pub fn is_clear(&self) -> bool {
        self.interval.is_some_and(|interval| !interval.contains(0.0))
    }
}

/// What became of one stage.
#[derive(Debug, Clone, PartialEq, serde::Serialize)]
pub struct Change {
    /// The stage, `between` or `total`.
    pub name: String,
    /// Requests before and now.
    pub n: (usize, usize),
    /// The means before and now, in microseconds.
    pub mean_us: (f64, f64),
    /// The medians.
    pub p50: Option<Moved>,
    /// The 95th percentiles.
    pub p95: Option<Moved>,
    /// Its part of the change of the total's mean; the parts of all stages add up to 1. `None` when the
    /// total's mean is the same, and for the total.
    pub share: Option<f64>,
}

/// Two runs beside each other.
#[derive(Debug, Clone, PartialEq, serde::Serialize)]
pub struct Comparison {
    /// Whether both were run on the same index, questions and settings.
    pub same_ground: bool,
    /// Every stage that is in both, in order, the total last.
    pub changes: Vec<Change>,
    /// Stages that are in one of the two only.
    pub apart: Vec<String>,
    /// The stage that explains most of a change of the total that is clear; `None` when nothing moved
    /// clearly.
    pub moved: Option<String>,
}

/// Sets `rows`, taken on `ground`, beside `before`.
pub fn compare(before: &Recorded, rows: &[Row], ground: &str) -> Comparison {
    let mut changes = Vec::new();
    let mut apart = Vec::new();
    for row in rows {
        match before.rows.iter().find(|(name, _)| *name == row.name) {
            Some((_, old)) => changes.push(change(old, row)),
            None => apart.push(row.name.clone()),
        }
    }
    let known = |name: &String| rows.iter().any(|row| row.name == *name);
    apart.extend(before.rows.iter().map(|(name, _)| name.clone()).filter(|name| !known(name)));
    let total = changes.iter().find(|change| change.name == TOTAL).cloned();
    if let Some(total) = &total {
        let whole = total.mean_us.1 - total.mean_us.0;
        for change in changes.iter_mut().filter(|change| change.name != TOTAL && whole != 0.0) {
            change.share = Some((change.mean_us.1 - change.mean_us.0) / whole);
        }
    }
    let clear = |change: &Change| [change.p50, change.p95].iter().flatten().any(Moved::is_clear);
    let moved = total.filter(clear).and_then(|_| {
        let stages = changes.iter().filter(|change| change.name != GAP && clear(change));
        let most = stages.filter(|change| change.share.is_some_and(|share| share > 0.0));
        let by_share =
            |a: &&Change, b: &&Change| a.share.unwrap_or(0.0).total_cmp(&b.share.unwrap_or(0.0));
        most.max_by(by_share).map(|change| change.name.clone())
    });
    Comparison { same_ground: before.ground == ground, changes, apart, moved }
}

fn change(before: &Distribution, now: &Row) -> Change {
    // Both sides to the same digits, so that equal runs differ by nothing.
    let moved = |share: f64| {
        let (old, new) = (before.percentile(share)?, now.distribution.percentile(share)?);
        Some(Moved { before_us: old.value, now_us: new.value, interval: difference(&old, &new) })
    };
    Change {
        name: now.name.clone(),
        n: (before.n(), now.n),
        mean_us: (before.mean_us(), now.distribution.mean_us()),
        p50: moved(0.5),
        p95: moved(0.95),
        share: None,
    }
}

/// The 95 % interval of the difference of two independent percentiles, from their own: with `d` the
/// difference, from `d - √((new - new.low)² + (old.high - old)²)` to
/// `d + √((new.high - new)² + (old - old.low)²)`.
///
/// Reference: Zou and Donner, "Construction of confidence limits about effect measures", Statistics in
/// Medicine 27, 2008 (the method of variance estimates recovery).
fn difference(old: &Percentile, new: &Percentile) -> Option<Interval> {
    let (o, n) = (old.interval?, new.interval?);
    let d = new.value - old.value;
    let low = d - (new.value - n.low).hypot(o.high - old.value);
    let high = d + (n.high - new.value).hypot(old.value - o.low);
    Some(Interval { low, high })
}
