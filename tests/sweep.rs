//! A sweep against real runs: every value of every setting, on both corpora.
#![expect(
    clippy::unwrap_used,
    clippy::panic,
    reason = "helpers of tests, which clippy takes for production code"
)]

mod common;

use std::sync::LazyLock;

use atlas::eval::measurement::{Measurement, Options, measure};
use atlas::eval::questions::QuestionSet;
use atlas::eval::sweep::{Cell, Knob, Recording, Sweep};
use atlas::search::{Fusion, Mode, Recalled, Request, Retriever as _, Searcher, Settings};
use common::{Built, MODES, Papers, index_settings, questions, supporting};
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};

static BIKES: LazyLock<(Built, QuestionSet)> = LazyLock::new(|| {
    let papers = Papers::read("atlas-bikes", None);
    (Built::of(&papers.corpus, &index_settings()), questions("development"))
});

static DISTRIBUTOR: LazyLock<(Built, QuestionSet)> = LazyLock::new(|| {
    let papers = Papers::read("distributor", None);
    let settings = atlas::index::Settings::default();
    (Built::of(&papers.corpus, &settings), supporting("evals/distributor/questions.yaml"))
});

fn both() -> [(&'static str, &'static (Built, QuestionSet)); 2] {
    [("Atlas Bikes", &*BIKES), ("the distributor", &*DISTRIBUTOR)]
}

/// Settings that choose the window otherwise, all at once.
fn chosen_otherwise() -> Settings {
    Settings {
        duplicates: 0.5,
        diversity: 0.2,
        per_document: 2,
        neighbours: 1,
        cues: vec!["product".to_owned(), "effective_from".to_owned()],
        ..Settings::default()
    }
}

const KNOBS: [Knob; 4] = [Knob::MinScore, Knob::K, Knob::Alpha, Knob::RrfK];

/// Where the sweep of `knob` takes a step.
fn steps(
    (built, set): &(Built, QuestionSet),
    settings: &Settings,
    mode: Mode,
    knob: Knob,
) -> Vec<f64> {
    let searcher = built.searcher(settings);
    let scope = built.index.everyone();
    let recording = Recording::new(&searcher, set, mode, &|_| Ok(scope.clone())).unwrap();
    recording.values(knob).unwrap()
}

/// A sweep over `values`, or over its own.
fn swept(
    (built, set): &(Built, QuestionSet),
    settings: &Settings,
    mode: Mode,
    knob: Knob,
    values: Option<Vec<f64>>,
) -> Sweep {
    let searcher = built.searcher(settings);
    let scope = built.index.everyone();
    let recording = Recording::new(&searcher, set, mode, &|_| Ok(scope.clone())).unwrap();
    let values = values.unwrap_or_else(|| recording.values(knob).unwrap());
    recording.sweep(knob, values).unwrap()
}

/// What a real run with these settings measures.
fn real((built, set): &(Built, QuestionSet), settings: &Settings, mode: Mode) -> Measurement {
    let searcher = built.searcher(settings);
    let scope = built.index.everyone();
    let options = Options { mode, ..Options::default() };
    measure(&searcher, &built.index, settings, set, options, &|_| Ok(scope.clone())).unwrap()
}

/// Each question's numbers, exactly: sums of the same values could hide two faults that cancel.
fn same(name: &str, cells: &[Cell], ids: &[String], real: &Measurement) {
    let scored: Vec<_> = real.scored(None).collect();
    assert_eq!(cells.len(), scored.len(), "{name}");
    for ((cell, id), question) in cells.iter().zip(ids).zip(scored) {
        assert_eq!(*id, question.id, "{name}");
        let ours = (Some(cell.hit), Some(cell.recall), Some(cell.precision), cell.rank);
        let theirs = ["hit", "recall", "precision", "rank"].map(|name| question.value(name));
        assert_eq!([ours.0, ours.1, ours.2, ours.3], theirs, "{name}: {id}");
        assert_eq!(cell.tokens, question.tokens, "{name}: {id}");
        assert_eq!(cell.blocks, question.supplied.len(), "{name}: {id}");
    }
}

/// Every breakpoint, and the next number above it, where what stood at it has gone.
#[test]
fn every_breakpoint_of_the_minimum_is_what_a_real_run_finds() {
    let settings = Settings::default();
    let mut breakpoints = 0;
    for (name, ground) in both() {
        let own = steps(ground, &settings, Mode::Hybrid, Knob::MinScore);
        breakpoints += own.len() - 2;
        let above = own.iter().map(|value| value.next_up()).filter(|value| *value <= 1.0);
        let mut values: Vec<f64> = own.iter().copied().chain(above).collect();
        values.sort_by(f64::total_cmp);
        values.dedup();
        let sweep = swept(ground, &settings, Mode::Hybrid, Knob::MinScore, Some(values));
        for (value, cells) in sweep.values.iter().zip(&sweep.cells) {
            let real =
                real(ground, &Settings { min_score: *value, ..settings.clone() }, Mode::Hybrid);
            same(&format!("{name}, at least {value}"), cells, &sweep.ids, &real);
        }
    }
    assert!(breakpoints > 150, "{breakpoints} breakpoints");
}

