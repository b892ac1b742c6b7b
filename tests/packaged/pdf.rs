//! PDFs, read by the built program.

use atlas::corpus::CorpusSettings;

use super::make::{PdfMaker, page};
use super::{read, read_as, refusal, settings, shown};

#[test]
fn lines_become_paragraphs_and_large_print_headings() {
    let first = page(&[
        (20, 50, 700, "Pump seals"),
        (14, 50, 660, "Dry seals"),
        (10, 50, 640, "A dry seal whistles, which is a sound that many who have worked at"),
        (10, 50, 628, "pumps will know. It is to be re-"),
        (10, 50, 616, "placed at once, and the state-of-"),
        (10, 50, 604, "the-art way is told below."),
        (10, 50, 570, "A new paragraph."),
        (10, 50, 540, "\\225 one"),
        (10, 50, 528, "\\225 two"),
    ]);
    let second = page(&[(14, 50, 700, "Wet seals"), (10, 50, 680, "They do not.")]);
    let mut made = PdfMaker::new(&[&first, &second]);
    let about = made.add("<</Author(Ada)/CreationDate(D:20260131080000Z)/Title(seals.tex)>>");
    made.trailer(&format!("/Info {about} 0 R"));
    let document = read("p.pdf", &made.bytes());
    assert_eq!((document.title.as_str(), document.id.as_str()), ("Pump seals", "p.pdf"));
    assert_eq!(document.metadata.text("author"), Some("Ada"));
    assert_eq!(document.metadata.date("created").unwrap().to_string(), "2026-01-31");
    let wanted = [
        "h2@1 Dry seals",
        "p@1 A dry seal whistles, which is a sound that many who have worked at pumps will know. It \
         is to be replaced at once, and the state-of-the-art way is told below.",
        "p@1 A new paragraph.",
        "li@1 - one",
        "li@1 - two",
        "h2@2 Wet seals",
        "p@2 They do not.",
    ];
    assert_eq!(shown(&document), wanted);
}

#[test]
fn bookmarks_say_what_a_heading_is() {
    let text = page(&[
        (10, 50, 700, "1 Seals"),
        (10, 50, 670, "A seal whistles."),
        (10, 50, 640, "1.1 Dry"),
        (10, 50, 610, "It is dry."),
    ]);
    let mut made = PdfMaker::new(&[&text]);
    made.set(1, "<</Type/Catalog/Pages 2 0 R/Outlines 6 0 R>>");
    made.add("<</First 7 0 R/Last 7 0 R>>");
    made.add("<</Title(Seals)/Parent 6 0 R/First 8 0 R/Last 8 0 R/Next 7 0 R/Dest[4 0 R/Fit]>>");
    made.add("<</Title(\u{00}1.1 Dry)/Parent 7 0 R/A<</S/GoTo/D[4 0 R/Fit]>>>>");
    let document = read("p.pdf", &made.bytes());
    assert_eq!(document.title, "1 Seals");
    assert_eq!(shown(&document), ["p@1 A seal whistles.", "h2@1 1.1 Dry", "p@1 It is dry."]);
}

#[test]
fn heads_and_feet_are_kept_once_and_page_numbers_not_at_all() {
    let pages: Vec<String> = (1..=4)
        .map(|number| {
            let (body, foot) = (format!("Text of sheet {}.", 7 - number), number.to_string());
            page(&[
                (10, 50, 780, "Pump seals, issue 3"),
                (10, 50, 500, &body),
                (10, 300, 20, &foot),
            ])
        })
        .collect();
    let pages: Vec<&str> = pages.iter().map(String::as_str).collect();
    let document = read("p.pdf", &PdfMaker::new(&pages).bytes());
    let wanted = [
        "p@1 Pump seals, issue 3",
        "p@1 Text of sheet 6.",
        "p@2 Text of sheet 5.",
        "p@3 Text of sheet 4.",
        "p@4 Text of sheet 3.",
    ];
    assert_eq!(shown(&document), wanted);
}

