//! Bringing an index up to date: what has changed is written, what has not is taken over.
//!
//! The result is that of a build from nothing: the same documents, rows, statistics and scores, and the
//! same digest. Only the graph may differ: it stays that of the base, and rows that it lacks are scanned
//! beside it.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::Path;

use super::build::{Before, Draft, Given, Told, changes, graph, whole};
use super::layer::{Work, Written};
use super::look::Seen;
use super::{BuildReport, How, Left, OPEN_POLICY, Options, Progress, Settings};
use crate::access::Policy;
use crate::access::store::AccessStore;
use crate::corpus::{self, CorpusSettings, Document, Found, Listing, Noted, Skipped};
use crate::error::{Error, Result};
use crate::format::{BuildLock, Manifest, SourceFile, Store, disk, link_file};
use crate::passage::store::{DocumentRecord, as_read, path_mark};
use crate::text::Analyzer;
use crate::vectors::Embedder;

/// Brings the current generation of `store` up to date with the corpus in `folder`, or builds it from
/// nothing where that is due: without a generation to start from, with settings that shape everything,
/// and when more has changed than `settings.layers` allows to lie beside the base.
///
/// A file that cannot be read keeps the documents it had; one that is gone, or is no document any more,
/// loses them.
///
/// # Errors
///
/// As [`read`](corpus::read) and [`build`](super::build()); the generation before stays current then.
pub fn update(
    folder: &Path,
    reading: &CorpusSettings,
    settings: &Settings,
    embedder: &dyn Embedder,
    store: &Store,
    options: Options<'_>,
    progress: &mut dyn Progress,
) -> Result<BuildReport> {
    settings.check()?;
    let lock = store.lock()?;
    progress.step("read");
    let analyzer = Analyzer::new(&settings.text)?;
    let update = Update { folder, reading, settings, analyzer, embedder, store, options };
    match update.plan()? {
        Plan::Changes(changes) => update.apply(*changes, &lock, progress),
        Plan::Whole(why) => {
            let found = read(folder, reading, settings, store)?;
            whole(Given::found(&found), settings, embedder, (store, &lock), options, why, progress)
        }
    }
}

/// Writes a new generation of the corpus in `folder`, all of it, holding no more of it at a time than
/// `settings.memory` allows.
///
/// # Errors
///
/// As [`read`](corpus::read) and [`build`](super::build()).
pub fn build_folder(
    folder: &Path,
    reading: &CorpusSettings,
    settings: &Settings,
    embedder: &dyn Embedder,
    store: &Store,
    options: Options<'_>,
    progress: &mut dyn Progress,
) -> Result<BuildReport> {
    settings.check()?;
    progress.step("read");
    let lock = store.lock()?;
    let found = read(folder, reading, settings, store)?;
    let why = "it was asked for".to_owned();
    whole(Given::found(&found), settings, embedder, (store, &lock), options, why, progress)
}

/// The documents in `folder`, those that memory may not hold in a file beside the index.
fn read(
    folder: &Path,
    reading: &CorpusSettings,
    settings: &Settings,
    store: &Store,
) -> Result<Found> {
    corpus::read_within(folder, reading, settings.memory.documents(), store.folder())
}

struct Update<'u> {
    folder: &'u Path,
    reading: &'u CorpusSettings,
    settings: &'u Settings,
    analyzer: Analyzer,
    embedder: &'u dyn Embedder,
    store: &'u Store,
    options: Options<'u>,
}

enum Plan {
    /// Everything is written, for this reason.
    Whole(String),
    /// Only this is written.
    Changes(Box<Delta>),
}

/// What differs from the generation before.
struct Delta {
    before: Before,
    /// Documents to write, by id.
    documents: Vec<Document>,
    /// Numbers of the documents to drop, by layer, ascending.
    dropped: Vec<BTreeSet<u32>>,
    /// Whether the layers beside the base are written anew, as one.
    merges: bool,
    /// Documents that there are then.
    left: usize,
    sources: Vec<SourceFile>,
    skipped: Vec<Skipped>,
    noted: Vec<Noted>,
    kept: Vec<String>,
}

