//! The postings of one layer, in numbers of that layer.

use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use tantivy::postings::BlockSegmentPostings;
use tantivy::schema::{Field, IndexRecordOption};
use tantivy::{Index, InvertedIndexReader, Term};

use super::score::Saturation;
pub(super) use super::union::Cursor;
use super::union::Union;
use super::write::schema;
use super::{FOLDER, LENGTHS_KIND, folder::Folder};
use crate::access::Bitmap;
use crate::error::{Error, Result};
use crate::format::{FileEntry, Layer, MappedFile, Pace, Part, Section, checksum_of};

/// Rows up to which a scope's rows are looked up one by one instead of every posting being scored.
pub(super) const SOUGHT_ROWS_MAX: u32 = 1024;

/// The postings and lengths of one layer.
pub(super) struct LexicalLayer {
    folder: PathBuf,
    files: Vec<FileEntry>,
    pub(super) lengths: Section,
    passages: u32,
    /// Set once every byte was found to be as it was written.
    sound: OnceLock<()>,
    opened: OnceLock<std::result::Result<Segments, Fault>>,
}

/// A file and what is wrong with it, kept for every search that asks.
type Fault = (PathBuf, String);

pub(super) struct Segments {
    pub(super) field: Field,
    pub(super) list: Vec<Segment>,
}

/// A run of rows that tantivy stored together: document `d` is row `base + d`.
pub(super) struct Segment {
    inverted: Arc<InvertedIndexReader>,
    pub(super) base: u32,
    rows: u32,
}

/// A term of a query with its statistics in a scope, and the most it can give.
pub(super) struct Weighted<'q> {
    pub term: &'q str,
    pub count: f64,
    pub df: u64,
    pub idf: f64,
    pub bound: f64,
}

impl Segment {
    /// How many rows it holds.
    pub(super) fn rows(&self) -> u32 {
        self.rows
    }
}

impl LexicalLayer {
    pub(super) fn open(folder: &Path, layer: &Layer) -> Result<Self> {
        for entry in &layer.lexical {
            let path = folder.join(&entry.file);
            let found = std::fs::metadata(&path).map_err(|e| match e.kind() {
                std::io::ErrorKind::NotFound => Error::damaged(&path, "it is missing"),
                _ => Error::io("opening", &path, e),
            })?;
            let found = found.len();
            if found != entry.size_bytes {
                let said = entry.size_bytes;
                let problem = format!("the manifest says {said} bytes, the file has {found}");
                return Err(Error::damaged(path, problem));
            }
        }
        let lengths = Part::open(folder, &layer.lengths, LENGTHS_KIND)?.section("lengths")?;
        if lengths.len() != layer.passages * 4 {
            return Err(Error::damaged(lengths.path(), "it does not hold one length a passage"));
        }
        Ok(Self {
            folder: folder.to_owned(),
            files: layer.lexical.clone(),
            lengths,
            passages: layer.passages as u32,
            sound: OnceLock::new(),
            opened: OnceLock::new(),
        })
    }

    pub(super) fn verify(&self, pace: &Pace) -> Result<()> {
        self.lengths.verify(pace)?;
        for entry in &self.files {
            let path = self.folder.join(&entry.file);
            if format!("{:016x}", checksum_of(&MappedFile::open(&path)?, pace)) != entry.checksum {
                return Err(Error::damaged(path, "it does not match its checksum in the manifest"));
            }
        }
        let _ = self.sound.set(());
        Ok(())
    }

    /// Checks every byte unless that was done since it was opened.
    fn checked(&self) -> Result<()> {
        if self.sound.get().is_some() { Ok(()) } else { self.verify(&Pace::full()) }
    }

    pub(super) fn segments(&self) -> Result<&Segments> {
        let opened = match self.opened.get() {
            Some(opened) => opened,
            None => {
                let opened = match self.checked().and_then(|()| self.open_segments()) {
                    Ok(segments) => Ok(segments),
                    Err(Error::Damaged { path, problem, .. }) => Err((path, problem)),
                    // What the system refuses now it may grant the next search.
                    Err(other) => return Err(other),
                };
                self.opened.get_or_init(|| opened)
            }
        };
        opened.as_ref().map_err(|(path, problem)| Error::damaged(path, problem.clone()))
    }

    fn open_segments(&self) -> Result<Segments> {
        let home = self.folder.join(FOLDER);
        let own = Folder::at(home.clone());
        let fault = |e: tantivy::TantivyError| {
            own.refusal("opening").unwrap_or_else(|| Error::damaged(&home, e.to_string()))
        };
        let index = Index::open(own.clone()).map_err(fault)?;
        let (_, field, _) = schema();
        let mut list = Vec::new();
        let reader = index
            .reader_builder()
            .reload_policy(tantivy::ReloadPolicy::Manual)
            .try_into()
            .map_err(fault)?;
        let searcher = reader.searcher();
        for segment in searcher.segment_readers() {
            let rows = segment.fast_fields().u64("row").map_err(fault)?;
            let base = rows.first(0).and_then(|base| u32::try_from(base).ok());
            let Some(base) = base else {
                return Err(Error::damaged(&home, "a segment does not say which rows it holds"));
            };
            let inverted = segment.inverted_index(field).map_err(fault)?;
            list.push(Segment { inverted, base, rows: segment.max_doc() });
        }
        list.sort_by_key(|segment| segment.base);
        let mut expected = 0;
        for segment in &list {
            if segment.base != expected {
                return Err(Error::damaged(&home, format!("no segment holds row {expected}")));
            }
            expected += segment.rows;
        }
        if expected != self.passages {
            let problem = format!("it holds {expected} rows, the manifest says {}", self.passages);
            return Err(Error::damaged(&home, problem));
        }
        Ok(Segments { field, list })
    }

