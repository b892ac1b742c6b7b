//! AsciiDoc as structured text: sections, paragraphs, lists, delimited blocks and tables.
//!
//! Attributes that the document sets are put where it names them; nothing else is resolved: no
//! included files, no conditions, no references. Comments, block attributes and macros that bring no
//! text are left out.

mod inline;
mod table;

use std::collections::HashMap;

use inline::plain;

use super::lines::{Line, dedented, joined, lines_of, place};
use super::{
    BodyForm, CorpusSettings, Document, Draft, Metadata, Place, RawFile, Reader, Reading, Row,
    Source, naming,
};
use crate::error::Result;

/// Reads `.adoc`, `.asciidoc` and `.asc`.
pub struct AsciiDoc;

impl Reader for AsciiDoc {
    fn read(&self, source: &RawFile, _: &CorpusSettings) -> Result<Reading> {
        let decoded = source.text()?;
        let lines = lines_of(&decoded.text);
        let mut scribe = Scribe::default();
        let start = scribe.header(&lines);
        scribe.blocks(&lines[start..]);
        let (body, structure) = scribe.draft.finish();
        let document = Document {
            id: naming::id_with_ending(&source.path),
            title: scribe.title.unwrap_or_else(|| naming::title_of_path(&source.path)),
            metadata: scribe.metadata,
            body,
            form: BodyForm::Structured(structure),
            source: Source::file(&source.path, 1, 0),
            vector: None,
        };
        let reading = Reading { documents: vec![document], remarks: decoded.remarks };
        Ok(reading.placed(&decoded.offsets))
    }
}

#[derive(Default)]
struct Scribe {
    draft: Draft,
    title: Option<String>,
    metadata: Metadata,
    attributes: HashMap<String, String>,
    /// Open `____`, inside which text is quoted.
    quotes: usize,
    /// The attributes in brackets above a block.
    style: String,
    /// Whether a list is open.
    in_list: bool,
    /// Whether a `+` alone lets the open item go on in the next block.
    goes_on: bool,
    /// Lists open at this place, by the marker of each.
    markers: Vec<String>,
}

