//! Statistics in closed form: the interval of a share, the bound after no event, percentiles.

use serde::Serialize;

/// Confidence left out of every interval of a report, both tails together.
const ALPHA: f64 = 0.05;

/// The 97.5% point of the standard normal distribution.
const Z: f64 = 1.959_963_984_540_054;

/// A 95% interval: the two ends, `low <= high`.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Interval {
    /// The lower end.
    pub low: f64,
    /// The upper end.
    pub high: f64,
}

impl Interval {
    /// Whether `value` lies between the ends, or on one.
    pub fn contains(&self, value: f64) -> bool {
        (self.low..=self.high).contains(&value)
    }

    /// Whether the two intervals share a point: then the two values are not to be ranked.
    pub fn overlaps(&self, other: &Self) -> bool {
        self.low <= other.high && other.low <= self.high
    }
}

/// The Wilson 95% interval of a share, `k` of `n`; for hits, coverage, any count.
///
/// `(p + z²/2n ± z √(p(1-p)/n + z²/4n²)) / (1 + z²/n)` with `p = k/n`. It covers what it says at 8
/// questions as at 800, and never has width zero: 15 of 15 is 80 to 100%. `None` when `n` is 0 or
/// `k` is above it.
///
/// Reference: Wilson, "Probable inference", JASA 22, 1927; recommended for small n by Brown, Cai and
/// DasGupta, Statistical Science 16, 2001.
///
/// ```
/// use atlas::eval::statistics::wilson;
/// let six_of_eight = wilson(6, 8).unwrap();
/// assert_eq!((six_of_eight.low * 100.0).round(), 41.0);
/// assert_eq!((six_of_eight.high * 100.0).round(), 93.0);
/// ```
pub fn wilson(k: usize, n: usize) -> Option<Interval> {
    if n == 0 || k > n {
        return None;
    }
    let (share, n_real) = (k as f64 / n as f64, n as f64);
    let squared = Z * Z;
    let middle = share + squared / (2.0 * n_real);
    let reach = Z * (share * (1.0 - share) / n_real + squared / (4.0 * n_real * n_real)).sqrt();
    let scale = 1.0 + squared / n_real;
    // Algebra makes the ends exactly 0 and 1 there; rounding would leave 1e-17 of it.
    let low = if k == 0 { 0.0 } else { (middle - reach) / scale };
    let high = if k == n { 1.0 } else { (middle + reach) / scale };
    Some(Interval { low, high })
}

/// The exact one-sided 95% upper limit of a rate after no event in `n` cases: `1 - 0.05^(1/n)`.
///
/// It is what a gate that was never broken still allows: 0 leaks in 40 cases allow 7.2%, 149 cases
/// are needed to stay under 2%. `None` when `n` is 0: nothing was tried.
///
/// Reference: Clopper and Pearson, Biometrika 26, 1934; near 3/n, the "rule of three" (Hanley and
/// Lippman-Hand, JAMA 249, 1983).
pub fn upper_limit_after_none(n: usize) -> Option<f64> {
    (n > 0).then(|| -(ALPHA.ln() / n as f64).exp_m1())
}

/// A percentile that was observed, with what the sample allows to say of the true one.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Percentile {
    /// The value at `rank`: one of the sample.
    pub value: f64,
    /// The place of the value in the ascending sample, counted from 1.
    pub rank: usize,
    /// The size of the sample.
    pub n: usize,
    /// The 95% interval, whose ends are two values of the sample; `None` when n is too small for
    /// both ends to exist (p95: under 59 values).
    pub interval: Option<Interval>,
}

/// The nearest-rank percentile: the smallest value with at least `share` of the sample at or below.
///
/// Its rank is `ceil(share × n)`; it never invents a value between two. `share` is above 0 and at
/// most 1 (0.95 for p95). The order of `values` does not matter. `None` without values, when one is
/// not a number, or when `share` is out of its range.
///
/// Reference: Hyndman and Fan, "Sample quantiles in statistical packages", The American
/// Statistician 50, 1996, definition 1; the interval: [`percentile_ranks`].
///
/// ```
/// use atlas::eval::statistics::percentile;
/// let values: Vec<f64> = (1..=34).map(f64::from).collect();
/// let p95 = percentile(&values, 0.95).unwrap();
/// assert_eq!((p95.value, p95.interval), (33.0, None));
/// ```
pub fn percentile(values: &[f64], share: f64) -> Option<Percentile> {
    let n = values.len();
    let in_range = share > 0.0 && share <= 1.0;
    if n == 0 || !in_range || values.iter().any(|value| value.is_nan()) {
        return None;
    }
    let mut sorted = values.to_vec();
    sorted.sort_unstable_by(f64::total_cmp);
    // 0.07 × 100 is 7.000000000000001 in binary, and its ceiling must be 7.
    let rank = ((share * n as f64 - 1e-9).ceil() as usize).clamp(1, n);
    let at = |rank: usize| sorted.get(rank - 1).copied();
    let interval = percentile_ranks(n, share)
        .and_then(|(low, high)| Some(Interval { low: at(low)?, high: at(high)? }));
    Some(Percentile { value: at(rank)?, rank, n, interval })
}

