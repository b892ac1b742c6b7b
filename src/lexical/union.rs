//! The best rows of a disjunction of terms, a window of rows at a time.

use std::collections::BinaryHeap;

use tantivy::postings::BlockSegmentPostings;

use super::score::Saturation;
use crate::access::Bitmap;

/// Rows accumulated at a time: their scores take 16 KiB, half of a first-level cache of 32.
pub(super) const WINDOW_ROWS: u32 = 2048;

/// Rows whose places are bits of one word.
const WORD_ROWS: usize = u64::BITS as usize;

const _: () =
    assert!(WINDOW_ROWS as usize / WORD_ROWS <= WORD_ROWS, "a bit for each word of a window");

/// Seeking one row costs about as much as writing down this many postings by place: an estimate from a
/// profile; whichever way is taken, the sums are the same.
const POSTINGS_PER_SEEK: f64 = 16.0;

/// The largest relative error of a sum of this many terms in 64 bits, with room to spare: bounds
/// are widened by it before a row is passed over.
const SLACK: f64 = 1.0 + 1e-9;

/// A place in the postings of one term of one segment.
pub(super) struct Cursor {
    postings: BlockSegmentPostings,
    /// The place in the current block.
    at: usize,
    /// The most the term gives to a row.
    bound: f64,
    /// The share of the segment's rows that hold the term.
    density: f64,
}

impl Cursor {
    /// A cursor at the first posting of a term that gives `bound` at most, in a segment of `rows`.
    pub(super) fn new(postings: BlockSegmentPostings, bound: f64, rows: u32) -> Self {
        let density = f64::from(postings.doc_freq()) / f64::from(rows.max(1));
        Self { postings, at: 0, bound, density }
    }

    /// The document it stands at, unless it has passed the last.
    pub(super) fn document(&self) -> Option<u32> {
        self.postings.docs().get(self.at).copied()
    }

    /// How often document `target` holds the term; targets must ascend.
    pub(super) fn seek(&mut self, target: u32) -> Option<u32> {
        self.skip_to(target);
        let here = self.postings.docs().get(self.at)?;
        (*here == target).then(|| self.postings.freq(self.at))
    }

    /// Passes over the documents before `target`; targets must ascend.
    ///
    /// It looks through the whole of a block, not from the last target on, so that a processor need not
    /// know where that was before it begins with this one.
    fn skip_to(&mut self, target: u32) {
        let docs = self.postings.docs();
        let Some(&last) = docs.last() else { return };
        self.at = if last >= target {
            docs.partition_point(|doc| *doc < target)
        } else {
            self.postings.seek(target)
        };
    }

