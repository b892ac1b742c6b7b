//! Fonts made fit for the crate that decodes them, which stops at what it does not know.

use std::collections::BTreeMap;

use pdf_extract::{Dictionary, Document, Object};

use super::flatten::{dictionary, number};

/// Encodings by name that are known to the crate.
const ENCODINGS: [&[u8]; 3] = [b"MacRomanEncoding", b"MacExpertEncoding", b"WinAnsiEncoding"];

/// `font` without what would stop the decoding of its text.
pub(super) fn mended(doc: &Document, font: &Dictionary) -> Dictionary {
    let mut font = font.clone();
    let kind = font.get(b"Subtype").and_then(Object::as_name).unwrap_or(b"Type1").to_vec();
    font.set("Subtype", Object::Name(kind.clone()));
    if kind == b"Type0" {
        mend_composite(doc, &mut font);
        return font;
    }
    if font.get_deref(b"BaseFont", doc).and_then(Object::as_name).is_err() {
        font.set("BaseFont", Object::Name(b"Helvetica".to_vec()));
    }
    mend_encoding(doc, &mut font);
    // The widths of a font of drawings are in units of its own.
    let unit = match font.get_deref(b"FontMatrix", doc) {
        Ok(Object::Array(matrix)) if kind == b"Type3" => matrix.first().and_then(number),
        _ => None,
    };
    mend_widths(doc, &mut font, unit.map_or(1.0, |unit| unit.abs() * 1000.0));
    font
}

/// Codes that a composite font can have.
const MAX_CODES: i64 = 1 << 16;

/// Writes the widths of a composite font one by one: of a range the crate forgets the last.
fn mend_composite(doc: &Document, font: &mut Dictionary) {
    let inner = match font.get_deref(b"DescendantFonts", doc) {
        Ok(Object::Array(fonts)) => fonts.first().and_then(|inner| dictionary(doc, inner)),
        _ => None,
    };
    let Some(mut inner) = inner.cloned() else { return };
    if let Ok(Object::Array(parts)) = inner.get_deref(b"W", doc) {
        let widths = widths_by_code(doc, parts);
        let pairs = widths.into_iter().flat_map(|(code, width)| {
            [Object::Integer(code), Object::Array(vec![Object::Real(width as f32)])]
        });
        let pairs = pairs.collect();
        inner.set("W", Object::Array(pairs));
    }
    font.set("DescendantFonts", Object::Array(vec![Object::Dictionary(inner)]));
}

/// `first [w w …]` and `first last w` as one width a code.
fn widths_by_code(doc: &Document, parts: &[Object]) -> BTreeMap<i64, f64> {
    let found = |part: Option<&Object>| Some(doc.dereference(part?).ok()?.1.clone());
    let whole = |part: Option<&Object>| number(&found(part)?).map(|code| code as i64);
    let mut widths = BTreeMap::new();
    let mut at = 0;
    while let Some(first) = whole(parts.get(at)) {
        match found(parts.get(at + 1)) {
            Some(Object::Array(listed)) => {
                for (code, width) in (first..MAX_CODES).zip(&listed) {
                    widths.extend(number(width).map(|width| (code, width)));
                }
                at += 2;
            }
            Some(last) => {
                let last = number(&last).map_or(first, |last| last as i64).min(MAX_CODES);
                if let Some(width) = found(parts.get(at + 2)).as_ref().and_then(number) {
                    widths.extend((first.max(0)..=last).map(|code| (code, width)));
                }
                at += 3;
            }
            None => break,
        }
    }
    widths
}

fn mend_encoding(doc: &Document, font: &mut Dictionary) {
    let known = |name: &[u8]| ENCODINGS.contains(&name);
    let mended = match font.get_deref(b"Encoding", doc) {
        Ok(Object::Name(name)) if known(name) => return,
        Ok(Object::Dictionary(stated)) => {
            let mut stated = stated.clone();
            if !stated.get(b"BaseEncoding").and_then(Object::as_name).is_ok_and(known) {
                stated.remove(b"BaseEncoding");
            }
            if let Ok(Object::Array(parts)) = stated.get_deref(b"Differences", doc).cloned() {
                stated.set("Differences", Object::Array(differences(doc, &parts)));
            }
            stated
        }
        Ok(_) => Dictionary::new(),
        Err(_) => return,
    };
    if mended.is_empty() {
        font.remove(b"Encoding");
    } else {
        font.set("Encoding", Object::Dictionary(mended));
    }
}

/// Names and the codes they begin at, as far as a code is one of the 256.
fn differences(doc: &Document, parts: &[Object]) -> Vec<Object> {
    let mut code = 0;
    let mut kept = Vec::with_capacity(parts.len());
    for part in parts {
        match doc.dereference(part) {
            Ok((_, Object::Integer(number))) => {
                code = *number;
                kept.push(Object::Integer(code.clamp(0, 255)));
            }
            Ok((_, Object::Name(name))) => {
                if (0..256).contains(&code) {
                    kept.push(Object::Name(name.clone()));
                }
                code = code.saturating_add(1);
            }
            _ => {}
        }
    }
    kept
}

/// Widths that agree with their first and last code; else none.
fn mend_widths(doc: &Document, font: &mut Dictionary, unit: f64) {
    let widths = font.get_deref(b"Widths", doc).and_then(Object::as_array).map(|widths| {
        let shown = |width: &Object| doc.dereference(width).ok().and_then(|found| number(found.1));
        let plain =
            widths.iter().map(|width| Object::Real((shown(width).unwrap_or(0.0) * unit) as f32));
        plain.collect::<Vec<_>>()
    });
    let first = font.get_deref(b"FirstChar", doc).and_then(Object::as_i64);
    match (widths, first) {
        (Ok(widths), Ok(first)) if (0..256).contains(&first) && !widths.is_empty() => {
            font.set("FirstChar", Object::Integer(first));
            font.set("LastChar", Object::Integer(first + widths.len() as i64 - 1));
            font.set("Widths", Object::Array(widths));
        }
        _ => {
            font.remove(b"Widths");
        }
    }
}

/// `font` with less and less of what is in it, for when a fuller form cannot be read.
pub(super) fn poorer(doc: &Document, font: &Dictionary) -> Vec<Dictionary> {
    let without = |keys: &[&[u8]]| {
        let mut font = font.clone();
        for key in keys {
            font.remove(key);
        }
        font
    };
    let mut forms = vec![without(&[b"FontDescriptor"])];
    let has_map = font.get(b"ToUnicode").ok().is_some_and(|map| doc.dereference(map).is_ok());
    if has_map {
        forms.push(without(&[b"FontDescriptor", b"Encoding"]));
    }
    forms.push(without(&[b"FontDescriptor", b"ToUnicode"]));
    forms.push(without(&[b"FontDescriptor", b"ToUnicode", b"Encoding", b"Widths"]));
    forms
}

/// The name of `font`, for messages, without the letters that mark a subset.
pub(super) fn name(doc: &Document, font: &Dictionary) -> String {
    let descriptor = font.get(b"FontDescriptor").ok().and_then(|one| dictionary(doc, one));
    let stated = font.get_deref(b"BaseFont", doc).and_then(Object::as_name).ok();
    let stated = stated.or_else(|| descriptor?.get(b"FontName").and_then(Object::as_name).ok());
    let name = String::from_utf8_lossy(stated.unwrap_or(b"without a name")).into_owned();
    match name.split_once('+') {
        Some((mark, rest)) if mark.len() == 6 => rest.to_owned(),
        _ => name,
    }
}
