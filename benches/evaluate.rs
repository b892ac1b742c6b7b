//! How long does measuring take, and what of it?
//!
//! Data: Atlas Bikes (always there) with its development questions, the AWS guides with the first 100,000
//! passages and their 100 public questions (`../shared/data/aws-docs-full`; left out with a printed reason
//! when absent), and drawn differences for the statistics (seed 20,261,201).
//!
//! Reading: `value` is milliseconds of one run, the median of the rounds; `baseline` is the searches alone,
//! one after the other, so `ratio` says what measuring adds to searching. A sweep replays the stages after
//! the legs for every value that makes a difference, so its ratio to the searches that it saves stands in
//! the last column. For the statistics, `baseline` is the mean alone and quality the interval or p that they
//! gave: they must not change when they become faster.
#![allow(clippy::unwrap_used, reason = "a bench stops at the first surprise")]

mod common;

use std::sync::Arc;

use atlas::eval::bootstrap::{difference_interval, mean_interval, sign_flip};
use atlas::eval::measurement::{Options, measure};
use atlas::eval::questions::{Question, QuestionSet};
use atlas::eval::sweep::{Knob, Recording};
use atlas::index::Index;
use atlas::search::{Mode, Request, Retriever as _, Searcher, Settings};
use common::{Draw, Guides, Table, bikes, in_turns, measuring, percentile, timed};
use criterion::{Criterion, criterion_group, criterion_main};

/// Rounds of every case in the table.
const ROUNDS: usize = 9;

struct Collection {
    name: &'static str,
    index: Arc<Index>,
    searcher: Searcher,
    questions: QuestionSet,
}

impl Collection {
    fn new(name: &'static str, index: Arc<Index>, settings: Settings, set: QuestionSet) -> Self {
        let searcher = Searcher::new(Arc::clone(&index), settings).unwrap();
        Self { name, index, searcher, questions: set }
    }

    fn searches(&self) -> usize {
        let ask = |question: &Question| {
            let request = Request::new(&question.question, self.index.everyone());
            self.searcher.retrieve(&request).unwrap().context.len()
        };
        self.questions.questions.iter().map(ask).sum()
    }

    fn measured(&self) -> f64 {
        let everyone = |_: &_| Ok(self.index.everyone());
        let settings = self.searcher.settings();
        let options = Options::default();
        let done =
            measure(&self.searcher, &self.index, settings, &self.questions, options, &everyone);
        done.unwrap().mean("ndcg@10", None).unwrap_or(f64::NAN)
    }

    fn swept(&self, knob: Knob) -> usize {
        let everyone = |_: &_| Ok(self.index.everyone());
        let recorded =
            Recording::new(&self.searcher, &self.questions, Mode::Hybrid, &everyone).unwrap();
        recorded.sweep(knob, recorded.values(knob).unwrap()).unwrap().values.len()
    }
}

fn collections() -> Vec<Collection> {
    let (project, index) = bikes();
    let questions = QuestionSet::read(&project.question_set("development")).unwrap();
    let mut all = vec![Collection::new("atlas-bikes", index, project.file.search, questions)];
    if let Some(guides) = Guides::open() {
        let questions = QuestionSet::read(&guides.folder).unwrap();
        all.push(Collection::new("aws-100k", guides.index, Settings::default(), questions));
    }
    all
}

fn of_a_set(held: &Collection, table: &mut Table) {
    let n = held.questions.questions.len();
    table.heading(&format!("{}, {n} questions, ms", held.name));
    let knobs = [Knob::MinScore, Knob::K, Knob::Alpha];
    let mut made = [0; 3];
    let times = in_turns(5, 1, ROUNDS, |case, _| match case {
        0 => timed(|| held.searches()).1 / 1e3,
        1 => timed(|| held.measured()).1 / 1e3,
        _ => {
            let (values, us) = timed(|| held.swept(knobs[case - 2]));
            made[case - 2] = values;
            us / 1e3
        }
    });
    let alone = percentile(&times[0], 0.5);
    table.row("the searches alone", alone, alone, n, "");
    let quality = format!("nDCG@10 {:.3}", held.measured());
    table.row("measure", percentile(&times[1], 0.5), alone, n, &quality);
    for (at, knob) in knobs.into_iter().enumerate() {
        let took = percentile(&times[at + 2], 0.5);
        let saved = alone * made[at] as f64 / took;
        let quality =
            format!("{} values, {saved:.1} times as fast as searching for each", made[at]);
        table.row(&format!("sweep of {}", knob.key()), took, alone, n, &quality);
    }
}

/// Differences of a paired test: a third of them not 0.
fn differences(n: usize) -> (Vec<f64>, Vec<f64>) {
    let mut draw = Draw(20_261_201);
    let before: Vec<f64> = (0..n).map(|_| draw.below(1_000) as f64 / 1_000.0).collect();
    let mut after = before.clone();
    for value in after.iter_mut().step_by(3) {
        *value = (*value + draw.below(300) as f64 / 1_000.0 - 0.1).clamp(0.0, 1.0);
    }
    (before, after)
}

fn of_statistics(n: usize, table: &mut Table) {
    table.heading(&format!("statistics over {n} questions, ms"));
    let (before, after) = differences(n);
    let changes: Vec<f64> = after.iter().zip(&before).map(|(a, b)| a - b).collect();
    let mean = || after.iter().sum::<f64>() / n as f64;
    let times = in_turns(4, 1, ROUNDS, |case, _| {
        let us = match case {
            0 => timed(mean).1,
            1 => timed(|| mean_interval(&after, 1)).1,
            2 => timed(|| difference_interval(&before, &after, 1)).1,
            _ => timed(|| sign_flip(&changes, 1)).1,
        };
        us / 1e3
    });
    let p50 = |case: usize| percentile(&times[case], 0.5);
    let alone = p50(0);
    let interval = mean_interval(&after, 1).unwrap();
    let said = format!("{:.4} to {:.4}", interval.low, interval.high);
    table.row("bootstrap of a mean", p50(1), alone, n, &said);
    let interval = difference_interval(&before, &after, 1).unwrap();
    let said = format!("{:.4} to {:.4}", interval.low, interval.high);
    table.row("bootstrap of a difference", p50(2), alone, n, &said);
    let said = format!("p {:.4}", sign_flip(&changes, 1).unwrap().p);
    table.row("sign flips", p50(3), alone, n, &said);
}

fn evaluate(criterion: &mut Criterion) {
    let all = collections();
    if measuring() {
        let mut table = Table::new("evaluate", "measuring, beside the searches that it needs");
        all.iter().for_each(|held| of_a_set(held, &mut table));
        [20, 100, 1_000].into_iter().for_each(|n| of_statistics(n, &mut table));
        table.keep("ms, median", "Atlas Bikes, and 100,000 passages of aws-docs-full");
    }
    let mut group = common::group(criterion, "evaluate");
    if let Some(bikes) = all.first() {
        group.bench_function("measure atlas-bikes", |b| b.iter(|| bikes.measured()));
    }
    let (before, after) = differences(100);
    group.bench_function("bootstrap of a difference, 100 questions", |b| {
        b.iter(|| difference_interval(&before, &after, 1));
    });
    group.finish();
}

criterion_group!(benches, evaluate);
criterion_main!(benches);
