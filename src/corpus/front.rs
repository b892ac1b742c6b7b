//! Front matter at the top of a Markdown file: YAML between `---` lines, or TOML between `+++` lines.

use std::fmt;

use serde::Deserialize as _;
use serde::de::{DeserializeSeed, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Value as Json};
use toml::de::{DeTable, DeValue};

use super::value::stays_text;
use super::{Metadata, RawFile};
use crate::error::{Error, Result};

/// A place in a file: line from 1, byte from 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Place {
    pub(super) line: u64,
    pub(super) byte: usize,
}

/// The two halves of a file with front matter.
pub(super) struct Matter<'a> {
    /// What stands between the lines, and the language of it.
    text: &'a str,
    language: Language,
    /// Where the body begins.
    pub(super) body: Place,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Language {
    Yaml,
    Toml,
}

impl Language {
    /// The language that `line` opens or closes.
    fn of(line: &str) -> Option<Self> {
        match line.trim_end() {
            "---" => Some(Self::Yaml),
            "+++" => Some(Self::Toml),
            _ => None,
        }
    }

    const fn fence(self) -> &'static str {
        match self {
            Self::Yaml => "---",
            Self::Toml => "+++",
        }
    }
}

/// Finds the front matter of `text`; `None` when its first line is neither `---` nor `+++`.
///
/// Front matter that blank lines precede is a fault: taken for text, its classification were lost.
pub(super) fn split<'a>(source: &RawFile, text: &'a str) -> Result<Option<Matter<'a>>> {
    let mut lines = text.split_inclusive('\n');
    let first = lines.next().unwrap_or_default();
    let Some(language) = Language::of(first) else {
        return match late(text) {
            Some(line) => {
                let problem = "the front matter must begin on the first line";
                Err(source.input(line, problem, "remove the blank lines above it"))
            }
            None => Ok(None),
        };
    };
    let (start, mut byte, mut line) = (first.len(), first.len(), 2);
    for found in lines {
        let end = byte + found.len();
        if Language::of(found) == Some(language) {
            let text = text.get(start..byte).unwrap_or_default();
            return Ok(Some(Matter { text, language, body: Place { line: line + 1, byte: end } }));
        }
        (byte, line) = (end, line + 1);
    }
    let fence = language.fence();
    let problem = format!("the front matter opened here has no closing `{fence}` line");
    Err(source.input(1, problem, "close it, or begin the file with another line"))
}

/// The line of a fence that only blank lines precede and another of its kind follows.
fn late(text: &str) -> Option<u64> {
    let mut lines = (1..).zip(text.lines()).skip_while(|(_, line)| line.trim().is_empty());
    let (number, first) = lines.next()?;
    let language = Language::of(first)?;
    lines.any(|(_, line)| Language::of(line) == Some(language)).then_some(number)
}

/// Reads the metadata that front matter states.
pub(super) fn parse(source: &RawFile, matter: &Matter<'_>) -> Result<Metadata> {
    if matter.language == Language::Toml {
        return toml_matter(source, matter.text);
    }
    let yaml = matter.text;
    let bare = |line: &str| line.trim().is_empty() || line.trim_start().starts_with('#');
    if yaml.lines().all(bare) {
        return Ok(Metadata::default());
    }
    let json: Json = serde_saphyr::from_str_with_options(yaml, options())
        .map_err(|fault| not_yaml(source, &fault))?;
    let Json::Object(fields) = json else {
        let kind = if json.is_array() { "a list" } else { "a single value" };
        let problem = format!("the front matter is {kind}, not `key: value` lines");
        return Err(source.input(2, problem, "write one `key: value` a line"));
    };
    let texts = |(key, value): &(&String, &Json)| {
        (stays_text(key) || *key == "sections" && value.is_object()) && has_number(value)
    };
    let texts: Map<String, Json> =
        fields.iter().filter(texts).map(|(key, value)| (key.clone(), value.clone())).collect();
    let mut written = if texts.is_empty() {
        Json::Null
    } else {
        // `1.10` must not become 1.1: such keys are read once more, as text.
        let texts = Json::Object(texts);
        serde_saphyr::with_deserializer_from_str_with_options(yaml, options(), |yaml| {
            Written(&texts).deserialize(yaml)
        })
        .map_err(|fault| not_yaml(source, &fault))?
    };
    let mut metadata = Metadata::default();
    for (key, value) in fields {
        let value = written.get_mut(&key).map_or(value, Json::take);
        metadata.insert_json(key, value);
    }
    Ok(metadata)
}

