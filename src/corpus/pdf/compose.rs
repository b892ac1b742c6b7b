//! Lines of text to headings, paragraphs and list items.

use std::collections::{BTreeMap, HashMap, HashSet};

use super::lines::Line;
use super::outline::Bookmark;
use crate::corpus::Place;
use crate::corpus::pieces::{Piece, PieceKind};

/// How much larger than the body's the font of a heading is.
const HEADING_SIZE: f64 = 1.12;

/// Letters in a heading at most; more is text in large print.
const HEADING_CHARS: usize = 200;

/// Share of the letters that headings by size may have; above it the size says something else.
const HEADING_SHARE: f64 = 0.3;

/// Lines at the top and at the foot of a page that may be the same on every page.
const EDGE_LINES: usize = 2;

/// Pages from which lines that come again are taken for heads and feet.
const EDGE_PAGES: usize = 3;

/// The pieces of a document whose pages have `pages` as lines.
pub(super) fn pieces(mut pages: Vec<Vec<Line>>, bookmarks: &[Bookmark]) -> Vec<Piece> {
    drop_edges(&mut pages);
    let mut headings = by_bookmarks(&pages, bookmarks);
    if headings.is_empty() {
        headings = by_size(&pages);
    }
    let leading = leadings(&pages);
    let words = Words::of(&pages);
    let mut composer = Composer { leading, words, pieces: Vec::new(), open: None };
    for (page, lines) in (1..).zip(&pages) {
        for (at, line) in lines.iter().enumerate() {
            composer.take(page, line, headings.get(&(page, at)).copied());
        }
    }
    composer.close();
    composer.pieces
}

/// Takes off heads and feet that come again on most pages, all but the first, and page numbers.
fn drop_edges(pages: &mut [Vec<Line>]) {
    if pages.len() < EDGE_PAGES {
        return;
    }
    let mut counts: HashMap<EdgeKey, usize> = HashMap::new();
    for (page, lines) in (1..).zip(pages.iter()) {
        let of_page = edges(lines).into_iter().flat_map(|at| edge_keys(&lines[at].text, page));
        for key in of_page.collect::<HashSet<_>>() {
            *counts.entry(key).or_default() += 1;
        }
    }
    let often = (pages.len() / 2 + 1).max(EDGE_PAGES);
    let mut kept: HashSet<EdgeKey> = HashSet::new();
    for (page, lines) in (1..).zip(pages.iter_mut()) {
        let at_edge = edges(lines);
        let mut place = 0;
        lines.retain(|line| {
            place += 1;
            if !at_edge.contains(&(place - 1)) {
                return true;
            }
            let mut keys = edge_keys(&line.text, page).into_iter();
            let again = keys.find(|key| counts.get(key).is_some_and(|count| *count >= often));
            let Some(key) = again else { return true };
            key.0.contains(char::is_alphabetic) && kept.insert(key)
        });
    }
}

/// The places of the highest and lowest lines of a page, at most two thirds of it.
fn edges(lines: &[Line]) -> Vec<usize> {
    let mut by_height: Vec<usize> = (0..lines.len()).collect();
    by_height.sort_by(|a, b| lines[*b].height.total_cmp(&lines[*a].height));
    let most = EDGE_LINES.min(lines.len() / 3);
    let mut found = by_height[..most].to_vec();
    found.extend_from_slice(&by_height[lines.len() - most..]);
    found
}

/// What makes a line the same on every page: its text, or its text without a number that counts the
/// pages, and what that number is ahead of the page.
type EdgeKey = (String, Option<i64>);

fn edge_keys(text: &str, page: i64) -> Vec<EdgeKey> {
    let mut keys = vec![(text.to_owned(), None)];
    let mut from = 0;
    for run in text.split(|c: char| !c.is_ascii_digit()) {
        let at = from;
        from += run.len() + text[from + run.len()..].chars().next().map_or(0, char::len_utf8);
        // No book has more pages than five digits count.
        if let Some(number) = run.parse().ok().filter(|_| run.len() <= 5) {
            let number: i64 = number;
            let rest = format!("{}#{}", &text[..at], &text[at + run.len()..]);
            keys.push((rest, Some(number - page)));
        }
    }
    keys
}

