//! Fuzzing of every file of an index: bytes, numbers and whole runs are changed.
//!
//! Of our own files all checksums and hashes are made to fit again. Such an index may answer anything but
//! must be opened, searched and verified without a panic, an endless loop or a killed process. Tantivy's
//! readers do panic on such files, so none of its bytes is read before the checksum of the whole file
//! is: its files are left with the checksum that they had, and must be refused.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use atlas::format::{BLOCK_BYTES, FRAME_BYTES, MAGIC, TABLE_ROW_BYTES, checksum};

use super::patient::{Harm, Patient};
use super::subject::{Random, number};

/// Numbers at which arithmetic goes wrong.
const NUMBERS: [u64; 12] = [
    0,
    1,
    2,
    255,
    65_535,
    0x7fff_ffff,
    0xffff_fffe,
    0xffff_ffff,
    0x1_0000_0000,
    i64::MAX as u64,
    u64::MAX - 1,
    u64::MAX,
];

/// The bits of floats that comparisons trip over: a NaN, the infinities, -0.
const FLOATS: [u32; 4] = [0x7fc0_0000, 0x7f80_0000, 0xff80_0000, 0x8000_0000];

/// Changes `bytes` in a few places, and now and then their number.
fn mutate(bytes: &mut Vec<u8>, random: &mut Random) {
    for _ in 0..=random.below(3) {
        if bytes.is_empty() {
            bytes.push(random.next() as u8);
        }
        let at = random.below(bytes.len());
        let word = at & !7;
        match random.below(8) {
            0 => bytes[at] ^= 1 << random.below(8),
            1 => bytes[at] = random.next() as u8,
            2 => put(bytes, at & !3, &(NUMBERS[random.below(NUMBERS.len())] as u32).to_le_bytes()),
            3 => put(bytes, word, &NUMBERS[random.below(NUMBERS.len())].to_le_bytes()),
            4 => put(bytes, at & !3, &FLOATS[random.below(FLOATS.len())].to_le_bytes()),
            5 => put(bytes, at & !3, &(random.below(64) as u32).to_le_bytes()),
            6 => {
                // A run from elsewhere.
                let length = random.below(64).min(bytes.len());
                let from = random.below(bytes.len() - length + 1);
                let run = bytes[from..from + length].to_vec();
                put(bytes, at, &run);
            }
            _ => {
                let length = random.below(64);
                let value = [0, 0xff, random.next() as u8][random.below(3)];
                put(bytes, at, &vec![value; length]);
            }
        }
    }
    match random.below(16) {
        0 => bytes.truncate(random.below(bytes.len() + 1)),
        1 => bytes.extend_from_within(..random.below(bytes.len() + 1).min(64)),
        _ => {}
    }
}

/// Puts `new` at `at`, as much of it as there is room for.
fn put(bytes: &mut [u8], at: usize, new: &[u8]) {
    let end = bytes.len().min(at + new.len());
    bytes[at..end].copy_from_slice(&new[..end - at]);
}

fn number_at(bytes: &[u8], at: usize) -> usize {
    u64::from_le_bytes(bytes[at..at + 8].try_into().unwrap()) as usize
}

/// A part of ours: its header, the sections with their names, and its kind.
struct Sections {
    header: Vec<u8>,
    rows: Vec<(Vec<u8>, Vec<u8>)>,
}

impl Sections {
    fn of(part: &[u8]) -> Self {
        let footer = &part[part.len() - FRAME_BYTES..];
        let table = number_at(footer, 0);
        let count = u32::from_le_bytes(footer[8..12].try_into().unwrap()) as usize;
        let rows = part[table..].chunks_exact(TABLE_ROW_BYTES).take(count);
        let rows = rows.map(|row| {
            let (start, length) = (number_at(row, 8), number_at(row, 16));
            (row[..8].to_vec(), part[start..start + length].to_vec())
        });
        Self { header: part[..FRAME_BYTES].to_vec(), rows: rows.collect() }
    }

    /// The part again, with checksums that fit; sometimes with a table that lies.
    fn to_part(&self, random: &mut Random) -> Vec<u8> {
        let (mut part, mut table, mut sums) = (self.header.clone(), Vec::new(), Vec::new());
        for (name, bytes) in &self.rows {
            part.resize(part.len().next_multiple_of(64), 0);
            table.extend_from_slice(name);
            for number in [part.len(), bytes.len(), sums.len()] {
                table.extend_from_slice(&(number as u64).to_le_bytes());
            }
            sums.extend(bytes.chunks(BLOCK_BYTES).map(checksum));
            part.extend_from_slice(bytes);
        }
        part.resize(part.len().next_multiple_of(64), 0);
        sums.iter().for_each(|sum| table.extend_from_slice(&sum.to_le_bytes()));
        let mut count = self.rows.len() as u32;
        match random.below(12) {
            0 => mutate(&mut table, random),
            1 => count = NUMBERS[random.below(NUMBERS.len())] as u32,
            _ => {}
        }
        let mut footer = vec![0; FRAME_BYTES];
        let length = part.len() + table.len() + FRAME_BYTES;
        put(&mut footer, 0, &(part.len() as u64).to_le_bytes());
        put(&mut footer, 8, &count.to_le_bytes());
        put(&mut footer, 12, &self.header[12..16]);
        put(&mut footer, 16, &(length as u64).to_le_bytes());
        put(&mut footer, 24, &checksum(&table).to_le_bytes());
        put(&mut footer, 56, &atlas::format::MAGIC_END);
        [part, table, footer].concat()
    }
}

