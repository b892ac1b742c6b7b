//! `atlas init`.

use std::fs;
use std::path::PathBuf;

use atlas::error::{Error, Result};
use atlas::project::PROJECT_FILE;
use clap::Args;
use serde_json::json;

use super::output::Output;
use super::{Exit, Format, Global};

/// Arguments of `init`.
#[derive(Debug, Args)]
pub struct InitArgs {
    /// Folder of documents [default: `--project`, or this one]
    folder: Option<PathBuf>,
}

const SETTINGS: &str = r#"# A project: where its documents, index and question sets lie. Paths are relative to this file.
corpus = "."
index = ".atlas"
evals = "evals"

# Who may read what. "open": everyone reads everything.
access = "open"

# Every other setting has a default. Some of them:
#
# [passage]
# max_tokens = 256        # estimated tokens in a passage
#
# [text]
# language = "en"         # of the stemmer; "none" for none
#
# [search]
# k = 5                   # blocks in the window
# min_score = 0.0         # drop what scores less, 0.0 to 1.0

[reading]
exclude = ["evals/"]
"#;

const QUESTIONS: &str = r#"# Questions to measure with: `atlas measure`. Replace the example by your own.
corpus: mine
kinds: [exact-code, paraphrase, table, clarification]
questions:
  - id: example
    question: "What would someone ask here?"
    kind: clarification
    unscoreable: clarification   # why no block answers it; a question that has an answer says instead
    # relevant: [DOCUMENT-2]     # the blocks that do, as `atlas search` names them
    reference: "The right answer in a sentence."
    notes: "Why the question is here."
"#;

/// Writes `atlas.toml` and an example question set; touches nothing that exists.
pub fn run(args: &InitArgs, global: &Global, out: &mut Output) -> Result<Exit> {
    let here = PathBuf::from(".");
    let folder = args.folder.as_ref().or(global.project.as_ref()).unwrap_or(&here);
    if !folder.is_dir() {
        let help = "create it first, or name another";
        return Err(Error::input(folder, None, "it is not a folder", help));
    }
    let project = folder.join(PROJECT_FILE);
    if project.exists() {
        let help = "edit it, or remove it first";
        return Err(Error::input(project, None, "this folder is a project already", help));
    }
    let evals = folder.join("evals");
    let questions = evals.join("development.yaml");
    write(&project, SETTINGS)?;
    fs::create_dir_all(&evals).map_err(|e| Error::io("creating", &evals, e))?;
    if !questions.exists() {
        write(&questions, QUESTIONS)?;
    }
    match global.format {
        Format::Json => out.json(&json!({ "project": project, "questions": questions })),
        Format::Text => {
            out.line(format!("wrote {} and {}", project.display(), questions.display()));
            out.line(format!(
                "next: atlas search --project {} \"your question\"",
                folder.display()
            ));
        }
    }
    Ok(Exit::Done)
}

fn write(path: &std::path::Path, text: &str) -> Result<()> {
    fs::write(path, text).map_err(|e| Error::io("writing", path, e))
}