impl Update<'_> {
    fn plan(&self) -> Result<Plan> {
        let whole = |why: &str| Ok(Plan::Whole(why.to_owned()));
        let Some(before) = Before::of(self.store) else {
            return whole("there is no generation to start from");
        };
        if let Some(why) = self.reshaped(&before.generation.manifest) {
            return whole(&why);
        }
        let listing = corpus::list(self.folder, self.reading)?;
        let seen = Seen::of(&before, &listing, self.reading)?;
        let Some(mut delta) = self.compare(before, seen)? else {
            return whole("two documents may have one id");
        };
        if let Some(why) = self.merge(&mut delta, &listing)? {
            return Ok(Plan::Whole(why));
        }
        Ok(Plan::Changes(Box::new(delta)))
    }

    /// Why nothing can be taken over as it lies, if so.
    fn reshaped(&self, manifest: &Manifest) -> Option<String> {
        let asked = [
            ("the analyzer", &manifest.analyzer, &self.analyzer.id()),
            ("the embedder", &manifest.embedder, &self.embedder.id().to_owned()),
            ("what is read", &manifest.reading, &self.settings.reading),
            ("how documents are cut", &manifest.passage, &self.settings.passage_id()),
        ];
        let named = asked.into_iter().find(|(_, built, asked)| built != asked);
        if let Some((what, ..)) = named {
            return Some(format!("{what} changed"));
        }
        let special = self.options.keep.is_some()
            || self.reading.strict
            || self.reading.subset.is_some()
            || manifest.layers.is_empty();
        if special {
            return Some("it was asked for".to_owned());
        }
        if manifest.rolled_back_to.is_some() {
            return Some("the generation before was gone back to".to_owned());
        }
        let alone = manifest.layers.len() == 1 && manifest.layers[0].dropped.is_empty();
        if !self.settings.graph.is_of(manifest) && !alone {
            return Some("the graph changed".to_owned());
        }
        None
    }

    /// What the changed files mean for the documents; `None` when two of them may have one id.
    fn compare(&self, before: Before, seen: Seen) -> Result<Option<Delta>> {
        let Seen { documents, changed, unreadable, sources, skipped, noted } = seen;
        let mut fresh: BTreeMap<String, Document> = BTreeMap::new();
        for document in documents {
            if fresh.insert(document.id.clone(), document).is_some() {
                return Ok(None);
            }
        }
        let layers = &before.generation.manifest.layers;
        let mut dropped = vec![BTreeSet::new(); layers.len()];
        let mut kept = BTreeSet::new();
        let all: BTreeSet<&str> = changed.iter().chain(&unreadable).map(String::as_str).collect();
        for (layer, own, record, mark) in documents_of(&before, &all)? {
            if unreadable.contains(&record.path) {
                kept.insert(record.path);
                continue;
            }
            let same = fresh.get(&record.id).is_some_and(|document| as_read(document) == mark);
            if same {
                fresh.remove(&record.id);
            } else {
                dropped[layer].insert(own);
            }
        }
        for id in fresh.keys() {
            let Some(number) = before.passages.find(id)? else { continue };
            let Some((layer, own)) = before.passages.documents().locate(number) else { continue };
            if !dropped[layer].contains(&own) {
                return Ok(None);
            }
        }
        let gone: usize = dropped.iter().map(BTreeSet::len).sum();
        let left = before.generation.manifest.documents - gone + fresh.len();
        Ok(Some(Delta {
            before,
            documents: fresh.into_values().collect(),
            dropped,
            merges: false,
            left,
            sources,
            skipped,
            noted,
            kept: kept.into_iter().collect(),
        }))
    }

    /// Decides whether the layers beside the base are merged, and reads what that needs; gives the reason
    /// when all should be written instead.
    fn merge(&self, delta: &mut Delta, listing: &Listing) -> Result<Option<String>> {
        let manifest = &delta.before.generation.manifest;
        let documents = delta.before.passages.documents();
        if delta.left == 0 {
            // Reading it all says so, with the reasons.
            return Ok(Some("no document is left".to_owned()));
        }
        let base_live = documents.runs_of(0).map(|run| run.len).sum::<u32>() as usize;
        let base = documents.stored(0) as usize;
        let beside = documents.len() as usize - base_live + delta.documents.len();
        let gone = base - (base_live - delta.dropped[0].len());
        // Writing all anew would lose what cannot be read; that can wait.
        let may_rewrite = delta.kept.is_empty();
        if may_rewrite && (beside + gone) * 100 > base * self.settings.layers.rewrite_percent {
            return Ok(Some("much has changed since the base was written".to_owned()));
        }
        let more = usize::from(!delta.documents.is_empty());
        if manifest.layers.len() + more <= self.settings.layers.most {
            return Ok(None);
        }
        let mut marks: HashMap<String, u64> = HashMap::new();
        let mut paths = BTreeSet::new();
        for run in documents.runs().iter().filter(|run| run.layer > 0) {
            for own in run.start..run.start + run.len {
                if delta.dropped[run.layer].contains(&own) {
                    continue;
                }
                let number = run.first + (own - run.start);
                let record = delta.before.passages.document(number)?;
                paths.insert(record.path);
                marks.insert(record.id, delta.before.passages.mark(number)?.as_read);
            }
        }
        let read = listing.read(&paths.iter().map(String::as_str).collect(), self.reading)?;
        let mut again: Vec<Document> = Vec::new();
        for document in read.documents {
            if marks.get(&document.id).is_some_and(|mark| *mark == as_read(&document)) {
                marks.remove(&document.id);
                again.push(document);
            }
        }
        // A file that is not as it was, or cannot be read, is for the next build: the layers stay.
        if marks.is_empty() {
            delta.merges = true;
            delta.documents.append(&mut again);
            delta.documents.sort_by(|a, b| a.id.cmp(&b.id));
        }
        Ok(None)
    }

    fn apply(
        &self,
        delta: Delta,
        lock: &BuildLock,
        progress: &mut dyn Progress,
    ) -> Result<BuildReport> {
        let Delta { before, documents, dropped, merges, left, sources, mut skipped, noted, kept } =
            delta;
        let Self { settings, embedder, options, .. } = *self;
        let analyzer = &self.analyzer;
        let manifest = &before.generation.manifest;
        let changed = changes(&manifest.sources, &sources);
        if let Some(check) = options.check {
            let is_here = |file: &&SourceFile| {
                sources.binary_search_by(|own| own.path.cmp(&file.path)).is_ok()
            };
            let gone = manifest.sources.iter().filter(|file| !is_here(file));
            let gone = gone.map(|file| file.path.clone()).collect();
            check(manifest, &Left { documents: left, gone, unreadable: Vec::new() })?;
        }
        let draft = Draft::begin(lock, self.store, settings, analyzer, embedder, options.policy)?;
        let mut redone = Vec::new();
        let mut layers = Vec::new();
        for (layer, dropped) in manifest.layers.iter().zip(&dropped) {
            let mut layer = layer.clone();
            layer.dropped.extend(dropped);
            layer.dropped.sort_unstable();
            layers.push(layer);
        }
        if merges {
            layers.truncate(1);
        }
        let access = self.relabel(&before)?;
        if access.is_some() {
            redone.push("access");
        }
        for (at, layer) in layers.iter_mut().enumerate() {
            let (from, to) =
                (before.generation.folder.join(&layer.folder), draft.folder.join(&layer.folder));
            disk::create_folder(&to).map_err(|e| Error::io("creating", &to, e))?;
            let mut anew: Vec<&str> = access.iter().map(|_| layer.access.file.as_str()).collect();
            anew.extend(manifest.graph.iter().map(|graph| graph.part.file.as_str()));
            self.store.link(&from, &to, &anew)?;
            if let Some(access) = &access {
                layer.access = access.rewrite(at, &to, options.policy, |_| Ok(Vec::new()))?;
            }
        }
        let (mut written, mut reused) = (0, 0);
        if !documents.is_empty() {
            let rows = rows_beside(&before, &dropped, merges);
            let known = before.known(embedder, rows);
            let work = Work { settings, analyzer, embedder, known: known.as_ref(), options };
            let name = format!("delta-{:06}", draft.number);
            let done: Written = work.write(&draft.folder, &name, &documents, progress)?;
            (written, reused) = (done.layer.passages, done.reused);
            skipped.extend(done.skipped);
            layers.push(done.layer);
        }
        let graph = match (&manifest.graph, layers.first()) {
            (Some(state), Some(base)) if settings.graph.is_of(manifest) => {
                let file = |generation: &Path| generation.join(&base.folder).join(&state.part.file);
                link_file(&file(&before.generation.folder), &file(&draft.folder))?;
                Some(state.clone())
            }
            (_, Some(base)) if base.passages >= settings.graph.from_passages.max(1) => {
                progress.step("graph");
                redone.push("graph");
                Some(graph(&draft.folder, base, embedder.dim(), &settings.graph, None)?)
            }
            _ => None,
        };
        progress.step("finish");
        let folder = draft.folder.clone();
        let manifest = draft.commit(
            layers,
            graph,
            sources,
            Told { skipped: &skipped, noted: &noted },
            progress,
        )?;
        let closed = self.faults(&folder, &manifest)?;
        let dropped = rows_dropped(&before, &dropped)?;
        let how = How::Changes { written, dropped, redone };
        skipped.sort_by(|a, b| (&a.path, &a.reason).cmp(&(&b.path, &b.reason)));
        Ok(BuildReport { manifest, changed, how, reused, skipped, kept, closed })
    }

    /// The labels of the generation before, when they are resolved under another policy.
    fn relabel(&self, before: &Before) -> Result<Option<AccessStore>> {
        let manifest = &before.generation.manifest;
        if manifest.policy == self.options.policy.map_or(OPEN_POLICY, Policy::hash) {
            return Ok(None);
        }
        let layout = before.passages.layout().clone();
        AccessStore::open(&before.generation.folder, &manifest.layers, layout).map(Some)
    }

    /// Labels in use that close by mistake, and why.
    fn faults(&self, folder: &Path, manifest: &Manifest) -> Result<Vec<String>> {
        let Some(policy) = self.options.policy else { return Ok(Vec::new()) };
        let passages = crate::passage::store::PassageStore::open(folder, &manifest.layers)?;
        AccessStore::open(folder, &manifest.layers, passages.layout().clone())?.faults(policy)
    }
}

