//! What a change of the corpus did to each question.
//!
//! Questions and their evidence are written against a corpus, and a corpus goes on. A review lists the
//! questions that a change may have touched, each with the reason, so that a person looks at those and
//! at no others. It changes nothing: what is accepted is recorded by whoever asks for it.

mod before;
mod expected;

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;

pub use before::Before;
pub use expected::strings;

use super::ambiguity::{Ambiguity, Read, ambiguity};
use super::labels::{Label, State};
use super::measurement::{Options, request};
use super::questions::{Question, QuestionSet};
use super::units;
use crate::access::Scope;
use crate::error::Result;
use crate::passage::{Unit, covers};
use crate::search::{Retriever as _, Searcher};
use crate::text::sentences;

/// Share of distinct words from which two blocks say nearly the same.
pub const SAME_FROM: f64 = 0.6;

/// Blocks of a ranking that are looked at for rivals and for another source.
const LOOKED_AT: usize = 20;

/// One reason to look at a question again.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(tag = "what", rename_all = "kebab-case")]
pub enum Finding {
    /// A relevant block has another text.
    Changed {
        /// The block.
        unit: String,
        /// Share of its sentences that still stand in it; `None` when the old text is not known.
        kept: Option<f64>,
    },
    /// What a relevant block said stands in several blocks now.
    Split {
        /// The block.
        unit: String,
        /// Where its sentences stand.
        into: Vec<String>,
    },
    /// A relevant block is gone and its text stands nowhere.
    Gone {
        /// The block.
        unit: String,
    },
    /// A relevant block has another name; the label follows it.
    Moved {
        /// The block as the question names it.
        unit: String,
        /// Its name now.
        to: String,
    },
    /// A block that the question does not list says nearly what a relevant one says: perhaps either is
    /// enough.
    NearlySame {
        /// The relevant block.
        unit: String,
        /// The other one.
        block: String,
        /// Share of their distinct words that both have.
        alike: f64,
    },
    /// A new block comes before every relevant one.
    Outranks {
        /// The block.
        block: String,
        /// Its place, from 1.
        place: usize,
        /// The place of the first relevant block; `None` when none was found.
        relevant: Option<usize>,
    },
    /// What the answer must hold stands in a block that the question does not list.
    StandsElsewhere {
        /// The block.
        block: String,
        /// The string or strings.
        strings: Vec<String>,
    },
    /// Two blocks answer, and the question does not say which of the two subjects it means.
    Ambiguous(Ambiguity),
}

impl Finding {
    /// The block besides the relevant ones that the finding is about, if there is one.
    pub fn block(&self) -> Option<&str> {
        match self {
            Self::NearlySame { block, .. }
            | Self::Outranks { block, .. }
            | Self::StandsElsewhere { block, .. } => Some(block),
            Self::Ambiguous(found) => Some(&found.rival),
            Self::Changed { .. } | Self::Split { .. } | Self::Gone { .. } | Self::Moved { .. } => {
                None
            }
        }
    }

    /// The finding in a sentence.
    pub fn sentence(&self) -> String {
        match self {
            Self::Changed { unit, kept: Some(kept) } => {
                format!("{unit} has changed: {:.0} % of its sentences are left", kept * 100.0)
            }
            Self::Changed { unit, kept: None } => format!("{unit} has changed"),
            Self::Split { unit, into } => format!("{unit} was split: into {}", into.join(", ")),
            Self::Gone { unit } => format!("{unit} is gone, and its text stands nowhere"),
            Self::Moved { unit, to } => format!("{unit} is called {to} now"),
            Self::NearlySame { unit, block, alike } => format!(
                "{block} says nearly what {unit} says ({alike:.2}): perhaps either is enough"
            ),
            Self::Outranks { block, place, relevant } => {
                let relevant = relevant
                    .map_or_else(|| "no relevant block".to_owned(), |at| format!("place {at}"));
                format!("{block}, which is new, comes at place {place}, before {relevant}")
            }
            Self::StandsElsewhere { block, strings } => {
                let strings: Vec<String> = strings.iter().map(|s| format!("\"{s}\"")).collect();
                format!("{} stands in {block} too", strings.join(" and "))
            }
            Self::Ambiguous(found) => {
                let list = |words: &[String]| words.join(", ");
                let key = found.key.as_ref().map_or_else(String::new, |key| format!(" ({key})"));
                format!(
                    "{} answers as well as {}: \"{}\" or \"{}\"{key} would tell them apart",
                    found.rival,
                    found.relevant,
                    list(&found.own),
                    list(&found.other)
                )
            }
        }
    }
}

