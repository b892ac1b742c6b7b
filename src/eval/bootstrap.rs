//! Statistics that draw random numbers: the interval of a mean, and the test of a difference.
//!
//! Both are seeded and use the generator below, so that a rerun gives the same digits; neither
//! assumes a distribution; both stay honest at the 15 to 40 questions of a hand-written set, where
//! the usual interval of t and the percentile bootstrap cover 38 to 95% instead of 95%, and have no
//! width at all when every question passes.

use serde::Serialize;

use crate::eval::statistics::Interval;

/// Draws behind an interval: the 500 values in each tail fix its ends to about two digits.
pub const INTERVAL_DRAWS: usize = 20_000;

/// Draws behind a test that is too large to enumerate: a p of 0.05 is known to within 0.0014.
pub const TEST_DRAWS: u32 = 100_000;

/// The most changed questions for which every sign pattern is enumerated: 2^20 sums.
pub const ENUMERATED_MAX: usize = 20;

/// The seed of every report that names no other.
pub const SEED: u64 = 0x00A7_1A50;

/// SplitMix64, a small generator that gives the same numbers on every machine.
///
/// Reference: Steele, Lea and Flood, "Fast splittable pseudorandom number generators", OOPSLA 2014.
#[derive(Debug, Clone)]
pub struct Generator(u64);

impl Generator {
    /// A generator that always gives the same sequence for the same seed.
    pub fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// The next 64 random bits.
    pub fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    /// A number above 0 and at most 1, in steps of 2^-53: its logarithm is always finite.
    pub fn unit(&mut self) -> f64 {
        ((self.bits() >> 11) + 1) as f64 / (1_u64 << 53) as f64
    }

    /// A draw of Gamma(`count`, 1): the sum of `count` exponentials, -ln of a product of uniforms.
    pub(super) fn gamma(&mut self, count: usize) -> f64 {
        let mut sum = 0.0;
        let mut left = count;
        while left > 0 {
            // 16 factors of at least 2^-53 stay far above the smallest number, 2^-1022.
            let now = left.min(16);
            let product: f64 = (0..now).map(|_| self.unit()).product();
            sum -= product.ln();
            left -= now;
        }
        sum
    }

    /// A draw of Gamma(1/2, 1): half the square of a normal, by Box and Muller.
    pub(super) fn gamma_half(&mut self) -> f64 {
        let length = -self.unit().ln();
        let turn = (std::f64::consts::TAU * self.unit()).cos();
        length * turn * turn
    }
}

/// The 95% interval of a mean of values in `0.0..=1.0`, one value a question.
///
/// The Bayesian bootstrap (Rubin, "The Bayesian bootstrap", Annals of Statistics 9, 1981) with half
/// a pseudo-question at 0 and half a one at 1: the questions get weights drawn from a Dirichlet
/// distribution with parameter 1 each, the two pseudo-questions with 1/2 each, and the ends are the
/// 2.5% and 97.5% points of [`INTERVAL_DRAWS`] weighted means. For values that are all 0 or 1 this
/// is the Jeffreys interval, Beta(k + 1/2, n - k + 1/2), so one method serves shares and means
/// alike, and it never has width zero. The order of the values does not matter.
///
/// `None` without values, or when one is not a number in `0.0..=1.0` (a rank, a token count).
///
/// ```
/// use atlas::eval::bootstrap::{SEED, mean_interval};
/// let all_found = mean_interval(&[1.0; 13], SEED).unwrap();
/// assert!((0.80..0.85).contains(&all_found.low) && all_found.high > 0.99);
/// ```
pub fn mean_interval(values: &[f64], seed: u64) -> Option<Interval> {
    if values.is_empty() || !values.iter().all(|value| (0.0..=1.0).contains(value)) {
        return None;
    }
    ends(&means(values, seed))
}

/// Weighted means of `values`, ascending.
fn means(values: &[f64], seed: u64) -> Vec<f64> {
    let counted = counted(values);
    let mut generator = Generator::new(seed);
    let mut means: Vec<f64> =
        (0..INTERVAL_DRAWS).map(|_| weighted_mean(&counted, &mut generator)).collect();
    means.sort_unstable_by(f64::total_cmp);
    means
}