/// The ranks, counted from 1, of the two values that hold the true percentile with 95%.
///
/// The number of values below the true percentile is binomial (n, share), whatever the distribution
/// of the values, so the exact limits are ranks `low` and `high` with `P(B < low)` and
/// `P(B >= high)` together at most 5%. Each tail gets 2.5% (200 values, p95: 184th and 197th); where
/// the largest value, or the smallest, cannot give that much, its tail takes what it needs and the
/// other the rest. `None` when even that is too much: p95 under 59 values, p50 under 6.
///
/// Reference: David and Nagaraja, "Order Statistics", 3rd edition 2003, section 7.1; Hahn and
/// Meeker, "Statistical Intervals", 1991, section 5.2.
pub fn percentile_ranks(n: usize, share: f64) -> Option<(usize, usize)> {
    if n == 0 || !(share > 0.0 && share < 1.0) {
        return None;
    }
    let chances = binomial(n, share);
    let tails = Tails::new(&chances);
    let half = ALPHA / 2.0;
    let upper_least = tails.at_least(n);
    let lower_least = tails.below(1);
    let (low_share, high_share) = if upper_least > half {
        (ALPHA - upper_least, upper_least)
    } else if lower_least > half {
        (lower_least, ALPHA - lower_least)
    } else {
        (half, half)
    };
    let low = (1..=n).take_while(|&rank| tails.below(rank) <= low_share).last()?;
    let high = (1..=n).rev().take_while(|&rank| tails.at_least(rank) <= high_share).last()?;
    (low < high).then_some((low, high))
}

/// `P(B = 0)` to `P(B = n)`, from logarithms so that thousands of values do not underflow at once.
fn binomial(n: usize, share: f64) -> Vec<f64> {
    let odds = share.ln() - (-share).ln_1p();
    let mut log = n as f64 * (-share).ln_1p();
    let mut chances = Vec::with_capacity(n + 1);
    chances.push(log.exp());
    for i in 0..n {
        log += ((n - i) as f64 / (i + 1) as f64).ln() + odds;
        chances.push(log.exp());
    }
    chances
}

/// Sums of the chances from either end, each added up from its small side.
struct Tails {
    below: Vec<f64>,
    at_least: Vec<f64>,
}

impl Tails {
    fn new(chances: &[f64]) -> Self {
        let add = |sum: &mut f64, chance: &f64| {
            *sum += chance;
            Some(*sum)
        };
        let below = chances.iter().scan(0.0, add).collect();
        let mut at_least: Vec<f64> = chances.iter().rev().scan(0.0, add).collect();
        at_least.reverse();
        Self { below, at_least }
    }

    /// `P(B < rank)`, for a rank from 1.
    fn below(&self, rank: usize) -> f64 {
        self.below.get(rank - 1).copied().unwrap_or(1.0)
    }

    /// `P(B >= rank)`.
    fn at_least(&self, rank: usize) -> f64 {
        self.at_least.get(rank).copied().unwrap_or(0.0)
    }
}

