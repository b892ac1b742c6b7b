//! From tags and texts to what a page shows.

use std::collections::HashMap;

use super::scan::Tag;
use super::table::Table;
use super::{Kind, Part, Piece, Place};
use crate::corpus::heading::tidy;

/// What an open element means for the text in it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Meaning {
    /// Its text is not shown.
    Hidden,
    /// Navigation and the like.
    Surroundings,
    Main,
    Article,
    Heading(u8),
    List {
        is_ordered: bool,
    },
    Item,
    Pre,
    Quote,
    Table,
    Cell,
    /// Nothing but that its text is by itself.
    Block,
}

struct Open {
    name: String,
    meaning: Meaning,
}

/// Tenths of its text from which a piece is made of links.
const LINKED_TENTHS: usize = 9;

/// Makes pieces while the tags pass.
pub(super) struct Builder {
    /// Whether tags may close themselves, as in XHTML.
    pub(super) is_xml: bool,
    /// Whether the page is one of a book, where nothing but a table of contents surrounds the text.
    is_book: bool,
    open: Vec<Open>,
    /// How many elements of each name are open, to know without a search which end tags are strays.
    names: HashMap<String, usize>,
    /// How many of each kind are open.
    hidden: usize,
    surroundings: usize,
    main: usize,
    article: usize,
    heading: Option<u8>,
    pre: usize,
    quote: usize,
    /// The lists that are open: the number of the last item for an ordered one.
    lists: Vec<Option<u64>>,
    /// The marker of an item that has shown no text yet.
    marker: Option<String>,
    tables: Vec<Table>,
    /// The text since the last border of a block.
    text: String,
    place: Option<Place>,
    /// Whether the text at hand is that of a link.
    in_link: bool,
    /// Links in the text since the last border, and the bytes of theirs and of all.
    links: usize,
    linked_bytes: usize,
    shown_bytes: usize,
    title: Option<String>,
    /// The title while it is read.
    in_title: Option<String>,
    language: Option<String>,
    pieces: Vec<Piece>,
}

impl Builder {
    pub(super) fn new(is_xml: bool, is_book: bool) -> Self {
        Self {
            is_xml,
            is_book,
            open: Vec::new(),
            names: HashMap::new(),
            hidden: 0,
            surroundings: 0,
            main: usize::from(is_book),
            article: 0,
            heading: None,
            pre: 0,
            quote: 0,
            lists: Vec::new(),
            marker: None,
            tables: Vec::new(),
            text: String::new(),
            place: None,
            in_link: false,
            links: 0,
            linked_bytes: 0,
            shown_bytes: 0,
            title: None,
            in_title: None,
            language: None,
            pieces: Vec::new(),
        }
    }

    /// Title, language and all pieces.
    pub(super) fn finish(mut self) -> (Option<String>, Option<String>, Vec<Piece>) {
        self.pop_to(0);
        self.flush();
        let title = self.title.or(self.in_title).map(|title| tidy(&title));
        (title, self.language, self.pieces)
    }

    pub(super) fn text(&mut self, text: &str, place: &Place) {
        if let Some(title) = &mut self.in_title {
            title.push_str(text);
            return;
        }
        if self.hidden > 0 {
            return;
        }
        if self.pre > 0 {
            self.text.push_str(text);
        } else {
            // A line end of the source is a blank; a line end in `text` is one that is shown.
            self.text.extend(text.chars().map(|c| if c.is_whitespace() { ' ' } else { c }));
        }
        // What stands between links is mostly a sign or two.
        let bytes: usize = text.chars().filter(|c| c.is_alphanumeric()).map(char::len_utf8).sum();
        self.shown_bytes += bytes;
        self.linked_bytes += if self.in_link { bytes } else { 0 };
        if !text.trim().is_empty() {
            let before = self.place.take().unwrap_or_else(|| place.clone());
            self.place = Some(before.with(place));
        }
    }

