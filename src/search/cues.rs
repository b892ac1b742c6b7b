//! What the question says about the document that is meant: a product, a version, a year.

use std::collections::BTreeMap;

use super::{Candidates, Settings};
use crate::corpus::{Metadata, Value};
use crate::error::Result;
use crate::index::Index;
use crate::text::Analyzer;

/// Raises or lowers the score of every candidate by `search.cue_weight` for each key of `search.cues` of
/// which the question names a value.
///
/// ```text
/// score + weight · Σ over keys that the question speaks of:  +1 the document has a value that is named
///                                                            −1 it has others only
///                                                             0 it does not have the key
/// ```
///
/// A question speaks of a key when a value that some candidate's document has under it stands in the
/// question: its words one after the other, as the analyzer sees them, or of a date its year. Only
/// candidates are looked at, so what the asker may not read decides nothing. It neither adds nor drops.
pub(super) fn apply(
    index: &Index,
    question: &str,
    settings: &Settings,
    candidates: &mut Candidates,
) -> Result<()> {
    if settings.cues.is_empty() || settings.cue_weight == 0.0 {
        return Ok(());
    }
    let passages = index.passages();
    let asked = index.analyzer().question(question);
    let mut documents: BTreeMap<u32, Metadata> = BTreeMap::new();
    let mut of = Vec::with_capacity(candidates.list.len());
    for candidate in &candidates.list {
        let block = passages.passage(candidate.row)?.block;
        let document = passages.block(block)?.document;
        of.push(document);
        if let std::collections::btree_map::Entry::Vacant(place) = documents.entry(document) {
            place.insert(passages.document(document)?.metadata);
        }
    }
    for key in &settings.cues {
        let named: BTreeMap<u32, Vec<String>> = documents
            .iter()
            .map(|(document, metadata)| {
                (*document, named(index.analyzer(), &asked, metadata.get(key)))
            })
            .collect();
        let mut values: Vec<&String> = named.values().flatten().collect();
        values.sort_unstable();
        values.dedup();
        if values.is_empty() {
            continue;
        }
        let (mut raised, mut lowered) = (0, 0);
        for (candidate, document) in candidates.list.iter_mut().zip(&of) {
            if documents[document].get(key).is_none() {
                continue;
            }
            if named[document].is_empty() {
                lowered += 1;
                candidate.score -= settings.cue_weight;
            } else {
                raised += 1;
                candidate.score += settings.cue_weight;
            }
        }
        let values: Vec<&str> = values.into_iter().map(String::as_str).collect();
        candidates.note +=
            &format!("; {key} {}: {raised} raised, {lowered} lowered", values.join(", "));
    }
    Ok(())
}

/// Those of the values at a key that the question names.
fn named(analyzer: &Analyzer, asked: &[String], value: Option<&Value>) -> Vec<String> {
    let Some(value) = value else { return Vec::new() };
    let is_named = |value: &&Value| {
        let whole = analyzer.question(&value.to_string());
        let stands = |terms: &[String]| {
            !terms.is_empty() && asked.windows(terms.len()).any(|run| run == terms)
        };
        let year = |day: String| day.split('-').next().map(str::to_owned);
        stands(&whole)
            || matches!(value, Value::Date(_))
                && year(value.to_string()).is_some_and(|year| stands(&[year]))
    };
    value.items().iter().filter(is_named).map(ToString::to_string).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text::Settings;

    fn stands(value: Value, question: &str) -> Vec<String> {
        let analyzer = Analyzer::new(&Settings::default()).unwrap();
        named(&analyzer, &analyzer.question(question), Some(&value))
    }

    #[test]
    fn a_value_is_named_by_its_words_and_a_day_by_its_year() {
        let text = |text: &str| Value::Text(text.into());
        assert_eq!(stands(text("C-3"), "How heavy is a c-3?"), ["C-3"]);
        assert!(stands(text("C-3"), "How heavy is a T-7, by the 3 of us?").is_empty());
        assert_eq!(stands(text("Cargo Bike"), "the cargo bikes"), ["Cargo Bike"]);
        assert!(
            stands(text("Cargo Bike"), "cargo on a bike").len() == 1,
            "stop words are left out"
        );
        let list = Value::List(vec![text("C-3"), text("K-1")]);
        assert_eq!(stands(list, "K-1 or C-3?"), ["C-3", "K-1"]);
        let day = Value::from_text("2026-01-15");
        assert_eq!(stands(day.clone(), "our 2026 policy"), ["2026-01-15"]);
        assert!(stands(day, "our 2025 policy").is_empty());
        assert_eq!(stands(Value::Number(5.0), "revision 5"), ["5"]);
        assert!(stands(text("!"), "what!").is_empty());
    }
}
