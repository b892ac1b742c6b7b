//! `atlas measure`.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use atlas::error::{Error, Result};
use atlas::eval::compare::{self, Comparison, Declared};
use atlas::eval::drift::{self as drift_of, Between, between, recorded};
use atlas::eval::labels;
use atlas::eval::ledger::{self, Entry};
use atlas::eval::measurement::{Measured, Measurement, Options, keep_readable, measure};
use atlas::eval::questions::{Question, QuestionSet};
use atlas::eval::units;
use atlas::index::Index;
use atlas::project::Project;
use atlas::report::{
    MeasureReport, Receipt, Shown, compare_text, counted, folded, measure_json, measure_text,
    stale_line, timing_text,
};
use atlas::search::Searcher;
use clap::Args;
use serde::Deserialize;
use serde_json::json;

use super::exports::Exports;
use super::output::{Output, note, one_line, today, width};
use super::search::ModeArg;
use super::{Exit, Format, Global, build, drift, filters, latency, project, sweep};

/// Arguments of `measure`.
#[derive(Debug, Args)]
pub struct MeasureArgs {
    /// Measure the held-out questions: totals alone
    #[arg(long, conflicts_with = "set")]
    held_out: bool,
    /// Show held-out questions by kind too; the ledger counts what that tells
    #[arg(long)]
    by_kind: bool,
    /// Show single held-out questions too; costs the ledger a bit a question
    #[arg(long)]
    reveal: bool,
    /// A question set [default: development.yaml of `evals`, or the BEIR folder]
    #[arg(long, value_name = "FILE")]
    set: Option<PathBuf>,
    /// Only the documents that this file lists, as `documents = [..]`
    #[arg(long, value_name = "FILE")]
    subset: Option<PathBuf>,
    /// Which legs to use
    #[arg(long, value_enum, default_value_t = ModeArg::Hybrid)]
    mode: ModeArg,
    /// Blocks in the window, 1 to the depth of 100 [default: search.k of atlas.toml, 5]
    #[arg(short, value_name = "N")]
    k: Option<usize>,
    /// Try a minimum score, 0 to 1, without changing any setting
    #[arg(long, value_name = "X")]
    min_score: Option<f64>,
    #[command(flatten)]
    sweep: sweep::SweepArgs,
    /// Show precision and tokens with and without filters: those that questions carry, and one on
    /// KEY where a question's words name a value of it
    #[arg(
        long,
        value_name = "KEY",
        num_args = 0..=1,
        default_missing_value = "product",
        conflicts_with_all = ["held_out", "sweep", "compare", "subset", "export_ragas", "export_run", "export_qrels"]
    )]
    filters: Option<String>,
    /// Leave out the line a question
    #[arg(long)]
    summary: bool,
    /// List every block that arrived and does not answer, with its score in full
    #[arg(long)]
    noise: bool,
    /// Compare with a measurement that `--format json` wrote
    #[arg(long, value_name = "FILE")]
    compare: Option<PathBuf>,
    /// Compare even if the corpus or the question set is another than then
    #[arg(long, requires = "compare")]
    across: bool,
    /// Print what changed and nothing else
    #[arg(long, requires = "compare")]
    quiet: bool,
    /// Measure nothing: write into the question set which text each label was made on, where that is
    /// not recorded yet
    #[arg(long, conflicts_with_all = ["sweep", "compare", "subset"])]
    record_hashes: bool,
    #[command(flatten)]
    exports: Exports,
}

/// The list of a subset.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Subset {
    documents: Vec<String>,
}

