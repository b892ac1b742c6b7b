//! Question sets: what is asked, and what would answer it.
//!
//! Two forms are read. A YAML file of ours (`evals/README.md` has the schema) judges blocks in
//! groups: all groups are needed, any unit of a group will do. A folder in BEIR layout judges
//! documents with grades. Both become a [`QuestionSet`], and everything downstream sees only that.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use serde_saphyr::Spanned;

use super::judgments::Judgments;
use super::labels::Hashes;
use super::trec;
use super::written::{Entry, OneOrMany, lists, values, yaml};
use crate::error::{Error, Result, complaint};

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
    /// The hash that each judged unit had when it was judged; empty where none is recorded.
    pub hashes: Hashes,
    /// Where it came from, for one that was taken from a usage log.
    pub origin: Option<Origin>,
    /// The line of its file, from 1.
    pub line: u64,
}

/// The request of a usage log that became a question.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Origin {
    /// When it was asked: seconds since 1970.
    pub asked_at_s: u64,
    /// Digest of the index that answered.
    pub index: String,
    /// Fingerprint of the corpus of that day; `unknown` when the log does not tell.
    pub corpus: String,
    /// What had arrived: references of the context, best first.
    pub arrived: Vec<String>,
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
    kinds: Option<Vec<String>>,
    questions: Vec<Spanned<Written>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Written {
    id: String,
    question: String,
    kind: OneOrMany,
    relevant: Option<Vec<OneOrMany>>,
    supporting: Option<Vec<OneOrMany>>,
    expect: Option<Expect>,
    unscoreable: Option<String>,
    #[serde(default)]
    grades: BTreeMap<String, i32>,
    #[serde(default)]
    hashes: Hashes,
    #[serde(default)]
    reference: String,
    #[serde(default, rename = "notes")]
    _notes: String,
    #[serde(default)]
    filter: BTreeMap<String, OneOrMany>,
    asker: Option<String>,
    standing_miss: Option<String>,
    origin: Option<Origin>,
    /// Of expected answers alone: named here, so that such a file is a question set too.
    #[serde(default)]
    misleading: Vec<String>,
    #[serde(rename = "expected_fail")]
    _expected_fail: Option<String>,
}

/// The answer expected of a question: of interest here is only whether there is one.
#[derive(Deserialize)]
struct Expect {
    #[serde(default)]
    abstains: bool,
}

/// What an entry of a set is called in faults.
const WORD: &str = "question";

/// Keys at the top of a set.
const KEYS: [&str; 3] = ["corpus", "kinds", "questions"];

impl QuestionSet {
    /// Reads the set at `path`: a YAML file, or a folder in BEIR layout.
    pub fn read(path: &Path) -> Result<Self> {
        if !path.exists() {
            let help = "write one (the schema is in evals/README.md), or name one with --set FILE";
            return Err(Error::input(path, None, "there is no question set here", help));
        }
        if path.is_dir() { read_beir(path) } else { read_yaml(path) }
    }

    /// Refuses judgments on units that do not exist: `exists` says whether one does, and `units`
    /// lists those that could have been meant.
    pub fn check(
        &self,
        exists: impl Fn(&str) -> Result<bool>,
        units: impl Fn() -> Result<Vec<String>>,
    ) -> Result<()> {
        for question in &self.questions {
            let entry = Entry { path: &self.path, word: WORD, line: question.line };
            entry.exist(&question.id, question.judgments.units(), &exists, &units)?;
        }
        Ok(())
    }
}

