//! An index that was brought up to date is the index that a build from nothing gives.
//!
//! Random corpora go through random changes. After each, the updated index and one built from nothing
//! must agree in everything but their files: digest, counts, what was passed over, and every search in
//! every mode for every asker, stage by stage and to the last bit. `tools/incremental-run` does
//! thousands; `ATLAS_INCREMENTAL=SEED,SEQUENCES` repeats any of them.
#![expect(clippy::unwrap_used, reason = "a test stops at the first surprise")]

#[path = "common/random.rs"]
mod random;

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::sync::Arc;

use atlas::access::{Askers, Policy};
use atlas::corpus::{self, CorpusSettings};
use atlas::eval::twin::difference_from;
use atlas::format::{Manifest, Store};
use atlas::index::{self, How, Index, Memory, Options, Quiet, build, update};
use atlas::search::{DensePath, Mode, Request, Retriever as _, Searcher, Settings};
use atlas::vectors::{Embedder, StaticModel};
use random::Random;

/// Sequences in a plain `cargo test`, and the changes of each.
const SEQUENCES: u64 = 6;
const STEPS: usize = 8;

const WORDS: [&str; 24] = [
    "brake",
    "wheel",
    "warranty",
    "battery",
    "serviced",
    "torque",
    "E-417",
    "frame",
    "margin",
    "dealer",
    "price",
    "spoke",
    "charger",
    "installing",
    "recall",
    "bulletin",
    "C-3",
    "T-7",
    "carbon",
    "light",
    "policy",
    "refund",
    "hours",
    "and",
];

const USERS: &str = "users:\n  - { id: anna, roles: [staff] }\n  - { id: ben, roles: [dealer] }\n";

const POLICIES: [&str; 3] = [
    "classifications:\n  public: { read: [everyone] }\n  internal: { read: [staff] }\ndefault: public\n",
    "classifications:\n  public: { read: [everyone] }\n  internal: { read: [staff, dealer] }\ndefault: public\n",
    "classifications:\n  public: { read: [dealer] }\n  internal: { read: [staff] }\ndefault: internal\n",
];

/// A corpus as it should be: what stands in each file.
struct Model {
    random: Random,
    files: BTreeMap<String, String>,
    made: usize,
    policy: Option<usize>,
    settings: index::Settings,
    reading: CorpusSettings,
    log: Vec<String>,
}

impl Model {
    fn new(seed: u64) -> Self {
        let mut random = Random(seed);
        let mut settings = index::Settings::default();
        settings.layers.most = 1 + random.below(5);
        settings.layers.rewrite_percent = [10, 60, 1_000_000, 1_000_000][random.below(4)];
        settings.graph.from_passages = [20_000, 1][random.below(2)];
        let policy = [None, Some(0)][random.below(2)];
        let (files, reading) = (BTreeMap::new(), CorpusSettings::default());
        let mut model = Self { random, files, made: 0, policy, settings, reading, log: Vec::new() };
        (0..4 + model.random.below(10)).for_each(|_| model.add());
        model
    }

    fn text(&mut self, id: &str) -> String {
        let label = ["public", "internal"][self.random.below(2)];
        let mut text = format!(
            "---\nid: {id}\ntitle: {}\nclassification: {label}\n---\n",
            self.random.words(&WORDS, 3, 3)
        );
        for _ in 0..1 + self.random.below(3) {
            let (heading, body) = (self.random.words(&WORDS, 2, 2), 5 + self.random.below(60));
            text.push_str(&format!(
                "\n## {heading}\n\n{}\n",
                self.random.words(&WORDS, body, body)
            ));
        }
        text
    }

    fn add(&mut self) {
        self.made += 1;
        // Ids in no order of time, so that new documents lie between old ones.
        let id = format!("D-{:03}-{}", self.random.below(1000), self.made);
        let folder = ["", "a/", "b/c/"][self.random.below(3)];
        let text = self.text(&id);
        self.files.insert(format!("{folder}{id}.md"), text);
    }

    fn any(&mut self) -> Option<String> {
        let at = self.random.below(self.files.len().max(1));
        self.files.keys().nth(at).cloned()
    }

