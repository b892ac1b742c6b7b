//! Text to terms.

use std::borrow::Cow;
use std::collections::{BTreeSet, HashMap};

use serde::{Deserialize, Serialize};
use unicode_normalization::{UnicodeNormalization as _, is_nfkc};

use super::accents;
use super::script::{is_invisible, is_mark, is_unspaced, is_word};
use super::stem::{CHAIN, Stem};
use super::stop::is_stop;
use crate::error::Result;

/// How text becomes terms.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Settings {
    /// Language of the stemmer, ISO 639-1, or `none`. Default `en`.
    pub language: String,
    /// Whether questions drop stop words when something else is left. Default true.
    pub stop_words: bool,
}

impl Default for Settings {
    fn default() -> Self {
        Self { language: "en".to_owned(), stop_words: true }
    }
}

/// The longest term, in bytes; a longer one is cut at a character boundary.
const TERM_BYTES_MAX: usize = 512;

/// The most parts a joined code has; a longer chain is a path or a sentence, not a code.
const CODE_PARTS_MAX: usize = 6;

/// Stands before a term of a passage's headings, so that the index tells which terms they hold. No word
/// has it.
pub const HEADING: char = '\u{1}';

/// Words whose stems are remembered by one [`Analyzer::document`] scratch.
const CACHE_WORDS_MAX: usize = 1 << 17;

/// Turns text into terms; one for a whole index, shared by threads.
pub struct Analyzer {
    settings: Settings,
    stem: Stem,
}

impl std::fmt::Debug for Analyzer {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.debug_tuple("Analyzer").field(&self.id()).finish()
    }
}

/// A word as [`words`] finds it.
struct Word<'a> {
    text: &'a str,
    /// Whether a stemmer and the stop list apply: false for codes and pairs of characters.
    plain: bool,
    /// For a code, how many of the words before it are its parts; 0 for any other word.
    joins: usize,
}

impl<'a> Word<'a> {
    const fn plain(text: &'a str) -> Self {
        Self { text, plain: true, joins: 0 }
    }

    const fn pair(text: &'a str) -> Self {
        Self { text, plain: false, joins: 0 }
    }
}

impl Analyzer {
    /// An analyzer; fails on a language without a stemmer.
    pub fn new(settings: &Settings) -> Result<Self> {
        Ok(Self { stem: Stem::new(&settings.language)?, settings: settings.clone() })
    }

    /// Names everything that decides which terms a text has; a manifest states it.
    pub fn id(&self) -> String {
        format!(
            "atlas-text-2/{CHAIN}/{}/stop-words-{}",
            self.settings.language,
            if self.settings.stop_words { "on" } else { "off" }
        )
    }

    /// The terms of a document, in order, separated by single newlines, and its length: how many
    /// words it has, stop words and the wholes of codes (whose parts count) left out. A term with
    /// accents has itself without them behind it, which counts for nothing in the length.
    ///
    /// `stems` remembers words between calls; give each thread its own.
    pub fn document(&self, text: &str, stems: &mut Stems) -> (String, u32) {
        let mut terms = String::with_capacity(text.len() + text.len() / 8);
        let mut length = 0;
        words(text, &mut |word| {
            if !terms.is_empty() {
                terms.push('\n');
            }
            length += u32::from(word.joins == 0 && !(word.plain && self.is_stop(word.text)));
            let start = terms.len();
            if word.plain {
                stems.append(&self.stem, word.text, &mut terms);
            } else {
                terms.push_str(word.text);
            }
            if let Some(bare) = accents::without(&terms[start..]) {
                terms.push('\n');
                terms.push_str(&bare);
            }
        });
        (terms, length)
    }

