//! EPUB: the chapters of a book in the order in which they are read, each as the page that it is.
//!
//! The order is that of the spine. A table of contents that stands in it repeats the headings and is left
//! out; the pages of notes belong to the text. A chapter that is locked against copying is told, and a book
//! that is nothing else is refused.

use std::collections::{HashMap, HashSet};

use super::archive::Archive;
use super::html::Page;
use super::package::{describe, parsed, resolve};
use super::xml::{Element, Tree};
use super::{
    BodyForm, CorpusSettings, Document, Draft, Metadata, Place, RawFile, Reader, Reading, Remark,
    Source, Value, naming,
};
use crate::error::Result;

/// Reads `.epub`.
pub struct Epub;

/// Where every book says which of its files is the list of the others.
const CONTAINER: &str = "META-INF/container.xml";

/// Where a book says which of its files are locked.
const ENCRYPTION: &str = "META-INF/encryption.xml";

/// The way out for a book that is not put together as it should be.
const RESAVE: &str = "save it again in the program it is of";

impl Reader for Epub {
    fn read(&self, source: &RawFile, settings: &CorpusSettings) -> Result<Reading> {
        let bytes = source.bytes()?;
        let mut archive = Archive::open(&source.location, bytes, settings.max_unpacked_bytes)?;
        let main = package(&mut archive)?;
        let Some(text) = archive.text(&main)? else {
            return Err(archive.fault(format!("there is no `{main}` in it"), RESAVE));
        };
        let tree = parsed(&archive, &main, &text)?;
        let locked = locked(&mut archive)?;
        let folder = main.rsplit_once('/').map_or("", |(folder, _)| folder);
        let chapters = chapters(&tree, folder);
        let stated = |name: &str| stated(&tree, name);
        let title = stated("title");
        let (mut draft, mut remarks, mut read) = (Draft::default(), Vec::new(), 0);
        for part in &chapters {
            if locked.contains(part) {
                let text = format!("the chapter `{part}` is locked against copying");
                remarks.push(Remark::loss(None, text));
                continue;
            }
            match archive.text(part)? {
                Some(page) => chapter(&Page::chapter(&page), title.as_deref(), &mut draft),
                None => {
                    let text = format!("the chapter `{part}` is missing");
                    remarks.push(Remark::loss(None, text));
                }
            }
            read += 1;
        }
        if read == 0 && !chapters.is_empty() {
            let problem = "it is locked against copying (DRM)";
            return Err(archive.fault(problem, "put a copy without the lock in its place"));
        }
        if chapters.is_empty() {
            return Err(archive.fault(format!("`{main}` in it names no chapter"), RESAVE));
        }
        let mut metadata = Metadata::default();
        describe(&mut metadata, stated("creator"), stated("date"));
        if let Some(language) = stated("language") {
            metadata.0.insert("lang".to_owned(), Value::Text(language));
        }
        let (body, structure) = draft.finish();
        let document = Document {
            id: naming::id_with_ending(&source.path),
            title: title.unwrap_or_else(|| naming::title_of_path(&source.path)),
            metadata,
            body,
            form: BodyForm::Structured(structure),
            source: Source::file(&source.path, 1, 0),
            vector: None,
        };
        Ok(Reading { documents: vec![document], remarks })
    }
}

/// The name of the file that lists all others.
fn package(archive: &mut Archive) -> Result<String> {
    let Some(text) = archive.text(CONTAINER)? else {
        return Err(archive.fault(format!("there is no `{CONTAINER}` in it"), RESAVE));
    };
    let tree = parsed(archive, CONTAINER, &text)?;
    let listed = tree.root().descendants().find(|one| one.name() == "rootfile");
    let main = listed.and_then(|one| one.attribute("full-path"));
    main.map(|main| resolve("", main))
        .ok_or_else(|| archive.fault("nothing in it says where the book is", RESAVE))
}

