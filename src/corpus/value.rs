//! Values of metadata, typed where their form says what they are.

use std::cmp::Ordering;
use std::collections::BTreeMap;
use std::fmt;

use serde::{Deserialize, Serialize};

/// Keys whose values stay text, however much they look like a number or a date: `revision: 1.10`
/// is not 1.1. So do all keys that begin with `sections.`.
pub const TEXT_KEYS: [&str; 7] =
    ["id", "title", "product", "revision", "classification", "account", "region"];

/// How the keys begin that classify single sections.
const SECTIONS: &str = "sections.";

/// What stands for `null` where leaving a key out would open what it was to close.
const NOTHING: &str = "(nothing)";

/// Whether the values of `key` stay text.
pub(super) fn stays_text(key: &str) -> bool {
    TEXT_KEYS.contains(&key) || key.starts_with(SECTIONS)
}

/// Whether `key` closes something, so that it counts even when nothing is written after it.
fn closes(key: &str) -> bool {
    key == "classification" || key.starts_with(SECTIONS)
}

/// A day of the Gregorian calendar, written `YYYY-MM-DD`; later days are greater.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Date {
    // The order of the fields is the order of days.
    year: u16,
    month: u8,
    day: u8,
}

impl Date {
    /// The date written in `text`: exactly `YYYY-MM-DD` and a day that exists, or `None`.
    ///
    /// ```
    /// use atlas::corpus::Date;
    /// assert!(Date::parse("2024-02-29") < Date::parse("2026-01-01"));
    /// assert_eq!(Date::parse("2026-02-29"), None);
    /// ```
    pub fn parse(text: &str) -> Option<Self> {
        let bytes = text.as_bytes();
        let dashes = bytes.len() == 10 && bytes[4] == b'-' && bytes[7] == b'-';
        let digits = bytes.iter().filter(|byte| byte.is_ascii_digit()).count() == 8;
        if !dashes || !digits {
            return None;
        }
        let number = |from: usize, to: usize| text.get(from..to)?.parse::<u16>().ok();
        let (year, month, day) = (number(0, 4)?, number(5, 7)?, number(8, 10)?);
        let leap =
            (year.is_multiple_of(4) && !year.is_multiple_of(100)) || year.is_multiple_of(400);
        let days = match month {
            1 | 3 | 5 | 7 | 8 | 10 | 12 => 31,
            4 | 6 | 9 | 11 => 30,
            2 if leap => 29,
            2 => 28,
            _ => return None,
        };
        let (month, day) = (u8::try_from(month).ok()?, u8::try_from(day).ok()?);
        (1..=days).contains(&day).then_some(Self { year, month, day })
    }
}

impl fmt::Display for Date {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{:04}-{:02}-{:02}", self.year, self.month, self.day)
    }
}

impl From<Date> for String {
    fn from(date: Date) -> Self {
        date.to_string()
    }
}

impl TryFrom<String> for Date {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        Self::parse(&text).ok_or_else(|| format!("`{text}` is not a date; expected YYYY-MM-DD"))
    }
}

/// One value of metadata.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum Value {
    /// Any text that is not a date; `true` and `false` are text too.
    Text(String),
    /// A finite number.
    Number(f64),
    /// A day.
    Date(Date),
    /// Several values, in the order given.
    List(Vec<Value>),
}

impl Value {
    /// `text` as a date when it is one, as text otherwise.
    pub fn from_text(text: impl Into<String>) -> Self {
        let text = text.into();
        Date::parse(&text).map_or(Self::Text(text), Self::Date)
    }

    /// The text; `None` for a value of another kind.
    pub fn as_text(&self) -> Option<&str> {
        if let Self::Text(text) = self { Some(text) } else { None }
    }

    /// The values of a list, or the value itself as a list of one.
    pub fn items(&self) -> &[Self] {
        if let Self::List(items) = self { items } else { std::slice::from_ref(self) }
    }

