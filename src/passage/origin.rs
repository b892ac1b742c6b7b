//! From the text of a block back to its source file.

use std::ops::Range;

use serde::{Deserialize, Serialize};

use crate::corpus::{BodyForm, Document, Lines, Offsets, Place};

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

/// Where the text of a block comes from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Origin {
    /// The text is the file's own, in runs: `(byte of the text, byte of the file, line of the file)`,
    /// where the line is that on which the run begins, and bytes of the file are those of its text.
    Own(Vec<(usize, u64, u64)>, Offsets),
    /// The reader said where: `(byte of the text, place)`, each in force up to the next.
    Said(Vec<(usize, Place)>),
}

impl Origin {
    /// The origin of a text made of the ranges `kept` of the document's body.
    pub(super) fn of(document: &Document, ends: &LineEnds, kept: &[Range<usize>]) -> Self {
        let source = &document.source;
        if let Some(place) = &source.record {
            return Self::Said(vec![(0, place.clone())]);
        }
        let mut passed = 0;
        let runs = kept.iter().map(|range| {
            passed += range.len();
            (passed - range.len(), range)
        });
        if let BodyForm::Structured(structure) = &document.form {
            let places = &structure.places;
            let said = runs.flat_map(|(text, range)| {
                // The place in force at the start of the run, and those that begin inside.
                let before = places.partition_point(|(byte, _)| *byte <= range.start);
                let end = places.partition_point(|(byte, _)| *byte < range.end).max(before);
                let own = places.get(before.saturating_sub(1)..end).unwrap_or_default();
                own.iter().map(move |(byte, place)| {
                    (text + byte.saturating_sub(range.start), place.clone())
                })
            });
            return Self::Said(said.collect());
        }
        let own = runs.map(|(text, range)| {
            let byte = source.first_byte + range.start as u64;
            (text, byte, source.first_line + ends.before(range.start))
        });
        let byte = |at: usize| source.first_byte + at as u64;
        let all =
            kept.first().map_or(0, |first| first.start)..kept.last().map_or(0, |last| last.end);
        Self::Own(own.collect(), source.offsets.within(&(byte(all.start)..byte(all.end))))
    }

    /// The place of `bytes` of the text, whose line ends are `ends`.
    pub(super) fn place(&self, ends: &LineEnds, bytes: &Range<usize>) -> Place {
        match self {
            Self::Own(runs, offsets) => {
                let place = |byte: usize| {
                    let at = runs.partition_point(|(start, ..)| *start <= byte).max(1) - 1;
                    let (start, file, line) = runs.get(at).copied().unwrap_or((0, 0, 1));
                    let lines = ends.before(byte) - ends.before(start);
                    (line + lines, file + byte.saturating_sub(start) as u64)
                };
                let last = bytes.end.saturating_sub(1).max(bytes.start);
                let ((first, from), (last, to)) = (place(bytes.start), place(last));
                Place::text(Lines { first, last }, offsets.range(&(from..to + 1)))
            }
            Self::Said(places) => {
                let from = places.partition_point(|(start, _)| *start <= bytes.start).max(1) - 1;
                let inside = |at: &usize| places[*at].0 < bytes.end;
                let own = (from..places.len()).take_while(|at| *at == from || inside(at));
                own.map(|at| &places[at].1).fold(Place::default(), |all, one| all.with(one))
            }
        }
    }
}
