//! Laws over all of cutting: nothing is lost, nothing is too large, and it takes linear time.

use std::path::PathBuf;
use std::time::Duration;

use cpu_time::ThreadTime;
use proptest::prelude::*;

use super::outline::Outline;
use super::*;
use crate::corpus::{BodyForm, Draft, Item, ItemKind, Lines, Metadata, Source, Structure};

/// A document of which only body and form matter.
pub(super) fn document(body: &str, form: BodyForm) -> Document {
    Document {
        id: "D-1".into(),
        title: "Title".into(),
        metadata: Metadata::default(),
        body: body.into(),
        form,
        source: Source::file("d.md", 1, 0),
        vector: None,
    }
}

/// Settings with small passages, to have many.
pub(super) fn small(max_tokens: usize, overlap_tokens: usize) -> Settings {
    Settings { max_tokens, overlap_tokens, plain_block_tokens: 64, ..Settings::default() }
}

/// The lines of a place, as they are shown.
pub(super) fn lines(place: &Place) -> String {
    place.lines.unwrap().to_string()
}

fn ink(text: &str) -> String {
    text.split_whitespace().collect()
}

/// Body without headings, comments and ruled lines, by the outline.
fn ink_of_body(body: &str) -> String {
    let outline = Outline::of(body);
    let mut gone: Vec<_> = outline.headings.into_iter().map(|heading| heading.bytes).collect();
    gone.extend(outline.dropped);
    gone.sort_by_key(|range| range.start);
    let (mut kept, mut from) = (String::new(), 0);
    for range in gone {
        kept.push_str(&body[from..range.start.max(from)]);
        from = from.max(range.end);
    }
    kept.push_str(&body[from..]);
    ink(&kept)
}

/// Body without headings, by what its reader said.
fn ink_of_items(body: &str, structure: &Structure) -> String {
    let text = |item: &&Item| !matches!(item.kind, ItemKind::Heading { .. });
    structure.items.iter().filter(text).map(|item| ink(&body[item.bytes.clone()])).collect()
}

/// Checks every law of cutting on one document.
fn check_laws(document: &Document, settings: &Settings) {
    let cut = cut(document, settings);
    let expected = match &document.form {
        BodyForm::Markdown => ink_of_body(&document.body),
        BodyForm::Plain => ink(&document.body),
        BodyForm::Structured(structure) => ink_of_items(&document.body, structure),
    };
    let found: String = cut.iter().map(|(block, _)| ink(&block.text)).collect();
    assert_eq!(found, expected, "blocks hold all of the body");
    for (number, (block, passages)) in (1..).zip(&cut) {
        assert_eq!(block.reference, BlockRef::new(&document.id, number));
        assert!(!block.text.trim().is_empty());
        assert_eq!(block.text, block.text.trim_end());
        let mut reached = 0;
        for (number, passage) in (0..).zip(passages) {
            assert_eq!(passage.reference, PassageRef::new(block.reference.clone(), number));
            let own = &block.text[passage.bytes.clone()];
            assert!(passage.text.ends_with(own));
            assert_eq!(passage.tokens, crate::text::estimate_tokens(&passage.text));
            let start = passage.bytes.start;
            if start > reached {
                let between = &block.text[reached..start];
                assert!(between.trim().is_empty(), "lost: {between:?}");
            } else {
                let again = crate::text::estimate_tokens(&block.text[start..reached]);
                assert!(again <= settings.overlap_tokens, "{again} tokens repeated");
            }
            reached = passage.bytes.end;
            check_size(block, passage, settings);
            check_place(document, block, passage);
        }
        assert_eq!(reached, block.text.len(), "the end of {} is lost", block.reference);
    }
}

fn check_size(block: &Block, passage: &Passage, settings: &Settings) {
    if passage.tokens <= settings.max_tokens {
        return;
    }
    // One row of a table, with or without its header, or one character.
    let own = &block.text[passage.bytes.clone()];
    let one_row = tables(&block.elements).any(|(table, rows)| {
        let inside = table.start <= passage.bytes.start && passage.bytes.end <= table.end;
        inside && rows.iter().filter(|row| passage.bytes.contains(row)).count() <= 1
    });
    let one_character = own.chars().filter(|c| c.is_alphanumeric()).count() <= 1;
    assert!(one_row || one_character, "{} tokens: {:?}", passage.tokens, passage.text);
}

