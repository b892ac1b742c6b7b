//! `atlas verify`.

use atlas::error::{Error, Result};
use atlas::index::Check;
use serde_json::json;

use super::output::Output;
use super::{Exit, Format, Global, project};

/// Rows of the index that the graph is asked for, at most.
const SAMPLE: usize = 200;

/// Arguments of `verify`.
#[derive(Debug, clap::Args)]
pub struct VerifyArgs {
    /// Build the corpus from nothing beside it, and compare what the two hold and find
    #[arg(long)]
    against_rebuild: bool,
}

/// Checks the index; exit code 1 when something is wrong with it.
pub fn run(args: &VerifyArgs, global: &Global, out: &mut Output) -> Result<Exit> {
    if args.against_rebuild {
        return super::rebuild::run(global, out);
    }
    let project = project(global)?;
    let mut recall = None;
    let checks = match project.open_index() {
        Ok(index) => {
            let mut checks = index.verify();
            if index.vectors().has_graph() {
                let found = index.vectors().graph_recall(project.file.search.ef, SAMPLE);
                let fault = found.as_ref().err().map(ToString::to_string);
                checks.push(Check { name: "graph", fault });
                recall = found
                    .ok()
                    .flatten()
                    .map(|recall| (recall, SAMPLE.min(index.manifest().passages)));
            }
            checks
        }
        Err(fault @ Error::Damaged { .. }) => {
            vec![Check { name: "opening", fault: Some(fault.to_string()) }]
        }
        Err(fault) => return Err(fault),
    };
    let sound = checks.iter().all(|check| check.fault.is_none());
    match global.format {
        Format::Json => {
            let list: Vec<_> =
                checks.iter().map(|c| json!({ "name": c.name, "fault": c.fault })).collect();
            let recall = recall.map(|(recall, _)| recall);
            out.json(&json!({ "sound": sound, "checks": list, "graph_recall_at_10": recall }));
        }
        Format::Text => {
            for check in &checks {
                let verdict = check.fault.as_deref().unwrap_or("every section as it was written");
                out.line(format!("{:10}  {verdict}", check.name));
            }
            if let Some((recall, asked)) = recall {
                out.line(format!(
                    "            recall@10 {recall:.4} against the exact scan, {asked} rows asked"
                ));
            }
        }
    }
    Ok(if sound { Exit::Done } else { Exit::Failed })
}
