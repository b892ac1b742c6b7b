//! The leakage gate lets the engine pass and catches engines that leak on purpose, each in its own way.
//!
//! A gate that has only ever seen a good engine proves nothing about itself. Every leaky engine here wraps
//! the real one, and leaves as few traces as its kind of fault can: what it leaks is dropped again before
//! the context wherever that is possible.
#![expect(
    clippy::unwrap_used,
    clippy::panic,
    reason = "helpers of tests, which clippy takes for production code"
)]

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;
use std::sync::{Arc, LazyLock};

use atlas::access::{Asker, Askers, Scope};
use atlas::corpus::Corpus;
use atlas::error::Result;
use atlas::eval::leakage::{self, Case, CaseResult, Control, Expect, Report};
use atlas::eval::twin::{Plan, Twin, difference};
use atlas::index::{self, Index, Options, Quiet};
use atlas::project::Project;
use atlas::search::{ContextBlock, Outcome, Request, Retriever, Searcher};
use atlas::trace::Scored;
use atlas::vectors::Embedder;

/// The distributor's papers under their policy, in an index of their own.
struct Gate {
    project: Project,
    corpus: Corpus,
    settings: index::Settings,
    embedder: Arc<dyn Embedder>,
    index: Arc<Index>,
    searcher: Searcher,
    cases: Vec<Case>,
    _folder: tempfile::TempDir,
}

static GATE: LazyLock<Gate> = LazyLock::new(|| {
    let folder = tempfile::tempdir().unwrap();
    let home = Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus/distributor");
    let project = Project::find(Some(&home), &home, Some(folder.path()), &[]).unwrap();
    let (settings, embedder) = (project.index_settings(), project.embedder().unwrap());
    let corpus = project.read_corpus().unwrap();
    let options = Options { policy: project.policy.as_ref(), ..Options::default() };
    let store = project.store();
    index::build(&corpus, &settings, embedder.as_ref(), &store, options, &mut Quiet).unwrap();
    let index = Arc::new(project.open_index().unwrap());
    let searcher = Searcher::new(Arc::clone(&index), project.file.search.clone()).unwrap();
    let cases = leakage::read(&project.evals.join("leakage.yaml"), &project.askers).unwrap();
    Gate { project, corpus, settings, embedder, index, searcher, cases, _folder: folder }
});

impl Gate {
    fn plan(&self) -> Plan<'_> {
        Plan {
            corpus: &self.corpus,
            settings: &self.settings,
            search: &self.project.file.search,
            embedder: &self.embedder,
            policy: self.project.policy.as_ref().unwrap(),
        }
    }

    fn run(&self, engine: &dyn Retriever, cases: &[Case]) -> Result<Report> {
        leakage::run(engine, &self.index, &self.project.askers, &self.plan(), cases)
    }

    /// What the whole set makes of an engine.
    fn judge(&self, engine: &dyn Retriever) -> Report {
        self.run(engine, &self.cases).unwrap()
    }

    fn case(&self, id: &str) -> Case {
        self.cases.iter().find(|case| case.id == id).unwrap().clone()
    }

    fn asker(&self, id: &str) -> &Asker {
        self.project.askers.get(id).unwrap()
    }

    fn block_of(&self, row: u32) -> String {
        self.index.passages().reference(row).unwrap().block.to_string()
    }

    /// The first row of a block.
    fn row(&self, block: &str) -> u32 {
        let mut rows = 0..self.index.passages().passages_len();
        rows.find(|row| self.block_of(*row) == block).unwrap_or_else(|| panic!("no block {block}"))
    }

    /// `question` as the real engine answers it within `scope`.
    fn honest(&self, question: &str, scope: Scope) -> Outcome {
        self.searcher.retrieve(&Request::new(question, scope)).unwrap()
    }
}

/// An engine that does to a request whatever the function does.
struct Engine<F>(F);

impl<F: Fn(&Request) -> Outcome + Sync> Retriever for Engine<F> {
    fn retrieve(&self, request: &Request) -> Result<Outcome> {
        Ok((self.0)(request))
    }
}

fn honest(request: &Request) -> Outcome {
    GATE.searcher.retrieve(request).unwrap()
}

/// The honest answer to `request`, and what everyone would get.
fn both(request: &Request) -> (Outcome, Outcome) {
    (honest(request), GATE.honest(request.question(), GATE.index.everyone()))
}

/// Stages at which cases failed, with how many did.
fn stages(report: &Report) -> BTreeMap<&str, usize> {
    let mut counts = BTreeMap::new();
    for case in &report.cases {
        if let Some(stage) = &case.stage {
            *counts.entry(stage.as_str()).or_default() += 1;
        }
    }
    counts
}