/// A font's height in steps of half a point.
fn step(size: f64) -> i64 {
    (size * 2.0).round() as i64
}

/// Headings by page and place of their lines.
type Headings = HashMap<(u32, usize), u8>;

/// The lines that say what a bookmark does, in the order of the bookmarks. Empty when fewer than half
/// of the bookmarks are found.
fn by_bookmarks(pages: &[Vec<Line>], bookmarks: &[Bookmark]) -> Headings {
    let mut found = Headings::new();
    let mut reached = (1_u32, 0_usize);
    let mut matched = 0;
    for bookmark in bookmarks {
        let wanted = bare(&bookmark.title);
        if wanted.is_empty() {
            continue;
        }
        let from = match bookmark.page {
            Some(page) if page > reached.0 => (page, 0),
            _ => reached,
        };
        let last = bookmark.page.unwrap_or(u32::MAX);
        let Some((place, lines)) = find(pages, from, last, &wanted) else { continue };
        for at in place.1..place.1 + lines {
            found.insert((place.0, at), bookmark.level);
        }
        matched += 1;
        reached = (place.0, place.1 + lines);
    }
    let worth = bookmarks.iter().filter(|one| !bare(&one.title).is_empty()).count();
    if matched * 2 < worth { Headings::new() } else { found }
}

/// Where up to three lines in a row say `wanted`, and how many they are.
fn find(
    pages: &[Vec<Line>],
    from: (u32, usize),
    last: u32,
    wanted: &str,
) -> Option<((u32, usize), usize)> {
    let pages = (1_u32..).zip(pages).skip_while(|(page, _)| *page < from.0);
    for (page, lines) in pages.take_while(|(page, _)| *page <= last) {
        let first = if page == from.0 { from.1 } else { 0 };
        for at in first..lines.len() {
            let mut said = String::new();
            for (count, line) in (1..).zip(&lines[at..lines.len().min(at + 3)]) {
                said.push_str(&bare(&line.text));
                // A number before the title may be in the text and not in the bookmark.
                let rest = said.trim_start_matches(|c: char| c.is_ascii_digit());
                if said == wanted || (!rest.is_empty() && rest == wanted) {
                    return Some(((page, at), count));
                }
                if said.len() > wanted.len() + 8 {
                    break;
                }
            }
        }
    }
    None
}

/// Letters and digits alone, lower case.
fn bare(text: &str) -> String {
    text.chars().filter(|c| c.is_alphanumeric()).flat_map(char::to_lowercase).collect()
}

/// Headings by the size of their font: the largest is level 1, the next level 2 and so on.
fn by_size(pages: &[Vec<Line>]) -> Headings {
    let mut letters: BTreeMap<i64, usize> = BTreeMap::new();
    for line in pages.iter().flatten() {
        *letters.entry(step(line.size)).or_default() += line.text.chars().count();
    }
    let total: usize = letters.values().sum();
    // Of two sizes with as many letters the smaller one is the body's.
    let Some((body, _)) = letters.iter().rev().max_by_key(|(_, count)| **count) else {
        return Headings::new();
    };
    let least = (*body as f64 * HEADING_SIZE).ceil() as i64;
    let is_heading = |line: &Line| {
        let count = line.text.chars().count();
        step(line.size) >= least.max(body + 1)
            && (2..=HEADING_CHARS).contains(&count)
            && line.text.chars().any(char::is_alphabetic)
            && !line.is_row
            && is_level(line.angle)
    };
    let mut sizes: Vec<i64> = Vec::new();
    let mut share = 0;
    for line in pages.iter().flatten().filter(|line| is_heading(line)) {
        share += line.text.chars().count();
        if !sizes.contains(&step(line.size)) {
            sizes.push(step(line.size));
        }
    }
    if share as f64 > total as f64 * HEADING_SHARE {
        return Headings::new();
    }
    sizes.sort_by(|a, b| b.cmp(a));
    let mut found = Headings::new();
    for (page, lines) in (1..).zip(pages) {
        for (at, line) in lines.iter().enumerate().filter(|(_, line)| is_heading(line)) {
            let rank = sizes.iter().position(|size| *size == step(line.size)).unwrap_or(0);
            found.insert((page, at), u8::try_from(rank + 1).unwrap_or(6).min(6));
        }
    }
    found
}

