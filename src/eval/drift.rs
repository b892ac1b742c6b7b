//! What has changed by itself: between two measurements, and in what people ask.
//!
//! A number that moved may be luck. Every comparison here states its n, its statistic and its p, and an
//! alert needs enough of both; see [`Verdict`].

mod recorded;
mod stages;

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;

pub use recorded::{AtStage, Run, Seen, Size, recorded, run};
use stages::stages;

use super::bootstrap::{SEED, SignFlip, sign_flip};
use super::statistics::{Interval, holm, percentile, wilson};

/// Requests on each side below which nothing is called drift.
pub const N_MIN: usize = 30;

/// The p of all alerts of one report together.
const ALPHA: f64 = 0.05;

/// One number before and after.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Change {
    /// What it is.
    pub name: String,
    /// Before.
    pub before: Side,
    /// After.
    pub after: Side,
    /// The name of the statistic: `kolmogorov-smirnov D`, `fisher`, or `sign-flip` where the same
    /// questions stand on both sides.
    pub statistic: &'static str,
    /// Its value; the odds of a share are not reported, so it is the difference there, and the mean
    /// difference for `sign-flip`.
    pub value: f64,
    /// The two-sided p-value.
    pub p: f64,
    /// What may be said.
    pub verdict: Verdict,
}

/// One side of a change.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(tag = "kind", rename_all = "lowercase")]
pub enum Side {
    /// Values: how many, their median.
    Values {
        /// How many.
        n: usize,
        /// The nearest-rank median.
        median: f64,
    },
    /// A share: how many of how many.
    Share {
        /// With the property.
        k: usize,
        /// In all.
        n: usize,
        /// The Wilson interval.
        interval: Option<Interval>,
    },
}

/// What may be said of a change.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// Fewer than [`N_MIN`] on a side.
    TooFew,
    /// Luck may have done it.
    NoDrift,
    /// Luck would hardly do it, also considering how many numbers were looked at (Holm 1979).
    Drift,
}

impl Verdict {
    /// In words.
    pub const fn words(self) -> &'static str {
        match self {
            Self::TooFew => "too few to tell",
            Self::NoDrift => "no drift",
            Self::Drift => "DRIFT",
        }
    }
}

/// The change of a distribution: the two-sample Kolmogorov–Smirnov test.
///
/// `D` is the largest distance between the two shares of values at or below any value. The p-value is
/// the limit distribution `2 Σ (−1)^(j−1) exp(−2 j² λ²)` at `λ = (√m + 0.12 + 0.11/√m) · D` with
/// `m = n₁n₂ / (n₁ + n₂)`, good from four values on; with ties it errs towards no drift.
///
/// Reference: Stephens, "Use of the Kolmogorov–Smirnov statistics without extensive tables", JRSS B 32,
/// 1970. `None` when a side is empty.
pub fn distribution(name: &str, before: &[f64], after: &[f64]) -> Option<Change> {
    let side =
        |values: &[f64]| percentile(values, 0.5).map(|p| Side::Values { n: p.n, median: p.value });
    let (d, p) = kolmogorov_smirnov(before, after);
    Some(Change {
        name: name.to_owned(),
        before: side(before)?,
        after: side(after)?,
        statistic: "kolmogorov-smirnov D",
        value: d,
        p,
        verdict: Verdict::NoDrift,
    })
}

/// The change of a share: Fisher's exact test, two-sided by the chance of the table.
///
/// Reference: Fisher, "The logic of inductive inference", JRSS 98, 1935.
pub fn share(name: &str, before: (usize, usize), after: (usize, usize)) -> Change {
    let side = |(k, n)| Side::Share { k, n, interval: wilson(k, n) };
    let of = |(k, n): (usize, usize)| if n == 0 { 0.0 } else { k as f64 / n as f64 };
    Change {
        name: name.to_owned(),
        before: side(before),
        after: side(after),
        statistic: "fisher",
        value: of(after) - of(before),
        p: fisher(before, after),
        verdict: Verdict::NoDrift,
    }
}

