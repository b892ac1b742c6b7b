//! Expected answers: `questions.yaml`, what is asked with what an answer must and must not say.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use serde_saphyr::Spanned;

use super::labels::Hashes;
use super::written::{Entry, OneOrMany, lists, values, yaml};
use crate::error::{Error, Result, complaint};

/// A file of cases.
#[derive(Debug, Clone)]
pub struct Expectations {
    /// Its name in reports: the file's stem.
    pub name: String,
    /// Where it was read.
    pub path: PathBuf,
    /// Hash of what was read, for receipts.
    pub hash: String,
    /// The cases, in the order of the file.
    pub cases: Vec<Case>,
}

/// A question with what is expected of its answer.
#[derive(Debug, Clone, PartialEq)]
pub struct Case {
    /// Its id, unique in the file.
    pub id: String,
    /// What is asked.
    pub question: String,
    /// Who asks; `None` for the project's default asker.
    pub asker: Option<String>,
    /// What it is hard for; counted in each.
    pub kinds: Vec<String>,
    /// What an answer must be.
    pub expect: Expect,
    /// Evidence that an answer needs: all of the groups, any unit of a group.
    pub supporting: Vec<Vec<String>>,
    /// Units that must not arrive: they answer as well, and differently, so that the question has
    /// become ambiguous.
    pub misleading: Vec<String>,
    /// Metadata that the asker has set.
    pub filter: BTreeMap<String, Vec<String>>,
    /// Why the case is known to fail, when it is. It fails the run only when it starts to pass.
    pub expected_fail: Option<String>,
    /// The hash that each unit had when it was named; empty where none is recorded.
    pub hashes: Hashes,
    /// The line of its file, from 1.
    pub line: u64,
}

/// What an answer must be.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Expect {
    /// Whether it must decline; then it needs nothing of what follows but `must_not_contain`.
    pub abstains: bool,
    /// Whether evidence alone is judged, and no answer.
    pub evidence_only: bool,
    /// Phrases, of each inner list at least one.
    pub must_contain: Vec<Vec<String>>,
    /// Sources that it must name.
    pub must_cite: Vec<Cite>,
    /// Phrases of which it must have none.
    pub must_not_contain: Vec<String>,
}

/// A source that an answer must name: by title, by id, or by either with a revision.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Cite {
    /// A document's title or id, or a block's reference.
    Name(String),
    /// A document's title or id with its revision, where titles do not tell versions apart.
    Version(Version),
}

/// A version of a document.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Version {
    /// The document's title or id.
    pub document: String,
    /// Its revision, as it stands in the document.
    pub revision: String,
}

impl std::fmt::Display for Cite {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Name(name) => out.write_str(name),
            Self::Version(version) => write!(out, "{}, {}", version.document, version.revision),
        }
    }
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
    asker: Option<String>,
    kind: OneOrMany,
    expect: WrittenExpect,
    #[serde(default)]
    supporting: Vec<OneOrMany>,
    #[serde(default)]
    misleading: Vec<String>,
    #[serde(default)]
    filter: BTreeMap<String, OneOrMany>,
    expected_fail: Option<String>,
    #[serde(default)]
    hashes: Hashes,
    #[serde(default, rename = "notes")]
    _notes: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct WrittenExpect {
    #[serde(default)]
    abstains: bool,
    #[serde(default)]
    evidence: bool,
    #[serde(default)]
    must_contain: Vec<OneOrMany>,
    #[serde(default)]
    must_cite: Vec<Cite>,
    #[serde(default)]
    must_not_contain: Vec<String>,
}

/// What an entry of the file is called in faults.
const WORD: &str = "case";

/// Where the form of the file is described.
const SCHEMA: &str = "the form is described in evals/README.md, \"Expected answers\"";

