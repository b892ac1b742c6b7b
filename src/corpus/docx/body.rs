//! The text of a document in its order: paragraphs, lists, tables and notes.

use std::collections::HashMap;

use super::numbering::Numbering;
use super::styles::{ListPlace, Role, Styles, outline};
use crate::corpus::Place;
use crate::corpus::heading::tidy;
use crate::corpus::pieces::{Piece, PieceKind};
use crate::corpus::xml::Element;

/// Elements whose content is not, or no longer, part of the text.
const LEFT_OUT: [&str; 11] =
    ["del", "moveFrom", "pPr", "rPr", "sectPr", "tblPr", "trPr", "tcPr", "sdtPr", "rt", "ctrlPr"];

/// Writes pieces while the elements of a body pass.
pub(super) struct Walker<'t> {
    pub(super) styles: &'t Styles,
    pub(super) numbering: Numbering,
    /// Footnotes (`f`) and endnotes (`e`) by their ids.
    pub(super) notes: HashMap<(char, String), Element<'t>>,
    /// Whether Word has noted where its pages ended.
    pub(super) has_pages: bool,
    /// From 1.
    pub(super) page: u32,
    pub(super) pieces: Vec<Piece>,
    /// Parts that stand in the text as a whole, by the ids of their relationships, each with the
    /// number of pieces before it.
    pub(super) inserts: Vec<(usize, String)>,
    /// Notes seen so far; their number is their name.
    notes_seen: usize,
}

/// What a paragraph holds.
#[derive(Default)]
struct Inline<'t> {
    text: String,
    /// The page on which the text begins.
    page: Option<u32>,
    /// The notes it refers to, with their numbers.
    notes: Vec<(usize, Element<'t>)>,
    boxes: Vec<Element<'t>>,
}

impl<'t> Walker<'t> {
    pub(super) fn new(
        styles: &'t Styles,
        numbering: Numbering,
        notes: HashMap<(char, String), Element<'t>>,
        has_pages: bool,
    ) -> Self {
        let (pieces, inserts) = (Vec::new(), Vec::new());
        Self { styles, numbering, notes, has_pages, page: 1, pieces, inserts, notes_seen: 0 }
    }

    /// Takes everything in `element` that stands beside paragraphs.
    pub(super) fn blocks(&mut self, element: Element<'t>) {
        for child in element.children() {
            match child.name() {
                "p" => self.paragraph(child),
                "tbl" => self.table(child),
                "altChunk" => {
                    let id = child.attribute("id").unwrap_or_default().to_owned();
                    self.inserts.push((self.pieces.len(), id));
                }
                "AlternateContent" => self.blocks(chosen(child)),
                name if LEFT_OUT.contains(&name) => {}
                _ => self.blocks(child),
            }
        }
    }

    fn paragraph(&mut self, paragraph: Element<'t>) {
        let properties = paragraph.child("pPr");
        let style = properties.and_then(|own| own.value("pStyle"));
        let mut inline = Inline::default();
        self.inline(paragraph, &mut inline);
        let place = self.place(inline.page);
        let text = inline.text.trim().to_owned();
        if !text.is_empty() {
            let role = self.styles.role(style, properties.and_then(outline));
            let marker = self.list_place(properties, style);
            let marker = marker.and_then(|place| self.numbering.next(&place));
            let kind = match (role, marker) {
                (Role::Contents, _) => None,
                (Role::Title, _) => Some(PieceKind::Title(text)),
                (Role::Heading(level), marker) => {
                    let number = marker.map(|marker| marker.text).filter(|text| text != "-");
                    let text = number.map_or(text.clone(), |number| format!("{number} {text}"));
                    Some(PieceKind::Heading { level, text })
                }
                (Role::Code, _) => Some(PieceKind::Code(inline.text.trim_end().to_owned())),
                (_, Some(marker)) => {
                    Some(PieceKind::ListItem { depth: marker.depth, marker: marker.text, text })
                }
                (Role::Quote, None) => Some(PieceKind::Quote(text)),
                (Role::Body, None) => Some(PieceKind::Paragraph(text)),
            };
            if let Some(kind) = kind {
                self.push(kind, place);
            }
        }
        self.rest(inline);
    }

    /// Adds a piece; lines of code that follow one another are one piece.
    fn push(&mut self, kind: PieceKind, place: Place) {
        if let PieceKind::Code(line) = &kind
            && let Some(Piece { kind: PieceKind::Code(code), .. }) = self.pieces.last_mut()
        {
            code.push('\n');
            code.push_str(line);
            return;
        }
        self.pieces.push(Piece { kind, place });
    }

    /// What hangs on a paragraph: its text boxes, then its notes.
    fn rest(&mut self, inline: Inline<'t>) {
        for text_box in inline.boxes {
            self.blocks(text_box);
        }
        for (number, note) in inline.notes {
            let place = self.place(None);
            let text = self.flat(note, &mut Inline::default());
            if !text.is_empty() {
                self.push(PieceKind::Quote(format!("[{number}] {text}")), place);
            }
        }
    }