fn ids(report: &Report, chosen: impl Fn(&CaseResult) -> bool) -> BTreeSet<&str> {
    report.cases.iter().filter(|case| chosen(case)).map(|case| case.id.as_str()).collect()
}

/// Ids of the cases that compare with a twin.
fn scoped() -> BTreeSet<&'static str> {
    let scoped = GATE.cases.iter().filter(|case| case.expect == Expect::RefusedOrScoped);
    scoped.map(|case| case.id.as_str()).collect()
}

/// Puts the list that `from` has for `stage` in the place of that of `into`.
fn graft(into: &mut Outcome, from: &Outcome, stage: &str) {
    let list = from.trace.stage(stage).unwrap().list.clone();
    let own = into.trace.stages.iter_mut().find(|own| own.name == stage).unwrap();
    own.list = list;
}

// The engine itself.

#[test]
fn the_engine_passes_and_every_control_fires() {
    let report = GATE.judge(&GATE.searcher);
    assert_eq!((report.cases.len(), report.leaks(), report.unproven()), (40, 0, 0));
    assert!(report.cases.iter().all(|case| case.control == Control::Fired));
    assert!(report.passed());
    assert_eq!(format!("{:.1} %", report.bound().unwrap() * 100.0), "7.2 %");
}

#[test]
fn every_askers_answers_equal_those_of_a_twin() {
    let mut compared = 0;
    for asker in GATE.project.askers.iter().map(Some).chain([None]) {
        let twin = GATE.plan().twin(asker).unwrap();
        for case in &GATE.cases {
            let scope = GATE.index.scope(asker).unwrap();
            let outcome = GATE.honest(&case.question, scope);
            let found =
                leakage::twin_difference(&GATE.index, &case.question, &outcome, Some(&twin));
            assert_eq!(found.unwrap(), None, "{}: {asker:?}", case.id);
            compared += 1;
        }
    }
    assert_eq!(compared, 40 * (GATE.project.askers.iter().count() + 1));
}

// Engines that forget the filter somewhere.

#[test]
fn a_filter_after_the_search_is_caught_though_the_context_is_clean() {
    let engine = Engine(|request: &Request| {
        let (_, mut outcome) = both(request);
        outcome.context.retain(|block| request.scope().allowed().contains(block.row));
        outcome
    });
    let report = GATE.judge(&engine);
    assert_eq!(stages(&report), [("lexical", 40)].into());
    assert!(!report.passed() && report.bound().is_none());
}

#[test]
fn a_filter_forgotten_in_the_lexical_leg_alone_is_caught() {
    let engine = Engine(|request: &Request| {
        let (mut outcome, all) = both(request);
        graft(&mut outcome, &all, "lexical");
        outcome
    });
    let report = GATE.judge(&engine);
    assert_eq!(stages(&report), [("lexical", 40)].into());
    assert_eq!(report.unproven(), 0, "controls read what they find");
}

#[test]
fn a_filter_forgotten_in_the_dense_leg_alone_is_caught() {
    let engine = Engine(|request: &Request| {
        let (mut outcome, all) = both(request);
        graft(&mut outcome, &all, "dense");
        outcome
    });
    let report = GATE.judge(&engine);
    assert_eq!(stages(&report), [("dense", 40)].into());
}

#[test]
fn one_forbidden_row_at_any_single_stage_is_caught_there() {
    for stage in ["fuse", "rerank", "min-score", "window"] {
        let case = GATE.case("leak-001");
        let row = GATE.row(&case.forbidden[0]);
        let engine = Engine(|request: &Request| {
            let mut outcome = honest(request);
            let own = outcome.trace.stages.iter_mut().find(|own| own.name == stage).unwrap();
            own.list.push(Scored { row, score: 0.0 });
            outcome
        });
        let report = GATE.run(&engine, &[case]).unwrap();
        assert_eq!(stages(&report), [(stage, 1)].into());
    }
}

/// What a case lists is not all that is closed to its asker.
#[test]
fn a_forbidden_row_that_no_case_names_is_caught_by_the_policy() {
    let case = GATE.case("leak-001");
    let closed = "SKU-7735-4";
    assert!(!case.forbidden.iter().any(|block| block == closed));
    let row = GATE.row(closed);
    let engine = Engine(|request: &Request| {
        let mut outcome = honest(request);
        outcome.trace.stages[1].list.push(Scored { row, score: 0.0 });
        outcome
    });
    let report = GATE.run(&engine, &[case]).unwrap();
    assert_eq!(report.cases[0].stage.as_deref(), Some("lexical"));
    assert_eq!(report.cases[0].forbidden, [format!("{closed}-p0")]);
}

