//! reStructuredText as structured text: sections, paragraphs, lists, literal blocks and tables.
//!
//! Directives are left out where they bring no text (`toctree`, `image`), are code where they hold
//! code, and are their content elsewhere. Comments, targets and definitions of substitutions are left
//! out. Nothing is resolved: no references, no substitutions, no included files.

mod inline;
mod table;

use inline::plain;

use super::lines::{Line, dedented, joined, lines_of, place};
use super::{
    BodyForm, CorpusSettings, Document, Draft, Metadata, Place, RawFile, Reader, Reading, Row,
    Source, naming,
};
use crate::error::Result;

/// Reads `.rst` and `.rest`.
pub struct Rst;

/// Blocks within blocks that are told apart; what is deeper is text.
const DEPTH_MAX: usize = 24;

impl Reader for Rst {
    fn read(&self, source: &RawFile, _: &CorpusSettings) -> Result<Reading> {
        let decoded = source.text()?;
        let lines = lines_of(&decoded.text);
        let mut scribe = Scribe::default();
        scribe.blocks(&lines, 0, Mode::default());
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

/// What a block stands in.
#[derive(Debug, Clone, Copy, Default)]
struct Mode {
    is_quote: bool,
    /// Lists around it.
    lists: usize,
    depth: usize,
}

#[derive(Default)]
struct Scribe {
    draft: Draft,
    title: Option<String>,
    metadata: Metadata,
    /// The characters of the section titles so far, outermost first, with whether a line stands above
    /// the title too.
    levels: Vec<(char, bool)>,
    /// Whether anything but the title came.
    has_text: bool,
}

impl Scribe {
    /// Reads `lines`, whose text begins at column `indent`.
    fn blocks(&mut self, lines: &[Line<'_>], indent: usize, mode: Mode) {
        let mut at = 0;
        while at < lines.len() {
            at += self.block(&lines[at..], indent, mode).max(1);
        }
    }

    /// Reads the block that `lines` begin with; says how many lines it has.
    fn block(&mut self, lines: &[Line<'_>], indent: usize, mode: Mode) -> usize {
        let first = lines[0];
        if first.is_blank() {
            return 1;
        }
        let text = first.text.trim();
        if first.indent() > indent {
            let quoted = inside(lines, indent);
            self.nested(&lines[..quoted], Mode { is_quote: true, ..mode });
            return quoted;
        }
        if let Some(used) = self.section(lines) {
            return used;
        }
        if is_line(text).is_some() {
            return 1;
        }
        if let Some((used, header, rows)) = table::read(lines) {
            self.has_text = true;
            self.draft.table(header.as_ref(), &rows);
            return used;
        }
        if text == ".." || text.starts_with(".. ") || text.starts_with("__ ") {
            let used = 1 + inside(&lines[1..], first.indent());
            self.explicit(&lines[..used], mode);
            return used;
        }
        if text.starts_with(">>>") {
            let used = lines.iter().take_while(|line| !line.is_blank()).count();
            self.draft.code(&dedented(&lines[..used]), place(&lines[..used]));
            return used;
        }
        if let Some((name, value)) = field(text) {
            let used = 1 + inside(&lines[1..], first.indent());
            let value = format!("{value} {}", joined(&lines[1..used]));
            self.field(name, value.trim(), place(&lines[..used]), mode);
            return used;
        }
        if let Some(marker) = marker(text) {
            let used = 1 + inside(&lines[1..], first.indent());
            self.item(&lines[..used], marker, mode);
            return used;
        }
        self.paragraph(lines, indent, mode)
    }

    /// Reads `lines` as blocks of their own, one step further in.
    fn nested(&mut self, lines: &[Line<'_>], mode: Mode) {
        let indents = lines.iter().filter(|line| !line.is_blank()).map(Line::indent);
        let Some(indent) = indents.min() else { return };
        if mode.depth >= DEPTH_MAX {
            self.draft.paragraph(&dedented(lines), place(lines));
            return;
        }
        self.blocks(lines, indent, Mode { depth: mode.depth + 1, ..mode });
    }

    /// A section title, with a line below it or above and below.
    fn section(&mut self, lines: &[Line<'_>]) -> Option<usize> {
        let text = |at: usize| lines.get(at).map(|line| line.text.trim_end());
        let (title, mark, over, used) = match (is_line(text(0)?), text(1), text(2)) {
            (Some((mark, _)), Some(title), Some(below))
                if is_line(below).is_some_and(|(own, _)| own == mark)
                    && !title.trim().is_empty()
                    && is_line(title).is_none() =>
            {
                (title, mark, true, 3)
            }
            (None, Some(below), _) => {
                let (mark, length) = is_line(below)?;
                let title = text(0)?;
                if length < title.chars().count().min(4) || lines[0].indent() > 0 {
                    return None;
                }
                (title, mark, false, 2)
            }
            _ => return None,
        };
        let title = plain(title.trim());
        let known = self.levels.iter().position(|level| *level == (mark, over));
        let level = known.unwrap_or_else(|| {
            self.levels.push((mark, over));
            self.levels.len() - 1
        });
        if level == 0 && self.title.is_none() && !self.has_text {
            self.title = Some(title);
        } else {
            self.has_text = true;
            let level = u8::try_from(level + 1).unwrap_or(u8::MAX);
            self.draft.heading(level, &title, place(&lines[..used]));
        }
        Some(used)
    }

    /// Everything that `..` begins: a directive, a footnote, or what nobody sees.
    fn explicit(&mut self, lines: &[Line<'_>], mode: Mode) {
        let rest = lines[0].text.trim().trim_start_matches("..").trim_start();
        if let Some(note) = rest.strip_prefix('[')
            && let Some((label, text)) = note.split_once(']')
        {
            let text = format!("[{label}] {} {}", text.trim(), joined(&lines[1..]));
            self.draft.quote(&plain(&text), place(lines));
        } else if let Some((name, args)) = directive(rest) {
            self.directive(name, args, lines, mode);
        }
    }

    fn directive(&mut self, name: &str, args: &str, lines: &[Line<'_>], mode: Mode) {
        let name = name.rsplit(':').next().unwrap_or(name);
        if SILENT.contains(&name) {
            return;
        }
        self.has_text = true;
        // Options stand right below, one a line.
        let options =
            lines[1..].iter().take_while(|line| field(line.text.trim()).is_some()).count();
        let content = &lines[1 + options..];
        if CODE.contains(&name) {
            self.draft.code(&dedented(content), place(content));
            return;
        }
        let said = match name {
            "versionadded" | "versionchanged" | "deprecated" => format!("{name} {args}"),
            _ => args.to_owned(),
        };
        if name != "figure" {
            self.text(&plain(&said), place(&lines[..1]), mode);
        }
        self.nested(content, mode);
    }

    fn field(&mut self, name: &str, value: &str, place: Place, mode: Mode) {
        if self.has_text || mode.depth > 0 || !self.draft.is_empty() {
            self.text(&plain(&format!("{name}: {value}")), place, mode);
        } else if !value.is_empty() {
            let key = name.to_lowercase().split_whitespace().collect::<Vec<_>>().join("_");
            self.metadata.insert_json(key, value.into());
        }
    }

    /// An item of a list: its first paragraph under the marker, then whatever else is in it.
    fn item(&mut self, lines: &[Line<'_>], marker: (&str, &str), mode: Mode) {
        self.has_text = true;
        let (sign, text) = marker;
        let more = lines[1..].iter().take_while(|line| !line.is_blank()).count();
        let (own, rest) = lines.split_at(1 + more);
        let text = format!("{text} {}", joined(&own[1..]));
        let (text, has_literal) = literal(text.trim());
        self.draft.list_item(mode.lists, sign, &plain(&text), place(own));
        if has_literal {
            self.draft.code(&dedented(rest), place(rest));
        } else {
            self.nested(rest, Mode { lists: mode.lists + 1, ..mode });
        }
    }

    /// Lines up to a blank one, and the literal block that they may announce.
    fn paragraph(&mut self, lines: &[Line<'_>], indent: usize, mode: Mode) -> usize {
        let own = |line: &&Line<'_>| !line.is_blank() && line.indent() >= indent;
        let used = lines.iter().take_while(own).count().max(1);
        let text: Vec<&str> = lines[..used].iter().map(|line| line.text.trim()).collect();
        let (text, has_literal) = literal(&text.join("\n"));
        self.text(&plain(&text), place(&lines[..used]), mode);
        if !has_literal {
            return used;
        }
        let code = inside(&lines[used..], indent);
        self.draft.code(&dedented(&lines[used..used + code]), place(&lines[used..used + code]));
        used + code
    }

    fn text(&mut self, text: &str, place: Place, mode: Mode) {
        self.has_text |= !text.trim().is_empty();
        if mode.lists > 0 {
            self.draft.list_item(mode.lists, "", text, place);
        } else if mode.is_quote {
            self.draft.quote(text, place);
        } else {
            self.draft.paragraph(text, place);
        }
    }
}

/// Directives that bring no text of the document.
const SILENT: [&str; 26] = [
    "toctree",
    "contents",
    "index",
    "raw",
    "include",
    "highlight",
    "meta",
    "image",
    "module",
    "currentmodule",
    "default-role",
    "role",
    "sectnum",
    "tabularcolumns",
    "sectionauthor",
    "codeauthor",
    "automodule",
    "autoclass",
    "autofunction",
    "autosummary",
    "literalinclude",
    "graphviz",
    "plantuml",
    "uml",
    "target-notes",
    "default-domain",
];

/// Directives whose content is kept line by line.
const CODE: [&str; 10] = [
    "code",
    "code-block",
    "sourcecode",
    "parsed-literal",
    "doctest",
    "testcode",
    "testoutput",
    "math",
    "csv-table",
    "prompt",
];

/// How many of `lines` stand further in than `indent`, blank ones between them included.
fn inside(lines: &[Line<'_>], indent: usize) -> usize {
    let reach = lines.iter().take_while(|line| line.is_blank() || line.indent() > indent).count();
    let last = lines[..reach].iter().rposition(|line| !line.is_blank());
    last.map_or(0, |last| last + 1)
}

/// The mark of a line that is nothing but one, at least twice, and its length.
fn is_line(text: &str) -> Option<(char, usize)> {
    let text = text.trim_end();
    let mark = text.chars().next().filter(char::is_ascii_punctuation)?;
    (text.len() > 1 && text.chars().all(|c| c == mark))
        .then_some((mark, text.len()))
        .filter(|(mark, length)| !(matches!(mark, '.' | ':') && *length == 2))
}

/// `name:: arguments`.
fn directive(text: &str) -> Option<(&str, &str)> {
    let (name, args) = text.split_once("::")?;
    let of_name = |c: char| c.is_alphanumeric() || matches!(c, '-' | '_' | ':' | '+' | '.');
    let is_name = !name.is_empty() && name.chars().all(of_name);
    (is_name && (args.is_empty() || args.starts_with(' '))).then_some((name, args.trim()))
}

/// `:name: value`.
fn field(text: &str) -> Option<(&str, &str)> {
    let (name, value) = text.strip_prefix(':')?.split_once(':')?;
    let is_name = !name.is_empty() && name.trim() == name && !name.contains('`');
    (is_name && (value.is_empty() || value.starts_with(' '))).then_some((name, value.trim()))
}

/// The marker of an item, and the text behind it.
fn marker(text: &str) -> Option<(&str, &str)> {
    let (sign, rest) = text.split_once(' ')?;
    let bare = sign.strip_prefix('(').unwrap_or(sign);
    let number = bare.strip_suffix(['.', ')']);
    let is_number = number.is_some_and(|number| {
        let digits = number.len() < 10 && number.bytes().all(|byte| byte.is_ascii_digit());
        let letter = number.len() == 1 && number.bytes().all(|byte| byte.is_ascii_alphabetic());
        !number.is_empty() && (digits || letter || number == "#")
    });
    (matches!(sign, "*" | "-" | "+" | "•") || is_number).then_some((sign, rest.trim()))
}

/// A paragraph without the `::` that announces a literal block, and whether it had one.
fn literal(text: &str) -> (String, bool) {
    match text.strip_suffix("::") {
        None => (text.to_owned(), false),
        Some(rest) if rest.is_empty() || rest.ends_with(char::is_whitespace) => {
            (rest.trim_end().to_owned(), true)
        }
        Some(rest) => (format!("{rest}:"), true),
    }
}

#[cfg(test)]
mod tests;
