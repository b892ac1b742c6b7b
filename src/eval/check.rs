//! Checking answers: every case of a set asked, answered, judged, and every failure explained.
//!
//! Mechanical checks come first and are exact; judged ones ([`groundedness`](super::groundedness))
//! are reported beside them and never turn a failure into a pass. Each case that does not pass is put
//! on one rung of the [`ladder`](super::ladder).

pub mod compare;
mod context;
mod tables;

use serde::Serialize;

use context::Context;
pub use context::Rival;
use tables::{abstention, by_kind};

use super::expectations::{Case, Expectations};
use super::groundedness::{Grounded, Groundedness};
use super::judge::{Claim, Judge};
use super::ladder::{Class, ClassCount, Decomposition, Evidence, Rung, follow, follow_recorded};
use super::mechanical::{Did, Failure, Fault, judge};
use super::posterior::chance_of_at_least;
use super::statistics::{Interval, wilson};
use crate::access::Scope;
use crate::answer::{Answer, Answerer, Asked, Refusal, Settings, Source, refusal};
use crate::error::Result;
use crate::index::{Filter, Index};
use crate::search::{self, Request, Retriever};

/// What the case demands of an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Should {
    /// An answer.
    Answer,
    /// The abstention sentence.
    Decline,
    /// Evidence; no answer is looked at.
    Evidence,
}

/// What became of a case.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// Nothing is wrong.
    Passed,
    /// Something is.
    Failed,
    /// Something is, and that was known; the run does not fail by it.
    ExpectedFail,
    /// Nothing is wrong, though a failure was expected: the mark has to go, so the run fails.
    UnexpectedPass,
    /// No answer was recorded, so nothing can be said.
    NotEvaluated,
}

/// A case with everything that was found out about it.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct CaseReport {
    /// Its id: stable between runs, the name of its test case.
    pub id: String,
    /// Its kinds.
    pub kinds: Vec<String>,
    /// What was asked.
    pub question: String,
    /// Who asked; `None` for the project's default asker.
    pub asker: Option<String>,
    /// Line of the file of cases.
    pub line: u64,
    /// What it demands.
    pub should: Should,
    /// What the answer did; `None` when no answer was looked at.
    pub did: Option<Did>,
    /// What became of it.
    pub verdict: Verdict,
    /// Why a failure is expected, when one is.
    pub expected_fail: Option<String>,
    /// Everything that is wrong, in the order of the expectations; empty when it passed.
    pub failures: Vec<Failure>,
    /// The answer; `None` when evidence alone is judged or none was recorded.
    pub answer: Option<Answer>,
    /// References of the context's blocks, best first.
    pub context: Vec<String>,
    /// Each group of needed evidence, with where it arrived or was lost.
    pub evidence: Vec<Evidence>,
    /// Where it went wrong; `None` unless it failed, expectedly or not.
    pub rung: Option<Rung>,
    /// The class of the rung.
    pub class: Option<Class>,
    /// Whether a part of its evidence arrived and a part did not.
    pub partial: bool,
    /// Its claims against the sources that it cites; `None` when it makes none.
    pub grounded: Option<Grounded>,
    /// Blocks of another version or product than the evidence that were in the context.
    pub rivals: Vec<Rival>,
    /// Whether the context is one that was recorded with the answer, and not what the engine brought.
    pub recorded_context: bool,
}

impl CaseReport {
    /// Whether it counts as passed: also when that was not expected.
    pub const fn passed(&self) -> bool {
        matches!(self.verdict, Verdict::Passed | Verdict::UnexpectedPass)
    }

    /// Whether something was found out about it.
    pub const fn evaluated(&self) -> bool {
        !matches!(self.verdict, Verdict::NotEvaluated)
    }
}

/// A count with its share and interval.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Share {
    /// How many.
    pub k: usize,
    /// Of how many.
    pub n: usize,
    /// Wilson 95%; `None` when `n` is 0.
    pub interval: Option<Interval>,
}

impl Share {
    /// `k` of `n`.
    pub fn new(k: usize, n: usize) -> Self {
        Self { k, n, interval: wilson(k, n) }
    }

    /// The share; `None` when `n` is 0.
    pub fn value(&self) -> Option<f64> {
        (self.n > 0).then(|| self.k as f64 / self.n as f64)
    }
}

