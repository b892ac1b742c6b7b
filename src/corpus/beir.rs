//! A folder in BEIR layout: `corpus.jsonl`, or `corpus.jsonl.zst`, one document a line.
//!
//! `_id` and `text` are read, `title` where it is given; every other field, and every field of an
//! object `metadata`, is kept as metadata. A body is Markdown when the id ends in `.md`, plain text
//! otherwise. A record without text but with a title has its title for text, since public sets
//! judge such records too. A fault in one line is an error: a set is only itself as a whole.

use std::io::{BufRead, BufReader, Read};

use rayon::prelude::*;
use ruzstd::decoding::StreamingDecoder;
use serde_json::{Map, Value as Json};

use super::markdown::take_title;
use super::vectors::of_json;
use super::{
    BodyForm, CorpusSettings, Document, Lines, Metadata, Place, RawFile, Reader, Reading, Source,
    front,
};
use crate::error::{Result, complaint};

/// Reads `corpus.jsonl` and `corpus.jsonl.zst` at the top of a folder.
pub struct Beir;

/// The names under which a folder holds its documents in this layout.
pub(super) const NAMES: [&str; 2] = ["corpus.jsonl", "corpus.jsonl.zst"];

/// Lines parsed at once on all threads: enough to keep them busy, little to hold.
const BATCH: usize = 1024;

impl Reader for Beir {
    fn read(&self, source: &RawFile, settings: &CorpusSettings) -> Result<Reading> {
        let mut documents = Vec::new();
        read_batches(source, settings, &mut |mut some| {
            documents.append(&mut some);
            Ok(())
        })?;
        Ok(Reading { documents, remarks: Vec::new() })
    }
}

/// Reads every document of `source`, in the order of the file, and gives `hear` some at a time.
pub(super) fn read_batches(
    source: &RawFile,
    settings: &CorpusSettings,
    hear: &mut dyn FnMut(Vec<Document>) -> Result<()>,
) -> Result<()> {
    let vector = settings.json.vector.as_deref();
    let file = source.open()?;
    if source.path.ends_with(".zst") {
        read_lines(source, vector, &mut BufReader::new(Frames::new(file)), hear)
    } else {
        read_lines(source, vector, &mut BufReader::new(file), hear)
    }
}

fn read_lines(
    source: &RawFile,
    vector: Option<&str>,
    input: &mut dyn BufRead,
    hear: &mut dyn FnMut(Vec<Document>) -> Result<()>,
) -> Result<()> {
    let (mut number, mut byte) = (0, 0);
    loop {
        let mut batch = Vec::with_capacity(BATCH);
        while batch.len() < BATCH {
            let mut line = Vec::new();
            let read = input.read_until(b'\n', &mut line);
            if read.map_err(|fault| source.fault("reading", fault))? == 0 {
                break;
            }
            number += 1;
            let start = byte;
            byte += line.len() as u64;
            batch.push(((number, start), line));
        }
        if batch.is_empty() {
            return Ok(());
        }
        let parsed: Vec<Result<Option<Document>>> = batch
            .into_par_iter()
            .map(|(place, line)| record(source, vector, place, &line))
            .collect();
        let mut documents = Vec::with_capacity(parsed.len());
        for document in parsed {
            documents.extend(document?);
        }
        hear(documents)?;
    }
}

