//! The twin: the index as it would be if what an asker may not read had never been written.
//!
//! Non-interference is the strongest thing an embedded engine can assert of its access control: for
//! every question, what an asker gets from the whole index and from the twin is the same, references,
//! scores, order, counts and notes, at every stage, to the last bit.

use std::sync::Arc;

use crate::access::{Asker, Label, Policy};
use crate::corpus::Corpus;
use crate::error::{Error, Result};
use crate::format::Store;
use crate::index::{self, Index, Options, Quiet, build};
use crate::search::{DensePath, Outcome, Searcher};
use crate::vectors::Embedder;

/// What every twin of a run is built from.
#[derive(Clone, Copy)]
pub struct Plan<'p> {
    /// The documents, as they were read.
    pub corpus: &'p Corpus,
    /// What shapes the index.
    pub settings: &'p index::Settings,
    /// What shapes the search; twins take the exact path whatever it says.
    pub search: &'p crate::search::Settings,
    /// The model.
    pub embedder: &'p Arc<dyn Embedder>,
    /// Who may read what.
    pub policy: &'p Policy,
}

impl std::fmt::Debug for Plan<'_> {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.debug_struct("Plan").field("policy", &self.policy).finish_non_exhaustive()
    }
}

/// A twin, open; its files go when it is dropped.
#[derive(Debug)]
pub struct Twin {
    /// Its index; `None` when the asker may read nothing at all.
    pub searcher: Option<Searcher>,
    _folder: tempfile::TempDir,
}

impl Plan<'_> {
    /// Builds the twin of `asker` in a temporary folder.
    pub fn twin(&self, asker: Option<&Asker>) -> Result<Twin> {
        let folder = tempfile::tempdir()
            .map_err(|e| Error::io("creating a folder for the twin in", std::env::temp_dir(), e))?;
        let claims = asker.map(Asker::principals).unwrap_or_default();
        let keep =
            |label: &Label| self.policy.readers(label).iter().any(|set| set.is_subset(&claims));
        let options = Options { policy: None, keep: Some(&keep), ..Options::default() };
        let store = Store::new(folder.path().join("index"));
        let embedder = Arc::clone(self.embedder);
        let report =
            build(self.corpus, self.settings, embedder.as_ref(), &store, options, &mut Quiet)?;
        if report.manifest.passages == 0 {
            return Ok(Twin { searcher: None, _folder: folder });
        }
        let index = Arc::new(Index::open(&store, self.settings, embedder, None)?);
        let search = crate::search::Settings { dense: DensePath::Exact, ..self.search.clone() };
        Ok(Twin { searcher: Some(Searcher::new(index, search)?), _folder: folder })
    }
}

/// The first difference between what an asker got from the whole index and from the twin; `None` when
/// there is none.
pub fn difference(
    whole: (&Index, &Outcome),
    twin: Option<(&Index, &Outcome)>,
) -> Result<Option<String>> {
    let Some(twin) = twin else {
        let (_, outcome) = whole;
        let found: usize = outcome.trace.stages.iter().map(|stage| stage.list.len()).sum();
        return Ok((found > 0).then(|| format!("{found} candidates where nothing is readable")));
    };
    difference_from(whole, twin, "the twin")
}

/// The first difference between what two indexes gave, at every stage and to the last bit; `None` when
/// there is none. `other` names the second in what is said.
pub fn difference_from(
    whole: (&Index, &Outcome),
    twin: (&Index, &Outcome),
    other_name: &str,
) -> Result<Option<String>> {
    let lists = |(index, outcome): (&Index, &Outcome)| -> Result<Vec<Vec<(String, u64)>>> {
        let name = |scored: &crate::trace::Scored| {
            let reference = index.passages().reference(scored.row)?.to_string();
            Ok((reference, scored.score.to_bits()))
        };
        let stages = &outcome.trace.stages;
        stages.iter().map(|stage| stage.list.iter().map(name).collect()).collect()
    };
    let (ours, theirs) = (lists(whole)?, lists(twin)?);
    if ours.len() != theirs.len() {
        return Ok(Some(format!("{} stages, {} in {other_name}", ours.len(), theirs.len())));
    }
    let stages = whole.1.trace.stages.iter().zip(&twin.1.trace.stages);
    for ((own, other), (ours, theirs)) in stages.zip(ours.iter().zip(&theirs)) {
        let counts = (own.before, own.after, &own.note) == (other.before, other.after, &other.note);
        if !counts {
            return Ok(Some(format!(
                "{}: {} in, {} out, \"{}\"; {other_name}: {} in, {} out, \"{}\"",
                own.name, own.before, own.after, own.note, other.before, other.after, other.note
            )));
        }
        if ours.len() != theirs.len() {
            let (n, m) = (ours.len(), theirs.len());
            return Ok(Some(format!("{}: {n} in the list, {m} in that of {other_name}", own.name)));
        }
        if let Some(at) = (0..ours.len()).find(|at| ours[*at] != theirs[*at]) {
            return Ok(Some(format!("{}: place {} differs from {other_name}", own.name, at + 1)));
        }
    }
    let context = |(index, outcome): (&Index, &Outcome)| -> Result<Vec<(String, u64)>> {
        let name = |block: &crate::search::ContextBlock| {
            Ok((index.passages().reference(block.row)?.to_string(), block.score.to_bits()))
        };
        outcome.context.iter().map(name).collect()
    };
    if context(whole)? != context(twin)? {
        return Ok(Some(format!("the context differs from that of {other_name}")));
    }
    let tokens = (whole.1.tokens(), twin.1.tokens());
    Ok((tokens.0 != tokens.1).then(|| format!("{} tokens, {} in {other_name}", tokens.0, tokens.1)))
}
