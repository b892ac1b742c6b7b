//! `atlas.toml`: its keys, their defaults, and the messages when one is wrong.

use std::collections::BTreeSet;
use std::fs;
use std::ops::Range;
use std::path::{Path, PathBuf};

use serde::Deserialize;
use toml::de::{DeTable, DeValue};

use crate::corpus::{CorpusSettings, VectorSettings};
use crate::error::{Error, Result, complaint};
use crate::index::{GraphSettings, LayerSettings};
use crate::vectors::ModelSettings;
use crate::{answer, passage, search, text};

use super::shrink::BuildSettings;

/// The file's name.
pub const PROJECT_FILE: &str = "atlas.toml";

/// The value of `access` that opens everything to everyone.
pub const OPEN: &str = "open";

/// Everything that `atlas.toml` may say. Paths are relative to its folder.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ProjectFile {
    /// The folder of documents. Default: the project's folder.
    pub corpus: PathBuf,
    /// Where indexes are written. Default `index/local`; `.atlas` in a folder without `atlas.toml`.
    pub index: PathBuf,
    /// The folder of question sets. Default `evals`.
    pub evals: PathBuf,
    /// Who may read what: `open`, everyone reads everything, or the path of a policy. Default `open`.
    pub access: String,
    /// The file of askers, for a project with a policy. Default `users.yaml` in `evals`.
    pub askers: Option<PathBuf>,
    /// Who asks when `--as` names nobody; without it, under a policy, nothing is visible.
    pub default_asker: Option<String>,
    /// File that gets one JSON line a request; off when absent.
    pub usage_log: Option<PathBuf>,
    /// Whether the log holds a keyed hash in place of the asker's id. Default false.
    pub usage_log_pseudonyms: bool,
    /// Days that the log keeps; older lines go as new ones are written. Default: it keeps all.
    pub usage_log_days: Option<u32>,
    /// How the corpus is read.
    pub reading: CorpusSettings,
    /// The embeddings that the documents bring, where the built-in model makes none.
    pub vectors: VectorSettings,
    /// How documents are cut.
    pub passage: passage::Settings,
    /// How text becomes terms.
    pub text: text::Settings,
    /// Which model embeds.
    pub model: ModelSettings,
    /// The graph over the embeddings.
    pub graph: GraphSettings,
    /// What builds may drop and what they keep.
    pub build: BuildSettings,
    /// How much may lie beside the base before all is written anew.
    pub layers: LayerSettings,
    /// How questions are answered.
    pub search: search::Settings,
    /// How answers are made of what a search brought.
    pub answer: answer::Settings,
    /// The keys of `[search]` that were written down, and are no defaults.
    #[serde(skip)]
    stated: BTreeSet<String>,
}

impl Default for ProjectFile {
    fn default() -> Self {
        Self {
            corpus: PathBuf::from("."),
            index: PathBuf::from("index/local"),
            evals: PathBuf::from("evals"),
            access: OPEN.to_owned(),
            askers: None,
            default_asker: None,
            usage_log: None,
            usage_log_pseudonyms: false,
            usage_log_days: None,
            reading: CorpusSettings::default(),
            vectors: VectorSettings::default(),
            passage: passage::Settings::default(),
            text: text::Settings::default(),
            model: ModelSettings::default(),
            graph: GraphSettings::default(),
            build: BuildSettings::default(),
            layers: LayerSettings::default(),
            search: search::Settings::default(),
            answer: answer::Settings::default(),
            stated: BTreeSet::new(),
        }
    }
}