fn tables(elements: &[Element]) -> Box<dyn Iterator<Item = (&Range<usize>, &Vec<usize>)> + '_> {
    Box::new(elements.iter().flat_map(|element| match &element.kind {
        ElementKind::Table { rows } => Box::new(std::iter::once((&element.bytes, rows))),
        ElementKind::ListItem { parts } | ElementKind::Quote { parts } => tables(parts),
        _ => Box::new(std::iter::empty()),
    }))
}

fn check_place(document: &Document, block: &Block, passage: &Passage) {
    let (Some(outer), Some(inner)) = (block.place.lines, passage.place.lines) else {
        unreachable!("{:?}", passage.place)
    };
    assert!(outer.first <= inner.first && inner.first <= inner.last && inner.last <= outer.last);
    if matches!(document.form, BodyForm::Structured(_)) || document.body.contains("<!--") {
        return;
    }
    let own = &block.text[passage.bytes.clone()];
    let line = |number: u64| {
        let place = usize::try_from(number - document.source.first_line).unwrap();
        document.body.split('\n').nth(place).unwrap()
    };
    assert!(line(inner.first).contains(own.split('\n').next().unwrap()));
    assert!(line(inner.last).contains(own.split('\n').next_back().unwrap()));
    let bytes = passage.place.bytes.clone().unwrap();
    let stands = &document.body[bytes.start as usize..bytes.end as usize];
    assert!(stands.starts_with(own.split('\n').next().unwrap()), "{stands:?}: {own:?}");
    assert!(stands.ends_with(own.split('\n').next_back().unwrap()), "{stands:?}: {own:?}");
}

/// Every word of the lines that are no heading, by a rule that knows nothing of the outline.
fn words_outside_headings(body: &str) -> impl Iterator<Item = &str> {
    body.lines().filter(|line| !line.trim_start().starts_with('#')).flat_map(|line| {
        line.split(|c: char| !c.is_ascii_alphanumeric()).filter(|word| word.starts_with('w'))
    })
}

/// Pieces that documents are made of; `@` becomes a word that occurs once.
const FRAGMENTS: [&str; 24] = [
    "# @ @\n",
    "### @\n",
    "@ @. @!\n",
    "@ @\n@ @ @. @\n",
    "\n\n@\n===\n",
    "\n",
    "\n\n",
    "- @\n- @\n  - @ @\n",
    "1. @\n\n   @ @\n2. @\n",
    "> @\n> @\n",
    "> - @\n>   > @\n",
    "```\n# @\n@ {}\n```\n",
    "    @\n    @\n",
    "| @ | @ |\n| --- | --- |\n| @ | @ |\n| @ | @ |\n",
    "[@]: http://x/@ \"@\"\n",
    "[^1]: @ @\n",
    "<div>@\n<p>@</p>\n</div>\n",
    "- @\n\n  ```\n  @\n  @\n  ```\n",
    "@ *@ **@* `@`\n",
    "- @\n  | @ | @ |\n  |---|---|\n  | @ | @ |\n",
    "@ 保修三年。电池。 é́́ 🚲👩‍👩‍👧\n",
    "- \n- # @\n",
    "+ 1\n+ 2\n",
    "@ ",
];

