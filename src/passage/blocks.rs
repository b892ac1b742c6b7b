//! Documents to blocks: the units that are judged, cited and given to a reader.

use std::ops::Range;

use serde::{Deserialize, Serialize};

use super::origin::{LineEnds, Origin};
use super::outline::{Heading, Outline};
use super::structured::structured_clips;
use super::{BlockRef, Settings};
use crate::corpus::{BodyForm, Document, Place};
use crate::text::estimate_tokens;

/// A part of a document that makes sense by itself: the text before the first heading, the text
/// under one heading, a record, or some paragraphs of a plain text.
///
/// The text is never blank, and it is the body's own text, comments and ruled lines left out.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Block {
    /// Its name; blocks are numbered from 1 in the order of the document, without gaps.
    pub reference: BlockRef,
    /// The titles of the headings it stands under, outermost first, its own last, without markup.
    pub sections: Vec<String>,
    /// The text without its heading, without blank lines at both ends.
    pub text: String,
    /// Where the text stands in the source file.
    pub place: Place,
    /// The bytes of the document's body that the text stands on.
    pub bytes: Range<usize>,
    /// What the text is made of, in order; between elements there is white space only.
    pub elements: Vec<Element>,
    /// Leads from the text to the source file.
    pub(super) origin: Origin,
}

/// A part of a block that is kept whole where it fits.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Element {
    /// What it is.
    pub kind: ElementKind,
    /// Its bytes in the block's text.
    pub bytes: Range<usize>,
}

/// The kinds of elements, each with the places at which it may be split.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum ElementKind {
    /// Running text; split at sentences.
    Paragraph,
    /// One item of a list with everything in it; split at its parts.
    ListItem {
        /// The paragraphs, inner items, tables and code in it, at any depth; they fill it.
        parts: Vec<Element>,
    },
    /// A table; split at rows, the header repeated.
    Table {
        /// The byte of the block's text at which each row begins; header and separator stand
        /// before the first.
        rows: Vec<usize>,
    },
    /// A fenced or indented code block, with its fences; split at lines.
    Code,
    /// A block quote, or a footnote's text; split at its parts.
    Quote {
        /// As for a list item.
        parts: Vec<Element>,
    },
    /// HTML that stands by itself, comments left out; split at lines.
    Html,
}

/// The blocks of `document`, in its order.
///
/// In Markdown, the text before the first heading is the first block, and every heading that has
/// text of its own starts another; a heading without any gives no block and stands in the sections
/// of those below it. Headings inside quotes and lists are part of the text there. A plain text
/// gathers whole paragraphs up to [`Settings::plain_block_tokens`]. A structured text is cut like
/// Markdown, or like plain text where it has no heading, and each of its records is a block.
pub fn blocks(document: &Document, settings: &Settings) -> Vec<Block> {
    let clips = match &document.form {
        BodyForm::Markdown => markdown_clips(&document.body),
        BodyForm::Plain => plain_clips(&document.body, settings.plain_block_tokens),
        BodyForm::Structured(structure) => {
            structured_clips(&document.body, structure, settings.plain_block_tokens)
        }
    };
    let ends = LineEnds::of(&document.body);
    let cut = clips.into_iter().filter_map(|clip| clip.take(&document.body));
    (1..)
        .zip(cut)
        .map(|(number, (clip, text))| {
            let origin = Origin::of(document, &ends, &clip.kept);
            let place = origin.place(&LineEnds::of(&text), &(0..text.len()));
            let elements = clip.elements(&text);
            let bytes = clip.span();
            let reference = BlockRef::new(&document.id, number);
            Block { reference, sections: clip.sections, text, place, bytes, elements, origin }
        })
        .collect()
}

/// A block in the making: which bytes of the body it keeps, and what stands there.
#[derive(Debug)]
pub(super) struct Clip {
    sections: Vec<String>,
    /// Ranges of the body, in order, none empty once taken.
    kept: Vec<Range<usize>>,
    /// Elements by bytes of the body.
    elements: Vec<Element>,
}

