//! What the tests over the sample corpora share: the papers as the library reads them, and an index
//! of them in a folder that goes with it.
#![allow(dead_code, reason = "each test file is a crate of its own and uses its part of this")]

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use atlas::corpus::{self, Corpus, CorpusSettings, Document};
use atlas::eval::questions::{Question, QuestionSet};
use atlas::format::{Manifest, Store};
use atlas::index::{self, Filter, Index, Options, Quiet};
use atlas::passage::{Block, Passage, cut};
use atlas::search::{Mode, Outcome, Request, Retriever as _, Searcher, Settings};
use atlas::trace::Scored;
use atlas::vectors::{Embedder, StaticModel};
use serde_json::Value;

/// The size of a passage that the corpus of Atlas Bikes pins.
pub const MAX_TOKENS: usize = 120;

pub const MODES: [Mode; 3] = [Mode::Hybrid, Mode::Lexical, Mode::Dense];

/// `path` in the repository.
pub fn at(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(path)
}

pub fn yaml(path: &str) -> Value {
    from_yaml(path, &fs::read_to_string(at(path)).unwrap())
}

/// `text` of the file `path` as data.
pub fn from_yaml(path: &str, text: &str) -> Value {
    serde_saphyr::from_str(text).unwrap_or_else(|fault| panic!("{path}: {fault}"))
}

/// The text under `key`.
pub fn text<'v>(value: &'v Value, key: &str) -> &'v str {
    value[key].as_str().unwrap_or_else(|| panic!("`{key}` is no text in {value}"))
}

/// The texts of a list; none when there is nothing, one for a text alone.
pub fn texts(value: &Value) -> Vec<&str> {
    match value {
        Value::Null => Vec::new(),
        Value::Array(items) => items.iter().map(|item| item.as_str().unwrap()).collect(),
        one => vec![one.as_str().unwrap()],
    }
}

/// Words in lower case: runs of letters and digits, so that `E-417` is `e`, `417`.
pub fn words(text: &str) -> Vec<String> {
    let runs = text.split(|c: char| !c.is_alphanumeric()).filter(|run| !run.is_empty());
    runs.map(str::to_lowercase).collect()
}

/// Whether the words of `phrase` stand in `text` one after the other.
pub fn says(text: &str, phrase: &str) -> bool {
    let (text, phrase) = (words(text), words(phrase));
    text.windows(phrase.len()).any(|window| window == phrase)
}

/// Share of the words of two texts, each counted once, that both have, 0.0..=1.0.
pub fn jaccard(a: &str, b: &str) -> f64 {
    let set = |text| words(text).into_iter().collect::<BTreeSet<String>>();
    let (a, b) = (set(a), set(b));
    a.intersection(&b).count() as f64 / a.union(&b).count() as f64
}

/// A corpus and how it is cut.
pub struct Papers {
    pub corpus: Corpus,
    cut: Vec<Vec<(Block, Vec<Passage>)>>,
}

impl Papers {
    /// Reads `corpus/<name>`; of it only `subset`, if given.
    pub fn read(name: &str, subset: Option<Vec<String>>) -> Self {
        let settings = CorpusSettings { strict: true, subset, ..CorpusSettings::default() };
        let corpus = corpus::read(&at("corpus").join(name), &settings).unwrap();
        let sizes = index_settings().passage;
        let cut = corpus.documents.iter().map(|document| cut(document, &sizes)).collect();
        Self { corpus, cut }
    }

    pub fn documents(&self) -> &[Document] {
        &self.corpus.documents
    }

    pub fn document(&self, id: &str) -> &Document {
        self.corpus.document(id).unwrap_or_else(|| panic!("there is no document {id}"))
    }

    /// Every block with its reference in words, in order.
    pub fn blocks(&self) -> impl Iterator<Item = (String, &Block)> {
        self.cut.iter().flatten().map(|(block, _)| (block.reference.to_string(), block))
    }

    pub fn block(&self, reference: &str) -> &Block {
        let found = self.blocks().find(|(own, _)| own == reference);
        found.unwrap_or_else(|| panic!("there is no block {reference}")).1
    }

    /// The names of all documents, blocks and passages.
    pub fn names(&self) -> BTreeSet<String> {
        let blocks = self.cut.iter().flatten();
        let passages = blocks.flat_map(|(block, passages)| {
            let own = passages.iter().map(|passage| passage.reference.to_string());
            own.chain([block.reference.to_string()])
        });
        passages.chain(self.documents().iter().map(|document| document.id.clone())).collect()
    }

    /// Passages of the document `id`.
    pub fn passages(&self, id: &str) -> usize {
        let at = self.documents().iter().position(|document| document.id == id).unwrap();
        self.cut[at].iter().map(|(_, passages)| passages.len()).sum()
    }

    pub fn passages_total(&self) -> usize {
        self.cut.iter().flatten().map(|(_, passages)| passages.len()).sum()
    }
}

