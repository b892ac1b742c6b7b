//! Office packages: parts in a zip archive that point to each other by relationships.

use super::archive::Archive;
use super::xml::Tree;
use super::{Date, Metadata, Value};
use crate::error::Result;

/// A `.docx` or `.xlsx` file.
pub(super) struct Package {
    pub(super) archive: Archive,
    /// The part that the package is about.
    pub(super) main: String,
    properties: Option<String>,
}

/// A part, or an address outside, that another part points to.
#[derive(Debug)]
pub(super) struct Relationship {
    pub(super) id: String,
    /// The last word of the relationship's type, such as `styles`.
    pub(super) kind: String,
    /// The name of the part in the archive.
    pub(super) part: String,
}

/// What a package states about itself.
#[derive(Debug, Default)]
pub(super) struct Properties {
    pub(super) title: Option<String>,
    pub(super) metadata: Metadata,
}

impl Package {
    /// Opens `archive`, whose main part is looked for at `usual` where nothing points to it.
    pub(super) fn open(mut archive: Archive, usual: &str) -> Result<Self> {
        let top = relationships(&mut archive, "")?;
        let find = |kind: &str| top.iter().find(|one| one.kind == kind).map(|one| &one.part);
        let main = find("officeDocument").cloned().unwrap_or_else(|| usual.to_owned());
        let properties = find("core-properties").cloned();
        if !archive.has(&main) {
            let help = "save it again in the program it is of";
            return Err(archive.fault(format!("there is no `{main}` in it"), help));
        }
        Ok(Self { archive, main, properties })
    }

    /// What the part `of` points to.
    pub(super) fn relationships(&mut self, of: &str) -> Result<Vec<Relationship>> {
        relationships(&mut self.archive, of)
    }

    /// The part as a tree; `None` when there is no such part.
    pub(super) fn tree(&mut self, part: &str) -> Result<Option<Tree>> {
        let Some(text) = self.archive.text(part)? else { return Ok(None) };
        parsed(&self.archive, part, &text).map(Some)
    }

    /// Title, author and date of creation, as far as they are stated. A damaged part states nothing.
    pub(super) fn properties(&mut self) -> Result<Properties> {
        let mut found = Properties::default();
        let Some(part) = self.properties.clone() else { return Ok(found) };
        let Some(text) = self.archive.text(&part)? else { return Ok(found) };
        let Ok(tree) = Tree::parse(&text) else { return Ok(found) };
        let stated = |name: &str| {
            let text = tree.root().child(name)?.text();
            let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
            (!text.is_empty()).then_some(text)
        };
        found.title = stated("title");
        describe(&mut found.metadata, stated("creator"), stated("created"));
        Ok(found)
    }
}

/// Notes author and date of creation, the keys of all formats that state them.
pub(super) fn describe(metadata: &mut Metadata, author: Option<String>, created: Option<String>) {
    if let Some(author) = author {
        metadata.0.insert("author".to_owned(), Value::Text(author));
    }
    let day = created.as_deref().and_then(|created| Date::parse(created.get(..10)?));
    if let Some(day) = day {
        metadata.0.insert("created".to_owned(), Value::Date(day));
    }
}

pub(super) fn parsed(archive: &Archive, part: &str, text: &str) -> Result<Tree> {
    Tree::parse(text).map_err(|problem| archive.fault(format!("`{part}`: {problem}"), ""))
}

/// The relationships of `part`; those of the package itself when it is empty.
fn relationships(archive: &mut Archive, part: &str) -> Result<Vec<Relationship>> {
    let (folder, name) = part.rsplit_once('/').unwrap_or(("", part));
    let slash = if folder.is_empty() { "" } else { "/" };
    let Some(text) = archive.text(&format!("{folder}{slash}_rels/{name}.rels"))? else {
        return Ok(Vec::new());
    };
    let tree = parsed(archive, &format!("{name}.rels"), &text)?;
    let own = tree.root().children().filter(|one| one.name() == "Relationship");
    let inside = own.filter(|one| one.attribute("TargetMode") != Some("External"));
    let read = inside.filter_map(|one| {
        Some(Relationship {
            id: one.attribute("Id").unwrap_or_default().to_owned(),
            kind: one.attribute("Type")?.rsplit('/').next()?.to_owned(),
            part: resolve(folder, one.attribute("Target")?),
        })
    });
    Ok(read.collect())
}

/// The name of the part that `target` means, seen from `folder`.
pub(super) fn resolve(folder: &str, target: &str) -> String {
    let mut path: Vec<&str> = Vec::new();
    if !target.starts_with('/') {
        path.extend(folder.split('/').filter(|step| !step.is_empty()));
    }
    for step in target.split('/') {
        match step {
            "" | "." => {}
            ".." => {
                path.pop();
            }
            step => path.push(step),
        }
    }
    path.join("/")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn targets_are_seen_from_their_folder() {
        assert_eq!(resolve("word", "styles.xml"), "word/styles.xml");
        assert_eq!(resolve("word", "/word/styles.xml"), "word/styles.xml");
        assert_eq!(resolve("xl/worksheets", "../sharedStrings.xml"), "xl/sharedStrings.xml");
        assert_eq!(resolve("", "../../word//./x.xml"), "word/x.xml");
    }
}