    /// Whether the value, or one value of the list, is written `wanted`.
    ///
    /// This is what a filter such as `product=T-7` asks: a number is compared as a number (`2` is
    /// `2.0`), everything else letter by letter.
    pub fn is_written(&self, wanted: &str) -> bool {
        match self {
            Self::Text(text) => text == wanted,
            Self::Number(number) => wanted.parse() == Ok(*number),
            Self::Date(date) => Date::parse(wanted) == Some(*date),
            Self::List(items) => items.iter().any(|item| item.is_written(wanted)),
        }
    }
}

/// Values of one kind have an order (dates by day, numbers by size, texts by bytes); others none.
impl PartialOrd for Value {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        match (self, other) {
            (Self::Text(left), Self::Text(right)) => left.partial_cmp(right),
            (Self::Number(left), Self::Number(right)) => left.partial_cmp(right),
            (Self::Date(left), Self::Date(right)) => left.partial_cmp(right),
            (Self::List(left), Self::List(right)) => left.partial_cmp(right),
            _ => None,
        }
    }
}

impl fmt::Display for Value {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Text(text) => out.write_str(text),
            Self::Number(number) => write!(out, "{number}"),
            Self::Date(date) => write!(out, "{date}"),
            Self::List(items) => {
                for (place, item) in items.iter().enumerate() {
                    write!(out, "{}{item}", if place == 0 { "" } else { ", " })?;
                }
                Ok(())
            }
        }
    }
}

/// What is known of a document beside its id, title and text; keys in byte order.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Metadata(pub BTreeMap<String, Value>);

impl Metadata {
    /// The value of `key`.
    pub fn get(&self, key: &str) -> Option<&Value> {
        self.0.get(key)
    }

    /// The text of `key`; `None` when it is absent or not text.
    pub fn text(&self, key: &str) -> Option<&str> {
        self.get(key)?.as_text()
    }

    /// The texts of `key`, whether one or a list; values of other kinds are left out.
    pub fn texts(&self, key: &str) -> impl Iterator<Item = &str> {
        self.get(key).map_or(&[][..], Value::items).iter().filter_map(Value::as_text)
    }

    /// The date of `key`; `None` when it is absent or not a date.
    pub fn date(&self, key: &str) -> Option<Date> {
        if let Some(Value::Date(date)) = self.get(key) { Some(*date) } else { None }
    }

    /// The number of `key`; `None` when it is absent or not a number.
    pub fn number(&self, key: &str) -> Option<f64> {
        if let Some(Value::Number(number)) = self.get(key) { Some(*number) } else { None }
    }

    /// Whether `key` is written `wanted`, alone or in a list: the filter `key=wanted`.
    pub fn is_written(&self, key: &str, wanted: &str) -> bool {
        self.get(key).is_some_and(|value| value.is_written(wanted))
    }

    /// Adds a value read from JSON or YAML under `key`.
    ///
    /// An object becomes one entry a field, named `key.field`; for the [`TEXT_KEYS`] and what
    /// `sections` holds scalars become text as they stand. Nothing (`null`) adds nothing, save to
    /// a key that classifies, which then holds `(nothing)`: a classification that nobody has.
    pub(crate) fn insert_json(&mut self, key: String, json: serde_json::Value) {
        match json {
            serde_json::Value::Object(fields) if !(fields.is_empty() && closes(&key)) => {
                for (field, value) in fields {
                    self.insert_json(format!("{key}.{field}"), value);
                }
            }
            serde_json::Value::Null if closes(&key) => {
                self.0.insert(key, Value::Text(NOTHING.into()));
            }
            json => {
                if let Some(value) = typed(json, stays_text(&key)) {
                    self.0.insert(key, value);
                }
            }
        }
    }
}

