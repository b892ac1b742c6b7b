//! A score that means the same for every question.

use std::sync::Arc;

use super::{Candidates, Mode, Request, Stage};
use crate::error::Result;
use crate::index::Index;

/// Scales the fused scores by how well the best candidate answers at all.
///
/// A fused score compares a candidate with the best of its own question, so the best always has
/// about 1, however poor it is. The reranked score is `fused · confidence`, in 0.0..=1.0, where
///
/// ```text
/// confidence = max over candidates of  (1 − α) · min(1, 2 · bm25 / bound) + α · max(0, cos)
/// ```
///
/// `bound` is the most that BM25 could give to the question's terms in the asker's scope, words that
/// nobody uses included; a passage of average length with each term once earns about .45 of it, so
/// the first part is 1 when the words are all there. The second part is the cosine. α is the weight
/// of fusion, made as small as the share of the question that the model could not read asks for. So
/// 1 means: nothing better can be imagined; 0: nothing of the question is here. The order of the
/// candidates does not change, and no score depends on `k`.
pub(super) struct Rerank {
    pub index: Arc<Index>,
}

impl Stage for Rerank {
    fn name(&self) -> &'static str {
        "rerank"
    }

    fn run(&self, request: &Request, mut candidates: Candidates) -> Result<Candidates> {
        let bound = match request.mode {
            Mode::Dense => 0.0,
            _ => self.index.lexical().bound(&candidates.query, &request.scope)?,
        };
        let alpha = candidates.alpha;
        let evidence = |candidate: &super::Candidate| {
            let words =
                candidate.lexical.map_or(0.0, |bm25| if bound > 0.0 { bm25 / bound } else { 0.0 });
            let meaning = candidate.dense.unwrap_or(0.0).clamp(0.0, 1.0);
            (1.0 - alpha) * (2.0 * words).min(1.0) + alpha * meaning
        };
        let confidence = candidates.list.iter().map(evidence).fold(0.0, f64::max).min(1.0);
        for candidate in &mut candidates.list {
            candidate.score = (candidate.score * confidence).clamp(0.0, 1.0);
        }
        candidates.sort();
        candidates.note = format!("confidence {confidence:.3}");
        Ok(candidates)
    }
}