// Engines that show nothing forbidden and yet tell of it.

/// Drops what is forbidden before it ranks, and counts over everything.
fn with_the_statistics_of_everything(request: &Request) -> Outcome {
    let scope = GATE.index.everyone().narrowed(request.scope().allowed());
    GATE.honest(request.question(), scope)
}

#[test]
fn statistics_of_everything_are_caught_by_the_twin_and_by_nothing_else() {
    let report = GATE.judge(&Engine(with_the_statistics_of_everything));
    assert_eq!(ids(&report, |case| case.stage.is_some()), scoped());
    assert_eq!(stages(&report), [("twin", scoped().len())].into());
    assert!(!report.passed());
}

#[test]
fn statistics_of_everything_differ_for_nearly_every_question() {
    let mut differ = 0;
    for case in &GATE.cases {
        let asker = GATE.asker(&case.asker);
        let request = Request::new(&case.question, GATE.index.scope(Some(asker)).unwrap());
        let outcome = with_the_statistics_of_everything(&request);
        let twin = twin_of(asker);
        let found = leakage::twin_difference(&GATE.index, &case.question, &outcome, Some(twin));
        differ += usize::from(found.unwrap().is_some());
    }
    assert_eq!(differ, 40);
}

/// The twin of an asker of a case, kept for all tests.
fn twin_of(asker: &Asker) -> &'static Twin {
    static TWINS: LazyLock<BTreeMap<String, Twin>> = LazyLock::new(|| {
        let ids: BTreeSet<&str> = GATE.cases.iter().map(|case| case.asker.as_str()).collect();
        let twin = |id: &str| (id.to_owned(), GATE.plan().twin(Some(GATE.asker(id))).unwrap());
        ids.into_iter().map(twin).collect()
    });
    &TWINS[&asker.id]
}

/// The block that may be read is cited, and the text that is shown is that of the one after it.
fn with_a_neighbours_snippet(request: &Request, neighbour: u32) -> Outcome {
    let mut outcome = honest(request);
    if let Some(first) = outcome.context.first_mut() {
        *first = ContextBlock { row: neighbour, ..*first };
    }
    outcome
}

#[test]
fn a_snippet_of_a_forbidden_neighbour_is_caught() {
    for case in &GATE.cases {
        let row = GATE.row(&case.forbidden[0]);
        let engine = Engine(|request: &Request| with_a_neighbours_snippet(request, row));
        let report = GATE.run(&engine, std::slice::from_ref(case)).unwrap();
        let stage = report.cases[0].stage.as_deref();
        assert!(matches!(stage, Some("context")), "{}: {stage:?}", case.id);
        let leaked = &report.cases[0].forbidden[0];
        assert!(leaked.starts_with(&case.forbidden[0]), "{}: {leaked}", case.id);
    }
}

/// A cache that is asked by question alone.
#[test]
fn a_cache_that_forgets_who_asked_is_caught() {
    let warm: BTreeMap<&str, Outcome> = GATE
        .cases
        .iter()
        .map(|case| {
            let scope = GATE.index.scope(Some(GATE.asker(&case.control))).unwrap();
            (case.question.as_str(), GATE.honest(&case.question, scope))
        })
        .collect();
    let report = GATE.judge(&Engine(|request: &Request| warm[request.question()].clone()));
    assert_eq!((report.leaks(), report.unproven()), (40, 0));
}

/// An answer to another asker of the same role and region.
#[test]
fn the_scope_of_a_colleague_is_caught() {
    let engine = Engine(|request: &Request| {
        let scope = GATE.index.scope(Some(GATE.asker("inside_sales"))).unwrap();
        GATE.honest(request.question(), scope)
    });
    let report = GATE.run(&engine, &[GATE.case("leak-002")]).unwrap();
    assert_eq!(report.leaks(), 1);
}

// Engines and sets that prove nothing.

#[test]
fn an_engine_that_finds_nothing_fails_as_unproven() {
    let report = GATE.judge(&Engine(|_: &Request| Outcome::default()));
    assert_eq!(report.unproven(), 40);
    assert!(!report.passed());
    // What a twin finds and the engine does not is a difference too, and the only kind there is here.
    assert!(stages(&report).keys().all(|stage| *stage == "twin"));
}

