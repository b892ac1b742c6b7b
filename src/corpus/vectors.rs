//! Vectors that a corpus brings with it: `.npy` and `.fvecs` files, and fields of JSON records.
//!
//! A vector comes to unit length as it is read, so that inner products are cosines. What cannot be a
//! vector (a number that is not finite, a row of zeros, another length) is refused here, by file and
//! row, before anything is built. Rows are counted from 0, as the programs that write them do.

use std::collections::{BTreeSet, HashMap};
use std::fs::File;
use std::io::{BufReader, ErrorKind, Read};
use std::path::{Component, Path, PathBuf};

use serde::Deserialize;
use serde_json::Value as Json;

use super::{CorpusSettings, Document, RawFile};
use crate::error::{Error, Result};

/// `[vectors]` in `atlas.toml`: the embeddings that the documents bring.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct VectorSettings {
    /// The file, `.npy` or `.fvecs`, a row a document; default: none, so that the built-in model embeds.
    pub file: Option<PathBuf>,
    /// One document id a line: line `i` names the document of row `i`. Without it row `i` is that of
    /// record `i` of a public set. A row whose id no document has is not used.
    pub ids: Option<PathBuf>,
    /// Numbers in a vector; default: as the data has it.
    pub dim: Option<usize>,
}

/// Rows of numbers, read one after the other.
pub struct VectorFile {
    path: PathBuf,
    input: BufReader<File>,
    dim: usize,
    rows: usize,
    /// Bytes of a number: 4 or 8.
    width: usize,
    /// Bytes before every row.
    prefix: usize,
    next: usize,
}

/// What a `.npy` file must be.
const NPY: &str = "save a 2-d array of little-endian f32 or f64 in C order: numpy.save(path, array.astype('<f4'))";

/// What a `.fvecs` file must be.
const FVECS: &str = "write each row as its length (i32, little-endian) and so many f32";

/// The longest vector that is taken: far above any model, far below what would exhaust memory.
const DIM_MAX: usize = 1 << 16;

impl std::fmt::Debug for VectorFile {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.debug_struct("VectorFile").field("path", &self.path).finish_non_exhaustive()
    }
}

impl VectorFile {
    /// Opens `path` and reads how many rows of how many numbers it holds.
    ///
    /// # Errors
    ///
    /// Another ending than `.npy` and `.fvecs`, another kind of number or order, and a file that is
    /// longer or shorter than it says.
    pub fn open(path: &Path) -> Result<Self> {
        let file = File::open(path).map_err(|fault| Error::io("opening", path, fault))?;
        let facts = file.metadata().map_err(|fault| Error::io("examining", path, fault))?;
        let input = BufReader::with_capacity(1 << 16, file);
        let mut own =
            Self { path: path.to_owned(), input, dim: 0, rows: 0, width: 4, prefix: 0, next: 0 };
        let ending = path.extension().map(|ending| ending.to_string_lossy().to_lowercase());
        let header = match ending.as_deref() {
            Some("npy") => own.npy()?,
            Some("fvecs") => own.fvecs(facts.len())?,
            _ => {
                return Err(
                    own.fault("it is neither `.npy` nor `.fvecs`", "save it as one of them")
                );
            }
        };
        if !(1..=DIM_MAX).contains(&own.dim) {
            let problem = format!("a row holds {} numbers", own.dim);
            return Err(own.fault(problem, format!("expected 1 to {DIM_MAX}")));
        }
        let row = own.prefix + own.dim * own.width;
        let expected = (own.rows as u64).saturating_mul(row as u64).saturating_add(header);
        if facts.len() != expected {
            let problem = format!(
                "{} bytes, where {} rows of {} numbers take {expected}",
                facts.len(),
                own.rows,
                own.dim
            );
            return Err(own.fault(problem, "copy it again, whole"));
        }
        Ok(own)
    }

    /// Numbers in a row.
    pub const fn dim(&self) -> usize {
        self.dim
    }

    /// Rows.
    pub const fn rows(&self) -> usize {
        self.rows
    }

    /// Every row, of unit length.
    pub fn read_all(mut self) -> Result<Vec<Box<[f32]>>> {
        let mut all = Vec::with_capacity(self.rows);
        while let Some(row) = self.next_row()? {
            all.push(row);
        }
        Ok(all)
    }

    /// The next row, of unit length; `None` after the last.
    fn next_row(&mut self) -> Result<Option<Box<[f32]>>> {
        if self.next == self.rows {
            return Ok(None);
        }
        let mut bytes = vec![0; self.prefix + self.dim * self.width];
        self.fill(&mut bytes)?;
        let (prefix, numbers) = bytes.split_at(self.prefix);
        if self.prefix == 4 && length(prefix) != self.dim as i64 {
            let problem = format!(
                "row {} says that it holds {} numbers, and row 0 holds {}",
                self.next,
                length(prefix),
                self.dim
            );
            return Err(self.fault(problem, FVECS));
        }
        let row = if self.width == 4 {
            let of = |b: &[u8]| b.try_into().map_or(f64::NAN, |b| f64::from(f32::from_le_bytes(b)));
            unit(numbers.chunks_exact(4).map(of))
        } else {
            let of = |b: &[u8]| b.try_into().map_or(f64::NAN, f64::from_le_bytes);
            unit(numbers.chunks_exact(8).map(of))
        };
        let row = row.map_err(|problem| {
            let help = "rows are counted from 0; every row must have a direction";
            self.fault(format!("row {} {problem}", self.next), help)
        })?;
        self.next += 1;
        Ok(Some(row))
    }

