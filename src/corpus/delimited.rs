//! CSV and TSV: one document a file, and each row a block of its own.
//!
//! A row is written one cell a line, each under its column's name: `Colour: red`. That is what a
//! reader needs to make sense of a row alone, whatever the width of the table, and a word of the
//! header counts only in rows that have something in its column, since empty cells are left out. A
//! bag-of-words search does not see the difference to `red | 3` under a repeated header line.

use csv::{ReaderBuilder, StringRecord};

use super::{
    BodyForm, CorpusSettings, Decoded, Document, Draft, Lines, Metadata, Place, RawFile, Reader,
    Reading, Remark, Source, naming,
};
use crate::error::Result;

/// Reads `.csv` and `.tsv`: the delimiter is found among `,`, `;`, tab and `|`; cells in `"` may hold
/// delimiters and line ends. The first row names the columns, unless the first two are all numbers.
pub struct Delimited;

/// The delimiters that are tried; the first wins a draw.
const DELIMITERS: [u8; 4] = [b',', b';', b'\t', b'|'];

/// How many times its length a file may grow by the names of its columns.
const GROWTH: usize = 16;

/// Rows by which the delimiter is found.
const SAMPLE_ROWS: usize = 64;

impl Reader for Delimited {
    fn read(&self, source: &RawFile, _: &CorpusSettings) -> Result<Reading> {
        let decoded = source.text()?;
        let Decoded { text, mut remarks, offsets } = decoded;
        let rows = rows(&text, delimiter(&text), &mut remarks);
        let names = names(&rows);
        let cells = usize::from(!names.is_empty());
        let width = if names.is_empty() {
            rows.first().map_or(0, |row| row.cells.len())
        } else {
            names.len()
        };
        let mut draft = Draft::default();
        let mut ragged: Option<(usize, u64)> = None;
        let (most, mut grew) = (text.len() * GROWTH + 4096, false);
        for row in rows.iter().skip(cells) {
            grew |= draft.len() > most;
            if row.cells.len() != width {
                let (count, _) = ragged.get_or_insert((0, row.lines.first));
                *count += 1;
            }
            let own: &[String] = if grew { &[] } else { &names };
            draft.record(&shown(row, own), Place::text(row.lines, row.bytes.clone()));
        }
        if draft.is_empty()
            && let Some(header) = rows.first()
        {
            // A header alone is all there is to find.
            draft.record(&shown(header, &[]), Place::text(header.lines, header.bytes.clone()));
        }
        if grew {
            let what =
                "names of columns are left out below: they are far longer than what is in them";
            remarks.push(Remark::loss(None, what));
        }
        if let Some((count, line)) = ragged {
            let rows =
                if count == 1 { "a row has".to_owned() } else { format!("{count} rows have") };
            remarks.push(Remark {
                line: Some(line),
                text: format!("{rows} not the {width} cells of the first; all cells are kept"),
                is_loss: false,
            });
        }
        let (body, structure) = draft.finish();
        let document = Document {
            id: naming::id_with_ending(&source.path),
            title: naming::title_of_path(&source.path),
            metadata: Metadata::default(),
            body,
            form: BodyForm::Structured(structure),
            source: Source::file(&source.path, 1, 0),
            vector: None,
        };
        Ok(Reading { documents: vec![document], remarks }.placed(&offsets))
    }
}

/// A row as it stands in the file.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Row {
    cells: Vec<String>,
    lines: Lines,
    bytes: std::ops::Range<u64>,
}

/// One cell a line under its column's name; empty cells are left out.
fn shown(row: &Row, names: &[String]) -> String {
    let cells = row.cells.iter().enumerate().filter(|(_, cell)| !cell.is_empty());
    let lines = cells.map(|(at, cell)| match names.get(at).map(String::as_str) {
        Some("") => cell.clone(),
        Some(name) => format!("{name}: {cell}"),
        None if names.is_empty() => cell.clone(),
        None => format!("column {}: {cell}", at + 1),
    });
    lines.collect::<Vec<_>>().join("\n")
}

