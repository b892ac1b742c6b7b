//! Folders as people have them: what is read, what is passed over, and what is said about it.

use std::fs;

use super::*;

/// A folder with the given files.
fn folder(files: &[(&str, &str)]) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    for (path, text) in files {
        let location = folder.path().join(path);
        fs::create_dir_all(location.parent().unwrap()).unwrap();
        fs::write(location, text).unwrap();
    }
    folder
}

fn read_all(files: &[(&str, &str)]) -> Result<Corpus> {
    read(folder(files).path(), &CorpusSettings::default())
}

fn ids(corpus: &Corpus) -> Vec<&str> {
    corpus.documents.iter().map(|document| document.id.as_str()).collect()
}

fn skipped(corpus: &Corpus) -> Vec<String> {
    corpus.skipped.iter().map(|skip| format!("{}: {}", skip.path, skip.reason)).collect()
}

/// What `reader` makes of `text` in a file at `path`.
pub(super) fn read_text(reader: &dyn Reader, path: &str, text: &str) -> Document {
    let folder = tempfile::tempdir().unwrap();
    let location = folder.path().join("x");
    fs::write(&location, text).unwrap();
    let source = RawFile { path: path.into(), location };
    reader.read(&source, &CorpusSettings::default()).unwrap().documents.remove(0)
}

/// Each item of a structured body: the first letter of its kind and its text, `/` for line ends. A
/// table has a 1 behind the letter when it has a header.
pub(super) fn items(document: &Document) -> Vec<String> {
    let BodyForm::Structured(structure) = &document.form else { unreachable!() };
    let shown = |item: &Item| {
        let text = document.body[item.bytes.clone()].replace('\n', "/");
        match &item.kind {
            ItemKind::Heading { level } => format!("h{level} {text}"),
            ItemKind::Paragraph => format!("p {text}"),
            ItemKind::ListItem => format!("i {text}"),
            ItemKind::Code => format!("c {text}"),
            ItemKind::Quote => format!("q {text}"),
            ItemKind::Record => format!("r {text}"),
            ItemKind::Table { rows } => {
                let header = rows.first().is_none_or(|first| *first > item.bytes.start);
                format!("t{} {text}", usize::from(header))
            }
        }
    };
    structure.items.iter().map(shown).collect()
}

/// The message, with the name of the temporary folder left out.
fn message(folder: &tempfile::TempDir, settings: &CorpusSettings) -> String {
    let fault = read(folder.path(), settings).unwrap_err().to_string();
    fault.replace(&folder.path().display().to_string(), "DIR")
}

#[test]
fn a_folder_is_walked_as_git_users_expect() {
    let corpus = read_all(&[
        ("README.md", "about"),
        ("access.yaml", "x"),
        ("sample.toml", "x"),
        ("atlas.toml", "x"),
        (".gitignore", "drafts/\n*.tmp.md\n"),
        (".hidden.md", "no"),
        ("drafts/a.md", "no"),
        ("b.tmp.md", "no"),
        ("z.MD", "# Z\nlast"),
        ("sub/README.md", "yes"),
        ("sub/notes.txt", "# no heading"),
        ("sub/photo.png", ""),
        ("sub/LICENSE", ""),
    ])
    .unwrap();
    assert_eq!(ids(&corpus), ["sub/README", "sub/notes", "z"]);
    assert_eq!(corpus.document("z").unwrap().title, "Z");
    assert_eq!(corpus.document("sub/notes").unwrap().body, "# no heading");
    assert_eq!(corpus.document("y"), None);
    assert_eq!(
        skipped(&corpus),
        [
            "sub/LICENSE: files without an ending are not read",
            "sub/photo.png: files ending in .png are not read",
        ]
    );
    let paths: Vec<&str> = corpus.files.iter().map(|file| file.path.as_str()).collect();
    assert_eq!(paths, ["sub/README.md", "sub/notes.txt", "z.MD"]);
    assert!(corpus.files.iter().all(|file| file.mtime_ns > 0 && file.hash.len() == 64));
}

