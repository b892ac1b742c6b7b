//! `atlas promote`.

use atlas::error::{Error, Result};
use atlas::eval::ledger::{self, Entry, FRESH_PER_PROMOTED};
use atlas::eval::promote::promote;
use clap::Args;
use serde_json::json;

use super::output::{Output, today};
use super::{Exit, Format, Global, project};

/// Arguments of `promote`.
#[derive(Debug, Args)]
pub struct PromoteArgs {
    /// The held-out question that was used for a change
    id: String,
    /// Why it moves
    #[arg(long, value_name = "TEXT")]
    why: String,
    /// The change that it was used for
    #[arg(long, value_name = "TEXT")]
    change: String,
    /// Who moves it [default: the USER of the environment]
    #[arg(long, value_name = "NAME")]
    who: Option<String>,
}

/// Moves the question and writes it into the ledger.
pub fn run(args: &PromoteArgs, global: &Global, out: &mut Output) -> Result<Exit> {
    let project = project(global)?;
    let who = args.who.clone().or_else(|| std::env::var("USER").ok()).filter(|who| !who.is_empty());
    let who =
        who.ok_or_else(|| Error::invalid("--who", "missing", "the name of whoever moves it"))?;
    let path = project.ledger();
    // A ledger that cannot be read is told before anything moves.
    let before = ledger::read(&path)?;
    promote(&project.question_set("held-out"), &project.question_set("development"), &args.id)?;
    let entry = Entry::Promote {
        date: today(),
        id: args.id.clone(),
        who,
        why: args.why.clone(),
        change: args.change.clone(),
    };
    ledger::append(&path, &entry)?;
    let moved = before.iter().filter(|e| matches!(e, Entry::Promote { .. })).count() + 1;
    match global.format {
        Format::Json => {
            out.json(&json!({ "id": args.id, "fresh_questions_owed": FRESH_PER_PROMOTED }));
        }
        Format::Text => {
            out.line(format!("{} is a development question now", args.id));
            out.line(format!(
                "owed: {FRESH_PER_PROMOTED} fresh held-out questions for it, written without trying what \
                 the engine finds; {moved} moved so far"
            ));
        }
    }
    Ok(Exit::Done)
}
