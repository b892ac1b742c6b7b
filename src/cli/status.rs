//! `atlas status`.

use atlas::access::store::Resolved;
use atlas::error::{Result, moment};
use atlas::format::{Kept, Listing};
use atlas::index::Index;
use atlas::project::{Project, Staleness};
use atlas::report::counted;
use serde_json::json;

use super::build::describe;
use super::output::{Output, bytes};
use super::{Exit, Format, Global, project};

/// Files that are named as stale; JSON names all.
const NAMED: usize = 20;

/// Shows the current generation and the others.
pub fn run(global: &Global, out: &mut Output) -> Result<Exit> {
    let project = project(global)?;
    // Before the index is opened, so that this program is not among the readers that hold one.
    let listing = project.store().exists().then(|| project.store().list()).transpose()?;
    let index = match project.open_index() {
        Ok(index) => index,
        Err(fault) => {
            // What else there is may be the way out.
            if let (Some(listing), Format::Text) = (&listing, global.format) {
                generations(&project, listing, out);
            }
            return Err(fault);
        }
    };
    let stale = project.stale(&index.manifest().sources)?;
    match global.format {
        Format::Json => out.json(&as_json(&project, &index, &stale, listing.as_ref())),
        Format::Text => {
            held(&project, &index, out)?;
            if let Some(listing) = &listing {
                generations(&project, listing, out);
            }
            out.line(format!("stale       {}", describe(&stale)));
            for file in stale.iter().take(NAMED) {
                out.line(format!("            {} {}", file.why, file.path));
            }
            if let more @ 1.. = stale.len().saturating_sub(NAMED) {
                out.line(format!("            and {more} more; `--format json` names all"));
            }
            for (path, reason) in &index.manifest().skipped {
                out.line(format!("skipped     {path}: {reason}"));
            }
            for (path, reason) in &index.manifest().noted {
                out.line(format!("noted       {path}: {reason}"));
            }
        }
    }
    Ok(Exit::Done)
}

fn as_json(
    project: &Project,
    index: &Index,
    stale: &[Staleness],
    listing: Option<&Listing>,
) -> serde_json::Value {
    let m = index.manifest();
    let kind = if m.graph.is_some() { "graph" } else { "exact" };
    let recall = m.graph.as_ref().map_or(1.0, |graph| graph.recall_at_10);
    let kept = listing.map_or(&[][..], |listing| &listing.generations[..]);
    let leftovers = listing.map_or(&[][..], |listing| &listing.leftovers[..]);
    let leftovers: Vec<String> = leftovers.iter().map(|path| path.display().to_string()).collect();
    json!({
        "documents": m.documents,
        "blocks": m.blocks,
        "passages": m.passages,
        "generation": m.generation,
        "rolled_back_to": m.rolled_back_to,
        "digest": m.digest,
        "fingerprint": m.fingerprint,
        "stale": stale,
        "size_bytes": m.size_bytes(),
        "disk_bytes": listing.map(|listing| listing.size_bytes),
        "generations": kept.iter().map(generation_json).collect::<Vec<_>>(),
        "leftovers": leftovers,
        "access": project.file.access,
        "analyzer": m.analyzer,
        "embedder": m.embedder,
        "dense": { "kind": kind, "rows": m.passages, "dim": m.dim, "recall_at_10": recall },
    })
}

fn generation_json(kept: &Kept) -> serde_json::Value {
    let m = kept.manifest.as_ref().ok();
    json!({
        "number": kept.number,
        "built_at": moment(kept.built_ns),
        "documents": m.map(|m| m.documents),
        "passages": m.map(|m| m.passages),
        "size_bytes": kept.size_bytes,
        "shared_bytes": kept.shared_bytes,
        "current": kept.current,
        "held": kept.held,
        "rolled_back_to": m.and_then(|m| m.rolled_back_to),
        "fault": kept.manifest.as_ref().err().map(ToString::to_string),
    })
}

