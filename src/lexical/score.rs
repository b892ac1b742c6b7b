//! BM25.

use serde::{Deserialize, Serialize};

/// The two constants of BM25 (Robertson and Zaragoza, 2009), in the form that Lucene 8 and later
/// use, without the constant factor `k1 + 1`:
///
/// ```text
/// score(q, d) = Σ over terms t of q:  count(t, q) · idf(t) · tf / (tf + k1 · (1 − b + b · |d| / avg))
/// idf(t)      = ln(1 + (N − df + 0.5) / (df + 0.5))
/// ```
///
/// `N`, `df` and `avg` are those of the asker's scope, `|d|` is the exact number of terms. A term
/// contributes less than `count · idf`, whatever the statistics; the sum of those bounds is the
/// most that any passage could score.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Bm25 {
    /// How slowly repeats of a term saturate, 0.0 or more. Default 1.2.
    pub k1: f64,
    /// How much length counts, 0.0..=1.0. Default 0.75.
    pub b: f64,
}

impl Default for Bm25 {
    fn default() -> Self {
        Self { k1: 1.2, b: 0.75 }
    }
}

/// Statistics of a scope.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Statistics {
    /// Passages in the scope.
    pub passages: u64,
    /// Terms in them.
    pub terms_total: u64,
}

/// The saturation of one request: `tf / (tf + floor + slope · length)`.
#[derive(Debug, Clone, Copy)]
pub(super) struct Saturation {
    floor: f64,
    slope: f64,
}

impl Bm25 {
    /// The inverse document frequency of a term that `df` of `passages` passages hold.
    pub fn idf(passages: u64, df: u64) -> f64 {
        let (n, df) = (passages as f64, df as f64);
        (1.0 + (n - df + 0.5) / (df + 0.5)).ln()
    }

    pub(super) fn saturation(self, statistics: Statistics) -> Saturation {
        let average = statistics.terms_total as f64 / (statistics.passages.max(1)) as f64;
        Saturation { floor: self.k1 * (1.0 - self.b), slope: self.k1 * self.b / average.max(1.0) }
    }
}

impl Saturation {
    /// The share of a term's bound that `tf` occurrences in a passage of `length` terms earn.
    #[inline]
    pub(super) fn share(self, tf: u32, length: u32) -> f64 {
        let tf = f64::from(tf);
        tf / (tf + (self.floor + self.slope * f64::from(length)))
    }
}

/// What one term gave to one passage's score.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Explained {
    /// The term.
    pub term: String,
    /// How often the question holds it; one half for a term with accents, and one half without them.
    pub count: f64,
    /// Passages of the scope that hold it.
    pub df: u64,
    /// Its inverse document frequency.
    pub idf: f64,
    /// How often the passage holds it.
    pub tf: u32,
    /// Its part of the score.
    pub score: f64,
    /// The asked terms that it stands for, where it is none of them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stands_for: Option<String>,
    /// Whether it stands in a heading of the passage: see [`super::LexicalIndex::headings`].
    pub heading: bool,
}
