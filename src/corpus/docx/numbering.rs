//! The markers of list items and numbered headings, counted as Word counts them.

use std::collections::{BTreeMap, HashMap, HashSet};

use super::styles::ListPlace;
use crate::corpus::xml::Element;

/// Levels of a list; the format has no more.
const LEVELS: usize = 9;

/// The lists that a document defines, and how far each has counted.
#[derive(Debug, Default)]
pub(super) struct Numbering {
    lists: HashMap<String, List>,
    levels: HashMap<String, BTreeMap<usize, Level>>,
    /// By the list's definition: lists of one definition go on counting.
    counted: HashMap<String, [Option<u32>; LEVELS]>,
    begun: HashSet<String>,
}

#[derive(Debug)]
struct List {
    definition: String,
    starts: BTreeMap<usize, u32>,
    levels: BTreeMap<usize, Level>,
}

#[derive(Debug, Clone)]
struct Level {
    format: String,
    /// Such as `%1.%2)`.
    text: String,
    start: u32,
    /// The level, from 1, whose next number makes this one begin again; 0 for none, and without a
    /// value any level above.
    restart: Option<usize>,
    /// Whether the numbers of levels above are shown as decimal ones.
    is_legal: bool,
}

/// How an item is marked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Marker {
    /// From 0.
    pub(super) depth: usize,
    /// `-` for any bullet, a number such as `2.1`, or nothing.
    pub(super) text: String,
}

impl Numbering {
    pub(super) fn read(root: Element<'_>) -> Self {
        let mut read = Self::default();
        for one in root.children() {
            match one.name() {
                "abstractNum" => {
                    let Some(id) = one.attribute("abstractNumId") else { continue };
                    read.levels.insert(id.to_owned(), levels(one));
                }
                "num" => {
                    let Some(id) = one.attribute("numId") else { continue };
                    let definition = one.value("abstractNumId").unwrap_or_default().to_owned();
                    let mut list =
                        List { definition, starts: BTreeMap::new(), levels: BTreeMap::new() };
                    for over in one.children().filter(|child| child.name() == "lvlOverride") {
                        let Some(level) = place(over) else { continue };
                        let start = over.value("startOverride").and_then(|n| n.parse().ok());
                        list.starts.extend(start.map(|start| (level, start)));
                        list.levels.extend(levels(over));
                    }
                    read.lists.insert(id.to_owned(), list);
                }
                _ => {}
            }
        }
        read
    }

    /// The marker of the next item at `place`; `None` when it is in no list.
    pub(super) fn next(&mut self, place: &ListPlace) -> Option<Marker> {
        let id = place.list.as_deref().filter(|id| *id != "0")?;
        let depth = place.level.unwrap_or(0).min(LEVELS - 1);
        let Some(list) = self.lists.get(id) else {
            return Some(Marker { depth, text: "-".to_owned() });
        };
        let defined = self.levels.get(&list.definition);
        let level = |at: usize| list.levels.get(&at).or_else(|| defined?.get(&at));
        let begins = self.begun.insert(id.to_owned());
        let counted = self.counted.entry(list.definition.clone()).or_insert([None; LEVELS]);
        if begins {
            for (at, start) in list.starts.iter().filter(|(at, _)| **at < LEVELS) {
                counted[*at] = start.checked_sub(1);
            }
        }
        let Some(own) = level(depth) else {
            return Some(Marker { depth, text: "-".to_owned() });
        };
        let start = |at: usize| level(at).map_or(1, |level| level.start);
        counted[depth] = Some(counted[depth].map_or(own.start, |last| last.saturating_add(1)));
        for (below, count) in counted.iter_mut().enumerate().skip(depth + 1) {
            if level(below).and_then(|level| level.restart).is_none_or(|limit| depth < limit) {
                *count = None;
            }
        }
        if own.format == "bullet" {
            return Some(Marker { depth, text: "-".to_owned() });
        }
        let mut text = own.text.clone();
        for at in (0..=depth).rev() {
            let number = *counted[at].get_or_insert_with(|| start(at));
            let format = level(at).map_or("decimal", |level| level.format.as_str());
            let format = if own.is_legal { "decimal" } else { format };
            text = text.replace(&format!("%{}", at + 1), &shown(number, format));
        }
        Some(Marker { depth, text: text.trim().to_owned() })
    }
}

