//! JSON and JSON lines: a document for each object of a list or line, by a mapping of fields.
//!
//! A file whose outermost value is a list of objects, and a file with one object a line, hold a
//! document each object. Any other JSON is one document.

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use serde_json::{Map, Value as Json};

use super::file::line_ends;
use super::vectors::of_json;
use super::{
    BodyForm, CorpusSettings, Document, Draft, Lines, Metadata, Place, RawFile, Reader, Reading,
    Remark, Source, naming,
};
use crate::error::{Result, complaint};

/// Which fields of an object are what. A dotted name reaches into objects: `meta.author`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct JsonFields {
    /// The field that names the document; the name is used as it stands. By default the path of the
    /// file, with `_id` or `id` behind it where there is one and the number of the object where not.
    pub id: Option<String>,
    /// The field that holds the title; default `title`, else `name`.
    pub title: Option<String>,
    /// The fields that hold the text, in their order; a field may be a list of texts. By default the
    /// first of `text`, `content`, `body` that there is, else all fields, each under its name.
    pub text: Vec<String>,
    /// The fields that are kept as metadata; by default all that are neither id, title nor text, those
    /// of long values left out where all fields are the text.
    pub metadata: Option<Vec<String>>,
    /// The field that holds the embedding that the document brings, a list of numbers; default: none, so
    /// that the built-in model embeds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub vector: Option<String>,
}

/// Reads `.json`, a value a file.
pub struct JsonFile;

/// Reads `.jsonl` and `.ndjson`, a value a line.
pub struct JsonLines;

/// Fields looked at for the text, the title and the id when the settings name none.
const TEXT: [&str; 3] = ["text", "content", "body"];
const TITLE: [&str; 2] = ["title", "name"];
const ID: [&str; 2] = ["_id", "id"];

/// Bytes of JSON above which a value is no metadata unless it is asked for.
const METADATA_BYTES: usize = 1024;

impl Reader for JsonFile {
    fn read(&self, source: &RawFile, settings: &CorpusSettings) -> Result<Reading> {
        let decoded = source.text()?;
        let text = decoded.text.as_str();
        let fault = |error: serde_json::Error| {
            let (problem, line) = (complaint(&error.to_string(), "").0, error.line() as u64);
            source.input(line, format!("not JSON: {problem}"), "mend the file, or exclude it")
        };
        let whole: &RawValue = serde_json::from_str(text).map_err(fault)?;
        let mut made = Maker::new(source, &settings.json, decoded.remarks.clone());
        let elements = serde_json::from_str::<Vec<&RawValue>>(whole.get()).unwrap_or_default();
        let is_object = |element: &&RawValue| element.get().starts_with('{');
        if !elements.is_empty() && elements.iter().all(is_object) {
            let mut counter = Counter::new(text);
            for (number, element) in (1..).zip(elements) {
                // Each element is a part of the text, so its address tells where it stands.
                let start = element.get().as_ptr().addr() - text.as_ptr().addr();
                let place = counter.place(start..start + element.get().len());
                let value = serde_json::from_str(element.get()).map_err(fault)?;
                made.add(value, number, Some(place));
            }
        } else {
            made.add(serde_json::from_str(whole.get()).map_err(fault)?, 0, None);
        }
        Ok(made.reading.placed(&decoded.offsets))
    }
}

impl Reader for JsonLines {
    fn read(&self, source: &RawFile, settings: &CorpusSettings) -> Result<Reading> {
        let decoded = source.text()?;
        let mut made = Maker::new(source, &settings.json, decoded.remarks);
        let mut byte = 0;
        for (number, line) in (1..).zip(decoded.text.split_inclusive('\n')) {
            let bytes = byte as u64..(byte + line.trim_end().len()) as u64;
            byte += line.len();
            if line.trim().is_empty() {
                continue;
            }
            let place = Place::text(Lines { first: number, last: number }, bytes);
            match serde_json::from_str(line.trim_end()) {
                Ok(value) => made.add(value, number, Some(place)),
                Err(error) => {
                    let problem = complaint(&error.to_string(), "").0;
                    made.reading
                        .remarks
                        .push(Remark::loss(Some(number), format!("not JSON: {problem}")));
                }
            }
        }
        Ok(made.reading.placed(&decoded.offsets))
    }
}

/// Tells lines of bytes that come in order.
struct Counter<'t> {
    text: &'t str,
    line: u64,
    at: usize,
}

