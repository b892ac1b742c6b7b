//! `atlas judge`.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use atlas::error::{Error, Result, nearest};
use atlas::eval::labels::{record_grades, unit_hash};
use atlas::eval::ledger::{self, Entry};
use atlas::eval::questions::{Question, QuestionSet};
use atlas::eval::units;
use atlas::eval::worklist::{Graded, Unjudged, read, sheet_of, worklist};
use atlas::index::Index;
use atlas::project::Project;
use atlas::report::counted;
use atlas::search::Searcher;
use clap::Args;
use serde_json::json;

use super::output::{Output, note, one_line, today};
use super::{Exit, Format, Global, build, labels, project};

/// Blocks that the list shows where it is not written to a file.
const SHOWN: usize = 20;

/// Arguments of `judge`.
#[derive(Debug, Args)]
pub struct JudgeArgs {
    /// A question set [default: the development questions]
    #[arg(long, value_name = "FILE")]
    set: Option<PathBuf>,
    /// Blocks of each list that are looked at, from 1 [default: search.k of atlas.toml, 5]
    #[arg(long, value_name = "N")]
    depth: Option<usize>,
    /// Write all of them as a sheet for a person to grade, CSV
    #[arg(long, value_name = "FILE", conflicts_with = "take")]
    sheet: Option<PathBuf>,
    /// Take the grades of a sheet, 0 to 3, into the question set
    #[arg(long, value_name = "FILE", requires = "who")]
    take: Option<PathBuf>,
    /// Who graded
    #[arg(long, value_name = "NAME", requires = "take")]
    who: Option<String>,
}

/// Lists the blocks that searches bring and nobody has judged, or takes what a person said of them.
pub fn run(args: &JudgeArgs, global: &Global, out: &mut Output) -> Result<Exit> {
    let project = project(global)?;
    let path = args.set.clone().unwrap_or_else(|| project.question_set("development"));
    if project.is_held_out(&path) {
        let expected = "development questions: the list names what single questions bring";
        return Err(Error::invalid("--set", "held-out", expected));
    }
    let mut set = project.questions(&path)?;
    if set.by_document {
        let expected = "a set of ours: the judgments of a public set are its makers' business";
        return Err(Error::invalid("--set", "a folder in BEIR layout", expected));
    }
    let index = Arc::new(build::ensure(&project)?);
    if let Some(sheet) = &args.take {
        let who = args.who.clone().unwrap_or_default();
        return take(sheet, who, &project, (&set, &path), &index, global.format, out);
    }
    labels::follow(&index, &mut set)?;
    let exists = |unit: &str| Ok(units::parse(index.passages(), unit)?.is_some());
    set.check(exists, || units::all_blocks(index.passages()))?;
    let settings = project.file.search.clone();
    let depth = args.depth.unwrap_or(settings.k);
    if !(1..=settings.depth).contains(&depth) {
        let expected = format!("a whole number from 1 to {}, the depth", settings.depth);
        return Err(Error::invalid("--depth", depth, expected));
    }
    let searcher = Searcher::new(Arc::clone(&index), settings)?;
    let scope_of = |question: &Question| project.scope(&index, question.asker.as_deref());
    let pool = worklist(&searcher, &set, depth, &scope_of)?;
    if let Some(path) = &args.sheet {
        std::fs::write(path, sheet_of(&pool)).map_err(|e| Error::io("writing", path, e))?;
        note(&format!("wrote {}", path.display()));
    }
    match global.format {
        Format::Json => out.json(&json!({ "set": set.name, "depth": depth, "unjudged": pool })),
        Format::Text => text(&set, depth, &pool, args.sheet.is_some(), out),
    }
    Ok(Exit::Done)
}

