//! How likely a share is to meet a target, given a count.

/// The probability that the true share is at least `target` after `k` of `n`, with Jeffreys' prior:
/// that of Beta(k + 1/2, n - k + 1/2) above `target`.
///
/// ```
/// use atlas::eval::posterior::chance_of_at_least;
/// // Coverage of at least 70 % at exactly 24 of 34 is a coin's toss.
/// assert_eq!((chance_of_at_least(24, 34, 0.70) * 100.0).round(), 52.0);
/// ```
///
/// `k` above `n` counts as `n`. Reference: Brown, Cai and DasGupta, Statistical Science 16, 2001.
pub fn chance_of_at_least(k: usize, n: usize, target: f64) -> f64 {
    let k = k.min(n);
    let (a, b) = (k as f64 + 0.5, (n - k) as f64 + 0.5);
    incomplete_beta(b, a, 1.0 - target.clamp(0.0, 1.0))
}

/// The regularised incomplete beta function `I_x(a, b)`, by Lentz's continued fraction.
///
/// Reference: Press and others, "Numerical Recipes", 3rd edition 2007, section 6.4.
fn incomplete_beta(a: f64, b: f64, x: f64) -> f64 {
    if x <= 0.0 {
        return 0.0;
    }
    if x >= 1.0 {
        return 1.0;
    }
    // The fraction converges fast on this side; the other is one minus it.
    if x > (a + 1.0) / (a + b + 2.0) {
        return 1.0 - incomplete_beta(b, a, 1.0 - x);
    }
    let front =
        (ln_gamma(a + b) - ln_gamma(a) - ln_gamma(b) + a * x.ln() + b * (-x).ln_1p()).exp() / a;
    let tiny = 1e-300;
    let away = |value: f64| if value.abs() < tiny { tiny } else { value };
    let (mut c, mut d) = (1.0, 1.0 / away(1.0 - (a + b) * x / (a + 1.0)));
    let mut product = d;
    for step in 1..300 {
        let m = f64::from(step);
        let even = m * (b - m) * x / ((a + 2.0 * m - 1.0) * (a + 2.0 * m));
        d = 1.0 / away(1.0 + even * d);
        c = away(1.0 + even / c);
        product *= d * c;
        let odd = -(a + m) * (a + b + m) * x / ((a + 2.0 * m) * (a + 2.0 * m + 1.0));
        d = 1.0 / away(1.0 + odd * d);
        c = away(1.0 + odd / c);
        product *= d * c;
        if (d * c - 1.0).abs() < 1e-14 {
            break;
        }
    }
    (front * product).clamp(0.0, 1.0)
}

/// The logarithm of the gamma function for `x > 0`, by Lanczos with g = 7 and nine terms, to about
/// 1e-13.
fn ln_gamma(x: f64) -> f64 {
    const TERMS: [f64; 8] = [
        676.520_368_121_885_1,
        -1_259.139_216_722_402_8,
        771.323_428_777_653_1,
        -176.615_029_162_140_6,
        12.507_343_278_686_905,
        -0.138_571_095_265_720_12,
        9.984_369_578_019_572e-6,
        1.505_632_735_149_311_6e-7,
    ];
    let x = x - 1.0;
    let mut sum = 0.999_999_999_999_809_9;
    for (at, term) in TERMS.iter().enumerate() {
        sum += term / (x + at as f64 + 1.0);
    }
    let t = x + 7.5;
    0.5 * std::f64::consts::TAU.ln() + (x + 0.5) * t.ln() - t + sum.ln()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_values_of_the_beta_distribution() {
        // By numerical integration with 400,000 steps.
        for (a, b, x, expected) in [
            (1.0, 1.0, 0.3, 0.3),
            (2.0, 3.0, 0.5, 0.6875),
            (0.5, 0.5, 0.25, 1.0 / 3.0),
            (24.5, 10.5, 0.7, 0.480_297_610),
            (40.5, 0.5, 0.9, 0.003_586_485),
        ] {
            let found = incomplete_beta(a, b, x);
            assert!((found - expected).abs() < 1e-8, "I_{x}({a}, {b}) = {found}, {expected}");
        }
    }

    #[test]
    fn a_chance_falls_with_the_target_and_rises_with_the_count() {
        assert!(chance_of_at_least(34, 34, 0.7) > 0.999);
        assert!(chance_of_at_least(10, 34, 0.7) < 0.001);
        assert_eq!((chance_of_at_least(3, 9, 0.0), chance_of_at_least(3, 9, 1.0)), (1.0, 0.0));
        for k in 0..34 {
            assert!(chance_of_at_least(k, 34, 0.7) < chance_of_at_least(k + 1, 34, 0.7));
        }
    }
}
