//! Prints what an experiment outside the engine needs of a set: passages as terms, vectors, questions.
//!
//! ```text
//! cargo run --release --example dump -- PROJECT OUT [KEY=VALUE ..]
//! ```
use std::error::Error;
use std::fs::{self, File};
use std::io::{BufWriter, Write as _};
use std::path::PathBuf;

use atlas::eval::questions::QuestionSet;
use atlas::index::{self, Options, Quiet};
use atlas::project::Project;
use atlas::text::{Analyzer, Stems};
use atlas::vectors::Role;

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let (Some(folder), Some(out)) = (arguments.next(), arguments.next()) else {
        return Err("usage: dump PROJECT OUT [KEY=VALUE ..]".into());
    };
    let (folder, out) = (PathBuf::from(folder), PathBuf::from(out));
    fs::create_dir_all(&out)?;
    let settings: Vec<String> = arguments.collect();
    let store = out.join("index");
    let project = Project::find(Some(&folder), &folder, Some(&store), &settings)?;
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
    let index = project.open_index()?;
    let analyzer: &Analyzer = index.analyzer();
    let passages = index.passages();
    let mut text = BufWriter::new(File::create(out.join("passages.jsonl"))?);
    let mut vectors = BufWriter::new(File::create(out.join("vectors.f32"))?);
    let mut stems = Stems::default();
    for row in 0..index.manifest().passages as u32 {
        let passage = passages.passage(row)?;
        let block = passages.block(passage.block)?;
        let document = passages.document(block.document)?;
        let form = index_form(&index, row)?;
        let (terms, length) = analyzer.document(&form, &mut stems);
        let head = form.len() - passages.passage_text(&passage)?.len();
        let (head, _) = analyzer.document(&form[..head], &mut stems);
        let (title, _) = analyzer.document(&document.title, &mut stems);
        let line = serde_json::json!({
            "d": document.id, "b": passage.block, "n": length,
            "h": head.replace('\n', " "), "t": title.replace('\n', " "), "x": terms.replace('\n', " "),
        });
        writeln!(text, "{line}")?;
        for value in index.vectors().row(row)? {
            vectors.write_all(&value.to_le_bytes())?;
        }
    }
    let set = QuestionSet::read(&project.question_set("development"))?;
    let mut asked = BufWriter::new(File::create(out.join("questions.jsonl"))?);
    let mut vectors = BufWriter::new(File::create(out.join("questions.f32"))?);
    for question in &set.questions {
        if question.unscoreable.is_some() {
            continue;
        }
        let embedded = index.embedder().embed(Role::Query, &[&question.question])?;
        let line = serde_json::json!({
            "id": question.id, "q": question.question, "terms": analyzer.question(&question.question),
            "readable": embedded.readable[0], "rel": question.judgments.grades(),
            "groups": question.judgments.groups(),
        });
        writeln!(asked, "{line}")?;
        for value in embedded.rows.row(0) {
            vectors.write_all(&value.to_le_bytes())?;
        }
    }
    Ok(())
}

fn index_form(index: &index::Index, row: u32) -> Result<String, Box<dyn Error>> {
    let passages = index.passages();
    let block = passages.block(passages.passage(row)?.block)?;
    let document = passages.document(block.document)?;
    let sections = passages.sections(&block)?;
    let text = passages.passage_text(&passages.passage(row)?)?;
    Ok(atlas::passage::searched_form(&document.title, &sections, text, true))
}