    /// How many rows of `readable` hold `term`.
    pub(super) fn document_frequency(&self, term: &str, readable: &Bitmap) -> Result<u64> {
        let segments = self.segments()?;
        let mut total = 0;
        for segment in &segments.list {
            if readable.is_all() {
                // The dictionary says it: the postings need not be opened.
                let held = segment.inverted.doc_freq(&Term::from_field_text(segments.field, term));
                total += u64::from(held.map_err(|e| self.unread(e))?);
                continue;
            }
            let Some(mut postings) = self.postings(segments.field, segment, term)? else {
                continue;
            };
            let out = readable.rows() - readable.count();
            if out <= SOUGHT_ROWS_MAX {
                // Few are out, as after small changes: those that hold the term are taken off.
                total += u64::from(postings.doc_freq());
                let mine = segment.base..segment.base + segment.rows;
                let mut cursor = Cursor::new(postings, 0.0, segment.rows);
                for row in readable.missing().filter(|row| mine.contains(row)) {
                    total -= u64::from(cursor.seek(row - segment.base).is_some());
                }
                continue;
            }
            while !postings.docs().is_empty() {
                let held = postings.docs().iter().filter(|&&d| readable.contains(segment.base + d));
                total += held.count() as u64;
                postings.advance();
            }
        }
        Ok(total)
    }

    pub(super) fn postings(
        &self,
        field: Field,
        segment: &Segment,
        term: &str,
    ) -> Result<Option<BlockSegmentPostings>> {
        let term = Term::from_field_text(field, term);
        segment
            .inverted
            .read_block_postings(&term, IndexRecordOption::WithFreqs)
            .map_err(|e| self.unread(e))
    }

    fn unread(&self, e: std::io::Error) -> Error {
        Error::io("reading the lexical index in", &self.folder, e)
    }

    /// The best `depth` of `allowed`, in numbers of this layer.
    pub(super) fn union(
        &self,
        weighted: &[Weighted<'_>],
        saturation: Saturation,
        allowed: &Bitmap,
        depth: usize,
    ) -> Result<Vec<(u32, f64)>> {
        let mut union = Union::new(saturation, self.lengths.numbers::<u32>()?, allowed, depth);
        let segments = self.segments()?;
        for segment in &segments.list {
            let mut cursors = Vec::with_capacity(weighted.len());
            for weight in weighted {
                if let Some(postings) = self.postings(segments.field, segment, weight.term)? {
                    cursors.push(Cursor::new(postings, weight.bound, segment.rows));
                }
            }
            union.add(segment.base, segment.base + segment.rows, &mut cursors);
        }
        Ok(union.best.into_sorted())
    }

    /// The true score of each of `rows`, which ascend, given to `hear` by its place among them.
    pub(super) fn score(
        &self,
        weighted: &[Weighted<'_>],
        saturation: Saturation,
        rows: &[u32],
        hear: &mut dyn FnMut(usize, f64),
    ) -> Result<()> {
        let lengths = self.lengths.numbers::<u32>()?;
        let segments = self.segments()?;
        for segment in &segments.list {
            let end = segment.base + segment.rows;
            let mine = rows.partition_point(|row| *row < segment.base)
                ..rows.partition_point(|row| *row < end);
            for weight in weighted {
                let Some(postings) = self.postings(segments.field, segment, weight.term)? else {
                    continue;
                };
                let mut cursor = Cursor::new(postings, weight.bound, segment.rows);
                for at in mine.clone() {
                    if let Some(tf) = cursor.seek(rows[at] - segment.base) {
                        hear(at, weight.bound * saturation.share(tf, lengths[rows[at] as usize]));
                    }
                }
            }
        }
        Ok(())
    }

    /// Gives the weight of each of `terms` to `hear` for each of `rows`, which ascend, that holds it.
    pub(super) fn held(
        &self,
        terms: &[(String, f64)],
        rows: &[u32],
        hear: &mut dyn FnMut(usize, f64),
    ) -> Result<()> {
        let segments = self.segments()?;
        for segment in &segments.list {
            let end = segment.base + segment.rows;
            let mine = rows.partition_point(|row| *row < segment.base)
                ..rows.partition_point(|row| *row < end);
            for (term, weight) in terms {
                let Some(postings) = self.postings(segments.field, segment, term)? else {
                    continue;
                };
                let mut cursor = Cursor::new(postings, 0.0, segment.rows);
                for at in mine.clone() {
                    if cursor.seek(rows[at] - segment.base).is_some() {
                        hear(at, *weight);
                    }
                }
            }
        }
        Ok(())
    }

    /// How often row `own` holds `term`.
    pub(super) fn frequency(&self, term: &str, own: u32) -> Result<u32> {
        let segments = self.segments()?;
        for segment in &segments.list {
            if !(segment.base..segment.base + segment.rows).contains(&own) {
                continue;
            }
            if let Some(postings) = self.postings(segments.field, segment, term)? {
                let mut cursor = Cursor::new(postings, 0.0, segment.rows);
                return Ok(cursor.seek(own - segment.base).unwrap_or(0));
            }
        }
        Ok(0)
    }
}
