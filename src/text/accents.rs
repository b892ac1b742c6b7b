//! Words without their accents.
//!
//! Who types `cafe` means `café`, and much Yoruba or Vietnamese is typed without the marks that its
//! spelling has. So the index holds a term with accents twice, as it is and without them, and a question
//! with accents asks for both, each with half the weight: what is spelt alike still counts for more.

use unicode_normalization::UnicodeNormalization as _;
use unicode_normalization::char::is_combining_mark;

/// Letters below this are of Latin, Greek or Cyrillic script, where a mark changes a letter. Elsewhere
/// marks are vowels.
const MARKED_BELOW: char = '\u{530}';

/// `term` without the marks on its Latin, Greek and Cyrillic letters; `None` if it has none.
pub fn without(term: &str) -> Option<String> {
    if term.is_ascii() {
        return None;
    }
    let mut bare = String::with_capacity(term.len());
    let (mut on_letter, mut dropped) = (false, false);
    for character in term.nfd() {
        if !is_combining_mark(character) {
            on_letter = character < MARKED_BELOW;
        } else if on_letter {
            dropped = true;
            continue;
        }
        bare.push(character);
    }
    (dropped && !bare.is_empty()).then(|| bare.nfc().collect())
}
