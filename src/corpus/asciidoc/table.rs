//! Tables between `|===`.

use super::{Line, Place, Row, place};

/// The header and rows of a table whose cells begin with `separator`.
///
/// A row has as many cells as the attributes say (`cols`), else as the first line with cells. The first
/// row is the header when they say so, or when a blank line follows it.
pub(super) fn read(
    lines: &[Line<'_>],
    separator: char,
    style: &str,
    plain: impl Fn(&str) -> String,
) -> (Option<Row>, Vec<Row>) {
    let mut cells: Vec<(String, Place)> = Vec::new();
    // Lines with cells so far, and whether a blank one followed the first of them.
    let (mut filled, mut is_first_alone) = (0_usize, false);
    for (at, line) in lines.iter().enumerate() {
        let text = line.text.trim();
        if text.is_empty() {
            is_first_alone |= filled == 1;
            continue;
        }
        filled += 1;
        add(text, separator, &place(&lines[at..=at]), &mut cells);
    }
    let line_width = lines.iter().find_map(|line| {
        let mut own = Vec::new();
        add(line.text.trim(), separator, &Place::default(), &mut own);
        Some(own.len()).filter(|count| *count > 0)
    });
    let width = width(style).or(line_width).unwrap_or(1).max(1);
    let mut rows = cells.chunks(width).map(|row| {
        let place = row.iter().fold(Place::default(), |all, (_, own)| all.with(own));
        (row.iter().map(|(cell, _)| plain(cell)).collect::<Vec<_>>(), place)
    });
    let has_header = style.contains("header") || is_first_alone;
    let header = if has_header { rows.next() } else { None };
    (header, rows.collect())
}

/// Adds the cells of a line; what stands before the first separator goes on with the cell above.
fn add(text: &str, separator: char, place: &Place, cells: &mut Vec<(String, Place)>) {
    let mut parts = text.split(separator);
    let before = parts.next().unwrap_or_default();
    if separator == ',' {
        cells.push((before.trim().to_owned(), place.clone()));
    } else if let Some((last, own)) = cells.last_mut().filter(|_| !text.starts_with(separator)) {
        // `2+|` and the like say how a cell is set, and are no text.
        if !before.trim().is_empty() && !is_setting(before) {
            last.push(' ');
            last.push_str(before.trim());
            *own = own.clone().with(place);
        }
    }
    for part in parts {
        let shown = part.rsplit_once(' ').filter(|(_, tail)| is_setting(tail) && !tail.is_empty());
        let shown = shown.map_or(part, |(cell, _)| cell);
        cells.push((shown.trim().to_owned(), place.clone()));
    }
}

/// Whether `text` is a setting of the cell behind it, such as `2+` or `.3+^`.
fn is_setting(text: &str) -> bool {
    let text = text.trim();
    text.len() <= 8
        && text.contains(['+', '^', '<', '>', '*'])
        && !text.ends_with(|c: char| c.is_ascii_digit())
        && text.chars().all(|c| c.is_ascii_digit() || "+.^<>*aehlmsv".contains(c))
}

/// The number of columns that the attributes state.
fn width(style: &str) -> Option<usize> {
    let stated = style.split("cols=").nth(1)?;
    let stated = match stated.strip_prefix('"') {
        Some(quoted) => quoted.split('"').next()?,
        None => stated.split([',', ']']).next()?,
    };
    let count = stated.split([',', ';']).map(|column| {
        let times = column.trim().split_once('*').and_then(|(times, _)| times.parse().ok());
        times.unwrap_or(1_usize)
    });
    Some(count.fold(0, usize::saturating_add)).filter(|count| (1..=1000).contains(count))
}
