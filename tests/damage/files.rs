//! Damage as disks and people do it: bytes flipped, files cut, missing, or those of another index.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use super::patient::{Harm, Patient, Shown};
use super::subject::{Random, Subject, number, scratch};

/// Documents of the index; `tools/corrupt-run` takes more, so that parts have several blocks.
fn documents() -> usize {
    number("ATLAS_DOCUMENTS", 14) as usize
}

/// Cases of a kind that are drawn, where there are more; 0 takes all.
fn draw<C: Clone>(cases: &[C], random: &mut Random) -> Vec<C> {
    let most = number("ATLAS_CASES", 700) as usize;
    if most == 0 || cases.len() <= most {
        return cases.to_vec();
    }
    (0..most).map(|_| cases[random.below(cases.len())].clone()).collect()
}

fn seed() -> Random {
    let seed = number("ATLAS_SEED", 1);
    println!("seed {seed}");
    Random(seed)
}

/// Prints how `what` showed, by file.
fn tell<'p>(what: &str, shown: &[Shown], paths: impl Iterator<Item = &'p Path>) {
    let mut by_file: BTreeMap<String, [usize; 3]> = BTreeMap::new();
    for (shown, path) in shown.iter().zip(paths) {
        let counts = by_file.entry(kind(path)).or_default();
        counts[0] += 1;
        counts[1] += usize::from(shown.search.is_some());
        counts[2] += usize::from(shown.verify.is_some());
    }
    let total = by_file.values().fold([0; 3], |sum, own| [0, 1, 2].map(|at| sum[at] + own[at]));
    println!("{what}: {} cases, {} told by a search, {} by verify", total[0], total[1], total[2]);
    for (file, [cases, search, verify]) in by_file {
        println!("  {file:24} {cases:8} {search:8} {verify:8}");
    }
}

/// `term` for a file of tantivy's with a drawn name, else the file's name.
fn kind(path: &Path) -> String {
    let name = path.file_name().unwrap().to_string_lossy();
    match name.split_once('.') {
        Some((stem, ending)) if stem.len() == 32 => format!("lexical/*.{ending}"),
        _ => name.into_owned(),
    }
}

/// `verify` must find what is not harmless, and must find everything in a generation.
fn all_told(shown: &[Shown], cases: &[(PathBuf, usize)]) {
    let silent = shown.iter().zip(cases).filter(|(shown, _)| shown.verify.is_none());
    let silent: Vec<String> = silent
        // White space in CURRENT: any will do.
        .filter(|(_, (path, _))| !path.ends_with("CURRENT"))
        .map(|(shown, (path, at))| format!("{} at {at}: {shown:?}", path.display()))
        .collect();
    assert!(silent.is_empty(), "verify missed {}:\n{}", silent.len(), silent.join("\n"));
    for (shown, (path, at)) in shown.iter().zip(cases) {
        if let Some(told) = &shown.verify {
            let way_out = told.contains("atlas build");
            let named = told.contains(&*path.parent().unwrap().to_string_lossy());
            assert!(way_out && named, "{} at {at}: {told}", path.display());
        }
    }
}

#[test]
fn a_flipped_byte_is_named() {
    let (patient, mut random) = (Patient::of(documents()), seed());
    let all: Vec<(PathBuf, usize)> = patient
        .files
        .iter()
        .flat_map(|(path, bytes)| (0..bytes.len()).map(|at| (path.clone(), at)))
        .collect();
    // A few of every file, and of all bytes as many as were asked for.
    let mut cases = draw(&all, &mut random);
    if cases.len() < all.len() {
        for (path, bytes) in &patient.files {
            cases.extend(
                (0..12.min(bytes.len())).map(|_| (path.clone(), random.below(bytes.len()))),
            );
        }
    }
    let masks: Vec<u8> = cases.iter().map(|_| (random.next() as u8).max(1)).collect();
    let harms: Vec<(&(PathBuf, usize), u8)> = cases.iter().zip(masks).collect();
    let shown = patient.suffer(&harms, |((path, at), mask)| {
        let mut bytes = patient.files[path].clone();
        bytes[*at] ^= mask;
        (format!("{} byte {at} ^ {mask:#04x}", path.display()), vec![(path.clone(), Some(bytes))])
    });
    tell("bytes flipped", &shown, cases.iter().map(|(path, _)| path.as_path()));
    all_told(&shown, &cases);
}

