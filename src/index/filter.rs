//! Narrowing a search by metadata.

use std::cmp::Ordering;

use super::Index;
use crate::access::{Bitmap, SECTIONS, Scope};
use crate::corpus::{Date, Metadata, Value};
use crate::error::{Error, Result, nearest};

/// Conditions on a document's metadata that must all hold; the id counts as metadata.
///
/// A filter means the same in both legs and in a twin: it narrows the candidates and changes no
/// statistics. A document whose key holds a list passes when any item does. One without the key does
/// not pass.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Filter {
    conditions: Vec<Condition>,
    as_of: Option<Date>,
}

#[derive(Debug, Clone, PartialEq)]
struct Condition {
    key: String,
    test: Test,
}

#[derive(Debug, Clone, PartialEq)]
enum Test {
    /// One of these, compared as written.
    OneOf(Vec<String>),
    /// Related so to this, among values of its kind: dates by day, numbers by size, text by bytes; a
    /// text that is written as a number is one beside a number.
    Is(Relation, Value),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Relation {
    Less,
    AtMost,
    AtLeast,
    More,
}

/// The relations as they are written, longer ones first.
const RELATIONS: [(&str, Relation); 4] = [
    (">=", Relation::AtLeast),
    ("<=", Relation::AtMost),
    (">", Relation::More),
    ("<", Relation::Less),
];

/// The key of the day from which a document holds.
const FROM: &str = "effective_from";

/// The key of the last day on which it holds.
const TO: &str = "effective_to";

impl Filter {
    /// Adds the condition written `key=value`, `key=one,other`, or with `<`, `<=`, `>`, `>=`.
    pub fn add(&mut self, written: &str) -> Result<()> {
        let bad = || {
            let expected =
                "KEY=VALUE, KEY=VALUE,VALUE, or KEY with <, <=, > or >= and a number or a date";
            Error::invalid("--filter", format!("`{written}`"), expected)
        };
        for (sign, relation) in RELATIONS {
            if let Some((key, value)) = written.split_once(sign) {
                let (key, value) = (key.trim(), value.trim());
                if key.is_empty() || value.is_empty() {
                    return Err(bad());
                }
                let value = value.parse().map_or_else(|_| Value::from_text(value), Value::Number);
                self.conditions
                    .push(Condition { key: key.to_owned(), test: Test::Is(relation, value) });
                return Ok(());
            }
        }
        let (key, values) = written.split_once('=').ok_or_else(bad)?;
        let values: Vec<String> = values.split(',').map(|value| value.trim().to_owned()).collect();
        if key.trim().is_empty() || values.iter().any(String::is_empty) {
            return Err(bad());
        }
        self.require(key.trim(), values);
        Ok(())
    }

    /// Adds the condition that `key` has one of `values`.
    pub fn require(&mut self, key: &str, values: Vec<String>) {
        self.conditions.push(Condition { key: key.to_owned(), test: Test::OneOf(values) });
    }

    /// Adds the condition that a document holds on the day written `day`: `effective_from` is not
    /// after it and `effective_to` not before it; a document without one of them is open on that side.
    pub fn as_of(&mut self, day: &str) -> Result<()> {
        let parsed = Date::parse(day);
        self.as_of = Some(parsed.ok_or_else(|| {
            Error::invalid("--as-of", format!("`{day}`"), "a day that exists, as YYYY-MM-DD")
        })?);
        Ok(())
    }

    /// Whether there is no condition.
    pub fn is_empty(&self) -> bool {
        self.conditions.is_empty() && self.as_of.is_none()
    }

    /// Whether a document passes.
    fn passes(&self, id: &str, metadata: &Metadata) -> bool {
        let holds = self.as_of.is_none_or(|day| {
            metadata.date(FROM).is_none_or(|from| from <= day)
                && metadata.date(TO).is_none_or(|to| to >= day)
        });
        holds
            && self.conditions.iter().all(|Condition { key, test }| match test {
                Test::OneOf(values) if key == "id" => values.iter().any(|value| value == id),
                Test::OneOf(values) => values.iter().any(|value| metadata.is_written(key, value)),
                Test::Is(relation, bound) => {
                    let items = metadata.get(key).map_or(&[][..], Value::items);
                    items.iter().any(|item| relation.holds(compare(item, bound)))
                }
            })
    }
}

/// The order of `item` against `bound`. Some keys (`revision`, `product`) are always text: against a
/// number, a text that is written as one counts as one.
fn compare(item: &Value, bound: &Value) -> Option<Ordering> {
    if let (Value::Text(text), Value::Number(_)) = (item, bound) {
        return Value::Number(text.parse().ok()?).partial_cmp(bound);
    }
    item.partial_cmp(bound)
}

impl Relation {
    fn holds(self, order: Option<Ordering>) -> bool {
        order.is_some_and(|order| match self {
            Self::Less => order.is_lt(),
            Self::AtMost => order.is_le(),
            Self::AtLeast => order.is_ge(),
            Self::More => order.is_gt(),
        })
    }
}

impl Index {
    /// `scope` narrowed to the documents that pass `filter`. Statistics stay those of the scope. A
    /// key that no readable document has is refused, with the nearest one that some has: what is
    /// not readable does not show here either.
    pub fn narrow(&self, scope: &Scope, filter: &Filter) -> Result<Scope> {
        if filter.is_empty() {
            return Ok(scope.clone());
        }
        let metadata = self.metadata()?;
        for Condition { key, .. } in &filter.conditions {
            self.known_key(scope, key, metadata)?;
        }
        let mut rows = Bitmap::none(self.manifest().passages as u32);
        for (document, own) in metadata.iter().enumerate() {
            let record = self.passages().document(document as u32)?;
            if !filter.passes(&record.id, own) {
                continue;
            }
            for block in record.first_block..record.first_block + record.blocks {
                let block = self.passages().block(block)?;
                let all = block.first_row..block.first_row + block.passages;
                all.for_each(|row| rows.insert(row));
            }
        }
        Ok(scope.narrowed(&rows))
    }

