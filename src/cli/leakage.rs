//! `atlas leakage`.

use std::path::PathBuf;
use std::sync::Arc;

use atlas::error::{Error, Result};
use atlas::eval::leakage::{self, CaseResult, Control, Report, twin_difference};
use atlas::eval::questions::QuestionSet;
use atlas::eval::twin::Plan;
use atlas::index::Index;
use atlas::project::Project;
use atlas::report::counted;
use atlas::search::{Request, Retriever as _, Searcher};
use clap::Args;
use serde_json::json;

use super::output::{Output, note};
use super::{Exit, Format, Global, build, project};

/// Arguments of `leakage`.
#[derive(Debug, Args)]
pub struct LeakageArgs {
    /// The cases [default: leakage.yaml of `evals`]
    #[arg(long, value_name = "FILE")]
    set: Option<PathBuf>,
    /// Compare every asker's answers to all questions of all sets with an index that never held
    /// what the asker may not read
    #[arg(long)]
    twin: bool,
}

/// Runs the gate; exit code 2 when it fails.
pub fn run(args: &LeakageArgs, global: &Global, out: &mut Output) -> Result<Exit> {
    let project = project(global)?;
    let Some(policy) = &project.policy else {
        let expected = "the path of a policy: in an open project there is nothing to leak";
        return Err(Error::invalid("access", "`open`", expected));
    };
    let path = args.set.clone().unwrap_or_else(|| project.evals.join("leakage.yaml"));
    let cases = leakage::read(&path, &project.askers)?;
    let index = Arc::new(build::ensure(&project)?);
    let searcher = Searcher::new(Arc::clone(&index), project.file.search.clone())?;
    let corpus = project.read_corpus()?;
    let (settings, embedder) = (project.index_settings(), project.embedder()?);
    let plan = Plan {
        corpus: &corpus,
        settings: &settings,
        search: &project.file.search,
        embedder: &embedder,
        policy,
    };
    let report = leakage::run(&searcher, &index, &project.askers, &plan, &cases)?;
    let twins =
        if args.twin { Some(twins(&project, &index, &searcher, &plan, &cases)?) } else { None };
    let differences = twins.as_ref().map_or(0, |twins| twins.differences.len());
    match global.format {
        Format::Json => out.json(&to_json(&report, twins.as_ref())),
        Format::Text => text(&report, twins.as_ref(), out),
    }
    Ok(if report.passed() && differences == 0 { Exit::Done } else { Exit::GateFailed })
}

/// Runs `cases` on the index of `project`, which has a policy.
pub fn gate(project: &Project, cases: &[leakage::Case]) -> Result<Report> {
    let Some(policy) = &project.policy else {
        return Err(Error::invalid("access", "`open`", "the path of a policy"));
    };
    let index = Arc::new(build::ensure(project)?);
    let searcher = Searcher::new(Arc::clone(&index), project.file.search.clone())?;
    let corpus = project.read_corpus()?;
    let (settings, embedder) = (project.index_settings(), project.embedder()?);
    let search = &project.file.search;
    let plan = Plan { corpus: &corpus, settings: &settings, search, embedder: &embedder, policy };
    leakage::run(&searcher, &index, &project.askers, &plan, cases)
}

/// The twin run.
struct Twins {
    askers: usize,
    questions: usize,
    differences: Vec<String>,
}

/// Every asker, every question of every set.
fn twins(
    project: &Project,
    index: &Index,
    searcher: &Searcher,
    plan: &Plan<'_>,
    cases: &[leakage::Case],
) -> Result<Twins> {
    let mut questions: Vec<String> = cases.iter().map(|case| case.question.clone()).collect();
    for name in ["development", "held-out"] {
        let path = project.question_set(name);
        if path.is_file() {
            questions.extend(QuestionSet::read(&path)?.questions.into_iter().map(|q| q.question));
        }
    }
    questions.extend(expected_answers(project)?);
    let mut twins = Twins { askers: 0, questions: questions.len(), differences: Vec::new() };
    let nobody = [None];
    for asker in project.askers.iter().map(Some).chain(nobody) {
        let twin = plan.twin(asker)?;
        twins.askers += 1;
        let scope = index.scope(asker)?;
        for question in &questions {
            let outcome = searcher.retrieve(&Request::new(question, scope.clone()))?;
            if let Some(difference) = twin_difference(index, question, &outcome, Some(&twin))? {
                let name = asker.map_or("nobody", |asker| asker.id.as_str());
                twins.differences.push(format!("{name}: \"{question}\": {difference}"));
            }
        }
    }
    Ok(twins)
}

/// The questions of `questions.yaml`, which has a form of its own.
fn expected_answers(project: &Project) -> Result<Vec<String>> {
    #[derive(serde::Deserialize)]
    struct File {
        questions: Vec<Asked>,
    }
    #[derive(serde::Deserialize)]
    struct Asked {
        question: String,
    }
    let path = project.evals.join("questions.yaml");
    if !path.is_file() {
        return Ok(Vec::new());
    }
    let text = std::fs::read_to_string(&path).map_err(|e| Error::io("reading", &path, e))?;
    let file: File = serde_saphyr::from_str(&text).map_err(|fault| {
        let line = fault.location().map(|place| place.line());
        Error::input(&path, line, fault.to_string(), "it holds a list `questions`")
    })?;
    Ok(file.questions.into_iter().map(|asked| asked.question).collect())
}

fn verdict(case: &CaseResult) -> String {
    match (&case.stage, &case.control) {
        (Some(stage), _) => format!("LEAK      at {stage}: {}", case.forbidden.join(", ")),
        (None, Control::Silent(why)) => format!("UNPROVEN  {why}"),
        (None, Control::Fired) => "clean     control fired in both legs".to_owned(),
    }
}

fn text(report: &Report, twins: Option<&Twins>, out: &mut Output) {
    let width = report.cases.iter().map(|case| case.id.len()).max().unwrap_or(0);
    for case in &report.cases {
        out.line(format!("{:width$}  {}", case.id, verdict(case)));
    }
    let n = report.cases.len();
    let fired = n - report.unproven();
    out.line(format!(
        "\nleakage     {} of {n} cases leaked; {fired} of {n} controls fired, lexical and dense",
        report.leaks()
    ));
    if let Some(bound) = report.bound() {
        let clean = counted(report.clean(), "clean case");
        out.line(format!("            {clean} still allow a rate of up to {:.1} %", bound * 100.0));
    }
    if let Some(twins) = twins {
        out.line(format!(
            "twins       {} askers, nobody among them, with {} questions each: {} differences",
            twins.askers,
            twins.questions,
            twins.differences.len()
        ));
        for difference in &twins.differences {
            out.line(format!("            {difference}"));
        }
    }
    let passed = report.passed() && twins.is_none_or(|twins| twins.differences.is_empty());
    out.line(format!("gate        {}", if passed { "passed" } else { "FAILED" }));
    if n == 0 {
        note("the set holds no case, and an empty set proves nothing");
    }
}

fn to_json(report: &Report, twins: Option<&Twins>) -> serde_json::Value {
    let passed = report.passed() && twins.is_none_or(|twins| twins.differences.is_empty());
    json!({
        "gate": if passed { "passed" } else { "failed" },
        "cases": report.cases.len(),
        "leaks": report.leaks(),
        "unproven": report.unproven(),
        "bound": report.bound(),
        "per_case": report.cases,
        "twins": twins.map(|twins| json!({
            "askers": twins.askers,
            "questions": twins.questions,
            "differences": twins.differences,
        })),
    })
}
