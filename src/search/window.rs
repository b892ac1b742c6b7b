//! Choosing the blocks that are handed over.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::duplicates::Print;
use super::{Candidates, ContextBlock, Request, Settings, Stage};
use crate::access::Scope;
use crate::error::Result;
use crate::index::Index;
use crate::trace::Scored;

/// Keeps the best passage of each of the first blocks, as many as the window holds; see [`choose`].
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
        let list: Vec<Scored> =
            candidates.list.iter().map(|c| Scored { row: c.row, score: c.score }).collect();
        let mut chosen = choose(&self.index, &request.scope, &self.settings, &list, most)?;
        candidates.note =
            format!("at most {most} blocks and {} tokens", self.settings.window_tokens);
        chosen.tell(&self.index, &mut candidates.note)?;
        candidates.list = chosen.kept.iter().map(|kept| candidates.list[kept.at]).collect();
        // From here on the list is what was kept.
        for (at, kept) in chosen.kept.iter_mut().enumerate() {
            kept.at = at;
        }
        candidates.chosen = chosen;
        Ok(candidates)
    }
}

/// What a window holds of a list.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Chosen {
    /// The hits, in the order in which they were taken.
    pub kept: Vec<Kept>,
    /// Rows that say the same as a hit, each with the row of that hit; best first.
    pub same: Vec<(u32, u32)>,
}

/// A hit in a window.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Kept {
    /// Its place in the list.
    pub at: usize,
    /// Blocks of its document that are handed over with it, in the order of the document.
    pub joined: Vec<u32>,
}

impl Chosen {
    /// The blocks that are handed over: each hit, and behind it what is joined to it.
    pub(crate) fn context(&self, index: &Index, list: &[Scored]) -> Result<Vec<ContextBlock>> {
        let passages = index.passages();
        let mut context = Vec::with_capacity(self.kept.len());
        for kept in &self.kept {
            let Scored { row, score } = list[kept.at];
            let block = passages.passage(row)?.block;
            let tokens = passages.block(block)?.tokens as usize;
            context.push(ContextBlock { block, row, score, tokens, joined_to: None });
            for &own in &kept.joined {
                let record = passages.block(own)?;
                context.push(ContextBlock {
                    block: own,
                    row: record.first_row,
                    score,
                    tokens: record.tokens as usize,
                    joined_to: Some(block),
                });
            }
        }
        Ok(context)
    }

    /// Adds to a note what was collapsed and joined.
    fn tell(&self, index: &Index, note: &mut String) -> Result<()> {
        for (row, hit) in &self.same {
            let (row, hit) = (index.passages().reference(*row)?, index.passages().reference(*hit)?);
            note.push_str(&format!("; {row} says the same as {hit}"));
        }
        let joined: usize = self.kept.iter().map(|kept| kept.joined.len()).sum();
        if joined > 0 {
            note.push_str(&format!("; {joined} neighbours joined"));
        }
        Ok(())
    }
}

/// Fills a window of `most` hits from `list`, which is sorted best first, one after the other.
///
/// The next hit is the best candidate that is left, or with `search.diversity` the one that is best and
/// least like the hits before it. It is passed over when its block is handed over already, when its
/// document has `search.per_document` hits, and when its block does not fit into `search.window_tokens`;
/// the first always fits, and one that does not fit leaves room for others. With `search.duplicates`
/// every candidate that says the same as a hit is taken out and told. With `search.neighbours` the
/// blocks around a hit that may be read come with it, nearest first, as far as there is room.
///
/// No choice depends on `most` or on what comes after it, so what a smaller window holds is always a
/// prefix of what a larger one does; and none depends on what is outside `scope`.
pub(crate) fn choose(
    index: &Index,
    scope: &Scope,
    settings: &Settings,
    list: &[Scored],
    most: usize,
) -> Result<Chosen> {
    let mut filling = Filling {
        index,
        scope,
        settings,
        list,
        out: vec![false; list.len()],
        next: 0,
        nearest: Vec::new(),
        handed_over: BTreeSet::new(),
        of_document: BTreeMap::new(),
        tokens: 0,
        prints: Vec::new(),
        chosen: Chosen::default(),
    };
    while filling.chosen.kept.len() < most {
        let Some(at) = filling.best()? else { break };
        filling.out[at] = true;
        filling.offer(at)?;
    }
    Ok(filling.chosen)
}

/// A window that is being filled.
struct Filling<'f> {
    index: &'f Index,
    scope: &'f Scope,
    settings: &'f Settings,
    list: &'f [Scored],
    /// Places that were taken, passed over or collapsed.
    out: Vec<bool>,
    /// The first place that may be left.
    next: usize,
    /// With diversity, the cosine of each place with the hit that it is most like.
    nearest: Vec<f64>,
    handed_over: BTreeSet<u32>,
    of_document: BTreeMap<u32, usize>,
    tokens: usize,
    /// With duplicates, the print of each place; made for the first hit.
    prints: Vec<Print>,
    chosen: Chosen,
}

