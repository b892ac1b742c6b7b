//! The corpus as it was.

use std::collections::{BTreeMap, BTreeSet};

use super::lines_of;
use crate::corpus::Corpus;
use crate::error::Result;
use crate::eval::labels::text_hash;
use crate::passage::store::PassageStore;
use crate::passage::{Settings, cut};

/// Share of a block's sentences that must be found again for a split to be called one.
const FOUND_FROM: f64 = 0.5;

/// Every block of an earlier state of the corpus: the hash of its text, and its sentences.
#[derive(Debug, Clone, Default)]
pub struct Before {
    blocks: BTreeMap<String, (String, Vec<String>)>,
    hashes: BTreeSet<String>,
}

/// Where the sentences of a block stand now.
#[derive(Debug, Clone, PartialEq)]
pub struct Places {
    /// Share of them that stand in the block of the same name.
    pub kept: f64,
    /// The blocks that hold some of them, when together they hold at least half.
    pub into: Vec<String>,
}

impl Before {
    /// Cuts `corpus` as `settings` say.
    pub fn new(corpus: &Corpus, settings: &Settings) -> Self {
        let mut before = Self::default();
        for document in &corpus.documents {
            for (block, _) in cut(document, settings) {
                let hash = text_hash(&block.sections, &block.text);
                before.hashes.insert(hash.clone());
                before.blocks.insert(block.reference.to_string(), (hash, lines_of(&block.text)));
            }
        }
        before
    }

    /// Whether no block of this name was there: a changed one is not new.
    pub fn is_new(&self, block: &str) -> bool {
        !self.blocks.contains_key(block)
    }

    /// Whether the block called `block` was there with another text than that of `hash`. A text that
    /// stood elsewhere before has only been renamed.
    pub fn differs(&self, block: &str, hash: &str) -> bool {
        self.blocks.get(block).is_some_and(|(own, _)| own != hash) && !self.hashes.contains(hash)
    }

    /// Where the sentences of the block called `block` stand in `passages`; `None` for a block that was
    /// not there.
    pub fn sentences_now(&self, passages: &PassageStore, block: &str) -> Result<Option<Places>> {
        let Some((_, sentences)) = self.blocks.get(block) else { return Ok(None) };
        let wanted: BTreeSet<&String> = sentences.iter().collect();
        let mut found: BTreeSet<String> = BTreeSet::new();
        let (mut into, mut kept) = (Vec::new(), 0);
        let stays = own_lines(passages, block)?;
        for document in 0..passages.documents_len() {
            let record = passages.document(document)?;
            for number in record.first_block..record.first_block + record.blocks {
                let text = passages.block_text(&passages.block(number)?)?;
                let name = passages.block_reference(number)?.to_string();
                let had: BTreeSet<&String> =
                    self.blocks.get(&name).into_iter().flat_map(|(_, own)| own).collect();
                let here: Vec<String> =
                    lines_of(text).into_iter().filter(|line| wanted.contains(line)).collect();
                if name == block {
                    kept = here.len();
                }
                // A sentence that stood there before, or has not left, has not come from here.
                let came = |line: &String| !had.contains(line) && !stays.contains(line);
                let fresh = name == block || here.iter().any(came);
                if !here.is_empty() && fresh {
                    into.push(name);
                    found.extend(here);
                }
            }
        }
        let n = wanted.len().max(1) as f64;
        if (found.len() as f64) < FOUND_FROM * n {
            into.clear();
        }
        Ok(Some(Places { kept: (kept as f64 / n).min(1.0), into }))
    }
}

/// The sentences of the block called `block` now; none when there is no such block.
fn own_lines(passages: &PassageStore, block: &str) -> Result<BTreeSet<String>> {
    for document in 0..passages.documents_len() {
        let record = passages.document(document)?;
        for number in record.first_block..record.first_block + record.blocks {
            if passages.block_reference(number)?.to_string() == block {
                let text = passages.block_text(&passages.block(number)?)?;
                return Ok(lines_of(text).into_iter().collect());
            }
        }
    }
    Ok(BTreeSet::new())
}