#[test]
fn a_file_that_was_cut_is_named() {
    let (patient, mut random) = (Patient::of(documents()), seed());
    let mut cases: Vec<(PathBuf, usize)> = Vec::new();
    let mut all: Vec<(PathBuf, usize)> = Vec::new();
    for (path, bytes) in &patient.files {
        let length = bytes.len();
        // Sections begin at multiples of 64, and so do their blocks.
        let aligned = (0..length).step_by(64);
        all.extend(aligned.flat_map(|at| [at, at + 1, at + 63]).map(|at| (path.clone(), at)));
        cases.extend([0, 1, length / 2, length - 1].map(|at| (path.clone(), at)));
    }
    cases.extend(draw(&all, &mut random));
    cases.retain(|(path, at)| *at < patient.files[path].len());
    let shown = patient.suffer(&cases, |(path, at)| {
        let bytes = patient.files[path][..*at].to_vec();
        (format!("{} cut to {at}", path.display()), vec![(path.clone(), Some(bytes))])
    });
    tell("files cut", &shown, cases.iter().map(|(path, _)| path.as_path()));
    all_told(&shown, &cases);
}

#[test]
fn a_file_that_grew_is_named() {
    let patient = Patient::of(documents());
    let cases: Vec<(PathBuf, usize)> =
        patient.files.keys().flat_map(|path| [1, 64, 4096].map(|by| (path.clone(), by))).collect();
    let shown = patient.suffer(&cases, |(path, by)| {
        let mut bytes = patient.files[path].clone();
        bytes.resize(bytes.len() + by, b' ');
        (format!("{} longer by {by}", path.display()), vec![(path.clone(), Some(bytes))])
    });
    tell("files grown", &shown, cases.iter().map(|(path, _)| path.as_path()));
    all_told(&shown, &cases);
}

#[test]
fn a_missing_file_is_named() {
    let patient = Patient::of(documents());
    let cases: Vec<PathBuf> = patient.files.keys().cloned().collect();
    let shown = patient
        .suffer(&cases, |path| (format!("{} missing", path.display()), vec![(path.clone(), None)]));
    tell("files missing", &shown, cases.iter().map(PathBuf::as_path));
    for (shown, path) in shown.iter().zip(&cases) {
        let (search, verify) = (shown.search.as_ref(), shown.verify.as_ref());
        let told = verify.is_some_and(|told| told.contains("atlas build"));
        assert!(told && search.is_some(), "{}: {shown:?}", path.display());
    }
}

/// The file of `other` that stands where `path` does: the same name, or for tantivy's drawn names the
/// same ending.
fn counterpart<'o>(other: &'o BTreeMap<PathBuf, Vec<u8>>, path: &Path) -> Option<&'o Vec<u8>> {
    // The number of the generation apart, as it stands in the second place.
    let inside = |path: &Path| path.iter().skip(2).collect::<PathBuf>();
    let same = other.iter().find(|(own, _)| inside(own) == inside(path) && kind(own) == kind(path));
    let alike = || other.iter().find(|(own, _)| kind(own) == kind(path));
    same.or_else(alike).map(|(_, bytes)| bytes)
}

#[test]
fn files_of_two_indexes_mixed_are_named() {
    let patient = Patient::of(documents());
    // One of another corpus, and one of the same project a change earlier: all but the same.
    let folder = scratch();
    let stranger = Subject::create(&folder.path().join("stranger"), 9);
    stranger.build().unwrap();
    let twin = Subject::create(&folder.path().join("twin"), documents());
    twin.build().unwrap();
    twin.edit(2);
    twin.build().unwrap();
    for (name, other) in [("another corpus", stranger), ("the corpus at another time", twin)] {
        let other = Patient::from(other, scratch());
        let cases: Vec<&PathBuf> =
            patient.files.keys().filter(|path| counterpart(&other.files, path).is_some()).collect();
        assert!(cases.len() > 5, "{cases:?}");
        let shown = patient.suffer(&cases, |path| {
            let bytes = counterpart(&other.files, path).cloned();
            (format!("{} of {name}", path.display()), vec![((*path).clone(), bytes)])
        });
        tell(&format!("one file of {name}"), &shown, cases.iter().map(|path| path.as_path()));
        for (shown, path) in shown.iter().zip(&cases) {
            let same = counterpart(&other.files, path) == patient.files.get(*path);
            assert!(same || shown.verify.is_some(), "{}: {shown:?}", path.display());
        }
        // And all but one.
        let shown = patient.suffer(&cases, |kept| {
            let rest = patient.files.keys().filter(|path| *path != *kept);
            let harm: Harm = rest
                .filter_map(|path| {
                    Some((path.clone(), Some(counterpart(&other.files, path)?.clone())))
                })
                .collect();
            (format!("all but {} of {name}", kept.display()), harm)
        });
        tell(
            &format!("all files but one of {name}"),
            &shown,
            cases.iter().map(|path| path.as_path()),
        );
    }
}

