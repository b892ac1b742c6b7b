//! `atlas verify`.

use atlas::error::{Error, Result};
use atlas::index::{self, Check, Damage};
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

/// The command that writes everything again.
const MEND: &str = "atlas build --full";

/// What was found.
struct Found {
    checks: Vec<Check>,
    /// Every file that is not as it was written, in whatever state the rest is.
    damaged: Vec<Damage>,
    /// Recall of the graph, and how many rows were asked for.
    recall: Option<(f64, usize)>,
}

/// Checks the index; exit code 1 when something is wrong with it.
pub fn run(args: &VerifyArgs, global: &Global, out: &mut Output) -> Result<Exit> {
    if args.against_rebuild {
        return super::rebuild::run(global, out);
    }
    let project = project(global)?;
    let mut found = Found { checks: Vec::new(), damaged: Vec::new(), recall: None };
    match project.open_index() {
        Ok(index) => {
            found.checks = index.verify();
            if index.vectors().has_graph() {
                let recall = index.vectors().graph_recall(project.file.search.ef, SAMPLE);
                let fault = recall.as_ref().err().map(ToString::to_string);
                found.checks.push(Check { name: "graph", fault });
                let asked = SAMPLE.min(index.manifest().passages);
                found.recall = recall.ok().flatten().map(|recall| (recall, asked));
            }
        }
        Err(fault @ Error::Damaged { .. }) => {
            found.checks.push(Check { name: "opening", fault: Some(fault.to_string()) });
        }
        Err(fault) => return Err(fault),
    }
    if let (false, Ok(generation)) = (found.is_sound(), project.store().open()) {
        found.damaged = index::damaged(&generation);
    }
    match global.format {
        Format::Json => out.json(&found.as_json()),
        Format::Text => found.as_text(out),
    }
    Ok(if found.is_sound() { Exit::Done } else { Exit::Failed })
}

/// What a fault that the check called `name` found does to a search that begins now. No damage of a file
/// makes one answer wrongly: every block of a part is checked before its first byte is used, and
/// tantivy's files whole before the first search.
fn served(check: &Check) -> &'static str {
    let of_graph = check.fault.as_ref().is_some_and(|fault| fault.contains("graph.part"));
    match check.name {
        "opening" => "every search fails by name, since it cannot be opened",
        "passages" => "a search that comes upon what is damaged fails by name",
        "lexical" => "lexical and hybrid searches fail by name; `--mode dense` needs none of it",
        "vectors" | "graph" if of_graph => {
            "searches over the graph fail by name; `--dense exact` needs none of it"
        }
        "vectors" | "graph" => {
            "dense and hybrid searches fail by name; `--mode lexical` needs none of it"
        }
        "access" => "every search fails by name",
        _ => "what is served could be wrong: the files are as they were written, and do not agree",
    }
}

impl Found {
    fn is_sound(&self) -> bool {
        self.checks.iter().all(|check| check.fault.is_none())
    }

    /// Whether something is wrong that no search would come upon by itself: files that are each as they
    /// were written and do not agree.
    fn could_be_wrong(&self) -> bool {
        let mut faulty = self.checks.iter().filter(|check| check.fault.is_some()).peekable();
        faulty.peek().is_some() && faulty.all(|check| check.name == "counts")
    }

    /// What the faults do to searches, each said once.
    fn served(&self) -> Vec<&'static str> {
        let mut said = Vec::new();
        for check in self.checks.iter().filter(|check| check.fault.is_some()) {
            // A count that disagrees while a file is damaged says nothing more.
            if check.name != "counts" || self.could_be_wrong() {
                said.push(served(check));
            }
        }
        said.dedup();
        said
    }

    fn as_json(&self) -> serde_json::Value {
        let entry = |check: &Check| {
            let served = check.fault.as_ref().map(|_| served(check));
            json!({ "name": check.name, "fault": check.fault, "served": served })
        };
        let damage = |damage: &Damage| json!({ "file": damage.path.display().to_string(), "fault": damage.fault.to_string() });
        json!({
            "sound": self.is_sound(),
            "checks": self.checks.iter().map(entry).collect::<Vec<_>>(),
            "damaged": self.damaged.iter().map(damage).collect::<Vec<_>>(),
            "could_be_wrong": self.could_be_wrong(),
            "mend": (!self.is_sound()).then_some(MEND),
            "graph_recall_at_10": self.recall.map(|(recall, _)| recall),
        })
    }

    fn as_text(&self, out: &mut Output) {
        for check in &self.checks {
            let verdict = check.fault.as_deref().unwrap_or("every section as it was written");
            out.line(format!("{:10}  {verdict}", check.name));
        }
        if let Some((recall, asked)) = self.recall {
            out.line(format!(
                "            recall@10 {recall:.4} against the exact scan, {asked} rows asked"
            ));
        }
        if self.is_sound() {
            return;
        }
        for damage in &self.damaged {
            out.line(format!("damaged     {}", damage.path.display()));
        }
        for line in self.served() {
            out.line(format!("served      {line}"));
        }
        if !self.could_be_wrong() {
            out.line("            no search that begins now answers wrongly; a process that runs on since");
            out.line("            before the damage may have checked these bytes already: start it again");
        }
        out.line(format!("mend        {MEND}"));
    }
}
