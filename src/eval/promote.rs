//! Moving a held-out question to development, as text: comments and layout stay.

use std::fs;
use std::ops::Range;
use std::path::Path;

use crate::error::{Error, Result, nearest};

/// Moves the question `id` from the file `held_out` to the end of the file `development`.
///
/// The development file is written first, each under another name and renamed, so that a kill in
/// between leaves the question in both files, which loading them notices, and never in none.
pub fn promote(held_out: &Path, development: &Path, id: &str) -> Result<()> {
    let read = |path: &Path| fs::read_to_string(path).map_err(|e| Error::io("reading", path, e));
    let (from, mut to) = (read(held_out)?, read(development)?);
    let Some(lines) = lines_of(&from, id) else {
        let near = nearest(id, ids(&from));
        let help = near.map_or_else(String::new, |near| format!("did you mean `{near}`?"));
        return Err(Error::input(held_out, None, format!("it holds no question `{id}`"), help));
    };
    if lines_of(&to, id).is_some() {
        let problem = format!("it holds a question `{id}` already");
        return Err(Error::input(development, None, problem, "remove one of the two"));
    }
    if !to.ends_with('\n') {
        to.push('\n');
    }
    let question = from[lines.clone()].trim_end();
    to.push_str(&format!("\n{question}\n"));
    let rest = format!("{}{}", &from[..lines.start], &from[lines.end..]);
    replace(development, &to)?;
    replace(held_out, &rest)
}

fn replace(path: &Path, text: &str) -> Result<()> {
    let temporary = path.with_extension("yaml.new");
    fs::write(&temporary, text).map_err(|e| Error::io("writing", &temporary, e))?;
    fs::rename(&temporary, path).map_err(|e| Error::io("renaming to", path, e))
}

/// The bytes of the list item whose `id` is `id`, up to the next item.
fn lines_of(text: &str, id: &str) -> Option<Range<usize>> {
    let mut start = None;
    let mut at = 0;
    for line in text.split_inclusive('\n') {
        if let Some(found) = item_id(line) {
            if let Some(start) = start {
                return Some(start..at);
            }
            if found == id {
                start = Some(at);
            }
        }
        at += line.len();
    }
    start.map(|start| start..text.len())
}

fn ids(text: &str) -> impl Iterator<Item = &str> {
    text.lines().filter_map(item_id)
}

/// The id of a list item that begins on `line`.
fn item_id(line: &str) -> Option<&str> {
    let rest = line.trim_start().strip_prefix("- id:")?;
    Some(rest.split('#').next().unwrap_or(rest).trim().trim_matches(['"', '\'']))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_question_moves_as_it_is_written() {
        let folder = tempfile::tempdir().unwrap();
        let (held, dev) = (folder.path().join("h.yaml"), folder.path().join("d.yaml"));
        fs::write(
            &held,
            "questions:\n  - id: a\n    question: A # why\n\n  - id: b\n    question: B\n",
        )
        .unwrap();
        fs::write(&dev, "questions:\n  - id: c\n    question: C\n").unwrap();
        promote(&held, &dev, "a").unwrap();
        assert_eq!(fs::read_to_string(&held).unwrap(), "questions:\n  - id: b\n    question: B\n");
        assert_eq!(
            fs::read_to_string(&dev).unwrap(),
            "questions:\n  - id: c\n    question: C\n\n  - id: a\n    question: A # why\n"
        );
        let message = promote(&held, &dev, "bb").unwrap_err().to_string();
        assert!(message.contains("holds no question `bb`"), "{message}");
    }
}
