//! From a corpus to a generation.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use serde::Serialize;

use super::layer::{Known, Work, Written};
use super::update::documents_of;
use super::{GraphSettings, Settings, digest};
use crate::access::{Label, Policy};
use crate::corpus::{Corpus, Documents, FileRecord, Found, Noted, Skipped, is_hidden};
use crate::error::{Error, Result};
use crate::format::{
    BuildLock, FORMAT_VERSION, Generation, GraphState, Layer, Manifest, Part, SourceFile, Store,
    link_file, sync_folder,
};
use crate::lexical::LexicalIndex;
use crate::passage::store::PassageStore;
use crate::text::Analyzer;
use crate::vectors::Embedder;
use crate::vectors::store::{GRAPH_KIND, VectorIndex, VectorLayer};

/// Folder of the first layer.
pub(super) const BASE: &str = "base";

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

    /// `done` of `total` documents are indexed. With a slow model it is called in between, a document
    /// counted when its share of the work is done.
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

/// How much a build wrote.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum How {
    /// Everything, and why.
    Whole(String),
    /// What had changed.
    Changes {
        /// Passages written.
        written: usize,
        /// Passages dropped.
        dropped: usize,
        /// What was redone beside that.
        redone: Vec<&'static str>,
    },
}

/// What a build did.
#[derive(Debug, Clone, PartialEq)]
pub struct BuildReport {
    /// The generation as it was committed.
    pub manifest: Manifest,
    /// What became of the source files.
    pub changed: Changes,
    /// What was written, and what was taken over.
    pub how: How,
    /// Passages whose embeddings were taken over from the generation before, of those written.
    pub reused: usize,
    /// What is not in the index.
    pub skipped: Vec<Skipped>,
    /// Files that could not be read, whose documents are those of the generation before.
    pub kept: Vec<String>,
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
    /// Refuses a build by what it would leave of the generation before; nothing is written then.
    pub check: Option<&'o Check<'o>>,
    /// The corpus folder when a document that holds nothing to index is an error, which names it there.
    pub strict: Option<&'o Path>,
}

/// Says whether a build may leave so much of the generation before.
pub type Check<'c> = dyn Fn(&Manifest, &Left) -> Result<()> + Sync + 'c;

/// What a build would leave.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Left {
    /// Documents.
    pub documents: usize,
    /// Files that are gone, by path.
    pub gone: Vec<String>,
    /// Files that could not be read and whose documents would go, by path. A build that writes only what
    /// has changed keeps them, and has none.
    pub unreadable: Vec<String>,
}

impl std::fmt::Debug for Options<'_> {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.debug_struct("Options").field("policy", &self.policy).finish_non_exhaustive()
    }
}

/// The generation before, as far as a build can take something over from it.
pub(super) struct Before {
    pub(super) generation: Generation,
    pub(super) passages: PassageStore,
    pub(super) vectors: VectorIndex,
}

impl Before {
    /// The current generation of `store`; `None` when there is none or it cannot be read.
    pub(super) fn of(store: &Store) -> Option<Self> {
        let generation = store.open().ok()?;
        let (folder, manifest) = (&generation.folder, &generation.manifest);
        let passages = PassageStore::open(folder, &manifest.layers).ok()?;
        let layout = passages.layout().clone();
        let vectors = VectorIndex::open(folder, manifest, layout).ok()?;
        Some(Self { generation, passages, vectors })
    }

    /// The embeddings of `rows`, when they are of the same model.
    pub(super) fn known(
        &self,
        embedder: &dyn Embedder,
        rows: impl Iterator<Item = u32>,
    ) -> Option<Known<'_>> {
        let manifest = &self.generation.manifest;
        let same = manifest.embedder == embedder.id() && manifest.dim == embedder.dim();
        same.then(|| Known::of(&self.passages, &self.vectors, rows))
    }

    /// The graph, when it is over exactly the codes of `base`, is as `settings` ask, and is sound; and
    /// the folder it lies in.
    fn graph(&self, base: &Layer, settings: &GraphSettings) -> Option<(PathBuf, &GraphState)> {
        let manifest = &self.generation.manifest;
        let (own, graph) = (manifest.layers.first()?, manifest.graph.as_ref()?);
        let wanted = (&settings.builder, settings.m, settings.ef_construction);
        if own.codes != base.codes || (&graph.builder, graph.m, graph.ef_construction) != wanted {
            return None;
        }
        let folder = self.generation.folder.join(&own.folder);
        let part = Part::open(&folder, &graph.part, GRAPH_KIND).and_then(|part| part.verify());
        part.is_ok().then_some((folder, graph))
    }
}

