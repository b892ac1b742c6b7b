//! What becomes of a PDF whose helper does not do what it should. The rest goes in every time.
#![cfg(unix)]

use std::path::PathBuf;

use atlas::corpus::{CorpusSettings, PdfHelper};

use super::make::{PdfMaker, page};
use super::{refusal, settings};

/// The reason that is given when a shell runs `script` as the helper.
fn with(script: &str, settings: CorpusSettings) -> String {
    let program = PathBuf::from("/bin/sh");
    let helper = PdfHelper { program, arguments: vec!["-c".into(), script.into()] };
    let settings = CorpusSettings { pdf_helper: Some(helper), ..settings };
    refusal("p.pdf", b"%PDF-1.4", &settings)
}

fn few_bytes() -> CorpusSettings {
    CorpusSettings { max_unpacked_bytes: 1000, ..settings() }
}

#[test]
fn every_end_of_a_helper_has_its_reason() {
    let garbage = "the program that reads PDFs gave an answer that cannot be understood";
    assert_eq!(with("echo hello", settings()), garbage);
    assert_eq!(with("true", settings()), garbage);
    assert_eq!(with("kill -9 $$", settings()), "the program that reads PDFs was ended by signal 9");
    assert_eq!(with("exit 7", settings()), "the program that reads PDFs failed with exit code 7");
    assert_eq!(
        with("yes", few_bytes()),
        "its text is longer than `max_unpacked_bytes` = 1000; raise the setting if the file is worth it"
    );
    assert_eq!(
        with("echo 'thread x has overflowed its stack' >&2; kill -6 $$", settings()),
        "its objects are nested too deeply"
    );
    assert_eq!(
        with(
            "cat >/dev/null; echo \"$0 $1\" >&2; echo '{\"Refused\":{\"problem\":\"no\",\"help\":\"\"}}'",
            settings()
        ),
        "no"
    );
    let program = PathBuf::from("/does/not/exist");
    let helper = PdfHelper { program, arguments: Vec::new() };
    let settings = CorpusSettings { pdf_helper: Some(helper), ..settings() };
    let found = refusal("p.pdf", b"%PDF-1.4", &settings);
    assert!(found.starts_with("the program that reads PDFs could not be started: "), "{found}");
}

#[test]
fn a_helper_that_does_not_end_is_ended() {
    let at_once = CorpusSettings { pdf_seconds: 0, ..settings() };
    assert_eq!(
        with("exec sleep 600", at_once),
        "reading it took longer than 4 times `pdf_seconds` = 0 by the clock; raise the setting if the \
         file is worth it"
    );
    assert_eq!(
        with("ulimit -S -t 1; while :; do :; done", settings()),
        "reading it took longer than `pdf_seconds` = 30; raise the setting if the file is worth it"
    );
}

#[test]
fn a_helper_keeps_to_its_memory() {
    let bytes = PdfMaker::new(&[&page(&[(10, 50, 700, "Text.")])]).bytes();
    let little = CorpusSettings { pdf_memory_bytes: 1 << 20, ..settings() };
    assert_eq!(
        refusal("p.pdf", &bytes, &little),
        "reading it needs more memory than `pdf_memory_bytes` = 1048576; raise the setting if the file \
         is worth it"
    );
}
