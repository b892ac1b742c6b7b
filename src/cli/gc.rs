//! `atlas gc`.

use atlas::error::Result;
use atlas::format::{Collected, Listing};
use clap::Args;
use serde_json::json;

use super::build::build;
use super::output::{Output, bytes, note};
use super::wait::Wait;
use super::{Exit, Format, Global, project};

/// Arguments of `gc`.
#[derive(Debug, Args)]
pub struct GcArgs {
    /// Generations to keep before the current one [default: build.keep_generations, which is 1]
    #[arg(long, value_name = "N", conflicts_with = "purge")]
    keep: Option<usize>,
    /// Build anew from the corpus and keep nothing else: text that is no longer in the corpus is removed
    /// from the disk, and there is no generation left to go back to
    #[arg(long)]
    purge: bool,
    #[command(flatten)]
    wait: Wait,
}

/// Collects; exit code 1 when something that had to go could not be removed.
pub fn run(args: &GcArgs, global: &Global, out: &mut Output) -> Result<Exit> {
    let project = project(global)?;
    let store = project.store();
    store.found()?;
    let (done, open) = args.wait.run(&store, || {
        if args.purge {
            build(&project, true)?;
            let open = store.list()?;
            Ok((store.purge(&store.lock()?)?, readers_of_old(&open)))
        } else {
            let keep = args.keep.unwrap_or(project.file.build.keep_generations);
            Ok((store.gc(&store.lock()?, keep)?, Vec::new()))
        }
    })?;
    let left = store.list()?;
    match global.format {
        Format::Json => out.json(&as_json(&done, &left)),
        Format::Text => as_text(&done, &left, args.purge, out),
    }
    if !open.is_empty() {
        note(&format!(
            "readers have {} open; the system frees their bytes when those readers end",
            numbered(&open)
        ));
    }
    Ok(if done.failed.is_empty() { Exit::Done } else { Exit::Failed })
}

/// Generations but the current one that somebody has open.
fn readers_of_old(listing: &Listing) -> Vec<u64> {
    let old = listing.generations.iter().filter(|kept| kept.held && !kept.current);
    old.map(|kept| kept.number).collect()
}

/// `generation 3`, `generations 3 and 4`.
pub fn numbered(numbers: &[u64]) -> String {
    let words: Vec<String> = numbers.iter().map(u64::to_string).collect();
    match words.as_slice() {
        [] => "no generation".to_owned(),
        [one] => format!("generation {one}"),
        [first @ .., last] => format!("generations {} and {last}", first.join(", ")),
    }
}

fn as_json(done: &Collected, left: &Listing) -> serde_json::Value {
    let paths: Vec<String> = done.leftovers.iter().map(|path| path.display().to_string()).collect();
    let failed: Vec<String> = done.failed.iter().map(ToString::to_string).collect();
    let kept: Vec<u64> = left.generations.iter().map(|kept| kept.number).collect();
    json!({
        "removed": done.removed,
        "held": done.held,
        "leftovers": paths,
        "failed": failed,
        "kept": kept,
        "freed_bytes": done.freed_bytes,
        "disk_bytes": left.size_bytes,
    })
}

fn as_text(done: &Collected, left: &Listing, purged: bool, out: &mut Output) {
    out.line(format!("removed     {}, {} freed", numbered(&done.removed), bytes(done.freed_bytes)));
    for path in &done.leftovers {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        out.line(format!("leftover    {name} of a killed build, removed"));
    }
    for number in &done.held {
        out.line(format!(
            "held        generation {number}: a reader has it open; the next build or `atlas gc` removes it"
        ));
    }
    for fault in &done.failed {
        out.line(format!("failed      {fault}"));
    }
    let kept: Vec<u64> = left.generations.iter().map(|kept| kept.number).collect();
    out.line(format!("kept        {}, {} on disk", numbered(&kept), bytes(left.size_bytes)));
    if purged && done.failed.is_empty() {
        out.line("purged      the index folder holds what the corpus holds, and nothing else");
    }
}