/// A scalar or list of JSON as a value; `None` for `null`.
fn typed(json: serde_json::Value, stays_text: bool) -> Option<Value> {
    use serde_json::Value as Json;
    Some(match json {
        Json::Null => return None,
        Json::String(text) if stays_text => Value::Text(text),
        Json::String(text) => Value::from_text(text),
        Json::Number(number) => match number.as_f64().filter(|_| !stays_text) {
            Some(number) => Value::Number(number),
            None => Value::Text(number.to_string()),
        },
        Json::Array(items) => {
            Value::List(items.into_iter().filter_map(|item| typed(item, stays_text)).collect())
        }
        // An object inside a list keeps its JSON; nothing filters by it.
        other @ (Json::Bool(_) | Json::Object(_)) => Value::Text(other.to_string()),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_days_that_exist_are_dates() {
        for good in ["2026-01-01", "2024-02-29", "2000-02-29", "0001-12-31"] {
            assert_eq!(Date::parse(good).unwrap().to_string(), good);
        }
        for bad in [
            "2026-1-1",
            "2026-13-01",
            "2026-04-31",
            "1900-02-29",
            "+026-01-01",
            "2026-01-00",
            "2026-01-011",
            "",
            "２026-01-01",
        ] {
            assert_eq!(Date::parse(bad), None, "{bad}");
        }
    }

    #[test]
    fn values_take_the_type_of_their_form() {
        let mut metadata = Metadata::default();
        let fields = serde_json::json!({
            "revision": "2026-01-01", "product": 7, "from": "2026-01-01", "weight": 21.5,
            "draft": true, "none": null, "audience": ["staff", "2026-01-02", 3],
            "owner": {"name": "Ada", "since": "2025-05-05"},
        });
        let serde_json::Value::Object(fields) = fields else { unreachable!() };
        for (key, value) in fields {
            metadata.insert_json(key, value);
        }
        assert_eq!(metadata.text("revision"), Some("2026-01-01"));
        assert_eq!(metadata.text("product"), Some("7"));
        assert_eq!(metadata.date("from"), Date::parse("2026-01-01"));
        assert_eq!(metadata.number("weight"), Some(21.5));
        assert_eq!(metadata.text("draft"), Some("true"));
        assert_eq!(metadata.get("none"), None);
        assert_eq!(metadata.texts("audience").collect::<Vec<_>>(), ["staff"]);
        assert!(metadata.is_written("audience", "3.0"));
        assert!(!metadata.is_written("audience", "dealers"));
        assert_eq!(metadata.date("owner.since"), Date::parse("2025-05-05"));
        assert!(metadata.get("from") < Some(&Value::from_text("2026-06-01")));
        assert!(metadata.get("from").partial_cmp(&metadata.get("weight")).is_none());
    }

    #[test]
    fn what_decides_who_may_read_stays_text_and_is_never_lost() {
        let mut metadata = Metadata::default();
        let mut insert = |key: &str, json| metadata.insert_json(key.into(), json);
        insert("account", serde_json::json!(9_007_199_254_740_993_u64));
        insert("region", serde_json::json!("2026-01-01"));
        insert("classification", serde_json::json!(null));
        insert("sections", serde_json::json!({"A": null, "B": 7, "C": "2026-01-01", "D": {}}));
        insert("product", serde_json::json!(null));
        assert_eq!(metadata.text("account"), Some("9007199254740993"));
        assert_eq!(metadata.text("region"), Some("2026-01-01"));
        assert_eq!(metadata.text("classification"), Some("(nothing)"));
        let sections = ["A", "B", "C", "D"].map(|title| format!("sections.{title}"));
        let found = sections.each_ref().map(|key| metadata.text(key).unwrap());
        assert_eq!(found, ["(nothing)", "7", "2026-01-01", "{}"]);
        assert_eq!(metadata.0.len(), 7);
    }

    #[test]
    fn metadata_survives_json_and_bincode() {
        let mut metadata = Metadata::default();
        metadata.insert_json("a".into(), serde_json::json!(["x", 1, "2026-01-01", ["y"]]));
        let json = serde_json::to_string(&metadata).unwrap();
        assert_eq!(serde_json::from_str::<Metadata>(&json).unwrap(), metadata);
        let config = bincode::config::standard();
        let bytes = bincode::serde::encode_to_vec(&metadata, config).unwrap();
        let (back, _): (Metadata, usize) =
            bincode::serde::decode_from_slice(&bytes, config).unwrap();
        assert_eq!(back, metadata);
        assert!(serde_json::from_str::<Date>("\"2026-02-30\"").is_err());
    }
}