/// The document of one line, given its number and first byte, and the name of the field that holds its
/// vector; `None` for a blank line.
fn record(
    source: &RawFile,
    vector: Option<&str>,
    (number, byte): (u64, u64),
    line: &[u8],
) -> Result<Option<Document>> {
    let help = "write one JSON object a line with `_id`, `title` and `text`";
    let fault = |problem: String| source.input(number, problem, help);
    let line = if number == 1 { line.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(line) } else { line };
    if line.trim_ascii().is_empty() {
        return Ok(None);
    }
    // Without its end, so that a text which is not closed is told as such.
    let line = line.trim_ascii_end();
    let mut fields: Map<String, Json> = serde_json::from_slice(line).map_err(|error| {
        let (problem, _) = complaint(&error.to_string(), "");
        fault(format!("not a JSON object: {problem}"))
    })?;
    let id = match fields.remove("_id") {
        Some(Json::String(id)) => id,
        Some(Json::Number(id)) => id.to_string(),
        Some(_) => return Err(fault("`_id` is neither a text nor a number".into())),
        None => return Err(fault("no `_id`".into())),
    };
    let vector = vector.and_then(|key| Some((key, super::json::take(&mut fields, key)?)));
    let vector = vector.map(|(key, value)| {
        of_json(&value).map_err(|problem| fault(format!("`{key}` of record `{id}` {problem}")))
    });
    let vector = vector.transpose()?;
    let mut text_of = |key: &str, needed: bool| match fields.remove(key) {
        Some(Json::String(text)) => Ok(text),
        None if needed => Err(fault(format!("no `{key}` in record `{id}`"))),
        None | Some(Json::Null) => Ok(String::new()),
        Some(_) => Err(fault(format!("`{key}` of record `{id}` is not a text"))),
    };
    let (text, title) = (text_of("text", true)?, text_of("title", false)?);
    let (mut metadata, mut outer) = (Metadata::default(), Metadata::default());
    if let Some(Json::Object(inner)) = fields.remove("metadata") {
        inner.into_iter().for_each(|(key, value)| metadata.insert_json(key, value));
    }
    fields.into_iter().for_each(|(key, value)| outer.insert_json(key, value));
    for (key, value) in outer.0 {
        if metadata.get(&key).is_some_and(|other| *other != value) {
            let problem = format!("`{key}` of record `{id}` has another value in `metadata`");
            return Err(source.input(number, problem, "keep one of the two"));
        }
        metadata.0.insert(key, value);
    }
    let (title, body, form) = text_and_form(&id, title, text);
    let lines = Lines { first: number, last: number };
    let place = Place::text(lines, byte..byte + line.len() as u64);
    let source = Source::record(&source.path, place);
    Ok(Some(Document { id, title, metadata, body, form, source, vector }))
}

fn text_and_form(id: &str, title: String, text: String) -> (String, String, BodyForm) {
    let text = if text.contains('\r') { text.replace("\r\n", "\n") } else { text };
    let title = title.trim().to_owned();
    if text.trim().is_empty() {
        return (title.clone(), title, BodyForm::Plain);
    }
    if !id.ends_with(".md") {
        return (title, text, BodyForm::Plain);
    }
    let given = Some(title).filter(|title| !title.is_empty());
    let (title, body, _) = take_title(given, &text, front::Place { line: 1, byte: 0 });
    // A record that is nothing but its heading keeps it as text.
    let body = if body.trim().is_empty() { text } else { body };
    (title.unwrap_or_default(), body, BodyForm::Markdown)
}

/// Reads all frames of a zstd file, one after the other, as `zstd -d` does.
struct Frames<R: BufRead> {
    state: State<R>,
}

enum State<R: BufRead> {
    Between(R),
    Inside(Box<StreamingDecoder<R, ruzstd::decoding::FrameDecoder>>),
    Done,
}

impl<R: BufRead> Frames<R> {
    fn new(input: R) -> Self {
        Self { state: State::Between(input) }
    }
}

