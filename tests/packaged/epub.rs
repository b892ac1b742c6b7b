//! Books.

use atlas::corpus::CorpusSettings;

use super::make::{CONTAINER, archive, chapter, epub};
use super::{read, read_as, refusal, settings, shown};

#[test]
fn chapters_come_in_the_order_of_reading() {
    let (one, two) = (chapter("Seals", "<p>First.</p>"), chapter("x", "<h1>Oil</h1><p>Next.</p>"));
    let last = chapter("Pump seals", "<p>Last.</p>");
    let book =
        epub(&[("z.xhtml", "", &one), ("a%20b.xhtml", "", &two), ("m.xhtml", "", &last)], "", &[]);
    let document = read("b.epub", &book);
    assert_eq!((document.id.as_str(), document.title.as_str()), ("b.epub", "Pump seals"));
    assert_eq!(document.metadata.text("author"), Some("Ada"));
    assert_eq!(document.metadata.text("lang"), Some("en"));
    assert_eq!(document.metadata.date("created").unwrap().to_string(), "2026-01-31");
    // A chapter without a heading stands under its title, unless that is the book's.
    assert_eq!(shown(&document), ["h1 Seals", "p First.", "h1 Oil", "p Next.", "p Last."]);
}

#[test]
fn headings_lists_tables_and_notes_are_those_of_the_page() {
    let page = chapter(
        "Seals",
        "<section><header><h1>Seals</h1></header><p>A <em>dry</em> seal<a epub:type='noteref' href='#n'>1</a>.</p>\
         <h2>Oil</h2><ol><li>one<ol><li>inner</li></ol></li><li>two</li></ol>\
         <table><tr><th>Code</th><th>Meaning</th></tr><tr><td>F-12</td><td>No oil</td></tr></table>\
         <pre>fn main() {\n}</pre><aside epub:type='footnote' id='n'><p>1 A note.</p></aside>\
         <aside><p>A sidebar.</p></aside><nav epub:type='toc'><ol><li>Seals</li></ol></nav></section>",
    );
    let document = read("b.epub", &epub(&[("a.xhtml", "", &page)], "", &[]));
    let wanted = [
        "h1 Seals",
        "p A dry seal1.",
        "h2 Oil",
        "li 1. one",
        "li   1. inner",
        "li 2. two",
        "table of 1 Code | Meaning / F-12 | No oil",
        "code fn main() { / }",
        "p 1 A note.",
        "p A sidebar.",
    ];
    assert_eq!(shown(&document), wanted);
}

#[test]
fn a_table_of_contents_is_left_out() {
    let contents = chapter("Contents", "<p>Seals ... 3</p>");
    let page = chapter("Seals", "<p>Text.</p>");
    let guide = "<guide><reference type='toc' href='old.xhtml#top'/></guide>";
    let chapters = [
        ("nav.xhtml", "properties='nav'", contents.as_str()),
        ("old.xhtml", "", &contents),
        ("a.xhtml", "", &page),
    ];
    assert_eq!(shown(&read("b.epub", &epub(&chapters, guide, &[]))), ["h1 Seals", "p Text."]);
}

#[test]
fn what_is_locked_or_missing_is_told() {
    let page = chapter("Seals", "<p>Text.</p>");
    let lock = |file: &str| {
        format!(
            "<encryption><enc:EncryptedData><enc:CipherData><enc:CipherReference URI='OEBPS/{file}'/>\
             </enc:CipherData></enc:EncryptedData></encryption>"
        )
    };
    let chapters = [("a.xhtml", "", page.as_str()), ("b.xhtml", "", ""), ("c.xhtml", "", &page)];
    let told = |locked: &str| {
        let files = [("META-INF/encryption.xml", locked)];
        let corpus = read_as("b.epub", &epub(&chapters, "", &files), &settings());
        corpus.noted.iter().map(|noted| noted.reason.clone()).collect::<Vec<_>>()
    };
    let missing = "read in part: the chapter `OEBPS/b.xhtml` is missing";
    assert_eq!(
        told(&lock("c.xhtml")),
        [missing, "read in part: the chapter `OEBPS/c.xhtml` is locked against copying"]
    );
    // A font that is locked costs no text.
    assert_eq!(told(&lock("fonts/serif.otf")), [missing]);
    let files = [("META-INF/encryption.xml", lock("a.xhtml"))];
    let files = files.each_ref().map(|(name, text)| (*name, text.as_str()));
    assert_eq!(
        refusal("b.epub", &epub(&chapters[..1], "", &files), &settings()),
        "it is locked against copying (DRM); put a copy without the lock in its place"
    );
}

#[test]
fn what_is_no_book_is_named() {
    let refused = |entries: &[(&str, &[u8])]| refusal("b.epub", &archive(entries), &settings());
    let container = ("META-INF/container.xml", CONTAINER.as_bytes());
    let resave = "; save it again in the program it is of";
    assert_eq!(
        refused(&[("a", b"x")]),
        format!("there is no `META-INF/container.xml` in it{resave}")
    );
    assert_eq!(
        refused(&[("META-INF/container.xml", b"<container/>")]),
        format!("nothing in it says where the book is{resave}")
    );
    assert_eq!(refused(&[container]), format!("there is no `OEBPS/book.opf` in it{resave}"));
    let empty: &[u8] = b"<package><spine/></package>";
    assert_eq!(
        refused(&[container, ("OEBPS/book.opf", empty)]),
        format!("`OEBPS/book.opf` in it names no chapter{resave}")
    );
    let torn: &[u8] = b"<package a=";
    let said = refused(&[container, ("OEBPS/book.opf", torn)]);
    assert!(said.starts_with("`OEBPS/book.opf`: its XML is damaged at byte"), "{said}");
    assert_eq!(
        refusal("b.epub", &epub(&[("a.xhtml", "", &chapter("", ""))], "", &[]), &settings()),
        "document `b.epub` has no text"
    );
    let whole = epub(&[("a.xhtml", "", &chapter("", "<p>x</p>"))], "", &[]);
    let said = refusal("b.epub", &whole[..whole.len() - 30], &settings());
    assert!(said.starts_with("its zip archive is cut off or damaged"), "{said}");
    let small = CorpusSettings { max_unpacked_bytes: 500_000, ..settings() };
    let long = chapter("", &format!("<p>{}</p>", "seal ".repeat(60_000)));
    let book = epub(&[("a.xhtml", "", &long), ("b.xhtml", "", &long)], "", &[]);
    assert_eq!(
        refusal("b.epub", &book, &small),
        "it unpacks to more than `max_unpacked_bytes` = 500000; raise the setting if the file can be trusted"
    );
}

#[test]
fn a_chapter_that_is_named_often_is_read_once() {
    let page = chapter("Seals", "<p>Text.</p>");
    let many = "<spine>".to_owned() + &"<itemref idref='c0'/>".repeat(50_000) + "</spine>";
    let book = epub(&[("a.xhtml", "", &page)], "", &[]);
    let mut entries = Vec::new();
    let package =
        format!("<package><manifest><item id='c0' href='a.xhtml'/></manifest>{many}</package>");
    entries.push(("META-INF/container.xml", CONTAINER.as_bytes()));
    entries.push(("OEBPS/book.opf", package.as_bytes()));
    entries.push(("OEBPS/a.xhtml", page.as_bytes()));
    assert_eq!(shown(&read("b.epub", &archive(&entries))), ["h1 Seals", "p Text."]);
    assert_eq!(shown(&read("b.epub", &book)), ["h1 Seals", "p Text."]);
}