/// Measures the project's retrieval.
pub fn run(args: &MeasureArgs, global: &Global, out: &mut Output) -> Result<Exit> {
    let mut project = project(global)?;
    if let Some(subset) = &args.subset {
        take_subset(&mut project, subset, global)?;
    }
    let mut settings = project.file.search.clone();
    if let Some(k) = args.k {
        if !(1..=settings.depth).contains(&k) {
            let expected = format!("a whole number from 1 to {}, the depth", settings.depth);
            return Err(Error::invalid("-k", k, expected));
        }
        settings.k = k;
    }
    if let Some(min_score) = args.min_score {
        if !(0.0..=1.0).contains(&min_score) {
            return Err(Error::invalid("--min-score", min_score, "a number from 0 to 1"));
        }
        settings.min_score = min_score;
    }
    settings.check()?;
    let shows_held_out =
        args.held_out || args.set.as_ref().is_some_and(|set| project.is_held_out(set));
    let held_out = shows_held_out && args.sweep.sweep.is_none();
    if shows_held_out && args.filters.is_some() {
        let expected = "the development questions: what filters do names single questions";
        return Err(Error::invalid("--filters", "held-out", expected));
    }
    if held_out && !args.reveal && args.exports.show_questions() {
        let expected = "`--reveal` with it, since the file shows single held-out questions";
        return Err(Error::invalid("the export", "of held-out questions", expected));
    }
    let name = if held_out { "held-out" } else { "development" };
    let path = args.set.clone().unwrap_or_else(|| project.question_set(name));
    let mut set = project.questions(&path)?;
    let index = Arc::new(build::ensure(&project)?);
    let mut labels = Vec::new();
    if !set.by_document {
        labels = labels::resolve(&index, &mut set, args.subset.is_some())?;
    }
    if args.subset.is_some() {
        keep_answerable(&mut set, &index)?;
    } else if !set.by_document {
        let exists = |unit: &str| Ok(units::parse(index.passages(), unit)?.is_some());
        set.check(exists, || units::all_blocks(index.passages()))?;
    }
    if args.record_hashes {
        return record_hashes(&path, &index, global.format, out);
    }
    let searcher = Searcher::new(Arc::clone(&index), settings.clone())?;
    let options = Options { mode: args.mode.into(), ..Options::default() };
    if let (_, Some(why)) = project.asker(None) {
        return Err(Error::invalid("default_asker", "missing or unknown", why));
    }
    if project.policy.is_some() {
        known_askers(&set, &project)?;
    }
    let scope_of = |question: &Question| project.scope(&index, question.asker.as_deref());
    if let Some(knob) = args.sweep.sweep {
        if let Some(stale) = stale_line(&labels, false) {
            note(&stale);
        }
        keep_readable(&index, &mut set, &scope_of)?;
        return run_sweep(args, knob, &project, &searcher, &set, global.format, out);
    }
    if let Some(key) = &args.filters {
        if let Some(stale) = stale_line(&labels, false) {
            note(&stale);
        }
        return filters::run(key, &project, &searcher, &set, options.mode, global.format, out);
    }
    let mut measured = measure(&searcher, &index, &settings, &set, options, &scope_of)?;
    measured.labels = labels;
    let sets = vec![(set.name.clone(), set.hash.clone())];
    let receipt =
        Receipt::new(index.manifest(), sets, options.mode, &settings, project.access_id());
    let look = if held_out { Some(look(&project, args, &set, &measured, &receipt)?) } else { None };
    // A look is in the ledger before anything of it leaves.
    args.exports.write(&index, &set, &measured)?;
    let compared = match &args.compare {
        Some(path) => Some(compared(path, args, &project, &measured, &receipt)?),
        None => None,
    };
    let report = MeasureReport {
        manifest: index.manifest(),
        settings: &settings,
        show_questions: !held_out || args.reveal,
        show_kinds: !held_out || args.reveal || args.by_kind,
        receipt,
        sets: vec![measured],
    };
    let drifted = match &args.compare {
        Some(path) => drifted(path, &set, &report)?,
        None => None,
    };
    match global.format {
        Format::Json => {
            let mut whole = measure_json(&report);
            if let (Some(whole), Some(compared)) = (whole.as_object_mut(), &compared) {
                whole.insert("comparison".to_owned(), json!(compared));
                whole.insert("drift".to_owned(), json!(drifted));
            }
            out.json(&whole);
        }
        Format::Text => {
            let columns = width();
            let shown = Shown { questions: !args.summary, noise: args.noise, columns };
            if !args.quiet {
                out.text(measure_text(&report, shown));
            }
            if let Some(look) = look {
                out.text(folded(&look, columns));
            }
            if let Some(compared) = &compared {
                if !args.quiet {
                    out.line("");
                }
                let questions = report.show_questions;
                out.text(compare_text(compared, &report.receipt, questions, columns));
                if let Some(drifted) = &drifted {
                    drift::between_text(drifted, questions, out);
                }
            }
            if args.quiet {
                return Ok(Exit::Done);
            }
            out.line("");
            out.text(timing_text(&report.sets[0], columns));
            if report.show_questions && !set.by_document {
                out.text(folded(&closing(&set, &report.sets[0], &project), columns));
            }
        }
    }
    Ok(Exit::Done)
}

/// Compares with what was recorded; refuses other ground unless that is asked for.
fn compared(
    path: &Path,
    args: &MeasureArgs,
    project: &Project,
    measured: &Measurement,
    receipt: &Receipt,
) -> Result<Comparison> {
    let now = compare::Receipt {
        corpus: &receipt.corpus,
        mode: json!(receipt.mode),
        settings: json!(receipt.settings),
        answers: None,
    };
    let compared = compare::compare(&compare::read(path)?, measured, &now, &declared(project)?)?;
    if (compared.other_corpus || compared.other_set) && !args.across {
        let what = if compared.other_corpus { "corpus" } else { "question set" };
        let problem = format!("it was measured on another {what}");
        let help = "measure both on the same, or compare `--across` and read the difference as one of both";
        return Err(Error::input(path, None, problem, help));
    }
    Ok(compared)
}

