//! `atlas latency`.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use atlas::error::{Error, Result};
use atlas::eval::latency::{self, First, Load, Recorded, Run, compare, diagnoses, judge};
use atlas::eval::measurement::{Options, request};
use atlas::eval::questions::QuestionSet;
use atlas::eval::targets::{Targets, Verdict};
use atlas::index::Index;
use atlas::project::Project;
use atlas::report::{LatencyReport, counted, latency_json, latency_text};
use atlas::search::{Outcome, Request, Retriever, Searcher};
use atlas::trace::log::Log;
use clap::Args;

use super::adoption::remarks;
use super::load::{self, Answered, Plan};
use super::output::{Output, note};
use super::search::ModeArg;
use super::{Exit, Format, Global, build, project};

/// Requests that a run without `--repeat` makes at least: enough for a p95 with both limits.
const REQUESTS_MIN: usize = 200;

/// Arguments of `latency`.
#[derive(Debug, Args)]
pub struct LatencyArgs {
    /// A question set [default: development.yaml of `evals`, or the BEIR folder]
    #[arg(long, value_name = "FILE")]
    set: Option<PathBuf>,
    /// Which legs to use
    #[arg(long, value_enum, default_value_t = ModeArg::Hybrid)]
    mode: ModeArg,
    /// Times that every question is asked, 1 or more [default: as often as gives 200 requests]
    #[arg(long, value_name = "N")]
    repeat: Option<usize>,
    /// Passes over the questions before anything is counted
    #[arg(long, value_name = "N", default_value_t = 1)]
    warm_up: usize,
    /// Open the index anew for every request
    #[arg(long)]
    cold: bool,
    /// Threads that ask, 1 to 1000
    #[arg(long, value_name = "N", default_value_t = 1)]
    workers: usize,
    /// Open loop: a request is due at this rate, in requests a second
    #[arg(long, value_name = "R", conflicts_with = "arrivals")]
    rate: Option<f64>,
    /// Open loop: requests are due as those of this usage log were asked
    #[arg(long, value_name = "LOG")]
    arrivals: Option<PathBuf>,
    /// How many times as fast as the log `--arrivals` goes
    #[arg(long, value_name = "X", default_value_t = 1.0, requires = "arrivals")]
    speed: f64,
    /// Take the requests of this usage log instead of asking any
    #[arg(long, value_name = "LOG", conflicts_with_all = ["set", "repeat", "cold", "rate", "arrivals", "workers"])]
    log: Option<PathBuf>,
    /// Compare with runs that `--format json` wrote; several are added up
    #[arg(long, value_name = "FILE")]
    compare: Vec<PathBuf>,
    /// The targets [default: targets.toml of `evals`]
    #[arg(long, value_name = "FILE")]
    targets: Option<PathBuf>,
    /// Make one stage slower, to see that it is found
    #[arg(long, value_name = "STAGE=MS", hide = true)]
    delay: Option<String>,
}

/// The project's questions in a closed loop, on an open and warm index, as the target of retrieval has it.
pub fn standard(project: &Project) -> Result<(Run, String)> {
    let args = LatencyArgs {
        set: None,
        mode: ModeArg::Hybrid,
        repeat: None,
        warm_up: 1,
        cold: false,
        workers: 1,
        rate: None,
        arrivals: None,
        speed: 1.0,
        log: None,
        compare: Vec::new(),
        targets: None,
        delay: None,
    };
    let index = build::ensure(project)?;
    let ground = ground(project, &args, &index)?;
    Ok((replay(project, &args, index)?, ground))
}

/// Times requests; exit code 1 when a target is missed, 3 when that cannot be told.
pub fn run(args: &LatencyArgs, global: &Global, out: &mut Output) -> Result<Exit> {
    let project = project(global)?;
    check(args)?;
    let targets = targets(&project, args.targets.as_deref())?;
    let before = recorded(&args.compare)?;
    let mut sample = false;
    let (timed, ground, remarks) = match &args.log {
        Some(path) => {
            let logged = logged(path)?;
            sample = logged.made_up;
            (logged.run, logged.ground, logged.remarks)
        }
        None => {
            let index = build::ensure(&project)?;
            let ground = ground(&project, args, &index)?;
            (replay(&project, args, index)?, ground, Vec::new())
        }
    };
    let mut report = report(&timed, ground, remarks, targets.as_ref(), before.as_ref());
    if sample {
        // Numbers that were made up are shown, and hold no limit.
        report.targets.iter_mut().for_each(|judged| judged.verdict = Verdict::NotMeasured);
    }
    match global.format {
        Format::Json => out.json(&latency_json(&report)),
        Format::Text => out.text(latency_text(&report)),
    }
    Ok(match report.verdict() {
        Some(Verdict::Missed | Verdict::GateFailed) => Exit::Failed,
        Some(Verdict::CannotTell | Verdict::NotMeasured) => Exit::CannotTell,
        Some(Verdict::Met) | None => Exit::Done,
    })
}