/// How a share stands to the target for it.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Against {
    /// The least share demanded.
    pub at_least: f64,
    /// Whether the share observed meets it.
    pub met: bool,
    /// Whether the interval leaves no doubt about that: it lies on one side of the target. When it
    /// does not, this many cases cannot tell.
    pub certain: bool,
    /// The probability that the true share is at least the target, with Jeffreys' prior.
    pub chance: f64,
}

/// Coverage: the share of cases that got a correct, cited answer, or rightly none.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Coverage {
    /// Passed, of evaluated.
    pub share: Share,
    /// How it stands to the target; `None` without one.
    pub target: Option<Against>,
}

impl Coverage {
    /// `share` against the target `at_least`, if there is one.
    pub fn new(share: Share, at_least: Option<f64>) -> Self {
        let target = at_least.zip(share.value()).map(|(at_least, value)| Against {
            at_least,
            met: value >= at_least,
            certain: share.interval.is_some_and(|interval| !interval.contains(at_least)),
            chance: chance_of_at_least(share.k, share.n, at_least),
        });
        Self { share, target }
    }
}

/// What was done against what should have been; cases in which evidence alone is judged are not in it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
pub struct Abstention {
    /// Answered, and should have: right or not is another question.
    pub answered: usize,
    /// Declined, and should have answered: over-refusal.
    pub over_refused: usize,
    /// Declined, and should have.
    pub declined: usize,
    /// Answered, and should have declined: under-refusal.
    pub under_refused: usize,
    /// Answers that begin with the sentence and go on: counted as answers.
    pub continued: usize,
    /// Answers that decline in other words: counted as answers. They point at the prompt.
    pub reworded: usize,
}

/// A kind with its coverage.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Kind {
    /// Its name.
    pub kind: String,
    /// Passed, of evaluated; a case of several kinds counts in each.
    pub share: Share,
    /// How many failures of it are of each class, classes without any left out.
    pub classes: Vec<ClassCount>,
}

/// A set of expected answers, checked.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct CheckReport {
    /// The set's name.
    pub set: String,
    /// Hash of the set as it was read.
    pub set_hash: String,
    /// What answered, with all that decides its answers; empty when evidence alone was judged.
    pub answerer: String,
    /// What judged claims, with all that decides its verdicts.
    pub judge: String,
    /// Every case, in the order of the file.
    pub cases: Vec<CaseReport>,
    /// Passed, of evaluated, against the target.
    pub coverage: Coverage,
    /// Cases of which all needed evidence arrived and nothing misleading, of those that need any.
    pub evidence: Share,
    /// Answered and declined, against what should have been.
    pub abstention: Abstention,
    /// Answers and claims against the sources cited.
    pub groundedness: Groundedness,
    /// The failures, expected ones included, by rung and by class.
    pub decomposition: Decomposition,
    /// Failures that are expected, each with its reason in its case.
    pub expected_failures: usize,
    /// Cases that passed against expectation.
    pub unexpected_passes: Vec<String>,
    /// Coverage by kind, in order of the names.
    pub by_kind: Vec<Kind>,
    /// Cases that were judged against a context that was recorded with the answer.
    pub recorded_contexts: usize,
    /// Cases left out, since their evidence is not among the documents of this run.
    pub left_out: Vec<String>,
}

impl CheckReport {
    /// Cases without an answer, in order.
    pub fn not_evaluated(&self) -> Vec<&str> {
        let missing =
            self.cases.iter().filter(|case| !case.evaluated() && case.should != Should::Evidence);
        missing.map(|case| case.id.as_str()).collect()
    }

    /// Cases that need no evidence where evidence alone is judged, in order: nothing is found out about
    /// them.
    pub fn without_evidence(&self) -> Vec<&str> {
        let open =
            self.cases.iter().filter(|case| !case.evaluated() && case.should == Should::Evidence);
        open.map(|case| case.id.as_str()).collect()
    }

    /// Whether all that was demanded held: the target is met, where there is one, and nothing passed
    /// that is marked as failing.
    pub fn passed(&self) -> bool {
        self.unexpected_passes.is_empty() && self.coverage.target.is_none_or(|target| target.met)
    }
}

/// Everything that a check is made with.
pub struct Checker<'c> {
    /// What brings the evidence.
    pub retriever: &'c dyn Retriever,
    /// The index that it searches.
    pub index: &'c Index,
    /// The settings of the search.
    pub search: &'c search::Settings,
    /// The settings of answers: the abstention sentence above all.
    pub answers: &'c Settings,
    /// What answers; `None` judges evidence alone.
    pub answerer: Option<&'c dyn Answerer>,
    /// What judges claims.
    pub judge: &'c dyn Judge,
    /// The least coverage demanded, if any is.
    pub at_least: Option<f64>,
}

