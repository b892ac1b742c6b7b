//! Drift in the usage log: what people asked and got, before a day and from it on.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use serde::Deserialize;

use super::drift::{Change, distribution, judge, share};
use super::questions::QuestionSet;
use crate::error::{Error, Result, complaint};
use crate::text::Analyzer;

/// Likeness from which a request counts as one that the test set stands for: half of the distinct words
/// of both are in both.
pub const LIKE_FROM: f64 = 0.5;

/// A line of the log, as far as drift is concerned.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct Requested {
    /// When: seconds since 1970.
    pub at_s: u64,
    /// What was asked.
    pub question: String,
    /// Digest of the index that answered.
    pub index: String,
    /// References and scores of the context, best first.
    pub context: Vec<(String, f64)>,
}

/// Reads the log at `path`, oldest first.
pub fn read(path: &Path) -> Result<Vec<Requested>> {
    if !path.exists() {
        let help = "set `usage_log` in atlas.toml, or name one with --log FILE";
        return Err(Error::input(path, None, "there is no usage log here", help));
    }
    let text =
        fs::read_to_string(path).map_err(|e| Error::reading("reading the usage log", path, e))?;
    let mut requests = Vec::new();
    for (at, line) in text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty()) {
        let request: Requested = serde_json::from_str(line).map_err(|fault| {
            let (problem, _) = complaint(&fault.to_string(), "");
            let problem = format!("it is no entry of a usage log: {problem}");
            Error::input(path, Some(at as u64 + 1), problem, "remove the line")
        })?;
        requests.push(request);
    }
    requests.sort_by_key(|request| request.at_s);
    Ok(requests)
}

/// Words of questions, to tell how alike two are.
struct Likeness<'l> {
    analyzer: &'l Analyzer,
    asked: Vec<(BTreeSet<String>, BTreeSet<String>)>,
}

impl<'l> Likeness<'l> {
    fn new(analyzer: &'l Analyzer, set: Option<&QuestionSet>) -> Self {
        let words = |text: &str| analyzer.question(text).into_iter().collect::<BTreeSet<_>>();
        let asked = set.into_iter().flat_map(|set| &set.questions);
        let asked = asked
            .map(|question| (words(&question.question), question.kinds.iter().cloned().collect()));
        Self { analyzer, asked: asked.collect() }
    }

    /// The kinds of the question that is most like `text`; `None` when none is like it.
    fn kinds(&self, text: &str) -> Option<&BTreeSet<String>> {
        let words: BTreeSet<String> = self.analyzer.question(text).into_iter().collect();
        let likeness = |other: &BTreeSet<String>| {
            words.intersection(other).count() as f64 / words.union(other).count().max(1) as f64
        };
        let mut best: Option<(f64, &BTreeSet<String>)> = None;
        for (other, kinds) in &self.asked {
            let own = likeness(other);
            if own >= LIKE_FROM && best.is_none_or(|(most, _)| own > most) {
                best = Some((own, kinds));
            }
        }
        best.map(|(_, kinds)| kinds)
    }
}

