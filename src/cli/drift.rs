//! `atlas drift`.

use std::path::PathBuf;

use atlas::corpus::Date;
use atlas::error::{Error, Result};
use atlas::eval::drift::{Between, Change, Side, Size};
use atlas::eval::questions::QuestionSet;
use atlas::eval::usage::{self, Requested};
use atlas::report::counted;
use atlas::text::Analyzer;
use clap::Args;
use serde_json::json;

use super::output::Output;
use super::{Exit, Format, Global, project};

/// Arguments of `drift`.
#[derive(Debug, Args)]
pub struct DriftArgs {
    /// The usage log [default: usage_log of atlas.toml]
    #[arg(long, value_name = "FILE")]
    log: Option<PathBuf>,
    /// The first day of what is compared with all before it, in UTC [default: the last seven days
    /// of the log]
    #[arg(long, value_name = "YYYY-MM-DD")]
    since: Option<String>,
}

/// Seconds of a week.
const WEEK_S: u64 = 7 * 24 * 3_600;

/// Says whether what people ask, and what they get, has changed.
pub fn run(args: &DriftArgs, global: &Global, out: &mut Output) -> Result<Exit> {
    let project = project(global)?;
    let own = project.file.usage_log.as_ref().map(|path| project.folder.join(path));
    let Some(path) = args.log.clone().or(own) else {
        let expected = "the path of a log in atlas.toml, or one with `--log FILE`";
        return Err(Error::invalid("usage_log", "not set", expected));
    };
    let requests = usage::read(&path)?;
    let newest = requests.last().map_or(0, |request| request.at_s);
    let from_s = match &args.since {
        Some(day) => day_s(day)?,
        None => newest.saturating_sub(WEEK_S),
    };
    let (before, after) = requests.split_at(requests.partition_point(|r| r.at_s < from_s));
    let set = project.question_set("development");
    let set = if set.exists() { Some(QuestionSet::read(&set)?) } else { None };
    let analyzer = Analyzer::new(&project.file.text)?;
    let changes = usage::changes(before, after, set.as_ref(), &analyzer);
    match global.format {
        Format::Json => out.json(&json!({
            "before": { "n": before.len(), "indexes": usage::indexes(before) },
            "after": { "n": after.len(), "indexes": usage::indexes(after) },
            "set": set.as_ref().map(|set| &set.name),
            "changes": changes,
        })),
        Format::Text => text((before, after), &changes, out),
    }
    Ok(Exit::Done)
}

/// Seconds since 1970 at the start of a day.
fn day_s(day: &str) -> Result<u64> {
    let wrong =
        || Error::invalid("--since", format!("`{day}`"), "a day from 1970 on, as YYYY-MM-DD");
    let date = Date::parse(day).ok_or_else(wrong)?.to_string();
    let mut parts = date.split('-').map(|part| part.parse::<u32>().unwrap_or_default());
    let (year, month, of_month) = (parts.next(), parts.next(), parts.next());
    let month = time::Month::try_from(month.unwrap_or_default() as u8).map_err(|_| wrong())?;
    let date = time::Date::from_calendar_date(
        year.unwrap_or_default() as i32,
        month,
        of_month.unwrap_or_default() as u8,
    );
    let seconds = date.map_err(|_| wrong())?.midnight().assume_utc().unix_timestamp();
    u64::try_from(seconds).map_err(|_| wrong())
}

fn text((before, after): (&[Requested], &[Requested]), changes: &[Change], out: &mut Output) {
    let count = |requests: &[Requested]| {
        let indexes = usage::indexes(requests).len();
        let word = if indexes == 1 { "index" } else { "indexes" };
        format!("{} of {indexes} {word}", counted(requests.len(), "request"))
    };
    out.line(format!("before: {}; after: {}", count(before), count(after)));
    out.line(format!("  {:48}  {:22}  {:22}  statistic", "", "before", "after"));
    for change in changes {
        let statistic = match change.before {
            Side::Values { .. } => format!("D {:.3}, p {:.3}", change.value, change.p),
            Side::Share { .. } => format!("{:+.3}, exact p {:.3}", change.value, change.p),
        };
        out.line(format!(
            "  {:48}  {:22}  {:22}  {statistic}  {}",
            change.name,
            side(&change.before),
            side(&change.after),
            change.verdict.words()
        ));
    }
    out.line(
        "  values: n and median, Kolmogorov-Smirnov; shares: Fisher; drift by Holm over all lines",
    );
}

fn side(side: &Side) -> String {
    match side {
        Side::Values { n, median } => format!("n {n}, median {median:.3}"),
        Side::Share { k, n, interval } => {
            let range = interval.map_or_else(String::new, |interval| {
                format!(" ({:.0} to {:.0} %)", interval.low * 100.0, interval.high * 100.0)
            });
            format!("{k} of {n}{range}")
        }
    }
}

/// What became of scores and places between two measurements, with n; ids where they may be shown.
pub fn between_text(found: &Between, show_questions: bool, out: &mut Output) {
    if found.n == 0 {
        return;
    }
    out.line(format!("drift        over {} in both", counted(found.n, "question")));
    let median =
        |value: Option<f64>| value.map_or_else(|| "none".to_owned(), |v| format!("{v:.3}"));
    let (before, now) = found.first_score;
    let test = found.first_test.map_or_else(String::new, |test| {
        format!("; {} changed, sign-flip p {:.3}", test.changed, test.p)
    });
    out.line(format!("  first score  median {} to {}{test}", median(before), median(now)));
    if let Some(scores) = &found.scores {
        out.line(format!(
            "  all scores   {} to {}; D {:.3}, p {:.3}: {}",
            side(&scores.before),
            side(&scores.after),
            scores.value,
            scores.p,
            scores.verdict.words()
        ));
    }
    // As far as three digits tell: a number that was read from a file has lost its last ones.
    let moved = |change: &&Change| {
        change.value.abs() >= 0.0005 || side(&change.before) != side(&change.after)
    };
    for change in found.stages.iter().filter(moved) {
        out.line(format!(
            "  {:24}  {} to {}; mean {:+.3}, p {:.3}: {}",
            change.name,
            side(&change.before),
            side(&change.after),
            change.value,
            change.p,
            change.verdict.words()
        ));
    }
    let same = found.stages.len() - found.stages.iter().filter(moved).count();
    if same > 0 {
        let all = counted(found.stages.len(), "number");
        out.line(format!("  stages       {same} of {all} with the median and mean of before"));
    }
    let ids = |ids: &[String]| {
        let names = if show_questions && !ids.is_empty() {
            format!(": {}", ids.join(", "))
        } else {
            String::new()
        };
        format!("{}{names}", counted(ids.len(), "question"))
    };
    out.line(format!("  empty        {} to {}", found.empty.0, found.empty.1));
    if let (Some(before), now) = found.size {
        let of = |size: Size| {
            let Size { documents, blocks, passages } = size;
            format!("{documents} documents, {blocks} blocks, {passages} passages")
        };
        let grown = (now.passages as f64 / before.passages.max(1) as f64 - 1.0) * 100.0;
        let same = if before == now { "the same".to_owned() } else { of(now) };
        out.line(format!("  index size   {} to {same} ({grown:+.1} % passages)", of(before)));
    }
    out.line(format!("  first block  another for {}", ids(&found.other_first)));
    out.line(format!(
        "  unjudged     {} of {} are new and judged by nobody",
        found.new_unjudged,
        counted(found.supplied, "block")
    ));
}
