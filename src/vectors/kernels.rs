//! The inner products everything else here is made of, one set of functions for each instruction set.
//!
//! Two things are computed: `f32` inner products, whose **bits** are part of what Atlas promises
//! (same corpus, same scores, on any machine), and inner products of byte codes, which are whole
//! numbers and so exact by nature.
//!
//! The order of the `f32` sum is fixed, and every instruction set follows it:
//!
//! 1. sixteen accumulators ("lanes"), all `+0.0`; element `i` belongs to lane `i % 16`;
//! 2. a lane adds its products in rising `i`; product and sum are rounded one after the other (no
//!    fused multiply-add);
//! 3. lanes are folded by halves: lane `l` takes lane `l + 8`, then `l + 4`, `l + 2`, `l + 1`.
//!
//! A lane that starts at `+0.0` never becomes `-0.0`, so padding a short tail with zeros leaves its
//! bits alone, and a vector unit may treat the tail as one more full step.
//!
//! This is the only file of the room with `unsafe`: raw loads, and calls of functions compiled for
//! instructions that the machine was asked about first. The public methods are safe; they check every
//! length and row number before a pointer is formed.

#![expect(
    unsafe_code,
    reason = "vector instructions are reached through raw loads; see the module's doc"
)]

use std::sync::OnceLock;

use crate::vectors::rows::ROWS_MAX;

#[cfg(target_arch = "aarch64")]
mod neon;
#[cfg(target_arch = "x86_64")]
mod x86;

/// Accumulators of the canonical `f32` sum.
const LANES: usize = 16;

/// Rows scored together: their loads overlap, and they share the loads of the query.
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
const GROUP: usize = 4;

/// How many rows ahead a listed row is asked for. Measured with 256 dimensions: 16 takes a tenth to a
/// fifth off a walk of 20,000 rows against 4, and 32 no more.
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
const LIST_AHEAD: usize = 16;

/// `out[i] = query · rows[ids[i]]`; the caller has checked lengths, row numbers and instruction set.
type DotRows = unsafe fn(query: &[f32], rows: &[f32], ids: &[u32], out: &mut [f32]);
/// `out[i] = Σ query × codes[ids[i]]`; checked like [`DotRows`].
type CodeList = unsafe fn(query: &[i8], codes: &[u8], ids: &[u32], out: &mut [i32]);
/// `out[i] = Σ query × codes[i]`; checked like [`DotRows`].
type CodeRange = unsafe fn(query: &[i8], codes: &[u8], out: &mut [i32]);
/// The rows of `links` whose bits in `seen` are 0, into `fresh`, and their bits set; the caller has
/// checked that `seen` has a bit for each row, and the instruction set.
type Unseen = unsafe fn(links: &[u32], seen: &mut [u64], rows: u32, fresh: &mut Vec<u32>);
/// Scores of a list from its sums, those that reach the least; the caller has checked that there is a
/// sum for each id, a scale for each row and fewer than [`ROWS_MAX`] rows, and the instruction set.
type Reaching = unsafe fn(scoring: Scoring, scales: &[f32], list: &mut Listed);

/// Dimensions at most, so that a sum of byte products cannot leave an `i32`: `65,535 × 255 × 128`.
pub const DIM_MAX: usize = 65_535;

/// How sums of byte products become scores.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Scoring {
    /// What the offset of stored codes adds to every sum.
    pub bias: i32,
    /// The scale of the query's code.
    pub scale: f32,
    /// The least score of use: where a list is cut, lower ones are left out, and what is no number.
    pub least: f32,
}

impl Scoring {
    /// The score of a row from its sum and the scale of its code.
    #[inline]
    pub fn score(&self, sum: i32, row_scale: f32) -> f32 {
        (sum - self.bias) as f32 * (self.scale * row_scale)
    }
}

/// Rows and their scores, with the memory that scoring them takes.
#[derive(Debug, Clone, Default)]
pub struct Listed {
    /// Row numbers.
    pub ids: Vec<u32>,
    /// Their scores, once there are some.
    pub scores: Vec<f32>,
    /// Sums of byte products of the rows there were before the list was cut.
    pub sums: Vec<i32>,
}

