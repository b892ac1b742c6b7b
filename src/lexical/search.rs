//! Reading the lexical index: the best rows of a scope, and the true score of any row.

use std::path::{Path, PathBuf};
use std::sync::{Mutex, OnceLock, PoisonError};

use tantivy::postings::BlockSegmentPostings;
use tantivy::schema::{Field, IndexRecordOption};
use tantivy::{Index, InvertedIndexReader, Term};

use super::score::Statistics;
use super::union::{Best, Cursor, Union, WINDOW_ROWS};
use super::write::schema;
use super::{Bm25, Explained, FOLDER, LENGTHS_KIND, Query, folder::Folder};
use crate::access::Scope;
use crate::error::{Error, Result};
use crate::format::{FileEntry, Manifest, MappedFile, Part, Section, checksum};

/// Rows up to which a scope's rows are looked up one by one instead of every posting being scored.
const SOUGHT_ROWS_MAX: u32 = 1024;

/// Scopes whose statistics are remembered.
const SCOPES_KEPT: usize = 64;

/// The lexical index of one open generation.
pub struct LexicalIndex {
    folder: PathBuf,
    files: Vec<FileEntry>,
    lengths: Section,
    passages: u32,
    terms_total: u64,
    opened: OnceLock<std::result::Result<Segments, Fault>>,
    scopes: Mutex<Vec<(Scope, Statistics)>>,
}

/// A file and what is wrong with it, kept for every search that asks.
type Fault = (PathBuf, String);

struct Segments {
    field: Field,
    list: Vec<Segment>,
}

/// A run of rows that tantivy stored together: document `d` is row `base + d`.
struct Segment {
    inverted: std::sync::Arc<InvertedIndexReader>,
    base: u32,
    rows: u32,
}

impl std::fmt::Debug for LexicalIndex {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.debug_struct("LexicalIndex").field("passages", &self.passages).finish_non_exhaustive()
    }
}

/// A term of a query with its statistics in a scope, and the most it can give.
pub(super) struct Weighted<'q> {
    pub term: &'q str,
    pub count: u32,
    pub df: u64,
    pub idf: f64,
    pub bound: f64,
}