impl Expectations {
    /// Reads the file at `path`: unknown keys, repeated ids, and cases that demand nothing are errors
    /// with their lines.
    pub fn read(path: &Path) -> Result<Self> {
        let text = fs::read_to_string(path).map_err(|e| match e.kind() {
            std::io::ErrorKind::NotFound => {
                let help = "write one (its form is described in evals/README.md, \"Expected answers\"), or name one with --set FILE";
                Error::input(path, None, "there is no such file of expected answers", help)
            }
            _ => Error::reading("reading expected answers", path, e),
        })?;
        let file: File = yaml(&text).map_err(|fault| {
            let line = fault.location().map(|place| place.line());
            let (problem, meant) = complaint(&fault.to_string(), "");
            Error::input(path, line, problem, meant.as_deref().unwrap_or(SCHEMA))
        })?;
        let mut seen: BTreeMap<String, u64> = BTreeMap::new();
        let mut cases = Vec::with_capacity(file.questions.len());
        for spanned in file.questions {
            let entry = Entry { path, word: WORD, line: spanned.referenced.line() };
            let case = case(entry, spanned.value, file.kinds.as_deref())?;
            entry.fresh(&case.id, &mut seen)?;
            cases.push(case);
        }
        if cases.is_empty() {
            return Err(Error::input(path, None, "it holds no case", "write at least one"));
        }
        let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        let hash = blake3::hash(text.as_bytes()).to_hex().to_string();
        Ok(Self { name, path: path.to_owned(), hash, cases })
    }

    /// Refuses cases whose evidence, or whose misleading units, are not there: `exists` says whether
    /// a unit is, and `all` lists those that could have been meant.
    pub fn check(
        &self,
        exists: impl Fn(&str) -> Result<bool>,
        all: impl Fn() -> Result<Vec<String>>,
    ) -> Result<()> {
        for case in &self.cases {
            let entry = Entry { path: &self.path, word: WORD, line: case.line };
            // A unit with a hash was there once: that it is gone is told as a stale label.
            let units = case.units().filter(|unit| !case.hashes.contains_key(*unit));
            entry.exist(&case.id, units, &exists, &all)?;
        }
        Ok(())
    }
}

impl Case {
    /// The units that it names, as evidence or as misleading.
    pub fn units(&self) -> impl Iterator<Item = &str> {
        self.supporting.iter().flatten().chain(&self.misleading).map(String::as_str)
    }
}

fn case(entry: Entry<'_>, written: Written, kinds: Option<&[String]>) -> Result<Case> {
    let id = written.id;
    entry.named(&id, &written.question, "an id and a question")?;
    let own = written.kind.into_vec();
    entry.kinds(&id, &own, kinds)?;
    let expect = Expect {
        abstains: written.expect.abstains,
        evidence_only: written.expect.evidence,
        must_contain: lists(written.expect.must_contain),
        must_cite: written.expect.must_cite,
        must_not_contain: written.expect.must_not_contain,
    };
    let supporting = lists(written.supporting);
    if let Some(problem) = contradiction(&expect, &supporting) {
        return entry.fault(format!("case {id} {problem}"), SCHEMA);
    }
    let phrases = expect.must_contain.iter().flatten().chain(&expect.must_not_contain);
    for phrase in phrases {
        if super::phrases::tokens(phrase).is_empty() {
            return entry.fault(
                format!("case {id} demands `{phrase}`, in which there is no word"),
                "write a word or a number",
            );
        }
    }
    let units = supporting.iter().flatten().chain(&written.misleading);
    entry.once(&id, units.clone(), ("", "name each unit once"))?;
    let judged: Vec<&str> = units.map(String::as_str).collect();
    entry.hashes(&id, &written.hashes, &judged)?;
    Ok(Case {
        id,
        question: written.question,
        asker: written.asker,
        kinds: own,
        expect,
        supporting,
        misleading: written.misleading,
        filter: values(written.filter),
        expected_fail: written.expected_fail,
        hashes: written.hashes,
        line: entry.line,
    })
}