/// The 2.5% and 97.5% points of what was drawn.
pub(super) fn ends(sorted: &[f64]) -> Option<Interval> {
    let tail = INTERVAL_DRAWS / 40;
    let low = sorted.get(tail - 1).copied()?;
    let high = sorted.get(sorted.len().checked_sub(tail)?).copied()?;
    Some(Interval { low, high })
}

/// The lower limit, one-sided at 95%, of a mean difference, `after - before`, of values in `0.0..=1.0`: the
/// 5% point of what [`difference_interval`] draws. A loss that was accepted beforehand is not exceeded
/// where it lies above the loss; that nothing is significant would not show it.
///
/// `None` as there.
pub fn difference_floor(before: &[f64], after: &[f64], seed: u64) -> Option<f64> {
    let drawn = means(&moved(before, after)?, seed);
    Some(2.0 * drawn.get(INTERVAL_DRAWS / 20 - 1)? - 1.0)
}

/// The 95% interval of what `value` makes of the shares of some cells, given how often each occurred.
///
/// The shares are drawn [`INTERVAL_DRAWS`] times from the Dirichlet distribution with `counts + 1/2`,
/// Jeffreys' prior; draws without a value are left out. `None` without counts, or when fewer than half
/// of the draws have one.
pub fn counts_interval(
    counts: &[usize],
    seed: u64,
    value: &dyn Fn(&[f64]) -> Option<f64>,
) -> Option<Interval> {
    if counts.iter().sum::<usize>() == 0 {
        return None;
    }
    let mut generator = Generator::new(seed);
    let mut values = Vec::with_capacity(INTERVAL_DRAWS);
    for _ in 0..INTERVAL_DRAWS {
        let mut draw = |count: &usize| generator.gamma(*count) + generator.gamma_half();
        let cells: Vec<f64> = counts.iter().map(&mut draw).collect();
        values.extend(value(&cells));
    }
    if values.len() < INTERVAL_DRAWS / 2 {
        return None;
    }
    values.sort_unstable_by(f64::total_cmp);
    let tail = (values.len() / 40).max(1);
    Some(Interval { low: *values.get(tail - 1)?, high: *values.get(values.len() - tail)? })
}

/// The 95% interval of a mean difference, `after - before`, of values in `0.0..=1.0`.
///
/// The differences are moved from `-1.0..=1.0` to `0.0..=1.0` and given to [`mean_interval`]: half a
/// pseudo-question lost everything and half a one won everything. `None` as there, and when the two
/// lists differ in length.
pub fn difference_interval(before: &[f64], after: &[f64], seed: u64) -> Option<Interval> {
    let interval = mean_interval(&moved(before, after)?, seed)?;
    Some(Interval { low: 2.0 * interval.low - 1.0, high: 2.0 * interval.high - 1.0 })
}

/// The differences, moved from `-1.0..=1.0` to `0.0..=1.0`; `None` without any, or beyond that.
fn moved(before: &[f64], after: &[f64]) -> Option<Vec<f64>> {
    let moved: Vec<f64> =
        before.iter().zip(after).map(|(b, a)| f64::midpoint(a - b, 1.0)).collect();
    let fits = before.len() == after.len() && !moved.is_empty();
    (fits && moved.iter().all(|value| (0.0..=1.0).contains(value))).then_some(moved)
}

/// Distinct values, ascending, with how often each occurs.
fn counted(values: &[f64]) -> Vec<(f64, usize)> {
    let mut sorted = values.to_vec();
    sorted.sort_unstable_by(f64::total_cmp);
    let mut counted: Vec<(f64, usize)> = Vec::new();
    for value in sorted {
        match counted.last_mut() {
            Some((last, count)) if last.total_cmp(&value).is_eq() => *count += 1,
            _ => counted.push((value, 1)),
        }
    }
    counted
}

fn weighted_mean(counted: &[(f64, usize)], generator: &mut Generator) -> f64 {
    let one = generator.gamma_half();
    let mut weights = one + generator.gamma_half();
    let mut sum = one;
    for &(value, count) in counted {
        let weight = generator.gamma(count);
        weights += weight;
        sum += weight * value;
    }
    sum / weights
}

/// What the sign-flip test says of two settings on the same questions.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct SignFlip {
    /// The two-sided p-value, above 0 and at most 1.
    pub p: f64,
    /// Questions whose value changed; the others say nothing.
    pub changed: usize,
    /// Whether every sign pattern was enumerated; otherwise the p is drawn.
    pub exact: bool,
    /// The smallest p that this many changed questions could give, all in one direction:
    /// 2^(1 - changed). Above 0.05 for fewer than six, so no such result can be told from luck.
    pub smallest: f64,
}