/// Gives every change its verdict: drift where Holm's step-down procedure over all of them rejects and
/// both sides are large enough.
pub fn judge(changes: &mut [Change]) {
    let n = |side: &Side| match side {
        Side::Values { n, .. } | Side::Share { n, .. } => *n,
    };
    let is_small = |change: &Change| n(&change.before).min(n(&change.after)) < N_MIN;
    let p: Vec<f64> =
        changes.iter().filter(|change| !is_small(change)).map(|change| change.p).collect();
    let mut adjusted = holm(&p).into_iter();
    for change in changes.iter_mut() {
        change.verdict = match is_small(change) {
            true => Verdict::TooFew,
            false if adjusted.next().is_some_and(|p| p <= ALPHA) => Verdict::Drift,
            false => Verdict::NoDrift,
        };
    }
}

/// `D` and its p.
fn kolmogorov_smirnov(a: &[f64], b: &[f64]) -> (f64, f64) {
    let sorted = |values: &[f64]| {
        let mut values = values.to_vec();
        values.sort_by(f64::total_cmp);
        values
    };
    let (a, b) = (sorted(a), sorted(b));
    let share = |values: &[f64], at: f64| {
        values.partition_point(|value| *value <= at) as f64 / values.len().max(1) as f64
    };
    let d =
        a.iter().chain(&b).map(|at| (share(&a, *at) - share(&b, *at)).abs()).fold(0.0, f64::max);
    let (n, m) = (a.len() as f64, b.len() as f64);
    let root = (n * m / (n + m).max(1.0)).sqrt();
    if root == 0.0 || d == 0.0 {
        return (d, 1.0);
    }
    let lambda = (root + 0.12 + 0.11 / root) * d;
    let term = |j: i32| {
        let sign = if j % 2 == 1 { 1.0 } else { -1.0 };
        sign * (-2.0 * f64::from(j * j) * lambda * lambda).exp()
    };
    // The series alternates and its terms vanish fast but for a lambda near 0, where p is 1.
    let p = if lambda < 0.2 { 1.0 } else { 2.0 * (1..=100).map(term).sum::<f64>() };
    (d, p.clamp(0.0, 1.0))
}

/// The chance of a table at most as likely as this one, its margins given.
fn fisher((k1, n1): (usize, usize), (k2, n2): (usize, usize)) -> f64 {
    let k = k1 + k2;
    let logs: Vec<f64> = std::iter::once(0.0)
        .chain((1..=n1 + n2).scan(0.0, |sum, i| {
            *sum += (i as f64).ln();
            Some(*sum)
        }))
        .collect();
    let choose = |n: usize, k: usize| logs[n] - logs[k] - logs[n - k];
    let low = k.saturating_sub(n2);
    let high = k.min(n1);
    let chance =
        |first: usize| (choose(n1, first) + choose(n2, k - first) - choose(n1 + n2, k)).exp();
    let seen = chance(k1);
    // Sums of logarithms differ in the last digits: as likely counts as equal.
    (low..=high).map(chance).filter(|p| *p <= seen * (1.0 + 1e-9)).sum::<f64>().min(1.0)
}

/// What became of the scores of the same questions between two measurements.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Between {
    /// Questions in both.
    pub n: usize,
    /// The median of the first block's score, before and now; a question that got nothing has none.
    pub first_score: (Option<f64>, Option<f64>),
    /// The paired test of the first block's score, nothing counting 0.
    pub first_test: Option<SignFlip>,
    /// The distribution of the scores of all that arrived.
    pub scores: Option<Change>,
    /// Questions with nothing supplied, before and now.
    pub empty: (usize, usize),
    /// Questions whose first block is another.
    pub other_first: Vec<String>,
    /// Questions whose rank is another.
    pub other_rank: Vec<String>,
    /// Blocks that arrive now, did not before, and that nobody has judged for their question.
    pub new_unjudged: usize,
    /// Blocks that arrive now.
    pub supplied: usize,
    /// Stage by stage, how many candidates there were and how they scored.
    pub stages: Vec<Change>,
    /// The index before and now; `None` before for a measurement that does not tell.
    pub size: (Option<Size>, Size),
}

