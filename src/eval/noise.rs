//! How what arrived and does not answer is related to what would have answered.
//!
//! The relation tells which remedy would pay: a filter by product, a validity date, a check for
//! duplicates, or a better ranking.

use std::fmt;

use serde::Serialize;

use super::apart::{ALIKE_FROM, Said, Words};
use super::judgments::Judgments;
use super::units;
use crate::corpus::Metadata;
use crate::error::Result;
use crate::passage::Unit;
use crate::passage::store::PassageStore;

/// The relation of a superfluous block to the evidence, nearest first: a block has the first that
/// holds between it and any document of the evidence.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Relation {
    /// It says nearly the same as a block of the evidence: [`alike`](super::apart::alike) from
    /// [`ALIKE_FROM`]. It may belong to the evidence.
    Duplicate,
    /// Another block of a document that holds evidence.
    SameDocument,
    /// Another version of such a document: the same id but for a mark of the version at its end
    /// (`-R2`, `-V2`, `-2026`, `-OLD`), or a title that differs in nothing but numbers.
    OtherVersion,
    /// Of another product, account or region: both documents state one, and none in common.
    OtherProduct,
    /// For other readers: the `audience` differs, or the `classification` where no audience is
    /// stated.
    OtherAudience,
    /// None of these.
    Unrelated,
}

/// Every relation, nearest first.
pub const RELATIONS: [Relation; 6] = [
    Relation::Duplicate,
    Relation::SameDocument,
    Relation::OtherVersion,
    Relation::OtherProduct,
    Relation::OtherAudience,
    Relation::Unrelated,
];

impl fmt::Display for Relation {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.pad(match self {
            Self::Duplicate => "duplicate",
            Self::SameDocument => "same document",
            Self::OtherVersion => "other version",
            Self::OtherProduct => "other product",
            Self::OtherAudience => "other audience",
            Self::Unrelated => "unrelated",
        })
    }
}

/// The evidence of one question, ready to be compared with.
pub(super) struct Evidence<'i> {
    passages: &'i PassageStore,
    words: Words,
    documents: Vec<Paper>,
    blocks: Vec<Said>,
}

/// What versions, subjects and readers are told by.
struct Paper {
    id: String,
    title: String,
    metadata: Metadata,
}

impl<'i> Evidence<'i> {
    /// The evidence that `judgments` name.
    pub(super) fn of(passages: &'i PassageStore, judgments: &Judgments) -> Result<Self> {
        let words = Words::new()?;
        let (mut documents, mut blocks) = (Vec::<Paper>::new(), Vec::new());
        for name in judgments.groups().iter().flatten() {
            let Some(unit) = units::parse(passages, name)? else { continue };
            let Some(document) = passages.find(unit.document())? else { continue };
            let record = passages.document(document)?;
            for number in record.first_block..record.first_block + record.blocks {
                let block = passages.block(number)?;
                let wanted = match &unit {
                    Unit::Document(_) => true,
                    Unit::Block(own) => own.block == block.number,
                    Unit::Passage(own) => own.block.block == block.number,
                };
                if wanted {
                    blocks.push(words.of(passages.block_text(&block)?));
                }
            }
            if documents.iter().all(|known| known.id != record.id) {
                let (id, title, metadata) = (record.id, record.title, record.metadata);
                documents.push(Paper { id, title, metadata });
            }
        }
        Ok(Self { passages, words, documents, blocks })
    }

    /// The documents that hold evidence, by id, in the order of the judgments.
    pub(super) fn documents(&self) -> Vec<String> {
        self.documents.iter().map(|document| document.id.clone()).collect()
    }

    /// The relation of the block numbered `block` in the index.
    pub(super) fn relation(&self, block: u32) -> Result<Relation> {
        let record = self.passages.block(block)?;
        let said = self.words.of(self.passages.block_text(&record)?);
        if self.blocks.iter().any(|own| said.likeness(own) >= ALIKE_FROM) {
            return Ok(Relation::Duplicate);
        }
        let document = self.passages.document(record.document)?;
        let (id, title, metadata) = (document.id, document.title, document.metadata);
        let document = Paper { id, title, metadata };
        let nearest = self.documents.iter().map(|own| between(&document, own)).min();
        Ok(nearest.unwrap_or(Relation::Unrelated))
    }
}

