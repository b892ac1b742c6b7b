//! How many tokens a text costs, estimated without any model's vocabulary.

use unicode_segmentation::UnicodeSegmentation as _;

/// The name under which reports state this estimator.
pub const ESTIMATOR: &str = "atlas-words-1";

/// Letters that one token of a word covers, on average over English and Western European text.
const LETTERS_PER_TOKEN: usize = 6;

/// Digits that one token of a number covers.
const DIGITS_PER_TOKEN: usize = 3;

/// The estimated number of tokens of `text`.
///
/// A run of letters costs `1 + (n − 1) / 6`, a run of digits `(n + 2) / 3`, and every other
/// character that is not white space costs 1; an ideograph, a kana or a hangul syllable is a run of
/// its own. It is an estimate for budgets and reports, within about a tenth of common
/// byte-pair vocabularies on English prose, and it is the same on every machine.
///
/// ```
/// assert_eq!(atlas::text::estimate_tokens("E-417 means: overheated."), 8);
/// ```
pub fn estimate_tokens(text: &str) -> usize {
    let mut tokens = 0;
    let (mut letters, mut digits) = (0, 0);
    for character in text.chars() {
        let wide = super::is_unspaced(character);
        if character.is_alphabetic() && !wide {
            tokens += number_cost(std::mem::take(&mut digits));
            letters += 1;
        } else if character.is_numeric() {
            tokens += word_cost(std::mem::take(&mut letters));
            digits += 1;
        } else {
            tokens += word_cost(std::mem::take(&mut letters));
            tokens += number_cost(std::mem::take(&mut digits));
            tokens += usize::from(wide || !character.is_whitespace());
        }
    }
    tokens + word_cost(letters) + number_cost(digits)
}

const fn word_cost(letters: usize) -> usize {
    if letters == 0 { 0 } else { 1 + (letters - 1) / LETTERS_PER_TOKEN }
}

const fn number_cost(digits: usize) -> usize {
    digits.div_ceil(DIGITS_PER_TOKEN)
}

/// The sentences of `text` by the rules of Unicode (UAX 29), with the white space after each.
pub fn sentences(text: &str) -> impl Iterator<Item = &str> {
    text.split_sentence_bounds()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_numbers_and_marks_cost_what_the_rule_says() {
        assert_eq!(estimate_tokens(""), 0);
        assert_eq!(estimate_tokens("warranty"), 2);
        assert_eq!(estimate_tokens("battery"), 2);
        assert_eq!(estimate_tokens("charge"), 1);
        assert_eq!(estimate_tokens("2026"), 2);
        assert_eq!(estimate_tokens("E-417"), 3);
        assert_eq!(estimate_tokens("36 V"), 2);
        assert_eq!(estimate_tokens("保修"), 2);
    }
}
