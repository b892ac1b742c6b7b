//! The exact scan: every allowed row, at a quarter of the bytes, with a proof.
//!
//! A first pass reads the byte codes and gives each row an interval that holds its `f32` score
//! ([`QueryCode::error_bound`]). A row is left out only when the upper end of its interval is under
//! the lower ends of `depth` others: it cannot be among the best, not even through a tie. The few
//! that remain are scored in `f32`, best upper end first, until no upper end reaches the worst score
//! held. The result is that of [`scan_f32`], bit for bit: same rows, same scores, same order.
//!
//! The intervals only ever *exclude*, so neither the order in which rows are looked at nor the number
//! of threads can show in a result.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use rayon::prelude::*;

use crate::error::{Error, Result};
use crate::vectors::codes::QueryCode;
use crate::vectors::kernels::Kernels;
use crate::vectors::rows::{
    Allowed, Hit, Rows, allowed_word, check_allowed, count_allowed, from_order_bits, is_allowed,
    order_bits,
};

/// Rows from which a scan is shared between threads. Waking a thread takes about 20 µs; 32,768 rows
/// of 256 dimensions take about 150.
pub const PARALLEL_ROWS: usize = 32_768;

/// Rows one task scans; a multiple of 64, so that tasks do not share a word of the bitmap.
const TASK_ROWS: usize = 16_384;

/// Rows scored at a time: their sums stay in the first-level cache.
const BLOCK_ROWS: usize = 512;

/// The best `depth` of the allowed rows by (score falling, row rising).
///
/// Fewer when fewer rows are allowed. The cost is that of the allowed rows, about 5 to 10 ns each at
/// 256 dimensions, and one look at each word of the bitmap.
///
/// # Errors
/// [`Error::Invalid`] when the query has another number of dimensions or is not of finite numbers, or
/// the bitmap is too short.
pub fn scan(
    rows: &Rows<'_>,
    query: &[f32],
    depth: usize,
    allowed: Allowed<'_>,
) -> Result<Vec<Hit>> {
    scan_with(Kernels::best(), rows, query, depth, allowed)
}

/// [`scan`] with the kernels named, for tests and measurements.
///
/// # Errors
/// As [`scan`].
pub fn scan_with(
    kernels: &Kernels,
    rows: &Rows<'_>,
    query: &[f32],
    depth: usize,
    allowed: Allowed<'_>,
) -> Result<Vec<Hit>> {
    let code = QueryCode::of(rows.dim(), query)?;
    let count = count_allowed(allowed, rows.len())?;
    let pass = Pass { kernels, rows, code: &code, allowed, dense: count > rows.len() / 2, depth };
    let sieve = if count >= PARALLEL_ROWS && rayon::current_num_threads() > 1 {
        let tasks = rows.len().div_ceil(TASK_ROWS);
        let parts: Vec<Sieve> = (0..tasks)
            .into_par_iter()
            .map(|task| pass.over(task * TASK_ROWS, ((task + 1) * TASK_ROWS).min(rows.len())))
            .collect();
        parts.into_iter().fold(Sieve::new(depth), Sieve::merge)
    } else {
        pass.over(0, rows.len())
    };
    settle(kernels, rows, query, depth, sieve)
}

/// The same by `f32` alone, every allowed row: slow, obvious, and what [`scan`] is held to.
///
/// # Errors
/// As [`scan`].
pub fn scan_f32(
    rows: &Rows<'_>,
    query: &[f32],
    depth: usize,
    allowed: Allowed<'_>,
) -> Result<Vec<Hit>> {
    QueryCode::of(rows.dim(), query)?;
    check_allowed(allowed, rows.len())?;
    let mut hits = Vec::new();
    for (row, vector) in rows.vectors()?.chunks_exact(rows.dim()).enumerate() {
        if allowed.is_none_or(|bits| bits[row / 64] >> (row % 64) & 1 == 1) {
            hits.push(Hit { row: row as u32, score: Kernels::scalar().dot(query, vector) });
        }
    }
    hits.sort_unstable_by(Hit::order);
    hits.truncate(depth);
    Ok(hits)
}

