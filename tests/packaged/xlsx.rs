//! Workbooks.

use super::make::{row, xlsx};
use super::{read, read_as, settings, shown};

#[test]
fn every_row_is_a_record_with_the_names_of_its_columns() {
    let rows = [
        row(1, &[("r='A1' t='s'", "<v>0</v>")]),
        row(
            3,
            &[
                ("r='A3' t='s'", "<v>1</v>"),
                ("r='B3' t='s'", "<v>2</v>"),
                ("r='D3' t='s'", "<v>3</v>"),
            ],
        ),
        row(
            4,
            &[
                (
                    "r='A4' t='inlineStr'",
                    "<is><r><t>P</t></r><r><t>-1</t></r><rPh><t>pi</t></rPh></is>",
                ),
                ("r='B4' s='1'", "<f>SUM(1,2)</f><v>1234.5</v>"),
                ("r='D4' s='2'", "<v>45292</v>"),
            ],
        ),
        row(
            5,
            &[
                ("r='A5' t='str'", "<v>a &amp;&#10;b</v>"),
                ("r='C5' t='b'", "<v>1</v>"),
                ("r='D5' t='e'", "<v>#N/A</v>"),
            ],
        ),
        row(6, &[("r='A6'", ""), ("r='B6' t='s'", "<v>99</v>")]),
        row(9, &[("r='A9' t='s'", "<v>4</v>"), ("r='B9' t='s'", "<v>5</v>")]),
        row(10, &[("", "<v>7</v>"), ("", "<v>0.5</v>")]),
    ];
    let texts = ["Pumps of 2026", "Pump", "Price", "Since", "Hose", "Length"];
    let bytes = xlsx(
        &[("Stock", "visible", &rows.concat()), ("Empty", "visible", "")],
        &texts,
        &["#,##0.00 &quot;€&quot;", "dd/mm/yyyy"],
    );
    let document = read("stock list.xlsx", &bytes);
    assert_eq!((document.id.as_str(), document.title.as_str()), ("stock-list.xlsx", "Stock list"));
    let wanted = [
        "h1@1 Stock",
        "p@1 Pumps of 2026",
        "row@4 Pump: P-1 / Price: 1,234.50 € / Since: 2024-01-01",
        "row@5 Pump: a & b / TRUE / Since: #N/A",
        "row@10 Hose: 7 / Length: 0.5",
    ];
    assert_eq!(shown(&document), wanted);
}

#[test]
fn a_hidden_sheet_is_left_out_and_told() {
    let cell = |text: &str| row(1, &[("t='str'", &format!("<v>{text}</v>"))]);
    let bytes =
        xlsx(&[("A", "visible", &cell("seen")), ("B", "veryHidden", &cell("unseen"))], &[], &[]);
    let corpus = read_as("b.xlsx", &bytes, &settings());
    assert_eq!(shown(corpus.document("b.xlsx").unwrap()), ["h1@1 A", "p@1 seen"]);
    let noted: Vec<&str> = corpus.noted.iter().map(|noted| noted.reason.as_str()).collect();
    assert_eq!(noted, ["read in part: the sheet `B` is hidden and was left out"]);
}

#[test]
fn a_cell_far_out_takes_no_room() {
    let rows = [
        row(1, &[("r='XFD1' t='str'", "<v>far</v>"), ("r='ZZZZ1' t='str'", "<v>farther</v>")]),
        row(1_048_576, &[("r='A1048576'", "<v>1</v>")]),
        "<row r='5'><c r='A5'><v>2</v></c></row><row r='6'><c><v>3".to_owned(),
    ];
    let bytes = xlsx(&[("S", "visible", &rows.concat())], &[], &[]);
    let corpus = read_as("b.xlsx", &bytes, &settings());
    let document = corpus.document("b.xlsx").unwrap();
    assert_eq!(shown(document), ["h1@1 S", "row@1 far / farther", "p@1048576 1", "p@5 2"]);
}