/// Scoring functions for one instruction set.
///
/// All sets give the same bits; they differ in speed alone. [`Kernels::best`] is the one to use,
/// [`Kernels::available`] is for tests and measurements.
///
/// ```
/// # use atlas::vectors;
/// let kernels = vectors::kernels::Kernels::best();
/// assert_eq!(kernels.dot(&[1.0, 2.0], &[3.0, 4.0]), 11.0);
/// ```
pub struct Kernels {
    name: &'static str,
    dot_rows: DotRows,
    code_list: CodeList,
    code_range: CodeRange,
    unseen: Unseen,
    reaching: Reaching,
}

static SCALAR: Kernels = Kernels {
    name: "scalar",
    dot_rows: scalar::dot_rows,
    code_list: scalar::code_list,
    code_range: scalar::code_range,
    unseen: scalar::unseen,
    reaching: scalar::reaching,
};

impl Kernels {
    /// The fastest set this machine runs, asked for once.
    pub fn best() -> &'static Self {
        static BEST: OnceLock<&'static Kernels> = OnceLock::new();
        BEST.get_or_init(|| Self::available().first().copied().unwrap_or(&SCALAR))
    }

    /// Every set this machine runs, fastest first; the scalar reference is always the last.
    pub fn available() -> Vec<&'static Self> {
        let mut sets: Vec<&'static Self> = Vec::new();
        #[cfg(target_arch = "x86_64")]
        sets.extend(x86::available());
        #[cfg(target_arch = "aarch64")]
        sets.extend(neon::available());
        sets.push(&SCALAR);
        sets
    }

    /// The plain loops that define what every other set must return.
    pub fn scalar() -> &'static Self {
        &SCALAR
    }

    /// The instruction set: `avx512vnni`, `avx512`, `avx2`, `neon` or `scalar`.
    pub fn name(&self) -> &'static str {
        self.name
    }

    /// The canonical inner product of two vectors of one length.
    ///
    /// # Panics
    /// When the lengths differ, or are 0: a mistake of ours, as requests are checked at the door.
    pub fn dot(&self, left: &[f32], right: &[f32]) -> f32 {
        assert_eq!(left.len(), right.len(), "inner product of vectors of different length");
        let mut out = [0.0];
        self.dot_rows(left, right, &[0], &mut out);
        out[0]
    }

    /// The canonical inner product of `query` `[dim]` with each listed row of `rows` `[rows × dim]`.
    ///
    /// # Panics
    /// When `ids` and `out` differ in length, `dim` is 0, or a row number is out of range.
    pub fn dot_rows(&self, query: &[f32], rows: &[f32], ids: &[u32], out: &mut [f32]) {
        check(query.len(), rows.len(), ids, out.len());
        // SAFETY: lengths and row numbers were checked, and a set is handed out only on a machine
        // that has its instructions.
        unsafe { (self.dot_rows)(query, rows, ids, out) }
    }

    /// `Σ query[i] × code[i]` for each listed row of `codes` `[rows × dim]`, exact.
    ///
    /// Codes stand for `value + 128`, so the result is the inner product of the values plus
    /// `128 × Σ query`; that constant is the caller's to take away.
    ///
    /// # Panics
    /// As [`Kernels::dot_rows`], and when `dim` is over [`DIM_MAX`].
    pub fn code_list(&self, query: &[i8], codes: &[u8], ids: &[u32], out: &mut [i32]) {
        check(query.len(), codes.len(), ids, out.len());
        assert!(query.len() <= DIM_MAX, "code of more than {DIM_MAX} dimensions");
        // SAFETY: as in `dot_rows`.
        unsafe { (self.code_list)(query, codes, ids, out) }
    }

    /// [`Kernels::code_list`] for the rows of `codes` one after the other, `out.len()` of them.
    ///
    /// # Panics
    /// When `codes` is not `out.len() × dim` bytes, or `dim` is 0 or over [`DIM_MAX`].
    pub fn code_range(&self, query: &[i8], codes: &[u8], out: &mut [i32]) {
        assert!(!query.is_empty() && query.len() <= DIM_MAX, "code of {} dimensions", query.len());
        assert_eq!(codes.len(), query.len() * out.len(), "codes do not fill the rows asked for");
        // SAFETY: as in `dot_rows`.
        unsafe { (self.code_range)(query, codes, out) }
    }

    /// Scores the rows of `list` by their `codes` `[rows × dim]` and `scales` `[rows]`, and keeps those
    /// whose score is [`Scoring::least`] or more, in their order.
    ///
    /// # Panics
    /// As [`Kernels::code_list`], and when there are fewer scales than rows, or 2³¹ or more.
    pub fn reaching(
        &self,
        query: &[i8],
        scoring: Scoring,
        codes: &[u8],
        scales: &[f32],
        list: &mut Listed,
    ) {
        assert!(codes.len() <= scales.len().saturating_mul(query.len()), "a scale for each row");
        assert!(scales.len() < ROWS_MAX, "scales of {ROWS_MAX} rows or more");
        for &id in &list.ids {
            prefetch(&scales[id as usize..][..1]);
        }
        list.sums.resize(list.ids.len(), 0);
        self.code_list(query, codes, &list.ids, &mut list.sums);
        // SAFETY: `code_list` checked the row numbers, each has a scale and is under 2³¹, and there are as
        // many sums as rows; as in `dot_rows`.
        unsafe { (self.reaching)(scoring, scales, list) }
    }

    /// Those of `links` that are rows (under `rows`) and whose bits in `seen` are 0, each once and in
    /// their order, into `fresh`; sets their bits.
    ///
    /// # Panics
    /// When `seen` has fewer than `rows` bits.
    pub fn unseen(&self, links: &[u32], seen: &mut [u64], rows: u32, fresh: &mut Vec<u32>) {
        assert!(rows as usize <= seen.len() * 64, "a mark for each of {rows} rows");
        // SAFETY: the length was checked; as in `dot_rows`.
        unsafe { (self.unseen)(links, seen, rows, fresh) }
    }
}

