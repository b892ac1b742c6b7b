//! Results case by case, for machines that run checks: JUnit, Markdown, annotations of code hosts.

use std::path::{Path, PathBuf};

use crate::eval::check::{self, CheckReport};
use crate::eval::leakage;
use crate::eval::measurement::Measurement;
use crate::eval::questions::QuestionSet;
use crate::eval::scorecard::Scorecard;
use crate::eval::targets::{Targets, Verdict};

/// What became of a case.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    /// As it should be.
    Passed,
    /// Not as it should be: a class, such as `retrieval:ranked_low`, and what happened.
    Failed(String, String),
    /// It could not be evaluated, and why.
    NotEvaluated(String),
    /// It is known to fail or cannot be scored, and why.
    Skipped(String),
}

/// One case.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Case {
    /// What it belongs to: `development`, `leakage`, `scorecard`.
    pub suite: String,
    /// Its name: the same from run to run.
    pub name: String,
    /// The file that states it.
    pub path: PathBuf,
    /// Its line in the file, from 1; 0 where there is none.
    pub line: u64,
    /// What became of it.
    pub outcome: Outcome,
}

/// The questions of `set`: missing evidence fails, a known miss and a question without an answer are
/// skipped, and a known miss that passes fails, since its mark has to go.
pub fn of_questions(set: &QuestionSet, measured: &Measurement) -> Vec<Case> {
    let mut cases = Vec::with_capacity(set.questions.len());
    for question in &set.questions {
        let found = measured.questions.iter().find(|found| found.id == question.id);
        let outcome = match found {
            None => Outcome::NotEvaluated("it was not asked".to_owned()),
            Some(found) => match (&found.unscoreable, &found.standing_miss, found.losses.first()) {
                (Some(why), _, _) => Outcome::Skipped(format!("it cannot be scored: {why}")),
                (None, Some(cause), Some(_)) => {
                    Outcome::Skipped(format!("known and kept: {cause}"))
                }
                (None, Some(cause), None) => Outcome::Failed(
                    "standing-miss:passes".to_owned(),
                    format!("it passes, and was marked as a miss that stays: {cause}"),
                ),
                (None, None, Some(loss)) => {
                    let place = match &loss.found {
                        Some((unit, place, score)) => {
                            format!(
                                "{unit} came {place} of {} with score {score:.3}",
                                loss.candidates
                            )
                        }
                        None => format!("no leg found {}", loss.units.join(" or ")),
                    };
                    Outcome::Failed(loss.class().to_owned(), place)
                }
                (None, None, None) => Outcome::Passed,
            },
        };
        cases.push(Case {
            suite: set.name.clone(),
            name: question.id.clone(),
            path: set.path.clone(),
            line: question.line,
            outcome,
        });
    }
    cases
}

/// The cases of the gate: a leak fails, a control that did not fire could not be evaluated.
pub fn of_leakage(path: &Path, cases: &[leakage::Case], report: &leakage::Report) -> Vec<Case> {
    let each = report.cases.iter().map(|found| {
        let outcome = match (&found.stage, &found.control) {
            (Some(stage), _) => Outcome::Failed(
                format!("leak:{stage}"),
                format!("at {stage}: {}", found.forbidden.join(", ")),
            ),
            (None, leakage::Control::Silent(why)) => {
                Outcome::NotEvaluated(format!("unproven: {why}"))
            }
            (None, leakage::Control::Fired) => Outcome::Passed,
        };
        Case {
            suite: "leakage".to_owned(),
            name: found.id.clone(),
            path: path.to_owned(),
            line: cases.iter().find(|case| case.id == found.id).map_or(0, |case| case.line),
            outcome,
        }
    });
    each.collect()
}

/// The lines of the scorecard.
pub fn of_scorecard(targets: &Targets, card: &Scorecard) -> Vec<Case> {
    let each = card.rows.iter().map(|row| {
        let said =
            || format!("{}: {}; {}", row.threshold, super::scorecard::value(row), row.certainty);
        let outcome = match row.verdict {
            Verdict::Met => Outcome::Passed,
            Verdict::Missed => Outcome::Failed("target:missed".to_owned(), said()),
            Verdict::GateFailed => Outcome::Failed("gate:failed".to_owned(), said()),
            Verdict::CannotTell => Outcome::NotEvaluated(format!("cannot tell: {}", said())),
            Verdict::NotMeasured => Outcome::NotEvaluated(row.notes.join("; ")),
        };
        let name = row.name.split(' ').next().unwrap_or(&row.name);
        Case {
            suite: "scorecard".to_owned(),
            name: row.name.clone(),
            path: targets.path.clone(),
            line: targets.get(name).map_or(0, |target| target.line),
            outcome,
        }
    });
    each.collect()
}

/// Expected answers: what is wrong fails with the rung on which it stands, a known failure is skipped, and
/// a known failure that passes fails, since its mark has to go.
pub fn of_check(path: &Path, report: &CheckReport) -> Vec<Case> {
    let each = report.cases.iter().map(|found| {
        let faults: Vec<String> = found
            .failures
            .iter()
            .map(|failure| match failure.what.as_str() {
                "" => failure.fault.name().to_owned(),
                what => format!("{} {what}", failure.fault.name()),
            })
            .collect();
        let rung = found.rung.map_or("check", |rung| rung.name());
        let class = found.class.map_or("check", |class| class.name());
        let outcome = match found.verdict {
            check::Verdict::Passed => Outcome::Passed,
            check::Verdict::Failed => {
                Outcome::Failed(class.to_owned(), format!("{rung}: {}", faults.join("; ")))
            }
            check::Verdict::ExpectedFail => {
                let why = found.expected_fail.clone().unwrap_or_default();
                Outcome::Skipped(format!("expected to fail: {why}"))
            }
            check::Verdict::UnexpectedPass => Outcome::Failed(
                "expected-fail:passes".to_owned(),
                "it passes, and was marked as failing".to_owned(),
            ),
            check::Verdict::NotEvaluated => Outcome::NotEvaluated("no answer".to_owned()),
        };
        Case {
            suite: "answers".to_owned(),
            name: found.id.clone(),
            path: path.to_owned(),
            line: found.line,
            outcome,
        }
    });
    each.collect()
}
