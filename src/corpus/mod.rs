//! The corpus: documents as they are given, each with its metadata and its place.
//!
//! [`read`] turns a folder into a [`Corpus`]. Every format is one file with a [`Reader`]; a file
//! that cannot be read is listed with its reason instead of passing unseen. The result depends on
//! the content alone: not on the order of files, on times, on threads or on where the folder lies.

mod archive;
mod asciidoc;
mod beir;
mod checks;
mod delimited;
mod docx;
mod encoding;
mod epub;
mod file;
mod front;
pub(crate) mod heading;
mod html;
mod json;
mod lines;
mod markdown;
mod naming;
mod offsets;
mod package;
mod partial;
mod passed;
mod pdf;
mod pieces;
mod place;
mod plain;
mod rst;
mod settings;
mod spill;
mod structure;
mod survey;
mod value;
mod vectors;
mod walk;
mod xlsx;
mod xml;

use std::io::ErrorKind;
use std::path::Path;

use passed::Passed;
use rayon::prelude::*;
use serde::{Deserialize, Serialize};

pub use asciidoc::AsciiDoc;
pub use beir::Beir;
pub use delimited::Delimited;
pub use docx::Docx;
pub use encoding::Decoded;
pub use epub::Epub;
pub use file::{FileRecord, RawFile, Reader, Reading, Remark};
pub use html::Html;
pub use json::{JsonFields, JsonFile, JsonLines};
pub use markdown::Markdown;
pub use offsets::Offsets;
pub(crate) use partial::is_hidden;
pub use partial::{Listing, PartRead, list};
pub use pdf::{Pdf, PdfHelper, serve_pdfs};
pub use place::{Lines, Place};
pub use plain::Plain;
pub use rst::Rst;
pub use settings::CorpusSettings;
pub use spill::{Documents, Found, read_within};
pub use structure::{Draft, Item, ItemKind, Row, Structure};
pub use survey::{Surveyed, survey};
pub use value::{Date, Metadata, TEXT_KEYS, Value};
pub use vectors::{VectorFile, VectorFiles, VectorSettings, unit, vector_dim};
pub use walk::reader_of;
pub use xlsx::Xlsx;

use checks::{keep_subset, nothing_found, refuse_twins};

use crate::error::{Error, Result};

/// Files at the top of a corpus folder that describe the corpus and are no part of it.
pub const NOT_DOCUMENTS: [&str; 4] = ["README.md", "access.yaml", "sample.toml", "atlas.toml"];

/// Who reads a file, by the ending of its name in lower case; a new ending is a line here.
const KINDS: &[(&str, &dyn Reader)] = &[
    ("md", &Markdown),
    ("markdown", &Markdown),
    ("txt", &Plain),
    ("text", &Plain),
    ("csv", &Delimited),
    ("tsv", &Delimited),
    ("json", &JsonFile),
    ("jsonl", &JsonLines),
    ("ndjson", &JsonLines),
    ("html", &Html),
    ("htm", &Html),
    ("xhtml", &Html),
    ("rst", &Rst),
    ("rest", &Rst),
    ("adoc", &AsciiDoc),
    ("asciidoc", &AsciiDoc),
    ("asc", &AsciiDoc),
    ("docx", &Docx),
    ("docm", &Docx),
    ("xlsx", &Xlsx),
    ("xlsm", &Xlsx),
    ("pdf", &Pdf),
    ("epub", &Epub),
];

/// One text with a name: what is cited, filtered and permitted as a whole.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Document {
    /// The name, unique in the corpus; without white space, save single spaces in public sets.
    pub id: String,
    /// The title; empty when a public set gives none.
    pub title: String,
    /// Everything else that is stated about it.
    pub metadata: Metadata,
    /// The text, with `\n` as line end, without front matter and title.
    pub body: String,
    /// How the body is to be read.
    pub form: BodyForm,
    /// Where it was found; no part of its content.
    pub source: Source,
    /// The embedding that it brings, of unit length: every passage of it has this one.
    #[serde(skip)]
    pub vector: Option<Box<[f32]>>,
}

/// How a body is to be read.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum BodyForm {
    /// CommonMark with tables and footnotes.
    Markdown,
    /// Paragraphs between blank lines, nothing else.
    Plain,
    /// Headings, paragraphs, tables and others where the reader says they are; nothing is markup.
    Structured(Structure),
}

