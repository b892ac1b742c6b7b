//! Numbers with their intervals, as text and JSON show them.

use crate::eval::bootstrap::{SEED, mean_interval};
use crate::eval::clusters::{clustered_interval, clusters};
use crate::eval::measurement::Measurement;
use crate::eval::statistics::{Interval, wilson};
use crate::eval::sweep::Range;

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

/// How many clusters the scored questions form by the documents of their evidence, and the 95 % intervals of
/// hit, recall and precision that are drawn by cluster; `None` where no two questions share a document.
pub(super) fn by_cluster(set: &Measurement) -> Option<(usize, [Option<Interval>; 3])> {
    let of = clusters(set.scored(None));
    let number = of.iter().max()? + 1;
    let interval = |name: &str| {
        let each = set.scored(None).zip(&of);
        let (values, of): (Vec<f64>, Vec<usize>) =
            each.filter_map(|(question, of)| Some((question.value(name)?, *of))).unzip();
        clustered_interval(&values, &of, SEED)
    };
    (number < of.len()).then(|| (number, ["hit", "recall", "precision"].map(interval)))
}

pub(super) fn percent(range: &Interval) -> String {
    format!("{:.0} to {:.0}", range.low * 100.0, range.high * 100.0)
}

/// The mean; `None` of nothing.
pub(super) fn mean_of(values: &[f64]) -> Option<f64> {
    (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
}

/// The relevant share of the supplied units that somebody has judged, of each scored question that got
/// one.
pub(super) fn of_judged(set: &Measurement) -> Vec<f64> {
    let some = set.scored(None).filter(|question| question.judged_units() > 0);
    some.map(|question| question.relevant_units() as f64 / question.judged_units() as f64).collect()
}

/// The mean of a number over the scored questions if every tie fell badly, and if every tie fell well.
pub(super) fn ends(set: &Measurement, of: fn(&Range) -> f64) -> Option<(f64, f64)> {
    let ties: Vec<_> = set.scored(None).filter_map(|question| question.ties).collect();
    let least: Vec<f64> = ties.iter().map(|ties| of(&ties.least)).collect();
    let most: Vec<f64> = ties.iter().map(|ties| of(&ties.most)).collect();
    Some((mean_of(&least)?, mean_of(&most)?))
}