impl LexicalIndex {
    /// Opens the index of the generation in `folder`. Tantivy's files are checked whole and opened
    /// by the first search; the lengths are checked as they are touched.
    pub fn open(folder: &Path, manifest: &Manifest) -> Result<Self> {
        for entry in &manifest.lexical {
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
        let lengths = Part::open(folder, &manifest.lengths, LENGTHS_KIND)?.section("lengths")?;
        if lengths.len() != manifest.passages * 4 {
            return Err(Error::damaged(lengths.path(), "it does not hold one length a passage"));
        }
        Ok(Self {
            folder: folder.to_owned(),
            files: manifest.lexical.clone(),
            lengths,
            passages: manifest.passages as u32,
            terms_total: manifest.terms_total,
            opened: OnceLock::new(),
            scopes: Mutex::new(Vec::new()),
        })
    }

    /// Reads every byte and compares it with the manifest.
    pub fn verify(&self) -> Result<()> {
        self.lengths.bytes()?;
        for entry in &self.files {
            let path = self.folder.join(&entry.file);
            let bytes = MappedFile::open(&path)?;
            if format!("{:016x}", checksum(&bytes)) != entry.checksum {
                return Err(Error::damaged(path, "it does not match its checksum in the manifest"));
            }
        }
        Ok(())
    }

    fn segments(&self) -> Result<&Segments> {
        let opened = self.opened.get_or_init(|| {
            self.verify().and_then(|()| self.open_segments()).map_err(|fault| match fault {
                Error::Damaged { path, problem, .. } => (path, problem),
                other => (self.folder.clone(), other.to_string()),
            })
        });
        opened.as_ref().map_err(|(path, problem)| Error::damaged(path, problem.clone()))
    }

    fn open_segments(&self) -> Result<Segments> {
        let home = self.folder.join(FOLDER);
        let fault = |e: tantivy::TantivyError| Error::damaged(&home, e.to_string());
        let index = Index::open(Folder(home.clone())).map_err(fault)?;
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

    /// The `depth` best of the rows that `scope` allows and that hold a term of the query: row and
    /// score, score descending, ties by row ascending.
    pub fn search(
        &self,
        query: &Query,
        scope: &Scope,
        bm25: Bm25,
        depth: usize,
    ) -> Result<Vec<(u32, f64)>> {
        if scope.allowed().count() <= SOUGHT_ROWS_MAX {
            self.seek(query, scope, bm25, depth)
        } else {
            self.union(query, scope, bm25, depth)
        }
    }

    /// [`LexicalIndex::search`] by scoring the postings of all terms, a window of rows at a time.
    pub(super) fn union(
        &self,
        query: &Query,
        scope: &Scope,
        bm25: Bm25,
        depth: usize,
    ) -> Result<Vec<(u32, f64)>> {
        let weighted = self.weigh(query, scope)?;
        if weighted.is_empty() || depth == 0 || scope.allowed().count() == 0 {
            return Ok(Vec::new());
        }
        let lengths = self.lengths.numbers::<u32>()?;
        let mut union = Union {
            saturation: bm25.saturation(self.statistics(scope)?),
            lengths,
            allowed: scope.allowed(),
            best: Best::new(depth),
            scores: vec![0.0; WINDOW_ROWS as usize],
            touched: vec![0; WINDOW_ROWS as usize / 64],
        };
        let segments = self.segments()?;
        for segment in &segments.list {
            let mut cursors = Vec::with_capacity(weighted.len());
            for weight in &weighted {
                if let Some(postings) = self.postings(segments.field, segment, weight.term)? {
                    cursors.push(Cursor { postings, at: 0, bound: weight.bound });
                }
            }
            union.add(segment.base, segment.base + segment.rows, &mut cursors);
        }
        Ok(union.best.into_sorted())
    }

    /// [`LexicalIndex::search`] for a scope of few rows: each of them is looked up in the postings of each term, which
    /// skips all others. Sums are taken in the same order, so the scores are the same bits.
    pub(super) fn seek(
        &self,
        query: &Query,
        scope: &Scope,
        bm25: Bm25,
        depth: usize,
    ) -> Result<Vec<(u32, f64)>> {
        if depth == 0 {
            return Ok(Vec::new());
        }
        let rows: Vec<u32> = scope.allowed().iter().collect();
        let scores = self.score(query, scope, bm25, &rows)?;
        let mut best = Best::new(depth);
        for (row, score) in rows.into_iter().zip(scores) {
            // A row that holds a term scores more than nothing: idf and tf are positive.
            if score > 0.0 {
                best.offer(row, score);
            }
        }
        Ok(best.into_sorted())
    }

    /// The true score of each of `rows`, in their order; 0 for a row without any term.
    pub fn score(
        &self,
        query: &Query,
        scope: &Scope,
        bm25: Bm25,
        rows: &[u32],
    ) -> Result<Vec<f64>> {
        let weighted = self.weigh(query, scope)?;
        let saturation = bm25.saturation(self.statistics(scope)?);
        let lengths = self.lengths.numbers::<u32>()?;
        let mut order: Vec<usize> = (0..rows.len()).collect();
        order.sort_unstable_by_key(|&at| rows[at]);
        let mut scores = vec![0.0; rows.len()];
        let segments = self.segments()?;
        for segment in &segments.list {
            let mine = segment.base..segment.base + segment.rows;
            for weight in &weighted {
                let Some(postings) = self.postings(segments.field, segment, weight.term)? else {
                    continue;
                };
                let mut cursor = Cursor { postings, at: 0, bound: weight.bound };
                for &at in order.iter().filter(|&&at| mine.contains(&rows[at])) {
                    if let Some(tf) = cursor.seek(rows[at] - segment.base) {
                        scores[at] +=
                            weight.bound * saturation.share(tf, lengths[rows[at] as usize]);
                    }
                }
            }
        }
        Ok(scores)
    }

    /// What each term of the query gives to `row`, by contribution descending.
    pub fn explain(
        &self,
        query: &Query,
        scope: &Scope,
        bm25: Bm25,
        row: u32,
    ) -> Result<Vec<Explained>> {
        let saturation = bm25.saturation(self.statistics(scope)?);
        let length = self.lengths.numbers::<u32>()?.get(row as usize).copied().unwrap_or(0);
        let segments = self.segments()?;
        let mut explained = Vec::new();
        for weight in self.weigh(query, scope)? {
            let mut tf = 0;
            for segment in &segments.list {
                if !(segment.base..segment.base + segment.rows).contains(&row) {
                    continue;
                }
                if let Some(postings) = self.postings(segments.field, segment, weight.term)? {
                    let mut cursor = Cursor { postings, at: 0, bound: weight.bound };
                    tf = cursor.seek(row - segment.base).unwrap_or(0);
                }
            }
            explained.push(Explained {
                term: weight.term.to_owned(),
                count: weight.count,
                df: weight.df,
                idf: weight.idf,
                tf,
                score: if tf == 0 { 0.0 } else { weight.bound * saturation.share(tf, length) },
            });
        }
        explained.sort_by(|a, b| b.score.total_cmp(&a.score).then_with(|| a.term.cmp(&b.term)));
        Ok(explained)
    }

    /// The most that any passage could score: the sum of the terms' bounds in the scope. Terms that
    /// no passage holds count with the weight of a term that none holds.
    pub fn bound(&self, query: &Query, scope: &Scope) -> Result<f64> {
        let passages = self.statistics(scope)?.passages;
        let known = self.weigh(query, scope)?;
        let mut total: f64 = known.iter().map(|weight| weight.bound).sum();
        for (term, count) in query.terms() {
            if !known.iter().any(|weight| weight.term == term) {
                total += f64::from(*count) * Bm25::idf(passages, 0);
            }
        }
        Ok(total)
    }

    /// The query's terms that occur in the scope, heaviest first, ties by term: the one order in
    /// which every sum of this index is taken.
    pub(super) fn weigh<'q>(&self, query: &'q Query, scope: &Scope) -> Result<Vec<Weighted<'q>>> {
        let passages = self.statistics(scope)?.passages;
        if passages == 0 {
            return Ok(Vec::new());
        }
        let count = |term: &str| self.document_frequency(term, scope);
        let frequencies = query.frequencies(scope.readable_shared(), count)?;
        let mut weighted = Vec::with_capacity(query.terms().len());
        for ((term, count), df) in query.terms().iter().zip(frequencies) {
            if df > 0 {
                let idf = Bm25::idf(passages, df);
                weighted.push(Weighted {
                    term,
                    count: *count,
                    df,
                    idf,
                    bound: f64::from(*count) * idf,
                });
            }
        }
        weighted.sort_by(|a, b| b.bound.total_cmp(&a.bound).then_with(|| a.term.cmp(b.term)));
        Ok(weighted)
    }

