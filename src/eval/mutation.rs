//! Breaking the engine on purpose, to see which questions notice.
//!
//! A question set is a test of the engine, and a test is worth what it would catch. Each [`Fault`] is a
//! mistake that a search engine can have; it is put into an engine beside the real one, through a
//! retriever that wraps it, through other settings, or through an index built wrongly in a temporary
//! folder. Nothing in the engine itself can be made to fail.
//!
//! Reference: DeMillo, Lipton and Sayward, "Hints on test data selection", Computer 11, 1978.

mod faults;
mod surgery;

use std::sync::Arc;

use serde::Serialize;

pub use faults::{FAULTS, Fault, Place};
use surgery::Patient;

use super::measurement::{Measured, Measurement, Options, measure};
use super::questions::{Question, QuestionSet};
use crate::access::{Asker, Policy, Scope};
use crate::corpus::Corpus;
use crate::error::{Error, Result};
use crate::format::Store;
use crate::index::{self, Index, Quiet};
use crate::search::{Mode, Outcome, Request, Retriever, Searcher};
use crate::vectors::Embedder;

/// Passages up to which an index is built again for a fault that needs it.
pub const REBUILD_PASSAGES_MAX: usize = 20_000;

/// What engines are built from and asked by.
#[derive(Clone, Copy)]
pub struct Plan<'p> {
    /// The documents.
    pub corpus: &'p Corpus,
    /// What shapes the index.
    pub settings: &'p index::Settings,
    /// What shapes the search.
    pub search: &'p crate::search::Settings,
    /// The model.
    pub embedder: &'p Arc<dyn Embedder>,
    /// Who may read what.
    pub policy: Option<&'p Policy>,
    /// Who asks a question.
    pub asker_of: &'p dyn Fn(&Question) -> Option<&'p Asker>,
}

impl std::fmt::Debug for Plan<'_> {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.debug_struct("Plan").field("settings", &self.settings).finish_non_exhaustive()
    }
}

/// What a fault did.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Noticed {
    /// The fault.
    pub fault: &'static str,
    /// What is broken.
    pub what: &'static str,
    /// Why it was not tried, if it was not: then nobody could notice.
    pub skipped: Option<String>,
    /// Questions that lose evidence: their recall falls.
    pub lost: Vec<String>,
    /// Questions of which recall, precision or rank is another, and whose recall does not fall.
    pub moved: Vec<String>,
}

/// Which questions notice which faults.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Report {
    /// The set.
    pub set: String,
    /// Its hash.
    pub set_hash: String,
    /// Scored questions; the others can notice nothing.
    pub scored: usize,
    /// Every fault, in the order of [`FAULTS`].
    pub faults: Vec<Noticed>,
    /// Scored questions that lose no evidence whatever is broken: dead weight, or far too easy.
    pub never_lose: Vec<String>,
}

impl Report {
    /// The faults that were tried and that no question notices at all.
    pub fn unnoticed(&self) -> Vec<&Noticed> {
        let tried = self.faults.iter().filter(|fault| fault.skipped.is_none());
        tried.filter(|fault| fault.lost.is_empty() && fault.moved.is_empty()).collect()
    }

    /// The faults that move some number and cost no question its evidence.
    pub fn harmless(&self) -> Vec<&Noticed> {
        let tried = self.faults.iter().filter(|fault| fault.skipped.is_none());
        tried.filter(|fault| fault.lost.is_empty() && !fault.moved.is_empty()).collect()
    }
}

/// Measures `set` with every fault, one at a time, beside `index`, which is built as `plan` says.
pub fn run(plan: &Plan<'_>, index: &Arc<Index>, set: &QuestionSet) -> Result<Report> {
    let base = plan.measured(index, &Place::None, set)?;
    let mut faults = Vec::with_capacity(FAULTS.len());
    for fault in FAULTS {
        let mut noticed = Noticed {
            fault: fault.name,
            what: fault.what,
            skipped: skipped(plan, index, set, &fault.place),
            lost: Vec::new(),
            moved: Vec::new(),
        };
        if noticed.skipped.is_none() {
            let broken = plan.broken(index, &fault.place, set)?;
            compare(&base, &broken, &mut noticed);
        }
        faults.push(noticed);
    }
    let loses = |id: &str| faults.iter().any(|fault| fault.lost.iter().any(|own| own == id));
    let never_lose: Vec<String> = base
        .scored(None)
        .filter(|question| question.value("recall") > Some(0.0) && !loses(&question.id))
        .map(|question| question.id.clone())
        .collect();
    Ok(Report {
        set: set.name.clone(),
        set_hash: set.hash.clone(),
        scored: base.scored(None).count(),
        never_lose,
        faults,
    })
}

