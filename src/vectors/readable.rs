//! How much of a text an English wordpiece model can read.
//!
//! A static model has a vector for any text, also for one it knows nothing about: a German or
//! Chinese question, a part number. The vocabulary tells them apart: known words are one piece or a
//! few long ones; foreign words crumble into short pieces. What is measured is letters per piece.
//!
//! Each word weighs its bytes of UTF-8 in lower case: one for an ASCII letter, two to four for
//! others, which evens out the scripts that say a word in one or two characters. It is read
//! - not at all, if it is not ASCII once accents are off, is `[UNK]`, or mixes letters and digits
//!   (a code, whose parts mean nothing);
//! - if accents were taken off: wholly as one piece of at least four letters (`café`), otherwise
//!   not at all, since a short word has become another one (`für` is read as `fur`);
//! - wholly as one piece;
//! - otherwise by the mean length of its pieces: nothing at 1.5 letters, all at 4, linear between.
//!
//! Punctuation, symbols, numbers in ASCII and single ASCII letters count on neither side: a year in an
//! English question is no fault, a number in a Chinese one no merit. `E-417` thus has no words,
//! and a text without words is not readable: 0.
//!
//! Means on questions: XQuAD English .96, German .54, Spanish .53, Turkish .24, Vietnamese .20, other
//! scripts at most .02; Cranfield .98, Medline .87, SciFact .86 (rare technical words crumble too).
//! Below .7 lie 1 % of the English ones of XQuAD, 9 % of SciFact, 86 % of the German ones.

use super::wordpiece::Word;

/// One piece of so many letters survives the loss of an accent as itself.
const SURVIVES_LETTERS: usize = 4;
/// Letters per piece at which a word is not read at all, and at which it is read wholly.
const UNREAD_LETTERS: f32 = 1.5;
const READ_LETTERS: f32 = 4.0;

/// The words of a text, added up.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Reading {
    /// Bytes of the words met, and of those the ones read.
    met: f32,
    read: f32,
}

impl Reading {
    /// Counts a word.
    #[inline]
    pub(super) fn add(&mut self, word: &Word<'_>) {
        if let Some(share) = share(word) {
            let weight = word.letters.len() as f32;
            self.met += weight;
            self.read += weight * share;
        }
    }

    /// The share read, in `0.0..=1.0`.
    pub(super) fn share(self) -> f32 {
        if self.met > 0.0 { (self.read / self.met).min(1.0) } else { 0.0 }
    }
}

/// The share of a word that is read; `None` if the word counts on neither side.
#[inline]
fn share(word: &Word<'_>) -> Option<f32> {
    let (mut letters, mut digits) = (0, 0);
    for byte in word.letters {
        letters += usize::from(byte.is_ascii_lowercase());
        digits += usize::from(byte.is_ascii_digit());
    }
    let length = word.letters.len();
    let is_ascii = letters + digits == length;
    if !word.lettered || (is_ascii && (letters == 0 || length == 1)) {
        return None;
    }
    let pieces = word.ids.len();
    Some(if !is_ascii || word.unknown || digits > 0 {
        0.0
    } else if word.stripped {
        if pieces == 1 && length >= SURVIVES_LETTERS { 1.0 } else { 0.0 }
    } else if pieces == 1 {
        1.0
    } else {
        let mean = length as f32 / pieces as f32;
        ((mean - UNREAD_LETTERS) / (READ_LETTERS - UNREAD_LETTERS)).clamp(0.0, 1.0)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The share read of one word of `pieces` pieces.
    fn read(letters: &str, pieces: usize, stripped: bool) -> Option<f32> {
        let ids = vec![7; pieces];
        let lettered = letters.chars().any(char::is_alphanumeric);
        let letters = letters.as_bytes();
        share(&Word { letters, ids: &ids, unknown: false, stripped, lettered })
    }

    #[test]
    fn a_word_is_read_by_the_length_of_its_pieces() {
        assert_eq!(read("a", 1, false), None);
        assert_eq!(read("417", 2, false), None);
        assert_eq!(read("\u{2014}", 1, false), None);
        assert_eq!(read("how", 1, false), Some(1.0));
        assert_eq!(read("biomarkers", 2, false), Some(1.0));
        assert_eq!(read("welche", 2, false), Some(0.6));
        assert_eq!(read("abc", 3, false), Some(0.0));
        assert_eq!(read("r2d2", 2, false), Some(0.0));
        assert_eq!(read("cafe", 1, true), Some(1.0));
        assert_eq!(read("fur", 1, true), Some(0.0));
        assert_eq!(read("wahrung", 2, true), Some(0.0));
        assert_eq!(read("\u{65e5}", 1, false), Some(0.0));
        assert_eq!(read("20\u{b0}c", 1, false), Some(0.0));
        let unknown =
            Word { letters: b"x", ids: &[0], unknown: true, stripped: false, lettered: true };
        assert_eq!(share(&Word { letters: b"xyzzy", ..unknown }), Some(0.0));
    }

    #[test]
    fn words_weigh_their_bytes() {
        let ids = [7];
        let mut reading = Reading::default();
        assert_eq!(reading.share(), 0.0);
        for letters in ["tokyo", "\u{6771}", "\u{4eac}"] {
            reading.add(&Word {
                letters: letters.as_bytes(),
                ids: &ids,
                unknown: false,
                stripped: false,
                lettered: true,
            });
        }
        assert_eq!(reading.share(), 5.0 / 11.0);
    }
}
