//! Whether an answer declines, by its words alone.
//!
//! The whole answer must be the abstention sentence, with the allowed tail or without. What begins
//! with the sentence and goes on is an answer; what only resembles it is shown as a near miss, since
//! it points at the prompt.

use serde::Serialize;
use unicode_normalization::UnicodeNormalization as _;

use super::Settings;

/// What an answer's text is to the abstention sentence.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Refusal {
    /// The sentence, whole.
    Whole,
    /// The sentence, and then something else: an answer.
    Continued,
    /// Another wording of the sentence: an answer, and a fault of whoever words refusals.
    Reworded,
    /// Nothing of the kind.
    Not,
}

/// The share of words in common from which a text counts as another wording of the sentence.
const REWORDED_FROM: f64 = 0.6;

/// What `text` is to the abstention sentence of `settings`.
///
/// Letters' case, compatibility forms, the kinds of blanks and quotation marks, and marks at the end
/// make no difference; every word does.
///
/// ```
/// use atlas::answer::{Refusal, Settings, refusal};
/// let settings = Settings { abstention: "I cannot say.".into(), ..Settings::default() };
/// assert_eq!(refusal(" I cannot\u{a0}say. ", &settings), Refusal::Whole);
/// assert_eq!(refusal("I cannot say. But it is 30 days.", &settings), Refusal::Continued);
/// assert_eq!(refusal("It is 30 days.", &settings), Refusal::Not);
/// ```
pub fn refusal(text: &str, settings: &Settings) -> Refusal {
    let (said, sentence) = (fold(text), fold(&settings.abstention));
    let tail = fold(&settings.abstention_tail);
    let whole = said == sentence || (!tail.is_empty() && said == format!("{sentence} {tail}"));
    if whole {
        return Refusal::Whole;
    }
    if said.strip_prefix(&sentence).is_some_and(|rest| rest.starts_with(' ')) {
        return Refusal::Continued;
    }
    let (said, sentence): (Vec<&str>, Vec<&str>) =
        (said.split(' ').collect(), sentence.split(' ').collect());
    let common = sentence.iter().filter(|word| said.contains(word)).count();
    let all = said.len().max(sentence.len());
    if common as f64 / all as f64 >= REWORDED_FROM { Refusal::Reworded } else { Refusal::Not }
}

/// `text` for comparing words: compatibility forms and case folded, each run of characters that are
/// neither letters nor digits one blank, none at the ends.
///
/// Signs that change what a number says stay: `-` and `+` before a digit, `%`, `$`, `€`, `£`, `°`,
/// and a point or comma between digits.
pub fn fold(text: &str) -> String {
    let letters: Vec<char> = text
        .nfkc()
        .filter(|c| *c != '\u{ad}' && *c != '\u{200b}')
        .flat_map(char::to_lowercase)
        .map(|c| if c == '\u{2212}' { '-' } else { c })
        .collect();
    let digit = |at: Option<usize>| {
        at.and_then(|at| letters.get(at)).is_some_and(|c: &char| c.is_ascii_digit())
    };
    let mut folded = String::with_capacity(text.len());
    for (at, &letter) in letters.iter().enumerate() {
        let before = at.checked_sub(1);
        let kept = letter.is_alphanumeric()
            || matches!(letter, '%' | '$' | '€' | '£' | '°')
            || (matches!(letter, '.' | ',' | ':') && digit(before) && digit(Some(at + 1)))
            || (matches!(letter, '-' | '+')
                && digit(Some(at + 1))
                && before.is_none_or(|at| letters[at].is_whitespace() || letters[at] == '('));
        if kept {
            folded.push(letter);
        } else if letter == '\'' || letter == '\u{2019}' {
            // `isn't` is one word, and `isn’t` the same.
            folded.push('\'');
        } else if !folded.ends_with(' ') {
            folded.push(' ');
        }
    }
    folded.trim_matches([' ', '\'']).to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settings(tail: &str) -> Settings {
        Settings {
            abstention: "The documents open to you don\u{2019}t answer this.".to_owned(),
            abstention_tail: tail.to_owned(),
            ..Settings::default()
        }
    }

    #[test]
    fn only_the_whole_sentence_is_a_refusal() {
        let cases = [
            ("The documents open to you don't answer this.", Refusal::Whole),
            ("the documents open to you don't\nanswer this", Refusal::Whole),
            ("The documents open to you don't answer this. It is 42 %.", Refusal::Continued),
            ("The documents open to you do not answer this question.", Refusal::Reworded),
            ("Sorry, the documents you may read don't answer this.", Refusal::Reworded),
            ("The battery is under warranty for 3 years.", Refusal::Not),
            ("", Refusal::Not),
        ];
        for (text, expected) in cases {
            assert_eq!(refusal(text, &settings("")), expected, "{text}");
        }
    }

    #[test]
    fn a_tail_is_allowed_where_the_settings_name_it() {
        let with = "The documents open to you don't answer this. Ask the returns desk.";
        assert_eq!(refusal(with, &settings("Ask the returns desk.")), Refusal::Whole);
        assert_eq!(refusal(with, &settings("Ask somebody.")), Refusal::Continued);
    }

    #[test]
    fn folding_keeps_what_changes_a_number() {
        assert_eq!(fold("Costs  $1,500.00 — or 15\u{a0}%!"), "costs $1,500.00 or 15 %");
        assert_eq!(fold("at −5 °C (or +3)"), "at -5 °c or +3");
        assert_eq!(fold("E-417, C-3."), "e 417 c 3");
        assert_eq!(fold("ＡＢＣ isn’t 3.2"), "abc isn't 3.2");
    }
}
