//! Choosing the blocks that are handed over.

use std::collections::HashSet;
use std::sync::Arc;

use super::{Candidates, Request, Settings, Stage};
use crate::error::Result;
use crate::index::Index;
use crate::passage::store::PassageStore;

/// Keeps the best passage of each of the first blocks, as many as the window holds.
///
/// Which blocks fit does not depend on how many are wanted, so what a window of fewer blocks holds is
/// always a prefix of what one of more holds.
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
        let rows = candidates.list.iter().map(|candidate| candidate.row);
        let kept = within(self.index.passages(), rows, most, budget)?;
        candidates.note = format!("at most {most} blocks and {budget} tokens");
        candidates.list = kept.into_iter().map(|at| candidates.list[at]).collect();
        Ok(candidates)
    }
}

/// The places of those of `rows`, best first, that a window of `most` blocks and `budget` tokens keeps:
/// the first passage of each block that still fits. One that does not is passed over, so that a single
/// large block does not close the window; the first always fits.
pub(crate) fn within(
    passages: &PassageStore,
    rows: impl Iterator<Item = u32>,
    most: usize,
    budget: usize,
) -> Result<Vec<usize>> {
    let (mut blocks, mut kept, mut tokens) = (HashSet::new(), Vec::new(), 0);
    for (at, row) in rows.enumerate() {
        let block = passages.passage(row)?.block;
        if kept.len() == most {
            break;
        }
        if !blocks.insert(block) {
            continue;
        }
        let own = passages.block(block)?.tokens as usize;
        if tokens + own > budget && !kept.is_empty() {
            continue;
        }
        tokens += own;
        kept.push(at);
    }
    Ok(kept)
}
