//! Bodies whose outline the reader itself gives: nothing in their text is markup.

use std::ops::Range;

use serde::{Deserialize, Serialize};

use super::Place;
use super::heading::tidy;

/// What a body is made of.
///
/// A reader that knows headings, lists and tables from its format says so here, so that nobody has to
/// find them in the text again: a `*`, `#` or `<` in it stays what it is. [`Draft`] makes one; whatever
/// in a hand-made one does not fit its body is passed over.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Structure {
    /// In the order of the body; ranges do not overlap, and between them is white space only.
    pub items: Vec<Item>,
    /// Where the text stands in the file: `(byte of the body, place)`, each in force up to the next,
    /// in the order of the body. No part of the content.
    pub places: Vec<(usize, Place)>,
}

/// One heading, paragraph, row and the like.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Item {
    /// What it is.
    pub kind: ItemKind,
    /// Its bytes in the body.
    pub bytes: Range<usize>,
}

/// The kinds of items.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum ItemKind {
    /// The title of what follows, up to the next heading of its level or above.
    Heading {
        /// Its level, 1 being the outermost.
        level: u8,
    },
    /// Running text.
    Paragraph,
    /// One item of a list, its marker with it.
    ListItem,
    /// A table, one row a line.
    Table {
        /// The byte of the body at which each row begins; a header, if there is one, stands before
        /// the first.
        rows: Vec<usize>,
    },
    /// Program text and the like, kept line by line.
    Code,
    /// What somebody else said, or a note.
    Quote,
    /// What makes sense by itself, such as a row of a sheet: always a block of its own, one field a
    /// line.
    Record,
}

impl Structure {
    /// Tells `field` all that is content: kinds and ranges, without the places.
    pub(super) fn digest(&self, field: &mut impl FnMut(&str)) {
        field(&self.items.len().to_string());
        for item in &self.items {
            let kind = match &item.kind {
                ItemKind::Heading { level } => format!("heading {level}"),
                ItemKind::Paragraph => "paragraph".to_owned(),
                ItemKind::ListItem => "item".to_owned(),
                ItemKind::Table { rows } => format!("table {rows:?}"),
                ItemKind::Code => "code".to_owned(),
                ItemKind::Quote => "quote".to_owned(),
                ItemKind::Record => "record".to_owned(),
            };
            field(&kind);
            field(&format!("{:?}", item.bytes));
        }
    }
}

/// The cells of a row of a table, and where it stands.
pub type Row = (Vec<String>, Place);

/// A structured body in the making: what is added stands in it in that order.
///
/// Text without any letter but white space adds nothing.
///
/// ```
/// use atlas::corpus::{Draft, Place};
/// let mut draft = Draft::default();
/// draft.heading(1, "Seals", Place::page(1));
/// draft.paragraph("A dry seal *whistles*.", Place::page(1));
/// draft.table(
///     Some(&(vec!["Code".into(), "Meaning".into()], Place::page(2))),
///     &[(vec!["F-12".into(), "No oil".into()], Place::page(2))],
/// );
/// let (body, structure) = draft.finish();
/// assert_eq!(body, "Seals\n\nA dry seal *whistles*.\n\nCode | Meaning\nF-12 | No oil\n");
/// assert_eq!(structure.items.len(), 3);
/// ```
#[derive(Debug, Clone, Default)]
pub struct Draft {
    body: String,
    structure: Structure,
}

impl Draft {
    /// Whether nothing was added yet.
    pub fn is_empty(&self) -> bool {
        self.structure.items.is_empty()
    }

    /// Length in bytes of the body so far.
    pub fn len(&self) -> usize {
        self.body.len()
    }

    /// Adds a heading; `level` 1 is the outermost. White space in the title becomes single spaces.
    pub fn heading(&mut self, level: u8, title: &str, place: Place) {
        self.add(ItemKind::Heading { level: level.max(1) }, &tidy(title), place);
    }

    /// Adds running text, its lines as they are.
    pub fn paragraph(&mut self, text: &str, place: Place) {
        self.add(ItemKind::Paragraph, text.trim(), place);
    }

    /// Adds an item of a list under `depth` others, with a marker such as `-` or `3.`.
    pub fn list_item(&mut self, depth: usize, marker: &str, text: &str, place: Place) {
        let text = text.trim();
        if !text.is_empty() {
            // Far deeper than anyone reads; without end, white space would outgrow the text.
            let indent = "  ".repeat(depth.min(16));
            self.add(ItemKind::ListItem, &format!("{indent}{marker} {text}"), place);
        }
    }

