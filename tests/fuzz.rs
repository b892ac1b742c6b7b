//! Mutation of files: whatever lies in a folder, reading it ends, says what it could not read, and never
//! falls.
//!
//! A **case** is a file that some reader takes (or a question set, a policy, a project file), with up to
//! eight mutations: bits flipped, ranges cut out, doubled or filled with marks that parsers trip over,
//! pieces of other files put in, the end cut off, now and then the ending of another format. What is read
//! must keep the laws of `check`, twice the same.
//!
//! ```text
//! tools/fuzz                                     20,000 cases, real files among them
//! ATLAS_SEED=7 ATLAS_CASES=500 ATLAS_FILES=DIR cargo test --release --test fuzz -- --nocapture
//! ```
//!
//! `ATLAS_CASES` is how many (default 600), `ATLAS_SEED` the seed of the first (default 1); the next case
//! has the next seed, so a case that fails is repeated by its seed alone. `ATLAS_FILES` names a folder of
//! files that are mutated too, up to 256 KiB each.
#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "helpers of tests, which clippy takes for production code"
)]

#[path = "common/random.rs"]
mod random;

use std::collections::BTreeMap;
use std::fs;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::time::{Duration, Instant};

use atlas::access::Policy;
use atlas::corpus::{BodyForm, CorpusSettings, Document, ItemKind, RawFile, Reading, reader_of};
use atlas::eval::questions::QuestionSet;
use atlas::passage::{self, cut};
use atlas::project::ProjectFile;
use atlas::text::{self, Analyzer, Stems};
use random::Random;

/// Far above what any case takes, on a machine that gives it a hundredth of a core too; what takes longer
/// does not end, or is quadratic.
const LIMIT: Duration = Duration::from_secs(60);

/// The largest file that is mutated: more only takes longer.
const FILE_BYTES: u64 = 256 << 10;

/// A small text of each kind, with everything in it that its reader tells apart.
const SEEDS: [(&str, &str); 12] = [
    (
        "md",
        "---\nid: A\nproduct: [C-3]\n---\n# T\n\na *b*\n\n- x\n  - y\n\n|h|\n|-|\n|c|\n\n```\nz\n```\n> q\n\n<p>h</p>\n[^1]: n\n",
    ),
    ("md", "+++\nid = 'A'\nrevision = 1.10\n[sections]\nB = 'x'\n+++\n# T\n\nText é 🚲.\n"),
    ("txt", "One two three.\n\nדג 保修三年。电池。\r\nend"),
    ("csv", "Code;\"What it\nmeans\";Note\nF-12;\"no \"\"oil\"\"\";\nF-13;dry;*x*;y\n"),
    ("tsv", "a\tb\n1\t2\n3\t4\n"),
    (
        "json",
        "[{\"id\": 7, \"title\": \"T\", \"text\": \"a\\n\\nb\", \"year\": 1999}, {\"name\": \"x\", \"body\": [\"c\"]}]",
    ),
    (
        "json",
        "{\"a\": {\"b\": [1, \"x\", {\"c\": true}]}, \"classification\": null, \"d\": \"# e\"}",
    ),
    ("jsonl", "{\"_id\": \"1\", \"text\": \"a\"}\n{\"id\": 2, \"content\": \"b\"}\n"),
    (
        "html",
        "<!DOCTYPE html><html lang=de><head><meta charset=utf-8><title>T</title><script>x<y</script><body><nav>n</nav><main><h1>H</h1><p>a &eacute; <b>b</b><ul><li>c<ol start=3><li>d</ol></ul><table><tr><th>h<th>i<tr><td rowspan=2>j<td>k<tr><td colspan=2>l</table><pre>m\n n</pre><blockquote>o</blockquote></main><!-- p -->",
    ),
    (
        "rst",
        "=====\nTitle\n=====\n\n:Author: A\n\na :ref:`b <c>`::\n\n  code\n\nS\n-\n\n* x\n\n  * y\n\n.. note:: n\n   m\n\n====  ===\nh     i\n====  ===\nj     k\n====  ===\n\n+---+\n| a |\n+---+\n",
    ),
    (
        "adoc",
        "= Title\nAuthor\n:x: y\n\na {x} <<b,c>> https://d[e]\n\n== S\n\n* x\n** y\n\nT:: d\n\n----\ncode\n----\n\n[cols=2*]\n|===\n|h |i\n\n|j |k\n|===\n\n____\nq\n____\n",
    ),
    (
        "yaml",
        "questions:\n  - id: q1\n    question: What is E-417?\n    kind: code\n    relevant: [A-1]\n",
    ),
];