    /// What the index holds of a passage whose searched form begins with `headings`: the terms of the
    /// whole as [`Analyzer::document`] gives them, then each distinct term of the headings once more
    /// behind [`HEADING`]; and the length, in which the latter count for nothing.
    pub fn passage(&self, headings: &str, text: &str, stems: &mut Stems) -> (String, u32) {
        let (mut terms, mut length) = self.document(headings, stems);
        let marked: Vec<String> = {
            let mut seen = BTreeSet::new();
            let fresh = terms.split('\n').filter(|term| !term.is_empty() && seen.insert(*term));
            fresh.map(|term| format!("\n{HEADING}{term}")).collect()
        };
        let (own, words) = self.document(text, stems);
        if !terms.is_empty() && !own.is_empty() {
            terms.push('\n');
        }
        terms.push_str(&own);
        length += words;
        terms.extend(marked);
        (terms, length)
    }

    fn is_stop(&self, word: &str) -> bool {
        self.settings.stop_words && is_stop(&self.settings.language, word)
    }

    /// The terms of [`Analyzer::asked`].
    pub fn question(&self, text: &str) -> Vec<String> {
        self.asked(text).into_iter().map(|asked| asked.term).collect()
    }

    /// What a question asks for, in order, repeats kept, without its stop words when something
    /// else is left of it.
    ///
    /// Of a code, the question asks for the whole and for the parts of two characters or more: in
    /// `C-3` nothing but the code is meant, and `3` alone would find every "3 years".
    pub fn asked(&self, text: &str) -> Vec<Asked> {
        let mut found: Vec<(Asked, bool)> = Vec::new();
        words(text, &mut |word| {
            let mut term = String::new();
            if word.plain {
                self.stem.append(word.text, &mut term);
            } else {
                term.push_str(word.text);
            }
            let parts = found.split_off(found.len() - word.joins.min(found.len()));
            found.extend(
                parts
                    .into_iter()
                    .filter(|(part, _)| part.term.chars().nth(1).is_some())
                    .map(|(part, stop)| (Asked { code: Some(term.clone()), ..part }, stop)),
            );
            let stop = word.plain && self.is_stop(word.text);
            found.push((Asked { term, code: None }, stop));
        });
        let all_stop = found.iter().all(|(_, stop)| *stop);
        found.retain(|(_, stop)| all_stop || !stop);
        found.into_iter().map(|(asked, _)| asked).collect()
    }
}

/// A term that a question asks for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Asked {
    /// The term.
    pub term: String,
    /// The code that it is a part of: where that is known, nothing but the whole is meant.
    pub code: Option<String>,
}

impl From<String> for Asked {
    fn from(term: String) -> Self {
        Self { term, code: None }
    }
}

/// Stems already computed, so that a build stems each word of a language once a thread.
#[derive(Default)]
pub struct Stems(HashMap<Box<str>, Box<str>>);

impl Stems {
    fn append(&mut self, stem: &Stem, word: &str, out: &mut String) {
        if let Some(known) = self.0.get(word) {
            return out.push_str(known);
        }
        let start = out.len();
        stem.append(word, out);
        if self.0.len() < CACHE_WORDS_MAX {
            self.0.insert(word.into(), out[start..].into());
        }
    }
}

/// NFKC and lower case, borrowed when the text is so already.
fn fold(text: &str) -> Cow<'_, str> {
    if text.is_ascii() {
        if text.bytes().any(|b| b.is_ascii_uppercase()) {
            return Cow::Owned(text.to_ascii_lowercase());
        }
        return Cow::Borrowed(text);
    }
    let composed: Cow<'_, str> =
        if is_nfkc(text) { Cow::Borrowed(text) } else { Cow::Owned(text.nfkc().collect()) };
    let mut folded: String = composed
        .chars()
        .filter(|c| !is_invisible(*c))
        .map(|c| if c == '\u{2019}' { '\'' } else { c })
        .flat_map(char::to_lowercase)
        .collect();
    if !is_nfkc(&folded) {
        folded = folded.nfkc().collect();
    }
    Cow::Owned(folded)
}

