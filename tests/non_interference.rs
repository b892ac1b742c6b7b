//! Non-interference: what an asker may not read changes nothing that the asker can observe.
//!
//! A **case** is one comparison: one random corpus under one random policy, one asker, one question with
//! its mode, settings, `k` and minimum, and one filter. The answer of the whole index must equal that of
//! the twin, an index of what the asker may read and nothing else, bit for bit: every list of every stage
//! with its scores, counts and notes, the context, the words behind each score, and errors by their text.
//! Corpora are small and poor in words, so that ties, duplicates and documents of mixed classification
//! abound; one corpus is large. [`ASKERS`] askers share a corpus, and [`CASES_AN_ASKER`] cases an asker, and so a twin.
//!
//! ```text
//! tools/non-interference                                   10,000 cases
//! ATLAS_SEED=7 ATLAS_CASES=20 cargo test --release --test non_interference
//! ```
//!
//! `ATLAS_CASES` is how many (default 60), `ATLAS_SEED` the seed of the first corpus (default 1); the next
//! corpus has the next seed. A case that fails says how to repeat it.
#![expect(
    clippy::unwrap_used,
    clippy::panic,
    clippy::print_stdout,
    reason = "helpers of tests, which clippy takes for production code"
)]

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::fs;
use std::path::Path;
use std::sync::{Arc, LazyLock};

use atlas::access::{Asker, Policy, Scope};
use atlas::corpus::{self, Corpus, CorpusSettings, Metadata, Value};
use atlas::eval::twin::{Plan, Twin, difference};
use atlas::format::Store;
use atlas::index::{self, Filter, Index, Options, Quiet};
use atlas::lexical::{Bm25, Query};
use atlas::passage::cut;
use atlas::search::{
    DensePath, Fusion, Mode, Outcome, Request, Retriever as _, Searcher, Settings,
};
use atlas::vectors::{Embedder, StaticModel};
use tempfile::TempDir;

/// Askers of one corpus, nobody among them, and cases of each.
const ASKERS: usize = 4;
const CASES_AN_ASKER: usize = 3;

static MODEL: LazyLock<Arc<dyn Embedder>> =
    LazyLock::new(|| Arc::new(StaticModel::built_in().unwrap()));

/// Index folders lie in memory where the system has such a place: what a build syncs costs nothing there.
static IN_MEMORY: LazyLock<()> = LazyLock::new(|| {
    let place = Path::new("/dev/shm");
    if tempfile::tempdir_in(place).is_ok() {
        let _ = tempfile::env::override_temp_dir(place);
    }
});

fn folder() -> TempDir {
    LazyLock::force(&IN_MEMORY);
    tempfile::tempdir().unwrap()
}

fn variable(name: &str, default: u64) -> u64 {
    std::env::var(name).map_or(default, |text| {
        text.parse().unwrap_or_else(|_| panic!("{name} is `{text}`; expected a whole number"))
    })
}

fn cases_wanted() -> usize {
    variable("ATLAS_CASES", 60) as usize
}

fn first_seed() -> u64 {
    variable("ATLAS_SEED", 1)
}

/// SplitMix64 (Steele, Lea and Flood, 2014).
struct Random(u64);

impl Random {
    /// Seeds beside each other give streams that have nothing in common.
    fn new(seed: u64) -> Self {
        let mut random = Self(seed ^ 0xa076_1d64_78bd_642f);
        Self(random.next())
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut bits = self.0;
        bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        bits ^ (bits >> 31)
    }

    fn below(&mut self, end: usize) -> usize {
        (self.next() % end as u64) as usize
    }

    fn from(&mut self, least: usize, most: usize) -> usize {
        least + self.below(most + 1 - least)
    }

    fn chance(&mut self, percent: usize) -> bool {
        self.below(100) < percent
    }

    fn pick<T: Copy>(&mut self, list: &[T]) -> T {
        list[self.below(list.len())]
    }

    /// Each of `list` with the chance `percent`.
    fn some(&mut self, list: &[&str], percent: usize) -> Vec<String> {
        let chosen: Vec<&str> = list.iter().copied().filter(|_| self.chance(percent)).collect();
        chosen.into_iter().map(str::to_owned).collect()
    }