impl std::fmt::Debug for Checker<'_> {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.debug_struct("Checker").field("search", &self.search).finish_non_exhaustive()
    }
}

impl Checker<'_> {
    /// Runs every case of `set`. `scope_of` says what each asker may see; `left_out` are the cases that
    /// the documents of this run cannot answer, which the set no longer holds.
    pub fn run(
        &self,
        set: &Expectations,
        left_out: Vec<String>,
        scope_of: &dyn Fn(&Case) -> Result<Scope>,
    ) -> Result<CheckReport> {
        let cases: Result<Vec<CaseReport>> =
            set.cases.iter().map(|case| self.case(case, scope_of(case)?)).collect();
        self.report(set, cases?, left_out)
    }

    fn case(&self, case: &Case, scope: Scope) -> Result<CaseReport> {
        let mut filter = Filter::default();
        for (key, values) in &case.filter {
            filter.require(key, values.clone());
        }
        let request = Request::new(&case.question, self.index.narrow(&scope, &filter)?);
        let outcome = self.retriever.retrieve(&request)?;
        let mut context = Context::of(self.index, &outcome)?;
        let answer = match self.answerer.filter(|_| !case.expect.evidence_only) {
            Some(answerer) => {
                let (outcome, sources) = (&outcome, context.sources.as_slice());
                let asked = Asked { id: &case.id, request: &request, outcome, sources };
                Some(answerer.answer(&asked)?)
            }
            None => None,
        };
        if let Some(names) = answer.iter().flatten().find_map(|answer| answer.context.as_ref()) {
            context = Context::recorded(self.index, request.scope(), names)?;
        }
        let follow = |group: &Vec<String>| match context.is_recorded {
            true => follow_recorded(self.index, request.scope(), &context.blocks, group),
            false => follow(self.index, request.scope(), self.search, &outcome, group),
        };
        let evidence: Result<Vec<Evidence>> = case.supporting.iter().map(follow).collect();
        let evidence = evidence?;
        let mut misleading = Vec::new();
        for unit in &case.misleading {
            let found = follow(&vec![unit.clone()])?;
            misleading.extend(found.arrived.map(|_| unit.clone()));
        }
        let used = context.rivals(self.index, case, answer.as_ref().and_then(Option::as_ref))?;
        let Context { sources: context, closed, is_recorded, .. } = context;
        let mut report = CaseReport {
            id: case.id.clone(),
            kinds: case.kinds.clone(),
            question: case.question.clone(),
            asker: case.asker.clone(),
            line: case.line,
            should: should(case, answer.is_some()),
            did: None,
            verdict: Verdict::NotEvaluated,
            // What is expected to fail is the answer, unless the case asks for evidence alone.
            expected_fail: case
                .expected_fail
                .clone()
                .filter(|_| self.answerer.is_some() || case.expect.evidence_only),
            failures: Vec::new(),
            answer: None,
            context: context.iter().map(|source| source.reference.clone()).collect(),
            partial: evidence.iter().any(|group| group.arrived.is_some())
                && evidence.iter().any(|group| group.arrived.is_none()),
            evidence,
            rung: None,
            class: None,
            grounded: None,
            rivals: used.rivals,
            recorded_context: is_recorded,
        };
        match answer {
            Some(None) => return Ok(report),
            Some(Some(answer)) => {
                let (did, failures) = judge(case, &answer, &context, self.answers);
                report.did = Some(did);
                report.failures = failures;
                if did == Did::Answered {
                    report.grounded = self.grounded(case, &answer, &context)?;
                }
                report.answer = Some(answer);
            }
            // Where it is evidence that is judged, a case without any says nothing.
            None if case.supporting.is_empty() && case.misleading.is_empty() => return Ok(report),
            None => {
                let lost = report.evidence.iter().filter(|group| group.arrived.is_none());
                let failure = |group: &Evidence| Failure {
                    fault: Fault::NoEvidence,
                    what: group.units.join(" | "),
                    place: None,
                };
                report.failures = lost.map(failure).collect();
            }
        }
        for unit in misleading {
            report.failures.push(Failure { fault: Fault::Misleading, what: unit, place: None });
        }
        for block in closed {
            report.failures.push(Failure { fault: Fault::ClosedContext, what: block, place: None });
        }
        conclude(&mut report, used.evidence_is_cited);
        Ok(report)
    }

    /// The claims of an answer against the sources that it cites; against the whole context where it
    /// cites none, as no citation is a failure of its own.
    fn grounded(
        &self,
        case: &Case,
        answer: &Answer,
        context: &[Source],
    ) -> Result<Option<Grounded>> {
        let cited = |source: &&Source| {
            answer.citations.iter().any(|citation| {
                citation.reference == source.reference || citation.reference == source.document
            })
        };
        let mut sources: Vec<Source> = context.iter().filter(cited).cloned().collect();
        if answer.citations.is_empty() {
            sources = context.to_vec();
        }
        let found = Grounded::of(self.judge, &case.question, &answer.text, &sources)?;
        // Declining, whole or in other words, claims nothing.
        let claims = |claim: &Claim| {
            matches!(refusal(&claim.text, self.answers), Refusal::Not | Refusal::Continued)
        };
        Ok(found.and_then(|found| Grounded::new(found.claims.into_iter().filter(claims).collect())))
    }

    fn report(
        &self,
        set: &Expectations,
        cases: Vec<CaseReport>,
        left_out: Vec<String>,
    ) -> Result<CheckReport> {
        let evaluated = |case: &&CaseReport| case.evaluated();
        let failing: Vec<(Option<Rung>, bool)> = cases
            .iter()
            .filter(evaluated)
            .filter(|case| !case.passed())
            .map(|case| (case.rung, case.partial))
            .collect();
        let n = cases.iter().filter(evaluated).count();
        let passed = cases.iter().filter(|case| case.passed()).count();
        let needs: Vec<&CaseReport> =
            cases.iter().filter(|case| !case.evidence.is_empty()).collect();
        let supplied = |case: &&&CaseReport| {
            case.evidence.iter().all(|group| group.arrived.is_some())
                && case.failures.iter().all(|failure| failure.fault != Fault::Misleading)
        };
        let expected = |case: &&CaseReport| case.verdict == Verdict::ExpectedFail;
        let surprising = cases.iter().filter(|case| case.verdict == Verdict::UnexpectedPass);
        Ok(CheckReport {
            set: set.name.clone(),
            set_hash: set.hash.clone(),
            answerer: self.answerer.map(|answerer| answerer.id()).unwrap_or_default(),
            judge: self.judge.id(),
            coverage: Coverage::new(Share::new(passed, n), self.at_least),
            evidence: Share::new(needs.iter().filter(supplied).count(), needs.len()),
            abstention: abstention(&cases),
            groundedness: Groundedness::of(cases.iter().filter_map(|case| case.grounded.as_ref())),
            decomposition: Decomposition::new(n - passed, &failing)?,
            expected_failures: cases.iter().filter(expected).count(),
            unexpected_passes: surprising.map(|case| case.id.clone()).collect(),
            by_kind: by_kind(&cases),
            recorded_contexts: cases.iter().filter(|case| case.recorded_context).count(),
            cases,
            left_out,
        })
    }
}