/// The measures that `targets.toml` declares; recall alone without one.
pub(super) fn declared(project: &Project) -> Result<Declared> {
    let targets = latency::targets(project, None)?;
    Ok(targets.map_or_else(Declared::default, |targets| Declared {
        primary: targets.primary_measure,
        secondary: targets.secondary_measures,
        accepted: targets.accepted_loss,
    }))
}

/// Writes a look at held-out questions into the ledger, once for each receipt, and says what all of
/// them cost, which questions are used up by now, and how many fresh ones are owed. A look that cannot
/// be written is not given.
fn look(
    project: &Project,
    args: &MeasureArgs,
    set: &QuestionSet,
    measured: &Measurement,
    receipt: &Receipt,
) -> Result<String> {
    let path = project.ledger();
    let mut entries = ledger::read(&path)?;
    let shown = if args.reveal {
        ledger::Shown::Questions
    } else if args.by_kind {
        let kinds = measured.kinds();
        ledger::Shown::Kinds(kinds.iter().map(|kind| measured.scored(Some(kind)).count()).collect())
    } else {
        ledger::Shown::Totals
    };
    let n = measured.scored(None).count();
    if !ledger::known(&entries, &receipt.id, shown.name()) {
        let missed = measured.scored(None).filter(|question| !question.losses.is_empty());
        let entry = Entry::Look {
            date: today(),
            set: measured.set.clone(),
            receipt: receipt.id.clone(),
            shown: shown.name().to_owned(),
            bits: ledger::bits(n, &shown),
            settings: Some(receipt.settings_line()),
            missed: args.reveal.then(|| missed.map(|question| question.id.clone()).collect()),
        };
        ledger::append(&path, &entry)?;
        entries.push(entry);
    }
    let spent = ledger::spent(&entries, &measured.set);
    let mut said = format!(
        "ledger      look {} of this set; {:.1} of {n} bits spent on which questions hit{}\n            \
         at 5 %, {} by luck alone with {:.0} %\n",
        spent.looks,
        spent.bits,
        if spent.bits >= n as f64 { ": all there is to know" } else { "" },
        match spent.looks {
            1 => "one comparison shows a difference".to_owned(),
            looks => format!("{looks} comparisons show a difference"),
        },
        ledger::false_discovery(spent.looks) * 100.0
    );
    let arrives = |id: &str| measured.scored(None).any(|q| q.id == id && q.losses.is_empty());
    for id in ledger::used_up(&entries, &measured.set, &receipt.id, arrives) {
        said.push_str(&format!(
            "used up     {id} was shown as missed, and arrives since something changed: `atlas promote {id}`\n"
        ));
    }
    let owed = ledger::owed(&entries, set.questions.len());
    if owed > 0 {
        said.push_str(&format!(
            "owed        {} for those that moved\n",
            counted(owed, "fresh question")
        ));
    }
    Ok(said)
}

/// How scores have drifted since the measurement at `path`.
fn drifted(path: &Path, set: &QuestionSet, report: &MeasureReport<'_>) -> Result<Option<Between>> {
    let Some(now) = report.sets.first() else { return Ok(None) };
    let judged = |id: &str, block: &str| {
        let asked = set.questions.iter().find(|question| question.id == id);
        asked.is_some_and(|asked| asked.judgments.units().any(|unit| unit == block))
    };
    let before = recorded(path, &now.set)?;
    Ok(Some(between(&before, &drift_of::run(now, report.manifest), &judged)))
}

/// Refuses questions by an asker whom nobody knows: they would count as misses.
fn known_askers(set: &QuestionSet, project: &Project) -> Result<()> {
    for question in &set.questions {
        if let Some(Err(why)) = question.asker.as_deref().map(|id| project.askers.known(id)) {
            let problem = format!("question {}: {why}", question.id);
            return Err(Error::input(&set.path, Some(question.line), problem, ""));
        }
    }
    Ok(())
}

/// Writes the hash of every label that has none yet. A label that has one is a person's to change, by
/// a review.
fn record_hashes(path: &Path, index: &Index, format: Format, out: &mut Output) -> Result<Exit> {
    let set = QuestionSet::read(path)?;
    let mut hashes = labels::hashes(index, &set)?;
    let mut added = 0;
    for question in &set.questions {
        let own = hashes.entry(question.id.clone()).or_default();
        added += own.keys().filter(|unit| !question.hashes.contains_key(*unit)).count();
        own.extend(question.hashes.clone());
    }
    let changed = labels::record(path, &hashes)?;
    match format {
        Format::Json => out.json(&json!({ "questions": changed, "labels": added })),
        Format::Text => out.line(format!(
            "{} of {} got the hash of its text",
            counted(added, "label"),
            counted(changed, "question")
        )),
    }
    Ok(Exit::Done)
}

