//! What a PDF states about itself: its title and its bookmarks.

use std::collections::HashSet;

use pdf_extract::{Dictionary, Document, Object, ObjectId};

use super::flatten::dictionary;

/// Bookmarks that are read; books have a few thousand.
const MAX_BOOKMARKS: usize = 20_000;

/// An entry of the outline.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Bookmark {
    /// From 1.
    pub(super) level: u8,
    pub(super) title: String,
    /// The page it points to, from 1, where that can be told.
    pub(super) page: Option<u32>,
}

/// The bookmarks of `doc` in their order; `pages` are its pages in theirs.
pub(super) fn bookmarks(doc: &Document, pages: &[ObjectId]) -> Vec<Bookmark> {
    let mut found = Vec::new();
    let root = doc.catalog().ok().and_then(|root| dictionary(doc, root.get(b"Outlines").ok()?));
    let Some(root) = root else { return found };
    let mut seen = HashSet::new();
    // The open branches: what comes next on each.
    let mut open: Vec<Option<ObjectId>> = vec![reference(root, b"First")];
    while let Some(next) = open.last_mut() {
        let Some(id) = next.take().filter(|id| seen.insert(*id)) else {
            open.pop();
            continue;
        };
        let Ok(entry) = doc.get_dictionary(id) else { continue };
        *next = reference(entry, b"Next");
        let level = u8::try_from(open.len()).unwrap_or(u8::MAX);
        let title = entry.get_deref(b"Title", doc).and_then(Object::as_str).map(text);
        if let Ok(title) = title {
            found.push(Bookmark { level, title, page: page(doc, entry, pages) });
        }
        if found.len() >= MAX_BOOKMARKS {
            break;
        }
        open.push(reference(entry, b"First"));
    }
    found
}

fn reference(of: &Dictionary, key: &[u8]) -> Option<ObjectId> {
    of.get(key).ok()?.as_reference().ok()
}

/// The page that an entry points to by itself; one that it names elsewhere is not looked up.
fn page(doc: &Document, entry: &Dictionary, pages: &[ObjectId]) -> Option<u32> {
    let target = entry.get_deref(b"Dest", doc).ok();
    let action = || dictionary(doc, entry.get(b"A").ok()?)?.get_deref(b"D", doc).ok();
    let target = target.or_else(action)?.as_array().ok()?;
    let id = target.first()?.as_reference().ok()?;
    let place = pages.iter().position(|page| *page == id)?;
    u32::try_from(place + 1).ok()
}

/// The text that the document states about itself under `key`.
pub(super) fn stated(doc: &Document, key: &[u8]) -> Option<String> {
    let about = dictionary(doc, doc.trailer.get(b"Info").ok()?)?;
    let stated = text(about.get_deref(key, doc).ok()?.as_str().ok()?);
    let stated = super::super::heading::tidy(&stated);
    (!stated.is_empty()).then_some(stated)
}

/// The day in a date such as `D:20240131120000Z`, as `YYYY-MM-DD`.
pub(super) fn day(stated: &str) -> Option<String> {
    let digits = stated.strip_prefix("D:").unwrap_or(stated).get(..8)?;
    digits
        .bytes()
        .all(|b| b.is_ascii_digit())
        .then(|| format!("{}-{}-{}", &digits[..4], &digits[4..6], &digits[6..]))
}

/// A text string: UTF-16 or UTF-8 where its mark says so, else the encoding of PDF itself.
fn text(bytes: &[u8]) -> String {
    let wide = |rest: &[u8], join: fn([u8; 2]) -> u16| {
        let units = rest.chunks_exact(2).map(|pair| join([pair[0], pair[1]]));
        char::decode_utf16(units).map(|c| c.unwrap_or(' ')).collect::<String>()
    };
    let text = match bytes {
        [0xFE, 0xFF, rest @ ..] => wide(rest, u16::from_be_bytes),
        [0xFF, 0xFE, rest @ ..] => wide(rest, u16::from_le_bytes),
        [0xEF, 0xBB, 0xBF, rest @ ..] => String::from_utf8_lossy(rest).into_owned(),
        _ => match std::str::from_utf8(bytes) {
            // Programs forget the mark, and no other text looks like this.
            Ok(text) if !text.is_ascii() => text.to_owned(),
            _ => bytes.iter().map(|byte| latin(*byte)).collect(),
        },
    };
    // What stands between escape characters names a language.
    let mut parts = text.split('\u{1B}');
    let mut kept = parts.next().unwrap_or_default().to_owned();
    parts.skip(1).step_by(2).for_each(|part| kept.push_str(part));
    kept.chars().filter(|c| !c.is_control()).collect()
}

/// A byte of PDFDocEncoding: Latin-1, save for these (ISO 32000-1, annex D).
fn latin(byte: u8) -> char {
    const HIGH: [char; 33] = [
        '•', '†', '‡', '…', '—', '–', 'ƒ', '⁄', '‹', '›', '−', '‰', '„', '“', '”', '‘', '’', '‚',
        '™', 'ﬁ', 'ﬂ', 'Ł', 'Œ', 'Š', 'Ÿ', 'Ž', 'ı', 'ł', 'œ', 'š', 'ž', ' ', '€',
    ];
    const LOW: [char; 8] = ['˘', 'ˇ', 'ˆ', '˙', '˝', '˛', '˚', '˜'];
    match byte {
        0x18..=0x1F => LOW[usize::from(byte - 0x18)],
        0x80..=0xA0 => HIGH[usize::from(byte - 0x80)],
        _ => char::from(byte),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_strings_have_three_encodings() {
        assert_eq!(text(b"\xFE\xFF\0A\x20\xAC"), "A€");
        assert_eq!(text(b"\xEF\xBB\xBF\xC3\xA9"), "é");
        assert_eq!(text(b"caf\xE9 \x84 \xA0"), "café — €");
        assert_eq!(text("Größe".as_bytes()), "Größe");
        let marked = "\u{FEFF}\u{1B}en\u{1B}Hi".encode_utf16().flat_map(u16::to_be_bytes);
        assert_eq!(text(&marked.collect::<Vec<_>>()), "Hi");
        assert_eq!(day("D:20240131120000Z").as_deref(), Some("2024-01-31"));
        assert_eq!(day("yesterday"), None);
    }
}
