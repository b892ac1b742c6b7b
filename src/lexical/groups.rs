//! Words that may stand for words of the question, scored exactly.
//!
//! A group is a run of the question's terms with what may stand in its place. Its score is that of the
//! best of them, so a passage that says the same thing in two ways earns it once:
//!
//! ```text
//! group(d)       = max(asked(d), max over alternatives a of  weight · idf(a) · share(tf_a, |d|))
//! asked(d)       = Σ over the asked terms t:  idf(t) · share(tf_t, |d|)
//! tf_a           = the least tf of a's terms: the phrase cannot occur more often
//! idf(a)         = min(Σ idf of a's terms, Σ idf of the asked terms)
//! share(tf, |d|) = tf / (tf + k1 · (1 − b + b · |d| / avg))
//! ```
//!
//! The sum of idf is what the idf of "all of them" would be if they occurred independently. It is
//! capped, so that an alternative never earns more than its weight's share of what the asked words
//! earn at the same count and length, however rare it is, and [`LexicalIndex::bound`] holds as it is.

use super::layer::{Cursor, LexicalLayer, SOUGHT_ROWS_MAX};
use super::score::{Explained, Saturation};
use super::union::{Best, WINDOW_ROWS};
use super::{Bm25, LexicalIndex, Query};
use crate::access::{Bitmap, Scope};
use crate::error::Result;

/// A run of the question's terms, and what may stand for it.
#[derive(Debug, Clone, PartialEq)]
pub struct Group {
    /// The asked terms, in their order; each is one of the question's.
    pub asked: Vec<String>,
    /// What may stand for them: each a list of terms that must all occur.
    pub instead: Vec<Vec<String>>,
    /// What an alternative counts beside the asked words, 0.0..=1.0.
    pub weight: f64,
}

/// A term's place among the plan's terms, and the most that it can give.
type Part = (usize, f64);

/// A question with groups, ready to be scored in one scope.
pub(super) struct Plan<'q> {
    /// The terms that occur in the scope, each once.
    pub terms: Vec<&'q str>,
    /// Terms outside the groups, heaviest first, ties by the term.
    plain: Vec<Part>,
    groups: Vec<Planned<'q>>,
}

struct Planned<'q> {
    group: &'q Group,
    asked: Vec<Part>,
    instead: Vec<(&'q [String], Vec<usize>, f64)>,
}

impl Planned<'_> {
    fn asked(&self, tfs: &[u32], length: u32, saturation: Saturation) -> f64 {
        sum(&self.asked, tfs, length, saturation)
    }

    /// The best alternative and its score.
    fn instead(&self, tfs: &[u32], length: u32, saturation: Saturation) -> Option<(usize, f64)> {
        let score = |(at, (_, terms, bound)): (usize, &(_, Vec<usize>, f64))| {
            let tf = terms.iter().map(|term| tfs[*term]).min().filter(|tf| *tf > 0)?;
            Some((at, bound * saturation.share(tf, length)))
        };
        // Of equal scores the first in the file.
        let best = |a: (usize, f64), b: (usize, f64)| if b.1 > a.1 { b } else { a };
        self.instead.iter().enumerate().filter_map(score).reduce(best)
    }
}

fn sum(parts: &[Part], tfs: &[u32], length: u32, saturation: Saturation) -> f64 {
    let held = parts.iter().filter(|(term, _)| tfs[*term] > 0);
    held.fold(0.0, |sum, (term, bound)| sum + bound * saturation.share(tfs[*term], length))
}

impl Plan<'_> {
    /// The score of a passage of `length` terms that holds each of the plan's terms `tfs` times.
    pub(super) fn score(&self, tfs: &[u32], length: u32, saturation: Saturation) -> f64 {
        let mut total = sum(&self.plain, tfs, length, saturation);
        for group in &self.groups {
            let asked = group.asked(tfs, length, saturation);
            let instead = group.instead(tfs, length, saturation).map_or(0.0, |(_, score)| score);
            total += asked.max(instead);
        }
        total
    }
}