impl<'t> Counter<'t> {
    fn new(text: &'t str) -> Self {
        Self { text, line: 1, at: 0 }
    }

    fn place(&mut self, bytes: std::ops::Range<usize>) -> Place {
        let mut line = |byte: usize| {
            let passed = self.text.as_bytes().get(self.at..byte).unwrap_or_default();
            self.line += line_ends(passed);
            self.at = self.at.max(byte);
            self.line
        };
        let lines = Lines { first: line(bytes.start), last: line(bytes.end) };
        Place::text(lines, bytes.start as u64..bytes.end as u64)
    }
}

/// Makes documents of values.
struct Maker<'a> {
    source: &'a RawFile,
    fields: &'a JsonFields,
    /// Ids given so far without a mapping.
    taken: std::collections::BTreeSet<String>,
    reading: Reading,
}

impl<'a> Maker<'a> {
    fn new(source: &'a RawFile, fields: &'a JsonFields, remarks: Vec<Remark>) -> Self {
        let reading = Reading { documents: Vec::new(), remarks };
        Self { source, fields, taken: std::collections::BTreeSet::new(), reading }
    }

    /// Adds the document that `value` is: record `number` of the file, or all of it.
    fn add(&mut self, value: Json, number: u64, place: Option<Place>) {
        let mut object = match value {
            Json::Object(object) => object,
            other => Map::from_iter([(String::new(), other)]),
        };
        let id = match self.id(&mut object, number, place.is_some()) {
            Ok(id) => id,
            Err(problem) => {
                let line = place.and_then(|place| place.lines).map(|lines| lines.first);
                self.reading.remarks.push(Remark::loss(line, problem));
                return;
            }
        };
        let vector = self.fields.vector.as_deref();
        let vector = vector.and_then(|field| Some((field, take(&mut object, field)?)));
        let vector = vector.map(|(field, value)| {
            of_json(&value).map_err(|problem| format!("`{field}` of `{id}` {problem}"))
        });
        let vector = match vector.transpose() {
            Ok(vector) => vector,
            Err(problem) => {
                let line = place.and_then(|place| place.lines).map(|lines| lines.first);
                self.reading.remarks.push(Remark::loss(line, problem));
                return;
            }
        };
        let title = self.title(&mut object);
        let title = title.unwrap_or_else(|| naming::title_of_path(&self.source.path));
        let (body, form, is_all) = self.text(&mut object);
        let metadata = self.metadata(object, is_all);
        let source = match place {
            Some(place) => Source::record(&self.source.path, place),
            None => Source::file(&self.source.path, 1, 0),
        };
        self.reading.documents.push(Document { id, title, metadata, body, form, source, vector });
    }

    fn id(
        &mut self,
        object: &mut Map<String, Json>,
        number: u64,
        is_record: bool,
    ) -> Result<String, String> {
        if let Some(field) = &self.fields.id {
            let found = take(object, field).and_then(|value| written(&value));
            return found.ok_or_else(|| format!("no `{field}` to name it by (reading.json.id)"));
        }
        let own = ID.iter().find(|key| object.contains_key(**key));
        let own = own.and_then(|key| object.remove(*key)).and_then(|value| written(&value));
        let path = naming::id_with_ending(&self.source.path);
        if !is_record {
            return Ok(path);
        }
        let own = own
            .map(|own| format!("{path}/{}", own.split_whitespace().collect::<Vec<_>>().join("-")));
        let usable =
            |id: &String| naming::fault_of_id(id, true).is_none() && !self.taken.contains(id);
        let id = own.filter(usable).unwrap_or_else(|| {
            // A number that some record has for its id moves on.
            let numbered =
                (0..).map(|more: u32| format!("{path}/{number}{}", "+".repeat(more as usize)));
            let mut free = numbered.filter(|id| !self.taken.contains(id));
            free.next().unwrap_or_default()
        });
        self.taken.insert(id.clone());
        Ok(id)
    }

    fn title(&self, object: &mut Map<String, Json>) -> Option<String> {
        let own = self.fields.title.as_deref().map(|field| take(object, field));
        let found = own.unwrap_or_else(|| {
            let key = TITLE.iter().find(|key| object.get(**key).is_some_and(Json::is_string));
            key.and_then(|key| object.remove(*key))
        });
        let title = super::heading::tidy(&written(&found?)?);
        Some(title).filter(|title| !title.is_empty())
    }

