//! `atlas scorecard`.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use atlas::error::{Error, Result};
use atlas::eval::adoption::{self as adoption_of, Adoption, Roster, Window, adoption};
use atlas::eval::latency::{self as latency_of, judge};
use atlas::eval::ledger;
use atlas::eval::measurement::{Measurement, Options, measure};
use atlas::eval::questions::{Question, QuestionSet};
use atlas::eval::reproduce::{Reproduced, reproduce};
use atlas::eval::scorecard::{self, Recorded, Row, Scorecard, census, changed, gate, times};
use atlas::eval::targets::{Target, Targets, Verdict};
use atlas::eval::{compare, leakage, ratings};
use atlas::index::Index;
use atlas::project::Project;
use atlas::report::{
    AdoptionReport, Case, LatencyReport, MeasureReport, Receipt, annotations, junit, markdown,
    measure_json, of_leakage, of_questions, of_scorecard, scorecard_json, scorecard_text,
};
use atlas::search::{Mode, Searcher};
use atlas::trace::log::Log;
use clap::Args;

use super::adoption::{end, log, of_target, remarks};
use super::answered::{Answered, answered};
use super::output::{Output, note, today};
use super::page::{self, Shown};
use super::usage::key;
use super::{Exit, Format, Global, build, build_time, latency, project};

/// Arguments of `scorecard`.
#[derive(Debug, Args)]
pub struct ScorecardArgs {
    /// The targets [default: targets.toml of `evals`]
    #[arg(long, value_name = "FILE")]
    targets: Option<PathBuf>,
    /// The usage log of the live system, for latency and adoption [default: usage_log of atlas.toml]
    #[arg(long, value_name = "FILE")]
    log: Option<PathBuf>,
    /// The people counted by adoption [default: roster.yaml of `evals`]
    #[arg(long, value_name = "FILE")]
    roster: Option<PathBuf>,
    /// A filled-in rating sheet; given twice, for two raters, who then decide coverage
    #[arg(long, value_name = "FILE")]
    ratings: Vec<PathBuf>,
    /// Write the answers as a sheet for people to rate, CSV
    #[arg(long, value_name = "FILE")]
    ratings_sheet: Option<PathBuf>,
    /// Say what changed since a scorecard that `--format json` wrote
    #[arg(long, value_name = "FILE")]
    compare: Option<PathBuf>,
    /// Measure again what this file of `measure` or `scorecard --format json` tells of the development
    /// questions, and name the first byte that differs; nothing else is done
    #[arg(long, value_name = "FILE")]
    verify: Option<PathBuf>,
    /// Acknowledge the targets as they stand, with the reason; written into the ledger
    #[arg(long, value_name = "WHY")]
    acknowledge: Option<String>,
    /// Who acknowledges
    #[arg(long, value_name = "NAME", requires = "acknowledge", default_value = "unnamed")]
    who: String,
    /// Write one self-contained page
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,
    /// Write the cases as JUnit XML
    #[arg(long, value_name = "FILE")]
    junit: Option<PathBuf>,
    /// Write a summary in Markdown
    #[arg(long, value_name = "FILE")]
    markdown: Option<PathBuf>,
    /// Print an annotation for code hosts for every case that is not as it should be
    #[arg(long)]
    annotations: bool,
}

/// What was measured for the page.
pub struct Measured {
    /// The project.
    pub project: Project,
    /// Its index.
    pub index: Arc<Index>,
    /// The development questions.
    pub set: QuestionSet,
    /// What came of them.
    pub measurement: Measurement,
    /// What it was measured on.
    pub receipt: Receipt,
}

