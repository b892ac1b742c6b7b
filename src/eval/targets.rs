//! Targets and gates: what success is, agreed before anything was measured.
//!
//! `targets.toml` of the question sets states each with its definition, method, sample, threshold,
//! unit and source. A target that is missed is more work; a gate that fails means no release. The
//! file is hashed and dated, and the ledger remembers what was agreed, so that a threshold that
//! moves is told until somebody acknowledges it.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use toml::Spanned;

use super::compare::AcceptedLoss;
use super::ledger::Entry;
use crate::error::{Error, Result, complaint};

/// The version of the file's form.
const VERSION: u32 = 1;

/// Where the form is described.
const FORM: &str = "the form is described in evals/README.md, \"Targets\"";

/// Whether a miss is work or no release.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    /// Missed means work.
    Target,
    /// Failed means no release.
    Gate,
}

/// What can be said of a threshold.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// It holds, and not by the luck of a small sample.
    Met,
    /// It does not hold, and not by bad luck.
    Missed,
    /// A gate does not hold.
    GateFailed,
    /// The sample is too small to say whether it holds in truth.
    CannotTell,
    /// There is no data.
    NotMeasured,
}

impl Verdict {
    /// The words for it, as reports print them.
    pub const fn words(self, kind: Kind) -> &'static str {
        match (self, kind) {
            (Self::Met, Kind::Target) => "met",
            (Self::Met, Kind::Gate) => "passed",
            (Self::Missed, _) => "missed",
            (Self::GateFailed, _) => "GATE FAILED",
            (Self::CannotTell, _) => "cannot tell",
            (Self::NotMeasured, _) => "not measured",
        }
    }
}

/// A limit on one side.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Threshold {
    /// The key that states it: `at_least`, `at_most`, `p50_at_most`, `p95_at_most`, `p99_at_most`.
    pub key: &'static str,
    /// The limit, in the target's unit; a value at it holds.
    pub limit: f64,
}

impl Threshold {
    /// Whether `value` holds it; compared exactly, never rounded.
    pub fn holds(&self, value: f64) -> bool {
        if self.key == "at_least" { value >= self.limit } else { value <= self.limit }
    }

    /// The share of a percentile's threshold: `.95` of `p95_at_most`.
    pub fn share(&self) -> Option<f64> {
        match self.key {
            "p50_at_most" => Some(0.5),
            "p95_at_most" => Some(0.95),
            "p99_at_most" => Some(0.99),
            _ => None,
        }
    }

    /// `at least 0.7`, `p95 at most 10`.
    pub fn words(&self) -> String {
        format!("{} {}", self.key.replace('_', " "), self.limit)
    }
}

/// One target or gate.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Target {
    /// Its name: one of [`NAMES`].
    pub name: &'static str,
    /// What a miss means.
    pub kind: Kind,
    /// What is counted or timed.
    pub definition: String,
    /// How.
    pub method: String,
    /// On what.
    pub sample: String,
    /// The limits, at least one.
    pub thresholds: Vec<Threshold>,
    /// The unit of value and limits.
    pub unit: String,
    /// Where the data comes from.
    pub source: String,
    /// The folder of the project that holds the sample, relative to the project's; `None` is this one.
    pub project: Option<PathBuf>,
    /// The line of the file, from 1.
    #[serde(skip)]
    pub line: u64,
}

impl Target {
    /// Microseconds in one of the target's units; `None` when it is no unit of time.
    pub fn unit_us(&self) -> Option<f64> {
        match self.unit.as_str() {
            "s" => Some(1e6),
            "ms" => Some(1e3),
            "µs" | "us" => Some(1.0),
            _ => None,
        }
    }
}

/// Every target that something measures, in the order of reports.
pub const NAMES: [&str; 8] = [
    "coverage",
    "groundedness",
    "leakage",
    "latency",
    "adoption",
    "retrieval",
    "build",
    "rebuild_one_file",
];

/// What each part of an answer is expected to take, so that an oddity is recognised.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Expected {
    /// Milliseconds to embed a question, from and to.
    pub embed: (f64, f64),
    /// Milliseconds from the vector to the context.
    pub retrieve: (f64, f64),
    /// Milliseconds to write the answer.
    pub generate: (f64, f64),
    /// From here on, in milliseconds, a slow retrieval means the index and not the scale.
    pub retrieve_means_index: f64,
    /// From here on, in milliseconds, a slow answer means too much context.
    pub generate_means_context: f64,
}

