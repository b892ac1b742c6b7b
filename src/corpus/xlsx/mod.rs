//! Workbooks: every sheet a section, every row a record with the names of its columns.
//!
//! Cells are read as they are shown: a formula by the value that was last reckoned, a number and a
//! date by the format of its cell, days as `YYYY-MM-DD`. Hidden sheets are left out, which the build
//! report says.

mod format;
mod rows;

use std::collections::BTreeMap;

use format::{Shape, built_in, shape};
use rows::{Row, Sheet};

use super::archive::Archive;
use super::package::Package;
use super::pieces::{self, Piece, PieceKind};
use super::xml::{Element, Tree};
use super::{CorpusSettings, Lines, Place, RawFile, Reader, Reading, Remark, naming};
use crate::error::Result;

/// Reads `.xlsx` and `.xlsm`.
pub struct Xlsx;

impl Reader for Xlsx {
    fn read(&self, source: &RawFile, settings: &CorpusSettings) -> Result<Reading> {
        let archive =
            Archive::open(&source.location, source.bytes()?, settings.max_unpacked_bytes)?;
        let mut package = Package::open(archive, "xl/workbook.xml")?;
        let book = Book::read(&mut package)?;
        let (mut pieces, mut remarks) = (Vec::new(), Vec::new());
        for Listed { name, part, is_hidden } in &book.sheets {
            if *is_hidden {
                let text = format!("the sheet `{name}` is hidden and was left out");
                remarks.push(Remark::loss(None, text));
                continue;
            }
            let Some(text) = package.archive.text(part)? else {
                let text = format!("the sheet `{name}` is missing from the file");
                remarks.push(Remark::loss(None, text));
                continue;
            };
            let Sheet { rows, fault } = Sheet::read(&text, &book);
            if let Some(fault) = fault {
                let read = rows.last().map_or(0, |row| row.number);
                let text = format!("the sheet `{name}` is damaged after row {read}: {fault}");
                remarks.push(Remark::loss(None, text));
            }
            sheet_pieces(name, &rows, &mut pieces);
        }
        let properties = package.properties()?;
        // The name of a lone sheet is no title.
        let title = properties.title.or_else(|| Some(naming::title_of_path(&source.path)));
        let document = pieces::document(source, title, properties.metadata, pieces);
        Ok(Reading { documents: vec![document], remarks })
    }
}

/// What all sheets of a workbook share.
struct Book {
    sheets: Vec<Listed>,
    texts: Vec<String>,
    /// By the number of the cell's style.
    shapes: Vec<Shape>,
    from_1904: bool,
}

struct Listed {
    name: String,
    part: String,
    is_hidden: bool,
}

impl Book {
    fn read(package: &mut Package) -> Result<Self> {
        let main = package.main.clone();
        let links = package.relationships(&main)?;
        let part = |kind: &str| links.iter().find(|link| link.kind == kind).map(|link| &link.part);
        let mut linked = |kind: &str| -> Result<Option<Tree>> {
            part(kind).map_or(Ok(None), |part| package.tree(part))
        };
        let (texts, styles) = (linked("sharedStrings")?, linked("styles")?);
        let tree = package.tree(&main)?;
        let root = tree.as_ref().map(Tree::root);
        let listed = root.and_then(|root| root.child("sheets"));
        let listed = listed.into_iter().flat_map(Element::children);
        let sheets = listed.filter(|one| one.name() == "sheet").filter_map(|one| {
            // The namespace of `id` is lost here: `sheetId` is the other number of a sheet.
            let link = links.iter().find(|link| one.attribute("id") == Some(link.id.as_str()))?;
            Some(Listed {
                name: one.attribute("name").unwrap_or_default().to_owned(),
                part: (link.kind == "worksheet").then(|| link.part.clone())?,
                is_hidden: one.attribute("state").is_some_and(|state| state != "visible"),
            })
        });
        let calendar = root.and_then(|root| root.child("workbookPr")?.attribute("date1904"));
        Ok(Self {
            sheets: sheets.collect(),
            texts: texts.map_or_else(Vec::new, |tree| shared_texts(tree.root())),
            shapes: styles.map_or_else(Vec::new, |tree| shapes(tree.root())),
            from_1904: calendar.is_some_and(|on| on == "1" || on == "true"),
        })
    }
}

/// The texts that cells refer to by number; how they sound (`rPh`) is left out.
fn shared_texts(root: Element<'_>) -> Vec<String> {
    let items = root.children().filter(|item| item.name() == "si");
    items.map(plain).collect()
}

/// The text of an item that may be made of runs.
fn plain(item: Element<'_>) -> String {
    let mut text = String::new();
    for child in item.children() {
        match child.name() {
            "t" => text.push_str(&child.text()),
            "r" => text.push_str(&plain(child)),
            _ => {}
        }
    }
    text
}

fn shapes(root: Element<'_>) -> Vec<Shape> {
    let codes = root.child("numFmts").into_iter().flat_map(Element::children);
    let own: BTreeMap<u32, Shape> = codes
        .filter_map(|one| {
            let id = one.attribute("numFmtId")?.parse().ok()?;
            Some((id, shape(one.attribute("formatCode")?)))
        })
        .collect();
    let cells = root.child("cellXfs").into_iter().flat_map(Element::children);
    let formats = cells.filter(|one| one.name() == "xf").map(|one| {
        let id = one.attribute("numFmtId").and_then(|id| id.parse().ok()).unwrap_or(0);
        own.get(&id).cloned().unwrap_or_else(|| built_in(id))
    });
    formats.collect()
}

/// A sheet as a section.
///
/// A row of one cell before the first table, or between two, is text. The first row with more cells
/// names the columns, if it holds texts only; so does a row of texts below a blank row.
fn sheet_pieces(name: &str, rows: &[Row], pieces: &mut Vec<Piece>) {
    let Some(first) = rows.first() else { return };
    let at = |row: &Row| Place {
        lines: Some(Lines { first: row.number, last: row.number }),
        ..Place::default()
    };
    let heading = PieceKind::Heading { level: 1, text: name.to_owned() };
    pieces.push(Piece { kind: heading, place: at(first) });
    let mut header: Option<BTreeMap<u32, String>> = None;
    let mut last = 0;
    for (index, row) in rows.iter().enumerate() {
        let parted = row.number > last + 1;
        last = row.number;
        let is_alone = row.cells.len() == 1;
        let next_is_wide = rows.get(index + 1).is_some_and(|next| next.cells.len() > 1);
        let names_columns = row.cells.len() > 1 && row.cells.iter().all(|cell| cell.is_text);
        if (header.is_none() || parted) && names_columns && next_is_wide {
            header = Some(row.cells.iter().map(|cell| (cell.column, cell.text.clone())).collect());
            continue;
        }
        let kind = if is_alone && (header.is_none() || parted) {
            PieceKind::Paragraph(row.cells[0].text.clone())
        } else {
            PieceKind::Record(record(row, header.as_ref()))
        };
        pieces.push(Piece { kind, place: at(row) });
    }
}

/// One field a line, each behind the name of its column.
fn record(row: &Row, header: Option<&BTreeMap<u32, String>>) -> String {
    let fields = row.cells.iter().map(|cell| {
        let text = super::heading::tidy(&cell.text);
        match header.and_then(|header| header.get(&cell.column)) {
            Some(name) => format!("{}: {text}", super::heading::tidy(name)),
            None => text,
        }
    });
    fields.collect::<Vec<_>>().join("\n")
}
