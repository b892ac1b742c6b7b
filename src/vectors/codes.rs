//! One byte a dimension: what the scan and the walk read in place of `f32`.
//!
//! A row `x` is kept as `x̂ = scale × value`, `value` a whole number from -127 to 127 stored as
//! `value + 128`. The scale is the row's own largest magnitude over 127: nothing is clipped, and a
//! code depends on its row alone, so that adding or removing other rows changes no code and no
//! score. Next to it stands the row's **residual**, an upper bound of `‖x − x̂‖`, which turns an
//! approximate score into a proven interval (see [`QueryCode::error_bound`]).

use crate::error::{Error, Result};
use crate::vectors::kernels::{DIM_MAX, Scoring, prefer_large_pages};

/// The largest value of a code, and so the number of steps on either side of zero.
const STEPS: f64 = 127.0;

/// What is added to a value to store it in a `u8`.
const OFFSET: i32 = 128;

/// Length at most of a row: 1, and room for the rounding of whoever normalised it.
pub const ROW_LENGTH_MAX: f64 = 1.001;

/// Length at most of a query, far from where an `f32` sum overflows.
const QUERY_LENGTH_MAX: f64 = 1e18;

/// Codes of many rows, column by column as they are stored and mapped.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Codes {
    /// `[rows × dim]`, row-major, value + 128.
    pub codes: Vec<u8>,
    /// `[rows]`; 0 for a zero row.
    pub scales: Vec<f32>,
    /// `[rows]`; at least `‖x − x̂‖`.
    pub residuals: Vec<f32>,
}

impl Codes {
    /// Codes of `vectors` `[rows × dim]`, each of unit length or zero.
    ///
    /// # Errors
    /// [`Error::Invalid`] when `vectors` is not whole rows, holds a value that is not finite, or a row
    /// is longer than [`ROW_LENGTH_MAX`].
    pub fn of(dim: usize, vectors: &[f32]) -> Result<Self> {
        check_dim(dim, vectors.len())?;
        let rows = vectors.len() / dim;
        let mut all = Self {
            codes: Vec::with_capacity(vectors.len()),
            scales: Vec::with_capacity(rows),
            residuals: Vec::with_capacity(rows),
        };
        prefer_large_pages(all.codes.spare_capacity_mut());
        for (row, vector) in vectors.chunks_exact(dim).enumerate() {
            check_length(&format!("vector of row {row}"), vector, ROW_LENGTH_MAX)?;
            let step = step_of(vector);
            let start = all.codes.len();
            all.codes.extend(vector.iter().map(|&x| (value(x, step) + OFFSET) as u8));
            all.scales.push(step);
            let values = all.codes[start..].iter().map(|&code| i32::from(code) - OFFSET);
            all.residuals.push(residual(vector, step, values));
        }
        Ok(all)
    }
}

/// A query in the form the byte kernels take.
#[derive(Debug, Clone, PartialEq)]
pub struct QueryCode {
    values: Vec<i8>,
    scale: f32,
    /// `128 × Σ values`: what the stored offset adds to every sum.
    bias: i32,
    /// Upper bound of the decoded query's length.
    length: f32,
    /// The part of the error that is the same for every row.
    base_error: f32,
}

impl QueryCode {
    /// The code of `query` `[dim]`, which may be of any length.
    ///
    /// # Errors
    /// [`Error::Invalid`] when the query has another number of dimensions, or a value is not finite or
    /// absurdly large.
    pub fn of(dim: usize, query: &[f32]) -> Result<Self> {
        if query.len() != dim {
            let found = format!("of {} dimensions", query.len());
            return Err(Error::invalid("query vector", found, format!("{dim} dimensions")));
        }
        let norm = check_length("query vector", query, QUERY_LENGTH_MAX)?;
        let scale = step_of(query);
        let values: Vec<i8> = query.iter().map(|&x| value(x, scale) as i8).collect();
        let residual = residual(query, scale, values.iter().map(|&v| i32::from(v)));
        Ok(Self {
            bias: OFFSET * values.iter().map(|&v| i32::from(v)).sum::<i32>(),
            length: round_up(norm + f64::from(residual)),
            base_error: base_error(dim, norm, f64::from(residual)),
            values,
            scale,
        })
    }

    /// The code of a stored row, to compare rows with each other; it has no use for bounds.
    pub(crate) fn set_to_row(&mut self, codes: &[u8], scale: f32) {
        self.values.clear();
        self.values.extend(codes.iter().map(|&code| (code ^ 0x80) as i8));
        self.bias = OFFSET * self.values.iter().map(|&v| i32::from(v)).sum::<i32>();
        self.scale = scale;
    }

    /// No dimensions yet; for [`QueryCode::set_to_row`].
    pub(crate) fn empty() -> Self {
        Self { values: Vec::new(), scale: 0.0, bias: 0, length: 0.0, base_error: 0.0 }
    }

