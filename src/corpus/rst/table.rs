//! Tables drawn with lines: simple ones (`====  ====`) and grids (`+---+---+`).

use super::{Line, Row, place};

/// The table that `lines` begin with: how many lines it has, its header and its rows.
pub(super) fn read(lines: &[Line<'_>]) -> Option<(usize, Option<Row>, Vec<Row>)> {
    let text = lines[0].text.trim();
    if text.starts_with("+-") || text.starts_with("+=") {
        Some(grid(lines))
    } else if is_ruler(text) {
        simple(lines)
    } else {
        None
    }
}

/// Columns drawn by runs of `=`.
fn is_ruler(text: &str) -> bool {
    text.contains(' ') && text.starts_with('=') && text.chars().all(|c| c == '=' || c == ' ')
}

/// Rows of a simple table; a line without text in its first column goes on with the row above.
fn simple(lines: &[Line<'_>]) -> Option<(usize, Option<Row>, Vec<Row>)> {
    let rulers: Vec<usize> = (0..)
        .zip(lines)
        .filter(|(_, line)| is_ruler(line.text.trim()))
        .map(|(at, _)| at)
        .take(3)
        .collect();
    // The last ruler has nothing below it.
    let ends = |at: &&usize| lines.get(**at + 1).is_none_or(Line::is_blank);
    let end = *rulers.iter().skip(1).find(ends).or(rulers.get(1))?;
    let starts = columns(lines[0].text);
    let (mut header, mut rows): (Vec<Row>, Vec<Row>) = (Vec::new(), Vec::new());
    for (at, line) in lines.iter().enumerate().take(end).skip(1) {
        if is_ruler(line.text.trim()) {
            header = std::mem::take(&mut rows);
            continue;
        }
        if line.is_blank() || line.text.trim().chars().all(|c| matches!(c, '-' | ' ')) {
            continue;
        }
        let cells = cut(line.text, &starts);
        match rows.last_mut() {
            Some((last, own)) if cells.first().is_none_or(String::is_empty) => {
                join(last, &cells);
                *own = own.clone().with(&place(&lines[at..=at]));
            }
            _ => rows.push((cells, place(&lines[at..=at]))),
        }
    }
    Some((end + 1, merged(header), rows))
}

/// Character columns at which the cells begin.
fn columns(ruler: &str) -> Vec<usize> {
    let mut before = ' ';
    let mut starts = Vec::new();
    for (at, c) in ruler.chars().enumerate() {
        if c == '=' && before == ' ' {
            starts.push(at);
        }
        before = c;
    }
    starts
}

fn cut(line: &str, starts: &[usize]) -> Vec<String> {
    let mut cells = vec![String::new(); starts.len()];
    let mut column = 0;
    for (at, c) in line.chars().enumerate() {
        while starts.get(column + 1).is_some_and(|next| at >= *next) {
            column += 1;
        }
        if let Some(cell) = cells.get_mut(column) {
            cell.push(c);
        }
    }
    cells.iter().map(|cell| cell.trim().to_owned()).collect()
}

/// Rows of a grid: what stands between two lines of it.
fn grid(lines: &[Line<'_>]) -> (usize, Option<Row>, Vec<Row>) {
    let drawn = |line: &&Line<'_>| line.text.trim_start().starts_with(['+', '|']);
    let used = lines.iter().take_while(drawn).count();
    let (mut header, mut rows): (Vec<Row>, Vec<Row>) = (Vec::new(), Vec::new());
    let mut is_open = false;
    for (at, line) in lines[..used].iter().enumerate() {
        let text = line.text.trim();
        if text.starts_with('+') {
            if text.starts_with("+=") {
                header = std::mem::take(&mut rows);
            }
            is_open = false;
            continue;
        }
        let inner = text.strip_prefix('|').unwrap_or(text);
        let inner = inner.strip_suffix('|').unwrap_or(inner);
        let cells: Vec<String> = inner.split('|').map(|cell| cell.trim().to_owned()).collect();
        match rows.last_mut().filter(|_| is_open) {
            Some((last, own)) => {
                join(last, &cells);
                *own = own.clone().with(&place(&lines[at..=at]));
            }
            None => rows.push((cells, place(&lines[at..=at]))),
        }
        is_open = true;
    }
    (used, merged(header), rows)
}

/// Adds the cells of a further line to those of a row.
fn join(row: &mut Vec<String>, more: &[String]) {
    if row.len() < more.len() {
        row.resize(more.len(), String::new());
    }
    for (cell, more) in row.iter_mut().zip(more).filter(|(_, more)| !more.is_empty()) {
        if !cell.is_empty() {
            cell.push(' ');
        }
        cell.push_str(more);
    }
}

/// A header of several lines as one row.
fn merged(rows: Vec<Row>) -> Option<Row> {
    rows.into_iter().reduce(|(mut cells, place), (more, other)| {
        join(&mut cells, &more);
        (cells, place.with(&other))
    })
}
