//! Lines that fit a terminal.

/// `text` with every line that is longer than `columns` folded at a blank, its rest under the text
/// that follows the line's label: the part after the first run of two or more blanks. A word that
/// does not fit keeps its length.
pub fn folded(text: &str, columns: usize) -> String {
    let mut out = String::with_capacity(text.len());
    for line in text.lines() {
        fold(line, columns, &mut out);
    }
    out
}

fn fold(line: &str, columns: usize, out: &mut String) {
    let hang = hang(line).min(columns / 2);
    let mut rest = line;
    let mut width = columns;
    loop {
        let cut = if rest.chars().count() <= width { None } else { blank_before(rest, width) };
        let Some(at) = cut else {
            out.push_str(rest);
            out.push('\n');
            return;
        };
        out.push_str(rest[..at].trim_end());
        out.push('\n');
        out.push_str(&" ".repeat(hang));
        rest = rest[at..].trim_start();
        width = columns - hang;
    }
}

/// Where the text after a label begins: `  hit   13` has it at 8, a line without a label at its
/// first letter, and so has one that goes on under another's.
fn hang(line: &str) -> usize {
    let first = line.len() - line.trim_start().len();
    if first >= 8 {
        return first;
    }
    let label = line[first..].find("  ").map(|at| first + at);
    label.map_or(first, |at| at + line[at..].len() - line[at..].trim_start().len())
}

/// The byte of the last blank among the first `columns` characters that has a word before it.
fn blank_before(line: &str, columns: usize) -> Option<usize> {
    let start = line.len() - line.trim_start().len();
    let blanks = line.char_indices().take(columns + 1).filter(|(at, c)| *c == ' ' && *at > start);
    let last = blanks.last().map(|(at, _)| at);
    // Without a blank in reach the next one ends the word that is too long.
    last.or_else(|| line[start..].find(' ').map(|at| start + at))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_line_goes_on_under_its_text() {
        let line = "  hit     13 of 14   95 %: 69 to 99   of the questions";
        assert_eq!(folded(line, 60), format!("{line}\n"));
        assert_eq!(
            folded(line, 30),
            "  hit     13 of 14   95 %: 69\n          to 99   of the\n          questions\n"
        );
        assert_eq!(folded("aaaa bbbb cccc\n\nx", 9), "aaaa bbbb\ncccc\n\nx\n");
        assert_eq!(folded("  aaaaaaaaaaaa bb", 6), "  aaaaaaaaaaaa\n  bb\n");
    }
}
