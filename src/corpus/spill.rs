//! A corpus larger than memory may hold: its documents wait in a file until their turn.
//!
//! A build takes documents in the order of their ids, and a folder gives them in another. Up to a bound
//! they are held; beyond it they are written, as they are read, to a file without a name beside the index,
//! and read back a batch at a time. What stays in memory is an id and a place for each.

use std::borrow::Cow;
use std::fs::File;
use std::io::{BufWriter, Read as _, Seek as _, SeekFrom, Write as _};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use rayon::prelude::*;

use super::checks::{nothing_found, refuse_twins};
use super::{
    Corpus, CorpusSettings, Document, FileRecord, Gathered, Noted, Skipped, Told, read_file,
    require_folder, set_file, sift, walk,
};
use crate::corpus::beir::read_batches;
use crate::error::{Error, Result};

/// Documents in the order of their ids, given out some at a time.
pub trait Documents: Sync {
    /// How many there are.
    fn count(&self) -> usize;

    /// Those from number `from` on whose bodies have `bytes` bytes together, and one more; none after the
    /// last.
    fn some(&self, from: usize, bytes: usize) -> Result<Cow<'_, [Document]>>;
}

impl Documents for Vec<Document> {
    fn count(&self) -> usize {
        self.len()
    }

    fn some(&self, from: usize, bytes: usize) -> Result<Cow<'_, [Document]>> {
        let rest = self.get(from..).unwrap_or_default();
        let mut held = 0;
        let fits = rest.iter().take_while(|document| {
            let fits = held < bytes;
            held += document.body.len();
            fits
        });
        let count = fits.count();
        Ok(Cow::Borrowed(&rest[..count]))
    }
}

/// What a folder holds, the documents in memory or not.
pub struct Found {
    /// The documents.
    pub documents: Box<dyn Documents>,
    /// What was not taken, by path.
    pub skipped: Vec<Skipped>,
    /// What was taken in part, or needs a word, by path.
    pub noted: Vec<Noted>,
    /// The files that were read, by path.
    pub files: Vec<FileRecord>,
    /// Folders that could not be looked into: what lay there is not known to be gone.
    pub closed: Vec<String>,
}

impl std::fmt::Debug for Found {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.debug_struct("Found")
            .field("documents", &self.documents.count())
            .finish_non_exhaustive()
    }
}

impl From<Corpus> for Found {
    fn from(corpus: Corpus) -> Self {
        let Corpus { documents, skipped, noted, files, closed, .. } = corpus;
        Self { documents: Box::new(documents), skipped, noted, files, closed }
    }
}

/// Bytes that a document takes beside its texts, roughly.
const OVERHEAD: usize = 512;

/// Documents that go to a file once they are more than may be held.
struct Sink<'s> {
    /// Bytes of documents that may be held.
    bound: usize,
    /// The folder for the file.
    room: &'s Path,
    held: Vec<Document>,
    held_bytes: usize,
    file: Option<BufWriter<File>>,
    places: Vec<Place>,
    /// Bytes written.
    at: u64,
}

/// Where a document waits.
struct Place {
    id: Box<str>,
    at: u64,
    bytes: u32,
    body_bytes: usize,
}

impl Sink<'_> {
    fn take(&mut self, documents: Vec<Document>) -> Result<()> {
        for document in documents {
            let vector = document.vector.as_ref().map_or(0, |vector| vector.len() * 4);
            self.held_bytes += document.body.len() + document.title.len() + vector + OVERHEAD;
            self.held.push(document);
        }
        if self.file.is_some() || self.held_bytes > self.bound {
            self.spill()?;
        }
        Ok(())
    }

    fn spill(&mut self) -> Result<()> {
        let fault = |fault| Error::io("writing a file without a name in", self.room, fault);
        if self.file.is_none() {
            self.file = Some(BufWriter::new(tempfile::tempfile_in(self.room).map_err(fault)?));
        }
        let Some(file) = &mut self.file else { return Ok(()) };
        self.held_bytes = 0;
        for document in self.held.drain(..) {
            let bytes = encoded(&document)?;
            file.write_all(&bytes).map_err(fault)?;
            let size = bytes.len() as u32;
            self.places.push(Place {
                id: document.id.into_boxed_str(),
                at: self.at,
                bytes: size,
                body_bytes: document.body.len(),
            });
            self.at += u64::from(size);
        }
        Ok(())
    }
}

/// How documents wait in the file: bincode, then the vector, which serde passes over.
fn encoded(document: &Document) -> Result<Vec<u8>> {
    let fault = |problem: String| {
        let problem = format!("document `{}` {problem}", document.id);
        Error::input(&document.source.path, None, problem, "split the document")
    };
    let mut bytes = bincode::serde::encode_to_vec(document, bincode::config::standard())
        .map_err(|e| fault(format!("is not storable: {e}")))?;
    let vector = document.vector.as_deref().unwrap_or_default();
    bytes.extend_from_slice(bytemuck::cast_slice(vector));
    bytes.extend((vector.len() as u32).to_le_bytes());
    if u32::try_from(bytes.len()).is_err() {
        return Err(fault(format!("takes {} bytes, over 4 GiB", bytes.len())));
    }
    Ok(bytes)
}

