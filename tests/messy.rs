//! The messy files: real ones that readers trip over, each with its verdict.
//!
//! All of `../shared/data/messy` is built as one corpus, as `atlas build` would, and each line of its
//! manifest gets one verdict: what was read of the file, or why it was not. Without the folder the test says so
//! and ends.
//!
//! ```text
//! tools/messy        prints the verdict of every file, and the counts
//! ```
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use atlas::corpus::{self, Corpus, CorpusSettings, PdfHelper, reader_of};
use atlas::format::Store;
use atlas::index::{self, Options, Quiet};
use atlas::vectors::StaticModel;

/// Formats of text whose every file must be read, save the [`REFUSED`].
const TEXT: [&str; 11] =
    ["md", "txt", "csv", "tsv", "json", "jsonl", "html", "rst", "adoc", "asciidoc", "xhtml"];

/// Files that no reader can make text of, and what must be said.
const REFUSED: [(&str, &str); 1] = [("tika/english.cp500.txt", "it is in EBCDIC")];

/// What must stand in a file's documents, and what must not.
const HOLDS: [(&str, &str, &str); 16] = [
    ("markitdown/test_mskanji.csv", "名前: 佐藤太郎", "\u{FFFD}"),
    ("markitdown/test.json", "", "\u{FFFD}"),
    ("markitdown/test_wikipedia.html", "Microsoft", "mw-parser-output"),
    ("markitdown/test_blog.html", "AutoGen", "function("),
    ("markitdown/test_serp.html", "microsoft", "function("),
    ("docling/csv/csv-semicolon.csv", "Index: 1", ""),
    ("docling/csv/csv-too-many-columns.csv", "column 5: e", ""),
    ("docling/html/table_01.html", " | ", "<t"),
    ("docling/asciidoc/asciidoc_02.asciidoc", "", "|==="),
    ("tika/russian.cp866.txt", "", "\u{FFFD}"),
    ("tika/testTXT_win-1252.txt", "", "\u{FFFD}"),
    ("tika/testHTML_utf8.html", "", "<"),
    ("tika/testHTMLBadScript.html", "", "document.write"),
    ("tika/testArabicMisleadingCharset.html", "", "\u{FFFD}"),
    ("blns/blns.txt", "undefined", ""),
    ("tika/resume.html", "", "mso-"),
];

/// Settings as `atlas build` has them: PDFs are read by the program.
fn settings() -> CorpusSettings {
    let program = env!("CARGO_BIN_EXE_atlas").into();
    let helper = PdfHelper { program, arguments: vec!["__read-pdf".into()] };
    CorpusSettings { pdf_helper: Some(helper), ..CorpusSettings::default() }
}

/// One verdict a file: `(kind, words)`.
fn verdict(path: &str, corpus: &Corpus) -> Vec<(&'static str, String)> {
    let own: Vec<_> =
        corpus.documents.iter().filter(|document| document.source.path == path).collect();
    let mut said: Vec<(&'static str, String)> = Vec::new();
    if !own.is_empty() {
        let bytes: usize = own.iter().map(|document| document.body.len()).sum();
        let notes: Vec<&str> = corpus
            .noted
            .iter()
            .filter(|note| note.path == path)
            .map(|note| note.reason.as_str())
            .collect();
        let kind = match notes.iter().any(|note| note.starts_with("read in part")) {
            true => "in part",
            false => "read",
        };
        let notes = notes.iter().map(|note| format!("; {note}")).collect::<String>();
        said.push((kind, format!("{} documents, {bytes} bytes of text{notes}", own.len())));
    }
    for skipped in corpus.skipped.iter().filter(|skipped| skipped.path == path) {
        said.push(("skipped", skipped.reason.clone()));
    }
    said
}

#[test]
fn every_messy_file_has_its_verdict() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared/data/messy");
    let Ok(manifest) = fs::read_to_string(folder.join("MANIFEST.tsv")) else {
        println!("skipped: {} is absent", folder.display());
        return;
    };
    let corpus = corpus::read(&folder, &settings()).unwrap();
    let mut counts: BTreeMap<(String, &str), usize> = BTreeMap::new();
    let mut faults = Vec::new();
    for line in manifest.lines().skip(1) {
        let mut fields = line.split('\t');
        let (Some(path), why) = (fields.next(), fields.nth(2).unwrap_or_default()) else {
            continue;
        };
        let said = verdict(path, &corpus);
        let [(kind, words)] = said.as_slice() else {
            faults.push(format!("{path}: {} verdicts: {said:?}", said.len()));
            continue;
        };
        println!("{kind:8} {path} ({why}): {words}");
        let ending = path.rsplit('.').next().unwrap_or_default();
        *counts.entry((ending.to_owned(), kind)).or_default() += 1;
        let refused = REFUSED.iter().find(|(file, _)| *file == path);
        match refused {
            Some((_, why)) if !words.starts_with(why) => faults.push(format!("{path}: {words}")),
            None if TEXT.contains(&ending) && *kind == "skipped" => {
                faults.push(format!("{path}: {words}"));
            }
            _ => {}
        }
        if reader_of(path).is_none() && !words.starts_with("files ") {
            faults.push(format!("{path}: no reader, and yet: {words}"));
        }
    }
    for (path, must, must_not) in HOLDS {
        let own = corpus.documents.iter().filter(|document| document.source.path == path);
        let text: String = own.map(|document| document.body.as_str()).collect();
        if !text.contains(must) {
            faults.push(format!("{path} has not `{must}`"));
        }
        if !must_not.is_empty() && text.contains(must_not) {
            faults.push(format!("{path} has `{must_not}`"));
        }
    }
    println!();
    for ((ending, kind), count) in &counts {
        println!("{count:4}  .{ending} {kind}");
    }
    println!("{:4}  files, {} documents", counts.values().sum::<usize>(), corpus.documents.len());
    assert!(faults.is_empty(), "{}", faults.join("\n"));
    let place = tempfile::tempdir().unwrap();
    let settings = index::Settings::default();
    let (store, model) = (Store::new(place.path().to_owned()), StaticModel::built_in().unwrap());
    let report =
        index::build(&corpus, &settings, &model, &store, Options::default(), &mut Quiet).unwrap();
    println!("built: {} blocks, {} passages", report.manifest.blocks, report.manifest.passages);
    // A document is in the index, or it is said why not.
    let without = report.skipped.len() - corpus.skipped.len();
    assert_eq!(report.manifest.documents + without, corpus.documents.len());
}
