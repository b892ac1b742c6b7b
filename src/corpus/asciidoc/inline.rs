//! Markup inside a line.

use std::collections::HashMap;

/// The longest value of an attribute that is put in elsewhere.
pub(super) const VALUE_BYTES: usize = 1024;

/// `text` with the values of `attributes` put in, links and references as what they show:
/// `https://x[the site]` is `the site`, `<<seals,Seals>>` is `Seals`.
pub(super) fn plain(text: &str, attributes: &HashMap<String, String>) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    // Values are put in as long as the text does not grow out of all measure by them.
    let most = text.len() * 16 + VALUE_BYTES * 2;
    while let Some(at) = rest.find(['{', '<', '[']) {
        out.push_str(&rest[..at]);
        rest = &rest[at..];
        let taken = match rest.as_bytes()[0] {
            b'{' if out.len() < most => value(rest, attributes, &mut out),
            b'{' => None,
            b'<' => reference(rest, &mut out),
            _ => link(rest, &mut out),
        };
        let taken = taken.unwrap_or_else(|| {
            out.push_str(&rest[..1]);
            1
        });
        rest = &rest[taken..];
    }
    out.push_str(rest);
    out
}

/// Names and labels are short; a mark without its partner near by is text.
const NEAR: usize = 200;

/// What stands before `end`, when that is near.
fn until<'t>(text: &'t str, end: &str) -> Option<&'t str> {
    let near = &text[..text.floor_char_boundary(NEAR)];
    near.find(end).map(|at| &text[..at])
}

/// `{name}`.
fn value(rest: &str, attributes: &HashMap<String, String>, out: &mut String) -> Option<usize> {
    let name = until(&rest[1..], "}")?;
    out.push_str(attributes.get(&name.to_lowercase())?);
    Some(name.len() + 2)
}

/// `<<id,text>>`.
fn reference(rest: &str, out: &mut String) -> Option<usize> {
    let inner = until(rest.strip_prefix("<<")?, ">>")?;
    out.push_str(inner.split_once(',').map_or(inner, |(_, label)| label.trim()));
    Some(inner.len() + 4)
}

/// The label in brackets behind an address or a macro, which then goes.
fn link(rest: &str, out: &mut String) -> Option<usize> {
    if let Some(anchor) = rest.strip_prefix("[[") {
        return Some(until(anchor, "]]")?.len() + 4);
    }
    let label = until(&rest[1..], "]")?;
    let tail = &out[out.ceil_char_boundary(out.len().saturating_sub(NEAR * 4))..];
    let word = tail.rsplit(char::is_whitespace).next().unwrap_or_default();
    let word = word.trim_start_matches(['(', '"']);
    let named =
        ["link:", "xref:", "mailto:", "footnote:", "image:", "kbd:", "btn:", "http://", "https://"];
    if !named.iter().any(|name| word.starts_with(name)) {
        return None;
    }
    let keep = if label.is_empty() { out.len() } else { out.len() - word.len() };
    let is_image = word.starts_with("image:");
    let note = word.starts_with("footnote:");
    out.truncate(keep);
    let shown = label.split_once(',').map_or(label, |(first, _)| first);
    out.push_str(if is_image {
        ""
    } else if note {
        label
    } else {
        shown.trim_matches('"')
    });
    Some(label.len() + 2)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_shown_stays() {
        let attributes = HashMap::from([("v".to_owned(), "1.2".to_owned())]);
        let cases = [
            ("Version {v}, {V} and {w}", "Version 1.2, 1.2 and {w}"),
            ("see <<seals,the *seals*>> or <<oil>>", "see the *seals* or oil"),
            ("at https://x.org/a[the site, window=_blank] (link:b.html[B])", "at the site (B)"),
            ("https://x.org[] stays, a[1] too", "https://x.org stays, a[1] too"),
            ("[[anchor]]Text é [ < {", "Text é [ < {"),
            ("press kbd:[Ctrl]", "press Ctrl"),
            // A blank of more than one byte.
            ("see\u{a0}link:a[b]\u{a0}[c]", "see\u{a0}b\u{a0}[c]"),
        ];
        for (text, wanted) in cases {
            assert_eq!(plain(text, &attributes), wanted, "{text}");
        }
    }
}
