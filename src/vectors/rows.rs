//! The rows being searched, the rows that may be returned, and what is returned.

use std::cmp::Ordering;

use crate::error::{Error, Result};
use crate::format::Section;
use crate::vectors::codes::{Codes, check_dim};
use crate::vectors::kernels::Kernels;

/// Rows at most: the walk keeps one bit of a row number for itself.
pub const ROWS_MAX: usize = 1 << 31;

/// The vectors of an index, borrowed from memory or from a mapped file.
///
/// Invariants: the four slices are of one number of rows; vectors are of unit length or zero, and
/// the other three are what [`Codes::of`] makes of them. Lengths are checked here; contents are vouched for by
/// whoever made the files (checksums), since reading them would cost more than a search. Contents that
/// break the promise give wrong scores, never a panic.
#[derive(Debug, Clone, Copy)]
pub struct Rows<'a> {
    dim: usize,
    vectors: &'a [f32],
    /// Where `vectors` lie in a file, and the first row of it that they are, when they are checked only
    /// as they are read.
    lazy: Option<(&'a Section, usize)>,
    codes: &'a [u8],
    scales: &'a [f32],
    residuals: &'a [f32],
}

impl<'a> Rows<'a> {
    /// Rows of `dim` numbers: `vectors` and `codes` `[rows × dim]`, `scales` and `residuals` `[rows]`.
    ///
    /// # Errors
    /// [`Error::Invalid`] when the lengths do not fit each other, or there are more than [`ROWS_MAX`].
    pub fn new(
        dim: usize,
        vectors: &'a [f32],
        codes: &'a [u8],
        scales: &'a [f32],
        residuals: &'a [f32],
    ) -> Result<Self> {
        check_dim(dim, vectors.len())?;
        let rows = vectors.len() / dim;
        if rows >= ROWS_MAX {
            return Err(Error::invalid("number of vectors", rows, format!("under {ROWS_MAX}")));
        }
        for (what, found, expected) in [
            ("number of codes", codes.len(), rows * dim),
            ("number of scales", scales.len(), rows),
            ("number of residuals", residuals.len(), rows),
        ] {
            if found != expected {
                return Err(Error::invalid(what, found, format!("{expected}, for {rows} rows")));
            }
        }
        Ok(Self { dim, vectors, lazy: None, codes, scales, residuals })
    }

    /// Rows whose vectors lie in `section`. The blocks of the file that hold a row are checked when the row
    /// is first scored: a search scores some dozens in `f32`, so the first one after opening need not
    /// read them all.
    ///
    /// # Errors
    /// As [`Rows::new`].
    pub(super) fn in_file(
        dim: usize,
        section: &'a Section,
        codes: &'a [u8],
        scales: &'a [f32],
        residuals: &'a [f32],
    ) -> Result<Self> {
        let rows = Self::new(dim, section.unchecked()?, codes, scales, residuals)?;
        Ok(Self { lazy: Some((section, 0)), ..rows })
    }

    /// `vectors` `[rows × dim]` with the codes made of them.
    ///
    /// # Errors
    /// As [`Rows::new`].
    pub fn with_codes(dim: usize, vectors: &'a [f32], codes: &'a Codes) -> Result<Self> {
        Self::new(dim, vectors, &codes.codes, &codes.scales, &codes.residuals)
    }

    /// Rows `start..end`, cut to the rows there are; row `start` becomes row 0.
    ///
    /// For an index whose graph lacks the last rows: the graph's rows are walked, the rest scanned.
    pub fn part(&self, start: usize, end: usize) -> Self {
        let end = end.min(self.len());
        let start = start.min(end);
        let numbers = start * self.dim..end * self.dim;
        Self {
            dim: self.dim,
            vectors: &self.vectors[numbers.clone()],
            lazy: self.lazy.map(|(section, first)| (section, first + start)),
            codes: &self.codes[numbers],
            scales: &self.scales[start..end],
            residuals: &self.residuals[start..end],
        }
    }

    /// The number of rows.
    pub fn len(&self) -> usize {
        self.scales.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.scales.is_empty()
    }

    /// Numbers in a row.
    pub fn dim(&self) -> usize {
        self.dim
    }

    /// All vectors, `[rows × dim]`.
    ///
    /// # Errors
    /// [`Error::Damaged`] when the file that they lie in is.
    pub fn vectors(&self) -> Result<&'a [f32]> {
        if let Some((section, first)) = self.lazy {
            let start = first * self.dim * 4;
            section.slice(start..start + self.vectors.len() * 4)?;
        }
        Ok(self.vectors)
    }

    /// The inner product of `query` with each of `ids`, into `scores`.
    ///
    /// # Errors
    /// [`Error::Damaged`] when the file that one of them lies in is.
    pub(super) fn dot(
        &self,
        kernels: &Kernels,
        query: &[f32],
        ids: &[u32],
        scores: &mut [f32],
    ) -> Result<()> {
        if let Some((section, first)) = self.lazy {
            let bytes = self.dim * 4;
            for &id in ids {
                let start = (first + id as usize) * bytes;
                section.slice(start..start + bytes)?;
            }
        }
        kernels.dot_rows(query, self.vectors, ids, scores);
        Ok(())
    }

    /// All codes, `[rows × dim]`, value + 128.
    pub fn codes(&self) -> &'a [u8] {
        self.codes
    }

    /// The scale of each row's code, `[rows]`.
    pub fn scales(&self) -> &'a [f32] {
        self.scales
    }

    /// The bound of each row's distance from its code, `[rows]`.
    pub fn residuals(&self) -> &'a [f32] {
        self.residuals
    }

    /// The code of one row, `[dim]`.
    pub(crate) fn code(&self, row: u32) -> &'a [u8] {
        &self.codes[row as usize * self.dim..][..self.dim]
    }
}