/// Calls `emit` for every word of `text`, in order.
fn words(text: &str, emit: &mut dyn FnMut(Word<'_>)) {
    let folded = fold(text);
    let mut chain = Chain::default();
    let mut rest = folded.as_ref();
    while let Some(first) = rest.chars().next() {
        let length = if is_unspaced(first) {
            chain.close(emit);
            unspaced(rest, emit)
        } else if is_word(first) {
            let length = word_length(rest);
            chain.add(cut(&rest[..length]), emit);
            length
        } else {
            let length = first.len_utf8();
            if !(is_joiner(first) && continues(&rest[length..])) {
                chain.close(emit);
            } else {
                chain.joiner(first);
            }
            length
        };
        rest = &rest[length..];
    }
    chain.close(emit);
}

/// Bytes of the word that `text` starts with; an apostrophe between letters belongs to it.
fn word_length(text: &str) -> usize {
    let mut characters = text.char_indices().peekable();
    while let Some((at, character)) = characters.next() {
        let inside = if character == '\'' {
            at > 0
                && characters
                    .peek()
                    .is_some_and(|(_, next)| next.is_alphabetic() && !is_unspaced(*next))
        } else {
            is_word(character) && !is_unspaced(character)
        };
        if !inside {
            return at;
        }
    }
    text.len()
}

/// Emits the pairs of the unspaced run that `text` starts with, or the one character it is; gives
/// the run's length in bytes. A mark stays with its character.
fn unspaced(text: &str, emit: &mut dyn FnMut(Word<'_>)) -> usize {
    let mut starts: Vec<usize> = Vec::new();
    let mut end = text.len();
    for (at, character) in text.char_indices() {
        if is_mark(character) && !starts.is_empty() {
            continue;
        }
        if !is_unspaced(character) {
            end = at;
            break;
        }
        starts.push(at);
    }
    starts.push(end);
    if starts.len() == 2 {
        emit(Word::pair(&text[..end]));
    }
    for pair in starts.windows(3) {
        emit(Word::pair(&text[pair[0]..pair[2]]));
    }
    end
}

/// The part of a word that becomes a term.
fn cut(word: &str) -> &str {
    &word[..word.floor_char_boundary(TERM_BYTES_MAX)]
}

const fn is_joiner(character: char) -> bool {
    matches!(character, '-' | '_' | '.' | '\u{2010}')
}

fn continues(text: &str) -> bool {
    text.chars().next().is_some_and(|c| is_word(c) && !is_unspaced(c))
}

/// Words joined by hyphens, underscores or dots: `e-417`, `3.2`, `sku_4411`.
#[derive(Default)]
struct Chain {
    joined: String,
    parts: usize,
    has_digit: bool,
    has_letter_part: bool,
    dot: bool,
}

impl Chain {
    fn add(&mut self, part: &str, emit: &mut dyn FnMut(Word<'_>)) {
        emit(Word::plain(part));
        let numeric = part.bytes().all(|b| b.is_ascii_digit());
        if self.dot && numeric && self.joined.ends_with(|c: char| c.is_ascii_digit()) {
            self.joined.push('.');
        }
        self.dot = false;
        self.joined.push_str(part);
        self.parts += 1;
        self.has_digit |= part.bytes().any(|b| b.is_ascii_digit());
        self.has_letter_part |= !numeric && part.chars().nth(1).is_none();
    }

    const fn joiner(&mut self, joiner: char) {
        self.dot = joiner == '.';
    }

    /// Ends the chain; emits it whole when it is a code: it holds a digit or a one-letter part.
    fn close(&mut self, emit: &mut dyn FnMut(Word<'_>)) {
        let code = self.has_digit || self.has_letter_part;
        if code && (2..=CODE_PARTS_MAX).contains(&self.parts) && self.joined.len() <= TERM_BYTES_MAX
        {
            emit(Word { text: &self.joined, plain: false, joins: self.parts });
        }
        *self = Self { joined: std::mem::take(&mut self.joined), ..Self::default() };
        self.joined.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn terms(text: &str) -> String {
        let analyzer = Analyzer::new(&Settings::default()).unwrap();
        analyzer.document(text, &mut Stems::default()).0.replace('\n', " ")
    }

    #[test]
    fn codes_stand_whole_beside_their_parts() {
        assert_eq!(terms("Error E-417"), "error e 417 e417");
        assert_eq!(terms("C-3, T-7."), "c 3 c3 t 7 t7");
        assert_eq!(terms("firmware 3.2 and SKU_4411"), "firmwar 3 2 3.2 and sku 4411 sku4411");
        assert_eq!(terms("R07 48V e-bike"), "r07 48v e bike ebike");
        assert_eq!(terms("well-known. Next"), "well known next");
    }

    #[test]
    fn service_and_serviced_are_one_term() {
        assert_eq!(terms("serviced"), terms("service"));
        assert_eq!(terms("installing"), terms("installation"));
        assert_ne!(terms("covered"), terms("coverage"));
    }

    #[test]
    fn compatibility_forms_and_invisible_characters_fold() {
        assert_eq!(terms("ＡＢＣ ﬁle"), "abc file");
        assert_eq!(terms("ser\u{AD}vice\u{200B}d"), terms("serviced"));
        assert_eq!(terms("bike\u{2019}s"), terms("bike's"));
    }

    #[test]
    fn unspaced_scripts_become_pairs() {
        assert_eq!(terms("保修政策"), "保修 修政 政策");
        assert_eq!(terms("電 池E-4"), "電 池 e 4 e4");
    }

    #[test]
    fn a_question_asks_for_codes_not_for_their_letters() {
        let analyzer = Analyzer::new(&Settings::default()).unwrap();
        assert_eq!(
            analyzer.question("E-417 on a C-3, vitamin c"),
            ["417", "e417", "c3", "vitamin", "c"]
        );
        assert_eq!(analyzer.question("firmware 3.2"), ["firmwar", "3.2"]);
    }

    #[test]
    fn a_question_of_stop_words_keeps_them() {
        let analyzer = Analyzer::new(&Settings::default()).unwrap();
        assert_eq!(analyzer.question("What is the warranty?"), ["warranti"]);
        assert_eq!(analyzer.question("to be or not to be").len(), 6);
        assert!(analyzer.question("?!").is_empty());
    }

    #[test]
    fn a_term_with_accents_has_itself_without_them_behind_it() {
        assert_eq!(terms("Ọ̀nà café"), "ọ̀nà ona café cafe");
        assert_eq!(terms("ёлка ὁδός"), "ёлка елка ὁδός οδος");
        assert_eq!(terms("हिन्दी が"), "हिन्दी が");
    }

    #[test]
    fn a_passage_says_which_terms_its_headings_hold() {
        let analyzer = Analyzer::new(&Settings::default()).unwrap();
        let mut stems = Stems::default();
        let mut passage = |headings: &str, text: &str| {
            let (terms, length) = analyzer.passage(headings, text, &mut stems);
            (terms.replace(HEADING, "#").replace('\n', " "), length)
        };
        let whole = passage("Warranty\nThe warranty of E-4\n", "It is void.");
        assert_eq!(
            whole,
            ("warranti the warranti of e 4 e4 it is void #warranti #the #of #e #4 #e4".into(), 5)
        );
        assert_eq!(passage("", "void"), ("void".into(), 1));
        assert_eq!(passage("?\n", "void"), ("void".into(), 1));
        assert_eq!(passage("void", ""), ("void #void".into(), 1));
    }

    #[test]
    fn a_length_counts_words_that_say_something() {
        let analyzer = Analyzer::new(&Settings::default()).unwrap();
        let (terms, length) =
            analyzer.document("The torque of R07 is 5-6 Nm", &mut Stems::default());
        assert_eq!(terms, "the\ntorqu\nof\nr07\nis\n5\n6\n56\nnm");
        assert_eq!(length, 5);
        assert_eq!(analyzer.document("  ", &mut Stems::default()), (String::new(), 0));
    }
}
