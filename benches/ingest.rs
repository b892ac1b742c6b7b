//! How fast does an index get built, and what does a second build save?
//!
//! Data: the first 5,000 pages of the AWS guides (`../shared/data/aws-docs-full`), or Atlas Bikes
//! repeated 180 times, each copy with its number in its text, when they are absent. No draws. The corpus
//! is in memory: reading files is not part of it; syncing the written ones is.
//!
//! Reading: a round is a first build, a build of the same corpus over it (every embedding is taken over),
//! and one with a paragraph more in one page; five rounds, with the graph and without in turns. Values are
//! medians. "passages a second" is better when higher and stands beside the first build, as does the time
//! of all processors together, which other work on the machine disturbs least; steps are milliseconds
//! beside the whole build. Quality: the graph's recall@10 as the build measured it, and whether the second
//! build has the digest of the first.
#![allow(clippy::unwrap_used, reason = "a bench stops at the first surprise")]

mod common;

use std::collections::BTreeMap;
use std::time::Instant;

use atlas::corpus::{self, Corpus, CorpusSettings};
use atlas::format::Store;
use atlas::index::{BuildReport, GraphSettings, Options, Progress, Quiet, Settings, build};
use common::{Table, at, cached, embedder, first_pages, guides_folder, measuring, p50};
use criterion::{BatchSize, Criterion, criterion_group, criterion_main};

const PAGES: usize = 5_000;
const COPIES: usize = 180;
const ROUNDS: usize = 5;

fn bikes() -> Corpus {
    corpus::read(&at("corpus/atlas-bikes"), &CorpusSettings::default()).unwrap()
}

/// The corpus and its name.
fn pages() -> (Corpus, &'static str) {
    if let Some(folder) = guides_folder() {
        let all = corpus::read(&folder, &CorpusSettings::default()).unwrap();
        return (first_pages(&all, PAGES), "first 5,000 pages of aws-docs-full");
    }
    let one = bikes();
    let mut corpus = Corpus { documents: Vec::new(), ..one.clone() };
    for document in &one.documents {
        for copy in 0..COPIES {
            let mut document = document.clone();
            document.id = format!("{}-{copy:03}", document.id);
            document.body += &format!("\n\nThis is copy {copy}.\n");
            corpus.documents.push(document);
        }
    }
    corpus.documents.sort_by(|a, b| a.id.cmp(&b.id));
    (corpus, "Atlas Bikes 180 times")
}

/// Milliseconds by step.
struct Clock {
    steps: BTreeMap<&'static str, f64>,
    running: Option<(&'static str, Instant)>,
}

impl Clock {
    fn stop(&mut self) {
        if let Some((name, began)) = self.running.take() {
            *self.steps.entry(name).or_default() += began.elapsed().as_secs_f64() * 1e3;
        }
    }
}

impl Progress for Clock {
    fn step(&mut self, name: &'static str) {
        self.stop();
        self.running = Some((name, Instant::now()));
    }

