//! JSON by its keys: what a program that reads it can count on.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

/// Every path of `value` with the kinds of what stands there, one a line; `[]` is any item of a list.
pub fn shape(value: &Value) -> String {
    let mut paths = BTreeMap::new();
    walk(value, String::new(), &mut paths);
    let lines = paths.iter().map(|(path, kinds)| {
        let kinds: Vec<&str> = kinds.iter().copied().collect();
        format!("{path}: {}\n", kinds.join(" or "))
    });
    lines.collect()
}

fn walk(value: &Value, path: String, paths: &mut BTreeMap<String, BTreeSet<&'static str>>) {
    let kind = match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(_) => "number",
        Value::String(_) => "text",
        Value::Array(items) => {
            for item in items {
                walk(item, format!("{path}[]"), paths);
            }
            if items.is_empty() { "nothing" } else { return }
        }
        Value::Object(fields) => {
            for (key, inner) in fields {
                let dot = if path.is_empty() { "" } else { "." };
                walk(inner, format!("{path}{dot}{key}"), paths);
            }
            if fields.is_empty() { "nothing" } else { return }
        }
    };
    paths.entry(path).or_default().insert(kind);
}

/// Fails unless every path of `wanted`, white space between them, exists in `value`; a path through
/// a list must hold for all its items.
pub fn demand(value: &Value, wanted: &str) {
    for path in wanted.split_whitespace() {
        let found = holds(value, path);
        assert!(found > 0, "nothing stands at {path}");
    }
}

/// How many values stand at `path`.
fn holds(value: &Value, path: &str) -> usize {
    if path.is_empty() {
        return 1;
    }
    if let Some(rest) = path.strip_prefix("[]") {
        let items = value.as_array().unwrap_or_else(|| panic!("no list before {path}: {value}"));
        return items.iter().map(|item| holds(item, rest.trim_start_matches('.'))).sum();
    }
    let end = path.find(['.', '[']).unwrap_or(path.len());
    let (key, rest) = path.split_at(end);
    let inner = value.get(key).unwrap_or_else(|| panic!("no `{key}` in {value}"));
    holds(inner, rest.trim_start_matches('.'))
}

#[test]
fn a_shape_unites_the_items_of_a_list() {
    let value = serde_json::json!({ "a": [{ "b": 1 }, { "b": null, "c": "x" }], "d": [] });
    assert_eq!(shape(&value), "a[].b: null or number\na[].c: text\nd: nothing\n");
    demand(&value, "a[].b d");
    assert!(std::panic::catch_unwind(|| demand(&value, "a[].c")).is_err());
}
