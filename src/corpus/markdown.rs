//! Markdown: one document a file, with or without front matter.
//!
//! Front matter is YAML between a first line `---` and the next such line, or TOML between `+++`. `id`, `title`,
//! `product`, `revision`, `effective_from`, `effective_to`, `audience` and `classification` have
//! a meaning to Atlas; whatever else stands there is kept as metadata. A document without `id` is
//! named by its path, one without `title` by its first heading of level 1, which then is no longer
//! part of the body.

use super::heading::first_h1;
use super::{
    BodyForm, CorpusSettings, Decoded, Document, Metadata, RawFile, Reader, Reading, Source, Value,
    front, naming,
};
use crate::error::Result;

/// Reads `.md` and `.markdown`.
pub struct Markdown;

/// Keys of front matter that must be dates where they are given.
const DATE_KEYS: [&str; 2] = ["effective_from", "effective_to"];

impl Reader for Markdown {
    fn read(&self, source: &RawFile, _: &CorpusSettings) -> Result<Reading> {
        let Decoded { text, remarks, offsets } = source.text()?;
        let (mut metadata, start) = match front::split(source, &text)? {
            Some(matter) => (front::parse(source, &matter)?, matter.body),
            None => (Metadata::default(), front::Place { line: 1, byte: 0 }),
        };
        check_dates(source, &text, &metadata)?;
        let id = match single(source, &text, &mut metadata, "id")? {
            Some(id) => {
                if let Some(fault) = naming::fault_of_id(&id, false) {
                    let help = "use letters, digits, `-`, `_`, `.` or `/`";
                    return Err(source.input(front::line_of(&text, "id"), fault, help));
                }
                id
            }
            None => naming::id_of_path(&source.path),
        };
        let given = single(source, &text, &mut metadata, "title")?;
        let body = text.get(start.byte..).unwrap_or_default();
        let (title, body, start) = take_title(given, body, start);
        let title = title.unwrap_or_else(|| naming::title_of_path(&source.path));
        let place = Source::file(&source.path, start.line, start.byte as u64);
        let form = BodyForm::Markdown;
        let document = Document { id, title, metadata, body, form, source: place, vector: None };
        Ok(Reading { documents: vec![document], remarks }.placed(&offsets))
    }
}

/// Title and body of a document that may state its title or have it as its first heading.
///
/// Without a stated title the first heading of level 1 is the title and leaves the body. A stated
/// title removes only a heading that opens the body and says the same. A heading further down is
/// blanked with spaces, so that lines and bytes keep their places.
pub(super) fn take_title(
    given: Option<String>,
    body: &str,
    start: front::Place,
) -> (Option<String>, String, front::Place) {
    let Some((range, heading)) = first_h1(body).filter(|(_, heading)| !heading.is_empty()) else {
        return (given, body.to_owned(), start);
    };
    let opens = body[..range.start].trim().is_empty();
    if given.as_ref().is_some_and(|given| !opens || *given != heading) {
        return (given, body.to_owned(), start);
    }
    if opens {
        let line = start.line + super::file::line_ends(&body.as_bytes()[..range.end]);
        let start = front::Place { line, byte: start.byte + range.end };
        return (Some(heading), body[range.end..].to_owned(), start);
    }
    let mut blanked = body[..range.start].to_owned();
    blanked.extend(body[range.clone()].bytes().map(|b| if b == b'\n' { '\n' } else { ' ' }));
    blanked.push_str(&body[range.end..]);
    (Some(heading), blanked, start)
}

/// Takes the one text of `key` out of the metadata; a list or an empty text is a fault.
fn single(
    source: &RawFile,
    text: &str,
    metadata: &mut Metadata,
    key: &str,
) -> Result<Option<String>> {
    match metadata.0.remove(key) {
        None => Ok(None),
        Some(Value::Text(value)) if !value.trim().is_empty() => Ok(Some(value)),
        Some(_) => {
            let problem = format!("`{key}` is not a single text");
            let help = format!("write one text after `{key}:`, or leave the line out");
            Err(source.input(front::line_of(text, key), problem, help))
        }
    }
}

