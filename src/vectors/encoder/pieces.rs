//! The tokenizer of an encoder, out of its `tokenizer.json`.
//!
//! Only BERT's tokenizer (uncased wordpieces) is known, as our own [`WordPiece`] has the same rules.
//! A file that asks for anything else is refused by name: other tokens would give vectors that look
//! like the model's and are not.

use std::borrow::Cow;
use std::path::Path;

use serde_json::{Value, json};

use crate::error::{Error, Result};
use crate::vectors::WordPiece;
use crate::vectors::embedder::Role;
use crate::vectors::model_settings::ModelSettings;
use crate::vectors::readable::Reading;

/// Where to look for a model that can be used.
const OTHER_MODEL: &str = "use a model of BERT's uncased wordpieces, such as all-MiniLM-L6-v2, e5-small-v2 or bge-small-en";

/// Texts to token ids.
#[derive(Debug)]
pub(super) struct Pieces {
    words: WordPiece,
    /// What stands before a question and before a passage: `[CLS]` and the prefix.
    starts: [Vec<i64>; 2],
    /// `[SEP]`.
    end: i64,
    max_tokens: usize,
}

impl Pieces {
    /// Reads the bytes of a `tokenizer.json`; `path` is for messages.
    pub(super) fn new(path: &Path, file: &[u8], settings: &ModelSettings) -> Result<Self> {
        let other = |problem: String| Error::input(path, None, problem, OTHER_MODEL);
        let file: Value =
            serde_json::from_slice(file).map_err(|e| other(format!("not JSON ({e})")))?;
        check_rules(&file).map_err(other)?;
        let vocabulary = vocabulary(&file["model"]["vocab"]).map_err(other)?;
        let words = WordPiece::new(path, Cow::Owned(vocabulary))?;
        let (first, end) = ends(&file["post_processor"])
            .ok_or_else(|| other("a text is not put between [CLS] and [SEP]".to_owned()))?;
        let start = |prefix: &str| {
            let ids = words.ids(prefix).into_iter().map(i64::from);
            std::iter::once(first).chain(ids).collect::<Vec<_>>()
        };
        let starts = [start(&settings.query_prefix), start(&settings.passage_prefix)];
        let longest = starts[0].len().max(starts[1].len());
        if longest + 2 > settings.max_tokens {
            let expected = format!("more than the {} tokens of the prefix", longest + 1);
            return Err(Error::invalid("model.max_tokens", settings.max_tokens, expected));
        }
        Ok(Self { words, starts, end, max_tokens: settings.max_tokens })
    }

    /// Number of ids; each is below it.
    pub(super) fn len(&self) -> usize {
        self.words.len()
    }

    /// The ids of a text, prefix and ends among them, at most `max_tokens`, and the share of the whole
    /// text that the vocabulary can read. No ids when the text has no words.
    pub(super) fn ids(&self, role: Role, text: &str) -> (Vec<i64>, f32) {
        let mut ids = self.starts[usize::from(role == Role::Passage)].clone();
        let (start, most) = (ids.len(), self.max_tokens - 1);
        let mut reading = Reading::default();
        self.words.words(text, |word| {
            let room = most.saturating_sub(ids.len());
            ids.extend(word.ids.iter().take(room).map(|id| i64::from(*id)));
            reading.add(&word);
        });
        if ids.len() == start {
            return (Vec::new(), 0.0);
        }
        ids.push(self.end);
        (ids, reading.share())
    }
}

/// What is not as BERT's uncased tokenizer has it, if anything is.
fn check_rules(file: &Value) -> Result<(), String> {
    let model = &file["model"];
    let rules = [
        ("model", &model["type"], json!("WordPiece")),
        ("normalizer", &file["normalizer"]["type"], json!("BertNormalizer")),
        ("pre_tokenizer", &file["pre_tokenizer"]["type"], json!("BertPreTokenizer")),
        ("normalizer.clean_text", &file["normalizer"]["clean_text"], json!(true)),
        (
            "normalizer.handle_chinese_chars",
            &file["normalizer"]["handle_chinese_chars"],
            json!(true),
        ),
        ("normalizer.lowercase", &file["normalizer"]["lowercase"], json!(true)),
        ("model.unk_token", &model["unk_token"], json!("[UNK]")),
        ("model.continuing_subword_prefix", &model["continuing_subword_prefix"], json!("##")),
        ("model.max_input_chars_per_word", &model["max_input_chars_per_word"], json!(100)),
    ];
    for (name, found, expected) in rules {
        if *found != expected {
            return Err(format!("its {name} is {found}; only {expected} is known"));
        }
    }
    // Without a word about accents they go where case goes.
    match &file["normalizer"]["strip_accents"] {
        Value::Null | Value::Bool(true) => Ok(()),
        found => Err(format!("its normalizer.strip_accents is {found}; only true is known")),
    }
}

