//! Whether a recorded measurement comes out the same when it is run again.

use std::fs;
use std::path::Path;

use serde_json::Value;

use crate::error::{Error, Result, complaint};

/// What running a receipt again brought.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Reproduced {
    /// Every byte of the numbers is the same.
    Same {
        /// How many bytes were compared.
        bytes: usize,
    },
    /// The receipts are equal and the numbers are not: something that decides them is not in the
    /// receipt, or the engine does not keep its promise.
    Differs {
        /// The first byte that differs, counted from 0.
        byte: usize,
        /// What stands around it in the record.
        recorded: String,
        /// What stands there now.
        now: String,
    },
    /// It was measured on something else, so that nothing can be said: the parts of the receipt that
    /// differ.
    OtherGround(Vec<String>),
}

/// Compares the measurement recorded at `path`, by `measure` or `scorecard` with `--format json`, with
/// `now`, of the same form. Times are no part of it.
pub fn reproduce(path: &Path, now: &Value) -> Result<Reproduced> {
    let text = fs::read_to_string(path).map_err(|e| Error::reading("reading a record", path, e))?;
    let fault = |line, problem: String| {
        let help = "write one with `atlas measure --format json > FILE`";
        Error::input(path, line, format!("it is no recorded measurement: {problem}"), help)
    };
    let recorded: Value = serde_json::from_str(&text)
        .map_err(|why| fault(Some(why.line() as u64), complaint(&why.to_string(), "").0))?;
    let (Some(before), Some(sets)) = (recorded["receipt"].as_object(), recorded.get("sets")) else {
        return Err(fault(None, "it holds no receipt and no sets".to_owned()));
    };
    if before.get("id") != now["receipt"].get("id") {
        let differs = |(key, value): (&String, &Value)| {
            (*key != "id" && Some(value) != now["receipt"].get(key)).then(|| key.clone())
        };
        return Ok(Reproduced::OtherGround(before.iter().filter_map(differs).collect()));
    }
    // A reader of JSON may be off by the last bit of a number, so both sides are read once.
    let read_again: Value = serde_json::from_str(&now["sets"].to_string()).unwrap_or_default();
    Ok(bytes(&sets.to_string(), &read_again.to_string()))
}

/// Bytes shown on either side of the first one that differs.
const AROUND: usize = 30;

fn bytes(recorded: &str, now: &str) -> Reproduced {
    let same = recorded.bytes().zip(now.bytes()).take_while(|(a, b)| a == b).count();
    if same == recorded.len() && same == now.len() {
        return Reproduced::Same { bytes: same };
    }
    let around = |text: &str| {
        let from = text.floor_char_boundary(same.saturating_sub(AROUND));
        let to = text.floor_char_boundary((same + AROUND).min(text.len()));
        text.get(from..to).unwrap_or_default().to_owned()
    };
    Reproduced::Differs { byte: same, recorded: around(recorded), now: around(now) }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn of(recorded: &Value, now: &Value) -> Result<Reproduced> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("before.json");
        fs::write(&path, recorded.to_string()).unwrap();
        reproduce(&path, now)
    }

    #[test]
    fn the_first_byte_that_differs_is_named() {
        let measured = |hit: f64, id: &str, corpus: &str| {
            json!({
                "receipt": { "id": id, "corpus": corpus, "model": "m" },
                "sets": [{ "means": { "hit": hit } }],
                "timing": hit,
            })
        };
        let before = measured(0.5, "a", "c");
        assert_eq!(of(&before, &before).unwrap(), Reproduced::Same { bytes: 23 });
        let differs = of(&before, &measured(0.75, "a", "c")).unwrap();
        let Reproduced::Differs { byte, recorded, now } = differs else { panic!("{differs:?}") };
        assert_eq!(
            (byte, recorded.ends_with("0.5}}]"), now.ends_with("0.75}}]")),
            (19, true, true)
        );
        let other = of(&before, &measured(0.5, "b", "d")).unwrap();
        assert_eq!(other, Reproduced::OtherGround(vec!["corpus".to_owned()]));
        let said = of(&json!({}), &before).unwrap_err().to_string();
        assert!(said.contains("it holds no receipt and no sets"), "{said}");
    }

    #[test]
    fn a_letter_of_several_bytes_is_not_cut() {
        let long = "ä".repeat(40);
        let found = bytes(&format!("{long}1"), &format!("{long}2"));
        let Reproduced::Differs { byte, recorded, .. } = found else { panic!("they differ") };
        assert_eq!(byte, 80);
        assert!(recorded.ends_with("ä1"));
    }
}
