//! Index files that are damaged, foreign or in use: a named error with the way out, never a panic.

use std::fs::{self, File};
use std::io::Write as _;
use std::path::PathBuf;

use super::session::{Session, session};

/// Places at which every file is damaged once.
const STEPS: u32 = 12;

const GENERATION: &str = "index/generation-000001";

/// The pumps with an index.
fn built(s: &Session) {
    s.pumps();
    assert_eq!(s.prepare("build").code, 0);
}

/// The file of the current generation whose path ends in `ending`.
fn file(s: &Session, ending: &str) -> PathBuf {
    let folder = s.at(GENERATION);
    let inside = [folder.clone(), folder.join("base"), folder.join("base/lexical")];
    let files = inside.iter().flat_map(|folder| fs::read_dir(folder).unwrap());
    let mut found = files
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.to_string_lossy().ends_with(ending));
    found.next().unwrap_or_else(|| panic!("no file ends in {ending}"))
}

/// Flips a bit of the byte at `share` of the file's length; it must lie in a section, since what fills
/// the space between sections means nothing and has no checksum.
fn flip(path: &PathBuf, share: f64) {
    let mut bytes = fs::read(path).unwrap();
    let at = (bytes.len() as f64 * share) as usize;
    bytes[at] ^= 0x10;
    fs::write(path, bytes).unwrap();
}

/// `verify` and `search` must name the fault, and the way out must work.
fn told_and_mended(s: &mut Session) {
    let verified = s.run("verify");
    assert_ne!(verified.code, 0, "verify found nothing");
    let found = s.run("search 'dry seal' -k 1");
    assert_eq!(found.code, 4, "search went on");
    mended(s);
}

fn mended(s: &Session) {
    let built = s.prepare("build --full");
    assert_eq!(built.code, 0, "{}", built.stderr);
    assert_eq!(s.prepare("verify").code, 0);
    let found = s.prepare("search 'dry seal' -k 1");
    assert_eq!(found.code, 0, "{}", found.stderr);
    assert!(found.stdout.contains("PUMP-2-p0"), "{}", found.stdout);
}

#[test]
fn index_passages_flipped() {
    let mut s = session!();
    built(&s);
    flip(&file(&s, "passages.part"), 0.3);
    told_and_mended(&mut s);
}

#[test]
fn index_lengths_flipped() {
    let mut s = session!();
    built(&s);
    flip(&file(&s, "lengths.part"), 0.3);
    told_and_mended(&mut s);
}

#[test]
fn index_vectors_flipped() {
    let mut s = session!();
    built(&s);
    flip(&file(&s, "vectors.part"), 0.5);
    told_and_mended(&mut s);
}

#[test]
fn index_codes_flipped() {
    let mut s = session!();
    built(&s);
    flip(&file(&s, "codes.part"), 0.5);
    told_and_mended(&mut s);
}

#[test]
fn index_access_flipped() {
    let mut s = session!();
    built(&s);
    flip(&file(&s, "access.part"), 0.3);
    told_and_mended(&mut s);
}

#[test]
fn index_section_table_flipped() {
    let mut s = session!();
    built(&s);
    let path = file(&s, "vectors.part");
    let mut bytes = fs::read(&path).unwrap();
    let at = bytes.len() - 70;
    bytes[at] ^= 0x10;
    fs::write(&path, bytes).unwrap();
    told_and_mended(&mut s);
}

#[test]
fn index_lexical_flipped() {
    let mut s = session!();
    built(&s);
    for ending in [".term", ".idx", ".pos", ".fieldnorm", ".store", ".fast", "meta.json"] {
        s.say(&format!("a bit of the {ending} file is flipped"));
        let path = file(&s, ending);
        let good = fs::read(&path).unwrap();
        flip(&path, 0.5);
        assert_ne!(s.run("verify").code, 0, "{ending}");
        // Whatever it reads of the file, it does not die of it.
        let code = s.prepare("search 'dry seal' -k 1").code;
        assert!([0, 4].contains(&code), "{ending}: exit code {code}");
        fs::write(&path, good).unwrap();
    }
    flip(&file(&s, ".term"), 0.5);
    told_and_mended(&mut s);
}

/// The settings under which four passages get a graph.
const GRAPH: &str = "--setting graph.from_passages=1";

