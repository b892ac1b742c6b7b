//! When does a walk over the graph pay, and what does it miss, beside the exact scan?
//!
//! Data: rows of the AWS guides' first 20,000 and 100,000 passages, 256 dimensions, with a graph of each
//! (m 16, ef_construction 200) that this bench builds. Questions: the first 12 words of 300 passages of
//! the pages after those, which are in no index, seed 0x6465_6E73, and the 100 public questions.
//!
//! Reading: µs, p50, all cases in turns in one run. `baseline` is the exact scan of the same depth, so a
//! `ratio` under 1 is what the walk saves; recall is the share of the scan's first 10 (and of its first
//! `depth`) that the walk has, ties by value. The scan takes all threads from 32,768 rows on; its time on
//! one thread stands beside it: on a busy machine two threads are no gain. The time to build a graph is a
//! row's share of it, beside that of the smaller graph.
#![allow(clippy::unwrap_used, reason = "a bench stops at the first surprise")]

mod common;

use atlas::eval::questions::QuestionSet;
use atlas::vectors::Role;
use atlas::vectors::build::{Batched, GraphBuilder as _, GraphParams};
use atlas::vectors::graph::Graph;
use atlas::vectors::rows::{Hit, Rows};
use atlas::vectors::scan::scan;
use atlas::vectors::walk;
use common::{Draw, Guides, LARGE, Table, in_turns, measuring, timed};
use criterion::{Criterion, criterion_group, criterion_main};

const SEED: u64 = 0x6465_6E73;
const HELD_OUT: usize = 300;
const ROUNDS: usize = 3;

/// Embedded questions: from pages that are not in the index, then the public ones.
fn questions(guides: &Guides) -> Vec<Vec<f32>> {
    let mut draw = Draw(SEED);
    let later = &guides.corpus.documents[guides.indexed..];
    let mut texts: Vec<String> = Vec::new();
    while texts.len() < HELD_OUT {
        let page = &later[draw.below(later.len())];
        let cut = atlas::passage::cut(page, &atlas::passage::Settings::default());
        let passages: Vec<_> = cut.iter().flat_map(|(_, passages)| passages).collect();
        if passages.is_empty() {
            continue;
        }
        let passage = passages[draw.below(passages.len())];
        let words: Vec<&str> = passage.text.split_whitespace().take(12).collect();
        if words.len() == 12 {
            texts.push(words.join(" "));
        }
    }
    let public = QuestionSet::read(&guides.folder).unwrap().questions;
    texts.extend(public.into_iter().map(|question| question.question));
    let model = guides.index.embedder();
    let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
    let embedded = model.embed(Role::Query, &texts).unwrap().rows;
    let rows = embedded.rows().into_iter().map(|row| row.to_vec());
    rows.filter(|row: &Vec<f32>| row.iter().any(|x| *x != 0.0)).collect()
}

/// Hits wanted, and candidates kept by the walk; 0 is the scan, 1 the scan on one thread.
const CASES: [(usize, usize); 10] = [
    (10, 0),
    (10, 1),
    (10, 64),
    (10, 128),
    (10, 256),
    (100, 0),
    (100, 1),
    (100, 128),
    (100, 256),
    (100, 512),
];

fn share(found: &[Hit], truth: &[Hit], depth: usize) -> f64 {
    let depth = depth.min(truth.len());
    let least = truth[depth - 1].score;
    let held = found.iter().take(depth).filter(|hit| hit.score >= least).count();
    held as f64 / depth as f64
}

fn table(rows: &Rows<'_>, graph: &Graph, questions: &[Vec<f32>], table: &mut Table) {
    let view = graph.view();
    let alone = rayon::ThreadPoolBuilder::new().num_threads(1).build().unwrap();
    let find = |case: usize, question: &[f32]| {
        let (depth, ef) = CASES[case];
        match ef {
            0 => timed(|| scan(rows, question, depth, None).unwrap()),
            1 => alone.install(|| timed(|| scan(rows, question, depth, None).unwrap())),
            _ => timed(|| walk::search(&view, rows, question, depth, ef, None).unwrap().hits),
        }
    };
    let mut recall = [[0.0; 2]; CASES.len()];
    for question in questions {
        let truth = scan(rows, question, 100, None).unwrap();
        for (case, recall) in recall.iter_mut().enumerate() {
            let found = find(case, question).0;
            recall[0] += share(&found, &truth, 10) / questions.len() as f64;
            recall[1] += share(&found, &truth, CASES[case].0) / questions.len() as f64;
        }
    }
    let times =
        in_turns(CASES.len(), questions.len(), ROUNDS, |case, item| find(case, &questions[item]).1);
    for (case, (depth, ef)) in CASES.into_iter().enumerate() {
        let way = match ef {
            0 => "scan".to_owned(),
            1 => "scan, one thread".to_owned(),
            _ => format!("walk, ef {ef}"),
        };
        let scanned = if depth == 10 { &times[0] } else { &times[5] };
        let [first, all] = recall[case];
        let found = if depth == 10 {
            format!("recall@10 {first:.4}")
        } else {
            format!("recall@10 {first:.4}, recall@{depth} {all:.4}")
        };
        let name = format!("{} rows, top {depth}: {way}", rows.len());
        table.times(&name, &times[case], scanned, &found);
    }
}

fn bench(criterion: &mut Criterion) {
    let Some(guides) = Guides::open() else { return };
    let questions = questions(&guides);
    let all = guides.index.vectors().layer(0).unwrap().rows().unwrap();
    let mut whole =
        measuring().then(|| Table::new("dense", "the walk over the graph beside the exact scan"));
    let mut built = None;
    let mut group = common::group(criterion, "dense");
    for size in [20_000, LARGE] {
        let rows = all.part(0, size);
        if let Some(whole) = &mut whole {
            whole.heading(&format!("{size} rows, µs"));
            let (graph, us) = timed(|| Batched.build(&rows, &GraphParams::default()).unwrap());
            table(&rows, &graph, &questions, whole);
            let name = format!("{size} rows: graph built, µs a row");
            let own = us / size as f64;
            whole.row(&name, own, *built.get_or_insert(own), 1, "");
        }
        let mut asked = questions.iter().cycle();
        group.bench_function(format!("scan, {size} rows, top 10"), |bencher| {
            bencher.iter(|| scan(&rows, asked.next().unwrap_or(&questions[0]), 10, None).unwrap());
        });
    }
    group.finish();
    if let Some(whole) = whole {
        whole.keep("µs, p50", "first 20,000 and 100,000 rows of aws-docs-full, 400 questions");
    }
}

criterion_group!(benches, bench);
criterion_main!(benches);
