//! Feeds a page to the tokenizer of html5ever in small steps, so that every token knows its place.

use std::borrow::Cow;
use std::cell::RefCell;

use html5ever::tendril::StrTendril;
use html5ever::tokenizer::states::RawKind;
use html5ever::tokenizer::{
    BufferQueue, TagKind, Token, TokenSink, TokenSinkResult, Tokenizer, TokenizerOpts,
};

use super::builder::Builder;
use super::{Lines, Place};

/// Attributes of one tag that are looked at. The tokenizer compares each with all before it, so a tag
/// of millions would take hours.
const ATTRIBUTES_MAX: usize = 4096;

/// A start tag, or an end tag.
pub(super) struct Tag {
    pub(super) name: String,
    pub(super) is_end: bool,
    pub(super) closes_itself: bool,
    /// Names in lower case, with their values.
    pub(super) attributes: Vec<(String, String)>,
}

impl Tag {
    pub(super) fn attribute(&self, name: &str) -> Option<&str> {
        self.attributes.iter().find(|(own, _)| own == name).map(|(_, value)| value.as_str())
    }
}

enum Event {
    Tag(Tag),
    Text(StrTendril),
}

/// Keeps what the tokenizer gives until the step is over.
#[derive(Default)]
struct Sink {
    events: RefCell<Vec<Event>>,
    is_xml: bool,
}

impl TokenSink for Sink {
    type Handle = ();

    fn process_token(&self, token: Token, _: u64) -> TokenSinkResult<()> {
        match token {
            Token::TagToken(tag) => {
                let (name, is_end) = (tag.name.to_string(), tag.kind == TagKind::EndTag);
                let attributes = tag.attrs.iter();
                let attributes = attributes
                    .map(|one| (one.name.local.to_string(), one.value.to_string()))
                    .collect();
                let closes_itself = tag.self_closing;
                let raw = if is_end || closes_itself && self.is_xml { None } else { raw(&name) };
                self.events.borrow_mut().push(Event::Tag(Tag {
                    name,
                    is_end,
                    closes_itself,
                    attributes,
                }));
                return raw.map_or(TokenSinkResult::Continue, TokenSinkResult::RawData);
            }
            Token::CharacterTokens(text) => self.events.borrow_mut().push(Event::Text(text)),
            Token::NullCharacterToken => {
                self.events.borrow_mut().push(Event::Text(StrTendril::from_char('\0')));
            }
            Token::DoctypeToken(_) | Token::CommentToken(_) | Token::EOFToken => {}
            Token::ParseError(_) => {}
        }
        TokenSinkResult::Continue
    }
}

/// How the content of an element is no markup.
fn raw(name: &str) -> Option<RawKind> {
    match name {
        "script" => Some(RawKind::ScriptData),
        "style" | "xmp" | "iframe" | "noembed" | "noframes" => Some(RawKind::Rawtext),
        "title" | "textarea" => Some(RawKind::Rcdata),
        _ => None,
    }
}

/// Tells `builder` the tags and texts of `page`. A step is what reaches from one `<` to the next.
pub(super) fn scan(page: &str, builder: &mut Builder) {
    let sink = Sink { is_xml: builder.is_xml, ..Sink::default() };
    let tokenizer = Tokenizer::new(sink, TokenizerOpts::default());
    let input = BufferQueue::default();
    let (mut line, mut silent) = (1, 0);
    let mut from = 0;
    while from < page.len() {
        let inner = from + usize::from(page[from..].starts_with('<'));
        let next = page[inner..].find('<').map_or(page.len(), |at| inner + at);
        let step = &page[from..next];
        let ends = super::super::file::line_ends(step.as_bytes());
        let place = Place::text(Lines { first: line, last: line + ends }, from as u64..next as u64);
        input.push_back(StrTendril::from(shortened(step).as_ref()));
        let _ = tokenizer.feed(&input);
        let is_silent = tell(&tokenizer.sink, builder, &place);
        silent = if is_silent { silent + 1 } else { 0 };
        if silent == ATTRIBUTES_MAX {
            // Inside a comment or a script this does nothing; a tag that never ends, it ends.
            input.push_back(StrTendril::from("\">'>"));
            let _ = tokenizer.feed(&input);
            tell(&tokenizer.sink, builder, &place);
            silent = 0;
        }
        line += ends;
        from = next;
    }
    tokenizer.end();
    let end = page.len() as u64;
    tell(&tokenizer.sink, builder, &Place::text(Lines { first: line, last: line }, end..end));
}

/// Hands on what came; says whether nothing did.
fn tell(sink: &Sink, builder: &mut Builder, place: &Place) -> bool {
    let events = std::mem::take(&mut *sink.events.borrow_mut());
    let is_silent = events.is_empty();
    for event in events {
        match event {
            Event::Tag(tag) => builder.tag(&tag),
            Event::Text(text) => builder.text(&text, place),
        }
    }
    is_silent
}

/// A step whose tag has far too many attributes, without most of them.
fn shortened(step: &str) -> Cow<'_, str> {
    let is_tag = step.as_bytes().get(1).is_some_and(u8::is_ascii_alphabetic);
    let end = step.find('>').unwrap_or(step.len());
    if !is_tag || end < ATTRIBUTES_MAX * 2 {
        return Cow::Borrowed(step);
    }
    let blank = |byte: &u8| byte.is_ascii_whitespace() || *byte == b'"' || *byte == b'/';
    let mut blanks = (0..end).zip(step.as_bytes()).filter(|(_, byte)| blank(byte));
    match blanks.nth(ATTRIBUTES_MAX * 4) {
        Some((at, _)) => Cow::Owned(format!("{}{}", &step[..at], &step[end..])),
        None => Cow::Borrowed(step),
    }
}