    fn list_place(
        &self,
        properties: Option<Element<'t>>,
        style: Option<&str>,
    ) -> Option<ListPlace> {
        let own = properties.and_then(ListPlace::of);
        let styled = self.styles.list(style);
        let Some(own) = own else { return styled };
        let (list, level) = styled.map_or((None, None), |styled| (styled.list, styled.level));
        Some(ListPlace { list: own.list.or(list), level: own.level.or(level) })
    }

    fn place(&self, page: Option<u32>) -> Place {
        if self.has_pages { Place::page(page.unwrap_or(self.page)) } else { Place::default() }
    }

    /// Adds what stands inside a paragraph to `out`.
    fn inline(&mut self, element: Element<'t>, out: &mut Inline<'t>) {
        let mut before = "";
        for child in element.children() {
            let name = child.name();
            // Formulas side by side are several.
            if name == "oMath" && before == "oMath" {
                out.text.push(' ');
            }
            before = name;
            match name {
                "t" => {
                    let text = child.text();
                    if !text.trim().is_empty() {
                        out.page.get_or_insert(self.page);
                    }
                    // A soft hyphen only says where a word may be parted.
                    out.text.extend(text.chars().filter(|c| *c != '\u{AD}'));
                }
                "tab" | "ptab" => out.text.push('\t'),
                "br" | "cr" => out.text.push('\n'),
                "noBreakHyphen" => out.text.push('-'),
                "sym" => out.text.extend(symbol(child)),
                "lastRenderedPageBreak" => self.page = self.page.saturating_add(1),
                "footnoteReference" => self.note('f', child, out),
                "endnoteReference" => self.note('e', child, out),
                "txbxContent" => out.boxes.push(child),
                "AlternateContent" => self.inline(chosen(child), out),
                "r" if is_hidden(child) => {}
                "nary" => {
                    let own = child.child("naryPr").and_then(|own| own.value("chr"));
                    out.text.push_str(own.unwrap_or("∫"));
                    self.inline(child, out);
                }
                "d" if child.child("e").is_some() => {
                    let own = child.child("dPr");
                    let sign = |name: &str| own.and_then(|own| own.value(name));
                    out.text.push_str(sign("begChr").unwrap_or("("));
                    self.inline(child, out);
                    out.text.push_str(sign("endChr").unwrap_or(")"));
                }
                "den" => self.after("/", child, out),
                "sup" => self.after("^", child, out),
                "sub" => self.after("_", child, out),
                name if LEFT_OUT.contains(&name) => {}
                _ => self.inline(child, out),
            }
        }
    }

    /// Adds a part of a formula behind `sign`, which stands for its place.
    fn after(&mut self, sign: &str, part: Element<'t>, out: &mut Inline<'t>) {
        let before = out.text.len();
        out.text.push_str(sign);
        self.inline(part, out);
        if out.text.len() == before + sign.len() {
            out.text.truncate(before);
        }
    }

    fn note(&mut self, kind: char, reference: Element<'t>, out: &mut Inline<'t>) {
        let id = reference.attribute("id").unwrap_or_default().to_owned();
        // Taken, so that a note that refers to itself ends.
        if let Some(note) = self.notes.remove(&(kind, id)) {
            self.notes_seen += 1;
            out.text.push_str(&format!("[{}]", self.notes_seen));
            out.notes.push((self.notes_seen, note));
        }
    }

    /// All paragraphs in `element` as one text; what hangs on them is kept in `out`.
    fn flat(&mut self, element: Element<'t>, out: &mut Inline<'t>) -> String {
        let mut text = String::new();
        for paragraph in paragraphs(element) {
            let mut inline = Inline::default();
            self.inline(paragraph, &mut inline);
            let properties = paragraph.child("pPr");
            let style = properties.and_then(|own| own.value("pStyle"));
            let marker = if inline.text.trim().is_empty() {
                None
            } else {
                let place = self.list_place(properties, style);
                place.and_then(|place| self.numbering.next(&place))
            };
            if let Some(marker) = marker.filter(|marker| marker.text != "-") {
                inline.text.insert_str(0, &format!("{} ", marker.text));
            }
            text.push_str(&inline.text);
            text.push(' ');
            out.page = out.page.or(inline.page);
            out.notes.append(&mut inline.notes);
            out.boxes.append(&mut inline.boxes);
        }
        tidy(&text)
    }