/// Compares requests before with requests after: scores, empty answers, and how they stand to `set`.
pub fn changes(
    before: &[Requested],
    after: &[Requested],
    set: Option<&QuestionSet>,
    analyzer: &Analyzer,
) -> Vec<Change> {
    let first = |requests: &[Requested]| -> Vec<f64> {
        requests.iter().filter_map(|r| r.context.first().map(|(_, score)| *score)).collect()
    };
    let blocks = |requests: &[Requested]| -> Vec<f64> {
        requests.iter().map(|request| request.context.len() as f64).collect()
    };
    let words = |requests: &[Requested]| -> Vec<f64> {
        requests.iter().map(|r| r.question.split_whitespace().count() as f64).collect()
    };
    let mut changes: Vec<Change> = [
        distribution("score of the first block", &first(before), &first(after)),
        distribution("blocks handed over", &blocks(before), &blocks(after)),
        distribution("words of a question", &words(before), &words(after)),
    ]
    .into_iter()
    .flatten()
    .collect();
    let of = |requests: &[Requested], has: &dyn Fn(&Requested) -> bool| {
        (requests.iter().filter(|request| has(request)).count(), requests.len())
    };
    let mut add = |name: &str, has: &dyn Fn(&Requested) -> bool| {
        changes.push(share(name, of(before, has), of(after, has)));
    };
    add("nothing handed over", &|request| request.context.is_empty());
    if let Some(set) = set {
        let judged: BTreeSet<&str> = set
            .questions
            .iter()
            .flat_map(|question| question.judgments.groups().iter().flatten())
            .map(String::as_str)
            .collect();
        add("first block that no question of the set needs", &|request| {
            request.context.first().is_some_and(|(block, _)| !judged.contains(block.as_str()))
        });
        let likeness = Likeness::new(analyzer, Some(set));
        add("unlike every question of the set", &|request| {
            likeness.kinds(&request.question).is_none()
        });
        let kinds: BTreeSet<&String> = set.questions.iter().flat_map(|q| &q.kinds).collect();
        for kind in kinds {
            add(&format!("like a question of kind {kind}"), &|request| {
                likeness.kinds(&request.question).is_some_and(|kinds| kinds.contains(kind))
            });
        }
    }
    judge(&mut changes);
    changes
}

/// Digests of the indexes that answered, each once, in the order of their first request.
pub fn indexes(requests: &[Requested]) -> Vec<&str> {
    let mut seen: Vec<&str> = Vec::new();
    for request in requests {
        if !seen.contains(&request.index.as_str()) {
            seen.push(&request.index);
        }
    }
    seen
}

#[cfg(test)]
mod tests {
    use super::super::drift::Verdict;
    use super::*;
    use crate::text::Settings;

    fn requested(at_s: u64, question: &str, score: Option<f64>) -> Requested {
        let context = score.map(|score| ("A-1".to_owned(), score)).into_iter().collect();
        Requested { at_s, question: question.to_owned(), index: "i".to_owned(), context }
    }

    #[test]
    fn scores_that_fall_are_drift_and_scores_that_stay_are_none() {
        let analyzer = Analyzer::new(&Settings::default()).unwrap();
        let before: Vec<Requested> = (0..60)
            .map(|i| requested(i, "what is a pump", Some(0.4 + (i % 7) as f64 / 100.0)))
            .collect();
        let mut after = before.clone();
        let quiet = changes(&before, &after, None, &analyzer);
        assert!(quiet.iter().all(|change| change.verdict == Verdict::NoDrift), "{quiet:?}");
        for request in &mut after {
            request.context[0].1 -= 0.2;
        }
        let loud = changes(&before, &after, None, &analyzer);
        let drifted: Vec<&str> = loud
            .iter()
            .filter(|change| change.verdict == Verdict::Drift)
            .map(|change| change.name.as_str())
            .collect();
        assert_eq!(drifted, ["score of the first block"]);
        let few = changes(&before[..20], &after, None, &analyzer);
        assert!(few.iter().all(|change| change.verdict == Verdict::TooFew));
    }

    #[test]
    fn a_broken_line_is_named() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("usage.jsonl");
        let line = "{\"at_s\":7,\"asker\":null,\"question\":\"q\",\"index\":\"d\",\"stages_us\":[],\
                    \"total_us\":1.0,\"context\":[[\"A-1\",0.5]],\"later\":1}\n";
        fs::write(&path, format!("{line}\n{line}")).unwrap();
        assert_eq!(read(&path).unwrap().len(), 2);
        fs::write(&path, format!("{line}{{\"at_s\":7}}\n")).unwrap();
        let said = read(&path).unwrap_err().to_string();
        assert!(said.contains("usage.jsonl:2: it is no entry of a usage log"), "{said}");
        let said = read(&folder.path().join("no")).unwrap_err().to_string();
        assert!(said.contains("there is no usage log here"), "{said}");
    }
}
