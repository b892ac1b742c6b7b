//! What a review finds, on the corpus of Atlas Bikes as it grew from nine documents to twenty-nine, and
//! what would be noticed if the engine were broken.
#![expect(
    clippy::unwrap_used,
    clippy::panic,
    reason = "helpers of tests, which clippy takes for production code"
)]

mod common;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, LazyLock};

use atlas::eval::labels;
use atlas::eval::mutation::{self, FAULTS, Plan};
use atlas::eval::questions::QuestionSet;
use atlas::eval::review::{Before, Finding, Ground, Reviewed, review};
use atlas::search::Settings;
use atlas::vectors::{Embedder, StaticModel};
use common::{Built, Papers, index_settings, questions, supporting};

static PAPERS: LazyLock<Papers> = LazyLock::new(|| Papers::read("atlas-bikes", None));
static FULL: LazyLock<Built> = LazyLock::new(|| Built::of(&PAPERS.corpus, &index_settings()));
static SAMPLE: LazyLock<Before> = LazyLock::new(|| {
    let sample = Papers::read("atlas-bikes", Some(common::sample()));
    Before::new(&sample.corpus, &index_settings().passage)
});

/// A set of one question about the C-3.
fn asked(text: &str, relevant: &str, reference: &str) -> QuestionSet {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("set.yaml");
    let question = format!(
        "corpus: c\nkinds: [k]\nquestions:\n  - id: q\n    question: \"{text}\"\n    kind: k\n    \
         relevant: {relevant}\n    reference: \"{reference}\"\n"
    );
    std::fs::write(&path, question).unwrap();
    QuestionSet::read(&path).unwrap()
}

fn reviewed(set: &QuestionSet, before: Option<&Before>) -> Vec<Reviewed> {
    let searcher = FULL.searcher(&Settings::default());
    let mut set = set.clone();
    let labels = labels::resolve(&FULL.index, &mut set, false).unwrap();
    let ground = Ground {
        searcher: &searcher,
        before,
        labels: &labels,
        strings: &BTreeMap::new(),
        places: true,
        accepted: &BTreeSet::new(),
    };
    let scope = FULL.index.everyone();
    review(&ground, &set, &|_| Ok(scope.clone())).unwrap()
}

/// On nine documents the question had one answer; then the T-7 came, with a check R07 of its own.
#[test]
fn the_battery_check_of_two_bicycles_is_found_by_machine() {
    let old = "Which battery check applies when the battery casing has been opened?";
    let set = asked(old, "[CHECK-C3-2]", "Check R07: the 36 V pack must go to quarantine.");
    let found = reviewed(&set, Some(&SAMPLE));
    let ambiguous = found[0].findings.iter().find_map(|finding| match finding {
        Finding::Ambiguous(found) => Some(found),
        _ => None,
    });
    let found = ambiguous.unwrap_or_else(|| panic!("{found:?}"));
    assert_eq!((found.relevant.as_str(), found.rival.as_str()), ("CHECK-C3-2", "CHECK-T7-2"));
    assert_eq!(found.key.as_deref(), Some("product"));
    assert_eq!(
        (found.own.as_slice(), found.other.as_slice()),
        (&["C-3".to_owned()][..], &["T-7".to_owned()][..])
    );
    // The mended question names the bicycle.
    let mended = "Which battery check applies when the battery casing of a C-3 has been opened?";
    let set = asked(mended, "[CHECK-C3-2]", "Check R07.");
    let found = reviewed(&set, Some(&SAMPLE));
    let ambiguous = |finding: &Finding| matches!(finding, Finding::Ambiguous(_));
    assert!(!found[0].findings.iter().any(ambiguous), "{found:?}");
}

