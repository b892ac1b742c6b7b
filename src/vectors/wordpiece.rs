//! The tokenizer of BERT (uncased): a text into words, a word into pieces of a fixed vocabulary.
//!
//! The rules, in their order:
//! 1. U+0000, U+FFFD and the characters of category Cc, Cf, Co and Cs are dropped, except tab, line
//!    feed and carriage return; those and all Unicode white space part words.
//! 2. A CJK ideograph is a word of its own.
//! 3. Canonical decomposition (NFD), all characters of category Mn dropped, then lower case.
//! 4. A punctuation character (category P, and all of ASCII that is neither letter nor digit) is a
//!    word of its own.
//! 5. A word becomes the longest piece it begins with, then the longest continuing piece of the
//!    rest, and so on. A word of over 100 characters, or with a rest that nothing matches, becomes
//!    one `[UNK]`.
//!
//! Special names in a text (`[SEP]`) are ordinary words. ASCII takes a short way without tables of
//! Unicode; nothing is allocated either way.

use std::borrow::Cow;
use std::path::Path;

use unicode_general_category::{GeneralCategory, get_general_category};
use unicode_normalization::UnicodeNormalization;

use super::vocabulary::{Place, Vocabulary};
use crate::error::Result;

/// Longer words are `[UNK]`, as in the training of the vocabulary.
const MOST_CHARS: usize = 100;
/// Room for that many characters of UTF-8.
const MOST_BYTES: usize = 4 * MOST_CHARS;

/// A word of a text, as the tokenizer sees it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Word<'a> {
    /// The word in lower case without accents, UTF-8; only its start if it is over 100 characters.
    pub letters: &'a [u8],
    /// Its pieces, at least one; `[UNK]` stands alone.
    pub ids: &'a [u32],
    /// Whether `ids` is `[UNK]`.
    pub unknown: bool,
    /// Whether marks (accents, vowel signs) were taken off it.
    pub stripped: bool,
    /// Whether a letter or digit of any script is in it; otherwise it is punctuation or symbols.
    pub lettered: bool,
}

/// The tokenizer with its vocabulary.
///
/// ```
/// use atlas::vectors::StaticModel;
///
/// let pieces = StaticModel::built_in()?.pieces();
/// assert_eq!(pieces.ids("Zürich's git"), [10204, 1005, 1055, 21025, 2102]);
/// # Ok::<(), atlas::error::Error>(())
/// ```
#[derive(Debug)]
pub struct WordPiece {
    vocabulary: Vocabulary,
}

impl WordPiece {
    /// Reads the text of a `vocab.txt`: one piece a line, `##` before those that continue a word,
    /// `[UNK]` among them. `path` is for messages.
    pub fn new(path: &Path, text: Cow<'static, [u8]>) -> Result<Self> {
        Ok(Self { vocabulary: Vocabulary::new(path, text)? })
    }

    /// Number of pieces; ids are below it.
    #[expect(clippy::len_without_is_empty, reason = "a vocabulary has at least [UNK]")]
    pub fn len(&self) -> usize {
        self.vocabulary.len()
    }

    /// The pieces of `text`, in its order.
    pub fn ids(&self, text: &str) -> Vec<u32> {
        let mut ids = Vec::new();
        self.words(text, |word| ids.extend_from_slice(word.ids));
        ids
    }

