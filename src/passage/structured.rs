//! The blocks of a body whose outline its reader gave.

use std::ops::Range;

use super::blocks::Clip;
use super::{Element, ElementKind};
use crate::corpus::heading::tidy;
use crate::corpus::{Item, ItemKind, Structure};
use crate::text::estimate_tokens;

/// Every heading that has text of its own starts a block, and every record is one. Where nothing
/// but headings could part a text and it has none, items are gathered while they fit `most` tokens,
/// as in plain text.
pub(super) fn structured_clips(body: &str, structure: &Structure, most: usize) -> Vec<Clip> {
    let mut scribe = Scribe { body, path: Vec::new(), open: None, tokens: 0, clips: Vec::new() };
    let is_heading = |item: &Item| matches!(item.kind, ItemKind::Heading { .. });
    let most = if structure.items.iter().any(is_heading) { usize::MAX } else { most };
    let mut from = 0;
    for item in &structure.items {
        // A range that does not fit the body is our caller's slip, and no reason to fall.
        let Some(text) = body.get(item.bytes.clone()).filter(|_| item.bytes.start >= from) else {
            continue;
        };
        from = item.bytes.end;
        scribe.take(item, text, most);
    }
    scribe.close();
    scribe.clips
}

/// Makes clips while the items pass.
struct Scribe<'b> {
    body: &'b str,
    /// The headings that the next item stands under, with their levels.
    path: Vec<(u8, String)>,
    open: Option<Clip>,
    tokens: usize,
    clips: Vec<Clip>,
}

impl Scribe<'_> {
    fn take(&mut self, item: &Item, text: &str, most: usize) {
        match &item.kind {
            ItemKind::Heading { level } => {
                self.close();
                self.path.truncate(self.path.partition_point(|(above, _)| above < level));
                self.path.push((*level, tidy(text)));
            }
            ItemKind::Record => {
                self.close();
                self.open = Some(self.clip(lines(self.body, &item.bytes)));
                self.close();
            }
            kind => {
                let tokens = estimate_tokens(text);
                if self.open.is_some() && self.tokens.saturating_add(tokens) > most {
                    self.close();
                }
                self.tokens += tokens;
                let element = Element { kind: element_kind(kind), bytes: item.bytes.clone() };
                match &mut self.open {
                    Some(clip) => clip.push(element),
                    None => self.open = Some(self.clip(vec![element])),
                }
            }
        }
    }

    fn close(&mut self) {
        self.clips.extend(self.open.take());
        self.tokens = 0;
    }

    fn clip(&self, elements: Vec<Element>) -> Clip {
        let titles = self.path.iter().map(|(_, title)| title.clone());
        Clip::new(titles.filter(|title| !title.is_empty()).collect(), elements)
    }
}

fn element_kind(kind: &ItemKind) -> ElementKind {
    match kind {
        ItemKind::ListItem => ElementKind::ListItem { parts: Vec::new() },
        ItemKind::Table { rows } => ElementKind::Table { rows: rows.clone() },
        ItemKind::Code => ElementKind::Code,
        ItemKind::Quote => ElementKind::Quote { parts: Vec::new() },
        ItemKind::Heading { .. } | ItemKind::Paragraph | ItemKind::Record => ElementKind::Paragraph,
    }
}

/// The fields of a record: a paragraph each, so that one too long comes apart at its sentences.
fn lines(body: &str, bytes: &Range<usize>) -> Vec<Element> {
    let mut start = bytes.start;
    let lines = body[bytes.clone()].split_inclusive('\n').map(|line| {
        let from = start;
        start += line.len();
        Element { kind: ElementKind::Paragraph, bytes: from..start }
    });
    lines.collect()
}