#[test]
fn every_value_of_the_other_settings_is_what_a_real_run_finds() {
    for (name, ground) in both() {
        for knob in [Knob::K, Knob::Alpha, Knob::RrfK] {
            let settings = Settings { min_score: 0.05, ..Settings::default() };
            let sweep = swept(ground, &settings, Mode::Hybrid, knob, None);
            assert!(sweep.values.len() > 8, "{name}, {knob:?}: {:?}", sweep.values);
            let mut differ = 0;
            for (at, value) in sweep.values.iter().enumerate() {
                let real = real(ground, &knob.set(&settings, *value), Mode::Hybrid);
                same(&format!("{name}, {knob:?} {value}"), &sweep.cells[at], &sweep.ids, &real);
                differ += usize::from(sweep.cells[at] != sweep.cells[0]);
            }
            assert!(differ > 0, "{name}: {knob:?} changes nothing");
        }
    }
}

/// Any value, not the breakpoints alone, with any other settings: between two breakpoints nothing may
/// happen that the sweep does not know.
#[test]
fn any_value_between_breakpoints_is_what_a_real_run_finds() {
    let mut runner =
        TestRunner::new(Config { cases: 48, failure_persistence: None, ..Config::default() });
    let drawn = (
        0..2_usize,
        0..4_usize,
        0..3_usize,
        (0.0..=1.0_f64, 1..=12_usize, 40..1_500_usize, 0.0..0.3_f64, any::<bool>(), any::<bool>()),
    );
    let outcome = runner.run(&drawn, |(corpus, knob, mode, drawn)| {
        let (part, k, window_tokens, min_score, rrf, otherwise) = drawn;
        let (name, ground) = both()[corpus];
        let knob = KNOBS[knob];
        let fusion = if rrf { Fusion::Rrf } else { Fusion::Convex };
        let base = if otherwise { chosen_otherwise() } else { Settings::default() };
        let settings = Settings { k, window_tokens, min_score, fusion, ..base };
        let value = match knob {
            Knob::MinScore => part,
            Knob::K => (1.0 + part * 99.0).floor(),
            Knob::Alpha => part,
            Knob::RrfK => 1.0 + part * 500.0,
        };
        let sweep = swept(ground, &settings, MODES[mode], knob, Some(vec![value]));
        let real = real(ground, &knob.set(&settings, value), MODES[mode]);
        same(&format!("{name}, {knob:?} {value}"), &sweep.cells[0], &sweep.ids, &real);
        if knob == Knob::MinScore {
            // The plateau that ends at the next breakpoint is this one.
            let own = steps(ground, &settings, MODES[mode], knob);
            let plateau = own.iter().copied().find(|own| *own >= value).unwrap();
            let at = swept(ground, &settings, MODES[mode], knob, Some(vec![plateau]));
            prop_assert_eq!(&at.cells[0], &sweep.cells[0]);
        }
        Ok(())
    });
    outcome.unwrap();
}

/// Recall, hit, tokens and blocks never rise with the minimum, for any question; nor do they fall with k.
#[test]
fn nothing_rises_with_the_minimum_and_nothing_falls_with_k() {
    for (name, ground) in both() {
        for mode in MODES {
            let settings = Settings::default();
            let sweep = swept(ground, &settings, mode, Knob::MinScore, None);
            for pair in sweep.cells.windows(2) {
                for (before, after) in pair[0].iter().zip(&pair[1]) {
                    let falls = after.hit <= before.hit
                        && after.recall <= before.recall
                        && after.tokens <= before.tokens
                        && after.blocks <= before.blocks;
                    assert!(falls, "{name}, {mode:?}: {before:?} then {after:?}");
                }
            }
            let last = sweep.step(sweep.values.len() - 1);
            assert_eq!((last.blocks, last.recall), (0.0, 0.0), "{name}, {mode:?}: at 1");
            let sweep = swept(ground, &settings, mode, Knob::K, None);
            for pair in sweep.cells.windows(2) {
                for (before, after) in pair[0].iter().zip(&pair[1]) {
                    let rises = after.recall >= before.recall && after.tokens >= before.tokens;
                    assert!(rises, "{name}, {mode:?}: {before:?} then {after:?}");
                }
            }
        }
    }
}

