//! What a document says about who may read it.

use serde::{Deserialize, Serialize};

use crate::corpus::{Metadata, Value};

/// Prefix of the metadata keys that classify single sections; see [`labels`].
pub const SECTIONS: &str = "sections.";

/// The facts that a policy decides on.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Default, Serialize, Deserialize)]
pub struct Label {
    /// `classification` of the front matter, or the one that `sections` gives to the block's section.
    /// What is stated and cannot be used is a classification that no policy lists, in parentheses.
    pub classification: Option<String>,
    /// `account` of the front matter.
    pub account: Option<String>,
    /// `region` of the front matter.
    pub region: Option<String>,
}

/// The labels of all blocks of a document with `metadata`, whose section paths are `blocks`.
///
/// `sections: { "Cost and margin": financial }` in the front matter classifies every block under a
/// section of that title; the innermost title that is named wins. Whatever is stated in a way that
/// cannot be used closes the **whole** document, since a slip must never open anything: a
/// classification that is no single text, a key that is `classification` or `sections` but for its
/// case, a section that is named and does not exist.
pub fn labels(metadata: &Metadata, blocks: &[&[String]]) -> Vec<Label> {
    let whole = slip(metadata, blocks);
    let (account, region) = (scalar(metadata, "account"), scalar(metadata, "region"));
    let of = |sections: &&[String]| Label {
        classification: whole.clone().or_else(|| {
            let named = |title: &String| scalar(metadata, &format!("{SECTIONS}{title}"));
            sections.iter().rev().find_map(named).or_else(|| scalar(metadata, "classification"))
        }),
        account: account.clone(),
        region: region.clone(),
    };
    blocks.iter().map(of).collect()
}

/// The value of `key` as text; `None` when it is absent or several.
fn scalar(metadata: &Metadata, key: &str) -> Option<String> {
    metadata.get(key).filter(|value| !matches!(value, Value::List(_))).map(ToString::to_string)
}

/// What is stated and cannot be used, as a classification that nobody lists.
fn slip(metadata: &Metadata, blocks: &[&[String]]) -> Option<String> {
    for (key, value) in &metadata.0 {
        let (top, below) = key.split_once('.').map_or((key.as_str(), None), |(t, b)| (t, Some(b)));
        let misspelt = |name: &str| top.eq_ignore_ascii_case(name) && top != name;
        if misspelt("classification") || misspelt("sections") {
            return Some(format!("({key}: the key is written in small letters)"));
        }
        match (top, below, value) {
            ("classification", Some(_), _) | ("classification" | "sections", _, Value::List(_)) => {
                return Some(format!("({key}: not a single text)"));
            }
            ("sections", None, _) => return Some("(sections: not a list of titles)".to_owned()),
            ("sections", Some(title), _) => {
                let known = blocks.iter().any(|path| path.iter().any(|own| own == title));
                if !known {
                    return Some(format!("(sections: there is no section {title})"));
                }
            }
            _ => {}
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn metadata(pairs: &[(&str, Value)]) -> Metadata {
        let mut metadata = Metadata::default();
        for (key, value) in pairs {
            metadata.0.insert((*key).to_owned(), value.clone());
        }
        metadata
    }

    fn text(text: &str) -> Value {
        Value::Text(text.to_owned())
    }

    fn classes(metadata: &Metadata, paths: &[&[&str]]) -> Vec<String> {
        let owned: Vec<Vec<String>> =
            paths.iter().map(|path| path.iter().map(|t| (*t).to_owned()).collect()).collect();
        let paths: Vec<&[String]> = owned.iter().map(Vec::as_slice).collect();
        labels(metadata, &paths).into_iter().map(|l| l.classification.unwrap_or_default()).collect()
    }

    #[test]
    fn the_innermost_named_section_decides() {
        let stated = metadata(&[
            ("classification", text("public")),
            ("account", text("henderson")),
            ("sections.Cost", text("financial")),
        ]);
        let found = classes(&stated, &[&[], &["Cost"], &["Cost", "Details"], &["Other"]]);
        assert_eq!(found, ["public", "financial", "financial", "public"]);
        assert_eq!(
            labels(&stated, &[&["Cost".to_owned()]])[0].account.as_deref(),
            Some("henderson")
        );
    }

    #[test]
    fn a_slip_closes_the_whole_document() {
        let public = ("classification", text("public"));
        let slips = [
            vec![public.clone(), ("sections.COST", text("financial"))],
            vec![public.clone(), ("sections.Cost", Value::List(vec![text("financial")]))],
            vec![public.clone(), ("Sections.Cost", text("financial"))],
            vec![public, ("sections", text("financial"))],
            vec![("classification", Value::List(vec![text("financial")]))],
            vec![("classification.level", text("financial"))],
            vec![("Classification", text("financial"))],
        ];
        for slip in slips {
            let found = classes(&metadata(&slip), &[&[], &["Cost"]]);
            assert!(found.iter().all(|class| class.starts_with('(')), "{slip:?}: {found:?}");
        }
    }
}