    /// `least..=most` of `list`, one after the other, with repetitions.
    fn words(&mut self, list: &[&str], least: usize, most: usize) -> String {
        let count = self.from(least, most);
        (0..count).map(|_| self.pick(list)).collect::<Vec<_>>().join(" ")
    }
}

// What corpora, policies and questions are made of.

const WORDS: [&str; 16] = [
    "margin", "contract", "price", "rebate", "hammer", "hammers", "E-417", "SKU-44", "the", "of",
    "cost", "zzxqv", "Preis", "価格", "12.5", "pricing",
];
const ABSENT: [&str; 5] = ["giraffe", "E-999", "qqqwx", "ξένος", "!?"];
const STOP_WORDS: [&str; 5] = ["the", "of", "and", "is", "what"];
const TITLES: [&str; 5] = ["Costs", "Notes", "The price", "margin", "E-417"];
/// `ghost` is in no policy.
const CLASSES: [&str; 7] = ["open", "inner", "money", "deal", "area", "void", "ghost"];
const ROLES: [&str; 3] = ["sales", "boss", "books"];
const ACCOUNTS: [&str; 3] = ["acme", "bolt", "crane"];
const REGIONS: [&str; 3] = ["north", "south", "east"];
const DAYS: [&str; 3] = ["2025-12-31", "2026-01-01", "2026-07-15"];
/// Keys that few documents have: whether one is known depends on who asks.
const RARE: [&str; 4] = ["payroll", "payrolls", "merger", "audit_state"];

/// A policy as the test understands it, without the library's own reading of it.
struct Rules {
    read: BTreeMap<&'static str, Vec<Vec<&'static str>>>,
    default: Option<&'static str>,
}

impl Rules {
    fn random(random: &mut Random) -> Self {
        let mut read = BTreeMap::new();
        for class in &CLASSES[..6] {
            if *class == "open" && random.chance(80) {
                read.insert(*class, vec![vec!["everyone"]]);
            } else if *class == "open" || random.chance(85) {
                let count = random.pick(&[0, 1, 1, 1, 2, 2, 3]);
                let alternatives = (0..count).map(|_| {
                    let demands = random.pick(&[1, 1, 2]);
                    (0..demands).map(|_| Self::demand(random)).collect()
                });
                read.insert(*class, alternatives.collect());
            }
        }
        let names: Vec<&str> = read.keys().copied().collect();
        let default = random.chance(60).then(|| random.pick(&names));
        Self { read, default }
    }

    fn demand(random: &mut Random) -> &'static str {
        random.pick(&["everyone", "owner", "region", ROLES[0], ROLES[1], ROLES[2], ROLES[0]])
    }

    fn yaml(&self) -> String {
        let mut text = "classifications:\n".to_owned();
        for (class, alternatives) in &self.read {
            let alternatives: Vec<String> =
                alternatives.iter().map(|all| format!("[{}]", all.join(", "))).collect();
            writeln!(text, "  {class}: {{ read: [{}] }}", alternatives.join(", ")).unwrap();
        }
        writeln!(text, "default: {}", self.default.unwrap_or("nobody")).unwrap();
        text
    }

    /// Whether `asker` may read a block under `sections` of a document with `metadata`.
    fn may(&self, asker: Option<&Asker>, metadata: &Metadata, sections: &[String]) -> bool {
        let Some(asker) = asker else { return false };
        let stated = |key: &str| metadata.get(key).and_then(Value::as_text);
        let innermost = sections.iter().rev().find_map(|t| stated(&format!("sections.{t}")));
        let class = innermost.or_else(|| stated("classification")).or(self.default);
        let alternatives = class.and_then(|class| self.read.get(class));
        let holds = |list: &[String], word: Option<&str>| {
            word.is_some_and(|word| list.iter().any(|own| own == word))
        };
        alternatives.into_iter().flatten().any(|all| {
            all.iter().all(|demand| match *demand {
                "everyone" => true,
                "owner" => holds(&asker.accounts, stated("account")),
                "region" => holds(&asker.regions, stated("region")),
                role => holds(&asker.roles, Some(role)),
            })
        })
    }
}

