use super::*;
use crate::corpus::BodyForm;
use crate::passage::blocks;
use crate::passage::tests::{document, lines, small};

fn cut_first(body: &str, max_tokens: usize, overlap_tokens: usize) -> Vec<Passage> {
    let settings = small(max_tokens, overlap_tokens);
    let blocks = blocks(&document(body, BodyForm::Markdown), &settings);
    assert_eq!(blocks.len(), 1);
    passages(&blocks[0], &settings)
}

fn texts(passages: &[Passage]) -> Vec<&str> {
    passages.iter().map(|passage| passage.text.as_str()).collect()
}

fn words(count: usize, first: &str) -> String {
    let mut words = vec![first; count];
    words[0] = first;
    words.join(" ")
}

#[test]
fn a_block_that_fits_is_one_passage() {
    let body = words(16, "ab");
    let found = cut_first(&body, 16, 0);
    assert_eq!(texts(&found), [body.as_str()]);
    assert_eq!(found[0].tokens, 16);
    assert_eq!(cut_first(&words(17, "ab"), 16, 0).len(), 2);
}

#[test]
fn elements_are_packed_greedily_and_kept_whole() {
    let (a, b, c) = (words(9, "a"), words(8, "b"), words(8, "c"));
    let found = cut_first(&format!("{a}\n\n{b}\n\n{c}\n"), 16, 0);
    assert_eq!(texts(&found), [a, format!("{b}\n\n{c}")]);
    let lines: Vec<String> = found.iter().map(|passage| lines(&passage.place)).collect();
    assert_eq!(lines, ["1", "3-5"]);
}

#[test]
fn every_part_of_a_table_begins_with_its_header() {
    let rows: Vec<String> = (0..5).map(|row| format!("| {row} | x |")).collect();
    let body = format!("| a | b |\n|---|---|\n{}\n\nEnd.\n", rows.join("\n"));
    // Header and separator cost 5 + 9, a row 5.
    let found = cut_first(&body, 24, 0);
    let head = "| a | b |\n|---|---|";
    let wanted = [
        format!("{head}\n{}\n{}", rows[0], rows[1]),
        format!("{head}\n{}\n{}", rows[2], rows[3]),
        format!("{head}\n{}\n\nEnd.", rows[4]),
    ];
    assert_eq!(texts(&found), wanted);
    assert_eq!(found.iter().map(|passage| passage.tokens).collect::<Vec<_>>(), [24, 24, 21]);
    let lines: Vec<String> = found.iter().map(|passage| lines(&passage.place)).collect();
    assert_eq!(lines, ["1-4", "5-6", "7-9"]);
}

#[test]
fn a_header_too_wide_to_repeat_stands_once() {
    let body = format!("| {} |\n|-|\n{}", words(14, "a"), "| b c |\n".repeat(4));
    let found = cut_first(&body, 20, 0);
    assert_eq!(found.len(), 2);
    assert!(found[0].text.starts_with("| a a"));
    assert_eq!(found[1].text, "| b c |\n".repeat(3).trim_end().to_owned());
}

#[test]
fn a_header_of_much_white_space_stands_once() {
    let body = format!("| a{} |\n|-|\n{}", " ".repeat(400), "| b c |\n".repeat(40));
    let found = cut_first(&body, 20, 0);
    assert!(found.len() > 2 && found[0].text.starts_with("| a  "));
    assert!(found[1..].iter().all(|passage| passage.text.starts_with("| b c |")));
}

#[test]
fn a_long_item_comes_apart_at_its_parts() {
    let (one, two) = (words(6, "a"), words(6, "b"));
    let body = format!("- {one}\n  - {two}\n\n  ```\n  {one}\n  {two}\n  ```\n- c\n");
    let found = cut_first(&body, 16, 0);
    let code = format!("```\n  {one}");
    assert_eq!(found[0].text, format!("- {one}\n  - {two}"));
    assert!(found[1].text.starts_with(&code), "{:?}", found[1].text);
    assert!(found[2].text.ends_with("- c"), "{:?}", texts(&found));
}

#[test]
fn code_splits_at_lines_and_keeps_its_indentation() {
    let body = format!("```\nif x:\n{}```\n", "    y = f(1)\n".repeat(6));
    let found = cut_first(&body, 20, 0);
    assert!(found.len() > 1);
    assert!(found[1].text.starts_with("    y = f(1)"), "{:?}", texts(&found));
}

#[test]
fn text_splits_at_sentences_then_words_then_characters() {
    let long = words(20, "c");
    let body = format!("{}. {}.\n{}. {long}.", words(9, "A"), words(9, "B"), words(5, "D"));
    let found = cut_first(&body, 16, 0);
    assert_eq!(found[0].text, format!("{}.", words(9, "A")));
    assert_eq!(found[1].text, format!("{}.\n{}.", words(9, "B"), words(5, "D")));
    assert_eq!(found[2].text, words(16, "c"));
    let word = "é́".repeat(40);
    let found = cut_first(&word, 16, 0);
    assert_eq!(texts(&found).concat(), word);
    assert!(found.iter().all(|passage| passage.tokens <= 16 && passage.text.starts_with('e')
        || passage.text.starts_with('é')));
}

#[test]
fn overlap_repeats_whole_sentences_and_rows() {
    let body = "One two three. Four five six. Seven eight nine. Ten eleven twelve, no. Zero zero.";
    let found = cut_first(body, 16, 5);
    assert_eq!(found[0].text, "One two three. Four five six. Seven eight nine.");
    assert!(found[1].text.starts_with("Seven eight nine. Ten"), "{:?}", texts(&found));
    // A paragraph too long to repeat gives its last sentence.
    let body = "One two three. Four five.\n\nSix seven. Eight nine ten eleven twelve, or more.";
    let found = cut_first(body, 16, 4);
    assert!(found[1].text.starts_with("Four five.\n\nSix"), "{:?}", texts(&found));
    let body = format!("|a|\n|-|\n{}", "|1|\n|2|\n".repeat(4));
    let found = cut_first(&body, 18, 3);
    assert_eq!(found[1].text, "|a|\n|-|\n|2|\n|1|\n|2|\n|1|".to_owned(), "{:?}", texts(&found));
}

#[test]
fn lines_count_over_everything_left_out() {
    let (a, b, c) = (words(16, "a"), words(16, "b"), words(16, "c"));
    let body = format!("{a}\n<!-- 1\n2 -->\n\n---\n\n{b}\n\n<!-- x -->\n***\n{c}\n<!-- y -->\n");
    let found = cut_first(&body, 16, 0);
    assert_eq!(texts(&found), [a, b, c]);
    let lines: Vec<String> = found.iter().map(|passage| lines(&passage.place)).collect();
    assert_eq!(lines, ["1", "7", "11"]);
}
