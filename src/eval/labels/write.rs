//! Hashes and grades, written into a question set beside everything that stands there.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use super::Hashes;
use crate::error::{Error, Result};
use crate::eval::judgments::Judgments;
use crate::eval::questions::{Question, QuestionSet};
use crate::eval::set_text::{Draft, List, by_hand, id_of};

/// Grades of units by their names.
pub type Grades = BTreeMap<String, i32>;

/// Writes `hashes` into the set at `path`, by question: they replace those that stand there. Questions
/// that `hashes` does not name keep theirs. Returns how many questions changed.
///
/// The file is written under another name and read before it is put in place, and is left alone
/// unless exactly the hashes have changed.
pub fn record(path: &Path, hashes: &BTreeMap<String, Hashes>) -> Result<usize> {
    write(path, hashes, &BTreeMap::new())
}

/// Adds grades with the hashes of what was graded to the set at `path`, by question, as [`record`] writes
/// hashes. A grade replaces an older one of the same unit; all others stay.
pub fn record_grades(
    path: &Path,
    added: &BTreeMap<String, Vec<(String, i32, String)>>,
) -> Result<usize> {
    let set = QuestionSet::read(path)?;
    let (mut hashes, mut grades) = (BTreeMap::new(), BTreeMap::new());
    for question in &set.questions {
        let Some(added) = added.get(&question.id) else { continue };
        let (mut own_hashes, mut own_grades) =
            (question.hashes.clone(), stated(&question.judgments));
        for (unit, grade, hash) in added {
            own_grades.insert(unit.clone(), *grade);
            own_hashes.insert(unit.clone(), hash.clone());
        }
        hashes.insert(question.id.clone(), own_hashes);
        grades.insert(question.id.clone(), own_grades);
    }
    write(path, &hashes, &grades)
}

/// The grades that must be stated: those of evidence are 1 without a word.
fn stated(judgments: &Judgments) -> Grades {
    let listed = |unit: &String| judgments.groups().iter().flatten().any(|own| own == unit);
    let all = judgments.grades().iter().filter(|(unit, grade)| !listed(unit) || **grade != 1);
    all.map(|(unit, grade)| (unit.clone(), *grade)).collect()
}

fn write(
    path: &Path,
    hashes: &BTreeMap<String, Hashes>,
    grades: &BTreeMap<String, Grades>,
) -> Result<usize> {
    let old = QuestionSet::read(path)?;
    let text = fs::read_to_string(path).map_err(|e| Error::reading("reading", path, e))?;
    let list = List::of(&text);
    let differs = |question: &Question| {
        let other = hashes.get(&question.id).is_some_and(|wanted| *wanted != question.hashes);
        let own = || stated(&question.judgments);
        other || grades.get(&question.id).is_some_and(|wanted| *wanted != own())
    };
    let (mut new, mut at, mut changed) = (String::with_capacity(text.len()), 0, BTreeSet::new());
    for item in &list.items {
        new.push_str(&text[at..item.start]);
        let own = &text[item.clone()];
        at = item.end;
        let id = id_of(own).unwrap_or_default();
        let known = old.questions.iter().find(|question| question.id == id);
        match hashes.get(&id).filter(|_| known.is_some_and(differs)) {
            Some(wanted) => {
                let mut own = own.to_owned();
                if let Some(grades) = grades.get(&id) {
                    let lines = grades.iter().map(|(unit, grade)| (unit, grade.to_string()));
                    own = with_map(path, &id, (&own, list.indent), ("grades", lines.collect()))?;
                }
                let lines = wanted.iter().map(|(unit, hash)| (unit, format!("\"{hash}\"")));
                new.push_str(&with_map(
                    path,
                    &id,
                    (&own, list.indent),
                    ("hashes", lines.collect()),
                )?);
                changed.insert(id);
            }
            None => new.push_str(own),
        }
    }
    new.push_str(&text[at..]);
    if let Some(missed) = old.questions.iter().find(|q| differs(q) && !changed.contains(&q.id)) {
        return Err(by_hand(path, &missed.id, "it does not stand on lines of its own"));
    }
    if changed.is_empty() {
        return Ok(0);
    }
    let draft = Draft::write(path, &new)?;
    let found = draft.read()?;
    for (before, after) in old.questions.iter().zip(&found.questions) {
        let wanted = hashes.get(&before.id).unwrap_or(&before.hashes);
        let wanted_grades = grades.get(&before.id).cloned();
        let wanted_grades = wanted_grades.unwrap_or_else(|| stated(&before.judgments));
        let same = before.id == after.id
            && before.judgments.groups() == after.judgments.groups()
            && stated(&after.judgments) == wanted_grades;
        if !same || after.hashes != *wanted || old.questions.len() != found.questions.len() {
            return Err(by_hand(path, &before.id, "something else would change with it"));
        }
    }
    draft.put()?;
    Ok(changed.len())
}

/// The question `item`, whose dash stands so far from the left, with the map `key` of units as its last
/// key.
fn with_map(
    path: &Path,
    id: &str,
    (item, dash): (&str, usize),
    (key, lines): (&str, Vec<(&String, String)>),
) -> Result<String> {
    let after_dash = item.get(dash + 1..).unwrap_or_default();
    let keys = dash + 1 + (after_dash.len() - after_dash.trim_start_matches(' ').len());
    if after_dash.trim_start().starts_with('{') || after_dash.starts_with('\n') {
        return Err(by_hand(path, id, "its keys do not stand one a line"));
    }
    let content = item.trim_end();
    let mut kept = String::new();
    let mut inside = false;
    for line in content.split_inclusive('\n') {
        let indent = line.len() - line.trim_start_matches(' ').len();
        if indent == keys
            && line[indent..].strip_prefix(key).is_some_and(|rest| rest.starts_with(':'))
        {
            inside = true;
            continue;
        }
        inside &= indent > keys;
        if !inside {
            kept.push_str(line);
        }
    }
    if !kept.ends_with('\n') {
        kept.push('\n');
    }
    if !lines.is_empty() {
        kept.push_str(&format!("{}{key}:\n", " ".repeat(keys)));
    }
    for (unit, value) in lines {
        let name = if unit.chars().all(|c| c.is_ascii_alphanumeric() || "-_.".contains(c)) {
            unit.clone()
        } else {
            serde_json::to_string(unit).unwrap_or_default()
        };
        kept.push_str(&format!("{}{name}: {value}\n", " ".repeat(keys + 2)));
    }
    let blank = &item[content.len()..];
    Ok(kept + blank.strip_prefix('\n').unwrap_or(blank))
}
