//! Numbers with their intervals, as text and JSON show them.

use crate::eval::bootstrap::{SEED, mean_interval};
use crate::eval::measurement::Measurement;
use crate::eval::statistics::{Interval, wilson};

/// Scored questions that hit, of `kind` only, if given, and their Wilson interval in per cent.
pub(super) fn hits(set: &Measurement, kind: Option<&str>) -> (usize, String) {
    let values = set.values("hit", kind);
    let hits = values.iter().filter(|hit| **hit > 0.0).count();
    let range = wilson(hits, values.len());
    (hits, range.map_or_else(|| "unknown".to_owned(), |i| percent(&i)))
}

/// The interval of a mean, `0.71 to 0.99`; `unknown` where there is none.
pub(super) fn range(values: &[f64]) -> String {
    mean_interval(values, SEED)
        .map_or_else(|| "unknown".to_owned(), |i| format!("{:.2} to {:.2}", i.low, i.high))
}

fn percent(range: &Interval) -> String {
    format!("{:.0} to {:.0}", range.low * 100.0, range.high * 100.0)
}
