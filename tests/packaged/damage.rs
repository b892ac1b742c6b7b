//! Files with bytes changed or missing: read, read in part or refused by name, never a panic and never
//! without end. `ATLAS_READER_CASES` sets how many cases a format gets, `ATLAS_READER_SEED` which;
//! `tools/mangle` runs many.

use std::fs;
use std::io::{Cursor, Read as _};

use atlas::corpus::{self, CorpusSettings};

use super::make::{PdfMaker, archive, chapter, docx, epub, page, paragraph, row, xlsx};
use super::settings;

/// Cases of each format without a word from outside: a second or two.
const CASES: u64 = 60;

/// A random number generator of 64 bits (Steele, Lea and Flood, "Fast splittable pseudorandom number
/// generators", 2014).
struct SplitMix(u64);

impl SplitMix {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    }

    fn below(&mut self, limit: usize) -> usize {
        (self.next() % limit.max(1) as u64) as usize
    }
}

/// `bytes` cut off, with some of them changed, doubled or taken out.
fn mangled(bytes: &[u8], random: &mut SplitMix) -> Vec<u8> {
    let mut bytes = bytes.to_vec();
    for _ in 0..=random.below(4) {
        let at = random.below(bytes.len());
        let end = (at + random.below(40)).min(bytes.len());
        match random.below(6) {
            0 => bytes.truncate(at),
            1 => bytes.drain(at..end).for_each(drop),
            2 => {
                let part = bytes[at..end].to_vec();
                bytes.splice(at..at, part);
            }
            3 => bytes[at..end].fill(random.next() as u8),
            _ => {
                if let Some(byte) = bytes.get_mut(at) {
                    *byte ^= 1 << random.below(8);
                }
            }
        }
    }
    bytes
}

/// The archive `whole`, mangled itself or one of the files in it.
fn mangled_archive(whole: &[u8], random: &mut SplitMix) -> Vec<u8> {
    if random.below(3) == 0 {
        return mangled(whole, random);
    }
    let mut zip = zip::ZipArchive::new(Cursor::new(whole)).unwrap();
    let chosen = random.below(zip.len());
    let mut entries = Vec::new();
    for place in 0..zip.len() {
        let mut entry = zip.by_index(place).unwrap();
        let (name, mut bytes) = (entry.name().unwrap().into_owned(), Vec::new());
        entry.read_to_end(&mut bytes).unwrap();
        entries.push((name, if place == chosen { mangled(&bytes, random) } else { bytes }));
    }
    let entries: Vec<(&str, &[u8])> =
        entries.iter().map(|(name, bytes)| (name.as_str(), bytes.as_slice())).collect();
    archive(&entries)
}

fn from_outside(name: &str) -> Option<u64> {
    std::env::var(name).ok().and_then(|value| value.parse().ok())
}

/// Reads many mangled forms of a file at once, as a corpus; every one must have a verdict.
fn check(ending: &str, mangle: impl Fn(&mut SplitMix) -> Vec<u8>) {
    let seed = from_outside("ATLAS_READER_SEED").unwrap_or(1);
    let cases = from_outside("ATLAS_READER_CASES").unwrap_or(CASES);
    println!("{ending}: {cases} cases from seed {seed}");
    let mut random = SplitMix(seed);
    let settings = CorpusSettings { pdf_seconds: 10, ..settings() };
    let (mut read, mut in_part, mut refused) = (0, 0, 0);
    for from in (0..cases).step_by(200) {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("zz.md"), "A page.\n").unwrap();
        let here = (cases - from).min(200);
        for case in from..from + here {
            let bytes = mangle(&mut random);
            fs::write(folder.path().join(format!("{case:06}.{ending}")), bytes).unwrap();
        }
        let corpus = corpus::read(folder.path(), &settings).unwrap();
        let documents = corpus.documents.len() as u64 - 1;
        assert_eq!(documents + corpus.skipped.len() as u64, here, "seed {seed}");
        for skipped in &corpus.skipped {
            let bad =
                ["signal", "exit code", "understood", "longer than", "more memory", "panicked"];
            let is_bad = bad.iter().any(|word| skipped.reason.contains(word));
            assert!(!is_bad, "seed {seed}: {}: {}", skipped.path, skipped.reason);
        }
        let mut parts: Vec<&str> = corpus.noted.iter().map(|noted| noted.path.as_str()).collect();
        parts.dedup();
        read += documents;
        in_part += parts.len();
        refused += corpus.skipped.len();
    }
    println!("{ending}: {read} read, {in_part} of them in part, {refused} refused");
}

#[test]
fn a_damaged_word_document_has_a_verdict() {
    let row = "<w:tr><w:tc><w:p><w:r><w:t>a</w:t></w:r></w:p></w:tc><w:tc><w:p/></w:tc></w:tr>";
    let body = format!(
        "{}<w:tbl>{row}{row}</w:tbl><w:p><w:r><w:t>x</w:t><w:footnoteReference w:id='2'/></w:r></w:p>",
        paragraph("<w:pStyle w:val='Heading1'/><w:numPr><w:numId w:val='1'/></w:numPr>", "Seals")
    );
    let numbering = "<w:numbering><w:abstractNum w:abstractNumId='0'><w:lvl w:ilvl='0'><w:lvlText w:val='%1.'/>\
        </w:lvl></w:abstractNum><w:num w:numId='1'><w:abstractNumId w:val='0'/></w:num></w:numbering>";
    let notes = "<w:footnotes><w:footnote w:id='2'><w:p><w:r><w:t>n</w:t></w:r></w:p></w:footnote></w:footnotes>";
    let whole = docx(&body, &[("numbering", numbering), ("footnotes", notes)]);
    check("docx", |random| mangled_archive(&whole, random));
}

#[test]
fn a_damaged_workbook_has_a_verdict() {
    let rows = row(1, &[("r='A1' t='s'", "<v>0</v>"), ("r='B1' s='1'", "<v>45292.5</v>")]);
    let whole = xlsx(&[("S", "visible", &rows)], &["a"], &["dd.mm.yyyy"]);
    check("xlsx", |random| mangled_archive(&whole, random));
}

#[test]
fn a_damaged_book_has_a_verdict() {
    let one =
        chapter("Seals", "<h1>Seals</h1><p>A seal<a href='#n'>1</a>.</p><aside id='n'>1 n</aside>");
    let two =
        chapter("Oil", "<table><tr><th>a</th></tr><tr><td>b</td></tr></table><ul><li>c</li></ul>");
    let lock = "<encryption><CipherReference URI='OEBPS/f.otf'/></encryption>";
    let files = [("META-INF/encryption.xml", lock)];
    let whole = epub(&[("a.xhtml", "", &one), ("b.xhtml", "", &two)], "", &files);
    check("epub", |random| mangled_archive(&whole, random));
}

#[test]
fn a_damaged_pdf_has_a_verdict() {
    let text =
        page(&[(14, 50, 700, "Seals"), (10, 50, 680, "A seal whistles."), (10, 50, 668, "Dry.")]);
    let mut made = PdfMaker::new(&[&text, &text]);
    made.set(1, "<</Type/Catalog/Pages 2 0 R/Outlines 8 0 R>>");
    made.add("<</First 9 0 R/Last 9 0 R>>");
    made.add("<</Title(Seals)/Parent 8 0 R/Dest[4 0 R/Fit]>>");
    let whole = made.bytes();
    check("pdf", |random| mangled(&whole, random));
}