    /// One random change; nothing is deleted from a corpus of two files.
    fn change(&mut self) {
        let Some(path) = self.any() else { return self.add() };
        let kind = self.random.below(12);
        self.log.push(format!("{kind} {path}"));
        match kind {
            0 | 1 => self.add(),
            2 | 3 if self.files.len() > 2 => {
                self.files.remove(&path);
            }
            4 => {
                // The same document in another place.
                if let Some(text) = self.files.remove(&path) {
                    self.files.insert(format!("moved/{}", path.replace('/', "-")), text);
                }
            }
            5 => {
                // Another id, so another place in the order.
                let id = format!("D-{:03}-x{}", self.random.below(1000), self.made);
                self.made += 1;
                let text = self.text(&id);
                self.files.insert(path, text);
            }
            6 => {
                // No document any more, and by a later change one again.
                self.files.insert(path, "---\nid: [\n---\nbroken\n".to_owned());
            }
            7 => {
                self.files.insert(format!("{path}.bak"), "no reader takes it".to_owned());
            }
            8 if self.policy.is_some() => self.policy = Some(self.random.below(POLICIES.len())),
            9 => {
                let exclude = [vec![], vec!["a/".to_owned()]];
                self.reading.exclude = exclude[self.random.below(2)].clone();
            }
            10 => {
                // Only a comment: nothing to index.
                self.files.insert(path, "<!-- nothing -->\n".to_owned());
            }
            11 => self.settings.text.language = ["en", "none"][self.random.below(2)].to_owned(),
            _ => {
                let id = format!("E-{}", self.made);
                self.made += 1;
                let words = self.random.words(&WORDS, 20, 20);
                let text =
                    self.files.entry(path).or_insert_with(|| format!("---\nid: {id}\n---\n"));
                text.push_str(&format!("\n{words}\n"));
            }
        }
    }

    /// Makes the folder hold what the model says, touching only what differs.
    fn lay_out(&self, folder: &Path, laid: &mut BTreeMap<String, String>) {
        for path in laid.keys().filter(|path| !self.files.contains_key(*path)) {
            fs::remove_file(folder.join(path)).unwrap();
        }
        for (path, text) in &self.files {
            if laid.get(path) != Some(text) {
                let path = folder.join(path);
                fs::create_dir_all(path.parent().unwrap()).unwrap();
                fs::write(path, text).unwrap();
            }
        }
        laid.clone_from(&self.files);
    }

    fn settings(&self) -> index::Settings {
        let reading = serde_json::to_string(&self.reading).unwrap();
        index::Settings { reading, ..self.settings.clone() }
    }
}

/// What of two manifests must be equal.
fn held(manifest: &Manifest) -> impl PartialEq + std::fmt::Debug + use<> {
    let m = manifest.clone();
    let sources: Vec<(String, u64, String)> =
        m.sources.into_iter().map(|file| (file.path, file.size_bytes, file.hash)).collect();
    let counts = (m.documents, m.blocks, m.passages, m.terms_total);
    (m.digest, m.fingerprint, counts, m.skipped, sources, m.policy)
}

struct Case<'c> {
    folder: &'c Path,
    embedder: &'c Arc<dyn Embedder>,
    askers: &'c Askers,
    /// Updates that wrote only what had changed.
    changes: usize,
    searches: usize,
}

