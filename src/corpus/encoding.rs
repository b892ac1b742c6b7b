//! Bytes to text: which encoding a file is in, and what could not be read in it.
//!
//! A byte order mark decides. Without one, text that is UTF-8 is UTF-8, many zero bytes at every other
//! place make UTF-16, then counts what the file declares, and at last a guess by the statistics of
//! letters. Every line end becomes `\n`.

use std::borrow::Cow;

use chardetng::{EncodingDetector, Iso2022JpDetection, Utf8Detection};
use encoding_rs::{Encoding, UTF_8, UTF_16BE, UTF_16LE};

use super::file::line_ends;
use super::{Offsets, Remark};

/// A file as text, and what is to be said about how it became that.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Decoded {
    /// The text: no byte order mark, `\n` as line end.
    pub text: String,
    /// The encoding when it is not UTF-8, and what was replaced.
    pub remarks: Vec<Remark>,
    /// Where its bytes stand in the file.
    pub offsets: Offsets,
}

/// Bytes looked at for zeros and for EBCDIC.
const SAMPLE: usize = 1 << 14;

/// The share of control characters above which a guess has not met text, in one part of so many.
const CONTROL_PARTS: usize = 20;

/// Decodes `bytes`; `declared` is the encoding that the file itself names, if it does.
///
/// # Errors
///
/// What the bytes are when they are no text: a guess that gives control characters, or EBCDIC.
pub(super) fn decode(bytes: &[u8], declared: Option<&str>) -> Result<Decoded, String> {
    if let Some((encoding, mark)) = Encoding::for_bom(bytes).filter(|_| !is_utf32(bytes)) {
        return Ok(with(encoding, bytes, mark, ""));
    }
    if let Some(decoded) = utf32(bytes) {
        return Ok(decoded);
    }
    if let Some(wide) = unmarked_utf16(bytes) {
        return Ok(with(wide, bytes, 0, ", as its zero bytes tell"));
    }
    let fault = match std::str::from_utf8(bytes) {
        Ok(text) => {
            let (text, offsets) = (unified(text.into()), Offsets::utf8(bytes, 0));
            return Ok(Decoded { text, remarks: Vec::new(), offsets });
        }
        Err(fault) => fault,
    };
    if mostly_utf8(bytes) {
        let text = String::from_utf8_lossy(bytes);
        let line = 1 + line_ends(&bytes[..fault.valid_up_to()]);
        let what = format!(
            "it is UTF-8 with bytes that are not, the first at byte {}; each became U+FFFD",
            fault.valid_up_to()
        );
        let remarks = vec![Remark::loss(Some(line), what)];
        return Ok(Decoded { text: unified(text), remarks, offsets: Offsets::utf8(bytes, 0) });
    }
    let named = declared.and_then(|label| Encoding::for_label(label.trim().as_bytes()));
    // Nobody declares UTF-16 in bytes that are not UTF-16.
    let named = named.filter(|named| ![UTF_8, UTF_16LE, UTF_16BE].contains(named));
    if let Some(named) = named
        && let Some(text) = named.decode_without_bom_handling_and_without_replacement(bytes)
        && !is_noise(&text)
    {
        let offsets = Offsets::of(named, bytes, 0);
        return Ok(read_as(named, unified(text), offsets, ", as it declares"));
    }
    if is_ebcdic(bytes) {
        return Err("it is in EBCDIC, which is not read; save the file as UTF-8".to_owned());
    }
    let mut detector = EncodingDetector::new(Iso2022JpDetection::Allow);
    detector.feed(bytes, true);
    let guess = detector.guess(None, Utf8Detection::Deny);
    let decoded = with(guess, bytes, 0, ", by a guess");
    if is_noise(&decoded.text) {
        return Err("it is no text: control characters all through, in every encoding".to_owned());
    }
    Ok(decoded)
}

/// `bytes` from `from` on in `encoding`, whatever there is in them.
fn with(encoding: &'static Encoding, bytes: &[u8], from: usize, why: &str) -> Decoded {
    let (text, has_faults) = encoding.decode_without_bom_handling(&bytes[from..]);
    let text = unified(text);
    let mut decoded = read_as(encoding, text, Offsets::of(encoding, bytes, from), why);
    if has_faults {
        let at = decoded.text.find('\u{FFFD}').unwrap_or_default();
        let line = 1 + line_ends(&decoded.text.as_bytes()[..at]);
        let what = format!("bytes that are not {} became U+FFFD", encoding.name());
        decoded.remarks.push(Remark::loss(Some(line), what));
    }
    decoded
}

