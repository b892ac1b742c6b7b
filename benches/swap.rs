//! Does a search notice that the index under it is swapped?
//!
//! One thread asks questions one after the other, as fast as answers come, through `project::Live`, while
//! generations come and go beside it. A swap is timed from the moment at which the new generation is
//! current on disk until the follower has opened, read, checked and asked it, has put it in place of the
//! old one and let the old one go, and 20 ms more. Every search that runs in that time counts as "during";
//! those well away from any swap are "between". What makes the generations (going back and forth between
//! two, which reads all of both) runs between the swaps and is left out of either.
//!
//! What to read: the slowest search during a swap beside twice the p99 between swaps, and how many there
//! were of either. The slowest between swaps stands beside it, since a machine has pauses of its own.
//!
//! Data: the AWS guides of `../shared/data/aws-docs` (about 1,500 pages), in BEIR layout; without them
//! Atlas Bikes. An index of its own in a temporary folder.
#![allow(clippy::unwrap_used, reason = "a bench stops at the first surprise")]

mod common;

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::channel;
use std::time::{Duration, Instant};

use atlas::eval::questions::QuestionSet;
use atlas::index::{self, Quiet};
use atlas::project::{Live, Project};
use atlas::search::{Request, Retriever as _};
use common::{Table, at, measuring, percentile};
use criterion::{Criterion, criterion_group, criterion_main};

/// Swaps that are timed.
const SWAPS: usize = 25;

/// Between two swaps, so that there are searches to compare with.
const BETWEEN: Duration = Duration::from_millis(400);

/// After a swap, in which what it left behind would still be felt.
const AFTER: Duration = Duration::from_millis(20);

/// How often the follower looks.
const EVERY: Duration = Duration::from_millis(5);

/// Where in the life of the bench a search ran.
const LEFT_OUT: u64 = 0;
const FREE: u64 = 1;
const SWAPPING: u64 = 2;

/// The corpus and questions about it.
fn data() -> (PathBuf, Vec<String>, &'static str) {
    let guides = at("../shared/data/aws-docs");
    let (folder, set, name) = if guides.is_dir() {
        (guides.clone(), guides, "aws-docs")
    } else {
        let set = at("evals/atlas-bikes/development.yaml");
        (at("corpus/atlas-bikes"), set, "atlas-bikes")
    };
    let questions = QuestionSet::read(&set).unwrap().questions;
    (folder, questions.into_iter().map(|question| question.question).collect(), name)
}

fn project(corpus: &std::path::Path, index: &std::path::Path) -> atlas::error::Result<Project> {
    let open = ["access=open".to_owned()];
    Project::find(Some(corpus), corpus, Some(index), &open)
}

/// Builds the index, and a second generation of the same.
fn build(project: &Project) -> usize {
    let corpus = project.read_corpus().unwrap();
    let (settings, embedder) = (project.index_settings(), project.embedder().unwrap());
    let options = index::Options::default();
    let built =
        index::build(&corpus, &settings, embedder.as_ref(), &project.store(), options, &mut Quiet);
    built.unwrap().manifest.passages
}

