//! `atlas history`.

use atlas::error::{Error, Result};
use atlas::eval::history::history;
use atlas::eval::ledger::{self, Entry};
use atlas::eval::questions::QuestionSet;
use clap::Args;
use serde_json::json;

use super::output::{Output, today};
use super::{Exit, Format, Global, project};

/// Arguments of `history`.
#[derive(Debug, Args)]
pub struct HistoryArgs {
    /// Add a note with this title to the ledger first
    #[arg(long, value_name = "TITLE", requires = "text")]
    note: Option<String>,
    /// The text of the note, in Markdown
    #[arg(long, value_name = "TEXT", requires = "note")]
    text: Option<String>,
}

/// Prints the ledger for people.
pub fn run(args: &HistoryArgs, global: &Global, out: &mut Output) -> Result<Exit> {
    let project = project(global)?;
    let path = project.ledger();
    if let (Some(title), Some(text)) = (&args.note, &args.text) {
        if title.trim().is_empty() || text.trim().is_empty() {
            return Err(Error::invalid("the note", "empty", "a title and a text"));
        }
        ledger::read(&path)?;
        let entry = Entry::Note { date: today(), title: title.clone(), text: text.clone() };
        ledger::append(&path, &entry)?;
    }
    let entries = ledger::read(&path)?;
    let held_out = project.question_set("held-out");
    let held_out =
        if held_out.is_file() { QuestionSet::read(&held_out)?.questions.len() } else { 0 };
    match global.format {
        Format::Json => out.json(&json!({
            "entries": entries,
            "spent": ledger::spent(&entries, "held-out"),
            "owed": ledger::owed(&entries, held_out),
        })),
        Format::Text => {
            let evals = project.evals.canonicalize().unwrap_or_else(|_| project.evals.clone());
            let name = evals.file_name().unwrap_or_default().to_string_lossy().into_owned();
            out.text(history(&name, &entries, held_out));
        }
    }
    Ok(Exit::Done)
}