    /// The values, `[dim]`, from -127 to 127.
    pub fn values(&self) -> &[i8] {
        &self.values
    }

    /// The approximate score of a row, from the sum a byte kernel gave and the row's scale.
    ///
    /// Symmetric: row `a` as the query against row `b` gives the bits of `b` against `a`.
    #[inline]
    pub fn score(&self, sum: i32, row_scale: f32) -> f32 {
        self.scoring(f32::NEG_INFINITY).score(sum, row_scale)
    }

    /// How the sum of a row becomes its score, and that scores under `least` are of no use.
    #[inline]
    pub(crate) fn scoring(&self, least: f32) -> Scoring {
        Scoring { bias: self.bias, scale: self.scale, least }
    }

    /// How far a row's canonical `f32` score may be from its approximate score, either way.
    ///
    /// For a query `q` and a row `x`, decoded as `q̂` and `x̂`,
    /// `q·x − q̂·x̂ = q̂·(x − x̂) + (q − q̂)·x`, so by Cauchy–Schwarz the two differ by at most
    /// `‖q̂‖ × residual(x) + residual(q) × ‖x‖`. The second term, with [`ROW_LENGTH_MAX`] for `‖x‖`,
    /// and the rounding of every `f32` operation on both sides are one constant of the query.
    #[inline]
    pub fn error_bound(&self, row_residual: f32) -> f32 {
        self.length * row_residual + self.base_error
    }

    /// The most that a row's canonical `f32` score can be.
    #[inline]
    pub fn upper(&self, sum: i32, row_scale: f32, row_residual: f32) -> f32 {
        self.score(sum, row_scale) + self.error_bound(row_residual)
    }
}

/// `residual(q) × ‖x‖`, and rounding.
///
/// Rounding: a term of the canonical sum passes `dim / 16` additions in its lane, 4 foldings and one
/// multiplication, each wrong by a factor of `1 ± 2⁻²⁴` at most; the approximate score, the bound and
/// their sum take eight more operations. The terms' magnitudes sum to `‖q‖ × ‖x‖` at most, that of
/// the codes to a little more: the factor 2 is room for it. Products under the smallest normal number
/// lose up to that much each.
fn base_error(dim: usize, norm: f64, residual: f64) -> f32 {
    let roundings = (dim.div_ceil(16) + 4 + 1 + 8) as f64;
    let unit = f64::from(f32::EPSILON) / 2.0;
    let rounding = 2.0 * roundings * unit * (norm + residual) * ROW_LENGTH_MAX;
    let underflow = dim as f64 * f64::from(f32::MIN_POSITIVE);
    round_up(residual * ROW_LENGTH_MAX + rounding + underflow)
}

/// The step of a vector's code; 0 when the vector is zero, or so small that the step is not a normal
/// number, in which case all of it is residual.
fn step_of(vector: &[f32]) -> f32 {
    let largest = vector.iter().fold(0.0_f32, |largest, x| largest.max(x.abs()));
    let step = (f64::from(largest) / STEPS) as f32;
    if step.is_normal() { step } else { 0.0 }
}

fn value(x: f32, step: f32) -> i32 {
    if step == 0.0 {
        return 0;
    }
    // In f64 the quotient of two f32 is rounded once, far below what decides a step.
    (f64::from(x) / f64::from(step)).round().clamp(-STEPS, STEPS) as i32
}

/// At least `‖x − step × values‖`.
///
/// In f64 `step × value` is exact (24 + 7 bits) and the rest is wrong by 2⁻⁵³ an operation, which the
/// factor covers for any number of dimensions.
fn residual(vector: &[f32], step: f32, values: impl Iterator<Item = i32>) -> f32 {
    let step = f64::from(step);
    let square: f64 =
        vector.iter().zip(values).map(|(&x, v)| (f64::from(x) - step * f64::from(v)).powi(2)).sum();
    round_up(square.sqrt() * (1.0 + 1e-10))
}

/// The nearest `f32` that is not less than `x`.
fn round_up(x: f64) -> f32 {
    let near = x as f32;
    if f64::from(near) < x { near.next_up() } else { near }
}

pub(crate) fn check_dim(dim: usize, values: usize) -> Result<()> {
    if dim == 0 || dim > DIM_MAX {
        return Err(Error::invalid("vector dimension", dim, format!("from 1 to {DIM_MAX}")));
    }
    if !values.is_multiple_of(dim) {
        let found = format!("{values} numbers");
        return Err(Error::invalid("vectors", found, format!("whole rows of {dim}")));
    }
    Ok(())
}

