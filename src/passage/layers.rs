//! The passages of a generation: its layers read as one store.

use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

use super::store::{BlockRecord, DocumentMark, DocumentRecord, FormId, PassageRecord, StoreLayer};
use super::{BlockRef, PassageRef};
use crate::error::{Error, Result};
use crate::format::{Layer, Layout, Pace};

/// The passages of an open generation.
///
/// Documents are in the order of their ids whichever layer holds them; documents, blocks and
/// passages are numbered through all layers, and every number in a record is such a number.
#[derive(Debug)]
pub struct PassageStore {
    layers: Vec<Stored>,
    documents: Layout,
    blocks: Layout,
    passages: Arc<Layout>,
}

#[derive(Debug)]
struct Stored {
    store: StoreLayer,
    /// Where its texts begin in the heap of all layers.
    texts_from: u64,
}

impl PassageStore {
    /// Opens the stores of `layers` in the generation `folder`.
    pub fn open(folder: &Path, layers: &[Layer]) -> Result<Self> {
        let mut stores = Vec::with_capacity(layers.len());
        let mut texts_from = 0;
        for layer in layers {
            let store = StoreLayer::open(&folder.join(&layer.folder), &layer.store)?;
            let (said, found) = (layer.passages, store.passages_len()? as usize);
            if said != found {
                let problem = format!("the manifest says {said} passages, {found} are stored");
                return Err(Error::damaged(store.path(), problem));
            }
            let bytes = store.texts_bytes();
            stores.push(Stored { store, texts_from });
            texts_from += bytes;
        }
        let runs = order(&stores, layers)?;
        let counts = |count: fn(&StoreLayer) -> Result<u32>| -> Result<Vec<u32>> {
            stores.iter().map(|layer| count(&layer.store)).collect()
        };
        let block_runs = runs.iter().map(|&run| blocks_of(&stores, run));
        let block_runs = block_runs.collect::<Result<Vec<_>>>()?;
        let passage_runs = block_runs.iter().map(|&run| passages_of(&stores, run));
        let passage_runs = passage_runs.collect::<Result<Vec<_>>>()?;
        Ok(Self {
            documents: Layout::new(counts(StoreLayer::documents_len)?, runs),
            blocks: Layout::new(counts(StoreLayer::blocks_len)?, block_runs),
            passages: Arc::new(Layout::new(counts(StoreLayer::passages_len)?, passage_runs)),
            layers: stores,
        })
    }

    /// Where each passage lies.
    pub const fn layout(&self) -> &Arc<Layout> {
        &self.passages
    }

    /// Where each document lies.
    pub const fn documents(&self) -> &Layout {
        &self.documents
    }

    /// The store of one layer.
    pub fn layer(&self, layer: usize) -> Option<&StoreLayer> {
        self.layers.get(layer).map(|layer| &layer.store)
    }

    /// Reads every byte, and every document, dropped ones too.
    pub fn verify(&self, pace: &Pace) -> Result<()> {
        self.layers.iter().try_for_each(|layer| layer.store.verify(pace))
    }

    fn place(&self, layout: &Layout, at: u32, what: &str) -> Result<(usize, u32)> {
        layout.locate(at).ok_or_else(|| {
            let path = self.layers.first().map_or(Path::new(""), |layer| layer.store.path());
            Error::damaged(path, format!("it holds no {what} number {at}"))
        })
    }

    /// The number in `layout` of what `layer` calls `own`.
    fn number(&self, layout: &Layout, layer: usize, own: u32, what: &str) -> Result<u32> {
        layout.number(layer, own).ok_or_else(|| {
            let path = self.layers[layer].store.path();
            Error::damaged(
                path,
                format!("{what} number {own} of it is dropped and still asked for"),
            )
        })
    }

