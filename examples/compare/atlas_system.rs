//! Atlas behind the protocol.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use atlas::access::{Bitmap, Scope};
use atlas::corpus::{Corpus, Document};
use atlas::format::Store;
use atlas::index::{self, Filter, Index, Options, Quiet};
use atlas::lexical::{Bm25, LexicalWriter, Query};
use atlas::search::{DensePath, Request, Retriever as _, Searcher, Settings};
use atlas::text::{Analyzer, Stems};
use atlas::vectors::Embedder;
use atlas::vectors::build::{Batched, GraphBuilder as _, GraphParams};
use atlas::vectors::codes::Codes;
use atlas::vectors::rows::Rows;
use serde_json::{Value, json};

use crate::Result;
use crate::given::Given;
use crate::npy::Matrix;
use crate::serve::{Asked, K, System, bytes_below, headed, parts};

/// Atlas over the data in one folder, with its index in another.
pub struct Atlas {
    data: PathBuf,
    folder: PathBuf,
    /// The embeddings of the questions, as peers are given them: read before anything is timed.
    questions: Arc<Given>,
    opened: Option<Opened>,
}

struct Opened {
    index: Arc<Index>,
    searcher: Searcher,
    everyone: Scope,
    /// The scopes of filters that are known beforehand, by what passes of 100.
    scopes: Vec<(u32, Scope)>,
}

impl Atlas {
    pub fn new(data: &Path, folder: &Path) -> Result<Self> {
        let questions = Arc::new(Given::questions(data)?);
        Ok(Self { data: data.to_owned(), folder: folder.to_owned(), questions, opened: None })
    }

    /// The index as anyone gets it.
    fn whole(&self) -> Store {
        Store::new(self.folder.join("whole"))
    }

    /// The same with a graph, however few rows there are.
    fn walked(&self) -> Store {
        Store::new(self.folder.join("walked"))
    }

    fn settings(from_passages: Option<usize>) -> index::Settings {
        let mut settings = index::Settings::default();
        if let Some(from) = from_passages {
            settings.graph.from_passages = from;
        }
        settings
    }

    /// The pages of the data, as reading a folder would give them.
    fn corpus(&self) -> Result<Corpus> {
        let text = fs::read_to_string(self.data.join("pages.jsonl"))?;
        let pages: std::result::Result<Vec<Document>, _> =
            text.lines().map(serde_json::from_str).collect();
        Ok(Corpus {
            documents: pages?,
            skipped: Vec::new(),
            noted: Vec::new(),
            fingerprint: "compare".to_owned(),
            files: Vec::new(),
            closed: Vec::new(),
        })
    }

    fn build_index(
        &self,
        corpus: &Corpus,
        given: &Given,
        store: &Store,
        from: Option<usize>,
    ) -> Result<Value> {
        let settings = Self::settings(from);
        let report = index::build(corpus, &settings, given, store, Options::default(), &mut Quiet)?;
        let manifest = report.manifest;
        let recall = manifest.graph.as_ref().map(|graph| graph.recall_at_10);
        Ok(json!({
            "bytes": bytes_below(store.folder())?, "passages": manifest.passages, "graph_recall": recall,
        }))
    }
}

impl System for Atlas {
    fn version(&self) -> String {
        env!("CARGO_PKG_VERSION").to_owned()
    }