/// What the current generation holds, and for whom.
fn held(project: &Project, index: &Index, out: &mut Output) -> Result<()> {
    let m = index.manifest();
    out.line(format!("index       {}", project.index.display()));
    out.line(format!("generation  {}, digest {}", m.generation, m.digest));
    if let Some(of) = m.rolled_back_to {
        out.line(format!(
            "            gone back to: what generation {of} held, until `atlas build`"
        ));
    }
    out.line(format!(
        "holds       {} documents, {} blocks, {} passages, {} on disk",
        m.documents,
        m.blocks,
        m.passages,
        bytes(m.size_bytes())
    ));
    out.line(format!("lexical     {}, {} terms in all passages", m.analyzer, m.terms_total));
    let dense = match &m.graph {
        None => "exact scan".to_owned(),
        Some(graph) => format!("graph by {}, recall@10 {:.3}", graph.builder, graph.recall_at_10),
    };
    out.line(format!("dense       {}, {} dimensions, {dense}", m.embedder, m.dim));
    match &project.policy {
        None => out.line("access      open: everyone reads everything"),
        Some(_) => {
            let default = project.file.default_asker.as_deref().unwrap_or("nobody");
            out.line(format!("access      {}; {default} asks by default", project.file.access));
            for (label, count) in index.access().counts()? {
                out.line(format!("            {}", readers(label, count)));
            }
        }
    }
    Ok(())
}

/// `4 passages sales: role sales`.
fn readers(resolved: &Resolved, count: usize) -> String {
    let sets: Vec<String> = resolved
        .readers
        .iter()
        .map(|all| all.iter().map(ToString::to_string).collect::<Vec<_>>().join(" and "))
        .collect();
    let open = if sets.is_empty() { "nobody".to_owned() } else { sets.join(", or ") };
    let label = &resolved.label;
    let parts = [&label.classification, &label.account, &label.region];
    let parts: Vec<&str> = parts.into_iter().flatten().map(String::as_str).collect();
    let name = if parts.is_empty() { "unclassified".to_owned() } else { parts.join(" ") };
    format!("{count:5} passages {name}: {open}")
}

/// Every generation, what it takes, and why it is there.
fn generations(project: &Project, listing: &Listing, out: &mut Output) {
    let shared: u64 = listing.generations.iter().map(|kept| kept.shared_bytes).sum();
    let once = if shared > 0 { ", files that several share counted once" } else { "" };
    out.line(format!(
        "kept        {}, {} on disk{once}",
        counted(listing.generations.len(), "generation"),
        bytes(listing.size_bytes)
    ));
    let older = listing.generations.iter().filter(|kept| !kept.current).count();
    let away = older.saturating_sub(project.file.build.keep_generations);
    for (at, kept) in listing.generations.iter().enumerate() {
        let when = moment(kept.built_ns).unwrap_or_else(|| "at no known time".to_owned());
        let holds = match &kept.manifest {
            Ok(m) => format!(
                "{}, {}, {}",
                counted(m.documents, "document"),
                counted(m.passages, "passage"),
                bytes(kept.size_bytes)
            ),
            Err(fault) => fault.to_string(),
        };
        let why = match () {
            () if kept.current => "current",
            () if kept.held => "a reader has it open",
            () if at < away => "goes with the next build or `atlas gc`",
            () => "to go back to",
        };
        let shared = match kept.shared_bytes {
            0 => String::new(),
            shared => format!(" ({} shared)", bytes(shared)),
        };
        out.line(format!("            {:4}  {when}  {holds}{shared}: {why}", kept.number));
    }
    for path in &listing.leftovers {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        out.line(format!(
            "leftover    {name}: a killed build left it; the next build or `atlas gc` removes it"
        ));
    }
    for name in &listing.strangers {
        out.line(format!("not ours    {name}: nothing of Atlas; it is left alone"));
    }
}
