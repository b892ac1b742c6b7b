//! HTML: one document a page, by its structure and without what surrounds the content.
//!
//! Scripts, styles, forms' controls and hidden elements are left out, and so are navigation, headers,
//! footers and asides where the page marks them as such, be it by element or by role. A page with a
//! `main` is its `main`; one whose articles hold at least half of the text is its articles; any other
//! is all of its body but the menus before and after its text, which are told by their links. The title is that of the page, or its first heading of level 1.

mod builder;
mod scan;
mod table;

use builder::Builder;

use super::{
    BodyForm, CorpusSettings, Document, Draft, Lines, Metadata, Place, RawFile, Reader, Reading,
    Row, Source, Value, naming,
};
use crate::error::Result;

/// Reads `.html`, `.htm` and `.xhtml`.
pub struct Html;

/// Bytes at the start of a page in which it may declare its encoding, several times what browsers
/// look at.
const DECLARES_WITHIN: usize = 4096;

impl Reader for Html {
    fn read(&self, source: &RawFile, _: &CorpusSettings) -> Result<Reading> {
        let bytes = source.bytes()?;
        let decoded = source.decode(&bytes, declared(&bytes).as_deref())?;
        drop(bytes);
        let page = Page::of(&decoded.text);
        let mut draft = Draft::default();
        page.draw(&mut draft, None);
        let (body, structure) = draft.finish();
        let mut metadata = Metadata::default();
        if let Some(language) = page.language {
            metadata.0.insert("lang".to_owned(), Value::Text(language));
        }
        let document = Document {
            id: naming::id_with_ending(&source.path),
            title: page.title.unwrap_or_else(|| naming::title_of_path(&source.path)),
            metadata,
            body,
            form: BodyForm::Structured(structure),
            source: Source::file(&source.path, 1, 0),
            vector: None,
        };
        let reading = Reading { documents: vec![document], remarks: decoded.remarks };
        Ok(reading.placed(&decoded.offsets))
    }
}

/// The content of a page.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Page {
    /// Its title; `None` when it has neither title nor heading of level 1.
    pub(super) title: Option<String>,
    /// The language that it states.
    pub(super) language: Option<String>,
    /// What it shows, in order.
    pieces: Vec<Piece>,
}

/// One heading, paragraph and so on.
#[derive(Debug, Clone, PartialEq)]
struct Piece {
    kind: Kind,
    text: String,
    place: Place,
    part: Part,
    /// The links that it is made of; 0 when it has text of its own.
    links: usize,
}

#[derive(Debug, Clone, PartialEq)]
enum Kind {
    Heading(u8),
    Paragraph,
    /// An item under so many others, with its marker.
    Item(usize, String),
    Code,
    Quote,
    Table {
        header: Option<Row>,
        rows: Vec<Row>,
    },
}

/// The part of the page that a piece stands in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Part {
    Main,
    Article,
    Body,
    /// Navigation and the like.
    Surroundings,
}

impl Page {
    /// Reads the page that `text` is. Whether it is XHTML shows in its first line.
    pub(super) fn of(text: &str) -> Self {
        let (mut page, heading) = Self::read(text, false);
        if page.title.is_none()
            && let Some(at) = page.pieces.iter().position(|piece| piece.kind == Kind::Heading(1))
            && page.pieces.len() > 1
        {
            page.pieces.remove(at);
        }
        page.title = page.title.or(heading);
        page
    }

    /// Reads the chapter of a book that `text` is: every heading stays in its place, and the title is the
    /// stated one.
    pub(super) fn chapter(text: &str) -> Self {
        Self::read(text, true).0
    }

    /// Whether it shows nothing.
    pub(super) fn is_empty(&self) -> bool {
        self.pieces.is_empty()
    }

    /// Whether it shows a heading.
    pub(super) fn has_heading(&self) -> bool {
        self.pieces.iter().any(|piece| matches!(piece.kind, Kind::Heading(_)))
    }

    /// The page with its stated title, and its first heading of level 1.
    fn read(text: &str, is_book: bool) -> (Self, Option<String>) {
        // Books are XHTML, whether their pages begin so or not.
        let is_xml = is_book || text.trim_start().starts_with("<?xml");
        let mut builder = Builder::new(is_xml, is_book);
        scan::scan(text, &mut builder);
        let (stated, language, all) = builder.finish();
        let first_h1 = all.iter().find(|piece| piece.kind == Kind::Heading(1));
        let heading = first_h1.map(|piece| piece.text.clone());
        let own = |piece: &&Piece| piece.part != Part::Surroundings;
        let bytes = |wanted: Part| -> usize {
            all.iter().filter(|piece| piece.part == wanted).map(Piece::size).sum()
        };
        let (main, article, body) = (bytes(Part::Main), bytes(Part::Article), bytes(Part::Body));
        let pieces: Vec<Piece> = if main > 0 {
            all.iter().filter(|piece| piece.part == Part::Main).cloned().collect()
        } else if article > 0 && article >= body {
            all.iter().filter(|piece| piece.part == Part::Article).cloned().collect()
        } else if body > 0 {
            without_menus(all.iter().filter(own).cloned().collect())
        } else {
            // Nothing but surroundings: then they are the page.
            all
        };
        let title = stated.filter(|title| !title.is_empty());
        (Self { title, language, pieces }, heading)
    }

