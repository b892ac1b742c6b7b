//! `measure` for spreadsheets: a line a question.

use crate::eval::measurement::{CONTEXT_MEASURES, Measured, Measurement, RANKING_MEASURES};

/// Columns before the measures of the ranking.
const COLUMNS: [&str; 16] = [
    "set",
    "id",
    "kinds",
    "unscoreable",
    "standing_miss",
    "hit",
    "recall",
    "precision",
    "rank",
    "supplied",
    "relevant",
    "duplicates",
    "tokens",
    "tokens_relevant",
    "references",
    "scores",
];

/// The questions of `sets` as CSV (RFC 4180): a header, a line a question, lines ended by CRLF, numbers
/// in full, nothing where there is no value. Several kinds, references or scores in one field are
/// parted by blanks; for kinds, which may hold some, by `; `. A text field that a spreadsheet would take for a formula is
/// led by an apostrophe.
pub fn measure_csv(sets: &[Measurement]) -> String {
    let mut out = String::new();
    row(&mut out, COLUMNS.into_iter().chain(RANKING_MEASURES).map(str::to_owned));
    for set in sets {
        for question in &set.questions {
            row(&mut out, fields(set, question));
        }
    }
    out
}

fn fields(set: &Measurement, question: &Measured) -> impl Iterator<Item = String> {
    let number =
        |name: &str| question.value(name).map_or_else(String::new, |value| value.to_string());
    let many = |of: fn(&crate::eval::measurement::Supplied) -> String| {
        question.supplied.iter().map(of).collect::<Vec<_>>().join(" ")
    };
    let mut fields = vec![
        text(&set.set),
        text(&question.id),
        text(&question.kinds.join("; ")),
        text(question.unscoreable.as_deref().unwrap_or_default()),
        text(question.standing_miss.as_deref().unwrap_or_default()),
    ];
    fields.extend(CONTEXT_MEASURES.into_iter().map(number));
    let counts = [
        question.supplied.len(),
        question.relevant_units(),
        question.duplicates(),
        question.tokens,
        question.tokens_relevant(),
    ];
    fields.extend(counts.map(|count| count.to_string()));
    fields.push(text(&many(|block| block.reference.clone())));
    fields.push(many(|block| block.score.to_string()));
    fields.extend(RANKING_MEASURES.into_iter().map(number));
    fields.into_iter()
}

/// A text that no spreadsheet runs.
fn text(written: &str) -> String {
    if written.starts_with(['=', '+', '-', '@', '\t', '\r']) {
        format!("'{written}")
    } else {
        written.to_owned()
    }
}

fn row(out: &mut String, fields: impl Iterator<Item = String>) {
    let quoted = fields.map(|field| {
        if field.contains(['"', ',', '\r', '\n']) {
            format!("\"{}\"", field.replace('"', "\"\""))
        } else {
            field
        }
    });
    out.push_str(&quoted.collect::<Vec<_>>().join(","));
    out.push_str("\r\n");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_quoted_where_they_must_be_and_no_formula_is_left() {
        let mut out = String::new();
        let fields = ["a", "b,c", "say \"x\"", "", "1.5"].map(str::to_owned);
        row(&mut out, fields.into_iter());
        assert_eq!(out, "a,\"b,c\",\"say \"\"x\"\"\",,1.5\r\n");
        assert_eq!(text("=1+1"), "'=1+1");
        assert_eq!(text("dev-1"), "dev-1");
    }
}