/// The text of one file. Every value is quoted or harmless.
fn paper(random: &mut Random, id: &str, bodies: &mut Vec<String>) -> String {
    let mut text = format!("---\nid: {id}\ntitle: \"{}\"\n", random.words(&WORDS, 1, 2));
    match random.below(10) {
        0 => {}
        1 => text += "classification: [open, inner]\n",
        2..5 => text += "classification: open\n",
        _ => writeln!(text, "classification: {}", random.pick(&CLASSES)).unwrap(),
    }
    for (key, values) in [("account", &ACCOUNTS), ("region", &REGIONS), ("effective_from", &DAYS)] {
        if random.chance(60) {
            writeln!(text, "{key}: {}", random.pick(values)).unwrap();
        }
    }
    if random.chance(20) {
        writeln!(text, "effective_to: {}", random.pick(&DAYS)).unwrap();
    }
    if random.chance(40) {
        writeln!(text, "weight: {}", random.pick(&["1", "2.5", "30"])).unwrap();
    }
    if random.chance(40) {
        writeln!(text, "product: [{}]", random.pick(&["C-3", "C-3, T-7", "T-7"])).unwrap();
    }
    if random.chance(15) {
        writeln!(text, "{}: {}", random.pick(&RARE), random.pick(&WORDS[..6])).unwrap();
    }
    let body = if !bodies.is_empty() && random.chance(25) {
        bodies[random.below(bodies.len())].clone()
    } else {
        let mut body = random.words(&WORDS, 1, 20);
        for _ in 0..random.below(5) {
            let (level, title) = (random.pick(&["##", "##", "###"]), random.pick(&TITLES));
            write!(body, "\n\n{level} {title}\n").unwrap();
            for _ in 0..random.from(1, 2) {
                write!(body, "\n{}.\n", random.words(&WORDS, 1, 25)).unwrap();
            }
        }
        bodies.push(body.clone());
        body
    };
    if random.chance(50) {
        // Mostly sections that exist; one that does not closes the whole document.
        let present: Vec<&str> =
            TITLES.iter().copied().filter(|title| body.contains(&format!("# {title}\n"))).collect();
        let titles =
            if present.is_empty() || random.chance(15) { TITLES.to_vec() } else { present };
        let marked: BTreeMap<&str, &str> =
            (0..random.from(1, 3)).map(|_| (random.pick(&titles), random.pick(&CLASSES))).collect();
        let marked: Vec<String> = marked.iter().map(|(t, c)| format!("\"{t}\": {c}")).collect();
        writeln!(text, "sections: {{ {} }}", marked.join(", ")).unwrap();
    }
    format!("{text}---\n{body}\n")
}

/// A corpus under a policy, built.
struct World {
    corpus: Corpus,
    rules: Rules,
    policy: Policy,
    settings: index::Settings,
    index: Arc<Index>,
    _folder: TempDir,
}

impl World {
    fn random(random: &mut Random) -> Self {
        let folder = folder();
        let home = folder.path().join("corpus");
        fs::create_dir(&home).unwrap();
        let (count, mut bodies) = (random.pick(&[1_usize, 5, 12, 25, 40, 40]), Vec::new());
        for number in 0..random.from(count.div_ceil(2), count) {
            // The order of ids has nothing to do with the order in which documents are made.
            let id = format!("{}-{number}", random.pick(&["A", "M", "Z", "a"]));
            if random.chance(5) {
                fs::write(home.join(format!("{id}.txt")), random.words(&WORDS, 1, 40)).unwrap();
            } else {
                fs::write(home.join(format!("{id}.md")), paper(random, &id, &mut bodies)).unwrap();
            }
        }
        let mut settings = index::Settings::default();
        settings.passage.max_tokens = random.pick(&[16, 16, 24, 256]);
        settings.passage.overlap_tokens = random.pick(&[0, 0, 8]);
        settings.passage.plain_block_tokens = 16;
        settings.passage.titles = random.chance(80);
        // A graph stands by in some; under a policy the exact path must be taken nonetheless.
        settings.graph.from_passages = random.pick(&[1, 20_000, 20_000, 20_000]);
        Self::built(folder, settings, Rules::random(random))
    }