fn measure() {
    let (corpus, questions, name) = data();
    let folder = tempfile::tempdir().unwrap();
    let at_home = folder.path().to_owned();
    let own = project(&corpus, folder.path()).unwrap();
    let passages = build(&own);
    let found = corpus.clone();
    let live = Arc::new(Live::open(move || project(&found, &at_home)).unwrap());
    let (heard, news) = channel();
    let _follower = live
        .follow(EVERY, move |found| {
            let _ = heard.send(found.unwrap());
        })
        .unwrap();
    let (stop, phase) = (AtomicBool::new(false), AtomicU64::new(LEFT_OUT));
    let mut swaps = Vec::new();
    let (free, during, wrong) = std::thread::scope(|scope| {
        let searches = scope.spawn(|| {
            let (mut free, mut during) = (Vec::new(), Vec::new());
            let mut wrong = 0;
            let mut first: Vec<Option<Vec<(u32, u64)>>> = vec![None; questions.len()];
            for at in (0..questions.len()).cycle() {
                if stop.load(Ordering::Relaxed) {
                    break;
                }
                let before = phase.load(Ordering::SeqCst);
                let began = Instant::now();
                let opened = live.current().unwrap();
                let asked = Request::new(&*questions[at], opened.index.everyone());
                let outcome = opened.searcher.retrieve(&asked).unwrap();
                drop(opened);
                let us = began.elapsed().as_secs_f64() * 1e6;
                let after = phase.load(Ordering::SeqCst);
                let hits: Vec<_> =
                    outcome.context.iter().map(|hit| (hit.row, hit.score.to_bits())).collect();
                wrong += usize::from(first[at].get_or_insert_with(|| hits.clone()) != &hits);
                if before == SWAPPING || after == SWAPPING {
                    during.push(us);
                } else if before == FREE && after == FREE {
                    free.push(us);
                }
            }
            (free, during, wrong)
        });
        let embedder = own.embedder().unwrap();
        let settings = own.index_settings();
        let mut last = 1;
        for _ in 0..=SWAPS {
            std::thread::sleep(Duration::from_millis(50));
            phase.store(FREE, Ordering::SeqCst);
            std::thread::sleep(BETWEEN);
            phase.store(LEFT_OUT, Ordering::SeqCst);
            let next = if last == 1 {
                // The first is a build, so that there are two to go back and forth between.
                build(&own);
                2
            } else {
                let back = index::rollback(&own.store(), last - 1, &settings, &embedder, None);
                back.unwrap().manifest.generation
            };
            let began = Instant::now();
            phase.store(SWAPPING, Ordering::SeqCst);
            assert_eq!(news.recv_timeout(Duration::from_secs(60)).unwrap(), next);
            swaps.push(began.elapsed().as_secs_f64() * 1e6);
            std::thread::sleep(AFTER);
            phase.store(LEFT_OUT, Ordering::SeqCst);
            last = next;
        }
        stop.store(true, Ordering::Relaxed);
        searches.join().unwrap()
    });
    let mut table =
        Table::new("swap", "searches during a swap of generations beside those between");
    table.heading(&format!("{passages} passages of {name}, {} swaps, µs", swaps.len()));
    let same = if wrong == 0 { "all hits and scores the same" } else { "HITS DIFFER" };
    let p99 = percentile(&free, 0.99);
    table.row("between swaps, p50", percentile(&free, 0.5), p99, free.len(), "");
    table.row("between swaps, p99", p99, p99, free.len(), same);
    table.row("between swaps, slowest", percentile(&free, 1.0), p99, free.len(), "");
    table.row("during a swap, p50", percentile(&during, 0.5), p99, during.len(), "");
    table.row("during a swap, p99", percentile(&during, 0.99), p99, during.len(), "");
    let slowest = percentile(&during, 1.0);
    let held = if slowest <= 2.0 * p99 { "within twice the p99" } else { "over twice the p99" };
    let over = during.iter().filter(|us| **us > 2.0 * p99).count();
    table.row(
        "during a swap, slowest",
        slowest,
        p99,
        during.len(),
        &format!("{held}: {over} over"),
    );
    table.row(
        "a swap, from current on disk to served",
        percentile(&swaps, 0.5),
        p99,
        swaps.len(),
        "",
    );
    table.keep(
        "µs; the baseline is the p99 between swaps",
        &format!("{passages} passages of {name}"),
    );
}

fn bench(criterion: &mut Criterion) {
    if measuring() {
        measure();
    }
    // What taking the index costs each request.
    let folder = tempfile::tempdir().unwrap();
    let home = folder.path().to_owned();
    let corpus = at("corpus/atlas-bikes");
    build(&project(&corpus, &home).unwrap());
    let live = Live::open(move || project(&corpus, &home)).unwrap();
    let mut group = common::group(criterion, "swap");
    group.bench_function("current", |bencher| bencher.iter(|| live.current().unwrap()));
    group.bench_function("refresh, nothing new", |bencher| {
        bencher.iter(|| live.refresh().unwrap());
    });
    group.finish();
}

criterion_group!(benches, bench);
criterion_main!(benches);
