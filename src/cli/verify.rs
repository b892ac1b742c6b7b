//! `atlas verify`.

use atlas::error::Result;
use serde_json::json;

use super::output::Output;
use super::{Exit, Format, Global, project};

/// Questions of the sample by which the graph is compared with the scan.
const SAMPLE: usize = 200;

/// Checks the index; exit code 1 when something is wrong with it.
pub fn run(global: &Global, out: &mut Output) -> Result<Exit> {
    let project = project(global)?;
    let index = project.open_index()?;
    let checks = index.verify();
    let recall = index.vectors().graph_recall(project.file.search.ef, SAMPLE)?;
    let sound = checks.iter().all(|check| check.fault.is_none());
    match global.format {
        Format::Json => {
            let list: Vec<_> =
                checks.iter().map(|c| json!({ "name": c.name, "fault": c.fault })).collect();
            out.json(&json!({ "sound": sound, "checks": list, "graph_recall_at_10": recall }));
        }
        Format::Text => {
            for check in &checks {
                let verdict = check.fault.as_deref().unwrap_or("every byte as it was written");
                out.line(format!("{:10}  {verdict}", check.name));
            }
            if let Some(recall) = recall {
                out.line(format!(
                    "graph       recall@10 {recall:.4} against the exact scan, {SAMPLE} rows asked"
                ));
            }
        }
    }
    Ok(if sound { Exit::Done } else { Exit::Failed })
}
