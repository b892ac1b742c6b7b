//! What a paragraph style makes of a paragraph.

use std::collections::HashMap;

use crate::corpus::xml::Element;

/// Styles that one style is based on, one after the other; Word allows 11.
const MAX_BASES: usize = 20;

/// The word for a heading in the built-in styles of localised programs, lower case. Word itself
/// writes the English name whatever its language; others do not.
const HEADING_WORDS: [&str; 22] = [
    "heading",
    "überschrift",
    "ueberschrift",
    "berschrift",
    "titre",
    "título",
    "titulo",
    "titolo",
    "kop",
    "rubrik",
    "overskrift",
    "otsikko",
    "nagłówek",
    "nadpis",
    "címsor",
    "başlık",
    "заголовок",
    "επικεφαλίδα",
    "見出し",
    "标题",
    "標題",
    "제목",
];

/// What a paragraph is by its style.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Role {
    Title,
    Heading(u8),
    Quote,
    Code,
    /// A line of a table of contents, which repeats the headings.
    Contents,
    Body,
}

/// The paragraph styles of a document by their ids.
#[derive(Debug, Default)]
pub(super) struct Styles {
    by_id: HashMap<String, Style>,
    default: Option<String>,
}

#[derive(Debug)]
struct Style {
    /// Lower case.
    name: String,
    based_on: Option<String>,
    outline: Option<u8>,
    list: Option<ListPlace>,
}

/// Which list a paragraph is in, and how deep; either may be left to the style or the default.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ListPlace {
    pub(super) list: Option<String>,
    pub(super) level: Option<usize>,
}

impl ListPlace {
    /// What the properties of a paragraph or style say about lists.
    pub(super) fn of(properties: Element<'_>) -> Option<Self> {
        let stated = properties.child("numPr")?;
        let level = stated.value("ilvl").and_then(|level| level.parse().ok());
        Some(Self { list: stated.value("numId").map(str::to_owned), level })
    }
}

impl Styles {
    pub(super) fn read(root: Element<'_>) -> Self {
        let mut styles = Self::default();
        for style in root.children().filter(|one| one.name() == "style") {
            if style.attribute("type").is_some_and(|kind| kind != "paragraph") {
                continue;
            }
            let Some(id) = style.attribute("styleId") else { continue };
            if style.attribute("default").is_some_and(|on| on == "1" || on == "true") {
                styles.default.get_or_insert_with(|| id.to_owned());
            }
            let properties = style.child("pPr");
            let read = Style {
                name: style.value("name").unwrap_or(id).to_lowercase(),
                based_on: style.value("basedOn").map(str::to_owned),
                outline: properties.and_then(outline),
                list: properties.and_then(ListPlace::of),
            };
            styles.by_id.insert(id.to_owned(), read);
        }
        styles
    }

    /// The style `id`, or the default one, and those it is based on, nearest first.
    fn chain<'s>(&'s self, id: Option<&'s str>) -> impl Iterator<Item = &'s Style> {
        let mut next = id.or(self.default.as_deref());
        let found = std::iter::from_fn(move || {
            let style = self.by_id.get(next?)?;
            next = style.based_on.as_deref();
            Some(style)
        });
        found.take(MAX_BASES)
    }

