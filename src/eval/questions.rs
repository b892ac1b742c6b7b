//! Question sets: what is asked, and what would answer it.
//!
//! Two forms are read. A YAML file of ours (`evals/README.md` has the schema) judges blocks in
//! groups: all groups are needed, any unit of a group will do. A folder in BEIR layout judges
//! documents with grades. Both become a [`QuestionSet`], and everything downstream sees only that.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use serde::Deserialize;
use serde_saphyr::Spanned;

use super::judgments::Judgments;
use super::trec;
use crate::error::{Error, Result, nearest};

/// A question with its judgments.
#[derive(Debug, Clone)]
pub struct Question {
    /// Its id, unique in the set.
    pub id: String,
    /// What is asked.
    pub question: String,
    /// What it is hard for; counted in each.
    pub kinds: Vec<String>,
    /// What answers it.
    pub judgments: Judgments,
    /// Why nothing can, when nothing can.
    pub unscoreable: Option<String>,
    /// The right answer in words; empty when none is recorded.
    pub reference: String,
    /// Metadata that the asker has set: key and the values of which one is enough.
    pub filter: BTreeMap<String, Vec<String>>,
    /// Who asks; `None` for the project's default asker.
    pub asker: Option<String>,
    /// Why a known miss stays, when one does.
    pub standing_miss: Option<String>,
    /// The line of its file, from 1.
    pub line: u64,
}

/// The questions of one file or folder.
#[derive(Debug, Clone)]
pub struct QuestionSet {
    /// Its name in reports: the file's stem, or the folder's name.
    pub name: String,
    /// Where it was read.
    pub path: PathBuf,
    /// Hash of what was read, for receipts.
    pub hash: String,
    /// Whether every judgment names a document, as public sets do: then lists fold to documents.
    pub by_document: bool,
    /// The questions, in the order of the file.
    pub questions: Vec<Question>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    #[serde(rename = "corpus")]
    _corpus: String,
    kinds: Vec<String>,
    questions: Vec<Spanned<Written>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Written {
    id: String,
    question: String,
    kind: OneOrMany,
    relevant: Option<Vec<OneOrMany>>,
    unscoreable: Option<String>,
    #[serde(default)]
    reference: String,
    #[serde(default, rename = "notes")]
    _notes: String,
    #[serde(default)]
    filter: BTreeMap<String, OneOrMany>,
    asker: Option<String>,
    standing_miss: Option<String>,
}

/// Keys that a question may have, for the suggestion when one is misspelt.
const KEYS: [&str; 13] = [
    "corpus",
    "kinds",
    "questions",
    "id",
    "question",
    "kind",
    "relevant",
    "unscoreable",
    "reference",
    "notes",
    "filter",
    "asker",
    "standing_miss",
];

#[derive(Deserialize)]
#[serde(untagged)]
enum OneOrMany {
    One(String),
    Many(Vec<String>),
}

impl OneOrMany {
    fn into_vec(self) -> Vec<String> {
        match self {
            Self::One(one) => vec![one],
            Self::Many(many) => many,
        }
    }
}

impl QuestionSet {
    /// Reads the set at `path`: a YAML file, or a folder in BEIR layout.
    pub fn read(path: &Path) -> Result<Self> {
        if path.is_dir() { read_beir(path) } else { read_yaml(path) }
    }

