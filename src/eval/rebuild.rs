//! An index held against one built from nothing: the proof that updates lost nothing.

use std::sync::Arc;

use super::twin::difference_from;
use crate::access::{Asker, Policy};
use crate::corpus::Corpus;
use crate::error::{Error, Result};
use crate::format::{Manifest, Store};
use crate::index::{self, Index, Options, Quiet, build};
use crate::search::{DensePath, Mode, Request, Retriever as _, Searcher};
use crate::vectors::Embedder;

/// Words of a passage that make a question.
const WORDS: usize = 8;

/// How much lower the recall of a graph may be than that of a fresh one.
const RECALL_MARGIN: f64 = 0.005;

/// Rows that the graphs are asked for.
const RECALL_SAMPLE: usize = 200;

/// What the index in hand is rebuilt from.
#[derive(Clone, Copy)]
pub struct Rebuild<'r> {
    /// The documents as they lie in the corpus now.
    pub corpus: &'r Corpus,
    /// What shapes the index.
    pub settings: &'r index::Settings,
    /// What shapes the search; the exact path is taken whatever it says.
    pub search: &'r crate::search::Settings,
    /// The model.
    pub embedder: &'r Arc<dyn Embedder>,
    /// Who may read what.
    pub policy: Option<&'r Policy>,
    /// On whose behalf is asked; nobody is always among them.
    pub askers: &'r [Asker],
}

impl std::fmt::Debug for Rebuild<'_> {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.debug_struct("Rebuild").field("settings", &self.settings).finish_non_exhaustive()
    }
}

/// What a comparison showed.
#[derive(Debug, Clone, PartialEq)]
pub struct Compared {
    /// Searches made in both indexes.
    pub searches: usize,
    /// What differs, in words; empty is the proof.
    pub differences: Vec<String>,
    /// Recall@10 of the graph against the exact scan, and that of the fresh graph.
    pub recall: Option<(f64, f64)>,
}

impl Rebuild<'_> {
    /// Builds from nothing in a temporary folder and compares `index` with it: digest, counts, what was
    /// passed over, and searches for words of `sample` documents spread evenly, in every mode and for
    /// every asker, stage by stage and to the last bit.
    ///
    /// # Errors
    ///
    /// The build fails, or a search does.
    pub fn compare(&self, index: &Arc<Index>, sample: usize) -> Result<Compared> {
        let folder = tempfile::tempdir()
            .map_err(|e| Error::io("creating a folder for a build in", std::env::temp_dir(), e))?;
        let store = Store::new(folder.path().join("index"));
        let options = Options { policy: self.policy, ..Options::default() };
        let embedder = self.embedder.as_ref();
        let built = build(self.corpus, self.settings, embedder, &store, options, &mut Quiet)?;
        let fresh = Index::open(&store, self.settings, Arc::clone(self.embedder), self.policy)?;
        let fresh = Arc::new(fresh);
        let mut compared = Compared {
            searches: 0,
            differences: held_differently(index.manifest(), &built.manifest),
            recall: None,
        };
        self.search(index, &fresh, sample, &mut compared)?;
        let ef = self.search.ef;
        let recall = |index: &Index| index.vectors().graph_recall(ef, RECALL_SAMPLE);
        if let (Some(ours), Some(theirs)) = (recall(index)?, recall(&fresh)?) {
            compared.recall = Some((ours, theirs));
            if ours < theirs - RECALL_MARGIN {
                compared.differences.push(format!(
                    "recall@10 of the graph is {ours:.4}, that of a fresh one {theirs:.4}"
                ));
            }
        }
        Ok(compared)
    }

    fn search(
        &self,
        index: &Arc<Index>,
        fresh: &Arc<Index>,
        sample: usize,
        compared: &mut Compared,
    ) -> Result<()> {
        let search = crate::search::Settings { dense: DensePath::Exact, ..self.search.clone() };
        let ours = Searcher::new(Arc::clone(index), search.clone())?;
        let theirs = Searcher::new(Arc::clone(fresh), search)?;
        let nobody = [None];
        let askers = nobody.into_iter().chain(self.askers.iter().map(Some));
        let askers: Vec<Option<&Asker>> = askers.collect();
        for (question, row) in questions(index, sample)? {
            // Where vectors are from outside, a question brings that of the passage its words are of.
            let brings = !index.embedder().reads_text();
            let vector = brings.then(|| index.vectors().row(row)).transpose()?;
            for &asker in &askers {
                let (scope, other) = (index.scope(asker)?, fresh.scope(asker)?);
                for mode in [Mode::Hybrid, Mode::Lexical, Mode::Dense] {
                    let ask = |searcher: &Searcher, scope| {
                        let request = Request::new(&*question, scope).mode(mode);
                        searcher.retrieve(&match vector {
                            Some(vector) => request.vector(vector)?,
                            None => request,
                        })
                    };
                    if scope.readable().rows() != other.readable().rows() {
                        // Counts differ, which has been said.
                        return Ok(());
                    }
                    let (a, b) = (ask(&ours, scope.clone())?, ask(&theirs, other.clone())?);
                    compared.searches += 1;
                    let name = "the fresh index";
                    if let Some(differs) = difference_from((index, &a), (fresh, &b), name)? {
                        compared.differences.push(format!("{mode:?}, `{question}`: {differs}"));
                    }
                }
            }
        }
        Ok(())
    }
}

/// The title and some words of documents spread evenly over the index, and the row that the words begin.
fn questions(index: &Index, sample: usize) -> Result<Vec<(String, u32)>> {
    let passages = index.passages();
    let step = (passages.documents_len() as usize / sample.max(1)).max(1);
    let mut questions = Vec::new();
    for number in (0..passages.documents_len()).step_by(step) {
        let document = passages.document(number)?;
        let block = passages.block(document.first_block + document.blocks / 2)?;
        let text = passages.block_text(&block)?;
        let words: Vec<&str> = text.split_whitespace().take(WORDS).collect();
        questions.push((document.title, block.first_row));
        questions.push((words.join(" "), block.first_row));
    }
    Ok(questions)
}

/// What two manifests say differently of what they hold.
fn held_differently(ours: &Manifest, theirs: &Manifest) -> Vec<String> {
    let counts = |name, ours: u64, theirs: u64| {
        (ours != theirs).then(|| format!("{ours} {name}, {theirs} in the fresh index"))
    };
    let mut differences: Vec<String> = [
        counts("documents", ours.documents as u64, theirs.documents as u64),
        counts("blocks", ours.blocks as u64, theirs.blocks as u64),
        counts("passages", ours.passages as u64, theirs.passages as u64),
        counts("terms", ours.terms_total, theirs.terms_total),
        counts("files passed over", ours.skipped.len() as u64, theirs.skipped.len() as u64),
    ]
    .into_iter()
    .flatten()
    .collect();
    for (name, ours, theirs) in [
        ("digest", &ours.digest, &theirs.digest),
        ("fingerprint", &ours.fingerprint, &theirs.fingerprint),
    ] {
        if ours != theirs {
            differences.push(format!("{name} {ours}, {theirs} in the fresh index"));
        }
    }
    differences
}
