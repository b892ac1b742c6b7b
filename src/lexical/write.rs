//! Writing the lexical index: terms in row order, one thread, no merges.

use std::fs;
use std::path::{Path, PathBuf};

use tantivy::indexer::NoMergePolicy;
use tantivy::schema::{FAST, Field, IndexRecordOption, Schema, TextFieldIndexing, TextOptions};
use tantivy::tokenizer::{TextAnalyzer, Token, TokenStream, Tokenizer};
use tantivy::{Index, IndexSettings, IndexWriter, TantivyDocument};

use super::{FOLDER, LENGTHS_KIND, SEPARATOR, folder::Folder};
use crate::error::{Error, Result};
use crate::format::{FileEntry, PartEntry, PartWriter, checksum, disk};

/// Memory that postings gather in before a segment is written, bytes: what is taken where there is enough,
/// and the least that tantivy takes.
pub const BUDGET_BYTES: std::ops::RangeInclusive<usize> = 15 << 20..=256 << 20;

/// Name of the analyzer registered with tantivy: it only splits what [`crate::text`] analysed.
pub(super) const SPLITTER: &str = "atlas";

/// The two fields: the searched terms, and the row.
pub(super) fn schema() -> (Schema, Field, Field) {
    let mut builder = Schema::builder();
    let indexing = TextFieldIndexing::default()
        .set_tokenizer(SPLITTER)
        .set_fieldnorms(false)
        .set_index_option(IndexRecordOption::WithFreqs);
    let terms =
        builder.add_text_field("terms", TextOptions::default().set_indexing_options(indexing));
    let row = builder.add_u64_field("row", FAST);
    (builder.build(), terms, row)
}

/// Gives tantivy the terms of a text that is terms already.
#[derive(Clone, Default)]
pub(super) struct Splitter;

pub(super) struct Split<'a> {
    text: &'a str,
    at: usize,
    token: Token,
}

impl Tokenizer for Splitter {
    type TokenStream<'a> = Split<'a>;

    fn token_stream<'a>(&'a mut self, text: &'a str) -> Split<'a> {
        Split { text, at: 0, token: Token::default() }
    }
}

impl TokenStream for Split<'_> {
    fn advance(&mut self) -> bool {
        if self.at >= self.text.len() {
            return false;
        }
        let rest = &self.text[self.at..];
        let length = rest.bytes().position(|b| b == SEPARATOR).unwrap_or(rest.len());
        self.token.text.clear();
        self.token.text.push_str(&rest[..length]);
        self.token.position = self.token.position.wrapping_add(1);
        self.at += length + 1;
        true
    }

    fn token(&self) -> &Token {
        &self.token
    }

    fn token_mut(&mut self) -> &mut Token {
        &mut self.token
    }
}

/// Writes the lexical index of one layer.
pub struct LexicalWriter {
    folder: PathBuf,
    home: Folder,
    writer: IndexWriter,
    terms: Field,
    row: Field,
    lengths: Vec<u32>,
}

impl std::fmt::Debug for LexicalWriter {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.debug_struct("LexicalWriter").field("rows", &self.lengths.len()).finish_non_exhaustive()
    }
}

impl LexicalWriter {
    /// Starts the index in the layer's `folder`; postings gather in `budget_bytes`, within `BUDGET_BYTES`,
    /// before a segment is written. Rows of one segment follow each other, so more segments cost a little
    /// time and change no result.
    pub fn create(folder: &Path, budget_bytes: usize) -> Result<Self> {
        let folder = folder.to_owned();
        let home = folder.join(FOLDER);
        disk::create_folder(&home).map_err(|e| Error::io("creating", &home, e))?;
        let (schema, terms, row) = schema();
        let own = Folder::at(home);
        let fault = |e: tantivy::TantivyError| write_fault(&own, e);
        let index = Index::create(own.clone(), schema, IndexSettings::default()).map_err(fault)?;
        index.tokenizers().register(SPLITTER, TextAnalyzer::from(Splitter));
        let writer = index
            .writer_with_num_threads(
                1,
                budget_bytes.clamp(*BUDGET_BYTES.start(), *BUDGET_BYTES.end()),
            )
            .map_err(fault)?;
        writer.set_merge_policy(Box::new(NoMergePolicy));
        Ok(Self { folder, home: own, writer, terms, row, lengths: Vec::new() })
    }

    /// Adds the next row: its terms separated by newlines, and how many they are.
    pub fn add(&mut self, terms: &str, count: u32) -> Result<()> {
        let mut document = TantivyDocument::new();
        document.add_text(self.terms, terms);
        document.add_u64(self.row, self.lengths.len() as u64);
        self.lengths.push(count);
        let added = self.writer.add_document(document);
        added.map(|_| ()).map_err(|e| write_fault(&self.home, e))
    }

    /// Ends the segment, so that a test can have several.
    #[cfg(test)]
    pub(super) fn end_segment(&mut self) {
        self.writer.commit().unwrap();
    }

    /// Writes everything and gives the manifest's entries: the lengths and tantivy's files.
    pub fn finish(mut self) -> Result<(PartEntry, Vec<FileEntry>)> {
        let home = self.folder.join(FOLDER);
        self.writer.commit().map_err(|e| write_fault(&self.home, e))?;
        self.writer.wait_merging_threads().map_err(|e| write_fault(&self.home, e))?;
        let mut part = PartWriter::create(&self.folder.join("lengths.part"), LENGTHS_KIND)?;
        part.section("lengths", bytemuck::cast_slice(&self.lengths))?;
        let files = list(&home)?;
        // Tantivy renames its last file after it synced the folder.
        disk::sync_folder(&home).map_err(|e| Error::io("syncing", &home, e))?;
        Ok((part.finish()?, files))
    }
}

/// What the operating system refused, where it did; else what tantivy says.
fn write_fault(folder: &Folder, fault: tantivy::TantivyError) -> Error {
    let own = |e| Error::io("writing the lexical index in", folder.path(), e);
    folder.refusal("writing").unwrap_or_else(|| own(std::io::Error::other(fault)))
}

/// Every file of tantivy's, with length and checksum, by name. Its own bookkeeping for deleting
/// files (`.managed.json`) is no part of the index.
fn list(home: &Path) -> Result<Vec<FileEntry>> {
    let fault = |e| Error::io("reading", home, e);
    let mut files = Vec::new();
    for entry in fs::read_dir(home).map_err(fault)? {
        let path = entry.map_err(fault)?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        if name.starts_with('.') {
            disk::remove_file(&path).map_err(|e| Error::io("removing", &path, e))?;
            continue;
        }
        let bytes = crate::format::MappedFile::open(&path)?;
        files.push(FileEntry {
            file: format!("{FOLDER}/{name}"),
            size_bytes: bytes.len() as u64,
            checksum: format!("{:016x}", checksum(&bytes)),
        });
    }
    files.sort_by(|a, b| a.file.cmp(&b.file));
    Ok(files)
}
