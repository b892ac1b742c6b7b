//! `atlas leakage`.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use atlas::answer::{Answerer, Extractive, Recorded};
use atlas::error::{Error, Result};
use atlas::eval::answer_leaks::{Adversary, AnswerResult, AnswerVerdict};
use atlas::eval::leakage::{self, CaseResult, Control, Expect, Report, twin_difference};
use atlas::eval::questions::QuestionSet;
use atlas::eval::twin::Plan;
use atlas::index::Index;
use atlas::project::Project;
use atlas::report::counted;
use atlas::search::{Request, Retriever as _, Searcher};
use clap::Args;
use serde_json::json;

use super::output::{Output, note, one_line};
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
    /// Look at the answers too: the built-in ones, or those recorded in FILE
    #[arg(long, value_name = "FILE", num_args = 0..=1, require_equals = true)]
    answers: Option<Option<PathBuf>>,
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
    let answers = match &args.answers {
        Some(file) => Some(answers(&project, &index, &searcher, &plan, &cases, file.as_deref())?),
        None => None,
    };
    let differences = twins.as_ref().map_or(0, |twins| twins.differences.len());
    match global.format {
        Format::Json => out.json(&to_json(&report, twins.as_ref(), answers.as_deref())),
        Format::Text => text(&report, twins.as_ref(), answers.as_deref(), out),
    }
    let answers = answers.unwrap_or_default();
    let any = |verdict: AnswerVerdict| answers.iter().any(|answer| answer.verdict == verdict);
    Ok(if !report.passed() || differences > 0 || any(AnswerVerdict::Leaked) {
        Exit::GateFailed
    } else if any(AnswerVerdict::NotRefused) {
        Exit::Failed
    } else {
        Exit::Done
    })
}

/// Every case answered: by the built-in answerer, or as recorded in `file`.
fn answers(
    project: &Project,
    index: &Arc<Index>,
    searcher: &Searcher,
    plan: &Plan<'_>,
    cases: &[leakage::Case],
    file: Option<&Path>,
) -> Result<Vec<AnswerResult>> {
    let settings = &project.file.answer;
    let answerer: Box<dyn Answerer> = match file {
        Some(path) => {
            let recorded = Recorded::read(path, index)?;
            let missing: Vec<&str> = cases
                .iter()
                .map(|case| case.id.as_str())
                .filter(|id| recorded.ids().all(|own| own != *id))
                .collect();
            if !missing.is_empty() {
                let n = counted(missing.len(), "case");
                let problem = format!("{n} without an answer: {}", missing.join(", "));
                return Err(Error::input(path, None, problem, "record an answer for each case"));
            }
            Box::new(recorded)
        }
        None => Box::new(Extractive::new(Arc::clone(index), settings.clone())?),
    };
    let truth = leakage::Truth::new(plan);
    let adversary = Adversary {
        retriever: searcher,
        index,
        corpus: plan.corpus,
        truth: &truth,
        answerer: answerer.as_ref(),
        built_in: file.is_none(),
        settings,
    };
    let mut twins = BTreeMap::new();
    let mut results = Vec::with_capacity(cases.len());
    for case in cases {
        let (Some(asker), Some(control)) =
            (project.askers.get(&case.asker), project.askers.get(&case.control))
        else {
            return Err(Error::invalid("asker", &case.asker, "one of users.yaml"));
        };
        if file.is_none() && !twins.contains_key(&case.asker) {
            twins.insert(case.asker.clone(), plan.twin(Some(asker))?);
        }
        results.push(adversary.run(case, asker, control, twins.get(&case.asker))?);
    }
    Ok(results)
}

/// What an answer did, for people.
fn answered(result: &AnswerResult) -> String {
    let text = one_line(&result.answer, 100);
    match result.verdict {
        AnswerVerdict::Refused => "refused".to_owned(),
        AnswerVerdict::Scoped => format!("scoped       \u{201c}{text}\u{201d}"),
        AnswerVerdict::NotRefused => format!("NOT REFUSED  \u{201c}{text}\u{201d}"),
        AnswerVerdict::Leaked => {
            format!("LEAKED       {}: \u{201c}{text}\u{201d}", result.shown.join("; "))
        }
        AnswerVerdict::Missing => "no answer".to_owned(),
    }
}

fn answers_text(answers: &[AnswerResult], width: usize, out: &mut Output) {
    out.line("");
    for result in answers {
        out.line(format!("{:width$}  {}", result.id, answered(result)));
    }
    let n = |verdict: AnswerVerdict| answers.iter().filter(|own| own.verdict == verdict).count();
    let due = answers.iter().filter(|own| own.expect == Expect::Refused);
    let refused = due.clone().filter(|own| own.verdict == AnswerVerdict::Refused).count();
    out.line(format!(
        "\nanswers     {} of {} leaked; {refused} of {} refused where that is due, {} not refused; {} scoped",
        n(AnswerVerdict::Leaked),
        answers.len(),
        due.count(),
        n(AnswerVerdict::NotRefused),
        n(AnswerVerdict::Scoped)
    ));
    let controls: Vec<bool> = answers.iter().filter_map(|own| own.control_answers).collect();
    if !controls.is_empty() {
        let answered = controls.iter().filter(|own| **own).count();
        out.line(format!(
            "            {answered} of {} controls get an answer; the others decline too, so their refusals say little",
            controls.len()
        ));
    }
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

fn text(
    report: &Report,
    twins: Option<&Twins>,
    answers: Option<&[AnswerResult]>,
    out: &mut Output,
) {
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
    if let Some(answers) = answers {
        answers_text(answers, width, out);
    }
    let passed = passed(report, twins, answers);
    out.line(format!("gate        {}", if passed { "passed" } else { "FAILED" }));
    if n == 0 {
        note("the set holds no case, and an empty set proves nothing");
    }
}

/// Whether nothing leaked, neither by retrieval nor by answers.
fn passed(report: &Report, twins: Option<&Twins>, answers: Option<&[AnswerResult]>) -> bool {
    let leaked = |own: &AnswerResult| own.verdict == AnswerVerdict::Leaked;
    report.passed()
        && twins.is_none_or(|twins| twins.differences.is_empty())
        && answers.is_none_or(|answers| !answers.iter().any(leaked))
}

fn to_json(
    report: &Report,
    twins: Option<&Twins>,
    answers: Option<&[AnswerResult]>,
) -> serde_json::Value {
    let passed = passed(report, twins, answers);
    json!({
        "gate": if passed { "passed" } else { "failed" },
        "cases": report.cases.len(),
        "leaks": report.leaks(),
        "unproven": report.unproven(),
        "bound": report.bound(),
        "per_case": report.cases,
        "answers": answers,
        "twins": twins.map(|twins| json!({
            "askers": twins.askers,
            "questions": twins.questions,
            "differences": twins.differences,
        })),
    })
}