impl Filling<'_> {
    /// The place to take next.
    fn best(&mut self) -> Result<Option<usize>> {
        while self.next < self.list.len() && self.out[self.next] {
            self.next += 1;
        }
        let share = self.settings.diversity;
        if share == 0.0 || self.chosen.kept.is_empty() {
            return Ok((self.next < self.list.len()).then_some(self.next));
        }
        let top = self.list[0].score.max(f64::MIN_POSITIVE);
        // Maximal marginal relevance (Carbonell and Goldstein, 1998), relevance as a share of the best.
        let worth =
            |at: usize| (1.0 - share) * self.list[at].score / top - share * self.nearest[at];
        let left = (self.next..self.list.len()).filter(|at| !self.out[*at]);
        // Of equal ones the first.
        Ok(left.reduce(|best, at| if worth(at) > worth(best) { at } else { best }))
    }

    /// Takes the candidate at `at`, unless something speaks against it.
    fn offer(&mut self, at: usize) -> Result<()> {
        let passages = self.index.passages();
        let block = passages.passage(self.list[at].row)?.block;
        let record = passages.block(block)?;
        let full = self.settings.per_document > 0
            && self.of_document.get(&record.document) >= Some(&self.settings.per_document);
        let first = self.chosen.kept.is_empty();
        let tokens = record.tokens as usize;
        if full
            || self.handed_over.contains(&block)
            || (self.tokens + tokens > self.settings.window_tokens && !first)
        {
            return Ok(());
        }
        self.handed_over.insert(block);
        *self.of_document.entry(record.document).or_default() += 1;
        self.tokens += tokens;
        let joined = self.neighbours(block, record.document)?;
        self.chosen.kept.push(Kept { at, joined });
        self.collapse(at, block)?;
        self.liken(at)
    }

    /// Hands over the blocks of the same document that are nearest to `block`, as many on each side as is
    /// set and there is room for. What may not be read is passed over as if it did not exist.
    fn neighbours(&mut self, block: u32, document: u32) -> Result<Vec<u32>> {
        let wanted = self.settings.neighbours;
        if wanted == 0 {
            return Ok(Vec::new());
        }
        let passages = self.index.passages();
        let record = passages.document(document)?;
        let sides: [Vec<u32>; 2] = [
            self.readable((record.first_block..block).rev(), wanted)?,
            self.readable(block + 1..record.first_block + record.blocks, wanted)?,
        ];
        let mut joined = Vec::new();
        let mut open = [true, true];
        for distance in 0..wanted {
            for (side, open) in sides.iter().zip(&mut open) {
                let Some(&own) = side.get(distance).filter(|_| *open) else { continue };
                if self.handed_over.contains(&own) {
                    continue;
                }
                let tokens = passages.block(own)?.tokens as usize;
                // What does not fit ends its side, so that no gap is left.
                *open = self.tokens + tokens <= self.settings.window_tokens;
                if *open {
                    self.tokens += tokens;
                    self.handed_over.insert(own);
                    joined.push(own);
                }
            }
        }
        joined.sort_unstable();
        Ok(joined)
    }

    /// The first `wanted` of `blocks` of which every passage is in the scope.
    fn readable(&self, blocks: impl Iterator<Item = u32>, wanted: usize) -> Result<Vec<u32>> {
        let mut found = Vec::new();
        for block in blocks {
            if found.len() == wanted {
                break;
            }
            let record = self.index.passages().block(block)?;
            let mut rows = record.first_row..record.first_row + record.passages;
            if rows.all(|row| self.scope.allowed().contains(row)) {
                found.push(block);
            }
        }
        Ok(found)
    }

    /// Takes out what says the same as the hit at `at`, of `block`.
    fn collapse(&mut self, at: usize, block: u32) -> Result<()> {
        let least = self.settings.duplicates;
        if least == 0.0 {
            return Ok(());
        }
        if self.prints.is_empty() {
            let print = |scored: &Scored| Print::of(self.index, scored.row);
            self.prints = self.list.iter().map(print).collect::<Result<_>>()?;
        }
        let hit = self.list[at].row;
        let mut told = BTreeSet::from([block]);
        for other in 0..self.list.len() {
            if self.out[other] || self.prints[other].likeness(&self.prints[at]) < least {
                continue;
            }
            let row = self.list[other].row;
            let own = self.index.passages().passage(row)?.block;
            if own != block {
                self.out[other] = true;
                // A block is told once, by its best passage.
                if told.insert(own) && !self.handed_over.contains(&own) {
                    self.chosen.same.push((row, hit));
                }
            }
        }
        Ok(())
    }

    /// Notes how like the hit at `at` every other candidate is.
    fn liken(&mut self, at: usize) -> Result<()> {
        if self.settings.diversity == 0.0 {
            return Ok(());
        }
        self.nearest.resize(self.list.len(), 0.0);
        let vector = self.index.vectors().row(self.list[at].row)?.to_vec();
        let rows: Vec<u32> = self.list.iter().map(|scored| scored.row).collect();
        let cosines = self.index.vectors().score(&vector, &rows)?;
        for (nearest, cosine) in self.nearest.iter_mut().zip(cosines) {
            *nearest = nearest.max(cosine);
        }
        Ok(())
    }
}
