//! The evidence as an answerer sees it.

use serde::Serialize;

use super::Citation;
use crate::corpus::Metadata;
use crate::error::Result;
use crate::index::Index;
use crate::search::Outcome;

/// A block of the context, with what it is a part of.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Source {
    /// The reference of the block: `WARR-R2-2`.
    pub reference: String,
    /// The id of its document.
    pub document: String,
    /// The title of its document.
    pub title: String,
    /// The document's revision, where it states one.
    pub revision: Option<String>,
    /// The titles of its sections, outermost first.
    pub sections: Vec<String>,
    /// Its text, whole.
    pub text: String,
    /// The score of its best passage, 0.0..=1.0.
    pub score: f64,
}

impl Source {
    /// The block numbered `block` in `index`, with a score of 0.
    pub fn of(index: &Index, block: u32) -> Result<Self> {
        let passages = index.passages();
        let record = passages.block(block)?;
        let document = passages.document(record.document)?;
        Ok(Self {
            reference: passages.block_reference(block)?.to_string(),
            revision: revision(&document.metadata),
            sections: passages.sections(&record)?,
            text: passages.block_text(&record)?.to_owned(),
            document: document.id,
            title: document.title,
            score: 0.0,
        })
    }

    /// The source as a citation.
    pub fn citation(&self) -> Citation {
        Citation {
            reference: self.reference.clone(),
            document: self.document.clone(),
            title: self.title.clone(),
            revision: self.revision.clone(),
        }
    }

    /// Everything that a reader sees of it: title, sections and text, one a line.
    pub fn seen(&self) -> String {
        let mut seen = self.title.clone();
        for line in self.sections.iter().chain([&self.text]) {
            seen.push('\n');
            seen.push_str(line);
        }
        seen
    }
}

/// The revision as it is written.
pub(super) fn revision(metadata: &Metadata) -> Option<String> {
    let number = || metadata.number("revision").map(|number| number.to_string());
    metadata.text("revision").map(str::to_owned).or_else(number)
}

/// The context of `outcome`, best first.
pub fn sources(index: &Index, outcome: &Outcome) -> Result<Vec<Source>> {
    let context = outcome.context.iter();
    context.map(|hit| Ok(Source { score: hit.score, ..Source::of(index, hit.block)? })).collect()
}
