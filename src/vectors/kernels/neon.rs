//! NEON, which every 64-bit ARM processor has.
//!
//! Compiled for ARM only; the same tests as on x86 hold it to the scalar reference there.

use std::arch::aarch64::*;
use std::arch::is_aarch64_feature_detected;

use super::{GROUP, Kernels, LANES, group, scalar};

static NEON: Kernels = Kernels {
    name: "neon",
    dot_rows,
    code_list: code_list_neon,
    code_range: code_range_neon,
    unseen: scalar::unseen,
    reaching: scalar::reaching,
};

/// The one set of ARM, when the processor has it.
pub fn available() -> impl Iterator<Item = &'static Kernels> {
    is_aarch64_feature_detected!("neon").then_some(&NEON).into_iter()
}

#[target_feature(enable = "neon")]
fn dot_rows(query: &[f32], rows: &[f32], ids: &[u32], out: &mut [f32]) {
    let dim = query.len();
    let mut at = 0;
    while at + GROUP <= ids.len() {
        // SAFETY: the safe method checked every id and length.
        let pointers = unsafe { group(rows, dim, ids, at) };
        for (out, row) in out[at..].iter_mut().zip(pointers) {
            // SAFETY: as above.
            *out = unsafe { dot(query, row) };
        }
        at += GROUP;
    }
    for (out, &id) in out[at..].iter_mut().zip(&ids[at..]) {
        // SAFETY: as above.
        *out = unsafe { dot(query, rows.as_ptr().add(id as usize * dim)) };
    }
}

/// Lanes 0 to 3, 4 to 7, 8 to 11 and 12 to 15.
///
/// # Safety
/// The row has `query.len()` elements.
#[inline]
#[target_feature(enable = "neon")]
unsafe fn dot(query: &[f32], row: *const f32) -> f32 {
    let mut lanes = [vdupq_n_f32(0.0); 4];
    let (steps, tail) = query.as_chunks::<LANES>();
    for (step, q) in steps.iter().enumerate() {
        // SAFETY: row elements `16 × step ..+16` exist.
        unsafe { add_step(&mut lanes, q, row.add(step * LANES)) };
    }
    if !tail.is_empty() {
        let (mut q, mut r) = ([0.0; LANES], [0.0; LANES]);
        q[..tail.len()].copy_from_slice(tail);
        // SAFETY: the row has `tail.len()` elements after its full steps; `r` has 16.
        unsafe {
            let rest = row.add(steps.len() * LANES);
            std::ptr::copy_nonoverlapping(rest, r.as_mut_ptr(), tail.len());
            add_step(&mut lanes, &q, r.as_ptr());
        }
    }
    // By 8, by 4, by 2, by 1.
    let four = vaddq_f32(vaddq_f32(lanes[0], lanes[2]), vaddq_f32(lanes[1], lanes[3]));
    let two = vadd_f32(vget_low_f32(four), vget_high_f32(four));
    vget_lane_f32::<0>(two) + vget_lane_f32::<1>(two)
}

/// # Safety
/// `row` has 16 elements.
#[inline]
#[target_feature(enable = "neon")]
unsafe fn add_step(lanes: &mut [float32x4_t; 4], query: &[f32; LANES], row: *const f32) {
    for (part, lane) in lanes.iter_mut().enumerate() {
        // SAFETY: four elements of sixteen. Multiply, then add: `vfmaq` would round once only.
        unsafe {
            let q = vld1q_f32(query.as_ptr().add(part * 4));
            *lane = vaddq_f32(*lane, vmulq_f32(q, vld1q_f32(row.add(part * 4))));
        }
    }
}

#[target_feature(enable = "neon")]
fn code_list_neon(query: &[i8], codes: &[u8], ids: &[u32], out: &mut [i32]) {
    for (out, &id) in out.iter_mut().zip(ids) {
        // SAFETY: the safe method checked every id and length.
        *out = unsafe { code(query, codes.as_ptr().add(id as usize * query.len())) };
    }
}

#[target_feature(enable = "neon")]
fn code_range_neon(query: &[i8], codes: &[u8], out: &mut [i32]) {
    for (row, out) in codes.chunks_exact(query.len()).zip(out) {
        // SAFETY: the row has `query.len()` bytes.
        *out = unsafe { code(query, row.as_ptr()) };
    }
}

/// Widened to 16 bits, multiplied into 32: exact.
///
/// # Safety
/// The row has `query.len()` bytes.
#[inline]
#[target_feature(enable = "neon")]
unsafe fn code(query: &[i8], row: *const u8) -> i32 {
    const STEP: usize = 16;
    let mut sums = [vdupq_n_s32(0); 4];
    let (steps, tail) = query.as_chunks::<STEP>();
    for (step, q) in steps.iter().enumerate() {
        // SAFETY: 16 bytes of the query, and row bytes `16 × step ..+16`, exist.
        let (q, r) = unsafe { (vld1q_s8(q.as_ptr()), vld1q_u8(row.add(step * STEP))) };
        let (q_low, q_high) = (vmovl_s8(vget_low_s8(q)), vmovl_high_s8(q));
        let r_low = vreinterpretq_s16_u16(vmovl_u8(vget_low_u8(r)));
        let r_high = vreinterpretq_s16_u16(vmovl_high_u8(r));
        sums[0] = vmlal_s16(sums[0], vget_low_s16(q_low), vget_low_s16(r_low));
        sums[1] = vmlal_high_s16(sums[1], q_low, r_low);
        sums[2] = vmlal_s16(sums[2], vget_low_s16(q_high), vget_low_s16(r_high));
        sums[3] = vmlal_high_s16(sums[3], q_high, r_high);
    }
    let mut total = vaddvq_s32(vaddq_s32(vaddq_s32(sums[0], sums[1]), vaddq_s32(sums[2], sums[3])));
    for (i, &q) in tail.iter().enumerate() {
        // SAFETY: the row has `tail.len()` bytes after its full steps.
        total += i32::from(q) * i32::from(unsafe { *row.add(steps.len() * STEP + i) });
    }
    total
}