impl LexicalIndex {
    /// How `query` is scored in `scope`.
    pub(super) fn plan<'q>(&self, query: &'q Query, scope: &Scope) -> Result<Plan<'q>> {
        let passages = self.statistics(scope)?.passages;
        let frequencies = self.frequencies(query, scope)?;
        let counts = query.counts(&frequencies);
        let known: Vec<(&str, u64)> =
            query.all_terms().zip(frequencies).filter(|(_, df)| *df > 0).collect();
        let mut terms: Vec<(&str, u64)> = known;
        terms.sort_unstable();
        let place = |term: &str| terms.binary_search_by(|(own, _)| (*own).cmp(term)).ok();
        let idf = |term: &str| Bm25::idf(passages, place(term).map_or(0, |at| terms[at].1));
        let part = |term: &str, count: f64| place(term).map(|at| (at, count * idf(term)));
        // What one occurrence counts: less than one for a term with accents, nothing for the part of a
        // code that is known.
        let once = |term: &str| {
            let at = query.terms().binary_search_by(|(own, _)| own.as_str().cmp(term));
            at.map_or(1.0, |at| counts[at].min(1.0))
        };
        let heaviest_first = |parts: &mut Vec<Part>| {
            parts.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
        };
        let grouped = |term: &str| {
            let asked = query.groups().iter().flat_map(|group| &group.asked);
            asked.filter(|own| *own == term).count() as f64 * once(term)
        };
        let outside = query.terms().iter().zip(&counts).filter_map(|((term, _), count)| {
            let left = count - grouped(term);
            part(term, left).filter(|_| left > 0.0)
        });
        let mut plain: Vec<Part> = outside.collect();
        heaviest_first(&mut plain);
        let groups = query.groups().iter().map(|group| {
            let mut asked: Vec<Part> =
                group.asked.iter().filter_map(|term| part(term, once(term))).collect();
            heaviest_first(&mut asked);
            let most: f64 = group.asked.iter().map(|term| once(term) * idf(term)).sum();
            let instead = group.instead.iter().filter_map(|phrase| {
                let places: Option<Vec<usize>> = phrase.iter().map(|term| place(term)).collect();
                let own: f64 = phrase.iter().map(|term| idf(term)).sum();
                Some((&phrase[..], places?, group.weight * own.min(most)))
            });
            Planned { group, asked, instead: instead.collect() }
        });
        let groups = groups.collect();
        Ok(Plan { plain, groups, terms: terms.into_iter().map(|(term, _)| term).collect() })
    }

    /// [`LexicalIndex::search`] for a query with groups.
    pub(super) fn search_grouped(
        &self,
        query: &Query,
        scope: &Scope,
        bm25: Bm25,
        depth: usize,
    ) -> Result<Vec<(u32, f64)>> {
        if depth == 0 || scope.allowed().count() == 0 {
            return Ok(Vec::new());
        }
        let plan = self.plan(query, scope)?;
        let saturation = bm25.saturation(self.statistics(scope)?);
        let mut best = Vec::new();
        self.each_layer(scope.allowed(), |at, layer, own| {
            let mut own_best = Best::new(depth);
            let mut hear = |row: u32, tfs: &[u32], length: u32| {
                let score = plan.score(tfs, length, saturation);
                if score > 0.0 {
                    own_best.offer(row, score);
                }
            };
            layer.gather(&plan.terms, own, &mut hear)?;
            let sorted = own_best.into_sorted().into_iter();
            best.extend(sorted.filter_map(|(row, score)| Some((self.number(at, row)?, score))));
            Ok(())
        })?;
        best.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
        best.truncate(depth);
        Ok(best)
    }

    /// [`LexicalIndex::score`] for a query with groups.
    pub(super) fn score_grouped(
        &self,
        query: &Query,
        scope: &Scope,
        bm25: Bm25,
        rows: &[u32],
    ) -> Result<Vec<f64>> {
        let plan = self.plan(query, scope)?;
        let saturation = bm25.saturation(self.statistics(scope)?);
        let counts = self.counts(&plan.terms, rows)?;
        let score = |(at, row): (usize, &u32)| {
            let tfs = &counts[at * plan.terms.len()..(at + 1) * plan.terms.len()];
            Ok(plan.score(tfs, self.length(*row)?, saturation))
        };
        rows.iter().enumerate().map(score).collect()
    }

    /// How often each of `rows` holds each of `terms`: `[rows × terms]`, row-major.
    fn counts(&self, terms: &[&str], rows: &[u32]) -> Result<Vec<u32>> {
        let mut counts = vec![0; rows.len() * terms.len()];
        for (own, layer) in self.located(rows) {
            let sought: Vec<u32> = own.iter().map(|(row, _)| *row).collect();
            for (at, term) in terms.iter().enumerate() {
                layer.frequencies(term, &sought, &mut |place, tf| {
                    counts[own[place].1 * terms.len() + at] = tf;
                })?;
            }
        }
        Ok(counts)
    }

    /// What each term of a query with groups gives to `row`: of each group the better side.
    pub(super) fn explain_grouped(
        &self,
        query: &Query,
        scope: &Scope,
        bm25: Bm25,
        row: u32,
    ) -> Result<Vec<Explained>> {
        let plan = self.plan(query, scope)?;
        let saturation = bm25.saturation(self.statistics(scope)?);
        let passages = self.statistics(scope)?.passages;
        let length = self.length(row)?;
        let tfs = self.counts(&plan.terms, &[row])?;
        let frequencies: Vec<(&str, u64)> =
            query.all_terms().zip(self.frequencies(query, scope)?).collect();
        let df = |term: &str| frequencies.iter().find(|(own, _)| *own == term).map_or(0, |f| f.1);
        let one = |&(at, bound): &Part| {
            let (term, tf) = (plan.terms[at], tfs[at]);
            let idf = Bm25::idf(passages, df(term));
            let score = if tf == 0 { 0.0 } else { bound * saturation.share(tf, length) };
            let heading = self.in_heading(term, row)?;
            let (count, df, term) = (bound / idf, df(term), term.to_owned());
            Ok(Explained { term, count, df, idf, tf, score, stands_for: None, heading })
        };
        let mut explained = plan.plain.iter().map(one).collect::<Result<Vec<Explained>>>()?;
        for group in &plan.groups {
            let asked = group.asked(&tfs, length, saturation);
            match group.instead(&tfs, length, saturation) {
                Some((at, score)) if score > asked => {
                    let (phrase, terms, bound) = &group.instead[at];
                    explained.push(Explained {
                        term: phrase.join(" "),
                        count: 1.0,
                        df: phrase.iter().map(|term| df(term)).min().unwrap_or(0),
                        idf: bound / group.group.weight,
                        tf: terms.iter().map(|term| tfs[*term]).min().unwrap_or(0),
                        score,
                        stands_for: Some(group.group.asked.join(" ")),
                        heading: false,
                    });
                }
                _ => {
                    for part in &group.asked {
                        explained.push(one(part)?);
                    }
                }
            }
        }
        explained.sort_by(|a, b| b.score.total_cmp(&a.score).then_with(|| a.term.cmp(&b.term)));
        Ok(explained)
    }
}