/// Where a document was found.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Source {
    /// The file, relative to the corpus folder, with `/`.
    pub path: String,
    /// The line of the file on which the body begins, from 1.
    pub first_line: u64,
    /// The byte at which the body begins, from 0, in the text of the file; for a record, that of the
    /// file at which it begins.
    pub first_byte: u64,
    /// Where all of the document stands when it is a record, such as a line of a file or an element
    /// of a list.
    pub record: Option<Place>,
    /// Where the bytes of the text stand in the file, for a body that is part of that text. What is the
    /// same needs no word, so marks of files that are UTF-8 with `\n` do not depend on it.
    #[serde(default)]
    pub offsets: Offsets,
}

impl Source {
    /// A body that begins at `first_line` and `first_byte` of a file of its own.
    pub fn file(path: &str, first_line: u64, first_byte: u64) -> Self {
        let offsets = Offsets::default();
        Self { path: path.to_owned(), first_line, first_byte, record: None, offsets }
    }

    /// A document that stands at `place` among others in a file.
    pub fn record(path: &str, place: Place) -> Self {
        let first_line = place.lines.map_or(0, |lines| lines.first);
        let first_byte = place.bytes.as_ref().map_or(0, |bytes| bytes.start);
        let (record, offsets) = (Some(place), Offsets::default());
        Self { path: path.to_owned(), first_line, first_byte, record, offsets }
    }

    /// Whether the document stands among others in a file.
    pub const fn is_record(&self) -> bool {
        self.record.is_some()
    }
}

impl Document {
    /// blake3 of everything but the source: equal for documents of equal content, wherever they
    /// lie. Lines are not part of it, so a document may keep its digest and move in its file.
    pub fn digest(&self) -> [u8; 32] {
        let form = match self.form {
            BodyForm::Markdown => "markdown",
            BodyForm::Plain => "plain",
            BodyForm::Structured(_) => "structured",
        };
        let mut hasher = blake3::Hasher::new();
        let mut field = |text: &str| {
            // The length before each field keeps `ab`+`c` apart from `a`+`bc`.
            hasher.update(&(text.len() as u64).to_le_bytes());
            hasher.update(text.as_bytes());
        };
        let count = self.metadata.0.len().to_string();
        for text in [&self.id, &self.title, form, &self.body, &count] {
            field(text);
        }
        for (key, value) in &self.metadata.0 {
            field(key);
            digest_value(value, &mut field);
        }
        if let BodyForm::Structured(structure) = &self.form {
            structure.digest(&mut field);
        }
        if let Some(vector) = &self.vector {
            field("vector");
            hasher.update(bytemuck::cast_slice(vector));
        }
        *hasher.finalize().as_bytes()
    }
}

/// The kind of a value, then what it holds; a list states its length first.
fn digest_value(value: &Value, field: &mut impl FnMut(&str)) {
    let (kind, held) = match value {
        Value::Text(text) => ("text", text.clone()),
        Value::Number(number) => ("number", format!("{:016x}", number.to_bits())),
        Value::Date(date) => ("date", date.to_string()),
        Value::List(items) => ("list", items.len().to_string()),
    };
    field(kind);
    field(&held);
    if let Value::List(items) = value {
        items.iter().for_each(|item| digest_value(item, field));
    }
}

/// A file, or a document of a file, that is not in the corpus.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Skipped {
    /// The file, relative to the corpus folder, with `/`.
    pub path: String,
    /// Why, with the line where one can be named.
    pub reason: String,
}

/// A file that is in the corpus, but not whole, or not as it might be thought.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Noted {
    /// The file, relative to the corpus folder, with `/`.
    pub path: String,
    /// What is missing, or how it was understood, with the line where one can be named.
    pub reason: String,
}

/// What a folder holds.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Corpus {
    /// The documents by the bytes of their ids.
    pub documents: Vec<Document>,
    /// What was not taken, by path.
    pub skipped: Vec<Skipped>,
    /// What was taken in part, or needs a word, by path.
    pub noted: Vec<Noted>,
    /// blake3 over the digests of the documents in their order, in hexadecimal.
    pub fingerprint: String,
    /// The files that were read, skipped ones among them, by path.
    pub files: Vec<FileRecord>,
    /// Folders that could not be looked into: what lay there is not known to be gone.
    pub closed: Vec<String>,
}

impl Corpus {
    /// Whether there may be a file at `path` that could not be read.
    pub fn hides(&self, path: &str) -> bool {
        is_hidden(&self.files, &self.closed, path)
    }

