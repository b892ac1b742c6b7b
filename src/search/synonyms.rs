//! Words of a trade that say the same: a file of the project, put to use when a question is asked.
//!
//! ```text
//! # The left side is asked, the right side is meant as well.
//! RMA => return merchandise authorization
//! rush => expedited, same day
//! # Each is meant when any other is asked.
//! pick ticket, picking slip
//! ```
//!
//! One rule a line; `#` begins a line of remarks. A side of several words is asked when they follow one
//! another in the question, stop words left out, and is held by a passage that holds them all. The asked
//! words always count in full; what stands for them counts `search.synonym_weight` of that at most (see
//! [`crate::lexical::Group`]). Rules are not chained: what is meant brings nothing further.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};
use crate::lexical::Group;
use crate::text::Analyzer;

/// How a rule looks, for messages.
const RULE: &str = "write `asked => meant, meant` or `one, other`";

/// The file of synonyms that `search.synonyms` names, with its rules once it was read. By default there
/// is none.
///
/// It is written in `atlas.toml` as a path, and in a receipt as the path with the hash of the file:
/// other rules are another receipt.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(from = "PathBuf")]
pub struct Synonyms {
    file: PathBuf,
    /// BLAKE3 of the file; empty until it is read.
    hash: String,
    #[serde(skip)]
    rules: Arc<Vec<Rule>>,
}

/// One line of the file.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Rule {
    line: u64,
    asked: Vec<String>,
    meant: Vec<String>,
    /// Whether each side is meant by the other.
    mutual: bool,
}

impl From<PathBuf> for Synonyms {
    fn from(file: PathBuf) -> Self {
        Self { file, ..Self::default() }
    }
}

impl Synonyms {
    /// Whether no file is named.
    pub fn is_none(&self) -> bool {
        self.file.as_os_str().is_empty()
    }

    /// The file, as it is named.
    pub fn file(&self) -> &Path {
        &self.file
    }

    /// Reads the file, whose path is relative to `folder`. Does nothing when none is named.
    ///
    /// # Errors
    ///
    /// The file cannot be read, or a line of it is no rule.
    pub fn read(&mut self, folder: &Path) -> Result<()> {
        if self.is_none() {
            return Ok(());
        }
        let path = folder.join(&self.file);
        let text = fs::read_to_string(&path)
            .map_err(|e| Error::reading("reading the synonyms", &path, e))?;
        self.rules = Arc::new(parse(&path, &text)?);
        self.hash = blake3::hash(text.as_bytes()).to_hex().to_string();
        Ok(())
    }

    /// The rules in terms of `analyzer`.
    pub(super) fn compile(&self, analyzer: &Analyzer) -> Result<Rules> {
        if !self.is_none() && self.hash.is_empty() {
            let expected = "a file that was read: call `Synonyms::read` first";
            return Err(Error::invalid("search.synonyms", self.file.display(), expected));
        }
        let mut rules = Rules::default();
        for rule in self.rules.iter() {
            let terms = |side: &String| -> Result<(Vec<String>, String)> {
                let terms = analyzer.question(side);
                if terms.is_empty() {
                    let problem = format!("`{side}` holds no word that can be searched");
                    return Err(Error::input(&self.file, Some(rule.line), problem, RULE));
                }
                Ok((terms, side.clone()))
            };
            let asked = rule.asked.iter().map(terms).collect::<Result<Vec<_>>>()?;
            let meant = rule.meant.iter().map(terms).collect::<Result<Vec<_>>>()?;
            for (from, _) in &asked {
                let to = if rule.mutual { &asked } else { &meant };
                // Forms of one word are one term, and nothing to add.
                for (terms, written) in to.iter().filter(|(terms, _)| terms != from) {
                    rules.add(from, terms, written);
                }
            }
        }
        Ok(rules)
    }
}

/// The rules of a file by the terms that are asked.
#[derive(Debug, Default)]
pub(super) struct Rules {
    by_asked: BTreeMap<Vec<String>, Vec<Meant>>,
    longest: usize,
}

/// What is meant as well: its terms, and how it is written.
#[derive(Debug, Clone, PartialEq)]
struct Meant {
    terms: Vec<String>,
    written: String,
}

impl Rules {
    fn add(&mut self, asked: &[String], terms: &[String], written: &str) {
        let mut terms = terms.to_vec();
        let mut seen = std::collections::BTreeSet::new();
        terms.retain(|term| seen.insert(term.clone()));
        let known = self.by_asked.entry(asked.to_vec()).or_default();
        if !known.iter().any(|meant| meant.terms == terms) {
            known.push(Meant { terms, written: written.to_owned() });
        }
        self.longest = self.longest.max(asked.len());
    }

