//! What the benches share: the collections with their cached indexes, fair timing, tables, records.
//!
//! Every bench first prints its own table, then runs criterion. A table's cases are timed in turns, in
//! an order drawn afresh for each question, so that whatever else the machine does meets all of them
//! alike: read the ratios, not the microseconds. Percentiles are nearest rank.
#![allow(dead_code, reason = "each bench is a crate of its own and uses its part of this")]
#![allow(clippy::unwrap_used, reason = "a bench stops at the first surprise")]
#![allow(clippy::print_stdout, reason = "a bench prints its table")]

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::time::{Duration, Instant};

use atlas::corpus::{self, Corpus, CorpusSettings};
use atlas::format::Store;
use atlas::index::{self, Index, Options, Quiet};
use atlas::passage::searched_form;
use atlas::project::Project;
use atlas::vectors::{Embedder, StaticModel};
use criterion::measurement::WallTime;
use criterion::{BenchmarkGroup, Criterion};
use serde_json::{Value, json};

/// Passages of the large collection.
pub const LARGE: usize = 100_000;

/// The machine this runs on: cores, what Linux calls the processor, and the instructions that vectors are
/// scored with.
fn machine() -> String {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let told = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let model = told.lines().find(|line| line.starts_with("model name"));
    let model = model.and_then(|line| line.split_once(": ")).map_or("unknown", |(_, name)| name);
    let kernels = atlas::vectors::kernels::Kernels::best().name();
    format!("{cores} cores, {model}, {}, {kernels}", std::env::consts::ARCH)
}

/// Whether the table is wanted: under `cargo bench`, unless criterion only profiles or lists. Under
/// `cargo test --benches` criterion runs each of its functions once.
pub fn measuring() -> bool {
    let has = |wanted: &str| std::env::args().any(|argument| argument == wanted);
    has("--bench") && !has("--profile-time") && !has("--list")
}

/// A group of criterion's that takes few seconds: the tables hold what is compared.
pub fn group<'c>(criterion: &'c mut Criterion, name: &str) -> BenchmarkGroup<'c, WallTime> {
    let mut group = criterion.benchmark_group(name);
    group.sample_size(20);
    group.warm_up_time(Duration::from_secs(1)).measurement_time(Duration::from_secs(2));
    group
}

/// `path` in the repository.
pub fn at(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(path)
}

/// A folder under `target/bench-index`, where indexes are kept between runs.
pub fn cached(name: &str) -> PathBuf {
    Path::new(env!("CARGO_TARGET_TMPDIR")).parent().unwrap().join("bench-index").join(name)
}

/// The model in the program.
pub fn embedder() -> Arc<dyn Embedder> {
    Arc::new(StaticModel::built_in().unwrap())
}

/// Atlas Bikes with its own settings, open to everyone.
pub fn bikes() -> (Project, Arc<Index>) {
    let open = ["access=open".to_owned()];
    let folder = cached("atlas-bikes");
    let project = Project::find(Some(&at(".")), &at("."), Some(&folder), &open).unwrap();
    let corpus = project.read_corpus().unwrap();
    let index = index_of(&corpus, &project.index_settings(), &folder);
    (project, index)
}

/// Where the AWS guides lie, with a printed reason when they do not.
pub fn guides_folder() -> Option<PathBuf> {
    let folder = at("../shared/data/aws-docs-full");
    if folder.is_dir() {
        return Some(folder);
    }
    println!("skipped: the AWS guides are not at {}", folder.display());
    None
}

/// The AWS guides: all their pages, and an index of the first ones.
pub struct Guides {
    pub folder: PathBuf,
    pub corpus: Corpus,
    /// Pages in the index; those after them are held out.
    pub indexed: usize,
    pub index: Arc<Index>,
}

impl Guides {
    /// The pages that hold the first [`LARGE`] passages, whole (so a few passages more), or `None` with
    /// a printed reason. Built at the first run, a few seconds.
    pub fn open() -> Option<Self> {
        let folder = guides_folder()?;
        let corpus = corpus::read(&folder, &CorpusSettings::default()).unwrap();
        let settings = index::Settings::default();
        let mut held = 0;
        let indexed = corpus
            .documents
            .iter()
            .take_while(|document| {
                let more = held < LARGE;
                if more {
                    let cut = atlas::passage::cut(document, &settings.passage);
                    held += cut.iter().map(|(_, passages)| passages.len()).sum::<usize>();
                }
                more
            })
            .count();
        let first = first_pages(&corpus, indexed);
        let index = index_of(&first, &settings, &cached("aws-100k"));
        Some(Self { folder, corpus, indexed, index })
    }
}

/// The first `pages` documents as a corpus of their own.
pub fn first_pages(corpus: &Corpus, pages: usize) -> Corpus {
    let documents = corpus.documents[..pages].to_vec();
    let fingerprint = format!("{}-first-{pages}", corpus.fingerprint);
    Corpus {
        documents,
        skipped: Vec::new(),
        noted: Vec::new(),
        fingerprint,
        files: corpus.files.clone(),
        closed: Vec::new(),
    }
}

/// The index in `folder`, built when there is none of this corpus and this engine.
fn index_of(corpus: &Corpus, settings: &index::Settings, folder: &Path) -> Arc<Index> {
    let store = Store::new(folder);
    let known = Index::open(&store, settings, embedder(), None);
    if let Some(index) = known.ok().filter(|i| i.manifest().fingerprint == corpus.fingerprint) {
        return Arc::new(index);
    }
    println!("building the index in {}", folder.display());
    let model = embedder();
    let options = Options::default();
    index::build(corpus, settings, model.as_ref(), &store, options, &mut Quiet).unwrap();
    Arc::new(Index::open(&store, settings, model, None).unwrap())
}