fn bodies() -> impl Strategy<Value = String> {
    prop::collection::vec(0..FRAGMENTS.len(), 0..40).prop_map(|picks| {
        let mut number = 0;
        let text: String = picks.into_iter().map(|pick| FRAGMENTS[pick]).collect();
        let numbered = text.chars().map(|c| {
            number += u32::from(c == '@');
            if c == '@' { format!("w{number}x") } else { c.to_string() }
        });
        numbered.collect()
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    #[test]
    fn nothing_is_lost_of_markdown(body in bodies(), max in 16_usize..80, overlap in 0_usize..8) {
        let document = document(&body, BodyForm::Markdown);
        check_laws(&document, &small(max, overlap));
        let all: String = cut(&document, &small(max, 0))
            .iter().flat_map(|(block, passages)| passages.iter().map(|p| &p.text).chain(&block.sections))
            .flat_map(|text| [text, " "].map(str::to_owned)).collect();
        for word in words_outside_headings(&body) {
            // A setext heading without text below it is in no block.
            let heading = body.contains(&format!("{word}\n==="));
            prop_assert!(heading || all.contains(word), "{word} is lost");
        }
    }

    #[test]
    fn nothing_is_lost_of_plain_text(body in bodies(), max in 16_usize..80, overlap in 0_usize..8) {
        check_laws(&document(&body, BodyForm::Plain), &small(max, overlap));
    }

    #[test]
    fn any_text_at_all_can_be_cut(body in "(?s).{0,300}", marks in "[-#>|`*\\[\\]()<>!\n a1.:&\\\\_~=+\t]{0,300}") {
        for text in [&body, &marks, &format!("<!-- a -->{body}<!--\n{marks}-->\n# x\n{body}{marks}")] {
            let text = text.replace('\r', "\n");
            for form in [BodyForm::Markdown, BodyForm::Plain] {
                check_laws(&document(&text, form), &small(16, 4));
            }
        }
    }
}

#[test]
fn messy_files_are_cut_without_loss() {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../shared/data/messy");
    let names = [
        "aws-markdown/emr-release-5x.md",
        "commonmark/spec.txt",
        "blns/blns.txt",
        "blns/blns.json",
    ];
    for name in names {
        let Ok(text) = std::fs::read_to_string(folder.join(name)) else {
            println!("skipped: {} is not there", folder.join(name).display());
            continue;
        };
        let text = text.replace("\r\n", "\n").replace('\r', "\n");
        for form in [BodyForm::Markdown, BodyForm::Plain] {
            for settings in [Settings::default(), small(20, 5)] {
                let cut = cut(&document(&text, form.clone()), &settings);
                assert!(!cut.is_empty());
                // The check of lines is quadratic; these files are long.
                let found: String = cut.iter().map(|(block, _)| ink(&block.text)).collect();
                let expected =
                    if form == BodyForm::Plain { ink(&text) } else { ink_of_body(&text) };
                assert!(found == expected, "{name} loses text");
                for (block, passages) in &cut {
                    for passage in passages {
                        check_size(block, passage, &settings);
                    }
                }
            }
        }
    }
}

/// Texts that make careless cutters quadratic or worse.
fn heavy() -> Vec<(&'static str, String)> {
    let deep: String = (0..1500).map(|depth| format!("{}- x\n", "  ".repeat(depth))).collect();
    vec![
        ("one line of words", "some words, and more. ".repeat(480_000)),
        ("one word", "x".repeat(10_000_000)),
        ("marks after a full stop", format!("A.{}", ")".repeat(10_000_000))),
        ("blanks after a full stop", format!("A. {}b", " ".repeat(10_000_000))),
        ("commas after a full stop", format!("A. {}b", ", ".repeat(5_000_000))),
        ("ideographs", "保修三年".repeat(800_000)),
        ("accents on one letter", format!("a{}", "\u{301}".repeat(3_000_000))),
        ("bare headings", "## x\n".repeat(100_000)),
        ("headings with text", "# a\n\nb\n\n### c\n\nd\n\n".repeat(50_000)),
        ("deep quotes", format!("{} a", ">".repeat(100_000))),
        ("deep list on one line", format!("{}a", "- ".repeat(50_000))),
        ("deep list", deep),
        ("comments", "a\n<!-- c -->\n".repeat(200_000)),
        ("comments between headings", "# a\n<!-- c -->\nb\n".repeat(100_000)),
        ("open comments", "<!-- ".repeat(400_000)),
        ("rules", "a\n\n---\n\n".repeat(200_000)),
        ("a long table", format!("|a|b|\n|-|-|\n{}", "|1|2|\n".repeat(300_000))),
        ("a wide head", format!("|{}|\n|-|\n{}", "word ".repeat(150), "|1|\n".repeat(100_000))),
        ("definitions", "[a]: http://b\n".repeat(100_000)),
        ("brackets", "[".repeat(500_000)),
        ("emphasis", "*a **b ".repeat(200_000)),
        ("a long item", format!("- {}", "a\n\n  b\n\n".repeat(100_000))),
        ("items of numbers", format!("- a\n{}", "  - 1\n".repeat(200_000))),
        ("empty paragraphs", "a\n\n\n \n".repeat(500_000)),
    ]
}

#[test]
fn time_grows_with_length_only() {
    // Some seconds of this thread's processor time each, without optimisation; anything quadratic takes
    // minutes.
    let limit = Duration::from_secs(40);
    let settings = Settings { overlap_tokens: 32, ..Settings::default() };
    for (name, body) in heavy() {
        for form in [BodyForm::Markdown, BodyForm::Plain] {
            let document = document(&body, form.clone());
            let start = ThreadTime::now();
            let cut = cut(&document, &settings);
            let took = start.elapsed();
            let passages: usize = cut.iter().map(|(_, passages)| passages.len()).sum();
            println!("{name}, {form:?}: {took:?}, {} blocks, {passages} passages", cut.len());
            assert!(took < limit, "{name}, {form:?}: {took:?}");
        }
    }
}

/// Adds what `pick` names to `draft`: a line of the file for each, with text that Markdown would take
/// for markup.
fn add(draft: &mut Draft, number: u64, pick: usize) {
    let place = Place::text(Lines { first: number, last: number }, number * 10..number * 10 + 10);
    let word = format!("*w{number}x* <b> # |");
    match pick {
        0..=3 => draft.heading(pick as u8, &word, place),
        4 => draft.paragraph(&word, place),
        5 => draft.paragraph(&format!("{word}. ").repeat(12), place),
        6 => draft.list_item(pick % 3, "-", &word, place),
        7 => draft.code(&format!("  {word}\n\n  {word}"), place),
        8 => draft.quote(&word, place),
        9 => draft.record(&format!("a: {word}\nb: {}", "c. ".repeat(40)), place),
        10 => draft.table(Some(&(vec![word], place)), &[]),
        _ => {
            let row = (vec![word, "1".into()], place.clone());
            let header = (vec!["h".into(), "i".into()], place);
            draft.table((pick == 12).then_some(&header), &vec![row; 9]);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    #[test]
    fn nothing_is_lost_of_structured_text(
        picks in prop::collection::vec(0_usize..13, 0..40),
        max in 16_usize..80,
        overlap in 0_usize..8,
    ) {
        let mut draft = Draft::default();
        (1..).zip(&picks).for_each(|(number, pick)| add(&mut draft, number, *pick));
        let (body, structure) = draft.finish();
        let document = document(&body, BodyForm::Structured(structure));
        check_laws(&document, &small(max, overlap));
        for (block, passages) in cut(&document, &small(max, overlap)) {
            for passage in passages {
                // Every word knows the line that it was given.
                let Lines { first, last } = passage.place.lines.unwrap();
                prop_assert_eq!(passage.place.bytes.clone(), Some(first * 10..last * 10 + 10));
                let own = &block.text[passage.bytes.clone()];
                for (at, _) in own.match_indices("*w") {
                    let number: String = own[at + 2..].chars().take_while(char::is_ascii_digit).collect();
                    let number: u64 = number.parse().unwrap();
                    prop_assert!((first..=last).contains(&number), "{number} not in {first}-{last}");
                }
            }
        }
    }

    #[test]
    fn a_structure_that_does_not_fit_its_body_is_no_reason_to_fall(
        body in "[a-cé \n]{0,40}",
        items in prop::collection::vec((0_usize..60, 0_usize..60, 0_usize..5), 0..8),
        places in prop::collection::vec(0_usize..60, 0..8),
    ) {
        let items = items.into_iter().map(|(start, end, kind)| {
            let kind = match kind {
                0 => ItemKind::Heading { level: 1 },
                1 => ItemKind::Table { rows: vec![end, start, start + 1] },
                2 => ItemKind::Record,
                3 => ItemKind::ListItem,
                _ => ItemKind::Paragraph,
            };
            Item { kind, bytes: start..end }
        });
        let structure = Structure {
            items: items.collect(),
            places: places.into_iter().map(|byte| (byte, Place::page(1))).collect(),
        };
        for (block, passages) in cut(&document(&body, BodyForm::Structured(structure)), &small(16, 4)) {
            prop_assert!(!block.text.trim().is_empty() && !passages.is_empty());
        }
    }
}

#[test]
fn structured_text_is_cut_by_what_its_reader_said() {
    let mut draft = Draft::default();
    draft.paragraph("# no heading", Place::page(1));
    draft.heading(1, "Codes *of* <faults>", Place::page(1));
    draft.heading(3, "Deep", Place::page(2));
    draft.paragraph("| no | table |", Place::page(2));
    draft.record("Code: F-12\nMeaning: no oil", Place::page(3));
    draft.record("Code: F-13", Place::page(3));
    draft.heading(2, "Next", Place::page(4));
    draft.list_item(0, "-", "one", Place::page(4));
    draft.list_item(0, "-", "two", Place::page(5));
    let (body, structure) = draft.finish();
    let cut = blocks(&document(&body, BodyForm::Structured(structure)), &Settings::default());
    let found: Vec<(String, &str, Option<u32>)> = cut
        .iter()
        .map(|block| (block.sections.join("/"), block.text.as_str(), block.place.page))
        .collect();
    let deep = "Codes *of* <faults>/Deep";
    let wanted = [
        ("", "# no heading", 1),
        (deep, "| no | table |", 2),
        (deep, "Code: F-12\nMeaning: no oil", 3),
        (deep, "Code: F-13", 3),
        ("Codes *of* <faults>/Next", "- one\n- two", 4),
    ];
    assert_eq!(found, wanted.map(|(path, text, page)| (path.to_owned(), text, Some(page))));
}

#[test]
fn a_long_structured_table_repeats_its_header_and_knows_the_page_of_each_part() {
    let row = |n: u32| (vec![format!("F-{n}"), "no oil".to_owned()], Place::page(1 + n / 4));
    let rows: Vec<_> = (0..8).map(row).collect();
    let mut draft = Draft::default();
    let header = (vec!["Code".into(), "Meaning".into()], Place::page(1));
    draft.table(Some(&header), &rows);
    let (body, structure) = draft.finish();
    let cut = cut(&document(&body, BodyForm::Structured(structure)), &small(24, 0));
    let [(_, passages)] = cut.as_slice() else { unreachable!("{cut:?}") };
    assert!(passages.iter().all(|passage| passage.text.starts_with("Code | Meaning\nF-")));
    assert_eq!(passages.first().unwrap().place.page, Some(1));
    assert_eq!(passages.last().unwrap().place.page, Some(2));
    // Without a header, rows stand for themselves.
    let mut draft = Draft::default();
    draft.table(None, &rows);
    let (body, structure) = draft.finish();
    let cut = super::cut(&document(&body, BodyForm::Structured(structure)), &small(24, 0));
    assert!(cut[0].1.len() > 1 && cut[0].1.iter().all(|passage| passage.text.starts_with("F-")));
}

#[test]
fn structured_text_without_headings_is_gathered_like_plain_text() {
    let mut draft = Draft::default();
    (0..6).for_each(|_| draft.paragraph("one two three", Place::default()));
    let (body, structure) = draft.finish();
    let settings = Settings { plain_block_tokens: 6, ..small(16, 0) };
    let cut = blocks(&document(&body, BodyForm::Structured(structure)), &settings);
    assert_eq!(cut.len(), 3);
    assert_eq!(cut[0].text, "one two three\n\none two three");
    assert_eq!(cut[0].place, Place::default());
}

#[test]
fn settings_out_of_range_are_refused_by_name() {
    assert!(Settings::default().validate().is_ok());
    let fault = small(8, 0).validate().unwrap_err().to_string();
    assert_eq!(fault, "passage.max_tokens is 8; expected a whole number of tokens from 16 to 8192");
    let fault = small(100, 4097).validate().unwrap_err().to_string();
    assert_eq!(
        fault,
        "passage.overlap_tokens is 4097; expected a whole number of tokens from 0 to 4096"
    );
    let fault = toml::from_str::<Settings>("max_token = 3").unwrap_err().to_string();
    assert!(fault.contains("unknown field `max_token`"), "{fault}");
    let read: Settings = toml::from_str("max_tokens = 120").unwrap();
    assert_eq!(read, Settings { max_tokens: 120, ..Settings::default() });
}

#[test]
fn blocks_and_passages_survive_bincode() {
    let document = document("a\n<!-- x -->\nb\n\n- c\n\n|x|\n|-|\n|y|\n", BodyForm::Markdown);
    let cut = cut(&document, &Settings::default());
    let config = bincode::config::standard();
    let bytes = bincode::serde::encode_to_vec(&cut, config).unwrap();
    let (back, _): (Vec<(Block, Vec<Passage>)>, usize) =
        bincode::serde::decode_from_slice(&bytes, config).unwrap();
    assert_eq!(back, cut);
}

#[test]
fn the_searched_form_is_title_sections_and_text() {
    let sections = ["Cover".to_owned(), String::new()];
    assert_eq!(searched_form("T", &sections, "x", true), "T\nCover\nx");
    assert_eq!(searched_form("", &sections, "x", true), "Cover\nx");
    assert_eq!(searched_form("Cover", &sections, "x", true), "Cover\nx");
    assert_eq!(searched_form("only", &[], "only", true), "only");
    assert_eq!(searched_form("T", &[], "x", false), "x");
}