#[test]
fn ignore_files_count_as_git_counts_them() {
    let corpus = read_all(&[
        (".gitignore", "*.log.md\n!keep.log.md\n/top.md\nbuild/\n"),
        ("sub/.gitignore", "local.md\n"),
        (".git/info/exclude", "excluded.md\n"),
        // Of other programs, and not of git.
        (".ignore", "other.md\n"),
        ("a.log.md", "no"),
        ("build/b.md", "no"),
        ("excluded.md", "no"),
        (".hidden/x.md", "no"),
        ("keep.log.md", "yes"),
        ("local.md", "yes"),
        ("other.md", "yes"),
        ("sub/local.md", "no"),
        ("sub/top.md", "yes"),
        ("top.md", "no"),
    ])
    .unwrap();
    assert_eq!(ids(&corpus), ["keep.log", "local", "other", "sub/top"]);
    assert_eq!(skipped(&corpus), [""; 0]);
}

#[test]
fn what_cannot_be_read_is_skipped_with_its_reason() {
    let folder = folder(&[
        ("good.md", "text"),
        ("empty.md", "---\nid: EMPTY\n---\n \n"),
        ("title.md", "# Only a title\n"),
        ("open.md", "---\nid: A\n"),
        ("blank.md", "---\nid: A B\n---\nx"),
        ("large.txt", "0123456789"),
    ]);
    fs::write(folder.path().join("host.txt"), [0x85, 0x93, 0x93, 0x96, 0x40].repeat(9)).unwrap();
    let settings = CorpusSettings { max_file_bytes: 60, ..CorpusSettings::default() };
    let corpus = read(folder.path(), &settings).unwrap();
    assert_eq!(ids(&corpus), ["good", "large"]);
    assert_eq!(
        skipped(&corpus),
        [
            "blank.md: line 2: the id `A B` holds white space (U+0020); use letters, digits, `-`, \
             `_`, `.` or `/`",
            "empty.md: document `EMPTY` has no text",
            "host.txt: it is in EBCDIC, which is not read; save the file as UTF-8",
            "open.md: line 1: the front matter opened here has no closing `---` line; close it, or \
             begin the file with another line",
            "title.md: document `title` has no text",
        ]
    );
    // Skipped files are on record too, so that mending one is noticed.
    assert_eq!(corpus.files.len(), 7);
    let settings = CorpusSettings { max_file_bytes: 9, ..CorpusSettings::default() };
    let corpus = read(folder.path(), &settings).unwrap();
    assert!(
        skipped(&corpus)
            .contains(&"large.txt: 10 bytes, above `max_file_bytes` = 9; split the file".into())
    );
}

#[test]
fn a_file_without_a_record_is_on_record() {
    let folder = folder(&[]);
    let gone = RawFile { path: "gone.md".into(), location: folder.path().join("gone.md") };
    let read = read_file(&gone, &CorpusSettings::default());
    assert_eq!(read.skipped.len(), 1);
    let [record] = read.files.as_slice() else { unreachable!("{:?}", read.files) };
    assert_eq!((record.path.as_str(), record.size_bytes, record.mtime_ns), ("gone.md", 0, 0));
    assert_eq!(record.hash, "");
    // A folder opens and has facts, but cannot be read.
    let location = folder.path().join("d.md");
    fs::create_dir(&location).unwrap();
    let files =
        read_file(&RawFile { path: "d.md".into(), location }, &CorpusSettings::default()).files;
    assert!(files[0].mtime_ns > 0 && files[0].hash.is_empty(), "{files:?}");
}

#[test]
fn strict_turns_the_first_skip_into_an_error() {
    let folder = folder(&[("a.md", "x"), ("b.md", "---\n"), ("c.png", "")]);
    let settings = CorpusSettings { strict: true, ..CorpusSettings::default() };
    assert_eq!(
        message(&folder, &settings),
        "DIR/b.md:1: the front matter opened here has no closing `---` line; close it, or begin \
         the file with another line"
    );
    let exclude = vec!["b.md".to_owned(), "*.png".to_owned()];
    let corpus = read(folder.path(), &CorpusSettings { exclude, ..settings }).unwrap();
    assert_eq!(ids(&corpus), ["a"]);
    let exclude = vec!["{a".to_owned()];
    let fault = message(&folder, &CorpusSettings { exclude, ..CorpusSettings::default() });
    assert!(fault.starts_with("reading.exclude is `{a`; expected a pattern"), "{fault}");
    assert!(!fault.contains('!'), "{fault}");
}

