//! Titles inside Markdown, without their markup.

use std::ops::Range;

use pulldown_cmark::{Event, HeadingLevel, Options, Parser, Tag, TagEnd};

/// The Markdown that Atlas reads: CommonMark with tables and footnotes.
pub(crate) fn markdown_options() -> Options {
    Options::ENABLE_TABLES | Options::ENABLE_FOOTNOTES
}

/// Adds what `event`, found inside a heading, shows to a reader.
pub(crate) fn push_shown(title: &mut String, event: &Event<'_>) {
    match event {
        Event::Text(text) | Event::Code(text) => title.push_str(text),
        Event::SoftBreak | Event::HardBreak => title.push(' '),
        _ => {}
    }
}

/// Words separated by single spaces.
pub(crate) fn tidy(title: &str) -> String {
    title.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// The first heading of level 1 outside quotes and lists: where it stands and what it says.
pub(super) fn first_h1(body: &str) -> Option<(Range<usize>, String)> {
    let (mut depth, mut title, mut inside) = (0_usize, String::new(), false);
    for (event, range) in Parser::new_ext(body, markdown_options()).into_offset_iter() {
        match &event {
            Event::Start(tag) => {
                let top = Tag::Heading {
                    level: HeadingLevel::H1,
                    id: None,
                    classes: Vec::new(),
                    attrs: Vec::new(),
                };
                inside |= depth == 0 && *tag == top;
                depth += 1;
            }
            Event::End(TagEnd::Heading(HeadingLevel::H1)) if inside => {
                return Some((range, tidy(&title)));
            }
            Event::End(_) => depth = depth.saturating_sub(1),
            other if inside => push_shown(&mut title, other),
            _ => {}
        }
    }
    None
}