    fn build(&mut self, part: &str) -> Result<Box<dyn FnOnce() -> Result<Value> + '_>> {
        self.opened = None;
        match part {
            "whole" | "walked" => {
                let (corpus, given) = (self.corpus()?, Given::passages(&self.data)?);
                let (store, from) =
                    if part == "whole" { (self.whole(), None) } else { (self.walked(), Some(1)) };
                if store.folder().exists() {
                    fs::remove_dir_all(store.folder())?;
                }
                Ok(Box::new(move || self.build_index(&corpus, &given, &store, from)))
            }
            "graph" => {
                let matrix = Matrix::read(&self.data.join("vectors.npy"))?;
                Ok(Box::new(move || {
                    let codes = Codes::of(matrix.dim, &matrix.numbers)?;
                    let rows = Rows::with_codes(matrix.dim, &matrix.numbers, &codes)?;
                    let graph = Batched.build(&rows, &GraphParams::default())?;
                    let sections = graph.to_sections();
                    let links = sections.links0.len() + sections.upper_links.len();
                    let numbers = links + sections.upper_starts.len() + sections.head.len();
                    let hot = codes.codes.len() + 8 * codes.scales.len() + 4 * numbers;
                    let bytes = hot + 4 * matrix.numbers.len();
                    Ok(json!({"bytes": bytes, "hot_bytes": hot}))
                }))
            }
            "text" => {
                let texts = headed(&self.data.join("passages.jsonl"))?;
                let folder = self.folder.join("text");
                if folder.exists() {
                    fs::remove_dir_all(&folder)?;
                }
                fs::create_dir_all(&folder)?;
                Ok(Box::new(move || {
                    let analyzer = Analyzer::new(&atlas::text::Settings::default())?;
                    let mut stems = Stems::default();
                    let mut writer = LexicalWriter::create(&folder, 256 << 20)?;
                    for (headings, text) in &texts {
                        let (terms, count) = analyzer.passage(headings, text, &mut stems);
                        writer.add(&terms, count)?;
                    }
                    writer.finish()?;
                    Ok(json!({"bytes": bytes_below(&folder)?}))
                }))
            }
            _ => Err(format!("Atlas has no part `{part}`").into()),
        }
    }

    fn open(&mut self, task: &str) -> Result<()> {
        // Below the threshold the whole index has no graph to walk over.
        let walked = task == "dense" && self.walked().exists();
        let (store, from) = if walked { (self.walked(), Some(1)) } else { (self.whole(), None) };
        let given: Arc<dyn Embedder> = Arc::clone(&self.questions) as _;
        let index = Arc::new(Index::open(&store, &Self::settings(from), given, None)?);
        // Ten hits whatever their length: others have no budget of tokens.
        let settings = Settings { k: K, window_tokens: 10_000_000, ..Settings::default() };
        let searcher = Searcher::new(Arc::clone(&index), settings)?;
        let (everyone, mut scopes) = (index.everyone(), Vec::new());
        if task == "scoped" {
            let parts = parts(&self.data)?;
            for pass in [50, 10, 1] {
                let rows =
                    (0u32..).zip(&parts).filter(|(_, part)| **part < pass).map(|(row, _)| row);
                let filter = Bitmap::of(parts.len() as u32, rows);
                scopes.push((pass, everyone.narrowed(&filter)));
            }
        }
        self.opened = Some(Opened { index, searcher, everyone, scopes });
        Ok(())
    }

    fn search(&self, task: &str, asked: &Asked<'_>) -> Result<(Vec<u32>, usize)> {
        let opened = self.opened.as_ref().ok_or("no index is open")?;
        let index = &opened.index;
        match task {
            "dense" => {
                // 0 stands for the scan, which needs no graph and misses nothing.
                let found = match asked.ef {
                    0 => index.vectors().scan(asked.vector, &opened.everyone, K)?,
                    ef => index.vectors().walk(asked.vector, &opened.everyone, K, ef)?,
                };
                Ok((rows(found.hits), 0))
            }
            "scoped" => {
                let known = opened.scopes.iter().find(|(pass, _)| Some(*pass) == asked.pass);
                let scope = known.map_or(&opened.everyone, |(_, scope)| scope);
                let found = index.vectors().search(asked.vector, scope, K, asked.ef)?;
                Ok((rows(found.hits), 0))
            }
            "lexical" => {
                let query = Query::new(index.analyzer().asked(asked.text));
                let found = index.lexical().search(&query, &opened.everyone, Bm25::default(), K)?;
                Ok((rows(found), 0))
            }
            "hybrid" | "filtered" => opened.whole(asked),
            _ => Err(format!("Atlas has no task `{task}`").into()),
        }
    }
}

impl Opened {
    /// The whole search as a caller has it: both legs, fused, reranked, with the text of the hits.
    fn whole(&self, asked: &Asked<'_>) -> Result<(Vec<u32>, usize)> {
        let scope = match asked.pass {
            None => self.everyone.clone(),
            Some(pass) => {
                let mut filter = Filter::default();
                filter.add(&format!("part<{pass}"))?;
                self.index.narrow(&self.everyone, &filter)?
            }
        };
        debug_assert_eq!(self.searcher.settings().dense, DensePath::Auto);
        let outcome = self.searcher.retrieve(&Request::new(asked.text, scope))?;
        let passages = self.index.passages();
        let mut bytes = 0;
        for hit in &outcome.context {
            let text = passages.passage_text(&passages.passage(hit.row)?)?;
            bytes += std::hint::black_box(text.to_owned()).len();
        }
        Ok((outcome.context.iter().map(|hit| hit.row).collect(), bytes))
    }
}

fn rows(found: Vec<(u32, f64)>) -> Vec<u32> {
    found.into_iter().map(|(row, _)| row).collect()
}