/// The Euclidean length of `vector`, when it is a number and at most `most`.
fn check_length(what: &str, vector: &[f32], most: f64) -> Result<f64> {
    if let Some(at) = vector.iter().position(|x| !x.is_finite()) {
        let found = format!("{} at position {at}", vector[at]);
        return Err(Error::invalid(what, found, "finite numbers"));
    }
    let length = vector.iter().map(|&x| f64::from(x).powi(2)).sum::<f64>().sqrt();
    if length > most {
        return Err(Error::invalid(what, format!("{length} long"), format!("at most {most}")));
    }
    Ok(length)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::vectors::kernels::Kernels;
    use proptest::prelude::*;

    fn decode(codes: &Codes, dim: usize, row: usize) -> Vec<f64> {
        codes.codes[row * dim..][..dim]
            .iter()
            .map(|&code| f64::from(codes.scales[row]) * (f64::from(code) - 128.0))
            .collect()
    }

    #[test]
    fn zero_tiny_and_single_valued_rows() {
        let rows = [0.0, 0.0, 1e-44, -1e-44, 1.0, 0.0, 0.0, -1.0];
        let codes = Codes::of(2, &rows).unwrap();
        assert_eq!(codes.codes, [128, 128, 128, 128, 255, 128, 128, 1]);
        assert_eq!(codes.scales[0], 0.0);
        assert_eq!(codes.residuals[0], 0.0);
        assert!(f64::from(codes.residuals[1]) >= 1e-44 * 1.4);
        assert!(codes.residuals[2] < 1e-7);
    }

    #[test]
    fn what_is_not_a_vector_is_refused_by_name() {
        let fault = |result: Result<Codes>| result.unwrap_err().to_string();
        assert_eq!(
            fault(Codes::of(2, &[0.0; 3])),
            "vectors is 3 numbers; expected whole rows of 2"
        );
        assert_eq!(
            fault(Codes::of(2, &[0.0, 1.0, 0.0, f32::NAN])),
            "vector of row 1 is NaN at position 1; expected finite numbers"
        );
        assert!(fault(Codes::of(1, &[2.0])).starts_with("vector of row 0 is 2 long"));
        assert!(Codes::of(0, &[]).is_err());
        assert_eq!(
            QueryCode::of(3, &[1.0]).unwrap_err().to_string(),
            "query vector is of 1 dimensions; expected 3 dimensions"
        );
        assert!(QueryCode::of(1, &[f32::INFINITY]).is_err());
    }

    #[test]
    fn a_code_depends_on_its_row_alone() {
        let (a, b) = ([0.6, 0.8, 0.0], [0.0, 0.0, 1.0]);
        let both = Codes::of(3, &[a, b].concat()).unwrap();
        let alone = Codes::of(3, &b).unwrap();
        assert_eq!(both.codes[3..], alone.codes);
        assert_eq!(both.residuals[1], alone.residuals[0]);
    }

    proptest! {
        #[test]
        fn a_row_is_no_farther_from_its_code_than_the_residual(
            row in proptest::collection::vec(-0.1_f32..0.1, 1..64)
        ) {
            let codes = Codes::of(row.len(), &row).unwrap();
            let decoded = decode(&codes, row.len(), 0);
            let square: f64 =
                row.iter().zip(&decoded).map(|(&x, y)| (f64::from(x) - y).powi(2)).sum();
            prop_assert!(f64::from(codes.residuals[0]) >= square.sqrt());
            prop_assert!(f64::from(codes.residuals[0]) <= square.sqrt() * 1.000_001 + 1e-30);
            let step = f64::from(codes.scales[0]);
            for (&x, y) in row.iter().zip(&decoded) {
                prop_assert!((f64::from(x) - y).abs() <= step * 0.500_001);
            }
        }

        /// Held against the worst query there is: one along what the code of the row leaves out.
        #[test]
        fn the_error_bound_holds_and_is_not_idle(
            row in proptest::collection::vec(-0.1_f32..0.1, 1..64), size in 0.01_f32..100.0, worst: bool
        ) {
            let dim = row.len();
            let codes = Codes::of(dim, &row).unwrap();
            let rest = row.iter().zip(decode(&codes, dim, 0)).map(|(&x, y)| f64::from(x) - y);
            let length = f64::from(codes.residuals[0]).max(1e-30);
            let query: Vec<f32> = match worst {
                true => rest.map(|x| (x / length) as f32 * size).collect(),
                false => row.iter().rev().map(|x| x * size).collect(),
            };
            let code = QueryCode::of(dim, &query).unwrap();
            let mut sum = [0];
            Kernels::best().code_range(code.values(), &codes.codes, &mut sum);
            let score = f64::from(code.score(sum[0], codes.scales[0]));
            let error = (f64::from(Kernels::best().dot(&query, &row)) - score).abs();
            let bound = f64::from(code.error_bound(codes.residuals[0]));
            prop_assert!(error <= bound, "{error} over {bound}");
            prop_assert!(bound <= f64::from(size) * 0.2);
        }
    }
}