impl Clip {
    /// A clip of `elements`, in order and not none, with all that lies between them.
    pub(super) fn new(sections: Vec<String>, elements: Vec<Element>) -> Self {
        let start = elements.first().map_or(0, |first| first.bytes.start);
        let end = elements.last().map_or(start, |last| last.bytes.end);
        let kept = std::iter::once(start..end).collect();
        Self { sections, kept, elements }
    }

    /// Adds an element behind all others.
    pub(super) fn push(&mut self, element: Element) {
        if let Some(last) = self.kept.last_mut() {
            last.end = element.bytes.end;
        }
        self.elements.push(element);
    }

    /// The clip without blank lines at its ends, and its text; `None` when nothing is left.
    fn take(mut self, body: &str) -> Option<(Self, String)> {
        let text: String = self.kept.iter().filter_map(|range| body.get(range.clone())).collect();
        let end = text.trim_end().len();
        let blank = text[..end].len() - text[..end].trim_start().len();
        // Indentation of the first line means something before code.
        let start = text[..blank].rfind('\n').map_or(0, |line_end| line_end + 1);
        if start >= end {
            return None;
        }
        let mut passed = 0;
        for range in &mut self.kept {
            let (from, to) = (passed, passed + range.len());
            passed = to;
            let base = range.start;
            *range = base + start.clamp(from, to) - from..base + end.clamp(from, to) - from;
        }
        self.kept.retain(|range| !range.is_empty());
        Some((self, text[start..end].to_owned()))
    }

    fn span(&self) -> Range<usize> {
        let start = self.kept.first().map_or(0, |range| range.start);
        start..self.kept.last().map_or(start, |range| range.end)
    }

    /// The elements by bytes of the text, with paragraphs for whatever lies between them.
    fn elements(&self, text: &str) -> Vec<Element> {
        let map = Map::of(&self.kept);
        let mut elements = Vec::with_capacity(self.elements.len());
        let mut from = 0;
        for element in &self.elements {
            let start = map.to_text(element.bytes.start).max(from);
            let end = map.to_text(element.bytes.end).min(text.len());
            if start < end && !text[start..end].trim().is_empty() {
                fill(text, from..start, &mut elements);
                let bytes = start..end;
                elements.push(Element { kind: map.kind(&element.kind, &bytes), bytes });
                from = end;
            }
        }
        fill(text, from..text.len(), &mut elements);
        elements
    }
}

/// Makes a paragraph of what no element holds, such as the definitions of links.
fn fill(text: &str, bytes: Range<usize>, elements: &mut Vec<Element>) {
    let rest = text[bytes.clone()].trim_start();
    let bytes = bytes.end - rest.len()..bytes.end;
    if !bytes.is_empty() {
        elements.push(Element { kind: ElementKind::Paragraph, bytes });
    }
}

/// From bytes of the body to bytes of a block's text.
struct Map<'a> {
    kept: &'a [Range<usize>],
    /// The byte of the text at which each kept range begins.
    starts: Vec<usize>,
}

impl<'a> Map<'a> {
    fn of(kept: &'a [Range<usize>]) -> Self {
        let mut passed = 0;
        let starts = kept.iter().map(|range| {
            passed += range.len();
            passed - range.len()
        });
        Self { kept, starts: starts.collect() }
    }

    /// The byte of the text for `byte` of the body; a byte left out is where the text goes on.
    fn to_text(&self, byte: usize) -> usize {
        let place = self.kept.partition_point(|range| range.start <= byte);
        let Some(place) = place.checked_sub(1) else { return 0 };
        let range = &self.kept[place];
        self.starts[place] + (byte - range.start).min(range.len())
    }

