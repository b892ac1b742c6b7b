//! `atlas status`.

use atlas::access::store::Resolved;
use atlas::error::Result;
use serde_json::json;

use super::build::describe;
use super::output::{Output, bytes};
use super::{Exit, Format, Global, project};

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

/// Shows the current generation.
pub fn run(global: &Global, out: &mut Output) -> Result<Exit> {
    let project = project(global)?;
    let index = project.open_index()?;
    let m = index.manifest();
    let stale = project.stale(&m.sources)?;
    let kind = if m.graph.is_some() { "graph" } else { "exact" };
    let recall = m.graph.as_ref().map_or(1.0, |graph| graph.recall_at_10);
    match global.format {
        Format::Json => out.json(&json!({
            "documents": m.documents,
            "blocks": m.blocks,
            "passages": m.passages,
            "generation": m.generation,
            "digest": m.digest,
            "fingerprint": m.fingerprint,
            "stale": stale,
            "size_bytes": m.size_bytes(),
            "access": project.file.access,
            "analyzer": m.analyzer,
            "embedder": m.embedder,
            "dense": { "kind": kind, "rows": m.passages, "dim": m.dim, "recall_at_10": recall },
        })),
        Format::Text => {
            out.line(format!("index       {}", project.index.display()));
            out.line(format!("generation  {}, digest {}", m.generation, m.digest));
            out.line(format!(
                "holds       {} documents, {} blocks, {} passages, {} on disk",
                m.documents,
                m.blocks,
                m.passages,
                bytes(m.size_bytes())
            ));
            out.line(format!(
                "lexical     {}, {} terms in all passages",
                m.analyzer, m.terms_total
            ));
            let dense = match &m.graph {
                None => "exact scan".to_owned(),
                Some(graph) => format!("graph by {}, recall@10 {recall:.3}", graph.builder),
            };
            out.line(format!("dense       {}, {} dimensions, {dense}", m.embedder, m.dim));
            match &project.policy {
                None => out.line("access      open: everyone reads everything"),
                Some(_) => {
                    let default = project.file.default_asker.as_deref().unwrap_or("nobody");
                    out.line(format!(
                        "access      {}; {default} asks by default",
                        project.file.access
                    ));
                    for (label, count) in index.access().counts()? {
                        out.line(format!("            {}", readers(label, count)));
                    }
                }
            }
            out.line(format!("stale       {}", describe(&stale)));
            for file in &stale {
                out.line(format!("            {} {}", file.why, file.path));
            }
            for (path, reason) in &m.skipped {
                out.line(format!("skipped     {path}: {reason}"));
            }
            for (path, reason) in &m.noted {
                out.line(format!("noted       {path}: {reason}"));
            }
        }
    }
    Ok(Exit::Done)
}
