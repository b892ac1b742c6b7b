//! Front matter: YAML between `---` lines at the top of a Markdown file.

use std::collections::BTreeMap;
use std::fmt;

use serde::de::{Deserializer as _, IgnoredAny, MapAccess, Visitor};
use serde_json::Value as Json;

use super::value::TEXT_KEYS;
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
    /// The YAML between the lines.
    yaml: &'a str,
    /// Where the body begins.
    pub(super) body: Place,
}

/// Finds the front matter of `text`; `None` when its first line is not `---`.
pub(super) fn split<'a>(source: &RawFile, text: &'a str) -> Result<Option<Matter<'a>>> {
    let mut lines = text.split_inclusive('\n');
    let Some(first) = lines.next().filter(|line| line.trim_end() == "---") else {
        return Ok(None);
    };
    let (start, mut byte, mut line) = (first.len(), first.len(), 2);
    for found in lines {
        let end = byte + found.len();
        if found.trim_end() == "---" {
            let yaml = text.get(start..byte).unwrap_or_default();
            return Ok(Some(Matter { yaml, body: Place { line: line + 1, byte: end } }));
        }
        (byte, line) = (end, line + 1);
    }
    let problem = "the front matter opened here has no closing `---` line";
    Err(source.input(1, problem, "close it, or begin the file with another line"))
}

/// Reads the metadata that front matter states.
pub(super) fn parse(source: &RawFile, matter: &Matter<'_>) -> Result<Metadata> {
    let yaml = matter.yaml;
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
    let numbers =
        fields.iter().filter(|(key, value)| TEXT_KEYS.contains(&key.as_str()) && has_number(value));
    let lists: BTreeMap<String, bool> =
        numbers.map(|(key, value)| (key.clone(), value.is_array())).collect();
    let mut written = if lists.is_empty() {
        BTreeMap::new()
    } else {
        // `1.10` must not become 1.1: such keys are read once more, as text.
        serde_saphyr::with_deserializer_from_str_with_options(yaml, options(), |yaml| {
            yaml.deserialize_map(Written(&lists))
        })
        .map_err(|fault| not_yaml(source, &fault))?
    };
    let mut metadata = Metadata::default();
    for (key, value) in fields {
        let value = written.remove(&key).unwrap_or(value);
        metadata.insert_json(key, value);
    }
    Ok(metadata)
}

/// The line on which front matter states `key`, or its first line.
pub(super) fn line_of(text: &str, key: &str) -> u64 {
    let states =
        |line: &str| line.strip_prefix(key).is_some_and(|rest| rest.trim_start().starts_with(':'));
    (1..).zip(text.lines()).find(|(_, line)| states(line)).map_or(1, |(number, _)| number)
}

fn has_number(value: &Json) -> bool {
    match value {
        Json::Number(_) => true,
        Json::Array(items) => items.iter().any(has_number),
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

/// Reads the named keys as they are written; the value says whether a list is expected.
struct Written<'a>(&'a BTreeMap<String, bool>);

impl<'de> Visitor<'de> for Written<'_> {
    type Value = BTreeMap<String, Json>;

    fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("`key: value` lines")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut texts = BTreeMap::new();
        while let Some(key) = map.next_key::<String>()? {
            let text = match self.0.get(&key) {
                Some(true) => Json::from(map.next_value::<Vec<Option<String>>>()?),
                Some(false) => Json::from(map.next_value::<String>()?),
                None => {
                    map.next_value::<IgnoredAny>()?;
                    continue;
                }
            };
            texts.insert(key, text);
        }
        Ok(texts)
    }
}