#[test]
fn a_page_that_is_odd_costs_no_more_than_it_must() {
    let good = page(&[(10, 50, 700, "A good page.")]);
    // What stops the crate that decodes fonts: colours, states and operands that are not there.
    let odd = format!("/No cs /No gs 1 scn (x) Tm /No Do {good} (Late.) '");
    let unfit = "BT /G 10 Tf 50 600 Td (lost) Tj /F 10 Tf (kept) Tj ET";
    let mut made = PdfMaker::new(&[&odd, unfit]);
    let font =
        made.add("<</Type/Font/Subtype/Type0/BaseFont/Odd/Encoding/Unheard-Of/DescendantFonts 5>>");
    made.set(
        2,
        &format!(
            "<</Type/Pages/Kids[4 0 R 6 0 R]/Count 2/Resources<</Font<</F 3 0 R/G {font} 0 R>>>>>>"
        ),
    );
    let corpus = read_as("p.pdf", &made.bytes(), &settings());
    let shown = shown(corpus.document("p.pdf").unwrap());
    assert_eq!(shown, ["p@1 A good page.", "p@1 Late.", "p@2 kept"]);
    let noted: Vec<&str> = corpus.noted.iter().map(|noted| noted.reason.as_str()).collect();
    assert_eq!(noted, ["read in part: the font `Odd` cannot be decoded"]);
}

#[test]
fn forms_are_read_where_they_stand_and_a_circle_of_them_ends() {
    let mut made =
        PdfMaker::new(&["BT /F 10 Tf 50 700 Td (Above.) Tj ET q 1 0 0 1 0 -100 cm /X Do Q"]);
    made.add_stream(
        "/Type/XObject/Subtype/Form/Resources<</Font<</F 3 0 R>>/XObject<</X 6 0 R>>>>",
        b"BT /F 10 Tf 50 700 Td (Below.) Tj ET /X Do",
    );
    made.set(
        2,
        "<</Type/Pages/Kids[4 0 R]/Count 1/Resources<</Font<</F 3 0 R>>/XObject<</X 6 0 R>>>>>>",
    );
    let document = read("p.pdf", &made.bytes());
    assert_eq!(shown(&document)[..2], ["p@1 Above.", "p@1 Below."]);
}

#[test]
fn what_cannot_be_read_says_why() {
    let text = page(&[(10, 50, 700, "Text.")]);
    let mut made = PdfMaker::new(&["q 100 0 0 100 0 0 cm /I Do Q"]);
    made.add_stream("/Type/XObject/Subtype/Image/Width 1/Height 1", b"\0");
    made.set(2, "<</Type/Pages/Kids[4 0 R]/Count 1/Resources<</XObject<</I 6 0 R>>>>>>");
    assert_eq!(
        refusal("p.pdf", &made.bytes(), &settings()),
        "it has no text: its pages are pictures; run a text recognition over it first"
    );
    assert_eq!(refusal("p.pdf", &PdfMaker::new(&[""]).bytes(), &settings()), "it has no text");
    assert_eq!(
        refusal("p.pdf", b"A text.", &settings()),
        "it is not a PDF, whatever its ending says"
    );
    let found = refusal("p.pdf", b"%PDF-1.7", &settings());
    assert!(found.starts_with("it is cut off or damaged"), "{found}");
    let mut made = PdfMaker::new(&[&text]);
    let lock = made.add(
        "<</Filter/Standard/V 1/R 2/P -44/O<0000000000000000000000000000000000000000000000000000000000000000>\
         /U<1111111111111111111111111111111111111111111111111111111111111111>>>",
    );
    made.trailer(&format!("/Encrypt {lock} 0 R/ID[<00><00>]"));
    assert_eq!(
        refusal("p.pdf", &made.bytes(), &settings()),
        "it is encrypted; save it without a password"
    );
    let alone = CorpusSettings { pdf_helper: None, ..settings() };
    assert_eq!(
        refusal("p.pdf", &PdfMaker::new(&[&text]).bytes(), &alone),
        "PDFs are read by a helper program, and none is set"
    );
}

#[test]
fn a_file_without_its_end_is_read_as_far_as_it_goes() {
    let pages = [page(&[(10, 50, 700, "First page.")]), page(&[(10, 50, 700, "Second page.")])];
    let whole = PdfMaker::new(&[&pages[0], &pages[1]]).bytes();
    let cut = whole.windows(4).position(|window| window == b"xref").unwrap();
    let corpus = read_as("p.pdf", &whole[..cut], &settings());
    let shown = shown(corpus.document("p.pdf").unwrap());
    assert_eq!(shown, ["p@1 First page.", "p@2 Second page."]);
    let noted: Vec<&str> = corpus.noted.iter().map(|noted| noted.reason.as_str()).collect();
    let wanted =
        "read in part: the table of its objects is damaged; what was found without it was read";
    assert_eq!(noted, [wanted]);
}