    /// Calls `hear` with each further document before `end` and how often it holds the term.
    pub(super) fn until(&mut self, end: u32, mut hear: impl FnMut(u32, u32)) {
        loop {
            let docs = self.postings.docs();
            if docs.is_empty() {
                return;
            }
            let freqs = self.postings.freqs();
            let from = self.at;
            self.at += docs[from..].partition_point(|doc| *doc < end);
            for (doc, tf) in docs[from..self.at].iter().zip(&freqs[from..self.at]) {
                hear(*doc, *tf);
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
/// Flood, 1995), and of those only to rows that they could still lift. Stretches without a document of
/// a heavy term are passed over. Every row's sum is taken in the order of the terms whichever way, so
/// passing rows over changes no bit of what is returned.
pub(super) struct Union<'a> {
    saturation: Saturation,
    lengths: &'a [u32],
    allowed: &'a Bitmap,
    pub best: Best,
    /// What the heavy terms give to each row of the window; 0 where none of them stands.
    scores: Vec<[f64; WORD_ROWS]>,
    /// A bit for each of `scores` that is not all 0.
    words: u64,
    /// Places in the window that are still in the running, ascending, with their sums so far.
    left: Vec<(u32, f64)>,
    /// How often each row of the window holds the light term at hand; all 0 between two terms.
    counts: Vec<u32>,
}

impl<'a> Union<'a> {
    /// The disjunction over no terms yet, for the best `depth` of `allowed`; `lengths` are those of all
    /// rows.
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
            scores: vec![[0.0; WORD_ROWS]; WINDOW_ROWS as usize / WORD_ROWS],
            words: 0,
            left: Vec::new(),
            counts: vec![0; WINDOW_ROWS as usize],
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

    /// Adds what a heavy term gives to the rows of the window. Its cursor stands in the window or after it.
    fn accumulate(&mut self, cursor: &mut Cursor, base: u32, start: u32, stop: u32) {
        let Self { saturation, lengths, scores, words, .. } = self;
        let lengths = &lengths[start as usize..stop as usize];
        let bound = cursor.bound;
        cursor.until(stop - base, |document, tf| {
            let place = (base + document - start) as usize;
            let word = place / WORD_ROWS;
            scores[word][place % WORD_ROWS] += bound * saturation.share(tf, lengths[place]);
            *words |= 1 << word;
        });
    }

    /// Takes the rows of the window into `best` and clears it. `light` are the terms that were not
    /// accumulated, `tails` the most that each and those after it can give.
    fn collect(&mut self, light: &mut [Cursor], tails: &[f64], base: u32, start: u32) {
        let low = self.best.threshold();
        self.pick(low, tails[0], start);
        for (cursor, tail) in light.iter_mut().zip(tails) {
            if let Some(low) = low {
                self.left.retain(|(_, score)| (score + tail) * SLACK >= low);
            }
            self.add_light(cursor, base, start);
        }
        for &(place, score) in &self.left {
            self.best.offer(start + place, score);
        }
    }

    /// Adds what a light term gives to the rows of `left`: each is sought, or, when they are many for
    /// the postings between them, those are written down by place and looked up there.
    fn add_light(&mut self, cursor: &mut Cursor, base: u32, start: u32) {
        let (Some(&(first, _)), Some(&(last, _))) = (self.left.first(), self.left.last()) else {
            return;
        };
        let lengths = &self.lengths[start as usize..];
        let postings = cursor.density * f64::from(last - first + 1);
        if postings > POSTINGS_PER_SEEK * self.left.len() as f64 {
            for (place, score) in &mut self.left {
                if let Some(tf) = cursor.seek(start + *place - base) {
                    let share = self.saturation.share(tf, lengths[*place as usize]);
                    *score += cursor.bound * share;
                }
            }
            return;
        }
        let counts = &mut self.counts[first as usize..=last as usize];
        cursor.skip_to(start + first - base);
        cursor.until(start + last - base + 1, |document, tf| {
            counts[(base + document - start - first) as usize] = tf;
        });
        for (place, score) in &mut self.left {
            let tf = counts[(*place - first) as usize];
            if tf > 0 {
                let share = self.saturation.share(tf, lengths[*place as usize]);
                *score += cursor.bound * share;
            }
        }
        counts.fill(0);
    }

    /// Puts the allowed rows of the window that `tail` more could lift to `low` into `left`, and clears
    /// the window.
    fn pick(&mut self, low: Option<f64>, tail: f64, start: u32) {
        // A row that no heavy term touches has 0; with one it has more than the least normal number,
        // whatever `k1` the settings allow.
        let least = low.map_or(0.0, |low| low / SLACK - tail).max(f64::MIN_POSITIVE);
        self.left.clear();
        let mut words = std::mem::take(&mut self.words);
        while words != 0 {
            let word = words.trailing_zeros() as usize;
            words &= words - 1;
            let at = start as usize / WORD_ROWS + word;
            let scores = &mut self.scores[word];
            let mut picked = self.allowed.words().get(at).copied().unwrap_or(0);
            picked &= at_least(scores, least);
            while picked != 0 {
                let bit = picked.trailing_zeros() as usize;
                picked &= picked - 1;
                self.left.push(((word * WORD_ROWS + bit) as u32, scores[bit]));
            }
            scores.fill(0.0);
        }
    }
}

/// A bit for each of `scores` that is `least` or more.
#[inline]
fn at_least(scores: &[f64; WORD_ROWS], least: f64) -> u64 {
    let mut bits = [0; WORD_ROWS / 8];
    for (byte, scores) in bits.iter_mut().zip(scores.as_chunks::<8>().0) {
        // Bytes of 0 and 1; each of the eight lands on a bit of its own of the highest byte.
        let each = u64::from_le_bytes(scores.map(|score| u8::from(score >= least)));
        *byte = (each.wrapping_mul(0x0102_0408_1020_4080) >> 56) as u8;
    }
    u64::from_le_bytes(bits)
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
                if let Some(mut worst) = self.heap.peek_mut() {
                    *worst = Ranked { score, row };
                }
            }
            _ => {}
        }
    }

    pub(super) fn into_sorted(self) -> Vec<(u32, f64)> {
        self.heap.into_sorted_vec().into_iter().map(|ranked| (ranked.row, ranked.score)).collect()
    }
}