fn read_as(encoding: &'static Encoding, text: String, offsets: Offsets, why: &str) -> Decoded {
    let is_utf8 = encoding == UTF_8;
    let note = || Remark::note(format!("read as {}{why}", encoding.name()));
    Decoded { text, remarks: (!is_utf8).then(note).into_iter().collect(), offsets }
}

/// Text whose line ends are all `\n`.
pub(super) fn unified(text: Cow<'_, str>) -> String {
    if text.contains('\r') {
        text.replace("\r\n", "\n").replace('\r', "\n")
    } else {
        text.into_owned()
    }
}

const UTF32: [([u8; 4], &str); 2] =
    [([0xFF, 0xFE, 0, 0], "UTF-32LE"), ([0, 0, 0xFE, 0xFF], "UTF-32BE")];

/// The mark of UTF-32LE begins like that of UTF-16LE; a UTF-16 text that begins with a zero
/// character and is a whole number of fours long does not occur.
fn is_utf32(bytes: &[u8]) -> bool {
    bytes.len().is_multiple_of(4) && UTF32.iter().any(|(mark, _)| bytes.starts_with(mark))
}

fn utf32(bytes: &[u8]) -> Option<Decoded> {
    let (mark, name) = UTF32.iter().find(|(mark, _)| is_utf32(bytes) && bytes.starts_with(mark))?;
    let mut lost = None;
    let mut text = String::with_capacity(bytes.len() / 4);
    for unit in bytes[4..].chunks_exact(4) {
        let unit: [u8; 4] = unit.try_into().unwrap_or_default();
        let code = if mark[0] == 0 { u32::from_be_bytes(unit) } else { u32::from_le_bytes(unit) };
        text.push(char::from_u32(code).unwrap_or_else(|| {
            lost.get_or_insert(1 + line_ends(text.as_bytes()));
            '\u{FFFD}'
        }));
    }
    let mut remarks = vec![Remark::note(format!("read as {name}"))];
    remarks.extend(
        lost.map(|line| Remark::loss(Some(line), "numbers that are no characters became U+FFFD")),
    );
    let offsets = Offsets::fixed(text.chars(), 4, 4);
    Some(Decoded { text: unified(text.into()), remarks, offsets })
}

/// UTF-16 without a mark: text in it has its zeros at one of two places, binary data at both.
fn unmarked_utf16(bytes: &[u8]) -> Option<&'static Encoding> {
    let sample = &bytes[..bytes.len().min(SAMPLE)];
    let zeros =
        |from: usize| sample.iter().skip(from).step_by(2).filter(|byte| **byte == 0).count();
    let (even, odd, pairs) = (zeros(0), zeros(1), sample.len() / 2);
    if pairs < 2 || !bytes.len().is_multiple_of(2) {
        return None;
    }
    if odd * 5 > pairs * 2 && even * 50 < pairs {
        Some(UTF_16LE)
    } else if even * 5 > pairs * 2 && odd * 50 < pairs {
        Some(UTF_16BE)
    } else {
        None
    }
}

/// Whether more of the bytes above ASCII are UTF-8 than are not, and by far.
fn mostly_utf8(bytes: &[u8]) -> bool {
    let (mut good, mut bad) = (0_usize, 0_usize);
    for chunk in bytes.utf8_chunks() {
        good += chunk.valid().chars().filter(|c| !c.is_ascii()).count();
        bad += usize::from(!chunk.invalid().is_empty());
    }
    good > bad * 4
}

fn is_noise(text: &str) -> bool {
    let control =
        |c: &char| c.is_control() && !matches!(c, '\t' | '\n' | '\r' | '\u{C}' | '\u{1B}');
    let controls = text.chars().filter(control).count();
    controls > 2 && controls * CONTROL_PARTS > text.chars().count()
}