/// The canonical `f32` score of each of `ids`, in their order.
///
/// # Errors
/// [`Error::Invalid`] as for [`scan`], and when a row number is out of range.
pub fn score_rows(rows: &Rows<'_>, query: &[f32], ids: &[u32]) -> Result<Vec<f32>> {
    QueryCode::of(rows.dim(), query)?;
    if let Some(row) = ids.iter().find(|&&row| row as usize >= rows.len()) {
        return Err(Error::invalid("row", row, format!("under {}", rows.len())));
    }
    let mut scores = vec![0.0; ids.len()];
    rows.dot(Kernels::best(), query, ids, &mut scores)?;
    Ok(scores)
}

/// The first pass over the codes.
#[derive(Clone, Copy)]
struct Pass<'a> {
    kernels: &'a Kernels,
    rows: &'a Rows<'a>,
    code: &'a QueryCode,
    allowed: Allowed<'a>,
    /// Whether most rows are allowed.
    dense: bool,
    depth: usize,
}

impl Pass<'_> {
    /// Allowed rows from `start` (a multiple of 64) up to `end`.
    fn over(&self, start: usize, end: usize) -> Sieve {
        let mut sieve = Sieve::new(self.depth);
        if self.depth == 0 {
            return sieve;
        }
        let mut sums = [0; BLOCK_ROWS];
        match self.allowed {
            None => {
                for from in (start..end).step_by(BLOCK_ROWS) {
                    let to = (from + BLOCK_ROWS).min(end);
                    self.range(from, to, &mut sums[..to - from], &mut sieve);
                }
            }
            Some(bits) => self.over_allowed(bits, start, end, &mut sums, &mut sieve),
        }
        sieve
    }

    /// Blocks with two thirds of the rows allowed are read whole: a row read in passing costs about two
    /// thirds of a listed one. From the others the allowed rows are listed.
    fn over_allowed(
        &self,
        bits: &[u64],
        start: usize,
        end: usize,
        sums: &mut [i32; BLOCK_ROWS],
        sieve: &mut Sieve,
    ) {
        let mut ids = Vec::with_capacity(2 * BLOCK_ROWS);
        for from in (start..end).step_by(BLOCK_ROWS) {
            let to = (from + BLOCK_ROWS).min(end);
            let words = || (from / 64..to.div_ceil(64)).map(|at| (at, allowed_word(bits, end, at)));
            let ones = || words().map(|(_, word)| word.count_ones() as usize).sum::<usize>();
            if self.dense && ones() * 3 > (to - from) * 2 {
                self.range(from, to, &mut sums[..to - from], sieve);
                continue;
            }
            for (at, mut word) in words() {
                while word != 0 {
                    ids.push((at * 64) as u32 + word.trailing_zeros());
                    word &= word - 1;
                }
            }
            if ids.len() >= BLOCK_ROWS {
                self.list(&ids[..BLOCK_ROWS], sums, sieve);
                ids.drain(..BLOCK_ROWS);
            }
        }
        self.list(&ids, &mut sums[..ids.len()], sieve);
    }

    /// The allowed rows of `from..to`, `BLOCK_ROWS` at most; codes of the others are read as well.
    fn range(&self, from: usize, to: usize, sums: &mut [i32], sieve: &mut Sieve) {
        let dim = self.rows.dim();
        let values = self.code.values();
        self.kernels.code_range(values, &self.rows.codes()[from * dim..to * dim], sums);
        let scales = &self.rows.scales()[from..to];
        let residuals = &self.rows.residuals()[from..to];
        // First all upper ends, then a look at sixteen together: most rows are out, and loops without a
        // branch become vector code. It takes the time per row from 2 ns to 1.
        let mut uppers = [0.0; BLOCK_ROWS];
        let each = sums.iter().zip(scales).zip(residuals);
        for (upper, ((&sum, &scale), &residual)) in uppers.iter_mut().zip(each) {
            *upper = self.code.upper(sum, scale, residual);
        }
        for (part, uppers) in uppers[..sums.len()].chunks(16).enumerate() {
            if uppers.iter().fold(false, |any, &upper| any | (upper >= sieve.floor)) {
                for i in part * 16..part * 16 + uppers.len() {
                    let row = (from + i) as u32;
                    if self.allowed.is_none_or(|bits| is_allowed(bits, row)) {
                        sieve.offer(row, self.code, sums[i], scales[i], residuals[i]);
                    }
                }
            }
        }
    }

    fn list(&self, ids: &[u32], sums: &mut [i32], sieve: &mut Sieve) {
        self.kernels.code_list(self.code.values(), self.rows.codes(), ids, sums);
        for (&row, &sum) in ids.iter().zip(&*sums) {
            let at = row as usize;
            sieve.offer(row, self.code, sum, self.rows.scales()[at], self.rows.residuals()[at]);
        }
    }
}