    /// Calls `visit` for each word of `text`, in its order. Time is linear in the text.
    pub fn words(&self, text: &str, visit: impl FnMut(Word<'_>)) {
        let mut writer = Writer {
            vocabulary: &self.vocabulary,
            visit,
            letters: [0; MOST_BYTES],
            size_bytes: 0,
            chars: 0,
            stripped: false,
            lettered: false,
            ids: [0; MOST_CHARS],
        };
        let bytes = text.as_bytes();
        let mut at = 0;
        while let Some(byte) = bytes.get(at) {
            if byte.is_ascii() {
                writer.ascii(*byte);
                at += 1;
            } else {
                let ascii = bytes[at..].iter().position(u8::is_ascii);
                let end = ascii.map_or(bytes.len(), |run| at + run);
                writer.run(&text[at..end]);
                at = end;
            }
        }
        writer.end_word();
    }
}

/// What to do with a byte of ASCII: 0 drop it, [`SPACE`], [`PUNCTUATION`], or the byte to write.
const ASCII: [u8; 128] = {
    let mut table = [0; 128];
    let mut byte = 0;
    while byte < 128 {
        let b = byte as u8;
        table[byte] = match b {
            b'\t' | b'\n' | b'\r' | b' ' => SPACE,
            _ if b.is_ascii_alphanumeric() => b.to_ascii_lowercase(),
            _ if b.is_ascii_punctuation() => PUNCTUATION,
            _ => 0,
        };
        byte += 1;
    }
    table
};
const SPACE: u8 = 1;
const PUNCTUATION: u8 = 2;

/// The word being written, and where the words go.
struct Writer<'a, V> {
    vocabulary: &'a Vocabulary,
    visit: V,
    letters: [u8; MOST_BYTES],
    /// Bytes written to `letters`; those of the first 100 characters.
    size_bytes: usize,
    chars: usize,
    stripped: bool,
    lettered: bool,
    ids: [u32; MOST_CHARS],
}

