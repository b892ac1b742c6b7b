//! Non-interference: what an asker may not read changes nothing that the asker can observe.
//!
//! A **case** is one comparison: one random corpus under one random policy, one asker, one question with
//! its mode, settings, `k` and minimum, and one filter. The answer of the whole index must equal that of
//! the twin, an index of what the asker may read and nothing else, bit for bit: every list of every stage
//! with its scores, counts and notes, the context, the words behind each score, and errors by their text.
//! Corpora are small and poor in words, so that ties, duplicates and documents of mixed classification
//! abound; one corpus is large. [`ASKERS`] askers share a corpus, and [`CASES_AN_ASKER`] cases an asker, and so a twin.
//!
//! ```text
//! tools/non-interference                                   10,000 cases
//! ATLAS_SEED=7 ATLAS_CASES=20 cargo test --release --test non_interference
//! ```
//!
//! `ATLAS_CASES` is how many (default 60), `ATLAS_SEED` the seed of the first corpus (default 1); the next
//! corpus has the next seed. A case that fails says how to repeat it.
#![expect(
    clippy::unwrap_used,
    clippy::panic,
    clippy::print_stdout,
    reason = "helpers of tests, which clippy takes for production code"
)]

#[path = "non_interference/ask.rs"]
mod ask;
#[path = "common/random.rs"]
mod random;
#[path = "non_interference/world.rs"]
mod world;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use atlas::access::Scope;
use atlas::index::{Filter, Index};
use atlas::search::{DensePath, Outcome, Request, Retriever as _, Searcher, Settings};

use ask::{Ask, Seen};
use random::Random;
use world::{MANY_ROLES, World, asker, large_world, with_roles};

/// Askers of one corpus, nobody among them, and cases of each.
const ASKERS: usize = 4;
const CASES_AN_ASKER: usize = 3;

fn variable(name: &str, default: u64) -> u64 {
    std::env::var(name).map_or(default, |text| {
        text.parse().unwrap_or_else(|_| panic!("{name} is `{text}`; expected a whole number"))
    })
}

fn cases_wanted() -> usize {
    variable("ATLAS_CASES", 60) as usize
}

fn first_seed() -> u64 {
    variable("ATLAS_SEED", 1)
}

/// Says how to repeat a case that panics.
struct Repeat {
    seed: u64,
    cases: usize,
}

impl Repeat {
    fn way(&self) -> String {
        format!("ATLAS_SEED={} ATLAS_CASES={}, the last case", self.seed, self.cases.max(1))
    }
}

impl Drop for Repeat {
    fn drop(&mut self) {
        if std::thread::panicking() {
            println!("stopped at {}", self.way());
        }
    }
}

/// Runs `cases` cases, the asker's scope changed by `change`, and hands on every difference from the twin.
fn run(
    cases: usize,
    change: impl Fn(&Index, Scope) -> Scope,
    mut differs: impl FnMut(String),
) -> Seen {
    let mut seen = Seen::default();
    while seen.cases < cases {
        let mut repeat = Repeat { seed: first_seed() + seen.corpora as u64, cases: 0 };
        let mut random = Random::new(repeat.seed);
        let world = World::random(&mut random);
        seen.corpora += 1;
        for _ in 0..ASKERS {
            let asker = asker(&mut random);
            let scope = change(&world.index, world.scope(asker.as_ref()));
            let twin = world.twin(asker.as_ref());
            let readable = scope.allowed().count();
            for _ in 0..CASES_AN_ASKER.min(cases - seen.cases) {
                seen.cases += 1;
                repeat.cases += 1;
                seen.nothing += usize::from(readable == 0);
                seen.partial += usize::from(readable > 0 && !scope.allowed().is_all());
                let ask = Ask::random(&mut random, &world.corpus);
                if let Some(what) = ask.compare((&world.index, &scope), &twin, &mut seen) {
                    differs(format!("{what}\n{}\n{asker:?}\n{ask:?}", repeat.way()));
                }
            }
        }
    }
    seen
}

#[test]
fn what_may_not_be_read_changes_nothing() {
    let cases = cases_wanted();
    let seen = run(cases, |_, scope| scope, |what| panic!("{what}"));
    println!(
        "{} cases over {} corpora and {} twins: 0 differences, bit for bit",
        seen.cases,
        seen.corpora,
        seen.cases.div_ceil(CASES_AN_ASKER)
    );
    println!(
        "of them {} with some passages closed, {} with all, {} with none",
        seen.partial,
        seen.cases - seen.partial - seen.nothing,
        seen.nothing
    );
    println!(
        "{} found something, {} with tied scores; {} were refused alike on both sides",
        seen.found, seen.tied, seen.refused
    );
    // A run proves something only if scopes cut through corpora and questions are answered.
    if cases >= 60 {
        assert!([seen.partial, seen.found, seen.tied].iter().all(|n| *n > 0), "{seen:?}");
    }
    if cases >= 1000 {
        assert!(seen.partial > cases / 3 && seen.found > cases / 3, "{seen:?}");
        assert!(seen.tied > cases / 10 && seen.refused > 0 && seen.nothing > 0, "{seen:?}");
    }
}

/// The comparison itself, tried on an engine that drops what is forbidden and takes its statistics over
/// everything: nothing forbidden is in any list, and yet the scores tell that it exists.
#[test]
fn statistics_of_everything_would_be_seen() {
    let mut differences = 0;
    let everything = |index: &Index, scope: Scope| index.everyone().narrowed(scope.readable());
    let seen = run(cases_wanted().min(200), everything, |_| differences += 1);
    println!("with the statistics of everything {differences} of {} cases differ", seen.cases);
    assert!(seen.cases < 60 || differences > seen.cases / 10, "{differences} differences");
}

