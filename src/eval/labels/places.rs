//! Where judged texts stand now.

use std::collections::BTreeMap;

use super::{block_hash, text_hash};
use crate::error::Result;
use crate::passage::BlockRef;
use crate::passage::store::PassageStore;

/// The most neighbouring blocks that a text may have been split into and still be found.
const PARTS_MAX: usize = 8;

/// Where each text stands: the blocks of an index by their hashes.
pub(super) struct Places<'p> {
    passages: &'p PassageStore,
    blocks: BTreeMap<String, Vec<BlockRef>>,
}

impl<'p> Places<'p> {
    pub(super) fn of(passages: &'p PassageStore) -> Result<Self> {
        let mut blocks: BTreeMap<String, Vec<BlockRef>> = BTreeMap::new();
        for document in 0..passages.documents_len() {
            let record = passages.document(document)?;
            for number in record.first_block..record.first_block + record.blocks {
                let block = passages.block(number)?;
                let hash = block_hash(passages, &block)?;
                let name = BlockRef::new(record.id.clone(), block.number);
                blocks.entry(hash).or_default().push(name);
            }
        }
        Ok(Self { passages, blocks })
    }

    /// The block with the text of `hash` that is nearest to the unit called `name`: of the same
    /// document and with the nearest number, else the first by reference.
    pub(super) fn nearest(&self, hash: &str, name: &str) -> Option<String> {
        let blocks = self.blocks.get(hash)?;
        let own = name.parse::<BlockRef>().ok();
        let distance = |block: &&BlockRef| {
            let own = own.as_ref().filter(|own| own.document == block.document);
            own.map_or(u32::MAX, |own| own.block.abs_diff(block.block))
        };
        blocks.iter().min_by_key(distance).map(ToString::to_string)
    }

    /// The blocks, two or more that stand one after the other, whose texts together are the text of
    /// `hash`, under all or the outer of the section titles of the first: what a block becomes when a
    /// heading is put into it or when blocks are cut shorter. A hash tells no more, so a text that was
    /// split and reworded is not found. Looked for in the document of the unit called `name`, and in
    /// all when that is gone.
    pub(super) fn split(&self, hash: &str, name: &str) -> Result<Option<Vec<String>>> {
        let own = match name.parse::<BlockRef>() {
            Ok(own) => self.passages.find(&own.document)?,
            Err(_) => None,
        };
        let documents = match own {
            Some(own) => own..own + 1,
            None => 0..self.passages.documents_len(),
        };
        for document in documents {
            let record = self.passages.document(document)?;
            let end = record.first_block + record.blocks;
            for first in record.first_block..end {
                if let Some(last) = self.run(hash, first, end)? {
                    let names = (first..=last).map(|block| self.passages.block_reference(block));
                    let names = names.map(|name| Ok(name?.to_string())).collect::<Result<_>>()?;
                    return Ok(Some(names));
                }
            }
        }
        Ok(None)
    }

    /// The last block of the run from `first`, before `end`, that has the text of `hash`.
    fn run(&self, hash: &str, first: u32, end: u32) -> Result<Option<u32>> {
        let passages = self.passages;
        let block = passages.block(first)?;
        let sections = passages.sections(&block)?;
        let mut text = passages.block_text(&block)?.to_owned();
        let last = end.min(first.saturating_add(PARTS_MAX as u32));
        for next in first + 1..last {
            text.push('\n');
            text.push_str(passages.block_text(&passages.block(next)?)?);
            let mut outer = (0..=sections.len()).rev();
            if outer.any(|kept| text_hash(&sections[..kept], &text) == hash) {
                return Ok(Some(next));
            }
        }
        Ok(None)
    }
}