/// The text under which the passage at `row` is searched.
pub fn form(index: &Index, row: u32) -> String {
    let store = index.passages();
    let passage = store.passage(row).unwrap();
    let block = store.block(passage.block).unwrap();
    let title = store.document(block.document).unwrap().title;
    let text = store.passage_text(&passage).unwrap();
    searched_form(&title, &store.sections(&block).unwrap(), text, true)
}

/// Splitmix64 (Steele, Lea, Flood 2014): the same draws from the same seed everywhere.
pub struct Draw(pub u64);

impl Draw {
    pub fn number(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    pub fn below(&mut self, bound: usize) -> usize {
        (self.number() % bound as u64) as usize
    }

    pub fn shuffle<T>(&mut self, items: &mut [T]) {
        for last in (1..items.len()).rev() {
            items.swap(last, self.below(last + 1));
        }
    }

    /// `count` of `0..bound`, each once; all of them when there are no more.
    pub fn distinct(&mut self, count: usize, bound: usize) -> Vec<u32> {
        let mut all: Vec<u32> = (0..bound as u32).collect();
        self.shuffle(&mut all);
        all.truncate(count);
        all
    }
}

/// What `work` gives, and the microseconds that it took.
pub fn timed<T>(work: impl FnOnce() -> T) -> (T, f64) {
    let began = Instant::now();
    let made = std::hint::black_box(work());
    (made, began.elapsed().as_secs_f64() * 1e6)
}

/// Runs `run(case, item)` for every case and item, `rounds` times, cases in a new order for each item,
/// and gives what it returns (microseconds) by case. One round before, unrecorded, warms up.
pub fn in_turns(
    cases: usize,
    items: usize,
    rounds: usize,
    mut run: impl FnMut(usize, usize) -> f64,
) -> Vec<Vec<f64>> {
    let mut draw = Draw(0x7475_726E);
    let mut order: Vec<usize> = (0..cases).collect();
    let mut times = vec![Vec::with_capacity(items * rounds); cases];
    for round in 0..=rounds {
        for item in 0..items {
            draw.shuffle(&mut order);
            for &case in &order {
                let us = run(case, item);
                if round > 0 {
                    times[case].push(us);
                }
            }
        }
    }
    times
}

/// The percentile by nearest rank: the smallest value with at least `share` of all at or below it.
pub fn percentile(values: &[f64], share: f64) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let rank = (share * sorted.len() as f64).ceil() as usize;
    sorted.get(rank.max(1) - 1).copied().unwrap_or(f64::NAN)
}

pub fn p50(values: &[f64]) -> f64 {
    percentile(values, 0.5)
}

/// A table that is printed as it grows, and kept as a record when `ATLAS_BENCH_RECORD` holds a date.
pub struct Table {
    name: &'static str,
    rows: Vec<Value>,
}

impl Table {
    /// A table of the bench called `name`; `about` says what stands beside what.
    pub fn new(name: &'static str, about: &str) -> Self {
        println!("\n{name}: {about}");
        Self { name, rows: Vec::new() }
    }

    pub fn heading(&self, text: &str) {
        println!("\n  {text}");
        println!(
            "  {:44} {:>11} {:>11} {:>8} {:>6}  quality",
            "", "value", "baseline", "ratio", "n"
        );
    }

    /// A line: a value beside the baseline of the same run, and what it is worth.
    pub fn row(&mut self, measure: &str, value: f64, baseline: f64, n: usize, quality: &str) {
        let ratio = value / baseline;
        println!("  {measure:44} {value:11.2} {baseline:11.2} {ratio:8.3} {n:6}  {quality}");
        let cut = |number: f64| (number * 1e4).round() / 1e4;
        let mut row = json!({
            "measure": measure, "value": cut(value), "baseline": cut(baseline),
            "ratio": cut(ratio), "n": n,
        });
        if !quality.is_empty() {
            row["quality"] = json!(quality);
        }
        self.rows.push(row);
    }

    /// A line of p50s in microseconds.
    pub fn times(&mut self, measure: &str, times: &[f64], baseline: &[f64], quality: &str) {
        self.row(measure, p50(times), p50(baseline), times.len(), quality);
    }

    /// Writes `benches/records/<date>-<name>.json` when a date was given.
    pub fn keep(self, unit: &str, data: &str) {
        let Ok(date) = std::env::var("ATLAS_BENCH_RECORD") else { return };
        let git = |arguments: &[&str]| {
            let said = Command::new("git").current_dir(at(".")).args(arguments).output();
            said.map(|said| String::from_utf8_lossy(&said.stdout).trim().to_owned())
                .unwrap_or_default()
        };
        let record = json!({
            "bench": self.name,
            "date": date,
            "commit": git(&["rev-parse", "HEAD"]),
            "source_changed_since_commit":
                !git(&["status", "--porcelain", "--", "src", "Cargo.lock"]).is_empty(),
            "machine": machine(),
            "unit": unit,
            "data": data,
            "rows": self.rows,
        });
        let path = at("benches/records").join(format!("{date}-{}.json", self.name));
        let text = serde_json::to_string_pretty(&record).unwrap() + "\n";
        std::fs::write(&path, text).unwrap();
        println!("\n  kept in {}", path.display());
    }
}
