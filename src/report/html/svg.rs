//! A small writer of SVG: shapes with classes, so that the page's style decides the colours.

use std::fmt::Write as _;

use super::escaped;

/// A picture of `width × height` units.
pub(super) struct Svg {
    width: f64,
    height: f64,
    body: String,
}

/// Where a text is held.
#[derive(Clone, Copy)]
pub(super) enum Anchor {
    /// At its beginning.
    Start,
    /// In its middle.
    Middle,
    /// At its end.
    End,
}

/// A coordinate with one decimal: enough for a screen, and the same bytes everywhere.
fn c(value: f64) -> String {
    let text = format!("{value:.1}");
    text.strip_suffix(".0").map_or_else(|| text.clone(), str::to_owned)
}

impl Svg {
    pub(super) fn new(width: f64, height: f64) -> Self {
        Self { width, height, body: String::new() }
    }

    pub(super) fn line(&mut self, from: (f64, f64), to: (f64, f64), class: &str) {
        let _ = write!(
            self.body,
            "<line x1=\"{}\" y1=\"{}\" x2=\"{}\" y2=\"{}\" class=\"{class}\"/>",
            c(from.0),
            c(from.1),
            c(to.0),
            c(to.1)
        );
    }

    pub(super) fn rect(&mut self, at: (f64, f64), size: (f64, f64), class: &str) {
        let _ = write!(
            self.body,
            "<rect x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" class=\"{class}\"/>",
            c(at.0),
            c(at.1),
            c(size.0.max(0.0)),
            c(size.1.max(0.0))
        );
    }

    pub(super) fn circle(&mut self, at: (f64, f64), radius: f64, class: &str) {
        let _ = write!(
            self.body,
            "<circle cx=\"{}\" cy=\"{}\" r=\"{}\" class=\"{class}\"/>",
            c(at.0),
            c(at.1),
            c(radius)
        );
    }

    /// A square on its point.
    pub(super) fn diamond(&mut self, at: (f64, f64), radius: f64, class: &str) {
        let (x, y) = at;
        self.path(
            &[(x, y - radius), (x + radius, y), (x, y + radius), (x - radius, y), (x, y - radius)],
            class,
        );
    }

    pub(super) fn path(&mut self, points: &[(f64, f64)], class: &str) {
        let mut d = String::new();
        for (at, (x, y)) in points.iter().enumerate() {
            let _ = write!(d, "{}{} {}", if at == 0 { "M" } else { "L" }, c(*x), c(*y));
        }
        let _ = write!(self.body, "<path d=\"{d}\" class=\"{class}\"/>");
    }

    pub(super) fn text(&mut self, at: (f64, f64), anchor: Anchor, class: &str, text: &str) {
        let anchor = match anchor {
            Anchor::Start => "start",
            Anchor::Middle => "middle",
            Anchor::End => "end",
        };
        let _ = write!(
            self.body,
            "<text x=\"{}\" y=\"{}\" text-anchor=\"{anchor}\" class=\"{class}\">{}</text>",
            c(at.0),
            c(at.1),
            escaped(text)
        );
    }

    /// The picture; `label` says to who cannot see it what it shows.
    pub(super) fn finish(self, class: &str, label: &str) -> String {
        format!(
            "<svg class=\"{class}\" viewBox=\"0 0 {} {}\" role=\"img\" aria-label=\"{}\">{}</svg>",
            c(self.width),
            c(self.height),
            escaped(label),
            self.body
        )
    }
}
