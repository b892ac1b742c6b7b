//! What every system is given: passages, their embeddings, questions, their embeddings.
//!
//! Pages that a judged question needs come first, the others in the order of a hash of their ids, and
//! pages of other folders last, so that a smaller collection is part of a larger one. Every page falls
//! into one of 100 parts by another hash: filters ask for `part` under 50, 10 or 1. The first pages by
//! a third hash are held out of every size; questions are drawn from them.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::fs::File;
use std::io::{BufWriter, Write as _};
use std::path::{Path, PathBuf};

use atlas::corpus::{self, CorpusSettings, Document, Value};
use atlas::eval::questions::QuestionSet;
use atlas::passage::{self, cut, searched_form};
use atlas::vectors::{Embedder as _, Role, StaticModel};
use rayon::prelude::*;
use serde_json::json;
use xxhash_rust::xxh3::xxh3_64_with_seed;

use crate::Result;
use crate::npy::Matrix;

/// Questions in all: those of the judged set, those of the set beside it, and beginnings of passages.
const QUESTIONS: usize = 1_000;

/// Words of the beginning of a passage that make a question.
const WORDS: usize = 12;

/// Pages that are in no collection.
const HELD_OUT: usize = 500;

/// A set of real questions on another documentation, beside the corpus; left out where it is absent.
const BESIDE: &str = "claude-docs";

const ORDER: u64 = 1;
const HOLD_OUT: u64 = 2;
const PART: u64 = 3;

/// The searched form of a passage, and how many of its bytes are titles.
type Form = (String, usize);

/// A page with its passages as they are searched.
type Cut = (Document, Vec<Form>);

fn hash(id: &str, seed: u64) -> u64 {
    xxh3_64_with_seed(id.as_bytes(), seed)
}

/// The part of 100 that a page falls into.
pub fn part(id: &str) -> u64 {
    hash(id, PART) % 100
}

/// The passages of a page as they are searched.
fn forms(document: &Document) -> Vec<Form> {
    let settings = passage::Settings::default();
    let blocks = cut(document, &settings);
    let form = |(block, passages): &(passage::Block, Vec<passage::Passage>)| {
        let one = |passage: &passage::Passage| {
            let form = searched_form(&document.title, &block.sections, &passage.text, true);
            let headings_bytes = form.len() - passage.text.len();
            (form, headings_bytes)
        };
        passages.iter().map(one).collect::<Vec<_>>()
    };
    blocks.iter().flat_map(form).collect()
}

/// Writes the data of `wanted` passages into `out`.
pub fn write(corpus: &Path, out: &Path, wanted: usize, more: &[PathBuf]) -> Result<()> {
    std::fs::create_dir_all(out)?;
    let set = QuestionSet::read(corpus)?;
    let judged: BTreeSet<&str> = set
        .questions
        .iter()
        .flat_map(|question| question.judgments.groups().iter().flatten())
        .map(String::as_str)
        .collect();
    let mut pages = corpus::read(corpus, &CorpusSettings::default())?.documents;
    pages.sort_by_cached_key(|page| (hash(&page.id, HOLD_OUT), page.id.clone()));
    let (mut held, mut kept) = (Vec::new(), Vec::new());
    for page in pages {
        let hold = held.len() < HELD_OUT && !judged.contains(page.id.as_str());
        if hold { held.push(page) } else { kept.push(page) }
    }
    kept.sort_by_cached_key(|page| {
        (!judged.contains(page.id.as_str()), hash(&page.id, ORDER), page.id.clone())
    });
    let mut sources = vec![(name(corpus), kept)];
    if forms_of(&sources[0].1) < wanted {
        for folder in more {
            sources.push((name(folder), others(folder)?));
        }
    }
    let (chosen, counts) = choose(sources, wanted)?;
    let dim = passages(&chosen, out)?;
    let asked = questions(corpus, &set, &held, out)?;
    let about = json!({
        "passages": wanted, "pages": chosen.len(), "questions": asked, "dim": dim,
        "model": StaticModel::built_in()?.id(), "passages_from": counts,
    });
    std::fs::write(out.join("about.json"), serde_json::to_string_pretty(&about)? + "\n")?;
    println!("{about}");
    Ok(())
}

fn name(folder: &Path) -> String {
    folder.file_name().unwrap_or_default().to_string_lossy().into_owned()
}

fn forms_of(pages: &[Document]) -> usize {
    pages.par_iter().map(|page| forms(page).len()).sum()
}

