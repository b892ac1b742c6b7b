//! `atlas review`.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use atlas::corpus;
use atlas::error::{Error, Result, nearest};
use atlas::eval::labels::{self, Label, State};
use atlas::eval::ledger::{self, Entry};
use atlas::eval::questions::{Question, QuestionSet};
use atlas::eval::review::{Before, Finding, Ground, Reviewed, review, strings};
use atlas::index::Index;
use atlas::project::Project;
use atlas::report::counted;
use atlas::search::Searcher;
use clap::Args;
use serde_json::json;

use super::output::{Output, note, one_line, today};
use super::{Exit, Format, Global, build, project};

/// Arguments of `review`.
#[derive(Debug, Args)]
pub struct ReviewArgs {
    /// Review the held-out questions: nothing of their ranking is told
    #[arg(long, conflicts_with = "set")]
    held_out: bool,
    /// A question set [default: the development questions]
    #[arg(long, value_name = "FILE")]
    set: Option<PathBuf>,
    /// Folder of the corpus as it was, to tell what is new and what was split
    #[arg(long, value_name = "DIR")]
    before: Option<PathBuf>,
    /// Record that a question was looked at and is right for the corpus as it is; may be repeated
    #[arg(long, value_name = "ID", requires = "who", requires = "why")]
    accept: Vec<String>,
    /// Who looked at it
    #[arg(long, value_name = "NAME", requires = "accept")]
    who: Option<String>,
    /// Why it may stay, or what was mended
    #[arg(long, value_name = "TEXT", requires = "accept")]
    why: Option<String>,
}

/// Lists the questions that a change of the corpus touched, or accepts some of them. Exit code 1 when
/// the label of one is stale.
pub fn run(args: &ReviewArgs, global: &Global, out: &mut Output) -> Result<Exit> {
    let project = project(global)?;
    let name = if args.held_out { "held-out" } else { "development" };
    let path = args.set.clone().unwrap_or_else(|| project.question_set(name));
    let held_out = args.held_out || project.is_held_out(&path);
    let written = project.questions(&path)?;
    if written.by_document {
        let expected = "a set of ours: the labels of a public set are its makers' business";
        return Err(Error::invalid("--set", "a folder in BEIR layout", expected));
    }
    let index = Arc::new(build::ensure(&project)?);
    let mut set = written.clone();
    let labels = labels::resolve(&index, &mut set, false)?;
    let searcher = Searcher::new(Arc::clone(&index), project.file.search.clone())?;
    let before = match &args.before {
        Some(folder) => {
            let corpus = corpus::read(folder, &project.file.reading)?;
            Some(Before::new(&corpus, &project.file.passage))
        }
        None => None,
    };
    let ledger = ledger::read(&project.ledger())?;
    let (strings, accepted) = (strings(&path)?, accepted(&ledger, &set.name));
    let ground = Ground {
        searcher: &searcher,
        before: before.as_ref(),
        labels: &labels,
        strings: &strings,
        places: !held_out,
        accepted: &accepted,
    };
    let scope_of = |question: &Question| project.scope(&index, question.asker.as_deref());
    let reviewed = review(&ground, &set, &scope_of)?;
    if !args.accept.is_empty() {
        return accept(
            args,
            &project,
            (&index, &path),
            (&written, &labels),
            (&ground, &reviewed),
            out,
        );
    }
    let unrecorded = labels.iter().filter(|label| label.state == State::Unrecorded).count();
    match global.format {
        Format::Json => out.json(&json!({
            "set": set.name,
            "corpus": index.manifest().fingerprint,
            "questions": set.questions.len(),
            "unrecorded": unrecorded,
            "touched": touched(&reviewed),
        })),
        Format::Text => text(&set, &reviewed, out),
    }
    if unrecorded > 0 {
        let labels = counted(unrecorded, "label");
        note(&format!(
            "{labels} without a hash of the text: `atlas measure --record-hashes` writes them"
        ));
    }
    let stale = |finding: &Finding| {
        matches!(finding, Finding::Changed { .. } | Finding::Split { .. } | Finding::Gone { .. })
    };
    let failed = reviewed.iter().any(|one| one.findings.iter().any(stale));
    Ok(if failed { Exit::Failed } else { Exit::Done })
}

