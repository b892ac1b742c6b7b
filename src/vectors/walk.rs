//! The walk: an approximate search of a [`GraphView`] with byte codes, re-scored in `f32`.
//!
//! From the entry the walk goes down the upper layers greedily, then on layer 0 keeps the best `ef`
//! rows seen, in one sorted array, and looks at the neighbours of the best one not yet looked at until
//! there is none. The best [`rescored`] of them get their `f32` score, which decides the result and
//! its order.
//!
//! With a filter the walk goes through forbidden rows, since they lead to allowed ones, but keeps
//! the allowed ones in an array of their own: only those are ever scored for the result. It ends when
//! it holds as many allowed rows as [`kept`] says and nothing better is in sight, or when its budget is
//! spent; [`Walked::complete`] says whether the caller should scan instead.

use std::cell::RefCell;
use std::collections::BinaryHeap;

use crate::error::{Error, Result};
use crate::vectors::codes::QueryCode;
use crate::vectors::graph::GraphView;
use crate::vectors::kernels::{Kernels, Listed, prefetch};
use crate::vectors::rows::{
    Allowed, Hit, Rows, count_allowed, from_order_bits, is_allowed, order_bits,
};

/// What a walk found.
#[derive(Debug, Clone, PartialEq)]
pub struct Walked {
    /// At most `depth` allowed rows by (score falling, row rising); scores are the canonical `f32`
    /// ones.
    pub hits: Vec<Hit>,
    /// Whether the walk ended by itself and holds as many rows as were asked for or are allowed.
    /// When not, the caller scans: a short list must not pass for an answer.
    pub complete: bool,
    /// Codes that were scored: the cost of the walk.
    pub scored: usize,
    /// Rows that it kept at most: `ef`, or with a filter the allowed ones that [`kept`] says.
    pub kept: usize,
}

/// A filtered walk may score 64 rows for each candidate, about three times what one without a filter
/// does, and then an eighth of the allowed rows: a listed row costs the scan about an eighth of what
/// it costs the walk, so that a walk given up in favour of the scan has cost no more than the scan.
const BUDGET_PER_EF: usize = 64;
/// See [`BUDGET_PER_EF`].
const BUDGET_SHARE: usize = 8;

/// Rows re-scored in `f32` for `depth` hits.
///
/// Byte codes put all of the true first 10 within their first 20 (`ARCHITECTURE.md`, What was
/// measured); 48 and `2 × depth + 16` leave room for harder vectors at little cost.
pub fn rescored(depth: usize) -> usize {
    depth.saturating_mul(2).saturating_add(16).max(48)
}

/// How many allowed rows a walk keeps for `ef` candidates when `allowed` of `rows` rows pass a filter:
/// `ef · p^(5/8)` for a share `p`, and `depth` at least.
///
/// To hold so many it comes by `1 / p` times as many, so it knows more of the neighbourhood than a walk
/// without a filter that keeps `ef`. Measured over 100,000 and 1,000,000 passages of 256 dimensions, a
/// recall@10 like that without a filter takes `ef · p^0.8` to `ef · p` allowed rows at shares of .1 and
/// .5; the exponent leaves room. Keeping `ef` of them would take `1 / p` times as long as no filter. The power
/// is taken by square roots, which every machine rounds alike.
pub fn kept(ef: usize, depth: usize, allowed: usize, rows: usize) -> usize {
    let share = if rows == 0 { 1.0 } else { (allowed as f64 / rows as f64).min(1.0) };
    let power = share.sqrt() * share.sqrt().sqrt().sqrt();
    ((ef as f64 * power).ceil() as usize).max(depth).max(1)
}

