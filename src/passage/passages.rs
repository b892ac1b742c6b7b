//! Blocks to passages: the units that are searched.

use std::ops::Range;

use super::origin::LineEnds;
use super::packer::{Cut, Header, Packer};
use super::pieces::{pack_lines, pack_sentences};
use super::{Block, Element, ElementKind, Passage, PassageRef, Settings};
use crate::text::estimate_tokens;

/// The passages of `block`, in order, numbered from 0.
///
/// A block of at most [`Settings::max_tokens`] is one passage. A longer one is packed greedily:
/// an element that still fits goes into the open passage; one that fits a passage of its own
/// begins the next; one longer than a passage comes apart, a table at its rows, a list item or
/// quote at its parts, code and HTML at lines, text at sentences, then lines, then words, then
/// characters as readers see them. Every part of a table begins with the table's header.
///
/// A passage exceeds the size only where one row of a table with its header, or one character
/// alone, does.
pub fn passages(block: &Block, settings: &Settings) -> Vec<Passage> {
    let text = block.text.as_str();
    let cuts = if estimate_tokens(text) <= settings.max_tokens {
        vec![Cut { header: None, bytes: 0..text.len() }]
    } else {
        let mut packer = Packer::new(text, settings);
        block.elements.iter().for_each(|element| pack(&mut packer, element, settings));
        packer.finish()
    };
    let ends = if cuts.len() > 1 { LineEnds::of(text) } else { LineEnds::of("") };
    let shown = cuts.into_iter().filter_map(|cut| Some((trimmed(text, &cut.bytes)?, cut.header)));
    (0..)
        .zip(shown)
        .map(|(number, (bytes, header))| {
            let own = &text[bytes.clone()];
            let text = header.map_or_else(|| own.to_owned(), |header| under(&text[header], own));
            let whole = bytes.start == 0 && bytes.end == block.text.len();
            let place = if whole { block.place.clone() } else { block.origin.place(&ends, &bytes) };
            let reference = PassageRef::new(block.reference.clone(), number);
            Passage { reference, tokens: estimate_tokens(&text), text, place, bytes }
        })
        .collect()
}

fn under(header: &str, rows: &str) -> String {
    format!("{}\n{rows}", header.trim_end())
}

/// `bytes` without blank lines before and white space after; `None` when nothing is left.
fn trimmed(text: &str, bytes: &Range<usize>) -> Option<Range<usize>> {
    let cut = &text[bytes.clone()];
    let end = cut.trim_end().len();
    let blank = end - cut[..end].trim_start().len();
    let start = cut[..blank].rfind('\n').map_or(0, |line_end| line_end + 1);
    (start < end).then(|| bytes.start + start..bytes.start + end)
}

fn pack(packer: &mut Packer<'_>, element: &Element, settings: &Settings) {
    let bytes = element.bytes.clone();
    if packer.add(bytes.clone()) {
        return;
    }
    match &element.kind {
        ElementKind::Table { rows } => pack_rows(packer, bytes, rows, settings),
        ElementKind::Code | ElementKind::Html => pack_lines(packer, bytes),
        ElementKind::ListItem { parts } | ElementKind::Quote { parts } if !parts.is_empty() => {
            parts.iter().for_each(|part| pack(packer, part, settings));
        }
        _ => pack_sentences(packer, bytes),
    }
}

/// Bytes of a repeated header for each token of a passage: several times what text needs.
const HEADER_BYTES_PER_TOKEN: usize = 16;

fn pack_rows(packer: &mut Packer<'_>, bytes: Range<usize>, rows: &[usize], settings: &Settings) {
    let Some((first, rest)) = rows.split_first() else {
        return pack_lines(packer, bytes);
    };
    let head = bytes.start..*first;
    let tokens = estimate_tokens(&packer.text()[head.clone()]);
    // A header that fills more than three quarters would leave its rows no room, and repeating it
    // would multiply the text; it then stands at the first row only. So does one of many bytes,
    // since white space costs no tokens.
    let repeats = tokens <= settings.max_tokens / 4 * 3
        && head.len() <= settings.max_tokens.saturating_mul(HEADER_BYTES_PER_TOKEN);
    let header = Header { bytes: head, tokens };
    if header.bytes.is_empty() {
        // A table without a header: its rows stand for themselves.
        return rows_alone(packer, bytes, rows);
    }
    packer.add_table_head(bytes.start..rest.first().copied().unwrap_or(bytes.end));
    let ends = rest.iter().skip(1).copied().chain([bytes.end]);
    for (start, end) in rest.iter().copied().zip(ends) {
        if repeats {
            packer.add_row(start..end, &header);
        } else if !packer.add(start..end) {
            packer.add_table_head(start..end);
        }
    }
}

fn rows_alone(packer: &mut Packer<'_>, bytes: Range<usize>, rows: &[usize]) {
    let ends = rows.iter().skip(1).copied().chain([bytes.end]);
    for (start, end) in rows.iter().copied().zip(ends) {
        if !packer.add(start..end) {
            pack_lines(packer, start..end);
        }
    }
}

#[cfg(test)]
mod tests;
