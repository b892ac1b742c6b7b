//! The passages of one layer on disk: fixed records for what every search touches, encoded
//! ones for what only a hit needs.

use std::path::Path;

use serde::{Deserialize, Serialize};

use super::{Block, Passage};
use crate::corpus::{Document, Lines, Metadata, Place};
use crate::error::{Error, Result};
use crate::format::{Pace, Part, PartEntry, PartWriter, Section, checksum};

pub use super::layers::PassageStore;

/// Kind of the part.
pub const STORE_KIND: [u8; 4] = *b"PASS";

/// Decoding a document takes about as long as reading so many bytes.
const DOCUMENT_EFFORT_BYTES: usize = 8 * 1024;

/// One passage; `row` is its place among the records.
#[derive(Debug, Clone, Copy, PartialEq, Eq, bytemuck::Pod, bytemuck::Zeroable)]
#[repr(C)]
pub struct PassageRecord {
    /// Its block's number in the index.
    pub block: u32,
    /// Its number within the block, from 0.
    pub piece: u32,
    /// Where its text starts in the heap of texts.
    pub text_start: u64,
    /// Length of its text in bytes.
    pub text_bytes: u32,
    /// Estimated tokens of its text.
    pub tokens: u32,
    /// First line of the source file that it holds, from 1; 0 in a format without lines.
    pub first_line: u32,
    /// Last line of the source file that it holds; 0 in a format without lines.
    pub last_line: u32,
    /// Page of the source file on which it begins, from 1; 0 in a format without pages.
    pub page: u32,
    /// Length in bytes of what it holds of the source file; 0 in a format that is no text.
    pub source_bytes: u32,
    /// Byte of the source file at which it begins.
    pub first_byte: u64,
}

impl PassageRecord {
    /// Where it stands in the source file.
    pub fn place(&self) -> Place {
        let lines = Lines { first: self.first_line.into(), last: self.last_line.into() };
        let bytes = self.first_byte..self.first_byte + u64::from(self.source_bytes);
        Place {
            page: Some(self.page).filter(|page| *page > 0),
            lines: Some(lines).filter(|lines| lines.first > 0),
            bytes: Some(bytes).filter(|bytes| !bytes.is_empty()),
        }
    }
}

/// One block.
#[derive(Debug, Clone, Copy, PartialEq, Eq, bytemuck::Pod, bytemuck::Zeroable)]
#[repr(C)]
pub struct BlockRecord {
    /// Its document's number in the index.
    pub document: u32,
    /// Its number within the document, from 1.
    pub number: u32,
    /// Row of its first passage.
    pub first_row: u32,
    /// How many passages it has.
    pub passages: u32,
    /// Where its text starts in the heap of texts.
    pub text_start: u64,
    /// Length of its text in bytes.
    pub text_bytes: u32,
    /// Estimated tokens of its text.
    pub tokens: u32,
    /// Where its section titles start in the heap of texts: one a line, outermost first.
    pub sections_start: u64,
    /// Length of its section titles in bytes.
    pub sections_bytes: u32,
    /// Nothing.
    pub reserved: u32,
}

/// One document, without its text.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct DocumentRecord {
    /// Its id.
    pub id: String,
    /// Its title.
    pub title: String,
    /// What else is known of it.
    pub metadata: Metadata,
    /// Its file, relative to the corpus folder.
    pub path: String,
    /// Number of its first block in the index.
    pub first_block: u32,
    /// How many blocks it has.
    pub blocks: u32,
}

/// What tells whether a document is as it was.
#[derive(Debug, Clone, Copy, PartialEq, Eq, bytemuck::Pod, bytemuck::Zeroable)]
#[repr(C)]
pub struct DocumentMark {
    /// [`Document::digest`].
    pub content: [u8; 32],
    /// BLAKE3 over all that the index holds of it.
    pub indexed: [u8; 32],
    /// [`as_read`] of it.
    pub as_read: u64,
    /// [`path_mark`] of its file.
    pub path: u64,
}

/// XXH3 over a document with its source: equal when nothing of it, its place included, has changed.
pub fn as_read(document: &Document) -> u64 {
    // A document that cannot be encoded is never as it was, so it is written again.
    let encoded = bincode::serde::encode_to_vec(document, CODEC);
    encoded.map_or(0, |mut bytes| {
        bytes.extend_from_slice(bytemuck::cast_slice(
            document.vector.as_deref().unwrap_or_default(),
        ));
        checksum(&bytes)
    })
}

/// XXH3 of a path relative to the corpus folder.
pub fn path_mark(path: &str) -> u64 {
    checksum(path.as_bytes())
}

/// Writes the store, document by document in the order of their ids.
#[derive(Debug)]
pub struct StoreWriter {
    part: PartWriter,
    text_at: u64,
    passages: Vec<PassageRecord>,
    blocks: Vec<BlockRecord>,
    documents: Vec<u8>,
    starts: Vec<u64>,
    forms: Vec<[u8; 16]>,
    marks: Vec<DocumentMark>,
}

