//! The measures against trec_eval's own expected output, to half of the last digit printed.
//!
//! `derived/` was computed with pytrec_eval, which keeps scores in 32 bits, `trec_eval/` with
//! trec_eval, which keeps them in 64. The scores of the derived runs have two decimals, so no two of
//! them meet in 32 bits that were apart in 64 (`no_tie_depends_on_the_width_of_a_score` checks it),
//! and sorting in 64 bits reproduces both.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    clippy::print_stdout,
    reason = "helpers of tests, which clippy takes for production code"
)]

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use atlas::eval::measures::{Measure, parse};
use atlas::eval::trec::{
    Columns, Evaluation, Qrels, Run, Settings, evaluate, read_beir_qrels, read_qrels, read_run,
};

/// Beside the project, not in it: the files keep the licences of their sources.
const REFERENCE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../shared/data/metrics-reference");

/// Rows of trec_eval's output that are not measured here, by their names up to a number.
const NOT_MEASURED: [&str; 17] = [
    "runid",
    "relstring",
    "gm_bpref",
    "Rprec_mult",
    "utility",
    "11pt_avg",
    "binG",
    "G",
    "ndcg_rel",
    "Rndcg",
    "relative_P",
    "set_relative_P",
    "set_map",
    "rbp",
    "rbp_resid",
    "ndcg_1=3,2=9,4=4.5",
    "utility_2,-1,0",
];

/// A printed value: measure, question (`all` for all), value, and the digits behind its point.
struct Row {
    measure: String,
    question: String,
    printed: String,
}

fn reference() -> Option<PathBuf> {
    let folder = std::env::var_os("ATLAS_METRICS_REFERENCE")
        .map_or_else(|| PathBuf::from(REFERENCE), PathBuf::from);
    if folder.is_dir() {
        return Some(folder);
    }
    println!("skipped: {} is absent", folder.display());
    None
}

fn rows(path: &Path) -> Vec<Row> {
    let text = fs::read_to_string(path).unwrap();
    let lines = text.lines().filter(|line| !line.starts_with("measure\t"));
    lines
        .map(|line| {
            let parts: Vec<&str> = line.split_whitespace().collect();
            let [measure, question, printed] = parts[..] else { panic!("{line}") };
            Row { measure: measure.into(), question: question.into(), printed: printed.into() }
        })
        .collect()
}

fn is_measured(name: &str) -> bool {
    let base = name.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.');
    !NOT_MEASURED.iter().any(|other| *other == name || *other == base.trim_end_matches('_'))
        && !name.starts_with("11pt_avg")
        && !name.starts_with("utility")
}

/// Compares every row that is measured and returns how many there were.
fn compare(path: &Path, qrels: &Qrels, run: &Run, settings: Settings) -> usize {
    let rows: Vec<Row> = rows(path).into_iter().filter(|row| is_measured(&row.measure)).collect();
    let mut measures: BTreeMap<&str, Box<dyn Measure>> = BTreeMap::new();
    for row in rows.iter().filter(|row| row.measure != "num_q") {
        let made = || parse(&row.measure).unwrap();
        measures.entry(row.measure.as_str()).or_insert_with(made);
    }
    let (names, measures): (Vec<&str>, Vec<_>) = measures.into_iter().unzip();
    let found = evaluate(qrels, run, &measures, settings);
    for row in &rows {
        let value = match names.iter().position(|name| *name == row.measure) {
            Some(index) => value(&found, &row.question, index),
            None => found.questions.len() as f64,
        };
        let digits = row.printed.split_once('.').map_or(0, |(_, digits)| digits.len());
        let half = 0.5 * 0.1_f64.powi(i32::try_from(digits).unwrap());
        let off = (value - row.printed.parse::<f64>().unwrap()).abs();
        assert!(
            off <= half + 1e-9,
            "{}: {} of {}: {value} is not {}",
            path.display(),
            row.measure,
            row.question,
            row.printed
        );
    }
    println!("{}: {} values of {} measures", path.display(), rows.len(), names.len());
    rows.len()
}

fn value(found: &Evaluation, question: &str, index: usize) -> f64 {
    let values = if question == "all" { &found.all } else { &found.questions[question] };
    values[index].unwrap()
}

