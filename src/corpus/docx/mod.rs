//! Word documents: headings by style, lists, tables, notes.
//!
//! What is read is what is printed: insertions that were tracked are in, deletions out, hidden text
//! and comments out. Heads and feet of pages are left out, since they say the same on every page,
//! and so is a table of contents, which repeats the headings. The text of charts and pictures is not
//! read.

mod body;
mod numbering;
mod styles;

use std::collections::HashMap;

use body::Walker;
use numbering::Numbering;
use styles::Styles;

use super::archive::Archive;
use super::package::{Package, Relationship};
use super::xml::Tree;
use super::{CorpusSettings, RawFile, Reader, Reading, Remark, pieces};
use crate::error::Result;

/// Reads `.docx` and `.docm`.
pub struct Docx;

impl Reader for Docx {
    fn read(&self, source: &RawFile, settings: &CorpusSettings) -> Result<Reading> {
        let archive =
            Archive::open(&source.location, source.bytes()?, settings.max_unpacked_bytes)?;
        let mut package = Package::open(archive, "word/document.xml")?;
        let main = package.main.clone();
        let links = package.relationships(&main)?;
        let parts = Parts::read(&mut package, &main, &links)?;
        let properties = package.properties()?;
        let (pieces, inserts) = parts.pieces();
        let mut remarks = Vec::new();
        if !inserts.is_empty() {
            let text = "another document that is embedded in it was left out";
            remarks.push(Remark::loss(None, text));
        }
        let document = pieces::document(source, properties.title, properties.metadata, pieces);
        Ok(Reading { documents: vec![document], remarks })
    }
}

/// The parts of a package that make up the text.
struct Parts {
    main: Tree,
    styles: Option<Tree>,
    numbering: Option<Tree>,
    /// Footnotes (`f`) and endnotes (`e`).
    notes: Vec<(char, Tree)>,
}

impl Parts {
    fn read(package: &mut Package, main: &str, links: &[Relationship]) -> Result<Self> {
        let mut linked = |kind: &str| -> Result<Option<Tree>> {
            match links.iter().find(|link| link.kind == kind) {
                Some(link) => package.tree(&link.part),
                None => Ok(None),
            }
        };
        let (styles, numbering) = (linked("styles")?, linked("numbering")?);
        let mut notes = Vec::new();
        for (mark, kind) in [('f', "footnotes"), ('e', "endnotes")] {
            notes.extend(linked(kind)?.map(|tree| (mark, tree)));
        }
        let Some(main) = package.tree(main)? else {
            return Err(package.archive.fault("its text is missing", ""));
        };
        Ok(Self { main, styles, numbering, notes })
    }

    /// The pieces of the text, and the parts that it takes in whole.
    fn pieces(&self) -> (Vec<pieces::Piece>, Vec<(usize, String)>) {
        let styles = self.styles.as_ref().map(|tree| Styles::read(tree.root()));
        let numbering = self.numbering.as_ref().map(|tree| Numbering::read(tree.root()));
        let mut notes = HashMap::new();
        for (kind, tree) in &self.notes {
            // Notes with a type are the lines that part notes from the text.
            let own = tree.root().children().filter(|note| note.attribute("type").is_none());
            let by_id =
                own.filter_map(|note| Some(((*kind, note.attribute("id")?.to_owned()), note)));
            notes.extend(by_id);
        }
        let root = self.main.root();
        let has_pages = root.descendants().any(|one| one.name() == "lastRenderedPageBreak");
        let styles = styles.unwrap_or_default();
        let mut walker = Walker::new(&styles, numbering.unwrap_or_default(), notes, has_pages);
        walker.blocks(root);
        (walker.pieces, walker.inserts)
    }
}