    fn table(&mut self, table: Element<'t>) {
        let rows = rows(table);
        let width = rows.iter().map(|row| cells(*row).len()).max().unwrap_or(0);
        let nests = |cell: &Element<'t>| cell.descendants().any(|one| one.name() == "tbl");
        if width < 2 || rows.iter().flat_map(|row| cells(*row)).any(|cell| nests(&cell)) {
            // A frame, or what only arranges the page: its cells are read as text.
            for cell in rows.iter().flat_map(|row| cells(*row)) {
                self.blocks(cell);
            }
            return;
        }
        let mut hanging = Inline::default();
        let mut above: Vec<String> = Vec::new();
        let mut read: Vec<(Vec<String>, Place)> = Vec::new();
        for row in &rows {
            let mut texts = Vec::new();
            let mut page = None;
            let skipped = row.child("trPr").and_then(|own| own.value("gridBefore")?.parse().ok());
            let skipped: usize = skipped.unwrap_or(0_usize).min(64);
            let mut columns: Vec<String> = vec![String::new(); skipped];
            texts.extend(columns.iter().cloned());
            for cell in cells(*row) {
                let mut inline = Inline::default();
                let mut text = self.flat(cell, &mut inline);
                page = page.or(inline.page);
                hanging.notes.append(&mut inline.notes);
                hanging.boxes.append(&mut inline.boxes);
                let properties = cell.child("tcPr");
                let merge = properties.and_then(|own| own.child("vMerge"));
                if merge.is_some_and(|merge| merge.attribute("val") != Some("restart")) {
                    // A reader sees the value above reach down to here.
                    text = above.get(columns.len()).cloned().unwrap_or_default();
                }
                let span = properties.and_then(|own| own.value("gridSpan")?.parse().ok());
                let span: usize = span.unwrap_or(1_usize).clamp(1, 64);
                columns.extend(std::iter::repeat_n(text.clone(), span));
                texts.push(text);
            }
            above = columns;
            read.push((texts, self.place(page)));
        }
        let heads = rows.iter().take_while(|row| is_head(**row)).count();
        let heads =
            if heads == 0 || heads == rows.len() { usize::from(rows.len() > 1) } else { heads };
        let body = read.split_off(heads);
        let place = read.first().or(body.first()).map_or_else(Place::default, |row| row.1.clone());
        let header = Some(joined(read)).filter(|header| !header.is_empty());
        let header = header.map(|header| (header, place.clone()));
        self.push(PieceKind::Table { header, rows: body }, place);
        self.rest(hanging);
    }
}

/// Header rows as one, each column's cells joined.
fn joined(heads: Vec<(Vec<String>, Place)>) -> Vec<String> {
    let mut header: Vec<String> = Vec::new();
    for (cells, _) in heads {
        for (at, cell) in cells.into_iter().enumerate() {
            match header.get_mut(at) {
                Some(over) if *over != cell => *over = format!("{over} {cell}").trim().to_owned(),
                Some(_) => {}
                None => header.push(cell),
            }
        }
    }
    header
}

/// Of the ways in which one thing is given, the first with text in it; else the last.
fn chosen(of: Element<'_>) -> Element<'_> {
    let has_text = |way: &Element<'_>| way.descendants().any(|one| one.name() == "t");
    of.children().find(has_text).or_else(|| of.children().last()).unwrap_or(of)
}

/// The rows of a table, deleted ones left out.
fn rows(table: Element<'_>) -> Vec<Element<'_>> {
    let mut found = Vec::new();
    for child in table.children() {
        match child.name() {
            "tr" => {
                let deleted = child.child("trPr").is_some_and(|own| own.child("del").is_some());
                found.extend((!deleted).then_some(child));
            }
            "tbl" => {}
            name if LEFT_OUT.contains(&name) => {}
            _ => found.extend(rows(child)),
        }
    }
    found
}

fn cells(row: Element<'_>) -> Vec<Element<'_>> {
    let mut found = Vec::new();
    for child in row.children() {
        match child.name() {
            "tc" => found.push(child),
            name if LEFT_OUT.contains(&name) => {}
            _ => found.extend(cells(child)),
        }
    }
    found
}

fn is_head(row: Element<'_>) -> bool {
    let mark = row.child("trPr").and_then(|own| own.child("tblHeader"));
    mark.is_some_and(is_on)
}

/// The paragraphs in `element` at any depth.
fn paragraphs<'t>(element: Element<'t>) -> Vec<Element<'t>> {
    let mut found = Vec::new();
    for child in element.children() {
        match child.name() {
            "p" => found.push(child),
            name if LEFT_OUT.contains(&name) => {}
            "AlternateContent" => found.extend(paragraphs(chosen(child))),
            _ => found.extend(paragraphs(child)),
        }
    }
    found
}

/// Whether a switch such as `<w:vanish/>` is on.
fn is_on(switch: Element<'_>) -> bool {
    !matches!(switch.attribute("val"), Some("0" | "false" | "off"))
}

fn is_hidden(run: Element<'_>) -> bool {
    run.child("rPr").and_then(|own| own.child("vanish")).is_some_and(is_on)
}

/// A character of a symbol font, where it is one of Unicode's own.
fn symbol(of: Element<'_>) -> Option<char> {
    let code = u32::from_str_radix(of.attribute("char")?, 16).ok()?;
    char::from_u32(code).filter(|c| !('\u{E000}'..='\u{F8FF}').contains(c))
}