impl Case<'_> {
    /// Updates and builds anew; gives what differs.
    fn check(&mut self, model: &mut Model) -> Option<String> {
        let papers = self.folder.join("papers");
        let policy = model.policy.map(|at| {
            let path = self.folder.join("access.yaml");
            fs::write(&path, POLICIES[at]).unwrap();
            Policy::read(&path).unwrap()
        });
        let options = Options { policy: policy.as_ref(), ..Options::default() };
        let settings = model.settings();
        let live = Store::new(self.folder.join("live"));
        let fresh = Store::new(self.folder.join("fresh"));
        let embedder = self.embedder.as_ref();
        // Where all is written, its documents wait in a file; those of the other build are held.
        let tight = index::Settings { memory: Memory { bytes: 0 }, ..settings.clone() };
        let updated = update(&papers, &model.reading, &tight, embedder, &live, options, &mut Quiet);
        let built = corpus::read(&papers, &model.reading)
            .and_then(|corpus| build(&corpus, &settings, embedder, &fresh, options, &mut Quiet));
        let (updated, built) = match (updated, built) {
            (Ok(updated), Ok(built)) => (updated, built),
            (Err(updated), Err(built)) => {
                let (updated, built) = (updated.to_string(), built.to_string());
                return (updated != built).then(|| format!("{updated}\nbut {built}"));
            }
            (updated, built) => {
                return Some(format!("{:?}\nbut {:?}", updated.err(), built.err()));
            }
        };
        self.changes += usize::from(matches!(updated.how, How::Changes { .. }));
        let (ours, theirs) = (held(&updated.manifest), held(&built.manifest));
        if ours != theirs {
            return Some(format!("{ours:?}\nbut {theirs:?}"));
        }
        if updated.closed != built.closed {
            return Some(format!("{:?}\nbut {:?}", updated.closed, built.closed));
        }
        let open = |store: &Store| {
            Arc::new(
                Index::open(store, &settings, Arc::clone(self.embedder), policy.as_ref()).unwrap(),
            )
        };
        let (live, fresh) = (open(&live), open(&fresh));
        if let Some(fault) = live.verify().into_iter().find_map(|check| check.fault) {
            return Some(fault);
        }
        if let (Some(ours), Some(theirs)) = (recall(&live), recall(&fresh))
            && ours < theirs - 0.005
        {
            return Some(format!("recall@10 of the graph {ours}, {theirs} of a fresh one"));
        }
        self.compare(model, &live, &fresh)
    }

    fn compare(
        &mut self,
        model: &mut Model,
        live: &Arc<Index>,
        fresh: &Arc<Index>,
    ) -> Option<String> {
        let search = Settings { dense: DensePath::Exact, depth: 30, ..Settings::default() };
        let ours = Searcher::new(Arc::clone(live), search.clone()).unwrap();
        let theirs = Searcher::new(Arc::clone(fresh), search).unwrap();
        let askers = [None, self.askers.get("anna"), self.askers.get("ben")];
        let askers = if model.policy.is_some() { &askers[..] } else { &askers[..1] };
        for _ in 0..4 {
            let words = 1 + model.random.below(5);
            let question = model.random.words(&WORDS, words, words);
            for mode in [Mode::Hybrid, Mode::Lexical, Mode::Dense] {
                for asker in askers {
                    let ask = |index: &Arc<Index>, searcher: &Searcher| {
                        let scope = index.scope(*asker).unwrap();
                        searcher.retrieve(&Request::new(&*question, scope).mode(mode)).unwrap()
                    };
                    let (a, b) = (ask(live, &ours), ask(fresh, &theirs));
                    self.searches += 1;
                    if let Some(differs) =
                        difference_from((live, &a), (fresh, &b), "the fresh index").unwrap()
                    {
                        return Some(format!("{mode:?} `{question}`: {differs}"));
                    }
                    let rows = |o: &atlas::search::Outcome| {
                        o.context.iter().map(|hit| (hit.row, hit.block)).collect::<Vec<_>>()
                    };
                    if rows(&a) != rows(&b) {
                        return Some(format!("{mode:?} `{question}`: rows have other numbers"));
                    }
                }
            }
        }
        None
    }
}

fn recall(index: &Index) -> Option<f64> {
    index.vectors().graph_recall(64, 50).unwrap()
}

#[test]
fn an_updated_index_is_the_one_that_a_build_from_nothing_gives() {
    let asked = std::env::var("ATLAS_INCREMENTAL").unwrap_or_default();
    let numbers: Vec<u64> = asked.split(',').filter_map(|part| part.parse().ok()).collect();
    let (first, sequences) = match numbers[..] {
        [first, sequences] => (first, sequences),
        _ => (1, SEQUENCES),
    };
    let embedder: Arc<dyn Embedder> = Arc::new(StaticModel::built_in().unwrap());
    let (mut changes, mut builds, mut searches) = (0, 0, 0);
    for seed in first..first + sequences {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir(folder.path().join("papers")).unwrap();
        fs::write(folder.path().join("users.yaml"), USERS).unwrap();
        let askers = Askers::read(&folder.path().join("users.yaml")).unwrap();
        let mut case = Case {
            folder: folder.path(),
            embedder: &embedder,
            askers: &askers,
            changes: 0,
            searches: 0,
        };
        let mut model = Model::new(seed);
        let mut laid = BTreeMap::new();
        for step in 0..STEPS {
            model.lay_out(&folder.path().join("papers"), &mut laid);
            if let Some(differs) = case.check(&mut model) {
                panic!(
                    "seed {seed}, step {step}, {:?}, after {:?}: {differs}",
                    model.settings.layers, model.log
                );
            }
            builds += 1;
            (0..1 + model.random.below(3)).for_each(|_| model.change());
        }
        changes += case.changes;
        searches += case.searches;
    }
    println!(
        "seeds {first} to {}: {builds} states, {changes} reached by writing changes only, {searches} searches: \
         0 differences",
        first + sequences - 1
    );
    // The test would say nothing if everything were always written anew.
    assert!(changes * 3 > builds, "only {changes} of {builds} builds wrote changes only");
}
