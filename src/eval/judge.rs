//! Judges: does an answer say only what its sources support?
//!
//! A judge is believed only as far as it was calibrated on answers that a person has labelled
//! ([`calibration`](super::calibration)). All of them share one door; an empty answer is never correct.

use serde::Serialize;

use crate::answer::{Source, units};
use crate::error::Result;

/// What a judge finds of one claim, or of a whole answer.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Claim {
    /// The sentence, item or row.
    pub text: String,
    /// Whether the sources support it.
    pub supported: bool,
    /// How far words and meaning support it, 0.0..=1.0, numbers, codes and negations apart.
    pub support: f64,
    /// The block that supports it best; `None` where none does at all.
    pub source: Option<String>,
    /// Why it is not supported; empty when it is.
    pub faults: Vec<ClaimFault>,
}

/// Why a claim is not supported.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ClaimFault {
    /// What was looked at.
    pub check: ClaimCheck,
    /// The number, code or word at fault; empty for words in general.
    pub what: String,
}

/// What is looked at in a claim, each apart from the others.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ClaimCheck {
    /// Numbers with what they count.
    Number,
    /// Codes: letters and digits in one name.
    Code,
    /// Yes and no, and words of opposite meaning.
    Negation,
    /// Words and meaning.
    Words,
}

impl ClaimCheck {
    /// Its name in JSON and in lists.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Number => "number",
            Self::Code => "code",
            Self::Negation => "negation",
            Self::Words => "words",
        }
    }
}

/// A judge's verdict on an answer: correct, and its claims, of which there may be none.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct JudgeVerdict {
    /// Whether the answer says only what the sources support, and says something.
    pub correct: bool,
    /// Its claims, in order.
    pub claims: Vec<Claim>,
}

/// Whatever judges answers.
pub trait Judge {
    /// What it is, with all that decides its verdicts; goes into receipts.
    fn id(&self) -> String;

    /// Judges one claim of an answer to `question`.
    fn claim(&self, question: &str, claim: &str, sources: &[Source]) -> Result<Claim>;

    /// Judges a whole answer: correct when it makes at least one claim and each is supported.
    fn verdict(&self, question: &str, answer: &str, sources: &[Source]) -> Result<JudgeVerdict> {
        let claims = claims(answer);
        let claims: Result<Vec<Claim>> =
            claims.iter().map(|claim| self.claim(question, claim, sources)).collect();
        let claims = claims?;
        let correct = !claims.is_empty() && claims.iter().all(|claim| claim.supported);
        Ok(JudgeVerdict { correct, claims })
    }
}

/// The claims of an answer: its sentences, list items and table rows that hold a word or a number.
pub fn claims(answer: &str) -> Vec<String> {
    units(answer).into_iter().map(|unit| unit.text).collect()
}

/// The stand-in: a claim is supported when at least a share of its words stands in the sources.
///
/// It sees no order, no number and no negation, which is what calibrating it shows.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct WordOverlap {
    /// The share, 0.0..=1.0.
    pub threshold: f64,
}

impl Default for WordOverlap {
    fn default() -> Self {
        Self { threshold: 0.6 }
    }
}

impl Judge for WordOverlap {
    fn id(&self) -> String {
        format!("word-overlap/{}", self.threshold)
    }

    fn claim(&self, _: &str, claim: &str, sources: &[Source]) -> Result<Claim> {
        let said = words(claim);
        let seen: std::collections::HashSet<String> =
            sources.iter().flat_map(|source| words(&source.seen())).collect();
        let found = said.iter().filter(|word| seen.contains(*word)).count();
        let support = if said.is_empty() { 0.0 } else { found as f64 / said.len() as f64 };
        let supported = support >= self.threshold;
        let fault = ClaimFault { check: ClaimCheck::Words, what: String::new() };
        Ok(Claim {
            text: claim.to_owned(),
            supported,
            support,
            source: None,
            faults: if supported { Vec::new() } else { vec![fault] },
        })
    }
}

/// Runs of letters and digits in lower case.
fn words(text: &str) -> Vec<String> {
    let runs = text.split(|c: char| !c.is_alphanumeric()).filter(|run| !run.is_empty());
    runs.map(str::to_lowercase).collect()
}

/// The judge that calls everything correct: what any other has to beat.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Constant;

impl Judge for Constant {
    fn id(&self) -> String {
        "constant".to_owned()
    }

    fn claim(&self, _: &str, claim: &str, _: &[Source]) -> Result<Claim> {
        let text = claim.to_owned();
        Ok(Claim { text, supported: true, support: 1.0, source: None, faults: Vec::new() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn source(text: &str) -> Source {
        Source {
            reference: "A-1".into(),
            document: "A".into(),
            title: "Pumps".into(),
            revision: None,
            sections: Vec::new(),
            text: text.into(),
            score: 1.0,
        }
    }

    #[test]
    fn an_empty_answer_is_correct_for_no_judge() {
        for judge in [&WordOverlap::default() as &dyn Judge, &Constant] {
            for answer in ["", " \n", "...", "---"] {
                let verdict = judge.verdict("Why?", answer, &[source("A pump.")]).unwrap();
                assert!(!verdict.correct && verdict.claims.is_empty(), "{} {answer}", judge.id());
            }
        }
    }

    #[test]
    fn the_stand_in_counts_words_sentence_by_sentence() {
        let judge = WordOverlap::default();
        let sources = [source("The pump needs a litre of oil a year.")];
        let verdict = judge
            .verdict(
                "How much?",
                "The pump needs nine litres of oil. Ask the moon tomorrow.",
                &sources,
            )
            .unwrap();
        let supported: Vec<bool> = verdict.claims.iter().map(|claim| claim.supported).collect();
        assert_eq!(supported, [true, false]);
        assert!(!verdict.correct);
        assert!(!judge.verdict("Q", "Nothing.", &[]).unwrap().correct);
    }
}