fn check(args: &LatencyArgs) -> Result<()> {
    if args.repeat == Some(0) {
        return Err(Error::invalid("--repeat", 0, "a whole number from 1"));
    }
    if !(1..=1000).contains(&args.workers) {
        return Err(Error::invalid("--workers", args.workers, "a whole number from 1 to 1000"));
    }
    let positive = |name: &str, value: Option<f64>| match value {
        Some(value) if !(value.is_finite() && value > 0.0) => {
            Err(Error::invalid(name, value, "a number above 0"))
        }
        _ => Ok(()),
    };
    positive("--rate", args.rate)?;
    positive("--speed", Some(args.speed))
}

/// The targets of the project, if it has any; those named must exist.
pub fn targets(project: &Project, named: Option<&Path>) -> Result<Option<Targets>> {
    let own = project.evals.join("targets.toml");
    match named {
        Some(path) => Targets::read(path).map(Some),
        None if own.is_file() => Targets::read(&own).map(Some),
        None => Ok(None),
    }
}

fn recorded(paths: &[PathBuf]) -> Result<Option<Recorded>> {
    let mut all: Option<Recorded> = None;
    for path in paths {
        let one = Recorded::read(path)?;
        match &mut all {
            Some(all) => all.merge(&one),
            None => all = Some(one),
        }
    }
    Ok(all)
}

/// The requests of a usage log.
struct Logged {
    run: Run,
    /// What they are of.
    ground: String,
    /// What is to be said of the log.
    remarks: Vec<String>,
    /// Whether it was made up.
    made_up: bool,
}

fn logged(path: &Path) -> Result<Logged> {
    let log = Log::read(path)?;
    let mut indexes: Vec<&str> = log.entries.iter().map(|entry| entry.index.as_str()).collect();
    indexes.sort_unstable();
    indexes.dedup();
    let ground = match indexes.as_slice() {
        [one] => format!("usage log, index {}", one.get(..12).unwrap_or(one)),
        many => format!("usage log, {}", counted(many.len(), "index").replace("indexs", "indexes")),
    };
    Ok(Logged {
        run: latency::from_log(&log),
        ground,
        remarks: remarks(&log),
        made_up: log.is_synthetic(),
    })
}

/// What the numbers depend on: those of equal grounds can be compared.
fn ground(project: &Project, args: &LatencyArgs, index: &Index) -> Result<String> {
    let set = question_set(project, args)?;
    let short = |hash: &str| hash.get(..12).unwrap_or(hash).to_owned();
    let cores = std::thread::available_parallelism().map_or(0, usize::from);
    let profile = if cfg!(debug_assertions) { "debug build" } else { "release build" };
    Ok(format!(
        "index {} of {} passages, {} {}, {}, {} {}, {}, {profile}",
        short(&index.manifest().digest),
        index.manifest().passages,
        set.name,
        short(&set.hash),
        format!("{:?}", args.mode).to_lowercase(),
        std::env::consts::ARCH,
        std::env::consts::OS,
        counted(cores, "core"),
    ))
}

fn question_set(project: &Project, args: &LatencyArgs) -> Result<QuestionSet> {
    let own = || project.question_set("development");
    QuestionSet::read(&args.set.clone().unwrap_or_else(own))
}

/// Asks the questions as the arguments say.
fn replay(project: &Project, args: &LatencyArgs, index: Index) -> Result<Run> {
    let set = question_set(project, args)?;
    drop(index);
    let delay = args.delay.as_deref().map(parse_delay).transpose()?;
    let open = || -> Result<Opened> {
        let index = Arc::new(project.open_index()?);
        let settings = project.file.search.clone();
        Ok(Opened { searcher: Searcher::new(index, settings)?, delay: delay.clone() })
    };
    let options = Options { mode: args.mode.into(), ..Options::default() };
    let prepare = |opened: &Opened, at: usize| -> Result<Request> {
        let (question, searcher) = (&set.questions[at], &opened.searcher);
        let scope = project.scope(searcher.index(), question.asker.as_deref())?;
        request(searcher.index(), searcher.settings(), question, options, scope)
    };
    let began = Instant::now();
    let opened = open()?;
    let open_us = us(began.elapsed());
    let requests: Result<Vec<Request>> =
        (0..set.questions.len()).map(|at| prepare(&opened, at)).collect();
    let requests = requests?;
    let began = Instant::now();
    opened.retrieve(&requests[0])?;
    let first = First { open_us, search_us: us(began.elapsed()) };

    let each = set.questions.len();
    let (due, arrivals) = arrivals(args)?;
    let total = match (&due, args.repeat) {
        (_, Some(repeat)) => repeat * each,
        (Some(due), None) if !due.is_empty() => due.len(),
        _ => REQUESTS_MIN.div_ceil(each) * each,
    };
    let due = due.map(|due| schedule(due, args, total));
    let total = due.as_ref().map_or(total, |due| total.min(due.len()));
    let numbers: Vec<usize> = (0..total).map(|at| at % each).collect();
    let warm_up = if args.cold { 0 } else { args.warm_up * each };
    for at in 0..warm_up {
        opened.retrieve(&requests[at % each])?;
    }
    let warm = |at: usize| opened.retrieve(&requests[at]).map(|outcome| Answered::of(&outcome));
    let cold = |at: usize| {
        let began = Instant::now();
        let fresh = open()?;
        let request = prepare(&fresh, at)?;
        let open_us = us(began.elapsed());
        let mut answered = Answered::of(&fresh.retrieve(&request)?);
        answered.stages.insert(0, ("open".to_owned(), open_us));
        Ok(answered)
    };
    let plan = Plan { questions: &numbers, workers: args.workers, due: due.as_deref() };
    let done = if args.cold { load::run(&plan, &cold) } else { load::run(&plan, &warm) };
    if let Some(fault) = &done.fault {
        note(&format!("a request failed: {fault}"));
    }
    let workers = args.workers;
    Ok(Run {
        load: arrivals
            .map_or(Load::Closed { workers }, |arrivals| Load::Open { workers, arrivals }),
        stages: done.stages,
        requests: done.requests,
        warm_up,
        cold: args.cold,
        first: Some(first),
        elapsed_s: done.elapsed_s,
    })
}