/// What a build has to say about files.
#[derive(Clone, Copy)]
pub(super) struct Told<'t> {
    pub(super) skipped: &'t [Skipped],
    pub(super) noted: &'t [Noted],
}

/// A generation that is being written.
pub(super) struct Draft<'d> {
    pub(super) lock: &'d BuildLock,
    pub(super) store: &'d Store,
    pub(super) number: u64,
    pub(super) folder: PathBuf,
    pub(super) settings: &'d Settings,
    pub(super) analyzer: &'d Analyzer,
    pub(super) embedder: &'d dyn Embedder,
    pub(super) policy: Option<&'d Policy>,
}

impl<'d> Draft<'d> {
    /// Starts the next generation of `store`.
    pub(super) fn begin(
        lock: &'d BuildLock,
        store: &'d Store,
        settings: &'d Settings,
        analyzer: &'d Analyzer,
        embedder: &'d dyn Embedder,
        policy: Option<&'d Policy>,
    ) -> Result<Self> {
        let (number, folder) = store.next(lock)?;
        Ok(Self { lock, store, number, folder, settings, analyzer, embedder, policy })
    }

    /// Counts and hashes what `layers` hold, and makes the generation current. A graph without a
    /// measured recall is measured.
    pub(super) fn commit(
        self,
        layers: Vec<Layer>,
        graph: Option<GraphState>,
        sources: Vec<SourceFile>,
        told: Told<'_>,
        progress: &mut dyn Progress,
    ) -> Result<Manifest> {
        for layer in &layers {
            sync_folder(&self.folder.join(&layer.folder))?;
        }
        let passages = PassageStore::open(&self.folder, &layers)?;
        let policy = self.policy.map_or_else(|| OPEN.to_owned(), |policy| policy.hash().to_owned());
        let (analyzer, passage) = (self.analyzer.id(), self.settings.passage_id());
        let shape = [analyzer.as_str(), self.embedder.id(), &passage, &policy];
        let (digest, fingerprint) = digest::of_index(&shape, &passages)?;
        let mut manifest = Manifest {
            format: FORMAT_VERSION,
            written_by: env!("CARGO_PKG_VERSION").to_owned(),
            generation: self.number,
            digest,
            fingerprint,
            analyzer,
            embedder: self.embedder.id().to_owned(),
            reading: self.settings.reading.clone(),
            passage,
            dim: self.embedder.dim(),
            documents: passages.documents_len() as usize,
            blocks: passages.blocks_len() as usize,
            passages: passages.passages_len() as usize,
            terms_total: 0,
            skipped: told.skipped.iter().map(|s| (s.path.clone(), s.reason.clone())).collect(),
            noted: told.noted.iter().map(|n| (n.path.clone(), n.reason.clone())).collect(),
            sources,
            layers,
            policy,
            graph,
            rolled_back_to: None,
        };
        manifest.skipped.sort();
        manifest.noted.sort();
        let layout = passages.layout();
        manifest.terms_total =
            LexicalIndex::open(&self.folder, &manifest, layout.clone())?.terms_total()?;
        if manifest.graph.as_ref().is_some_and(|graph| graph.recall_at_10 == 0.0) {
            let vectors = VectorIndex::open(&self.folder, &manifest, layout.clone())?;
            let recall = vectors.graph_recall(RECALL_EF, RECALL_SAMPLE)?;
            if let Some(graph) = &mut manifest.graph {
                graph.recall_at_10 = recall.unwrap_or_default();
            }
        }
        progress.step("commit");
        self.store.commit(self.lock, &manifest)?;
        Ok(manifest)
    }
}

/// Writes a new generation of `corpus` into `store`, all of it, and makes it current.
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
    let lock = store.lock()?;
    let why = "it was asked for".to_owned();
    whole(Given::of(corpus), settings, embedder, (store, &lock), options, why, progress)
}

/// What a build is given of a corpus.
#[derive(Clone, Copy)]
pub(super) struct Given<'g> {
    documents: &'g dyn Documents,
    skipped: &'g [Skipped],
    noted: &'g [Noted],
    files: &'g [FileRecord],
    closed: &'g [String],
}

impl<'g> Given<'g> {
    pub(super) fn of(corpus: &'g Corpus) -> Self {
        let Corpus { documents, skipped, noted, files, closed, .. } = corpus;
        Self { documents, skipped, noted, files, closed }
    }

    pub(super) fn found(found: &'g Found) -> Self {
        let Found { documents, skipped, noted, files, closed } = found;
        Self { documents: documents.as_ref(), skipped, noted, files, closed }
    }
}

