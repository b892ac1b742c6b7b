//! Moving a held-out question to development, as text: comments and layout stay.

use std::fs;
use std::path::Path;

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
    let target = List::of(&to);
    let last = target.items.last();
    let last =
        last.ok_or_else(|| by_hand(development, id, "no question there begins with `- `"))?;

    let question = shifted(from[own.clone()].trim_end(), source.indent, target.indent);
    let end = last.start + to[last.clone()].trim_end().len();
    let (before, after) = to.split_at(end);
    let after = if after.trim().is_empty() { "\n" } else { after };
    let kept = format!("{}{}", &from[..own.start], &from[own.end..]);
    let development = Draft::write(development, &format!("{before}\n\n{question}{after}"))?;
    let held_out = Draft::write(held_out, &kept)?;
    development.check(&development_ids, id)?;
    held_out.check(&held_ids, id)?;
    development.put()?;
    held_out.put()
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
