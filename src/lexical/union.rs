//! The best rows of a disjunction of terms, a window of rows at a time.

use std::collections::BinaryHeap;

use tantivy::postings::BlockSegmentPostings;

use super::score::Saturation;
use crate::access::Bitmap;

/// Rows accumulated at a time: their scores (32 KiB) stay in the first-level cache, and the words of
/// their bitmap are as many as the bits of one word.
pub(super) const WINDOW_ROWS: u32 = 4096;

const _: () = assert!(WINDOW_ROWS / 64 == u64::BITS, "a bit for each word of a window");

/// The largest relative error of a sum of this many terms in 64 bits, with room to spare: bounds
/// are widened by it before a row is passed over.
const SLACK: f64 = 1.0 + 1e-9;

/// A place in the postings of one term of one segment.
pub(super) struct Cursor {
    pub postings: BlockSegmentPostings,
    pub at: usize,
    pub bound: f64,
}

impl Cursor {
    /// The document it stands at, unless it has passed the last.
    pub(super) fn document(&self) -> Option<u32> {
        self.postings.docs().get(self.at).copied()
    }

    /// How often document `target` holds the term; targets must ascend.
    pub(super) fn seek(&mut self, target: u32) -> Option<u32> {
        if self.postings.docs().is_empty() {
            return None;
        }
        if self.postings.docs().last().is_some_and(|last| *last >= target) {
            let docs = &self.postings.docs()[self.at..];
            self.at += docs.partition_point(|doc| *doc < target);
        } else {
            self.at = self.postings.seek(target);
        }
        let here = self.postings.docs().get(self.at)?;
        (*here == target).then(|| self.postings.freq(self.at))
    }

    /// Calls `hear` with each further document before `end` and how often it holds the term.
    pub(super) fn until(&mut self, end: u32, mut hear: impl FnMut(u32, u32)) {
        loop {
            let docs = self.postings.docs();
            if docs.is_empty() {
                return;
            }
            let freqs = self.postings.freqs();
            while self.at < docs.len() && docs[self.at] < end {
                hear(docs[self.at], freqs[self.at]);
                self.at += 1;
            }
            if self.at < docs.len() {
                return;
            }
            self.postings.advance();
            self.at = 0;
        }
    }
}

/// The disjunction of a query's terms over the rows, a window at a time.
///
/// Terms come heaviest first. Once `best` is full, the light terms at the end, which together
/// cannot lift a row into it, only add to rows that a heavier one has touched (MaxScore: Turtle and
/// Flood, 1995). Stretches without a document of a heavy term are passed over. Every row's sum is taken in the order of the terms whichever way, so passing rows
/// over changes no bit of what is returned.
pub(super) struct Union<'a> {
    saturation: Saturation,
    lengths: &'a [u32],
    allowed: &'a Bitmap,
    pub best: Best,
    scores: Vec<f64>,
    touched: Vec<u64>,
    /// The words of `touched` that are not 0, a bit each.
    words: u64,
}

impl<'a> Union<'a> {
    /// The disjunction over no terms yet, for the best `depth` of `allowed`; `lengths` are those of all rows.
    pub(super) fn new(
        saturation: Saturation,
        lengths: &'a [u32],
        allowed: &'a Bitmap,
        depth: usize,
    ) -> Self {
        Self {
            saturation,
            lengths,
            allowed,
            best: Best::new(depth),
            scores: vec![0.0; WINDOW_ROWS as usize],
            touched: vec![0; WINDOW_ROWS as usize / 64],
            words: 0,
        }
    }

    pub(super) fn add(&mut self, base: u32, end: u32, cursors: &mut [Cursor]) {
        let mut tails = vec![0.0; cursors.len() + 1];
        for at in (0..cursors.len()).rev() {
            tails[at] = tails[at + 1] + cursors[at].bound;
        }
        let mut start = base / 64 * 64;
        while start < end {
            let essential = self.essential(&tails);
            let Some(next) = cursors[..essential].iter().filter_map(Cursor::document).min() else {
                return;
            };
            start = start.max((base + next) / 64 * 64);
            let stop = end.min(start.saturating_add(WINDOW_ROWS));
            for cursor in &mut cursors[..essential] {
                self.accumulate(cursor, base, start, stop);
            }
            self.collect(&mut cursors[essential..], &tails[essential..], base, start);
            start = stop.max(start + 64);
        }
    }

