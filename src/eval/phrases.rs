//! Words and numbers of a text in one form each, with their places: what is demanded of an answer is
//! looked for in these, never in bare characters.
//!
//! So `30 days` is not in `130 days`, and is in `30\u{a0}Days`, `thirty days` and `30-day`. Two texts
//! have the same tokens when they differ only in letters' case, compatibility forms, blanks, line
//! breaks, punctuation, a plural's `s`, a number's spelling (`1,500.00` and `1500`, `eleven` and `11`)
//! or a sign's (`$18` and `18 dollars`, `15 %` and `15 percent`, `3 p.m.` and `3 pm`).

use std::ops::Range;

use unicode_normalization::UnicodeNormalization as _;

/// A word, a number or a sign.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Token {
    /// Its one form: a word in lower case without a plural's `s`, a number in digits without
    /// separators, or one of `$ € £ %`.
    pub form: String,
    /// Whether it is a number.
    pub number: bool,
    /// Its bytes in the text.
    pub bytes: Range<usize>,
}

/// Numbers in words.
const WORDS: [(&str, u32); 28] = [
    ("zero", 0),
    ("one", 1),
    ("two", 2),
    ("three", 3),
    ("four", 4),
    ("five", 5),
    ("six", 6),
    ("seven", 7),
    ("eight", 8),
    ("nine", 9),
    ("ten", 10),
    ("eleven", 11),
    ("twelve", 12),
    ("thirteen", 13),
    ("fourteen", 14),
    ("fifteen", 15),
    ("sixteen", 16),
    ("seventeen", 17),
    ("eighteen", 18),
    ("nineteen", 19),
    ("twenty", 20),
    ("thirty", 30),
    ("forty", 40),
    ("fifty", 50),
    ("sixty", 60),
    ("seventy", 70),
    ("eighty", 80),
    ("ninety", 90),
];

/// Other spellings of signs and units.
const SPELLINGS: [(&str, &str); 22] = [
    ("percent", "%"),
    ("dollar", "$"),
    ("usd", "$"),
    ("euro", "€"),
    ("eur", "€"),
    ("pound", "lb"),
    ("lbs", "lb"),
    ("kilogram", "kg"),
    ("kilometre", "km"),
    ("kilometer", "km"),
    ("metre", "m"),
    ("meter", "m"),
    ("millimetre", "mm"),
    ("millimeter", "mm"),
    ("centimetre", "cm"),
    ("centimeter", "cm"),
    ("volt", "v"),
    ("ampere", "a"),
    ("amp", "a"),
    ("watt", "w"),
    ("newton-metre", "nm"),
    ("o'clock", "oclock"),
];

/// The number that `word` spells, from zero to ninety-nine.
fn spelled(word: &str) -> Option<u32> {
    let simple = |word: &str| WORDS.iter().find(|(name, _)| *name == word).map(|(_, n)| *n);
    simple(word).or_else(|| {
        let (tens, ones) = word.split_once('-')?;
        let (tens, ones) = (simple(tens)?, simple(ones)?);
        (tens >= 20 && (1..10).contains(&ones)).then_some(tens + ones)
    })
}

/// The tokens of `text`, in order.
///
/// `one` stays a word: it is a pronoun more often than a number.
pub fn tokens(text: &str) -> Vec<Token> {
    let letters: Vec<(usize, char)> = text.char_indices().collect();
    let mut found: Vec<Token> = Vec::new();
    let mut at = 0;
    while at < letters.len() {
        let letter = letters[at].1;
        let end = if letter.is_numeric() {
            number_end(&letters, at)
        } else if letter.is_alphabetic() {
            word_end(&letters, at)
        } else {
            at + 1
        };
        let bytes = letters[at].0..letters.get(end).map_or(text.len(), |(byte, _)| *byte);
        push(text, bytes, &mut found);
        at = end;
    }
    currency_last(&mut found);
    found
}

/// Where the number that starts at `at` ends: digits with separators between digits.
fn number_end(letters: &[(usize, char)], at: usize) -> usize {
    let digit = |at: usize| letters.get(at).is_some_and(|(_, c)| c.is_numeric());
    let mut end = at;
    while digit(end) || (matches!(letters.get(end), Some((_, '.' | ','))) && digit(end + 1)) {
        end += 1;
    }
    end
}

