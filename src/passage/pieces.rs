//! The ladder by which a text too long for a passage comes apart: sentences, lines, words, and at
//! last characters as readers see them.

use std::ops::Range;

use unicode_segmentation::UnicodeSegmentation as _;

use super::packer::{Fit, Packer};
use crate::text::{estimate_tokens, sentences};

/// A word longer than this is no word of a sentence. The rules for sentences look ahead without
/// limit over marks and blanks, so what they are given at once must hold neither in long runs.
const WORD_BYTES: usize = 256;

/// A run of white space longer than this ends a sentence, for the same reason.
const BLANK_BYTES: usize = 64;

/// Characters taken at once from a word that must be split: the letters of one token.
const GROUP: usize = 6;

/// Packs `bytes` of the text sentence by sentence.
///
/// A line end inside a paragraph ends no sentence; a sentence that is too long is split at its
/// lines, and a line at its words.
pub(super) fn pack_sentences(packer: &mut Packer<'_>, bytes: Range<usize>) {
    for sentence in sentence_ranges(&packer.text()[bytes.clone()]) {
        let sentence = bytes.start + sentence.start..bytes.start + sentence.end;
        if !packer.add(sentence.clone()) {
            pack_lines(packer, sentence);
        }
    }
}

/// Packs `bytes` of the text line by line.
pub(super) fn pack_lines(packer: &mut Packer<'_>, bytes: Range<usize>) {
    let lines = packer.text()[bytes.clone()].split_inclusive('\n');
    for line in ranges(bytes.start, lines) {
        if !packer.add(line.clone()) {
            pack_words(packer, line);
        }
    }
}

fn pack_words(packer: &mut Packer<'_>, bytes: Range<usize>) {
    let words = packer.text()[bytes.clone()].split_inclusive(char::is_whitespace);
    for word in ranges(bytes.start, words) {
        if !packer.add_fragment(word.clone(), Fit::Needed) {
            pack_characters(packer, word);
        }
    }
}

fn pack_characters(packer: &mut Packer<'_>, bytes: Range<usize>) {
    let text = packer.text();
    let mut starts =
        text[bytes.clone()].grapheme_indices(true).map(|(place, _)| bytes.start + place);
    let mut start = starts.next();
    while let Some(from) = start {
        start = starts.nth(GROUP - 1);
        let group = from..start.unwrap_or(bytes.end);
        if !packer.add_fragment(group.clone(), Fit::Needed) {
            // A character under a heap of marks: nothing smaller is left to split at.
            for character in ranges(from, text[group].graphemes(true)) {
                packer.add_fragment(character, Fit::Waived);
            }
        }
    }
}

/// The ranges of parts that follow each other from `start` on.
fn ranges<'a>(
    start: usize,
    parts: impl Iterator<Item = &'a str>,
) -> impl Iterator<Item = Range<usize>> {
    parts.scan(start, |place, part| {
        let from = *place;
        *place += part.len();
        Some(from..*place)
    })
}

/// The sentences of `text`, line ends read as spaces; together they are the whole text.
fn sentence_ranges(text: &str) -> Vec<Range<usize>> {
    // A space is as long as the line end it stands for, so places stay the same.
    let flat = text.replace('\n', " ");
    let mut found = Vec::new();
    let (mut start, mut place) = (0, 0);
    while place < flat.len() {
        let rest = &flat[place..];
        let word = rest.find(char::is_whitespace).unwrap_or(rest.len());
        let blank = rest[word..].len() - rest[word..].trim_start().len();
        let end = place + word + blank;
        if word > WORD_BYTES {
            found.extend(ranges(start, sentences(&flat[start..place])));
            found.push(place..end);
            start = end;
        } else if blank > BLANK_BYTES {
            found.extend(ranges(start, sentences(&flat[start..end])));
            start = end;
        }
        place = end;
    }
    found.extend(ranges(start, sentences(&flat[start..])));
    found
}

/// Where the last sentences of `text` that fit `budget` tokens together begin.
pub(super) fn tail_of_sentences(text: &str, budget: usize) -> usize {
    let (mut left, mut start) = (budget, text.len());
    for sentence in sentence_ranges(text).into_iter().rev() {
        let cost = estimate_tokens(&text[sentence.clone()]);
        if cost > left {
            break;
        }
        (left, start) = (left - cost, sentence.start);
    }
    start
}

#[cfg(test)]
mod tests {
    use super::*;

    fn split(text: &str) -> Vec<&str> {
        sentence_ranges(text).into_iter().map(|range| &text[range]).collect()
    }

    #[test]
    fn sentences_go_over_line_ends_and_fill_the_text() {
        assert_eq!(split("One is\nlong. Two"), ["One is\nlong. ", "Two"]);
        let word = "x".repeat(300);
        let text = format!("A. {word}.  b.{}c", " ".repeat(80));
        let parts = split(&text);
        assert_eq!(parts.concat(), text);
        assert_eq!(parts.len(), 4, "{parts:?}");
        assert_eq!(split(""), [""; 0]);
    }

    #[test]
    fn the_tail_is_whole_sentences_within_the_budget() {
        let text = "One two. Three four. Five six.";
        assert_eq!(&text[tail_of_sentences(text, 3)..], "Five six.");
        assert_eq!(&text[tail_of_sentences(text, 5)..], "Five six.");
        assert_eq!(tail_of_sentences(text, 2), text.len());
    }
}
