//! Prints the candidates of every question of a set with what the reranker sees, for
//! `tools/calibrate.py`:
//!
//! ```text
//! cargo run --release --example candidates -- PROJECT INDEX [QUESTIONS] > candidates.tsv
//! question  place  fused  confidence  relevant
//! ```
//!
//! With QUESTIONS, the folder of another set, its questions are asked instead: of another subject,
//! so that nothing is relevant.

use std::error::Error;
use std::path::PathBuf;
use std::sync::Arc;

use atlas::eval::questions::QuestionSet;
use atlas::eval::units::Units;
use atlas::index::{self, Options, Quiet};
use atlas::project::Project;
use atlas::search::{Request, Retriever as _, Searcher};

/// Units of each question that are printed.
const PLACES: usize = 20;

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1).map(PathBuf::from);
    let (Some(folder), Some(store)) = (arguments.next(), arguments.next()) else {
        return Err("usage: candidates PROJECT INDEX [QUESTIONS]".into());
    };
    let project = Project::find(Some(&folder), &folder, Some(&store), &[])?;
    if project.open_index().is_err() {
        let corpus = project.read_corpus()?;
        let embedder = project.embedder()?;
        index::build(
            &corpus,
            &project.index_settings(),
            embedder.as_ref(),
            &project.store(),
            Options::default(),
            &mut Quiet,
        )?;
    }
    let foreign = arguments.next();
    let asked = foreign.clone().unwrap_or_else(|| project.question_set("development"));
    let set = QuestionSet::read(&asked)?;
    let index = Arc::new(project.open_index()?);
    let searcher = Searcher::new(Arc::clone(&index), project.file.search.clone())?;
    for question in set.questions.iter().filter(|question| question.unscoreable.is_none()) {
        let outcome = searcher.retrieve(&Request::new(&question.question, index.everyone()))?;
        let units = Units::new(index.passages(), &question.judgments, set.by_document)?;
        let fused = outcome.trace.stage("fuse").map_or(&[][..], |stage| &stage.list);
        let note = outcome.trace.stage("rerank").map_or("", |stage| &stage.note);
        let confidence = note.rsplit(' ').next().unwrap_or("");
        let mut seen = std::collections::HashSet::new();
        for scored in fused {
            let unit = units.of(scored.row)?;
            if seen.len() == PLACES || !seen.insert(unit.clone()) {
                continue;
            }
            let relevant = foreign.is_none()
                && question.judgments.groups().iter().flatten().any(|own| *own == unit);
            let (place, fused) = (seen.len(), scored.score);
            #[expect(clippy::print_stdout, reason = "printing is what this program is for")]
            {
                println!(
                    "{}\t{place}\t{fused:.6}\t{confidence}\t{}",
                    question.id,
                    u8::from(relevant)
                );
            }
        }
    }
    Ok(())
}
