//! Documents that are not as they must be.

use std::fs;
use std::io::{Cursor, Write as _};

use super::session::{Session, session};

/// Builds, which passes the document over, and builds strictly, which refuses it.
fn both_ways(s: &mut Session) {
    assert_eq!(s.run("build").code, 0);
    assert_eq!(s.run("build --strict").code, 4);
}

#[test]
fn document_not_utf8() {
    let mut s = session!();
    s.pumps();
    s.say("in Latin-1, which is guessed, said, and no loss");
    s.write("docs/old.md", b"# Gro\xdfe Pumpe\n\nSie l\xe4uft f\xfcr sich.\n");
    assert_eq!(s.run("build --strict").code, 0);
    s.say("in UTF-8, with a byte that is not");
    s.write(
        "docs/old.md",
        b"# Gro\xc3\x9fe Pumpe\n\nSie l\xc3\xa4uft f\xc3\xbcr sich: \xff \xc3\xa4\xc3\xb6\n",
    );
    both_ways(&mut s);
    s.run("status");
    s.say("told again when a command builds on the way");
    s.edit("docs/hose.md", "kink", "bend, and never stepped on");
    s.run("search hose -k 1");
    s.say("in no encoding of text");
    s.write("docs/old.md", [0x85, 0x93, 0x93, 0x96, 0x40].repeat(9));
    both_ways(&mut s);
}

#[test]
fn records_of_other_kinds() {
    let mut s = session!();
    s.write("atlas.toml", "corpus = \"docs\"\nindex = \"index\"\n");
    s.write("docs/codes.csv", "Code;Meaning\nF-12;no oil\nF-13;a *dry* seal;whistles\n");
    s.write(
        "docs/faq.jsonl",
        "{\"id\": \"q1\", \"title\": \"Oil\", \"text\": \"A litre a year.\"}\n{\"id\"\n",
    );
    s.write(
        "docs/parts.json",
        "[\n  {\"name\": \"Hose\",\n   \"content\": \"Laid without a kink.\"}\n]\n",
    );
    s.write(
        "docs/note.md",
        "+++\nid = \"NOTE\"\ntitle = \"A note\"\n+++\nValves open to the left.\n",
    );
    both_ways(&mut s);
    s.run("search 'dry seal' -k 1");
    s.run("search kink -k 1");
    s.run("search litre -k 1");
    s.say("pages and other markup, of which only the content is found");
    s.write(
        "docs/page.html",
        "<title>Gears</title><nav>Home</nav>\n<main><h2>Noise</h2>\n<p>A dry gear <b>howls</b>.\n</main>",
    );
    s.write("docs/guide.rst", "Belts\n=====\n\nWear\n----\n\nA worn belt slips.\n");
    s.write(
        "docs/manual.adoc",
        "= Bolts\n\n== Force\n\n// hidden\nA bolt takes nine newton metres.\n",
    );
    s.run("search 'what howls' -k 1");
    s.run("search 'which belt slips' -k 1");
    s.run("search 'newton metres' -k 1");
    s.say("a mapping of fields");
    s.write(
        "atlas.toml",
        "corpus = \"docs\"\nindex = \"index\"\n[reading.json]\nid = \"name\"\ntext = [\"content\"]\n",
    );
    s.run("build");
    s.run("search kink -k 1");
    s.edit("atlas.toml", "id = \"name\"", "ids = \"name\"");
    s.run("build");
}

#[test]
fn document_with_broken_front_matter() {
    let mut s = session!();
    s.pumps();
    s.write("docs/bad.md", "---\nid: BAD\ntitle: a: b: c\n---\nText.\n");
    both_ways(&mut s);
    s.write("docs/bad.md", "---\nid: BAD\n  title: [one, two\n---\nText.\n");
    both_ways(&mut s);
    s.write("docs/bad.md", "---\n- one\n- two\n---\nText.\n");
    both_ways(&mut s);
    s.write("docs/bad.md", "---\nid: [A, B]\n---\nText.\n");
    both_ways(&mut s);
    s.write("docs/bad.md", "---\nid: A B\n---\nText.\n");
    both_ways(&mut s);
    s.write("docs/bad.md", "---\nid: BAD\neffective_from: soon\n---\nText.\n");
    both_ways(&mut s);
}

#[test]
fn document_with_unclosed_front_matter() {
    let mut s = session!();
    s.pumps();
    s.write("docs/bad.md", "---\nid: BAD\ntitle: Bad\n\nText.\n");
    both_ways(&mut s);
}