impl Scribe {
    /// Title, author, revision and attributes at the top; says where they end.
    fn header(&mut self, lines: &[Line<'_>]) -> usize {
        let mut at = skip(lines, 0, |line| line.is_blank() || is_comment(line.text));
        let Some(title) = lines.get(at).and_then(|line| heading(line.text)) else { return at };
        if title.0 != 1 {
            return at;
        }
        self.title = Some(plain(title.1, &self.attributes)).filter(|title| !title.is_empty());
        at += 1;
        // The author and the revision are lines without a marker right below the title.
        for key in ["author", "revision"] {
            let Some(line) = lines.get(at).filter(|line| {
                line.text.starts_with(char::is_alphanumeric) && self.title.is_some()
            }) else {
                break;
            };
            self.metadata.insert_json(key.to_owned(), line.text.trim().into());
            at += 1;
        }
        while let Some(line) = lines.get(at).filter(|line| !line.is_blank()) {
            if let Some((name, value)) = attribute(line.text) {
                self.set(name, value);
            } else if !is_comment(line.text) {
                break;
            }
            at += 1;
        }
        at
    }

    fn set(&mut self, name: &str, value: &str) {
        // A value may name others, each of which is put in once; so none can grow without end.
        let value = plain(value, &self.attributes);
        if value.len() <= inline::VALUE_BYTES {
            self.attributes.insert(name.to_lowercase(), value);
        }
    }

    fn blocks(&mut self, lines: &[Line<'_>]) {
        let mut at = 0;
        while at < lines.len() {
            at += self.block(&lines[at..]).max(1);
        }
    }

    /// Reads the block that `lines` begin with; says how many lines it has.
    fn block(&mut self, lines: &[Line<'_>]) -> usize {
        let text = lines[0].text.trim_end();
        if text.is_empty() {
            return 1;
        }
        if let Some(used) = self.unseen(lines, text) {
            return used;
        }
        if let Some((level, title)) = heading(text) {
            self.leave_list();
            let title = plain(title, &self.attributes);
            self.draft.heading(level, &title, place(&lines[..1]));
            self.style.clear();
            return 1;
        }
        if let Some(used) = self.delimited(lines, text) {
            self.settle(false);
            return used;
        }
        if let Some((marker, rest)) = item(text) {
            return self.item(lines, marker, rest);
        }
        if let Some(title) = block_title(text) {
            self.draft.paragraph(&plain(title, &self.attributes), place(&lines[..1]));
            return 1;
        }
        self.paragraph(lines)
    }

    /// What brings no text: comments, attributes, anchors, macros, rules.
    fn unseen(&mut self, lines: &[Line<'_>], text: &str) -> Option<usize> {
        if text.starts_with("////") {
            return Some(fenced(lines));
        }
        if is_comment(text) || matches!(text, "'''" | "<<<" | "---" | "***") {
            return Some(1);
        }
        if let Some((name, value)) = attribute(text) {
            self.set(name, value);
            return Some(1);
        }
        if text == "+" {
            self.goes_on = true;
            return Some(1);
        }
        if text.starts_with('[') && text.ends_with(']') {
            self.style.push_str(text);
            return Some(1);
        }
        let name = text.split_once("::").map_or("", |(name, _)| name);
        let silent =
            ["include", "image", "toc", "ifdef", "ifndef", "ifeval", "endif", "video", "audio"];
        silent.contains(&name).then_some(1)
    }

    /// A block between two lines of one kind.
    fn delimited(&mut self, lines: &[Line<'_>], text: &str) -> Option<usize> {
        let is_fence =
            |mark: char, least: usize| text.len() >= least && text.chars().all(|c| c == mark);
        if text.starts_with("|===") || text.starts_with(",===") || text.starts_with("!===") {
            let used = fenced(lines);
            self.table(&lines[1..used], text);
            return Some(used);
        }
        if is_fence('-', 4) || is_fence('.', 4) || text.starts_with("```") {
            let used = fenced(lines);
            let end = if used > 1 && closes(lines[used - 1].text, text) { used - 1 } else { used };
            self.draft.code(&dedented(&lines[1..end]), place(&lines[..used]));
            return Some(used);
        }
        if is_fence('+', 4) {
            return Some(fenced(lines));
        }
        if is_fence('_', 4) {
            // The text inside is read as blocks, and so is that of examples and sidebars.
            self.quotes = 1 - self.quotes.min(1);
            return Some(1);
        }
        (is_fence('=', 4) || is_fence('*', 4) || text == "--").then_some(1)
    }

    fn table(&mut self, lines: &[Line<'_>], fence: &str) {
        let separator =
            if fence.starts_with(',') { ',' } else { fence.chars().next().unwrap_or('|') };
        let end = lines.iter().rposition(|line| closes(line.text, fence)).unwrap_or(lines.len());
        let attributes = &self.attributes;
        let (header, rows) =
            table::read(&lines[..end], separator, &self.style, |text| plain(text, attributes));
        self.draft.table(header.as_ref(), &rows);
    }

    /// An item: its line and those below it up to a blank line, a marker or a fence.
    fn item(&mut self, lines: &[Line<'_>], marker: &str, rest: &str) -> usize {
        let goes_on = |line: &&Line<'_>| {
            let text = line.text.trim_end();
            !text.is_empty() && text != "+" && item(text).is_none() && !is_border(text)
        };
        let used = 1 + lines[1..].iter().take_while(goes_on).count();
        let text = format!("{rest} {}", joined(&lines[1..used]));
        // `*` under `.` is one further in, `.` again is back.
        let is_term = marker.ends_with("::") || marker.ends_with(";;");
        let kind: String = if is_term {
            marker.chars().rev().take_while(|c| matches!(c, ':' | ';')).collect()
        } else {
            marker.chars().filter(|c| !c.is_ascii_digit()).collect()
        };
        match self.markers.iter().position(|own| *own == kind).filter(|_| self.in_list) {
            Some(at) => self.markers.truncate(at + 1),
            None => {
                if !self.in_list {
                    self.markers.clear();
                }
                self.markers.push(kind);
            }
        }
        (self.in_list, self.goes_on) = (true, false);
        let shown = if is_term {
            let (term, text) = (marker.trim_end_matches([':', ';']).trim(), text.trim());
            let colon = if text.is_empty() { "" } else { ": " };
            ("-", format!("{term}{colon}{text}"))
        } else {
            let sign = if marker.starts_with('.') { "." } else { marker.trim_start_matches('*') };
            (if sign.is_empty() { "-" } else { sign }, text)
        };
        let depth = self.markers.len() - 1;
        let text = plain(&shown.1, &self.attributes);
        self.draft.list_item(depth, shown.0, &text, place(&lines[..used]));
        used
    }

    /// Lines up to a blank one or a border.
    fn paragraph(&mut self, lines: &[Line<'_>]) -> usize {
        let is_literal = lines[0].indent() > 0 && !self.in_list;
        let goes_on = |line: &&Line<'_>| !line.is_blank() && !is_border(line.text.trim_end());
        let used = 1 + lines[1..].iter().take_while(goes_on).count();
        let (own, at) = (&lines[..used], place(&lines[..used]));
        if is_literal {
            self.draft.code(&dedented(own), at);
        } else {
            let seen = own.iter().filter(|line| !is_comment(line.text));
            let text: Vec<&str> =
                seen.map(|line| line.text.trim().trim_end_matches(" +")).collect();
            let text = plain(&text.join("\n"), &self.attributes);
            if self.quotes > 0 || self.style.starts_with("[quote") {
                self.draft.quote(&text, at);
            } else {
                self.draft.paragraph(&text, at);
            }
        }
        self.settle(lines[0].indent() > 0);
        used
    }

    /// A block is over: the list is too, unless a `+` or indentation bound the block to it.
    fn settle(&mut self, is_indented: bool) {
        self.style.clear();
        if !std::mem::take(&mut self.goes_on) && !is_indented {
            self.leave_list();
        }
    }

    fn leave_list(&mut self) {
        self.in_list = false;
        self.markers.clear();
    }
}

/// The first line from `at` on that is not as `passed` says.
fn skip(lines: &[Line<'_>], at: usize, passed: impl Fn(&Line<'_>) -> bool) -> usize {
    at + lines[at..].iter().take_while(|line| passed(line)).count()
}

fn is_comment(text: &str) -> bool {
    text.starts_with("//") && !text.starts_with("///")
}

/// The level of a section title, the document's own being 1, and what it says.
fn heading(text: &str) -> Option<(u8, &str)> {
    let mark = text.chars().next().filter(|c| matches!(c, '=' | '#'))?;
    let level = text.chars().take_while(|c| *c == mark).count();
    let title = text[level..].strip_prefix(' ')?.trim();
    (level <= 6 && !title.is_empty()).then_some((level as u8, title))
}

/// The title of the block below, which is written with a full stop before it.
fn block_title(text: &str) -> Option<&str> {
    text.strip_prefix('.').filter(|rest| rest.starts_with(char::is_alphanumeric))
}

/// `:name: value`, or `:!name:`.
fn attribute(text: &str) -> Option<(&str, &str)> {
    let (name, value) = text.strip_prefix(':')?.split_once(':')?;
    let of_name = |c: char| c.is_alphanumeric() || matches!(c, '-' | '_' | '!');
    let is_name = !name.is_empty() && name.chars().all(of_name);
    (is_name && (value.is_empty() || value.starts_with(' '))).then_some((name, value.trim()))
}

/// The marker of an item and the text behind it; for `term:: text`, the term with its colons.
fn item(text: &str) -> Option<(&str, &str)> {
    let text = text.trim_start();
    if let Some((sign, rest)) = text.split_once(' ') {
        let of = |mark: char| sign.len() <= 6 && sign.chars().all(|c| c == mark);
        let number = sign.strip_suffix('.').is_some_and(|number| {
            number.len() < 10 && !number.is_empty() && number.bytes().all(|b| b.is_ascii_digit())
        });
        if of('*') || of('.') || sign == "-" || number {
            return Some((sign, rest.trim()));
        }
    }
    for colons in ["::", ";;"] {
        let Some(at) = text
            .find(&format!("{colons} "))
            .or_else(|| text.ends_with(colons).then(|| text.len() - 2))
        else {
            continue;
        };
        let end = at + text[at..].chars().take_while(|c| colons.starts_with(*c)).count();
        if at > 0 && !text[..at].contains("::") {
            return Some((&text[..end], text[end..].trim()));
        }
    }
    None
}

/// Whether a line begins something new wherever it stands.
fn is_border(text: &str) -> bool {
    let fence = |mark: char| text.len() >= 4 && text.chars().all(|c| c == mark);
    ['-', '.', '=', '*', '_', '+', '/'].into_iter().any(fence)
        || text.starts_with("|===")
        || text.starts_with("```")
        || text == "--"
        || text == "+"
        || text.starts_with('[') && text.ends_with(']') && !text.contains(' ')
}

/// Whether `text` closes what `fence` opened.
fn closes(text: &str, fence: &str) -> bool {
    let end = text.trim_end();
    end == fence || fence.starts_with("```") && end == "```"
}

/// How many lines the block has that the first line opens; all when it is never closed.
fn fenced(lines: &[Line<'_>]) -> usize {
    let fence = lines[0].text.trim_end();
    let end = lines.iter().skip(1).position(|line| closes(line.text, fence));
    end.map_or(lines.len(), |end| end + 2)
}

#[cfg(test)]
mod tests;
