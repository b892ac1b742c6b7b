//! `atlas check`.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use atlas::answer::{Answerer, Extractive, Recorded};
use atlas::error::{Error, Result, nearest};
use atlas::eval::check::{CheckReport, Checker};
use atlas::eval::claims::ClaimJudge;
use atlas::eval::expectations::{Case, Expectations};
use atlas::eval::units;
use atlas::index::Index;
use atlas::project::Project;
use atlas::report::{check_text, counted};
use atlas::search::Searcher;
use clap::Args;

use super::measure::take_subset;
use super::output::{Output, note};
use super::{Exit, Format, Global, build, endpoint, project};

/// Arguments of `check`.
#[derive(Debug, Args)]
pub struct CheckArgs {
    /// The expected answers [default: questions.yaml of `evals`]
    #[arg(long, value_name = "FILE")]
    set: Option<PathBuf>,
    /// Judge the answers of this file, one JSON object a line with `id`, `answer` and `citations`,
    /// instead of those of the built-in answerer
    #[arg(long, value_name = "FILE", conflicts_with = "evidence")]
    answers: Option<PathBuf>,
    /// With `--answers`: cases without an answer are listed and left out, instead of being an error
    #[arg(long, requires = "answers")]
    allow_missing: bool,
    /// Let the endpoint of atlas.toml answer (`[answer.endpoint]`), from the same evidence
    #[arg(long, conflicts_with_all = ["answers", "evidence"])]
    endpoint: bool,
    /// Judge the evidence alone: what must arrive, and what must not
    #[arg(long)]
    evidence: bool,
    /// Only the documents that this file lists, as in `measure`
    #[arg(long, value_name = "FILE")]
    subset: Option<PathBuf>,
    /// The least coverage, 0 to 1; missed, the exit code is 1 [default: coverage.at_least of
    /// targets.toml in `evals`, or none]
    #[arg(long, value_name = "SHARE")]
    target: Option<f64>,
    /// Show every answer, and where every piece of evidence stood
    #[arg(long)]
    show: bool,
}

/// Checks the answers to a set.
pub fn run(args: &CheckArgs, global: &Global, out: &mut Output) -> Result<Exit> {
    let mut project = project(global)?;
    if let Some(subset) = &args.subset {
        take_subset(&mut project, subset, global)?;
    }
    let at_least = target(args, &project)?;
    let path = args.set.clone().unwrap_or_else(|| project.evals.join("questions.yaml"));
    let mut set = Expectations::read(&path)?;
    known_askers(&set, &project)?;
    let index = Arc::new(build::ensure(&project)?);
    let left_out = if args.subset.is_some() {
        keep_answerable(&mut set, &index)?
    } else {
        let exists = |unit: &str| Ok(units::parse(index.passages(), unit)?.is_some());
        set.check(exists, || units::all_blocks(index.passages()))?;
        Vec::new()
    };
    let searcher = Searcher::new(Arc::clone(&index), project.file.search.clone())?;
    let answerer = answerer(args, &project, &index, &set)?;
    let judge = ClaimJudge::new(Arc::clone(&index));
    let checker = Checker {
        retriever: &searcher,
        index: &index,
        search: &project.file.search,
        answers: &project.file.answer,
        answerer: answerer.as_deref(),
        judge: &judge,
        at_least,
    };
    let scope_of = |case: &Case| project.scope(&index, case.asker.as_deref());
    let report = checker.run(&set, left_out, &scope_of)?;
    match global.format {
        Format::Json => out.json(&serde_json::to_value(&report).unwrap_or_default()),
        Format::Text => out.text(check_text(&report, args.show)),
    }
    Ok(exit(&report))
}

/// 1 when the target is missed or something passed that is marked as failing.
fn exit(report: &CheckReport) -> Exit {
    if report.passed() { Exit::Done } else { Exit::Failed }
}

