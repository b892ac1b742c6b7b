//! Documents cut to blocks, which are judged and cited, and blocks to passages, which are searched.
//!
//! Nothing of a body is lost on the way: what stands in a document, comments and ruled lines
//! aside, stands in some block, and what stands in a block stands in some passage.

mod blocks;
mod origin;
mod layers;
mod outline;
mod packer;
mod passages;
mod pieces;
mod reference;
pub mod store;
mod structured;

use std::ops::Range;

use serde::{Deserialize, Serialize};

pub use blocks::{Block, Element, ElementKind, blocks};
pub use passages::passages;
pub use reference::{BlockRef, NotAReference, PassageRef, Unit, covers};

use crate::corpus::{Document, Place};
use crate::error::{Error, Result};

/// How documents are cut. All sizes are in tokens of [`estimate_tokens`].
///
/// [`estimate_tokens`]: crate::text::estimate_tokens
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Settings {
    /// The most tokens of text in a passage, titles not counted; 16 to 8192, default 256: what the
    /// built-in embedder reads well, and a paragraph or two.
    pub max_tokens: usize,
    /// The most tokens that a passage repeats from the end of the one before it, in whole
    /// sentences, items, lines or rows, and never more than half of `max_tokens`; 0 to 4096, default
    /// 32: a sentence or two, so that what goes on over a border is found on both sides.
    pub overlap_tokens: usize,
    /// The size up to which paragraphs of plain text share a block; 16 to 1,000,000, default 512.
    /// A longer paragraph is a block of its own.
    pub plain_block_tokens: usize,
    /// Whether the document title is part of what is searched; default `true`.
    pub titles: bool,
}

impl Default for Settings {
    fn default() -> Self {
        Self { max_tokens: 256, overlap_tokens: 32, plain_block_tokens: 512, titles: true }
    }
}

impl Settings {
    /// Refuses sizes out of their ranges.
    pub fn validate(&self) -> Result<()> {
        let Self { max_tokens, overlap_tokens, plain_block_tokens, .. } = *self;
        let check = |name: &str, value: usize, least: usize, most: usize| {
            if (least..=most).contains(&value) {
                return Ok(());
            }
            let expected = format!("a whole number of tokens from {least} to {most}");
            Err(Error::invalid(format!("passage.{name}"), value, expected))
        };
        check("max_tokens", max_tokens, 16, 8192)?;
        check("overlap_tokens", overlap_tokens, 0, 4096)?;
        check("plain_block_tokens", plain_block_tokens, 16, 1_000_000)
    }
}

/// A piece of a block small enough to be searched: the unit of ranking.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Passage {
    /// Its name.
    pub reference: PassageRef,
    /// The text as it stands in the source; a part of a table begins with the table's header.
    pub text: String,
    /// Tokens of `text` by the estimate.
    pub tokens: usize,
    /// Where it stands in the source file, a repeated header not counted.
    pub place: Place,
    /// The bytes of the block's text, a repeated header not counted.
    pub bytes: Range<usize>,
}

/// All blocks of `document` in order, each with its passages.
pub fn cut(document: &Document, settings: &Settings) -> Vec<(Block, Vec<Passage>)> {
    let with_passages = |block| {
        let passages = passages(&block, settings);
        (block, passages)
    };
    blocks(document, settings).into_iter().map(with_passages).collect()
}

/// The text under which a passage is searched: document title, section titles, text, one a line.
///
/// With `titles_on` false the document title is left out. Empty titles give no line, and neither
/// does a document title that the first section or the text itself repeats.
///
/// ```
/// use atlas::passage::searched_form;
/// let sections = ["Battery".to_owned()];
/// assert_eq!(searched_form("Warranty", &sections, "3 years.", true), "Warranty\nBattery\n3 years.");
/// assert_eq!(searched_form("Warranty", &sections, "3 years.", false), "Battery\n3 years.");
/// ```
pub fn searched_form(title: &str, sections: &[String], text: &str, titles_on: bool) -> String {
    let repeated = sections.first().is_some_and(|first| first == title) || text == title;
    let title = Some(title).filter(|_| titles_on && !repeated);
    let lines = title.into_iter().chain(sections.iter().map(String::as_str)).chain([text]);
    lines.filter(|line| !line.is_empty()).collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests;