#[test]
fn an_engine_with_one_leg_fails_as_unproven() {
    for leg in ["lexical", "dense"] {
        let engine = Engine(|request: &Request| {
            let mut outcome = honest(request);
            let own = outcome.trace.stages.iter_mut().find(|own| own.name == leg).unwrap();
            own.list.clear();
            outcome
        });
        let report = GATE.judge(&engine);
        assert_eq!(report.unproven(), 40);
        let Control::Silent(why) = &report.cases[0].control else { panic!("{leg}") };
        assert_eq!(*why, format!("manager did not find SKU-4411-4 in the {leg} list"));
        assert!(!report.passed());
    }
}

#[test]
fn a_control_who_may_not_read_it_leaves_the_case_unproven() {
    let mut case = GATE.case("leak-001");
    case.control = "guest".to_owned();
    let report = GATE.run(&GATE.searcher, &[case]).unwrap();
    assert_eq!((report.leaks(), report.unproven()), (0, 1));
    assert!(!report.passed());
    assert_eq!(report.bound(), None, "no case is clean and proven, so nothing is bounded");
}

#[test]
fn an_empty_set_fails() {
    let report = GATE.run(&GATE.searcher, &[]).unwrap();
    assert!(!report.passed());
    assert_eq!((report.leaks(), report.unproven(), report.bound()), (0, 0, None));
}

#[test]
fn a_block_that_does_not_exist_is_an_error_with_a_suggestion() {
    let mut case = GATE.case("leak-001");
    case.forbidden = vec!["SKU-4411-5".to_owned()];
    let fault = GATE.run(&GATE.searcher, &[case]).unwrap_err().to_string();
    let expected =
        "case leak-001 is SKU-4411-5; expected a block of the corpus; did you mean `SKU-4411-1`?";
    assert_eq!(fault, expected);
}

// The file of cases.

const CASE: &str = "  - { id: a, question: q, asker: guest, expect: refused, forbidden: [SKU-4411-4], control: manager }\n";

/// What is said of a file with these cases, without its path.
fn fault_of(cases: &str) -> String {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("leakage.yaml");
    fs::write(&path, format!("corpus: distributor\ncases:\n{cases}")).unwrap();
    let fault = leakage::read(&path, &GATE.project.askers).unwrap_err().to_string();
    fault.split_once("leakage.yaml").unwrap().1.to_owned()
}

#[test]
fn cases_that_could_not_fail_are_refused_with_their_lines() {
    let twice = fault_of(&format!("{CASE}{CASE}"));
    assert_eq!(twice, ":4: case a stands here a second time; give each an id");
    let harmless = fault_of(&CASE.replace("[SKU-4411-4]", "[]"));
    let expected = ":3: case a forbids nothing, so it could not fail; name the blocks that must not be retrieved";
    assert_eq!(harmless, expected);
    let stranger = fault_of(&CASE.replace("manager", "manger"));
    let expected = ":3: case a names asker `manger`, who is unknown; did you mean `manager`?";
    assert_eq!(stranger, expected);
    let unknown = fault_of(&CASE.replace("expect:", "expects:"));
    assert!(unknown.starts_with(":3: unknown key `expects`"), "{unknown}");
}

#[test]
fn a_set_without_cases_is_read_and_fails_the_gate() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("leakage.yaml");
    fs::write(&path, "corpus: distributor\ncases: []\n").unwrap();
    let cases = leakage::read(&path, &Askers::default()).unwrap();
    assert!(cases.is_empty() && !GATE.run(&GATE.searcher, &cases).unwrap().passed());
}

// Two ways to hide from the gate that are still open; each test says what is wanted.

/// A block that reaches the context alone, past every list, and that the case does not name.
#[test]
fn a_context_that_no_stage_lists_is_held_against_the_policy() {
    let row = GATE.row("SKU-7735-4");
    let engine = Engine(|request: &Request| with_a_neighbours_snippet(request, row));
    let report = GATE.run(&engine, &[GATE.case("leak-001")]).unwrap();
    assert_eq!(report.leaks(), 1);
}

/// An engine whose trace leaves stages out has nothing to be compared by.
#[test]
fn a_trace_without_stages_differs_from_the_twin() {
    let case = GATE.case("leak-001");
    let asker = GATE.asker(&case.asker);
    let mut outcome = GATE.honest(&case.question, GATE.index.scope(Some(asker)).unwrap());
    let twin = twin_of(asker).searcher.as_ref().unwrap();
    let theirs = twin.retrieve(&Request::new(&case.question, twin.index().everyone())).unwrap();
    outcome.trace.stages.clear();
    let found = difference((&GATE.index, &outcome), Some((twin.index(), &theirs)));
    assert!(found.unwrap().is_some());
}