fn check(dim: usize, data_len: usize, ids: &[u32], out_len: usize) {
    assert!(dim > 0, "row of no dimensions");
    assert_eq!(ids.len(), out_len, "as many scores as rows");
    let last = ids.iter().fold(0, |last, &id| last.max(id));
    let needed = (last as usize).saturating_add(1).saturating_mul(dim);
    assert!(ids.is_empty() || needed <= data_len, "row {last} is out of range");
}

/// Asks for `data` to be brought into the cache; nothing is read, and nothing may depend on it.
pub fn prefetch<T>(data: &[T]) {
    #[cfg(target_arch = "x86_64")]
    {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        let start = data.as_ptr().cast::<i8>();
        for offset in (0..size_of_val(data)).step_by(64) {
            // SAFETY: a prefetch has no effect that a program can observe; the address is inside `data`.
            unsafe { _mm_prefetch::<_MM_HINT_T0>(start.add(offset)) }
        }
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = data;
}

/// Asks for large pages behind `data`, which nobody has written to yet: tables that are read in small
/// pieces from all over, when no file is behind them. A wish that a system may not grant.
pub fn prefer_large_pages<T>(data: &mut [T]) {
    #[cfg(target_os = "linux")]
    {
        let page = rustix::param::page_size();
        let (start, bytes) = (data.as_mut_ptr(), size_of_val(data));
        let skipped = start.addr().next_multiple_of(page) - start.addr();
        let whole = bytes.saturating_sub(skipped) / page * page;
        if whole > 0 {
            // SAFETY: whole pages inside `data`; the advice changes how they are backed, not what they hold.
            let _ = unsafe {
                let first = start.cast::<std::ffi::c_void>().byte_add(skipped);
                rustix::mm::madvise(first, whole, rustix::mm::Advice::LinuxHugepage)
            };
        }
    }
    #[cfg(not(target_os = "linux"))]
    let _ = data;
}

/// The reference: what every other set must return, bit for bit.
mod scalar {
    use super::{LANES, Listed, Scoring};

    pub fn dot(query: &[f32], row: &[f32]) -> f32 {
        let mut lanes = [0.0_f32; LANES];
        let (query_steps, query_tail) = query.as_chunks::<LANES>();
        let (row_steps, row_tail) = row.as_chunks::<LANES>();
        for (q, r) in query_steps.iter().zip(row_steps) {
            for lane in 0..LANES {
                lanes[lane] += q[lane] * r[lane];
            }
        }
        for (lane, (q, r)) in lanes.iter_mut().zip(query_tail.iter().zip(row_tail)) {
            *lane += q * r;
        }
        let mut half = LANES / 2;
        while half > 0 {
            for lane in 0..half {
                lanes[lane] += lanes[lane + half];
            }
            half /= 2;
        }
        lanes[0]
    }

    pub fn code(query: &[i8], row: &[u8]) -> i32 {
        query.iter().zip(row).map(|(&q, &c)| i32::from(q) * i32::from(c)).sum()
    }

    pub fn dot_rows(query: &[f32], rows: &[f32], ids: &[u32], out: &mut [f32]) {
        for (&id, out) in ids.iter().zip(out) {
            *out = dot(query, &rows[id as usize * query.len()..][..query.len()]);
        }
    }

    pub fn code_list(query: &[i8], codes: &[u8], ids: &[u32], out: &mut [i32]) {
        for (&id, out) in ids.iter().zip(out) {
            *out = code(query, &codes[id as usize * query.len()..][..query.len()]);
        }
    }

    pub fn code_range(query: &[i8], codes: &[u8], out: &mut [i32]) {
        for (row, out) in codes.chunks_exact(query.len()).zip(out) {
            *out = code(query, row);
        }
    }

    pub fn reaching(scoring: Scoring, scales: &[f32], list: &mut Listed) {
        let Listed { ids, scores, sums } = list;
        let mut sums = sums.iter();
        scores.clear();
        ids.retain(|&id| {
            let score =
                sums.next().map_or(f32::NAN, |&sum| scoring.score(sum, scales[id as usize]));
            let reaches = score >= scoring.least;
            if reaches {
                scores.push(score);
            }
            reaches
        });
    }

    pub fn unseen(links: &[u32], seen: &mut [u64], rows: u32, fresh: &mut Vec<u32>) {
        fresh.clear();
        for &row in links.iter().filter(|&&row| row < rows) {
            let (word, bit) = (&mut seen[row as usize / 64], 1 << (row % 64));
            if *word & bit == 0 {
                *word |= bit;
                fresh.push(row);
            }
        }
    }
}

/// Row pointers of the group of `ids` that starts at `at`, and a prefetch of one further on.
///
/// # Safety
/// `ids[at..at + GROUP]` exist, and every id is a row of `data` `[rows × dim]`.
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
#[inline(always)]
unsafe fn group<T>(data: &[T], dim: usize, ids: &[u32], at: usize) -> [*const T; GROUP] {
    let ahead = ids.get(at + LIST_AHEAD..).unwrap_or(&[]);
    for &next in ahead.iter().take(GROUP) {
        prefetch(&data[next as usize * dim..][..dim]);
    }
    // SAFETY: the caller vouches for the ids.
    std::array::from_fn(|i| unsafe { data.as_ptr().add(ids[at + i] as usize * dim) })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A small generator, so that a failing case can be repeated from its seed.
    struct Random(u64);

    impl Random {
        fn next(&mut self) -> u64 {
            self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
            let mut z = self.0;
            z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
            z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
            z ^ (z >> 31)
        }
        /// Values of very different sizes, so that the order of the sum shows in its bits.
        fn float(&mut self) -> f32 {
            let z = self.next();
            let size = [1e-30, 1e-6, 1.0, 3e3, 0.0][(z % 5) as usize];
            ((z >> 40) as f32 / (1 << 23) as f32 - 1.0) * size
        }
    }

    fn dims() -> impl Iterator<Item = usize> {
        (1..=130).chain([256, 384, 512, 768, 1000, 2048])
    }

    #[test]
    fn every_set_gives_the_bits_of_the_scalar_sum() {
        for dim in dims() {
            let mut random = Random(dim as u64);
            let count = 11;
            let rows: Vec<f32> = (0..count * dim).map(|_| random.float()).collect();
            let query: Vec<f32> = (0..dim).map(|_| random.float()).collect();
            let ids = [10, 0, 3, 3, 9, 1, 7, 5, 2];
            let mut expected = [0.0; 9];
            Kernels::scalar().dot_rows(&query, &rows, &ids, &mut expected);
            let bits = |scores: &[f32]| scores.iter().map(|s| s.to_bits()).collect::<Vec<_>>();
            for kernels in Kernels::available() {
                for listed in 0..=ids.len() {
                    let mut found = [f32::NAN; 9];
                    kernels.dot_rows(&query, &rows, &ids[..listed], &mut found[..listed]);
                    let (found, expected) = (bits(&found[..listed]), bits(&expected[..listed]));
                    assert_eq!(found, expected, "{} at {dim} dimensions", kernels.name());
                }
                assert_eq!(kernels.dot(&query, &rows[..dim]).to_bits(), expected[1].to_bits());
            }
        }
    }

    #[test]
    fn the_scalar_sum_follows_the_written_order() {
        // Lane 0 holds 1 + ε + ε, which is 1 when added in order and more when ε + ε comes first.
        let mut left = vec![0.0_f32; 35];
        left[0] = 1.0;
        left[16] = f32::EPSILON / 2.0;
        left[32] = f32::EPSILON / 2.0;
        assert_eq!(Kernels::scalar().dot(&left, &[1.0; 35]), 1.0);
        // Lanes 0 and 8 meet before lanes 0 and 1 do.
        let mut left = [0.0_f32; 16];
        (left[0], left[8], left[1]) = (1e8, -1e8, 1.0);
        assert_eq!(Kernels::scalar().dot(&left, &[1.0; 16]), 1.0);
    }

    #[test]
    fn byte_sums_are_exact_on_every_set_even_at_the_extremes() {
        for dim in dims() {
            let mut random = Random(dim as u64 ^ 0xABCD);
            let count = 10;
            for extreme in [false, true] {
                let codes: Vec<u8> = (0..count * dim)
                    .map(|_| if extreme { 255 } else { random.next() as u8 })
                    .collect();
                for sign in [-128_i8, 127] {
                    let query: Vec<i8> = (0..dim)
                        .map(|_| if extreme { sign } else { random.next() as i8 })
                        .collect();
                    let expected: Vec<i32> = codes
                        .chunks(dim)
                        .map(|row| {
                            row.iter().zip(&query).map(|(&c, &q)| i32::from(c) * i32::from(q)).sum()
                        })
                        .collect();
                    let ids: Vec<u32> = (0..count as u32).rev().collect();
                    for kernels in Kernels::available() {
                        let mut list = vec![0; count];
                        kernels.code_list(&query, &codes, &ids, &mut list);
                        list.reverse();
                        assert_eq!(list, expected, "{} list at {dim}", kernels.name());
                        for rows in 0..=count {
                            let mut range = vec![0; rows];
                            kernels.code_range(&query, &codes[..rows * dim], &mut range);
                            assert_eq!(range, expected[..rows], "{} at {dim}", kernels.name());
                        }
                    }
                }
            }
        }
    }

    #[test]
    fn every_set_finds_the_same_rows_unseen() {
        let mut random = Random(7);
        for case in 0..300_u32 {
            let rows = case % 131;
            // Rows twice in a list, rows that do not exist, and padding, as in a damaged graph.
            let links: Vec<u32> = (0..random.next() % 70)
                .map(|_| match random.next() {
                    draw if draw % 16 == 0 => u32::MAX,
                    draw => draw as u32 % (rows + 9),
                })
                .collect();
            let before: Vec<u64> = (0..rows.div_ceil(64)).map(|_| random.next()).collect();
            let (mut expected, mut marks) = (vec![3], before.clone());
            Kernels::scalar().unseen(&links, &mut marks, rows, &mut expected);
            for kernels in Kernels::available() {
                let (mut found, mut seen) = (vec![5; 9], before.clone());
                kernels.unseen(&links, &mut seen, rows, &mut found);
                assert_eq!((found, seen), (expected.clone(), marks.clone()), "{}", kernels.name());
            }
            let is_new = |row: &u32| before[*row as usize / 64] >> (row % 64) & 1 == 0;
            assert!(expected.iter().all(|row| *row < rows && is_new(row)));
        }
    }

    #[test]
    fn every_set_keeps_the_same_scores() {
        let mut random = Random(11);
        for case in 0..300_usize {
            let dim = [3, 64, 256, 384, 512, 513][case % 6];
            let rows = 1 + case % 40;
            let codes: Vec<u8> = (0..rows * dim).map(|_| random.next() as u8).collect();
            let scales: Vec<f32> = (0..rows).map(|_| random.float()).collect();
            let query: Vec<i8> = (0..dim).map(|_| random.next() as i8).collect();
            let ids: Vec<u32> =
                (0..case % 37).map(|_| random.next() as u32 % rows as u32).collect();
            let bias = 128 * query.iter().map(|&value| i32::from(value)).sum::<i32>();
            let mut sums = vec![0; ids.len()];
            Kernels::scalar().code_list(&query, &codes, &ids, &mut sums);
            let each = Scoring { bias, scale: random.float(), least: f32::NEG_INFINITY };
            let all: Vec<(u32, f32)> = ids
                .iter()
                .zip(&sums)
                .map(|(&id, &sum)| (id, each.score(sum, scales[id as usize])))
                .collect();
            let some = all.get(case % 7).map_or(0.0, |(_, score)| *score);
            for least in [f32::NEG_INFINITY, some, 0.0, f32::INFINITY] {
                let expected: Vec<(u32, u32)> = all
                    .iter()
                    .filter(|(_, score)| *score >= least)
                    .map(|(id, score)| (*id, score.to_bits()))
                    .collect();
                for kernels in Kernels::available() {
                    let mut list =
                        Listed { ids: ids.clone(), scores: vec![4.0; 3], sums: vec![9; 50] };
                    let scoring = Scoring { least, ..each };
                    kernels.reaching(&query, scoring, &codes, &scales, &mut list);
                    let found: Vec<(u32, u32)> =
                        list.ids.into_iter().zip(list.scores.iter().map(|s| s.to_bits())).collect();
                    assert_eq!(found, expected, "{} at {dim}, {least}", kernels.name());
                    assert_eq!(list.scores.len(), expected.len());
                }
            }
        }
    }

    #[test]
    #[should_panic(expected = "a scale for each row")]
    fn rows_without_a_scale_are_stopped() {
        let scoring = Scoring { bias: 0, scale: 1.0, least: 0.0 };
        Kernels::best().reaching(&[1, 1], scoring, &[0; 6], &[1.0; 2], &mut Listed::default());
    }

    #[test]
    fn large_pages_change_no_number() {
        let mut numbers = vec![0_u32; 3 << 20];
        prefer_large_pages(&mut numbers);
        prefer_large_pages(&mut numbers[..1]);
        prefer_large_pages::<u32>(&mut []);
        assert!(numbers.iter().all(|&number| number == 0));
    }

    #[test]
    #[should_panic(expected = "a mark for each of 65 rows")]
    fn marks_for_fewer_rows_are_stopped() {
        Kernels::best().unseen(&[64], &mut [0], 65, &mut Vec::new());
    }

    #[test]
    #[should_panic(expected = "row 3 is out of range")]
    fn a_row_outside_is_stopped_before_it_is_read() {
        Kernels::best().code_list(&[1, 1], &[0; 6], &[0, 3], &mut [0, 0]);
    }
}
