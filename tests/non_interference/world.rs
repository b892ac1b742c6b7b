//! Random corpora under random policies, their twins, and who asks.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::path::Path;
use std::sync::{Arc, LazyLock};

use atlas::access::{Asker, Policy, Scope};
use atlas::corpus::{self, Corpus, CorpusSettings, Metadata, Value};
use atlas::eval::twin::{Plan, Twin};
use atlas::format::Store;
use atlas::index::{self, Index, Options, Quiet};
use atlas::passage::cut;
use atlas::search::Settings;
use atlas::vectors::{Embedder, StaticModel};
use tempfile::TempDir;

use super::random::Random;

pub static MODEL: LazyLock<Arc<dyn Embedder>> =
    LazyLock::new(|| Arc::new(StaticModel::built_in().unwrap()));

/// Index folders lie in memory where the system has such a place: what a build syncs costs nothing there.
pub static IN_MEMORY: LazyLock<()> = LazyLock::new(|| {
    let place = Path::new("/dev/shm");
    if tempfile::tempdir_in(place).is_ok() {
        let _ = tempfile::env::override_temp_dir(place);
    }
});

pub fn folder() -> TempDir {
    LazyLock::force(&IN_MEMORY);
    tempfile::tempdir().unwrap()
}

// What corpora, policies and questions are made of.

pub const WORDS: [&str; 16] = [
    "margin", "contract", "price", "rebate", "hammer", "hammers", "E-417", "SKU-44", "the", "of",
    "cost", "zzxqv", "Preis", "価格", "12.5", "pricing",
];
pub const ABSENT: [&str; 5] = ["giraffe", "E-999", "qqqwx", "ξένος", "!?"];
pub const STOP_WORDS: [&str; 5] = ["the", "of", "and", "is", "what"];
pub const TITLES: [&str; 5] = ["Costs", "Notes", "The price", "margin", "E-417"];
/// `ghost` is in no policy.
pub const CLASSES: [&str; 7] = ["open", "inner", "money", "deal", "area", "void", "ghost"];
pub const ROLES: [&str; 3] = ["sales", "boss", "books"];
pub const ACCOUNTS: [&str; 3] = ["acme", "bolt", "crane"];
pub const REGIONS: [&str; 3] = ["north", "south", "east"];
pub const DAYS: [&str; 3] = ["2025-12-31", "2026-01-01", "2026-07-15"];
/// Keys that few documents have: whether one is known depends on who asks.
pub const RARE: [&str; 4] = ["payroll", "payrolls", "merger", "audit_state"];

/// A policy as the test understands it, without the library's own reading of it.
pub struct Rules {
    pub read: BTreeMap<&'static str, Vec<Vec<&'static str>>>,
    pub default: Option<&'static str>,
}

impl Rules {
    pub fn random(random: &mut Random) -> Self {
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

    pub fn demand(random: &mut Random) -> &'static str {
        random.pick(&["everyone", "owner", "region", ROLES[0], ROLES[1], ROLES[2], ROLES[0]])
    }

    pub fn yaml(&self) -> String {
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
    pub fn may(&self, asker: Option<&Asker>, metadata: &Metadata, sections: &[String]) -> bool {
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
pub fn paper(random: &mut Random, id: &str, bodies: &mut Vec<String>) -> String {
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
pub struct World {
    pub corpus: Corpus,
    pub rules: Rules,
    pub policy: Policy,
    pub settings: index::Settings,
    pub index: Arc<Index>,
    pub _folder: TempDir,
}

impl World {
    pub fn random(random: &mut Random) -> Self {
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
    pub fn built(folder: TempDir, settings: index::Settings, rules: Rules) -> Self {
        let strict = CorpusSettings { strict: true, ..CorpusSettings::default() };
        let corpus = corpus::read(&folder.path().join("corpus"), &strict).unwrap();
        let path = folder.path().join("access.yaml");
        fs::write(&path, rules.yaml()).unwrap();
        let policy = Policy::read(&path).unwrap();
        let store = Store::new(folder.path().join("index"));
        let options = Options { policy: Some(&policy), ..Options::default() };
        index::build(&corpus, &settings, MODEL.as_ref(), &store, options, &mut Quiet).unwrap();
        let index = Index::open(&store, &settings, Arc::clone(&MODEL), Some(&policy)).unwrap();
        Self { corpus, rules, policy, settings, index: Arc::new(index), _folder: folder }
    }

    pub fn twin(&self, asker: Option<&Asker>) -> Twin {
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
    pub fn may(&self, asker: Option<&Asker>, row: u32) -> bool {
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
    pub fn scope(&self, asker: Option<&Asker>) -> Scope {
        let scope = self.index.scope(asker).unwrap();
        assert!(scope.is_restricted());
        for row in 0..self.index.manifest().passages as u32 {
            let (said, truth) = (scope.readable().contains(row), self.may(asker, row));
            assert_eq!(said, truth, "row {row} for {asker:?} under\n{}", self.rules.yaml());
        }
        scope
    }
}

pub fn asker(random: &mut Random) -> Option<Asker> {
    let percent = random.pick(&[0, 40, 60, 80, 100]);
    (!random.chance(7)).then(|| Asker {
        id: "somebody".to_owned(),
        roles: random.some(&ROLES, percent),
        accounts: random.some(&ACCOUNTS, percent),
        regions: random.some(&REGIONS, percent),
        notes: String::new(),
    })
}

pub fn with_roles(roles: Vec<String>) -> Asker {
    Asker {
        id: "somebody".to_owned(),
        roles,
        accounts: Vec::new(),
        regions: Vec::new(),
        notes: String::new(),
    }
}

/// One role a class: a share of the roles is a share of the corpus.
pub const MANY_ROLES: [&str; 20] = [
    "r00", "r01", "r02", "r03", "r04", "r05", "r06", "r07", "r08", "r09", "r10", "r11", "r12",
    "r13", "r14", "r15", "r16", "r17", "r18", "r19",
];

/// A corpus with the words of the distributor's papers, in which every section is of some class.
pub fn large_world(
    random: &mut Random,
    documents: usize,
    graph_from: usize,
) -> (World, Vec<String>) {
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