/// What keeps a case from being judged.
fn contradiction(expect: &Expect, supporting: &[Vec<String>]) -> Option<&'static str> {
    let demands = !expect.must_contain.is_empty() || !expect.must_cite.is_empty();
    if supporting.iter().any(Vec::is_empty) || expect.must_contain.iter().any(Vec::is_empty) {
        return Some("has an empty list, which nothing can satisfy");
    }
    match (expect.abstains, expect.evidence_only) {
        (true, true) => Some("both abstains and asks for evidence"),
        (true, false) if demands => Some("abstains and demands something of an answer"),
        (true, false) if !supporting.is_empty() => Some("abstains and has supporting evidence"),
        (false, true) if demands || !expect.must_not_contain.is_empty() => {
            Some("judges evidence alone and demands something of an answer")
        }
        (false, false) if !demands => Some("demands nothing, so it could not fail"),
        (false, _) if supporting.is_empty() => {
            Some("names no supporting evidence, so its failure could not be explained")
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<Expectations> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("questions.yaml");
        fs::write(&path, text).unwrap();
        Expectations::read(&path)
    }

    fn fault(case: &str) -> String {
        let text = format!("corpus: c\nkinds: [table]\nquestions:\n  - {{{case}}}\n");
        let message = read(&text).unwrap_err().to_string();
        message.split_once("questions.yaml").unwrap().1.to_owned()
    }

    #[test]
    fn a_case_is_read_whole() {
        let set = read(
            "corpus: c\nquestions:\n  - id: a\n    question: Why?\n    kind: [table, x]\n    \
             asker: ada\n    expect:\n      must_contain: [b, [c, d]]\n      \
             must_cite: [T, {document: T, revision: R4}]\n      must_not_contain: [e]\n    \
             supporting: [A-1, [B-1, B-2]]\n    misleading: [C-1]\n    filter: {product: T-7}\n    \
             expected_fail: not built\n    notes: n\n",
        )
        .unwrap();
        let case = &set.cases[0];
        assert_eq!(case.expect.must_contain, [vec!["b"], vec!["c", "d"]]);
        let named: Vec<String> = case.expect.must_cite.iter().map(ToString::to_string).collect();
        assert_eq!(named, ["T", "T, R4"]);
        assert_eq!(case.supporting, [vec!["A-1"], vec!["B-1", "B-2"]]);
        assert_eq!((case.line, case.expected_fail.as_deref()), (3, Some("not built")));
    }

    #[test]
    fn faults_name_the_line_and_the_way_out() {
        let all = "id: a, question: W, kind: table";
        let cases = [
            (
                format!("{all}, expect: {{must_contian: [x]}}"),
                ":4: unknown key `must_contian`; did you mean `must_contain`?",
            ),
            (format!("{all}, expect: {{abstains: yes}}"), ":4: invalid boolean"),
            (format!("{all}, expect: {{}}"), ":4: case a demands nothing, so it could not fail"),
            (
                format!("{all}, expect: {{abstains: true}}, supporting: [A]"),
                ":4: case a abstains and has supporting evidence",
            ),
            (
                format!("{all}, expect: {{abstains: true, must_cite: [A]}}"),
                ":4: case a abstains and demands something of an answer",
            ),
            (
                format!("{all}, expect: {{must_contain: [x]}}"),
                ":4: case a names no supporting evidence",
            ),
            (
                format!("{all}, expect: {{must_contain: ['-']}}, supporting: [A]"),
                ":4: case a demands `-`, in which there is no word",
            ),
            (
                format!("{all}, expect: {{must_contain: [x]}}, supporting: [A, [B, A]]"),
                ":4: case a names `A` twice",
            ),
            (
                "id: a, question: W, kind: tabel, expect: {abstains: true}".to_owned(),
                ":4: case a has kind `tabel`, which `kinds` does not list; did you mean `table`?",
            ),
        ];
        for (case, expected) in cases {
            let said = fault(&case);
            assert!(said.starts_with(expected), "{case}\n{said}");
        }
        let twice = "corpus: c\nquestions:\n  - {id: a, question: W, kind: t, expect: {abstains: true}}\n  - {id: a, question: W, kind: t, expect: {abstains: true}}\n";
        assert!(
            read(twice).unwrap_err().to_string().contains(":4: case a stands here and on line 3")
        );
    }
}