/// A question with what was found of it.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Reviewed {
    /// Its id.
    pub id: String,
    /// The reasons to look at it; none when it may stay as it is.
    pub findings: Vec<Finding>,
}

/// What a review reads.
pub struct Ground<'g> {
    /// The index of the corpus as it is now.
    pub searcher: &'g Searcher,
    /// The corpus as it was; without it every block counts as known, and what is new cannot be told.
    pub before: Option<&'g Before>,
    /// What became of the labels.
    pub labels: &'g [Label],
    /// What each answer must hold, by question; where none is stated, figures and codes of the recorded
    /// answer that stand in a relevant block.
    pub strings: &'g BTreeMap<String, Vec<String>>,
    /// Whether places in the ranking may be told: not of held-out questions.
    pub places: bool,
    /// Blocks that a person has looked at before for a question, with the hash of their text then.
    pub accepted: &'g BTreeSet<(String, String, String)>,
}

impl std::fmt::Debug for Ground<'_> {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.debug_struct("Ground").field("places", &self.places).finish_non_exhaustive()
    }
}

/// Reviews every question of `set`, in its order.
pub fn review(
    ground: &Ground<'_>,
    set: &QuestionSet,
    scope_of: &dyn Fn(&Question) -> Result<Scope>,
) -> Result<Vec<Reviewed>> {
    let mut reviewed = Vec::with_capacity(set.questions.len());
    for question in &set.questions {
        let mut findings = ground.labels_of(question)?;
        if !question.judgments.groups().is_empty() {
            findings.extend(ground.others(question, scope_of(question)?)?);
        }
        let id = &question.id;
        let mut kept = Vec::new();
        for finding in findings {
            let known = match finding.block() {
                Some(block) => {
                    let hash = ground.hash(block)?;
                    ground.accepted.contains(&(id.clone(), block.to_owned(), hash))
                }
                None => false,
            };
            if !known {
                kept.push(finding);
            }
        }
        reviewed.push(Reviewed { id: id.clone(), findings: kept });
    }
    Ok(reviewed)
}

