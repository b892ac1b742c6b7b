//! Keeping development and held-out questions apart.
//!
//! A setting chosen on a question is chosen for every question like it, so two sets are apart when
//! they share no id, no question of the same words, and no question that says nearly the same.

use std::collections::BTreeSet;

use super::questions::{Question, QuestionSet};
use crate::error::{Error, Result};
use crate::text::{Analyzer, Settings};

/// The share of words from which two questions say nearly the same: the number of distinct words
/// that both have over the number that either has (Jaccard, "The distribution of the flora in the
/// alpine zone", New Phytologist 11, 1912).
///
/// At 0.7 two questions of ten words differ in at most one word each and a half; a question asked of
/// another product differs in a code, see [`alike`].
pub const ALIKE_FROM: f64 = 0.7;

/// How alike two questions are, `0.0..=1.0`: the share of distinct words that both have, over those
/// that either has. Words are in NFKC and lower case, codes count whole beside their parts, scripts
/// without blanks count in pairs of characters, and nothing is stemmed or left out.
///
/// Two questions that name different numbers or codes ask for different things however alike the
/// rest of them is (`E-417` and `E-471`), so their likeness is 0. Without any word it is 0 too.
///
/// ```
/// use atlas::eval::apart::alike;
/// assert_eq!(alike("What does E-417 mean?", "what does  e-417 MEAN")?, 1.0);
/// assert_eq!(alike("What does E-417 mean?", "What does E-471 mean?")?, 0.0);
/// # Ok::<(), atlas::error::Error>(())
/// ```
pub fn alike(a: &str, b: &str) -> Result<f64> {
    let words = Words::new()?;
    Ok(words.of(a).likeness(&words.of(b)))
}

/// Refuses two sets that share a question, by id, by words, or nearly.
///
/// The error names the place in `held_out`.
pub fn check_apart(development: &QuestionSet, held_out: &QuestionSet) -> Result<()> {
    let words = Words::new()?;
    let known: Vec<(&Question, Said)> =
        development.questions.iter().map(|one| (one, words.of(&one.question))).collect();
    for held in &held_out.questions {
        let said = words.of(&held.question);
        for (own, its) in &known {
            let likeness = said.likeness(its);
            let how = match likeness {
                _ if held.id == own.id => "has the id of one".to_owned(),
                _ if likeness >= 1.0 => "has the words of one".to_owned(),
                _ if likeness >= ALIKE_FROM => {
                    format!("shares {likeness:.2} of its words with one")
                }
                _ => continue,
            };
            let name = development.path.file_name().unwrap_or_default().to_string_lossy();
            let problem =
                format!("question {} {how} of {name}, {} on line {}", held.id, own.id, own.line);
            let help =
                "the two sets must be apart: remove one of the two, or write a fresh question";
            return Err(Error::input(&held_out.path, Some(held.line), problem, help));
        }
    }
    Ok(())
}

/// Tells the words of a text.
pub(super) struct Words(Analyzer);

/// The distinct words of a text, and those of them that hold a digit.
pub(super) struct Said {
    words: BTreeSet<String>,
    codes: BTreeSet<String>,
}

impl Words {
    pub(super) fn new() -> Result<Self> {
        let settings = Settings { language: "none".to_owned(), stop_words: false };
        Analyzer::new(&settings).map(Self)
    }

    pub(super) fn of(&self, question: &str) -> Said {
        let words: BTreeSet<String> = self.0.question(question).into_iter().collect();
        let codes = words.iter().filter(|word| word.chars().any(char::is_numeric));
        Said { codes: codes.cloned().collect(), words }
    }
}

impl Said {
    /// See [`alike`].
    pub(super) fn likeness(&self, other: &Self) -> f64 {
        let either = self.words.union(&other.words).count();
        if either == 0 || self.codes != other.codes {
            return 0.0;
        }
        self.words.intersection(&other.words).count() as f64 / either as f64
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn set(name: &str, questions: &[(&str, &str)]) -> QuestionSet {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(name);
        let one = |(id, text): &(&str, &str)| {
            format!("  - {{id: {id}, question: \"{text}\", kind: k, unscoreable: x}}\n")
        };
        let all: String = questions.iter().map(one).collect();
        fs::write(&path, format!("corpus: c\nkinds: [k]\nquestions:\n{all}")).unwrap();
        QuestionSet::read(&path).unwrap()
    }

    fn fault(development: (&str, &str), held_out: (&str, &str)) -> Option<String> {
        let (a, b) = (set("dev.yaml", &[development]), set("ho.yaml", &[("z", "Zulu?"), held_out]));
        let fault = check_apart(&a, &b).err()?.to_string();
        Some(fault.split_once("ho.yaml").unwrap().1.to_owned())
    }

    #[test]
    fn an_id_equal_words_and_nearly_equal_words_are_refused_with_both_lines() {
        let own = ("a", "How often is the battery of a bicycle to be charged in winter?");
        let said = fault(own, ("a", "Something else?")).unwrap();
        assert!(said.starts_with(":5: question a has the id of one of dev.yaml, a on line 4;"));
        let other = "how often is the BATTERY of a bicycle to be charged, in winter";
        let said = fault(own, ("b", other)).unwrap();
        assert!(
            said.starts_with(":5: question b has the words of one of dev.yaml, a on"),
            "{said}"
        );
        let other = "How often is the battery of a bicycle to be loaded in winter?";
        let said = fault(own, ("b", other)).unwrap();
        assert!(said.contains("b shares 0.86 of its words with one of dev.yaml, a on"), "{said}");
        assert_eq!(fault(own, ("b", "When does a battery freeze?")), None);
    }

    #[test]
    fn another_code_is_another_question_and_no_word_is_like_nothing() {
        let own = ("a", "What does the code E-417 on the display of a C-3 mean?");
        assert_eq!(
            fault(own, ("b", "What does the code E-471 on the display of a C-3 mean?")),
            None
        );
        assert_eq!(alike("?", "!").unwrap(), 0.0);
        let own = ("a", "电池的保修期是多久");
        assert!(fault(own, ("b", "电池的保修期是多久呢")).is_some());
    }
}
