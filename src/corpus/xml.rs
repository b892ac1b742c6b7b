//! XML as a tree, with names without their prefixes.
//!
//! Office formats exist in two sets of namespaces with the same local names, so prefixes tell
//! nothing. Entities of a document type are not expanded, and nothing outside the text is fetched.

use std::collections::HashMap;
use std::ops::Range;

use quick_xml::Reader;
use quick_xml::events::{BytesRef, BytesStart, Event};

/// Elements that may stand in one another; documents need about 30.
const MAX_DEPTH: usize = 256;

/// A parsed text. Node 0 stands above the root.
pub(super) struct Tree {
    nodes: Vec<Node>,
    /// Names of elements and attributes, each once.
    names: Vec<String>,
    attributes: Vec<(u32, String)>,
}

struct Node {
    /// Place in the names, or [`TEXT`].
    name: u32,
    text: String,
    attributes: Range<u32>,
    /// Places of the first child and of the next sibling; 0 is none.
    first: u32,
    next: u32,
}

/// Marks a run of text among the nodes.
const TEXT: u32 = u32::MAX;

impl Tree {
    /// Parses `text`; what is wrong with it otherwise.
    pub(super) fn parse(text: &str) -> Result<Self, String> {
        let mut planter = Planter::new();
        let mut reader = Reader::from_str(text);
        reader.config_mut().check_end_names = false;
        loop {
            match reader.read_event() {
                Ok(Event::Start(tag)) => planter.start(&tag, true)?,
                Ok(Event::Empty(tag)) => planter.start(&tag, false)?,
                Ok(Event::End(_)) => planter.end(),
                Ok(Event::Text(text)) => planter.text(&text),
                Ok(Event::CData(text)) => planter.text(&text),
                Ok(Event::GeneralRef(entity)) => planter.text(&resolved(&entity)),
                Ok(Event::Eof) => break,
                Ok(_) => {}
                Err(fault) => {
                    let byte = reader.error_position();
                    return Err(format!("its XML is damaged at byte {byte}: {fault}"));
                }
            }
        }
        Ok(planter.tree)
    }

    /// The outermost element; a text without any has one without name and children.
    pub(super) fn root(&self) -> Element<'_> {
        let above = Element { tree: self, at: 0 };
        above.children().find(|node| !node.is_text()).unwrap_or(above)
    }
}

/// What an entity or a reference to a character stands for; nothing where that is not known.
pub(super) fn resolved(entity: &BytesRef<'_>) -> String {
    if let Ok(Some(found)) = entity.resolve_char_ref() {
        return found.to_string();
    }
    let known = quick_xml::escape::resolve_predefined_entity(entity);
    known.unwrap_or_default().to_owned()
}

/// The value of the attribute of `tag` with the local name `name`.
pub(super) fn attribute(tag: &BytesStart<'_>, name: &str) -> Option<String> {
    let mut attributes = tag.attributes();
    let mut found = attributes.with_checks(false).flatten();
    found.find(|one| local(one.key.as_ref()) == name).map(|one| unescaped(&one.value))
}

/// A name without its prefix.
pub(super) fn local(name: &str) -> &str {
    name.rsplit_once(':').map_or(name, |(_, local)| local)
}

fn unescaped(value: &str) -> String {
    quick_xml::escape::unescape(value).map_or_else(|_| value.to_owned(), |text| text.into_owned())
}

/// Grows a tree while events pass.
struct Planter {
    tree: Tree,
    known: HashMap<String, u32>,
    /// The open elements, each with its last child.
    open: Vec<(u32, u32)>,
}

impl Planter {
    fn new() -> Self {
        let above = Node { name: TEXT, text: String::new(), attributes: 0..0, first: 0, next: 0 };
        let tree = Tree { nodes: vec![above], names: Vec::new(), attributes: Vec::new() };
        Self { tree, known: HashMap::new(), open: vec![(0, 0)] }
    }

    fn name(&mut self, name: &str) -> u32 {
        if let Some(place) = self.known.get(name) {
            return *place;
        }
        let place = self.tree.names.len() as u32;
        self.tree.names.push(name.to_owned());
        self.known.insert(name.to_owned(), place);
        place
    }

    fn start(&mut self, tag: &BytesStart<'_>, opens: bool) -> Result<(), String> {
        if self.open.len() > MAX_DEPTH {
            return Err(format!("its XML is nested more than {MAX_DEPTH} deep"));
        }
        let name = self.name(tag.local_name().as_ref());
        let first = self.tree.attributes.len() as u32;
        for one in tag.attributes().with_checks(false).flatten() {
            let key = self.name(local(one.key.as_ref()));
            self.tree.attributes.push((key, unescaped(&one.value)));
        }
        let attributes = first..self.tree.attributes.len() as u32;
        let place = self.hang(name, String::new(), attributes);
        if opens {
            self.open.push((place, 0));
        }
        Ok(())
    }

