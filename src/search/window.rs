//! Choosing the blocks that are handed over.

use std::collections::HashSet;
use std::sync::Arc;

use super::{Candidates, Request, Settings, Stage};
use crate::error::Result;
use crate::index::Index;

/// Keeps the best passage of each of the first blocks, as many as the window holds.
///
/// The window closes at the first block that does not fit its tokens, so that what a smaller window
/// holds is always a prefix of what a larger one does. The first block is never too large.
pub(super) struct Window {
    pub index: Arc<Index>,
    pub settings: Arc<Settings>,
}

impl Stage for Window {
    fn name(&self) -> &'static str {
        "window"
    }

    fn run(&self, request: &Request, mut candidates: Candidates) -> Result<Candidates> {
        let most = request.k.unwrap_or(self.settings.k);
        let budget = self.settings.window_tokens;
        let passages = self.index.passages();
        let (mut blocks, mut kept, mut tokens) = (HashSet::new(), Vec::new(), 0);
        for candidate in &candidates.list {
            let block = passages.passage(candidate.row)?.block;
            if kept.len() == most {
                break;
            }
            if !blocks.insert(block) {
                continue;
            }
            tokens += passages.block(block)?.tokens as usize;
            if tokens > budget && !kept.is_empty() {
                break;
            }
            kept.push(*candidate);
        }
        candidates.note = format!("at most {most} blocks and {budget} tokens");
        candidates.list = kept;
        Ok(candidates)
    }
}
