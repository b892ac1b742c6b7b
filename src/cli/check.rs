//! `atlas check`.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use atlas::answer::{Answerer, Extractive, Recorded};
use atlas::error::{Error, Result, nearest};
use atlas::eval::check::compare::{self, Comparison};
use atlas::eval::check::{CheckReport, Checker};
use atlas::eval::claims::ClaimJudge;
use atlas::eval::expectations::{Case, Expectations};
use atlas::eval::forbid::{Proposed, forbid};
use atlas::eval::{labels, units};
use atlas::index::Index;
use atlas::project::Project;
use atlas::report::{Receipt, check_compare_text, check_text, counted, stale_line};
use atlas::search::{Mode, Searcher};
use clap::Args;
use serde_json::json;

use super::measure::take_subset;
use super::output::{Output, note};
use super::{Exit, Format, Global, build, endpoint, latency, project};

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
    /// The least coverage, 0 to 1; missed, the exit code is 1 [default: that of [coverage] in the
    /// targets, where its sample is of this project]
    #[arg(long, value_name = "SHARE")]
    target: Option<f64>,
    /// The targets, which then hold for this set [default: targets.toml of `evals`]
    #[arg(long, value_name = "FILE", conflicts_with = "target")]
    targets: Option<PathBuf>,
    /// Compare with a check that `--format json` wrote
    #[arg(long, value_name = "FILE")]
    compare: Option<PathBuf>,
    /// Compare even if the corpus or the set of cases is another than then
    #[arg(long, requires = "compare")]
    across: bool,
    /// Print what changed and nothing else
    #[arg(long, requires = "compare")]
    quiet: bool,
    /// Show every answer, and where every piece of evidence stood
    #[arg(long)]
    show: bool,
    /// Offer strings for `must_not_contain`: quantities and codes like the right ones that arrived in
    /// other blocks
    #[arg(long)]
    forbid: bool,
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
    let labels = labels::resolve_cases(&index, &mut set, args.subset.is_some())?;
    if let Some(stale) = stale_line(&labels, false) {
        note(&stale);
    }
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
    let sets = vec![(report.set.clone(), report.set_hash.clone())];
    let settings = &project.file.search;
    let receipt =
        Receipt::new(index.manifest(), sets, Mode::default(), settings, project.access_id())
            .with_answers(&report.answerer, &report.judge);
    let compared = match &args.compare {
        Some(path) => Some(compared(path, args, &report, &receipt)?),
        None => None,
    };
    let proposed = if args.forbid { forbid(&index, &set, &report)? } else { Vec::new() };
    match global.format {
        Format::Json => {
            let mut whole = serde_json::to_value(&report).unwrap_or_default();
            if let Some(whole) = whole.as_object_mut() {
                whole.insert("receipt".to_owned(), json!(receipt));
                if args.forbid {
                    whole.insert("forbid".to_owned(), json!(proposed));
                }
                whole.extend(compared.map(|compared| ("comparison".to_owned(), json!(compared))));
            }
            out.json(&whole);
        }
        Format::Text => {
            if !args.quiet {
                out.text(check_text(&report, args.show));
                out.line(format!("receipt     {}", receipt.id.get(..12).unwrap_or(&receipt.id)));
            }
            if args.forbid {
                out.line("");
                forbidden(&proposed, out);
            }
            if let Some(compared) = &compared {
                if !args.quiet {
                    out.line("");
                }
                out.text(check_compare_text(compared, &receipt));
            }
        }
    }
    Ok(exit(&report))
}

/// Strings that may be forbidden, a line a case.
fn forbidden(proposed: &[Proposed], out: &mut Output) {
    let n = counted(proposed.len(), "string");
    out.line(format!(
        "forbid      {n} of other blocks, for a person to accept into must_not_contain"
    ));
    for one in proposed {
        let Proposed { case, string, block, place } = one;
        out.line(format!("  {case}  \u{201c}{string}\u{201d}  {block}, at {place}"));
    }
}

/// Compares with what was recorded; refuses other ground unless that is asked for.
fn compared(
    path: &Path,
    args: &CheckArgs,
    report: &CheckReport,
    receipt: &Receipt,
) -> Result<Comparison> {
    let now = compare::Receipt {
        corpus: &receipt.corpus,
        mode: json!(receipt.mode),
        settings: json!(receipt.settings),
        answers: Some((&report.answerer, &report.judge)),
    };
    let compared = compare::compare(&compare::read(path)?, report, &now);
    if (compared.other_corpus || compared.other_set) && !args.across {
        let what = if compared.other_corpus { "corpus" } else { "set of cases" };
        let problem = format!("it was made on another {what}");
        let help =
            "check both on the same, or compare `--across` and read the difference as one of both";
        return Err(Error::input(path, None, problem, help));
    }
    Ok(compared)
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
    if args.evidence {
        return Ok(None);
    }
    let Some(targets) = latency::targets(project, args.targets.as_deref())? else {
        return Ok(None);
    };
    let Some(coverage) = targets.get("coverage") else { return Ok(None) };
    let folder = |path: PathBuf| path.canonicalize().unwrap_or(path);
    if let Some(elsewhere) = coverage.project.as_ref().filter(|_| args.targets.is_none())
        && folder(project.folder.join(elsewhere)) != folder(project.folder.clone())
    {
        note(&format!(
            "no target is judged: the sample of [coverage] is {}; `atlas scorecard` judges it, and \
             `atlas check --project {}` shows its answers",
            coverage.sample,
            elsewhere.display()
        ));
        return Ok(None);
    }
    let limit = coverage.thresholds.iter().find(|limit| limit.key == "at_least");
    Ok(limit.map(|limit| limit.limit))
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