/// Names a searched form: the first 16 bytes of its BLAKE3. Equal names, equal embeddings.
pub type FormId = [u8; 16];

/// The name of the searched form `form`.
pub fn form_id(form: &str) -> FormId {
    let mut id = [0; 16];
    id.copy_from_slice(&blake3::hash(form.as_bytes()).as_bytes()[..16]);
    id
}

impl StoreWriter {
    /// Starts the file in the layer's `folder`.
    pub fn create(folder: &Path) -> Result<Self> {
        let mut part = PartWriter::create(&folder.join("passages.part"), STORE_KIND)?;
        part.begin("texts")?;
        Ok(Self {
            part,
            text_at: 0,
            passages: Vec::new(),
            blocks: Vec::new(),
            documents: Vec::new(),
            starts: vec![0],
            forms: Vec::new(),
            marks: Vec::new(),
        })
    }

    /// Adds a document with all that it was cut into, the names of its passages' searched forms in
    /// order, and the BLAKE3 over all that the index holds of it.
    pub fn add(
        &mut self,
        document: &Document,
        cut: &[(Block, Vec<Passage>)],
        forms: &[FormId],
        indexed: [u8; 32],
    ) -> Result<()> {
        self.forms.extend_from_slice(forms);
        self.marks.push(DocumentMark {
            content: document.digest(),
            indexed,
            as_read: as_read(document),
            path: path_mark(&document.source.path),
        });
        let record = DocumentRecord {
            id: document.id.clone(),
            title: document.title.clone(),
            metadata: document.metadata.clone(),
            path: document.source.path.clone(),
            first_block: self.blocks.len() as u32,
            blocks: cut.len() as u32,
        };
        for (block, passages) in cut {
            let whole = match passages.as_slice() {
                [only] if only.text == block.text => None,
                _ => Some(self.text(document, &block.text)?),
            };
            let first_row = self.passages.len() as u32;
            for passage in passages {
                let (text_start, text_bytes) = self.text(document, &passage.text)?;
                let Place { page, lines, bytes } = &passage.place;
                let lines = lines.map_or((0, 0), |lines| (lines.first as u32, lines.last as u32));
                let bytes = bytes.clone().unwrap_or_default();
                self.passages.push(PassageRecord {
                    block: self.blocks.len() as u32,
                    piece: passage.reference.passage,
                    text_start,
                    text_bytes,
                    tokens: length(document, passage.tokens)?,
                    first_line: lines.0,
                    last_line: lines.1,
                    page: page.unwrap_or_default(),
                    source_bytes: u32::try_from(bytes.end - bytes.start).unwrap_or(u32::MAX),
                    first_byte: bytes.start,
                });
            }
            let first = self.passages.get(first_row as usize);
            let own = first.map_or((0, 0), |only| (only.text_start, only.text_bytes));
            let (text_start, text_bytes) = whole.unwrap_or(own);
            let (sections_start, sections_bytes) =
                self.text(document, &block.sections.join("\n"))?;
            self.blocks.push(BlockRecord {
                document: self.starts.len() as u32 - 1,
                number: block.reference.block,
                first_row,
                passages: passages.len() as u32,
                text_start,
                text_bytes,
                tokens: length(document, crate::text::estimate_tokens(&block.text))?,
                sections_start,
                sections_bytes,
                reserved: 0,
            });
        }
        bincode::serde::encode_into_std_write(&record, &mut self.documents, CODEC).map_err(
            |e| {
                Error::input(
                    &record.path,
                    None,
                    format!("document {} is not storable: {e}", record.id),
                    "",
                )
            },
        )?;
        self.starts.push(self.documents.len() as u64);
        Ok(())
    }

    fn text(&mut self, document: &Document, text: &str) -> Result<(u64, u32)> {
        let bytes = length(document, text.len())?;
        let start = self.text_at;
        self.part.write(text.as_bytes())?;
        self.text_at += u64::from(bytes);
        Ok((start, bytes))
    }

    /// Ends the file and gives its entry.
    pub fn finish(mut self) -> Result<PartEntry> {
        self.part.section("passages", bytemuck::cast_slice(&self.passages))?;
        self.part.section("blocks", bytemuck::cast_slice(&self.blocks))?;
        self.part.section("docs", &self.documents)?;
        self.part.section("starts", bytemuck::cast_slice(&self.starts))?;
        self.part.section("forms", bytemuck::cast_slice(&self.forms))?;
        self.part.section("marks", bytemuck::cast_slice(&self.marks))?;
        self.part.finish()
    }
}

/// The length of a text of `document` as the store holds it.
fn length(document: &Document, bytes: usize) -> Result<u32> {
    u32::try_from(bytes).map_err(|_| {
        let problem = format!("a text of document {} is over 4 GiB: {bytes} bytes", document.id);
        Error::input(&document.source.path, None, problem, "split the document")
    })
}

/// How documents are encoded: bincode 2, little-endian, variable-length integers.
const CODEC: bincode::config::Configuration = bincode::config::standard();