/// The live documents of the files `paths`: layer, number in it, what is stored of it, and its mark.
pub(super) fn documents_of(
    before: &Before,
    paths: &BTreeSet<&str>,
) -> Result<Vec<(usize, u32, DocumentRecord, u64)>> {
    let wanted: BTreeSet<u64> = paths.iter().map(|path| path_mark(path)).collect();
    let mut found = Vec::new();
    for run in before.passages.documents().runs() {
        let marks = before.passages.layer(run.layer).map(|layer| layer.marks()).transpose()?;
        let own = run.start as usize..(run.start + run.len) as usize;
        let marks = marks.and_then(|marks| marks.get(own)).unwrap_or_default();
        for (at, mark) in (0..).zip(marks) {
            if wanted.contains(&mark.path) {
                let record = before.passages.document(run.first + at)?;
                if paths.contains(record.path.as_str()) {
                    found.push((run.layer, run.start + at, record, mark.as_read));
                }
            }
        }
    }
    Ok(found)
}

/// Rows whose embeddings may be asked for again: of documents that are dropped, and of layers that are
/// written anew.
fn rows_beside(
    before: &Before,
    dropped: &[BTreeSet<u32>],
    merges: bool,
) -> impl Iterator<Item = u32> {
    let documents = before.passages.documents();
    let mut rows = Vec::new();
    for run in documents.runs() {
        for own in run.start..run.start + run.len {
            if dropped[run.layer].contains(&own) || (merges && run.layer > 0) {
                rows.extend(rows_of(before, run.first + (own - run.start)).unwrap_or(0..0));
            }
        }
    }
    rows.into_iter()
}

/// The rows of the document called by its number in the generation before.
fn rows_of(before: &Before, document: u32) -> Result<std::ops::Range<u32>> {
    let record = before.passages.document(document)?;
    let first = before.passages.block(record.first_block)?;
    let last = before.passages.block(record.first_block + record.blocks.saturating_sub(1))?;
    Ok(first.first_row..last.first_row + last.passages)
}

/// Passages of the documents that are dropped.
fn rows_dropped(before: &Before, dropped: &[BTreeSet<u32>]) -> Result<usize> {
    let documents = before.passages.documents();
    let mut total = 0;
    for (layer, dropped) in dropped.iter().enumerate() {
        for own in dropped {
            if let Some(number) = documents.number(layer, *own) {
                total += rows_of(before, number)?.len();
            }
        }
    }
    Ok(total)
}