    pub(super) fn tag(&mut self, tag: &Tag) {
        let name = tag.name.as_str();
        if tag.is_end {
            return self.end(name);
        }
        match name {
            "html" => self.language = self.language.take().or_else(|| language(tag)),
            "title" if self.hidden == 0 && self.title.is_none() => {
                if !(tag.closes_itself && self.is_xml) {
                    self.in_title = Some(String::new());
                }
                return;
            }
            "br" if self.hidden == 0 => self.text.push('\n'),
            "hr" => self.flush(),
            "a" if self.hidden == 0 => {
                self.in_link = tag.attribute("href").is_some();
                self.links += usize::from(self.in_link);
            }
            _ => {}
        }
        if is_void(name) || tag.closes_itself && (self.is_xml || self.hidden > 0) {
            return;
        }
        let meaning = if self.hidden > 0 {
            // Inside, every element counts, or the end of one within would end it.
            Some(Meaning::Hidden)
        } else {
            meaning(tag, self.main + self.article > 0, self.is_book)
        };
        let Some(meaning) = meaning else { return };
        self.imply_ends(name);
        if meaning != Meaning::Hidden {
            self.flush();
        }
        self.start(tag, meaning);
        *self.names.entry(name.to_owned()).or_default() += 1;
        self.open.push(Open { name: name.to_owned(), meaning });
    }

    fn start(&mut self, tag: &Tag, meaning: Meaning) {
        match meaning {
            Meaning::Hidden => self.hidden += 1,
            Meaning::Surroundings => self.surroundings += 1,
            Meaning::Main => self.main += 1,
            Meaning::Article => self.article += 1,
            Meaning::Heading(level) => self.heading = Some(level),
            Meaning::Pre => self.pre += 1,
            Meaning::Quote => self.quote += 1,
            Meaning::List { is_ordered } => {
                let start = tag.attribute("start").and_then(|start| start.trim().parse().ok());
                self.lists.push(is_ordered.then(|| start.unwrap_or(1_u64).saturating_sub(1)));
            }
            Meaning::Item => {
                let number = self.lists.last_mut().and_then(Option::as_mut);
                self.marker = Some(match number {
                    Some(number) if tag.name == "li" => {
                        *number = number.saturating_add(1);
                        format!("{number}.")
                    }
                    _ if tag.name == "dd" => String::new(),
                    _ => "-".to_owned(),
                });
            }
            Meaning::Table => {
                if let Some(outer) = self.tables.last_mut() {
                    // A table with a table in it lays out the page.
                    outer.is_layout = true;
                    let part = self.part();
                    let pieces = self.tables.last_mut().map(|outer| outer.take(part));
                    self.pieces.extend(pieces.into_iter().flatten());
                }
                self.tables.push(Table::default());
            }
            Meaning::Cell => {
                if let Some(table) = self.tables.last_mut() {
                    let (columns, rows) = (tag.attribute("colspan"), tag.attribute("rowspan"));
                    table.open_cell(tag.name == "th", columns, rows);
                }
            }
            Meaning::Block => {
                if tag.name == "tr"
                    && let Some(table) = self.tables.last_mut()
                {
                    table.open_row();
                }
            }
        }
    }

    /// Closes what the start of `name` closes without saying so.
    fn imply_ends(&mut self, name: &str) {
        let (closed, within): (&[&str], &[&str]) = match name {
            "li" => (&["li"], &["ul", "ol", "menu"]),
            "dt" | "dd" => (&["dt", "dd"], &["dl"]),
            "td" | "th" => (&["td", "th"], &["tr", "table"]),
            "tr" => (&["tr", "td", "th"], &["table"]),
            "thead" | "tbody" | "tfoot" => (&["thead", "tbody", "tfoot"], &["table"]),
            "h1" | "h2" | "h3" | "h4" | "h5" | "h6" => {
                (&["p", "h1", "h2", "h3", "h4", "h5", "h6"], &[])
            }
            // Whatever is a block ends a paragraph.
            _ => (&["p"], &[]),
        };
        let is_closed = |open: &Open| closed.contains(&open.name.as_str());
        // A paragraph is closed when it is the innermost; the others within their list or table.
        let at = if within.is_empty() {
            self.open.last().filter(|open| is_closed(open)).map(|_| self.open.len() - 1)
        } else {
            let inside = |open: &&Open| !within.contains(&open.name.as_str());
            let mut near = self.open.iter().rev().take(64).take_while(inside);
            let found = near.by_ref().position(is_closed);
            // The outermost of those to be closed, such as the row around a cell.
            let more = near.take_while(|open| is_closed(open)).count();
            found.map(|found| self.open.len() - 1 - found - more)
        };
        if let Some(at) = at {
            self.pop_to(at);
        }
    }