    /// Builds the corpus that lies in `folder`.
    fn built(folder: TempDir, settings: index::Settings, rules: Rules) -> Self {
        let strict = CorpusSettings { strict: true, ..CorpusSettings::default() };
        let corpus = corpus::read(&folder.path().join("corpus"), &strict).unwrap();
        let path = folder.path().join("access.yaml");
        fs::write(&path, rules.yaml()).unwrap();
        let policy = Policy::read(&path).unwrap();
        let store = Store::new(folder.path().join("index"));
        let options = Options { policy: Some(&policy), keep: None, check: None };
        index::build(&corpus, &settings, MODEL.as_ref(), &store, options, &mut Quiet).unwrap();
        let index = Index::open(&store, &settings, Arc::clone(&MODEL), Some(&policy)).unwrap();
        Self { corpus, rules, policy, settings, index: Arc::new(index), _folder: folder }
    }

    fn twin(&self, asker: Option<&Asker>) -> Twin {
        let search = Settings::default();
        let plan = Plan {
            corpus: &self.corpus,
            settings: &self.settings,
            search: &search,
            embedder: &MODEL,
            policy: &self.policy,
        };
        plan.twin(asker).unwrap()
    }

    /// Whether `asker` may read `row`, by the test's own reading of rules and documents.
    fn may(&self, asker: Option<&Asker>, row: u32) -> bool {
        let passages = self.index.passages();
        let block = passages.block(passages.passage(row).unwrap().block).unwrap();
        let reference = passages.reference(row).unwrap();
        let document = self.corpus.document(reference.document()).unwrap();
        let blocks = cut(document, &self.settings.passage);
        let exists =
            |title: &str| blocks.iter().any(|(b, _)| b.sections.iter().any(|own| own == title));
        let slip = |(key, value): (&String, &Value)| match key.strip_prefix("sections.") {
            Some(title) => !exists(title),
            None => key == "classification" && matches!(value, Value::List(_)),
        };
        if document.metadata.0.iter().any(slip) {
            return false;
        }
        self.rules.may(asker, &document.metadata, &passages.sections(&block).unwrap())
    }

    /// The scope of `asker`, once it is seen to hold what the rules say, no row less and no row more.
    fn scope(&self, asker: Option<&Asker>) -> Scope {
        let scope = self.index.scope(asker).unwrap();
        assert!(scope.is_restricted());
        for row in 0..self.index.manifest().passages as u32 {
            let (said, truth) = (scope.readable().contains(row), self.may(asker, row));
            assert_eq!(said, truth, "row {row} for {asker:?} under\n{}", self.rules.yaml());
        }
        scope
    }
}

fn asker(random: &mut Random) -> Option<Asker> {
    let percent = random.pick(&[0, 40, 60, 80, 100]);
    (!random.chance(7)).then(|| Asker {
        id: "somebody".to_owned(),
        roles: random.some(&ROLES, percent),
        accounts: random.some(&ACCOUNTS, percent),
        regions: random.some(&REGIONS, percent),
        notes: String::new(),
    })
}

/// Everything of a case but who asks.
#[derive(Debug)]
struct Ask {
    question: String,
    mode: Mode,
    settings: Settings,
    k: usize,
    min_score: Option<f64>,
    filter: Filter,
}

impl Ask {
    fn random(random: &mut Random, corpus: &Corpus) -> Self {
        let settings = Self::settings(random);
        Self {
            question: Self::question(random, corpus),
            mode: random.pick(&[Mode::Hybrid, Mode::Hybrid, Mode::Lexical, Mode::Dense]),
            k: random.from(1, settings.depth),
            min_score: random.pick(&[None, None, None, None, Some(0.01), Some(0.3), Some(1.0)]),
            filter: Self::filter(random, corpus),
            settings,
        }
    }

    fn question(random: &mut Random, corpus: &Corpus) -> String {
        match random.below(12) {
            0 => String::new(),
            1 => random.words(&STOP_WORDS, 1, 3),
            2 => random.words(&ABSENT, 1, 2),
            3 => random.words(&["E-417", "SKU-44", "417", "sku 44", "E-471"], 1, 2),
            // The very words of a document that the asker may not know of.
            4 => corpus.documents[random.below(corpus.documents.len())].body.clone(),
            5 => format!("{} {}", random.words(&WORDS, 1, 3), random.words(&ABSENT, 1, 1)),
            _ => random.words(&WORDS, 1, 6),
        }
    }