fn place(of: Element<'_>) -> Option<usize> {
    of.attribute("ilvl")?.parse().ok().filter(|level| *level < LEVELS)
}

fn levels(of: Element<'_>) -> BTreeMap<usize, Level> {
    let stated = of.children().filter(|child| child.name() == "lvl");
    let read = stated.filter_map(|level| {
        let read = Level {
            format: level.value("numFmt").unwrap_or("decimal").to_owned(),
            text: level.value("lvlText").unwrap_or_default().to_owned(),
            start: level.value("start").and_then(|n| n.parse().ok()).unwrap_or(0),
            restart: level.value("lvlRestart").and_then(|n| n.parse().ok()),
            is_legal: level.child("isLgl").is_some(),
        };
        Some((place(level)?, read))
    });
    read.collect()
}

/// `number` as `format` shows it; formats of other scripts are shown in decimal.
fn shown(number: u32, format: &str) -> String {
    match format {
        "none" | "bullet" => String::new(),
        "upperLetter" => letters(number).to_uppercase(),
        "lowerLetter" => letters(number),
        "upperRoman" => roman(number).to_uppercase(),
        "lowerRoman" => roman(number),
        "decimalZero" => format!("{number:02}"),
        _ => number.to_string(),
    }
}

/// `a` to `z`, then `aa`, `bb` and so on, as Word has it.
fn letters(number: u32) -> String {
    let Some(last) = number.checked_sub(1) else { return "0".to_owned() };
    let letter = char::from(b'a' + u8::try_from(last % 26).unwrap_or(0));
    // A list never has so many items that this would be long.
    std::iter::repeat_n(letter, (last / 26).min(50) as usize + 1).collect()
}

fn roman(mut number: u32) -> String {
    const STEPS: [(u32, &str); 13] = [
        (1000, "m"),
        (900, "cm"),
        (500, "d"),
        (400, "cd"),
        (100, "c"),
        (90, "xc"),
        (50, "l"),
        (40, "xl"),
        (10, "x"),
        (9, "ix"),
        (5, "v"),
        (4, "iv"),
        (1, "i"),
    ];
    if number == 0 || number > 3999 {
        return number.to_string();
    }
    let mut text = String::new();
    for (step, sign) in STEPS {
        while number >= step {
            text.push_str(sign);
            number -= step;
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::corpus::xml::Tree;

    #[test]
    fn numbers_are_counted_as_word_counts_them() {
        let tree = Tree::parse(
            "<w:numbering><w:abstractNum w:abstractNumId='0'>\
             <w:lvl w:ilvl='0'><w:start w:val='1'/><w:numFmt w:val='decimal'/><w:lvlText w:val='%1.'/></w:lvl>\
             <w:lvl w:ilvl='1'><w:start w:val='1'/><w:numFmt w:val='lowerLetter'/><w:lvlText w:val='%1.%2)'/></w:lvl>\
             <w:lvl w:ilvl='2'><w:numFmt w:val='bullet'/><w:lvlText w:val='\u{F0B7}'/></w:lvl></w:abstractNum>\
             <w:num w:numId='1'><w:abstractNumId w:val='0'/></w:num>\
             <w:num w:numId='2'><w:abstractNumId w:val='0'/><w:lvlOverride w:ilvl='0'>\
             <w:startOverride w:val='4'/></w:lvlOverride></w:num></w:numbering>",
        )
        .unwrap();
        let mut numbering = Numbering::read(tree.root());
        let mut next = |list: &str, level: usize| {
            let place = ListPlace { list: Some(list.to_owned()), level: Some(level) };
            numbering.next(&place).map(|marker| marker.text)
        };
        let wanted = [
            ("1", 0, "1."),
            ("1", 1, "1.a)"),
            ("1", 1, "1.b)"),
            ("1", 2, "-"),
            ("1", 0, "2."),
            ("1", 1, "2.a)"),
            ("2", 0, "4."),
            ("2", 0, "5."),
            ("1", 0, "6."),
            ("9", 0, "-"),
        ];
        for (list, level, text) in wanted {
            assert_eq!(next(list, level).as_deref(), Some(text));
        }
        assert_eq!(next("0", 0), None);
    }

    #[test]
    fn numbers_have_their_letters() {
        assert_eq!((letters(1), letters(26), letters(28)), ("a".into(), "z".into(), "bb".into()));
        assert_eq!((roman(1994), roman(0)), ("mcmxciv".to_owned(), "0".to_owned()));
    }
}