/// Title and body of a document: all that a reader sees.
pub fn whole(document: &Document) -> String {
    format!("{}\n{}", document.title, document.body)
}

/// The nine documents of `sample.toml`.
pub fn sample() -> Vec<String> {
    let text = fs::read_to_string(at("corpus/atlas-bikes/sample.toml")).unwrap();
    let table: toml::Table = text.parse().unwrap();
    table["documents"].clone().try_into().unwrap()
}

/// One of the two question sets of Atlas Bikes.
pub fn questions(name: &str) -> QuestionSet {
    QuestionSet::read(&at("evals/atlas-bikes").join(format!("{name}.yaml"))).unwrap()
}

/// The questions with expected answers at `path`, with the evidence that they state.
pub fn supporting(path: &str) -> QuestionSet {
    let mut kinds = BTreeSet::new();
    let mut questions = Vec::new();
    for case in yaml(path)["questions"].as_array().unwrap() {
        let mut own = serde_json::json!({
            "id": case["id"], "question": case["question"], "kind": case["kind"], "asker": case["asker"],
        });
        kinds.extend(texts(&case["kind"]).into_iter().map(str::to_owned));
        match case["supporting"].as_array().filter(|groups| !groups.is_empty()) {
            Some(groups) => own["relevant"] = Value::Array(groups.clone()),
            None => own["unscoreable"] = Value::from("abstains"),
        }
        questions.push(own);
    }
    let folder = tempfile::tempdir().unwrap();
    let set = folder.path().join("questions.yaml");
    let data = serde_json::json!({ "corpus": "c", "kinds": kinds, "questions": questions });
    fs::write(&set, data.to_string()).unwrap();
    QuestionSet::read(&set).unwrap()
}

/// Both sets in one list, development first.
pub fn all_questions() -> Vec<Question> {
    ["development", "held-out"].iter().flat_map(|name| questions(name).questions).collect()
}

/// The index settings that Atlas Bikes states.
pub fn index_settings() -> index::Settings {
    let mut settings = index::Settings::default();
    settings.passage.max_tokens = MAX_TOKENS;
    settings.passage.overlap_tokens = 0;
    settings
}

/// An index in a folder of its own.
pub struct Built {
    pub index: Arc<Index>,
    _folder: tempfile::TempDir,
}

impl Built {
    pub fn of(corpus: &Corpus, settings: &index::Settings) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let model = StaticModel::built_in().unwrap();
        let store = Store::new(folder.path());
        index::build(corpus, settings, model, &store, Options::default(), &mut Quiet).unwrap();
        let model: Arc<dyn Embedder> = Arc::new(model);
        let index = Arc::new(Index::open(&store, settings, model, None).unwrap());
        Self { index, _folder: folder }
    }

    pub fn manifest(&self) -> &Manifest {
        self.index.manifest()
    }

    pub fn searcher(&self, settings: &Settings) -> Searcher {
        Searcher::new(Arc::clone(&self.index), settings.clone()).unwrap()
    }

    /// `question` as everyone asks it, with the filter that it states.
    pub fn request(&self, question: &Question, mode: Mode) -> Request {
        let mut filter = Filter::default();
        for (key, values) in &question.filter {
            filter.require(key, values.clone());
        }
        let scope = self.index.narrow(&self.index.everyone(), &filter).unwrap();
        Request::new(question.question.clone(), scope).mode(mode)
    }

    /// The answer to `question` with `settings`.
    pub fn ask(&self, question: &Question, mode: Mode, settings: &Settings) -> Outcome {
        self.searcher(settings).retrieve(&self.request(question, mode)).unwrap()
    }

    /// The references of the context, best first.
    pub fn supplied(&self, outcome: &Outcome) -> Vec<String> {
        let name = |block| self.index.passages().block_reference(block).unwrap().to_string();
        outcome.context.iter().map(|block| name(block.block)).collect()
    }

    /// The blocks of a list of rows, each at its first place.
    pub fn blocks(&self, list: &[Scored]) -> Vec<String> {
        let mut blocks = Vec::new();
        for scored in list {
            let block = self.index.passages().reference(scored.row).unwrap().block.to_string();
            if !blocks.contains(&block) {
                blocks.push(block);
            }
        }
        blocks
    }

    /// The first row of a block.
    pub fn row(&self, block: &str) -> u32 {
        let passages = self.index.passages();
        let mut rows = 0..passages.passages_len();
        let found = rows.find(|row| passages.reference(*row).unwrap().block.to_string() == block);
        found.unwrap_or_else(|| panic!("there is no block {block}"))
    }
}

/// Whether any unit of any group of `question` is in `supplied`; blocks only, as the sets name them.
pub fn hits(question: &Question, supplied: &[String]) -> bool {
    question.judgments.groups().iter().flatten().any(|unit| supplied.contains(unit))
}
