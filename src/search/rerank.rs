//! A score that means the same for every question.

use std::sync::Arc;

use super::{Candidates, Mode, Request, Stage};
use crate::error::Result;
use crate::index::Index;

/// The fitted constants of the reranked score: base, weight of the fused score, weight of the confidence.
///
/// Fitted by `tools/calibrate.py` on 48,607 candidates: the tuning halves of eleven public sets, and of
/// ten pairs of a corpus with questions of another subject. On the other halves, candidates scored .05,
/// .15, .24, .35, .44, .55, .64 and .73 were relevant .03, .14, .20, .28, .35, .51, .75 and .75 of the
/// time.
pub const CALIBRATION: [f64; 3] = [-11.278, 10.228, 2.390];

/// Turns the fused score into the probability that a candidate is relevant.
///
/// A fused score compares a candidate with the best of its own question, so the best always has
/// about 1, however poor it is. The reranked score also asks how well the best candidate answers:
///
/// ```text
/// score      = 1 / (1 + exp(−(a + b · fused + c · confidence)))
/// confidence = max over candidates of  (1 − α) · min(1, 2 · bm25 / bound) + α · max(0, cos)
/// ```
///
/// `bound` is the most that BM25 could give to the question's terms in the asker's scope, words that
/// nobody uses included; a passage of average length with each term once earns about .45 of it, so
/// the first part is 1 when the words are all there. The second part is the cosine. α is the weight
/// that fusion gave to the dense leg. The order of the candidates does not change, and no score
/// depends on `k`. The constants are of the hybrid with convex fusion: in other modes the score still
/// orders, and is no probability.
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
            let [base, fused, sure] = CALIBRATION;
            let logit = base + fused * candidate.score + sure * confidence;
            candidate.score = 1.0 / (1.0 + (-logit).exp());
        }
        candidates.sort();
        candidates.note = format!("confidence {confidence:.3}");
        Ok(candidates)
    }
}