/// Compares two measurements question by question; `judged` says whether a block is judged for a
/// question.
pub fn between(before: &Run, after: &Run, judged: &dyn Fn(&str, &str) -> bool) -> Between {
    let known: BTreeMap<&str, &Seen> =
        before.questions.iter().map(|seen| (seen.id.as_str(), seen)).collect();
    let pairs: Vec<(&Seen, &Seen)> = after
        .questions
        .iter()
        .filter_map(|now| Some((*known.get(now.id.as_str())?, now)))
        .collect();
    let first = |seen: &Seen| seen.supplied.first().map(|(_, score)| *score);
    let side = |of: fn(&(&Seen, &Seen)) -> Seen| -> Vec<Seen> { pairs.iter().map(of).collect() };
    let (old, new) = (side(|pair| pair.0.clone()), side(|pair| pair.1.clone()));
    let median = |side: &[Seen]| {
        let values: Vec<f64> = side.iter().filter_map(first).collect();
        percentile(&values, 0.5).map(|p| p.value)
    };
    let all = |side: &[Seen]| -> Vec<f64> {
        side.iter().flat_map(|seen| seen.supplied.iter().map(|(_, score)| *score)).collect()
    };
    let differences: Vec<f64> = pairs
        .iter()
        .map(|(old, new)| first(new).unwrap_or(0.0) - first(old).unwrap_or(0.0))
        .collect();
    let ids = |differs: fn(&Seen, &Seen) -> bool| {
        let differing = pairs.iter().filter(|(old, new)| differs(old, new));
        differing.map(|(old, _)| old.id.clone()).collect::<Vec<_>>()
    };
    let mut new_unjudged = 0;
    for (old, new) in &pairs {
        let had: BTreeSet<&str> = old.supplied.iter().map(|(name, _)| name.as_str()).collect();
        let fresh = new.supplied.iter().filter(|(name, _)| !had.contains(name.as_str()));
        new_unjudged += fresh.filter(|(name, _)| !judged(&new.id, name)).count();
    }
    let scores = distribution("scores of all that arrived", &all(&old), &all(&new));
    // All lines are looked at together, so Holm's procedure goes over all of them.
    let mut stages = stages(&pairs);
    let of_stages = stages.len();
    stages.extend(scores);
    judge(&mut stages);
    let scores = stages.split_off(of_stages).pop();
    Between {
        n: pairs.len(),
        first_score: (median(&old), median(&new)),
        first_test: sign_flip(&differences, SEED),
        scores,
        empty: (
            old.iter().filter(|seen| seen.supplied.is_empty()).count(),
            new.iter().filter(|seen| seen.supplied.is_empty()).count(),
        ),
        other_first: ids(|old, new| {
            old.supplied.first().map(|one| &one.0) != new.supplied.first().map(|one| &one.0)
        }),
        other_rank: ids(|old, new| old.rank != new.rank),
        new_unjudged,
        supplied: new.iter().map(|seen| seen.supplied.len()).sum(),
        stages,
        size: (before.size, after.size.unwrap_or_default()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fisher_is_the_hypergeometric_sum() {
        // The lady tasting tea: 3 of 4 against 1 of 4 is 34 of 70.
        assert!((fisher((3, 4), (1, 4)) - 34.0 / 70.0).abs() < 1e-12);
        assert!((fisher((4, 4), (0, 4)) - 2.0 / 70.0).abs() < 1e-12);
        assert_eq!(fisher((0, 5), (0, 9)), 1.0);
        assert_eq!(fisher((0, 0), (3, 9)), 1.0);
        // Summed over whole numbers, without logarithms.
        assert!((fisher((10, 100), (25, 100)) - 0.008_503_571_478_623_958).abs() < 1e-12);
    }

    #[test]
    fn the_distance_of_distributions_and_its_p() {
        let ramp = |from: f64, n: usize| (0..n).map(|i| from + i as f64).collect::<Vec<_>>();
        let (d, p) = kolmogorov_smirnov(&ramp(0.0, 50), &ramp(0.0, 50));
        assert_eq!((d, p), (0.0, 1.0));
        let (d, p) = kolmogorov_smirnov(&ramp(0.0, 50), &ramp(100.0, 50));
        assert!(d == 1.0 && p < 1e-10);
        // The 5 % point of large samples: 1.358 over the root of n₁n₂ / (n₁ + n₂).
        let (_, p) = kolmogorov_smirnov(&ramp(0.0, 1_000), &ramp(60.7, 1_000));
        assert!((0.045..0.055).contains(&p), "{p}");
    }

    #[test]
    fn few_requests_are_never_drift_and_holm_guards_the_rest() {
        let mut changes = vec![share("few", (0, 20), (20, 20)), share("many", (0, 60), (30, 60))];
        judge(&mut changes);
        assert_eq!(changes[0].verdict, Verdict::TooFew);
        assert_eq!(changes[1].verdict, Verdict::Drift);
        let (mut alone, p) = (vec![share("edge", (2, 60), (10, 60))], fisher((2, 60), (10, 60)));
        assert!((0.01..0.05).contains(&p), "{p}");
        judge(&mut alone);
        assert_eq!(alone[0].verdict, Verdict::Drift);
        let mut among: Vec<Change> = (0..5).map(|_| share("none", (5, 60), (5, 60))).collect();
        among.push(alone.remove(0));
        judge(&mut among);
        assert_eq!(among[5].verdict, Verdict::NoDrift, "one of six");
    }

    fn seen(id: &str, supplied: &[(&str, f64)], rank: Option<f64>, best: Option<f64>) -> Seen {
        let stage = best.map(|best| AtStage {
            name: "lexical".to_owned(),
            candidates: supplied.len(),
            best: Some(best),
            median: None,
        });
        Seen {
            id: id.to_owned(),
            supplied: supplied.iter().map(|(name, score)| ((*name).to_owned(), *score)).collect(),
            rank,
            stages: stage.into_iter().collect(),
        }
    }

    #[test]
    fn what_changed_between_two_measurements() {
        let size = |passages| Some(Size { documents: 1, blocks: 2, passages });
        let before = Run {
            size: size(2),
            questions: vec![
                seen("a", &[("A-1", 0.5), ("B-1", 0.2)], Some(1.0), Some(4.0)),
                seen("b", &[("B-1", 0.4)], Some(1.0), None),
                seen("gone", &[("C-1", 0.4)], None, Some(1.0)),
            ],
        };
        let after = Run {
            size: size(3),
            questions: vec![
                seen("a", &[("N-1", 0.6), ("A-1", 0.5)], Some(2.0), Some(5.0)),
                seen("b", &[], None, Some(2.0)),
                seen("new", &[("C-1", 0.4)], None, Some(1.0)),
            ],
        };
        let found = between(&before, &after, &|_, block| block == "A-1");
        assert_eq!((found.n, found.empty, found.new_unjudged, found.supplied), (2, (0, 1), 1, 2));
        assert_eq!(found.other_first, ["a", "b"]);
        assert_eq!(found.other_rank, ["a", "b"]);
        assert_eq!(found.first_score, (Some(0.4), Some(0.6)));
        assert_eq!(found.scores.unwrap().verdict, Verdict::TooFew);
        assert_eq!(found.first_test.unwrap().changed, 2);
        // Only the question that has the stage on both sides is compared, and the median, which
        // nobody recorded, is no line.
        let names: Vec<&str> = found.stages.iter().map(|change| change.name.as_str()).collect();
        assert_eq!(names, ["lexical: candidates", "lexical: best score"]);
        assert_eq!(found.stages[1].before, Side::Values { n: 1, median: 4.0 });
        assert_eq!((found.stages[1].value, found.stages[1].verdict), (1.0, Verdict::TooFew));
        assert_eq!((found.size.0, found.size.1.passages), (size(2), 3));
    }

    #[test]
    fn a_stage_that_moved_is_named_and_the_others_are_not() {
        // Forty questions, of which every second one moves at random but for the best lexical score.
        let run = |shift: f64| Run {
            size: None,
            questions: (0..40)
                .map(|at| {
                    let score = 0.3 + f64::from(at) / 100.0;
                    let mut seen =
                        seen(&format!("q{at}"), &[("A-1", score)], None, Some(score + shift));
                    let wobble = if at % 2 == 0 { shift } else { -shift };
                    seen.stages.push(AtStage {
                        name: "dense".to_owned(),
                        candidates: 5,
                        best: Some(score + wobble),
                        median: Some(score),
                    });
                    seen
                })
                .collect(),
        };
        let found = between(&run(0.0), &run(0.1), &|_, _| true);
        let drifted: Vec<&str> = found
            .stages
            .iter()
            .filter(|change| change.verdict == Verdict::Drift)
            .map(|change| change.name.as_str())
            .collect();
        assert_eq!(drifted, ["lexical: best score"]);
        assert!(found.stages.iter().all(|change| change.verdict != Verdict::TooFew));
    }
}
