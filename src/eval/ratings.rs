//! Sheets for people to rate answers on, out and in.
//!
//! A sheet is CSV (RFC 4180, UTF-8) with a row an answer. Each of two raters fills in the column
//! `rating` of a copy, without seeing the other's. What both call correct is correct; where they differ
//! somebody has to decide, and until then the answer counts as not correct.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use serde::Serialize;

use super::sheet::{self, quoted};
use crate::error::{Error, Result};

/// Columns of a sheet, in order.
pub const COLUMNS: [&str; 7] =
    ["id", "question", "expected", "answer", "cited", "rating", "remark"];

/// What a rater may write.
pub const RATINGS: [&str; 2] = ["correct", "wrong"];

/// An answer to be rated.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Answer {
    /// The question's id.
    pub id: String,
    /// The question.
    pub question: String,
    /// What is expected.
    pub expected: String,
    /// What was answered.
    pub answer: String,
    /// What it cites.
    pub cited: String,
}

/// A sheet with nothing rated yet.
pub fn sheet_of(answers: &[Answer]) -> String {
    let mut out = COLUMNS.join(",");
    out.push_str("\r\n");
    for a in answers {
        let fields = [&a.id, &a.question, &a.expected, &a.answer, &a.cited];
        let fields: Vec<String> = fields.into_iter().map(|field| quoted(field)).collect();
        out.push_str(&fields.join(","));
        out.push_str(",,\r\n");
    }
    out
}

/// The ratings of one sheet by id: `true` for correct. A row without a rating is left out; an unknown
/// column, a rating that is none, or an id that stands twice is an error with its line.
pub fn read(path: &Path) -> Result<BTreeMap<String, bool>> {
    let text = fs::read_to_string(path).map_err(|e| Error::reading("reading ratings", path, e))?;
    let help = "a sheet is written by `atlas scorecard --ratings-sheet FILE`";
    let fault = |line: u64, problem: String| Err(Error::input(path, Some(line), problem, help));
    let filled = sheet::read(path, &text, ["id", "rating"], help)?;
    let mut ratings = BTreeMap::new();
    let mut seen = BTreeSet::new();
    for (line, [id, rating]) in &filled {
        let id = id.trim().to_owned();
        if !seen.insert(id.clone()) {
            return fault(*line, format!("`{id}` stands here a second time"));
        }
        match rating.trim().to_lowercase().as_str() {
            "" => {}
            "correct" => {
                ratings.insert(id, true);
            }
            "wrong" => {
                ratings.insert(id, false);
            }
            other => {
                let problem =
                    format!("the rating of `{id}` is `{other}`; expected {}", RATINGS.join(" or "));
                return fault(*line, problem);
            }
        }
    }
    Ok(ratings)
}

/// Two raters on the same answers.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Agreement {
    /// Answers that both rated.
    pub n: usize,
    /// Both correct.
    pub both_correct: usize,
    /// Both wrong.
    pub both_wrong: usize,
    /// Ids on which they differ, somebody has to decide.
    pub differ: Vec<String>,
    /// Ids that only one of them rated.
    pub once: Vec<String>,
    /// Cohen's kappa; `None` where it is undefined, since both used one label only.
    pub kappa: Option<f64>,
}

impl Agreement {
    /// What must be known to read the count of correct answers.
    pub fn remarks(&self) -> Vec<String> {
        let mut remarks =
            vec![format!("rated by two people: {} of them correct by both", self.both_correct)];
        if !self.differ.is_empty() {
            remarks.push(format!(
                "they differ on {}, which count as not correct until somebody decides: {}",
                self.differ.len(),
                self.differ.join(", ")
            ));
        }
        if !self.once.is_empty() {
            remarks
                .push(format!("rated by one of them only, and left out: {}", self.once.join(", ")));
        }
        remarks
    }

    /// Agreement, in words: the count first, then kappa.
    pub fn kappa_words(&self) -> Option<String> {
        let agreed = self.both_correct + self.both_wrong;
        let kappa = self.kappa.map_or_else(
            || "kappa undefined, since one label was used alone".to_owned(),
            |kappa| format!("kappa {kappa:.2}"),
        );
        (self.n > 0).then(|| {
            let range = super::statistics::wilson(agreed, self.n).map_or_else(String::new, |i| {
                format!(" ({:.0} to {:.0} %)", i.low * 100.0, i.high * 100.0)
            });
            format!("the two raters agree on {agreed} of {}{range}; {kappa}", self.n)
        })
    }
}

