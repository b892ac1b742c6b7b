//! PDF: read page by page, in a child process.
//!
//! Programs that read PDFs stop, run without end or take all memory on odd files, and there are many
//! odd files. So the file is read by a helper, a program of its own under limits of time and memory,
//! and whatever becomes of it, the build goes on. Without a helper PDFs are skipped.
//!
//! Headings are those of the bookmarks where the text says the same, else what is set in larger
//! print. Lines are joined to paragraphs, words parted at the end of a line with them. Heads and feet
//! that come again on most pages are kept once. Text that is drawn without being seen, as scanners
//! lay it under a picture, is read; attached files, fields of forms and comments are not.

mod child;
mod compose;
mod extract;
mod flatten;
mod fonts;
mod helper;
mod lines;
mod outline;
mod rebuild;

use std::ffi::OsString;
use std::path::PathBuf;

pub use helper::serve as serve_pdfs;
use serde::{Deserialize, Serialize};

use super::package::describe;
use super::pieces::{self, Piece};
use super::{CorpusSettings, Metadata, RawFile, Reader, Reading, Remark};
use crate::error::{Error, Result};

/// The program that reads PDFs for this one.
///
/// It is started once a file with the file as its standard input. To its arguments two are added:
/// bytes of memory and seconds of processor time. It calls [`serve_pdfs`] with them and ends.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PdfHelper {
    /// The program to start.
    pub program: PathBuf,
    /// What it is given before the limits.
    pub arguments: Vec<OsString>,
}

/// Reads `.pdf`.
pub struct Pdf;

impl Reader for Pdf {
    fn read(&self, source: &RawFile, settings: &CorpusSettings) -> Result<Reading> {
        let refuse =
            |problem: String, help: &str| Err(Error::input(&source.location, None, problem, help));
        let Some(helper) = &settings.pdf_helper else {
            return refuse("PDFs are read by a helper program, and none is set".to_owned(), "");
        };
        let file = source.open()?.into_inner();
        let answer = match child::ask(helper, file, settings) {
            Ok(answer) => answer,
            Err((problem, help)) => return refuse(problem, help),
        };
        let read = match answer {
            Answer::Read(read) => read,
            Answer::Refused { problem, help } => return refuse(problem, &help),
        };
        let mut metadata = Metadata::default();
        describe(&mut metadata, read.author, read.created);
        let document = pieces::document(source, read.title, metadata, read.pieces);
        let remarks = read.losses.into_iter().map(|loss| Remark::loss(None, loss)).collect();
        Ok(Reading { documents: vec![document], remarks })
    }
}

/// What the helper says of a file.
#[derive(Debug, PartialEq, Serialize, Deserialize)]
enum Answer {
    Read(Read),
    /// Nothing in it can be read.
    Refused {
        problem: String,
        help: String,
    },
}

/// What the helper has read.
#[derive(Debug, Default, PartialEq, Serialize, Deserialize)]
struct Read {
    title: Option<String>,
    author: Option<String>,
    /// As `YYYY-MM-DD`.
    created: Option<String>,
    pieces: Vec<Piece>,
    /// What could not be read.
    losses: Vec<String>,
}
