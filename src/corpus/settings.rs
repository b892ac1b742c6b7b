//! How a corpus is read.

use serde::{Deserialize, Serialize};

use super::{JsonFields, PdfHelper, VectorFiles};

/// How a corpus is read.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct CorpusSettings {
    /// Whether the first file or document that would be skipped is an error; default `false`.
    pub strict: bool,
    /// Ids of the documents to keep, all others being left out; default: all are kept.
    pub subset: Option<Vec<String>>,
    /// Patterns, as in `.gitignore`, of files to leave out in silence; default: none.
    pub exclude: Vec<String>,
    /// Length in bytes above which a file is skipped; default 64 MiB, far above anything written by
    /// hand. A public set has no limit.
    pub max_file_bytes: u64,
    /// Which fields of JSON files are what.
    pub json: JsonFields,
    /// Bytes that a packed file (`.docx`, `.xlsx`, `.epub`) may unpack to before it is skipped, and
    /// that the text of a PDF may have; default 256 MiB.
    pub max_unpacked_bytes: u64,
    /// Seconds of processor time after which the reading of a PDF is given up; default 30. By the
    /// clock it may take four times as long, for machines that are busy.
    pub pdf_seconds: u64,
    /// Bytes of memory that the reading of a PDF may take; default 1 GiB.
    pub pdf_memory_bytes: u64,
    /// The program that reads PDFs; without one they are skipped. No part of `atlas.toml`: the
    /// `atlas` program names itself.
    #[serde(skip)]
    pub pdf_helper: Option<PdfHelper>,
    /// The vectors that the documents bring; no part of `reading` in `atlas.toml`, but of `vectors`.
    #[serde(skip)]
    pub vectors: Option<VectorFiles>,
}

impl Default for CorpusSettings {
    fn default() -> Self {
        Self {
            strict: false,
            subset: None,
            exclude: Vec::new(),
            max_file_bytes: 64 << 20,
            json: JsonFields::default(),
            max_unpacked_bytes: 256 << 20,
            pdf_seconds: 30,
            pdf_memory_bytes: 1 << 30,
            pdf_helper: None,
            vectors: None,
        }
    }
}