/// The T-7 has an E-417 as well and says the same of it, so either is enough.
#[test]
fn a_second_source_for_a_code_is_proposed() {
    let set = asked("What does error E-417 mean?", "[ERR-C3-3]", "The voltage is too high.");
    let found = reviewed(&set, Some(&SAMPLE));
    let about = |finding: &&Finding| finding.block() == Some("ERR-T7-3");
    assert!(found[0].findings.iter().any(|finding| about(&finding)), "{found:?}");
    // Once it is listed there is nothing left to say of it.
    let set =
        asked("What does error E-417 mean?", "[[ERR-C3-3, ERR-T7-3]]", "The voltage is too high.");
    let found = reviewed(&set, Some(&SAMPLE));
    assert!(!found[0].findings.iter().any(|finding| about(&finding)), "{found:?}");
}

/// A question that names its bicycle, or asks behind a filter on it, means no other.
#[test]
fn a_question_that_names_its_bicycle_is_not_ambiguous_with_another() {
    let named =
        ["dev-casing-check", "dev-voltage-fault", "dev-e471", "dev-k1-age", "dev-t7-stem-torque"];
    let mut seen = 0;
    for one in reviewed(&questions("development"), None) {
        if !named.contains(&one.id.as_str()) {
            continue;
        }
        seen += 1;
        for finding in &one.findings {
            let Finding::Ambiguous(found) = finding else { continue };
            assert_ne!(found.key.as_deref(), Some("product"), "{}: {found:?}", one.id);
        }
    }
    assert_eq!(seen, named.len());
}

/// Faults that the development questions must notice, or they would be no test of the engine; and the
/// fault that no question can notice where everyone may read everything.
#[test]
fn the_questions_notice_a_broken_engine() {
    let model: Arc<dyn Embedder> = Arc::new(StaticModel::built_in().unwrap());
    let settings = index_settings();
    let search = Settings { min_score: 0.1, ..Settings::default() };
    let plan = Plan {
        corpus: &PAPERS.corpus,
        settings: &settings,
        search: &search,
        embedder: &model,
        policy: None,
        asker_of: &|_| None,
    };
    let report = mutation::run(&plan, &FULL.index, &questions("development")).unwrap();
    let of = |name: &str| report.faults.iter().find(|fault| fault.fault == name).unwrap();
    let lost = &of("no-titles").lost;
    assert!(lost.iter().any(|id| id == "dev-recall-chargers"), "{lost:?}");
    for fault in
        ["lexical-leg-dead", "first-lost", "neighbour-for-first", "distance-for-similarity"]
    {
        assert!(of(fault).lost.len() > 3, "{fault}: {:?}", of(fault).lost);
    }
    assert_eq!(of("filter-ignored").moved, ["dev-t7-stem-torque"]);
    assert!(of("permissions-ignored").skipped.is_some());
    let unnoticed: Vec<&str> = report.unnoticed().iter().map(|fault| fault.fault).collect();
    assert!(unnoticed.contains(&"minimum-excludes-equal"), "{unnoticed:?}");
    assert_eq!(report.faults.len(), FAULTS.len());
    let names: BTreeSet<&str> = FAULTS.iter().map(|fault| fault.name).collect();
    assert_eq!(names.len(), FAULTS.len(), "two faults of one name");
}

/// The same on the distributor's papers, whose questions carry no filter and have no minimum.
#[test]
fn the_distributors_questions_notice_too() {
    let papers = Papers::read("distributor", None);
    let settings = atlas::index::Settings::default();
    let built = Built::of(&papers.corpus, &settings);
    let model: Arc<dyn Embedder> = Arc::new(StaticModel::built_in().unwrap());
    let search = Settings::default();
    let plan = Plan {
        corpus: &papers.corpus,
        settings: &settings,
        search: &search,
        embedder: &model,
        policy: None,
        asker_of: &|_| None,
    };
    let set = supporting("evals/distributor/questions.yaml");
    let report = mutation::run(&plan, &built.index, &set).unwrap();
    let of = |name: &str| report.faults.iter().find(|fault| fault.fault == name).unwrap();
    assert!(of("first-lost").lost.len() > 10, "{:?}", of("first-lost"));
    assert!(of("minimum-excludes-equal").skipped.is_some());
    assert!(of("filter-ignored").skipped.is_some());
}