    /// How many of the heaviest terms a row must hold one of to enter `best`.
    fn essential(&self, tails: &[f64]) -> usize {
        let Some(threshold) = self.best.threshold() else { return tails.len() - 1 };
        tails[..tails.len() - 1].iter().filter(|tail| **tail * SLACK >= threshold).count()
    }

    fn accumulate(&mut self, cursor: &mut Cursor, base: u32, start: u32, stop: u32) {
        let first = start.saturating_sub(base);
        let past = stop - base;
        loop {
            let docs = cursor.postings.docs();
            let Some(&last) = docs.last() else { return };
            if last < first {
                cursor.at = cursor.postings.seek(first);
                if cursor.postings.docs().is_empty() {
                    return;
                }
                continue;
            }
            let freqs = cursor.postings.freqs();
            let mut at = cursor.at;
            while at < docs.len() && docs[at] < past {
                let row = base + docs[at];
                if docs[at] >= first {
                    let place = (row - start) as usize;
                    let share = self.saturation.share(freqs[at], self.lengths[row as usize]);
                    self.scores[place] += cursor.bound * share;
                    self.touched[place / 64] |= 1 << (place % 64);
                    self.words |= 1 << (place / 64);
                }
                at += 1;
            }
            if at < docs.len() {
                cursor.at = at;
                return;
            }
            cursor.postings.advance();
            cursor.at = 0;
        }
    }

    /// Takes the touched, allowed rows of the window into `best` and clears it.
    fn collect(&mut self, light: &mut [Cursor], tails: &[f64], base: u32, start: u32) {
        let mut words = std::mem::take(&mut self.words);
        while words != 0 {
            let word = words.trailing_zeros() as usize;
            words &= words - 1;
            let touched = std::mem::take(&mut self.touched[word]);
            let allowed =
                self.allowed.words().get(start as usize / 64 + word).copied().unwrap_or(0);
            let mut left = touched;
            while left != 0 {
                let bit = left.trailing_zeros();
                left &= left - 1;
                let place = word * 64 + bit as usize;
                let mut score = std::mem::take(&mut self.scores[place]);
                if allowed >> bit & 1 == 0 {
                    continue;
                }
                let row = start + place as u32;
                for (cursor, tail) in light.iter_mut().zip(tails) {
                    if self.best.threshold().is_some_and(|low| (score + tail) * SLACK < low) {
                        score = f64::NEG_INFINITY;
                        break;
                    }
                    if let Some(tf) = cursor.seek(row - base) {
                        score +=
                            cursor.bound * self.saturation.share(tf, self.lengths[row as usize]);
                    }
                }
                self.best.offer(row, score);
            }
        }
    }
}

/// The best rows so far, at most `depth`.
pub(super) struct Best {
    depth: usize,
    heap: BinaryHeap<Ranked>,
}

/// Ordered so that the worst of a heap is its greatest: lower scores first, then later rows.
#[derive(PartialEq)]
struct Ranked {
    score: f64,
    row: u32,
}

impl Eq for Ranked {}

impl Ord for Ranked {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        other.score.total_cmp(&self.score).then_with(|| self.row.cmp(&other.row))
    }
}

impl PartialOrd for Ranked {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Best {
    pub(super) fn new(depth: usize) -> Self {
        Self { depth, heap: BinaryHeap::new() }
    }

    /// The score that a later row must exceed, once there are `depth` rows.
    fn threshold(&self) -> Option<f64> {
        if self.heap.len() < self.depth { None } else { self.heap.peek().map(|worst| worst.score) }
    }

    /// Takes a row; rows come in ascending order, so an equal score never displaces an earlier row.
    pub(super) fn offer(&mut self, row: u32, score: f64) {
        match self.threshold() {
            None if score > f64::NEG_INFINITY => self.heap.push(Ranked { score, row }),
            Some(low) if score > low => {
                self.heap.pop();
                self.heap.push(Ranked { score, row });
            }
            _ => {}
        }
    }

    pub(super) fn into_sorted(self) -> Vec<(u32, f64)> {
        self.heap.into_sorted_vec().into_iter().map(|ranked| (ranked.row, ranked.score)).collect()
    }
}
