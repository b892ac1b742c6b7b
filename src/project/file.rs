//! `atlas.toml`: its keys, their defaults, and the messages when one is wrong.

use std::fs;
use std::path::{Path, PathBuf};

use serde::Deserialize;

use crate::corpus::CorpusSettings;
use crate::error::{Error, Result, nearest};
use crate::index::GraphSettings;
use crate::{passage, search, text};

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
    /// How the corpus is read.
    pub reading: CorpusSettings,
    /// How documents are cut.
    pub passage: passage::Settings,
    /// How text becomes terms.
    pub text: text::Settings,
    /// The graph over the embeddings.
    pub graph: GraphSettings,
    /// How questions are answered.
    pub search: search::Settings,
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
            reading: CorpusSettings::default(),
            passage: passage::Settings::default(),
            text: text::Settings::default(),
            graph: GraphSettings::default(),
            search: search::Settings::default(),
        }
    }
}

impl ProjectFile {
    /// Reads `path`, then applies `overrides` (`KEY=VALUE`, the key dotted) over it; without a
    /// path, over the defaults.
    pub fn read(path: Option<&Path>, overrides: &[String]) -> Result<Self> {
        let text = match path {
            Some(path) => fs::read_to_string(path).map_err(|e| Error::io("reading", path, e))?,
            None => String::new(),
        };
        let shown = path.unwrap_or_else(|| Path::new(PROJECT_FILE));
        // The file alone first, so that its faults carry their lines.
        let file: Self =
            toml::from_str(&text).map_err(|fault| not_a_project(shown, &text, &fault))?;
        if overrides.is_empty() {
            return Ok(file);
        }
        let mut table: toml::Table =
            toml::from_str(&text).map_err(|fault| not_a_project(shown, &text, &fault))?;
        for written in overrides {
            apply(&mut table, written)?;
        }
        table.try_into().map_err(|fault: toml::de::Error| {
            let all = overrides.join(" ");
            let expected = format!("KEY=VALUE of atlas.toml: {}", plain(fault.message()));
            Error::invalid("--setting", format!("`{all}`"), expected)
        })
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

fn not_a_project(path: &Path, text: &str, fault: &toml::de::Error) -> Error {
    let line = fault.span().map(|span| {
        let before = text.get(..span.start).unwrap_or_default();
        before.bytes().filter(|byte| *byte == b'\n').count() as u64 + 1
    });
    Error::input(
        path,
        line,
        plain(fault.message()),
        "the keys are described in ARCHITECTURE.md, \"Settings\"",
    )
}

/// The parser's message, with the nearest key when one is unknown.
fn plain(message: &str) -> String {
    let message = message.trim().replace('\n', "; ");
    let quoted: Vec<&str> = message.split('`').skip(1).step_by(2).collect();
    if let ([word, keys @ ..], true) = (quoted.as_slice(), message.starts_with("unknown field")) {
        let near = nearest(word, keys.iter().copied());
        return near.map_or_else(
            || message.clone(),
            |near| format!("unknown key `{word}`; did you mean `{near}`?"),
        );
    }
    message
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
        assert!(
            said.starts_with(":4: unknown key `min_scor`; did you mean `min_score`?"),
            "{said}"
        );
    }

    #[test]
    fn settings_of_one_run_win_over_the_file() {
        let set = ["text.language=de".to_owned(), "search.k=7".to_owned()];
        let file = ProjectFile::read(None, &set).unwrap();
        assert_eq!((file.text.language.as_str(), file.search.k), ("de", 7));
        let wrong = ProjectFile::read(None, &["search.kk=7".to_owned()]).unwrap_err().to_string();
        assert!(wrong.contains("`search.kk=7`"), "{wrong}");
        assert!(ProjectFile::read(None, &["search".to_owned()]).is_err());
    }
}