const fn should(case: &Case, answered: bool) -> Should {
    match (case.expect.abstains, answered && !case.expect.evidence_only) {
        (true, true) => Should::Decline,
        (_, false) => Should::Evidence,
        (false, true) => Should::Answer,
    }
}

/// Gives a case its verdict, and its rung when it did not pass.
fn conclude(report: &mut CaseReport, evidence_is_cited: bool) {
    let right = report.failures.is_empty();
    report.verdict = match (right, report.expected_fail.is_some()) {
        (true, false) => Verdict::Passed,
        (true, true) => Verdict::UnexpectedPass,
        (false, false) => Verdict::Failed,
        (false, true) => Verdict::ExpectedFail,
    };
    if right {
        return;
    }
    let misled = report.failures.iter().any(|failure| failure.fault == Fault::Misleading);
    let lost = report.evidence.iter().filter_map(|group| group.lost).min();
    let other = !evidence_is_cited && report.rivals.iter().any(|rival| rival.cited);
    let rung = match (report.should, lost, report.did) {
        (Should::Decline, ..) => Rung::AnsweredAnyway,
        (_, Some(lost), _) => lost,
        (_, None, _) if misled => Rung::Ambiguous,
        (_, None, Some(Did::Declined)) => Rung::Declined,
        (_, None, _) if other => Rung::WrongVersion,
        (_, None, _) => Rung::Unused,
    };
    report.rung = Some(rung);
    report.class = Some(rung.class());
}