    fn settings(random: &mut Random) -> Settings {
        Settings {
            depth: random.pick(&[1, 2, 5, 20, 100, 100]),
            k: 1,
            window_tokens: random.pick(&[1, 30, 2048]),
            fusion: random.pick(&[Fusion::Convex, Fusion::Rrf]),
            alpha: random.pick(&[0.0, 0.3, 0.6, 1.0]),
            rrf_k: random.pick(&[1.0, 60.0]),
            bm25: random.pick(&[
                Bm25::default(),
                Bm25::default(),
                Bm25 { k1: 0.0, b: 0.0 },
                Bm25 { k1: 2.0, b: 1.0 },
            ]),
            dense: random.pick(&[DensePath::Auto, DensePath::Exact]),
            ..Settings::default()
        }
    }

    fn filter(random: &mut Random, corpus: &Corpus) -> Filter {
        let mut filter = Filter::default();
        for _ in 0..random.pick(&[0, 0, 0, 0, 1, 1, 2]) {
            let id = &corpus.documents[random.below(corpus.documents.len())].id;
            let written = match random.below(9) {
                0 => format!("account={}", random.pick(&ACCOUNTS)),
                1 => format!("region={},{}", random.pick(&REGIONS), random.pick(&REGIONS)),
                2 => format!("product={}", random.pick(&["C-3", "T-7", "K-1"])),
                3 => format!("weight{}2.5", random.pick(&["<", "<=", ">", ">="])),
                4 => format!("effective_from<={}", random.pick(&DAYS)),
                5 => format!("id={id}"),
                6 => format!("classification={}", random.pick(&CLASSES)),
                7 => format!("{}={}", random.pick(&RARE), random.pick(&WORDS[..6])),
                // Nearly a key: the message may name only what the asker has seen.
                _ => {
                    format!("{}=x", random.pick(&["pay_roll", "merge", "acount", "sections.Cost"]))
                }
            };
            filter.add(&written).unwrap();
        }
        if random.chance(15) {
            filter.as_of(random.pick(&DAYS)).unwrap();
        }
        filter
    }

    /// The answer of `index` within `scope`, or the text of the error. A twin is open to everyone, so it
    /// has to be told to take the exact path that a policy brings with it.
    fn answer(&self, index: &Arc<Index>, scope: &Scope) -> Result<Outcome, String> {
        let scope = index.narrow(scope, &self.filter).map_err(|fault| fault.to_string())?;
        let dense = if scope.is_restricted() { self.settings.dense } else { DensePath::Exact };
        let settings = Settings { dense, ..self.settings.clone() };
        let searcher = Searcher::new(Arc::clone(index), settings).unwrap();
        let request = Request::new(self.question.clone(), scope).mode(self.mode);
        let mut request = request.k(self.k, &self.settings).unwrap();
        if let Some(least) = self.min_score {
            request = request.min_score(least).unwrap();
        }
        searcher.retrieve(&request).map_err(|fault| fault.to_string())
    }

    /// What else is shown of an answer: references, text and titles, and the words behind each score.
    fn shown(&self, index: &Index, scope: &Scope, outcome: &Outcome) -> Vec<String> {
        let query = Query::new(index.analyzer().question(&self.question));
        let passages = index.passages();
        let show = |hit: &atlas::search::ContextBlock| {
            let (row, tokens) = (hit.row, hit.tokens);
            let (score, reference) = (hit.score.to_bits(), passages.reference(row).unwrap());
            let block = passages.block(hit.block).unwrap();
            let (text, sections) = (passages.block_text(&block), passages.sections(&block));
            let words = index.lexical().explain(&query, scope, self.settings.bm25, row).unwrap();
            format!("{reference} {score:x} {tokens} {text:?} {sections:?} {words:?}")
        };
        outcome.context.iter().map(show).collect()
    }