    fn kind(&self, kind: &ElementKind, bytes: &Range<usize>) -> ElementKind {
        match kind {
            ElementKind::ListItem { parts } => {
                ElementKind::ListItem { parts: self.parts(parts, bytes) }
            }
            ElementKind::Quote { parts } => ElementKind::Quote { parts: self.parts(parts, bytes) },
            ElementKind::Table { rows } => {
                let rows = rows.iter().map(|row| self.to_text(*row));
                ElementKind::Table { rows: rows.filter(|row| bytes.contains(row)).collect() }
            }
            other => other.clone(),
        }
    }

    /// Parts that fill `bytes`: each reaches to the next, the first and last to the ends.
    fn parts(&self, parts: &[Element], bytes: &Range<usize>) -> Vec<Element> {
        let start = |place: usize| match parts.get(place) {
            Some(part) if place > 0 => self.to_text(part.bytes.start).clamp(bytes.start, bytes.end),
            Some(_) => bytes.start,
            None => bytes.end,
        };
        (0..parts.len())
            .map(|place| (place, start(place)..start(place + 1)))
            .filter(|(_, range)| !range.is_empty())
            .map(|(place, range)| Element {
                kind: self.kind(&parts[place].kind, &range),
                bytes: range,
            })
            .collect()
    }
}

fn markdown_clips(body: &str) -> Vec<Clip> {
    let Outline { headings, elements, dropped } = Outline::of(body);
    let mut path: Vec<&Heading> = Vec::new();
    let (mut elements, mut dropped) = (elements.into_iter().peekable(), dropped.iter().peekable());
    let mut clips = Vec::with_capacity(headings.len() + 1);
    let heads = std::iter::once(None).chain(headings.iter().map(Some));
    let nexts = headings.iter().map(|next| next.bytes.start).chain([body.len()]);
    for (head, end) in heads.zip(nexts) {
        let start = head.map_or(0, |heading| heading.bytes.end.min(end));
        if let Some(heading) = head {
            path.truncate(path.partition_point(|above| above.level < heading.level));
            path.push(heading);
        }
        let mut kept = Vec::new();
        let mut from = start;
        while let Some(gone) = dropped.next_if(|gone| gone.start < end) {
            kept.push(from..gone.start.max(from));
            from = gone.end.clamp(from, end);
        }
        kept.push(from..end);
        let titles = path.iter().map(|heading| heading.title.clone());
        clips.push(Clip {
            sections: titles.filter(|title| !title.is_empty()).collect(),
            kept,
            elements: std::iter::from_fn(|| elements.next_if(|next| next.bytes.start < end))
                .collect(),
        });
    }
    clips
}

/// Paragraphs of plain text, gathered while they fit `most` tokens.
fn plain_clips(body: &str, most: usize) -> Vec<Clip> {
    let mut clips: Vec<Clip> = Vec::new();
    let mut tokens = 0;
    for bytes in paragraphs(body) {
        let cost = estimate_tokens(&body[bytes.clone()]);
        let element = Element { kind: ElementKind::Paragraph, bytes };
        match clips.last_mut().filter(|_| tokens + cost <= most) {
            Some(clip) => {
                tokens += cost;
                clip.push(element);
            }
            None => {
                tokens = cost;
                clips.push(Clip::new(Vec::new(), vec![element]));
            }
        }
    }
    clips
}

/// The ranges between blank lines, without the line end that closes them.
fn paragraphs(body: &str) -> impl Iterator<Item = Range<usize>> {
    let mut lines = body.split_inclusive('\n');
    let mut place = 0;
    std::iter::from_fn(move || {
        let mut open: Option<Range<usize>> = None;
        for line in lines.by_ref() {
            let start = place;
            place += line.len();
            match (line.trim().is_empty(), &mut open) {
                (false, Some(range)) => range.end = start + line.trim_end().len(),
                (false, none) => *none = Some(start..start + line.trim_end().len()),
                (true, Some(_)) => break,
                (true, None) => {}
            }
        }
        open
    })
}

#[cfg(test)]
mod tests;