    /// The groups of a question of `terms`, in its order, and how they are told. Runs do not overlap: from the left the longest is taken.
    pub(super) fn groups(&self, terms: &[String], weight: f64) -> (Vec<Group>, Vec<String>) {
        let (mut groups, mut told) = (Vec::new(), Vec::new());
        let mut at = 0;
        while at < terms.len() {
            let most = self.longest.min(terms.len() - at);
            let found = (1..=most).rev().find_map(|length| {
                let run = &terms[at..at + length];
                self.by_asked.get(run).map(|meant| (run, meant))
            });
            let Some((run, meant)) = found else {
                at += 1;
                continue;
            };
            let written: Vec<&str> = meant.iter().map(|meant| meant.written.as_str()).collect();
            told.push(format!("{} = {}", run.join(" "), written.join(", ")));
            groups.push(Group {
                asked: run.to_vec(),
                instead: meant.iter().map(|meant| meant.terms.clone()).collect(),
                weight,
            });
            at += run.len();
        }
        (groups, told)
    }
}

fn parse(path: &Path, text: &str) -> Result<Vec<Rule>> {
    let mut rules = Vec::new();
    for (at, written) in text.lines().enumerate() {
        let written = written.trim_start_matches('\u{feff}').trim();
        if written.is_empty() || written.starts_with('#') {
            continue;
        }
        let line = at as u64 + 1;
        let fault =
            |problem: &str| Error::input(path, Some(line), format!("`{written}` {problem}"), RULE);
        let words = |side: &str| -> Vec<String> {
            side.split(',').map(|word| word.trim().to_owned()).collect()
        };
        let sides: Vec<&str> = written.split("=>").collect();
        let rule = match sides[..] {
            [all] => Rule { line, asked: words(all), meant: Vec::new(), mutual: true },
            [asked, meant] => {
                Rule { line, asked: words(asked), meant: words(meant), mutual: false }
            }
            _ => return Err(fault("has more than one `=>`")),
        };
        if rule.mutual && rule.asked.len() < 2 {
            return Err(fault("says nothing that is meant by it"));
        }
        if rule.asked.iter().chain(&rule.meant).any(String::is_empty) {
            return Err(fault("leaves something empty"));
        }
        rules.push(rule);
    }
    Ok(rules)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text::Settings;

    fn rules(text: &str) -> Result<Rules> {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("s.txt"), text).unwrap();
        let mut synonyms = Synonyms::from(PathBuf::from("s.txt"));
        synonyms.read(folder.path())?;
        synonyms.compile(&Analyzer::new(&Settings::default()).unwrap())
    }

    fn told(text: &str, question: &str) -> Vec<String> {
        let analyzer = Analyzer::new(&Settings::default()).unwrap();
        rules(text).unwrap().groups(&analyzer.question(question), 0.5).1
    }

    #[test]
    fn one_way_rules_and_groups() {
        let text =
            "# trade\n\nRMA => return merchandise authorization\npick ticket, picking slip\n";
        assert_eq!(told(text, "who signs an RMA?"), ["rma = return merchandise authorization"]);
        assert!(told(text, "return merchandise authorization").is_empty(), "one way");
        assert_eq!(told(text, "two picking slips"), ["pick slip = pick ticket"]);
        assert_eq!(told(text, "pick tickets, please"), ["pick ticket = picking slip"]);
        assert!(told(text, "pick a ticket").len() == 1, "stop words are left out");
        assert!(told(text, "pick the red ticket").is_empty(), "a word lies between");
    }

    #[test]
    fn the_longest_run_wins_and_rules_are_not_chained() {
        let text = "a1 b1 => x1\na1 => y1\ny1 => z1\nx1, y1\n";
        assert_eq!(told(text, "a1 b1 a1"), ["a1 b1 = x1", "a1 = y1"]);
        assert_eq!(told(text, "y1"), ["y1 = z1, x1"]);
        assert!(told("bike, bikes\n", "bikes").is_empty(), "forms of one word are one term");
    }

    #[test]
    fn a_line_that_is_no_rule_is_named() {
        let fault = |text: &str| {
            let said = rules(text).unwrap_err().to_string();
            said.rsplit_once("s.txt").unwrap().1.to_owned()
        };
        let cases = [
            ("a, b\nlonely\n", ":2: `lonely` says nothing that is meant by it"),
            ("a => b => c", ":1: `a => b => c` has more than one `=>`"),
            ("a =>", ":1: `a =>` leaves something empty"),
            ("a,,b", ":1: `a,,b` leaves something empty"),
            ("#\n\na, !!", ":3: `!!` holds no word that can be searched"),
        ];
        for (text, expected) in cases {
            assert_eq!(fault(text), format!("{expected}; {RULE}"));
        }
    }

    #[test]
    fn a_file_that_nobody_read_is_refused() {
        let synonyms = Synonyms::from(PathBuf::from("s.txt"));
        let analyzer = Analyzer::new(&Settings::default()).unwrap();
        let said = synonyms.compile(&analyzer).unwrap_err().to_string();
        assert!(said.contains("search.synonyms is s.txt; expected a file that was read"), "{said}");
    }
}