/// The pieces in the order of their ids, a line each, as a `vocab.txt` has them.
fn vocabulary(pieces: &Value) -> Result<Vec<u8>, String> {
    let pieces = pieces.as_object().ok_or("it has no model.vocab")?;
    let mut lines: Vec<Option<&str>> = vec![None; pieces.len()];
    for (piece, id) in pieces {
        let place = id.as_u64().and_then(|id| usize::try_from(id).ok());
        match place.and_then(|place| lines.get_mut(place)) {
            Some(line @ None) if !piece.contains(['\n', '\r']) => *line = Some(piece),
            _ => return Err(format!("its piece {piece:?} has the id {id}, which cannot be")),
        }
    }
    let mut text = Vec::new();
    for line in lines.into_iter().flatten() {
        text.extend_from_slice(line.as_bytes());
        text.push(b'\n');
    }
    Ok(text)
}

/// The ids that stand before and behind every text; `None` when it is not one on each side.
fn ends(post: &Value) -> Option<(i64, i64)> {
    match post["type"].as_str()? {
        "BertProcessing" => Some((post["cls"][1].as_i64()?, post["sep"][1].as_i64()?)),
        "TemplateProcessing" => {
            let [first, text, last] = post["single"].as_array()?.as_slice() else { return None };
            text.get("Sequence")?;
            let id = |token: &Value| {
                let name = token["SpecialToken"]["id"].as_str()?;
                let [id] = post["special_tokens"][name]["ids"].as_array()?.as_slice() else {
                    return None;
                };
                id.as_i64()
            };
            Some((id(first)?, id(last)?))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tokenizer() -> Value {
        serde_json::from_str(include_str!("tokenizer.example.json")).unwrap()
    }

    fn pieces(file: &Value, settings: &ModelSettings) -> Result<Pieces> {
        Pieces::new(Path::new("tokenizer.json"), file.to_string().as_bytes(), settings)
    }

    #[test]
    fn a_text_stands_between_its_ends_behind_its_prefix_and_is_cut() {
        let settings = ModelSettings {
            query_prefix: "query: ".to_owned(),
            max_tokens: 6,
            ..ModelSettings::default()
        };
        let own = pieces(&tokenizer(), &settings).unwrap();
        assert_eq!(own.ids(Role::Passage, "Pumps").0, [1, 5, 6, 2]);
        assert_eq!(own.ids(Role::Query, "pump"), (vec![1, 4, 3, 5, 2], 1.0));
        assert_eq!(own.ids(Role::Query, "pumps pumps").0, [1, 4, 3, 5, 6, 2]);
        assert_eq!(own.ids(Role::Passage, "pump pumps pumps").0, [1, 5, 5, 6, 5, 2]);
        assert_eq!(own.ids(Role::Query, " \n"), (Vec::new(), 0.0));
        // The share is that of the text: the prefix, which the model knows, says nothing of it.
        assert_eq!(own.ids(Role::Query, "xyz").1, 0.0);
        let other = json!({"type": "BertProcessing", "sep": ["[SEP]", 2], "cls": ["[CLS]", 1]});
        let mut file = tokenizer();
        file["post_processor"] = other;
        assert_eq!(pieces(&file, &settings).unwrap().ids(Role::Passage, "pump").0, [1, 5, 2]);
        let short = ModelSettings { max_tokens: 4, ..settings };
        let said = pieces(&tokenizer(), &short).unwrap_err().to_string();
        assert_eq!(said, "model.max_tokens is 4; expected more than the 4 tokens of the prefix");
    }

    #[test]
    fn another_tokenizer_is_refused_by_name() {
        let changed = |pointer: &str, value: Value| {
            let mut file = tokenizer();
            *file.pointer_mut(pointer).unwrap() = value;
            let said = pieces(&file, &ModelSettings::default()).unwrap_err().to_string();
            assert!(said.ends_with(OTHER_MODEL), "{said}");
            said
        };
        let said = changed("/model/type", json!("Unigram"));
        assert!(said.contains(r#"its model is "Unigram"; only "WordPiece" is known"#), "{said}");
        assert!(changed("/normalizer/lowercase", json!(false)).contains("normalizer.lowercase"));
        assert!(changed("/normalizer/strip_accents", json!(false)).contains("strip_accents"));
        assert!(changed("/pre_tokenizer", json!(null)).contains("its pre_tokenizer is null"));
        assert!(changed("/post_processor/single", json!([])).contains("[CLS]"));
        assert!(changed("/model/vocab/pump", json!(4)).contains("which cannot be"));
        assert!(changed("/model/vocab/pump", json!(7)).contains("which cannot be"));
        assert!(changed("/model/vocab/pump", json!(-1)).contains("which cannot be"));
        let said = Pieces::new(Path::new("t"), b"{", &ModelSettings::default()).unwrap_err();
        assert!(said.to_string().contains("not JSON"), "{said}");
    }
}