/// Judges every target and the gate; exit code 2 when the gate fails, 1 when a target is missed, 3 when
/// something is not measured or cannot be told.
pub fn run(args: &ScorecardArgs, global: &Global, out: &mut Output) -> Result<Exit> {
    let own = project(global)?;
    if let Some(path) = &args.verify {
        return verify(path, own, out);
    }
    let Some(targets) = latency::targets(&own, args.targets.as_deref())? else {
        let path = own.evals.join("targets.toml");
        let help = "write some; the form is described in evals/README.md, \"Targets\"";
        return Err(Error::input(path, None, "there are no targets here", help));
    };
    if args.ratings.len() > 2 || args.ratings.len() == 1 {
        return Err(Error::invalid(
            "--ratings",
            args.ratings.len(),
            "two sheets, one of each rater",
        ));
    }
    let before = args.compare.as_deref().map(recorded).transpose()?;
    if let Some(why) = &args.acknowledge {
        let entry = targets.acknowledged(today(), args.who.clone(), why.clone());
        ledger::append(&own.ledger(), &entry)?;
    }
    let measured = measured(own)?;
    let mut rows = Vec::new();
    let mut cases = of_questions(&measured.set, &measured.measurement);
    let mut notes = Vec::new();
    let mut times_of = None;
    let mut people = None;
    let mut checked = None;
    let mut built = None;
    let own = &measured.project;
    for target in &targets.rows {
        match target.name {
            "leakage" => {
                let (row, more) = leakage_row(own, &targets, target)?;
                rows.push(row);
                cases.extend(more);
            }
            "latency" => rows.extend(latency_rows(args, own, &targets, target)?),
            "retrieval" => {
                let (run, ground) = latency::standard(own)?;
                rows.extend(times(target, &judge(target, &run)));
                times_of = Some((run, ground));
            }
            "adoption" => {
                let (row, found) = adoption_row(args, own, &targets, target)?;
                rows.push(row);
                people = found;
            }
            "coverage" => {
                checked = answered(&of_target(own, Some(&targets), target.name)?)?;
                rows.push(coverage_row(args, target, checked.as_ref(), &mut notes)?);
            }
            "groundedness" => rows.push(match &checked {
                Some(checked) => checked.groundedness(target),
                None => Row::not_measured(target, 0, "no answers were checked"),
            }),
            "build" | "rebuild_one_file" => {
                let project = of_target(own, Some(&targets), target.name)?;
                rows.push(build_time::row(&project, target, &mut built)?);
            }
            other => notes
                .push(format!("[{other}] is not judged here: its source is `{}`", target.source)),
        }
    }
    let entries = ledger::read(&own.ledger())?;
    let settings = &own.file.search;
    let mut work = scorecard::work(&measured.measurement, settings.k, settings.min_score);
    if let Some(checked) = &checked {
        work.splice(0..0, checked.work());
        cases.extend(checked.cases());
    }
    let card = Scorecard {
        date: today(),
        targets: targets.hash.clone(),
        agreed: targets.agreed.clone(),
        moved: targets.moved(&entries),
        changed: before.as_ref().map(|before| changed(before, &rows)),
        rows,
        work,
        notes,
        receipt: measured.receipt.id.clone(),
    };
    let mut all = of_scorecard(&targets, &card);
    all.append(&mut cases);
    relative(&mut all);
    let found = Found {
        measured: &measured,
        card: &card,
        cases: &all,
        times: times_of.as_ref(),
        people: people.as_ref(),
        checked: checked.as_ref(),
        targets: &targets,
    };
    write(args, &found)?;
    match global.format {
        Format::Json => out.json(&scorecard_json(&card, measured_json(&measured))),
        Format::Text => out.text(scorecard_text(&card)),
    }
    if args.annotations {
        out.text(annotations(&all));
    }
    Ok(match card.verdict() {
        Verdict::GateFailed => Exit::GateFailed,
        Verdict::Missed => Exit::Failed,
        Verdict::CannotTell | Verdict::NotMeasured => Exit::CannotTell,
        Verdict::Met => Exit::Done,
    })
}

/// Runs a receipt again; exit code 1 when a number differs, 3 when it was measured on something else.
fn verify(path: &Path, own: Project, out: &mut Output) -> Result<Exit> {
    let now = measured_json(&measured(own)?);
    Ok(match reproduce(path, &now)? {
        Reproduced::Same { bytes } => {
            out.line(format!("the same: {bytes} bytes of numbers, each as it was"));
            Exit::Done
        }
        Reproduced::Differs { byte, recorded, now } => {
            out.line(format!("DIFFERS     at byte {byte} of the sets, under equal receipts"));
            out.line(format!("  it was    {recorded}"));
            out.line(format!("  it is     {now}"));
            Exit::Failed
        }
        Reproduced::OtherGround(parts) => {
            let parts = parts.join(", ");
            out.line(format!(
                "cannot tell: it was measured on something else, by its receipt: {parts}"
            ));
            Exit::CannotTell
        }
    })
}

/// The rows of an earlier scorecard.
fn recorded(path: &Path) -> Result<Vec<Recorded>> {
    #[derive(serde::Deserialize)]
    struct File {
        rows: Vec<Recorded>,
    }
    let text = std::fs::read_to_string(path)
        .map_err(|e| Error::reading("reading a scorecard", path, e))?;
    let file: File = serde_json::from_str(&text).map_err(|fault| {
        let (problem, _) = atlas::error::complaint(&fault.to_string(), "");
        let help = "write one with `atlas scorecard --format json > FILE`";
        Error::input(
            path,
            Some(fault.line() as u64),
            format!("it is no scorecard: {problem}"),
            help,
        )
    })?;
    Ok(file.rows)
}

