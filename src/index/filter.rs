//! Narrowing a search by metadata.

use std::cmp::Ordering;

use super::Index;
use super::columns::{Column, Columns};
use crate::access::{Bitmap, SECTIONS, Scope};
use crate::corpus::{Date, Value};
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
pub(super) const FROM: &str = "effective_from";

/// The key of the last day on which it holds.
pub(super) const TO: &str = "effective_to";

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

    /// The documents that pass; `find` gives the number of the document with an id.
    fn passing(
        &self,
        columns: &Columns,
        find: impl Fn(&str) -> Result<Option<u32>>,
    ) -> Result<Bitmap> {
        let all = columns.documents();
        let mut passing = self.as_of.map_or_else(|| Bitmap::all(all), |day| columns.holding(day));
        for Condition { key, test } in &self.conditions {
            let mut own = Bitmap::none(all);
            if let (Test::OneOf(ids), "id") = (test, key.as_str()) {
                for id in ids {
                    find(id)?.into_iter().for_each(|document| own.insert(document));
                }
            } else {
                let values = columns.get(key).into_iter().flat_map(Column::values);
                for entry in values.filter(|entry| test.passes(&entry.value)) {
                    entry.documents.iter().for_each(|&document| own.insert(document));
                }
            }
            passing = passing.and(&own);
        }
        Ok(passing)
    }
}

impl Test {
    /// Whether one value, of a list or alone, makes the condition hold.
    fn passes(&self, item: &Value) -> bool {
        match self {
            Self::OneOf(values) => values.iter().any(|value| item.is_written(value)),
            Self::Is(relation, bound) => relation.holds(compare(item, bound)),
        }
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
        let columns = self.columns()?;
        for condition in &filter.conditions {
            known_key(scope, &condition.key, columns)?;
        }
        let passing = filter.passing(columns, |id| self.passages().find(id))?;
        let rows = passing.iter().flat_map(|document| columns.rows(document));
        Ok(scope.narrowed(&Bitmap::of(self.manifest().passages as u32, rows)))
    }
}

/// Refuses a key that no document has of which `scope` may read anything.
fn known_key(scope: &Scope, key: &str, columns: &Columns) -> Result<()> {
    if key == "id" {
        return Ok(());
    }
    // The titles of classified sections stand in these keys, and may be closed like their text.
    let shown = |key: &str| {
        let readable = |document: &u32| {
            let mut rows = columns.rows(*document);
            rows.any(|row| scope.readable().contains(row))
        };
        !key.starts_with(SECTIONS)
            && columns.get(key).is_some_and(|column| column.documents.iter().any(readable))
    };
    if shown(key) {
        return Ok(());
    }
    let all: Vec<&str> = columns.keys().filter(|key| shown(key)).collect();
    let near = nearest(key, all.iter().copied());
    let help = near.map_or_else(|| all.join(", "), |near| format!("did you mean `{near}`?"));
    let expected = format!("a key of the documents' metadata: {help}");
    Err(Error::invalid("--filter", format!("`{key}`"), expected))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::corpus::Metadata;

    /// Metadata of these keys.
    fn metadata(entries: &[(&str, Value)]) -> Metadata {
        Metadata(entries.iter().map(|(key, value)| ((*key).to_owned(), value.clone())).collect())
    }

    /// Which of four documents, with one row each but the second, which has none, pass `filter`.
    fn passing(filter: &Filter) -> Vec<u32> {
        let text = |text: &str| Value::Text(text.into());
        let days = |from, to| {
            [("effective_from", Value::from_text(from)), ("effective_to", Value::from_text(to))]
        };
        let warranty = [
            ("product", Value::List(vec![text("C-3"), text("T-7"), text("C-3")])),
            ("weight", Value::Number(21.5)),
            ("revision", text("3")),
        ];
        let documents = [
            metadata(&[&warranty[..], &days("2026-01-01", "2026-12-31")].concat()),
            metadata(&[("product", text("T-7")), ("weight", Value::from_text("heavy"))]),
            metadata(&[("product", Value::List(Vec::new())), ("effective_from", text("ever"))]),
            metadata(&[("product", text("K-1")), ("weight", Value::Number(22.0))]),
        ];
        let first_rows = [0, 1, 1, 2];
        let all = first_rows.into_iter().zip(documents).map(Ok);
        let columns = Columns::of(all, 3).unwrap();
        assert_eq!((0..4).map(|d| columns.rows(d)).collect::<Vec<_>>(), [0..1, 1..1, 1..2, 2..3]);
        assert_eq!(columns.get("product").unwrap().documents, [0, 1, 2, 3]);
        let find = |id: &str| (0..).zip(["A", "B", "C", "D"]).find(|(_, own)| *own == id);
        let found = filter.passing(&columns, |id| Ok(find(id).map(|(number, _)| number)));
        found.unwrap().iter().collect()
    }

    fn written(conditions: &[&str]) -> Vec<u32> {
        let mut filter = Filter::default();
        conditions.iter().for_each(|one| filter.add(one).unwrap());
        passing(&filter)
    }

    #[test]
    fn values_sets_and_ranges() {
        assert_eq!(written(&["product=T-7"]), [0, 1]);
        assert_eq!(written(&["product=K-1, C-3"]), [0, 3]);
        assert_eq!(written(&["weight>=21.5"]), [0, 3]);
        assert_eq!(written(&["weight>21.5"]), [3]);
        assert_eq!(written(&["weight<22"]), [0]);
        assert_eq!(written(&["weight=heavy"]), [1]);
        assert_eq!(written(&["effective_from<=2026-06-01"]), [0]);
        assert!(written(&["effective_from<2026-01-01"]).is_empty());
        assert_eq!(written(&["id=D, A, X", "weight<=22"]), [0, 3]);
        assert!(written(&["id=B", "weight<=22"]).is_empty());
        assert_eq!(written(&["revision>=2"]), [0]);
        assert!(written(&["revision>3"]).is_empty() && written(&["product>1"]).is_empty());
        assert!(written(&["absent=1"]).is_empty() && written(&["weight>2026-01-01"]).is_empty());
    }

    #[test]
    fn a_document_holds_from_its_first_to_its_last_day() {
        let on = |day: &str, conditions: &[&str]| {
            let mut filter = Filter::default();
            conditions.iter().for_each(|one| filter.add(one).unwrap());
            filter.as_of(day).unwrap();
            passing(&filter)
        };
        for inside in ["2026-01-01", "2026-12-31"] {
            assert_eq!(on(inside, &[]), [0, 1, 2, 3]);
            assert_eq!(on(inside, &["product=T-7"]), [0, 1]);
        }
        for outside in ["2025-12-31", "2027-01-01"] {
            assert_eq!(on(outside, &[]), [1, 2, 3]);
            assert_eq!(on(outside, &["product=T-7"]), [1]);
        }
        assert!(Filter::default().as_of("2026-02-30").is_err());
    }

    #[test]
    fn what_is_no_condition_is_refused() {
        for bad in ["product", "=x", "a=", "a=b,", ">3", "a>="] {
            assert!(Filter::default().add(bad).is_err(), "{bad}");
        }
    }
}
