//! From a corpus to a generation.

use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};

use rayon::prelude::*;
use serde::Serialize;

use super::{GraphSettings, Settings};
use crate::access::store::AccessWriter;
use crate::access::{Label, Policy, labels};
use crate::corpus::{Corpus, Document, Skipped};
use crate::error::{Error, Result};
use crate::format::{
    FORMAT_VERSION, GraphState, Manifest, Part, PartEntry, SourceFile, Store, disk,
};
use crate::lexical::LexicalWriter;
use crate::passage::store::{FormId, PassageStore, StoreWriter, form_id};
use crate::passage::{Block, Passage, cut, searched_form};
use crate::text::{Analyzer, Stems};
use crate::vectors::store::{GRAPH_KIND, VectorIndex, VectorWriter};
use crate::vectors::{Embedder, Role};

/// Bytes of documents that are cut, analysed and embedded at a time: what a build holds in memory
/// beside the corpus.
const BATCH_BYTES: usize = 8 << 20;

/// The policy of a manifest that was built without one.
pub const OPEN: &str = "open";

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
    /// Passages whose embeddings were taken over from the generation before.
    pub reused: usize,
    /// What is not in the index.
    pub skipped: Vec<Skipped>,
    /// Labels that close what carries them by mistake, and why.
    pub closed: Vec<String>,
}

/// What a build is given beside corpus and settings.
#[derive(Clone, Copy, Default)]
pub struct Options<'o> {
    /// Who may read what; without a policy everyone reads everything.
    pub policy: Option<&'o Policy>,
    /// Leaves out blocks whose label does not pass, as if they had never been written: the twin
    /// that `atlas leakage --twin` compares with.
    pub keep: Option<&'o (dyn Fn(&Label) -> bool + Sync)>,
}

impl std::fmt::Debug for Options<'_> {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.debug_struct("Options").field("policy", &self.policy).finish_non_exhaustive()
    }
}

/// A document on its way: cut, analysed, embedded.
struct Prepared<'c> {
    document: &'c Document,
    cut: Vec<(Block, Vec<Passage>)>,
    labels: Vec<Label>,
    terms: Vec<(String, u32)>,
    forms: Vec<FormId>,
    /// `[passages × dim]`, row-major.
    vectors: Vec<f32>,
}

/// The embeddings of the generation before, by the name of the searched form.
struct Known {
    folder: PathBuf,
    rows: HashMap<FormId, u32>,
    vectors: VectorIndex,
    codes: PartEntry,
    graph: Option<GraphState>,
}

impl Known {
    /// What can be taken over from the current generation of `store`: all of it when it is of the
    /// same model, nothing when it is not or cannot be read.
    fn of(store: &Store, embedder: &dyn Embedder) -> Option<Self> {
        let generation = store.open().ok()?;
        let (folder, manifest) = (&generation.folder, &generation.manifest);
        if manifest.embedder != embedder.id() || manifest.dim != embedder.dim() {
            return None;
        }
        let passages = PassageStore::open(folder, &manifest.store).ok()?;
        let vectors = VectorIndex::open(folder, manifest).ok()?;
        vectors.rows().ok()?;
        let rows = (0..).zip(passages.forms().ok()?).map(|(row, form)| (*form, row)).collect();
        let (folder, codes) = (folder.clone(), manifest.codes.clone());
        Some(Self { folder, rows, vectors, codes, graph: manifest.graph.clone() })
    }

    /// The graph, when it is over exactly these codes and was built as `settings` ask.
    fn graph(&self, codes: &PartEntry, settings: &GraphSettings) -> Option<&GraphState> {
        let same_rows = self.codes == *codes;
        self.graph.as_ref().filter(|graph| {
            same_rows
                && graph.builder == settings.builder
                && (graph.m, graph.ef_construction) == (settings.m, settings.ef_construction)
        })
    }

