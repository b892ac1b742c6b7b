//! Questions that rest on the same documents: together they know as much as their documents.

use std::collections::BTreeMap;

use super::bootstrap::{Generator, INTERVAL_DRAWS, ends};
use super::measurement::Measured;
use super::statistics::Interval;

/// The 95% interval of a mean of values in `0.0..=1.0` whose questions come in clusters, such as those that
/// rest on one document: `clusters` says which, by numbers from 0.
///
/// That of [`mean_interval`](super::bootstrap::mean_interval), with a weight for each cluster in place of
/// one for each question: questions of one document succeed and fail together, so drawn one by one they
/// seem to know more than they do.
/// Without a cluster of two it is the interval of a mean of single questions, up to its draws.
///
/// `None` as there, and when the two lists differ in length.
///
/// Reference: Cameron, Gelbach and Miller, "Bootstrap-based improvements for inference with clustered
/// errors", Review of Economics and Statistics 90, 2008, for drawing clusters whole.
///
/// ```
/// use atlas::eval::bootstrap::{SEED, mean_interval};
/// use atlas::eval::clusters::clustered_interval;
/// let three_papers = [0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2];
/// let together = clustered_interval(&[1.0; 12], &three_papers, SEED).unwrap();
/// let as_three = mean_interval(&[1.0; 3], SEED).unwrap();
/// // Twelve questions know what their three papers know.
/// assert!((together.low - as_three.low).abs() < 0.03);
/// ```
pub fn clustered_interval(values: &[f64], clusters: &[usize], seed: u64) -> Option<Interval> {
    let fits = values.len() == clusters.len() && !values.is_empty();
    if !fits || !values.iter().all(|value| (0.0..=1.0).contains(value)) {
        return None;
    }
    let mut sums: Vec<(f64, f64)> = vec![(0.0, 0.0); clusters.iter().max()? + 1];
    for (value, cluster) in values.iter().zip(clusters) {
        sums[*cluster].0 += value;
        sums[*cluster].1 += 1.0;
    }
    // What is added at 0 and at 1 is half a cluster each, of the usual size.
    let size = values.len() as f64 / sums.len() as f64;
    let mut generator = Generator::new(seed);
    let mut drawn = Vec::with_capacity(INTERVAL_DRAWS);
    for _ in 0..INTERVAL_DRAWS {
        let one = size * generator.gamma_half();
        let mut weights = one + size * generator.gamma_half();
        let mut sum = one;
        for (values, n) in &sums {
            let weight = generator.gamma(1);
            weights += weight * n;
            sum += weight * values;
        }
        drawn.push(sum / weights);
    }
    drawn.sort_unstable_by(f64::total_cmp);
    ends(&drawn)
}

/// The cluster of each of `questions`, by numbers from 0 in the order of their first members. Questions
/// whose evidence lies in a common document are of one cluster, directly or through others; a question
/// whose documents are not known is a cluster of its own.
pub fn clusters<'q>(questions: impl IntoIterator<Item = &'q Measured>) -> Vec<usize> {
    of_documents(questions.into_iter().map(|question| question.documents.as_slice()))
}

fn of_documents<'d>(each: impl IntoIterator<Item = &'d [String]>) -> Vec<usize> {
    let mut by_document: BTreeMap<&str, usize> = BTreeMap::new();
    let mut of: Vec<usize> = Vec::new();
    for (at, documents) in each.into_iter().enumerate() {
        of.push(at);
        for document in documents {
            let other = of[*by_document.entry(document).or_insert(at)];
            let (keeps, goes) = (other.min(of[at]), other.max(of[at]));
            of.iter_mut().filter(|own| **own == goes).for_each(|own| *own = keeps);
        }
    }
    let mut numbers: BTreeMap<usize, usize> = BTreeMap::new();
    for own in &of {
        let next = numbers.len();
        numbers.entry(*own).or_insert(next);
    }
    of.iter().map(|own| numbers[own]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn questions_are_joined_by_documents_and_through_each_other() {
        let found = |each: &[&[&str]]| {
            let owned: Vec<Vec<String>> =
                each.iter().map(|own| own.iter().map(|id| (*id).to_owned()).collect()).collect();
            of_documents(owned.iter().map(Vec::as_slice))
        };
        assert_eq!(found(&[&["a"], &["b"], &["a", "c"], &[], &[]]), [0, 1, 0, 2, 3]);
        // The last joins what was apart.
        assert_eq!(found(&[&["a"], &["b"], &["c"], &["c", "a"]]), [0, 1, 0, 0]);
        assert_eq!(found(&[&["b"], &["a"], &["b", "a"], &["d"]]), [0, 0, 0, 1]);
        assert!(found(&[]).is_empty());
    }
}