#[cfg(unix)]
#[test]
fn links_are_not_followed() {
    let outside = folder(&[("secret.md", "no")]);
    let folder = folder(&[("a.md", "x")]);
    std::os::unix::fs::symlink(outside.path(), folder.path().join("dir")).unwrap();
    std::os::unix::fs::symlink(outside.path().join("secret.md"), folder.path().join("l.md"))
        .unwrap();
    let corpus = read(folder.path(), &CorpusSettings::default()).unwrap();
    assert_eq!(ids(&corpus), ["a"]);
    let reason = "it is a symbolic link, and links are not followed; copy the file instead";
    assert_eq!(skipped(&corpus), [format!("dir: {reason}"), format!("l.md: {reason}")]);
}

#[test]
fn two_documents_of_one_id_are_an_error_that_names_both() {
    let twins = folder(&[("b.md", "---\nid: A\n---\nx"), ("a/c.md", "---\nid: A\n---\ny")]);
    assert_eq!(
        message(&twins, &CorpusSettings::default()),
        "DIR/b.md: the id `A` is also that of a/c.md; give one of them another id"
    );
    let lines = "{\"_id\": \"A\", \"text\": \"x\"}\n\n{\"_id\": \"A\", \"text\": \"y\"}\n";
    let twins = folder(&[("corpus.jsonl", lines)]);
    assert_eq!(
        message(&twins, &CorpusSettings::default()),
        "DIR/corpus.jsonl:3: the id `A` is also that of corpus.jsonl:1; give one of them another id"
    );
}

#[test]
fn nothing_to_read_says_what_was_looked_for() {
    let none = folder(&[("a.png", "")]);
    let fault = message(&none, &CorpusSettings::default());
    let kinds = walk::known_kinds();
    assert!(kinds.starts_with(".md, .markdown, .txt, .text, .csv"), "{kinds}");
    assert_eq!(
        fault,
        format!(
            "DIR: no document found; looked for {kinds}, and for corpus.jsonl or \
         corpus.jsonl.zst at the top (1 skipped, the first being a.png: files ending in .png are \
         not read); put documents there, or name another folder"
        )
    );
    let fault = read(&none.path().join("no"), &CorpusSettings::default()).unwrap_err();
    let expected = "there is no such folder; set `corpus` in atlas.toml";
    assert!(fault.to_string().ends_with(expected), "{fault}");
    let fault = read(&none.path().join("a.png"), &CorpusSettings::default()).unwrap_err();
    assert!(
        fault.to_string().ends_with("it is not a folder; set `corpus` in atlas.toml"),
        "{fault}"
    );
}

#[test]
fn a_public_set_is_its_one_file() {
    let lines = "{\"_id\": \"b c\", \"text\": \"x\"}\n{\"_id\": \"a\", \"text\": \" \"}\n\
        {\"_id\": \"d\\te\", \"text\": \"x\"}\n";
    let corpus =
        read_all(&[("corpus.jsonl", lines), ("SOURCE.md", "no"), ("qrels/test.tsv", "")]).unwrap();
    assert_eq!(ids(&corpus), ["b c"]);
    assert_eq!(
        skipped(&corpus),
        [
            "corpus.jsonl: line 2: document `a` has no text",
            "corpus.jsonl: line 3: the id `d\\te` holds a control character (U+0009)",
        ]
    );
    let both = folder(&[("corpus.jsonl", lines), ("corpus.jsonl.zst", "")]);
    let fault = message(&both, &CorpusSettings::default());
    assert!(fault.starts_with("DIR: there are both"), "{fault}");
    let bad = folder(&[("corpus.jsonl", "{}")]);
    let fault = message(&bad, &CorpusSettings::default());
    assert!(fault.starts_with("DIR/corpus.jsonl:1: no `_id`"), "{fault}");
}

