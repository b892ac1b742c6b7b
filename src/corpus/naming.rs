//! Ids and titles that come from a path, and which ids are allowed.

/// The id of a document that states none: the path without its ending, `/` kept.
///
/// White space becomes `-`, since references are written between spaces.
pub(super) fn id_of_path(path: &str) -> String {
    let bare = without_extension(path);
    bare.split_whitespace().collect::<Vec<_>>().join("-")
}

/// The same with the ending kept: in formats that often lie beside a text of the same name.
pub(super) fn id_with_ending(path: &str) -> String {
    path.split_whitespace().collect::<Vec<_>>().join("-")
}

/// The title of a document that states none: the file's name made readable.
pub(super) fn title_of_path(path: &str) -> String {
    let stem = without_extension(path).rsplit('/').next().unwrap_or_default();
    let words = stem.replace(['-', '_'], " ");
    let words = words.split_whitespace().collect::<Vec<_>>().join(" ");
    let mut letters = words.chars();
    match letters.next() {
        Some(first) => first.to_uppercase().chain(letters).collect(),
        None => stem.to_owned(),
    }
}

fn without_extension(path: &str) -> &str {
    let name_at = path.rfind('/').map_or(0, |slash| slash + 1);
    match path[name_at..].rfind('.') {
        Some(dot) if dot > 0 => &path[..name_at + dot],
        _ => path,
    }
}

/// What is wrong with `id`; `None` when it may name a document.
///
/// Control characters and white space are refused. A single space inside is allowed where
/// `spaces` says so: public sets name documents that way, and their judgments do too.
pub(super) fn fault_of_id(id: &str, spaces: bool) -> Option<String> {
    if id.is_empty() {
        return Some("the id is empty".into());
    }
    let edge = id.starts_with(' ') || id.ends_with(' ');
    let bad = |c: &char| c.is_control() || (c.is_whitespace() && (*c != ' ' || !spaces || edge));
    let found = id.chars().find(bad)?;
    let kind = if found.is_control() { "a control character" } else { "white space" };
    Some(format!("the id `{}` holds {kind} (U+{:04X})", id.escape_debug(), u32::from(found)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_give_ids_and_titles() {
        assert_eq!(id_of_path("a.b/my  notes.v2.md"), "a.b/my-notes.v2");
        assert_eq!(id_of_path("a.b/LICENSE"), "a.b/LICENSE");
        assert_eq!(title_of_path("docs/getting_started-guide.md"), "Getting started guide");
        assert_eq!(title_of_path("docs/---.md"), "---");
    }

    #[test]
    fn ids_with_blanks_or_controls_are_refused() {
        assert_eq!(fault_of_id("WARR-R2/é", false), None);
        assert_eq!(fault_of_id("Ada Lovelace", true), None);
        let fault = fault_of_id("a b", false).unwrap();
        assert_eq!(fault, "the id `a b` holds white space (U+0020)");
        let fault = fault_of_id("a\tb", true).unwrap();
        assert_eq!(fault, "the id `a\\tb` holds a control character (U+0009)");
        assert!(fault_of_id(" a", true).is_some());
        assert!(fault_of_id("a\u{2003}b", true).is_some());
        assert!(fault_of_id("", true).is_some());
    }
}