/// Sets two raters beside each other.
///
/// Kappa is `(p - e) / (1 - e)` with `p` the share on which they agree and `e` the share on which two
/// people with their habits would agree by chance. Reference: Cohen, Educational and Psychological
/// Measurement 20, 1960.
pub fn agreement(a: &BTreeMap<String, bool>, b: &BTreeMap<String, bool>) -> Agreement {
    let mut found = Agreement {
        n: 0,
        both_correct: 0,
        both_wrong: 0,
        differ: Vec::new(),
        once: Vec::new(),
        kappa: None,
    };
    let ids: BTreeSet<&String> = a.keys().chain(b.keys()).collect();
    let (mut yes_a, mut yes_b) = (0_usize, 0_usize);
    for id in ids {
        let (Some(first), Some(second)) = (a.get(id), b.get(id)) else {
            found.once.push(id.clone());
            continue;
        };
        found.n += 1;
        yes_a += usize::from(*first);
        yes_b += usize::from(*second);
        match (first, second) {
            (true, true) => found.both_correct += 1,
            (false, false) => found.both_wrong += 1,
            _ => found.differ.push(id.clone()),
        }
    }
    if found.n > 0 {
        let n = found.n as f64;
        let observed = (found.both_correct + found.both_wrong) as f64 / n;
        let (a, b) = (yes_a as f64 / n, yes_b as f64 / n);
        let chance = a * b + (1.0 - a) * (1.0 - b);
        found.kappa = (chance < 1.0).then(|| (observed - chance) / (1.0 - chance));
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answer(id: &str, text: &str) -> Answer {
        Answer {
            id: id.into(),
            question: "How, \"exactly\"?\nSay.".into(),
            expected: "30 days".into(),
            answer: text.into(),
            cited: "POL-2".into(),
        }
    }

    fn written(text: &str) -> Result<BTreeMap<String, bool>> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("sheet.csv");
        fs::write(&path, text).unwrap();
        read(&path)
    }

    #[test]
    fn a_sheet_goes_out_and_comes_back() {
        let text = sheet_of(&[answer("a", "=1+1"), answer("b", "no, \"30\""), answer("c", "x")]);
        assert!(text.contains("\"'=1+1\""), "no formula for a spreadsheet");
        assert!(written(&text).unwrap().is_empty());
        let mut filled = text.replacen(",,\r\n", ",Correct,\r\n", 1);
        filled = filled.replacen(",,\r\n", ",wrong,\"a, b\"\r\n", 1);
        let ratings = written(&format!("\u{feff}{filled}")).unwrap();
        assert_eq!(ratings, BTreeMap::from([("a".into(), true), ("b".into(), false)]));
    }

    #[test]
    fn what_is_wrong_with_a_sheet_is_named_with_its_line() {
        let fault = |text: &str| {
            let said = written(text).unwrap_err().to_string();
            let said = said.split_once("sheet.csv:").unwrap().1.to_owned();
            said.split_once(';').unwrap().0.to_owned()
        };
        assert_eq!(fault(""), "1: the sheet is empty");
        assert_eq!(fault("id,mark\n"), "1: it needs the columns `id` and `rating`");
        assert_eq!(fault("id,rating\na\n"), "2: 1 fields where the first line has 2");
        assert_eq!(
            fault("id,rating\n\"a\nb\",correct\nc,right\n"),
            "4: the rating of `c` is `right`"
        );
        assert_eq!(fault("id,rating\na,wrong\na,wrong\n"), "3: `a` stands here a second time");
        assert_eq!(fault("id,rating\n\"a,wrong\n"), "2: a quote is not closed");
    }

    #[test]
    fn kappa_is_agreement_beyond_chance() {
        let ratings = |labels: &str| -> BTreeMap<String, bool> {
            let each = labels.chars().enumerate().filter(|(_, label)| *label != '-');
            each.map(|(at, label)| (at.to_string(), label == 'c')).collect()
        };
        // Three of six agree, and so would two people with these habits by chance.
        let half = agreement(&ratings("cccwww"), &ratings("ccwccw"));
        assert_eq!((half.both_correct, half.both_wrong, half.differ.len()), (2, 1, 3));
        assert_eq!(half.kappa, Some(0.0));
        let same = agreement(&ratings("ccww-c"), &ratings("ccwwc-"));
        assert_eq!((same.kappa, same.once.len(), same.n), (Some(1.0), 2, 4));
        assert_eq!(agreement(&ratings("cccc"), &ratings("cccc")).kappa, None, "one label only");
        assert_eq!(agreement(&ratings(""), &ratings("c")).kappa, None);
    }
}
