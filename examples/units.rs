//! Prints what the built-in answerer sees of the questions of a set, for `tools/calibrate_answers.py`:
//!
//! ```text
//! cargo run --release --example units -- PROJECT INDEX answerable  > answerable.tsv
//! cargo run --release --example units -- PROJECT INDEX removed     > removed.tsv
//! cargo run --release --example units -- PROJECT INDEX FILE.jsonl  > unanswerable.tsv
//! question  source  relevant  answer  features ..  text
//! cargo run --release --example units -- PROJECT INDEX claims      > claims.tsv
//! question  supported  words  cosine
//! ```
//!
//! `removed` asks the same questions within a scope that lacks every relevant document: what is left is
//! near and does not answer. FILE.jsonl holds other questions, of which nothing is the answer. `relevant`
//! says whether the unit's document is judged relevant, `answer` the share of the content words of the
//! recorded answer that the unit has, or -1 without one. `claims` prints what the built-in judge sees of
//! every sentence of the recorded answers: beside the documents that are relevant, which support it, and
//! beside what else the search brought, which is near and does not.

use std::collections::BTreeSet;
use std::error::Error;
use std::path::PathBuf;
use std::sync::Arc;

use atlas::access::{Bitmap, Scope};
use atlas::answer::{Extractive, Settings, Source, sources};
use atlas::eval::claims::ClaimJudge;
use atlas::eval::judge;
use atlas::eval::questions::QuestionSet;
use atlas::index::{self, Index, Options, Quiet};
use atlas::project::Project;
use atlas::search::{Request, Retriever as _, Searcher};

/// A question with the documents that answer it.
struct Asked {
    id: String,
    text: String,
    reference: String,
    relevant: BTreeSet<String>,
}

impl Asked {
    /// Whether the document or the block is judged relevant.
    fn answers(&self, document: &str, block: &str) -> bool {
        self.relevant.contains(document) || self.relevant.contains(block)
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [folder, store, what] = &arguments[..] else {
        return Err("usage: units PROJECT INDEX answerable|removed|claims|FILE.jsonl".into());
    };
    let (folder, store) = (PathBuf::from(folder), PathBuf::from(store));
    let project = Project::find(Some(&folder), &folder, Some(&store), &["access=open".to_owned()])?;
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
    let index = Arc::new(project.open_index()?);
    let searcher = Searcher::new(Arc::clone(&index), project.file.search.clone())?;
    let extractive = Extractive::new(Arc::clone(&index), Settings::default())?;
    if what == "claims" {
        return claims(&project, &index, &searcher);
    }
    for asked in asked(&project, what)? {
        let scope = if what == "removed" { without(&index, &asked)? } else { index.everyone() };
        let request = Request::new(&asked.text, scope);
        let outcome = searcher.retrieve(&request)?;
        let context = sources(&index, &outcome)?;
        let words: BTreeSet<String> =
            index.analyzer().question(&asked.reference).into_iter().collect();
        for read in extractive.read(&asked.text, request.scope(), &context)? {
            let source = &context[read.source];
            let own: BTreeSet<String> =
                index.analyzer().question(&read.unit.text).into_iter().collect();
            let share = if words.is_empty() {
                -1.0
            } else {
                words.intersection(&own).count() as f64 / words.len() as f64
            };
            let features: Vec<String> = read.features.iter().map(|f| format!("{f:.5}")).collect();
            #[expect(clippy::print_stdout, reason = "printing is what this program is for")]
            {
                println!(
                    "{}\t{}\t{}\t{share:.4}\t{}\t{}",
                    asked.id,
                    read.source,
                    u8::from(asked.answers(&source.document, &source.reference)),
                    features.join("\t"),
                    read.unit.text.replace(['\t', '\n'], " ")
                );
            }
        }
    }
    Ok(())
}

/// Every claim of the recorded answers, with the sources that support it and with others.
fn claims(
    project: &Project,
    index: &Arc<Index>,
    searcher: &Searcher,
) -> Result<(), Box<dyn Error>> {
    let judge = ClaimJudge::new(Arc::clone(index));
    let passages = index.passages();
    for asked in asked(project, "answerable")? {
        let mut supporting = Vec::new();
        // Sets that judge documents: every block of one may support a claim.
        for document in &asked.relevant {
            let Some(number) = passages.find(document)? else { continue };
            let record = passages.document(number)?;
            for block in record.first_block..record.first_block + record.blocks {
                supporting.push(Source::of(index, block)?);
            }
        }
        let outcome = searcher.retrieve(&Request::new(&asked.text, index.everyone()))?;
        let mut others = sources(index, &outcome)?;
        others.retain(|source| !asked.relevant.contains(&source.document));
        for claim in judge::claims(&asked.reference) {
            for (supported, sources) in [(1, &supporting), (0, &others)] {
                let Some((words, cosine)) = judge.features(&claim, sources)? else { continue };
                #[expect(clippy::print_stdout, reason = "printing is what this program is for")]
                {
                    println!("{}\t{supported}\t{words:.5}\t{cosine:.5}", asked.id);
                }
            }
        }
    }
    Ok(())
}

/// The scope of everyone in an index that never held what answers `asked`.
fn without(index: &Index, asked: &Asked) -> Result<Scope, Box<dyn Error>> {
    let passages = index.passages();
    let mut kept = Vec::new();
    for row in 0..passages.passages_len() {
        let reference = passages.reference(row)?;
        if !asked.answers(reference.document(), &reference.block.to_string()) {
            kept.push(row);
        }
    }
    let bitmap = Bitmap::of(passages.passages_len(), kept);
    Ok(Scope::restricted(bitmap).bound_to(index.stamp()))
}

fn asked(project: &Project, what: &str) -> Result<Vec<Asked>, Box<dyn Error>> {
    if what.ends_with(".jsonl") {
        #[derive(serde::Deserialize)]
        struct Line {
            #[serde(rename = "_id")]
            id: String,
            text: String,
        }
        let mut all = Vec::new();
        for line in std::fs::read_to_string(what)?.lines() {
            let line: Line = serde_json::from_str(line)?;
            let (reference, relevant) = (String::new(), BTreeSet::new());
            all.push(Asked { id: line.id, text: line.text, reference, relevant });
        }
        return Ok(all);
    }
    let set = QuestionSet::read(&project.question_set("development"))?;
    let scoreable = set.questions.into_iter().filter(|question| question.unscoreable.is_none());
    let one = |question: atlas::eval::questions::Question| {
        let units = question.judgments.groups().iter().flatten();
        Asked {
            relevant: units.cloned().collect(),
            id: question.id,
            text: question.question,
            reference: question.reference,
        }
    };
    Ok(scoreable.map(one).collect())
}