    /// The text, how it is to be read, and whether it is made of all fields.
    fn text(&self, object: &mut Map<String, Json>) -> (String, BodyForm, bool) {
        let mut texts = Vec::new();
        let default =
            TEXT.iter().find(|key| object.get(**key).is_some_and(|value| prose(value).is_some()));
        let named: Vec<&str> = match default {
            Some(key) if self.fields.text.is_empty() => vec![key],
            _ => self.fields.text.iter().map(String::as_str).collect(),
        };
        for field in &named {
            texts.extend(
                take(object, field).and_then(|value| prose(&value).or_else(|| written(&value))),
            );
        }
        if !named.is_empty() {
            return (super::encoding::unified(texts.join("\n\n").into()), BodyForm::Plain, false);
        }
        let mut draft = Draft::default();
        let size: usize = object.values().map(|value| value.to_string().len()).sum();
        let mut flat = Flat { lines: Vec::new(), left: (size + 1024) * GROWTH };
        for (key, value) in object.iter() {
            flat.add(&key[..key.floor_char_boundary(PATH_BYTES)], value);
            draft.paragraph(&flat.lines.join("\n"), Place::default());
            flat.lines.clear();
        }
        let (body, structure) = draft.finish();
        (body, BodyForm::Structured(structure), true)
    }

    fn metadata(&self, mut object: Map<String, Json>, is_all: bool) -> Metadata {
        let mut metadata = Metadata::default();
        if let Some(wanted) = &self.fields.metadata {
            for key in wanted {
                if let Some(value) = take(&mut object, key) {
                    metadata.insert_json(key.clone(), value);
                }
            }
            return metadata;
        }
        for (key, value) in object {
            let decides = super::value::stays_text(&key) || key == "sections";
            if decides || !key.is_empty() && (!is_all || value.to_string().len() <= METADATA_BYTES)
            {
                metadata.insert_json(key, value);
            }
        }
        metadata
    }
}

/// Takes a field out, by its whole name or by the path through objects that its dots are.
pub(super) fn take(object: &mut Map<String, Json>, field: &str) -> Option<Json> {
    if let Some(found) = object.remove(field) {
        return Some(found);
    }
    let (outer, inner) = field.split_once('.')?;
    take(object.get_mut(outer)?.as_object_mut()?, inner)
}

/// A text or number as it is written.
fn written(value: &Json) -> Option<String> {
    match value {
        Json::String(text) => Some(text.clone()),
        Json::Number(number) => Some(number.to_string()),
        Json::Bool(yes) => Some(yes.to_string()),
        _ => None,
    }
}

/// A text, or a list of texts as paragraphs.
fn prose(value: &Json) -> Option<String> {
    match value {
        Json::String(text) => Some(text.clone()),
        Json::Array(items) if !items.is_empty() => {
            let texts: Option<Vec<&str>> = items.iter().map(Json::as_str).collect();
            texts.map(|texts| texts.join("\n\n"))
        }
        _ => None,
    }
}

/// Bytes of a path above which it is cut, and how many times its length a file may grow by paths.
const PATH_BYTES: usize = 128;
const GROWTH: usize = 16;

/// Every text and number of a value on a line of its own, under its path.
struct Flat {
    lines: Vec<String>,
    /// Bytes that paths may still add.
    left: usize,
}