    /// Adds program text: indentation and blank lines inside stay.
    pub fn code(&mut self, text: &str, place: Place) {
        let end = text.trim_end().len();
        let blank = end - text[..end].trim_start().len();
        let start = text[..blank].rfind('\n').map_or(0, |line_end| line_end + 1);
        self.add(ItemKind::Code, &text[start..end], place);
    }

    /// Adds a quote or a note.
    pub fn quote(&mut self, text: &str, place: Place) {
        self.add(ItemKind::Quote, text.trim(), place);
    }

    /// Adds what makes sense by itself, one field a line: always a block of its own.
    pub fn record(&mut self, text: &str, place: Place) {
        self.add(ItemKind::Record, text.trim(), place);
    }

    /// Adds a table: the cells of a row between ` | `, each on one line. A row without text is left
    /// out, and a header without text is none.
    pub fn table(&mut self, header: Option<&Row>, rows: &[Row]) {
        let shown = |(cells, place): &Row| {
            let cells: Vec<String> = cells.iter().map(|cell| tidy(cell)).collect();
            let blank = cells.iter().all(String::is_empty);
            (!blank).then(|| (cells.join(" | ").trim_end().to_owned(), place.clone()))
        };
        let header = header.and_then(shown);
        let rows: Vec<(String, Place)> = rows.iter().filter_map(shown).collect();
        if header.is_none() && rows.is_empty() {
            return;
        }
        let (start, mut starts) = (self.separate(false), Vec::with_capacity(rows.len()));
        for (is_row, (text, place)) in header
            .into_iter()
            .map(|one| (false, one))
            .chain(rows.into_iter().map(|row| (true, row)))
        {
            if self.body.len() > start {
                self.body.push('\n');
            }
            starts.extend(is_row.then_some(self.body.len()));
            self.structure.places.push((self.body.len(), place));
            self.body.push_str(&text);
        }
        let bytes = start..self.body.len();
        self.structure.items.push(Item { kind: ItemKind::Table { rows: starts }, bytes });
    }

    /// The body, with a line end behind it, and what it is made of.
    pub fn finish(mut self) -> (String, Structure) {
        if !self.body.is_empty() {
            self.body.push('\n');
        }
        (self.body, self.structure)
    }

    fn add(&mut self, kind: ItemKind, text: &str, place: Place) {
        if text.trim().is_empty() {
            return;
        }
        let start = self.separate(kind == ItemKind::ListItem);
        // One kind of line end in every body.
        if text.contains('\r') {
            self.body.push_str(&text.replace("\r\n", "\n").replace('\r', "\n"));
        } else {
            self.body.push_str(text);
        }
        self.structure.places.push((start, place));
        self.structure.items.push(Item { kind, bytes: start..self.body.len() });
    }

    /// Parts what comes from what is there, and says where it begins.
    fn separate(&mut self, is_list_item: bool) -> usize {
        if let Some(last) = self.structure.items.last() {
            let one_list = is_list_item && last.kind == ItemKind::ListItem;
            self.body.push_str(if one_list { "\n" } else { "\n\n" });
        }
        self.body.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn items_lie_where_they_say() {
        let mut draft = Draft::default();
        assert!(draft.is_empty());
        draft.heading(0, " A\n title ", Place::default());
        draft.paragraph(" \n ", Place::default());
        draft.list_item(0, "-", "one", Place::default());
        draft.list_item(1, "2.", "two\r\nmore", Place::default());
        draft.code("\n\n  x\n\n y \n\n", Place::default());
        draft.table(None, &[(vec!["a".into(), String::new()], Place::page(2))]);
        let row = |cell: &str| (vec![cell.to_owned()], Place::page(3));
        draft.table(Some(&row("h")), &[row(" ")]);
        draft.table(Some(&row(" ")), &[]);
        draft.record("k: v", Place::page(4));
        draft.quote("q", Place::default());
        let (body, structure) = draft.finish();
        assert_eq!(
            body,
            "A title\n\n- one\n  2. two\nmore\n\n  x\n\n y\n\na |\n\nh\n\nk: v\n\nq\n"
        );
        let shown: Vec<&str> =
            structure.items.iter().map(|item| &body[item.bytes.clone()]).collect();
        let wanted = ["A title", "- one", "  2. two\nmore", "  x\n\n y", "a |", "h", "k: v", "q"];
        assert_eq!(shown, wanted);
        assert_eq!(structure.items[0].kind, ItemKind::Heading { level: 1 });
        assert_eq!(structure.items[4].kind, ItemKind::Table { rows: vec![39] });
        assert_eq!(structure.items[5].kind, ItemKind::Table { rows: vec![] });
    }
}
