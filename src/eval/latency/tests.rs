//! Rows that add up, verdicts at their edges, and which stage moved.

use super::*;
use crate::eval::targets::{Expected, Kind, Target, Threshold, Verdict};
use crate::trace::log::{Entry, Log};

fn run(stages: &[&str], requests: Vec<Vec<f64>>, gap: f64) -> Run {
    let requests = requests
        .into_iter()
        .enumerate()
        .map(|(question, stages_us)| Timed {
            question: question % 10,
            total_us: stages_us.iter().sum::<f64>() + gap,
            stages_us,
            ..Timed::default()
        })
        .collect();
    Run {
        load: Load::Closed { workers: 1 },
        stages: stages.iter().map(|stage| (*stage).to_owned()).collect(),
        requests,
        warm_up: 0,
        cold: false,
        first: None,
        elapsed_s: 1.0,
    }
}

fn target(key: &'static str, limit: f64) -> Target {
    Target {
        name: "retrieval",
        kind: Kind::Target,
        definition: String::new(),
        method: String::new(),
        sample: String::new(),
        thresholds: vec![Threshold { key, limit }],
        unit: "ms".to_owned(),
        source: String::new(),
        project: None,
        line: 1,
    }
}

/// Values that are spread, by a fixed rule.
fn spread(n: usize, around: f64) -> Vec<f64> {
    (0..n).map(|i| around * (0.9 + 0.2 * (i * 7919 % n) as f64 / n as f64)).collect()
}

#[test]
fn the_means_of_the_stages_and_the_gap_make_up_the_mean_of_the_total() {
    let pairs: Vec<Vec<f64>> =
        spread(200, 30.0).into_iter().zip(spread(200, 50.0)).map(|(a, b)| vec![a, b]).collect();
    let run = run(&["lexical", "dense"], pairs, 3.0);
    let rows = run.rows();
    let names: Vec<&str> = rows.iter().map(|row| row.name.as_str()).collect();
    assert_eq!(names, ["lexical", "dense", GAP, TOTAL]);
    let sum: f64 = rows[..3].iter().map(|row| row.mean_us).sum();
    assert!((sum - rows[3].mean_us).abs() < 1e-9);
    assert!((rows[2].mean_us - 3.0).abs() < 1e-9, "the gap is shown: {:?}", rows[2]);
    assert_eq!((run.questions(), rows[3].n), (10, 200));
    let shares: f64 = rows[..3].iter().filter_map(|row| row.slow_share).sum();
    assert!((shares - 1.0).abs() < 1e-9);
}

#[test]
fn slow_requests_are_explained_by_the_stage_that_makes_them_slow() {
    let mut pairs: Vec<Vec<f64>> = spread(100, 10.0).into_iter().map(|us| vec![us, 20.0]).collect();
    for slow in pairs.iter_mut().step_by(25) {
        slow[1] = 900.0;
    }
    let rows = run(&["lexical", "dense"], pairs, 0.0).rows();
    let dense = rows[1].slow_share.unwrap();
    assert!(dense > 0.99, "{dense}");
}

#[test]
fn waiting_is_part_of_the_response_and_not_of_the_total() {
    let mut queued = run(&["dense"], vec![vec![10.0]; 60], 0.0);
    for (at, request) in queued.requests.iter_mut().enumerate() {
        request.wait_us = Some(at as f64);
    }
    let rows = queued.rows();
    let row = |name: &str| rows.iter().find(|row| row.name == name).unwrap();
    assert_eq!(row(TOTAL).p95.unwrap().value, 10.0);
    assert_eq!(row(WAIT).p95.unwrap().value, 56.0);
    assert_eq!(row(RESPONSE).p95.unwrap().value, 66.0);
    assert_eq!(row(WAIT).slow_share, None);
}

#[test]
fn no_verdict_below_the_number_that_allows_one() {
    let of = |n: usize| run(&["dense"], vec![vec![500.0]; n], 0.0);
    let judged = |n: usize, key, limit| judge(&target(key, limit), &of(n)).remove(0);
    let few = judged(58, "p95_at_most", 3.0);
    assert_eq!((few.held, few.interval, few.verdict), (Some(true), None, Verdict::CannotTell));
    assert_eq!(judged(59, "p95_at_most", 3.0).verdict, Verdict::Met);
    assert_eq!(judged(59, "p95_at_most", 0.4).verdict, Verdict::Missed);
    assert_eq!(judged(5, "p50_at_most", 3.0).verdict, Verdict::CannotTell);
    assert_eq!(judged(6, "p50_at_most", 3.0).verdict, Verdict::Met);
    assert_eq!(judged(200, "p99_at_most", 3.0).verdict, Verdict::CannotTell);
    assert_eq!(judged(0, "p50_at_most", 3.0).verdict, Verdict::NotMeasured);
    // At the limit is within it.
    assert_eq!(judged(59, "p50_at_most", 0.5).verdict, Verdict::Met);
}

#[test]
fn a_limit_inside_the_interval_cannot_be_told() {
    let values = spread(100, 1000.0).into_iter().map(|us| vec![us]).collect();
    let run = run(&["dense"], values, 0.0);
    let judged = judge(&target("p50_at_most", 1.0), &run).remove(0);
    let (low, high) = judged.interval.unwrap();
    assert!(low < 1.0 && high > 1.0, "{low} to {high}");
    assert_eq!(judged.verdict, Verdict::CannotTell);
}

