//! A question as the lexical index sees it.

use std::sync::{Arc, OnceLock};

use super::Group;
use crate::access::Bitmap;
use crate::error::Result;
use crate::text::{Asked, without_accents};

/// The distinct terms of a question with how often each occurs, sorted by term. An occurrence with
/// accents counts one half as it is and one half without them (see [`without_accents`]). Built from the
/// analyzer's terms, never parsed: no question is a syntax error.
#[derive(Debug, Clone, Default)]
pub struct Query {
    terms: Vec<(String, f64)>,
    /// Parts of codes: how much of a term's count is asked for as a part of which code.
    parts: Vec<(String, f64, String)>,
    groups: Vec<Group>,
    /// Terms of the groups' alternatives that are not asked, each once.
    beside: Vec<String>,
    counted: OnceLock<Counted>,
}

/// Document frequencies of a query's terms in one scope: counted by the first stage of a search that
/// needs them, and read by the others.
#[derive(Debug, Clone)]
struct Counted {
    readable: Arc<Bitmap>,
    frequencies: Vec<u64>,
}

impl Query {
    /// Counts the terms of [`crate::text::Analyzer::asked`].
    pub fn new(asked: impl IntoIterator<Item = impl Into<Asked>>) -> Self {
        let (mut all, mut parts) = (Vec::new(), Vec::new());
        for asked in asked {
            let Asked { term, code } = asked.into();
            let forms = match without_accents(&term) {
                Some(bare) => vec![(term, 0.5), (bare, 0.5)],
                None => vec![(term, 1.0)],
            };
            if let Some(code) = code {
                parts
                    .extend(forms.iter().map(|(form, count)| (form.clone(), *count, code.clone())));
            }
            all.extend(forms);
        }
        all.sort_unstable_by(|a, b| a.0.cmp(&b.0));
        let mut counted: Vec<(String, f64)> = Vec::with_capacity(all.len());
        for (term, count) in all {
            match counted.last_mut() {
                // Sums of halves are exact, in any order.
                Some((last, sum)) if *last == term => *sum += count,
                _ => counted.push((term, count)),
            }
        }
        Self { terms: counted, parts, ..Self::default() }
    }

    /// How often each term is asked for where the terms have these document frequencies. Of a code that
    /// is known, its parts are not asked for: `417` in `E-417` would find every page 417.
    pub(super) fn counts(&self, frequencies: &[u64]) -> Vec<f64> {
        let place =
            |term: &str| self.terms.binary_search_by(|(own, _)| own.as_str().cmp(term)).ok();
        let mut counts: Vec<f64> = self.terms.iter().map(|(_, count)| *count).collect();
        for (part, count, code) in &self.parts {
            let known = place(code).and_then(|at| frequencies.get(at)).is_some_and(|df| *df > 0);
            if let Some(at) = place(part).filter(|_| known) {
                counts[at] -= count;
            }
        }
        counts
    }

    /// The same with `groups` of its terms that other words may stand for.
    #[must_use]
    pub fn with_groups(mut self, groups: Vec<Group>) -> Self {
        let asked = |term: &String| self.terms.binary_search_by(|(own, _)| own.cmp(term)).is_ok();
        let instead = groups.iter().flat_map(|group| group.instead.iter().flatten());
        let mut beside: Vec<String> = instead.filter(|term| !asked(term)).cloned().collect();
        beside.sort_unstable();
        beside.dedup();
        self.counted = OnceLock::new();
        Self { groups, beside, ..self }
    }

    /// Runs of its terms that other words may stand for; none for most questions.
    pub fn groups(&self) -> &[Group] {
        &self.groups
    }

    /// The terms, and then those of the groups' alternatives that are not among them.
    pub(super) fn all_terms(&self) -> impl Iterator<Item = &str> {
        let asked = self.terms.iter().map(|(term, _)| term.as_str());
        asked.chain(self.beside.iter().map(String::as_str))
    }

    /// The document frequency of each of [`Query::all_terms`] among `readable`, by `count` the first time they are asked
    /// for. A query serves one index; for another scope than the first it counts anew each time.
    pub(super) fn frequencies(
        &self,
        readable: &Arc<Bitmap>,
        count: impl Fn(&str) -> Result<u64>,
    ) -> Result<Vec<u64>> {
        if let Some(counted) = self.counted.get()
            && Arc::ptr_eq(&counted.readable, readable)
        {
            return Ok(counted.frequencies.clone());
        }
        let frequencies: Result<Vec<u64>> = self.all_terms().map(count).collect();
        let frequencies = frequencies?;
        let counted = Counted { readable: Arc::clone(readable), frequencies: frequencies.clone() };
        // Another thread may have been first; what it counted is as good.
        let _ = self.counted.set(counted);
        Ok(frequencies)
    }

    /// The terms and their counts, by term ascending.
    pub fn terms(&self) -> &[(String, f64)] {
        &self.terms
    }
}
