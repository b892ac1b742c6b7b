//! Two checks of the same cases, case by case.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::CheckReport;
use crate::error::{Error, Result, complaint};
use crate::eval::bootstrap::{SEED, SignFlip, sign_flip};
use crate::eval::compare::{RecordedReceipt, settings_apart};
use crate::eval::ladder::Class;

pub use crate::eval::compare::Receipt;

/// A check as `check --format json` wrote it.
#[derive(Debug, Deserialize)]
pub struct Recorded {
    #[serde(skip)]
    path: PathBuf,
    receipt: RecordedReceipt,
    cases: Vec<RecordedCase>,
}

#[derive(Debug, Deserialize)]
struct RecordedCase {
    id: String,
    verdict: String,
    rung: Option<String>,
    class: Option<String>,
}

impl RecordedCase {
    /// Whether it passed; `None` when it was not evaluated.
    fn passed(&self) -> Option<bool> {
        match self.verdict.as_str() {
            "not_evaluated" => None,
            verdict => Some(matches!(verdict, "passed" | "unexpected_pass")),
        }
    }
}

/// A case that stands elsewhere now: the rung before and now, `None` where it passed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Moved {
    /// Its id.
    pub id: String,
    /// The rung before.
    pub before: Option<String>,
    /// The rung now.
    pub now: Option<String>,
}

/// A comparison.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Comparison {
    /// The recorded receipt's id.
    pub before: String,
    /// Cases evaluated in both.
    pub cases: usize,
    /// Cases evaluated in one only.
    pub apart: usize,
    /// Whether the corpora differ.
    pub other_corpus: bool,
    /// Whether the sets differ.
    pub other_set: bool,
    /// Settings that differ, and what answers and judges where that does.
    pub settings: Vec<String>,
    /// Passed before, and do not now.
    pub lost: Vec<Moved>,
    /// Did not pass before, and do now.
    pub gained: Vec<Moved>,
    /// Failed on one rung before and on another now.
    pub moved: Vec<Moved>,
    /// The exact test of what passes, which for yes and no is McNemar's.
    pub test: Option<SignFlip>,
    /// Failures of each class before and now, of the cases in both.
    pub classes: Vec<(String, usize, usize)>,
    /// Cases that fail now: how many a change could still gain.
    pub failing: usize,
}

/// Reads a recorded check.
pub fn read(path: &Path) -> Result<Recorded> {
    let help = "write one with `atlas check --format json > FILE`";
    if !path.exists() {
        return Err(Error::input(path, None, "there is no such check", help));
    }
    let text = fs::read_to_string(path).map_err(|e| Error::reading("reading a check", path, e))?;
    let recorded: Recorded = serde_json::from_str(&text).map_err(|fault| {
        let (problem, _) = complaint(&fault.to_string(), "");
        let line = Some(fault.line() as u64);
        Error::input(path, line, format!("it is no check: {problem}"), help)
    })?;
    Ok(Recorded { path: path.to_owned(), ..recorded })
}

impl Recorded {
    /// Where it was read.
    pub fn path(&self) -> &Path {
        &self.path
    }
}

/// Compares `now`, which has the receipt `receipt`, with what was recorded.
pub fn compare(before: &Recorded, now: &CheckReport, receipt: &Receipt<'_>) -> Comparison {
    let known: BTreeMap<&str, &RecordedCase> =
        before.cases.iter().map(|case| (case.id.as_str(), case)).collect();
    let same_set =
        before.receipt.sets.iter().any(|(name, hash)| *name == now.set && *hash == now.set_hash);
    let mut found = Comparison {
        before: before.receipt.id.clone(),
        cases: 0,
        apart: 0,
        other_corpus: before.receipt.corpus != receipt.corpus,
        other_set: !same_set,
        settings: settings_apart(&before.receipt, receipt),
        lost: Vec::new(),
        gained: Vec::new(),
        moved: Vec::new(),
        test: None,
        classes: Vec::new(),
        failing: 0,
    };
    let mut differences = Vec::new();
    let mut classes: BTreeMap<&str, (usize, usize)> = BTreeMap::new();
    let mut matched = 0;
    for case in now.cases.iter().filter(|case| case.evaluated()) {
        let old = known.get(case.id.as_str()).filter(|old| old.passed().is_some());
        let Some(old) = old else {
            found.apart += 1;
            continue;
        };
        matched += 1;
        let (was, is) = (old.passed() == Some(true), case.passed());
        differences.push(f64::from(u8::from(is)) - f64::from(u8::from(was)));
        found.failing += usize::from(!is);
        if let Some(class) = &old.class {
            classes.entry(class.as_str()).or_default().0 += 1;
        }
        if let Some(class) = case.class {
            classes.entry(class.name()).or_default().1 += 1;
        }
        let moved = Moved {
            id: case.id.clone(),
            before: old.rung.clone(),
            now: case.rung.map(|rung| rung.name().to_owned()),
        };
        match (was, is) {
            (true, false) => found.lost.push(moved),
            (false, true) => found.gained.push(moved),
            _ if moved.before != moved.now => found.moved.push(moved),
            _ => {}
        }
    }
    found.cases = matched;
    let evaluated_before = before.cases.iter().filter(|case| case.passed().is_some()).count();
    found.apart += evaluated_before - matched;
    found.test = sign_flip(&differences, SEED);
    let each = Class::ALL.into_iter().map(|class| {
        let (was, is) = classes.get(class.name()).copied().unwrap_or_default();
        (class.name().to_owned(), was, is)
    });
    found.classes = each.filter(|(_, was, is)| was + is > 0).collect();
    found
}