// Corpora of many windows, blocks of postings and rows to pass over.

/// Documents of four passages: more rows than the lexical leg adds up at a time (4096), so that its windows
/// begin at other rows in a twin.
const LARGE: usize = 1200;

#[test]
fn in_a_large_corpus_too() {
    let (askers, questions) = if cases_wanted() < 1000 { (2, 30) } else { (10, 100) };
    let repeat = Repeat { seed: first_seed(), cases: cases_wanted() };
    let mut random = Random::new(repeat.seed ^ 0xffff_0000);
    let (world, sentences) = large_world(&mut random, LARGE, usize::MAX);
    let mut seen = Seen::default();
    for _ in 0..askers {
        let percent = random.pick(&[10, 40, 70, 95]);
        let asker = Some(with_roles(random.some(&MANY_ROLES, percent)));
        let (scope, twin) = (world.scope(asker.as_ref()), world.twin(asker.as_ref()));
        for _ in 0..questions {
            let words: Vec<&str> = sentences[random.below(sentences.len())].split(' ').collect();
            let ask = Ask {
                question: random.words(&words, 2, 8),
                filter: Filter::default(),
                ..Ask::random(&mut random, &world.corpus)
            };
            seen.cases += 1;
            let different = ask.compare((&world.index, &scope), &twin, &mut seen);
            assert_eq!(different, None, "{asker:?} {ask:?}");
        }
    }
    let rows = world.index.manifest().passages;
    println!("{} cases over {rows} passages, {askers} askers: 0 differences", seen.cases);
    assert!(rows > 4096 && seen.found > seen.cases / 3, "{rows} rows, {seen:?}");
}

// The graph, which may miss rows of the scope and must never bring one from outside it.

/// Documents, walks and candidates kept of the forced graph, so many for so many cases.
fn graph_size() -> (usize, usize) {
    if cases_wanted() < 1000 { (100, 60) } else { (1500, 500) }
}

/// Recall of walks against the scan of the same scope.
#[derive(Debug, Default)]
struct Recall {
    walks: usize,
    /// Walks that came back short, so that the scan answered.
    scanned: usize,
    sum: f64,
    worst: f64,
}

impl Recall {
    /// Counts the first ten of `found` that are as near as the tenth of `truth`.
    fn add(&mut self, found: &Outcome, truth: &Outcome) {
        let [walked, exact] = [found, truth].map(|outcome| outcome.trace.stage("dense").unwrap());
        let exact = &exact.list[..exact.list.len().min(10)];
        let Some(last) = exact.last() else { return };
        let hits = walked.list.iter().take(10).filter(|hit| hit.score >= last.score).count();
        let recall = hits as f64 / exact.len() as f64;
        self.worst = if self.walks == 0 { recall } else { self.worst.min(recall) };
        self.walks += 1;
        self.scanned += usize::from(walked.note.contains("came back short"));
        self.sum += recall;
    }

    fn mean(&self) -> f64 {
        self.sum / self.walks as f64
    }
}

#[test]
fn the_graph_never_brings_a_forbidden_row() {
    let (documents, walks) = graph_size();
    let repeat = Repeat { seed: first_seed(), cases: cases_wanted() };
    let mut random = Random::new(repeat.seed ^ u64::from(u32::MAX));
    let (world, sentences) = large_world(&mut random, documents, 1);
    let rows = world.index.manifest().passages;
    let mut by_ef: BTreeMap<(usize, usize), Recall> = BTreeMap::new();
    let mut sizes = BTreeSet::new();
    for _ in 0..walks {
        let percent = random.pick(&[0, 5, 10, 25, 50, 75, 95, 100]);
        let asker = with_roles(random.some(&MANY_ROLES, percent));
        let scope = world.scope(Some(&asker));
        sizes.insert(scope.allowed().count());
        let words: Vec<&str> = sentences[random.below(sentences.len())].split(' ').collect();
        let question = random.words(&words, 2, 8);
        for (ef, depth) in [(10, 10), (64, 10), (256, 100)] {
            let ask = |dense| {
                let settings = Settings { dense, ef, depth, ..Settings::default() };
                let searcher = Searcher::new(Arc::clone(&world.index), settings).unwrap();
                searcher.retrieve(&Request::new(question.as_str(), scope.clone())).unwrap()
            };
            let [walked, exact] = [DensePath::Graph, DensePath::Exact].map(ask);
            for stage in &walked.trace.stages {
                for scored in &stage.list {
                    assert!(world.may(Some(&asker), scored.row), "{}: {asker:?}", stage.name);
                }
            }
            by_ef.entry((ef, depth)).or_default().add(&walked, &exact);
        }
    }
    println!("graph forced over {rows} passages under {} scopes of other sizes", sizes.len());
    for ((ef, depth), recall) in &by_ef {
        println!(
            "ef {ef:3}, depth {depth:3}: {} walks, no forbidden row; recall@10 {:.4} on average, \
             {:.1} at worst; {} walks came back short and were scanned",
            recall.walks,
            recall.mean(),
            recall.worst,
            recall.scanned
        );
    }
    let default = &by_ef[&(256, 100)];
    assert!(default.mean() > 0.99, "{default:?}");
}
