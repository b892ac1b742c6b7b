//! Is a search slower while the index under it is swapped?
//!
//! One thread asks questions one after the other, as fast as answers come, through `project::Live`, while
//! generations come and go beside it. A swap lasts from the moment at which the new generation is current on
//! disk until the follower has opened, read, checked and asked it, has put it in place of the old one and let
//! the old one go, and 20 ms more. Every search that touches that time counts as "during"; those in the 200 ms
//! before are "between". What makes the generations (going back and forth between two, which reads all of
//! both) runs after that and is left out of either.
//!
//! The claim: no search is slower than twice the usual p99 because of a swap. A machine has pauses of its own,
//! so the share of searches over twice the p99 of those between is given for both, each with its Wilson
//! interval at 95 %, and the chance (Fisher's exact test, one-sided) that swaps that change nothing bring as
//! many as were seen. What to read: that chance, and the shares. How long a slow search waited for a core
//! stands beside them where Linux tells it (`/proc/thread-self/schedstat`): what waits, was not slowed down by
//! what a swap does to memory or locks.
//!
//! Data: the AWS guides of `../shared/data/aws-docs` (about 1,500 pages), in BEIR layout; without them
//! Atlas Bikes. An index of its own in a temporary folder. `ATLAS_SWAPS` gives another number of swaps than 60.
#![allow(clippy::unwrap_used, reason = "a bench stops at the first surprise")]

mod common;

use std::fs::File;
use std::io::{Read as _, Seek as _};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::channel;
use std::time::{Duration, Instant};

use atlas::eval::questions::QuestionSet;
use atlas::eval::statistics::wilson;
use atlas::index::{self, Quiet};
use atlas::project::{Live, Project};
use atlas::search::{Request, Retriever as _};
use common::{Table, at, measuring, percentile};
use criterion::{Criterion, criterion_group, criterion_main};

/// Swaps that are timed unless told otherwise.
const SWAPS: usize = 60;

/// Between two swaps, so that there are searches to compare with.
const BETWEEN: Duration = Duration::from_millis(200);

/// After a swap, in which what it left behind would still be felt.
const AFTER: Duration = Duration::from_millis(20);

/// How often the follower looks.
const EVERY: Duration = Duration::from_millis(5);

/// Where in the life of the bench a search ran.
const LEFT_OUT: u64 = 0;
const FREE: u64 = 1;
const SWAPPING: u64 = 2;

/// One search, in µs.
struct Timed {
    us: f64,
    /// Of these, spent ready to run and without a core.
    waited_us: f64,
}

/// What the system says of the time that this thread has waited for a core.
struct Waiting(Option<File>);

impl Waiting {
    fn of_this_thread() -> Self {
        Self(File::open("/proc/thread-self/schedstat").ok())
    }

    /// So far, in µs; 0 where it is not told.
    fn us(&mut self) -> f64 {
        let mut text = String::new();
        let Some(file) = &mut self.0 else { return 0.0 };
        file.rewind().unwrap();
        file.read_to_string(&mut text).unwrap();
        let ns = text.split_whitespace().nth(1).and_then(|ns| ns.parse::<f64>().ok());
        ns.unwrap_or(0.0) / 1e3
    }
}

/// The chance of at least `over` successes among `drawn` that are drawn without putting back from `all`, of
/// which `marked` are successes: Fisher's exact test, one-sided.
fn chance(over: usize, drawn: usize, marked: usize, all: usize) -> f64 {
    let mut factorials = vec![0.0; all + 1];
    for n in 1..=all {
        factorials[n] = factorials[n - 1] + (n as f64).ln();
    }
    let choose = |n: usize, k: usize| factorials[n] - factorials[k] - factorials[n - k];
    let possible = over.max((drawn + marked).saturating_sub(all))..=drawn.min(marked);
    let ways = |k| choose(marked, k) + choose(all - marked, drawn - k) - choose(all, drawn);
    possible.map(|k| f64::exp(ways(k))).sum::<f64>().min(1.0)
}

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
    let wanted = std::env::var("ATLAS_SWAPS").ok().map_or(SWAPS, |n| n.parse().unwrap());
    let (free, during, wrong) = std::thread::scope(|scope| {
        let searches = scope.spawn(|| {
            let (mut free, mut during) = (Vec::new(), Vec::new());
            let mut wrong = 0;
            let mut waiting = Waiting::of_this_thread();
            let mut first: Vec<Option<Vec<(u32, u64)>>> = vec![None; questions.len()];
            for at in (0..questions.len()).cycle() {
                if stop.load(Ordering::Relaxed) {
                    break;
                }
                let before = phase.load(Ordering::SeqCst);
                let waited = waiting.us();
                let began = Instant::now();
                let opened = live.current().unwrap();
                let asked = Request::new(&*questions[at], opened.index.everyone());
                let outcome = opened.searcher.retrieve(&asked).unwrap();
                drop(opened);
                let us = began.elapsed().as_secs_f64() * 1e6;
                let after = phase.load(Ordering::SeqCst);
                let search = Timed { us, waited_us: waiting.us() - waited };
                let hits: Vec<_> =
                    outcome.context.iter().map(|hit| (hit.row, hit.score.to_bits())).collect();
                wrong += usize::from(first[at].get_or_insert_with(|| hits.clone()) != &hits);
                if before == SWAPPING || after == SWAPPING {
                    during.push(search);
                } else if before == FREE && after == FREE {
                    free.push(search);
                }
            }
            (free, during, wrong)
        });
        let embedder = own.embedder().unwrap();
        let settings = own.index_settings();
        let mut last = 1;
        for _ in 0..=wanted {
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
    let same = if wrong == 0 { "all hits and scores the same" } else { "HITS DIFFER" };
    let us = |searches: &[Timed]| searches.iter().map(|one| one.us).collect::<Vec<f64>>();
    let p99 = percentile(&us(&free), 0.99);
    let mut table =
        Table::new("swap", "searches during a swap of generations beside those between");
    table.heading(&format!("{passages} passages of {name}, {} swaps, µs", swaps.len()));
    let mut slow = Vec::new();
    for (when, searches) in [("between swaps", &free), ("during a swap", &during)] {
        let (n, all) = (searches.len(), us(searches));
        table.row(&format!("{when}, p50"), percentile(&all, 0.5), p99, n, "");
        table.row(&format!("{when}, p99"), percentile(&all, 0.99), p99, n, same);
        table.row(&format!("{when}, p99.9"), percentile(&all, 0.999), p99, n, "");
        table.row(&format!("{when}, slowest"), percentile(&all, 1.0), p99, n, "");
        let over: Vec<&Timed> = searches.iter().filter(|one| one.us > 2.0 * p99).collect();
        let waited = over.iter().filter(|one| one.us - one.waited_us <= 2.0 * p99).count();
        let interval = wilson(over.len(), n).unwrap();
        let (low, high) = (interval.low * 100.0, interval.high * 100.0);
        let told = format!(
            "{:.3} % over it [{low:.3}, {high:.3}], {waited} of these waiting for a core",
            over.len() as f64 / n as f64 * 100.0
        );
        table.row(&format!("{when}, over twice the p99"), over.len() as f64, n as f64, n, &told);
        slow.push(over.len());
    }
    let (marked, all) = (slow[0] + slow[1], free.len() + during.len());
    let p = chance(slow[1], during.len(), marked, all);
    let held =
        if p >= 0.05 { "as often as between swaps" } else { "MORE OFTEN than between swaps" };
    table.row("over it, chance of as many during swaps", p, 0.05, all, held);
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
