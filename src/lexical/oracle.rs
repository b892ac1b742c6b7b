//! The slow, obvious scorer that the fast one is proven against.

use super::{Bm25, LexicalIndex, Query};
use crate::access::Scope;
use crate::error::Result;

/// Scores every allowed row that holds a term and sorts them all: row and score, score descending,
/// ties by row ascending. For tests and for `atlas verify`.
pub fn exhaustive(
    index: &LexicalIndex,
    query: &Query,
    scope: &Scope,
    bm25: Bm25,
) -> Result<Vec<(u32, f64)>> {
    let statistics = index.statistics(scope)?;
    let average = statistics.terms_total as f64 / statistics.passages.max(1) as f64;
    let lengths = index.lengths()?;
    let (mut lists, mut frequencies) = (Vec::new(), Vec::new());
    for (term, _) in query.terms() {
        let list = index.list(term)?;
        let held = list.iter().filter(|(row, _)| scope.readable().contains(*row));
        frequencies.push(held.count() as u64);
        lists.push((term.as_str(), list));
    }
    let mut terms = Vec::new();
    let asked = query.counts(&frequencies).into_iter().zip(&frequencies);
    for ((term, list), (count, df)) in lists.into_iter().zip(asked) {
        if *df > 0 && count > 0.0 {
            terms.push((count * Bm25::idf(statistics.passages, *df), term, list));
        }
    }
    terms.sort_by(|a: &(f64, &str, _), b| b.0.total_cmp(&a.0).then_with(|| a.1.cmp(b.1)));
    let mut scores = vec![0.0; lengths.len()];
    let mut held = vec![false; lengths.len()];
    for (bound, _, list) in &terms {
        for &(row, tf) in list {
            let length = f64::from(lengths[row as usize]);
            let slope = bm25.k1 * bm25.b / average.max(1.0);
            let tf = f64::from(tf);
            scores[row as usize] +=
                bound * (tf / (tf + (bm25.k1 * (1.0 - bm25.b) + slope * length)));
            held[row as usize] = true;
        }
    }
    let mut ranked: Vec<(u32, f64)> = (0..lengths.len() as u32)
        .filter(|row| held[*row as usize] && scope.allowed().contains(*row))
        .map(|row| (row, scores[row as usize]))
        .collect();
    ranked.sort_by(|a, b| b.1.total_cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
    Ok(ranked)
}