/// Narrows the project to the documents listed in `file`, with an index of their own.
pub(super) fn take_subset(project: &mut Project, file: &Path, global: &Global) -> Result<()> {
    let near = project.corpus.join(file);
    let path = if file.is_file() { file.to_owned() } else { near };
    let text = std::fs::read_to_string(&path).map_err(|e| Error::io("reading subset", &path, e))?;
    let subset: Subset = toml::from_str(&text).map_err(|e| {
        Error::input(&path, None, e.message().to_owned(), "it holds `documents = [\"ID\", ..]`")
    })?;
    project.file.reading.subset = Some(subset.documents);
    if global.index.is_none() {
        let stem = file.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        let name = project.index.file_name().unwrap_or_default().to_string_lossy().into_owned();
        project.index.set_file_name(format!("{name}-{stem}"));
    }
    Ok(())
}

/// Marks questions unscoreable whose evidence lies outside the subset, and takes units outside it
/// out of groups that have others.
fn keep_answerable(set: &mut QuestionSet, index: &Index) -> Result<()> {
    for question in &mut set.questions {
        let mut inside = BTreeSet::new();
        for unit in question.judgments.units() {
            if units::parse(index.passages(), unit)?.is_some() {
                inside.insert(unit.to_owned());
            }
        }
        let kept = question.judgments.mapped(|unit| inside.get(unit).cloned());
        match kept {
            Some(judgments) => question.judgments = judgments,
            None => question.unscoreable = Some("its evidence is not in the subset".to_owned()),
        }
        question.filter.clear();
    }
    Ok(())
}

/// One real hit, one miss with its cause, and what to try next.
fn closing(set: &QuestionSet, measured: &Measurement, project: &Project) -> String {
    let mut lines = Vec::new();
    let text = |measured: &Measured| {
        let asked = set.questions.iter().find(|question| question.id == measured.id);
        asked.map_or_else(String::new, |question| one_line(&question.question, 70))
    };
    let scored = || measured.scored(None);
    if scored().next().is_none() {
        return String::new();
    }
    lines.push(String::new());
    if let Some(hit) = scored().find(|q| q.value("rank") == Some(1.0)) {
        let block = hit.supplied.first().map_or("", |block| block.reference.as_str());
        lines.push(format!("a hit       \"{}\"", text(hit)));
        lines.push(format!("            {block} came first of {} blocks", hit.supplied.len()));
    }
    let miss = scored().find(|q| !q.losses.is_empty());
    match miss.and_then(|q| q.losses.first().map(|loss| (q, loss))) {
        Some((question, loss)) => {
            let what = loss.units.join(" or ");
            let cause = match &loss.found {
                None => "no leg found it".to_owned(),
                Some((_, place, _)) => {
                    format!("it was ranked {place} of {} candidates", loss.candidates)
                }
            };
            lines.push(format!("a miss      \"{}\"", text(question)));
            lines.push(format!("            {}: {what}; {cause}", loss.class()));
        }
        None => lines.push(
            "no miss     every question got its evidence; look at precision, and try --held-out"
                .to_owned(),
        ),
    }
    // Whoever measures this repository has not installed the program yet.
    if project.folder.join("Cargo.toml").is_file() {
        lines.push(
            "try next    cargo install --path .    then, in a folder of your own:".to_owned(),
        );
        lines.push("            atlas init && atlas search \"a question about it\"".to_owned());
    }
    lines.push(String::new());
    lines.join("\n")
}

/// Sweeps the development questions; `--held-out` shows the held-out ones beside them.
fn run_sweep(
    args: &MeasureArgs,
    knob: sweep::KnobArg,
    project: &Project,
    searcher: &Searcher,
    set: &QuestionSet,
    format: Format,
    out: &mut Output,
) -> Result<Exit> {
    if args.set.as_ref().is_some_and(|set| project.is_held_out(set)) {
        let expected = "the development questions: nothing is chosen on held-out ones";
        return Err(Error::invalid("--sweep", "held-out", expected));
    }
    let beside = if args.held_out {
        let mut set = project.questions(&project.question_set("held-out"))?;
        if let Some(stale) = stale_line(&labels::resolve(searcher.index(), &mut set, false)?, true)
        {
            note(&stale);
        }
        let passages = searcher.index().passages();
        let exists = |unit: &str| Ok(units::parse(passages, unit)?.is_some());
        set.check(exists, || units::all_blocks(passages))?;
        let scope_of =
            |question: &Question| project.scope(searcher.index(), question.asker.as_deref());
        keep_readable(searcher.index(), &mut set, &scope_of)?;
        Some(set)
    } else {
        None
    };
    let mode = args.mode.into();
    let ground = sweep::Ground { project, searcher, set, held_out: beside.as_ref(), mode };
    sweep::run(&args.sweep, knob, &ground, format, out)
}