    fn known_key(&self, scope: &Scope, key: &str, metadata: &[Metadata]) -> Result<()> {
        if key == "id" {
            return Ok(());
        }
        // The titles of classified sections stand in these keys, and may be closed like their text.
        let hidden = |key: &str| key.starts_with(SECTIONS);
        let mut keys = std::collections::BTreeSet::new();
        for (document, own) in metadata.iter().enumerate() {
            if !hidden(key) && own.get(key).is_some() && self.readable(scope, document as u32)? {
                return Ok(());
            }
        }
        for (document, own) in metadata.iter().enumerate() {
            if self.readable(scope, document as u32)? {
                keys.extend(own.0.keys().map(String::as_str).filter(|key| !hidden(key)));
            }
        }
        let near = nearest(key, keys.iter().copied());
        let all: Vec<&str> = keys.into_iter().collect();
        let help = near.map_or_else(|| all.join(", "), |near| format!("did you mean `{near}`?"));
        let expected = format!("a key of the documents' metadata: {help}");
        Err(Error::invalid("--filter", format!("`{key}`"), expected))
    }

    /// Whether any passage of a document is readable.
    fn readable(&self, scope: &Scope, document: u32) -> Result<bool> {
        let record = self.passages().document(document)?;
        for block in record.first_block..record.first_block + record.blocks {
            let block = self.passages().block(block)?;
            let mut rows = block.first_row..block.first_row + block.passages;
            if rows.any(|row| scope.readable().contains(row)) {
                return Ok(true);
            }
        }
        Ok(false)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn metadata() -> Metadata {
        let mut metadata = Metadata::default();
        for (key, value) in [
            ("product", Value::List(vec![Value::Text("C-3".into()), Value::Text("T-7".into())])),
            ("weight", Value::Number(21.5)),
            ("revision", Value::Text("3".into())),
            ("effective_from", Value::from_text("2026-01-01")),
            ("effective_to", Value::from_text("2026-12-31")),
        ] {
            metadata.0.insert(key.to_owned(), value);
        }
        metadata
    }

    fn passes(written: &[&str]) -> bool {
        let mut filter = Filter::default();
        written.iter().for_each(|one| filter.add(one).unwrap());
        filter.passes("WARR-R2", &metadata())
    }

    #[test]
    fn values_sets_and_ranges() {
        assert!(
            passes(&["product=T-7"]) && passes(&["product=K-1, C-3"]) && !passes(&["product=K-1"])
        );
        assert!(passes(&["weight>=21.5"]) && !passes(&["weight>21.5"]) && passes(&["weight<22"]));
        assert!(passes(&["effective_from<=2026-06-01"]) && !passes(&["effective_from<2026-01-01"]));
        assert!(passes(&["id=WARR-R2", "weight<=22"]) && !passes(&["id=WARR-R1"]));
        assert!(passes(&["revision>=2"]) && !passes(&["revision>3"]) && !passes(&["product>1"]));
        assert!(!passes(&["absent=1"]) && !passes(&["weight>2026-01-01"]));
    }

    #[test]
    fn a_document_holds_from_its_first_to_its_last_day() {
        let on = |day: &str| {
            let mut filter = Filter::default();
            filter.as_of(day).unwrap();
            filter.passes("", &metadata())
        };
        assert!(on("2026-01-01") && on("2026-12-31") && !on("2025-12-31") && !on("2027-01-01"));
        assert!(Filter::default().as_of("2026-02-30").is_err());
        let mut filter = Filter::default();
        filter.as_of("1999-01-01").unwrap();
        assert!(filter.passes("", &Metadata::default()));
    }

    #[test]
    fn what_is_no_condition_is_refused() {
        for bad in ["product", "=x", "a=", "a=b,", ">3", "a>="] {
            assert!(Filter::default().add(bad).is_err(), "{bad}");
        }
    }
}
