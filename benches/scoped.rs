//! What does a scope cost, and does the time of an answer tell what the asker may not read?
//!
//! Data: the 100,000 passages of the AWS guides that `search` uses, with the 100 public questions. Scopes
//! are random rows, seed 0x7363_6F70. For the second part the questions are single words that are one
//! piece of the model's vocabulary, so that embedding costs the same for all. The asker's scope is
//! 10,000 rows, drawn from those that hold none of the words chosen as frequent and middling, so that
//! these occur in forbidden passages alone; the rare ones do so by the draw.
//!
//! Reading, first part: µs, p50, all scopes in turns in one run, beside the unscoped search with its own
//! settings (which may walk the graph; a restricted scope always scans). "legs exact" counts questions of
//! which both legs' lists were those of the slow scorers, bit for bit.
//!
//! Second part: beside words that occur nowhere. AUC is the chance that a draw from the one group took
//! longer than one from the other, .5 when time says nothing: of single runs, and of each word's p50. `p`
//! is that of a permutation test on the latter (10,000 relabellings). Under .01 the groups count as told
//! apart. A second group of words that occur nowhere shows what the test says when there is nothing.
#![allow(clippy::unwrap_used, reason = "a bench stops at the first surprise")]

mod common;

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

use atlas::access::{Bitmap, Scope};
use atlas::eval::questions::QuestionSet;
use atlas::index::Index;
use atlas::lexical::{Query, exhaustive};
use atlas::search::{DensePath, Mode, Request, Retriever as _, Searcher, Settings};
use atlas::text::Stems;
use atlas::trace::Trace;
use atlas::vectors::Role;
use atlas::vectors::scan::scan_f32;
use common::{Draw, Guides, Table, at, form, in_turns, measuring, p50};
use criterion::{Criterion, criterion_group, criterion_main};

const SEED: u64 = 0x7363_6F70;
const ROUNDS: usize = 5;

/// Scopes by the share of rows, the last but one being a single row.
fn scopes(rows: u32) -> Vec<(&'static str, Scope)> {
    let mut draw = Draw(SEED);
    let mut part =
        |count: usize| Scope::restricted(Bitmap::of(rows, draw.distinct(count, rows as usize)));
    let n = rows as usize;
    vec![
        ("unscoped", Scope::everyone(rows)),
        ("unscoped, exact scan", Scope::everyone(rows)),
        ("100 %", part(n)),
        ("50 %", part(n / 2)),
        ("10 %", part(n / 10)),
        ("1 %", part(n / 100)),
        ("0.1 %", part(n / 1000)),
        ("one passage", part(1)),
        ("none", part(0)),
    ]
}

fn stage(trace: &Trace, name: &str) -> f64 {
    trace.stage(name).map_or(f64::NAN, |stage| stage.elapsed_us)
}

/// Whether both legs found what the slow scorers find.
fn exact(index: &Index, question: &str, scope: &Scope, trace: &Trace) -> bool {
    let depth = Settings::default().depth;
    let query = Query::new(index.analyzer().question(question));
    let bm25 = Settings::default().bm25;
    let words = exhaustive(index.lexical(), &query, scope, bm25).unwrap();
    let vector = index.embedder().embed(Role::Query, &[question]).unwrap().rows.row(0).to_vec();
    let rows = index.vectors().layer(0).unwrap().rows().unwrap();
    let near = scan_f32(&rows, &vector, depth, Some(scope.allowed().words())).unwrap();
    let near: Vec<(u32, f64)> = near.iter().map(|h| (h.row, f64::from(h.score))).collect();
    let found = |name: &str| -> Vec<(u32, f64)> {
        let list = trace.stage(name).map_or(&[][..], |stage| stage.list.as_slice());
        list.iter().map(|scored| (scored.row, scored.score)).collect()
    };
    found("lexical") == words[..depth.min(words.len())] && found("dense") == near
}