    /// The passage at `row`.
    #[inline]
    pub fn passage(&self, row: u32) -> Result<PassageRecord> {
        let (layer, own) = self.place(&self.passages, row, "passage")?;
        let Stored { store, texts_from } = &self.layers[layer];
        let mut record = store.passage(own)?;
        record.block = self.number(&self.blocks, layer, record.block, "block")?;
        record.text_start = record.text_start.saturating_add(*texts_from);
        Ok(record)
    }

    /// The block called by its number in the index.
    #[inline]
    pub fn block(&self, block: u32) -> Result<BlockRecord> {
        let (layer, own) = self.place(&self.blocks, block, "block")?;
        let Stored { store, texts_from } = &self.layers[layer];
        let mut record = store.block(own)?;
        record.document = self.number(&self.documents, layer, record.document, "document")?;
        record.first_row = self.number(&self.passages, layer, record.first_row, "passage")?;
        record.text_start = record.text_start.saturating_add(*texts_from);
        record.sections_start = record.sections_start.saturating_add(*texts_from);
        Ok(record)
    }

    /// How many passages there are.
    pub fn passages_len(&self) -> u32 {
        self.passages.len()
    }

    /// How many blocks there are.
    pub fn blocks_len(&self) -> u32 {
        self.blocks.len()
    }

    /// How many documents there are.
    pub fn documents_len(&self) -> u32 {
        self.documents.len()
    }

    /// The document called by its number in the index.
    pub fn document(&self, document: u32) -> Result<DocumentRecord> {
        let (layer, own) = self.place(&self.documents, document, "document")?;
        let mut record = self.layers[layer].store.document(own)?;
        record.first_block = self.number(&self.blocks, layer, record.first_block, "block")?;
        Ok(record)
    }

    /// What tells whether the document is as it was.
    pub fn mark(&self, document: u32) -> Result<DocumentMark> {
        let (layer, own) = self.place(&self.documents, document, "document")?;
        let store = &self.layers[layer].store;
        store.marks()?.get(own as usize).copied().ok_or_else(|| {
            Error::damaged(store.path(), format!("it holds no mark of document number {own}"))
        })
    }

    /// The name of the passage's searched form.
    pub fn form(&self, row: u32) -> Result<FormId> {
        let (layer, own) = self.place(&self.passages, row, "passage")?;
        let store = &self.layers[layer].store;
        store.forms()?.get(own as usize).copied().ok_or_else(|| {
            Error::damaged(store.path(), format!("it holds no form of passage number {own}"))
        })
    }

    /// The number of the document with `id`.
    pub fn find(&self, id: &str) -> Result<Option<u32>> {
        let (mut low, mut high) = (0, self.documents_len());
        while low < high {
            let middle = low + (high - low) / 2;
            match self.document(middle)?.id.as_str().cmp(id) {
                std::cmp::Ordering::Less => low = middle + 1,
                std::cmp::Ordering::Greater => high = middle,
                std::cmp::Ordering::Equal => return Ok(Some(middle)),
            }
        }
        Ok(None)
    }

    /// A passage's text.
    pub fn passage_text(&self, passage: &PassageRecord) -> Result<&str> {
        self.text(passage.text_start, passage.text_bytes)
    }

    /// A block's text.
    pub fn block_text(&self, block: &BlockRecord) -> Result<&str> {
        self.text(block.text_start, block.text_bytes)
    }

    /// A block's section titles, outermost first.
    pub fn sections(&self, block: &BlockRecord) -> Result<Vec<String>> {
        let titles = self.text(block.sections_start, block.sections_bytes)?;
        Ok(titles.lines().map(str::to_owned).collect())
    }

    fn text(&self, start: u64, bytes: u32) -> Result<&str> {
        let at = self.layers.partition_point(|layer| layer.texts_from <= start);
        let Some(layer) = at.checked_sub(1).and_then(|at| self.layers.get(at)) else {
            return Ok("");
        };
        layer.store.text(start - layer.texts_from, bytes)
    }