/// The document that [`encoded`] was given; `None` when the bytes are not as they were.
fn decoded(bytes: &[u8]) -> Option<Document> {
    let (mut document, used): (Document, usize) =
        bincode::serde::decode_from_slice(bytes, bincode::config::standard()).ok()?;
    let (numbers, count) = bytes.get(used..)?.split_last_chunk::<4>()?;
    if numbers.len() != u32::from_le_bytes(*count) as usize * 4 {
        return None;
    }
    if !numbers.is_empty() {
        let of = |four: &[u8]| four.try_into().map_or(0.0, f32::from_le_bytes);
        document.vector = Some(numbers.chunks_exact(4).map(of).collect());
    }
    Some(document)
}

/// Documents in a file.
struct Spilled {
    file: Mutex<File>,
    room: PathBuf,
    /// By id.
    places: Vec<Place>,
}

impl Spilled {
    fn read(&self, file: &mut File, place: &Place) -> Result<Document> {
        let fault = |fault| Error::io("reading a file without a name in", &self.room, fault);
        let mut bytes = vec![0; place.bytes as usize];
        file.seek(SeekFrom::Start(place.at)).map_err(fault)?;
        file.read_exact(&mut bytes).map_err(fault)?;
        decoded(&bytes).ok_or_else(|| fault(std::io::ErrorKind::InvalidData.into()))
    }
}

impl Documents for Spilled {
    fn count(&self) -> usize {
        self.places.len()
    }

    fn some(&self, from: usize, bytes: usize) -> Result<Cow<'_, [Document]>> {
        let mut file = self.file.lock().unwrap_or_else(PoisonError::into_inner);
        let (mut held, mut documents) = (0, Vec::new());
        for place in self.places.iter().skip(from) {
            if held >= bytes {
                break;
            }
            held += place.body_bytes;
            documents.push(self.read(&mut file, place)?);
        }
        Ok(Cow::Owned(documents))
    }
}

/// Reads the corpus in `folder` as [`read`](super::read) does, and holds about `bound` bytes of documents at
/// most: more wait in a file without a name in the folder `room`, which the system removes.
///
/// A subset, and vectors that are named by ids, are read as a whole.
///
/// # Errors
///
/// As [`read`](super::read), and a file that cannot be written.
pub fn read_within(
    folder: &Path,
    settings: &CorpusSettings,
    bound: usize,
    room: &Path,
) -> Result<Found> {
    require_folder(folder)?;
    let by_id = settings.vectors.as_ref().is_some_and(|vectors| vectors.ids.is_some());
    if settings.subset.is_some() || by_id {
        return super::read(folder, settings).map(Found::from);
    }
    let mut sink = Sink {
        bound,
        room,
        held: Vec::new(),
        held_bytes: 0,
        file: None,
        places: Vec::new(),
        at: 0,
    };
    let mut rest = match set_file(folder)? {
        Some(file) => {
            let record = file.record()?;
            let mut rest = Gathered { files: vec![record], ..Gathered::default() };
            let mut vectors =
                settings.vectors.as_ref().map(super::VectorFiles::by_record).transpose()?;
            read_batches(&file, settings, &mut |mut documents| {
                if let Some(vectors) = &mut vectors {
                    vectors.give(&mut documents)?;
                }
                let read = super::Reading { documents, remarks: Vec::new() };
                let mut sifted = sift(&file, read);
                rest.skipped.append(&mut sifted.skipped);
                sink.take(sifted.documents)
            })?;
            vectors.map_or(Ok(()), super::vectors::ByRecord::finish)?;
            rest
        }
        None => walk_some(folder, settings, &mut sink)?,
    };
    rest.add_vector_files(folder, settings)?;
    if sink.file.is_none() {
        rest.documents = sink.held;
        return rest.into_corpus(folder, settings).map(Found::from);
    }
    let Told { skipped, noted, files, closed, .. } = rest.told(folder, settings)?;
    let documents = spilled(folder, sink, &skipped)?;
    Ok(Found { documents: Box::new(documents), skipped, noted, files, closed })
}