    /// The document called `id`.
    pub fn document(&self, id: &str) -> Option<&Document> {
        let place = self.documents.binary_search_by(|document| document.id.as_str().cmp(id));
        self.documents.get(place.ok()?)
    }
}

/// Reads the corpus that lies in `folder`.
///
/// A folder with `corpus.jsonl` or `corpus.jsonl.zst` at its top is a public set, and only that
/// file is read; a fault in it is an error. Any other folder is walked: hidden files, files that
/// git ignores and [`NOT_DOCUMENTS`] are passed over, symbolic links are not followed, and a file
/// that cannot be read as a document is in [`Corpus::skipped`].
///
/// # Errors
///
/// A missing folder, two documents with one id, an unknown id in `subset`, a corpus without any
/// document, and, with `strict`, the first thing skipped.
pub fn read(folder: &Path, settings: &CorpusSettings) -> Result<Corpus> {
    require_folder(folder)?;
    let mut gathered = match set_file(folder)? {
        Some(file) => {
            let record = file.record()?;
            let read = read_set(&file, settings)?;
            Gathered { files: vec![record], ..sift(&file, read) }
        }
        None => walk_folder(folder, settings)?,
    };
    gathered.add_vector_files(folder, settings)?;
    gathered.into_corpus(folder, settings)
}

fn require_folder(folder: &Path) -> Result<()> {
    let help = "set `corpus` in atlas.toml";
    match folder.metadata() {
        Ok(about) if about.is_dir() => Ok(()),
        Ok(_) => Err(Error::input(folder, None, "it is not a folder", help)),
        Err(fault) if fault.kind() == ErrorKind::NotFound => {
            Err(Error::input(folder, None, "there is no such folder", help))
        }
        Err(fault) => Err(Error::io("opening corpus", folder, fault)),
    }
}

/// What was read so far, in no promised order.
#[derive(Default)]
struct Gathered {
    documents: Vec<Document>,
    skipped: Vec<Passed>,
    /// Each with whether something of the file is missing.
    noted: Vec<(Passed, bool)>,
    files: Vec<FileRecord>,
    closed: Vec<String>,
}

impl Gathered {
    /// Puts the files that hold the vectors on record.
    fn add_vector_files(&mut self, folder: &Path, settings: &CorpusSettings) -> Result<()> {
        for file in settings.vectors.iter().flat_map(|vectors| vectors.raw(folder)) {
            self.files.push(file.record()?);
        }
        self.files.sort_by(|left, right| left.path.cmp(&right.path));
        Ok(())
    }

    /// The documents as they came, and what is told of the files, by path; the first thing passed over is an
    /// error where nothing may be.
    fn told(mut self, folder: &Path, settings: &CorpusSettings) -> Result<Told> {
        self.skipped.sort_by(|left, right| left.path.cmp(&right.path));
        self.noted.sort_by(|(left, _), (right, _)| left.path.cmp(&right.path));
        let losses = self.noted.iter().filter(|(_, is_loss)| *is_loss).map(|(passed, _)| passed);
        let first = self.skipped.iter().chain(losses).min_by(|a, b| a.path.cmp(&b.path));
        if let Some(first) = first.filter(|_| settings.strict) {
            return Err(first.refused(folder));
        }
        let skipped = self.skipped.into_iter().map(Passed::skipped).collect();
        let noted = self.noted.into_iter().map(|(passed, is_loss)| passed.noted(is_loss)).collect();
        let Self { documents, files, closed, .. } = self;
        Ok(Told { documents, skipped, noted, files, closed })
    }

    fn into_corpus(self, folder: &Path, settings: &CorpusSettings) -> Result<Corpus> {
        let Told { mut documents, skipped, noted, files, closed } = self.told(folder, settings)?;
        documents.sort_by(|left, right| {
            let key =
                |document: &Document| (document.source.path.clone(), document.source.first_line);
            left.id.cmp(&right.id).then_with(|| key(left).cmp(&key(right)))
        });
        refuse_twins(folder, &documents)?;
        if documents.is_empty() {
            return Err(nothing_found(folder, &skipped));
        }
        if let Some(wanted) = &settings.subset {
            keep_subset(&mut documents, wanted)?;
        }
        let mut hasher = blake3::Hasher::new();
        let digests: Vec<[u8; 32]> = documents.par_iter().map(Document::digest).collect();
        digests.iter().for_each(|digest| {
            hasher.update(digest);
        });
        let fingerprint = hasher.finalize().to_hex().to_string();
        Ok(Corpus { documents, skipped, noted, fingerprint, files, closed })
    }
}