/// A row and its score, the canonical `f32` inner product with the query; higher is better.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Hit {
    /// The row number, from 0.
    pub row: u32,
    /// The score; -1 to 1 for a query of unit length.
    pub score: f32,
}

impl Hit {
    /// The order of every result: score falling, then row rising. Total, also when a score is not a
    /// number.
    pub fn order(&self, other: &Self) -> Ordering {
        other.score.total_cmp(&self.score).then(self.row.cmp(&other.row))
    }
}

/// A whole number that orders as `score` does under [`f32::total_cmp`].
#[inline]
pub(crate) fn order_bits(score: f32) -> u32 {
    // The bits of a float order like a sign and a magnitude; a set sign turns the order of the rest.
    let bits = score.to_bits();
    if bits >> 31 == 1 { !bits } else { bits | 1 << 31 }
}

/// The score that [`order_bits`] was given.
#[inline]
pub(crate) fn from_order_bits(order: u32) -> f32 {
    f32::from_bits(if order >> 31 == 1 { order & !(1 << 31) } else { !order })
}

/// The rows that may be returned: bit `r % 64` of word `r / 64` stands for row `r`.
///
/// `None` allows all. Bits past the last row are ignored.
pub type Allowed<'a> = Option<&'a [u64]>;

/// Refuses a bitmap that does not cover `rows`.
pub(crate) fn check_allowed(allowed: Allowed<'_>, rows: usize) -> Result<()> {
    let words = rows.div_ceil(64);
    match allowed {
        Some(bits) if bits.len() < words => Err(Error::invalid(
            "bitmap of allowed rows",
            format!("{} words", bits.len()),
            format!("{words} words of 64 bits, for {rows} rows"),
        )),
        _ => Ok(()),
    }
}

/// Word `word` of the bitmap, without bits past the last row.
#[inline]
pub(crate) fn allowed_word(bits: &[u64], rows: usize, word: usize) -> u64 {
    let left = rows.saturating_sub(word * 64);
    let mask = if left >= 64 { u64::MAX } else { (1 << left) - 1 };
    bits[word] & mask
}

/// How many of `rows` are allowed.
///
/// # Errors
/// [`Error::Invalid`] when the bitmap does not cover `rows`.
pub fn count_allowed(allowed: Allowed<'_>, rows: usize) -> Result<usize> {
    check_allowed(allowed, rows)?;
    Ok(allowed.map_or(rows, |bits| {
        let full = rows / 64;
        let ones = |words: &[u64]| words.iter().map(|w| w.count_ones() as usize).sum::<usize>();
        let rest =
            if rows.is_multiple_of(64) { 0 } else { allowed_word(bits, rows, full).count_ones() };
        ones(&bits[..full]) + rest as usize
    }))
}

/// Whether `row` may be returned.
#[inline]
pub(crate) fn is_allowed(bits: &[u64], row: u32) -> bool {
    bits.get(row as usize / 64).is_some_and(|word| word >> (row % 64) & 1 == 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slices_that_do_not_fit_are_refused() {
        let fault = Rows::new(2, &[0.0; 4], &[0; 4], &[0.0; 2], &[0.0; 1]).unwrap_err();
        assert_eq!(fault.to_string(), "number of residuals is 1; expected 2, for 2 rows");
    }

    #[test]
    fn a_part_is_cut_to_the_rows_there_are() {
        let codes = Codes::of(1, &[1.0, -1.0, 0.0]).unwrap();
        let rows = Rows::with_codes(1, &[1.0, -1.0, 0.0], &codes).unwrap();
        assert_eq!(rows.part(1, 9).vectors().unwrap(), [-1.0, 0.0]);
        assert_eq!(rows.part(1, 2).codes(), [1]);
        assert!(rows.part(5, 9).is_empty() && rows.part(2, 1).is_empty());
    }

    #[test]
    fn bits_past_the_last_row_do_not_count() {
        assert_eq!(count_allowed(Some(&[u64::MAX; 2]), 70).unwrap(), 70);
        assert_eq!(count_allowed(Some(&[u64::MAX; 2]), 64).unwrap(), 64);
        assert_eq!(count_allowed(Some(&[5]), 2).unwrap(), 1);
        assert_eq!(count_allowed(None, 9).unwrap(), 9);
        assert!(count_allowed(Some(&[0]), 65).is_err());
    }
}