#[test]
fn index_graph_flipped() {
    let mut s = session!();
    s.pumps();
    assert_eq!(s.prepare(&format!("build {GRAPH}")).code, 0);
    flip(&file(&s, "graph.part"), 0.2);
    assert_ne!(s.run(&format!("verify {GRAPH}")).code, 0);
    assert_eq!(s.run(&format!("search 'dry seal' -k 1 {GRAPH} --dense graph")).code, 4);
    s.say("the exact scan needs no graph");
    assert_eq!(s.run(&format!("search 'dry seal' -k 1 {GRAPH}")).code, 0);
    assert_eq!(s.prepare(&format!("build --full {GRAPH}")).code, 0);
    assert_eq!(s.prepare(&format!("search 'dry seal' {GRAPH} --dense graph")).code, 0);
}

/// Any bit of any file: told or harmless, never a panic.
#[test]
fn index_flipped_anywhere() {
    let s = session!();
    built(&s);
    for ending in ["passages.part", "access.part", "lengths.part", ".term", ".idx", "meta.json"] {
        let path = file(&s, ending);
        let good = fs::read(&path).unwrap();
        let whole = s.prepare("search 'dry seal' -k 1").stdout;
        for step in 0..STEPS {
            flip(&path, f64::from(step) / f64::from(STEPS));
            let found = s.prepare("search 'dry seal' -k 1");
            assert!([0, 4].contains(&found.code), "{ending} at {step}/{STEPS}: {}", found.stderr);
            assert!(
                !found.stderr.contains("panicked"),
                "{ending} at {step}/{STEPS}: {}",
                found.stderr
            );
            if found.code == 0 {
                assert_eq!(found.stdout, whole, "{ending} at {step}/{STEPS}: a wrong answer");
            }
            fs::write(&path, &good).unwrap();
        }
    }
}

#[test]
fn index_truncated() {
    let mut s = session!();
    built(&s);
    for ending in ["passages.part", "lengths.part", "vectors.part", "codes.part", "access.part"] {
        let path = file(&s, ending);
        let good = fs::read(&path).unwrap();
        fs::write(&path, &good[..good.len() / 2]).unwrap();
        assert_eq!(s.run("search 'dry seal'").code, 4, "{ending}");
        fs::write(&path, good).unwrap();
    }
    for ending in [".term", "meta.json"] {
        let path = file(&s, ending);
        let good = fs::read(&path).unwrap();
        fs::write(&path, &good[..good.len() / 2]).unwrap();
        assert_eq!(s.run("search 'dry seal'").code, 4, "{ending}");
        fs::write(&path, good).unwrap();
    }
    let path = file(&s, "vectors.part");
    fs::write(&path, "").unwrap();
    told_and_mended(&mut s);
}

#[test]
fn index_file_missing() {
    let mut s = session!();
    built(&s);
    fs::remove_file(file(&s, "vectors.part")).unwrap();
    told_and_mended(&mut s);
    let generation = s.at("index/generation-000002");
    fs::remove_dir_all(generation.join("base/lexical")).unwrap();
    s.run("search 'dry seal'");
    fs::remove_dir_all(&generation).unwrap();
    s.run("search 'dry seal'");
    mended(&s);
}

#[test]
fn index_of_another_corpus_mixed_in() {
    let mut s = session!();
    built(&s);
    let vectors = fs::read(file(&s, "vectors.part")).unwrap();
    s.say("vectors.part of another index");
    s.edit("docs/hose.md", "kink", "knot");
    let other = s.prepare("build --index other");
    assert_eq!(other.code, 0, "{}", other.stderr);
    let foreign = fs::read(s.at("other/generation-000001/base/vectors.part")).unwrap();
    assert!(foreign != vectors && foreign.len() == vectors.len());
    s.edit("docs/hose.md", "knot", "kink");
    fs::write(file(&s, "vectors.part"), foreign).unwrap();
    told_and_mended(&mut s);
    s.say("codes.part where vectors.part should be");
    let generation = s.at("index/generation-000002/base");
    fs::copy(generation.join("codes.part"), generation.join("vectors.part")).unwrap();
    told_and_mended(&mut s);
}

#[test]
fn index_manifest_flipped() {
    let mut s = session!();
    built(&s);
    flip(&file(&s, "manifest.json"), 0.5);
    told_and_mended(&mut s);
}

