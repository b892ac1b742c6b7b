//! From the bytes of a text back to those of the file that it was decoded from.

use std::ops::Range;

use encoding_rs::{Encoding, UTF_8};
use serde::{Deserialize, Serialize};

use super::{BodyForm, Document, Place};

/// Where the bytes of a text stand in its file, in runs of characters of like widths. A file whose text is
/// its bytes, as UTF-8 with `\n` is, has none; one with `\r\n` has two a line.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Offsets(Vec<Run>);

/// Characters that take as many bytes each.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Run {
    /// Where the first begins, in the text and in the file.
    text: u64,
    file: u64,
    /// Bytes of each in the text and in the file.
    widths: (u8, u8),
}

impl Offsets {
    /// Those of a text in UTF-8 that begins at byte `from` of `bytes`; what is no UTF-8 became U+FFFD.
    pub(super) fn utf8(bytes: &[u8], from: usize) -> Self {
        if from == 0 && !bytes.contains(&b'\r') && std::str::from_utf8(bytes).is_ok() {
            return Self::default();
        }
        let mut tracer = Tracer::new(from);
        for chunk in bytes[from..].utf8_chunks() {
            chunk.valid().chars().for_each(|c| tracer.add(c, c.len_utf8()));
            if !chunk.invalid().is_empty() {
                tracer.add(char::REPLACEMENT_CHARACTER, chunk.invalid().len());
            }
        }
        tracer.finish()
    }

    /// Those of a text in `encoding` that begins at byte `from` of `bytes`.
    pub(super) fn of(encoding: &'static Encoding, bytes: &[u8], from: usize) -> Self {
        if encoding == UTF_8 {
            return Self::utf8(bytes, from);
        }
        let mut tracer = Tracer::new(from);
        let mut decoder = encoding.new_decoder_without_bom_handling();
        // One byte gives two characters at most: one for what was begun, and itself.
        let (mut letters, mut begun) = ([0; 32], 0);
        let bytes = &bytes[from..];
        for at in 0..bytes.len() {
            let is_last = at + 1 == bytes.len();
            let (_, _, written, _) = decoder.decode_to_utf8(&bytes[at..=at], &mut letters, is_last);
            begun += 1;
            let text = std::str::from_utf8(&letters[..written]).unwrap_or_default();
            let mut left = text.chars().count();
            for c in text.chars() {
                left -= 1;
                let own = begun - left.min(begun);
                tracer.add(c, own);
                begun -= own;
            }
        }
        tracer.finish()
    }

    /// Those of a text whose characters are given with the bytes that each has in the file, from `from` on.
    pub(super) fn fixed(text: impl Iterator<Item = char>, width: usize, from: usize) -> Self {
        let mut tracer = Tracer::new(from);
        text.for_each(|c| tracer.add(c, width));
        tracer.finish()
    }

    /// Whether the text is the bytes of its file.
    pub fn is_plain(&self) -> bool {
        self.0.is_empty()
    }

    /// The byte of the file at which what stands at `byte` of the text begins.
    pub fn file(&self, byte: u64) -> u64 {
        let Some(run) = self.run(byte) else { return byte };
        let into = byte - run.text;
        let (text, file) = (u64::from(run.widths.0), u64::from(run.widths.1));
        run.file + into / text * file + (into % text).min(file)
    }

    /// [`Offsets::file`] of both ends.
    pub fn range(&self, bytes: &Range<u64>) -> Range<u64> {
        self.file(bytes.start)..self.file(bytes.end)
    }

    /// Those of the bytes `bytes` of the text alone.
    #[must_use]
    pub fn within(&self, bytes: &Range<u64>) -> Self {
        let from = self.0.partition_point(|run| run.text <= bytes.start).saturating_sub(1);
        let to = self.0.partition_point(|run| run.text <= bytes.end);
        Self(self.0.get(from..to).unwrap_or_default().to_vec())
    }

    fn run(&self, byte: u64) -> Option<&Run> {
        let at = self.0.partition_point(|run| run.text <= byte);
        self.0.get(at.saturating_sub(1)).filter(|run| run.text <= byte)
    }

    /// Has the places of `document` mean bytes of the file; they meant those of the text.
    pub(super) fn apply(&self, document: &mut Document) {
        if self.is_plain() {
            return;
        }
        let map = |place: &mut Place| {
            if let Some(bytes) = &mut place.bytes {
                *bytes = self.range(bytes);
            }
        };
        if let BodyForm::Structured(structure) = &mut document.form {
            structure.places.iter_mut().for_each(|(_, place)| map(place));
        }
        match &mut document.source.record {
            Some(place) => {
                map(place);
                document.source.first_byte = self.file(document.source.first_byte);
            }
            None => document.source.offsets = self.clone(),
        }
    }
}