/// Measures the development questions, as `measure` does.
fn measured(project: Project) -> Result<Measured> {
    let index = Arc::new(build::ensure(&project)?);
    let mut set = project.questions(&project.question_set("development"))?;
    // Labels are followed to where their texts stand now, as `measure` does.
    let labels = super::labels::follow(&index, &mut set)?;
    let settings = project.file.search.clone();
    let searcher = Searcher::new(Arc::clone(&index), settings.clone())?;
    let scope_of = |question: &Question| project.scope(&index, question.asker.as_deref());
    let mut measurement =
        measure(&searcher, &index, &settings, &set, Options::default(), &scope_of)?;
    measurement.labels = labels;
    let sets = vec![(set.name.clone(), set.hash.clone())];
    let receipt =
        Receipt::new(index.manifest(), sets, Mode::default(), &settings, project.access_id());
    Ok(Measured { project, index, set, measurement, receipt })
}

fn measured_json(measured: &Measured) -> serde_json::Value {
    measure_json(&MeasureReport {
        manifest: measured.index.manifest(),
        settings: &measured.project.file.search,
        sets: vec![measured.measurement.clone()],
        show_questions: true,
        show_kinds: true,
        receipt: measured.receipt.clone(),
    })
}

/// The gate, on the project that holds its cases.
fn leakage_row(own: &Project, targets: &Targets, target: &Target) -> Result<(Row, Vec<Case>)> {
    let project = of_target(own, Some(targets), target.name)?;
    let path = project.evals.join("leakage.yaml");
    if project.policy.is_none() {
        let why = "the project is open: there is nothing to leak, and no gate to pass";
        return Ok((Row::not_measured(target, 0, why), Vec::new()));
    }
    let cases = leakage::read(&path, &project.askers)?;
    let report = super::leakage::gate(&project, &cases)?;
    Ok((gate(target, &report), of_leakage(&path, &cases, &report)))
}

/// Latency of the live system, from its log; a log that was made up measures nothing.
fn latency_rows(
    args: &ScorecardArgs,
    own: &Project,
    targets: &Targets,
    target: &Target,
) -> Result<Vec<Row>> {
    let project = of_target(own, Some(targets), target.name)?;
    let Ok((path, log)) = log(&project, args.log.as_deref()) else {
        let why =
            "there is no usage log; set `usage_log` in atlas.toml, or name one with `--log FILE`";
        return Ok(Row::all_not_measured(target, why));
    };
    if let Some(why) = made_up(&path, &log) {
        return Ok(Row::all_not_measured(target, &why));
    }
    let mut rows = times(target, &judge(target, &latency_of::from_log(&log)));
    for row in &mut rows {
        row.notes.extend(remarks(&log));
    }
    Ok(rows)
}

/// Why the log at `path` measures nothing, whether somebody named it or it is the sample that ships.
fn made_up(path: &Path, log: &Log) -> Option<String> {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    log.is_synthetic().then(|| {
        format!(
            "{name} was made up: sample data, and no evidence of any system; name the log of a live one \
             with `--log FILE`"
        )
    })
}

/// What adoption is printed and drawn from.
pub struct People {
    table: Adoption,
    roster: Roster,
    log: String,
    remarks: Vec<String>,
    value: Option<f64>,
    verdict: Verdict,
    why: Option<String>,
}

impl People {
    /// The report of it.
    pub fn report<'r>(&'r self, target: Option<&'r Target>) -> AdoptionReport<'r> {
        AdoptionReport {
            adoption: &self.table,
            group: &self.roster.group,
            launch: self.roster.launch.to_string(),
            log: self.log.clone(),
            remarks: self.remarks.clone(),
            judged: target.map(|target| (target, self.value, self.verdict, self.why.clone())),
        }
    }
}

