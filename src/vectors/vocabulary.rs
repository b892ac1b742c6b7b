//! The pieces of a wordpiece vocabulary, and the longest one that a word begins with.
//!
//! The program starts for every command, so the table must be ready at once: one array of slots
//! over the bytes of the vocabulary file itself, filled in one pass (well under a millisecond for
//! 30,522 pieces), no string copied.

use std::borrow::Cow;
use std::path::Path;

use crate::error::{Error, Result};

/// What to do about a model file that is not as it must be.
pub(super) const FRESH_COPY: &str = "put a fresh copy of the model in its place";

/// The most pieces: an id and its mark, never zero, take 20 bits of a slot.
const MOST_PIECES: usize = (1 << ID_BITS) - 1;
const ID_BITS: u32 = 20;
/// The longest piece in bytes; the hashes of that many prefixes are kept at a time.
const LONGEST_BYTES: usize = 128;
/// What begins a piece that continues a word.
const CONTINUES: &[u8] = b"##";

/// Seeds of the two kinds of piece, so that `##s` and `s` part without a copy: any two odd numbers.
const SEEDS: [u64; 2] = [0x243f_6a88_85a3_08d3, 0x1319_8a2e_0370_7345];

/// Where in a word a piece may stand.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Place {
    /// At the start of the word.
    First = 0,
    /// After another piece (written `##…` in the file).
    Later = 1,
}

/// A vocabulary: one piece a line, its number the line's, counted from 0.
///
/// Invariants: the text is UTF-8, so a match ends between two characters; every piece is in the
/// table once; `[UNK]` is among them.
#[derive(Debug)]
pub(super) struct Vocabulary {
    text: Cow<'static, [u8]>,
    /// `[pieces + 1]`: piece `i` is the line from `starts[i]` up to before `starts[i + 1]`.
    starts: Vec<u32>,
    /// Open addressing, a power of two at least twice the pieces; 0 is a free slot, otherwise the
    /// id plus 1 in the low bits and, above, bits of the hash that spare most comparisons.
    slots: Vec<u32>,
    shift: u32,
    longest_bytes: usize,
    unknown: u32,
}

impl Vocabulary {
    /// Reads the text of a vocabulary file; `path` is for messages.
    pub(super) fn new(path: &Path, text: Cow<'static, [u8]>) -> Result<Self> {
        let fault = |line: Option<usize>, problem: String| {
            Error::input(path, line.map(|l| l as u64 + 1), problem, FRESH_COPY)
        };
        if let Err(e) = std::str::from_utf8(&text) {
            return Err(fault(None, format!("not UTF-8 from byte {}", e.valid_up_to())));
        }
        if u32::try_from(text.len()).is_err() {
            return Err(fault(None, format!("{} bytes, more than a vocabulary has", text.len())));
        }
        let starts = starts_of(&text);
        let pieces = starts.len() - 1;
        if pieces > MOST_PIECES {
            return Err(fault(None, format!("{pieces} pieces; at most {MOST_PIECES} can be used")));
        }
        let size = (2 * pieces).next_power_of_two().max(2);
        let mut vocabulary = Self {
            text,
            starts,
            slots: vec![0; size],
            shift: 64 - size.trailing_zeros(),
            longest_bytes: 0,
            unknown: 0,
        };
        for id in 0..pieces {
            vocabulary.insert(id).map_err(|problem| fault(Some(id), problem))?;
        }
        let name = b"[UNK]";
        let unknown = vocabulary.find(Place::First, name, hash(Place::First, name));
        vocabulary.unknown = unknown.ok_or_else(|| fault(None, "no line is `[UNK]`".to_owned()))?;
        Ok(vocabulary)
    }

    /// Number of pieces.
    pub(super) fn len(&self) -> usize {
        self.starts.len() - 1
    }

    /// The id of `[UNK]`.
    pub(super) fn unknown(&self) -> u32 {
        self.unknown
    }

    /// The id and length in bytes of the longest piece that `rest` begins with.
    #[inline]
    pub(super) fn longest(&self, place: Place, rest: &[u8]) -> Option<(u32, usize)> {
        let mut hashes = [0; LONGEST_BYTES];
        let most = rest.len().min(self.longest_bytes);
        let mut state = SEEDS[place as usize];
        for (byte, kept) in rest[..most].iter().zip(&mut hashes) {
            state = step(state, *byte);
            *kept = state;
        }
        let tries = hashes[..most].iter().enumerate().rev();
        tries
            .map(|(last, h)| (last + 1, *h))
            .find_map(|(length, h)| self.find(place, &rest[..length], h).map(|id| (id, length)))
    }

    /// The id of the piece that is `letters` (without `##`), whose hash is `hash`.
    #[inline]
    fn find(&self, place: Place, letters: &[u8], hash: u64) -> Option<u32> {
        let tag = tag_of(hash);
        let mut at = (hash >> self.shift) as usize;
        loop {
            let slot = self.slots[at];
            if slot == 0 {
                return None;
            }
            let id = (slot & MOST_PIECES as u32) - 1;
            if slot & !(MOST_PIECES as u32) == tag && self.piece(id as usize) == (place, letters) {
                return Some(id);
            }
            at = (at + 1) & (self.slots.len() - 1);
        }
    }