/// Why a fault cannot show, whatever the questions.
fn skipped(plan: &Plan<'_>, index: &Index, set: &QuestionSet, place: &Place) -> Option<String> {
    let why = match place {
        Place::Filter if set.questions.iter().all(|question| question.filter.is_empty()) => {
            "no question carries a filter"
        }
        Place::Permissions | Place::Statistics if plan.policy.is_none() => "there is no policy",
        Place::Index(_) | Place::Corpus(_) if index.manifest().passages > REBUILD_PASSAGES_MAX => {
            return Some(format!(
                "it needs another index, of more than {REBUILD_PASSAGES_MAX} passages"
            ));
        }
        Place::Search(change) => {
            let mut search = plan.search.clone();
            change(&mut search);
            if search != *plan.search {
                return None;
            }
            "with the settings in force it changes nothing"
        }
        Place::Index(change) => {
            let mut settings = plan.settings.clone();
            change(&mut settings);
            if settings != *plan.settings {
                return None;
            }
            "with the settings in force it changes nothing"
        }
        Place::MinScore(_) if plan.search.min_score == 0.0 => "there is no minimum score",
        _ => return None,
    };
    Some(why.to_owned())
}

fn compare(base: &Measurement, broken: &Measurement, noticed: &mut Noticed) {
    for (before, after) in base.questions.iter().zip(&broken.questions) {
        if !before.is_scored() {
            continue;
        }
        let numbers =
            |question: &Measured| ["recall", "precision", "rank"].map(|name| question.value(name));
        if after.value("recall") < before.value("recall") {
            noticed.lost.push(before.id.clone());
        } else if numbers(before) != numbers(after) {
            noticed.moved.push(before.id.clone());
        }
    }
}

impl Plan<'_> {
    /// Measures `set` on an engine with the fault at `place`, with an index of its own if it needs one.
    fn broken(&self, index: &Arc<Index>, place: &Place, set: &QuestionSet) -> Result<Measurement> {
        let (settings, corpus) = match place {
            Place::Index(change) => {
                let mut settings = self.settings.clone();
                change(&mut settings);
                (settings, None)
            }
            Place::Corpus(keeps) => {
                let mut corpus = self.corpus.clone();
                let mut at = 0..;
                corpus.documents.retain(|_| at.next().is_some_and(keeps));
                (self.settings.clone(), Some(corpus))
            }
            _ => return self.measured(index, place, set),
        };
        let folder = tempfile::tempdir()
            .map_err(|e| Error::io("creating a folder in", std::env::temp_dir(), e))?;
        let store = Store::new(folder.path().join("index"));
        let options = index::Options { policy: self.policy, ..index::Options::default() };
        let corpus = corpus.as_ref().unwrap_or(self.corpus);
        let embedder = self.embedder.as_ref();
        index::build(corpus, &settings, embedder, &store, options, &mut Quiet)?;
        let index = Index::open(&store, &settings, Arc::clone(self.embedder), self.policy)?;
        self.measured(&Arc::new(index), place, set)
    }

    fn measured(
        &self,
        index: &Arc<Index>,
        place: &Place,
        set: &QuestionSet,
    ) -> Result<Measurement> {
        let mut search = self.search.clone();
        let mut mode = Mode::Hybrid;
        match place {
            Place::Search(change) => change(&mut search),
            Place::Mode(other) => mode = *other,
            _ => {}
        }
        let searcher = Searcher::new(Arc::clone(index), search.clone())?;
        let broken = Broken { searcher: &searcher, place };
        let options = Options { mode, ..Options::default() };
        let scope_of = |question: &Question| index.scope((self.asker_of)(question));
        measure(&broken, index, &search, set, options, &scope_of)
    }
}

/// An engine with a fault.
struct Broken<'b> {
    searcher: &'b Searcher,
    place: &'b Place,
}

impl Retriever for Broken<'_> {
    fn retrieve(&self, request: &Request) -> Result<Outcome> {
        let searcher = self.searcher;
        let patient = Patient { index: searcher.index(), settings: searcher.settings() };
        let scope = request.scope();
        match self.place {
            Place::Filter => {
                let scope = Scope::restricted(scope.readable().clone());
                searcher.retrieve(&Request::new(request.question(), scope))
            }
            Place::Permissions => {
                let rows = scope.readable().rows();
                let filtered = scope.allowed() != scope.readable();
                let scope = if filtered { scope.clone() } else { Scope::everyone(rows) };
                searcher.retrieve(&Request::new(request.question(), scope))
            }
            Place::Statistics => {
                let scope = Scope::everyone(scope.readable().rows()).narrowed(scope.allowed());
                searcher.retrieve(&Request::new(request.question(), scope))
            }
            Place::Question(change) => {
                searcher.retrieve(&Request::new(change(request.question()), scope.clone()))
            }
            Place::Legs(change) => {
                let mut recalled = searcher.recall(request)?;
                change(&patient, &mut recalled)?;
                searcher.replay(&recalled)
            }
            Place::Ranking(change) | Place::MinScore(change) => {
                patient.ranked_anew(searcher.retrieve(request)?, scope, *change)
            }
            Place::Context(change) => {
                let mut outcome = searcher.retrieve(request)?;
                change(&patient, &mut outcome.context)?;
                Ok(outcome)
            }
            Place::None
            | Place::Index(_)
            | Place::Corpus(_)
            | Place::Search(_)
            | Place::Mode(_) => searcher.retrieve(request),
        }
    }
}