/// What a manifest says of the part `bytes`: the checksum of its table.
fn stated(bytes: &[u8]) -> String {
    let end = bytes.len() - FRAME_BYTES;
    format!("{:016x}", checksum(&bytes[number_at(&bytes[end..], 0)..end]))
}

/// A number of a JSON text is replaced, or its bytes are changed.
fn mutate_text(text: &[u8], random: &mut Random) -> Vec<u8> {
    let digits: Vec<usize> = (1..text.len())
        .filter(|at| text[*at].is_ascii_digit() && matches!(text[at - 1], b' ' | b'[' | b','))
        .collect();
    if random.below(3) == 0 || digits.is_empty() {
        let mut bytes = text.to_vec();
        mutate(&mut bytes, random);
        return bytes;
    }
    let start = digits[random.below(digits.len())];
    let end = start + text[start..].iter().take_while(|b| b.is_ascii_digit()).count();
    let new = NUMBERS[random.below(NUMBERS.len())].to_string();
    [&text[..start], new.as_bytes(), &text[end..]].concat()
}

/// One file of `files` forged, and what states its checksum and length with it.
fn forge(files: &BTreeMap<PathBuf, Vec<u8>>, path: &Path, random: &mut Random) -> Harm {
    let good = &files[path];
    let (current, manifest) = frame(files);
    if path == current {
        return vec![(current.to_owned(), Some(mutate_text(good, random)))];
    }
    let mut harm = Vec::new();
    let mut text = files[manifest].clone();
    if path == manifest {
        text = mutate_text(&text, random);
    } else if good.starts_with(&MAGIC) {
        let mut sections = Sections::of(good);
        let at = random.below(sections.rows.len());
        mutate(&mut sections.rows[at].1, random);
        let bytes = sections.to_part(random);
        text = restate(&text, path, good, &bytes);
        harm.push((path.to_owned(), Some(bytes)));
    } else {
        let mut bytes = good.clone();
        mutate(&mut bytes, random);
        return vec![(path.to_owned(), Some(bytes))];
    }
    let old = blake3::hash(&files[manifest]).to_hex();
    let line = String::from_utf8(files[current].clone()).unwrap();
    let line = line.replace(old.as_str(), blake3::hash(&text).to_hex().as_str());
    harm.push((manifest.to_owned(), Some(text)));
    harm.push((current.to_owned(), Some(line.into())));
    harm
}

/// The manifest `text` with the length and the checksum of the file `path`, which was `good` and is
/// `bytes`.
fn restate(text: &[u8], path: &Path, good: &[u8], bytes: &[u8]) -> Vec<u8> {
    let text = String::from_utf8(text.to_vec()).unwrap();
    let name = path.file_name().unwrap().to_string_lossy();
    // The entry of the file: from its name to the end of the object that it stands in. Layers have
    // files of the same name.
    let ending = format!("{name}\"");
    let named = text.match_indices(&ending).map(|(start, _)| start);
    let mut entries = named.map(|start| (start, start + text[start..].find('}').unwrap()));
    let own = entries.find(|(start, end)| text[*start..*end].contains(&stated(good)));
    let (start, end) = own.unwrap_or_else(|| panic!("{name} is not stated"));
    let entry = text[start..end]
        .replace(&stated(good), &stated(bytes))
        .replace(&format!(": {}", good.len()), &format!(": {}", bytes.len()));
    assert!(entry.contains(&stated(bytes)), "{name}: {entry}");
    [&text[..start], &entry, &text[end..]].concat().into_bytes()
}

/// The paths of `CURRENT` and of the manifest that it names.
fn frame(files: &BTreeMap<PathBuf, Vec<u8>>) -> (&Path, &Path) {
    let find = |name: &str| files.keys().find(|path| path.ends_with(name)).unwrap().as_path();
    (find("CURRENT"), find("manifest.json"))
}

#[test]
fn a_forged_index_is_told_or_answers_and_never_panics() {
    let (seed, cases) = (number("ATLAS_SEED", 1), number("ATLAS_CASES", 600));
    println!("seed {seed}");
    let patient = Patient::of(number("ATLAS_DOCUMENTS", 14) as usize);
    let paths: Vec<&PathBuf> = patient.files.keys().collect();
    let mut random = Random(seed);
    let cases: Vec<(&PathBuf, u64)> =
        (0..cases).map(|case| (paths[case as usize % paths.len()], random.next())).collect();
    let shown = patient.forged(&cases, |(path, seed)| {
        let harm = forge(&patient.files, path, &mut Random(*seed));
        (format!("{} with seed {seed}", path.display()), harm)
    });
    let told =
        shown.iter().filter(|shown| shown.search.is_some() || shown.verify.is_some()).count();
    for (shown, (path, seed)) in shown.iter().zip(&cases) {
        let harm = forge(&patient.files, path, &mut Random(*seed));
        let of_tantivy = path.parent().unwrap().ends_with("lexical");
        let same = harm[0].1.as_ref() == patient.files.get(*path);
        let told = shown.verify.is_some() && shown.search.is_some();
        assert!(!of_tantivy || same || told, "{} with seed {seed}: {shown:?}", path.display());
    }
    println!("forged: {} cases, {told} told, the others answered", shown.len());
    assert!(told > 0 && told < shown.len(), "the forger does not reach behind the checksums");
}

#[test]
fn a_part_taken_apart_and_put_together_is_the_same() {
    // Otherwise the fuzzer would be stopped at the door.
    let patient = Patient::of(3);
    for (path, bytes) in patient.files.iter().filter(|(_, bytes)| bytes.starts_with(&MAGIC)) {
        // A seed under which the table is left alone.
        let again = Sections::of(bytes).to_part(&mut Random(5));
        assert!(again == *bytes, "{}", path.display());
    }
}
