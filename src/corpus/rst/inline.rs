//! Markup inside a line.

/// `text` without the marks of roles, references and literals: ``:ref:`Seals <seals>` `` is `Seals`.
pub(super) fn plain(text: &str) -> String {
    if !text.contains('`') {
        return text.to_owned();
    }
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(open) = rest.find('`') {
        out.push_str(&rest[..open]);
        let marks = if rest[open..].starts_with("``") { 2 } else { 1 };
        let inner = &rest[open + marks..];
        let Some(close) = inner.find(&"``"[..marks]) else {
            out.push_str(&rest[open..]);
            return out;
        };
        rest = &inner[close + marks..];
        if marks == 2 {
            out.push_str(&inner[..close]);
            continue;
        }
        drop_role(&mut out);
        let shown = &inner[..close];
        let target = shown.rfind('<').filter(|_| shown.ends_with('>'));
        let label = target.map(|at| shown[..at].trim_end()).filter(|label| !label.is_empty());
        out.push_str(label.unwrap_or(shown));
        rest = rest.strip_prefix("__").or_else(|| rest.strip_prefix('_')).unwrap_or(rest);
    }
    out.push_str(rest);
    out
}

/// Drops `:role:` from the end of `out`.
fn drop_role(out: &mut String) {
    let Some(before) = out.strip_suffix(':') else { return };
    // Roles are short; a colon far away begins none.
    let start = before
        .char_indices()
        .rev()
        .take(40)
        .find(|(_, c)| !(c.is_alphanumeric() || matches!(c, '-' | '_' | '.' | '+' | ':')));
    let start = start.map_or(0, |(at, c)| at + c.len_utf8());
    if before[start..].starts_with(':') && before[start..].len() > 1 {
        out.truncate(start);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn marks_go_and_text_stays() {
        let cases = [
            ("See :ref:`Seals <seals>` and ``a * b``.", "See Seals and a * b."),
            ("A `link <http://x>`_, `other`__ :py:func:`f` **b** *c*", "A link, other f **b** *c*"),
            ("an open ` mark, é`", "an open  mark, é"),
            ("`one", "`one"),
            ("``two` x", "``two` x"),
            ("a: `b` `<http://x>`_", "a: b <http://x>"),
        ];
        for (text, wanted) in cases {
            assert_eq!(plain(text), wanted, "{text}");
        }
    }
}