/// The best `depth` of the allowed rows, as far as a walk with `ef` candidates finds them.
///
/// `ef` is raised to `depth` when it is less, and with a filter the walk keeps [`kept`] allowed rows.
/// Every hit is an allowed row. The same arguments give the same result on every machine.
///
/// # Errors
/// [`Error::Invalid`] when the graph and the rows are not of one number, the query has another number
/// of dimensions or is not of finite numbers, or the bitmap is too short.
pub fn search(
    graph: &GraphView<'_>,
    rows: &Rows<'_>,
    query: &[f32],
    depth: usize,
    ef: usize,
    allowed: Allowed<'_>,
) -> Result<Walked> {
    let code = QueryCode::of(rows.dim(), query)?;
    if graph.len() != rows.len() {
        let expected = format!("{}, the number of vectors", rows.len());
        return Err(Error::invalid("number of rows in the graph", graph.len(), expected));
    }
    let count = count_allowed(allowed, rows.len())?;
    let ef = ef.max(depth).max(1);
    let kept = if allowed.is_some() { kept(ef, depth, count, rows.len()) } else { ef };
    let kernels = Kernels::best();
    let scorer = Scorer { kernels, rows, query: &code };
    with_scratch(rows.len(), |scratch| {
        scratch.scored = 0;
        let ended = match (graph.entry(), allowed) {
            (None, _) => true,
            (Some(entry), None) => {
                let start = descend(graph, &scorer, entry, 0, scratch);
                beam(graph, &scorer, 0, ef, &[start], scratch);
                true
            }
            (Some(entry), Some(bits)) => {
                let start = descend(graph, &scorer, entry, 0, scratch);
                let budget = BUDGET_PER_EF.saturating_mul(ef) + count / BUDGET_SHARE;
                filtered(graph, &scorer, kept, start, bits, budget, scratch)
            }
        };
        let hits = rescore(kernels, rows, query, depth, scratch)?;
        Ok(Walked {
            complete: ended && hits.len() >= depth.min(count),
            hits,
            scored: scratch.scored,
            kept,
        })
    })
}

/// `f32` scores of the best candidates, and their order.
fn rescore(
    kernels: &Kernels,
    rows: &Rows<'_>,
    query: &[f32],
    depth: usize,
    scratch: &mut Scratch,
) -> Result<Vec<Hit>> {
    let Listed { ids, scores, .. } = &mut scratch.list;
    ids.clear();
    ids.extend(scratch.best.iter().take(rescored(depth)).map(|key| key.row()));
    scores.resize(ids.len(), 0.0);
    rows.dot(kernels, query, ids, scores)?;
    let scores = ids.iter().zip(&*scores);
    let mut hits: Vec<Hit> = scores.map(|(&row, &score)| Hit { row, score }).collect();
    hits.sort_unstable_by(Hit::order);
    hits.truncate(depth);
    Ok(hits)
}

/// A row with its approximate score in one number that orders like (score falling, row rising), the
/// larger the better, and one bit that says whether its neighbours were looked at.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Key(u64);

impl Key {
    const OPEN: u64 = 1;

    #[inline]
    pub(super) fn new(score: f32, row: u32) -> Self {
        Self(u64::from(order_bits(score)) << 32 | u64::from(!row << 1) | Self::OPEN)
    }

    #[inline]
    pub(super) fn row(self) -> u32 {
        (!self.0 as u32) >> 1
    }

    #[inline]
    pub(super) fn score(self) -> f32 {
        from_order_bits((self.0 >> 32) as u32)
    }

    #[inline]
    fn is_open(self) -> bool {
        self.0 & Self::OPEN != 0
    }
}

/// Scores rows against one query by their codes.
pub(super) struct Scorer<'a> {
    pub kernels: &'a Kernels,
    pub rows: &'a Rows<'a>,
    pub query: &'a QueryCode,
}

impl Scorer<'_> {
    /// Approximate scores of `ids`, into `scores`.
    #[inline]
    pub(super) fn score(&self, ids: &[u32], sums: &mut Vec<i32>, scores: &mut Vec<f32>) {
        sums.resize(ids.len(), 0);
        self.kernels.code_list(self.query.values(), self.rows.codes(), ids, sums);
        let scales = self.rows.scales();
        scores.clear();
        let each = ids.iter().zip(&*sums);
        scores.extend(each.map(|(&id, &sum)| self.query.score(sum, scales[id as usize])));
    }
}

