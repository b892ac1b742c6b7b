//! AVX2.

use std::arch::x86_64::*;

use super::super::{GROUP, Kernels, LANES, LIST_AHEAD, group, prefetch, scalar};
use super::AHEAD;

/// The set.
pub static AVX2: Kernels = Kernels {
    name: "avx2",
    dot_rows: dot_rows_avx2,
    code_list: code_list_avx2,
    code_range: code_range_avx2,
    unseen: scalar::unseen,
    reaching: scalar::reaching,
};

#[target_feature(enable = "avx2")]
fn dot_rows_avx2(query: &[f32], rows: &[f32], ids: &[u32], out: &mut [f32]) {
    by_list!(query, rows, ids, out, dots_avx2, dots_avx2);
}

/// Lanes 0 to 7 and 8 to 15 of each row.
///
/// # Safety
/// Each row has `query.len()` elements.
#[inline]
#[target_feature(enable = "avx2")]
unsafe fn dots_avx2<const R: usize>(query: &[f32], rows: [*const f32; R]) -> [f32; R] {
    let mut lanes = [[_mm256_setzero_ps(); 2]; R];
    let (steps, tail) = query.as_chunks::<LANES>();
    for (step, q) in steps.iter().enumerate() {
        for (lane, row) in lanes.iter_mut().zip(rows) {
            // SAFETY: row elements `16 × step ..+16` exist.
            unsafe { add_step_avx2(lane, q, row.add(step * LANES)) };
        }
    }
    if !tail.is_empty() {
        let mut q = [0.0; LANES];
        q[..tail.len()].copy_from_slice(tail);
        for (lane, row) in lanes.iter_mut().zip(rows) {
            let mut r = [0.0; LANES];
            // SAFETY: the row has `tail.len()` elements after its full steps; `r` has 16.
            unsafe {
                let rest = row.add(steps.len() * LANES);
                std::ptr::copy_nonoverlapping(rest, r.as_mut_ptr(), tail.len());
                add_step_avx2(lane, &q, r.as_ptr());
            }
        }
    }
    lanes.map(|[low, high]| fold_eight(_mm256_add_ps(low, high)))
}

/// # Safety
/// `row` has 16 elements.
#[inline]
#[target_feature(enable = "avx2")]
unsafe fn add_step_avx2(lanes: &mut [__m256; 2], query: &[f32; LANES], row: *const f32) {
    for (half, lane) in lanes.iter_mut().enumerate() {
        // SAFETY: eight elements from 0 or from 8, of sixteen.
        unsafe {
            let q = _mm256_loadu_ps(query.as_ptr().add(half * 8));
            let r = _mm256_loadu_ps(row.add(half * 8));
            *lane = _mm256_add_ps(*lane, _mm256_mul_ps(q, r));
        }
    }
}

#[target_feature(enable = "avx2")]
fn code_list_avx2(query: &[i8], codes: &[u8], ids: &[u32], out: &mut [i32]) {
    by_list!(query, codes, ids, out, codes_avx2, codes_avx2);
}

#[target_feature(enable = "avx2")]
fn code_range_avx2(query: &[i8], codes: &[u8], out: &mut [i32]) {
    by_range!(query, codes, out, codes_avx2, codes_avx2);
}

/// `add_pairs_avx512` for half as many.
#[inline]
#[target_feature(enable = "avx2")]
fn add_pairs_avx2(sums: __m256i, unsigned: __m256i, signed: __m256i) -> __m256i {
    let pairs = _mm256_maddubs_epi16(unsigned, signed);
    _mm256_add_epi32(sums, _mm256_madd_epi16(pairs, _mm256_set1_epi16(1)))
}

/// Multiplies bytes as they are: `maddubs` takes one side unsigned and the other signed, and adds two
/// products in 16 bits, where 255 times 127 twice would saturate. So the unsigned side is the magnitude
/// of the query's value, 128 at most, and the signed side the code with its top bit flipped, which takes
/// 128 away, or with all others flipped where the query's value is negative, which gives 127 less the
/// code. Then two products lie within -32,768 and 32,512. What was taken away, or added, is what a code
/// of 0 would have given, and is taken from the sum.
///
/// # Safety
/// Each row has `query.len()` bytes.
#[inline]
#[target_feature(enable = "avx2")]
unsafe fn codes_avx2<const R: usize>(query: &[i8], rows: [*const u8; R]) -> [i32; R] {
    const STEP: usize = 32;
    let (zero, top) = (_mm256_setzero_si256(), _mm256_set1_epi8(-128));
    let mut sums = [zero; R];
    let mut owed = zero;
    let (steps, tail) = query.as_chunks::<STEP>();
    for (step, q) in steps.iter().enumerate() {
        // SAFETY: 32 bytes of the query, and row bytes `32 × step ..+32`, exist.
        unsafe {
            let q = _mm256_loadu_si256(q.as_ptr().cast());
            let size = _mm256_abs_epi8(q);
            let flip = _mm256_xor_si256(_mm256_cmpgt_epi8(zero, q), top);
            owed = add_pairs_avx2(owed, size, flip);
            for (sum, row) in sums.iter_mut().zip(rows) {
                let r = _mm256_loadu_si256(row.add(step * STEP).cast());
                *sum = add_pairs_avx2(*sum, size, _mm256_xor_si256(r, flip));
            }
        }
    }
    let mut out = sums.map(|sum| {
        let sum = _mm256_sub_epi32(sum, owed);
        let four = _mm_add_epi32(_mm256_castsi256_si128(sum), _mm256_extracti128_si256::<1>(sum));
        let two = _mm_add_epi32(four, _mm_shuffle_epi32::<0b01_00_11_10>(four));
        _mm_cvtsi128_si32(_mm_add_epi32(two, _mm_shuffle_epi32::<0b10_11_00_01>(two)))
    });
    for (out, row) in out.iter_mut().zip(rows) {
        for (i, &q) in tail.iter().enumerate() {
            // SAFETY: the row has `tail.len()` bytes after its full steps.
            *out += i32::from(q) * i32::from(unsafe { *row.add(steps.len() * STEP + i) });
        }
    }
    out
}

/// The last three foldings of the canonical sum: by 4, by 2, by 1.
#[inline]
#[target_feature(enable = "avx")]
pub(super) fn fold_eight(lanes: __m256) -> f32 {
    let four = _mm_add_ps(_mm256_castps256_ps128(lanes), _mm256_extractf128_ps::<1>(lanes));
    let two = _mm_add_ps(four, _mm_movehl_ps(four, four));
    _mm_cvtss_f32(_mm_add_ss(two, _mm_shuffle_ps::<1>(two, two)))
}
