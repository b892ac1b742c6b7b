//! How long does a whole search take, and which stage takes it?
//!
//! Data: Atlas Bikes (always there) with its development questions, and the pages of the AWS guides that
//! hold the first 100,000 passages (`../shared/data/aws-docs-full`; left out with a printed reason when
//! absent) with the 100 public questions. No draws but the order of cases.
//!
//! Reading: `value` is a p50 in microseconds, `baseline` the p50 of the whole hybrid search of the same
//! run, so `ratio` is a stage's share, or another mode's cost beside it. Quality is that of the mode,
//! over the questions whose evidence is in the index: hit is in the window, recall@100 in the ranking.
//! The first search after opening pays for page faults and checksums and stands alone, in microseconds.
#![allow(clippy::unwrap_used, reason = "a bench stops at the first surprise")]

mod common;

use std::sync::Arc;

use atlas::eval::measurement::{Options, measure};
use atlas::eval::questions::QuestionSet;
use atlas::eval::units;
use atlas::index::Index;
use atlas::search::{DensePath, Mode, Request, Retriever as _, Searcher, Settings};
use common::{Guides, Table, bikes, in_turns, measuring, percentile};
use criterion::{Criterion, criterion_group, criterion_main};

/// Rounds over all questions in the table.
const ROUNDS: usize = 10;

struct Collection {
    name: &'static str,
    index: Arc<Index>,
    settings: Settings,
    questions: QuestionSet,
}

fn collections() -> Vec<Collection> {
    let (project, index) = bikes();
    let questions = QuestionSet::read(&project.question_set("development")).unwrap();
    let settings = project.file.search;
    let mut all = vec![Collection { name: "atlas-bikes", index, settings, questions }];
    if let Some(guides) = Guides::open() {
        let questions = QuestionSet::read(&guides.folder).unwrap();
        let settings = Settings::default();
        all.push(Collection { name: "aws-100k", index: guides.index, settings, questions });
    }
    all
}

/// The searches that are compared: name, legs, path of the dense leg.
const CASES: [(&str, Mode, DensePath); 4] = [
    ("hybrid", Mode::Hybrid, DensePath::Auto),
    ("hybrid, exact scan", Mode::Hybrid, DensePath::Exact),
    ("lexical alone", Mode::Lexical, DensePath::Auto),
    ("dense alone", Mode::Dense, DensePath::Auto),
];

/// What the searcher finds: over the questions that the index can answer.
fn quality(held: &Collection, searcher: &Searcher, mode: Mode) -> String {
    let mut set = held.questions.clone();
    set.questions.retain(|question| {
        let mut needed = question.judgments.groups().iter().flatten();
        needed.all(|unit| units::parse(held.index.passages(), unit).unwrap().is_some())
    });
    let options = Options { mode, ..Options::default() };
    let everyone = |_: &_| Ok(held.index.everyone());
    let measured =
        measure(searcher, &held.index, &held.settings, &set, options, &everyone).unwrap();
    let mean = |name| measured.mean(name, None).unwrap_or(f64::NAN);
    let (hit, recall, n) = (mean("hit"), mean("recall@100"), measured.scored(None).count());
    format!("hit {hit:.2}, recall@100 {recall:.2}, of {n} questions")
}

fn table(held: &Collection, table: &mut Table) {
    let name = held.name;
    let passages = held.index.manifest().passages;
    table.heading(&format!("{name}, {passages} passages, µs"));
    let scope = held.index.everyone();
    let searchers = CASES.map(|(_, _, dense)| {
        let settings = Settings { dense, ..held.settings.clone() };
        Searcher::new(Arc::clone(&held.index), settings).unwrap()
    });
    let asked: Vec<&str> = held.questions.questions.iter().map(|q| q.question.as_str()).collect();
    let first = searchers[0].retrieve(&Request::new(asked[0], scope.clone())).unwrap();
    let mut stages: Vec<(&'static str, Vec<f64>)> =
        first.trace.stages.iter().map(|stage| (stage.name, Vec::new())).collect();
    stages.push(("between stages", Vec::new()));
    let mut runs = 0;
    let times = in_turns(CASES.len(), asked.len(), ROUNDS, |case, item| {
        let request = Request::new(asked[item], scope.clone()).mode(CASES[case].1);
        let trace = searchers[case].retrieve(&request).unwrap().trace;
        runs += 1;
        if case == 0 && runs > CASES.len() * asked.len() {
            let gap = trace.gap_us();
            let own = trace.stages.iter().map(|stage| stage.elapsed_us).chain([gap]);
            stages.iter_mut().zip(own).for_each(|((_, all), us)| all.push(us));
        }
        trace.total_us
    });
    for (at, (case, mode, _)) in CASES.iter().enumerate() {
        let found = quality(held, &searchers[at], *mode);
        table.times(&format!("{name}: {case}"), &times[at], &times[0], &found);
    }
    let late = |times: &[f64]| percentile(times, 0.95);
    table.row(
        &format!("{name}: hybrid, p95"),
        late(&times[0]),
        late(&times[0]),
        times[0].len(),
        "",
    );
    for (stage, us) in &stages {
        table.times(&format!("{name}: stage {stage}"), us, &times[0], "");
    }
    let whole = common::p50(&times[0]);
    table.row(&format!("{name}: first after opening"), first.trace.total_us, whole, 1, "");
}

fn bench(criterion: &mut Criterion) {
    let all = collections();
    if measuring() {
        let mut whole = Table::new("search", "whole searches by mode and stage, beside the hybrid");
        all.iter().for_each(|held| table(held, &mut whole));
        whole.keep("µs, p50 unless said", "Atlas Bikes, and 100,000 passages of aws-docs-full");
    }
    let mut group = common::group(criterion, "search");
    for held in &all {
        let searcher = Searcher::new(Arc::clone(&held.index), held.settings.clone()).unwrap();
        let scope = held.index.everyone();
        let mut asked = held.questions.questions.iter().map(|q| q.question.as_str()).cycle();
        group.bench_function(held.name, |bencher| {
            bencher.iter(|| {
                let question = asked.next().unwrap_or_default();
                searcher.retrieve(&Request::new(question, scope.clone())).unwrap()
            });
        });
    }
    group.finish();
}

criterion_group!(benches, bench);
criterion_main!(benches);