#[test]
fn twenty_milliseconds_in_one_stage_are_found_there() {
    let stages = ["embed", "lexical", "dense", "fuse"];
    let shape = |dense: f64| -> Vec<Vec<f64>> {
        let each: Vec<Vec<f64>> =
            [12.0, 40.0, dense, 10.0].into_iter().map(|us| spread(200, us)).collect();
        (0..200).map(|at| each.iter().map(|stage| stage[(at * 31) % 200]).collect()).collect()
    };
    let before = run(&stages, shape(30.0), 2.0);
    let recorded = |run: &Run| Recorded {
        ground: "g".to_owned(),
        rows: run.rows().into_iter().map(|row| (row.name, row.distribution)).collect(),
    };
    let slow = run(&stages, shape(20_030.0), 2.0);
    let found = compare(&recorded(&before), &slow.rows(), "g");
    assert_eq!(found.moved.as_deref(), Some("dense"));
    let dense = found.changes.iter().find(|change| change.name == "dense").unwrap();
    assert!(dense.share.unwrap() > 0.999 && dense.p50.unwrap().is_clear());
    let total = found.changes.last().unwrap();
    assert_eq!((total.name.as_str(), total.share), (TOTAL, None));
    // The same run again moved nowhere.
    let same = compare(&recorded(&before), &before.rows(), "h");
    assert_eq!((same.moved, same.same_ground), (None, false));
    assert!(same.changes.iter().all(|change| change.mean_us.0 == change.mean_us.1));
}

#[test]
fn distributions_are_added_and_never_averaged() {
    let (few, many) = (spread(50, 100.0), spread(950, 10.0));
    let mut merged = Distribution::of(&few);
    merged.merge(&Distribution::of(&many));
    let all: Vec<f64> = few.iter().chain(&many).copied().collect();
    for share in [0.5, 0.95, 0.99] {
        let (exact, told) = (percentile(&all, share).unwrap(), merged.percentile(share).unwrap());
        assert_eq!((exact.rank, exact.n), (told.rank, told.n));
        assert!((told.value / exact.value - 1.0).abs() < 1e-3, "{exact:?} {told:?}");
        assert_eq!(exact.interval.is_some(), told.interval.is_some());
    }
    // The mean of the two 99th percentiles is something else.
    let apart = [&few, &many].map(|part| percentile(part, 0.99).unwrap().value);
    let averaged = apart.iter().sum::<f64>() / 2.0;
    assert!((averaged / merged.percentile(0.99).unwrap().value - 1.0).abs() > 0.3);
    let counts: Vec<(f64, u64)> = merged.counts().collect();
    assert_eq!(Distribution::from_counts(&counts), merged);
}

#[test]
fn a_log_gives_its_requests_failures_with_them() {
    let entry = |at_s: f64, question: &str, stages: &[(&str, f64)], failed| Entry {
        at_s,
        asker: None,
        question: question.to_owned(),
        index: "d".to_owned(),
        corpus: None,
        stages_us: stages.iter().map(|(name, us)| ((*name).to_owned(), *us)).collect(),
        total_us: stages.iter().map(|(_, us)| us).sum::<f64>() + 1.0,
        context: Vec::new(),
        tokens: Some(100),
        failed,
    };
    let log = Log {
        entries: vec![
            entry(1.0, "a", &[("dense", 5.0)], false),
            entry(2.0, "b", &[("dense", 6.0), ("generate", 7.0)], true),
            entry(4.0, "a", &[("generate", 8.0)], false),
        ],
        unreadable: Vec::new(),
    };
    let run = from_log(&log);
    assert_eq!(run.stages, ["dense", "generate"]);
    assert_eq!(run.requests[2].stages_us, [0.0, 8.0]);
    assert_eq!((run.questions(), run.failed(), run.elapsed_s), (2, 1, 3.0));
    assert_eq!(run.totals(), [6.0, 14.0, 9.0]);
}

#[test]
fn the_two_diagnoses_are_made_when_they_apply() {
    let expected = Expected {
        embed: (50.0, 150.0),
        retrieve: (10.0, 40.0),
        generate: (1500.0, 4000.0),
        retrieve_means_index: 400.0,
        generate_means_context: 9000.0,
    };
    let ms = |embed: f64, dense: f64, generate: f64| vec![embed * 1e3, dense * 1e3, generate * 1e3];
    let stages = ["embed", "dense", "generate"];
    let mut usual = run(&stages, vec![ms(80.0, 20.0, 2000.0); 20], 0.0);
    assert!(
        diagnoses(&usual, &expected).iter().all(|d| d.finding.is_none() && d.place == "within")
    );
    for (at, request) in usual.requests.iter_mut().enumerate() {
        request.tokens = Some(if at < 2 { 9_000 } else { 900 });
        if at < 2 {
            request.stages_us = ms(80.0, 400.0, 9_000.0);
        }
    }
    let found = diagnoses(&usual, &expected);
    let said = |part: &str| found.iter().find(|d| d.part == part).unwrap().finding.clone().unwrap();
    assert!(
        said("retrieve").starts_with("2 of 20 requests took 400 ms or more to retrieve: that is")
    );
    assert!(said("generate").contains("has 9000 tokens at the median, that of the others 900"));
    // A part that no request has is left out.
    let parts: Vec<&str> = diagnoses(&run(&["dense"], vec![vec![1.0]], 0.0), &expected)
        .iter()
        .map(|d| d.part)
        .collect();
    assert_eq!(parts, ["retrieve"]);
}
