//! A new table of contents for a PDF that has lost its own.
//!
//! A PDF ends with a table that says where its objects lie. In a file that is cut off or was changed
//! by a careless program it is missing or wrong, while the objects are still there, each behind its
//! number: `12 0 obj`. They are looked for, and a table of what was found is put behind the file.

use std::collections::BTreeMap;
use std::io::Write as _;

use pdf_extract::xref::XrefEntry;
use pdf_extract::{Document, Object, Stream};

/// Objects that are looked for; the numbers of larger files are made up.
const MAX_NUMBER: u32 = 8_388_607;

/// `bytes` with a new table behind them; `None` when no object or no catalog is found.
pub(super) fn rebuilt(bytes: &[u8]) -> Option<Vec<u8>> {
    // Of objects with one number the last one counts, as changes are written behind.
    let objects: BTreeMap<u32, (u16, usize)> =
        objects(bytes).map(|(number, generation, at)| (number, (generation, at))).collect();
    let root = last_reference(bytes, b"/Root").filter(|root| objects.contains_key(root));
    let root = root.or_else(|| catalog(bytes, &objects))?;
    let mut out = bytes.to_vec();
    let start = out.len() + 1;
    let size = objects.keys().next_back()? + 1;
    out.extend_from_slice(b"\nxref\n0 1\n0000000000 65535 f \n");
    for (number, (generation, at)) in &objects {
        // Writing to memory does not fail.
        let _ = write!(out, "{number} 1\n{at:010} {generation:05} n \n");
    }
    let generation = |number: u32| objects.get(&number).map_or(0, |(generation, _)| *generation);
    let _ = write!(out, "trailer\n<</Size {size}/Root {root} {} R", generation(root));
    for key in ["/Info", "/Encrypt"] {
        if let Some(number) = last_reference(bytes, key.as_bytes()) {
            let _ = write!(out, "{key} {number} {} R", generation(number));
        }
    }
    if let Some(id) = last_id(bytes) {
        out.extend_from_slice(b"/ID");
        out.extend_from_slice(id);
    }
    let _ = write!(out, ">>\nstartxref\n{start}\n%%EOF\n");
    Some(out)
}

/// Gives the streams of `doc` their content that state a wrong length, which its parser takes for plain
/// dictionaries; whether there were any. `bytes` are those that `doc` was parsed from.
pub(super) fn mend_streams(doc: &mut Document, bytes: &[u8]) -> bool {
    let start = bytes.windows(5).position(|window| window == b"%PDF-").unwrap_or(0);
    let bytes = &bytes[start..];
    let mut mended = false;
    for (number, entry) in &doc.reference_table.entries {
        let XrefEntry::Normal { offset, generation } = *entry else { continue };
        let Some(Object::Dictionary(found)) = doc.objects.get(&(*number, generation)) else {
            continue;
        };
        let content = bytes.get(offset as usize..).and_then(content);
        if let Some(content) = content.filter(|_| found.has(b"Length")) {
            let stream = Stream::new(found.clone(), content.to_vec());
            doc.objects.insert((*number, generation), Object::Stream(stream));
            mended = true;
        }
    }
    mended
}

/// What stands between `stream` and `endstream` in the object at the start of `bytes`.
fn content(bytes: &[u8]) -> Option<&[u8]> {
    let find = |from: usize, word: &[u8]| {
        bytes.get(from..)?.windows(word.len()).position(|window| window == word).map(|at| from + at)
    };
    let open = find(0, b"stream")?;
    let end = find(open, b"endstream")?;
    // An object without a stream must not be given that of the next one.
    if find(0, b"endobj").is_some_and(|close| close < open) {
        return None;
    }
    let data = &bytes[open + 6..end];
    let data = data.strip_prefix(b"\r").unwrap_or(data);
    let data = data.strip_prefix(b"\n").unwrap_or(data);
    let data = data.strip_suffix(b"\n").unwrap_or(data);
    Some(data.strip_suffix(b"\r").unwrap_or(data))
}