fn text(set: &QuestionSet, depth: usize, pool: &[Unjudged], is_written: bool, out: &mut Output) {
    let mut asked: Vec<&str> = pool.iter().map(|one| one.question.as_str()).collect();
    asked.sort_unstable();
    asked.dedup();
    let Some(first) = pool.first() else {
        let first = counted(depth, "block");
        out.line(format!("{}: of the first {first} of every list each is judged", set.name));
        return;
    };
    out.line(format!(
        "{}: {} for {} that nobody has judged, among the first {depth} of {}",
        set.name,
        counted(pool.len(), "block"),
        counted(asked.len(), "question"),
        counted(first.of, "list")
    ));
    if is_written {
        return;
    }
    for one in pool.iter().take(SHOWN) {
        out.line(format!(
            "  {:2} of {}, best {}  {}  {}  {}",
            one.lists, one.of, one.place, one.question, one.block, one.relation
        ));
        out.line(format!("      {}", one_line(&one.text, 90)));
    }
    if let more @ 1.. = pool.len().saturating_sub(SHOWN) {
        out.line(format!("  and {more} more: `atlas judge --sheet FILE` writes all of them"));
    }
}

/// Writes the grades into the set, with the hash of the text that each is of, and who gave them into the
/// ledger.
fn take(
    sheet: &Path,
    who: String,
    project: &Project,
    (set, path): (&QuestionSet, &Path),
    index: &Index,
    format: Format,
    out: &mut Output,
) -> Result<Exit> {
    let graded = read(sheet)?;
    let mut added: BTreeMap<String, Vec<(String, i32, String)>> = BTreeMap::new();
    for one in &graded {
        allowed(sheet, one, set, index)?;
        let own = added.entry(one.question.clone()).or_default();
        own.push((one.block.clone(), one.grade, one.hash.clone()));
    }
    let changed = if added.is_empty() { 0 } else { record_grades(path, &added)? };
    if changed > 0 {
        let mut grades: BTreeMap<String, BTreeMap<String, i32>> = BTreeMap::new();
        for one in &graded {
            grades.entry(one.question.clone()).or_default().insert(one.block.clone(), one.grade);
        }
        let entry = Entry::Judged { date: today(), set: set.name.clone(), who, grades };
        ledger::append(&project.ledger(), &entry)?;
    }
    let near: Vec<&Graded> = graded.iter().filter(|one| one.grade >= 2).collect();
    match format {
        Format::Json => out.json(&json!({ "grades": graded, "questions": changed })),
        Format::Text => {
            out.line(format!(
                "{} of {} taken",
                counted(graded.len(), "grade"),
                counted(changed, "question")
            ));
            for one in near {
                out.line(format!(
                    "  {} answers {} with grade {}: if it is enough alone, name it in a group of `relevant`",
                    one.block, one.question, one.grade
                ));
            }
        }
    }
    Ok(Exit::Done)
}

/// Refuses a grade of what is not there, of evidence, and of a text that has changed since.
fn allowed(sheet: &Path, one: &Graded, set: &QuestionSet, index: &Index) -> Result<()> {
    let fault =
        |problem: String, help: &str| Err(Error::input(sheet, Some(one.line), problem, help));
    let Some(question) = set.questions.iter().find(|question| question.id == one.question) else {
        let ids = set.questions.iter().map(|question| question.id.as_str());
        let near = nearest(&one.question, ids);
        let help = near.map_or_else(
            || format!("name a question of {}", set.name),
            |near| format!("did you mean `{near}`?"),
        );
        return fault(format!("`{}` is no question of {}", one.question, set.name), &help);
    };
    if question.judgments.groups().iter().flatten().any(|unit| *unit == one.block) {
        let problem = format!("`{}` is evidence of {} already", one.block, one.question);
        return fault(problem, "grade evidence in the question set itself");
    }
    if question.unscoreable.is_some() {
        let problem = format!("{} cannot be scored, so nothing is graded for it", one.question);
        return fault(problem, "leave the grade empty");
    }
    match unit_hash(index.passages(), &one.block)? {
        Some(now) if now == one.hash => Ok(()),
        Some(_) => {
            let problem = format!("`{}` has another text than the one that was graded", one.block);
            fault(problem, "write a new sheet and grade that")
        }
        None => {
            let problem = format!("`{}` is no block of the index", one.block);
            fault(problem, "write a new sheet and grade that")
        }
    }
}