/// What was gathered, in order, as it is told.
struct Told {
    documents: Vec<Document>,
    skipped: Vec<Skipped>,
    noted: Vec<Noted>,
    files: Vec<FileRecord>,
    closed: Vec<String>,
}

/// The one file of a public set, if the folder is one.
fn set_file(folder: &Path) -> Result<Option<RawFile>> {
    let found = beir::NAMES.map(|name| (name, folder.join(name)));
    match found.each_ref().map(|(_, location)| location.is_file()) {
        [true, true] => {
            let problem = format!("there are both `{}` and `{}`", found[0].0, found[1].0);
            Err(Error::input(folder, None, problem, "remove the one that is out of date"))
        }
        [false, false] => Ok(None),
        [plain, _] => {
            let (name, location) = found[usize::from(!plain)].clone();
            Ok(Some(RawFile { path: name.to_owned(), location }))
        }
    }
}

/// The documents of a public set, with the vectors that they bring.
fn read_set(file: &RawFile, settings: &CorpusSettings) -> Result<Reading> {
    let mut read = Beir.read(file, settings)?;
    if let Some(vectors) = &settings.vectors {
        vectors.attach(&mut read.documents, true)?;
    }
    Ok(read)
}

fn walk_folder(folder: &Path, settings: &CorpusSettings) -> Result<Gathered> {
    let listing = walk::list(folder, settings)?;
    // Collected in the order of the list, whichever thread is done first.
    let read: Vec<Gathered> =
        listing.files.par_iter().map(|file| read_file(file, settings)).collect();
    let walk::Listing { skipped, unreadable: closed, .. } = listing;
    let mut all = Gathered { skipped, closed, ..Gathered::default() };
    for mut one in read {
        all.documents.append(&mut one.documents);
        all.skipped.append(&mut one.skipped);
        all.noted.append(&mut one.noted);
        all.files.append(&mut one.files);
    }
    if let Some(vectors) = &settings.vectors {
        vectors.attach(&mut all.documents, false)?;
    }
    Ok(all)
}

/// Reads one file; every fault becomes a reason to skip it.
fn read_file(file: &RawFile, settings: &CorpusSettings) -> Gathered {
    let skip = |passed: Passed, files: Vec<FileRecord>| Gathered {
        skipped: vec![passed],
        files,
        ..Gathered::default()
    };
    let record = match file.record() {
        Ok(record) => record,
        Err(fault) => {
            // On record all the same, or a later survey would call it new each time.
            let Surveyed { path, size_bytes, mtime_ns } = Surveyed::of(file);
            let record = FileRecord { path, size_bytes, mtime_ns, hash: String::new() };
            return skip(Passed::by(file, fault), vec![record]);
        }
    };
    if record.size_bytes > settings.max_file_bytes {
        let (size, limit) = (record.size_bytes, settings.max_file_bytes);
        let problem = format!("{size} bytes, above `max_file_bytes` = {limit}");
        return skip(Passed::new(file.path.clone(), problem, "split the file"), vec![record]);
    }
    let Some(reader) = reader_of(&file.path) else {
        let problem = "no reader takes it".to_owned();
        return skip(Passed::new(file.path.clone(), problem, ""), vec![record]);
    };
    match reader.read(file, settings) {
        Ok(read) => Gathered { files: vec![record], ..sift(file, read) },
        Err(fault) => skip(Passed::by(file, fault), vec![record]),
    }
}

/// Parts documents that can be used from those without a usable id or without text.
fn sift(file: &RawFile, read: Reading) -> Gathered {
    let mut sifted = Gathered::default();
    for Remark { line, text, is_loss } in read.remarks {
        let passed = Passed { line, ..Passed::new(file.path.clone(), text, "") };
        sifted.noted.push((passed, is_loss));
    }
    for document in read.documents {
        let fault = naming::fault_of_id(&document.id, document.source.is_record()).or_else(|| {
            let empty = document.body.trim().is_empty();
            empty.then(|| format!("document `{}` has no text", document.id))
        });
        let Some(fault) = fault else {
            sifted.documents.push(document);
            continue;
        };
        let line = document.source.is_record().then_some(document.source.first_line);
        let path = document.source.path;
        sifted.skipped.push(Passed { path, line, problem: fault, help: String::new() });
    }
    sifted
}

#[cfg(test)]
mod tests;
