//! Reading the lexical index: the best rows of a scope, and the true score of any row.

use std::borrow::Cow;
use std::cell::OnceCell;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use super::layer::{LexicalLayer, SOUGHT_ROWS_MAX, Weighted};
use super::score::Statistics;
use super::union::Best;
use super::{Bm25, Explained, Query};
use crate::access::{Bitmap, Scope};
use crate::error::Result;
use crate::format::{Layer, Layout, Manifest, Pace};
use crate::text::HEADING;

/// Scopes whose statistics are remembered.
const SCOPES_KEPT: usize = 64;

/// The lexical index of one open generation.
pub struct LexicalIndex {
    layers: Vec<LexicalLayer>,
    layout: Arc<Layout>,
    terms_total: u64,
    /// What is alive of each layer.
    alive: Vec<Bitmap>,
    scopes: Mutex<Vec<(Scope, Statistics)>>,
}

/// A set of rows as one layer sees it: taken over from the scope where there is but one.
type Own<'s> = Cow<'s, Bitmap>;

impl std::fmt::Debug for LexicalIndex {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.debug_struct("LexicalIndex").field("rows", &self.layout.len()).finish_non_exhaustive()
    }
}

impl LexicalIndex {
    /// Opens the index of the generation in `folder`, whose rows lie as `layout` says. Tantivy's files
    /// are checked whole and opened by the first search; the lengths are checked as they are touched.
    pub fn open(folder: &Path, manifest: &Manifest, layout: Arc<Layout>) -> Result<Self> {
        let open = |layer: &Layer| LexicalLayer::open(&folder.join(&layer.folder), layer);
        let layers: Vec<LexicalLayer> = manifest.layers.iter().map(open).collect::<Result<_>>()?;
        let all = Bitmap::all(layout.len());
        let alive = (0..layers.len()).map(|at| all.of_layer(&layout, at)).collect();
        let terms_total = manifest.terms_total;
        Ok(Self { layers, layout, terms_total, alive, scopes: Mutex::new(Vec::new()) })
    }

    /// Reads every byte and compares it with the manifest.
    pub fn verify(&self, pace: &Pace) -> Result<()> {
        self.layers.iter().try_for_each(|layer| layer.verify(pace))
    }

    /// `rows` in numbers of `layer`.
    fn own<'s>(&'s self, rows: &'s Bitmap, layer: usize) -> Own<'s> {
        if self.layout.is_whole() {
            Cow::Borrowed(rows)
        } else if rows.is_all() {
            Cow::Borrowed(&self.alive[layer])
        } else {
            Cow::Owned(rows.of_layer(&self.layout, layer))
        }
    }