/// The names of the columns; none when the first two rows are of numbers, or there is but one.
fn names(rows: &[Row]) -> Vec<String> {
    let [first, second, ..] = rows else { return Vec::new() };
    let number = |cell: &String| cell.is_empty() || cell.parse::<f64>().is_ok();
    let is_data = first.cells.iter().chain(&second.cells).all(number);
    if is_data { Vec::new() } else { first.cells.clone() }
}

/// The delimiter under which the first rows are most alike, and then widest.
fn delimiter(text: &str) -> u8 {
    let score = |delimiter: u8| {
        let widths: Vec<usize> = Cut::new(text, 0, delimiter, true)
            .take(SAMPLE_ROWS)
            .map(|row| row.cells.len())
            .collect();
        let alike = |width: usize| widths.iter().filter(|other| **other == width).count();
        // The width that most rows have, among those of more than one cell.
        let wide = widths.iter().copied().filter(|width| *width > 1);
        let best = wide.max_by_key(|width| (alike(*width), *width)).unwrap_or(0);
        (alike(best) * 100 / widths.len().max(1), best)
    };
    // The last of equals is what `max_by_key` gives; the first is wanted.
    let found = DELIMITERS.into_iter().rev().max_by_key(|delimiter| score(*delimiter));
    found.unwrap_or(b',')
}

/// All rows that hold something. A quote that is opened and never closed would swallow all that
/// follows; from there on quotes are taken as they stand.
fn rows(text: &str, delimiter: u8, remarks: &mut Vec<Remark>) -> Vec<Row> {
    let mut rows: Vec<Row> = Cut::new(text, 0, delimiter, true).collect();
    let unclosed = rows.last().filter(|last| {
        let bytes = last.bytes.start as usize..last.bytes.end as usize;
        let raw = text.get(bytes).unwrap_or_default();
        last.lines.last > last.lines.first && raw.matches('"').count() % 2 == 1
    });
    if let Some(from) = unclosed.map(|row| (row.bytes.start as usize, row.lines.first)) {
        rows.pop();
        rows.extend(Cut::new(text, from.0, delimiter, false));
        let what = "a quote opened here is not closed; from here on quotes are part of the cells";
        remarks.push(Remark::loss(Some(from.1), what));
    }
    rows.retain(|row| row.cells.iter().any(|cell| !cell.is_empty()));
    rows
}

/// Cuts a text into rows, and knows where each stands.
struct Cut<'t> {
    text: &'t str,
    from: usize,
    reader: csv::Reader<&'t [u8]>,
    /// Lines that end before `counted`.
    lines: u64,
    counted: usize,
}

impl<'t> Cut<'t> {
    fn new(text: &'t str, from: usize, delimiter: u8, quoting: bool) -> Self {
        let rest = text.get(from..).unwrap_or_default();
        let mut builder = ReaderBuilder::new();
        builder.delimiter(delimiter).has_headers(false).flexible(true).quoting(quoting);
        let lines = super::file::line_ends(&text.as_bytes()[..from]);
        Self { text, from, reader: builder.from_reader(rest.as_bytes()), lines, counted: from }
    }

    /// The line, from 1, of a byte that is not before the last one asked for.
    fn line(&mut self, byte: usize) -> u64 {
        let passed = self.text.as_bytes().get(self.counted..byte).unwrap_or_default();
        self.lines += super::file::line_ends(passed);
        self.counted = self.counted.max(byte);
        self.lines + 1
    }
}

