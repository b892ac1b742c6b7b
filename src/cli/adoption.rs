//! `atlas adoption`.

use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use atlas::error::{Error, Result};
use atlas::eval::adoption::{Roster, Window, adoption, day, judge};
use atlas::eval::targets::{Targets, Verdict};
use atlas::project::Project;
use atlas::report::{AdoptionReport, adoption_json, adoption_text, counted};
use atlas::trace::log::Log;
use clap::Args;

use super::output::Output;
use super::usage::key;
use super::{Exit, Format, Global, latency, project};

/// The log that a project may ship, to show the form.
pub const SAMPLE: &str = "usage-sample.jsonl";

/// Arguments of `adoption`.
#[derive(Debug, Args)]
pub struct AdoptionArgs {
    /// The usage log [default: usage_log of atlas.toml, else usage-sample.jsonl of `evals`]
    #[arg(long, value_name = "FILE")]
    log: Option<PathBuf>,
    /// The people counted [default: roster.yaml of `evals`]
    #[arg(long, value_name = "FILE")]
    roster: Option<PathBuf>,
    /// Weeks shown, 1 to 520, the last one first cut off
    #[arg(long, value_name = "N", default_value_t = 8)]
    weeks: usize,
    /// The first day of which the log is whole [default: launch, or the log's first request]
    #[arg(long, value_name = "YYYY-MM-DD")]
    since: Option<String>,
    /// The day before which the log ends [default: now; for a log that was made up, its last request]
    #[arg(long, value_name = "YYYY-MM-DD")]
    until: Option<String>,
    /// The targets [default: targets.toml of `evals`]
    #[arg(long, value_name = "FILE")]
    targets: Option<PathBuf>,
}

/// Shows who asked, week by week; exit code 1 when the target is missed, 3 when it cannot be told.
pub fn run(args: &AdoptionArgs, global: &Global, out: &mut Output) -> Result<Exit> {
    let own = project(global)?;
    if !(1..=520).contains(&args.weeks) {
        return Err(Error::invalid("--weeks", args.weeks, "a whole number from 1 to 520"));
    }
    let targets = latency::targets(&own, args.targets.as_deref())?;
    let project = of_target(&own, targets.as_ref(), "adoption")?;
    let (path, log) = log(&project, args.log.as_deref())?;
    let roster_path = args.roster.clone().unwrap_or_else(|| project.evals.join("roster.yaml"));
    let roster = Roster::read(&roster_path)?;
    let window = window(args, &roster, &log)?;
    let key = project.file.usage_log_pseudonyms.then(|| key(&project));
    let table = adoption(&log, &roster, key.as_deref(), window);
    let target = targets.as_ref().and_then(|targets| targets.get("adoption"));
    let judged = target.map(|target| {
        let (value, verdict, why) = judge(target, &table);
        match made_up(&log) {
            Some(why) => (target, value, Verdict::NotMeasured, Some(why)),
            None => (target, value, verdict, why),
        }
    });
    let exit = match judged {
        Some((_, _, Verdict::Missed | Verdict::GateFailed, _)) => Exit::Failed,
        Some((_, _, Verdict::CannotTell | Verdict::NotMeasured, _)) => Exit::CannotTell,
        _ => Exit::Done,
    };
    let report = AdoptionReport {
        adoption: &table,
        group: &roster.group,
        launch: roster.launch.to_string(),
        log: path.file_name().unwrap_or_default().to_string_lossy().into_owned(),
        remarks: remarks(&log),
        judged,
    };
    match global.format {
        Format::Json => out.json(&adoption_json(&report)),
        Format::Text => out.text(adoption_text(&report)),
    }
    Ok(exit)
}

/// The project that holds the sample of the target called `name`: this one, unless it names another.
pub fn of_target(own: &Project, targets: Option<&Targets>, name: &str) -> Result<Project> {
    let elsewhere = targets.and_then(|targets| targets.get(name)?.project.as_ref());
    let Some(folder) = elsewhere else { return Ok(own.clone()) };
    let folder = own.folder.join(folder);
    Project::find(Some(&folder), &own.folder, None, &[])
}

/// The log named, the project's own, or the sample that it ships.
pub fn log(project: &Project, named: Option<&Path>) -> Result<(PathBuf, Log)> {
    let own = project.file.usage_log.as_ref().map(|path| project.folder.join(path));
    let sample = project.evals.join(SAMPLE);
    let path = match (named, own) {
        (Some(named), _) => named.to_owned(),
        (None, Some(own)) if own.is_file() || !sample.is_file() => own,
        _ => sample,
    };
    let log = Log::read(&path)?;
    Ok((path, log))
}

/// Why a log that was made up measures nothing, however it was named.
pub fn made_up(log: &Log) -> Option<String> {
    log.is_synthetic()
        .then(|| "this log was made up: sample data, and no evidence of any system".to_owned())
}

/// What is to be said of a log.
pub fn remarks(log: &Log) -> Vec<String> {
    let mut remarks = Vec::new();
    remarks.extend(made_up(log));
    if let Some(first) = log.unreadable.first() {
        let n = counted(log.unreadable.len(), "line");
        remarks.push(format!("{n} of the log could not be read, the first of them line {first}"));
    }
    remarks
}

fn window(args: &AdoptionArgs, roster: &Roster, log: &Log) -> Result<Window> {
    let begins = |name: &str, written: &Option<String>| match written {
        None => Ok(None),
        Some(text) => {
            let date = day(text).ok_or_else(|| Error::invalid(name, text, "a day, YYYY-MM-DD"))?;
            let begins = date.midnight().assume_offset(roster.offset);
            Ok(Some(begins.unix_timestamp() as f64))
        }
    };
    let since_s = begins("--since", &args.since)?;
    let until_s = begins("--until", &args.until)?;
    Ok(Window { since_s, until_s: until_s.unwrap_or_else(|| end(log)), weeks: args.weeks })
}

/// Where a log ends: now, or at its last request if it was made up.
pub fn end(log: &Log) -> f64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs_f64();
    match log.entries.last() {
        Some(last) if log.is_synthetic() => last.at_s,
        _ => now,
    }
}
