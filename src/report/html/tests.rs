//! What is written into the page stays text, and the page asks nobody for anything.

use super::*;
use crate::eval::scorecard::{Row, Work};
use crate::eval::targets::{Kind, Target, Threshold, Verdict};

/// Text as an enemy would write it.
const NASTY: &str = "<script>alert(1)</script> \"q\" 'r' & \u{202e}back\u{7}";

fn card() -> Scorecard {
    let target = Target {
        name: "coverage",
        kind: Kind::Target,
        definition: NASTY.into(),
        method: NASTY.into(),
        sample: NASTY.into(),
        thresholds: vec![Threshold { key: "at_least", limit: 0.7 }],
        unit: NASTY.into(),
        source: NASTY.into(),
        project: None,
        line: 1,
    };
    let mut row = crate::eval::scorecard::share(&target, 24, 34);
    row.name = NASTY.into();
    row.notes.push(NASTY.into());
    Scorecard {
        date: NASTY.into(),
        targets: NASTY.into(),
        agreed: NASTY.into(),
        moved: vec![NASTY.into()],
        rows: vec![row, Row::not_measured(&target, 0, NASTY)],
        work: vec![Work {
            class: NASTY.into(),
            stage: NASTY.into(),
            ids: vec![NASTY.into()],
            of: 1,
            advice: NASTY.into(),
        }],
        notes: vec![NASTY.into()],
        changed: Some(vec![NASTY.into()]),
        receipt: NASTY.into(),
    }
}

fn page(card: &Scorecard) -> String {
    html(&Page {
        project: NASTY.into(),
        ground: NASTY.into(),
        card,
        quality: None,
        latency: None,
        adoption: None,
        answers: Vec::new(),
        ladder: vec![Rung { name: NASTY.into(), count: 3, lost: true }],
        questions: vec![Drill {
            id: NASTY.into(),
            question: NASTY.into(),
            asker: Some(NASTY.into()),
            kinds: NASTY.into(),
            result: NASTY.into(),
            missed: true,
            arrived: vec![Arrived {
                reference: NASTY.into(),
                title: NASTY.into(),
                text: NASTY.into(),
                score: 0.5,
                tokens: 7,
                relevant: true,
                why: NASTY.into(),
            }],
            lost: vec![NASTY.into()],
        }],
        comparison: None,
    })
}

#[test]
fn text_stays_text_wherever_it_stands() {
    let page = page(&card());
    assert!(!page.contains("<script"), "{page}");
    assert!(!page.contains(['\u{202e}', '\u{7}']));
    assert!(page.matches("&lt;script&gt;alert(1)&lt;/script&gt;").count() > 20);
    // No attribute can be broken out of either.
    assert!(!page.contains("\"q\""));
}

#[test]
fn the_page_asks_nobody_for_anything() {
    let page = page(&card());
    for word in [
        "http://",
        "https://",
        "src=",
        "url(",
        "@import",
        "<script",
        "<link rel=\"style",
        "<iframe",
    ] {
        assert!(!page.contains(word), "the page holds `{word}`");
    }
    assert!(page.contains("default-src 'none'"));
}

#[test]
fn every_element_that_opens_closes() {
    let page = page(&card());
    let void = ["meta", "link", "br", "line", "rect", "circle", "path", "!doctype"];
    let mut open: Vec<String> = Vec::new();
    let mut rest = page.as_str();
    while let Some(at) = rest.find('<') {
        let end = at + rest[at..].find('>').unwrap();
        let tag = &rest[at + 1..end];
        let name = tag.split([' ', '\n', '/']).find(|part| !part.is_empty()).unwrap();
        if tag.starts_with('/') {
            assert_eq!(open.pop().as_deref(), Some(name), "at {}", &rest[..end.min(80)]);
        } else if !tag.ends_with('/') && !void.contains(&name) {
            open.push(name.to_owned());
        }
        rest = &rest[end + 1..];
    }
    assert!(open.is_empty(), "{open:?} never close");
}

#[test]
fn what_cannot_be_told_is_said_in_words_beside_colour() {
    let badge = |verdict| score::badge(verdict, Kind::Target);
    assert!(badge(Verdict::CannotTell).contains("cannot tell"));
    assert!(badge(Verdict::Missed).contains("missed"));
    assert!(score::badge(Verdict::Met, Kind::Gate).contains("passed"));
}
