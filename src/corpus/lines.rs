//! Lines of a file that know where they stand, for formats that are read line by line.

use super::{Lines, Place};

/// A line without its end.
#[derive(Debug, Clone, Copy)]
pub(super) struct Line<'t> {
    pub(super) text: &'t str,
    /// Its number, from 1.
    number: u64,
    /// The byte at which it begins.
    byte: u64,
}

impl Line<'_> {
    pub(super) fn is_blank(&self) -> bool {
        self.text.trim().is_empty()
    }

    /// Columns before its text; a tab reaches to the next multiple of eight.
    pub(super) fn indent(&self) -> usize {
        let blanks = self.text.chars().take_while(|c| matches!(c, ' ' | '\t'));
        blanks.fold(0, |at, c| if c == '\t' { (at / 8 + 1) * 8 } else { at + 1 })
    }
}

/// All lines of `text`.
pub(super) fn lines_of(text: &str) -> Vec<Line<'_>> {
    let mut byte = 0;
    (1..)
        .zip(text.split('\n'))
        .map(|(number, text)| {
            let start = byte;
            byte += text.len() as u64 + 1;
            Line { text, number, byte: start }
        })
        .collect()
}

/// Where `lines` stand together.
pub(super) fn place(lines: &[Line<'_>]) -> Place {
    let (Some(first), Some(last)) = (lines.first(), lines.last()) else { return Place::default() };
    let numbers = Lines { first: first.number, last: last.number };
    Place::text(numbers, first.byte..last.byte + last.text.len() as u64)
}

/// The texts of `lines`, one a line, without the indentation that all have.
pub(super) fn dedented(lines: &[Line<'_>]) -> String {
    let indents = lines.iter().filter(|line| !line.is_blank()).map(Line::indent);
    let common = indents.min().unwrap_or(0);
    let cut = lines.iter().map(|line| {
        let (mut at, mut column) = (0, 0);
        for c in line.text.chars().take_while(|c| matches!(c, ' ' | '\t')) {
            let next = if c == '\t' { (column / 8 + 1) * 8 } else { column + 1 };
            if next > common {
                break;
            }
            (at, column) = (at + 1, next);
        }
        &line.text[at..]
    });
    cut.collect::<Vec<_>>().join("\n")
}

/// The texts of `lines`, trimmed, as one line.
pub(super) fn joined(lines: &[Line<'_>]) -> String {
    lines.iter().map(|line| line.text.trim()).collect::<Vec<_>>().join(" ")
}
