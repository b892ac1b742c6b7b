//! `atlas promote`.

use std::path::PathBuf;

use atlas::error::{Error, Result};
use atlas::eval::ledger::{self, Entry, FRESH_PER_PROMOTED};
use atlas::eval::promote::{Imported, import, promote};
use atlas::eval::questions::{Origin, QuestionSet};
use atlas::eval::units;
use atlas::project::Project;
use atlas::report::counted;
use atlas::trace::log;
use clap::Args;
use serde_json::json;

use super::output::{Output, day, one_line, today, width};
use super::{Exit, Format, Global, build, project, usage};

/// Arguments of `promote`.
#[derive(Debug, Args)]
pub struct PromoteArgs {
    /// The held-out question that was used for a change; with `--from-log`, the id of the new question
    #[arg(required_unless_present = "from_log")]
    id: Option<String>,
    /// Why it moves; with `--from-log`, what was wrong with the answer
    #[arg(long, value_name = "TEXT", required_unless_present = "from_log")]
    why: Option<String>,
    /// The change that it was used for
    #[arg(long, value_name = "TEXT", required_unless_present = "from_log")]
    change: Option<String>,
    /// Who moves it [default: the USER of the environment]
    #[arg(long, value_name = "NAME")]
    who: Option<String>,
    /// Make a development question of the request on this line of the usage log; without a line, list
    /// the latest requests
    #[arg(long, value_name = "LINE", num_args = 0..=1, conflicts_with = "change")]
    from_log: Option<Option<u64>>,
    /// The usage log [default: usage_log of atlas.toml]
    #[arg(long, value_name = "FILE", requires = "from_log")]
    log: Option<PathBuf>,
    /// The kind of the new question, one of the set's
    #[arg(long, requires = "from_log")]
    kind: Option<String>,
    /// What would have answered it: a reference, or several with commas of which one is enough; may be
    /// repeated, and all are needed. Without it the question is not scored until someone has found out
    #[arg(long, value_name = "REFERENCE", requires = "from_log")]
    relevant: Vec<String>,
    /// The right answer in words
    #[arg(long, value_name = "TEXT", requires = "from_log")]
    reference: Option<String>,
    /// Who asked, by a name of users.yaml [default: whom the log names]
    #[arg(long = "as", value_name = "ASKER", requires = "from_log")]
    asker: Option<String>,
}

/// Requests of the log that are listed.
const LISTED: usize = 20;

/// Moves the question, or takes one from the log, and writes it into the ledger.
pub fn run(args: &PromoteArgs, global: &Global, out: &mut Output) -> Result<Exit> {
    let project = project(global)?;
    if let Some(line) = args.from_log {
        let path = log_path(args, &project)?;
        let requests = log::numbered(&path)?;
        return match line {
            Some(line) => from_log(args, &project, &path, &requests, line, global.format, out),
            None => list(&requests, global.format, out),
        };
    }
    let who = who(args)?;
    let (Some(id), Some(why), Some(change)) = (&args.id, &args.why, &args.change) else {
        return Err(Error::invalid("the command", "incomplete", "an id, `--why` and `--change`"));
    };
    let path = project.ledger();
    // A ledger that cannot be read is told before anything moves.
    let mut entries = ledger::read(&path)?;
    let held_out = project.question_set("held-out");
    promote(&held_out, &project.question_set("development"), id)?;
    let left = QuestionSet::read(&held_out)?.questions.len();
    let entry = Entry::Promote {
        date: today(),
        id: id.clone(),
        who,
        why: why.clone(),
        change: change.clone(),
        left: Some(left),
    };
    ledger::append(&path, &entry)?;
    entries.push(entry);
    let moved = entries.iter().filter(|e| matches!(e, Entry::Promote { .. })).count();
    let owed = ledger::owed(&entries, left);
    match global.format {
        Format::Json => {
            out.json(&json!({
                "id": id,
                "fresh_questions_owed": FRESH_PER_PROMOTED,
                "fresh_questions_owed_in_all": owed,
            }));
        }
        Format::Text => {
            out.line(format!("{id} is a development question now"));
            out.line(format!(
                "owed: {FRESH_PER_PROMOTED} fresh held-out questions for it, written without trying what \
                 the engine finds; {moved} moved so far, {owed} owed in all"
            ));
        }
    }
    Ok(Exit::Done)
}

fn who(args: &PromoteArgs) -> Result<String> {
    let who = args.who.clone().or_else(|| std::env::var("USER").ok()).filter(|who| !who.is_empty());
    who.ok_or_else(|| Error::invalid("--who", "missing", "the name of whoever moves it"))
}

fn log_path(args: &PromoteArgs, project: &Project) -> Result<PathBuf> {
    let own = project.file.usage_log.as_ref().map(|path| project.folder.join(path));
    args.log.clone().or(own).ok_or_else(|| {
        Error::invalid("--log", "missing", "a usage log, as this project keeps none (usage_log)")
    })
}