    /// How many readable passages hold `term`.
    fn document_frequency(&self, term: &str, scope: &Scope) -> Result<u64> {
        let segments = self.segments()?;
        let readable = scope.readable();
        let mut total = 0;
        for segment in &segments.list {
            let Some(mut postings) = self.postings(segments.field, segment, term)? else {
                continue;
            };
            if readable.is_all() {
                total += u64::from(postings.doc_freq());
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

    fn postings(
        &self,
        field: Field,
        segment: &Segment,
        term: &str,
    ) -> Result<Option<BlockSegmentPostings>> {
        let term = Term::from_field_text(field, term);
        segment
            .inverted
            .read_block_postings(&term, IndexRecordOption::WithFreqs)
            .map_err(|e| Error::io("reading the lexical index in", &self.folder, e))
    }

    pub(super) fn statistics(&self, scope: &Scope) -> Result<Statistics> {
        let readable = scope.readable();
        if readable.is_all() && readable.rows() == self.passages {
            return Ok(Statistics {
                passages: u64::from(self.passages),
                terms_total: self.terms_total,
            });
        }
        let mut known = self.scopes.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, statistics)) = known.iter().find(|(own, _)| own.readable() == readable) {
            return Ok(*statistics);
        }
        let lengths = self.lengths.numbers::<u32>()?;
        let terms_total = readable.iter().map(|row| u64::from(lengths[row as usize])).sum();
        let statistics = Statistics { passages: u64::from(readable.count()), terms_total };
        if known.len() == SCOPES_KEPT {
            known.remove(0);
        }
        known.push((scope.clone(), statistics));
        Ok(statistics)
    }

    pub(super) fn lengths(&self) -> Result<&[u32]> {
        self.lengths.numbers()
    }

    /// The postings of `term` as (row, tf), ascending; for the oracle.
    pub(super) fn list(&self, term: &str) -> Result<Vec<(u32, u32)>> {
        let segments = self.segments()?;
        let mut all = Vec::new();
        for segment in &segments.list {
            if let Some(mut postings) = self.postings(segments.field, segment, term)? {
                while !postings.docs().is_empty() {
                    let pairs = postings.docs().iter().zip(postings.freqs());
                    all.extend(pairs.map(|(doc, tf)| (segment.base + doc, *tf)));
                    postings.advance();
                }
            }
        }
        Ok(all)
    }
}