/// Reads the files of a folder, some at a time, into `sink`.
fn walk_some(folder: &Path, settings: &CorpusSettings, sink: &mut Sink<'_>) -> Result<Gathered> {
    if settings.vectors.is_some() {
        // Rows without ids have no place in a folder of files; that is told there.
        return super::walk_folder(folder, settings);
    }
    let listing = walk::list(folder, settings)?;
    let walk::Listing { files, skipped, unreadable: closed, .. } = listing;
    let mut all = Gathered { skipped, closed, ..Gathered::default() };
    let mut files = files.as_slice();
    while !files.is_empty() {
        let mut bytes = 0;
        let fits = files.iter().take_while(|file| {
            let fits = bytes <= sink.bound as u64 / 4;
            bytes += file.location.metadata().map_or(0, |facts| facts.len());
            fits
        });
        let (now, later) = files.split_at(fits.count());
        files = later;
        let read: Vec<Gathered> = now.par_iter().map(|file| read_file(file, settings)).collect();
        for mut one in read {
            all.skipped.append(&mut one.skipped);
            all.noted.append(&mut one.noted);
            all.files.append(&mut one.files);
            sink.take(one.documents)?;
        }
    }
    Ok(all)
}

/// The documents that `sink` has written, by id.
fn spilled(folder: &Path, mut sink: Sink<'_>, skipped: &[Skipped]) -> Result<Spilled> {
    sink.spill()?;
    let fault = |fault| Error::io("writing a file without a name in", sink.room, fault);
    let Some(file) = sink.file else { return Err(nothing_found(folder, skipped)) };
    let file = file.into_inner().map_err(|fault_of| fault(fault_of.into_error()))?;
    // As they were read is by file and line.
    sink.places.sort_by(|a, b| (&a.id, a.at).cmp(&(&b.id, b.at)));
    let spilled =
        Spilled { file: Mutex::new(file), room: sink.room.to_owned(), places: sink.places };
    let twins = spilled.places.windows(2).find(|pair| pair[0].id == pair[1].id);
    if let Some(pair) = twins {
        let mut file = spilled.file.lock().unwrap_or_else(PoisonError::into_inner);
        let both = [spilled.read(&mut file, &pair[0])?, spilled.read(&mut file, &pair[1])?];
        drop(file);
        refuse_twins(folder, &both)?;
    }
    Ok(spilled)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Held or not, the documents are the same, in the same batches.
    #[test]
    fn what_waits_in_a_file_comes_back_as_it_was() {
        let folder = tempfile::tempdir().unwrap();
        let lines: String = (0..300)
            .map(|at| {
                let (id, year) = (at * 7 % 300, 1900 + at);
                format!(
                    "{{\"_id\": \"d{id:03}\", \"title\": \"T {at}\", \"text\": \"{}\", \"year\": {year}}}\n",
                    "word ".repeat(at % 40 + 1)
                )
            })
            .collect();
        std::fs::write(folder.path().join("corpus.jsonl"), lines).unwrap();
        let set = tempfile::tempdir().unwrap();
        for at in 0..40 {
            let text = format!("# Page {at}\n\n{}\n", "text ".repeat(at * 3));
            std::fs::write(set.path().join(format!("p{at}.md")), text).unwrap();
        }
        std::fs::write(set.path().join("bad.json"), "{").unwrap();
        for place in [folder.path(), set.path()] {
            let settings = CorpusSettings::default();
            let whole = super::super::read(place, &settings).unwrap();
            for bound in [0, 3_000, 1 << 30] {
                let found = read_within(place, &settings, bound, place).unwrap();
                assert_eq!(found.documents.count(), whole.documents.len(), "{bound}");
                assert_eq!((&found.skipped, &found.files), (&whole.skipped, &whole.files));
                let mut at = 0;
                while at < whole.documents.len() {
                    let some = found.documents.some(at, 1_000).unwrap();
                    assert_eq!(some, whole.documents.some(at, 1_000).unwrap(), "{bound}, {at}");
                    at += some.len();
                }
                assert!(found.documents.some(at, 1_000).unwrap().is_empty());
            }
        }
        // Nothing is left in the folder.
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
    }

    #[test]
    fn vectors_wait_too_and_twins_are_refused() {
        let folder = tempfile::tempdir().unwrap();
        let at = folder.path().join("corpus.jsonl");
        let settings: CorpusSettings = toml::from_str("[json]\nvector = \"v\"\n").unwrap();
        let lines = "{\"_id\": \"b\", \"text\": \"x\", \"v\": [1, 0]}\n{\"_id\": \"a\", \"text\": \"y\", \"v\": [0, 2]}\n";
        std::fs::write(&at, lines).unwrap();
        let found = read_within(folder.path(), &settings, 0, folder.path()).unwrap();
        let whole = super::super::read(folder.path(), &settings).unwrap();
        assert_eq!(found.documents.some(0, 9).unwrap()[0], whole.documents[0]);
        assert_eq!(found.documents.some(0, 9).unwrap()[0].vector.as_deref(), Some(&[0.0, 1.0][..]));
        std::fs::write(&at, lines.replace("\"a\"", "\"b\"")).unwrap();
        let said = read_within(folder.path(), &settings, 0, folder.path()).unwrap_err().to_string();
        let whole = super::super::read(folder.path(), &settings).unwrap_err().to_string();
        assert_eq!(said, whole);
    }
}