/// The documents of another folder, each text once.
fn others(folder: &Path) -> Result<Vec<Document>> {
    let settings = CorpusSettings::default();
    let mut pages = corpus::read(folder, &settings)?.documents;
    let prefix = name(folder);
    let mut seen = HashSet::new();
    pages.retain(|page| seen.insert(xxh3_64_with_seed(page.body.as_bytes(), 0)));
    for page in &mut pages {
        page.id = format!("{prefix}:{}", page.id);
    }
    pages.sort_by_cached_key(|page| (hash(&page.id, ORDER), page.id.clone()));
    Ok(pages)
}

/// Pages whose passages are `wanted` exactly, with the number of passages from each source.
fn choose(
    sources: Vec<(String, Vec<Document>)>,
    wanted: usize,
) -> Result<(Vec<Cut>, BTreeMap<String, usize>)> {
    let (mut chosen, mut counts, mut left) = (Vec::new(), BTreeMap::new(), wanted);
    for (source, pages) in sources {
        // Some pages at a time, so that little more is cut than is used.
        for some in pages.chunks(2_000) {
            if left == 0 {
                break;
            }
            let cut: Vec<Vec<Form>> = some.par_iter().map(forms).collect();
            for (page, forms) in some.iter().zip(cut) {
                if forms.is_empty() || forms.len() > left {
                    continue;
                }
                left -= forms.len();
                *counts.entry(source.clone()).or_insert(0) += forms.len();
                let mut page = page.clone();
                page.metadata.0.clear();
                let part = Value::Number(part(&page.id) as f64);
                page.metadata.0.insert("part".to_owned(), part);
                chosen.push((page, forms));
            }
        }
    }
    if left > 0 {
        return Err(format!("the sources hold {} passages of {wanted}", wanted - left).into());
    }
    chosen.sort_by(|(a, _), (b, _)| a.id.cmp(&b.id));
    Ok((chosen, counts))
}

/// Pages, passages in the order of rows, and their embeddings; the number of dimensions.
fn passages(chosen: &[Cut], out: &Path) -> Result<usize> {
    let model = StaticModel::built_in()?;
    let mut pages = BufWriter::new(File::create(out.join("pages.jsonl"))?);
    let mut lines = BufWriter::new(File::create(out.join("passages.jsonl"))?);
    let mut numbers = Vec::new();
    for batch in chosen.chunks(1_000) {
        for (page, forms) in batch {
            writeln!(pages, "{}", serde_json::to_string(page)?)?;
            for (form, headings) in forms {
                let line = json!({
                    "page": page.id, "part": part(&page.id), "text": form, "headings_bytes": headings,
                });
                writeln!(lines, "{line}")?;
            }
        }
        let texts: Vec<&str> =
            batch.iter().flat_map(|(_, forms)| forms).map(|(form, _)| form.as_str()).collect();
        numbers.extend(model.embed(Role::Passage, &texts)?.rows);
    }
    pages.flush()?;
    lines.flush()?;
    let matrix = Matrix { dim: model.dim(), numbers };
    matrix.write(&out.join("vectors.npy"))?;
    Ok(matrix.dim)
}

/// Questions and their embeddings: judged ones first, with the pages that answer them; how many.
fn questions(corpus: &Path, set: &QuestionSet, held: &[Document], out: &Path) -> Result<usize> {
    let mut asked = Vec::new();
    for question in set.questions.iter().filter(|question| question.unscoreable.is_none()) {
        let units: Vec<&String> = question.judgments.groups().iter().flatten().collect();
        asked.push(json!({"set": set.name, "text": question.question, "pages": units}));
    }
    let beside = corpus.parent().unwrap_or(corpus).join(BESIDE);
    if beside.is_dir() {
        let set = QuestionSet::read(&beside)?;
        asked.extend(set.questions.iter().map(|q| json!({"set": set.name, "text": q.question})));
    }
    let mut seen = HashSet::new();
    let mut drawn = held.iter().flat_map(forms).filter_map(|(form, _)| {
        // The text is the last line of a form; titles stand before it.
        let words: Vec<&str> = form.lines().last()?.split_whitespace().take(WORDS).collect();
        (words.len() == WORDS).then(|| words.join(" "))
    });
    while asked.len() < QUESTIONS {
        let Some(text) = drawn.next() else { break };
        if seen.insert(text.clone()) {
            asked.push(json!({"set": "held-out", "text": text}));
        }
    }
    let model = StaticModel::built_in()?;
    let texts: Vec<&str> = asked.iter().filter_map(|asked| asked["text"].as_str()).collect();
    let rows = model.embed(Role::Query, &texts)?.rows;
    Matrix { dim: model.dim(), numbers: rows.into_iter().collect() }
        .write(&out.join("queries.npy"))?;
    let mut lines = BufWriter::new(File::create(out.join("queries.jsonl"))?);
    for one in &asked {
        writeln!(lines, "{one}")?;
    }
    lines.flush()?;
    Ok(asked.len())
}