fn read_yaml(path: &Path) -> Result<QuestionSet> {
    let text =
        fs::read_to_string(path).map_err(|e| Error::reading("reading question set", path, e))?;
    let file: File = yaml(&text).map_err(|fault| not_a_set(path, &text, &fault))?;
    if file.kinds.is_none() && !file.questions.iter().all(|one| one.value.expect.is_some()) {
        let help = "list every kind that a question may have";
        return Err(Error::input(path, None, "the key `kinds` is missing", help));
    }
    let mut seen = BTreeMap::new();
    let mut questions = Vec::with_capacity(file.questions.len());
    for spanned in file.questions {
        let entry = Entry { path, word: WORD, line: spanned.referenced.line() };
        let question = question(entry, spanned.value, file.kinds.as_deref())?;
        entry.fresh(&question.id, &mut seen)?;
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
fn not_a_set(path: &Path, text: &str, fault: &serde_saphyr::Error) -> Error {
    let bare = |line: &str| line.trim().is_empty() || line.trim_start().starts_with('#');
    if text.lines().all(bare) {
        let help = "it needs corpus, kinds and questions";
        return Error::input(path, None, "the file is empty", help);
    }
    let states = |line: &str| {
        let line = line.trim_start_matches(['{', '"']);
        KEYS.iter().any(|key| line.starts_with(key))
    };
    if !text.lines().any(states) {
        let help = "expected the keys corpus, kinds and questions";
        return Error::input(path, None, "it is no question set", help);
    }
    let place = fault.location();
    let before = place.and_then(|place| {
        let line = text.lines().nth((place.line() as usize).checked_sub(1)?)?;
        Some(line.chars().take((place.column() as usize).saturating_sub(1)).collect::<String>())
    });
    let (problem, meant) = complaint(&fault.to_string(), &before.unwrap_or_default());
    let schema = "the schema is in evals/README.md";
    let line = place.map(|place| place.line());
    Error::input(path, line, problem, meant.as_deref().unwrap_or(schema))
}

fn question(entry: Entry<'_>, written: Written, kinds: Option<&[String]>) -> Result<Question> {
    let own = written.kind.into_vec();
    let abstains = written.expect.as_ref().map(|expect| expect.abstains);
    let needs = Needs {
        id: &written.id,
        relevant: written.relevant.map(lists),
        supporting: written.supporting.map(lists),
        abstains,
        unscoreable: written.unscoreable,
        grades: &written.grades,
        reason: own.first().map_or("unanswerable", String::as_str),
    };
    let (judgments, unscoreable) = needs.judged(entry)?;
    let id = written.id;
    entry.named(&id, &written.question, "an id and a text")?;
    entry.kinds(&id, &own, kinds)?;
    let judged: Vec<&str> =
        judgments.units().chain(written.misleading.iter().map(String::as_str)).collect();
    entry.hashes(&id, &written.hashes, &judged)?;
    Ok(Question {
        id,
        question: written.question,
        kinds: own,
        judgments,
        unscoreable,
        reference: written.reference,
        filter: values(written.filter),
        asker: written.asker,
        standing_miss: written.standing_miss,
        hashes: written.hashes,
        origin: written.origin,
        line: entry.line,
    })
}

/// What a question says of its evidence.
struct Needs<'w> {
    id: &'w str,
    relevant: Option<Vec<Vec<String>>>,
    supporting: Option<Vec<Vec<String>>>,
    abstains: Option<bool>,
    unscoreable: Option<String>,
    grades: &'w BTreeMap<String, i32>,
    /// Why nothing answers, for one that is to be declined.
    reason: &'w str,
}

impl Needs<'_> {
    /// What answers the question, or why nothing can.
    fn judged(self, entry: Entry<'_>) -> Result<(Judgments, Option<String>)> {
        let id = self.id;
        let groups = match (self.relevant, self.supporting, self.abstains, self.unscoreable) {
            (Some(groups), None, None, None) | (None, Some(groups), Some(false), None)
                if !groups.is_empty() =>
            {
                groups
            }
            (None, None, None, Some(reason)) if !reason.trim().is_empty() => {
                return Ok((Judgments::default(), Some(reason)));
            }
            (None, None, Some(true), None) => {
                return Ok((Judgments::default(), Some(self.reason.to_owned())));
            }
            (.., Some(_), _) => {
                let problem = format!(
                    "question {id} with `expect` must have either `supporting`, not empty, or `abstains: true`"
                );
                return entry.fault(problem, "say what an answer needs, or that there is none");
            }
            _ => {
                let problem = format!(
                    "question {id} must have either `relevant`, not empty, or `unscoreable`"
                );
                return entry.fault(problem, "say what answers it, or why nothing can");
            }
        };
        let told = (" in its evidence", "name each unit once, in one group");
        entry.once(id, groups.iter().flatten(), told)?;
        if let Some((unit, grade)) = self.grades.iter().find(|(_, grade)| **grade < 0) {
            let problem = format!("question {id} grades `{unit}` with {grade}");
            let help = "expected a whole number from 0, which is judged and not relevant";
            return entry.fault(problem, help);
        }
        let judgments = Judgments::from_groups(groups)
            .and_then(|made| made.with_grades(self.grades.iter().map(|(u, g)| (u.clone(), *g))))
            .map_err(|e| {
                Error::input(entry.path, Some(entry.line), format!("question {id}: {e}"), "")
            })?;
        Ok((judgments, None))
    }
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
    if !path.exists() {
        let help = "name a YAML file or a BEIR folder";
        return Err(Error::input(folder, None, "it is a folder without queries.jsonl", help));
    }
    let text =
        fs::read_to_string(&path).map_err(|e| Error::reading("reading question set", &path, e))?;
    let qrels_path = folder.join("qrels").join("test.tsv");
    if !qrels_path.exists() {
        let help = "write the judgments there, a line being `question<tab>unit<tab>grade`";
        return Err(Error::input(qrels_path, None, "there is no such file", help));
    }
    let qrels = trec::read_beir_qrels(&qrels_path)?;
    let mut questions = Vec::new();
    let mut seen = BTreeMap::new();
    for (at, written) in text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty()) {
        let line = at as u64 + 1;
        let query: BeirQuery = serde_json::from_str(written).map_err(|e| {
            let (problem, _) = complaint(&e.to_string(), "");
            let help = "write one JSON object a line with `_id` and `text`";
            Error::input(&path, Some(line), format!("it is no question: {problem}"), help)
        })?;
        Entry { path: &path, word: WORD, line }.fresh(&query.id, &mut seen)?;
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
            hashes: Hashes::new(),
            origin: None,
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
    fn grades_and_hashes_are_read_and_held_to_what_is_judged() {
        let one = |rest: &str| {
            format!(
                "{HEAD}  - id: a\n    question: W\n    kind: table\n    relevant: [A-1, [B-1, B-2]]\n{rest}"
            )
        };
        let set = read(&one(
            "    grades: { A-1: 3, C-1: 1, D-1: 0 }\n    hashes: { B-1: \"0123456789abcdef\" }\n",
        ))
        .unwrap();
        let question = &set.questions[0];
        assert_eq!(question.judgments.ideal_gains(), [3.0, 1.0, 1.0]);
        assert_eq!(question.judgments.not_relevant(), 2);
        assert_eq!(question.hashes["B-1"], "0123456789abcdef");
        for (rest, expected) in [
            (
                "    grades: { A-1: 0 }\n",
                ":4: question a: the grade of A-1, which is listed as evidence, is 0",
            ),
            (
                "    grades: { X-1: -1 }\n",
                ":4: question a grades `X-1` with -1; expected a whole number from 0",
            ),
            ("    grades: { X-1: high }\n", ":8: "),
            (
                "    hashes: { B-3: \"0123456789abcdef\" }\n",
                ":4: question a has a hash of `B-3`, which it does not judge; did you",
            ),
            (
                "    hashes: { B-1: \"0123\" }\n",
                ":4: question a: the hash of `B-1` is `0123`; expected 16 hexadecimal",
            ),
        ] {
            let said = fault(&one(rest));
            assert!(said.starts_with(expected), "{said}");
        }
    }

    #[test]
    fn questions_with_expected_answers_are_read_as_they_are() {
        let set = read(
            "corpus: c\nquestions:\n  - id: a\n    question: W\n    asker: x\n    kind: direct\n    \
             expect: { must_contain: [y] }\n    supporting: [[A-1, B-1], C-1]\n  - id: b\n    question: V\n    \
             kind: permission\n    expect: { abstains: true }\n",
        )
        .unwrap();
        assert_eq!(set.questions[0].judgments.groups().len(), 2);
        assert_eq!(set.questions[1].unscoreable.as_deref(), Some("permission"));
        let said = fault("corpus: c\nquestions:\n  - {id: a, question: W, kind: k, expect: {}}\n");
        assert!(said.starts_with(":3: question a with `expect` must have either"), "{said}");
        let said =
            fault("corpus: c\nquestions:\n  - {id: a, question: W, kind: k, unscoreable: x}\n");
        assert!(said.starts_with(": the key `kinds` is missing"), "{said}");
    }

    #[test]
    fn a_set_that_is_not_there_names_the_way_out() {
        let folder = tempfile::tempdir().unwrap();
        let said = QuestionSet::read(&folder.path().join("no.yaml")).unwrap_err().to_string();
        assert!(said.contains("no.yaml: there is no question set here; write one"), "{said}");
        let said = QuestionSet::read(folder.path()).unwrap_err().to_string();
        let expected = "it is a folder without queries.jsonl; name a YAML file or a BEIR folder";
        assert!(said.ends_with(expected), "{said}");
    }

    #[test]
    fn faults_name_the_line_and_the_way_out() {
        let text =
            format!("{HEAD}  - id: a\n    question: Why?\n    kind: table\n    relevent: [A-1]\n");
        assert_eq!(fault(&text), ":7: unknown key `relevent`; did you mean `relevant`?");
        let said = fault(&format!("{HEAD}  - {{id: a, question: W, kind: {{b: c}}}}\n"));
        let expected = ":4: what stands here must be a text or a list of texts;";
        assert!(said.starts_with(expected), "{said}");
        let keys = "corpus, kinds and questions";
        assert_eq!(fault("# later\n"), format!(": the file is empty; it needs {keys}"));
        for other in ["# Pumps\n\nA pump.\n", "a: 1\n", "- corpus\n", "7\n"] {
            let expected = format!(": it is no question set; expected the keys {keys}");
            assert_eq!(fault(other), expected, "{other}");
        }
        for twice in ["[A, A]", "[[A, B], [C, A]]", "[[A, A]]"] {
            let one = format!("  - {{id: a, question: W, kind: table, relevant: {twice}}}\n");
            let said = fault(&format!("{HEAD}{one}"));
            assert!(said.starts_with(":4: question a names `A` twice in its evidence"), "{said}");
        }
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
