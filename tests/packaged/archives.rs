//! Archives that are not what they should be.

use atlas::corpus::CorpusSettings;

use super::make::{archive, docx, paragraph, xlsx};
use super::{refusal, settings};

/// A document whose text is `count` times the same letter.
fn long(count: usize) -> Vec<u8> {
    docx(&paragraph("", &"e".repeat(count)), &[])
}

#[test]
fn what_unpacks_to_too_much_is_refused() {
    let small = CorpusSettings { max_unpacked_bytes: 500_000, ..settings() };
    let reason = "it unpacks to more than `max_unpacked_bytes` = 500000; raise the setting if the file \
                  can be trusted";
    assert_eq!(refusal("p.docx", &long(800_000), &small), reason);
    let bomb = "`word/document.xml` in it unpacks to more than 300 times its packed size; raise the \
                setting if the file can be trusted";
    assert_eq!(refusal("p.docx", &long(5_000_000), &settings()), bomb);
    // The sheets of one book count together.
    let rows = format!("<row><c t='str'><v>{}</v></c></row>", "seal ".repeat(60_000));
    let book = xlsx(&[("A", "visible", &rows), ("B", "visible", &rows)], &[], &[]);
    assert_eq!(refusal("b.xlsx", &book, &small), reason);
}

#[test]
fn too_many_entries_are_refused() {
    let names: Vec<String> = (0..10_001).map(|number| format!("{number}")).collect();
    let entries: Vec<(&str, &[u8])> = names.iter().map(|name| (name.as_str(), &b""[..])).collect();
    assert_eq!(
        refusal("p.docx", &archive(&entries), &settings()),
        "its archive has 10001 entries, above 10000"
    );
}

#[test]
fn what_is_no_archive_is_named() {
    let mut compound = vec![0xD0, 0xCF, 0x11, 0xE0, 0xA1, 0xB1, 0x1A, 0xE1];
    compound.resize(512, 0);
    assert_eq!(
        refusal("p.docx", &compound, &settings()),
        "it is of an old binary format, whatever its ending says; save it in the present format"
    );
    compound.extend("EncryptedPackage".encode_utf16().flat_map(u16::to_le_bytes));
    assert_eq!(
        refusal("p.xlsx", &compound, &settings()),
        "it is encrypted; save it without a password"
    );
    let found = refusal("p.docx", b"<html>", &settings());
    assert!(found.starts_with("it is not a zip archive, as files of this kind are"), "{found}");
    let whole = long(10);
    let found = refusal("p.docx", &whole[..whole.len() - 30], &settings());
    assert!(found.starts_with("its zip archive is cut off or damaged"), "{found}");
    let found = refusal("p.docx", &archive(&[("a.txt", b"x")]), &settings());
    assert!(found.starts_with("there is no `word/document.xml` in it"), "{found}");
    let deep = docx(&"<w:p>".repeat(400), &[]);
    assert_eq!(
        refusal("p.docx", &deep, &settings()),
        "`word/document.xml`: its XML is nested more than 256 deep"
    );
    assert_eq!(refusal("p.docx", &docx("", &[]), &settings()), "document `p.docx` has no text");
}