impl Iterator for Cut<'_> {
    type Item = Row;

    fn next(&mut self) -> Option<Row> {
        let mut record = StringRecord::new();
        let start = self.from + self.reader.position().byte() as usize;
        // The text is UTF-8 and rows may be of any width, so nothing can fail but the end.
        if !self.reader.read_record(&mut record).ok()? {
            return None;
        }
        let end = self.from + self.reader.position().byte() as usize;
        let raw = self.text.get(start..end).unwrap_or_default();
        let blank = raw.len() - raw.trim_start_matches('\n').len();
        let (start, end) = (start + blank, start + raw.trim_end_matches('\n').len());
        let (start, end) = (start.min(end), end);
        let lines = Lines { first: self.line(start), last: self.line(end) };
        let cell = |cell: &str| cell.split_whitespace().collect::<Vec<_>>().join(" ");
        let cells = record.iter().map(cell).collect();
        Some(Row { cells, lines, bytes: start as u64..end as u64 })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> (Vec<(String, String, String)>, Vec<String>) {
        let folder = tempfile::tempdir().unwrap();
        let location = folder.path().join("x.csv");
        std::fs::write(&location, text).unwrap();
        let source = RawFile { path: "a/parts list.csv".into(), location };
        let read = Delimited.read(&source, &CorpusSettings::default()).unwrap();
        let [document] = read.documents.as_slice() else { unreachable!() };
        assert_eq!(
            (document.id.as_str(), document.title.as_str()),
            ("a/parts-list.csv", "Parts list")
        );
        let BodyForm::Structured(structure) = &document.form else { unreachable!() };
        let rows = structure.items.iter().zip(&structure.places).map(|(item, (_, place))| {
            let bytes = place.bytes.clone().unwrap();
            let raw = &text[bytes.start as usize..bytes.end as usize];
            (
                document.body[item.bytes.clone()].to_owned(),
                place.lines.unwrap().to_string(),
                raw.to_owned(),
            )
        });
        let said = read.remarks.iter().map(|remark| {
            format!(
                "{}{}: {}",
                if remark.is_loss { "! " } else { "" },
                remark.line.unwrap(),
                remark.text
            )
        });
        (rows.collect(), said.collect())
    }

    #[test]
    fn a_row_is_a_record_with_its_header_and_its_place() {
        let (rows, said) = read(
            "Code,\"What it\nmeans\",Note\n\nF-12,\"no oil, \"\"really\"\"\",\nF-13,\"dry\nseal\",*x*\n",
        );
        let wanted = [
            (
                "Code: F-12\nWhat it means: no oil, \"really\"",
                "4",
                "F-12,\"no oil, \"\"really\"\"\",",
            ),
            ("Code: F-13\nWhat it means: dry seal\nNote: *x*", "5-6", "F-13,\"dry\nseal\",*x*"),
        ];
        let wanted = wanted.map(|(a, b, c)| (a.to_owned(), b.to_owned(), c.to_owned()));
        assert_eq!((rows, said), (wanted.to_vec(), vec![]));
    }

    #[test]
    fn the_delimiter_is_found() {
        for (expected, text) in [
            (b',', "a,b;c\n1,2\n3,4\n"),
            (b';', "a;b\n1,5;2\n3,7;4,1\n"),
            (b'\t', "a\tb, c\n1\t2\n"),
            (b'|', "a|b|c\n1|2,3|x\n"),
            (b',', "alone\none\ntwo\n"),
            (b',', ""),
        ] {
            assert_eq!(char::from(delimiter(text)), char::from(expected), "{text:?}");
        }
    }

    #[test]
    fn ragged_rows_are_kept_and_told() {
        let (rows, said) = read("a,b\n1\n2,3\n4,5,6\n");
        let texts: Vec<&str> = rows.iter().map(|(text, ..)| text.as_str()).collect();
        assert_eq!(texts, ["a: 1", "a: 2\nb: 3", "a: 4\nb: 5\ncolumn 3: 6"]);
        assert_eq!(said, ["2: 2 rows have not the 2 cells of the first; all cells are kept"]);
    }

    #[test]
    fn a_quote_that_is_never_closed_swallows_nothing() {
        let (rows, said) = read("a,b\n1,\"x\n2,y\n3,z\n");
        let texts: Vec<&str> = rows.iter().map(|(text, ..)| text.as_str()).collect();
        assert_eq!(texts, ["a: 1\nb: \"x", "a: 2\nb: y", "a: 3\nb: z"]);
        assert_eq!(said.len(), 1);
        assert!(said[0].starts_with("! 2: a quote opened here is not closed"), "{said:?}");
    }

    #[test]
    fn numbers_name_no_columns_and_a_header_alone_is_found() {
        assert_eq!(read("1,2\n3,4\n").0.len(), 2);
        assert_eq!(read("Code,Meaning\n").0[0].0, "Code\nMeaning");
    }
}