/// The passages of one layer of an open generation, numbered as they lie in it.
#[derive(Debug)]
pub struct StoreLayer {
    texts: Section,
    passages: Section,
    blocks: Section,
    documents: Section,
    starts: Section,
    forms: Section,
    marks: Section,
}

impl StoreLayer {
    /// Opens the store that `entry` describes in the layer's `folder`.
    pub fn open(folder: &Path, entry: &PartEntry) -> Result<Self> {
        let part = Part::open(folder, entry, STORE_KIND)?;
        Ok(Self {
            texts: part.section("texts")?,
            passages: part.section("passages")?,
            blocks: part.section("blocks")?,
            documents: part.section("docs")?,
            starts: part.section("starts")?,
            forms: part.section("forms")?,
            marks: part.section("marks")?,
        })
    }

    /// Reads every byte, and every document.
    pub fn verify(&self, pace: &Pace) -> Result<()> {
        let all = [
            &self.texts,
            &self.passages,
            &self.blocks,
            &self.documents,
            &self.starts,
            &self.forms,
            &self.marks,
        ];
        for section in all {
            section.verify(pace)?;
        }
        (0..self.documents_len()?).try_for_each(|document| {
            pace.spend(DOCUMENT_EFFORT_BYTES);
            self.document(document).map(|_| ())
        })
    }

    /// The passage at `row`.
    #[inline]
    pub fn passage(&self, row: u32) -> Result<PassageRecord> {
        self.record(&self.passages, row, "passage")
    }

    /// The block called by its number in the index.
    #[inline]
    pub fn block(&self, block: u32) -> Result<BlockRecord> {
        self.record(&self.blocks, block, "block")
    }

    fn record<T: bytemuck::Pod>(&self, section: &Section, at: u32, what: &str) -> Result<T> {
        section.numbers::<T>()?.get(at as usize).copied().ok_or_else(|| {
            Error::damaged(section.path(), format!("it holds no {what} number {at}"))
        })
    }

    /// How many passages there are.
    pub fn passages_len(&self) -> Result<u32> {
        Ok(self.passages.numbers::<PassageRecord>()?.len() as u32)
    }

    /// The name of every passage's searched form, by row.
    pub fn forms(&self) -> Result<&[FormId]> {
        self.forms.numbers()
    }

    /// What tells whether each document is as it was.
    pub fn marks(&self) -> Result<&[DocumentMark]> {
        self.marks.numbers()
    }

    /// How many blocks there are.
    pub fn blocks_len(&self) -> Result<u32> {
        Ok(self.blocks.numbers::<BlockRecord>()?.len() as u32)
    }

    /// Bytes of all texts.
    pub(super) fn texts_bytes(&self) -> u64 {
        self.texts.len() as u64
    }

    /// The file.
    pub(super) fn path(&self) -> &Path {
        self.starts.path()
    }

    /// How many documents there are.
    pub fn documents_len(&self) -> Result<u32> {
        Ok(self.starts.numbers::<u64>()?.len().saturating_sub(1) as u32)
    }

    /// The document called by its number in the index.
    pub fn document(&self, document: u32) -> Result<DocumentRecord> {
        let starts = self.starts.numbers::<u64>()?;
        let at = document as usize;
        let (Some(&start), Some(&end)) = (starts.get(at), starts.get(at + 1)) else {
            let problem = format!("it holds no document number {document}");
            return Err(Error::damaged(self.starts.path(), problem));
        };
        let bytes = self.documents.slice(start as usize..end as usize)?;
        let decoded = bincode::serde::decode_from_slice(bytes, CODEC);
        decoded.map(|(record, _)| record).map_err(|e| {
            Error::damaged(self.documents.path(), format!("document number {document}: {e}"))
        })
    }

    /// The number of the first document whose id is not before `id`.
    pub fn lower_bound(&self, id: &str) -> Result<u32> {
        let (mut low, mut high) = (0, self.documents_len()?);
        while low < high {
            let middle = low + (high - low) / 2;
            if self.document(middle)?.id.as_str() < id { low = middle + 1 } else { high = middle }
        }
        Ok(low)
    }

    /// The text of `bytes` bytes from `start` of this layer's heap.
    pub(super) fn text(&self, start: u64, bytes: u32) -> Result<&str> {
        let start = start as usize;
        let bytes = self.texts.slice(start..start.saturating_add(bytes as usize))?;
        std::str::from_utf8(bytes)
            .map_err(|_| Error::damaged(self.texts.path(), "a text in it is not UTF-8"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::corpus::BodyForm;
    use crate::passage::tests::document;

    #[test]
    #[cfg(target_pointer_width = "64")]
    fn a_text_over_4_gib_is_refused_by_the_name_of_its_document() {
        let document = document("x", BodyForm::Plain);
        assert_eq!(length(&document, u32::MAX as usize).unwrap(), u32::MAX);
        let said = length(&document, 1 << 32).unwrap_err().to_string();
        assert!(said.contains("a text of document D-1 is over 4 GiB: 4294967296 bytes"), "{said}");
    }
}