/// Whether a direction is level enough for a heading, as in print that is set aslant for its looks.
fn is_level(angle: u16) -> bool {
    !(30..=330).contains(&angle)
}

/// By the height of the font: the most usual distance of two lines.
fn leadings(pages: &[Vec<Line>]) -> HashMap<i64, f64> {
    let mut seen: HashMap<i64, BTreeMap<i64, usize>> = HashMap::new();
    for pair in pages.iter().flat_map(|lines| lines.windows(2)) {
        let drop = pair[0].height - pair[1].height;
        let alike = step(pair[0].size) == step(pair[1].size) && pair[0].angle == pair[1].angle;
        if alike && drop > 0.5 * pair[0].size && drop < 3.0 * pair[0].size {
            *seen.entry(step(pair[0].size)).or_default().entry(step(drop)).or_default() += 1;
        }
    }
    // Of two distances as usual the smaller one is that of lines.
    let usual = |drops: &BTreeMap<i64, usize>| {
        drops
            .iter()
            .rev()
            .max_by_key(|(_, count)| **count)
            .map_or(0.0, |(drop, _)| *drop as f64 / 2.0)
    };
    seen.iter().map(|(size, drops)| (*size, usual(drops))).collect()
}

/// The words of a document, to tell a hyphen that belongs to a word from one that ends a line.
struct Words {
    hyphened: HashSet<String>,
    whole: HashSet<String>,
}

impl Words {
    fn of(pages: &[Vec<Line>]) -> Self {
        let mut words = Self { hyphened: HashSet::new(), whole: HashSet::new() };
        let edge = |c: char| !c.is_alphanumeric();
        for word in pages.iter().flatten().flat_map(|line| line.text.split_whitespace()) {
            let word = word.trim_matches(edge).to_lowercase();
            if word.contains('-') {
                words.hyphened.insert(word);
            } else {
                words.whole.insert(word);
            }
        }
        words
    }

    /// Joins `next` to `text`, the line before it.
    fn join(&self, text: &mut String, next: &str) {
        let parted = text.ends_with(['-', '\u{AD}', '\u{2010}'])
            && text.chars().rev().nth(1).is_some_and(char::is_alphabetic)
            && next.starts_with(char::is_alphabetic);
        if !parted {
            text.push(' ');
            text.push_str(next);
            return;
        }
        let mark = text.pop();
        let first = text.rsplit(char::is_whitespace).next().unwrap_or_default();
        let first = first.trim_start_matches(|c: char| !c.is_alphanumeric()).to_lowercase();
        let second = next.split(char::is_whitespace).next().unwrap_or_default();
        let second = second.trim_end_matches(|c: char| !c.is_alphanumeric()).to_lowercase();
        let soft = mark == Some('\u{AD}');
        let is_compound = self.hyphened.contains(&format!("{first}-{second}"))
            || next.starts_with(char::is_uppercase)
            || first.contains('-');
        if !soft && is_compound && !self.whole.contains(&format!("{first}{second}")) {
            text.push('-');
        }
        text.push_str(next);
    }
}

/// The piece that lines are added to.
struct Open {
    kind: Kind,
    text: String,
    page: u32,
    last: Line,
    last_page: u32,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Heading(u8),
    Paragraph,
    Item,
}

struct Composer {
    leading: HashMap<i64, f64>,
    words: Words,
    pieces: Vec<Piece>,
    open: Option<Open>,
}

