//! The luck of picking the best of many settings.

use serde::Serialize;

use super::bootstrap::{Generator, SEED};

/// The most draws behind a floor: its mean is known to a hundredth of the spread.
const DRAWS_MAX: usize = 10_000;

/// The fewest draws, however large the sweep.
const DRAWS_MIN: usize = 200;

/// Additions that a floor may cost; larger sweeps get fewer draws.
const WORK_MAX: usize = 20_000_000;

/// What choosing the best of several settings gains by luck alone.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Floor {
    /// Settings that differ in at least one question, the one in force counted.
    pub settings: usize,
    /// Questions that differ in at least one setting.
    pub questions: usize,
    /// The mean gain of the best setting if all were equally good.
    pub luck: f64,
    /// The mean gain of the best setting as it was seen.
    pub gain: f64,
    /// Share of the draws in which luck alone gained as much as was seen: the p-value of the best.
    pub p: f64,
    /// Sign patterns drawn.
    pub draws: usize,
}

/// The floor of `differences`, `[settings × questions]`: each setting's value minus that of the setting
/// in force, question by question. `None` without a question, or when no setting differs.
///
/// If the settings were equally good, a question could as well have had all its differences with the
/// other sign. Signs are drawn a question, the same for all settings, so that settings which are alike
/// stay alike; the best mean of each draw, at least 0 since nothing need be changed, is what luck finds.
///
/// Reference: the sign-flip test of [`sign_flip`](super::bootstrap::sign_flip) with the maximum over
/// settings as its statistic: Westfall and Young, "Resampling-based multiple testing", 1993, section 2.
pub fn floor(mut differences: Vec<Vec<f64>>) -> Option<Floor> {
    let n = differences.first()?.len();
    differences.retain(|row| row.iter().any(|d| *d != 0.0));
    differences.sort_by(|a, b| {
        let unequal = a.iter().zip(b).map(|(a, b)| a.total_cmp(b)).find(|order| order.is_ne());
        unequal.unwrap_or(std::cmp::Ordering::Equal)
    });
    differences.dedup();
    if n == 0 || differences.is_empty() {
        return None;
    }
    let questions = (0..n).filter(|at| differences.iter().any(|row| row[*at] != 0.0)).count();
    let best = |signs: &[f64]| {
        let mean = |row: &Vec<f64>| row.iter().zip(signs).map(|(d, sign)| d * sign).sum::<f64>();
        differences.iter().map(mean).fold(0.0, f64::max) / n as f64
    };
    let gain = best(&vec![1.0; n]);
    let draws = (WORK_MAX / (n * differences.len())).clamp(DRAWS_MIN, DRAWS_MAX);
    let mut generator = Generator::new(SEED);
    let (mut sum, mut reached) = (0.0, 0_usize);
    let mut signs = vec![0.0; n];
    for _ in 0..draws {
        for sign in &mut signs {
            *sign = if generator.bits() & 1 == 0 { 1.0 } else { -1.0 };
        }
        let luck = best(&signs);
        sum += luck;
        reached += usize::from(luck >= gain - 1e-12);
    }
    Some(Floor {
        settings: differences.len() + 1,
        questions,
        luck: sum / draws as f64,
        gain,
        p: (reached + 1) as f64 / (draws + 1) as f64,
        draws,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_that_differs_has_no_floor() {
        assert_eq!(floor(Vec::new()), None);
        assert_eq!(floor(vec![vec![0.0; 5], vec![0.0; 5]]), None);
        assert_eq!(floor(vec![Vec::new()]), None);
    }

    #[test]
    fn of_one_setting_it_is_the_mean_of_the_positive_part() {
        // Four questions that each changed by one: the sum is a binomial, and E[max(0, sum)] / 4 is
        // (4 · 1 + 2 · 4) / 16 / 4 = 3/16.
        let found = floor(vec![vec![1.0; 4]]).unwrap();
        assert_eq!((found.settings, found.questions, found.gain), (2, 4, 1.0));
        assert!((found.luck - 3.0 / 16.0).abs() < 0.01, "{found:?}");
        assert!((found.p - 1.0 / 16.0).abs() < 0.01, "{found:?}");
    }

    #[test]
    fn more_settings_find_more_by_luck_and_copies_find_none() {
        let mut generator = Generator::new(7);
        let mut rows: Vec<Vec<f64>> = Vec::new();
        for _ in 0..10 {
            rows.push((0..15).map(|_| (generator.bits() % 3) as f64 - 1.0).collect());
        }
        let one = floor(rows[..1].to_vec()).unwrap();
        let ten = floor(rows.clone()).unwrap();
        let copies = floor(vec![rows[0].clone(); 10]).unwrap();
        assert!(ten.luck > one.luck + 0.05, "{} after {}", ten.luck, one.luck);
        assert_eq!(copies, one);
    }

    /// Ten settings that are equally good, over 15 yes-or-no questions of which each passes 80 %, alike
    /// to .8: what luck is said to find is what choosing the best does find, about ten points.
    #[test]
    fn the_floor_is_what_choosing_among_equals_finds() {
        let mut generator = Generator::new(11);
        let mut normal = move || {
            let length = (-2.0 * generator.unit().ln()).sqrt();
            length * (std::f64::consts::TAU * generator.unit()).cos()
        };
        // The 20 % point of the normal distribution: eight of ten questions pass.
        let passes = |shared: f64, own: f64| {
            f64::from(u8::from(0.8_f64.sqrt() * shared + 0.2_f64.sqrt() * own > -0.8416))
        };
        let (mut luck, mut gain, mut false_alarms, runs) = (0.0, 0.0, 0, 60);
        for _ in 0..runs {
            let mut rows = vec![Vec::new(); 10];
            for _ in 0..15 {
                let shared = normal();
                for row in &mut rows {
                    row.push(passes(shared, normal()));
                }
            }
            let base = rows.remove(0);
            let against = |row: &Vec<f64>| row.iter().zip(&base).map(|(a, b)| a - b).collect();
            let Some(found) = floor(rows.iter().map(against).collect()) else { continue };
            luck += found.luck / f64::from(runs);
            gain += found.gain / f64::from(runs);
            false_alarms += usize::from(found.p <= 0.05);
        }
        assert!((0.07..0.13).contains(&gain), "{gain}");
        assert!((luck - gain).abs() < 0.015, "{luck} and {gain}");
        assert!(false_alarms <= 7, "{false_alarms} of {runs}");
    }
}