fn widths(index: &Arc<Index>, asked: &[String], table: &mut Table) {
    let settings = Settings::default();
    let scan = Settings { dense: DensePath::Exact, ..settings.clone() };
    let auto = Searcher::new(Arc::clone(index), settings).unwrap();
    let scan = Searcher::new(Arc::clone(index), scan).unwrap();
    let scopes = scopes(index.manifest().passages as u32);
    let searcher = |case: usize| if case == 1 { &scan } else { &auto };
    let mut legs = vec![[const { Vec::new() }; 4]; scopes.len()];
    let names = ["lexical", "dense", "fuse", "rerank"];
    let times = in_turns(scopes.len(), asked.len(), ROUNDS, |case, item| {
        let request = Request::new(&*asked[item], scopes[case].1.clone());
        let trace = searcher(case).retrieve(&request).unwrap().trace;
        names.iter().zip(&mut legs[case]).for_each(|(name, us)| us.push(stage(&trace, name)));
        trace.total_us
    });
    table.heading("a whole search by what its asker may read, µs");
    for (case, (name, scope)) in scopes.iter().enumerate() {
        let right = asked.iter().take(20).filter(|question| {
            let request = Request::new(question.as_str(), scope.clone());
            let trace = searcher(case).retrieve(&request).unwrap().trace;
            exact(index, question, scope, &trace)
        });
        let [lexical, dense, fuse, rerank] = &legs[case];
        let quality = format!(
            "lexical {:.0}, dense {:.0}, fuse {:.0}, rerank {:.0}; legs exact {} of 20",
            p50(lexical),
            p50(dense),
            p50(fuse),
            p50(rerank),
            right.count()
        );
        table.times(&format!("scope {name}"), &times[case], &times[0], &quality);
    }
    // Each scope is new, so that its statistics are taken during the search.
    let mut draw = Draw(SEED ^ 1);
    let rows = index.manifest().passages;
    let first: Vec<f64> = (0..40)
        .map(|at| {
            let scope = Scope::restricted(Bitmap::of(rows as u32, draw.distinct(rows / 10, rows)));
            let request = Request::new(&*asked[at % asked.len()], scope);
            auto.retrieve(&request).unwrap().trace.total_us
        })
        .collect();
    table.times("scope 10 %, its first search", &first, &times[0], "");
}

/// Words a group.
const WORDS: usize = 24;
/// Times that each word is asked.
const ASKED: usize = 100;
/// Relabellings of the permutation test.
const RELABELLED: usize = 10_000;

/// Words of one piece and one term, with the rows that hold the term; those that nobody holds too.
fn words(index: &Index) -> Vec<(String, Vec<u32>)> {
    let vocabulary = std::fs::read_to_string(at("src/vectors/model/vocab.txt")).unwrap();
    let mut held: BTreeMap<String, (String, Vec<u32>)> = BTreeMap::new();
    for word in vocabulary.lines() {
        if word.len() >= 4
            && word.bytes().all(|b| b.is_ascii_lowercase())
            && let [term] = index.analyzer().question(word).as_slice()
        {
            held.entry(term.clone()).or_insert_with(|| (word.to_owned(), Vec::new()));
        }
    }
    let mut held: HashMap<String, (String, Vec<u32>)> = held.into_iter().collect();
    let mut stems = Stems::default();
    for row in 0..index.manifest().passages as u32 {
        let (terms, _) = index.analyzer().document(&form(index, row), &mut stems);
        for term in terms.split('\n') {
            if let Some((_, rows)) = held.get_mut(term)
                && rows.last() != Some(&row)
            {
                rows.push(row);
            }
        }
    }
    let mut all: Vec<(String, Vec<u32>)> = held.into_values().collect();
    all.sort();
    Draw(SEED ^ 2).shuffle(&mut all);
    all
}