/// Number, generation and place of everything that looks like the beginning of an object.
fn objects(bytes: &[u8]) -> impl Iterator<Item = (u32, u16, usize)> {
    let begins = bytes.windows(4).enumerate().filter(|(_, window)| *window == b" obj");
    begins.filter_map(|(at, _)| {
        let (generation, before) = number_before(bytes, at)?;
        let gap = before.checked_sub(1).filter(|gap| bytes[*gap].is_ascii_whitespace())?;
        let (number, start) = number_before(bytes, gap)?;
        let number = u32::try_from(number).ok().filter(|n| (1..=MAX_NUMBER).contains(n))?;
        Some((number, u16::try_from(generation).ok()?, start))
    })
}

/// The number whose digits end before `end`, and where it begins.
fn number_before(bytes: &[u8], end: usize) -> Option<(u64, usize)> {
    let digits = bytes[..end].iter().rev().take(10).take_while(|b| b.is_ascii_digit()).count();
    let start = end - digits;
    let text = std::str::from_utf8(bytes.get(start..end)?).ok()?;
    Some((text.parse().ok()?, start))
}

/// The number of the object that the last `key` refers to.
fn last_reference(bytes: &[u8], key: &[u8]) -> Option<u32> {
    let places = bytes.windows(key.len()).enumerate().rev().filter(|(_, window)| *window == key);
    let mut found = places.filter_map(|(at, _)| {
        let rest = &bytes[at + key.len()..];
        let blanks = rest.iter().take_while(|b| b.is_ascii_whitespace()).count();
        let digits = rest[blanks..].iter().take(10).take_while(|b| b.is_ascii_digit()).count();
        std::str::from_utf8(&rest[blanks..blanks + digits]).ok()?.parse().ok()
    });
    found.next()
}

/// The last `/ID`'s array, brackets included.
fn last_id(bytes: &[u8]) -> Option<&[u8]> {
    let at = bytes.windows(3).rposition(|window| window == b"/ID")? + 3;
    let rest = &bytes[at..];
    let open = rest.iter().take_while(|b| b.is_ascii_whitespace()).count();
    let close = rest.iter().take(1024).position(|b| *b == b']')?;
    (rest.get(open) == Some(&b'[')).then(|| &rest[open..=close])
}

/// The object that calls itself the catalog.
fn catalog(bytes: &[u8], objects: &BTreeMap<u32, (u16, usize)>) -> Option<u32> {
    let is_catalog = |(_, (_, at)): &(&u32, &(u16, usize))| {
        let head = &bytes[*at..bytes.len().min(at + 1024)];
        let own = head.windows(6).position(|window| window == b"endobj").unwrap_or(head.len());
        let bare: Vec<u8> =
            head[..own].iter().copied().filter(|b| !b.is_ascii_whitespace()).collect();
        bare.windows(13).any(|window| window == b"/Type/Catalog")
    };
    objects.iter().rev().find(is_catalog).map(|(number, _)| *number)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stream_ends_where_it_says_and_not_where_its_length_does() {
        assert_eq!(content(b"1 0 obj <</Length 9>> stream\r\nab\nendstream"), Some(&b"ab"[..]));
        assert_eq!(content(b"1 0 obj <<>> endobj 2 0 obj <<>> stream\nab\nendstream"), None);
        assert_eq!(content(b"1 0 obj <<>> stream\nab"), None);
    }

    #[test]
    fn the_last_object_of_a_number_counts() {
        let bytes = b"%PDF-1.4\n1 0 obj <</Type /Catalog>> endobj\n12 3 obj x endobj 12 4 obj y endobj obj a obj";
        let found: Vec<_> = objects(bytes).collect();
        assert_eq!(found, [(1, 0, 9), (12, 3, 43), (12, 4, 61)]);
        let out = rebuilt(bytes).unwrap();
        let tail = String::from_utf8_lossy(&out[bytes.len()..]).into_owned();
        assert!(tail.contains("12 1\n0000000061 00004 n \n"), "{tail}");
        assert!(tail.contains("<</Size 13/Root 1 0 R>>"), "{tail}");
        assert_eq!(rebuilt(b"%PDF-1.4 1 0 obj x endobj"), None);
        assert_eq!(last_reference(b"/Root 4 0 R /Root  71 0 R /Root x", b"/Root"), Some(71));
        assert_eq!(last_id(b"/ID [<a><b>]/ID[<c>]"), Some(&b"[<c>]"[..]));
    }
}
