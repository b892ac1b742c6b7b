//! `atlas mutate`.

use std::path::PathBuf;
use std::sync::Arc;

use atlas::error::{Error, Result};
use atlas::eval::mutation::{self, Noticed, Plan, Report};
use atlas::eval::questions::{Question, QuestionSet};
use atlas::eval::units;
use atlas::report::counted;
use clap::Args;
use serde_json::json;

use super::output::Output;
use super::{Exit, Format, Global, build, labels, project};

/// Arguments of `mutate`.
#[derive(Debug, Args)]
pub struct MutateArgs {
    /// A question set [default: the development questions]
    #[arg(long, value_name = "FILE")]
    set: Option<PathBuf>,
}

/// Breaks the engine in every way of a fixed list, one at a time, and says which questions notice.
pub fn run(args: &MutateArgs, global: &Global, out: &mut Output) -> Result<Exit> {
    let project = project(global)?;
    let path = args.set.clone().unwrap_or_else(|| project.question_set("development"));
    let held_out = project.question_set("held-out");
    if matches!((path.canonicalize(), held_out.canonicalize()), (Ok(a), Ok(b)) if a == b) {
        let expected = "development questions: what breaks names single questions";
        return Err(Error::invalid("--set", "held-out", expected));
    }
    let mut set = QuestionSet::read(&path)?;
    let index = Arc::new(build::ensure(&project)?);
    labels::follow(&index, &mut set)?;
    if !set.by_document {
        let exists = |unit: &str| Ok(units::parse(index.passages(), unit)?.is_some());
        set.check(exists, || units::all_blocks(index.passages()))?;
    }
    let (corpus, embedder) = (project.read_corpus()?, project.embedder()?);
    let settings = project.index_settings();
    let asker_of = |question: &Question| project.asker(question.asker.as_deref()).0;
    let plan = Plan {
        corpus: &corpus,
        settings: &settings,
        search: &project.file.search,
        embedder: &embedder,
        policy: project.policy.as_ref(),
        asker_of: &asker_of,
    };
    let report = mutation::run(&plan, &index, &set)?;
    match global.format {
        Format::Json => out.json(&json!({
            "set": report.set,
            "set_hash": report.set_hash,
            "corpus": index.manifest().fingerprint,
            "scored": report.scored,
            "faults": report.faults,
            "unnoticed": names(&report.unnoticed()),
            "harmless": names(&report.harmless()),
            "never_lose": report.never_lose,
        })),
        Format::Text => {
            let (set, corpus) = (short(&report.set_hash), short(&index.manifest().fingerprint));
            out.line(format!("{}  set {set}  corpus {corpus}", report.set));
            text(&report, out);
        }
    }
    Ok(Exit::Done)
}

fn short(hash: &str) -> &str {
    hash.get(..12).unwrap_or(hash)
}

fn names(faults: &[&Noticed]) -> Vec<&'static str> {
    faults.iter().map(|fault| fault.fault).collect()
}

fn text(report: &Report, out: &mut Output) {
    let tried = report.faults.iter().filter(|fault| fault.skipped.is_none()).count();
    out.line(format!(
        "{} of {} faults tried on {}",
        tried,
        report.faults.len(),
        counted(report.scored, "scored question")
    ));
    out.line("  fault                    lose evidence  other numbers  what is broken");
    for fault in &report.faults {
        match &fault.skipped {
            Some(why) => out.line(format!("  {:24} not tried: {why}", fault.fault)),
            None => out.line(format!(
                "  {:24}{:14}  {:13}  {}",
                fault.fault,
                fault.lost.len(),
                fault.moved.len(),
                fault.what
            )),
        }
    }
    let list = |names: &[&str]| if names.is_empty() { "none".to_owned() } else { names.join(", ") };
    out.line(format!("nobody notices         {}", list(&names(&report.unnoticed()))));
    out.line(format!("nobody loses evidence  {}", list(&names(&report.harmless()))));
    let questions: Vec<&str> = report.never_lose.iter().map(String::as_str).collect();
    out.line(format!("never lose evidence    {}", list(&questions)));
}