    /// The first difference between what is got in `scope` of the whole index and from the twin.
    fn compare(
        &self,
        whole: (&Arc<Index>, &Scope),
        twin: &Twin,
        seen: &mut Seen,
    ) -> Option<String> {
        let (index, scope) = whole;
        let ours = self.answer(index, scope);
        let Some(other) = twin.searcher.as_ref().map(Searcher::index) else {
            return match ours {
                Ok(outcome) if outcome.context.is_empty() => {
                    difference((index, &outcome), None).unwrap()
                }
                Ok(_) => Some("a context where nothing is readable".to_owned()),
                Err(said) => said.contains("did you mean").then_some(said),
            };
        };
        let all = other.everyone();
        let theirs = self.answer(other, &all);
        match (ours, theirs) {
            (Err(ours), Err(theirs)) => {
                seen.refused += 1;
                (ours != theirs).then(|| format!("`{ours}`; the twin: `{theirs}`"))
            }
            (Ok(ours), Ok(theirs)) => {
                seen.note(&ours);
                let (stages, expected) = (ours.trace.stages.len(), theirs.trace.stages.len());
                if stages != expected {
                    return Some(format!("{stages} stages, {expected} in the twin"));
                }
                let different = difference((index, &ours), Some((other, &theirs))).unwrap();
                let shown = || {
                    let ours = self.shown(index, scope, &ours);
                    let theirs = self.shown(other, &all, &theirs);
                    (ours != theirs).then(|| format!("context {ours:?}; the twin: {theirs:?}"))
                };
                different.or_else(shown)
            }
            (ours, theirs) => Some(format!("{:?}; the twin: {:?}", ours.err(), theirs.err())),
        }
    }
}

/// What the cases were like, so that a run which proves little is seen to.
#[derive(Debug, Default)]
struct Seen {
    cases: usize,
    corpora: usize,
    /// Cases in which some passages are readable and some are not.
    partial: usize,
    /// Cases in which nothing is readable.
    nothing: usize,
    /// Cases that ended in the same error on both sides.
    refused: usize,
    /// Cases with a context.
    found: usize,
    /// Cases with two candidates of one score.
    tied: usize,
}

impl Seen {
    fn note(&mut self, outcome: &Outcome) {
        self.found += usize::from(!outcome.context.is_empty());
        let fused = outcome.trace.stage("fuse").map_or(&[][..], |stage| &stage.list);
        self.tied += usize::from(fused.windows(2).any(|two| two[0].score == two[1].score));
    }
}

/// Says how to repeat a case that panics.
struct Repeat {
    seed: u64,
    cases: usize,
}

impl Repeat {
    fn way(&self) -> String {
        format!("ATLAS_SEED={} ATLAS_CASES={}, the last case", self.seed, self.cases.max(1))
    }
}

impl Drop for Repeat {
    fn drop(&mut self) {
        if std::thread::panicking() {
            println!("stopped at {}", self.way());
        }
    }
}

/// Runs `cases` cases, the asker's scope changed by `change`, and hands on every difference from the twin.
fn run(
    cases: usize,
    change: impl Fn(&Index, Scope) -> Scope,
    mut differs: impl FnMut(String),
) -> Seen {
    let mut seen = Seen::default();
    while seen.cases < cases {
        let mut repeat = Repeat { seed: first_seed() + seen.corpora as u64, cases: 0 };
        let mut random = Random::new(repeat.seed);
        let world = World::random(&mut random);
        seen.corpora += 1;
        for _ in 0..ASKERS {
            let asker = asker(&mut random);
            let scope = change(&world.index, world.scope(asker.as_ref()));
            let twin = world.twin(asker.as_ref());
            let readable = scope.allowed().count();
            for _ in 0..CASES_AN_ASKER.min(cases - seen.cases) {
                seen.cases += 1;
                repeat.cases += 1;
                seen.nothing += usize::from(readable == 0);
                seen.partial += usize::from(readable > 0 && !scope.allowed().is_all());
                let ask = Ask::random(&mut random, &world.corpus);
                if let Some(what) = ask.compare((&world.index, &scope), &twin, &mut seen) {
                    differs(format!("{what}\n{}\n{asker:?}\n{ask:?}", repeat.way()));
                }
            }
        }
    }
    seen
}

#[test]
fn what_may_not_be_read_changes_nothing() {
    let cases = cases_wanted();
    let seen = run(cases, |_, scope| scope, |what| panic!("{what}"));
    println!(
        "{} cases over {} corpora and {} twins: 0 differences, bit for bit",
        seen.cases,
        seen.corpora,
        seen.cases.div_ceil(CASES_AN_ASKER)
    );
    println!(
        "of them {} with some passages closed, {} with all, {} with none",
        seen.partial,
        seen.cases - seen.partial - seen.nothing,
        seen.nothing
    );
    println!(
        "{} found something, {} with tied scores; {} were refused alike on both sides",
        seen.found, seen.tied, seen.refused
    );
    // A run proves something only if scopes cut through corpora and questions are answered.
    if cases >= 60 {
        assert!([seen.partial, seen.found, seen.tied].iter().all(|n| *n > 0), "{seen:?}");
    }
    if cases >= 1000 {
        assert!(seen.partial > cases / 3 && seen.found > cases / 3, "{seen:?}");
        assert!(seen.tied > cases / 10 && seen.refused > 0 && seen.nothing > 0, "{seen:?}");
    }
}