fn between(document: &Paper, evidence: &Paper) -> Relation {
    if document.id == evidence.id {
        return Relation::SameDocument;
    }
    let same_id = without_version(&document.id) == without_version(&evidence.id);
    let same_title = without_numbers(&document.title) == without_numbers(&evidence.title);
    let titled = !without_numbers(&document.title).is_empty();
    if same_id || (same_title && titled) {
        return Relation::OtherVersion;
    }
    let (own, its) = (&document.metadata, &evidence.metadata);
    if ["product", "account", "region"].iter().any(|key| is_another(own, its, key)) {
        return Relation::OtherProduct;
    }
    if is_for_others(own, its) { Relation::OtherAudience } else { Relation::Unrelated }
}

/// `WARR` of `WARR-R2`: an id without the mark of a version at its end.
fn without_version(id: &str) -> &str {
    let Some((stem, last)) = id.rsplit_once('-') else { return id };
    let last = last.to_lowercase();
    let digits = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
    let marked = last.strip_prefix(['r', 'v']).is_some_and(digits)
        || (last.len() == 4 && digits(&last))
        || last == "old";
    if marked { stem } else { id }
}

/// The words of a title but for its numbers.
fn without_numbers(title: &str) -> Vec<String> {
    let words = title.split(|c: char| !(c.is_alphanumeric() || c == '-'));
    let plain = |word: &&str| !word.is_empty() && !word.chars().all(|c| !c.is_alphabetic());
    words.filter(plain).map(str::to_lowercase).collect()
}

fn is_another(a: &Metadata, b: &Metadata, key: &str) -> bool {
    let mut own = a.texts(key).peekable();
    own.peek().is_some()
        && b.texts(key).next().is_some()
        && own.all(|value| b.texts(key).all(|other| other != value))
}

fn is_for_others(a: &Metadata, b: &Metadata) -> bool {
    let sorted = |metadata: &Metadata| {
        let mut all: Vec<String> = metadata.texts("audience").map(str::to_owned).collect();
        all.sort();
        all
    };
    let (own, its) = (sorted(a), sorted(b));
    if own.is_empty() || its.is_empty() {
        return a.text("classification") != b.text("classification");
    }
    own != its
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::corpus::Value;

    fn document(id: &str, title: &str, metadata: &[(&str, &str)]) -> Paper {
        let metadata = metadata.iter().map(|(k, v)| ((*k).to_owned(), Value::from_text(*v)));
        Paper { id: id.into(), title: title.into(), metadata: Metadata(metadata.collect()) }
    }

    #[test]
    fn versions_are_told_by_id_or_by_title() {
        for (id, stem) in [
            ("WARR-R2", "WARR"),
            ("POL-RETURNS-OLD", "POL-RETURNS"),
            ("PRICE-2026", "PRICE"),
            ("SPEC-T7", "SPEC-T7"),
            ("SKU-44117", "SKU-44117"),
            ("A", "A"),
        ] {
            assert_eq!(without_version(id), stem);
        }
        let own = document("A", "Returns Policy of 2026, C-3", &[]);
        assert_eq!(
            between(&document("B", "Returns policy of 2023, C-3", &[]), &own),
            Relation::OtherVersion
        );
        assert_eq!(
            between(&document("B", "Returns policy of 2023, T-7", &[]), &own),
            Relation::Unrelated
        );
        assert_eq!(
            between(&document("B", "2023", &[]), &document("C", "2024", &[])),
            Relation::Unrelated
        );
    }

    #[test]
    fn the_nearest_relation_holds() {
        let own = document("A", "Manual", &[("product", "C-3"), ("audience", "staff")]);
        for (metadata, expected) in [
            (&[("product", "T-7"), ("audience", "dealers")][..], Relation::OtherProduct),
            (&[("product", "C-3"), ("audience", "dealers")], Relation::OtherAudience),
            (&[("product", "C-3"), ("audience", "staff")], Relation::Unrelated),
            (&[("audience", "staff")], Relation::Unrelated),
            (&[("classification", "public")], Relation::OtherAudience),
        ] {
            assert_eq!(
                between(&document("B", "Leaflet", metadata), &own),
                expected,
                "{metadata:?}"
            );
        }
        assert_eq!(between(&document("A", "", &[]), &own), Relation::SameDocument);
    }
}
