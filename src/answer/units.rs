//! Blocks to the units that can be quoted: sentences, list items, table rows with their header.

use crate::text::sentences;

/// Something that can be quoted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unit {
    /// The words as an answer shows them. A row is `header: cell` for each of its cells.
    pub text: String,
    /// The row's header, for a table row; else empty.
    pub header: String,
    /// Whether it is a table row.
    pub row: bool,
}

/// The units of a block's text, in order.
///
/// A line that starts and ends with `|` belongs to a table, whose first line is its header when a
/// line of dashes follows. A line that starts with `-`, `*`, `+` or a number with a point is an item.
/// Everything else is prose, whose lines are joined and cut into sentences by the rules of Unicode.
///
/// ```
/// use atlas::answer::units;
/// let found = units("Two types. One is old.\n\n| Part | Price |\n| --- | --- |\n| BP-36 | 589 |");
/// let texts: Vec<&str> = found.iter().map(|unit| unit.text.as_str()).collect();
/// assert_eq!(texts, ["Two types.", "One is old.", "Part: BP-36; Price: 589"]);
/// ```
pub fn units(text: &str) -> Vec<Unit> {
    let mut found = Vec::new();
    let mut prose = String::new();
    let mut header: Option<Vec<String>> = None;
    let lines: Vec<&str> = text.lines().collect();
    for (at, line) in lines.iter().enumerate() {
        let line = line.trim();
        let Some(cells) = cells(line) else {
            header = None;
            match item(line) {
                Some(rest) => {
                    close(&mut prose, &mut found);
                    prose.push_str(rest);
                }
                None if line.is_empty() => close(&mut prose, &mut found),
                None => {
                    if !prose.is_empty() {
                        prose.push(' ');
                    }
                    prose.push_str(line);
                }
            }
            continue;
        };
        close(&mut prose, &mut found);
        if is_ruler(&cells) {
            continue;
        }
        let ruled = lines.get(at + 1).and_then(|next| self::cells(next.trim()));
        if header.is_none() && ruled.is_some_and(|next| is_ruler(&next)) {
            header = Some(cells);
            continue;
        }
        found.push(row(header.as_deref(), &cells));
    }
    close(&mut prose, &mut found);
    found
}

/// Ends a run of prose: its sentences become units.
fn close(prose: &mut String, found: &mut Vec<Unit>) {
    let mut held = String::new();
    for sentence in sentences(prose) {
        held.push_str(sentence);
        // `approx. 5` and `J. Smith` are cut by the rules of Unicode where a word follows in capitals;
        // a piece without two words is no sentence and waits for the next.
        if held.split_whitespace().nth(1).is_some() {
            push(&mut held, found);
        }
    }
    push(&mut held, found);
    prose.clear();
}

fn push(held: &mut String, found: &mut Vec<Unit>) {
    let text = held.trim();
    if text.chars().any(char::is_alphanumeric) {
        found.push(Unit { text: text.to_owned(), header: String::new(), row: false });
    }
    held.clear();
}

/// The cells of a line that is part of a table.
fn cells(line: &str) -> Option<Vec<String>> {
    let inner = line.strip_prefix('|')?.strip_suffix('|')?;
    let mut cells = vec![String::new()];
    let mut escaped = false;
    for letter in inner.chars() {
        match letter {
            '\\' if !escaped => escaped = true,
            '|' if !escaped => cells.push(String::new()),
            other => {
                if escaped && other != '|' {
                    cells.last_mut()?.push('\\');
                }
                escaped = false;
                cells.last_mut()?.push(other);
            }
        }
    }
    Some(cells.iter().map(|cell| cell.trim().to_owned()).collect())
}

fn is_ruler(cells: &[String]) -> bool {
    cells.iter().all(|cell| cell.contains('-') && cell.chars().all(|c| matches!(c, '-' | ':')))
}

fn row(header: Option<&[String]>, cells: &[String]) -> Unit {
    let names = header.unwrap_or_default();
    let shown =
        cells.iter().enumerate().filter(|(_, cell)| !cell.is_empty()).map(|(at, cell)| match names
            .get(at)
            .filter(|name| !name.is_empty())
        {
            Some(name) => format!("{name}: {cell}"),
            None => cell.clone(),
        });
    let text = shown.collect::<Vec<_>>().join("; ");
    Unit { text, header: names.join(" "), row: true }
}

/// What follows the mark of a list item.
fn item(line: &str) -> Option<&str> {
    let digits = line.bytes().take_while(u8::is_ascii_digit).count();
    let rest = if digits > 0 && digits <= 3 {
        line[digits..].strip_prefix(['.', ')'])?
    } else {
        line.strip_prefix(['-', '*', '+'])?
    };
    rest.strip_prefix(' ').map(str::trim_start)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(text: &str) -> Vec<String> {
        units(text).into_iter().map(|unit| unit.text).collect()
    }

    #[test]
    fn prose_is_joined_before_it_is_cut() {
        assert_eq!(
            texts("One line\ngoes on. Next.\n\nLast one"),
            ["One line goes on.", "Next. ", "Last one"].map(str::trim)
        );
    }

    #[test]
    fn items_are_units_of_their_own() {
        let text = "First:\n1. Find the order and\n   check it.\n2. Choose type D.\n- done";
        assert_eq!(
            texts(text),
            ["First:", "Find the order and check it.", "Choose type D.", "done"]
        );
    }

    #[test]
    fn a_row_carries_its_header_and_a_table_without_one_its_cells() {
        let text = "| A | B |\n|---|:-:|\n| 1 | x \\| y |\n| 2 | |\n\n| 3 | 4 |";
        assert_eq!(texts(text), ["A: 1; B: x | y", "A: 2", "3; 4"]);
        assert_eq!(units(text)[0].header, "A B");
    }

    #[test]
    fn nothing_to_say_is_no_unit() {
        assert!(texts(" \n---\n* * *\n").is_empty());
    }
}