    /// The reference of a block.
    pub fn block_reference(&self, block: u32) -> Result<BlockRef> {
        let record = self.block(block)?;
        Ok(BlockRef { document: self.document(record.document)?.id, block: record.number })
    }

    /// The reference of the passage at `row`.
    pub fn reference(&self, row: u32) -> Result<PassageRef> {
        let passage = self.passage(row)?;
        Ok(PassageRef { block: self.block_reference(passage.block)?, passage: passage.piece })
    }
}

/// A run of one layer: the layer, the first number in it, how many.
type Piece = (usize, u32, u32);

/// The live documents of all layers in the order of their ids.
fn order(stores: &[Stored], layers: &[Layer]) -> Result<Vec<Piece>> {
    let Some(base) = stores.first() else { return Ok(Vec::new()) };
    // What goes between two documents of the base: few, so they are placed one by one.
    let mut later: Vec<(u32, String, usize, u32)> = Vec::new();
    for (at, layer) in stores.iter().enumerate().skip(1) {
        for (start, len) in alive(layer.store.documents_len()?, &layers[at].dropped) {
            for own in start..start + len {
                let id = layer.store.document(own)?.id;
                later.push((base.store.lower_bound(&id)?, id, at, own));
            }
        }
    }
    later.sort();
    let mut runs = Vec::new();
    let mut later = later.into_iter().peekable();
    for (start, len) in alive(base.store.documents_len()?, &layers[0].dropped) {
        let (mut from, end) = (start, start + len);
        while let Some((before, _, layer, own)) = later.next_if(|(before, ..)| *before < end) {
            // One placed in a gap of dropped documents comes before the run that follows the gap.
            let cut = before.max(from);
            runs.push((0, from, cut - from));
            runs.push((layer, own, 1));
            from = cut;
        }
        runs.push((0, from, end - from));
    }
    runs.extend(later.map(|(_, _, layer, own)| (layer, own, 1)));
    Ok(runs)
}

/// The runs of `0..len` without the `dropped`, which ascend.
fn alive(len: u32, dropped: &[u32]) -> Vec<(u32, u32)> {
    let mut runs = Vec::with_capacity(dropped.len() + 1);
    let mut from = 0;
    for &gone in dropped.iter().filter(|gone| **gone < len) {
        if gone > from {
            runs.push((from, gone - from));
        }
        from = from.max(gone + 1);
    }
    if from < len {
        runs.push((from, len - from));
    }
    runs
}

/// The blocks of a run of documents.
fn blocks_of(stores: &[Stored], (layer, start, len): Piece) -> Result<Piece> {
    let store = &stores[layer].store;
    let bound = |document: u32| {
        if document == store.documents_len()? {
            store.blocks_len()
        } else {
            Ok(store.document(document)?.first_block)
        }
    };
    if len == 0 {
        return Ok((layer, 0, 0));
    }
    let (first, end) = (bound(start)?, bound(start + len)?);
    count(store, layer, first..end, store.blocks_len()?, "document")
}

/// The passages of a run of blocks.
fn passages_of(stores: &[Stored], (layer, start, len): Piece) -> Result<Piece> {
    let store = &stores[layer].store;
    let bound = |block: u32| {
        if block == store.blocks_len()? {
            store.passages_len()
        } else {
            Ok(store.block(block)?.first_row)
        }
    };
    if len == 0 {
        return Ok((layer, 0, 0));
    }
    let (first, end) = (bound(start)?, bound(start + len)?);
    count(store, layer, first..end, store.passages_len()?, "block")
}

/// The run `held` of a layer that stores `stored`.
fn count(
    store: &StoreLayer,
    layer: usize,
    held: Range<u32>,
    stored: u32,
    what: &str,
) -> Result<Piece> {
    let len = held.end.checked_sub(held.start).filter(|_| held.end <= stored).ok_or_else(|| {
        Error::damaged(store.path(), format!("its {what}s are not in the order of what they hold"))
    })?;
    Ok((layer, held.start, len))
}