    /// What a paragraph of style `id` is; `own` is the outline level that it states itself.
    pub(super) fn role(&self, id: Option<&str>, own: Option<u8>) -> Role {
        let named = |id: &str| self.by_id.contains_key(id);
        // A style that is named and not defined still tells by its name.
        let stray = id.filter(|id| !named(id)).map(str::to_lowercase);
        let names: Vec<&str> = stray
            .as_deref()
            .into_iter()
            .chain(self.chain(id).map(|one| one.name.as_str()))
            .collect();
        let stated = self.chain(id).find_map(|style| style.outline);
        if names.iter().any(|name| is_contents(name)) {
            return Role::Contents;
        }
        if names.first().is_some_and(|name| *name == "title") {
            return Role::Title;
        }
        match own.or(stated) {
            Some(level @ 0..=8) => return Role::Heading(level + 1),
            // Level 9 is "body text", whatever the style is called.
            Some(_) => return Role::Body,
            None => {}
        }
        if let Some(level) = names.iter().find_map(|name| heading_level(name)) {
            return Role::Heading(level);
        }
        let any = |words: &[&str]| names.iter().any(|name| words.iter().any(|w| name.contains(w)));
        if any(&[
            "source code",
            "code block",
            "preformatted",
            "macro text",
            "plain text",
            "codeblock",
        ]) || names.contains(&"code")
        {
            Role::Code
        } else if any(&["quote", "zitat", "citation"]) {
            Role::Quote
        } else {
            Role::Body
        }
    }

    /// The list that paragraphs of style `id` are in.
    pub(super) fn list(&self, id: Option<&str>) -> Option<ListPlace> {
        self.chain(id).find_map(|style| style.list.clone())
    }
}

/// The outline level that properties state: 0 to 8 of a heading, 9 of body text.
pub(super) fn outline(properties: Element<'_>) -> Option<u8> {
    properties.value("outlineLvl")?.parse().ok()
}

fn is_contents(name: &str) -> bool {
    let rest = name.strip_prefix("toc").unwrap_or_default().trim();
    !rest.is_empty() && rest.len() <= 2 && rest.bytes().all(|b| b.is_ascii_digit())
}

/// The level in a name such as `heading 2` or `Überschrift2`.
fn heading_level(name: &str) -> Option<u8> {
    let name = name.trim();
    let level = name.chars().next_back()?.to_digit(10).filter(|level| (1..=9).contains(level))?;
    let word = name[..name.len() - 1].trim_end_matches([' ', '-', '_']);
    HEADING_WORDS.contains(&word).then(|| u8::try_from(level).ok())?
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::corpus::xml::Tree;

    #[test]
    fn a_style_tells_by_its_name_its_level_or_its_base() {
        let tree = Tree::parse(
            "<w:styles><w:style w:type='paragraph' w:default='1' w:styleId='N'><w:name w:val='Normal'/>\
             </w:style><w:style w:type='paragraph' w:styleId='b1'><w:name w:val='heading 1'/></w:style>\
             <w:style w:type='paragraph' w:styleId='My'><w:basedOn w:val='b1'/></w:style>\
             <w:style w:type='paragraph' w:styleId='O'><w:pPr><w:outlineLvl w:val='3'/></w:pPr></w:style>\
             <w:style w:type='paragraph' w:styleId='L'><w:basedOn w:val='L'/><w:pPr><w:numPr>\
             <w:numId w:val='7'/></w:numPr></w:pPr></w:style>\
             <w:style w:type='paragraph' w:styleId='T1'><w:name w:val='toc 1'/></w:style>\
             <w:style w:type='character' w:styleId='H'><w:name w:val='heading 1'/></w:style></w:styles>",
        )
        .unwrap();
        let styles = Styles::read(tree.root());
        assert_eq!(styles.role(None, None), Role::Body);
        assert_eq!(styles.role(Some("b1"), None), Role::Heading(1));
        assert_eq!(styles.role(Some("My"), None), Role::Heading(1));
        assert_eq!(styles.role(Some("My"), Some(9)), Role::Body);
        assert_eq!(styles.role(Some("O"), None), Role::Heading(4));
        assert_eq!(styles.role(Some("O"), Some(0)), Role::Heading(1));
        assert_eq!(styles.role(Some("T1"), None), Role::Contents);
        assert_eq!(styles.role(Some("H"), None), Role::Body);
        assert_eq!(styles.role(Some("Überschrift2"), None), Role::Heading(2));
        assert_eq!(styles.role(Some("Titre 3"), None), Role::Heading(3));
        let seven = ListPlace { list: Some("7".to_owned()), level: None };
        assert_eq!(styles.list(Some("L")), Some(seven));
    }
}