#[test]
fn trec_evals_own_expected_output_is_reproduced() {
    let Some(folder) = reference() else { return };
    let folder = folder.join("trec_eval");
    let plain = Settings { level: 1, retrieved_max: None, complete: false };
    let complete = Settings { complete: true, ..plain };
    let hundred = Settings { retrieved_max: Some(100), ..complete };
    let cases = [
        ("out.test", "qrels.test", "results.test", plain, 29),
        ("out.test.a", "qrels.test", "results.test", plain, 68),
        ("out.test.aq", "qrels.test", "results.test", plain, 266),
        ("out.test.aqc", "qrels.test", "results.trunc", complete, 266),
        ("out.test.aqcM", "qrels.test", "results.trunc", hundred, 266),
        ("out.test.aql", "qrels.rel_level", "results.test", Settings { level: 2, ..plain }, 266),
        ("out.test.meas_params", "qrels.test", "results.test", plain, 64),
    ];
    for (expected, qrels, run, settings, count) in cases {
        let qrels = read_qrels(&folder.join(qrels)).unwrap();
        // Some lines of results.trunc have words behind the tag.
        let run = read_run(&folder.join(run), Columns::SixOrMore).unwrap();
        assert_eq!(compare(&folder.join(expected), &qrels, &run, settings), count, "{expected}");
    }
}

const DERIVED: [(&str, usize); 4] =
    [("corner-cases", 203), ("cranfield", 6554), ("cacm", 1537), ("medquad-liveqa", 2523)];

fn derived(folder: &Path, name: &str) -> (Qrels, Run) {
    let folder = folder.join("derived");
    let qrels = read_qrels(&folder.join(format!("{name}.qrels"))).unwrap();
    (qrels, read_run(&folder.join(format!("{name}.run")), Columns::Six).unwrap())
}

#[test]
fn the_derived_expected_values_are_reproduced() {
    let Some(folder) = reference() else { return };
    for (name, count) in DERIVED {
        let (qrels, run) = derived(&folder, name);
        let path = folder.join("derived").join(format!("{name}.expected.tsv"));
        let settings = Settings { complete: false, ..Settings::default() };
        assert_eq!(compare(&path, &qrels, &run, settings), count, "{name}");
    }
}

/// The derived files hold no values with -c; they follow from those without: the same sum, over all
/// judged questions.
#[test]
fn with_complete_a_mean_is_over_every_judged_question() {
    let Some(folder) = reference() else { return };
    for (name, _) in DERIVED {
        let (qrels, run) = derived(&folder, name);
        let judged = qrels.questions().count();
        let settings = Settings { complete: true, ..Settings::default() };
        let path = folder.join("derived").join(format!("{name}.expected.tsv"));
        let mut compared = 0;
        let rows = rows(&path);
        for all in
            rows.iter().filter(|row| row.question == "all" && !row.measure.starts_with("num"))
        {
            let of_measure = rows.iter().filter(|row| row.measure == all.measure);
            let sum: f64 = of_measure
                .filter(|row| row.question != "all")
                .map(|row| row.printed.parse::<f64>().unwrap())
                .sum();
            let found = evaluate(&qrels, &run, &[parse(&all.measure).unwrap()], settings);
            assert_eq!(found.questions.len(), judged);
            let off = (found.all[0].unwrap() - sum / judged as f64).abs();
            assert!(off < 1e-6, "{name}, {}: off by {off}", all.measure);
            compared += 1;
        }
        println!("{name} with -c: {compared} means over {judged} questions");
        assert_eq!(compared, 26);
    }
}

#[test]
fn no_tie_depends_on_the_width_of_a_score() {
    let Some(folder) = reference() else { return };
    for (name, _) in DERIVED {
        let (_, run) = derived(&folder, name);
        for (question, results) in run.questions() {
            let mut scores: Vec<f64> = results.iter().map(|(_, score)| *score).collect();
            scores.sort_unstable_by(f64::total_cmp);
            for pair in scores.windows(2) {
                let apart = pair[0] != pair[1];
                assert_eq!(apart, pair[0] as f32 != pair[1] as f32, "{name}, question {question}");
            }
        }
    }
}

#[test]
fn the_qrels_of_every_public_set_can_be_read() {
    let Some(folder) = reference() else { return };
    let mut folders = vec![folder.parent().unwrap().to_path_buf()];
    let mut read = 0;
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else if path.ends_with("qrels/test.tsv") {
                let qrels = read_beir_qrels(&path).unwrap();
                assert!(qrels.questions().count() > 0, "{}", path.display());
                read += 1;
            }
        }
    }
    println!("{read} files");
    assert!(read > 0);
}