/// Follows a text character by character.
struct Tracer {
    runs: Vec<Run>,
    text: u64,
    file: u64,
    /// The bytes of a `\r` that may belong to a `\n`.
    held: Option<usize>,
}

impl Tracer {
    fn new(from: usize) -> Self {
        Self { runs: Vec::new(), text: 0, file: from as u64, held: None }
    }

    /// The next character, as it was decoded, has `file` bytes in the file.
    fn add(&mut self, c: char, file: usize) {
        let held = self.held.take();
        match (held, c) {
            (Some(held), '\n') => return self.push(1, held + file),
            (Some(held), _) => self.push(1, held),
            (None, _) => {}
        }
        if c == '\r' {
            self.held = Some(file);
        } else {
            self.push(c.len_utf8(), file);
        }
    }

    fn push(&mut self, text: usize, file: usize) {
        // Whatever is as long in both is one run with all that is.
        let same = text == file;
        let width = |bytes: usize| if same { 1 } else { u8::try_from(bytes).unwrap_or(u8::MAX) };
        let widths = (width(text), width(file));
        if self.runs.last().is_none_or(|run| run.widths != widths) {
            self.runs.push(Run { text: self.text, file: self.file, widths });
        }
        self.text += text as u64;
        self.file += file as u64;
    }

    fn finish(mut self) -> Offsets {
        if let Some(held) = self.held.take() {
            self.push(1, held);
        }
        match self.runs.as_slice() {
            [Run { text: 0, file: 0, widths: (1, 1) }] => Offsets::default(),
            _ => Offsets(self.runs),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::encoding::decode;
    use super::*;

    /// Every character of the text stands in the file where its offsets say.
    fn check(bytes: &[u8], encoding: &'static Encoding) {
        let decoded = decode(bytes, Some(encoding.name())).unwrap();
        let mut ends = decoded.text.char_indices().map(|(at, _)| at).skip(1).collect::<Vec<_>>();
        ends.push(decoded.text.len());
        let mut before = None;
        for ((at, c), end) in decoded.text.char_indices().zip(ends) {
            let own = decoded.offsets.range(&(at as u64..end as u64));
            let slice = &bytes[own.start as usize..own.end as usize];
            let (found, _) = encoding.decode_without_bom_handling(slice);
            let found = found.replace("\r\n", "\n").replace('\r', "\n");
            assert_eq!(found, c.to_string(), "{}, byte {at}", encoding.name());
            // No byte is left out, and none belongs to two characters.
            assert!(before.is_none_or(|before| before == own.start), "{} at {at}", encoding.name());
            before = Some(own.end);
            let part = decoded.offsets.within(&(at as u64..end as u64));
            assert_eq!(part.range(&(at as u64..end as u64)), own);
        }
        assert_eq!(before, Some(bytes.len() as u64));
    }

    #[test]
    fn every_character_is_found_in_the_file() {
        let text = "Größe\r\nund\rÄ\n\n\r\nläuft für sich, und die Tür schließt so groß.\r\n\r";
        for encoding in [UTF_8, encoding_rs::WINDOWS_1252] {
            let (bytes, ..) = encoding.encode(text);
            check(&bytes, encoding);
        }
        check("\u{FEFF}ä\r\nb".as_bytes(), UTF_8);
        check(b"\xEF\xBB\xBFplain", UTF_8);
        let wide: Vec<u8> =
            "\u{FEFF}Größe 🚲\r\nan\n".encode_utf16().flat_map(u16::to_le_bytes).collect();
        check(&wide, encoding_rs::UTF_16LE);
        let (bytes, ..) = encoding_rs::SHIFT_JIS.encode("名前,年齢\r\n佐藤太郎,30\n三木英子,40\n");
        check(&bytes, encoding_rs::SHIFT_JIS);
        let (bytes, ..) = encoding_rs::GBK.encode("姓名,年龄\r\n王小明,30\r\n");
        check(&bytes, encoding_rs::GBK);
        let mut damaged = "ä\r\né ö ü è\n".repeat(4).into_bytes();
        damaged.insert(10, 0xFF);
        check(&damaged, UTF_8);
    }

    #[test]
    fn utf_8_with_line_feeds_needs_none() {
        assert!(decode("ä 🚲\nb\n".as_bytes(), None).unwrap().offsets.is_plain());
        assert!(decode(b"", None).unwrap().offsets.is_plain());
        assert_eq!(decode(b"a\r\nb", None).unwrap().offsets.file(2), 3);
        let four: Vec<u8> =
            "\u{FEFF}ü\r\nx".chars().flat_map(|c| u32::from(c).to_be_bytes()).collect();
        let offsets = decode(&four, None).unwrap().offsets;
        assert_eq!([0, 2, 3, 4].map(|byte| offsets.file(byte)), [4, 8, 16, 20]);
    }
}
