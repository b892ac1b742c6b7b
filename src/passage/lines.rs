//! Lines of a source file.

use std::fmt;

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

/// Where the lines of a text end, to tell the line of a byte in logarithmic time.
#[derive(Debug, Clone)]
pub(super) struct LineEnds(Vec<usize>);

impl LineEnds {
    pub(super) fn of(text: &str) -> Self {
        let ends = text.bytes().enumerate().filter(|(_, byte)| *byte == b'\n');
        Self(ends.map(|(place, _)| place).collect())
    }

    /// How many lines end before `byte`: the number of its line, from 0.
    pub(super) fn before(&self, byte: usize) -> u64 {
        self.0.partition_point(|end| *end < byte) as u64
    }
}
