//! From a corpus to a generation.

use std::collections::BTreeMap;

use rayon::prelude::*;
use serde::Serialize;

use super::Settings;
use crate::corpus::{Corpus, Document, Skipped};
use crate::error::Result;
use crate::format::{FORMAT_VERSION, GraphState, Manifest, SourceFile, Store};
use crate::lexical::LexicalWriter;
use crate::passage::store::StoreWriter;
use crate::passage::{Block, Passage, cut, searched_form};
use crate::text::{Analyzer, Stems};
use crate::vectors::store::{VectorIndex, VectorWriter};
use crate::vectors::{Embedder, Role};

/// Bytes of documents that are cut, analysed and embedded at a time: what a build holds in memory
/// beside the corpus.
const BATCH_BYTES: usize = 8 << 20;

/// Rows of the index that a fresh graph is asked for.
const RECALL_SAMPLE: usize = 200;

/// Candidates of the walks that measure a fresh graph's recall; the default of `search.ef`.
const RECALL_EF: usize = 256;

/// Hears what a build is doing. The library prints nothing and reads no clock: a caller that wants
/// times or a progress bar listens here.
pub trait Progress {
    /// The step called `name` goes on from here; steps may alternate.
    fn step(&mut self, name: &'static str);

    /// `done` of `total` documents are indexed.
    fn documents(&mut self, done: usize, total: usize);
}

/// Hears nothing.
#[derive(Debug, Clone, Copy, Default)]
pub struct Quiet;

impl Progress for Quiet {
    fn step(&mut self, _: &'static str) {}

    fn documents(&mut self, _: usize, _: usize) {}
}

/// How the source files differ from those of the generation before.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
pub struct Changes {
    /// Files that are new.
    pub added: usize,
    /// Files with other content.
    pub updated: usize,
    /// Files that are gone.
    pub removed: usize,
    /// Files as they were.
    pub unchanged: usize,
}

/// What a build did.
#[derive(Debug, Clone, PartialEq)]
pub struct BuildReport {
    /// The generation as it was committed.
    pub manifest: Manifest,
    /// What became of the source files.
    pub changed: Changes,
    /// What is not in the index.
    pub skipped: Vec<Skipped>,
}

/// A document on its way: cut, analysed, embedded.
struct Prepared<'c> {
    document: &'c Document,
    cut: Vec<(Block, Vec<Passage>)>,
    terms: Vec<(String, u32)>,
    /// `[passages × dim]`, row-major.
    vectors: Vec<f32>,
}

/// Writes a new generation of `corpus` into `store` and makes it current.
///
/// Documents go in in the order of their ids, so rows are in the order of passage references. The
/// result is the same on any number of threads. When anything fails, the generation before stays
/// current and untouched.
pub fn build(
    corpus: &Corpus,
    settings: &Settings,
    embedder: &dyn Embedder,
    store: &Store,
    progress: &mut dyn Progress,
) -> Result<BuildReport> {
    settings.check()?;
    let analyzer = Analyzer::new(&settings.text)?;
    let lock = store.lock()?;
    let before = store.open().ok().map(|generation| generation.manifest.sources);
    let (generation, folder) = store.next(&lock)?;
    let mut passages = StoreWriter::create(&folder)?;
    let mut lexical = LexicalWriter::create(&folder)?;
    let mut vectors = VectorWriter::create(&folder, embedder.dim())?;
    let mut digest = Digest::new(settings, &analyzer, embedder);
    let (mut blocks, mut rows, mut done) = (0, 0, 0);
    for batch in batches(&corpus.documents) {
        let prepared = prepare(batch, settings, &analyzer, embedder, progress)?;
        progress.step("write");
        for one in &prepared {
            passages.add(one.document, &one.cut)?;
            for (terms, count) in &one.terms {
                lexical.add(terms, *count)?;
            }
            vectors.add(&one.vectors)?;
            digest.add(one);
            blocks += one.cut.len();
            rows += one.terms.len();
        }
        done += prepared.len();
        progress.documents(done, corpus.documents.len());
    }
    progress.step("finish");
    let passages = passages.finish()?;
    let (lengths, files, terms_total) = lexical.finish()?;
    let (vectors, codes) = vectors.finish()?;
    let graph = if rows >= settings.graph.from_passages.max(1) {
        progress.step("graph");
        let stored = VectorIndex::open_rows(&folder, embedder.dim(), &vectors, &codes)?;
        let builder = settings.graph.builder.clone();
        let part = stored.write_graph(&folder, &builder, &settings.graph.params())?;
        Some(GraphState { builder, part, recall_at_10: 0.0 })
    } else {
        None
    };
    let sources: Vec<SourceFile> = corpus
        .files
        .iter()
        .map(|file| SourceFile {
            path: file.path.clone(),
            size_bytes: file.size_bytes,
            mtime_ns: file.mtime_ns,
            hash: file.hash.clone(),
        })
        .collect();
    let changed = changes(before.as_deref().unwrap_or_default(), &sources);
    let mut manifest = Manifest {
        format: FORMAT_VERSION,
        written_by: env!("CARGO_PKG_VERSION").to_owned(),
        generation,
        digest: digest.finish(),
        fingerprint: corpus.fingerprint.clone(),
        analyzer: analyzer.id(),
        embedder: embedder.id().to_owned(),
        passage: settings.passage_id(),
        dim: embedder.dim(),
        documents: corpus.documents.len(),
        blocks,
        passages: rows,
        terms_total,
        skipped: corpus.skipped.iter().map(|s| (s.path.clone(), s.reason.clone())).collect(),
        sources,
        store: passages,
        lengths,
        vectors,
        codes,
        graph,
        lexical: files,
    };
    if manifest.graph.is_some() {
        let recall =
            VectorIndex::open(&folder, &manifest)?.graph_recall(RECALL_EF, RECALL_SAMPLE)?;
        if let Some(graph) = &mut manifest.graph {
            graph.recall_at_10 = recall.unwrap_or_default();
        }
    }
    progress.step("commit");
    store.commit(&lock, &manifest)?;
    Ok(BuildReport { manifest, changed, skipped: corpus.skipped.clone() })
}

/// Runs of documents of about [`BATCH_BYTES`].
fn batches(documents: &[Document]) -> impl Iterator<Item = &[Document]> {
    let mut rest = documents;
    std::iter::from_fn(move || {
        let mut bytes = 0;
        let fits = rest.iter().take_while(|document| {
            let fits = bytes < BATCH_BYTES;
            bytes += document.body.len();
            fits
        });
        let (batch, later) = rest.split_at(fits.count());
        rest = later;
        (!batch.is_empty()).then_some(batch)
    })
}

fn prepare<'c>(
    batch: &'c [Document],
    settings: &Settings,
    analyzer: &Analyzer,
    embedder: &dyn Embedder,
    progress: &mut dyn Progress,
) -> Result<Vec<Prepared<'c>>> {
    progress.step("cut");
    let cuts: Vec<Vec<(Block, Vec<Passage>)>> =
        batch.par_iter().map(|document| cut(document, &settings.passage)).collect();
    let forms: Vec<Vec<String>> = batch
        .par_iter()
        .zip(&cuts)
        .map(|(document, cut)| searched(document, cut, settings.passage.titles))
        .collect();
    progress.step("analyse");
    let terms: Vec<Vec<(String, u32)>> = forms
        .par_iter()
        .map_init(Stems::default, |stems, forms| {
            forms.iter().map(|form| analyzer.document(form, stems)).collect()
        })
        .collect();
    progress.step("embed");
    let texts: Vec<&str> = forms.iter().flatten().map(String::as_str).collect();
    let embedded = embedder.embed(Role::Passage, &texts)?.checked(embedder, texts.len())?;
    let mut rest = embedded.rows.as_slice().unwrap_or_default();
    let mut prepared = Vec::with_capacity(batch.len());
    for ((document, cut), terms) in batch.iter().zip(cuts).zip(terms) {
        let (own, later) = rest.split_at(terms.len() * embedder.dim());
        rest = later;
        prepared.push(Prepared { document, cut, terms, vectors: own.to_vec() });
    }
    Ok(prepared)
}