    /// Reads the header of a `.npy` file: its length in bytes.
    fn npy(&mut self) -> Result<u64> {
        let mut start = [0; 8];
        self.fill(&mut start)?;
        let [magic @ .., major, _] = start;
        if magic != *b"\x93NUMPY" || !(1..=3).contains(&major) {
            return Err(self.fault("it does not begin as a `.npy` file", NPY));
        }
        let mut size = [0; 4];
        let digits = if major == 1 { 2 } else { 4 };
        self.fill(&mut size[..digits])?;
        let size = u32::from_le_bytes(size) as usize;
        // numpy writes one or two lines of 64 bytes.
        if size > 1 << 16 {
            return Err(self.fault(format!("a header of {size} bytes"), NPY));
        }
        let mut header = vec![0; size];
        self.fill(&mut header)?;
        let header = String::from_utf8_lossy(&header).into_owned();
        let value = |key: &str| {
            let (_, rest) = header.split_once(&format!("'{key}':"))?;
            Some(rest.trim_start())
        };
        let kind = value("descr").and_then(|rest| rest.strip_prefix('\'')?.split('\'').next());
        self.width = match kind {
            Some("<f4") => 4,
            Some("<f8") => 8,
            other => {
                let problem = format!("its numbers are `{}`", other.unwrap_or("of several kinds"));
                return Err(self.fault(problem, NPY));
            }
        };
        if value("fortran_order").is_none_or(|rest| !rest.starts_with("False")) {
            return Err(self.fault("it is in Fortran order", NPY));
        }
        let shape = value("shape").and_then(|rest| rest.strip_prefix('(')?.split(')').next());
        let shape = shape.unwrap_or_default();
        let sides: Option<Vec<usize>> = (shape.split(',').map(str::trim))
            .filter(|side| !side.is_empty())
            .map(|side| side.parse().ok())
            .collect();
        let Some([rows, dim]) = sides.as_deref() else {
            return Err(self.fault(format!("its shape is ({shape})"), NPY));
        };
        (self.rows, self.dim) = (*rows, *dim);
        Ok((8 + digits + size) as u64)
    }

    /// Reads the length of the first row of a `.fvecs` file of `size_bytes`, and goes back.
    fn fvecs(&mut self, size_bytes: u64) -> Result<u64> {
        self.prefix = 4;
        let mut first = [0; 4];
        self.fill(&mut first)?;
        self.dim = usize::try_from(length(&first)).unwrap_or(0);
        self.rows = usize::try_from(size_bytes / (4 + 4 * self.dim as u64)).unwrap_or(0);
        self.input.seek_relative(-4).map_err(|fault| Error::io("reading", &self.path, fault))?;
        Ok(0)
    }

    fn fill(&mut self, bytes: &mut [u8]) -> Result<()> {
        self.input.read_exact(bytes).map_err(|fault| match fault.kind() {
            ErrorKind::UnexpectedEof => {
                Error::input(&self.path, None, "it ends too early", "copy it again, whole")
            }
            _ => Error::io("reading", &self.path, fault),
        })
    }

    fn fault(&self, problem: impl Into<String>, help: impl Into<String>) -> Error {
        Error::input(&self.path, None, problem, help)
    }
}

fn length(prefix: &[u8]) -> i64 {
    prefix.try_into().map_or(0, |bytes| i64::from(i32::from_le_bytes(bytes)))
}

/// `numbers` divided by their length, which is summed in `f64`; else what is wrong with them, in words
/// that follow their name.
///
/// # Errors
///
/// A number that is not finite in `f32`, and no number but zeros.
pub fn unit(numbers: impl ExactSizeIterator<Item = f64>) -> Result<Box<[f32]>, String> {
    let mut row = Vec::with_capacity(numbers.len());
    for (at, number) in numbers.enumerate() {
        if !(number as f32).is_finite() {
            return Err(format!("holds {number} at place {at}, which is no finite f32"));
        }
        row.push(number);
    }
    let length = row.iter().map(|number| number * number).sum::<f64>().sqrt();
    if length == 0.0 {
        return Err("holds nothing but zeros".to_owned());
    }
    Ok(row.iter().map(|number| (number / length) as f32).collect())
}

/// The vector that a field of a JSON record holds; else what is wrong with it, in words that follow the
/// field's name.
pub(super) fn of_json(value: &Json) -> Result<Box<[f32]>, String> {
    let items = value.as_array().ok_or("is no list of numbers")?;
    let numbers: Option<Vec<f64>> = items.iter().map(Json::as_f64).collect();
    let numbers = numbers.ok_or("is no list of numbers")?;
    unit(numbers.into_iter())
}

