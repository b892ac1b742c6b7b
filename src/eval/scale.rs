//! What the scale of scores depends on: a minimum that was chosen under one is none under another.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::ledger::Entry;
use crate::format::Manifest;
use crate::search::{CALIBRATION, Settings};

/// Settings of a search that choose among scored candidates, or how they are found, and leave the scores
/// as they are. Every other one shapes them.
const OUTSIDE: [&str; 10] = [
    "k",
    "window_tokens",
    "min_score",
    "depth",
    "dense",
    "ef",
    "duplicates",
    "diversity",
    "per_document",
    "neighbours",
];

/// The setting whose value depends on the scale.
pub const MIN_SCORE: &str = "search.min_score";

/// Everything that shapes a score, by name: settings by their keys, the analyzer, the model, and the
/// constants of the reranked score.
pub fn scale(settings: &Settings, manifest: &Manifest) -> BTreeMap<String, String> {
    let mut scale = BTreeMap::from([
        ("analyzer".to_owned(), manifest.analyzer.clone()),
        ("calibration".to_owned(), format!("{CALIBRATION:?}")),
        ("model".to_owned(), manifest.embedder.clone()),
    ]);
    if let Ok(Value::Object(fields)) = serde_json::to_value(settings) {
        for (key, value) in fields {
            if !OUTSIDE.contains(&key.as_str()) {
                flatten(format!("search.{key}"), value, &mut scale);
            }
        }
    }
    scale
}

fn flatten(key: String, value: Value, into: &mut BTreeMap<String, String>) {
    match value {
        Value::Object(fields) => {
            for (field, value) in fields {
                flatten(format!("{key}.{field}"), value, into);
            }
        }
        Value::String(text) => drop(into.insert(key, text)),
        other => drop(into.insert(key, other.to_string())),
    }
}

/// A minimum in force that was chosen on another scale.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Moved {
    /// The set that it was chosen on.
    pub set: String,
    /// What is another now: `search.alpha 0.6, now 0.4`.
    pub changes: Vec<String>,
}

/// Whether `search.min_score` was chosen, by the last record of its value in the ledger, under another
/// scale than `now`. `None` when it is 0, when no choice of the value is on record, and when the record
/// does not say what it was chosen under.
pub fn moved(
    entries: &[Entry],
    settings: &Settings,
    now: &BTreeMap<String, String>,
) -> Option<Moved> {
    let in_force = settings.min_score;
    let record = entries.iter().rev().find_map(|entry| match entry {
        Entry::Choice { setting, value, set, under, .. }
            if setting == MIN_SCORE && *value == in_force && in_force > 0.0 =>
        {
            Some((set, under))
        }
        _ => None,
    });
    let (set, under) = record?;
    let under = under.as_ref()?;
    let keys: BTreeSet<&String> = under.keys().chain(now.keys()).collect();
    let shown = |value: Option<&String>| value.map_or("none", String::as_str).to_owned();
    let changes: Vec<String> = keys
        .into_iter()
        .filter(|key| under.get(*key) != now.get(*key))
        .map(|key| format!("{key} {}, now {}", shown(under.get(key)), shown(now.get(key))))
        .collect();
    (!changes.is_empty()).then(|| Moved { set: set.clone(), changes })
}

impl Moved {
    /// What to tell, with the way out.
    pub fn line(&self, in_force: f64) -> String {
        format!(
            "{MIN_SCORE} = {in_force} was chosen on {} when scores had another scale ({}); choose it anew: \
             `atlas measure --sweep min-score` shows every value, and with `--choose X --why TEXT` writes \
             the choice down",
            self.set,
            self.changes.join("; ")
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chosen(value: f64, under: Option<BTreeMap<String, String>>) -> Entry {
        let text = || "x".to_owned();
        let (date, set, why) = (text(), text(), text());
        let setting = MIN_SCORE.to_owned();
        Entry::Choice { date, setting, value, set, holds_to: 1.0, margin: 0.5, why, under }
    }

    fn of(settings: &Settings) -> BTreeMap<String, String> {
        let mut scale = BTreeMap::from([("model".to_owned(), "m".to_owned())]);
        if let Ok(Value::Object(fields)) = serde_json::to_value(settings) {
            for (key, value) in fields.into_iter().filter(|(key, _)| !OUTSIDE.contains(&&**key)) {
                flatten(format!("search.{key}"), value, &mut scale);
            }
        }
        scale
    }

    #[test]
    fn a_minimum_chosen_on_another_scale_is_told() {
        let old = Settings { min_score: 0.1, ..Settings::default() };
        let record = [chosen(0.1, Some(of(&old)))];
        assert_eq!(moved(&record, &old, &of(&old)), None);
        // What only chooses among scored candidates is no other scale.
        let wider = Settings { k: 9, window_tokens: 1, neighbours: 2, ..old.clone() };
        assert_eq!(moved(&record, &wider, &of(&wider)), None);
        let mut new = Settings { alpha: 0.4, ..old.clone() };
        new.bm25.k1 = 2.0;
        let found = moved(&record, &new, &of(&new)).unwrap();
        assert_eq!(found.changes, ["search.alpha 0.6, now 0.4", "search.bm25.k1 1.2, now 2.0"]);
        let other_model = [chosen(0.1, Some(BTreeMap::from([("model".into(), "n".into())])))];
        let found = moved(&other_model, &old, &of(&old)).unwrap();
        assert!(found.changes.contains(&"model n, now m".to_owned()));
    }

    #[test]
    fn without_a_record_of_the_scale_there_is_nothing_to_tell() {
        let settings = Settings { min_score: 0.1, alpha: 0.4, ..Settings::default() };
        let was = of(&Settings::default());
        let now = of(&settings);
        assert_eq!(moved(&[chosen(0.1, None)], &settings, &now), None);
        assert_eq!(moved(&[chosen(0.2, Some(was.clone()))], &settings, &now), None);
        let off = Settings { min_score: 0.0, ..settings.clone() };
        assert_eq!(moved(&[chosen(0.0, Some(was.clone()))], &off, &now), None);
        // The last record counts.
        let records = [chosen(0.1, Some(was)), chosen(0.1, Some(now.clone()))];
        assert_eq!(moved(&records, &settings, &now), None);
    }
}
