//! An index of each format version, committed: whoever changes the bytes, the analyzer, the model or the
//! meaning of a score learns it here.
//!
//! The index of `index/golden/corpus` lies in `index/golden/v2` and is opened where it lies, with nothing
//! but reading. Its settings are pinned, so that another default changes nothing about it; those of a
//! search are the defaults. When this test fails
//!
//! - because the **bytes** have changed: raise `FORMAT_VERSION`, write a new folder with the writer below,
//!   and let the old one be opened, or refused by name;
//! - because the **analyzer, the cut or the model** has changed: remove the folder and write it again;
//! - because a **score** has changed: the index stays, and the new values belong in the commit that
//!   explains them.
//!
//! ```text
//! cargo test --release --test golden -- --ignored write
//! ```
#![expect(clippy::unwrap_used, reason = "a test stops at the first surprise")]

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use atlas::corpus::{self, CorpusSettings};
use atlas::format::{FORMAT_VERSION, LOCK_FILE, Manifest, Store};
use atlas::index::{self, GraphSettings, Index, LayerSettings, Options, Quiet};
use atlas::search::{self, DensePath, Mode, Outcome, Request, Retriever as _, Searcher};
use atlas::vectors::{Embedder, StaticModel};
use atlas::{passage, text};

/// How far a score may be from the one written here. Every sum is taken in a fixed order, so the only
/// play is in `ln` and `exp`, which come from the system and may differ in the last bit.
const TOLERANCE: f64 = 1e-12;

fn home() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("index/golden")
}

fn store() -> Store {
    Store::new(home().join(format!("v{FORMAT_VERSION}")))
}

/// Passages so small that blocks are split, and a graph so early that there is one: all kinds of parts.
fn settings() -> index::Settings {
    index::Settings {
        reading: String::new(),
        passage: passage::Settings {
            max_tokens: 40,
            overlap_tokens: 0,
            plain_block_tokens: 64,
            titles: true,
        },
        text: text::Settings { language: "en".to_owned(), stop_words: true },
        graph: GraphSettings {
            from_passages: 1,
            builder: "batched".to_owned(),
            m: 4,
            ef_construction: 16,
        },
        layers: LayerSettings::default(),
        memory: index::Memory::default(),
    }
}

fn embedder() -> Arc<dyn Embedder> {
    Arc::new(StaticModel::built_in().unwrap())
}

fn build(store: &Store) -> Manifest {
    let corpus = corpus::read(&home().join("corpus"), &CorpusSettings::default()).unwrap();
    let open_to_all = Options::default();
    index::build(&corpus, &settings(), embedder().as_ref(), store, open_to_all, &mut Quiet)
        .unwrap()
        .manifest
}

fn open() -> Arc<Index> {
    Arc::new(Index::open(&store(), &settings(), embedder(), None).unwrap())
}

fn search(mode: Mode, dense: DensePath, question: &str) -> (Arc<Index>, Outcome) {
    let index = open();
    let settings = search::Settings { dense, ..search::Settings::default() };
    let searcher = Searcher::new(Arc::clone(&index), settings).unwrap();
    let request = Request::new(question, index.everyone()).mode(mode);
    let outcome = searcher.retrieve(&request).unwrap();
    (index, outcome)
}

/// References and scores of the context.
fn context(index: &Index, outcome: &Outcome) -> Vec<(String, f64)> {
    let hit = |row: u32| index.passages().reference(row).unwrap().to_string();
    outcome.context.iter().map(|block| (hit(block.row), block.score)).collect()
}

fn assert_found(found: &[(String, f64)], expected: &[(&str, f64)]) {
    let same = found.len() == expected.len()
        && found.iter().zip(expected).all(|((name, score), (expected_name, expected_score))| {
            name == expected_name && (score - expected_score).abs() <= TOLERANCE
        });
    assert!(same, "found    {found:?}\nexpected {expected:?}");
}

/// Every file and folder under `folder`, with its length.
fn listing(folder: &Path) -> BTreeMap<PathBuf, u64> {
    let mut found = BTreeMap::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(listing(&path));
        }
        found.insert(path.clone(), path.metadata().unwrap().len());
    }
    found
}

#[test]
fn every_byte_is_as_it_was_written_and_reading_adds_none() {
    let before = listing(store().folder());
    let index = open();
    for check in index.verify() {
        assert_eq!(check.fault, None, "{}", check.name);
    }
    let m = index.manifest();
    assert_eq!((m.format, m.generation), (FORMAT_VERSION, 1));
    assert_eq!((m.documents, m.blocks, m.passages), (3, 8, 12));
    assert!(index.vectors().has_graph());
    assert_eq!(listing(store().folder()), before);
}

