//! The stemmer: rust-stemmers behind a name, the only file that knows the crate.

use rust_stemmers::{Algorithm, Stemmer};

use crate::error::{Error, Result};

/// Language codes (ISO 639-1) with a stemmer. Greek is absent: its algorithm panics on some words.
const LANGUAGES: [(&str, Algorithm); 17] = [
    ("ar", Algorithm::Arabic),
    ("da", Algorithm::Danish),
    ("de", Algorithm::German),
    ("en", Algorithm::English),
    ("es", Algorithm::Spanish),
    ("fi", Algorithm::Finnish),
    ("fr", Algorithm::French),
    ("hu", Algorithm::Hungarian),
    ("it", Algorithm::Italian),
    ("nl", Algorithm::Dutch),
    ("no", Algorithm::Norwegian),
    ("pt", Algorithm::Portuguese),
    ("ro", Algorithm::Romanian),
    ("ru", Algorithm::Russian),
    ("sv", Algorithm::Swedish),
    ("ta", Algorithm::Tamil),
    ("tr", Algorithm::Turkish),
];

/// The name under which a manifest states the stemming chain and its version.
pub(super) const CHAIN: &str = "rust-stemmers-1.2";

/// The longest word that is stemmed, in bytes. Longer ones are identifiers, not words.
const WORD_BYTES_MAX: usize = 64;

/// Reduces words of one language to their stems.
pub(super) struct Stem(Option<Stemmer>);

impl Stem {
    /// The stemmer of `language`; `none` leaves words as they are.
    pub(super) fn new(language: &str) -> Result<Self> {
        if language == "none" {
            return Ok(Self(None));
        }
        match LANGUAGES.iter().find(|(code, _)| *code == language) {
            Some((_, algorithm)) => Ok(Self(Some(Stemmer::create(*algorithm)))),
            None => {
                let codes: Vec<_> = LANGUAGES.iter().map(|(code, _)| *code).collect();
                let expected = format!("`none` (no stemming) or one of {}", codes.join(", "));
                Err(Error::invalid("text.language", format!("`{language}`"), expected))
            }
        }
    }

    /// Appends the stem of `word` (lower case) to `out`.
    pub(super) fn append(&self, word: &str, out: &mut String) {
        let stemmable = word.len() <= WORD_BYTES_MAX && !word.bytes().any(|b| b.is_ascii_digit());
        match &self.0 {
            Some(stemmer) if stemmable => out.push_str(&stemmer.stem(word)),
            _ => out.push_str(word),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_language_survives_arbitrary_words() {
        let letters: Vec<char> =
            "abcdeiounrstzäöüßéñçğışåøæőţабвгдежийкочьыةعلمنحاஅஆஇபு'".chars().collect();
        let mut state = 0x9E37_79B9_7F4A_7C15_u64;
        let mut next = |below: usize| {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            (state >> 33) as usize % below
        };
        for (code, _) in LANGUAGES {
            let stem = Stem::new(code).unwrap();
            for _ in 0..3000 {
                let word: String =
                    (0..1 + next(14)).map(|_| letters[next(letters.len())]).collect();
                let mut out = String::new();
                stem.append(&word, &mut out);
            }
        }
    }

    #[test]
    fn greek_is_refused_by_name() {
        let fault = Stem::new("el").err().unwrap().to_string();
        assert!(fault.starts_with("text.language is `el`; expected `none`"), "{fault}");
    }
}