/// The paired permutation test of a mean difference, exact where it can be.
///
/// If the two settings were the same, each difference could as well have had the other sign: p is
/// the share of sign patterns whose sum is at least as far from zero as the one seen. All patterns
/// are enumerated for up to [`ENUMERATED_MAX`] differences that are not zero; beyond it
/// [`TEST_DRAWS`] patterns are drawn, and one is added above and below so that p is never 0
/// (Phipson and Smyth 2010). For hits, where every difference is -1 or 1, this is the exact McNemar
/// test. Without any change p is 1. `None` when there is no difference at all or one is not finite.
///
/// Reference: Fisher, "The Design of Experiments", 1935, section 21; for retrieval, Smucker, Allan
/// and Carterette, CIKM 2007.
///
/// ```
/// use atlas::eval::bootstrap::{SEED, sign_flip};
/// let six_gained = sign_flip(&[1.0; 6], SEED).unwrap();
/// assert_eq!(six_gained.p, 2.0 / 64.0);
/// ```
pub fn sign_flip(differences: &[f64], seed: u64) -> Option<SignFlip> {
    if differences.is_empty() || !differences.iter().all(|d| d.is_finite()) {
        return None;
    }
    let mut sizes: Vec<f64> = differences.iter().copied().filter(|d| *d != 0.0).collect();
    let observed = sizes.iter().sum::<f64>().abs();
    for size in &mut sizes {
        *size = size.abs();
    }
    sizes.sort_unstable_by(f64::total_cmp);
    // Sums of the same values in another order differ in the last digits: they count as equal.
    let threshold = observed - 1e-9 * sizes.iter().sum::<f64>();
    let changed = sizes.len();
    let exact = changed <= ENUMERATED_MAX;
    let p = if exact { enumerated(&sizes, threshold) } else { drawn(&sizes, threshold, seed) };
    let smallest = 2.0_f64.powf(1.0 - changed as f64).min(1.0);
    Some(SignFlip { p, changed, exact, smallest })
}

/// The share of all sign patterns whose sum reaches the threshold.
fn enumerated(sizes: &[f64], threshold: f64) -> f64 {
    let (left, right) = sizes.split_at(sizes.len() / 2);
    let (left, right) = (signed_sums(left), signed_sums(right));
    let reached: usize =
        left.iter().map(|l| right.iter().filter(|r| (l + **r).abs() >= threshold).count()).sum();
    reached as f64 / (left.len() * right.len()) as f64
}

/// The sums of every sign pattern: 2 to the power of the length.
fn signed_sums(sizes: &[f64]) -> Vec<f64> {
    let mut sums = vec![0.0];
    for size in sizes {
        sums = sums.iter().flat_map(|sum| [sum - size, sum + size]).collect();
    }
    sums
}

