//! Moving a held-out question to development, as text: comments and layout stay.

use std::fs;
use std::path::Path;

use super::apart::check_apart;
use super::questions::{Origin, QuestionSet};
use super::set_text::{Draft, List, by_hand, id_of, ids, shifted};
use crate::error::{Error, Result, nearest};

/// Moves the question `id` from the file `held_out` to the end of the list in `development`.
///
/// Both files are first written under other names and read, so that nothing is replaced unless
/// exactly this question has moved. The development file is renamed first, so that a kill in
/// between leaves the question in both files, which loading them notices, and never in none.
pub fn promote(held_out: &Path, development: &Path, id: &str) -> Result<()> {
    let read =
        |path: &Path| fs::read_to_string(path).map_err(|e| Error::reading("reading", path, e));
    let (from, to) = (read(held_out)?, read(development)?);
    let (mut held_ids, mut development_ids) = (ids(held_out)?, ids(development)?);
    if !held_ids.remove(id) {
        let near = nearest(id, held_ids.iter().map(String::as_str));
        let help = near.map_or_else(String::new, |near| format!("did you mean `{near}`?"));
        return Err(Error::input(held_out, None, format!("it holds no question `{id}`"), help));
    }
    if !development_ids.insert(id.to_owned()) {
        let problem = format!("it holds a question `{id}` already");
        return Err(Error::input(development, None, problem, "remove one of the two"));
    }
    if held_ids.is_empty() {
        let problem = format!("`{id}` is its only question, and a set cannot be empty");
        return Err(Error::input(held_out, None, problem, "add fresh held-out questions first"));
    }
    let source = List::of(&from);
    let own = source.items.iter().find(|item| id_of(&from[(*item).clone()]).as_deref() == Some(id));
    let own = own.ok_or_else(|| by_hand(held_out, id, "it does not stand on lines of its own"))?;
    let added = with_question(development, &to, id, from[own.clone()].trim_end(), source.indent)?;
    let kept = format!("{}{}", &from[..own.start], &from[own.end..]);
    let development = Draft::write(development, &added)?;
    let held_out = Draft::write(held_out, &kept)?;
    development.check(&development_ids, id)?;
    held_out.check(&held_ids, id)?;
    development.put()?;
    held_out.put()
}

/// The set `text` with `question`, an item whose dash stands `indent` spaces from the left, after its
/// last one.
fn with_question(
    path: &Path,
    text: &str,
    id: &str,
    question: &str,
    indent: usize,
) -> Result<String> {
    let list = List::of(text);
    let last =
        list.items.last().ok_or_else(|| by_hand(path, id, "no question there begins with `- `"))?;
    let question = shifted(question, indent, list.indent);
    let end = last.start + text[last.clone()].trim_end().len();
    let (before, after) = text.split_at(end);
    let after = if after.trim().is_empty() { "\n" } else { after };
    Ok(format!("{before}\n\n{question}{after}"))
}

/// A request of a usage log as a question.
#[derive(Debug, Clone)]
pub struct Imported {
    /// Its id.
    pub id: String,
    /// What was asked.
    pub question: String,
    /// What it is hard for.
    pub kind: String,
    /// What would have answered it: groups of references. Without any it is unscoreable until someone
    /// has found out.
    pub relevant: Vec<Vec<String>>,
    /// The right answer in words.
    pub reference: Option<String>,
    /// Who asked, by an id of the project's askers.
    pub asker: Option<String>,
    /// What was wrong.
    pub why: String,
    /// Where it came from.
    pub origin: Origin,
}

/// Why an imported question is not scored of which nobody has said yet what answers it.
pub const UNLABELLED: &str = "unlabelled";

/// Adds `imported` to the end of the list in `development`, which is replaced only when it then holds
/// exactly one question more and is still apart from `held_out`, if that is given.
pub fn import(
    development: &Path,
    held_out: Option<&QuestionSet>,
    imported: &Imported,
) -> Result<()> {
    let id = &imported.id;
    let text =
        fs::read_to_string(development).map_err(|e| Error::reading("reading", development, e))?;
    let mut wanted = ids(development)?;
    if !wanted.insert(id.clone()) {
        let problem = format!("it holds a question `{id}` already");
        return Err(Error::input(development, None, problem, "choose another id"));
    }
    let added = with_question(development, &text, id, &written(imported), 0)?;
    let draft = Draft::write(development, &added)?;
    draft.check(&wanted, id)?;
    if let Some(held_out) = held_out {
        let name = development.to_owned();
        check_apart(&QuestionSet { path: name, ..draft.read()? }, held_out)?;
    }
    draft.put()
}

