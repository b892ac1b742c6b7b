//! The outline of a Markdown body: headings, elements, and what is left out, by byte ranges.

use std::ops::Range;

use pulldown_cmark::{Event, HeadingLevel, Parser, Tag, TagEnd};

use super::{Element, ElementKind};
use crate::corpus::heading::{markdown_options, push_shown, tidy};

/// The longest list marker with its indentation, nine digits being what CommonMark allows.
const MARKER_BYTES: usize = 16;

/// What stands at the top level of a body, in its order; ranges do not overlap.
#[derive(Debug, Default)]
pub(super) struct Outline {
    pub(super) headings: Vec<Heading>,
    pub(super) elements: Vec<Element>,
    /// Comments and ruled lines. Those inside an element lie within its range.
    pub(super) dropped: Vec<Range<usize>>,
}

/// A heading outside quotes and lists; one inside is text of the quote or list.
#[derive(Debug)]
pub(super) struct Heading {
    pub(super) bytes: Range<usize>,
    pub(super) level: HeadingLevel,
    /// What it says, without markup; may be empty.
    pub(super) title: String,
}

impl Outline {
    pub(super) fn of(body: &str) -> Self {
        let mut scribe =
            Scribe { body, depth: 0, base: 0, title: None, open: None, out: Self::default() };
        for (event, range) in Parser::new_ext(body, markdown_options()).into_offset_iter() {
            scribe.take(&event, range);
        }
        scribe.out
    }
}

/// Writes the outline while the events of the parser pass.
struct Scribe<'a> {
    body: &'a str,
    /// How many tags are open.
    depth: usize,
    /// The depth at which elements begin: 1 inside a top-level list, 0 elsewhere.
    base: usize,
    /// The title of the open top-level heading.
    title: Option<String>,
    /// The open top-level element.
    open: Option<Element>,
    out: Outline,
}

impl Scribe<'_> {
    fn take(&mut self, event: &Event<'_>, range: Range<usize>) {
        match event {
            Event::Start(tag) => {
                self.start(tag, range);
                self.depth += 1;
            }
            Event::End(tag) => {
                self.depth = self.depth.saturating_sub(1);
                self.end(*tag, range);
            }
            Event::InlineHtml(html) if html.starts_with("<!--") => self.drop_comment(range),
            Event::Rule if self.depth == 0 => self.out.dropped.push(range),
            other => {
                if let Some(title) = &mut self.title {
                    push_shown(title, other);
                }
            }
        }
    }

    fn start(&mut self, tag: &Tag<'_>, range: Range<usize>) {
        if self.depth > self.base {
            if let Some(open) = &mut self.open {
                start_part(open, tag, &range, self.body);
            }
            return;
        }
        let kind = match tag {
            Tag::Heading { .. } => {
                self.title = Some(String::new());
                return;
            }
            Tag::List(_) => {
                self.base = 1;
                return;
            }
            Tag::Item => ElementKind::ListItem { parts: Vec::new() },
            Tag::BlockQuote(_) | Tag::FootnoteDefinition(_) => {
                ElementKind::Quote { parts: Vec::new() }
            }
            Tag::CodeBlock(_) => ElementKind::Code,
            Tag::HtmlBlock => ElementKind::Html,
            Tag::Table(_) => ElementKind::Table { rows: Vec::new() },
            _ => ElementKind::Paragraph,
        };
        self.open = Some(Element { kind, bytes: range });
    }

    fn end(&mut self, tag: TagEnd, range: Range<usize>) {
        if tag == TagEnd::HtmlBlock {
            self.drop_comments(range.clone());
        }
        if self.depth == 0 && matches!(tag, TagEnd::List(_)) {
            self.base = 0;
        } else if self.depth == self.base {
            if let (TagEnd::Heading(level), Some(title)) = (tag, self.title.take()) {
                let title = tidy(&title);
                self.out.headings.push(Heading { bytes: range, level, title });
            }
            self.out.elements.extend(self.open.take());
        }
    }

    /// Drops the closed comments of an HTML block; an unclosed one stays, or all after it would go.
    fn drop_comments(&mut self, block: Range<usize>) {
        let mut from = block.start;
        while let Some(open) = self.body[from..block.end].find("<!--") {
            let open = from + open;
            let Some(close) = self.body[open..block.end].find("-->") else { return };
            from = open + close + 3;
            self.drop_comment(open..from);
        }
    }

    /// Drops a comment, and its lines with it when it has them to itself.
    fn drop_comment(&mut self, comment: Range<usize>) {
        let blank = |c: char| c == ' ' || c == '\t';
        let before = self.body[..comment.start].trim_end_matches(blank);
        let after = self.body[comment.end..].trim_start_matches(blank);
        let alone = before.is_empty() || before.ends_with('\n');
        let range = match after.strip_prefix('\n') {
            Some(rest) if alone => before.len()..self.body.len() - rest.len(),
            _ => comment,
        };
        // A comment may share blanks with the one before it.
        let from = self.out.dropped.last().map_or(0, |last| last.end).max(range.start);
        if from < range.end {
            self.out.dropped.push(from..range.end);
        }
    }
}

/// Notes where a part begins inside an element, or a row inside a table.
fn start_part(open: &mut Element, tag: &Tag<'_>, range: &Range<usize>, body: &str) {
    match &mut open.kind {
        ElementKind::Table { rows } => {
            if matches!(tag, Tag::TableRow) {
                rows.push(range.start);
            }
        }
        ElementKind::ListItem { parts } | ElementKind::Quote { parts } => {
            let kind = match tag {
                Tag::CodeBlock(_) => ElementKind::Code,
                Tag::HtmlBlock => ElementKind::Html,
                Tag::Table(_) => ElementKind::Table { rows: Vec::new() },
                Tag::Item | Tag::Paragraph | Tag::Heading { .. } => ElementKind::Paragraph,
                Tag::TableRow => {
                    let last = parts.last_mut().map(|part: &mut Element| &mut part.kind);
                    if let Some(ElementKind::Table { rows }) = last {
                        rows.push(range.start);
                    }
                    return;
                }
                _ => return,
            };
            // A marker alone (`-`, `3.`) goes with what it marks.
            let marker = parts.pop_if(|last| {
                let between = &body[last.bytes.start..range.start];
                between.len() <= MARKER_BYTES && !between.contains('\n')
            });
            let start = marker.map_or(range.start, |marker| marker.bytes.start);
            parts.push(Element { kind, bytes: start..range.end });
        }
        ElementKind::Paragraph | ElementKind::Code | ElementKind::Html => {}
    }
}