#[test]
fn index_manifest_of_another_format() {
    let mut s = session!();
    built(&s);
    let manifest = format!("{GENERATION}/manifest.json");
    s.edit(&manifest, "\"format\": 2,", "\"format\": 7,");
    let hash = blake3::hash(s.read(&manifest).as_bytes()).to_hex();
    s.write("index/CURRENT", format!("generation-000001 {hash}\n"));
    s.run("verify");
    s.run("status");
    s.run("search 'dry seal' -k 1");
    mended(&s);
}

#[test]
fn index_current_garbage() {
    let mut s = session!();
    built(&s);
    let good = s.read("index/CURRENT");
    for (what, text) in [
        ("words", "no generation at all".to_owned()),
        ("nothing", String::new()),
        ("another hash", format!("{}0000\n", &good.trim_end()[..good.len() - 5])),
        ("a generation that is not there", good.replace("000001", "000009")),
        ("a path", good.replace("generation-000001", "../../etc")),
    ] {
        s.say(&format!("CURRENT holds {what}"));
        s.write("index/CURRENT", text);
        assert_eq!(s.run("search 'dry seal'").code, 4, "{what}");
    }
    s.say("CURRENT is not text");
    s.write("index/CURRENT", b"\xff\xff");
    told_and_mended(&mut s);
}

#[test]
fn index_being_built_by_another() {
    let mut s = session!();
    built(&s);
    let mut lock =
        File::options().write(true).truncate(true).open(s.at("index/BUILD.lock")).unwrap();
    lock.lock().unwrap();
    write!(lock, "4711").unwrap();
    s.run("build --full");
    s.say("what is there can be searched meanwhile");
    assert_eq!(s.run("search 'dry seal' -k 1").code, 0);
    s.edit("docs/hose.md", "kink", "bend, and never stepped on");
    s.run("search 'dry seal' -k 1");
    lock.unlock().unwrap();
    assert_eq!(s.run("search 'dry seal' -k 1").code, 0);
}

#[test]
fn index_folder_is_a_file() {
    let mut s = session!();
    s.pumps();
    s.write("index", "Text.");
    s.run("build");
    s.run("status");
}

/// What `verify` says of searches is what searches do, for a flipped bit in each file.
#[test]
fn verify_says_what_searches_do() {
    let mut s = session!();
    s.pumps();
    assert_eq!(s.prepare(&format!("build {GRAPH}")).code, 0);
    let modes = ["--mode hybrid", "--mode lexical", "--mode dense --dense exact", "--dense graph"];
    let cases = [
        ("passages.part", 0.3, [4, 4, 4, 4]),
        ("lengths.part", 0.3, [4, 4, 0, 4]),
        (".term", 0.5, [4, 4, 0, 4]),
        ("vectors.part", 0.5, [4, 0, 4, 4]),
        ("codes.part", 0.5, [4, 0, 4, 4]),
        ("graph.part", 0.2, [0, 0, 0, 4]),
        ("access.part", 0.3, [4, 4, 4, 4]),
    ];
    for (ending, share, codes) in cases {
        let path = file(&s, ending);
        let good = fs::read(&path).unwrap();
        flip(&path, share);
        s.say(&format!("a bit of {ending} is flipped"));
        let said = s.run(&format!("verify {GRAPH}"));
        assert_eq!(said.code, 1);
        assert!(said.stdout.contains(ending) && said.stdout.contains("mend"), "{}", said.stdout);
        for (mode, code) in modes.iter().zip(codes) {
            let found = s.prepare(&format!("search 'dry seal' -k 1 {GRAPH} {mode}"));
            assert_eq!(found.code, code, "{ending} {mode}: {}{}", found.stdout, found.stderr);
        }
        fs::write(&path, good).unwrap();
    }
    s.say("two files at once, one of them gone");
    flip(&file(&s, "codes.part"), 0.5);
    fs::remove_file(file(&s, "lengths.part")).unwrap();
    let said = s.run_json(&format!("verify {GRAPH} --format json"));
    let damaged = said["damaged"].as_array().unwrap();
    let named =
        |ending: &str| damaged.iter().any(|file| file["file"].as_str().unwrap().ends_with(ending));
    assert!(damaged.len() == 2 && named("lengths.part") && named("codes.part"), "{damaged:?}");
    assert_eq!(said["could_be_wrong"], false);
    assert_eq!(said["mend"], "atlas build --full");
    s.run(&format!("verify {GRAPH}"));
    mended(&s);
}