/// The file, read.
#[derive(Debug, Clone, PartialEq)]
pub struct Targets {
    /// Where.
    pub path: PathBuf,
    /// Hash of everything it states, comments apart.
    pub hash: String,
    /// The day it was agreed, YYYY-MM-DD.
    pub agreed: String,
    /// The one measure of `measure` that decides; all others are secondary.
    pub primary_measure: String,
    /// Measures that are tested beside it, corrected for each other; all further ones are exploratory.
    pub secondary_measures: Vec<String>,
    /// A loss that is worth what it buys, if one was accepted.
    pub accepted_loss: Option<AcceptedLoss>,
    /// The targets that it states, in the order of [`NAMES`].
    pub rows: Vec<Target>,
    /// Expected ranges, if it states any.
    pub expected: Option<Expected>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    version: Spanned<u32>,
    agreed: Spanned<toml::value::Datetime>,
    primary_measure: String,
    #[serde(default)]
    secondary_measures: Vec<String>,
    accepted_loss: Option<AcceptedLoss>,
    coverage: Option<Spanned<Written>>,
    groundedness: Option<Spanned<Written>>,
    leakage: Option<Spanned<Written>>,
    latency: Option<Spanned<Written>>,
    adoption: Option<Spanned<Written>>,
    retrieval: Option<Spanned<Written>>,
    build: Option<Spanned<Written>>,
    rebuild_one_file: Option<Spanned<Written>>,
    expected_ms: Option<Spanned<Expected>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Written {
    kind: Kind,
    definition: String,
    method: String,
    sample: String,
    at_least: Option<f64>,
    at_most: Option<f64>,
    p50_at_most: Option<f64>,
    p95_at_most: Option<f64>,
    p99_at_most: Option<f64>,
    unit: String,
    source: String,
    project: Option<PathBuf>,
}

impl Targets {
    /// Reads `path`: unknown keys, missing limits and limits that make no sense are errors with their
    /// lines.
    pub fn read(path: &Path) -> Result<Self> {
        let text = fs::read_to_string(path).map_err(|e| match e.kind() {
            std::io::ErrorKind::NotFound => {
                Error::input(path, None, "there are no targets here", format!("write some; {FORM}"))
            }
            _ => Error::reading("reading targets", path, e),
        })?;
        let line_at = |at: usize| {
            let before = text.get(..at).unwrap_or_default();
            before.bytes().filter(|byte| *byte == b'\n').count() as u64 + 1
        };
        let file: File = toml::from_str(&text).map_err(|fault| {
            let line = fault.span().map(|span| line_at(span.start));
            let (problem, meant) = complaint(fault.message(), "");
            Error::input(path, line, problem, meant.as_deref().unwrap_or(FORM))
        })?;
        if *file.version.get_ref() != VERSION {
            let problem = format!("version is {}; expected {VERSION}", file.version.get_ref());
            return Err(Error::input(
                path,
                Some(line_at(file.version.span().start)),
                problem,
                FORM,
            ));
        }
        let agreed = file.agreed.get_ref();
        let Some(date) = agreed.date.filter(|_| agreed.time.is_none()) else {
            let line = line_at(file.agreed.span().start);
            return Err(Error::input(path, Some(line), "agreed must be a day, YYYY-MM-DD", FORM));
        };
        let written = [
            file.coverage,
            file.groundedness,
            file.leakage,
            file.latency,
            file.adoption,
            file.retrieval,
            file.build,
            file.rebuild_one_file,
        ];
        let mut rows = Vec::new();
        for (name, written) in NAMES.into_iter().zip(written) {
            let Some(written) = written else { continue };
            let line = line_at(written.span().start);
            let row = target(name, line, written.into_inner());
            rows.push(row.map_err(|(problem, help)| {
                Error::input(path, Some(line), format!("[{name}]: {problem}"), help)
            })?);
        }
        let expected = match file.expected_ms {
            Some(written) => {
                let line = line_at(written.span().start);
                let expected = written.into_inner();
                let ranges = [expected.embed, expected.retrieve, expected.generate];
                if ranges.iter().any(|(from, to)| !(*from >= 0.0 && from <= to)) {
                    let problem = "[expected_ms]: a range must be two numbers, the smaller first";
                    return Err(Error::input(path, Some(line), problem, FORM));
                }
                Some(expected)
            }
            None => None,
        };
        let mut stated = serde_json::to_string(&(&rows, &expected, &file.primary_measure));
        if !file.secondary_measures.is_empty() {
            stated = stated
                .and_then(|stated| serde_json::to_string(&(stated, &file.secondary_measures)));
        }
        if let Some(accepted) = &file.accepted_loss {
            stated = stated.and_then(|stated| serde_json::to_string(&(stated, accepted)));
        }
        let hash = blake3::hash(stated.unwrap_or_default().as_bytes()).to_hex().to_string();
        Ok(Self {
            path: path.to_owned(),
            hash,
            agreed: date.to_string(),
            primary_measure: file.primary_measure,
            secondary_measures: file.secondary_measures,
            accepted_loss: file.accepted_loss,
            rows,
            expected,
        })
    }

    /// The target called `name`, if the file states it.
    pub fn get(&self, name: &str) -> Option<&Target> {
        self.rows.iter().find(|row| row.name == name)
    }