/// The files that cannot be read without a key. Fonts often are among them, and are no text.
fn locked(archive: &mut Archive) -> Result<HashSet<String>> {
    let Some(text) = archive.text(ENCRYPTION)? else { return Ok(HashSet::new()) };
    let tree = parsed(archive, ENCRYPTION, &text)?;
    let listed = tree.root().descendants().filter(|one| one.name() == "CipherReference");
    Ok(listed.filter_map(|one| Some(resolve("", &unescaped(one.attribute("URI")?)))).collect())
}

/// What the book states about itself under `name`.
fn stated(tree: &Tree, name: &str) -> Option<String> {
    let metadata = tree.root().child("metadata")?;
    // Books in the first version of the format have one element more.
    let metadata = metadata.child("dc-metadata").unwrap_or(metadata);
    let same = |one: &Element<'_>| one.name().eq_ignore_ascii_case(name);
    let found = super::heading::tidy(&metadata.children().find(same)?.text());
    (!found.is_empty()).then_some(found)
}

/// The names of the chapters in the order of reading, without a table of contents.
fn chapters(tree: &Tree, folder: &str) -> Vec<String> {
    let root = tree.root();
    let children = |name: &str| root.child(name).into_iter().flat_map(Element::children);
    let href = |one: Element<'_>| {
        let href = one.attribute("href")?;
        let (path, _) = href.split_once('#').unwrap_or((href, ""));
        Some(resolve(folder, &unescaped(path)))
    };
    let contents: HashSet<String> = children("guide")
        .filter(|one| one.attribute("type").is_some_and(|kind| kind.eq_ignore_ascii_case("toc")))
        .filter_map(href)
        .collect();
    let items: HashMap<&str, Element<'_>> =
        children("manifest").filter_map(|one| Some((one.attribute("id")?, one))).collect();
    let is_page = |item: &Element<'_>| {
        let has = |name, word| {
            item.attribute(name).is_some_and(|all| all.split_whitespace().any(|one| one == word))
        };
        let is_picture =
            item.attribute("media-type").is_some_and(|kind| kind.starts_with("image/"));
        !is_picture && !has("properties", "nav")
    };
    let mut known = HashSet::new();
    children("spine")
        .filter_map(|entry| items.get(entry.attribute("idref")?).copied())
        .filter(is_page)
        .filter_map(href)
        // Read once, however often it is named.
        .filter(|part| !contents.contains(part) && known.insert(part.clone()))
        .collect()
}

/// `%20` and the like as the bytes that they stand for.
fn unescaped(address: &str) -> String {
    let mut bytes = Vec::with_capacity(address.len());
    let mut rest = address.as_bytes();
    while let [first, tail @ ..] = rest {
        let pair = tail.get(..2).filter(|_| *first == b'%');
        let code = pair.and_then(|pair| std::str::from_utf8(pair).ok());
        let code = code.filter(|code| code.bytes().all(|byte| byte.is_ascii_hexdigit()));
        let (byte, tail) = match code.and_then(|code| u8::from_str_radix(code, 16).ok()) {
            Some(byte) => (byte, &tail[2..]),
            None => (*first, tail),
        };
        bytes.push(byte);
        rest = tail;
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

/// Adds a chapter; one without any heading stands under its title, unless that is the book's.
fn chapter(page: &Page, book: Option<&str>, draft: &mut Draft) {
    if let (false, Some(title)) = (page.has_heading(), page.title.as_deref())
        && Some(title) != book
        && !page.is_empty()
    {
        draft.heading(1, title, Place::default());
    }
    page.draw(draft, Some(&Place::default()));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_lose_their_escapes_and_keep_what_is_none() {
        for (address, wanted) in [
            ("a%20b.xhtml", "a b.xhtml"),
            ("gr%C3%B6%C3%9fe", "größe"),
            ("100%", "100%"),
            ("%+1%zz%4", "%+1%zz%4"),
            ("%ff", "\u{FFFD}"),
        ] {
            assert_eq!(unescaped(address), wanted);
        }
    }
}