    fn text(&mut self, text: &str) {
        if text.is_empty() {
            return;
        }
        let last = self.open.last().map_or(0, |(_, last)| *last);
        match self.tree.nodes.get_mut(last as usize) {
            Some(node) if last > 0 && node.name == TEXT => node.text.push_str(text),
            _ => {
                self.hang(TEXT, text.to_owned(), 0..0);
            }
        }
    }

    fn end(&mut self) {
        if self.open.len() > 1 {
            self.open.pop();
        }
    }

    fn hang(&mut self, name: u32, text: String, attributes: Range<u32>) -> u32 {
        let place = self.tree.nodes.len() as u32;
        self.tree.nodes.push(Node { name, text, attributes, first: 0, next: 0 });
        if let Some((parent, last)) = self.open.last_mut() {
            if *last == 0 {
                self.tree.nodes[*parent as usize].first = place;
            } else {
                self.tree.nodes[*last as usize].next = place;
            }
            *last = place;
        }
        place
    }
}

/// An element, or a run of text, in its tree.
#[derive(Clone, Copy)]
pub(super) struct Element<'t> {
    tree: &'t Tree,
    at: u32,
}

impl<'t> Element<'t> {
    fn node(self) -> &'t Node {
        &self.tree.nodes[self.at as usize]
    }

    pub(super) fn is_text(self) -> bool {
        self.node().name == TEXT
    }

    /// The local name; empty for a run of text.
    pub(super) fn name(self) -> &'t str {
        self.tree.names.get(self.node().name as usize).map_or("", String::as_str)
    }

    /// The text of a run; empty for an element.
    pub(super) fn run(self) -> &'t str {
        &self.node().text
    }

    /// The value of the attribute with the local name `name`.
    pub(super) fn attribute(self, name: &str) -> Option<&'t str> {
        let Range { start, end } = self.node().attributes;
        let own = &self.tree.attributes[start as usize..end as usize];
        let found = own.iter().find(|(key, _)| self.tree.names[*key as usize] == name);
        found.map(|(_, value)| value.as_str())
    }

    pub(super) fn children(self) -> impl Iterator<Item = Element<'t>> {
        let mut next = self.node().first;
        std::iter::from_fn(move || {
            let child = Element { tree: self.tree, at: next };
            (next != 0).then(|| {
                next = child.node().next;
                child
            })
        })
    }

    /// The first child called `name`.
    pub(super) fn child(self, name: &str) -> Option<Element<'t>> {
        self.children().find(|child| child.name() == name)
    }

    /// The attribute `val` of the first child called `name`.
    pub(super) fn value(self, name: &str) -> Option<&'t str> {
        self.child(name)?.attribute("val")
    }

    /// The element itself and everything in it, in the order of the text.
    pub(super) fn descendants(self) -> impl Iterator<Item = Element<'t>> {
        let mut open = vec![self];
        std::iter::from_fn(move || {
            let found = open.pop()?;
            let from = open.len();
            open.extend(found.children());
            open[from..].reverse();
            Some(found)
        })
    }

    /// All text in the element.
    pub(super) fn text(self) -> String {
        self.descendants().map(Element::run).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_lose_their_prefix_and_text_keeps_its_order() {
        let text = "<?xml version=\"1.0\"?><w:a xmlns:w=\"x\" w:val=\"1 &amp; 2\">on<b/>e &lt;&#233;\
                    &unknown;<![CDATA[<]]></w:a>";
        let tree = Tree::parse(text).unwrap();
        let root = tree.root();
        assert_eq!((root.name(), root.attribute("val")), ("a", Some("1 & 2")));
        assert_eq!(root.text(), "one <é<");
        assert_eq!(root.children().count(), 3);
    }

    #[test]
    fn what_is_nested_too_deeply_or_cut_off_is_no_panic() {
        assert!(Tree::parse(&"<a>".repeat(300)).is_err());
        assert_eq!(Tree::parse("<a><b>x</b>").unwrap().root().text(), "x");
        assert!(Tree::parse("</a></a>x").is_err());
        assert!(Tree::parse("<a b=\"<").is_err());
        assert_eq!(Tree::parse("").unwrap().root().text(), "");
    }
}
