//! Joining the legs into one order.
//!
//! What the words of a candidate say is `bm25 + heading · Σ count · idf` over the terms of the question
//! that stand in its headings: a document about what is asked says so in its titles, and says it once.

use std::cmp::Ordering;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::{Candidate, Candidates, Mode, Request, Settings, Stage, cues};
use crate::error::Result;
use crate::index::Index;

/// How two scores become one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, Default)]
#[serde(rename_all = "lowercase")]
pub enum Fusion {
    /// `(1 − α) · words / top + α · (cos + 1) / (top + 1)`: each leg over its best score of the
    /// question, from its theoretical minimum (Bruch, Gai and Ingber, 2023). Every candidate has
    /// its true score from both legs. α is the setting, less for a question that the
    /// model could not read, so that in a language it does not know BM25 decides.
    #[default]
    Convex,
    /// Reciprocal rank fusion, `Σ 1 / (k + rank)` over the legs that found the row (Cormack, Clarke
    /// and Büttcher, 2009), scaled so that first in both is 1. Equal scores share a rank.
    Rrf,
}

/// Gives every candidate the score that it is ranked by.
pub(super) struct Fuse {
    pub index: Arc<Index>,
    pub settings: Arc<Settings>,
}

impl Stage for Fuse {
    fn name(&self) -> &'static str {
        "fuse"
    }

    fn run(&self, request: &Request, mut candidates: Candidates) -> Result<Candidates> {
        if self.settings.fusion == Fusion::Convex {
            self.complete(request, &mut candidates)?;
        }
        let words = self.words(request, &candidates)?;
        match self.settings.fusion {
            Fusion::Convex => self.convex(request, &mut candidates, &words),
            Fusion::Rrf => self.reciprocal(&mut candidates, &words),
        }
        cues::apply(&self.index, &request.question, &self.settings, &mut candidates)?;
        candidates.sort();
        Ok(candidates)
    }
}

impl Fuse {
    /// What the words of each candidate say: BM25, and what its headings add. `None` where the lexical
    /// leg gave no score.
    fn words(&self, request: &Request, candidates: &Candidates) -> Result<Vec<Option<f64>>> {
        let list = &candidates.list;
        if self.settings.heading == 0.0 || request.mode == Mode::Dense {
            return Ok(list.iter().map(|candidate| candidate.lexical).collect());
        }
        let rows: Vec<u32> = list.iter().map(|candidate| candidate.row).collect();
        let said = self.index.lexical().headings(&candidates.query, &request.scope, &rows)?;
        let both = list.iter().zip(said);
        Ok(both.map(|(c, said)| Some(c.lexical? + self.settings.heading * said)).collect())
    }

    fn convex(&self, request: &Request, candidates: &mut Candidates, words: &[Option<f64>]) {
        let alpha = match request.mode {
            Mode::Lexical => 0.0,
            Mode::Dense => 1.0,
            Mode::Hybrid if candidates.vector.is_none() => 0.0,
            Mode::Hybrid if candidates.query.terms().is_empty() => 1.0,
            Mode::Hybrid => self.settings.alpha * self.settings.trust(candidates.readable),
        };
        candidates.alpha = alpha;
        let lexical_top = words.iter().flatten().copied().fold(0.0, f64::max);
        let dense_top = candidates.list.iter().filter_map(|c| c.dense).fold(-1.0, f64::max);
        for (candidate, words) in candidates.list.iter_mut().zip(words) {
            let lexical = words.map_or(0.0, |words| ratio(words, lexical_top));
            let dense = candidate.dense.map_or(0.0, |cosine| ratio(cosine + 1.0, dense_top + 1.0));
            candidate.score = (1.0 - alpha) * lexical + alpha * dense;
        }
        candidates.note = format!("convex, weight of the dense leg {alpha:.2}");
    }

    /// Gives every candidate its true score from the leg that did not bring it.
    fn complete(&self, request: &Request, candidates: &mut Candidates) -> Result<()> {
        if request.mode != Mode::Hybrid {
            return Ok(());
        }
        let missing = |score: fn(&Candidate) -> Option<f64>, list: &[Candidate]| {
            let at: Vec<usize> = (0..list.len()).filter(|at| score(&list[*at]).is_none()).collect();
            let rows: Vec<u32> = at.iter().map(|at| list[*at].row).collect();
            (at, rows)
        };
        let (at, rows) = missing(|c| c.lexical, &candidates.list);
        let lexical = self.index.lexical();
        let scores = lexical.score(&candidates.query, &request.scope, self.settings.bm25, &rows)?;
        for (at, score) in at.into_iter().zip(scores) {
            candidates.list[at].lexical = Some(score);
        }
        if let Some(vector) = &candidates.vector {
            let (at, rows) = missing(|c| c.dense, &candidates.list);
            let scores = self.index.vectors().score(vector, &rows)?;
            for (at, score) in at.into_iter().zip(scores) {
                candidates.list[at].dense = Some(score);
            }
        }
        Ok(())
    }

    fn reciprocal(&self, candidates: &mut Candidates, words: &[Option<f64>]) {
        let k = self.settings.rrf_k;
        let mut totals = vec![0.0; candidates.list.len()];
        let cosines: Vec<Option<f64>> = candidates.list.iter().map(|c| c.dense).collect();
        let mut used = 0;
        for leg in [words, &cosines] {
            let mut order: Vec<(usize, f64)> = leg
                .iter()
                .enumerate()
                .filter_map(|(at, score)| score.map(|score| (at, score)))
                .collect();
            used += usize::from(!order.is_empty());
            order.sort_by(|a, b| b.1.total_cmp(&a.1));
            let mut rank = 0;
            for place in 0..order.len() {
                let tied =
                    place > 0 && order[place].1.total_cmp(&order[place - 1].1) == Ordering::Equal;
                rank = if tied { rank } else { place + 1 };
                totals[order[place].0] += 1.0 / (k + rank as f64);
            }
        }
        let most = used.max(1) as f64 / (k + 1.0);
        for (candidate, total) in candidates.list.iter_mut().zip(totals) {
            candidate.score = total / most;
        }
        candidates.note = format!("reciprocal ranks, k {k}");
    }
}

/// `value / most`, 0 when there is nothing to compare with.
fn ratio(value: f64, most: f64) -> f64 {
    if most > 0.0 { (value / most).max(0.0) } else { 0.0 }
}