fn touched(reviewed: &[Reviewed]) -> Vec<&Reviewed> {
    reviewed.iter().filter(|one| !one.findings.is_empty()).collect()
}

/// What people have looked at: question, block, and the hash of its text then.
fn accepted(ledger: &[Entry], set: &str) -> BTreeSet<(String, String, String)> {
    let mut seen = BTreeSet::new();
    for entry in ledger {
        if let Entry::Review { set: own, id, looked_at, .. } = entry
            && own == set
        {
            let blocks = looked_at.iter();
            seen.extend(blocks.map(|(block, hash)| (id.clone(), block.clone(), hash.clone())));
        }
    }
    seen
}

fn text(set: &QuestionSet, reviewed: &[Reviewed], out: &mut Output) {
    let touched = touched(reviewed);
    out.line(format!(
        "{}: {} of {} to look at",
        set.name,
        touched.len(),
        counted(set.questions.len(), "question")
    ));
    for one in touched {
        let asked = set.questions.iter().find(|question| question.id == one.id);
        let asked = asked.map_or_else(String::new, |asked| one_line(&asked.question, 70));
        out.line(format!("\n{}  \"{asked}\"", one.id));
        for finding in &one.findings {
            out.line(format!("  - {}", finding.sentence()));
        }
    }
}

/// Writes the hashes of the accepted questions into the set, and who accepted what into the ledger.
fn accept(
    args: &ReviewArgs,
    project: &Project,
    (index, path): (&Index, &Path),
    (set, labels): (&QuestionSet, &[Label]),
    (ground, reviewed): (&Ground<'_>, &[Reviewed]),
    out: &mut Output,
) -> Result<Exit> {
    let mut all = labels::hashes(index, set)?;
    let mut hashes = BTreeMap::new();
    for id in &args.accept {
        let Some(own) = all.remove(id) else {
            let ids = set.questions.iter().map(|question| question.id.as_str());
            let near =
                nearest(id, ids).map_or_else(String::new, |near| format!("; perhaps {near}"));
            let expected = format!("an id of {}, named once{near}", set.name);
            return Err(Error::invalid("--accept", format!("`{id}`"), expected));
        };
        let away =
            labels.iter().filter(|label| label.question == *id).find_map(|label| {
                match &label.state {
                    State::Gone => Some(format!("{} is gone", label.unit)),
                    State::Moved { to } => Some(format!("{} is called {to} now", label.unit)),
                    State::Split { into } if !into.contains(&label.unit) => {
                        Some(format!("{} was split into {}", label.unit, into.join(", ")))
                    }
                    _ => None,
                }
            });
        if let Some(why) = away {
            let expected =
                format!("a question whose `relevant` names what exists: {why}; mend it first");
            return Err(Error::invalid("--accept", format!("`{id}`"), expected));
        }
        hashes.insert(id.clone(), own);
    }
    let (who, why) = (args.who.clone().unwrap_or_default(), args.why.clone().unwrap_or_default());
    let mut entries = Vec::new();
    for (id, hashes) in &hashes {
        let mut looked_at = BTreeMap::new();
        let findings =
            reviewed.iter().find(|one| one.id == *id).map_or(&[][..], |one| &one.findings);
        for block in findings.iter().filter_map(Finding::block) {
            looked_at.insert(block.to_owned(), ground.hash(block)?);
        }
        entries.push(Entry::Review {
            date: today(),
            set: set.name.clone(),
            id: id.clone(),
            who: who.clone(),
            why: why.clone(),
            hashes: hashes.clone(),
            looked_at,
        });
    }
    let changed = labels::record(path, &hashes)?;
    for entry in &entries {
        ledger::append(&project.ledger(), entry)?;
    }
    out.line(format!(
        "{} accepted; the labels of {changed} got the hash of another text",
        counted(entries.len(), "question")
    ));
    Ok(Exit::Done)
}
