//! Places in a source file: page, lines, bytes.

use std::fmt;
use std::ops::Range;

use serde::{Deserialize, Serialize};

/// A range of lines, both ends included, counted from 1; written `3-7`, or `3` for a single line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Lines {
    /// The first line.
    pub first: u64,
    /// The last line, not before the first.
    pub last: u64,
}

impl fmt::Display for Lines {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.first == self.last {
            write!(out, "{}", self.first)
        } else {
            write!(out, "{}-{}", self.first, self.last)
        }
    }
}

/// Where a text stands in its source file, as far as the file's format tells.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Place {
    /// The page on which it begins, from 1, in formats with pages.
    pub page: Option<u32>,
    /// Its lines, in formats with lines.
    pub lines: Option<Lines>,
    /// Its bytes in the file as it lies, from 0, in formats that are text, whatever their encoding and line
    /// ends.
    pub bytes: Option<Range<u64>>,
}

impl Place {
    /// Lines and bytes of a file that is text.
    pub fn text(lines: Lines, bytes: Range<u64>) -> Self {
        Self { page: None, lines: Some(lines), bytes: Some(bytes) }
    }

    /// A page, from 1.
    pub fn page(page: u32) -> Self {
        Self { page: Some(page), ..Self::default() }
    }

    /// The place of two texts together: the first page, and from the first to the last of lines and
    /// bytes.
    #[must_use]
    pub fn with(mut self, other: &Self) -> Self {
        self.page = [self.page, other.page].into_iter().flatten().min();
        self.lines = match (self.lines, other.lines) {
            (Some(one), Some(two)) => {
                Some(Lines { first: one.first.min(two.first), last: one.last.max(two.last) })
            }
            (one, two) => one.or(two),
        };
        self.bytes = match (self.bytes, &other.bytes) {
            (Some(one), Some(two)) => Some(one.start.min(two.start)..one.end.max(two.end)),
            (one, two) => one.or_else(|| two.clone()),
        };
        self
    }
}