/// The comparison itself, tried on an engine that drops what is forbidden and takes its statistics over
/// everything: nothing forbidden is in any list, and yet the scores tell that it exists.
#[test]
fn statistics_of_everything_would_be_seen() {
    let mut differences = 0;
    let everything = |index: &Index, scope: Scope| index.everyone().narrowed(scope.readable());
    let seen = run(cases_wanted().min(200), everything, |_| differences += 1);
    println!("with the statistics of everything {differences} of {} cases differ", seen.cases);
    assert!(seen.cases < 60 || differences > seen.cases / 10, "{differences} differences");
}

// Corpora of many windows, blocks of postings and rows to pass over.

/// Documents of four passages: more rows than the lexical leg adds up at a time (4096), so that its windows
/// begin at other rows in a twin.
const LARGE: usize = 1200;

#[test]
fn in_a_large_corpus_too() {
    let (askers, questions) = if cases_wanted() < 1000 { (2, 30) } else { (10, 100) };
    let repeat = Repeat { seed: first_seed(), cases: cases_wanted() };
    let mut random = Random::new(repeat.seed ^ 0xffff_0000);
    let (world, sentences) = large_world(&mut random, LARGE, usize::MAX);
    let mut seen = Seen::default();
    for _ in 0..askers {
        let percent = random.pick(&[10, 40, 70, 95]);
        let asker = Some(with_roles(random.some(&MANY_ROLES, percent)));
        let (scope, twin) = (world.scope(asker.as_ref()), world.twin(asker.as_ref()));
        for _ in 0..questions {
            let words: Vec<&str> = sentences[random.below(sentences.len())].split(' ').collect();
            let ask = Ask {
                question: random.words(&words, 2, 8),
                filter: Filter::default(),
                ..Ask::random(&mut random, &world.corpus)
            };
            seen.cases += 1;
            let different = ask.compare((&world.index, &scope), &twin, &mut seen);
            assert_eq!(different, None, "{asker:?} {ask:?}");
        }
    }
    let rows = world.index.manifest().passages;
    println!("{} cases over {rows} passages, {askers} askers: 0 differences", seen.cases);
    assert!(rows > 4096 && seen.found > seen.cases / 3, "{rows} rows, {seen:?}");
}

fn with_roles(roles: Vec<String>) -> Asker {
    Asker {
        id: "somebody".to_owned(),
        roles,
        accounts: Vec::new(),
        regions: Vec::new(),
        notes: String::new(),
    }
}

/// One role a class: a share of the roles is a share of the corpus.
const MANY_ROLES: [&str; 20] = [
    "r00", "r01", "r02", "r03", "r04", "r05", "r06", "r07", "r08", "r09", "r10", "r11", "r12",
    "r13", "r14", "r15", "r16", "r17", "r18", "r19",
];

/// A corpus with the words of the distributor's papers, in which every section is of some class.
fn large_world(random: &mut Random, documents: usize, graph_from: usize) -> (World, Vec<String>) {
    let papers = Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus/distributor");
    let papers = corpus::read(&papers, &CorpusSettings::default()).unwrap();
    let sentences: Vec<String> = papers
        .documents
        .iter()
        .flat_map(|document| document.body.split(['.', '\n']))
        .map(|sentence| sentence.trim_matches(['#', '|', ' ', '-']).to_owned())
        .filter(|sentence| sentence.split_whitespace().count() > 3 && !sentence.contains("---"))
        .collect();
    let folder = folder();
    let home = folder.path().join("corpus");
    fs::create_dir(&home).unwrap();
    let list: Vec<&str> = sentences.iter().map(String::as_str).collect();
    for number in 0..documents {
        let class = random.pick(&MANY_ROLES);
        let mut text = format!("---\nid: D-{number}\ntitle: Paper\nclassification: {class}\n");
        writeln!(text, "sections: {{ Closed: {} }}\n---", random.pick(&MANY_ROLES)).unwrap();
        for title in ["Open", "Closed", "More", "Last"] {
            let sentences = (0..2).map(|_| random.pick(&list)).collect::<Vec<_>>().join(". ");
            write!(text, "\n## {title}\n\n{sentences}.\n").unwrap();
        }
        fs::write(home.join(format!("{number}.md")), text).unwrap();
    }
    let rules = Rules {
        read: MANY_ROLES.iter().map(|role| (*role, vec![vec![*role]])).collect(),
        default: None,
    };
    let mut settings = index::Settings::default();
    settings.graph.from_passages = graph_from;
    (World::built(folder, settings, rules), sentences)
}

