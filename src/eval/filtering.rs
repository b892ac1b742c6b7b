//! What a filter is worth: the same questions with it and without.

use std::collections::BTreeSet;

use serde::Serialize;

use super::bootstrap::{SEED, SignFlip, sign_flip};
use super::measurement::{Measured, Measurement};
use super::questions::QuestionSet;
use crate::access::Scope;
use crate::corpus::Value;
use crate::error::Result;
use crate::index::Index;

/// The values of `key` in the documents that `scope` may read, each once, in order.
pub fn values_of(index: &Index, scope: &Scope, key: &str) -> Result<Vec<String>> {
    let passages = index.passages();
    let (mut values, mut seen) = (BTreeSet::new(), BTreeSet::new());
    for row in scope.readable().iter() {
        let document = passages.block(passages.passage(row)?.block)?.document;
        if !seen.insert(document) {
            continue;
        }
        let record = passages.document(document)?;
        let items = record.metadata.get(key).map_or(&[][..], Value::items);
        values.extend(items.iter().filter_map(Value::as_text).map(str::to_owned));
    }
    Ok(values.into_iter().collect())
}

/// Runs of letters and digits, in lower case.
fn words(text: &str) -> Vec<String> {
    let runs = text.split(|c: char| !c.is_alphanumeric()).filter(|run| !run.is_empty());
    runs.map(str::to_lowercase).collect()
}

/// Those of `values` that `text` names: their words stand in it, one after the other, whatever the case.
pub fn named<'v>(text: &str, values: &'v [String]) -> Vec<&'v str> {
    let text = words(text);
    let stands = |value: &&String| {
        let value = words(value);
        !value.is_empty() && text.windows(value.len()).any(|run| run == value)
    };
    values.iter().filter(stands).map(String::as_str).collect()
}

/// The questions of `set` that carry a filter, and a copy of each without it.
pub fn stated(set: &QuestionSet) -> (QuestionSet, QuestionSet) {
    let mut with = set.clone();
    with.questions.retain(|question| !question.filter.is_empty());
    let mut without = with.clone();
    without.questions.iter_mut().for_each(|question| question.filter.clear());
    (with, without)
}

/// The questions of `set` that carry no filter on `key` and name a value of it, with that filter, and
/// the same as they are. `values` says what a question's asker could mean.
pub fn suggested(
    set: &QuestionSet,
    key: &str,
    values: &dyn Fn(&super::questions::Question) -> Result<Vec<String>>,
) -> Result<(QuestionSet, QuestionSet)> {
    let (mut with, mut without) = (set.clone(), set.clone());
    with.questions.clear();
    without.questions.clear();
    for question in set.questions.iter().filter(|question| !question.filter.contains_key(key)) {
        let known = values(question)?;
        let named: Vec<String> =
            named(&question.question, &known).into_iter().map(str::to_owned).collect();
        if named.is_empty() {
            continue;
        }
        without.questions.push(question.clone());
        let mut filtered = question.clone();
        filtered.filter.insert(key.to_owned(), named);
        with.questions.push(filtered);
    }
    Ok((with, without))
}

/// Numbers of one question.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Numbers {
    /// Share of the evidence that arrived.
    pub recall: f64,
    /// Relevant share of what was supplied.
    pub precision: f64,
    /// Estimated tokens supplied.
    pub tokens: usize,
    /// Blocks supplied.
    pub blocks: usize,
}

impl Numbers {
    fn of(measured: &Measured) -> Self {
        Self {
            recall: measured.value("recall").unwrap_or(0.0),
            precision: measured.value("precision").unwrap_or(0.0),
            tokens: measured.tokens,
            blocks: measured.supplied.len(),
        }
    }
}

/// What a filter does to one question.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Effect {
    /// The question's id.
    pub id: String,
    /// The filter, `key=value,value`.
    pub filter: String,
    /// Without it.
    pub without: Numbers,
    /// With it.
    pub with: Numbers,
}

/// What filters do to the questions that have one.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Effects {
    /// Question by question; the scored ones alone.
    pub questions: Vec<Effect>,
    /// The exact test of the difference in precision; `None` without a question.
    pub precision: Option<SignFlip>,
    /// The same in recall.
    pub recall: Option<SignFlip>,
}

impl Effects {
    /// Compares two measurements of the same questions, the first of `set` with filters.
    pub fn new(set: &QuestionSet, with: &Measurement, without: &Measurement) -> Self {
        let mut questions = Vec::new();
        let pairs = with.questions.iter().zip(&without.questions);
        for (question, (with, without)) in set.questions.iter().zip(pairs) {
            if !with.is_scored() {
                continue;
            }
            let filter: Vec<String> = question
                .filter
                .iter()
                .map(|(key, values)| format!("{key}={}", values.join(",")))
                .collect();
            questions.push(Effect {
                id: question.id.clone(),
                filter: filter.join(" "),
                without: Numbers::of(without),
                with: Numbers::of(with),
            });
        }
        let difference = |of: fn(&Numbers) -> f64| {
            let pairs = questions.iter().map(|effect| of(&effect.with) - of(&effect.without));
            sign_flip(&pairs.collect::<Vec<_>>(), SEED)
        };
        let (precision, recall) = (difference(|n| n.precision), difference(|n| n.recall));
        Self { questions, precision, recall }
    }

    /// The mean of `of` without and with filters.
    pub fn means(&self, of: fn(&Numbers) -> f64) -> (f64, f64) {
        let n = self.questions.len().max(1) as f64;
        let sum = |side: fn(&Effect) -> &Numbers| {
            self.questions.iter().map(|effect| of(side(effect))).sum::<f64>() / n
        };
        (sum(|effect| &effect.without), sum(|effect| &effect.with))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_is_named_by_its_words_and_not_by_parts_of_them() {
        let values = ["C-3", "T-7", "K-1"].map(str::to_owned);
        assert_eq!(named("The casing of a c-3: opened?", &values), ["C-3"]);
        assert_eq!(named("C 3 or T-7", &values), ["C-3", "T-7"]);
        for other in ["E-417", "C-30", "C3", "AC-3x", "3-C", ""] {
            assert!(named(other, &values).is_empty(), "{other}");
        }
        assert!(named("anything", &["-".to_owned()]).is_empty());
    }
}