/// What answers.
fn answerer(
    args: &CheckArgs,
    project: &Project,
    index: &Arc<Index>,
    set: &Expectations,
) -> Result<Option<Box<dyn Answerer>>> {
    if args.evidence {
        return Ok(None);
    }
    if args.endpoint {
        return endpoint::answerer(&project.file.answer).map(Some);
    }
    if let Some(path) = &args.answers {
        let recorded = Recorded::read(path, index)?;
        account(path, &recorded, set, args.allow_missing)?;
        return Ok(Some(Box::new(recorded)));
    }
    let built_in = Extractive::new(Arc::clone(index), project.file.answer.clone())?;
    Ok(Some(Box::new(built_in)))
}

/// Tells of answers without a case, and refuses cases without an answer.
fn account(path: &Path, recorded: &Recorded, set: &Expectations, allow: bool) -> Result<()> {
    let cases: Vec<&str> = set.cases.iter().map(|case| case.id.as_str()).collect();
    for id in recorded.ids().filter(|id| !cases.contains(id)) {
        let near = nearest(id, cases.iter().copied());
        let meant = near.map_or_else(String::new, |near| format!("; did you mean `{near}`?"));
        note(&format!("{}: {id} is no case of {}{meant}", path.display(), set.name));
    }
    let needed = set.cases.iter().filter(|case| !case.expect.evidence_only);
    let missing: Vec<&str> = needed
        .map(|case| case.id.as_str())
        .filter(|id| recorded.ids().all(|own| own != *id))
        .collect();
    if missing.is_empty() || allow {
        return Ok(());
    }
    let n = counted(missing.len(), "case");
    let problem = format!("{n} without an answer: {}", missing.join(", "));
    let help = "record them, or leave them out with `--allow-missing`";
    Err(Error::input(path, None, problem, help))
}

/// The least coverage demanded.
fn target(args: &CheckArgs, project: &Project) -> Result<Option<f64>> {
    if let Some(target) = args.target {
        if !(0.0..=1.0).contains(&target) {
            return Err(Error::invalid("--target", target, "a number from 0 to 1"));
        }
        return Ok(Some(target));
    }
    let path = project.evals.join("targets.toml");
    if !path.is_file() || args.evidence {
        return Ok(None);
    }
    let text =
        std::fs::read_to_string(&path).map_err(|e| Error::reading("reading targets", &path, e))?;
    let table: toml::Table = text.parse().map_err(|fault: toml::de::Error| {
        Error::input(&path, None, format!("it is not TOML: {}", fault.message()), "")
    })?;
    let at_least = table.get("coverage").and_then(|row| row.get("at_least"));
    Ok(at_least.and_then(toml::Value::as_float))
}

/// Refuses cases by an asker whom nobody knows.
fn known_askers(set: &Expectations, project: &Project) -> Result<()> {
    if project.policy.is_none() {
        return Ok(());
    }
    for case in &set.cases {
        if let Some(Err(why)) = case.asker.as_deref().map(|id| project.askers.known(id)) {
            let problem = format!("case {}: {why}", case.id);
            return Err(Error::input(&set.path, Some(case.line), problem, ""));
        }
    }
    if let (_, Some(why)) = project.asker(None)
        && set.cases.iter().any(|case| case.asker.is_none())
    {
        return Err(Error::invalid("default_asker", "missing or unknown", why));
    }
    Ok(())
}

/// Takes out cases whose evidence lies outside the subset, and units outside it elsewhere; the ids of
/// the cases.
fn keep_answerable(set: &mut Expectations, index: &Index) -> Result<Vec<String>> {
    let there = |unit: &String| Ok::<bool, Error>(units::parse(index.passages(), unit)?.is_some());
    let mut left_out = Vec::new();
    let mut kept = Vec::new();
    for mut case in std::mem::take(&mut set.cases) {
        for group in &mut case.supporting {
            let mut units = Vec::new();
            for unit in group.drain(..) {
                if there(&unit)? {
                    units.push(unit);
                }
            }
            *group = units;
        }
        let mut misleading = Vec::new();
        for unit in case.misleading.drain(..) {
            if there(&unit)? {
                misleading.push(unit);
            }
        }
        case.misleading = misleading;
        if case.supporting.iter().any(Vec::is_empty) {
            left_out.push(case.id);
        } else {
            kept.push(case);
        }
    }
    set.cases = kept;
    Ok(left_out)
}
