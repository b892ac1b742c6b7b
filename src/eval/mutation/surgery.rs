//! How a fault reaches into a search: between the legs and fusion, into the reranked list, into the
//! context.

use std::collections::BTreeSet;
use std::sync::Arc;

use crate::access::Scope;
use crate::error::Result;
use crate::index::Index;
use crate::lexical::{Bm25, Explained};
use crate::passage::store::BlockRecord;
use crate::search::{Candidate, ContextBlock, Outcome, Recalled, Settings, choose};
use crate::trace::Scored;

/// The engine that is operated on.
pub struct Patient<'p> {
    pub(super) index: &'p Arc<Index>,
    pub(super) settings: &'p Settings,
}

/// A change of the reranked list, which min-score and window then read.
pub type RankingChange = fn(&Patient<'_>, &mut Vec<Scored>) -> Result<()>;

impl Patient<'_> {
    /// Gives the lexical leg other scores: `part` says what a term gives to a row, from what it
    /// should give, the passages of the scope, and which of the question's terms it is, rarest first.
    pub(super) fn relex(
        &self,
        recalled: &mut Recalled,
        part: fn(&Explained, u64, usize) -> f64,
    ) -> Result<()> {
        let scope = recalled.request.scope().clone();
        let query = recalled.candidates.query.clone();
        let passages = u64::from(scope.readable().count());
        let mut scores = vec![0.0; scope.allowed().rows() as usize];
        for row in scope.allowed().iter() {
            let lexical = self.index.lexical();
            let mut terms = lexical.explain(&query, &scope, self.settings.bm25, row)?;
            terms.sort_by(|a, b| a.df.cmp(&b.df).then_with(|| a.term.cmp(&b.term)));
            let parts = terms.iter().enumerate().map(|(rarity, term)| part(term, passages, rarity));
            scores[row as usize] = parts.sum();
        }
        let hits = best(&scores, scope.allowed().iter(), self.settings.depth, 0.0);
        let candidates = &mut recalled.candidates;
        candidates.list.retain(|candidate| candidate.dense.is_some());
        candidates.add(&hits, |candidate, score| candidate.lexical = Some(score));
        candidates.leg = None;
        for Candidate { row, lexical, .. } in &mut candidates.list {
            *lexical = Some(scores[*row as usize]);
        }
        Ok(())
    }

    /// Gives the dense leg other scores: `of` says from which row's cosine a row's is taken, of how
    /// many, and `turn` what is made of it.
    pub(super) fn redense(
        &self,
        recalled: &mut Recalled,
        of: fn(u32, u32) -> u32,
        turn: fn(f64) -> f64,
    ) -> Result<()> {
        let Some(vector) = recalled.candidates.vector.clone() else { return Ok(()) };
        let scope = recalled.request.scope().clone();
        let rows = scope.allowed().rows();
        let all: Vec<u32> = (0..rows).collect();
        let right = self.index.vectors().score(&vector, &all)?;
        let scores: Vec<f64> = (0..rows).map(|row| turn(right[of(row, rows) as usize])).collect();
        let hits = best(&scores, scope.allowed().iter(), self.settings.depth, f64::NEG_INFINITY);
        let candidates = &mut recalled.candidates;
        candidates.list.retain(|candidate| candidate.lexical.is_some());
        candidates.add(&hits, |candidate, score| candidate.dense = Some(score));
        candidates.leg = None;
        for Candidate { row, dense, .. } in &mut candidates.list {
            *dense = Some(scores[*row as usize]);
        }
        Ok(())
    }

    /// The outcome with the reranked list changed, and minimum and window done over.
    pub(super) fn ranked_anew(
        &self,
        mut outcome: Outcome,
        scope: &Scope,
        change: RankingChange,
    ) -> Result<Outcome> {
        let Some(stage) = outcome.trace.stages.iter_mut().find(|stage| stage.name == "rerank")
        else {
            return Ok(outcome);
        };
        change(self, &mut stage.list)?;
        let least = self.settings.min_score;
        let kept: Vec<Scored> =
            stage.list.iter().filter(|scored| scored.score >= least).copied().collect();
        let chosen = choose(self.index, scope, self.settings, &kept, self.settings.k)?;
        (outcome.context, outcome.same) = (chosen.context(self.index, &kept)?, chosen.same);
        Ok(outcome)
    }

    /// The block after `block` in its document, or else the one before; `None` in a document of one.
    pub(super) fn neighbour(&self, block: u32) -> Result<Option<u32>> {
        let passages = self.index.passages();
        let record = passages.document(passages.block(block)?.document)?;
        let inside = record.first_block..record.first_block + record.blocks;
        let before = block.checked_sub(1);
        Ok(Some(block + 1)
            .filter(|next| inside.contains(next))
            .or(before.filter(|at| inside.contains(at))))
    }

    /// `block` as a context holds it, in the place of one with `score`.
    pub(super) fn handed_over(&self, block: u32, score: f64) -> Result<ContextBlock> {
        let BlockRecord { first_row, tokens, .. } = self.index.passages().block(block)?;
        Ok(ContextBlock { block, row: first_row, score, tokens: tokens as usize, joined_to: None })
    }

    /// The block of the same number in a document whose title is the same but for numbers: another
    /// version.
    pub(super) fn other_version(&self, block: u32) -> Result<Option<u32>> {
        let passages = self.index.passages();
        let own = passages.block(block)?;
        let without_numbers = |title: &str| {
            let words = title
                .split_whitespace()
                .map(|word| word.trim_matches(|c: char| !c.is_alphanumeric()));
            words
                .filter(|word| !word.chars().all(|c| c.is_ascii_digit()))
                .map(str::to_lowercase)
                .collect::<Vec<_>>()
        };
        let title = without_numbers(&passages.document(own.document)?.title);
        for document in (0..passages.documents_len()).filter(|at| *at != own.document) {
            let other = passages.document(document)?;
            if own.number <= other.blocks && without_numbers(&other.title) == title {
                return Ok(Some(other.first_block + own.number - 1));
            }
        }
        Ok(None)
    }

    /// BM25's constants as they would be if the average length were `factor` times what it is.
    pub(super) fn with_average(bm25: Bm25, factor: f64) -> Bm25 {
        // tf + k1 · (1 − b) + k1 · b · |d| / (factor · avg), read as k1' and b' over the right average.
        let (floor, slope) = (bm25.k1 * (1.0 - bm25.b), bm25.k1 * bm25.b / factor);
        Bm25 {
            k1: floor + slope,
            b: if floor + slope > 0.0 { slope / (floor + slope) } else { 0.0 },
        }
    }

    /// Keeps the best passage of each document.
    pub(super) fn one_a_document(&self, list: &mut Vec<Scored>) -> Result<()> {
        let passages = self.index.passages();
        let mut seen = BTreeSet::new();
        let mut kept = Vec::with_capacity(list.len());
        for scored in list.iter() {
            let block = passages.passage(scored.row)?.block;
            if seen.insert(passages.block(block)?.document) {
                kept.push(*scored);
            }
        }
        *list = kept;
        Ok(())
    }
}

/// The `depth` best of `rows` with a score above `least`, best first, ties by row.
fn best(
    scores: &[f64],
    rows: impl Iterator<Item = u32>,
    depth: usize,
    least: f64,
) -> Vec<(u32, f64)> {
    let mut hits: Vec<(u32, f64)> =
        rows.map(|row| (row, scores[row as usize])).filter(|(_, score)| *score > least).collect();
    hits.sort_by(|a, b| b.1.total_cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
    hits.truncate(depth);
    hits
}
