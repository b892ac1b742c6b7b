//! Labelled answers from labelled answers: a change that must flip a judge's verdict, or must not.
//!
//! From an answer that a person calls correct, one number, one code or one yes is changed, or its
//! sources are taken away: the result is wrong, whoever wrote the answer. A number spelled in words, a
//! code without its hyphen, sentences in another order or a further source change nothing. Every item
//! follows from the answer and its sources by rule, without a model and without chance.
//!
//! The kinds are those of the changes, each with items of both labels: `number`, `code`, `negation`,
//! `sources`, `order`.

use std::collections::BTreeSet;

use super::calibration::{Item, Label};
use super::phrases::{codes, tokens, without_codes};
use crate::answer::{Source, units};

/// Verbs that `not` follows. A sentence without any is denied as a whole.
const AUXILIARIES: [&str; 16] = [
    "is", "are", "was", "were", "must", "may", "can", "will", "shall", "should", "has", "have",
    "had", "does", "do", "did",
];

/// Numbers up to twenty in words.
const SPELLED: [&str; 21] = [
    "zero",
    "one",
    "two",
    "three",
    "four",
    "five",
    "six",
    "seven",
    "eight",
    "nine",
    "ten",
    "eleven",
    "twelve",
    "thirteen",
    "fourteen",
    "fifteen",
    "sixteen",
    "seventeen",
    "eighteen",
    "nineteen",
    "twenty",
];

/// The items that follow from `bases`, answers that are correct. The sources of the other bases serve
/// as what is foreign to one.
pub fn items(bases: &[Item]) -> Vec<Item> {
    let mut all = Vec::new();
    for (at, base) in bases.iter().enumerate().filter(|(_, base)| base.person == Label::Correct) {
        number(base, &mut all);
        code(base, &mut all);
        negation(base, &mut all);
        order(base, &mut all);
        if let Some(foreign) = foreign(bases, at) {
            sources(base, foreign, &mut all);
        }
    }
    all
}

fn item(base: &Item, kind: &str, what: &str, answer: String, person: Label) -> Item {
    Item {
        id: format!("{}/{what}", base.id),
        kind: kind.to_owned(),
        answer,
        person,
        note: what.replace('-', " "),
        ..base.clone()
    }
}

/// The first number that is no part of a code and has at most four digits: one more of it, which the
/// sources do not say, and its word.
fn number(base: &Item, all: &mut Vec<Item>) {
    let plain = without_codes(&base.answer);
    let said: BTreeSet<String> = base
        .sources
        .iter()
        .flat_map(|source| tokens(&without_codes(&source.seen())))
        .filter(|token| token.number)
        .map(|token| token.form)
        .collect();
    let numbers: Vec<(u64, std::ops::Range<usize>)> = tokens(&plain)
        .into_iter()
        .filter(|token| token.number)
        .filter_map(|token| Some((plain[token.bytes.clone()].parse().ok()?, token.bytes)))
        .filter(|(value, _)| *value < 10_000)
        .collect();
    for (at, (value, bytes)) in numbers.iter().take(2).enumerate() {
        let mut other = value + 1;
        while said.contains(&other.to_string()) {
            other += 1;
        }
        let changed = replaced(&base.answer, bytes.clone(), &other.to_string());
        all.push(item(
            base,
            "number",
            &format!("number-changed-{}", at + 1),
            changed,
            Label::Wrong,
        ));
        let small = usize::try_from(*value).ok().and_then(|value| SPELLED.get(value));
        if let Some(word) = small.filter(|_| *value != 1) {
            let spelled = replaced(&base.answer, bytes.clone(), word);
            all.push(item(
                base,
                "number",
                &format!("number-spelled-{}", at + 1),
                spelled,
                Label::Correct,
            ));
        }
    }
}

/// The first code: another of the sources with the same letters or, failing that, its digits in another
/// order; and itself without its joiners.
fn code(base: &Item, all: &mut Vec<Item>) {
    let Some((own, bytes)) = codes(&base.answer).into_iter().next() else { return };
    let written = &base.answer[bytes.clone()];
    let letters = |code: &str| code.chars().filter(|c| c.is_alphabetic()).collect::<String>();
    let others = base.sources.iter().flat_map(|source| {
        let text = source.seen();
        codes(&text).into_iter().map(|(code, at)| (code, text[at].to_owned())).collect::<Vec<_>>()
    });
    let sibling = others
        .filter(|(code, _)| *code != own && letters(code) == letters(&own))
        .map(|(_, written)| written)
        .next();
    let other = sibling.unwrap_or_else(|| {
        let last = written.chars().rev().find(char::is_ascii_digit).unwrap_or('0');
        let next = char::from_digit((last.to_digit(10).unwrap_or(0) + 1) % 10, 10).unwrap_or('0');
        let at = written.rfind(last).unwrap_or(0);
        replaced(written, at..at + 1, &next.to_string())
    });
    let changed = replaced(&base.answer, bytes.clone(), &other);
    all.push(item(base, "code", "code-changed", changed, Label::Wrong));
    let joined = replaced(&base.answer, bytes, &own);
    if joined != base.answer {
        all.push(item(base, "code", "code-without-hyphen", joined, Label::Correct));
    }
}