/// The files of [`VectorSettings`], found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct VectorFiles {
    /// The rows.
    pub file: PathBuf,
    /// The ids of their documents.
    pub ids: Option<PathBuf>,
}

impl VectorFiles {
    /// Both files, named as seen from the corpus folder.
    pub(super) fn raw(&self, folder: &Path) -> Vec<RawFile> {
        let raw = |at: &PathBuf| RawFile { path: seen_from(folder, at), location: at.clone() };
        std::iter::once(&self.file).chain(&self.ids).map(raw).collect()
    }

    /// Gives each of `documents` its vector: by its id where there are ids, else by its place, which
    /// only the records of a public set have.
    pub(super) fn attach(&self, documents: &mut [Document], is_set: bool) -> Result<()> {
        let mut rows = VectorFile::open(&self.file)?;
        if let Some(ids) = &self.ids {
            return by_id(&mut rows, ids, documents);
        }
        if !is_set {
            let problem = "nothing says which row belongs to which document";
            let help = "name a file of ids, one a line, with vectors.ids";
            return Err(rows.fault(problem, help));
        }
        let mut rows = ByRecord { rows, records: 0 };
        rows.give(documents)?;
        rows.finish()
    }

    /// The rows for the records of a public set, which come some at a time.
    pub(super) fn by_record(&self) -> Result<ByRecord> {
        Ok(ByRecord { rows: VectorFile::open(&self.file)?, records: 0 })
    }
}

/// A row for each record of a public set.
pub(super) struct ByRecord {
    rows: VectorFile,
    /// Records so far.
    records: usize,
}

impl ByRecord {
    /// Gives the next `documents` their vectors.
    pub(super) fn give(&mut self, documents: &mut [Document]) -> Result<()> {
        self.records += documents.len();
        for document in documents {
            document.vector = self.rows.next_row()?;
        }
        Ok(())
    }

    /// Refuses another number of records than of rows.
    pub(super) fn finish(self) -> Result<()> {
        if self.rows.rows == self.records {
            return Ok(());
        }
        let problem = format!("{} rows for {} records", self.rows.rows, self.records);
        Err(self.rows.fault(problem, "row i belongs to record i of the corpus"))
    }
}

fn by_id(rows: &mut VectorFile, path: &Path, documents: &mut [Document]) -> Result<()> {
    let ids = std::fs::read_to_string(path).map_err(|e| Error::reading("reading", path, e))?;
    let ids: Vec<&str> = ids.lines().map(str::trim).collect();
    if ids.len() != rows.rows {
        let problem =
            format!("{} rows for the {} lines of {}", rows.rows, ids.len(), path.display());
        return Err(rows.fault(problem, "line i of the ids names the document of row i"));
    }
    let places: HashMap<String, usize> =
        documents.iter().enumerate().map(|(at, document)| (document.id.clone(), at)).collect();
    let mut seen: HashMap<&str, usize> = HashMap::new();
    for (at, id) in ids.into_iter().enumerate() {
        if let Some(first) = seen.insert(id, at) {
            let problem = format!("the id `{id}` stands on line {} too", first + 1);
            return Err(Error::input(path, Some(at as u64 + 1), problem, "keep one of them"));
        }
        let row = rows.next_row()?;
        if let Some(place) = places.get(id) {
            documents[*place].vector = row;
        }
    }
    Ok(())
}

/// Numbers in the vector of the first record in `folder` that brings one in `field`.
///
/// # Errors
///
/// No record that brings one, and what [`list`](super::list) refuses.
pub fn vector_dim(folder: &Path, settings: &CorpusSettings, field: &str) -> Result<usize> {
    let listing = super::list(folder, settings)?;
    for file in &listing.files {
        let read = listing.read(&BTreeSet::from([file.path.as_str()]), settings)?;
        if let Some(vector) = read.documents.iter().find_map(|document| document.vector.as_ref()) {
            return Ok(vector.len());
        }
    }
    let problem = format!("no record brings a vector in `{field}`");
    Err(Error::input(folder, None, problem, "name the field with reading.json.vector"))
}

/// `location` as it is named from `folder`, with `/`.
fn seen_from(folder: &Path, location: &Path) -> String {
    let parts = |path: &Path| -> Vec<String> {
        let named = path.components().filter(|part| *part != Component::CurDir);
        named.map(|part| part.as_os_str().to_string_lossy().into_owned()).collect()
    };
    let (from, to) = (parts(folder), parts(location));
    if folder.is_absolute() != location.is_absolute() || from.iter().any(|part| part == "..") {
        return location.to_string_lossy().into_owned();
    }
    let shared = from.iter().zip(&to).take_while(|(a, b)| a == b).count();
    let up = std::iter::repeat_n("..", from.len() - shared);
    up.chain(to[shared..].iter().map(String::as_str)).collect::<Vec<_>>().join("/")
}

#[cfg(test)]
mod tests;
