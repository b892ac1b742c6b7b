//! The answers behind coverage and groundedness: checked by machine, and as a sheet for people.

use std::path::PathBuf;
use std::sync::Arc;

use atlas::answer::Extractive;
use atlas::error::Result;
use atlas::eval::check::{CheckReport, Checker};
use atlas::eval::claims::ClaimJudge;
use atlas::eval::expectations::{self, Expectations};
use atlas::eval::labels;
use atlas::eval::ladder::Rung;
use atlas::eval::ratings::Answer;
use atlas::eval::scorecard::{Row, Work, share};
use atlas::eval::targets::Target;
use atlas::project::Project;
use atlas::report::{self, stale_line};
use atlas::search::Searcher;

use super::build;
use super::output::note;

/// The answers of a project's own answerer, checked.
pub struct Answered {
    /// The file of the cases.
    pub path: PathBuf,
    /// The cases.
    pub set: Expectations,
    /// What came of them.
    pub report: CheckReport,
}

/// Asks every question of `questions.yaml` in `project`, with the built-in answerer; `None` when there is
/// no such file.
pub fn answered(project: &Project) -> Result<Option<Answered>> {
    let path = project.evals.join("questions.yaml");
    if !path.is_file() {
        return Ok(None);
    }
    let mut set = Expectations::read(&path)?;
    let index = Arc::new(build::ensure(project)?);
    if let Some(stale) = stale_line(&labels::resolve_cases(&index, &mut set, false)?, false) {
        note(&stale);
    }
    let searcher = Searcher::new(Arc::clone(&index), project.file.search.clone())?;
    let answerer = Extractive::new(Arc::clone(&index), project.file.answer.clone())?;
    let judge = ClaimJudge::new(Arc::clone(&index));
    let checker = Checker {
        retriever: &searcher,
        index: &index,
        search: &project.file.search,
        answers: &project.file.answer,
        answerer: Some(&answerer),
        judge: &judge,
        at_least: None,
    };
    let scope_of = |case: &expectations::Case| project.scope(&index, case.asker.as_deref());
    let report = checker.run(&set, Vec::new(), &scope_of)?;
    Ok(Some(Answered { path, set, report }))
}

impl Answered {
    /// Coverage, as a machine sees it.
    pub fn coverage(&self, target: &Target) -> Row {
        let found = self.report.coverage.share;
        let mut row = share(target, found.k, found.n);
        row.notes.push(format!(
            "answers of {}, checked by machine; people have not rated them",
            kind(&self.report.answerer)
        ));
        row
    }

    /// Groundedness, by answers, as its target has it.
    pub fn groundedness(&self, target: &Target) -> Row {
        let found = &self.report.groundedness;
        let (answers, claims) = (found.unsupported_answers, found.unsupported_claims);
        let mut row = share(target, answers.k, answers.n);
        row.notes.push(format!(
            "{} of {} claims are not supported, by {}",
            claims.k,
            claims.n,
            kind(&self.report.judge)
        ));
        row
    }

    /// The failures by rung, which account for all of them.
    pub fn work(&self) -> Vec<Work> {
        let decomposition = &self.report.decomposition;
        let each = decomposition.by_rung.iter().map(|count| {
            let failed = self.report.cases.iter().filter(|case| case.rung == Some(count.rung));
            Work {
                class: count.rung.class().name().to_owned(),
                stage: format!("answers: {}", count.rung.name()),
                ids: failed.map(|case| case.id.clone()).collect(),
                of: decomposition.failures,
                advice: format!("{}; see `atlas check --show`", count.rung.meaning()),
            }
        });
        each.collect()
    }

    /// Every case for machines.
    pub fn cases(&self) -> Vec<report::Case> {
        report::of_check(&self.path, &self.report)
    }

    /// The ladder for the page.
    pub fn rungs(&self) -> Vec<report::Rung> {
        let passed = self.report.cases.iter().filter(|case| case.rung.is_none()).count();
        let mut rungs = vec![report::Rung { name: "right".to_owned(), count: passed, lost: false }];
        let count = |rung: Rung| {
            let counts = self.report.decomposition.by_rung.iter();
            counts.filter(|count| count.rung == rung).map(|count| count.n).sum()
        };
        let each = Rung::ALL.into_iter().map(|rung| report::Rung {
            name: rung.name().replace('_', " "),
            count: count(rung),
            lost: true,
        });
        rungs.extend(each);
        rungs
    }

    /// The answers for people to rate, in the order of the file.
    pub fn sheet(&self) -> Vec<Answer> {
        let mut sheet = Vec::with_capacity(self.set.cases.len());
        for (case, found) in self.set.cases.iter().zip(&self.report.cases) {
            let Some(answer) = &found.answer else { continue };
            let cited: Vec<&str> =
                answer.citations.iter().map(|cited| cited.reference.as_str()).collect();
            sheet.push(Answer {
                id: case.id.clone(),
                question: case.question.clone(),
                expected: expected(case),
                answer: answer.text.clone(),
                cited: cited.join(" "),
            });
        }
        sheet
    }
}

/// What is expected of an answer, in a line.
fn expected(case: &expectations::Case) -> String {
    if case.expect.abstains {
        return "it declines".to_owned();
    }
    let mut parts: Vec<String> =
        case.expect.must_contain.iter().map(|any| any.join(" or ")).collect();
    parts.extend(case.expect.must_cite.iter().map(|cite| format!("cites {cite}")));
    parts.extend(case.expect.must_not_contain.iter().map(|not| format!("not {not}")));
    parts.join("; ")
}

/// What an answerer or a judge is, without what decides its results: `built-in` of `built-in/4f1c..`.
fn kind(id: &str) -> &str {
    id.split('/').next().unwrap_or(id)
}
