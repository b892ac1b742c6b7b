//! Times as counts by size, which can be written down, read back and added up.

use hdrhistogram::Histogram;
use serde_json::{Value, json};

use crate::eval::statistics::{Interval, Percentile, percentile_ranks};

/// Significant digits that are kept: a value is told to .1 %.
const DIGITS: u8 = 3;

/// Longest time that is told apart, in nanoseconds: an hour.
const LONGEST_NS: u64 = 3_600_000_000_000;

/// Times of one stage, to three significant digits.
///
/// Percentiles of several runs, processes or machines cannot be averaged; their distributions can be
/// added ([`Distribution::merge`]), and percentiles taken of the sum.
///
/// Reference: HdrHistogram (G. Tene), logarithmic buckets with linear ones inside.
#[derive(Clone, PartialEq)]
pub struct Distribution(Histogram<u64>);

impl std::fmt::Debug for Distribution {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(out, "Distribution of {} values", self.0.len())
    }
}

impl Default for Distribution {
    fn default() -> Self {
        Self::empty()
    }
}

impl Distribution {
    /// No value yet.
    pub fn empty() -> Self {
        // Two constants that the constructor accepts: 1 <= the longest, and 0 to 5 digits.
        #[expect(clippy::expect_used, reason = "both arguments are constants in the allowed range")]
        let histogram = Histogram::new_with_max(LONGEST_NS, DIGITS).expect("constants in range");
        Self(histogram)
    }

    /// The distribution of `values`, in microseconds. A value below zero counts as zero, one above an
    /// hour as an hour.
    pub fn of(values: &[f64]) -> Self {
        let mut distribution = Self::empty();
        for value in values {
            distribution.add(*value, 1);
        }
        distribution
    }

    /// Adds `count` values of `us` microseconds.
    pub fn add(&mut self, us: f64, count: u64) {
        // A cast takes what is below zero, or no number, as zero.
        self.0.saturating_record_n((us * 1000.0).round() as u64, count);
    }

    /// Adds all values of `other`.
    pub fn merge(&mut self, other: &Self) {
        for (us, count) in other.counts() {
            self.add(us, count);
        }
    }

    /// How many values.
    pub fn n(&self) -> usize {
        usize::try_from(self.0.len()).unwrap_or(usize::MAX)
    }

    /// The mean in microseconds; 0 without values.
    pub fn mean_us(&self) -> f64 {
        let sum: f64 = self.counts().map(|(us, count)| us * count as f64).sum();
        if self.0.is_empty() { 0.0 } else { sum / self.0.len() as f64 }
    }

    /// Every value that occurs, ascending, in microseconds (the middle of its bucket), with its count.
    pub fn counts(&self) -> impl Iterator<Item = (f64, u64)> {
        self.0.iter_recorded().map(|step| {
            let middle = self.0.median_equivalent(step.value_iterated_to());
            (middle as f64 / 1000.0, step.count_since_last_iteration())
        })
    }

    /// The percentile by nearest rank, as [`percentile`](crate::eval::statistics::percentile) gives it
    /// of the values themselves, to three digits.
    pub fn percentile(&self, share: f64) -> Option<Percentile> {
        let n = self.n();
        if n == 0 || !(share > 0.0 && share <= 1.0) {
            return None;
        }
        let rank = ((share * n as f64 - 1e-9).ceil() as usize).clamp(1, n);
        let interval = percentile_ranks(n, share).and_then(|(low, high)| {
            Some(Interval { low: self.at_rank(low)?, high: self.at_rank(high)? })
        });
        Some(Percentile { value: self.at_rank(rank)?, rank, n, interval })
    }

    /// The value at `rank`, from 1, in ascending order.
    fn at_rank(&self, rank: usize) -> Option<f64> {
        let mut seen = 0;
        for (us, count) in self.counts() {
            seen += count;
            if seen >= rank as u64 {
                return Some(us);
            }
        }
        None
    }

    /// `[[microseconds, count], ..]`, ascending.
    pub fn to_json(&self) -> Value {
        self.counts().map(|(us, count)| json!([us, count])).collect()
    }

    /// Reads what [`Distribution::to_json`] wrote.
    pub fn from_counts(counts: &[(f64, u64)]) -> Self {
        let mut distribution = Self::empty();
        for (us, count) in counts {
            distribution.add(*us, *count);
        }
        distribution
    }
}