/// The asker's scope and the groups of words.
fn groups(index: &Index) -> (Scope, Vec<(&'static str, Vec<String>)>) {
    let all = words(index);
    let rows = index.manifest().passages as u32;
    let pick = |fits: &dyn Fn(&[u32]) -> bool, skip: usize| -> Vec<&(String, Vec<u32>)> {
        all.iter().filter(|(_, rows)| fits(rows)).skip(skip).take(WORDS).collect()
    };
    let total =
        |least: usize, most: usize| move |rows: &[u32]| (least..=most).contains(&rows.len());
    let frequent = pick(&total(1_000, 4_000), 0);
    let middling = pick(&total(50, 200), 0);
    let taboo: BTreeSet<u32> =
        frequent.iter().chain(&middling).flat_map(|(_, rows)| rows).copied().collect();
    let mut open: Vec<u32> = (0..rows).filter(|row| !taboo.contains(row)).collect();
    Draw(SEED ^ 3).shuffle(&mut open);
    open.truncate(rows as usize / 10);
    assert_eq!(open.len(), rows as usize / 10, "too few rows hold none of the chosen words");
    let scope = Scope::restricted(Bitmap::of(rows, open));
    let inside = |rows: &[u32]| rows.iter().filter(|row| scope.readable().contains(**row)).count();
    let rare = pick(&|rows| (1..=3).contains(&rows.len()) && inside(rows) == 0, 0);
    let own_rare = pick(&|rows| (1..=3).contains(&inside(rows)) && rows.len() <= 40, 0);
    let own = pick(&|rows| (100..=400).contains(&inside(rows)), 0);
    let nowhere = pick(&|rows| rows.is_empty(), 0);
    let control = pick(&|rows| rows.is_empty(), WORDS);
    let named = [
        ("nowhere", nowhere),
        ("nowhere, other words", control),
        ("forbidden only, in 1 to 3 passages", rare),
        ("forbidden only, in 50 to 200", middling),
        ("forbidden only, in 1,000 to 4,000", frequent),
        ("in the scope, in 1 to 3 of it", own_rare),
        ("in the scope, in 100 to 400 of it", own),
    ];
    let texts = |group: &[&(String, Vec<u32>)]| -> Vec<String> {
        group.iter().map(|(word, _)| word.clone()).collect()
    };
    let groups: Vec<_> =
        named.iter().map(|(name, group)| (*name, texts(group.as_slice()))).collect();
    for (name, words) in &groups {
        assert_eq!(words.len(), WORDS, "too few words {name}");
    }
    (scope, groups)
}

/// The chance that one of `slow` is greater than one of `fast`, ties by half.
fn auc(fast: &[f64], slow: &[f64]) -> f64 {
    let mut sorted = fast.to_vec();
    sorted.sort_by(f64::total_cmp);
    let wins = slow.iter().map(|x| {
        let under = sorted.partition_point(|y| y < x);
        let upto = sorted.partition_point(|y| y <= x);
        (under + upto) as f64 / 2.0
    });
    wins.sum::<f64>() / (fast.len() * slow.len()) as f64
}

/// How often a random split of both samples is as lopsided as the given one.
fn permuted(one: &[f64], other: &[f64]) -> f64 {
    let seen = (auc(one, other) - 0.5).abs();
    let mut both: Vec<f64> = one.iter().chain(other).copied().collect();
    let mut draw = Draw(SEED ^ 4);
    let mut as_far = 0;
    for _ in 0..RELABELLED {
        draw.shuffle(&mut both);
        let (left, right) = both.split_at(one.len());
        as_far += usize::from((auc(left, right) - 0.5).abs() >= seen - 1e-12);
    }
    (as_far + 1) as f64 / (RELABELLED + 1) as f64
}

/// Each word's p50, from times in the order of `in_turns`.
fn by_word(times: &[f64]) -> Vec<f64> {
    (0..WORDS)
        .map(|word| p50(&times.iter().skip(word).step_by(WORDS).copied().collect::<Vec<_>>()))
        .collect()
}

fn side_channel(index: &Arc<Index>, table: &mut Table) {
    let searcher = Searcher::new(Arc::clone(index), Settings::default()).unwrap();
    let (scope, groups) = groups(index);
    for (mode, shown) in [(Mode::Hybrid, "hybrid"), (Mode::Lexical, "lexical")] {
        let times = in_turns(groups.len(), WORDS, ASKED, |group, word| {
            let request = Request::new(&*groups[group].1[word], scope.clone()).mode(mode);
            searcher.retrieve(&request).unwrap().trace.total_us
        });
        table.heading(&format!("one word asked within 10 %, {shown}, µs"));
        for (group, (name, _)) in groups.iter().enumerate() {
            let quality = if group == 0 {
                String::new()
            } else {
                let (none, own) = (by_word(&times[0]), by_word(&times[group]));
                let p = permuted(&none, &own);
                format!(
                    "AUC {:.3} a run, {:.3} a word, p {p:.4}: {}",
                    auc(&times[0], &times[group]),
                    auc(&none, &own),
                    if p < 0.01 { "told apart" } else { "not told apart" }
                )
            };
            table.times(&format!("{shown}: {name}"), &times[group], &times[0], &quality);
        }
    }
}

fn bench(criterion: &mut Criterion) {
    let Some(guides) = Guides::open() else { return };
    let index = &guides.index;
    let questions = QuestionSet::read(&guides.folder).unwrap().questions;
    let asked: Vec<String> = questions.into_iter().map(|question| question.question).collect();
    if measuring() {
        let mut whole = Table::new("scoped", "searches within a scope beside unscoped ones");
        widths(index, &asked, &mut whole);
        side_channel(index, &mut whole);
        whole.keep("µs, p50", "100,000 passages of aws-docs-full, 100 questions; single words");
    }
    let mut group = common::group(criterion, "scoped");
    let searcher = Searcher::new(Arc::clone(index), Settings::default()).unwrap();
    for (name, scope) in scopes(index.manifest().passages as u32) {
        if name == "unscoped, exact scan" {
            continue;
        }
        let mut next = asked.iter().cycle();
        group.bench_function(name, |bencher| {
            bencher.iter(|| {
                let question = next.next().map_or("", String::as_str);
                searcher.retrieve(&Request::new(question, scope.clone())).unwrap()
            });
        });
    }
    group.finish();
}

criterion_group!(benches, bench);
criterion_main!(benches);