// The graph, which may miss rows of the scope and must never bring one from outside it.

/// Documents, walks and candidates kept of the forced graph, so many for so many cases.
fn graph_size() -> (usize, usize) {
    if cases_wanted() < 1000 { (100, 60) } else { (1500, 500) }
}

/// Recall of walks against the scan of the same scope.
#[derive(Debug, Default)]
struct Recall {
    walks: usize,
    /// Walks that came back short, so that the scan answered.
    scanned: usize,
    sum: f64,
    worst: f64,
}

impl Recall {
    /// Counts the first ten of `found` that are as near as the tenth of `truth`.
    fn add(&mut self, found: &Outcome, truth: &Outcome) {
        let [walked, exact] = [found, truth].map(|outcome| outcome.trace.stage("dense").unwrap());
        let exact = &exact.list[..exact.list.len().min(10)];
        let Some(last) = exact.last() else { return };
        let hits = walked.list.iter().take(10).filter(|hit| hit.score >= last.score).count();
        let recall = hits as f64 / exact.len() as f64;
        self.worst = if self.walks == 0 { recall } else { self.worst.min(recall) };
        self.walks += 1;
        self.scanned += usize::from(walked.note.contains("came back short"));
        self.sum += recall;
    }

    fn mean(&self) -> f64 {
        self.sum / self.walks as f64
    }
}

#[test]
fn the_graph_never_brings_a_forbidden_row() {
    let (documents, walks) = graph_size();
    let repeat = Repeat { seed: first_seed(), cases: cases_wanted() };
    let mut random = Random::new(repeat.seed ^ u64::from(u32::MAX));
    let (world, sentences) = large_world(&mut random, documents, 1);
    let rows = world.index.manifest().passages;
    let mut by_ef: BTreeMap<(usize, usize), Recall> = BTreeMap::new();
    let mut sizes = BTreeSet::new();
    for _ in 0..walks {
        let percent = random.pick(&[0, 5, 10, 25, 50, 75, 95, 100]);
        let asker = with_roles(random.some(&MANY_ROLES, percent));
        let scope = world.scope(Some(&asker));
        sizes.insert(scope.allowed().count());
        let words: Vec<&str> = sentences[random.below(sentences.len())].split(' ').collect();
        let question = random.words(&words, 2, 8);
        for (ef, depth) in [(10, 10), (64, 10), (256, 100)] {
            let ask = |dense| {
                let settings = Settings { dense, ef, depth, ..Settings::default() };
                let searcher = Searcher::new(Arc::clone(&world.index), settings).unwrap();
                searcher.retrieve(&Request::new(question.as_str(), scope.clone())).unwrap()
            };
            let [walked, exact] = [DensePath::Graph, DensePath::Exact].map(ask);
            for stage in &walked.trace.stages {
                for scored in &stage.list {
                    assert!(world.may(Some(&asker), scored.row), "{}: {asker:?}", stage.name);
                }
            }
            by_ef.entry((ef, depth)).or_default().add(&walked, &exact);
        }
    }
    println!("graph forced over {rows} passages under {} scopes of other sizes", sizes.len());
    for ((ef, depth), recall) in &by_ef {
        println!(
            "ef {ef:3}, depth {depth:3}: {} walks, no forbidden row; recall@10 {:.4} on average, \
             {:.1} at worst; {} walks came back short and were scanned",
            recall.walks,
            recall.mean(),
            recall.worst,
            recall.scanned
        );
    }
    let default = &by_ef[&(256, 100)];
    assert!(default.mean() > 0.99, "{default:?}");
}