impl Ground<'_> {
    /// The hash of a block's text now; empty when there is no such block.
    pub fn hash(&self, block: &str) -> Result<String> {
        let passages = self.searcher.index().passages();
        Ok(super::labels::unit_hash(passages, block)?.unwrap_or_default())
    }

    /// What became of the blocks that the question names.
    fn labels_of(&self, question: &Question) -> Result<Vec<Finding>> {
        let mut findings = Vec::new();
        for label in self.labels.iter().filter(|label| label.question == question.id) {
            let unit = label.unit.clone();
            let stale = match (&label.state, self.before) {
                (State::Moved { to }, _) => {
                    findings.push(Finding::Moved { unit, to: to.clone() });
                    continue;
                }
                (State::Split { into }, _) => {
                    findings.push(Finding::Split { unit, into: into.clone() });
                    continue;
                }
                (State::Changed | State::Gone, _) => true,
                // Without a hash of its own the old corpus tells.
                (State::Unrecorded, Some(before)) => before.differs(&unit, &self.hash(&unit)?),
                (State::Unrecorded | State::Current, _) => false,
            };
            if !stale {
                continue;
            }
            let places = match self.before {
                Some(before) => before.sentences_now(self.searcher.index().passages(), &unit)?,
                None => None,
            };
            findings.push(match places {
                Some(places) if places.into.len() > 1 => Finding::Split { unit, into: places.into },
                _ if label.state == State::Gone => Finding::Gone { unit },
                places => Finding::Changed { unit, kept: places.map(|places| places.kept) },
            });
        }
        Ok(findings)
    }

    /// What other blocks do to the question.
    fn others(&self, question: &Question, scope: Scope) -> Result<Vec<Finding>> {
        let (index, settings) = (self.searcher.index(), self.searcher.settings());
        let (passages, analyzer) = (index.passages(), index.analyzer());
        let request = request(index, settings, question, Options::default(), scope)?;
        let outcome = self.searcher.retrieve(&request)?;
        let mut blocks: Vec<u32> = Vec::new();
        for scored in outcome.trace.stage("rerank").map_or(&[][..], |stage| &stage.list) {
            let block = passages.passage(scored.row)?.block;
            if !blocks.contains(&block) {
                blocks.push(block);
            }
        }
        let judged = self.judged(question)?;
        let listed = |block: u32| -> Result<bool> {
            let row = passages.block(block)?.first_row;
            let reference = passages.reference(row)?;
            Ok(judged.iter().any(|unit| {
                covers(unit, &reference) || unit.to_string() == reference.block.to_string()
            }))
        };
        let mut relevant = Vec::new();
        for unit in &judged {
            relevant.extend(self.block_of(unit)?);
        }
        relevant.sort_unstable();
        relevant.dedup();
        let own: Vec<Read> = relevant
            .iter()
            .map(|block| Read::new(passages, analyzer, *block))
            .collect::<Result<_>>()?;
        let mut findings = Vec::new();
        let mut first = None;
        for (at, block) in blocks.iter().enumerate() {
            if listed(*block)? {
                first = Some(at);
                break;
            }
        }
        let strings = self.strings_of(question, &relevant)?;
        for (at, block) in blocks.iter().take(LOOKED_AT).enumerate() {
            if listed(*block)? {
                continue;
            }
            let read = Read::new(passages, analyzer, *block)?;
            let new = self.before.is_some_and(|before| before.is_new(&read.name));
            let text = block_words(passages.block_text(&passages.block(*block)?)?);
            if self.places && new && first.is_none_or(|first| at < first) {
                findings.push(Finding::Outranks {
                    block: read.name.clone(),
                    place: at + 1,
                    relevant: first.map(|first| first + 1),
                });
            }
            if self.before.is_some() && !new {
                continue;
            }
            let mut same = None;
            for (own, number) in own.iter().zip(&relevant) {
                let record = passages.block(*number)?;
                let alike = likeness(&block_words(passages.block_text(&record)?), &text);
                if alike >= SAME_FROM && same.as_ref().is_none_or(|(_, most)| alike > *most) {
                    same = Some((own.name.clone(), alike));
                }
            }
            let ambiguous = own
                .iter()
                .filter_map(|own| ambiguity(analyzer, &question.question, own, &read))
                .max_by(|a, b| a.alike.total_cmp(&b.alike));
            let full = passages.block_text(&passages.block(*block)?)?;
            if let Some(found) = ambiguous {
                findings.push(Finding::Ambiguous(found));
            } else if let Some((unit, alike)) = same {
                findings.push(Finding::NearlySame { unit, block: read.name, alike });
            } else if !strings.is_empty() && strings.iter().all(|string| stands(full, string)) {
                findings
                    .push(Finding::StandsElsewhere { block: read.name, strings: strings.clone() });
            }
        }
        Ok(findings)
    }

    /// The units that the question names and that exist.
    fn judged(&self, question: &Question) -> Result<Vec<Unit>> {
        let passages = self.searcher.index().passages();
        let mut judged = Vec::new();
        for unit in question.judgments.units() {
            judged.extend(units::parse(passages, unit)?);
        }
        Ok(judged)
    }

    /// The numbers of the blocks that a unit is, is a part of, or holds.
    fn block_of(&self, unit: &Unit) -> Result<Vec<u32>> {
        let passages = self.searcher.index().passages();
        let Some(document) = passages.find(unit.document())? else { return Ok(Vec::new()) };
        let record = passages.document(document)?;
        let mut blocks = Vec::new();
        for block in record.first_block..record.first_block + record.blocks {
            let number = passages.block(block)?.number;
            let is = match unit {
                Unit::Document(_) => true,
                Unit::Block(own) => own.block == number,
                Unit::Passage(own) => own.block.block == number,
            };
            if is {
                blocks.push(block);
            }
        }
        Ok(blocks)
    }

    /// What an answer must hold: as stated, or the figures and codes of the recorded answer that stand in
    /// a relevant block.
    fn strings_of(&self, question: &Question, relevant: &[u32]) -> Result<Vec<String>> {
        if let Some(stated) = self.strings.get(&question.id) {
            return Ok(stated.clone());
        }
        let passages = self.searcher.index().passages();
        let mut strings = BTreeSet::new();
        for block in relevant {
            let text = passages.block_text(&passages.block(*block)?)?;
            let figures = figures(&question.reference);
            strings.extend(figures.into_iter().filter(|figure| stands(text, figure)));
        }
        Ok(strings.into_iter().collect())
    }
}