/// The answer with its first verb denied, and the answer as it is.
fn negation(base: &Item, all: &mut Vec<Item>) {
    let denied = denied(&base.answer);
    all.push(item(base, "negation", "denied", denied, Label::Wrong));
    all.push(item(base, "negation", "as-it-is", base.answer.clone(), Label::Correct));
}

fn denied(answer: &str) -> String {
    let mut words = answer.match_indices(char::is_alphabetic).map(|(at, _)| at);
    let mut from = 0;
    while let Some(start) = words.find(|at| *at >= from) {
        let length = answer[start..].find(|c: char| !c.is_alphabetic() && c != '\'');
        let end = length.map_or(answer.len(), |length| start + length);
        from = end;
        let word = answer[start..end].to_lowercase();
        if word == "not" {
            // It says no already: without it, it says yes.
            let rest = answer[end..].trim_start();
            return format!("{}{rest}", &answer[..start]);
        }
        let denied_already = answer[end..].trim_start().to_lowercase().starts_with("not ");
        if AUXILIARIES.contains(&word.as_str()) && !denied_already {
            return replaced(answer, end..end, " not");
        }
    }
    let (first, rest) = answer.split_at(answer.chars().next().map_or(0, char::len_utf8));
    format!("It is not so that {}{rest}", first.to_lowercase())
}

/// The sentences in the other order, where there are at least two.
fn order(base: &Item, all: &mut Vec<Item>) {
    let mut sentences: Vec<String> =
        units(&base.answer).into_iter().map(|unit| unit.text).collect();
    if sentences.len() < 2 {
        return;
    }
    sentences.reverse();
    all.push(item(base, "order", "sentences-reversed", sentences.join(" "), Label::Correct));
}

/// Sources of another base, about another document.
fn foreign(bases: &[Item], at: usize) -> Option<&[Source]> {
    let own: BTreeSet<&str> =
        bases[at].sources.iter().map(|source| source.document.as_str()).collect();
    let (before, after) = bases.split_at(at);
    let others = after.iter().skip(1).chain(before);
    let apart =
        |other: &&Item| other.sources.iter().all(|source| !own.contains(source.document.as_str()));
    others.filter(apart).map(|other| other.sources.as_slice()).next()
}

/// The answer with the sources of another in place of its own, and with both.
fn sources(base: &Item, foreign: &[Source], all: &mut Vec<Item>) {
    let mut taken = item(base, "sources", "sources-taken-away", base.answer.clone(), Label::Wrong);
    taken.sources = foreign.to_vec();
    all.push(taken);
    let mut more = item(base, "sources", "sources-added", base.answer.clone(), Label::Correct);
    more.sources.extend(foreign.iter().cloned());
    all.push(more);
}

fn replaced(text: &str, bytes: std::ops::Range<usize>, by: &str) -> String {
    format!("{}{by}{}", &text[..bytes.start], &text[bytes.end..])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn base(id: &str, answer: &str, source: &str) -> Item {
        Item {
            id: id.into(),
            kind: "plain".into(),
            question: "Why?".into(),
            answer: answer.into(),
            sources: vec![Source {
                reference: format!("{id}-1"),
                document: id.into(),
                title: id.into(),
                revision: None,
                sections: Vec::new(),
                text: source.into(),
                score: 1.0,
            }],
            person: Label::Correct,
            note: String::new(),
        }
    }

    #[test]
    fn every_change_is_one_change() {
        let one =
            base("A", "The C-3 is under warranty for 3 years. Ask.", "C-3, 3 years, 4 days; C-4");
        let two = base("B", "Unplug the charger.", "Unplug the charger.");
        let found: Vec<(String, String, Label)> = items(&[one, two])
            .into_iter()
            .map(|item| (item.id, item.answer, item.person))
            .collect();
        let answer = |id: &str| &found.iter().find(|(own, ..)| own == id).unwrap().1;
        assert_eq!(answer("A/number-changed-1"), "The C-3 is under warranty for 5 years. Ask.");
        assert_eq!(answer("A/number-spelled-1"), "The C-3 is under warranty for three years. Ask.");
        assert_eq!(answer("A/code-changed"), "The C-4 is under warranty for 3 years. Ask.");
        assert_eq!(answer("A/code-without-hyphen"), "The C3 is under warranty for 3 years. Ask.");
        assert_eq!(answer("A/denied"), "The C-3 is not under warranty for 3 years. Ask.");
        assert_eq!(answer("A/sentences-reversed"), "Ask. The C-3 is under warranty for 3 years.");
        assert_eq!(answer("B/denied"), "It is not so that unplug the charger.");
        assert!(
            found
                .iter()
                .any(|(id, _, label)| id == "A/sources-taken-away" && *label == Label::Wrong)
        );
        assert!(
            found.iter().any(|(id, _, label)| id == "B/sources-added" && *label == Label::Correct)
        );
        assert_eq!(denied("It does not stop."), "It does stop.");
    }

    #[test]
    fn what_is_wrong_already_is_no_base() {
        let mut wrong = base("A", "It is 3.", "It is 2.");
        wrong.person = Label::Wrong;
        assert!(items(&[wrong]).is_empty());
    }
}