impl ProjectFile {
    /// Reads `path`, then applies `overrides` (`KEY=VALUE`, the key dotted) over it; without a
    /// path, over the defaults.
    pub fn read(path: Option<&Path>, overrides: &[String]) -> Result<Self> {
        let text = match path {
            Some(path) => {
                fs::read_to_string(path).map_err(|e| Error::reading("reading", path, e))?
            }
            None => String::new(),
        };
        let shown = path.unwrap_or_else(|| Path::new(PROJECT_FILE));
        // The file alone first, so that its faults carry their lines.
        let file: Self =
            toml::from_str(&text).map_err(|fault| not_a_project(shown, &text, &fault))?;
        let mut table: toml::Table =
            toml::from_str(&text).map_err(|fault| not_a_project(shown, &text, &fault))?;
        let mut set = file;
        for written in overrides {
            apply(&mut table, written)?;
            // One after the other, so that the one at fault is known.
            set = table
                .clone()
                .try_into()
                .map_err(|fault: toml::de::Error| not_a_setting(written, fault.message()))?;
        }
        let search = table.get("search").and_then(toml::Value::as_table);
        set.stated = search.map(|keys| keys.keys().cloned().collect()).unwrap_or_default();
        Ok(set)
    }

    /// Puts what suits an encoder in the place of defaults that were found with the model in the program;
    /// what is stated stays.
    pub(super) fn suit_an_encoder(&mut self) {
        let own = search::Settings::with_encoder();
        let keys = [
            ("alpha", &mut self.search.alpha, own.alpha),
            ("readable_from", &mut self.search.readable_from, own.readable_from),
            ("readable_full", &mut self.search.readable_full, own.readable_full),
        ];
        for (key, value, suited) in keys {
            if !self.stated.contains(key) {
                *value = suited;
            }
        }
    }
}

/// Sets one dotted key of `table`.
fn apply(table: &mut toml::Table, written: &str) -> Result<()> {
    let bad = || {
        Error::invalid("--setting", format!("`{written}`"), "KEY=VALUE, such as text.language=de")
    };
    let (key, value) = written.split_once('=').ok_or_else(bad)?;
    let value = format!("value = {value}")
        .parse::<toml::Table>()
        .ok()
        .and_then(|mut parsed| parsed.remove("value"))
        .unwrap_or_else(|| toml::Value::String(value.to_owned()));
    let mut at = table;
    let mut keys = key.trim().split('.').peekable();
    while let Some(key) = keys.next() {
        if key.is_empty() {
            return Err(bad());
        }
        if keys.peek().is_none() {
            at.insert(key.to_owned(), value);
            return Ok(());
        }
        let inner = at.entry(key).or_insert_with(|| toml::Value::Table(toml::Table::new()));
        at = inner.as_table_mut().ok_or_else(bad)?;
    }
    Ok(())
}

/// Where an unknown key is not near any.
const KEYS: &str = "the keys are described in ARCHITECTURE.md, \"Settings\"";

/// The fault of `KEY=VALUE`, which a parser complained about with `message`.
fn not_a_setting(written: &str, message: &str) -> Error {
    let (key, value) = written.split_once('=').unwrap_or((written, ""));
    if let Some(expected) = expected(message) {
        return Error::invalid(key.trim(), format!("`{}`", value.trim()), expected);
    }
    let (_, meant) = complaint(message, "");
    let help = meant.as_deref().unwrap_or(KEYS);
    Error::invalid("--setting", format!("`{written}`"), format!("a key of atlas.toml; {help}"))
}

fn not_a_project(path: &Path, text: &str, fault: &toml::de::Error) -> Error {
    let message = fault.message().trim();
    let span = fault.span().unwrap_or_default();
    let before = text.get(..span.start).unwrap_or_default();
    let line =
        fault.span().map(|_| before.bytes().filter(|byte| *byte == b'\n').count() as u64 + 1);
    let found = text.get(span.clone()).unwrap_or_default();
    if let Some(expected) = expected(message) {
        let key = DeTable::parse(text).ok().and_then(|table| key_at(table.get_ref(), &span));
        let key = key.unwrap_or_else(|| "the value".to_owned());
        let found = if found.contains('\n') { "of another kind" } else { found };
        return Error::input(
            path,
            line,
            format!("{key} is {found}"),
            format!("expected {expected}"),
        );
    }
    if message == "duplicate key" {
        let problem = format!("the key `{}` stands here a second time", found.trim());
        return Error::input(path, line, problem, "keep one of them");
    }
    if message.starts_with("unknown field") || message.starts_with("missing field") {
        let (problem, meant) = complaint(message, "");
        return Error::input(path, line, problem, meant.as_deref().unwrap_or(KEYS));
    }
    let message = message.lines().collect::<Vec<_>>().join(", ");
    Error::input(path, line, format!("it is not TOML: {message}"), "")
}