/// Those of the files `hidden` that `before` has documents of, by path; all of them where it is damaged and
/// cannot tell, since a damaged index must not stop the build that mends it.
fn lost(before: &Before, hidden: BTreeSet<&str>) -> Vec<String> {
    if hidden.is_empty() {
        return Vec::new();
    }
    let paths: BTreeSet<String> = match documents_of(before, &hidden) {
        Ok(found) => found.into_iter().map(|(_, _, record, _)| record.path).collect(),
        Err(_) => hidden.into_iter().map(str::to_owned).collect(),
    };
    paths.into_iter().collect()
}

/// [`build`] under a lock that is held already, for the reason `why`.
pub(super) fn whole(
    corpus: Given<'_>,
    settings: &Settings,
    embedder: &dyn Embedder,
    (store, lock): (&Store, &BuildLock),
    options: Options<'_>,
    why: String,
    progress: &mut dyn Progress,
) -> Result<BuildReport> {
    let analyzer = Analyzer::new(&settings.text)?;
    let before = Before::of(store);
    let known = before
        .as_ref()
        .and_then(|before| before.known(embedder, 0..before.passages.passages_len()));
    if let (Some(check), Some(before)) = (options.check, &before) {
        let manifest = &before.generation.manifest;
        let is_here = |file: &&SourceFile| {
            corpus.files.binary_search_by(|own| own.path.cmp(&file.path)).is_ok()
        };
        let gone = manifest.sources.iter().filter(|file| !is_here(file));
        let gone = gone.map(|file| file.path.clone()).collect();
        let hidden: BTreeSet<&str> = (manifest.sources.iter().map(|file| file.path.as_str()))
            .filter(|path| is_hidden(corpus.files, corpus.closed, path))
            .collect();
        let unreadable = lost(before, hidden);
        check(manifest, &Left { documents: corpus.documents.count(), gone, unreadable })?;
    }
    let draft = Draft::begin(lock, store, settings, &analyzer, embedder, options.policy)?;
    let work = Work { settings, analyzer: &analyzer, embedder, known: known.as_ref(), options };
    let written = work.write(&draft.folder, BASE, corpus.documents, progress)?;
    let Written { layer, reused, skipped: empty, closed } = written;
    if let (Some(folder), Some(first)) = (options.strict, empty.first()) {
        let help = "mend it, exclude it, or build without `--strict`";
        return Err(Error::input(folder.join(&first.path), None, &first.reason, help));
    }
    let mut skipped = corpus.skipped.to_vec();
    skipped.extend(empty);
    let graph = if layer.passages >= settings.graph.from_passages.max(1) {
        progress.step("graph");
        Some(graph(&draft.folder, &layer, embedder.dim(), &settings.graph, before.as_ref())?)
    } else {
        None
    };
    let sources: Vec<SourceFile> = corpus.files.iter().map(source).collect();
    let old = before.as_ref().map_or(&[][..], |before| &before.generation.manifest.sources);
    let changed = changes(old, &sources);
    let manifest = draft.commit(
        vec![layer],
        graph,
        sources,
        Told { skipped: &skipped, noted: corpus.noted },
        progress,
    )?;
    let how = How::Whole(why);
    Ok(BuildReport { manifest, changed, how, reused, skipped, kept: Vec::new(), closed })
}

/// A file as the manifest states it.
pub(super) fn source(file: &FileRecord) -> SourceFile {
    SourceFile {
        path: file.path.clone(),
        size_bytes: file.size_bytes,
        mtime_ns: file.mtime_ns,
        hash: file.hash.clone(),
    }
}

/// Writes the graph over the layer `base` of the generation in `folder`: that of the generation before
/// when the rows are the same to the byte, else a new one.
pub(super) fn graph(
    folder: &Path,
    base: &Layer,
    dim: usize,
    settings: &GraphSettings,
    before: Option<&Before>,
) -> Result<GraphState> {
    let folder = folder.join(&base.folder);
    if let Some((from, graph)) = before.and_then(|before| before.graph(base, settings)) {
        let file = &graph.part.file;
        link_file(&from.join(file), &folder.join(file))?;
        return Ok(graph.clone());
    }
    let rows = VectorLayer::open(&folder, dim, &base.vectors, &base.codes)?;
    let part = rows.write_graph(&folder, &settings.builder, &settings.params())?;
    let GraphSettings { builder, m, ef_construction, .. } = settings.clone();
    Ok(GraphState { builder, m, ef_construction, part, recall_at_10: 0.0 })
}

pub(super) fn changes(before: &[SourceFile], now: &[SourceFile]) -> Changes {
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
