//! A question as the lexical index sees it.

use std::sync::{Arc, OnceLock};

use crate::access::Bitmap;
use crate::error::Result;

/// The distinct terms of a question with how often each occurs, sorted by term. Built from the
/// analyzer's terms, never parsed: no question is a syntax error.
#[derive(Debug, Clone, Default)]
pub struct Query {
    terms: Vec<(String, u32)>,
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
        Self { terms: counted, counted: OnceLock::new() }
    }

    /// The document frequency of each term among `readable`, by `count` the first time they are asked
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
        let frequencies: Result<Vec<u64>> =
            self.terms.iter().map(|(term, _)| count(term)).collect();
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