/// The dotted key whose value stands at `span`, or that of the list of which it is an item.
fn key_at(table: &DeTable<'_>, span: &Range<usize>) -> Option<String> {
    table.iter().find_map(|(key, value)| {
        let key = key.get_ref();
        let here = || Some(key.to_string()).filter(|_| value.span() == *span);
        match value.get_ref() {
            DeValue::Table(inner) => {
                here().or_else(|| key_at(inner, span).map(|inner| format!("{key}.{inner}")))
            }
            DeValue::Array(items) => {
                let item = items.iter().position(|item| item.span() == *span);
                here().or_else(|| item.map(|at| format!("{key}[{at}]")))
            }
            _ => here(),
        }
    })
}

/// What a value of the wrong kind should have been; `None` when the parser complains of other things.
fn expected(message: &str) -> Option<String> {
    let wrong = ["invalid type", "invalid value", "unknown variant"];
    let start = wrong.into_iter().find(|start| message.starts_with(start))?;
    let wanted = message.lines().next()?.rsplit_once(", expected ")?.1;
    if start == "unknown variant" {
        return Some(wanted_words(message));
    }
    Some(match wanted {
        "usize" | "u64" | "u32" if start == "invalid value" => {
            "a whole number, 0 or more".to_owned()
        }
        "usize" | "u64" | "u32" => "a whole number".to_owned(),
        "f64" | "f32" => "a number".to_owned(),
        "path string" => "a path in quotes".to_owned(),
        "a string" => "a text in quotes".to_owned(),
        "a sequence" => "a list, such as [\"evals/\"]".to_owned(),
        "a boolean" => "true or false".to_owned(),
        // The name of a type of ours is none of the writer's business.
        _ if wanted.starts_with("struct ") => "a table of keys".to_owned(),
        other => other.to_owned(),
    })
}

