//! Packs pieces of a text, in order, into passages of a limited size.

use std::ops::Range;

use super::Settings;
use super::pieces::tail_of_sentences;
use crate::text::estimate_tokens;

/// Whether a fragment may be larger than a passage.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Fit {
    /// It is refused, to be split further.
    Needed,
    /// It is taken: it can't be split.
    Waived,
}

/// The header and separator of a table, repeated wherever the table goes on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Header {
    pub(super) bytes: Range<usize>,
    pub(super) tokens: usize,
}

/// A passage: what it repeats, and what it holds.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Cut {
    pub(super) header: Option<Range<usize>>,
    pub(super) bytes: Range<usize>,
}

#[derive(Debug, Clone)]
struct Piece {
    bytes: Range<usize>,
    tokens: usize,
    kind: Kind,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Kind {
    /// An element, a sentence, a line: may be repeated as overlap.
    Whole,
    /// A row of a table below the first.
    Row(Header),
    /// A part of a sentence, or the head of a table: never repeated.
    Fragment,
}

/// The passages made so far, and the one being filled.
///
/// Pieces come in the order of the text and leave out only white space. Tokens of pieces are added
/// up; since a text never costs more than its parts, a passage never exceeds the limit.
pub(super) struct Packer<'a> {
    text: &'a str,
    max_tokens: usize,
    overlap_tokens: usize,
    header: Option<Header>,
    pieces: Vec<Piece>,
    tokens: usize,
    done: Vec<Cut>,
}

impl<'a> Packer<'a> {
    pub(super) fn new(text: &'a str, settings: &Settings) -> Self {
        Self {
            text,
            max_tokens: settings.max_tokens,
            overlap_tokens: settings.overlap_tokens.min(settings.max_tokens / 2),
            header: None,
            pieces: Vec::new(),
            tokens: 0,
            done: Vec::new(),
        }
    }

    pub(super) fn text(&self) -> &'a str {
        self.text
    }

    /// Adds an element, sentence or line; `false`, and nothing added, if it is too long.
    pub(super) fn add(&mut self, bytes: Range<usize>) -> bool {
        self.try_add(bytes, Kind::Whole, Fit::Needed)
    }

    /// Adds a part of a sentence; `false`, and nothing added, if it is too long and must fit.
    pub(super) fn add_fragment(&mut self, bytes: Range<usize>, fit: Fit) -> bool {
        self.try_add(bytes, Kind::Fragment, fit)
    }

    /// Adds the first row of a table together with the header before it, whatever their size.
    pub(super) fn add_table_head(&mut self, bytes: Range<usize>) {
        self.try_add(bytes, Kind::Fragment, Fit::Waived);
    }

    /// Adds a further row of a table, whatever its size; a passage that begins with it repeats
    /// `header`.
    pub(super) fn add_row(&mut self, bytes: Range<usize>, header: &Header) {
        self.try_add(bytes, Kind::Row(header.clone()), Fit::Waived);
    }

    /// Closes the last passage and gives all.
    pub(super) fn finish(mut self) -> Vec<Cut> {
        self.close();
        self.done
    }

    fn try_add(&mut self, bytes: Range<usize>, kind: Kind, fit: Fit) -> bool {
        let tokens = estimate_tokens(&self.text[bytes.clone()]);
        if tokens > self.max_tokens && fit == Fit::Needed {
            return false;
        }
        let piece = Piece { bytes, tokens, kind };
        if !self.pieces.is_empty() && self.tokens + piece.tokens > self.max_tokens {
            let repeated = self.overlap(&piece);
            self.close();
            repeated.into_iter().for_each(|piece| self.push(piece));
        }
        self.push(piece);
        true
    }

    fn push(&mut self, piece: Piece) {
        if self.pieces.is_empty()
            && let Kind::Row(header) = &piece.kind
        {
            self.tokens = header.tokens;
            self.header = Some(header.clone());
        }
        self.tokens += piece.tokens;
        self.pieces.push(piece);
    }

    fn close(&mut self) {
        let header = self.header.take().map(|header| header.bytes);
        if let (Some(first), Some(last)) = (self.pieces.first(), self.pieces.last()) {
            self.done.push(Cut { header, bytes: first.bytes.start..last.bytes.end });
        }
        self.pieces.clear();
        self.tokens = 0;
    }

    /// The pieces at the end of the open passage to repeat before `next`, in order.
    ///
    /// Rows are repeated only before rows of the same table, which bring the header.
    fn overlap(&self, next: &Piece) -> Vec<Piece> {
        let header = if let Kind::Row(header) = &next.kind { header.tokens } else { 0 };
        let room = self.max_tokens.saturating_sub(next.tokens + header);
        let mut left = room.min(self.overlap_tokens);
        let mut repeated = Vec::new();
        for piece in self.pieces.iter().rev() {
            let same = match &piece.kind {
                Kind::Whole => !matches!(next.kind, Kind::Row(_)),
                row @ Kind::Row(_) => *row == next.kind,
                Kind::Fragment => false,
            };
            if left == 0 || !same {
                break;
            }
            if piece.tokens <= left {
                left -= piece.tokens;
                repeated.push(piece.clone());
                continue;
            }
            if piece.kind == Kind::Whole {
                let text = &self.text[piece.bytes.clone()];
                let bytes = piece.bytes.start + tail_of_sentences(text, left)..piece.bytes.end;
                let tokens = estimate_tokens(&self.text[bytes.clone()]);
                if tokens > 0 {
                    repeated.push(Piece { bytes, tokens, kind: Kind::Whole });
                }
            }
            break;
        }
        repeated.reverse();
        repeated
    }
}