fn us(time: Duration) -> f64 {
    time.as_secs_f64() * 1e6
}

/// The times of `--arrivals` from its first request on, none for a fixed rate, and what to call them;
/// neither in a closed loop.
fn arrivals(args: &LatencyArgs) -> Result<(Option<Vec<Duration>>, Option<String>)> {
    if let Some(rate) = args.rate {
        return Ok((Some(Vec::new()), Some(format!("{rate} due a second"))));
    }
    let Some(path) = &args.arrivals else { return Ok((None, None)) };
    let log = Log::read(path)?;
    let Some(first) = log.entries.first() else {
        return Err(Error::input(path, None, "the usage log is empty", "name one with requests"));
    };
    let after = |at_s: f64| Duration::from_secs_f64((at_s - first.at_s) / args.speed);
    let due = log.entries.iter().map(|entry| after(entry.at_s)).collect();
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let fast =
        if args.speed == 1.0 { String::new() } else { format!(", {} times as fast", args.speed) };
    Ok((Some(due), Some(format!("due as in {name}{fast}"))))
}

/// When each of `total` requests is due.
fn schedule(recorded: Vec<Duration>, args: &LatencyArgs, total: usize) -> Vec<Duration> {
    match args.rate {
        Some(rate) => (0..total).map(|at| Duration::from_secs_f64(at as f64 / rate)).collect(),
        None => recorded,
    }
}

/// A searcher, one stage of which may be slowed down.
struct Opened {
    searcher: Searcher,
    delay: Option<(String, Duration)>,
}

impl Retriever for Opened {
    fn retrieve(&self, request: &Request) -> Result<Outcome> {
        let mut outcome = self.searcher.retrieve(request)?;
        if let Some((name, by)) = &self.delay {
            let began = Instant::now();
            std::thread::sleep(*by);
            let slept = us(began.elapsed());
            for stage in outcome.trace.stages.iter_mut().filter(|stage| stage.name == name) {
                stage.elapsed_us += slept;
                outcome.trace.total_us += slept;
            }
        }
        Ok(outcome)
    }
}

fn parse_delay(written: &str) -> Result<(String, Duration)> {
    let parts = written.split_once('=').and_then(|(stage, ms)| Some((stage, ms.parse().ok()?)));
    let (stage, ms): (&str, f64) =
        parts.ok_or_else(|| Error::invalid("--delay", written, "STAGE=MS, such as dense=20"))?;
    Ok((stage.to_owned(), Duration::from_secs_f64((ms / 1000.0).clamp(0.0, 60.0))))
}

fn report<'r>(
    run: &'r Run,
    ground: String,
    remarks: Vec<String>,
    targets: Option<&Targets>,
    before: Option<&Recorded>,
) -> LatencyReport<'r> {
    let rows = run.rows();
    // A target says under which conditions it holds: the engine's own for a closed loop on an open
    // index, that of whole answers for the log of a live system.
    let (name, why) = match run.load {
        Load::Logged => ("latency", None),
        Load::Closed { .. } if !run.cold => ("retrieval", None),
        Load::Closed { .. } => ("", Some("the targets are of an index that is open")),
        Load::Open { .. } => ("", Some("the targets are of a closed loop")),
    };
    let target = targets.and_then(|targets| targets.get(name));
    let judged = target.map(|target| judge(target, run)).unwrap_or_default();
    let no_targets = match (why, target) {
        (Some(why), _) => Some(why.to_owned()),
        (None, None) => Some(format!("targets.toml of `evals` states no [{name}]")),
        (None, Some(_)) => None,
    };
    let expected = targets.and_then(|targets| targets.expected.as_ref());
    LatencyReport {
        comparison: before.map(|before| compare(before, &rows, &ground)),
        expected: expected.map(|expected| diagnoses(run, expected)).unwrap_or_default(),
        run,
        rows,
        ground,
        targets: judged,
        no_targets,
        remarks,
    }
}
