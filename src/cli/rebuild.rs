//! `atlas verify --against-rebuild`.

use std::sync::Arc;

use atlas::access::Asker;
use atlas::error::Result;
use atlas::eval::rebuild::{Compared, Rebuild};
use atlas::report::counted;
use serde_json::json;

use super::output::Output;
use super::{Exit, Format, Global, project};

/// Documents whose words are searched for.
const SAMPLE: usize = 25;

/// Differences that are shown.
const SHOWN: usize = 10;

/// Builds the corpus from nothing beside the index and compares the two; exit code 1 when they differ.
pub fn run(global: &Global, out: &mut Output) -> Result<Exit> {
    let project = project(global)?;
    let index = Arc::new(project.open_index()?);
    let askers: Vec<Asker> = project.askers.iter().cloned().collect();
    let plan = Rebuild {
        corpus: &project.read_corpus()?,
        settings: &project.index_settings(),
        search: &project.file.search,
        embedder: &project.embedder()?,
        policy: project.policy.as_ref(),
        askers: &askers,
    };
    let compared = plan.compare(&index, SAMPLE)?;
    let manifest = index.manifest();
    match global.format {
        Format::Json => out.json(&json!({
            "equal": compared.differences.is_empty(),
            "layers": manifest.layers.len(),
            "searches": compared.searches,
            "differences": compared.differences,
            "graph_recall_at_10": compared.recall.map(|(ours, fresh)| {
                json!({ "ours": ours, "fresh": fresh })
            }),
        })),
        Format::Text => text(&compared, manifest.layers.len(), out),
    }
    Ok(if compared.differences.is_empty() { Exit::Done } else { Exit::Failed })
}

fn text(compared: &Compared, layers: usize, out: &mut Output) {
    out.line(format!(
        "{} beside one built from nothing: {} searches in every mode and for every asker, {}",
        counted(layers, "layer"),
        compared.searches,
        counted(compared.differences.len(), "difference")
    ));
    if let Some((ours, fresh)) = compared.recall {
        out.line(format!("graph       recall@10 {ours:.4}, {fresh:.4} when fresh"));
    }
    for differs in compared.differences.iter().take(SHOWN) {
        out.line(format!("differs     {differs}"));
    }
    if let more @ 1.. = compared.differences.len().saturating_sub(SHOWN) {
        out.line(format!(
            "            and {more} more; `atlas build --full` writes it from nothing"
        ));
    }
}