#[test]
fn documents_with_one_id() {
    let mut s = session!();
    s.pumps();
    s.write("docs/twin.md", "---\nid: PUMP\n---\nAnother pump.\n");
    assert_eq!(s.run("build").code, 4);
}

#[test]
fn document_without_text() {
    let mut s = session!();
    s.pumps();
    s.write("docs/empty.md", "");
    both_ways(&mut s);
    s.write("docs/empty.md", "---\nid: EMPTY\n---\n\n");
    both_ways(&mut s);
    s.say("a comment is no text");
    s.write("docs/empty.md", "<!-- to be written -->\n");
    both_ways(&mut s);
}

/// A zip archive of one Word document whose text is `text`.
fn word(text: &str) -> Vec<u8> {
    let mut writer = zip::ZipWriter::new(Cursor::new(Vec::new()));
    let text = format!("<document><body><p><r><t>{text}</t></r></p></body></document>");
    writer.start_file("word/document.xml", zip::write::SimpleFileOptions::default()).unwrap();
    writer.write_all(text.as_bytes()).unwrap();
    writer.finish().unwrap().into_inner()
}

#[test]
fn packed_files() {
    let mut s = session!();
    s.pumps();
    s.say("a Word document that unpacks without end");
    s.write("docs/bomb.docx", word(&"e".repeat(5_000_000)));
    both_ways(&mut s);
    fs::remove_file(s.at("docs/bomb.docx")).unwrap();
    s.say("one that is cut off");
    let whole = word("A gasket is cut to size.");
    s.write("docs/cut.docx", &whole[..whole.len() / 2]);
    both_ways(&mut s);
    s.say("whole again");
    s.write("docs/cut.docx", whole);
    assert_eq!(s.run("build --strict").code, 0);
    s.run("search gasket -k 1");
    s.say("a PDF that is none, and one that is cut off");
    s.write("docs/torn.pdf", "no PDF at all");
    both_ways(&mut s);
    s.write("docs/torn.pdf", "%PDF-1.4\n1 0 obj\n<</Type/Catalog/Pages 2 0 R");
    both_ways(&mut s);
}

#[test]
fn document_too_large() {
    let mut s = session!();
    s.pumps();
    s.edit("atlas.toml", "index = ", "reading.max_file_bytes = 60\nindex = ");
    both_ways(&mut s);
}

#[test]
fn document_of_no_known_kind() {
    let mut s = session!();
    s.pumps();
    s.write("docs/plan.dwg", "AC1032");
    both_ways(&mut s);
    s.say("excluded, it is passed over in silence");
    s.edit("atlas.toml", "index = ", "reading.exclude = [\"*.dwg\"]\nindex = ");
    s.run("build --strict");
    s.edit("atlas.toml", "*.dwg", "a[");
    s.run("build");
}

#[test]
fn corpus_empty() {
    let mut s = session!();
    s.write("atlas.toml", "corpus = \"docs\"\n");
    fs::create_dir(s.at("docs")).unwrap();
    assert_eq!(s.run("build").code, 4);
    s.write("docs/empty.md", "");
    assert_eq!(s.run("build").code, 4);
}

#[test]
fn corpus_missing() {
    let mut s = session!();
    s.write("atlas.toml", "corpus = \"docs\"\n");
    assert_eq!(s.run("build").code, 4);
    assert_eq!(s.run("search seals").code, 4);
    s.say("it is a file");
    s.write("docs", "Text.");
    assert_eq!(s.run("build").code, 4);
}

#[test]
fn records_broken() {
    let mut s = session!();
    s.write("atlas.toml", "corpus = \"set\"\n");
    let good = "{\"_id\": \"d1\", \"title\": \"\", \"text\": \"A pump.\"}\n";
    for (what, line) in [
        ("a line cut off", "{\"_id\": \"d2\", \"text\": \"A ho\n"),
        ("no JSON object", "[1]\n"),
        ("a field missing", "{\"_id\": \"d2\"}\n"),
        ("a field of another kind", "{\"_id\": \"d2\", \"text\": 5}\n"),
    ] {
        s.say(what);
        s.write("set/corpus.jsonl", format!("{good}{line}"));
        assert_eq!(s.run("build").code, 4, "{what}");
    }
    s.say("an id twice");
    s.write("set/corpus.jsonl", format!("{good}{}", good.replace("pump", "hose")));
    assert_eq!(s.run("build").code, 4);
    s.say("plain and compressed side by side");
    s.write("set/corpus.jsonl.zst", "");
    assert_eq!(s.run("build").code, 4);
}