/// What parsers trip over.
const MARKS: [&str; 40] = [
    "\0",
    "\r",
    "\r\n",
    "\u{FEFF}",
    "\u{202E}",
    "\u{301}",
    "👩‍👩‍👧",
    "\"",
    "'",
    "`",
    "``",
    "{",
    "}",
    "[",
    "]",
    "<",
    ">",
    "</",
    "<!--",
    "-->",
    "<table><tr><td>",
    "&#x110000;",
    "&",
    "::",
    ".. ",
    "|===",
    "----",
    "____",
    "====",
    "+++\n",
    "---\n",
    "- ",
    "* ",
    "#",
    "|",
    ",",
    ";",
    "\t",
    "\n\n",
    "9999999999999999999999",
];

/// Where to cut `length` bytes: short ranges mostly, long ones now and then.
fn piece_of(random: &mut Random, length: usize) -> std::ops::Range<usize> {
    let start = random.below(length + 1);
    let most = if random.below(4) == 0 { length - start } else { (length - start).min(16) };
    start..start + random.below(most + 1)
}

fn env(name: &str, default: u64) -> u64 {
    std::env::var(name).ok().and_then(|value| value.parse().ok()).unwrap_or(default)
}

/// The files that are mutated: ending and content.
fn files() -> Vec<(String, Vec<u8>)> {
    let mut files: Vec<(String, Vec<u8>)> = SEEDS
        .iter()
        .map(|(ending, text)| ((*ending).to_owned(), text.as_bytes().to_vec()))
        .collect();
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    for name in
        ["atlas.toml", "evals/atlas-bikes/development.yaml", "corpus/atlas-bikes/access.yaml"]
    {
        if let Ok(bytes) = fs::read(root.join(name)) {
            files.push((name.rsplit('.').next().unwrap().to_owned(), bytes));
        }
    }
    if let Some(folder) = std::env::var_os("ATLAS_FILES") {
        gather(Path::new(&folder), &mut files);
    }
    files
}

fn gather(folder: &Path, files: &mut Vec<(String, Vec<u8>)>) {
    let mut entries: Vec<_> =
        fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    entries.sort();
    for path in entries {
        if path.is_dir() {
            gather(&path, files);
        } else if path.metadata().unwrap().len() <= FILE_BYTES {
            let ending = path.extension().map(|ending| ending.to_string_lossy().to_lowercase());
            files.push((ending.unwrap_or_default(), fs::read(&path).unwrap()));
        }
    }
}

fn mutate(random: &mut Random, files: &[(String, Vec<u8>)]) -> (String, Vec<u8>) {
    let (ending, bytes) = &files[random.below(files.len())];
    let (mut ending, mut bytes) = (ending.clone(), bytes.clone());
    if random.below(12) == 0 {
        ending = files[random.below(files.len())].0.clone();
    }
    for _ in 0..random.below(9) {
        let range = piece_of(random, bytes.len());
        match random.below(8) {
            0 if !bytes.is_empty() => {
                let at = random.below(bytes.len());
                bytes[at] ^= 1 << random.below(8);
            }
            1 if !bytes.is_empty() => {
                let at = random.below(bytes.len());
                bytes[at] = random.next() as u8;
            }
            2 => drop(bytes.drain(range)),
            3 => {
                let piece = bytes[range.clone()].to_vec();
                let times = 1 + random.below(if piece.len() < 64 { 64 } else { 2 });
                bytes.splice(range.end..range.end, piece.repeat(times));
            }
            4 => bytes.truncate(random.below(bytes.len() + 1)),
            5 => {
                let other = &files[random.below(files.len())].1;
                let piece = other[piece_of(random, other.len())].to_vec();
                bytes.splice(range, piece);
            }
            _ => {
                let mark = MARKS[random.below(MARKS.len())];
                let times = if random.below(8) == 0 { random.below(300) } else { 1 };
                bytes.splice(range.start..range.start, mark.repeat(times).into_bytes());
            }
        }
    }
    (ending, bytes)
}

/// What became of a case, for the counts.
fn run(ending: &str, bytes: &[u8], folder: &Path) -> &'static str {
    let location = folder.join("case");
    fs::write(&location, bytes).unwrap();
    match ending {
        "yaml" | "yml" => {
            let questions = QuestionSet::read(&location).is_ok();
            let policy = Policy::read(&location).is_ok();
            return if questions || policy { "read" } else { "refused" };
        }
        "toml" => {
            return if ProjectFile::read(Some(&location), &[]).is_ok() {
                "read"
            } else {
                "refused"
            };
        }
        _ => {}
    }
    let path = format!("case.{ending}");
    let Some(reader) = reader_of(&path) else { return "no reader" };
    let source = RawFile { path, location };
    let settings = CorpusSettings::default();
    let Ok(reading) = reader.read(&source, &settings) else { return "refused" };
    assert_eq!(reader.read(&source, &settings).ok().as_ref(), Some(&reading), "another result");
    let lines = 1 + bytes.iter().filter(|byte| matches!(byte, b'\n' | b'\r')).count() as u64;
    reading.documents.iter().for_each(|document| check(document, lines));
    analyse(&reading);
    match (reading.documents.len(), reading.remarks.iter().any(|remark| remark.is_loss)) {
        (0, _) => "empty",
        (_, true) => "read in part",
        (_, false) => "read",
    }
}