/// Where the word that starts at `at` ends. Inside a word an apostrophe stands between letters, and a
/// point between single letters, as in `p.m.`; a hyphen joins two number words.
fn word_end(letters: &[(usize, char)], at: usize) -> usize {
    let alphabetic = |at: usize| letters.get(at).is_some_and(|(_, c)| c.is_alphabetic());
    let mut end = at;
    loop {
        match letters.get(end).map(|(_, c)| *c) {
            Some(c) if c.is_alphabetic() => end += 1,
            // Marks belong to the letter before them, and a soft hyphen to its word.
            Some('\u{300}'..='\u{36f}' | '\u{ad}' | '\u{200b}') => end += 1,
            Some('\'' | '\u{2019}') if alphabetic(end + 1) => end += 1,
            Some('.') if alphabetic(end + 1) && end == at + 1 && !alphabetic(end + 2) => end += 1,
            Some('-') if alphabetic(end + 1) => {
                let name = |range: Range<usize>| -> String {
                    letters[range].iter().flat_map(|(_, c)| c.to_lowercase()).collect()
                };
                let next = (end + 1..letters.len()).find(|at| !alphabetic(*at));
                let next = next.unwrap_or(letters.len());
                if spelled(&name(at..next)).is_none() {
                    return end;
                }
                return next;
            }
            _ => return end,
        }
    }
}

fn push(text: &str, bytes: Range<usize>, found: &mut Vec<Token>) {
    let folded: String = text[bytes.clone()]
        .nfkc()
        .filter(|c| !matches!(c, '\u{ad}' | '\u{200b}'))
        .flat_map(char::to_lowercase)
        .map(|c| if c == '\u{2019}' { '\'' } else { c })
        .collect();
    let Some(first) = folded.chars().next() else { return };
    if first.is_numeric() {
        return found.push(Token { form: number(&folded), number: true, bytes });
    }
    if first.is_alphabetic() {
        let word: String = folded.chars().filter(|c| *c != '.').collect();
        // `per cent` is one sign.
        if word == "cent" && found.last().is_some_and(|last| last.form == "per") {
            if let Some(last) = found.last_mut() {
                *last =
                    Token { form: "%".into(), number: false, bytes: last.bytes.start..bytes.end };
            }
            return;
        }
        if word != "one"
            && let Some(value) = spelled(&word)
        {
            return found.push(Token { form: value.to_string(), number: true, bytes });
        }
        let word = singular(&word);
        let other = SPELLINGS.iter().find(|(name, _)| *name == word).map(|(_, sign)| *sign);
        let form = other.map_or(word, str::to_owned);
        return found.push(Token { form, number: false, bytes });
    }
    if matches!(first, '$' | '€' | '£' | '%') {
        return found.push(Token { form: first.to_string(), number: false, bytes });
    }
    // A minus belongs to the number that follows without a blank, when nothing stands before it.
    let negative = matches!(first, '-' | '\u{2212}')
        && text[bytes.end..].starts_with(|c: char| c.is_numeric())
        && !text[..bytes.start].ends_with(|c: char| c.is_alphanumeric());
    if negative {
        found.push(Token { form: "-".into(), number: false, bytes });
    }
}

/// Digits without separators of thousands, and without zeros that say nothing.
///
/// A comma before exactly three digits is such a separator; any other comma is a decimal one.
fn number(digits: &str) -> String {
    let groups: Vec<&str> = digits.split(',').collect();
    let thousands = groups.len() > 1
        && groups[1..].iter().all(|group| group.split('.').next().is_some_and(|g| g.len() == 3));
    let plain = if thousands { digits.replace(',', "") } else { digits.replace(',', ".") };
    // Two points or more: a version or a date, left as it is.
    if plain.matches('.').count() > 1 {
        return plain;
    }
    let (whole, part) = plain.split_once('.').unwrap_or((&plain, ""));
    // A number with a leading zero is a code and keeps it.
    let part = part.trim_end_matches('0');
    if part.is_empty() { whole.to_owned() } else { format!("{whole}.{part}") }
}

fn singular(word: &str) -> String {
    let ends = word.len() > 3 && word.ends_with('s') && !word.ends_with("ss");
    if ends { word[..word.len() - 1].to_owned() } else { word.to_owned() }
}

/// Puts a sign of money after its number: `$18` and `18 dollars` are one.
fn currency_last(found: &mut [Token]) {
    for at in 1..found.len() {
        let sign = matches!(found[at - 1].form.as_str(), "$" | "€" | "£");
        let before = at >= 2 && found[at - 2].number;
        if sign && found[at].number && !before {
            found.swap(at - 1, at);
        }
    }
}

/// The codes of `text` in one form each (capitals, without joiners), with their places: runs that
/// start with a letter, hold a digit, and whose parts are joined by `-`, `_`, `/` or a point, as in
/// `E-417`, `R07`, `SKU_4411`. A quantity such as `36V` starts with a digit and is none.
pub fn codes(text: &str) -> Vec<(String, Range<usize>)> {
    let letters: Vec<(usize, char)> = text.char_indices().collect();
    let mut found = Vec::new();
    let mut at = 0;
    while at < letters.len() {
        if !letters[at].1.is_alphanumeric() {
            at += 1;
            continue;
        }
        let mut end = at;
        while letters.get(end).is_some_and(|(_, c)| {
            let next = letters.get(end + 1).is_some_and(|(_, next)| next.is_alphanumeric());
            c.is_alphanumeric() || (matches!(c, '-' | '_' | '/' | '.' | '\u{2010}') && next)
        }) {
            end += 1;
        }
        let run = &letters[at..end];
        if run[0].1.is_alphabetic() && run.iter().any(|(_, c)| c.is_ascii_digit()) {
            let parts = run.iter().filter(|(_, c)| c.is_alphanumeric());
            let code = parts.flat_map(|(_, c)| c.to_uppercase()).collect();
            let stop = letters.get(end).map_or(text.len(), |(byte, _)| *byte);
            found.push((code, letters[at].0..stop));
        }
        at = end;
    }
    found
}

