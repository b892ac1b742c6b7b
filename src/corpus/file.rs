//! A file of the corpus as it lies on disk, and the door through which formats read it.

use std::fs::File;
use std::io::{self, BufReader, Read};
use std::path::PathBuf;
use std::time::UNIX_EPOCH;

use serde::{Deserialize, Serialize};

use super::encoding::{self, Decoded};
use super::{CorpusSettings, Document, Offsets};
use crate::error::{Error, Result};

/// The door of a format: one file in, its documents out.
pub trait Reader: Sync {
    /// Reads every document of `source`, in the order of the file.
    ///
    /// A document without text may be returned; [`read`](super::read) sorts it out by name. What the
    /// file holds and the documents do not is a [`Remark`].
    ///
    /// # Errors
    ///
    /// A file of which nothing can be read. The file is skipped with that reason.
    fn read(&self, source: &RawFile, settings: &CorpusSettings) -> Result<Reading>;
}

/// What a reader made of a file.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Reading {
    /// The documents, in the order of the file.
    pub documents: Vec<Document>,
    /// What is to be said about the reading.
    pub remarks: Vec<Remark>,
}

impl Reading {
    /// The same with places that mean bytes of the file; they meant those of its text.
    #[must_use]
    pub(super) fn placed(mut self, offsets: &Offsets) -> Self {
        self.documents.iter_mut().for_each(|document| offsets.apply(document));
        self
    }
}

impl From<Document> for Reading {
    fn from(document: Document) -> Self {
        Self { documents: vec![document], remarks: Vec::new() }
    }
}

/// Something about a file that was read: text that is not in its documents, or how it was understood.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Remark {
    /// The line of the file that it is about, from 1.
    pub line: Option<u64>,
    /// What it is, in words that follow the name of the file.
    pub text: String,
    /// Whether something of the file is missing or was replaced; an error under `--strict`.
    pub is_loss: bool,
}

impl Remark {
    /// Something of the file is missing or was replaced.
    pub fn loss(line: Option<u64>, text: impl Into<String>) -> Self {
        Self { line, text: text.into(), is_loss: true }
    }

    /// How the file was understood; nothing is missing.
    pub fn note(text: impl Into<String>) -> Self {
        Self { line: None, text: text.into(), is_loss: false }
    }
}

/// A file that may hold documents: where it lies, and how to get at what it holds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RawFile {
    /// The path relative to the corpus folder, its parts joined by `/` on every system.
    pub path: String,
    /// The path to open, and to name in errors.
    pub location: PathBuf,
}

/// What a file was when it was read, to see later whether it has changed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileRecord {
    /// The path relative to the corpus folder, with `/`.
    pub path: String,
    /// Length in bytes.
    pub size_bytes: u64,
    /// Time of the last change in nanoseconds since 1970; 0 when the system does not tell.
    pub mtime_ns: u64,
    /// blake3 of the bytes, in hexadecimal.
    pub hash: String,
}

impl RawFile {
    /// Opens the file for reading from its start.
    pub fn open(&self) -> Result<BufReader<File>> {
        // 64 KiB a read: corpora are read from front to back.
        let file = File::open(&self.location).map_err(|fault| self.fault("opening", fault))?;
        Ok(BufReader::with_capacity(1 << 16, file))
    }

    /// The whole file.
    pub fn bytes(&self) -> Result<Vec<u8>> {
        let mut bytes = Vec::new();
        self.open()?.read_to_end(&mut bytes).map_err(|fault| self.fault("reading", fault))?;
        Ok(bytes)
    }

    /// The whole file as text, whatever its encoding: without a byte order mark, and with `\n` as
    /// line end.
    pub fn text(&self) -> Result<Decoded> {
        self.decode(&self.bytes()?, None)
    }

    /// `bytes` of this file as text; `declared` is the encoding that the file itself names.
    pub fn decode(&self, bytes: &[u8], declared: Option<&str>) -> Result<Decoded> {
        encoding::decode(bytes, declared)
            .map_err(|problem| Error::input(&self.location, None, problem, ""))
    }

    /// Size, time and hash as they are now. Taken before the file is read, so a file changed
    /// meanwhile differs from its record and is read again.
    pub fn record(&self) -> Result<FileRecord> {
        let mut file = self.open()?;
        let facts = file.get_ref().metadata().map_err(|fault| self.fault("examining", fault))?;
        let since = facts.modified().ok().and_then(|time| time.duration_since(UNIX_EPOCH).ok());
        let mtime_ns = since.and_then(|since| u64::try_from(since.as_nanos()).ok()).unwrap_or(0);
        let mut hasher = blake3::Hasher::new();
        io::copy(&mut file, &mut hasher).map_err(|fault| self.fault("reading", fault))?;
        let hash = hasher.finalize().to_hex().to_string();
        Ok(FileRecord { path: self.path.clone(), size_bytes: facts.len(), mtime_ns, hash })
    }

    /// An error about what stands at `line` of this file.
    pub fn input(&self, line: u64, problem: impl Into<String>, help: impl Into<String>) -> Error {
        Error::input(&self.location, Some(line), problem, help)
    }

    pub(super) fn fault(&self, doing: &'static str, fault: io::Error) -> Error {
        Error::io(doing, &self.location, fault)
    }
}

/// How many `\n` there are in `bytes`.
pub(super) fn line_ends(bytes: &[u8]) -> u64 {
    bytes.iter().filter(|byte| **byte == b'\n').count() as u64
}
