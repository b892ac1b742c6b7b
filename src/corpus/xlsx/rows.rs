//! The cells of one sheet, read from front to back.

use quick_xml::Reader;
use quick_xml::events::{BytesStart, Event};

use super::Book;
use super::format::{Shape, shown};
use crate::corpus::xml::{attribute, local, resolved};

/// Columns that a sheet can have.
const MAX_COLUMNS: u32 = 16_384;

/// What a sheet holds.
#[derive(Debug, Default)]
pub(super) struct Sheet {
    /// Rows with text, in their order.
    pub(super) rows: Vec<Row>,
    /// Why the sheet was not read to its end.
    pub(super) fault: Option<String>,
}

/// A row with text in it.
#[derive(Debug)]
pub(super) struct Row {
    /// From 1.
    pub(super) number: u64,
    pub(super) cells: Vec<Cell>,
}

/// A cell with text in it.
#[derive(Debug)]
pub(super) struct Cell {
    /// From 0.
    pub(super) column: u32,
    pub(super) text: String,
    /// Whether it is a text and not a number, a date or a truth.
    pub(super) is_text: bool,
}

/// The cell that is being read.
#[derive(Default)]
struct Open {
    column: u32,
    kind: String,
    style: usize,
    value: String,
    inline: String,
}

impl Sheet {
    pub(super) fn read(text: &str, book: &Book) -> Self {
        let mut sheet = Self::default();
        let mut reader = Reader::from_str(text);
        reader.config_mut().check_end_names = false;
        let (mut row, mut next_column) = (0, 0);
        let mut cell: Option<Open> = None;
        // The element whose text counts: `v` or `t`.
        let mut inside = "";
        loop {
            match reader.read_event() {
                Ok(Event::Start(tag)) => match tag.local_name().as_ref() {
                    "row" => (row, next_column) = (number(&tag).unwrap_or(row + 1), 0),
                    "c" => {
                        let open = Open::of(&tag, next_column);
                        next_column = open.column.saturating_add(1);
                        cell = Some(open);
                    }
                    "v" => inside = "v",
                    "t" => inside = "t",
                    // How a text sounds.
                    "rPh" | "extLst" => {
                        if let Err(fault) = reader.read_to_end(tag.name()) {
                            sheet.fault = Some(fault.to_string());
                            break;
                        }
                    }
                    _ => {}
                },
                Ok(Event::Empty(tag)) => match tag.local_name().as_ref() {
                    "row" => (row, next_column) = (number(&tag).unwrap_or(row + 1), 0),
                    "c" => next_column = Open::of(&tag, next_column).column.saturating_add(1),
                    _ => {}
                },
                Ok(Event::End(tag)) => match local(tag.name().as_ref()) {
                    "c" => {
                        let done = cell.take().and_then(|open| open.finish(book));
                        sheet.rows_push(row, done);
                    }
                    "v" | "t" => inside = "",
                    _ => {}
                },
                Ok(Event::Text(text)) => note(&mut cell, inside, &text),
                Ok(Event::CData(text)) => note(&mut cell, inside, &text),
                Ok(Event::GeneralRef(entity)) => note(&mut cell, inside, &resolved(&entity)),
                Ok(Event::Eof) => break,
                Ok(_) => {}
                Err(fault) => {
                    sheet.fault = Some(fault.to_string());
                    break;
                }
            }
        }
        sheet
    }

    fn rows_push(&mut self, number: u64, cell: Option<Cell>) {
        let Some(cell) = cell else { return };
        match self.rows.last_mut() {
            Some(last) if last.number == number => last.cells.push(cell),
            _ => self.rows.push(Row { number, cells: vec![cell] }),
        }
    }
}

fn note(cell: &mut Option<Open>, inside: &str, text: &str) {
    match (cell, inside) {
        (Some(open), "v") => open.value.push_str(text),
        (Some(open), "t") => open.inline.push_str(text),
        _ => {}
    }
}

fn number(row: &BytesStart<'_>) -> Option<u64> {
    attribute(row, "r")?.parse().ok()
}

impl Open {
    fn of(tag: &BytesStart<'_>, next_column: u32) -> Self {
        let stated = attribute(tag, "r").and_then(|name| column(&name));
        Self {
            column: stated.unwrap_or(next_column),
            kind: attribute(tag, "t").unwrap_or_default(),
            style: attribute(tag, "s").and_then(|style| style.parse().ok()).unwrap_or(0),
            ..Self::default()
        }
    }

    /// The cell as it is shown; `None` for a blank one.
    fn finish(self, book: &Book) -> Option<Cell> {
        let value = self.value.trim();
        let (text, is_text) = match self.kind.as_str() {
            "s" => (value.parse().ok().and_then(|at: usize| book.texts.get(at).cloned())?, true),
            "inlineStr" => (self.inline, true),
            "str" => (self.value, true),
            "b" => ((if value == "1" { "TRUE" } else { "FALSE" }).to_owned(), false),
            // A day in ISO 8601 is shown as it is.
            "e" | "d" => (self.value, false),
            _ => match value.parse() {
                Ok(number) => {
                    let shape = book.shapes.get(self.style).unwrap_or(&Shape::General);
                    (shown(number, shape, book.from_1904), false)
                }
                Err(_) => (self.value, true),
            },
        };
        (!text.trim().is_empty()).then_some(Cell { column: self.column, text, is_text })
    }
}

/// The column, from 0, in a name such as `AB12`.
fn column(name: &str) -> Option<u32> {
    let letters = name.bytes().take_while(u8::is_ascii_alphabetic);
    let number = letters
        .take(4)
        .fold(0_u32, |sum, letter| sum * 26 + u32::from(letter.to_ascii_uppercase() - b'A') + 1);
    number.checked_sub(1).filter(|column| *column < MAX_COLUMNS)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_have_their_letters() {
        assert_eq!((column("A1"), column("Z9"), column("AA1")), (Some(0), Some(25), Some(26)));
        assert_eq!((column("XFD1"), column("XFE1"), column("12")), (Some(16_383), None, None));
    }
}
