//! What kind of character this is, as far as splitting words needs to know.

use unicode_general_category::{GeneralCategory, get_general_category};

/// Whether `character` belongs to a script that is written without spaces between words, so that
/// its runs are indexed as overlapping pairs: Han, kana, hangul, Thai, Lao, Khmer and Myanmar.
///
/// Hangul is written with spaces, but its words carry endings that no stemmer here removes; pairs
/// find them.
pub const fn is_unspaced(character: char) -> bool {
    matches!(character as u32,
        0x0E00..=0x0EFF            // Thai, Lao
        | 0x1000..=0x109F          // Myanmar
        | 0x1780..=0x17FF          // Khmer
        | 0x1100..=0x11FF          // Hangul jamo
        | 0x3005..=0x3007          // iteration mark, ideographic zero
        | 0x3041..=0x30FF          // kana
        | 0x31F0..=0x31FF
        | 0x3400..=0x4DBF          // Han
        | 0x4E00..=0x9FFF
        | 0xAC00..=0xD7AF          // Hangul syllables
        | 0xF900..=0xFAFF
        | 0xFF66..=0xFF9D
        | 0x20000..=0x323AF)
}

/// Whether `character` is a mark that belongs to the character before it.
pub(super) fn is_mark(character: char) -> bool {
    !character.is_ascii()
        && matches!(
            get_general_category(character),
            GeneralCategory::NonspacingMark
                | GeneralCategory::SpacingMark
                | GeneralCategory::EnclosingMark
        )
}

/// Whether `character` can be part of a word.
pub(super) fn is_word(character: char) -> bool {
    character.is_alphanumeric() || is_mark(character)
}

/// Characters that show nothing and would only tear words apart: soft hyphen, zero-width space,
/// joiners, direction marks, byte-order mark.
pub(super) const fn is_invisible(character: char) -> bool {
    matches!(character, '\u{AD}' | '\u{200B}'..='\u{200F}' | '\u{2060}' | '\u{FEFF}')
}
