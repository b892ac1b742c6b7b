//! A question as the lexical index sees it.

/// The distinct terms of a question with how often each occurs, sorted by term. Built from the
/// analyzer's terms, never parsed: no question is a syntax error.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Query {
    terms: Vec<(String, u32)>,
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
        Self { terms: counted }
    }

    /// The terms and their counts, by term ascending.
    pub fn terms(&self) -> &[(String, u32)] {
        &self.terms
    }
}