impl<V: FnMut(Word<'_>)> Writer<'_, V> {
    #[inline]
    fn ascii(&mut self, byte: u8) {
        match ASCII[usize::from(byte)] {
            0 => {}
            SPACE => self.end_word(),
            PUNCTUATION => self.alone(char::from(byte)),
            letter => {
                if self.chars < MOST_CHARS {
                    self.letters[self.size_bytes] = letter;
                    self.size_bytes += 1;
                }
                self.chars += 1;
                self.lettered = true;
            }
        }
    }

    /// A run without ASCII. ASCII characters are starters of their own, so decomposing run by run
    /// gives what decomposing the whole text would; the same holds for ideographs.
    fn run(&mut self, run: &str) {
        let mut start = 0;
        for (at, c) in run.char_indices() {
            if is_ideograph(c) {
                self.decompose(&run[start..at]);
                start = at + c.len_utf8();
                self.end_word();
                self.decompose(&run[at..start]);
                self.end_word();
            }
        }
        self.decompose(&run[start..]);
    }

    fn decompose(&mut self, run: &str) {
        for c in run.chars().filter(|c| !is_dropped(*c)).nfd() {
            if c.is_ascii() {
                self.ascii(c as u8);
                continue;
            }
            match get_general_category(c) {
                GeneralCategory::NonspacingMark => self.stripped = true,
                category => c.to_lowercase().for_each(|c| self.folded(c, category)),
            }
        }
    }

    fn folded(&mut self, c: char, category: GeneralCategory) {
        if c.is_whitespace() {
            self.end_word();
        } else if is_punctuation(category) {
            self.alone(c);
        } else {
            self.push(c);
            self.lettered |= c.is_alphanumeric();
        }
    }

    fn push(&mut self, c: char) {
        if self.chars < MOST_CHARS {
            let end = self.size_bytes + c.len_utf8();
            c.encode_utf8(&mut self.letters[self.size_bytes..end]);
            self.size_bytes = end;
        }
        self.chars += 1;
    }

    /// `c` as a word of its own.
    fn alone(&mut self, c: char) {
        self.end_word();
        self.push(c);
        self.end_word();
    }

    #[inline]
    fn end_word(&mut self) {
        if self.chars > 0 {
            let letters = &self.letters[..self.size_bytes];
            let pieces = if self.chars > MOST_CHARS {
                None
            } else {
                split(self.vocabulary, letters, &mut self.ids)
            };
            let none = [self.vocabulary.unknown()];
            let ids = pieces.map_or(&none[..], |count| &self.ids[..count]);
            let unknown = pieces.is_none();
            let (stripped, lettered) = (self.stripped, self.lettered);
            (self.visit)(Word { letters, ids, unknown, stripped, lettered });
        }
        self.size_bytes = 0;
        self.chars = 0;
        self.stripped = false;
        self.lettered = false;
    }
}

/// Writes the pieces of a word to `ids` and gives their number; `None` if a rest is no piece.
#[inline]
fn split(vocabulary: &Vocabulary, word: &[u8], ids: &mut [u32; MOST_CHARS]) -> Option<usize> {
    let (mut place, mut rest) = (Place::First, word);
    // A piece has a character at least, so a word of 100 fits.
    for (i, id) in ids.iter_mut().enumerate() {
        let (found, length) = vocabulary.longest(place, rest)?;
        *id = found;
        rest = &rest[length..];
        if rest.is_empty() {
            return Some(i + 1);
        }
        place = Place::Later;
    }
    None
}

fn is_dropped(c: char) -> bool {
    use GeneralCategory::{Control, Format, PrivateUse, Surrogate};
    c == '\u{fffd}' || matches!(get_general_category(c), Control | Format | PrivateUse | Surrogate)
}

fn is_punctuation(category: GeneralCategory) -> bool {
    use GeneralCategory::{
        ClosePunctuation, ConnectorPunctuation, DashPunctuation, FinalPunctuation,
        InitialPunctuation, OpenPunctuation, OtherPunctuation,
    };
    matches!(
        category,
        ClosePunctuation
            | ConnectorPunctuation
            | DashPunctuation
            | FinalPunctuation
            | InitialPunctuation
            | OpenPunctuation
            | OtherPunctuation
    )
}

/// The blocks that BERT takes for ideographs; kana and hangul are not among them.
fn is_ideograph(c: char) -> bool {
    matches!(
        u32::from(c),
        0x3400..=0x4dbf
            | 0x4e00..=0x9fff
            | 0xf900..=0xfaff
            | 0x2_0000..=0x2_a6df
            | 0x2_a700..=0x2_b73f
            | 0x2_b740..=0x2_b81f
            | 0x2_b820..=0x2_ceaf
            | 0x2_f800..=0x2_fa1f
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(text: &str) -> Vec<(String, Vec<u32>, bool, bool)> {
        let vocabulary = "[UNK]\na\nb\n##a\n##b\nab\n##ab\n-\n日\n##σ\ncafe\n";
        let pieces =
            WordPiece::new(Path::new("vocab.txt"), Cow::Borrowed(vocabulary.as_bytes())).unwrap();
        let mut words = Vec::new();
        pieces.words(text, |w| {
            let letters = String::from_utf8(w.letters.to_vec()).unwrap();
            words.push((letters, w.ids.to_vec(), w.unknown, w.stripped));
        });
        words
    }

    fn ids(text: &str) -> Vec<u32> {
        words(text).into_iter().flat_map(|(_, ids, ..)| ids).collect()
    }

    #[test]
    fn words_split_into_longest_pieces() {
        assert_eq!(ids("ab aba ABAB bab"), [5, 5, 3, 5, 6, 2, 6]);
        assert_eq!(words("abx"), [("abx".to_owned(), vec![0], true, false)]);
        assert_eq!(ids(" \t\r\n"), [0; 0]);
    }

    #[test]
    fn punctuation_and_ideographs_stand_alone() {
        assert_eq!(ids("a-b日a$"), [1, 7, 2, 8, 1, 0]);
        assert_eq!(words("a\u{2013}b").len(), 3); // en dash
        assert_eq!(words("\u{fb00}").len(), 1); // a ligature has no canonical decomposition
        assert_eq!(words("a\u{2260}b").len(), 3); // decomposes to `=` and a mark
        assert_eq!(ids("a\u{3000}b\u{2028}a"), [1, 2, 1]);
    }

    #[test]
    fn accents_case_and_invisible_characters_go() {
        let cafe = |stripped| vec![("cafe".to_owned(), vec![10], false, stripped)];
        assert_eq!(words("CAFÉ"), cafe(true));
        assert_eq!(words("cafe\u{301}"), cafe(true));
        assert_eq!(words("ca\u{ad}f\u{200b}e\u{0}\u{b}\u{85}\u{fffd}\u{e000}"), cafe(false));
        assert_eq!(ids("aΣ"), [1, 9]); // no final sigma
        assert_eq!(words("\u{301} a"), [("a".to_owned(), vec![1], false, false)]);
    }

    #[test]
    fn a_word_over_100_characters_is_unknown() {
        assert_eq!(ids(&"ab".repeat(50)), [[5].as_slice(), &[6; 49]].concat());
        assert_eq!(ids(&"a".repeat(100)).len(), 100);
        assert_eq!(ids(&"a".repeat(101)), [0]);
        assert_eq!(ids(&"😀".repeat(1000)), [0]);
    }
}