    /// Every limit by `name.key`.
    pub fn limits(&self) -> BTreeMap<String, f64> {
        let all = self.rows.iter().flat_map(|row| {
            row.thresholds.iter().map(|limit| (format!("{}.{}", row.name, limit.key), limit.limit))
        });
        all.collect()
    }

    /// The entry of the ledger that acknowledges the file as it stands.
    pub fn acknowledged(&self, date: String, who: String, why: String) -> Entry {
        Entry::Targets { date, hash: self.hash.clone(), limits: self.limits(), who, why }
    }

    /// What moved since the ledger's last acknowledgement, one sentence each; empty when nothing did.
    pub fn moved(&self, ledger: &[Entry]) -> Vec<String> {
        let last = ledger.iter().rev().find_map(|entry| match entry {
            Entry::Targets { date, hash, limits, .. } => Some((date, hash, limits)),
            _ => None,
        });
        let Some((date, hash, before)) = last else {
            return vec!["nobody has acknowledged these targets yet".to_owned()];
        };
        if *hash == self.hash {
            return Vec::new();
        }
        let now = self.limits();
        let mut moved = Vec::new();
        for (name, limit) in &now {
            match before.get(name) {
                Some(old) if old == limit => {}
                Some(old) => moved.push(format!("{name} moved from {old} to {limit} since {date}")),
                None => moved.push(format!("{name} is new since {date}: {limit}")),
            }
        }
        for (name, old) in before.iter().filter(|(name, _)| !now.contains_key(*name)) {
            moved.push(format!("{name} is gone since {date}: it was {old}"));
        }
        if moved.is_empty() {
            moved.push(format!(
                "no limit moved since {date}, but what is measured did: a definition, method, sample, unit, \
                 source, expected range or the primary measure"
            ));
        }
        moved
    }
}

/// The row called `name`, or what is wrong with it and the way out.
fn target(name: &'static str, line: u64, w: Written) -> Result<Target, (String, String)> {
    let given = [
        ("at_least", w.at_least),
        ("at_most", w.at_most),
        ("p50_at_most", w.p50_at_most),
        ("p95_at_most", w.p95_at_most),
        ("p99_at_most", w.p99_at_most),
    ];
    let thresholds: Vec<Threshold> = given
        .into_iter()
        .filter_map(|(key, limit)| limit.map(|limit| Threshold { key, limit }))
        .collect();
    let target = Target {
        name,
        kind: w.kind,
        definition: w.definition,
        method: w.method,
        sample: w.sample,
        thresholds,
        unit: w.unit,
        source: w.source,
        project: w.project,
        line,
    };
    for (key, text) in [
        ("definition", &target.definition),
        ("method", &target.method),
        ("sample", &target.sample),
        ("unit", &target.unit),
        ("source", &target.source),
    ] {
        if text.trim().is_empty() {
            return Err((format!("{key} is empty"), "say it in a few words".to_owned()));
        }
    }
    limits(&target)?;
    Ok(target)
}

/// Whether the limits are those that this row can have.
fn limits(target: &Target) -> Result<(), (String, String)> {
    let timed = matches!(target.name, "latency" | "retrieval");
    let keys: Vec<&str> = target.thresholds.iter().map(|limit| limit.key).collect();
    if timed {
        if keys.is_empty() || keys.iter().any(|key| !key.starts_with('p')) {
            let help = "state p50_at_most, p95_at_most or p99_at_most".to_owned();
            return Err(("it needs limits of percentiles, and no other".to_owned(), help));
        }
    } else if keys.len() != 1 || keys[0].starts_with('p') {
        let help = "state one of at_least and at_most".to_owned();
        return Err((format!("it has {} limits where one is needed", keys.len()), help));
    }
    if let Some(limit) = target.thresholds.iter().find(|l| !(l.limit.is_finite() && l.limit >= 0.0))
    {
        return Err((
            format!("{} is {}", limit.key, limit.limit),
            "a limit is 0 or more".to_owned(),
        ));
    }
    let of_time = timed || matches!(target.name, "build" | "rebuild_one_file");
    if of_time && target.unit_us().is_none() {
        return Err((format!("unit is `{}`", target.unit), "expected s, ms or µs".to_owned()));
    }
    let share = matches!(target.name, "coverage" | "groundedness" | "adoption");
    if let Some(limit) = target.thresholds.iter().find(|limit| share && limit.limit > 1.0) {
        let problem = format!("{} is {}", limit.key, limit.limit);
        return Err((problem, "it is a share: 0 to 1".to_owned()));
    }
    if target.name == "leakage" && (target.kind != Kind::Gate || target.thresholds[0].limit > 0.0) {
        let help = "state kind = \"gate\" and at_most = 0: one leak means no release".to_owned();
        return Err(("leakage is a gate, and nothing averages it".to_owned(), help));
    }
    if target.name != "leakage" && target.kind == Kind::Gate {
        let help = "state kind = \"target\"".to_owned();
        return Err(("only leakage is a gate".to_owned(), help));
    }
    Ok(())
}

#[cfg(test)]
mod tests;
