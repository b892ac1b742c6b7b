//! Word documents, workbooks, books and PDFs as the library reads them, from files that the tests make.
#![expect(
    clippy::unwrap_used,
    clippy::panic,
    clippy::print_stdout,
    reason = "a test stops at the first surprise, and says what it drew"
)]

#[path = "packaged/archives.rs"]
mod archives;
#[path = "packaged/damage.rs"]
mod damage;
#[path = "packaged/docx.rs"]
mod docx;
#[path = "packaged/epub.rs"]
mod epub;
#[path = "packaged/helper.rs"]
mod helper;
#[path = "packaged/make.rs"]
mod make;
#[path = "packaged/pdf.rs"]
mod pdf;
#[path = "packaged/xlsx.rs"]
mod xlsx;

use std::fs;

use atlas::corpus::{self, BodyForm, Corpus, CorpusSettings, Document, ItemKind, PdfHelper};

/// Settings under which PDFs are read by the built program.
fn settings() -> CorpusSettings {
    let program = env!("CARGO_BIN_EXE_atlas").into();
    let helper = PdfHelper { program, arguments: vec!["__read-pdf".into()] };
    CorpusSettings { pdf_helper: Some(helper), ..CorpusSettings::default() }
}

/// The corpus of one file, beside a page that is always read.
fn read_as(name: &str, bytes: &[u8], settings: &CorpusSettings) -> Corpus {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("zz.md"), "# Page\n\nA page.\n").unwrap();
    fs::write(folder.path().join(name), bytes).unwrap();
    corpus::read(folder.path(), settings).unwrap()
}

/// The document that is read from a file, which must be read whole.
fn read(name: &str, bytes: &[u8]) -> Document {
    let corpus = read_as(name, bytes, &settings());
    assert!(
        corpus.skipped.is_empty() && corpus.noted.is_empty(),
        "{:?} {:?}",
        corpus.skipped,
        corpus.noted
    );
    corpus.document(&name.replace(' ', "-")).unwrap().clone()
}

/// Why a file is not read.
fn refusal(name: &str, bytes: &[u8], settings: &CorpusSettings) -> String {
    let corpus = read_as(name, bytes, settings);
    assert_eq!((corpus.documents.len(), corpus.skipped.len()), (1, 1), "{:?}", corpus.skipped);
    corpus.skipped[0].reason.clone()
}

/// A body as one line an item: what it is, its text, and its page or row.
fn shown(document: &Document) -> Vec<String> {
    let BodyForm::Structured(structure) = &document.form else { panic!("{:?}", document.form) };
    let items = structure.items.iter().map(|item| {
        let kind = match &item.kind {
            ItemKind::Heading { level } => format!("h{level}"),
            ItemKind::Paragraph => "p".to_owned(),
            ItemKind::ListItem => "li".to_owned(),
            ItemKind::Table { rows } => format!("table of {}", rows.len()),
            ItemKind::Code => "code".to_owned(),
            ItemKind::Quote => "note".to_owned(),
            ItemKind::Record => "row".to_owned(),
        };
        let mut place = structure.places.iter().rev().filter(|(at, _)| *at <= item.bytes.start);
        let place = place.next().map(|(_, place)| place.clone()).unwrap_or_default();
        let page = place.page.map(|page| format!("@{page}"));
        let line = place.lines.map(|lines| format!("@{lines}"));
        let place = page.or(line).unwrap_or_default();
        let text = document.body[item.bytes.clone()].replace('\n', " / ");
        format!("{kind}{place} {text}")
    });
    items.collect()
}