    fn end(&mut self, name: &str) {
        if name == "title" && self.in_title.is_some() {
            self.title = self.in_title.take();
            return;
        }
        if name == "a" {
            self.in_link = false;
        }
        if name == "br" || name == "p" && self.names.get("p").is_none_or(|open| *open == 0) {
            return self.flush();
        }
        if self.names.get(name).is_none_or(|open| *open == 0) {
            return;
        }
        if let Some(at) = self.open.iter().rposition(|open| open.name == name) {
            self.pop_to(at);
        }
    }

    /// Closes all elements from `at` on, innermost first.
    fn pop_to(&mut self, at: usize) {
        while self.open.len() > at {
            let Some(Open { name, meaning }) = self.open.pop() else { return };
            if let Some(count) = self.names.get_mut(&name) {
                *count = count.saturating_sub(1);
            }
            if meaning != Meaning::Hidden {
                self.flush();
            }
            self.close(&name, meaning);
        }
    }

    fn close(&mut self, name: &str, meaning: Meaning) {
        match meaning {
            Meaning::Hidden => self.hidden -= 1,
            Meaning::Surroundings => self.surroundings -= 1,
            Meaning::Main => self.main -= 1,
            Meaning::Article => self.article -= 1,
            Meaning::Heading(_) => self.heading = None,
            Meaning::Pre => self.pre -= 1,
            Meaning::Quote => self.quote -= 1,
            Meaning::List { .. } => {
                self.lists.pop();
                self.marker = None;
            }
            Meaning::Item => self.marker = None,
            Meaning::Table => {
                let part = self.part();
                let pieces = self.tables.pop().map(|mut table| table.take(part));
                self.pieces.extend(pieces.into_iter().flatten());
            }
            Meaning::Cell => {
                if let Some(table) = self.tables.last_mut() {
                    table.close_cell();
                }
            }
            Meaning::Block => {
                if name == "tr"
                    && let Some(table) = self.tables.last_mut()
                {
                    table.close_row();
                }
            }
        }
    }

    fn part(&self) -> Part {
        if self.surroundings > 0 {
            Part::Surroundings
        } else if self.main > 0 {
            Part::Main
        } else if self.article > 0 {
            Part::Article
        } else {
            Part::Body
        }
    }

    /// Makes a piece of the text since the last border.
    fn flush(&mut self) {
        let (text, place) = (std::mem::take(&mut self.text), self.place.take());
        let (shown, linked) =
            (std::mem::take(&mut self.shown_bytes), std::mem::take(&mut self.linked_bytes));
        let links = std::mem::take(&mut self.links).max(usize::from(self.in_link));
        let links = if linked > 0 && linked * 10 >= shown * LINKED_TENTHS { links } else { 0 };
        let is_code = self.pre > 0;
        let text = if is_code {
            text
        } else {
            let lines: Vec<String> = text.lines().map(tidy).collect();
            lines.join("\n").trim().to_owned()
        };
        let Some(place) = place.filter(|_| !text.trim().is_empty()) else { return };
        if let Some(table) = self.tables.last_mut().filter(|table| table.has_cell()) {
            return table.add(&tidy(&text), &place);
        }
        let kind = if let Some(level) = self.heading {
            Kind::Heading(level)
        } else if is_code {
            Kind::Code
        } else if !self.lists.is_empty() {
            // What follows in the same item stands under its first line.
            let marker = self.marker.take().unwrap_or_default();
            Kind::Item(self.lists.len() - 1, marker)
        } else if self.quote > 0 {
            Kind::Quote
        } else {
            Kind::Paragraph
        };
        let part = self.part();
        self.pieces.push(Piece { kind, text, place, part, links });
    }
}