impl Flat {
    fn add(&mut self, path: &str, value: &Json) {
        match value {
            Json::Object(fields) => {
                for (key, value) in fields {
                    // Long paths, or deep ones, would outgrow the text.
                    let key = &key[..key.floor_char_boundary(PATH_BYTES)];
                    let whole = path.is_empty() || path.len() + key.len() > PATH_BYTES;
                    let path = if whole { key.to_owned() } else { format!("{path}.{key}") };
                    self.add(&path, value);
                }
            }
            Json::Array(items) => items.iter().for_each(|item| self.add(path, item)),
            Json::Null => {}
            scalar => {
                let Some(text) = written(scalar) else { return };
                let text = text.trim();
                let named = !path.is_empty() && path.len() <= self.left;
                self.left -= if named { path.len() } else { 0 };
                self.lines.push(if named { format!("{path}: {text}") } else { text.to_owned() });
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read_with(name: &str, text: &str, settings: &str) -> Result<Reading> {
        let folder = tempfile::tempdir().unwrap();
        let location = folder.path().join("x");
        std::fs::write(&location, text).unwrap();
        let source = RawFile { path: name.into(), location };
        let settings: CorpusSettings = toml::from_str(settings).unwrap();
        if name.ends_with(".json") {
            JsonFile.read(&source, &settings)
        } else {
            JsonLines.read(&source, &settings)
        }
    }

    fn shown(reading: &Reading) -> Vec<(&str, &str, &str)> {
        reading
            .documents
            .iter()
            .map(|d| (d.id.as_str(), d.title.as_str(), d.body.as_str()))
            .collect()
    }

    #[test]
    fn objects_of_a_list_are_documents_that_know_their_place() {
        let text = "[\n {\"id\": 7, \"title\": \"Seals\", \"text\": \"A dry\\r\\nseal *whistles*.\", \"year\": 1999},\n\
            {\"name\": \"Oil\",\n  \"body\": [\"One.\", \"Two.\"], \"tags\": [\"a\", \"b\"]}, {\"id\": 7, \"text\": \"c\"}]";
        let read = read_with("x/a b.json", text, "").unwrap();
        assert_eq!(
            shown(&read),
            [
                ("x/a-b.json/7", "Seals", "A dry\nseal *whistles*."),
                ("x/a-b.json/2", "Oil", "One.\n\nTwo."),
                ("x/a-b.json/3", "A b", "c"),
            ]
        );
        assert_eq!(read.documents[0].metadata.number("year"), Some(1999.0));
        assert!(read.documents[1].metadata.is_written("tags", "b"));
        let place = read.documents[1].source.record.clone().unwrap();
        assert_eq!(place.lines, Some(Lines { first: 3, last: 4 }));
        let bytes = place.bytes.unwrap();
        assert!(text[bytes.start as usize..bytes.end as usize].starts_with("{\"name\""));
    }

    #[test]
    fn a_mapping_says_which_field_is_what() {
        let settings = "[json]\nid = \"meta.key\"\ntitle = \"q\"\ntext = [\"q2\", \"a.long\"]\nmetadata = [\"meta.lang\"]\n";
        let text = "{\"meta\": {\"key\": \"F 1\", \"lang\": \"de\"}, \"q\": \"How?\", \"q2\": \"x\", \"a\": {\"long\": \"So.\", \"short\": 1}}\n\n\
            {\"q\": \"no key\"}\n{\"meta\"";
        let read = read_with("faq.jsonl", text, settings).unwrap();
        assert_eq!(shown(&read), [("F 1", "How?", "x\n\nSo.")]);
        assert_eq!(read.documents[0].metadata.text("meta.lang"), Some("de"));
        assert_eq!(read.documents[0].metadata.0.len(), 1);
        let said: Vec<(Option<u64>, &str)> =
            read.remarks.iter().map(|remark| (remark.line, remark.text.as_str())).collect();
        assert_eq!(
            said,
            [
                (Some(3), "no `meta.key` to name it by (reading.json.id)"),
                (Some(4), "not JSON: it ends too early"),
            ]
        );
        assert!(read.remarks.iter().all(|remark| remark.is_loss));
    }

    #[test]
    fn any_other_json_is_one_document_of_all_its_texts() {
        let text = "{\"a\": {\"b\": [1, \"x\", {\"c\": true}]}, \"classification\": null, \"d\": \"# no heading\"}";
        let read = read_with("conf.json", text, "").unwrap();
        assert_eq!(
            shown(&read),
            [("conf.json", "Conf", "a.b: 1\na.b: x\na.b.c: true\n\nd: # no heading\n")]
        );
        assert_eq!(read.documents[0].metadata.text("classification"), Some("(nothing)"));
        let read = read_with("list.json", "[\"one\", \"two\"]", "").unwrap();
        assert_eq!(shown(&read), [("list.json", "List", "one\ntwo\n")]);
        let fault = read_with("bad.json", "{\n\"a\": \n", "").unwrap_err().to_string();
        assert!(fault.contains(":3: not JSON: it ends too early"), "{fault}");
        let deep = format!("{}{}", "[".repeat(100_000), "]".repeat(100_000));
        let fault = read_with("deep.json", &deep, "").unwrap_err().to_string();
        assert!(fault.contains("not JSON: recursion limit"), "{fault}");
    }
}