/// The laws of what a reader gives.
fn check(document: &Document, lines: u64) {
    let mut ink: usize = 0;
    if let BodyForm::Structured(structure) = &document.form {
        let mut from = 0;
        for item in &structure.items {
            let text = document.body.get(item.bytes.clone()).expect("a range of the body");
            assert!(item.bytes.start >= from && !text.trim().is_empty(), "{item:?}");
            if let ItemKind::Table { rows } = &item.kind {
                let inside =
                    |row: &usize| item.bytes.contains(row) && document.body.is_char_boundary(*row);
                assert!(rows.iter().all(inside) && rows.is_sorted(), "{item:?}");
            }
            let between = &document.body[from..item.bytes.start];
            assert!(between.trim().is_empty(), "between items: {between:?}");
            from = item.bytes.end;
            if !matches!(item.kind, ItemKind::Heading { .. }) {
                ink += text.chars().filter(|c| !c.is_whitespace()).count();
            }
        }
        assert!(structure.places.is_sorted_by_key(|(byte, _)| *byte), "places out of order");
        assert!(document.body[from..].trim().is_empty(), "text behind all items");
    }
    let cut = cut(document, &passage::Settings { max_tokens: 32, ..passage::Settings::default() });
    let mut found = 0;
    for (block, passages) in &cut {
        found += block.text.chars().filter(|c| !c.is_whitespace()).count();
        for passage in passages {
            if let Some(own) = passage.place.lines {
                assert!(own.first >= 1 && own.first <= own.last, "{own}");
                // A file that is not UTF-8 may have line ends of more than one byte.
                assert!(
                    own.last <= lines || document.body.contains('\u{FFFD}'),
                    "{own} of {lines}"
                );
            }
            if let Some(bytes) = &passage.place.bytes {
                assert!(bytes.start <= bytes.end, "{bytes:?}");
            }
        }
    }
    if matches!(document.form, BodyForm::Structured(_)) {
        assert_eq!(found, ink, "text of the items that is in no block");
    }
}

fn analyse(reading: &Reading) {
    let mut stems = Stems::default();
    for language in ["en", "de", "ar", "tr", "none"] {
        let settings = text::Settings { language: language.to_owned(), stop_words: true };
        let analyzer = Analyzer::new(&settings).unwrap();
        for document in reading.documents.iter().take(4) {
            let most = document.body.floor_char_boundary(4096);
            let (terms, count) = analyzer.document(&document.body[..most], &mut stems);
            assert!(count as usize <= terms.split('\n').count(), "{terms}");
            analyzer.question(&document.body[..most]);
            analyzer.question(&document.title);
        }
    }
}

#[test]
fn no_file_makes_a_reader_fall() {
    let (cases, seed) = (env("ATLAS_CASES", 600), env("ATLAS_SEED", 1));
    let folder = tempfile::tempdir().unwrap();
    let files = files();
    let mut counts: BTreeMap<(String, &str), usize> = BTreeMap::new();
    let mut slowest = (Duration::ZERO, 0, String::new());
    for case in seed..seed + cases {
        let (ending, bytes) = mutate(&mut Random(case), &files);
        let began = Instant::now();
        let ran = catch_unwind(AssertUnwindSafe(|| run(&ending, &bytes, folder.path())));
        let took = began.elapsed();
        let repeat = format!("repeat it with ATLAS_SEED={case} ATLAS_CASES=1");
        let Ok(outcome) = ran else {
            panic!("a case ending in .{ending} of {} bytes fell; {repeat}", bytes.len());
        };
        assert!(took < LIMIT, "a case ending in .{ending} took {took:?}; {repeat}");
        if took > slowest.0 {
            slowest = (took, case, ending.clone());
        }
        *counts.entry((ending, outcome)).or_default() += 1;
    }
    println!("{cases} cases from seed {seed}, over {} files", files.len());
    for ((ending, outcome), count) in &counts {
        println!("{count:7}  .{ending} {outcome}");
    }
    println!("slowest: {:?}, seed {}, .{}", slowest.0, slowest.1, slowest.2);
}
