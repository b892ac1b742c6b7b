//! Rows and cells of a table in HTML.

use super::{Kind, Part, Piece, Place, Row};

/// Columns of a table; whatever spans more is cut.
const COLUMNS_MAX: usize = 1000;

/// The text of a cell that spans rows, repeated in so many more of them.
#[derive(Debug, Clone, Default)]
struct Carried {
    rows: usize,
    text: String,
}

/// A table being read.
#[derive(Debug)]
pub(super) struct Table {
    rows: Vec<Row>,
    has_header: bool,
    /// By column.
    carried: Vec<Carried>,
    row: Vec<String>,
    row_place: Option<Place>,
    /// Whether the open row has a cell, and all its cells are headers.
    all_headers: bool,
    cell: Option<Cell>,
    /// Whether a table inside showed that this one only lays out the page.
    pub(super) is_layout: bool,
    /// What spans may still add, so that a small page cannot ask for a huge table.
    budget: usize,
}

/// Bytes that the spans of a table may add to it.
const SPAN_BYTES: usize = 1 << 20;

impl Default for Table {
    fn default() -> Self {
        Self {
            rows: Vec::new(),
            has_header: false,
            carried: Vec::new(),
            row: Vec::new(),
            row_place: None,
            all_headers: false,
            cell: None,
            is_layout: false,
            budget: SPAN_BYTES,
        }
    }
}

#[derive(Debug)]
struct Cell {
    text: String,
    columns: usize,
    rows: usize,
}

impl Table {
    pub(super) fn open_row(&mut self) {
        self.close_row();
        self.all_headers = true;
    }

    pub(super) fn open_cell(&mut self, is_header: bool, columns: Option<&str>, rows: Option<&str>) {
        self.close_cell();
        if self.row.is_empty() && self.row_place.is_none() {
            self.all_headers = true;
        }
        self.all_headers &= is_header;
        let number =
            |text: Option<&str>| text.and_then(|text| text.trim().parse().ok()).unwrap_or(1);
        let (columns, rows) = (number(columns), number(rows));
        let (columns, rows) = (columns.clamp(1, COLUMNS_MAX), rows.clamp(1, COLUMNS_MAX));
        self.cell = Some(Cell { text: String::new(), columns, rows });
    }

    /// Whether text belongs to a cell.
    pub(super) fn has_cell(&self) -> bool {
        self.cell.is_some() && !self.is_layout
    }

    /// Adds text to the open cell.
    pub(super) fn add(&mut self, text: &str, place: &Place) {
        if let Some(cell) = &mut self.cell {
            if !cell.text.is_empty() {
                cell.text.push(' ');
            }
            cell.text.push_str(text);
            let before = self.row_place.take().unwrap_or_else(|| place.clone());
            self.row_place = Some(before.with(place));
        }
    }

    pub(super) fn close_cell(&mut self) {
        let Some(Cell { text, columns, rows }) = self.cell.take() else { return };
        self.fill();
        for column in 0..columns {
            let at = self.row.len();
            // Each column costs more than its text.
            let cost = if column == 0 { 0 } else { 8 };
            if at >= COLUMNS_MAX || cost > self.budget {
                break;
            }
            self.budget -= cost;
            let shown = if column == 0 { text.as_str() } else { "" };
            if rows > 1 {
                if self.carried.len() <= at {
                    self.carried.resize(at + 1, Carried::default());
                }
                self.carried[at] = Carried { rows, text: shown.to_owned() };
            }
            self.row.push(shown.to_owned());
        }
    }

    /// Puts the cells of rows above that reach down here.
    fn fill(&mut self) {
        while let Some(carried) = self.carried.get_mut(self.row.len())
            && carried.rows > 1
            && self.row.len() < COLUMNS_MAX
            && carried.text.len() + 8 <= self.budget
        {
            self.budget -= carried.text.len() + 8;
            carried.rows -= 1;
            self.row.push(carried.text.clone());
        }
    }

    pub(super) fn close_row(&mut self) {
        self.close_cell();
        if self.row.is_empty() {
            return;
        }
        self.fill();
        let (row, place) = (std::mem::take(&mut self.row), self.row_place.take());
        if row.iter().all(|cell| cell.trim().is_empty()) {
            return;
        }
        self.has_header |= self.rows.is_empty() && self.all_headers;
        self.rows.push((row, place.unwrap_or_default()));
        self.all_headers = true;
    }

    /// What is there so far: a table, or a paragraph a cell where it only lays out the page.
    pub(super) fn take(&mut self, part: Part) -> Vec<Piece> {
        self.close_row();
        let mut rows = std::mem::take(&mut self.rows);
        let widest = rows.iter().map(|(cells, _)| cells.len()).max().unwrap_or(0);
        if widest < 2 || self.is_layout {
            let cells = rows.into_iter().flat_map(|(cells, place)| {
                cells.into_iter().map(move |cell| (cell, place.clone()))
            });
            let filled = cells.filter(|(cell, _)| !cell.trim().is_empty());
            let piece =
                |(text, place)| Piece { kind: Kind::Paragraph, text, place, part, links: 0 };
            return filled.map(piece).collect();
        }
        let header = (self.has_header && rows.len() > 1).then(|| rows.remove(0));
        let place = rows.first().map(|(_, place)| place.clone()).unwrap_or_default();
        vec![Piece {
            kind: Kind::Table { header, rows },
            text: String::new(),
            place,
            part,
            links: 0,
        }]
    }
}