    fn documents(&mut self, _: usize, _: usize) {}
}

/// One build: its report, and milliseconds by step, as a whole, and of all processors together.
fn run(
    corpus: &Corpus,
    settings: &Settings,
    store: &Store,
) -> (BuildReport, BTreeMap<&'static str, f64>) {
    let model = embedder();
    let mut clock = Clock { steps: BTreeMap::new(), running: None };
    let (began, busy) = (Instant::now(), processor_ms());
    let report =
        build(corpus, settings, model.as_ref(), store, Options::default(), &mut clock).unwrap();
    clock.stop();
    clock.steps.insert(WHOLE, began.elapsed().as_secs_f64() * 1e3);
    if let (Some(before), Some(after)) = (busy, processor_ms()) {
        clock.steps.insert(BUSY, after - before);
    }
    (report, clock.steps)
}

/// Milliseconds of processor time that this process took so far, to 10; `None` where Linux does not say.
fn processor_ms() -> Option<f64> {
    let text = std::fs::read_to_string("/proc/self/stat").ok()?;
    let fields: Vec<&str> = text.rsplit_once(')')?.1.split_whitespace().collect();
    let ticks = fields.get(11)?.parse::<f64>().ok()? + fields.get(12)?.parse::<f64>().ok()?;
    Some(ticks * 10.0)
}

const WHOLE: &str = "whole";
const BUSY: &str = "processor";
const KINDS: [&str; 3] = ["first build", "same corpus again", "one page changed"];

/// What the rounds of one setting gave.
#[derive(Default)]
struct Rounds {
    times: [BTreeMap<&'static str, Vec<f64>>; 3],
    notes: [String; 3],
    passages: usize,
}

impl Rounds {
    /// One round in a fresh store.
    fn add(&mut self, corpus: &Corpus, changed: &Corpus, settings: &Settings) {
        let folder = tempfile::tempdir_in(cached("ingest")).unwrap();
        let store = Store::new(folder.path());
        let mut first = String::new();
        for (kind, corpus) in [corpus, corpus, changed].into_iter().enumerate() {
            let (report, steps) = run(corpus, settings, &store);
            let manifest = &report.manifest;
            self.passages = manifest.passages;
            if kind == 0 {
                first.clone_from(&manifest.digest);
            }
            let recall = manifest.graph.as_ref().map_or_else(String::new, |graph| {
                format!(", graph recall@10 {:.3}", graph.recall_at_10)
            });
            let same = if manifest.digest == first { "same digest" } else { "another digest" };
            self.notes[kind] = format!("{} taken over, {same}{recall}", report.reused);
            for (step, ms) in steps {
                self.times[kind].entry(step).or_default().push(ms);
            }
        }
    }

    fn print(&self, shown: &str, table: &mut Table) {
        table.heading(&format!("{shown}: {} passages", self.passages));
        let median =
            |kind: usize, step: &str| self.times[kind].get(step).map_or(f64::NAN, |all| p50(all));
        let speed = |kind: usize| self.passages as f64 / (median(kind, WHOLE) / 1e3);
        for (kind, name) in KINDS.iter().enumerate() {
            let measure = format!("{shown}: {name}, passages a second");
            table.row(&measure, speed(kind), speed(0), ROUNDS, &self.notes[kind]);
        }
        for (kind, name) in KINDS.iter().enumerate() {
            let measure = format!("{shown}: {name}, processor ms");
            table.row(&measure, median(kind, BUSY), median(0, BUSY), ROUNDS, "");
        }
        for (kind, name) in KINDS.iter().enumerate().take(2) {
            for step in self.times[kind].keys().filter(|step| ![WHOLE, BUSY].contains(*step)) {
                let measure = format!("{shown}: {name}, {step}, ms");
                table.row(&measure, median(kind, step), median(kind, WHOLE), ROUNDS, "");
            }
        }
    }
}

fn table(corpus: &Corpus, table: &mut Table) {
    let mut changed = corpus.clone();
    let middle = changed.documents.len() / 2;
    changed.documents[middle].body += "\n\nA paragraph that was not there before.\n";
    std::fs::create_dir_all(cached("ingest")).unwrap();
    let mut both = [(usize::MAX, "no graph"), (1, "graph")].map(|(from_passages, shown)| {
        let graph = GraphSettings { from_passages, ..GraphSettings::default() };
        (shown, Settings { graph, ..Settings::default() }, Rounds::default())
    });
    for _ in 0..ROUNDS {
        both.iter_mut().for_each(|(_, settings, rounds)| rounds.add(corpus, &changed, settings));
    }
    both.iter().for_each(|(shown, _, rounds)| rounds.print(shown, table));
}

fn bench(criterion: &mut Criterion) {
    if measuring() {
        let (corpus, data) = pages();
        let mut whole = Table::new("ingest", "building again beside building first");
        table(&corpus, &mut whole);
        whole.keep("as the measure says", data);
    }
    let corpus = bikes();
    let model = embedder();
    let settings = Settings::default();
    std::fs::create_dir_all(cached("ingest")).unwrap();
    let mut group = common::group(criterion, "ingest");
    group.sample_size(10);
    group.bench_function("atlas-bikes, first build", |bencher| {
        bencher.iter_batched(
            || tempfile::tempdir_in(cached("ingest")).unwrap(),
            |folder| {
                let store = Store::new(folder.path());
                let options = Options::default();
                build(&corpus, &settings, model.as_ref(), &store, options, &mut Quiet).unwrap();
                folder
            },
            BatchSize::PerIteration,
        );
    });
    group.finish();
}

criterion_group!(benches, bench);
criterion_main!(benches);
