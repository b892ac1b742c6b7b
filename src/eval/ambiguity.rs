//! A question that two papers answer, and that does not say which of them is meant.
//!
//! A question is written against a corpus. When another product, version or customer arrives, the same
//! words may have two answers: the system got no worse, the question did. The detector names the word
//! that would tell the two apart.

use std::collections::BTreeSet;

use serde::Serialize;

use crate::corpus::Value;
use crate::error::Result;
use crate::passage::store::PassageStore;
use crate::text::{Analyzer, sentences};

/// Share of the words, separating ones left out, that two statements must have in common.
///
/// Two rows of two tables of checks for two packs share about half: the word for the remedy differs, and
/// so do volts. Statements about different things that merely hold the question's words share a fifth.
pub const ALIKE_FROM: f64 = 0.4;

/// Keys of metadata that never tell what a document is about.
const NO_SUBJECT: [&str; 7] =
    ["id", "title", "classification", "audience", "effective_from", "effective_to", "revision"];

/// Share of their words from which two titles are those of two versions of one paper. Papers on one
/// subject that differ in more than that are two sources.
const VERSIONS_FROM: f64 = 0.5;

/// Two blocks that both answer a question.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Ambiguity {
    /// The block that the question wants.
    pub relevant: String,
    /// The other one.
    pub rival: String,
    /// The key of the metadata that tells them apart; `None` where only their titles do.
    pub key: Option<String>,
    /// The word or words that the question would have to hold to mean the first.
    pub own: Vec<String>,
    /// Those that would mean the other.
    pub other: Vec<String>,
    /// How alike the two statements are, 0.0..=1.0.
    pub alike: f64,
}

/// A block as the detector reads it.
#[derive(Debug)]
pub struct Read {
    /// Its reference.
    pub name: String,
    document: u32,
    /// Words of its titles.
    titles: BTreeSet<String>,
    /// Words of every statement of it.
    statements: Vec<BTreeSet<String>>,
    /// What its document is about: key and values.
    subjects: Vec<(String, BTreeSet<String>)>,
}

impl Read {
    /// Reads the block number `block`.
    pub fn new(passages: &PassageStore, analyzer: &Analyzer, block: u32) -> Result<Self> {
        let record = passages.block(block)?;
        let document = passages.document(record.document)?;
        let sections = passages.sections(&record)?;
        let titles = format!("{}\n{}", document.title, sections.join("\n"));
        let text = passages.block_text(&record)?;
        // A heading can be what answers: the name of a code, say.
        let heading = sections.last().map_or("", String::as_str);
        let statements = [heading].into_iter().chain(text.lines().flat_map(sentences));
        let statements = statements.map(|text| words(analyzer, text));
        let subjects =
            document.metadata.0.iter().filter(|(key, _)| !NO_SUBJECT.contains(&key.as_str()));
        let subjects = subjects.map(|(key, value)| {
            let texts = value.items().iter().filter_map(Value::as_text);
            (key.clone(), texts.map(str::to_owned).collect::<BTreeSet<_>>())
        });
        Ok(Self {
            name: passages.block_reference(block)?.to_string(),
            document: record.document,
            titles: words(analyzer, &titles),
            statements: statements.filter(|words| !words.is_empty()).collect(),
            subjects: subjects.filter(|(_, values)| !values.is_empty()).collect(),
        })
    }

    /// Every word of it.
    pub fn words(&self) -> BTreeSet<String> {
        self.statements.iter().flatten().chain(&self.titles).cloned().collect()
    }

    /// The statement that holds most of `asked`, with which of them; the first of several.
    fn answer(&self, asked: &BTreeSet<String>) -> Option<(&BTreeSet<String>, BTreeSet<String>)> {
        let mut best: Option<(&BTreeSet<String>, BTreeSet<String>)> = None;
        for statement in &self.statements {
            let held: BTreeSet<String> = statement.intersection(asked).cloned().collect();
            if !held.is_empty() && best.as_ref().is_none_or(|(_, most)| held.len() > most.len()) {
                best = Some((statement, held));
            }
        }
        best
    }
}

/// Words of a text as the lexical leg sees them.
fn words(analyzer: &Analyzer, text: &str) -> BTreeSet<String> {
    analyzer.question(text).into_iter().collect()
}

/// Whether `question`, which wants `relevant`, could as well mean `rival`.
///
/// It could when the rival, of another document, holds every word of the question that the relevant
/// block holds, in a statement that is like the one that answers; and when the question holds none of
/// the words that tell the two documents apart: a value of the same key of their metadata, or what only
/// one of the titles says. Two blocks that nothing tells apart say the same of the same thing, and are
/// no ambiguity but two sources.
pub fn ambiguity(
    analyzer: &Analyzer,
    question: &str,
    relevant: &Read,
    rival: &Read,
) -> Option<Ambiguity> {
    if relevant.document == rival.document {
        return None;
    }
    let asked = words(analyzer, question);
    let wanted: BTreeSet<String> = asked.intersection(&relevant.words()).cloned().collect();
    if wanted.is_empty() || !wanted.is_subset(&rival.words()) {
        return None;
    }
    let (key, own, other) = apart(relevant, rival)?;
    let named = |values: &[String]| {
        let words: Vec<BTreeSet<String>> =
            values.iter().map(|value| words(analyzer, value)).collect();
        words.iter().any(|words| !words.is_empty() && words.is_subset(&asked))
    };
    if named(&own) || named(&other) {
        return None;
    }
    let (ours, held) = relevant.answer(&asked)?;
    let (theirs, also) = rival.answer(&asked)?;
    if !held.is_subset(&also) {
        return None;
    }
    let telling: BTreeSet<String> =
        own.iter().chain(&other).flat_map(|value| words(analyzer, value)).collect();
    let plain =
        |words: &BTreeSet<String>| words.difference(&telling).cloned().collect::<BTreeSet<_>>();
    let (ours, theirs) = (plain(ours), plain(theirs));
    let both = ours.intersection(&theirs).count() as f64;
    let alike = both / ours.union(&theirs).count().max(1) as f64;
    (alike >= ALIKE_FROM).then(|| Ambiguity {
        relevant: relevant.name.clone(),
        rival: rival.name.clone(),
        key,
        own,
        other,
        alike,
    })
}

/// What tells two documents apart: the first key of their metadata with no value in common, or else, of
/// two versions of one paper, the words that only one of the titles holds. The relevant one must have
/// something of its own.
fn apart(relevant: &Read, rival: &Read) -> Option<(Option<String>, Vec<String>, Vec<String>)> {
    for (key, own) in &relevant.subjects {
        let other = rival.subjects.iter().find(|(other, _)| other == key).map(|(_, values)| values);
        if let Some(other) = other.filter(|other| own.is_disjoint(other)) {
            let list = |values: &BTreeSet<String>| values.iter().cloned().collect();
            return Some((Some(key.clone()), list(own), list(other)));
        }
    }
    let shared = relevant.titles.intersection(&rival.titles).count() as f64;
    if shared < VERSIONS_FROM * relevant.titles.union(&rival.titles).count() as f64 {
        return None;
    }
    let only = |a: &Read, b: &Read| a.titles.difference(&b.titles).cloned().collect::<Vec<_>>();
    let (own, other) = (only(relevant, rival), only(rival, relevant));
    (!own.is_empty() && !other.is_empty()).then_some((None, own, other))
}