/// Text in EBCDIC has 0x40 for blanks, no 0x20, and its letters above 0x80.
fn is_ebcdic(bytes: &[u8]) -> bool {
    let sample = &bytes[..bytes.len().min(SAMPLE)];
    let share = |wanted: fn(u8) -> bool| sample.iter().filter(|byte| wanted(**byte)).count();
    let blanks = share(|byte| byte == 0x40);
    let letters = share(|byte| matches!(byte, 0x81..=0x89 | 0x91..=0x99 | 0xA2..=0xA9));
    let ascii = share(|byte| byte == b' ' || byte.is_ascii_lowercase());
    blanks * 20 > sample.len() && letters * 2 > sample.len() - blanks && ascii * 20 < sample.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(bytes: &[u8]) -> (String, Vec<String>) {
        let Decoded { text, remarks, .. } = decode(bytes, None).unwrap();
        let shown = remarks.into_iter().map(|remark| {
            let line = remark.line.map_or_else(String::new, |line| format!("{line}: "));
            format!("{}{line}{}", if remark.is_loss { "! " } else { "" }, remark.text)
        });
        (text, shown.collect())
    }

    fn wide(text: &str, big: bool) -> Vec<u8> {
        let unit = |unit: u16| if big { unit.to_be_bytes() } else { unit.to_le_bytes() };
        text.encode_utf16().flat_map(unit).collect()
    }

    #[test]
    fn marks_and_line_ends_are_made_alike() {
        assert_eq!(read(b"\xEF\xBB\xBFa\r\nb\rc\n"), ("a\nb\nc\n".into(), vec![]));
        let odd = "a\0b\u{1}\u{301}\u{202E}שלום 👩‍👩‍👧\u{85}\u{2028}x";
        assert_eq!(read(odd.as_bytes()), (odd.into(), vec![]));
    }

    #[test]
    fn wide_text_is_read_with_and_without_its_mark() {
        let text = "Pumpe läuft 🚲\r\nnie.";
        let plain = text.replace('\r', "");
        for (big, name) in [(false, "UTF-16LE"), (true, "UTF-16BE")] {
            let unmarked = wide(text, big);
            let marked = wide(&format!("\u{FEFF}{text}"), big);
            assert_eq!(read(&marked), (plain.clone(), vec![format!("read as {name}")]));
            let why = format!("read as {name}, as its zero bytes tell");
            assert_eq!(read(&unmarked), (plain.clone(), vec![why]));
        }
        let mut cut = wide("\u{FEFF}ab\nc", false);
        cut.pop();
        let (text, said) = read(&cut);
        assert_eq!(text, "ab\n\u{FFFD}");
        assert_eq!(said[1], "! 2: bytes that are not UTF-16LE became U+FFFD");
        let four: Vec<u8> = "\u{FEFF}ü\r\n"
            .chars()
            .flat_map(|c| u32::from(c).to_be_bytes())
            .chain([0, 0x11, 0, 0])
            .collect();
        let said = ["read as UTF-32BE", "! 2: numbers that are no characters became U+FFFD"];
        assert_eq!(read(&four), ("ü\n\u{FFFD}".into(), said.map(str::to_owned).to_vec()));
    }

    #[test]
    fn old_encodings_are_guessed_and_said() {
        let german = b"Die gro\xDFe Pumpe l\xE4uft f\xFCr sich, und die T\xFCr schlie\xDFt.";
        let (text, said) = read(german);
        assert_eq!(text, "Die große Pumpe läuft für sich, und die Tür schließt.");
        assert_eq!(said, ["read as windows-1252, by a guess"]);
        let (bytes, ..) = encoding_rs::SHIFT_JIS.encode("名前,年齢\n佐藤太郎,30\n三木英子,40\n");
        let (text, said) = read(&bytes);
        assert!(text.starts_with("名前,年齢\n佐藤太郎"), "{text}");
        assert_eq!(said, ["read as Shift_JIS, by a guess"]);
        let (bytes, ..) = encoding_rs::KOI8_R.encode("Насос требует литр масла в год.");
        let declared = decode(&bytes, Some("koi8-r")).unwrap();
        assert_eq!(declared.text, "Насос требует литр масла в год.");
        assert_eq!(declared.remarks, [Remark::note("read as KOI8-R, as it declares")]);
        // What is UTF-8 is, whatever it says of itself.
        assert_eq!(decode("é".as_bytes(), Some("koi8-r")).unwrap().remarks, []);
    }

    #[test]
    fn damage_in_utf8_is_replaced_and_said() {
        let mut bytes = "ä\né ö ü è\n".repeat(4).into_bytes();
        bytes.insert(9, 0xFF);
        let (text, said) = read(&bytes);
        assert!(text.starts_with("ä\né ö \u{FFFD}"), "{text}");
        let what = "it is UTF-8 with bytes that are not, the first at byte 9; each became U+FFFD";
        assert_eq!(said, [format!("! 2: {what}")]);
    }

    #[test]
    fn what_is_no_text_is_refused() {
        let noise: Vec<u8> =
            (0..4096_u32).map(|n| (n.wrapping_mul(2_654_435_761) >> 13) as u8).collect();
        assert!(decode(&noise, None).unwrap_err().starts_with("it is no text"));
        // "Hello from the mainframe, twice." in code page 500.
        let words = [0xC8, 0x85, 0x93, 0x93, 0x96, 0x40, 0x86, 0x99, 0x96, 0x94, 0x40];
        assert!(decode(&words.repeat(9), None).unwrap_err().starts_with("it is in EBCDIC"));
    }
}