impl<R: BufRead> Read for Frames<R> {
    fn read(&mut self, out: &mut [u8]) -> std::io::Result<usize> {
        loop {
            match std::mem::replace(&mut self.state, State::Done) {
                State::Done => return Ok(0),
                State::Between(mut input) => {
                    if input.fill_buf()?.is_empty() {
                        return Ok(0);
                    }
                    let decoder = StreamingDecoder::new(input).map_err(std::io::Error::other)?;
                    self.state = State::Inside(Box::new(decoder));
                }
                State::Inside(mut decoder) => {
                    let read = decoder.read(out)?;
                    if read > 0 || out.is_empty() {
                        self.state = State::Inside(decoder);
                        return Ok(read);
                    }
                    let (input, frame) = decoder.into_parts();
                    let stated = frame.get_checksum_from_data();
                    if stated.is_some() && stated != frame.get_calculated_checksum() {
                        return Err(std::io::Error::other("a zstd frame fails its checksum"));
                    }
                    self.state = State::Between(input);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::corpus::Date;
    use crate::error::Error;

    fn read_bytes(name: &str, bytes: &[u8]) -> Result<Vec<Document>> {
        let folder = tempfile::tempdir().unwrap();
        let location = folder.path().join(name);
        std::fs::write(&location, bytes).unwrap();
        let source = RawFile { path: name.into(), location };
        Beir.read(&source, &CorpusSettings::default()).map(|read| read.documents)
    }

    fn compressed(text: &str) -> Vec<u8> {
        let level = ruzstd::encoding::CompressionLevel::Fastest;
        ruzstd::encoding::compress_to_vec(text.as_bytes(), level)
    }

    const LINES: &str = concat!(
        "{\"_id\": \"a/x.md\", \"title\": \"X\", \"text\": \"# X\\n\\nText.\"}\r\n\n",
        "{\"_id\": 7, \"title\": \"Only title\", \"text\": \"\", \"year\": 1999}\n",
        "{\"_id\": \"b\", \"text\": \"# no\\r\\nx\", \"metadata\": {\"on\": \"2020-02-02\"}, ",
        "\"on\": \"2020-02-02\"}"
    );

    #[test]
    fn records_become_documents_that_know_their_line() {
        let documents = read_bytes("corpus.jsonl", LINES.as_bytes()).unwrap();
        let [x, only, b] = documents.as_slice() else { unreachable!("{documents:?}") };
        assert_eq!((x.id.as_str(), x.title.as_str(), x.body.as_str()), ("a/x.md", "X", "\nText."));
        assert_eq!(x.form, BodyForm::Markdown);
        assert_eq!((only.id.as_str(), only.body.as_str()), ("7", "Only title"));
        assert_eq!(only.metadata.number("year"), Some(1999.0));
        assert_eq!((b.title.as_str(), b.body.as_str()), ("", "# no\nx"));
        assert_eq!(b.form, BodyForm::Plain);
        assert_eq!(b.metadata.date("on"), Date::parse("2020-02-02"));
        let (start, end) = (LINES.rfind("{\"_id\"").unwrap() as u64, LINES.len() as u64);
        let place = Place::text(Lines { first: 4, last: 4 }, start..end);
        assert_eq!(b.source, Source::record("corpus.jsonl", place));
    }

    #[test]
    fn every_frame_of_a_compressed_file_is_read() {
        let (first, rest) = LINES.split_at(70);
        let mut bytes = compressed(first);
        bytes.extend(compressed(rest));
        let documents = read_bytes("corpus.jsonl.zst", &bytes).unwrap();
        assert_eq!(documents.len(), 3);
        bytes.truncate(bytes.len() - 9);
        let fault = read_bytes("corpus.jsonl.zst", &bytes).unwrap_err();
        assert!(matches!(fault, Error::Io { .. }), "{fault}");
        bytes.extend([0; 40]);
        assert!(read_bytes("corpus.jsonl.zst", &bytes).is_err());
    }

    #[test]
    fn faults_name_the_line_and_the_field() {
        let cases = [
            (
                "{\"_id\": \"a\", \"text\": \"x\"}\n{\"_id\": ",
                "not a JSON object: it ends too early;",
            ),
            ("\n{\"_id\": \"a\", \"text\": \"x\n", "not a JSON object: a text is not closed;"),
            ("\n[1]", "not a JSON object: it is a list;"),
            ("\n{\"text\": \"x\"}", "no `_id`"),
            ("\n{\"_id\": \"a\"}", "no `text` in record `a`"),
            ("\n{\"_id\": [], \"text\": \"x\"}", "`_id` is neither"),
            ("\n{\"_id\": \"a\", \"text\": 3}", "`text` of record `a` is not a text"),
            (
                "\n{\"_id\": \"a\", \"text\": \"x\", \"on\": 1, \"metadata\": {\"on\": 2}}",
                "`on` of record `a` has another value in `metadata`; keep one of the two",
            ),
        ];
        for (lines, expected) in cases {
            let fault = read_bytes("corpus.jsonl", lines.as_bytes()).unwrap_err().to_string();
            assert!(fault.contains(&format!("corpus.jsonl:2: {expected}")), "{fault}");
        }
        let fault = read_bytes("corpus.jsonl", b"\xFF{").unwrap_err().to_string();
        assert!(fault.contains("corpus.jsonl:1: not a JSON object"), "{fault}");
    }
}
