//! Builds an index, searches it, and measures it: the library in thirty lines.
//!
//! ```text
//! cargo run --release --example tour -- [PROJECT [QUESTION]]      # by default this repository's own
//! ```

use std::{env, error::Error, path::Path, sync::Arc};

use atlas::eval::measurement::{Options, measure};
use atlas::eval::questions::{Question, QuestionSet};
use atlas::index::Quiet;
use atlas::project::Project;
use atlas::search::{Request, Retriever as _, Searcher};

#[expect(clippy::print_stdout, reason = "it shows what it found")]
fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = env::args().skip(1);
    let folder = arguments.next().unwrap_or_else(|| env!("CARGO_MANIFEST_DIR").to_owned());
    let question = arguments.next().unwrap_or_else(|| "What does E-417 stand for?".to_owned());

    // Build: only what has changed since the last time.
    let project = Project::find(Some(Path::new(&folder)), Path::new("."), None, &[])?;
    println!("{} passages", project.update(&mut Quiet)?.manifest.passages);

    // Search: on behalf of someone, who sees what the policy lets them see.
    let index = Arc::new(project.open_index()?);
    let searcher = Searcher::new(Arc::clone(&index), project.file.search.clone())?;
    let found = searcher.retrieve(&Request::new(question, project.scope(&index, None)?))?;
    for hit in &found.context {
        println!("{:.3}  {}", hit.score, index.passages().block_reference(hit.block)?);
    }

    // Measure: every development question, under the scope of its asker.
    let set = QuestionSet::read(&project.question_set("development"))?;
    let scope_of = |asked: &Question| project.scope(&index, asked.asker.as_deref());
    let settings = searcher.settings();
    let measured = measure(&searcher, &index, settings, &set, Options::default(), &scope_of)?;
    let mean = measured.mean("ndcg@10", None).unwrap_or_default();
    println!("nDCG@10 {mean:.3} over {} questions", measured.scored(None).count());
    Ok(())
}