/// The words of ``unknown variant `x`, expected one of `a`, `b` ``, as a list.
fn wanted_words(message: &str) -> String {
    let mut words: Vec<String> =
        message.split('`').skip(3).step_by(2).map(|word| format!("\"{word}\"")).collect();
    match words.pop() {
        Some(last) if !words.is_empty() => format!("{} or {last}", words.join(", ")),
        last => last.unwrap_or_default(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fault(text: &str) -> String {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(PROJECT_FILE);
        fs::write(&path, text).unwrap();
        let message = ProjectFile::read(Some(&path), &[]).unwrap_err().to_string();
        message.split_once("atlas.toml").unwrap().1.to_owned()
    }

    #[test]
    fn a_misspelt_key_is_named_with_its_line() {
        let said = fault("corpus = \"docs\"\n\n[search]\nmin_scor = 0.3\n");
        assert_eq!(said, ":4: unknown key `min_scor`; did you mean `min_score`?");
        assert_eq!(fault("corpus = \"docs\"\nzzz = 1\n"), format!(":2: unknown key `zzz`; {KEYS}"));
        let said = fault("corpus = \"a\"\ncorpus = \"b\"\n");
        assert_eq!(said, ":2: the key `corpus` stands here a second time; keep one of them");
    }

    #[test]
    fn a_value_of_the_wrong_kind_is_named_by_its_key() {
        let cases = [
            ("[search]\nk = \"five\"", ":2: search.k is \"five\"; expected a whole number"),
            ("search.k = 2.5", ":1: search.k is 2.5; expected a whole number"),
            ("[search]\nk = -1", ":2: search.k is -1; expected a whole number, 0 or more"),
            ("search = { bm25 = { b = [] } }", ":1: search.bm25.b is []; expected a number"),
            ("corpus = 5", ":1: corpus is 5; expected a path in quotes"),
            ("[corpus]\na = 1", ":1: corpus is [corpus]; expected a path in quotes"),
            ("default_asker = 5", ":1: default_asker is 5; expected a text in quotes"),
            (
                "[reading]\nexclude = \"evals\"",
                ":2: reading.exclude is \"evals\"; expected a list, such as [\"evals/\"]",
            ),
            (
                "reading.exclude = [\"a\",\n7]",
                ":2: reading.exclude[1] is 7; expected a text in quotes",
            ),
            ("usage_log_pseudonyms = 1", ":1: usage_log_pseudonyms is 1; expected true or false"),
            (
                "search.dense = \"fast\"",
                ":1: search.dense is \"fast\"; expected \"auto\", \"exact\" or \"graph\"",
            ),
            ("search = 5", ":1: search is 5; expected a table of keys"),
        ];
        for (text, expected) in cases {
            assert_eq!(fault(text), expected, "{text}");
        }
    }

    #[test]
    fn an_encoder_has_a_weight_of_its_own_unless_one_is_stated() {
        let weight = |text: &str, set: &[&str]| {
            let folder = tempfile::tempdir().unwrap();
            let path = folder.path().join(PROJECT_FILE);
            fs::write(&path, text).unwrap();
            let set: Vec<String> = set.iter().map(|set| (*set).to_owned()).collect();
            let mut file = ProjectFile::read(Some(&path), &set).unwrap();
            file.suit_an_encoder();
            (file.search.alpha, file.search.readable_from, file.search.readable_full)
        };
        let own = search::Settings::with_encoder();
        let suited = (own.alpha, own.readable_from, own.readable_full);
        assert_eq!(weight("", &[]), suited);
        assert_eq!(weight("search.k = 3", &["search.depth=50"]), suited);
        assert_eq!(weight("search.alpha = 0.6", &[]), (0.6, suited.1, suited.2));
        assert_eq!(weight("[search]\nk = 3", &["search.alpha=0.3"]), (0.3, suited.1, suited.2));
        assert_eq!(weight("search.readable_full = 0.9", &[]), (suited.0, suited.1, 0.9));
    }

    #[test]
    fn a_file_that_is_no_toml_says_so() {
        assert_eq!(fault("[search\n"), ":1: it is not TOML: unclosed table, expected `]`");
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(PROJECT_FILE);
        fs::write(&path, b"corpus = \"d\xff\"\n").unwrap();
        let said = ProjectFile::read(Some(&path), &[]).unwrap_err().to_string();
        assert!(said.ends_with("atlas.toml: it is not UTF-8; save it as UTF-8"), "{said}");
    }

    #[test]
    fn settings_of_one_run_win_over_the_file() {
        let set = ["text.language=de".to_owned(), "search.k=7".to_owned()];
        let file = ProjectFile::read(None, &set).unwrap();
        assert_eq!((file.text.language.as_str(), file.search.k), ("de", 7));
        let wrong = ProjectFile::read(None, &["search.kk=7".to_owned()]).unwrap_err().to_string();
        assert_eq!(
            wrong,
            "--setting is `search.kk=7`; expected a key of atlas.toml; did you mean `k`?"
        );
        let set = ["search.alpha=0.5".to_owned(), "search.k=many".to_owned()];
        let wrong = ProjectFile::read(None, &set).unwrap_err().to_string();
        assert_eq!(wrong, "search.k is `many`; expected a whole number");
        assert!(ProjectFile::read(None, &["search".to_owned()]).is_err());
    }
}