    fn get(&self, form: &FormId) -> Option<&[f32]> {
        let row = *self.rows.get(form)? as usize;
        let rows = self.vectors.rows().ok()?;
        rows.vectors().get(row * rows.dim()..(row + 1) * rows.dim())
    }
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
    options: Options<'_>,
    progress: &mut dyn Progress,
) -> Result<BuildReport> {
    settings.check()?;
    let analyzer = Analyzer::new(&settings.text)?;
    let lock = store.lock()?;
    let before = store.open().ok().map(|generation| generation.manifest.sources);
    let known = Known::of(store, embedder);
    let (generation, folder) = store.next(&lock)?;
    let mut passages = StoreWriter::create(&folder)?;
    let mut lexical = LexicalWriter::create(&folder)?;
    let mut vectors = VectorWriter::create(&folder, embedder.dim())?;
    let mut access = AccessWriter::default();
    let mut documents = 0;
    let mut skipped = corpus.skipped.clone();
    let mut digest = Digest::new(settings, &analyzer, embedder);
    let (mut blocks, mut rows, mut done, mut reused) = (0, 0, 0, 0);
    for batch in batches(&corpus.documents) {
        let work = Work { settings, analyzer: &analyzer, embedder, known: known.as_ref(), options };
        let (prepared, taken) = work.prepare(batch, progress)?;
        reused += taken;
        progress.step("write");
        for one in &prepared {
            if one.cut.is_empty() {
                let reason = "it holds no text but comments".to_owned();
                let path = one.document.source.path.clone();
                skipped.extend(options.keep.is_none().then_some(Skipped { path, reason }));
                continue;
            }
            passages.add(one.document, &one.cut, &one.forms)?;
            for (terms, count) in &one.terms {
                lexical.add(terms, *count)?;
            }
            vectors.add(&one.vectors)?;
            for ((_, passages), label) in one.cut.iter().zip(&one.labels) {
                passages.iter().for_each(|_| access.add(label));
                digest.label(label);
            }
            documents += 1;
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
    let (access, closed) = access.finish(&folder, options.policy)?;
    let policy = options.policy.map_or_else(|| OPEN.to_owned(), |policy| policy.hash().to_owned());
    digest.field(policy.as_bytes());
    let graph = if rows >= settings.graph.from_passages.max(1) {
        progress.step("graph");
        let stored = VectorIndex::open_rows(&folder, embedder.dim(), &vectors, &codes)?;
        Some(graph(&folder, &stored, &codes, &settings.graph, known.as_ref())?)
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
        reading: settings.reading.clone(),
        passage: settings.passage_id(),
        dim: embedder.dim(),
        documents,
        blocks,
        passages: rows,
        terms_total,
        skipped: skipped.iter().map(|s| (s.path.clone(), s.reason.clone())).collect(),
        noted: corpus.noted.iter().map(|n| (n.path.clone(), n.reason.clone())).collect(),
        sources,
        store: passages,
        lengths,
        vectors,
        codes,
        access,
        policy,
        graph,
        lexical: files,
        rolled_back_to: None,
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
    Ok(BuildReport { manifest, changed, reused, skipped, closed })
}

/// Writes the graph of a generation: a copy of the one before when the rows are the same to the byte,
/// else a new one.
fn graph(
    folder: &Path,
    stored: &VectorIndex,
    codes: &PartEntry,
    settings: &GraphSettings,
    known: Option<&Known>,
) -> Result<GraphState> {
    let before = known.and_then(|known| known.graph(codes, settings).map(|graph| (known, graph)));
    if let Some((known, graph)) = before
        && Part::open(&known.folder, &graph.part, GRAPH_KIND).and_then(|part| part.verify()).is_ok()
    {
        let (from, to) = (known.folder.join(&graph.part.file), folder.join(&graph.part.file));
        let fault = |e| Error::io("copying the graph to", &to, e);
        disk::copy(&from, &to).and_then(|()| disk::sync_file(&to)).map_err(fault)?;
        return Ok(graph.clone());
    }
    let part = stored.write_graph(folder, &settings.builder, &settings.params())?;
    let GraphSettings { builder, m, ef_construction, .. } = settings.clone();
    Ok(GraphState { builder, m, ef_construction, part, recall_at_10: 0.0 })
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

/// What the documents of a batch are worked on with.
struct Work<'w> {
    settings: &'w Settings,
    analyzer: &'w Analyzer,
    embedder: &'w dyn Embedder,
    known: Option<&'w Known>,
    options: Options<'w>,
}

impl Work<'_> {
    /// Cuts, analyses and embeds `batch`; says also how many embeddings were taken over.
    fn prepare<'c>(
        &self,
        batch: &'c [Document],
        progress: &mut dyn Progress,
    ) -> Result<(Vec<Prepared<'c>>, usize)> {
        progress.step("cut");
        let (cuts, labels): (Vec<_>, Vec<_>) =
            batch.par_iter().map(|document| self.cut(document)).unzip();
        let forms: Vec<Vec<String>> = batch
            .par_iter()
            .zip(&cuts)
            .map(|(document, cut)| searched(document, cut, self.settings.passage.titles))
            .collect();
        progress.step("analyse");
        let terms: Vec<Vec<(String, u32)>> = forms
            .par_iter()
            .map_init(Stems::default, |stems, forms| {
                forms.iter().map(|form| self.analyzer.document(form, stems)).collect()
            })
            .collect();
        progress.step("embed");
        let texts: Vec<&str> = forms.iter().flatten().map(String::as_str).collect();
        let ids: Vec<FormId> = texts.par_iter().map(|text| form_id(text)).collect();
        let (vectors, reused) = self.embed(&texts, &ids)?;
        let (mut ids, mut vectors) = (ids.as_slice(), vectors.as_slice());
        let mut prepared = Vec::with_capacity(batch.len());
        for (((document, cut), labels), terms) in batch.iter().zip(cuts).zip(labels).zip(terms) {
            let (own, later) = vectors.split_at(terms.len() * self.embedder.dim());
            let (forms, other) = ids.split_at(terms.len());
            (vectors, ids) = (later, other);
            let (forms, vectors) = (forms.to_vec(), own.to_vec());
            prepared.push(Prepared { document, cut, labels, terms, forms, vectors });
        }
        Ok((prepared, reused))
    }

    /// The blocks of a document that are kept, and the label of each.
    fn cut(&self, document: &Document) -> (Vec<(Block, Vec<Passage>)>, Vec<Label>) {
        let whole = cut(document, &self.settings.passage);
        let paths: Vec<&[String]> =
            whole.iter().map(|(block, _)| block.sections.as_slice()).collect();
        let labels = labels(&document.metadata, &paths);
        let both = whole.into_iter().zip(labels);
        both.filter(|(_, label)| self.options.keep.is_none_or(|keep| keep(label))).unzip()
    }

    /// The embeddings of `texts` `[texts × dim]`, those known by their name taken over.
    fn embed(&self, texts: &[&str], ids: &[FormId]) -> Result<(Vec<f32>, usize)> {
        let dim = self.embedder.dim();
        let known: Vec<Option<&[f32]>> =
            ids.iter().map(|id| self.known.and_then(|known| known.get(id))).collect();
        let fresh = texts.iter().zip(&known).filter(|(_, row)| row.is_none());
        let missing: Vec<&str> = fresh.map(|(text, _)| *text).collect();
        let embedded =
            self.embedder.embed(Role::Passage, &missing)?.checked(self.embedder, missing.len())?;
        let mut made = embedded.rows.as_slice().unwrap_or_default().chunks_exact(dim.max(1));
        let mut all = Vec::with_capacity(texts.len() * dim);
        for row in &known {
            all.extend_from_slice(row.or_else(|| made.next()).unwrap_or_default());
        }
        Ok((all, texts.len() - missing.len()))
    }
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

    fn label(&mut self, label: &Label) {
        for part in [&label.classification, &label.account, &label.region] {
            self.field(part.as_deref().unwrap_or("\0").as_bytes());
        }
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
