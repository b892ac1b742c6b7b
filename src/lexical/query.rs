//! A question as the lexical index sees it.

use std::sync::{Arc, OnceLock};

use super::Group;
use crate::access::Bitmap;
use crate::error::Result;

/// The distinct terms of a question with how often each occurs, sorted by term. Built from the
/// analyzer's terms, never parsed: no question is a syntax error.
#[derive(Debug, Clone, Default)]
pub struct Query {
    terms: Vec<(String, u32)>,
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
    /// Counts the terms of [`crate::text::Analyzer::question`].
    pub fn new(mut terms: Vec<String>) -> Self {
        terms.sort_unstable();
        let mut counted: Vec<(String, u32)> = Vec::with_capacity(terms.len());
        for term in terms {
            match counted.last_mut() {
                Some((last, count)) if *last == term => *count += 1,
                _ => counted.push((term, 1)),
            }
        }
        Self { terms: counted, ..Self::default() }
    }

    /// The same with `groups` of its terms that other words may stand for.
    #[must_use]
    pub fn with_groups(mut self, groups: Vec<Group>) -> Self {
        let asked = |term: &String| self.terms.binary_search_by(|(own, _)| own.cmp(term)).is_ok();
        let instead = groups.iter().flat_map(|group| group.instead.iter().flatten());
        let mut beside: Vec<String> = instead.filter(|term| !asked(term)).cloned().collect();
        beside.sort_unstable();
        beside.dedup();
        Self { terms: std::mem::take(&mut self.terms), groups, beside, counted: OnceLock::new() }
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
    pub fn terms(&self) -> &[(String, u32)] {
        &self.terms
    }
}
