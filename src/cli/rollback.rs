//! `atlas rollback`.

use atlas::error::{Error, Result};
use atlas::format::{Listing, Store};
use atlas::index;
use atlas::project::Project;
use atlas::report::counted;
use clap::Args;
use serde_json::json;

use super::build::describe;
use super::output::{Output, note};
use super::wait::Wait;
use super::{Exit, Format, Global, project};

/// Documents that are named as reclassified.
const NAMED: usize = 20;

/// Arguments of `rollback`.
#[derive(Debug, Args)]
pub struct RollbackArgs {
    /// Number of the generation to go back to [default: the last before the current one]
    generation: Option<u64>,
    #[command(flatten)]
    wait: Wait,
}

/// Goes back.
pub fn run(args: &RollbackArgs, global: &Global, out: &mut Output) -> Result<Exit> {
    let project = project(global)?;
    let store = project.store();
    store.found()?;
    let number = match args.generation {
        Some(number) => number,
        None => last_before(&store, &store.list()?)?,
    };
    let embedder = project.embedder()?;
    let settings = project.index_settings();
    let back = || index::rollback(&store, number, &settings, &embedder, project.policy.as_ref());
    let done = args.wait.run(&store, || back().map_err(|fault| told(fault, number)))?;
    show(&project, &done, global, out)
}

/// The generation to go back to when none is named.
fn last_before(store: &Store, listing: &Listing) -> Result<u64> {
    let older = listing.generations.iter().rev().skip_while(|kept| !kept.current).skip(1);
    older.filter(|kept| kept.manifest.is_ok()).map(|kept| kept.number).next().ok_or_else(|| {
        let help = "keep more of them with build.keep_generations";
        Error::unusable(store.folder(), "there is no older generation to go back to", help)
    })
}

/// A fault of the older generation, for which building again is no way out.
fn told(fault: Error, number: u64) -> Error {
    match fault {
        Error::Damaged { path, problem, .. } => {
            let help = format!(
                "generation {number} cannot be gone back to; `atlas status` lists the others"
            );
            Error::Damaged { path, problem, help }
        }
        Error::Unusable { path, problem, help } if problem.starts_with("it was built with") => {
            let problem = format!("generation {number} cannot be gone back to: {problem}");
            let help = format!("{help}, or ask for what it was built with in atlas.toml");
            Error::Unusable { path, problem, help }
        }
        other => other,
    }
}

fn show(
    project: &Project,
    done: &index::RolledBack,
    global: &Global,
    out: &mut Output,
) -> Result<Exit> {
    let m = &done.manifest;
    let stale = project.stale(&m.sources)?;
    if global.format == Format::Json {
        out.json(&json!({
            "generation": m.generation,
            "of": done.of,
            "documents": m.documents,
            "passages": m.passages,
            "digest": m.digest,
            "policy_changed": done.policy_changed,
            "reclassified": done.reclassified,
            "stale": stale,
        }));
        return Ok(Exit::Done);
    }
    out.line(format!(
        "generation {}: what generation {} held, {} and {}",
        m.generation,
        done.of,
        counted(m.documents, "document"),
        counted(m.passages, "passage")
    ));
    if project.policy.is_some() {
        let change = if done.policy_changed { ", which has changed since" } else { "" };
        out.line(format!("access      resolved under the policy in force{change}"));
    }
    for id in done.reclassified.iter().take(NAMED) {
        out.line(format!(
            "closed      {id} was reclassified since: only who may read both may read it"
        ));
    }
    if let more @ 1.. = done.reclassified.len().saturating_sub(NAMED) {
        out.line(format!("closed      and {more} more"));
    }
    for why in &done.closed {
        out.line(format!("closed      {why}"));
    }
    out.line(format!("stale       {}", describe(&stale)));
    if !stale.is_empty() {
        note("searches answer from it as it is; `atlas build` brings it to the corpus of today");
    }
    Ok(Exit::Done)
}