    /// Place and letters of piece `id`.
    #[inline]
    fn piece(&self, id: usize) -> (Place, &[u8]) {
        let (start, end) = (self.starts[id] as usize, self.starts[id + 1] as usize);
        let line = &self.text[start..end];
        let line = line.strip_suffix(b"\n").unwrap_or(line);
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        match line.strip_prefix(CONTINUES) {
            // `##` alone would be a piece of its own.
            Some(letters) if !letters.is_empty() => (Place::Later, letters),
            _ => (Place::First, line),
        }
    }

    /// Puts piece `id` into the table, or says what is wrong with it.
    fn insert(&mut self, id: usize) -> Result<(), String> {
        let (place, letters) = self.piece(id);
        if letters.is_empty() {
            return Err("the line is empty".to_owned());
        }
        if letters.len() > LONGEST_BYTES {
            return Err(format!("{} bytes; at most {LONGEST_BYTES} can be used", letters.len()));
        }
        let (length, hash) = (letters.len(), hash(place, letters));
        if let Some(other) = self.find(place, letters, hash) {
            return Err(format!("the piece stands in line {} already", other + 1));
        }
        let mut at = (hash >> self.shift) as usize;
        while self.slots[at] != 0 {
            at = (at + 1) & (self.slots.len() - 1);
        }
        self.slots[at] = tag_of(hash) | (id as u32 + 1);
        self.longest_bytes = self.longest_bytes.max(length);
        Ok(())
    }
}

/// Where each line starts, and where the last one ends.
fn starts_of(text: &[u8]) -> Vec<u32> {
    let mut starts = vec![0];
    let ends = text.iter().enumerate().filter(|(_, byte)| **byte == b'\n');
    starts.extend(ends.map(|(at, _)| at as u32 + 1));
    if text.last().is_some_and(|byte| *byte != b'\n') {
        starts.push(text.len() as u32);
    }
    starts
}

fn hash(place: Place, letters: &[u8]) -> u64 {
    letters.iter().fold(SEEDS[place as usize], |state, byte| step(state, *byte))
}

/// One multiplication by a large odd number spreads a byte over all higher bits, of which the
/// table uses the highest.
#[inline]
fn step(state: u64, byte: u8) -> u64 {
    (state ^ u64::from(byte)).wrapping_mul(0x9e37_79b9_7f4a_7c15)
}

/// Bits of the hash that the slot's number does not use, placed above the id.
#[inline]
fn tag_of(hash: u64) -> u32 {
    (hash >> 12) as u32 & !(MOST_PIECES as u32)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn vocabulary(text: &'static str) -> Result<Vocabulary> {
        Vocabulary::new(Path::new("vocab.txt"), Cow::Borrowed(text.as_bytes()))
    }

    #[test]
    fn the_longest_piece_of_the_right_kind_is_found() {
        let v = vocabulary("[UNK]\na\nab\n##b\n##bc\nabcde\n日\n").unwrap();
        assert_eq!((v.len(), v.unknown()), (7, 0));
        assert_eq!(v.longest(Place::First, b"abcd"), Some((2, 2)));
        assert_eq!(v.longest(Place::First, b"abcde"), Some((5, 5)));
        assert_eq!(v.longest(Place::Later, b"bcd"), Some((4, 2)));
        assert_eq!(v.longest(Place::Later, b"abc"), None);
        assert_eq!(v.longest(Place::First, b"##b"), None);
        assert_eq!(v.longest(Place::First, "日本".as_bytes()), Some((6, 3)));
        assert_eq!(v.longest(Place::First, b""), None);
    }

    #[test]
    fn line_ends_may_be_crlf_and_the_last_may_be_missing() {
        let v = vocabulary("[UNK]\r\nab\r\n##b").unwrap();
        assert_eq!(v.longest(Place::First, b"ab"), Some((1, 2)));
        assert_eq!(v.longest(Place::Later, b"b"), Some((2, 1)));
    }

    #[test]
    fn damage_is_named() {
        let fault = |text| vocabulary(text).unwrap_err().to_string();
        let help = "put a fresh copy of the model in its place";
        assert_eq!(fault("[UNK]\n\na\n"), format!("vocab.txt:2: the line is empty; {help}"));
        assert!(fault("[UNK]\na\n##a\na\n").contains(":4: the piece stands in line 2 already"));
        assert!(fault("a\nb\n").contains("no line is `[UNK]`"));
        assert!(fault("").contains("no line is `[UNK]`"));
        let bytes = Cow::Borrowed(&b"[UNK]\n\xff\n"[..]);
        let fault = Vocabulary::new(Path::new("vocab.txt"), bytes).unwrap_err().to_string();
        assert!(fault.contains("not UTF-8 from byte 6"), "{fault}");
        let long = format!("[UNK]\n{}\n", "x".repeat(129)).into_bytes();
        let fault = Vocabulary::new(Path::new("vocab.txt"), Cow::Owned(long)).unwrap_err();
        assert!(fault.to_string().contains("129 bytes; at most 128"), "{fault}");
    }
}