fn drawn(sizes: &[f64], threshold: f64, seed: u64) -> f64 {
    let mut generator = Generator::new(seed);
    let mut reached = 0_u32;
    for _ in 0..TEST_DRAWS {
        let mut sum = 0.0;
        for chunk in sizes.chunks(64) {
            let mut signs = generator.bits();
            for size in chunk {
                sum += if signs & 1 == 0 { *size } else { -size };
                signs >>= 1;
            }
        }
        reached += u32::from(sum.abs() >= threshold);
    }
    f64::from(reached + 1) / f64::from(TEST_DRAWS + 1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::eval::statistics::wilson;
    use proptest::prelude::*;

    fn close(found: f64, expected: f64, within: f64) {
        assert!((found - expected).abs() <= within, "{found} is not {expected} within {within}");
    }

    #[test]
    fn the_generator_gives_the_published_sequence() {
        // The test values of the reference implementation for seed 1234567.
        let mut generator = Generator::new(1_234_567);
        assert_eq!(generator.bits(), 6_457_827_717_110_365_317);
        assert_eq!(generator.bits(), 3_203_168_211_198_807_973);
        assert_eq!(generator.bits(), 9_817_491_932_198_370_423);
    }

    #[test]
    fn yes_or_no_values_give_the_jeffreys_interval() {
        // Quantiles of Beta(k + 1/2, n - k + 1/2), by numerical integration.
        for (k, n, low, high) in JEFFREYS {
            let mut values = vec![1.0; k];
            values.resize(n, 0.0);
            let interval = mean_interval(&values, SEED).unwrap();
            close(interval.low, low, 0.006);
            close(interval.high, high, 0.006);
        }
    }

    const JEFFREYS: [(usize, usize, f64, f64); 6] = [
        (15, 15, 0.8482, 1.0000),
        (6, 8, 0.4084, 0.9440),
        (0, 40, 0.0000, 0.0605),
        (24, 34, 0.5407, 0.8377),
        (5, 10, 0.2235, 0.7765),
        (1, 10, 0.0110, 0.3813),
    ];

    #[test]
    fn a_perfect_set_still_has_an_interval_and_an_empty_one_has_none() {
        let interval = mean_interval(&[1.0; 15], SEED).unwrap();
        assert!(interval.low < 0.9 && interval.high > interval.low);
        assert_eq!(mean_interval(&[], SEED), None);
        assert_eq!(mean_interval(&[0.5, 1.5], SEED), None);
        assert_eq!(mean_interval(&[f64::NAN], SEED), None);
    }

    #[test]
    fn the_interval_depends_on_the_seed_only() {
        let values = [0.2, 1.0, 0.5, 0.5, 1.0, 0.0];
        let turned = [1.0, 0.5, 0.0, 1.0, 0.5, 0.2];
        assert_eq!(mean_interval(&values, 7), mean_interval(&turned, 7));
        let (a, b) = (mean_interval(&values, 7).unwrap(), mean_interval(&values, 8).unwrap());
        assert_ne!(a, b);
        close(a.low, b.low, 0.02);
    }

    #[test]
    fn coverage_holds_where_t_and_the_plain_bootstrap_fail() {
        // Recall near 0.97 and 15 questions: values 1, 1/2 and 0.
        let mut generator = Generator::new(11);
        let mut covered = 0;
        let truth = 0.95 + 0.04 * 0.5;
        for round in 0..200 {
            let values: Vec<f64> = (0..15)
                .map(|_| match generator.unit() {
                    u if u < 0.95 => 1.0,
                    u if u < 0.99 => 0.5,
                    _ => 0.0,
                })
                .collect();
            covered += u32::from(mean_interval(&values, round).unwrap().contains(truth));
        }
        assert!(covered >= 184, "{covered} of 200 intervals hold the true mean");
    }

    /// The chance that the interval of `hits` of `n` holds `truth`, over every number of hits.
    fn coverage(n: usize, truth: f64, interval: impl Fn(usize, usize) -> Interval) -> f64 {
        let mut chance = (1.0 - truth).powi(n as i32);
        let mut covered = 0.0;
        for hits in 0..=n {
            covered += if interval(hits, n).contains(truth) { chance } else { 0.0 };
            chance *= (n - hits) as f64 / (hits + 1) as f64 * truth / (1.0 - truth);
        }
        covered
    }

    #[test]
    fn shares_are_covered_as_the_published_table_has_it() {
        let of_mean = |hits: usize, n: usize| {
            let mut values = vec![1.0; hits];
            values.resize(n, 0.0);
            mean_interval(&values, SEED).unwrap()
        };
        let of_share = |hits, n| wilson(hits, n).unwrap();
        // True share, questions, coverage of Wilson's interval and of Jeffreys', which ours of a mean is
        // for values of 0 and 1.
        for (truth, n, share, mean) in [
            (0.95, 15, 0.96, 0.96),
            (0.90, 16, 0.93, 0.98),
            (0.95, 34, 0.97, 0.97),
            (0.70, 34, 0.96, 0.94),
        ] {
            close(coverage(n, truth, of_share), share, 0.006);
            close(coverage(n, truth, of_mean), mean, 0.006);
        }
        for n in [8, 15, 34] {
            for truth in [0.5, 0.6, 0.7, 0.8, 0.9, 0.95] {
                let (share, mean) = (coverage(n, truth, of_share), coverage(n, truth, of_mean));
                assert!(share >= 0.91, "Wilson, {truth} of {n}: {share}");
                assert!(mean >= 0.88, "Jeffreys, {truth} of {n}: {mean}");
            }
        }
    }

    #[test]
    fn means_of_parts_are_covered_at_8_15_and_34_questions() {
        let mut generator = Generator::new(29);
        for n in [8, 15, 34] {
            for all in [0.95, 0.70] {
                // Recall of questions that need two blocks: 1, 1/2, or 0 for one in a hundred.
                let (rounds, truth, mut covered) = (100, all + (0.99 - all) * 0.5, 0);
                for round in 0..rounds {
                    let draw = |generator: &mut Generator| match generator.unit() {
                        u if u < all => 1.0,
                        u if u < 0.99 => 0.5,
                        _ => 0.0,
                    };
                    let values: Vec<f64> = (0..n).map(|_| draw(&mut generator)).collect();
                    covered += u32::from(mean_interval(&values, round).unwrap().contains(truth));
                }
                // Under 90 of 100 happens to an interval of 95 % once in 35 times, of 94 % in 15.
                assert!(covered >= 90, "{n} questions, {truth}: {covered} of {rounds}");
            }
        }
    }

    #[test]
    fn a_difference_is_scaled_and_scaled_back() {
        let interval = difference_interval(&[0.0; 8], &[0.0; 8], SEED).unwrap();
        close(interval.low, -interval.high, 0.02);
        let gained = difference_interval(&[0.0; 8], &[1.0; 8], SEED).unwrap();
        assert!(gained.low > 0.3 && gained.high <= 1.0);
        assert_eq!(difference_interval(&[0.0], &[], SEED), None);
    }

    #[test]
    fn darwins_maize_gives_fishers_count() {
        // Fisher 1935, table 3: 15 pairs, eighths of an inch; 863 of 2^15 sums in each tail.
        let pairs = [49, -67, 8, 16, 6, 23, 28, 41, 14, 29, 56, 24, 75, 60, -48];
        let test = sign_flip(&pairs.map(f64::from), SEED).unwrap();
        assert_eq!(test.p, 1726.0 / 32768.0);
        assert!(test.exact);
        assert_eq!(test.changed, 15);
    }

    #[test]
    fn hits_give_the_exact_mcnemar_test() {
        let test = sign_flip(&[1.0, 1.0, 1.0, 1.0, 1.0, -1.0, 0.0, 0.0], SEED).unwrap();
        assert_eq!(test.p, 2.0 * 7.0 / 64.0);
        assert_eq!((test.changed, test.smallest), (6, 1.0 / 32.0));
    }

    #[test]
    fn nothing_changed_is_p_one_and_nothing_compared_is_none() {
        let test = sign_flip(&[0.0, 0.0], SEED).unwrap();
        assert_eq!((test.p, test.changed, test.smallest), (1.0, 0, 1.0));
        assert_eq!(sign_flip(&[], SEED), None);
        assert_eq!(sign_flip(&[f64::NAN], SEED), None);
    }

    #[test]
    fn a_fraction_that_no_binary_number_holds_ties_with_itself() {
        // 0.1 + 0.2 is not 0.3 in binary: the pattern seen must still count itself and its mirror.
        let test = sign_flip(&[0.1, 0.2, -0.3], SEED).unwrap();
        assert_eq!(test.p, 1.0);
        let test = sign_flip(&[0.1, 0.2, 0.3], SEED).unwrap();
        assert_eq!(test.p, 0.25);
    }

    #[test]
    fn drawing_agrees_with_enumeration_and_never_says_zero() {
        let sizes: Vec<f64> = (1..=18).map(|i| f64::from(i) / 7.0).collect();
        for threshold in [0.0, 5.0, 12.0, 20.0] {
            close(drawn(&sizes, threshold, 3), enumerated(&sizes, threshold), 0.006);
        }
        let test = sign_flip(&[1.0; 100], SEED).unwrap();
        assert!(!test.exact);
        assert_eq!(test.p, 1.0 / 100_001.0);
    }

    proptest! {
        #[test]
        fn turning_every_sign_changes_nothing(
            differences in prop::collection::vec(-1.0_f64..1.0, 1..10),
        ) {
            let turned: Vec<f64> = differences.iter().map(|d| -d).collect();
            let (a, b) = (sign_flip(&differences, 1).unwrap(), sign_flip(&turned, 1).unwrap());
            prop_assert_eq!(a.p, b.p);
            prop_assert!(a.p >= a.smallest && a.p <= 1.0);
        }
    }
}