/// Replaying what was recalled is searching, list by list, to the bit.
#[test]
fn a_replay_is_a_search() {
    let (built, set) = &*BIKES;
    let seen = |outcome: &atlas::search::Outcome| {
        let stages = outcome.trace.stages.iter();
        stages
            .map(|s| (s.name, s.before, s.after, s.note.clone(), s.list.clone()))
            .collect::<Vec<_>>()
    };
    let changed = [
        Settings { fusion: Fusion::Rrf, ..Settings::default() },
        Settings { alpha: 0.2, k: 9, min_score: 0.07, window_tokens: 300, ..Settings::default() },
        chosen_otherwise(),
    ];
    let searcher = built.searcher(&Settings::default());
    for mode in MODES {
        for question in &set.questions {
            let recalled = searcher.recall(&built.request(question, mode)).unwrap();
            for settings in &changed {
                let replayed = built.searcher(settings).replay(&recalled).unwrap();
                let searched = built.ask(question, mode, settings);
                assert_eq!(seen(&replayed), seen(&searched), "{mode:?}: {}", question.id);
                assert_eq!(replayed.context, searched.context);
            }
        }
    }
}

#[test]
fn candidates_of_other_legs_are_refused() {
    let (built, set) = &*BIKES;
    let request = built.request(&set.questions[0], Mode::Hybrid);
    let recalled: Recalled = built.searcher(&Settings::default()).recall(&request).unwrap();
    let shallow = built.searcher(&Settings { depth: 20, ..Settings::default() });
    let said = shallow.replay(&recalled).unwrap_err().to_string();
    assert!(said.contains("of another index or of other legs"), "{said}");
    let other: &Searcher = &DISTRIBUTOR.0.searcher(&Settings::default());
    assert!(other.replay(&recalled).is_err());
    let foreign = Request::new("pump", DISTRIBUTOR.0.index.everyone());
    assert!(built.searcher(&Settings::default()).retrieve(&foreign).is_err());
}

/// What fails when the stage that drops counts `>` instead of `at least`: the sweep says what holds at
/// the value itself.
#[test]
fn a_block_at_the_minimum_stays_and_the_next_number_drops_it() {
    let sweep = swept(&BIKES, &Settings::default(), Mode::Hybrid, Knob::MinScore, None);
    let margin = sweep.margin(0.1).unwrap();
    let whole = sweep.step(0).recall;
    let at = |value: f64| {
        let one =
            swept(&BIKES, &Settings::default(), Mode::Hybrid, Knob::MinScore, Some(vec![value]));
        one.step(0).recall
    };
    assert_eq!(at(margin.holds_to), whole);
    assert!(at(margin.holds_to.next_up()) < whole);
    assert!(margin.next_change.unwrap() > 0.0 && margin.questions_inside > 0, "{margin:?}");
    assert_eq!(sweep.margin(margin.holds_to).unwrap().margin, 0.0);
}

/// Two papers of the same words: which of them comes first is left to their names, and the sweep says so.
#[test]
fn what_the_order_of_equal_scores_decides_is_told() {
    let folder = tempfile::tempdir().unwrap();
    let paper = |id: &str, text: &str| {
        let path = folder.path().join(format!("{id}.md"));
        std::fs::write(path, format!("---\nid: {id}\ntitle: Pump\n---\n{text}\n")).unwrap();
    };
    paper("A", "The pump needs a litre of oil.");
    paper("B", "The pump needs a litre of oil.");
    paper("C", "A hose is laid without a kink.");
    let corpus =
        atlas::corpus::read(folder.path(), &atlas::corpus::CorpusSettings::default()).unwrap();
    let built = Built::of(&corpus, &atlas::index::Settings::default());
    let path = folder.path().join("set.yaml");
    let question = |id: &str, text: &str, block: &str| {
        format!("  - {{id: {id}, question: {text}, kind: k, relevant: [{block}]}}\n")
    };
    let text = format!(
        "corpus: c\nkinds: [k]\nquestions:\n{}{}",
        question("oil", "How much oil does the pump need?", "B-1"),
        question("hose", "How is a hose laid?", "C-1"),
    );
    std::fs::write(&path, text).unwrap();
    let ground = (built, QuestionSet::read(&path).unwrap());
    let sweep = swept(&ground, &Settings::default(), Mode::Hybrid, Knob::K, None);
    assert_eq!(sweep.tied(), ["oil"]);
    let (one, two) = (sweep.step(0), sweep.step(1));
    assert_eq!((one.recall, one.recall_range, one.tied), (0.5, (0.5, 1.0), 1));
    assert_eq!((two.recall, two.recall_range), (1.0, (1.0, 1.0)));
    assert_eq!(two.tied, 1, "the rank is still a matter of names");
}