fn toml_matter(source: &RawFile, text: &str) -> Result<Metadata> {
    let table = DeTable::parse(text).map_err(|fault| {
        let before = fault.span().and_then(|span| text.get(..span.start)).unwrap_or_default();
        let line = 2 + super::file::line_ends(before.as_bytes());
        let message = fault.message().lines().next().unwrap_or_default();
        let problem = format!("the front matter is not valid TOML: {message}");
        source.input(line, problem, "mend it; a text needs quotes")
    })?;
    let mut metadata = Metadata::default();
    for (key, value) in table.into_inner() {
        let key = key.into_inner().into_owned();
        let texts = stays_text(&key) || key == "sections";
        metadata.insert_json(key, json_of(value.into_inner(), texts));
    }
    Ok(metadata)
}

/// A value of TOML; where `texts` stay text, a number is as it is written: `1.10` is not 1.1.
fn json_of(value: DeValue<'_>, texts: bool) -> Json {
    let number = |text: &str| match serde_json::from_str(&text.replace('_', "")) {
        Ok(Json::Number(number)) if !texts => Json::Number(number),
        _ => Json::from(text),
    };
    match value {
        DeValue::String(text) => Json::from(text.into_owned()),
        DeValue::Integer(written) => number(written.to_string().trim_start_matches('+')),
        DeValue::Float(written) => number(written.to_string().trim_start_matches('+')),
        DeValue::Boolean(yes) => Json::from(yes),
        DeValue::Datetime(when) => Json::from(when.to_string()),
        DeValue::Array(items) => {
            items.into_iter().map(|item| json_of(item.into_inner(), texts)).collect()
        }
        DeValue::Table(fields) => fields
            .into_iter()
            .map(|(key, value)| (key.into_inner().into_owned(), json_of(value.into_inner(), texts)))
            .collect(),
    }
}

/// The line on which front matter states `key`, or its first line.
pub(super) fn line_of(text: &str, key: &str) -> u64 {
    let states = |line: &str| {
        line.strip_prefix(key).is_some_and(|rest| rest.trim_start().starts_with([':', '=']))
    };
    (1..).zip(text.lines()).find(|(_, line)| states(line)).map_or(1, |(number, _)| number)
}

fn has_number(value: &Json) -> bool {
    match value {
        Json::Number(_) => true,
        Json::Array(items) => items.iter().any(has_number),
        Json::Object(fields) => fields.values().any(has_number),
        _ => false,
    }
}

fn options() -> serde_saphyr::Options {
    serde_saphyr::options! {
        with_snippet: false,
        strict_booleans: true,
        leading_zero_numbers_as_strings: true,
    }
}

fn not_yaml(source: &RawFile, fault: &serde_saphyr::Error) -> Error {
    // The YAML begins on the second line of the file.
    let line = fault.location().map_or(1, |place| place.line() + 1);
    let message = fault.to_string();
    let message = message.lines().next().unwrap_or_default();
    // Its line is named by the error itself, and its options are none of the writer's business.
    let message = message.split(" at line ").next().unwrap_or(message);
    let message = message.split(", set ").next().unwrap_or(message);
    let problem = format!("the front matter is not valid YAML: {message}");
    source.input(line, problem, "mend it; a text with `: ` or `#` inside needs quotes")
}

/// Reads once more what was read as the value held, its numbers as they are written; keys that the
/// value does not hold are left out.
#[derive(Clone, Copy)]
struct Written<'a>(&'a Json);

impl<'de> DeserializeSeed<'de> for Written<'_> {
    type Value = Json;

    fn deserialize<D: Deserializer<'de>>(self, yaml: D) -> Result<Json, D::Error> {
        match self.0 {
            Json::Number(_) | Json::Null => Option::<String>::deserialize(yaml).map(Json::from),
            Json::Array(_) => yaml.deserialize_seq(self),
            Json::Object(_) => yaml.deserialize_map(self),
            Json::String(_) | Json::Bool(_) => {
                IgnoredAny::deserialize(yaml)?;
                Ok(self.0.clone())
            }
        }
    }
}

impl<'de> Visitor<'de> for Written<'_> {
    type Value = Json;

    fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("`key: value` lines")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Json, A::Error> {
        let mut items = Vec::new();
        while let Some(known) = self.0.get(items.len()) {
            match seq.next_element_seed(Written(known))? {
                Some(item) => items.push(item),
                None => break,
            }
        }
        while seq.next_element::<IgnoredAny>()?.is_some() {}
        Ok(Json::Array(items))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Json, A::Error> {
        let mut fields = Map::new();
        while let Some(key) = map.next_key::<String>()? {
            if let Some(known) = self.0.get(&key) {
                let value = map.next_value_seed(Written(known))?;
                fields.insert(key, value);
            } else {
                map.next_value::<IgnoredAny>()?;
            }
        }
        Ok(Json::Object(fields))
    }
}