fn adoption_row(
    args: &ScorecardArgs,
    own: &Project,
    targets: &Targets,
    target: &Target,
) -> Result<(Row, Option<People>)> {
    let project = of_target(own, Some(targets), target.name)?;
    let Ok((path, log)) = log(&project, args.log.as_deref()) else {
        let why =
            "there is no usage log; set `usage_log` in atlas.toml, or name one with `--log FILE`";
        return Ok((Row::not_measured(target, 0, why), None));
    };
    let roster_path = args.roster.clone().unwrap_or_else(|| project.evals.join("roster.yaml"));
    let roster = Roster::read(&roster_path)?;
    let window = Window { since_s: None, until_s: end(&log), weeks: 8 };
    let key = project.file.usage_log_pseudonyms.then(|| key(&project));
    let table = adoption(&log, &roster, key.as_deref(), window);
    let (value, mut verdict, mut why) = adoption_of::judge(target, &table);
    let week = &table.target_week;
    let mut count = value.is_some().then_some((week.members_asking, week.members));
    if let Some(made_up) = made_up(&path, &log) {
        (verdict, why, count) = (Verdict::NotMeasured, Some(made_up), None);
    }
    let mut row = census(target, count, verdict, why.clone());
    if args.log.is_some() {
        row.notes.extend(remarks(&log));
    }
    let people = People {
        log: path.file_name().unwrap_or_default().to_string_lossy().into_owned(),
        remarks: remarks(&log),
        value: count.map(|(k, n)| k as f64 / n as f64),
        table,
        roster,
        verdict,
        why,
    };
    Ok((row, Some(people)))
}

/// Coverage by two raters; without them, as a machine sees it.
fn coverage_row(
    args: &ScorecardArgs,
    target: &Target,
    checked: Option<&Answered>,
    notes: &mut Vec<String>,
) -> Result<Row> {
    let [first, second] = args.ratings.as_slice() else {
        return Ok(match checked {
            Some(checked) => checked.coverage(target),
            None => Row::not_measured(target, 0, "there are no expected answers (questions.yaml)"),
        });
    };
    let agreement = ratings::agreement(&ratings::read(first)?, &ratings::read(second)?);
    let mut row = scorecard::share(target, agreement.both_correct, agreement.n);
    row.notes.extend(agreement.remarks());
    notes.extend(agreement.kappa_words());
    Ok(row)
}

/// Paths as seen from here, without detours, so that a code host finds them.
fn relative(cases: &mut [Case]) {
    let here = std::env::current_dir().and_then(|here| here.canonicalize());
    let Ok(here) = here else { return };
    for case in cases {
        let whole = case.path.canonicalize().ok();
        if let Some(inside) = whole.as_deref().and_then(|whole| whole.strip_prefix(&here).ok()) {
            case.path = inside.to_owned();
        }
    }
}

/// What the files are written from.
struct Found<'f> {
    measured: &'f Measured,
    card: &'f Scorecard,
    cases: &'f [Case],
    times: Option<&'f (latency_of::Run, String)>,
    people: Option<&'f People>,
    checked: Option<&'f Answered>,
    targets: &'f Targets,
}

/// Writes the files that were asked for.
fn write(args: &ScorecardArgs, found: &Found<'_>) -> Result<()> {
    let put = |path: &Path, text: String| {
        std::fs::write(path, text).map_err(|e| Error::io("writing", path, e))?;
        note(&format!("wrote {}", path.display()));
        Ok(())
    };
    if let Some(path) = &args.ratings_sheet {
        let Some(checked) = found.checked else {
            let expected =
                "a project with expected answers (questions.yaml), which [coverage] names";
            return Err(Error::invalid("--ratings-sheet", path.display(), expected));
        };
        put(path, ratings::sheet_of(&checked.sheet()))?;
    }
    if let Some(path) = &args.junit {
        put(path, junit(found.cases))?;
    }
    if let Some(path) = &args.markdown {
        put(path, markdown(found.card, found.cases))?;
    }
    if let Some(path) = &args.html {
        put(path, html_of(args, found)?)?;
    }
    Ok(())
}

fn html_of(args: &ScorecardArgs, found: &Found<'_>) -> Result<String> {
    let latency = found.times.map(|(run, ground)| LatencyReport {
        run,
        rows: run.rows(),
        ground: ground.clone(),
        targets: Vec::new(),
        no_targets: None,
        expected: Vec::new(),
        remarks: Vec::new(),
        comparison: None,
    });
    let measured = found.measured;
    let comparison = match &args.compare {
        Some(path) => {
            let now = compare::Receipt {
                corpus: &measured.receipt.corpus,
                mode: serde_json::json!(measured.receipt.mode),
                settings: serde_json::json!(measured.receipt.settings),
                answers: None,
            };
            let before = compare::read(path)?;
            let declared = super::measure::declared(&measured.project)?;
            Some(compare::compare(&before, &measured.measurement, &now, &declared)?)
        }
        None => None,
    };
    page::page(&Shown {
        measured,
        card: found.card,
        latency: latency.as_ref(),
        adoption: found.people.map(|people| people.report(found.targets.get("adoption"))),
        comparison: comparison.as_ref(),
        answers: found.checked.map(Answered::rungs).unwrap_or_default(),
    })
}