fn check_dates(source: &RawFile, text: &str, metadata: &Metadata) -> Result<()> {
    for key in DATE_KEYS {
        match metadata.get(key) {
            None | Some(Value::Date(_)) => {}
            Some(other) => {
                let problem = format!("`{key}` is `{other}`, not a date");
                let line = front::line_of(text, key);
                return Err(source.input(line, problem, "write it as YYYY-MM-DD"));
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::corpus::Date;
    use crate::error::Error;

    fn read(path: &str, text: &str) -> Result<Document> {
        let folder = tempfile::tempdir().unwrap();
        let location = folder.path().join("x.md");
        std::fs::write(&location, text).unwrap();
        let source = RawFile { path: path.into(), location };
        Markdown
            .read(&source, &CorpusSettings::default())
            .map(|mut read| read.documents.pop().unwrap())
    }

    fn fault(text: &str) -> String {
        match read("x.md", text).unwrap_err() {
            Error::Input { line, problem, help, .. } => {
                format!("{}: {problem}; {help}", line.unwrap())
            }
            other => other.to_string(),
        }
    }

    #[test]
    fn front_matter_gives_metadata_and_the_place_of_the_body() {
        let text = "\u{FEFF}---\r\nid: WARR-R2\r\ntitle: Battery warranty\r\nrevision: 1.10\r\n\
            product: [C-3, 7]\r\neffective_from: 2026-01-01\r\nzip: 00123\r\nflag: yes\r\nnote:\r\n\
            ---\r\nText.\r\n";
        let document = read("w.md", text).unwrap();
        assert_eq!(
            (document.id.as_str(), document.title.as_str()),
            ("WARR-R2", "Battery warranty")
        );
        assert_eq!(document.body, "Text.\n");
        let source = &document.source;
        assert_eq!((source.first_line, source.first_byte), (11, 131));
        assert_eq!(source.offsets.file(131), text.find("Text.").unwrap() as u64);
        let metadata = &document.metadata;
        assert_eq!(metadata.text("revision"), Some("1.10"));
        assert_eq!(metadata.texts("product").collect::<Vec<_>>(), ["C-3", "7"]);
        assert_eq!(metadata.date("effective_from"), Date::parse("2026-01-01"));
        assert_eq!(metadata.text("zip"), Some("00123"));
        assert_eq!(metadata.text("flag"), Some("yes"));
        assert_eq!(metadata.0.len(), 5);
    }

    #[test]
    fn what_decides_who_may_read_stays_as_it_is_written() {
        let text = "---\nid: 1.10\naccount: 9007199254740993\nregion: 1.10\nclassification: 1e3\n\
            weight: 1.10\nsections: { \"A b\": 1.10, B: null, C: [1.20, x, ~], D: 2026-01-01, E: }\n\
            sections.F: 007.0\nproduct: 123456789012345678901234567890\n---\nText.\n";
        let document = read("w.md", text).unwrap();
        let metadata = &document.metadata;
        assert_eq!(document.id, "1.10");
        assert_eq!(metadata.text("account"), Some("9007199254740993"));
        assert_eq!(metadata.text("region"), Some("1.10"));
        assert_eq!(metadata.text("classification"), Some("1e3"));
        assert_eq!(metadata.number("weight"), Some(1.1));
        assert_eq!(metadata.text("sections.A b"), Some("1.10"));
        assert_eq!(metadata.text("sections.B"), Some("(nothing)"));
        assert_eq!(metadata.texts("sections.C").collect::<Vec<_>>(), ["1.20", "x"]);
        assert_eq!(metadata.text("sections.D"), Some("2026-01-01"));
        assert_eq!(metadata.text("sections.E"), Some("(nothing)"));
        assert_eq!(metadata.text("sections.F"), Some("007.0"));
        assert_eq!(metadata.text("product"), Some("123456789012345678901234567890"));
        let document = read("w.md", "---\nclassification:\naccount: ~\n---\nText.\n").unwrap();
        assert_eq!(document.metadata.text("classification"), Some("(nothing)"));
        assert_eq!(document.metadata.0.len(), 1);
    }

    #[test]
    fn front_matter_below_blank_lines_is_a_fault_and_a_ruled_line_is_none() {
        fails(
            "\n \n---\nclassification: secret\n---\nx",
            "3: the front matter must begin on the first line; remove the blank lines above it",
        );
        assert!(read("x.md", "\n---\nText.\n").is_ok());
        assert!(read("x.md", "Text.\n\n---\na\n\n---\n").is_ok());
    }

    #[test]
    fn without_front_matter_path_and_first_heading_serve() {
        let document = read("a/b c.md", "\n# The *C-3* `guide`\n\nText.\n\n# Other\n").unwrap();
        assert_eq!((document.id.as_str(), document.title.as_str()), ("a/b-c", "The C-3 guide"));
        assert_eq!(document.body, "\nText.\n\n# Other\n");
        assert_eq!((document.source.first_line, document.source.first_byte), (3, 21));
        let document = read("a/b_c.md", "Text.\n\n```\n# no\n```\n> # no\n").unwrap();
        assert_eq!(document.title, "B c");
    }

    #[test]
    fn a_heading_below_other_text_is_blanked_in_place() {
        let document = read("a.md", "Badge\n\nTitle é\n=======\nText.\n").unwrap();
        assert_eq!(document.title, "Title é");
        assert_eq!(document.body, "Badge\n\n        \n       \nText.\n");
    }

    #[test]
    fn a_stated_title_removes_only_its_own_repetition() {
        let document = read("a.md", "---\ntitle: One\n---\n# One\ntext\n").unwrap();
        assert_eq!(document.body, "text\n");
        let document = read("a.md", "---\ntitle: One\n---\n# Two\ntext\n").unwrap();
        assert_eq!((document.title.as_str(), document.body.as_str()), ("One", "# Two\ntext\n"));
    }

    #[test]
    fn faults_of_front_matter_name_their_line() {
        fails(
            "---\nid: a\ntitle: b\n",
            "1: the front matter opened here has no closing `---` line",
        );
        fails(
            "---\nid: a\nid: b\n---\nx",
            "3: the front matter is not valid YAML: duplicate mapping key: id; ",
        );
        fails(
            "---\nid: a\ntitle: [b\n---\nx",
            "3: the front matter is not valid YAML: unclosed bracket",
        );
        fails("---\n- a\n---\nx", "2: the front matter is a list");
        fails("---\nid: a b\n---\nx", "2: the id `a b` holds white space");
        fails("---\na: 1\nid: [a]\n---\nx", "3: `id` is not a single text");
        fails("---\n\neffective_to: 2026\n---\nx", "3: `effective_to` is `2026`, not a date");
    }

    #[test]
    fn front_matter_may_be_toml() {
        let text = "+++\nid = 'WARR-R2'\ntitle = \"Battery\"\nrevision = 1.10\nproduct = ['C-3', 7]\n\
            effective_from = 2026-01-01\nweight = 2_1.5\ndraft = true\n[sections]\nB = 1.20\n\
            [owner]\nsince = 2025-05-05\n+++\n# Battery\nText.\n";
        let document = read("w.md", text).unwrap();
        assert_eq!((document.id.as_str(), document.title.as_str()), ("WARR-R2", "Battery"));
        assert_eq!(document.body, "Text.\n");
        assert_eq!(document.source.first_line, 15);
        let metadata = &document.metadata;
        assert_eq!(metadata.text("revision"), Some("1.10"));
        assert_eq!(metadata.text("sections.B"), Some("1.20"));
        assert_eq!(metadata.texts("product").collect::<Vec<_>>(), ["C-3", "7"]);
        assert_eq!(metadata.date("effective_from"), Date::parse("2026-01-01"));
        assert_eq!(metadata.date("owner.since"), Date::parse("2025-05-05"));
        assert_eq!(metadata.number("weight"), Some(21.5));
        assert_eq!(metadata.text("draft"), Some("true"));
        fails("+++\nid = 'a'\n", "1: the front matter opened here has no closing `+++` line");
        fails("+++\n\nid = a\n+++\nx", "3: the front matter is not valid TOML: ");
        fails("+++\na = 1\nid = ['a']\n+++\nx", "3: `id` is not a single text");
        fails("\n+++\nclassification = 'x'\n+++\n", "2: the front matter must begin on the first");
        assert!(read("x.md", "+++ plus\n").is_ok());
    }

    fn fails(text: &str, expected: &str) {
        let found = fault(text);
        assert!(found.starts_with(expected), "{found}\nexpected: {expected}");
        assert!(!found.contains('\n'), "{found}");
    }
}