impl LexicalLayer {
    /// Calls `hear` with every row of `allowed` that holds one of `terms`: the row in numbers of this
    /// layer, how often it holds each term, and its length. Rows ascend.
    fn gather(
        &self,
        terms: &[&str],
        allowed: &Bitmap,
        hear: &mut dyn FnMut(u32, &[u32], u32),
    ) -> Result<()> {
        let lengths = self.lengths.numbers::<u32>()?;
        if allowed.count() <= SOUGHT_ROWS_MAX {
            let rows: Vec<u32> = allowed.iter().collect();
            let mut tfs = vec![0; rows.len() * terms.len()];
            for (at, term) in terms.iter().enumerate() {
                self.frequencies(term, &rows, &mut |place, tf| tfs[place * terms.len() + at] = tf)?;
            }
            for (row, tfs) in rows.iter().zip(tfs.chunks_exact(terms.len().max(1))) {
                hear(*row, tfs, lengths[*row as usize]);
            }
            return Ok(());
        }
        let segments = self.segments()?;
        let mut tfs = vec![0_u32; WINDOW_ROWS as usize * terms.len()];
        let mut touched = vec![false; WINDOW_ROWS as usize];
        for segment in &segments.list {
            let mut cursors = Vec::with_capacity(terms.len());
            for (at, term) in terms.iter().enumerate() {
                if let Some(postings) = self.postings(segments.field, segment, term)? {
                    cursors.push((at, Cursor::new(postings, 0.0, segment.rows())));
                }
            }
            // Stretches without a document of any term are passed over.
            let next = |cursors: &[(usize, Cursor)]| {
                let documents = cursors.iter().filter_map(|(_, cursor)| cursor.document());
                documents.min().filter(|document| *document < segment.rows())
            };
            while let Some(start) = next(&cursors) {
                let stop = segment.rows().min(start.saturating_add(WINDOW_ROWS));
                for (at, cursor) in &mut cursors {
                    cursor.until(stop, |document, tf| {
                        let place = (document - start) as usize;
                        tfs[place * terms.len() + *at] = tf;
                        touched[place] = true;
                    });
                }
                for place in 0..touched.len() {
                    if !std::mem::take(&mut touched[place]) {
                        continue;
                    }
                    let own = &mut tfs[place * terms.len()..(place + 1) * terms.len()];
                    let row = segment.base + start + place as u32;
                    if allowed.contains(row) {
                        hear(row, own, lengths[row as usize]);
                    }
                    own.fill(0);
                }
            }
        }
        Ok(())
    }

    /// How often each of `rows`, which ascend, holds `term`, given to `hear` by its place among them;
    /// those that do not are left out.
    fn frequencies(
        &self,
        term: &str,
        rows: &[u32],
        hear: &mut dyn FnMut(usize, u32),
    ) -> Result<()> {
        let segments = self.segments()?;
        for segment in &segments.list {
            let mine = rows.partition_point(|row| *row < segment.base)
                ..rows.partition_point(|row| *row < segment.base + segment.rows());
            let Some(postings) = self.postings(segments.field, segment, term)? else { continue };
            let mut cursor = Cursor::new(postings, 0.0, segment.rows());
            for at in mine {
                if let Some(tf) = cursor.seek(rows[at] - segment.base) {
                    hear(at, tf);
                }
            }
        }
        Ok(())
    }
}
