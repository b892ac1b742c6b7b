//! Sheets that people fill in: CSV (RFC 4180, UTF-8), written and read back.

use std::path::Path;

use crate::error::{Error, Result};

/// A field in quotes. One that a spreadsheet would take for a formula gets an apostrophe before it,
/// which spreadsheets do not show.
pub(super) fn quoted(field: &str) -> String {
    let formula = field.starts_with(['=', '+', '-', '@', '\t', '\r']);
    format!("\"{}{}\"", if formula { "'" } else { "" }, field.replace('"', "\"\""))
}

/// The fields called `columns` of every row of a sheet below its first, each with its line, from 1.
/// Columns may stand in any order, with others beside them. The sheet at `path` has the text `text`;
/// `help` says how one is made.
pub(super) fn read<const N: usize>(
    path: &Path,
    text: &str,
    columns: [&str; N],
    help: &str,
) -> Result<Vec<(u64, [String; N])>> {
    let fault = |line: u64, problem: String| Err(Error::input(path, Some(line), problem, help));
    let rows = match rows(text.trim_start_matches('\u{feff}')) {
        Ok(rows) => rows,
        Err(line) => return fault(line, "a quote is not closed".to_owned()),
    };
    let Some((first, header)) = rows.first() else {
        return fault(1, "the sheet is empty".to_owned());
    };
    let place = |name: &str| header.iter().position(|own| own.trim().eq_ignore_ascii_case(name));
    let places: Vec<usize> = columns.into_iter().filter_map(place).collect();
    let Ok(places) = <[usize; N]>::try_from(places) else {
        let names: Vec<String> = columns.iter().map(|name| format!("`{name}`")).collect();
        return fault(*first, format!("it needs the columns {}", names.join(" and ")));
    };
    let mut filled = Vec::with_capacity(rows.len() - 1);
    for (line, row) in &rows[1..] {
        if row.len() != header.len() {
            let (found, wanted) = (row.len(), header.len());
            return fault(*line, format!("{found} fields where the first line has {wanted}"));
        }
        filled.push((*line, places.map(|at| row[at].clone())));
    }
    Ok(filled)
}

/// Rows with their lines, from 1; a quoted field may hold line ends. The error is the line of a quote
/// that is never closed.
fn rows(text: &str) -> std::result::Result<Vec<(u64, Vec<String>)>, u64> {
    let mut rows = Vec::new();
    let (mut row, mut field) = (Vec::new(), String::new());
    let (mut line, mut began, mut opened) = (1, 1, None);
    let mut letters = text.chars().peekable();
    while let Some(letter) = letters.next() {
        line += u64::from(letter == '\n');
        match (opened, letter) {
            (Some(_), '"') if letters.peek() == Some(&'"') => {
                letters.next();
                field.push('"');
            }
            (Some(_), '"') => opened = None,
            (Some(_), letter) => field.push(letter),
            (None, '"') => opened = Some(line),
            (None, ',') => row.push(std::mem::take(&mut field)),
            (None, '\r') => {}
            (None, '\n') => {
                row.push(std::mem::take(&mut field));
                rows.push((began, std::mem::take(&mut row)));
                began = line;
            }
            (None, letter) => field.push(letter),
        }
    }
    if let Some(line) = opened {
        return Err(line);
    }
    if !field.is_empty() || !row.is_empty() {
        row.push(field);
        rows.push((began, row));
    }
    rows.retain(|(_, row)| row.iter().any(|field| !field.trim().is_empty()));
    Ok(rows)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_quoted_is_read_back() {
        for field in ["a", "no, \"30\"", "two\nlines", ""] {
            let read = rows(&format!("x,{}\r\n", quoted(field))).unwrap();
            assert_eq!(read, [(1, vec!["x".to_owned(), field.to_owned()])]);
        }
        assert_eq!(quoted("=1+1"), "\"'=1+1\"");
    }
}
