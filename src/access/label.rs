//! What a document says about who may read it.

use serde::{Deserialize, Serialize};

use crate::corpus::{Metadata, Value};

/// Prefix of the metadata keys that classify single sections; see [`label`].
pub const SECTIONS: &str = "sections.";

/// The facts that a policy decides on.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Default, Serialize, Deserialize)]
pub struct Label {
    /// `classification` of the front matter, or the one that `sections` gives to the block's section.
    pub classification: Option<String>,
    /// `account` of the front matter.
    pub account: Option<String>,
    /// `region` of the front matter.
    pub region: Option<String>,
}

/// The label of a block with the section path `sections`, in a document with `metadata`.
///
/// `sections: { "Cost and margin": financial }` in the front matter classifies every block under a
/// section of that title; the innermost title that is named wins.
pub fn label(metadata: &Metadata, sections: &[String]) -> Label {
    let text = |key: &str| {
        metadata.get(key).and_then(|value| match value {
            Value::List(_) => None,
            one => Some(one.to_string()),
        })
    };
    let own = sections.iter().rev().find_map(|title| text(&format!("{SECTIONS}{title}")));
    Label {
        classification: own.or_else(|| text("classification")),
        account: text("account"),
        region: text("region"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_innermost_named_section_decides() {
        let mut metadata = Metadata::default();
        let mut set = |key: &str, value: &str| {
            metadata.0.insert(key.to_owned(), Value::Text(value.to_owned()));
        };
        set("classification", "public");
        set("account", "henderson");
        set("sections.Cost", "financial");
        let of = |titles: &[&str]| {
            let titles: Vec<String> = titles.iter().map(|title| (*title).to_owned()).collect();
            label(&metadata, &titles).classification.unwrap_or_default()
        };
        assert_eq!(of(&[]), "public");
        assert_eq!(of(&["Cost"]), "financial");
        assert_eq!(of(&["Cost", "Details"]), "financial");
        assert_eq!(of(&["Other"]), "public");
        assert_eq!(label(&metadata, &[]).account.as_deref(), Some("henderson"));
    }
}