/// The latest requests, newest last, each with the score of the best block that arrived.
fn list(requests: &[(u64, log::Entry)], format: Format, out: &mut Output) -> Result<Exit> {
    let latest = &requests[requests.len().saturating_sub(LISTED)..];
    if format == Format::Json {
        let all: Vec<_> =
            latest.iter().map(|(line, entry)| json!({ "line": line, "request": entry })).collect();
        out.json(&json!(all));
        return Ok(Exit::Done);
    }
    for (line, entry) in latest {
        let best = entry.context.first();
        let best =
            best.map_or_else(|| "nothing".to_owned(), |(name, score)| format!("{score:.3} {name}"));
        let head = format!("{line:5}  {}  {best:24}  ", day(entry.at_s));
        let room = width().saturating_sub(head.chars().count()).max(20);
        out.line(format!("{head}{}", one_line(&entry.question, room)));
    }
    out.line(format!(
        "{} in the log; `atlas promote ID --from-log LINE --kind KIND --why TEXT` takes one over",
        counted(requests.len(), "request")
    ));
    Ok(Exit::Done)
}

fn from_log(
    args: &PromoteArgs,
    project: &Project,
    path: &std::path::Path,
    requests: &[(u64, log::Entry)],
    line: u64,
    format: Format,
    out: &mut Output,
) -> Result<Exit> {
    let who = who(args)?;
    let (Some(id), Some(why), Some(kind)) = (&args.id, &args.why, &args.kind) else {
        return Err(Error::invalid(
            "--from-log",
            "incomplete",
            "an id, `--kind` and `--why` with it",
        ));
    };
    let Some((_, request)) = requests.iter().find(|(own, _)| *own == line) else {
        let help = "`atlas promote --from-log` lists the latest requests";
        return Err(Error::input(path, Some(line), "no request stands there", help));
    };
    let ledger_path = project.ledger();
    ledger::read(&ledger_path)?;
    let index = build::ensure(project)?;
    let corpus = if request.index == index.manifest().digest {
        Some(index.manifest().fingerprint.clone())
    } else {
        request.corpus.clone()
    };
    let corpus = corpus.unwrap_or_else(|| "unknown".to_owned());
    let relevant: Vec<Vec<String>> = args
        .relevant
        .iter()
        .map(|group| group.split(',').map(|unit| unit.trim().to_owned()).collect())
        .collect();
    for unit in relevant.iter().flatten() {
        if units::parse(index.passages(), unit)?.is_none() {
            let blocks = units::all_blocks(index.passages())?;
            let near = atlas::error::nearest(unit, blocks.iter().map(String::as_str));
            let near = near.map_or_else(String::new, |near| format!("; did you mean `{near}`?"));
            let expected = format!("a document, block or passage of the corpus{near}");
            return Err(Error::invalid("--relevant", format!("`{unit}`"), expected));
        }
    }
    let imported = Imported {
        id: id.clone(),
        question: request.question.clone(),
        kind: kind.clone(),
        relevant,
        reference: args.reference.clone(),
        asker: asker(args, project, request)?,
        why: why.clone(),
        origin: Origin {
            asked_at_s: request.at_s as u64,
            index: request.index.clone(),
            corpus: corpus.clone(),
            arrived: request.context.iter().map(|(reference, _)| reference.clone()).collect(),
        },
    };
    let held_out = project.question_set("held-out");
    let held_out = if held_out.is_file() { Some(QuestionSet::read(&held_out)?) } else { None };
    import(&project.question_set("development"), held_out.as_ref(), &imported)?;
    let entry = Entry::Import {
        date: today(),
        id: id.clone(),
        who,
        why: why.clone(),
        corpus: corpus.clone(),
        request: request.clone(),
    };
    ledger::append(&ledger_path, &entry)?;
    match format {
        Format::Json => out.json(&json!({ "id": id, "corpus": corpus, "request": request })),
        Format::Text => {
            out.line(format!(
                "{id} is a development question, as it was asked on {}",
                day(request.at_s)
            ));
            if imported.relevant.is_empty() {
                out.line("not scored until `relevant` says what would have answered it");
            }
        }
    }
    Ok(Exit::Done)
}

/// Whom the log names, by an id of the project: as it stands, or behind its pseudonym.
fn asker(args: &PromoteArgs, project: &Project, request: &log::Entry) -> Result<Option<String>> {
    if project.policy.is_none() {
        return Ok(None);
    }
    if let Some(named) = &args.asker {
        return match project.askers.known(named) {
            Ok(asker) => Ok(Some(asker.id.clone())),
            Err(why) => Err(Error::invalid("--as", format!("`{named}`"), why)),
        };
    }
    let Some(logged) = &request.asker else { return Ok(None) };
    let key = usage::key(project);
    let own = project
        .askers
        .iter()
        .find(|asker| asker.id == *logged || log::pseudonym(&asker.id, &key) == *logged);
    let own = own.ok_or_else(|| {
        let expected = "one whom users.yaml knows; name someone with `--as`";
        Error::invalid("the asker of the log", format!("`{logged}`"), expected)
    })?;
    Ok(Some(own.id.clone()))
}