/// The question as an item whose dash stands at the left.
fn written(imported: &Imported) -> String {
    // A JSON text is a YAML text.
    let text = |text: &str| serde_json::Value::from(text).to_string();
    let list = |all: &[String]| all.iter().map(|one| text(one)).collect::<Vec<_>>().join(", ");
    let mut out = format!(
        "- id: {}\n  question: {}\n  kind: {}\n",
        text(&imported.id),
        text(&imported.question),
        text(&imported.kind)
    );
    if let Some(asker) = &imported.asker {
        out.push_str(&format!("  asker: {}\n", text(asker)));
    }
    if imported.relevant.is_empty() {
        out.push_str(&format!("  unscoreable: {UNLABELLED}\n"));
    } else {
        let groups: Vec<String> =
            imported.relevant.iter().map(|group| format!("[{}]", list(group))).collect();
        out.push_str(&format!("  relevant: [{}]\n", groups.join(", ")));
    }
    if let Some(reference) = &imported.reference {
        out.push_str(&format!("  reference: {}\n", text(reference)));
    }
    let origin = &imported.origin;
    out.push_str(&format!(
        "  notes: {}\n  origin:\n    asked_at_s: {}\n    index: {}\n    corpus: {}\n    arrived: [{}]",
        text(&imported.why),
        origin.asked_at_s,
        text(&origin.index),
        text(&origin.corpus),
        list(&origin.arrived)
    ));
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEAD: &str = "corpus: c\nkinds: [k]\nquestions:\n";

    /// What the two files hold after the move of `id`, and what was said.
    fn moved(held: &str, dev: &str, id: &str) -> (String, String, Result<()>) {
        let folder = tempfile::tempdir().unwrap();
        let (held_path, dev_path) = (folder.path().join("h.yaml"), folder.path().join("d.yaml"));
        fs::write(&held_path, held).unwrap();
        fs::write(&dev_path, dev).unwrap();
        let said = promote(&held_path, &dev_path, id);
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 2, "a draft was left");
        let read = |path| fs::read_to_string(path).unwrap();
        (read(held_path), read(dev_path), said)
    }

    fn one(id: &str) -> String {
        format!("  - id: {id}\n    question: Q # why\n    kind: k\n    unscoreable: x\n")
    }

    #[test]
    fn a_request_becomes_a_question_whatever_it_holds() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("d.yaml");
        let dev = format!("{HEAD}{}\n# end\n", one("a"));
        fs::write(&path, &dev).unwrap();
        let mut imported = Imported {
            id: "b".to_owned(),
            question: "Why \"so\": #1?\nwhat".to_owned(),
            kind: "k".to_owned(),
            relevant: vec![vec!["A-1".to_owned(), "B: 2".to_owned()], vec!["C".to_owned()]],
            reference: Some("it".to_owned()),
            asker: Some("kim".to_owned()),
            why: "nothing arrived".to_owned(),
            origin: Origin {
                asked_at_s: 7,
                index: "i".to_owned(),
                corpus: "c".to_owned(),
                arrived: vec!["A-1-p0".to_owned()],
            },
        };
        import(&path, None, &imported).unwrap();
        let text = fs::read_to_string(&path).unwrap();
        assert!(text.starts_with(dev.trim_end_matches("\n# end\n")) && text.ends_with("\n# end\n"));
        let set = QuestionSet::read(&path).unwrap();
        let found = &set.questions[1];
        assert_eq!((&found.question, &found.asker), (&imported.question, &imported.asker));
        assert_eq!(found.judgments.groups(), imported.relevant);
        assert_eq!(found.origin, Some(imported.origin.clone()));
        // An id that is taken, a kind that is not listed, and a held-out question change nothing.
        let said = |imported: &Imported, held: Option<&QuestionSet>| {
            import(&path, held, imported).unwrap_err().to_string()
        };
        assert!(said(&imported, None).contains("it holds a question `b` already"));
        imported.id = "c".to_owned();
        let held = QuestionSet { path: "ho.yaml".into(), ..set };
        assert!(
            said(&imported, Some(&held))
                .contains("ho.yaml:4: question a has the id of one of d.yaml")
        );
        imported.kind = "x".to_owned();
        assert!(said(&imported, None).contains("kind `x`, which `kinds` does not list"));
        assert_eq!(fs::read_to_string(&path).unwrap(), text);
    }

    #[test]
    fn a_question_moves_as_it_is_written() {
        let (a, b, c) = (one("a"), one("b"), one("c"));
        let (old, dev) = (format!("{HEAD}{a}\n{b}"), format!("{HEAD}{c}"));
        let (held, new, said) = moved(&old, &dev, "a");
        said.unwrap();
        assert_eq!(held, format!("{HEAD}{b}"));
        assert_eq!(new, format!("{HEAD}{c}\n{a}"));
        let (held, new, said) = moved(&old, &dev, "bb");
        let message = said.unwrap_err().to_string();
        assert!(message.contains("holds no question `bb`"), "{message}");
        assert_eq!((held, new), (old, dev));
    }

    #[test]
    fn an_item_ends_where_its_dash_is_reached_and_its_id_may_stand_anywhere() {
        let flow = "  - {question: Q, id: 'z', kind: k, unscoreable: x}\n";
        let own = "  - question: |\n      Q\n\n       # no comment\n    kind:\n      - k\n    \
                   unscoreable: x\n    id: \"a\" # here\n";
        let rest = "  # on z\n";
        let old = format!("questions:\n{}{own}{rest}{flow}\ncorpus: c\nkinds: [k]\n", one("b"));
        let dev = "questions:\n- {id: c, question: Q, kind: k, unscoreable: x}\n\n# end\ncorpus: c\n\
                   kinds:\n- k\n";
        let (held, new, said) = moved(&old, dev, "a");
        said.unwrap();
        assert_eq!(held, format!("questions:\n{}{rest}{flow}\ncorpus: c\nkinds: [k]\n", one("b")));
        let (top, end) = dev.split_at(dev.find("\n# end").unwrap());
        let own: String = own.lines().map(|l| format!("{}\n", l.get(2..).unwrap_or(""))).collect();
        assert_eq!(new, format!("{top}\n{own}{end}"));
        let (held, _, said) = moved(&old, dev, "z");
        said.unwrap();
        assert!(held.ends_with("  # on z\ncorpus: c\nkinds: [k]\n"), "{held}");
    }

    #[test]
    fn what_would_harm_a_file_is_refused_and_nothing_changes() {
        let dev = format!("{HEAD}{}", one("c"));
        let torn = format!("{HEAD}{}", one("a").replace("    kind", "# x\n    kind")) + &one("b");
        let kind = dev.replace("[k]", "[l]").replace("kind: k", "kind: l");
        let flow =
            "corpus: c\nkinds: [k]\nquestions: [{id: a, question: Q, kind: k, unscoreable: x}]\n";
        let cases = [
            (torn, dev.clone(), "would be faulty: the key `kind` is missing"),
            (format!("{HEAD}{}{}", one("a"), one("b")), kind, "this file would be faulty: "),
            (format!("{HEAD}{}", one("a")), dev.clone(), "`a` is its only question"),
            (
                flow.replace("[{", "[{id: b, question: Q, kind: k, unscoreable: x}, {"),
                dev.clone(),
                "it does not stand on lines of its own",
            ),
            (
                format!("{HEAD}{}{}", one("a"), one("b")),
                flow.replace("id: a", "id: c"),
                "begins with `- `",
            ),
        ];
        for (held, dev, expected) in cases {
            let (held_after, dev_after, said) = moved(&held, &dev, "a");
            let message = said.map_or_else(|e| e.to_string(), |()| format!("moved: {held_after}"));
            assert!(message.contains(expected), "{message}");
            assert_eq!((held_after, dev_after), (held, dev));
        }
    }
}