/// The p-values `p` as Holm's step-down procedure adjusts them for being looked at together, in their
/// order: at most the adjusted value is the chance that any of the rejected was luck.
///
/// The i-th smallest of m is multiplied by m - i + 1, made no smaller than the one before it, and at
/// most 1. Reference: Holm, "A simple sequentially rejective multiple test procedure", Scandinavian
/// Journal of Statistics 6, 1979.
///
/// ```
/// use atlas::eval::statistics::holm;
/// assert_eq!(holm(&[0.25, 0.125, 0.5]), [0.5, 0.375, 0.5]);
/// ```
pub fn holm(p: &[f64]) -> Vec<f64> {
    let mut order: Vec<usize> = (0..p.len()).collect();
    order.sort_by(|a, b| p[*a].total_cmp(&p[*b]));
    let mut adjusted = vec![1.0; p.len()];
    let mut least = 0.0_f64;
    for (step, at) in order.into_iter().enumerate() {
        least = least.max((p.len() - step) as f64 * p[at]).min(1.0);
        adjusted[at] = least;
    }
    adjusted
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn wilson_gives_the_known_intervals() {
        // k, n, ends in per cent to one decimal; rounded, the ones that reports are documented with.
        let known = [
            (15, 15, 79.6, 100.0),
            (6, 8, 40.9, 92.9),
            (13, 13, 77.2, 100.0),
            (14, 16, 64.0, 96.5),
            (8, 8, 67.6, 100.0),
            (1, 16, 1.1, 28.3),
            (24, 34, 53.8, 83.2),
            (0, 10, 0.0, 27.8),
        ];
        for (k, n, low, high) in known {
            let interval = wilson(k, n).unwrap();
            let rounded = |x: f64| (x * 1000.0).round() / 10.0;
            assert_eq!((rounded(interval.low), rounded(interval.high)), (low, high), "{k} of {n}");
        }
        assert_eq!(wilson(0, 0), None);
        assert_eq!(wilson(2, 1), None);
    }

    #[test]
    fn a_clean_gate_still_allows_something() {
        let limit = |n| upper_limit_after_none(n).unwrap();
        assert_eq!((limit(40) * 1000.0).round(), 72.0);
        assert!((limit(1) - 0.95).abs() < 1e-12);
        assert!(limit(148) > 0.02 && limit(149) < 0.02);
        assert!(limit(298) > 0.01 && limit(299) < 0.01);
        assert_eq!(upper_limit_after_none(0), None);
    }

    #[test]
    fn nearest_rank_returns_an_observed_value() {
        let hundred: Vec<f64> = (1..=100).rev().map(f64::from).collect();
        for percent in 1..=100_u32 {
            let found = percentile(&hundred, f64::from(percent) / 100.0).unwrap();
            assert_eq!(found.value, f64::from(percent));
        }
        assert_eq!(percentile(&[7.0], 0.95).unwrap().value, 7.0);
        assert_eq!(percentile(&[1.0, 2.0], 0.5).unwrap().value, 1.0);
        assert_eq!(percentile(&[], 0.5), None);
        assert_eq!(percentile(&[1.0], 0.0), None);
        assert_eq!(percentile(&[1.0], 1.1), None);
        assert_eq!(percentile(&[f64::NAN], 0.5), None);
    }

    #[test]
    fn the_interval_of_p95_needs_59_values() {
        assert_eq!(percentile_ranks(58, 0.95), None);
        assert!(percentile_ranks(59, 0.95).is_some_and(|(_, high)| high == 59));
        assert_eq!(percentile_ranks(200, 0.95), Some((184, 197)));
        assert!(percentile_ranks(59, 0.05).is_some_and(|(low, _)| low == 1));
        assert_eq!(percentile_ranks(58, 0.05), None);
        assert_eq!(percentile_ranks(0, 0.5), None);
        assert_eq!(percentile_ranks(10, 1.0), None);
    }

    #[test]
    fn the_interval_of_the_median_is_the_sign_test() {
        // P(B <= 0 of 6) = 1/64, P(B <= 1 of 10) = 11/1024, P(B <= 5 of 20) = 0.0207: the last sums
        // that stay under 2.5%.
        assert_eq!(percentile_ranks(5, 0.5), None);
        assert_eq!(percentile_ranks(6, 0.5), Some((1, 6)));
        assert_eq!(percentile_ranks(10, 0.5), Some((2, 9)));
        assert_eq!(percentile_ranks(20, 0.5), Some((6, 15)));
    }

    #[test]
    fn many_values_do_not_underflow() {
        let (low, high) = percentile_ranks(100_000, 0.5).unwrap();
        // 50,000 ± 1.96 × 158.1
        assert!((49_688..=49_692).contains(&low) && (50_309..=50_312).contains(&high));
    }

    proptest! {
        #[test]
        fn wilson_holds_the_share_and_mirrors(k in 0_usize..60, more in 0_usize..60) {
            prop_assume!(k + more > 0);
            let n = k + more;
            let (yes, no) = (wilson(k, n).unwrap(), wilson(more, n).unwrap());
            prop_assert!(yes.contains(k as f64 / n as f64));
            prop_assert!(yes.high > yes.low && yes.low >= 0.0 && yes.high <= 1.0);
            prop_assert!((yes.low - (1.0 - no.high)).abs() < 1e-12);
        }

        #[test]
        fn the_ranks_cover_95_per_cent(n in 6_usize..300, share in 0.05_f64..0.95) {
            if let Some((low, high)) = percentile_ranks(n, share) {
                let inside: f64 = binomial(n, share)[low..high].iter().sum();
                prop_assert!(inside >= 0.95 - 1e-9, "{} to {} of {}: {}", low, high, n, inside);
            }
        }
    }
}