#[test]
fn a_damaged_digit_of_the_format_is_no_other_format() {
    let patient = Patient::of(documents());
    let manifest = patient.files.keys().find(|path| path.ends_with("manifest.json")).unwrap();
    let text = String::from_utf8(patient.files[manifest].clone()).unwrap();
    let shown = patient.suffer(&[4, 7], |digit| {
        let own = format!("\"format\": {}", atlas::format::FORMAT_VERSION);
        let text = text.replacen(&own, &format!("\"format\": {digit}"), 1);
        (format!("digit {digit}"), vec![(manifest.clone(), Some(text.into()))])
    });
    for shown in shown {
        for told in [shown.search, shown.verify] {
            let told = told.unwrap();
            assert!(told.contains("manifest.json") && told.contains("hash"), "{told}");
        }
    }
}

#[test]
fn another_format_is_named() {
    let patient = Patient::of(documents());
    let is_manifest = |path: &&PathBuf| path.ends_with("manifest.json");
    let manifest = patient.files.keys().find(is_manifest).unwrap();
    let own = format!("\"format\": {}", atlas::format::FORMAT_VERSION);
    let text = String::from_utf8(patient.files[manifest].clone()).unwrap();
    assert!(text.contains(&own), "{text}");
    let others: Vec<i64> = (0..12).chain([255, i64::from(u32::MAX), i64::MAX]).collect();
    let others: Vec<i64> = others
        .into_iter()
        .filter(|other| *other != i64::from(atlas::format::FORMAT_VERSION))
        .collect();
    let shown = patient.suffer(&others, |other| {
        let text = text.replacen(&own, &format!("\"format\": {other}"), 1);
        let current = Path::new("index/CURRENT").to_owned();
        let line = String::from_utf8(patient.files[&current].clone()).unwrap();
        let old = blake3::hash(&patient.files[manifest]).to_hex();
        assert!(line.contains(old.as_str()), "{line}");
        let line = line.replace(old.as_str(), blake3::hash(text.as_bytes()).to_hex().as_str());
        let harm = vec![(manifest.clone(), Some(text.into())), (current, Some(line.into()))];
        (format!("format {other}"), harm)
    });
    for (shown, other) in shown.iter().zip(others) {
        for told in [&shown.search, &shown.verify] {
            let told = told.as_ref().unwrap_or_else(|| panic!("format {other}: {shown:?}"));
            assert!(
                told.contains("format") && told.contains("atlas build"),
                "format {other}: {told}"
            );
        }
    }
}

/// The commands themselves, on a sample: exit code, the file's name and the way out.
#[test]
fn the_commands_name_the_damage() {
    let (patient, mut random) = (Patient::of(documents()), seed());
    for (path, bytes) in &patient.files {
        if path.ends_with("CURRENT") {
            continue;
        }
        let copy = patient.copy();
        let mut bytes = bytes.clone();
        let at = random.below(bytes.len());
        bytes[at] ^= 0x21;
        std::fs::remove_file(copy.folder.join(path)).unwrap();
        std::fs::write(copy.folder.join(path), bytes).unwrap();
        let verified = copy.run("verify");
        let told = format!("{}{}", verified.stdout, verified.stderr);
        assert!(matches!(verified.code, Some(1 | 4)), "{} byte {at}: {verified:?}", path.display());
        assert!(told.contains("atlas build"), "{} byte {at}: {told}", path.display());
        let found = copy.run("search seal");
        assert!(matches!(found.code, Some(0 | 4)), "{} byte {at}: {found:?}", path.display());
        assert!(!found.stderr.contains("panicked"), "{} byte {at}: {found:?}", path.display());
        // And the way out works.
        let mended = copy.run("build --full");
        assert_eq!(mended.code, Some(0), "{} byte {at}: {mended:?}", path.display());
        assert_eq!(copy.answers().unwrap(), patient.good, "{} byte {at}", path.display());
        std::fs::remove_dir_all(copy.folder.parent().unwrap()).unwrap();
    }
}