    /// Adds the content to `draft`, all of it at `place` when one is given.
    pub(super) fn draw(&self, draft: &mut Draft, place: Option<&Place>) {
        for Piece { kind, text, place: own, .. } in &self.pieces {
            let at = place.unwrap_or(own).clone();
            match kind {
                Kind::Heading(level) => draft.heading(*level, text, at),
                Kind::Paragraph => draft.paragraph(text, at),
                Kind::Item(depth, marker) => draft.list_item(*depth, marker, text, at),
                Kind::Code => draft.code(text, at),
                Kind::Quote => draft.quote(text, at),
                Kind::Table { header, rows } => {
                    let moved = |(cells, own): &Row| (cells.clone(), place.unwrap_or(own).clone());
                    let rows: Vec<Row> = rows.iter().map(moved).collect();
                    draft.table(header.as_ref().map(moved).as_ref(), &rows);
                }
            }
        }
    }
}

impl Piece {
    /// Bytes of text that it shows.
    fn size(&self) -> usize {
        let Kind::Table { header, rows } = &self.kind else { return self.text.len() };
        let cells = header.iter().chain(rows).flat_map(|(cells, _)| cells);
        cells.map(String::len).sum()
    }
}

/// Links in a row from which they are a menu and not a remark.
const MENU_LINKS: usize = 4;

/// `pieces` without the menus that stand before the first and after the last of the text. What is made of
/// links has none (a high density of links is the surest sign of what surrounds a text: Kohlschütter,
/// Fankhauser and Nejdl, "Boilerplate detection using shallow text features", 2010). A list of links under
/// a heading of its own stays, and so does a page that has more links than text.
fn without_menus(pieces: Vec<Piece>) -> Vec<Piece> {
    let is_text = |piece: &Piece| piece.links == 0 && !matches!(piece.kind, Kind::Heading(_));
    let is_menu = |run: &[Piece]| run.iter().map(|piece| piece.links).sum::<usize>() >= MENU_LINKS;
    let (Some(first), Some(last)) =
        (pieces.iter().position(is_text), pieces.iter().rposition(is_text))
    else {
        return pieces;
    };
    let mut dropped = vec![false; pieces.len()];
    let mut at = 0;
    while at < pieces.len() {
        let length = pieces[at..].iter().take_while(|piece| piece.links > 0).count();
        let is_outside = at < first || at > last;
        let is_headed = at > 0 && matches!(pieces[at - 1].kind, Kind::Heading(_));
        if is_outside && !is_headed && is_menu(&pieces[at..at + length]) {
            dropped[at..at + length].fill(true);
        }
        at += length.max(1);
    }
    let size = |wanted: bool| -> usize {
        let chosen = pieces.iter().zip(&dropped).filter(|(_, dropped)| **dropped == wanted);
        chosen.map(|(piece, _)| piece.size()).sum()
    };
    if size(true) > size(false) {
        return pieces;
    }
    pieces
        .into_iter()
        .zip(dropped)
        .filter(|(_, dropped)| !dropped)
        .map(|(piece, _)| piece)
        .collect()
}

/// The encoding that a page declares of itself in `meta` or in its XML line.
fn declared(bytes: &[u8]) -> Option<String> {
    let head = &bytes[..bytes.len().min(DECLARES_WITHIN)];
    let head: String = head.iter().map(|byte| char::from(*byte).to_ascii_lowercase()).collect();
    let label = |after: &str| {
        let value = after.trim_start().strip_prefix('=')?.trim_start();
        let value = value.trim_start_matches(['"', '\'']);
        let end = value.find(|c: char| !(c.is_ascii_alphanumeric() || "-_.:".contains(c)));
        let label = &value[..end.unwrap_or(value.len())];
        (!label.is_empty()).then(|| label.to_owned())
    };
    let first =
        |word: &str| head.match_indices(word).find_map(|(at, _)| label(&head[at + word.len()..]));
    first("charset").or_else(|| first("encoding").filter(|_| head.starts_with("<?xml")))
}

#[cfg(test)]
mod tests;