/// The searched form of every passage of a document, in order.
fn searched(document: &Document, cut: &[(Block, Vec<Passage>)], titles: bool) -> Vec<String> {
    cut.iter()
        .flat_map(|(block, passages)| passages.iter().map(move |passage| (block, passage)))
        .map(|(block, passage)| {
            searched_form(&document.title, &block.sections, &passage.text, titles)
        })
        .collect()
}

/// BLAKE3 over the content of an index.
struct Digest(blake3::Hasher);

impl Digest {
    fn new(settings: &Settings, analyzer: &Analyzer, embedder: &dyn Embedder) -> Self {
        let mut digest = Self(blake3::Hasher::new());
        digest.field(analyzer.id().as_bytes());
        digest.field(embedder.id().as_bytes());
        digest.field(settings.passage_id().as_bytes());
        digest
    }

    /// A field with its length before it, so that no two contents run into each other.
    fn field(&mut self, bytes: &[u8]) {
        self.0.update(&(bytes.len() as u64).to_le_bytes());
        self.0.update(bytes);
    }

    fn add(&mut self, prepared: &Prepared<'_>) {
        self.field(&prepared.document.digest());
        for (block, passages) in &prepared.cut {
            self.field(block.reference.to_string().as_bytes());
            passages.iter().for_each(|passage| self.field(passage.text.as_bytes()));
        }
        prepared.terms.iter().for_each(|(terms, _)| self.field(terms.as_bytes()));
        self.field(bytemuck::cast_slice(&prepared.vectors));
    }

    fn finish(&self) -> String {
        self.0.finalize().to_hex().to_string()
    }
}

fn changes(before: &[SourceFile], now: &[SourceFile]) -> Changes {
    let known: BTreeMap<&str, &str> =
        before.iter().map(|file| (file.path.as_str(), file.hash.as_str())).collect();
    let mut changes = Changes::default();
    for file in now {
        match known.get(file.path.as_str()) {
            None => changes.added += 1,
            Some(hash) if *hash == file.hash => changes.unchanged += 1,
            Some(_) => changes.updated += 1,
        }
    }
    changes.removed = known.len() - changes.updated - changes.unchanged;
    changes
}