/// `text` with a blank for each byte of a code, so that the digits of codes are no numbers.
pub fn without_codes(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    let mut from = 0;
    for (_, bytes) in codes(text) {
        plain.push_str(&text[from..bytes.start]);
        plain.extend(std::iter::repeat_n(' ', bytes.len()));
        from = bytes.end;
    }
    plain.push_str(&text[from..]);
    plain
}

/// The bytes of `text` at which the tokens of `phrase` stand one after the other; `None` when they
/// don't, or when the phrase has none.
///
/// ```
/// use atlas::eval::phrases::find;
/// assert_eq!(find("returned within 130 days", "30 days"), None);
/// assert_eq!(find("within thirty\u{a0}Days", "30 days"), Some(7..19));
/// ```
pub fn find(text: &str, phrase: &str) -> Option<Range<usize>> {
    let (text, phrase) = (tokens(text), tokens(phrase));
    if phrase.is_empty() || phrase.len() > text.len() {
        return None;
    }
    let same = |window: &[Token]| window.iter().zip(&phrase).all(|(a, b)| a.form == b.form);
    let at = text.windows(phrase.len()).position(same)?;
    let window = &text[at..at + phrase.len()];
    let start = window.iter().map(|token| token.bytes.start).min()?;
    let end = window.iter().map(|token| token.bytes.end).max()?;
    Some(start..end)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn forms(text: &str) -> Vec<String> {
        tokens(text).into_iter().map(|token| token.form).collect()
    }

    #[test]
    fn boundaries_blanks_and_case() {
        for (text, phrase) in [
            ("within 130 days", "30 days"),
            ("305 days", "30 days"),
            ("30.5 days", "30 days"),
            ("day 30 of", "30 days"),
            ("warrantyless", "warranty"),
            ("", "30 days"),
            ("anything", ""),
        ] {
            assert_eq!(find(text, phrase), None, "{text} has {phrase}");
        }
        for (text, phrase) in [
            ("a restocking\nfee of", "restocking fee"),
            ("Restocking\u{a0}Fees", "restocking fee"),
            ("ＮＥＴ ４５", "net 45"),
            ("re\u{ad}stocking fee", "restocking fee"),
            ("a 30-day limit", "30 days"),
        ] {
            assert!(find(text, phrase).is_some(), "{text} lacks {phrase}");
        }
    }

    #[test]
    fn one_number_has_one_form() {
        for (text, phrase) in [
            ("eleven checks", "11 checks"),
            ("forty-two boxes", "42 boxes"),
            ("$1,500.00 at most", "$1,500"),
            ("18 dollars flat", "$18"),
            ("a fee of 15 percent", "15%"),
            ("15 per cent of it", "15 %"),
            ("by 3 p.m. today", "3 pm"),
            ("by 3pm today", "3 pm"),
            ("7.10 lbs", "7.1 pounds"),
            ("36V pack", "36 V"),
            ("2,5 bar", "2.5 bar"),
        ] {
            assert!(find(text, phrase).is_some(), "{text} lacks {phrase}: {:?}", forms(text));
        }
        assert!(find("at -5 °C", "5 °C").is_some());
        assert_eq!(find("at 5 °C", "-5 °C"), None);
        assert_eq!(find("version 3.2.1", "3.2"), None);
        assert_eq!(forms("part 007"), ["part", "007"]);
        assert_eq!(forms("from $5 to $6"), ["from", "5", "$", "to", "6", "$"]);
        assert_eq!(forms("which one"), ["which", "one"]);
    }

    #[test]
    fn codes_are_told_from_quantities() {
        let found = |text: &str| codes(text).into_iter().map(|(code, _)| code).collect::<Vec<_>>();
        assert_eq!(found("E-417 on a c-3, R07 and CH-36-2."), ["E417", "C3", "R07", "CH362"]);
        assert!(found("36V, 30-day, 2026, well-known, 25-41000").is_empty());
        assert_eq!(without_codes("a C-3 in 3 years"), "a     in 3 years");
    }

    #[test]
    fn the_place_is_that_of_the_whole_phrase() {
        let text = "It costs $ 18 a parcel.";
        assert_eq!(&text[find(text, "18 dollars").unwrap()], "$ 18");
    }
}