fn language(tag: &Tag) -> Option<String> {
    let stated = tag.attribute("lang").or_else(|| tag.attribute("xml:lang"))?.trim();
    (!stated.is_empty()).then(|| stated.to_owned())
}

fn is_void(name: &str) -> bool {
    matches!(
        name,
        "area"
            | "base"
            | "br"
            | "col"
            | "embed"
            | "hr"
            | "img"
            | "input"
            | "link"
            | "meta"
            | "param"
            | "source"
            | "track"
            | "wbr"
    )
}

/// What the element means; `None` for one inside a line, such as `b`.
fn meaning(tag: &Tag, is_inside: bool, is_book: bool) -> Option<Meaning> {
    let name = tag.name.as_str();
    if is_hidden(tag) {
        return Some(Meaning::Hidden);
    }
    match tag.attribute("role") {
        Some("navigation" | "banner" | "contentinfo" | "search" | "complementary") => {
            return Some(Meaning::Surroundings);
        }
        Some("main") => return Some(Meaning::Main),
        _ => {}
    }
    Some(match name {
        "nav" => Meaning::Surroundings,
        "aside" if !is_book && !is_note(tag) => Meaning::Surroundings,
        // Those of an article or of the main part belong to it.
        "header" | "footer" if !is_inside => Meaning::Surroundings,
        "main" => Meaning::Main,
        "article" => Meaning::Article,
        "h1" => Meaning::Heading(1),
        "h2" => Meaning::Heading(2),
        "h3" => Meaning::Heading(3),
        "h4" => Meaning::Heading(4),
        "h5" => Meaning::Heading(5),
        "h6" => Meaning::Heading(6),
        "ul" | "menu" | "dl" => Meaning::List { is_ordered: false },
        "ol" => Meaning::List { is_ordered: true },
        "li" | "dt" | "dd" => Meaning::Item,
        "pre" | "listing" | "xmp" | "plaintext" => Meaning::Pre,
        "blockquote" => Meaning::Quote,
        "table" => Meaning::Table,
        "td" | "th" => Meaning::Cell,
        "address" | "aside" | "body" | "caption" | "center" | "details" | "dir" | "div"
        | "fieldset" | "figcaption" | "figure" | "footer" | "form" | "header" | "hgroup"
        | "legend" | "p" | "section" | "summary" | "tbody" | "tfoot" | "thead" | "tr" => {
            Meaning::Block
        }
        _ => return None,
    })
}

/// Whether nobody sees the element, or it is a control and no text.
fn is_hidden(tag: &Tag) -> bool {
    let never = matches!(
        tag.name.as_str(),
        "script"
            | "style"
            | "template"
            | "noscript"
            | "svg"
            | "iframe"
            | "object"
            | "noembed"
            | "noframes"
            | "button"
            | "select"
            | "datalist"
            | "textarea"
            | "canvas"
            | "audio"
            | "video"
            | "dialog"
    );
    let style = || {
        let style = tag.attribute("style").unwrap_or_default().to_ascii_lowercase();
        style.split_whitespace().collect::<String>().contains("display:none")
    };
    // `html` and `body` are never let go, or a slip of the page would take all of it.
    let may = !matches!(tag.name.as_str(), "html" | "body");
    never
        || may && tag.attribute("hidden").is_some()
        || may && tag.attribute("aria-hidden") == Some("true")
        || may && style()
}

/// Whether an aside is a note to the text beside it.
fn is_note(tag: &Tag) -> bool {
    let class = tag.attribute("class").unwrap_or_default().to_ascii_lowercase();
    let notes = ["note", "admonition", "callout", "warning", "tip", "caution", "important"];
    let role = tag.attribute("role");
    matches!(role, Some("note" | "doc-footnote" | "doc-endnote" | "doc-tip" | "doc-notice"))
        || notes.iter().any(|word| class.contains(word))
}
