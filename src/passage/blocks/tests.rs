use super::*;
use crate::corpus::{Lines, Source};
use crate::passage::tests::{document, lines, small};

fn shown(body: &str) -> Vec<(Vec<String>, String, String)> {
    let cut = blocks(&document(body, BodyForm::Markdown), &Settings::default());
    cut.into_iter().map(|block| (block.sections, block.text, lines(&block.place))).collect()
}

fn expected(blocks: &[(&[&str], &str, &str)]) -> Vec<(Vec<String>, String, String)> {
    let own = |texts: &[&str]| texts.iter().map(|text| (*text).to_owned()).collect();
    let all = blocks
        .iter()
        .map(|(path, text, lines)| (own(path), (*text).to_owned(), (*lines).to_owned()));
    all.collect()
}

#[test]
fn text_before_the_first_heading_is_block_1() {
    let body = "Intro.\n\n## One *two*\n\nText\nmore.\n\nThree `x`\n-----\n\nEnd.\n";
    let wanted: [(&[&str], &str, &str); 3] =
        [(&[], "Intro.", "1"), (&["One two"], "Text\nmore.", "5-6"), (&["Three x"], "End.", "11")];
    assert_eq!(shown(body), expected(&wanted));
}

#[test]
fn a_bare_heading_stands_in_the_path_of_its_children() {
    let body = "# A\n## B\n#### C\nc\n## D\nd\n##\ne\n# F\n";
    let wanted: [(&[&str], &str, &str); 3] = [
        (&["A", "B", "C"], "c", "4"),
        (&["A", "D"], "d", "6"),
        // A heading that says nothing ends the one before and adds no title.
        (&["A"], "e", "8"),
    ];
    assert_eq!(shown(body), expected(&wanted));
}

#[test]
fn only_headings_at_the_top_open_blocks() {
    let body = "# A\n```sh\n# no\n```\n> # no\n\n- # no\n  x\n\n    # no\n\n<div>\n# no\n</div>\n";
    let found = shown(body);
    assert_eq!(found.len(), 1);
    assert_eq!(found[0].1.matches("# no").count(), 5);
}

#[test]
fn comments_and_rules_are_left_out_and_lines_still_count() {
    let body = "a <!-- x --> b\n\n<!--\n# y\n-->\n\n---\n\nc\n\n## H\n\n<!-- only -->\n***\n\n## I\n\
        `<!-- code -->`\n\n<p><!-- z -->d\n<!-- open\n";
    let wanted: [(&[&str], &str, &str); 2] =
        [(&[], "a  b\n\n\n\nc", "1-9"), (&["I"], "`<!-- code -->`\n\n<p>d\n<!-- open", "17-20")];
    assert_eq!(shown(body), expected(&wanted));
}

#[test]
fn elements_are_known_and_fill_the_block() {
    let body = "Para\nsame.\n\n- one\n  - inner\n\n  more\n- two\n\n|h|\n|-|\n|r|\n|s|\n\n```\ncode\n```\n\
        > quote\n\n<p>html</p>\n\n[l]: http://x\n\n[^1]: note\n";
    let cut = blocks(&document(body, BodyForm::Markdown), &Settings::default());
    let [block] = cut.as_slice() else { unreachable!("{cut:?}") };
    let found: Vec<(&str, &str)> = block
        .elements
        .iter()
        .map(|element| {
            let kind = match &element.kind {
                ElementKind::Paragraph => "paragraph",
                ElementKind::ListItem { .. } => "item",
                ElementKind::Table { .. } => "table",
                ElementKind::Code => "code",
                ElementKind::Quote { .. } => "quote",
                ElementKind::Html => "html",
            };
            (kind, block.text[element.bytes.clone()].trim())
        })
        .collect();
    let wanted = [
        ("paragraph", "Para\nsame."),
        ("item", "- one\n  - inner\n\n  more"),
        ("item", "- two"),
        ("table", "|h|\n|-|\n|r|\n|s|"),
        ("code", "```\ncode\n```"),
        ("quote", "> quote"),
        ("html", "<p>html</p>"),
        ("paragraph", "[l]: http://x"),
        ("quote", "[^1]: note"),
    ];
    assert_eq!(found, wanted);
    let ElementKind::ListItem { parts } = &block.elements[1].kind else { unreachable!() };
    let parts: Vec<&str> = parts.iter().map(|part| block.text[part.bytes.clone()].trim()).collect();
    assert_eq!(parts, ["- one", "- inner", "more"]);
    let ElementKind::Table { rows } = &block.elements[3].kind else { unreachable!() };
    assert!(
        rows.iter().zip(["|r|", "|s|"]).all(|(row, text)| block.text[*row..].starts_with(text))
    );
}

#[test]
fn plain_text_is_gathered_by_paragraphs() {
    let body = "\n\none two three\n \nfour five six\n\n# seven\neight nine\n";
    let cut = blocks(
        &document(body, BodyForm::Plain),
        &Settings { plain_block_tokens: 6, ..small(16, 0) },
    );
    let found: Vec<_> = cut.iter().map(|b| (b.text.as_str(), lines(&b.place))).collect();
    let wanted = [("one two three\n \nfour five six", "3-5"), ("# seven\neight nine", "7-8")];
    assert_eq!(found, wanted.map(|(text, lines)| (text, lines.to_owned())));
    assert!(cut.iter().all(|block| body[block.bytes.clone()] == block.text));
}

#[test]
fn places_count_from_where_the_body_begins() {
    let mut one = document("# A\ntext\n\nmore\n", BodyForm::Markdown);
    one.source = Source::file("a.md", 10, 100);
    let cut = blocks(&one, &Settings::default());
    assert_eq!((lines(&cut[0].place).as_str(), cut[0].bytes.clone()), ("11-13", 4..14));
    assert_eq!(cut[0].place.bytes, Some(104..114));
    let record = Place::text(Lines { first: 7, last: 7 }, 90..150);
    one.source = Source::record("corpus.jsonl", record.clone());
    assert_eq!(blocks(&one, &Settings::default())[0].place, record);
}

#[test]
fn a_document_without_text_has_no_blocks() {
    for body in ["", " \n\n", "# A\n## B\n", "<!-- a -->\n---\n"] {
        assert_eq!(
            blocks(&document(body, BodyForm::Markdown), &Settings::default()),
            [],
            "{body:?}"
        );
    }
    assert_eq!(blocks(&document(" \n", BodyForm::Plain), &Settings::default()), []);
}