    /// Refuses judgments on units that do not exist: `exists` says whether one does, and `units`
    /// lists those that could have been meant.
    pub fn check(
        &self,
        exists: impl Fn(&str) -> Result<bool>,
        units: impl FnOnce() -> Result<Vec<String>>,
    ) -> Result<()> {
        for question in &self.questions {
            for unit in question.judgments.groups().iter().flatten() {
                if exists(unit)? {
                    continue;
                }
                let units = units()?;
                let near = nearest(unit, units.iter().map(String::as_str));
                let help = near.map_or_else(
                    || "name a document, block or passage of the corpus".to_owned(),
                    |near| format!("did you mean `{near}`?"),
                );
                let problem =
                    format!("question {} names `{unit}`, which is not in the index", question.id);
                return Err(Error::input(&self.path, Some(question.line), problem, help));
            }
        }
        Ok(())
    }
}

fn read_yaml(path: &Path) -> Result<QuestionSet> {
    let text = fs::read_to_string(path).map_err(|e| Error::io("reading question set", path, e))?;
    let options = serde_saphyr::options! { with_snippet: false, strict_booleans: true };
    let file: File = serde_saphyr::from_str_with_options(&text, options)
        .map_err(|fault| not_a_set(path, &fault))?;
    let mut seen = BTreeMap::new();
    let mut questions = Vec::with_capacity(file.questions.len());
    for spanned in file.questions {
        let line = spanned.referenced.line();
        let question = question(path, line, spanned.value, &file.kinds)?;
        if let Some(first) = seen.insert(question.id.clone(), line) {
            let problem = format!("question {} stands here and on line {first}", question.id);
            return Err(Error::input(path, Some(line), problem, "give each an id of its own"));
        }
        questions.push(question);
    }
    if questions.is_empty() {
        return Err(Error::input(path, None, "it holds no question", "write at least one"));
    }
    let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
    let hash = blake3::hash(text.as_bytes()).to_hex().to_string();
    Ok(QuestionSet { name, path: path.to_owned(), hash, by_document: false, questions })
}

/// The parser's complaint with its line and, for a misspelt key, the nearest one.
fn not_a_set(path: &Path, fault: &serde_saphyr::Error) -> Error {
    let line = fault.location().map(|place| place.line());
    let message = fault.to_string();
    let message = message.lines().next().unwrap_or_default();
    let message = message.split(" at line ").next().unwrap_or(message).to_owned();
    let unknown = message.split_once("unknown field `").and_then(|(_, rest)| rest.split_once('`'));
    let near = unknown.and_then(|(word, _)| nearest(word, KEYS));
    let help = near.map_or_else(
        || "the schema is in evals/README.md".to_owned(),
        |near| format!("did you mean `{near}`?"),
    );
    Error::input(path, line, message, help)
}

fn question(path: &Path, line: u64, written: Written, kinds: &[String]) -> Result<Question> {
    let fault = |problem: String, help: &str| Err(Error::input(path, Some(line), problem, help));
    let id = written.id;
    if id.trim().is_empty() || written.question.trim().is_empty() {
        return fault("a question needs an id and a text".to_owned(), "write both");
    }
    let own = written.kind.into_vec();
    for kind in &own {
        if !kinds.contains(kind) {
            let near = nearest(kind, kinds.iter().map(String::as_str));
            let help = near.map_or_else(
                || "add it to `kinds` at the top of the file".to_owned(),
                |near| format!("did you mean `{near}`?"),
            );
            return fault(
                format!("question {id} has kind `{kind}`, which `kinds` does not list"),
                &help,
            );
        }
    }
    let judgments = match (written.relevant, &written.unscoreable) {
        (Some(groups), None) if !groups.is_empty() => {
            Judgments::from_groups(groups.into_iter().map(OneOrMany::into_vec))
                .map_err(|e| Error::input(path, Some(line), format!("question {id}: {e}"), ""))?
        }
        (None, Some(_)) => Judgments::default(),
        _ => {
            let problem =
                format!("question {id} must have either `relevant`, not empty, or `unscoreable`");
            return fault(problem, "say what answers it, or why nothing can");
        }
    };
    Ok(Question {
        id,
        question: written.question,
        kinds: own,
        judgments,
        unscoreable: written.unscoreable,
        reference: written.reference,
        filter: written.filter.into_iter().map(|(key, value)| (key, value.into_vec())).collect(),
        asker: written.asker,
        standing_miss: written.standing_miss,
        line,
    })
}

#[derive(Deserialize)]
struct BeirQuery {
    #[serde(rename = "_id")]
    id: String,
    text: String,
    #[serde(default)]
    answer: Option<String>,
}

/// Reads `queries.jsonl` and `qrels/test.tsv`. Questions without a judgment are left out, as every
/// harness for this layout does; one whose judgments are all zero is unscoreable.
fn read_beir(folder: &Path) -> Result<QuestionSet> {
    let path = folder.join("queries.jsonl");
    let text =
        fs::read_to_string(&path).map_err(|e| Error::io("reading question set", &path, e))?;
    let qrels_path = folder.join("qrels").join("test.tsv");
    let qrels = trec::read_beir_qrels(&qrels_path)?;
    let mut questions = Vec::new();
    let mut seen = BTreeMap::new();
    for (at, written) in text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty()) {
        let line = at as u64 + 1;
        let query: BeirQuery = serde_json::from_str(written).map_err(|e| {
            Error::input(
                &path,
                Some(line),
                format!("it is no question: {e}"),
                "see the BEIR layout",
            )
        })?;
        if let Some(first) = seen.insert(query.id.clone(), line) {
            let problem = format!("question {} stands here and on line {first}", query.id);
            return Err(Error::input(&path, Some(line), problem, "give each an id of its own"));
        }
        let Some(judgments) = qrels.judgments(&query.id, 1) else { continue };
        let unscoreable = (!judgments.is_scoreable()).then(|| "no relevant document".to_owned());
        questions.push(Question {
            id: query.id,
            question: query.text,
            kinds: Vec::new(),
            judgments,
            unscoreable,
            reference: query.answer.unwrap_or_default(),
            filter: BTreeMap::new(),
            asker: None,
            standing_miss: None,
            line,
        });
    }
    if questions.is_empty() {
        let problem = "no question of it has a judgment in qrels/test.tsv";
        return Err(Error::input(path, None, problem, "check the ids of both files"));
    }
    let qrels_bytes = fs::read(&qrels_path).map_err(|e| Error::io("reading", &qrels_path, e))?;
    let mut hash = blake3::Hasher::new();
    hash.update(text.as_bytes()).update(&qrels_bytes);
    let full = folder.canonicalize().unwrap_or_else(|_| folder.to_owned());
    let name = full.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let hash = hash.finalize().to_hex().to_string();
    Ok(QuestionSet { name, path: folder.to_owned(), hash, by_document: true, questions })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<QuestionSet> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("set.yaml");
        fs::write(&path, text).unwrap();
        QuestionSet::read(&path)
    }

    fn fault(text: &str) -> String {
        let message = read(text).unwrap_err().to_string();
        message.split_once("set.yaml").unwrap().1.to_owned()
    }

    const HEAD: &str = "corpus: c\nkinds: [table, exact-code]\nquestions:\n";

    #[test]
    fn groups_kinds_and_filters_are_read() {
        let set = read(&format!(
            "{HEAD}  - id: a\n    question: Why?\n    kind: [table]\n    relevant: [A-1, [B-1, B-2]]\n    \
             filter: {{ product: T-7 }}\n"
        ))
        .unwrap();
        let question = &set.questions[0];
        assert_eq!(question.judgments.groups().len(), 2);
        assert_eq!(question.judgments.groups()[1], ["B-1", "B-2"]);
        assert_eq!(question.filter["product"], ["T-7"]);
        assert_eq!(question.line, 4);
    }

    #[test]
    fn faults_name_the_line_and_the_way_out() {
        let text =
            format!("{HEAD}  - id: a\n    question: Why?\n    kind: table\n    relevent: [A-1]\n");
        let said = fault(&text);
        assert!(
            said.contains("unknown field `relevent`") && said.contains("did you mean `relevant`?"),
            "{said}"
        );
        assert!(said.starts_with(":7: "), "{said}");
        let said =
            fault(&format!("{HEAD}  - {{id: a, question: W, kind: tabel, relevant: [A]}}\n"));
        assert_eq!(
            said,
            ":4: question a has kind `tabel`, which `kinds` does not list; did you mean `table`?"
        );
        let said = fault(&format!("{HEAD}  - {{id: a, question: W, kind: table}}\n"));
        assert!(
            said.contains("must have either `relevant`, not empty, or `unscoreable`"),
            "{said}"
        );
        let one = "  - {id: a, question: W, kind: table, unscoreable: x}\n";
        assert_eq!(
            fault(&format!("{HEAD}{one}{one}")),
            ":5: question a stands here and on line 4; give each an id of its own"
        );
    }
}