/// What a walk needs of memory; one for each thread, used again and again.
#[derive(Default)]
pub(super) struct Scratch {
    /// One bit a row, all 0 when a walk begins.
    seen: Vec<u64>,
    /// The rows whose bits are 1.
    marked: Vec<u32>,
    /// The result of a walk, best first.
    pub best: Vec<Key>,
    frontier: BinaryHeap<Key>,
    list: Listed,
    /// Codes scored since it was last set to 0.
    pub scored: usize,
}

impl Scratch {
    fn begin(&mut self) {
        if self.marked.len() > self.seen.len() / 8 {
            self.seen.fill(0);
        } else {
            self.marked.iter().for_each(|row| self.seen[*row as usize / 64] = 0);
        }
        self.marked.clear();
        self.best.clear();
        self.frontier.clear();
    }

    /// Marks `row`; whether it is a row and was not marked before.
    #[inline]
    fn visit(&mut self, row: u32, rows: usize) -> bool {
        if row as usize >= rows {
            return false;
        }
        let word = &mut self.seen[row as usize / 64];
        let bit = 1 << (row % 64);
        if *word & bit != 0 {
            return false;
        }
        self.marked.push(row);
        *word |= bit;
        true
    }

    /// The neighbours of `row` not yet seen whose score is `least` or more, in `list`.
    #[inline]
    fn expand(
        &mut self,
        graph: &GraphView<'_>,
        scorer: &Scorer<'_>,
        row: u32,
        level: usize,
        least: f32,
    ) {
        let links = graph.links(row, level);
        let Self { seen, marked, list, .. } = self;
        scorer.kernels.unseen(links, seen, graph.len() as u32, &mut list.ids);
        marked.extend_from_slice(&list.ids);
        self.scored += list.ids.len();
        let (query, rows) = (scorer.query, scorer.rows);
        let scoring = query.scoring(least);
        scorer.kernels.reaching(query.values(), scoring, rows.codes(), rows.scales(), list);
    }

    /// The score of the last of the best, when there are `ef`: a row under it does not enter.
    fn least(&self, ef: usize) -> f32 {
        match self.best.last() {
            Some(last) if self.best.len() >= ef => last.score(),
            _ => f32::NEG_INFINITY,
        }
    }
}

/// Runs `work` with this thread's scratch, made large enough for `rows`.
pub(super) fn with_scratch<T>(rows: usize, work: impl FnOnce(&mut Scratch) -> T) -> T {
    thread_local! {
        static SCRATCH: RefCell<Scratch> = RefCell::default();
    }
    SCRATCH.with(|cell| {
        let mut own;
        let mut shared;
        let scratch = match cell.try_borrow_mut() {
            Ok(borrowed) => {
                shared = borrowed;
                &mut *shared
            }
            // Only a walk begun inside a walk would come here.
            Err(_) => {
                own = Scratch::default();
                &mut own
            }
        };
        scratch.begin();
        if scratch.seen.len() < rows.div_ceil(64) {
            scratch.seen.resize(rows.div_ceil(64), 0);
        }
        work(scratch)
    })
}

/// Goes from `from` to the nearest row that greedy steps find, through the layers above `level`.
///
/// Ends, as every step raises the key.
pub(super) fn descend(
    graph: &GraphView<'_>,
    scorer: &Scorer<'_>,
    from: u32,
    level: usize,
    scratch: &mut Scratch,
) -> Key {
    let Scratch { list: Listed { ids, sums, scores }, scored, .. } = scratch;
    scorer.score(&[from], sums, scores);
    let mut best = Key::new(scores[0], from);
    for layer in (level + 1..=graph.level(from)).rev() {
        loop {
            let here = best;
            ids.clear();
            let links = graph.neighbours(here.row(), layer).iter();
            ids.extend(links.filter(|&&link| (link as usize) < graph.len()));
            scorer.score(ids, sums, scores);
            *scored += ids.len();
            for (&row, &score) in ids.iter().zip(&*scores) {
                best = best.max(Key::new(score, row));
            }
            if best == here {
                break;
            }
        }
    }
    best
}