#[test]
fn the_fingerprint_is_of_content_alone() {
    let text = "---\nid: A\nx: 1\n---\n# T\nbody\n";
    let one = read_all(&[("a.md", text), ("b.md", "other")]).unwrap();
    let moved = text.replace("x: 1", "# a remark\nx: 1").replace('\n', "\r\n");
    let other = read_all(&[("z/a.md", &moved), ("b.txt", "x"), ("b.md", "other")]);
    // `b` is there twice now.
    assert!(other.is_err());
    let other = read_all(&[("b.md", "other"), ("z/a.md", &moved), ("c.png", "")]).unwrap();
    assert_eq!(one.fingerprint, other.fingerprint);
    assert_eq!(one.fingerprint.len(), 64);
    let changes = [
        text.replace("body", "bodz"),
        text.replace("# T", "# U"),
        text.replace("x: 1", "x: 2"),
        text.replace("x: 1", "x: '1'"),
        text.replace("x: 1", "x: [1]"),
        text.replace("x: 1", "y: 1"),
        text.replace("id: A", "id: B"),
    ];
    for change in changes {
        let other = read_all(&[("a.md", &change), ("b.md", "other")]).unwrap();
        assert_ne!(one.fingerprint, other.fingerprint, "{change}");
    }
}

#[test]
fn a_subset_keeps_what_it_names() {
    let files = [("WARR-R1.md", "x"), ("WARR-R2.md", "y"), ("SPEC.md", "z")];
    let folder = folder(&files);
    let subset = |ids: &[&str]| CorpusSettings {
        subset: Some(ids.iter().map(|id| (*id).to_owned()).collect()),
        ..CorpusSettings::default()
    };
    let all = read(folder.path(), &CorpusSettings::default()).unwrap();
    let some = read(folder.path(), &subset(&["WARR-R2", "SPEC", "SPEC"])).unwrap();
    assert_eq!(ids(&some), ["SPEC", "WARR-R2"]);
    assert_ne!(some.fingerprint, all.fingerprint);
    assert_eq!(
        message(&folder, &subset(&["WARR-R3"])),
        "an id in the subset of the corpus is `WARR-R3`; expected ids of documents; did you mean \
         `WARR-R1`?"
    );
    let fault = message(&folder, &subset(&[]));
    assert!(fault.starts_with("the subset of the corpus is empty"), "{fault}");
}

#[test]
fn the_result_is_the_same_on_any_number_of_threads() {
    let texts: Vec<(String, String)> =
        (0..200).map(|n| (format!("d{}/f{n}.md", n % 7), format!("# T{n}\ntext {n}"))).collect();
    let files: Vec<(&str, &str)> =
        texts.iter().map(|(path, text)| (path.as_str(), text.as_str())).collect();
    let folder = folder(&files);
    let on = |threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| read(folder.path(), &CorpusSettings::default())).unwrap()
    };
    let one = on(1);
    assert_eq!(one.documents.len(), 200);
    assert_eq!(one, on(8));
}

#[test]
fn unknown_settings_are_refused() {
    let fault = toml::from_str::<CorpusSettings>("strickt = true").unwrap_err().to_string();
    assert!(fault.contains("unknown field `strickt`"), "{fault}");
}

#[test]
fn the_digest_covers_what_a_structure_says_and_not_where_it_stands() {
    let structured = |make: &dyn Fn(&mut Draft)| {
        let mut draft = Draft::default();
        make(&mut draft);
        let (body, structure) = draft.finish();
        let (id, title) = ("D".to_owned(), String::new());
        let form = BodyForm::Structured(structure);
        let source = Source::file("d.html", 1, 0);
        Document { id, title, metadata: Metadata::default(), body, form, source, vector: None }
            .digest()
    };
    let one = structured(&|draft| draft.paragraph("a", Place::page(1)));
    assert_eq!(one, structured(&|draft| draft.paragraph("a", Place::page(2))));
    let others = [
        structured(&|draft| draft.quote("a", Place::page(1))),
        structured(&|draft| draft.heading(1, "a", Place::page(1))),
        structured(&|draft| draft.heading(2, "a", Place::page(1))),
        structured(&|draft| draft.record("a", Place::page(1))),
        structured(&|draft| draft.table(Some(&(vec!["a".into()], Place::page(1))), &[])),
        structured(&|draft| draft.table(None, &[(vec!["a".into()], Place::page(1))])),
    ];
    for (at, other) in others.iter().enumerate() {
        assert!(*other != one && !others[..at].contains(other), "{at}");
    }
}