/// A row and the upper end of the interval that holds its `f32` score.
#[derive(Debug, Clone, Copy)]
struct Candidate {
    row: u32,
    upper: f32,
}

/// Rows that may still be among the best `depth`.
///
/// Invariant: `floor` is the `depth`-th largest lower end of the rows offered so far, or -∞ while
/// there are fewer; a row whose upper end is under it is out.
struct Sieve {
    depth: usize,
    floor: f32,
    /// The `depth` largest lower ends, as [`order_bits`], the least on top.
    lowers: BinaryHeap<Reverse<u32>>,
    kept: Vec<Candidate>,
    /// The number of rows at which those now under the floor are let go.
    room: usize,
}

impl Sieve {
    fn new(depth: usize) -> Self {
        let lowers = BinaryHeap::new();
        Self { depth, floor: f32::NEG_INFINITY, lowers, kept: Vec::new(), room: 4_096 }
    }

    #[inline]
    fn offer(&mut self, row: u32, code: &QueryCode, sum: i32, scale: f32, residual: f32) {
        let upper = code.upper(sum, scale, residual);
        if upper >= self.floor {
            let lower = code.score(sum, scale) - code.error_bound(residual);
            self.keep(Candidate { row, upper }, order_bits(lower));
        }
    }

    fn keep(&mut self, candidate: Candidate, lower: u32) {
        self.kept.push(candidate);
        self.raise(lower);
        if self.kept.len() >= self.room {
            self.sift();
            self.room = self.room.max(self.kept.len() * 2);
        }
    }

    /// Takes a row's lower end into account.
    fn raise(&mut self, lower: u32) {
        if self.lowers.len() < self.depth {
            self.lowers.push(Reverse(lower));
        } else if let Some(mut least) = self.lowers.peek_mut()
            && lower > least.0
        {
            least.0 = lower;
        }
        if self.lowers.len() == self.depth
            && let Some(least) = self.lowers.peek()
        {
            self.floor = from_order_bits(least.0);
        }
    }

    fn sift(&mut self) {
        self.kept.retain(|candidate| candidate.upper >= self.floor);
    }

    fn merge(mut self, other: Self) -> Self {
        other.lowers.into_iter().for_each(|Reverse(lower)| self.raise(lower));
        self.kept.extend(other.kept);
        self
    }
}

/// The second pass: `f32` scores, best upper end first, until the rest cannot reach the result.
fn settle(
    kernels: &Kernels,
    rows: &Rows<'_>,
    query: &[f32],
    depth: usize,
    mut sieve: Sieve,
) -> Result<Vec<Hit>> {
    if depth == 0 {
        return Ok(Vec::new());
    }
    sieve.sift();
    let mut left = sieve.kept;
    left.sort_unstable_by(|a, b| b.upper.total_cmp(&a.upper).then(a.row.cmp(&b.row)));
    let mut hits: Vec<Hit> = Vec::new();
    // A block as large as the result costs one extra sort of it each time; 16 at least, to fill the
    // kernel's groups.
    for block in left.chunks(depth.max(16)) {
        if hits.len() >= depth && block[0].upper < hits[depth - 1].score {
            break;
        }
        let ids: Vec<u32> = block.iter().map(|candidate| candidate.row).collect();
        let mut scores = vec![0.0; ids.len()];
        rows.dot(kernels, query, &ids, &mut scores)?;
        hits.extend(ids.into_iter().zip(scores).map(|(row, score)| Hit { row, score }));
        hits.sort_unstable_by(Hit::order);
        hits.truncate(depth);
    }
    Ok(hits)
}