    /// The length of `row` in terms.
    pub(super) fn length(&self, row: u32) -> Result<u32> {
        let Some((layer, own)) = self.layout.locate(row) else { return Ok(0) };
        let lengths = self.layers[layer].lengths.numbers::<u32>()?;
        Ok(lengths.get(own as usize).copied().unwrap_or(0))
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
        if !query.groups().is_empty() {
            self.search_grouped(query, scope, bm25, depth)
        } else if scope.allowed().count() <= SOUGHT_ROWS_MAX {
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
        let saturation = bm25.saturation(self.statistics(scope)?);
        let mut best = Vec::new();
        for (at, layer) in self.layers.iter().enumerate() {
            let own = layer.union(&weighted, saturation, &self.own(scope.allowed(), at), depth)?;
            // What is alive has a number.
            best.extend(
                own.into_iter()
                    .filter_map(|(own, score)| Some((self.layout.number(at, own)?, score))),
            );
        }
        if self.layers.len() > 1 {
            best.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
            best.truncate(depth);
        }
        Ok(best)
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
        if !query.groups().is_empty() {
            return self.score_grouped(query, scope, bm25, rows);
        }
        let weighted = self.weigh(query, scope)?;
        let saturation = bm25.saturation(self.statistics(scope)?);
        self.sum(rows, |layer, sought, hear| layer.score(&weighted, saturation, sought, hear))
    }

    /// What the headings of each of `rows` say of the question, in their order: the sum of
    /// `count · idf` over the terms that stand in the document's title or the titles of the sections.
    pub fn headings(&self, query: &Query, scope: &Scope, rows: &[u32]) -> Result<Vec<f64>> {
        let weighted = self.weigh(query, scope)?;
        let terms: Vec<(String, f64)> =
            weighted.iter().map(|weight| (marked(weight.term), weight.bound)).collect();
        self.sum(rows, |layer, sought, hear| layer.held(&terms, sought, hear))
    }

    /// Whether `term` stands in a heading of `row`.
    pub(super) fn in_heading(&self, term: &str, row: u32) -> Result<bool> {
        let Some((layer, own)) = self.layout.locate(row) else { return Ok(false) };
        Ok(self.layers[layer].frequency(&marked(term), own)? > 0)
    }

    /// Sums what `part` of a layer gives to each of `rows`: to it go the layer's own, ascending, and
    /// back come places among them.
    fn sum(
        &self,
        rows: &[u32],
        part: impl Fn(&LexicalLayer, &[u32], &mut dyn FnMut(usize, f64)) -> Result<()>,
    ) -> Result<Vec<f64>> {
        let mut scores = vec![0.0; rows.len()];
        for (own, layer) in self.located(rows) {
            let sought: Vec<u32> = own.iter().map(|(row, _)| *row).collect();
            part(layer, &sought, &mut |at, part| scores[own[at].1] += part)?;
        }
        Ok(scores)
    }

    /// Each layer with those of `rows` that are its own: their numbers there, ascending, and their places
    /// in `rows`.
    pub(super) fn located(
        &self,
        rows: &[u32],
    ) -> impl Iterator<Item = (Vec<(u32, usize)>, &LexicalLayer)> {
        let mut own: Vec<Vec<(u32, usize)>> = vec![Vec::new(); self.layers.len()];
        for (at, &row) in rows.iter().enumerate() {
            if let Some((layer, row)) = self.layout.locate(row) {
                own[layer].push((row, at));
            }
        }
        own.iter_mut().for_each(|own| own.sort_unstable());
        own.into_iter().zip(&self.layers)
    }

    /// Calls `work` with each layer and those of `rows` that are its own, in its numbers.
    pub(super) fn each_layer(
        &self,
        rows: &Bitmap,
        mut work: impl FnMut(usize, &LexicalLayer, &Bitmap) -> Result<()>,
    ) -> Result<()> {
        let mut layers = self.layers.iter().enumerate();
        layers.try_for_each(|(at, layer)| work(at, layer, &self.own(rows, at)))
    }

    /// The number of row `own` of `layer`, if it is alive.
    pub(super) fn number(&self, layer: usize, own: u32) -> Option<u32> {
        self.layout.number(layer, own)
    }

    /// What each term of the query gives to `row`, by contribution descending. Of a group the better side
    /// is told.
    pub fn explain(
        &self,
        query: &Query,
        scope: &Scope,
        bm25: Bm25,
        row: u32,
    ) -> Result<Vec<Explained>> {
        if !query.groups().is_empty() {
            return self.explain_grouped(query, scope, bm25, row);
        }
        let saturation = bm25.saturation(self.statistics(scope)?);
        let length = self.length(row)?;
        let place = self.layout.locate(row);
        let mut explained = Vec::new();
        for weight in self.weigh(query, scope)? {
            let tf = match place {
                Some((layer, own)) => self.layers[layer].frequency(weight.term, own)?,
                None => 0,
            };
            explained.push(Explained {
                term: weight.term.to_owned(),
                count: weight.count,
                df: weight.df,
                idf: weight.idf,
                tf,
                score: if tf == 0 { 0.0 } else { weight.bound * saturation.share(tf, length) },
                stands_for: None,
                heading: self.in_heading(weight.term, row)?,
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
        let counts = query.counts(&self.frequencies(query, scope)?);
        for ((term, _), count) in query.terms().iter().zip(counts) {
            if count > 0.0 && !known.iter().any(|weight| weight.term == term) {
                total += count * Bm25::idf(passages, 0);
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
        let frequencies = self.frequencies(query, scope)?;
        let counts = query.counts(&frequencies);
        let mut weighted = Vec::with_capacity(query.terms().len());
        for (((term, _), count), df) in query.terms().iter().zip(counts).zip(frequencies) {
            if df > 0 && count > 0.0 {
                let idf = Bm25::idf(passages, df);
                weighted.push(Weighted { term, count, df, idf, bound: count * idf });
            }
        }
        weighted.sort_by(|a, b| b.bound.total_cmp(&a.bound).then_with(|| a.term.cmp(b.term)));
        Ok(weighted)
    }

    /// The document frequency in the scope of each of [`Query::all_terms`].
    pub(super) fn frequencies(&self, query: &Query, scope: &Scope) -> Result<Vec<u64>> {
        let readable: OnceCell<Vec<Own<'_>>> = OnceCell::new();
        let own = || (0..self.layers.len()).map(|at| self.own(scope.readable(), at)).collect();
        let count = |term: &str| self.document_frequency(term, readable.get_or_init(own));
        query.frequencies(scope.readable_shared(), count)
    }

    /// How many readable passages hold `term`.
    fn document_frequency(&self, term: &str, readable: &[Own<'_>]) -> Result<u64> {
        let counts = self.layers.iter().zip(readable);
        counts.map(|(layer, readable)| layer.document_frequency(term, readable)).sum()
    }

    pub(super) fn statistics(&self, scope: &Scope) -> Result<Statistics> {
        let readable = scope.readable();
        if readable.is_all() && readable.rows() == self.layout.len() {
            return Ok(Statistics {
                passages: u64::from(self.layout.len()),
                terms_total: self.terms_total,
            });
        }
        let mut known = self.scopes.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, statistics)) = known.iter().find(|(own, _)| own.readable() == readable) {
            return Ok(*statistics);
        }
        let statistics = Statistics {
            passages: u64::from(readable.count()),
            terms_total: self.terms(readable)?,
        };
        if known.len() == SCOPES_KEPT {
            known.remove(0);
        }
        known.push((scope.clone(), statistics));
        Ok(statistics)
    }

    /// How many terms the passages of `rows` hold.
    fn terms(&self, rows: &Bitmap) -> Result<u64> {
        let mut total = 0;
        for (at, layer) in self.layers.iter().enumerate() {
            let lengths = layer.lengths.numbers::<u32>()?;
            total +=
                self.own(rows, at).iter().map(|row| u64::from(lengths[row as usize])).sum::<u64>();
        }
        Ok(total)
    }

    /// How many terms all live passages hold, added up.
    pub fn terms_total(&self) -> Result<u64> {
        self.terms(&Bitmap::all(self.layout.len()))
    }

    /// The lengths of all rows; for the oracle.
    pub(super) fn lengths(&self) -> Result<Vec<u32>> {
        (0..self.layout.len()).map(|row| self.length(row)).collect()
    }

    /// The postings of `term` as (row, tf), ascending; for the oracle.
    pub(super) fn list(&self, term: &str) -> Result<Vec<(u32, u32)>> {
        let mut all = Vec::new();
        for (at, layer) in self.layers.iter().enumerate() {
            let segments = layer.segments()?;
            for segment in &segments.list {
                if let Some(mut postings) = layer.postings(segments.field, segment, term)? {
                    while !postings.docs().is_empty() {
                        for (doc, tf) in postings.docs().iter().zip(postings.freqs()) {
                            let row = self.layout.number(at, segment.base + doc);
                            all.extend(row.map(|row| (row, *tf)));
                        }
                        postings.advance();
                    }
                }
            }
        }
        all.sort_unstable();
        Ok(all)
    }
}

/// `term` as it is indexed where it stands in a heading.
fn marked(term: &str) -> String {
    format!("{HEADING}{term}")
}