impl Composer {
    fn take(&mut self, page: u32, line: &Line, heading: Option<u8>) {
        let kind = match heading {
            Some(level) => Kind::Heading(level),
            None if is_marked(&line.text) => Kind::Item,
            None => Kind::Paragraph,
        };
        let goes_on = self.open.as_ref().is_some_and(|open| self.goes_on(open, page, line, kind));
        match &mut self.open {
            Some(open) if goes_on => {
                if open.last.is_row || line.is_row {
                    open.text.push('\n');
                    open.text.push_str(&line.text);
                } else {
                    self.words.join(&mut open.text, &line.text);
                }
                (open.last, open.last_page) = (line.clone(), page);
            }
            _ => {
                self.close();
                let (text, last) = (line.text.clone(), line.clone());
                self.open = Some(Open { kind, text, page, last, last_page: page });
            }
        }
    }

    /// Whether `line` belongs to what is open.
    fn goes_on(&self, open: &Open, page: u32, line: &Line, kind: Kind) -> bool {
        let last = &open.last;
        let alike = (last.size - line.size).abs() < 0.08 * last.size.max(line.size);
        if last.angle != line.angle {
            return false;
        }
        let drop = last.height - line.height;
        let leading = self.leading.get(&step(last.size)).copied().unwrap_or(1.2 * last.size);
        let below = page == open.last_page && drop > 0.0 && drop <= leading.max(last.size) * 1.3;
        match (open.kind, kind) {
            (Kind::Heading(own), Kind::Heading(next)) => {
                return own == next
                    && alike
                    && page == open.last_page
                    && drop > 0.0
                    && drop <= last.size * 1.6;
            }
            (Kind::Heading(_), _) | (_, Kind::Heading(_) | Kind::Item) => return false,
            _ => {}
        }
        let ended = open.text.ends_with(['.', '!', '?', ':', '。', '！', '？']);
        if page != open.last_page || drop <= 0.0 {
            // The next column or page: a sentence that has not ended goes on there.
            return alike && !ended && line.text.starts_with(char::is_lowercase);
        }
        let beside = line.start > last.end || line.end < last.start;
        let indented = open.kind == Kind::Paragraph
            && ended
            && line.start - last.start > 0.8 * last.size
            && line.start - last.start < 6.0 * last.size;
        below && alike && !beside && !indented
    }

    fn close(&mut self) {
        let Some(open) = self.open.take() else { return };
        let text = without_soft_hyphens(&open.text);
        let kind = match open.kind {
            Kind::Heading(level) => PieceKind::Heading { level, text },
            Kind::Paragraph => PieceKind::Paragraph(text),
            Kind::Item => {
                let (marker, text) = parted(&text);
                PieceKind::ListItem { depth: 0, marker, text }
            }
        };
        self.pieces.push(Piece { kind, place: Place::page(open.page) });
    }
}

/// A soft hyphen inside a line says where a word may be parted, and no more.
fn without_soft_hyphens(text: &str) -> String {
    text.replace('\u{AD}', "")
}

/// Whether a line begins as an item of a list does.
fn is_marked(text: &str) -> bool {
    let Some((first, rest)) = text.split_once(' ') else { return false };
    if rest.is_empty() {
        return false;
    }
    if matches!(
        first,
        "•" | "◦" | "▪" | "■" | "●" | "○" | "‣" | "–" | "-" | "*" | "\u{F0B7}" | "∙" | "➢"
    ) {
        return true;
    }
    let digits = first.trim_end_matches(['.', ')']);
    let digits = digits.strip_prefix('(').unwrap_or(digits);
    first.ends_with(['.', ')'])
        && (1..=2).contains(&digits.len())
        && digits.bytes().all(|b| b.is_ascii_digit())
}

/// The marker of an item and its text.
fn parted(text: &str) -> (String, String) {
    match text.split_once(' ') {
        Some((marker, rest)) if marker.bytes().any(|b| b.is_ascii_digit()) => {
            (marker.to_owned(), rest.to_owned())
        }
        Some((_, rest)) => ("-".to_owned(), rest.to_owned()),
        None => ("-".to_owned(), text.to_owned()),
    }
}