/// The best `ef` rows that a walk on `level` from `starts` comes to, into `scratch.best`.
pub(super) fn beam(
    graph: &GraphView<'_>,
    scorer: &Scorer<'_>,
    level: usize,
    ef: usize,
    starts: &[Key],
    scratch: &mut Scratch,
) {
    scratch.begin();
    for &start in starts {
        if scratch.visit(start.row(), graph.len()) {
            insert(&mut scratch.best, ef, Key(start.0 | Key::OPEN));
        }
    }
    let mut at = 0;
    while let Some(&key) = scratch.best.get(at) {
        if !key.is_open() {
            at += 1;
            continue;
        }
        scratch.best[at].0 &= !Key::OPEN;
        let least = scratch.least(ef);
        scratch.expand(graph, scorer, key.row(), level, least);
        at += 1;
        let Scratch { list, best, .. } = scratch;
        list.ids.iter().for_each(|&row| prefetch(graph.links(row, level)));
        for (&row, &score) in list.ids.iter().zip(&list.scores) {
            at = at.min(insert(best, ef, Key::new(score, row)));
        }
    }
}

/// The best `ef` allowed rows that a walk on layer 0 from `start` comes to, into `scratch.best`;
/// whether it ended within `budget` scored rows.
fn filtered(
    graph: &GraphView<'_>,
    scorer: &Scorer<'_>,
    ef: usize,
    start: Key,
    allowed: &[u64],
    budget: usize,
    scratch: &mut Scratch,
) -> bool {
    scratch.begin();
    scratch.visit(start.row(), graph.len());
    scratch.frontier.push(start);
    if is_allowed(allowed, start.row()) {
        scratch.best.push(start);
    }
    while let Some(key) = scratch.frontier.pop() {
        if scratch.best.len() == ef && key < scratch.best[ef - 1] {
            break;
        }
        if scratch.scored > budget {
            return false;
        }
        let least = scratch.least(ef);
        scratch.expand(graph, scorer, key.row(), 0, least);
        let Scratch { list, best, frontier, .. } = scratch;
        for (&row, &score) in list.ids.iter().zip(&list.scores) {
            let key = Key::new(score, row);
            if best.len() < ef || key > best[ef - 1] {
                frontier.push(key);
                if is_allowed(allowed, row) {
                    insert(best, ef, key);
                }
            }
        }
        if let Some(next) = scratch.frontier.peek() {
            prefetch(graph.links(next.row(), 0));
        }
    }
    true
}

/// Puts `key` in its place of an array that falls, and drops what is past `most`; the place, or
/// `most` when there is none for it.
#[inline]
fn insert(best: &mut Vec<Key>, most: usize, key: Key) -> usize {
    if best.len() >= most {
        if best.last().is_none_or(|last| key <= *last) {
            return most;
        }
        best.pop();
    }
    let at = best.partition_point(|other| *other > key);
    best.insert(at, key);
    at
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_order_like_score_falling_then_row_rising() {
        let scores = [f32::NEG_INFINITY, -1.0, -1e-40, 0.0, 1e-40, 0.5, 1.0, f32::INFINITY];
        let mut last = None;
        for score in scores {
            for row in [u32::MAX >> 1, 7, 0] {
                let key = Key::new(score, row);
                assert_eq!((key.score(), key.row()), (score, row));
                assert!(last.is_none_or(|last| key > last), "{score} {row}");
                last = Some(key);
            }
        }
    }

    #[test]
    fn a_filter_leaves_as_much_to_keep_as_it_takes() {
        assert_eq!([kept(128, 10, 1000, 1000), kept(128, 10, 500, 1000)], [128, 83]);
        assert_eq!([kept(128, 10, 100, 1000), kept(128, 10, 1, 1000)], [31, 10]);
        assert_eq!([kept(64, 100, 500, 1000), kept(64, 0, 0, 0), kept(64, 0, 0, 9)], [100, 64, 1]);
    }

    #[test]
    fn insert_keeps_the_best_in_order() {
        let mut best = Vec::new();
        let keys = [0.3, 0.9, 0.1, 0.5, 0.7, 0.2].map(|score| Key::new(score, 1));
        let places = keys.map(|key| insert(&mut best, 3, key));
        assert_eq!(places, [0, 0, 2, 1, 1, 3]);
        assert_eq!(best.iter().map(|key| key.score()).collect::<Vec<_>>(), [0.9, 0.7, 0.5]);
    }
}