#[test]
fn an_index_of_other_settings_is_refused_by_name() {
    let mut other = settings();
    other.text.language = "none".to_owned();
    let fault = Index::open(&store(), &other, embedder(), None).unwrap_err().to_string();
    assert!(fault.contains("it was built with analyzer atlas-text-2/"), "{fault}");
    other = settings();
    other.passage.max_tokens = 41;
    let fault = Index::open(&store(), &other, embedder(), None).unwrap_err().to_string();
    assert!(fault.contains("it was built with passage settings {"), "{fault}");
}

#[test]
fn the_same_corpus_still_gives_the_same_digest() {
    let folder = tempfile::tempdir().unwrap();
    let fresh = Store::new(folder.path());
    let (built, kept) = (build(&fresh), open().manifest().clone());
    assert_eq!((&built.fingerprint, &built.digest), (&kept.fingerprint, &kept.digest));
    // The parts are the same files, byte for byte; those of tantivy have names of their own each time.
    let parts = |manifest: &Manifest| {
        let [layer] = &manifest.layers[..] else { panic!("one layer is expected") };
        [&layer.store, &layer.lengths, &layer.vectors, &layer.codes, &layer.access]
            .map(Clone::clone)
    };
    assert_eq!(parts(&built), parts(&kept));
    assert_eq!(built.graph, kept.graph);
}

#[test]
fn a_hybrid_search_finds_what_it_found() {
    let question = "Ice keeps the shutter from opening, E-21. What now?";
    let (index, outcome) = search(Mode::Hybrid, DensePath::Auto, question);
    let expected = [
        ("DOME-1-4-p1", 0.2588267105416902),
        ("log-1-p1", 0.1102580185606323),
        ("DOME-1-2-p0", 0.07455076522223607),
        ("DOME-1-1-p0", 0.023123854242024122),
        ("DOME-1-3-p0", 0.01075816445045124),
    ];
    assert_found(&context(&index, &outcome), &expected);
    // Cosines are sums in one fixed order, so here every bit is the same on every machine.
    let nearest = outcome.trace.stage("dense").unwrap().list[0];
    let name = index.passages().reference(nearest.row).unwrap().to_string();
    assert_eq!((name.as_str(), nearest.score), ("DOME-1-2-p0", f64::from(0.4303819_f32)));
}

#[test]
fn a_lexical_search_finds_what_it_found() {
    let question = "Which lamps are allowed when it rains on a Friday?";
    let (index, outcome) = search(Mode::Lexical, DensePath::Auto, question);
    let expected = [
        ("RULES-2-3-p0", 0.4219969009613303),
        ("RULES-2-1-p0", 0.04574533635657193),
        ("RULES-2-2-p0", 0.03702422014597617),
        ("DOME-1-2-p1", 0.004548815660614935),
        ("DOME-1-4-p2", 0.0027381236713371368),
    ];
    assert_found(&context(&index, &outcome), &expected);
    // And before anything was made of it: BM25 itself.
    let bm25: Vec<(String, f64)> = (outcome.trace.stage("lexical").unwrap().list.iter())
        .map(|hit| (index.passages().reference(hit.row).unwrap().to_string(), hit.score))
        .collect();
    let expected = [
        ("RULES-2-3-p0", 1.2890483988344328),
        ("RULES-2-1-p0", 0.9458323977332729),
        ("RULES-2-2-p0", 0.9180279673510087),
        ("DOME-1-2-p1", 0.6495972222604796),
        ("DOME-1-4-p2", 0.5853954377680232),
    ];
    assert_found(&bm25, &expected);
}

#[test]
fn the_graph_finds_what_the_scan_finds() {
    for question in ["How is the shutter opened by hand?", "Saturn in the evening", "望遠鏡"] {
        let (index, walked) = search(Mode::Dense, DensePath::Graph, question);
        let (_, scanned) = search(Mode::Dense, DensePath::Exact, question);
        assert_eq!(context(&index, &walked), context(&index, &scanned), "{question}");
    }
}

/// Writes the index of this version; refuses to write over one.
#[test]
#[ignore = "it writes into the repository"]
fn write() {
    let store = store();
    assert!(!store.folder().exists(), "{} exists; remove it first", store.folder().display());
    build(&store);
    // Readers do without the builders' lock, which holds the number of a process.
    fs::remove_file(store.folder().join(LOCK_FILE)).unwrap();
}