/// Figures with their units, and codes: words with a digit, and the word after one that is a number.
fn figures(text: &str) -> Vec<String> {
    let trim =
        |word: &str| word.trim_matches(|c: char| !c.is_alphanumeric() && c != '%').to_owned();
    let words: Vec<String> = text.split_whitespace().map(trim).collect();
    let is_number = |word: &str| {
        word.chars().any(|c| c.is_ascii_digit())
            && word.chars().all(|c| c.is_ascii_digit() || ".,".contains(c))
    };
    let mut found = Vec::new();
    for (at, word) in words.iter().enumerate() {
        if is_number(word) {
            if let Some(next) = words.get(at + 1).filter(|next| !next.is_empty()) {
                found.push(format!("{word} {next}"));
            }
        } else if word.chars().any(|c| c.is_ascii_digit()) {
            found.push(word.clone());
        }
    }
    found
}

/// Whether `string` stands in `text`, blanks and case aside, and not as a part of a longer word or number.
pub fn stands(text: &str, string: &str) -> bool {
    let flat = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ").to_lowercase();
    let (text, string) = (flat(text), flat(string));
    if string.is_empty() {
        return false;
    }
    text.match_indices(&string).any(|(at, _)| {
        let before = text[..at].chars().next_back();
        let after = text[at + string.len()..].chars().next();
        !before.is_some_and(char::is_alphanumeric) && !after.is_some_and(char::is_alphanumeric)
    })
}

/// Distinct words of a text in lower case.
fn block_words(text: &str) -> BTreeSet<String> {
    let runs = text.split(|c: char| !c.is_alphanumeric()).filter(|run| !run.is_empty());
    runs.map(str::to_lowercase).collect()
}

/// Share of distinct words that both have over those that either has.
fn likeness(a: &BTreeSet<String>, b: &BTreeSet<String>) -> f64 {
    a.intersection(b).count() as f64 / a.union(b).count().max(1) as f64
}

/// Sentences of a text, each as one line of words.
fn lines_of(text: &str) -> Vec<String> {
    let flat = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
    let all = text.lines().flat_map(sentences).map(flat);
    // What holds no letter is a rule of a table and says nothing.
    all.filter(|line| line.chars().any(char::is_alphanumeric)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_string_stands_whole() {
        assert!(stands("within 30\u{a0}days of\ndelivery", "30 days"));
        assert!(stands("Within 30 DAYS.", "30 days"));
        for other in ["within 130 days", "30 daysailers", "30-40 days", ""] {
            assert!(!stands(other, "30 days"), "{other}");
        }
        assert!(!stands("anything", " "));
    }

    #[test]
    fn figures_come_with_their_units_and_codes_alone() {
        assert_eq!(
            figures("3 years or 700 full cycles, check R07: 36 V."),
            ["3 years", "700 full", "R07", "36 V"]
        );
        assert_eq!(figures("About half full: 40 to 60 %."), ["40 to", "60 %"]);
        assert!(figures("Two keys and the manual.").is_empty());
    }
}
