//! The charts: each is drawn twice, for a wide and for a narrow screen, and the style shows one.

use super::svg::{Anchor, Svg};

/// Widths in units, which are pixels at full size.
const WIDE: f64 = 720.0;
const NARROW: f64 = 340.0;

/// Draws for both widths.
fn both(draw: impl Fn(f64) -> Svg, label: &str) -> String {
    format!(
        "<div class=\"chart\">{}{}</div>",
        draw(WIDE).finish("wide", label),
        draw(NARROW).finish("narrow", label)
    )
}

/// A value with its interval on one line.
pub(super) struct Whisker {
    /// What it is of.
    pub label: String,
    /// `5 of 6`.
    pub count: String,
    /// The value, 0 to 1.
    pub value: f64,
    /// The interval.
    pub interval: Option<(f64, f64)>,
    /// The limit it is held to.
    pub limit: Option<f64>,
}

/// Shares from 0 to 100 %, each with its interval and, where it has one, its limit.
pub(super) fn whiskers(rows: &[Whisker], label: &str) -> String {
    let draw = |width: f64| {
        let narrow = width < 500.0;
        let (left, right, row) = if narrow { (12.0, 12.0, 46.0) } else { (170.0, 90.0, 30.0) };
        let height = row * rows.len() as f64 + 34.0;
        let mut svg = Svg::new(width, height);
        let x = |share: f64| left + share.clamp(0.0, 1.0) * (width - left - right);
        let bottom = height - 24.0;
        for percent in [0.0, 25.0, 50.0, 75.0, 100.0] {
            let at = x(percent / 100.0);
            svg.line((at, 4.0), (at, bottom), "grid");
            let anchor = match percent {
                0.0 if narrow => Anchor::Start,
                100.0 if narrow => Anchor::End,
                _ => Anchor::Middle,
            };
            svg.text((at, height - 8.0), anchor, "tick", &format!("{percent:.0} %"));
        }
        for (at, r) in rows.iter().enumerate() {
            let top = row * at as f64 + 4.0;
            let y = if narrow { top + 32.0 } else { top + row / 2.0 };
            if narrow {
                svg.text((left, top + 15.0), Anchor::Start, "label", &r.label);
                svg.text((width - right, top + 15.0), Anchor::End, "count", &r.count);
            } else {
                svg.text((left - 12.0, y + 4.0), Anchor::End, "label", &r.label);
                svg.text((width - right + 12.0, y + 4.0), Anchor::Start, "count", &r.count);
            }
            if let Some((low, high)) = r.interval {
                svg.line((x(low), y), (x(high), y), "whisker");
                for end in [low, high] {
                    svg.line((x(end), y - 4.0), (x(end), y + 4.0), "whisker");
                }
            }
            if let Some(limit) = r.limit {
                svg.line((x(limit), y - 9.0), (x(limit), y + 9.0), "limit");
            }
            svg.circle((x(r.value), y), 4.5, "dot");
        }
        svg
    };
    both(draw, label)
}

/// One bar.
pub(super) struct Bar {
    /// What it is of.
    pub label: String,
    /// Its length, in whatever unit all bars share.
    pub value: f64,
    /// What stands at its end.
    pub text: String,
    /// Its class: `bar` and others of the style.
    pub class: &'static str,
}

/// Horizontal bars from zero on.
pub(super) fn bars(rows: &[Bar], label: &str) -> String {
    let most = rows.iter().map(|row| row.value).fold(0.0, f64::max).max(f64::MIN_POSITIVE);
    let draw = |width: f64| {
        let narrow = width < 500.0;
        let (left, right, row) = if narrow { (12.0, 12.0, 44.0) } else { (170.0, 150.0, 28.0) };
        let mut svg = Svg::new(width, row * rows.len() as f64 + 8.0);
        let scale = (width - left - right) / most;
        for (at, r) in rows.iter().enumerate() {
            let top = row * at as f64 + 4.0;
            let (y, thick) = if narrow { (top + 22.0, 14.0) } else { (top + 5.0, 16.0) };
            let length = (r.value * scale).max(if r.value > 0.0 { 1.0 } else { 0.0 });
            if narrow {
                svg.text((left, top + 15.0), Anchor::Start, "label", &r.label);
                svg.text((width - right, top + 15.0), Anchor::End, "count", &r.text);
            } else {
                svg.text((left - 12.0, y + 12.0), Anchor::End, "label", &r.label);
                svg.text((left + length + 8.0, y + 12.0), Anchor::Start, "count", &r.text);
            }
            svg.line((left, top), (left, top + row), "axis");
            svg.rect((left, y), (length, thick), r.class);
        }
        svg
    };
    both(draw, label)
}

/// A line over a share.
pub(super) struct Series {
    /// Its name, at its beginning.
    pub name: &'static str,
    /// Class of the line: `first` is solid, `second` dashed.
    pub class: &'static str,
    /// Points, ascending: the value holds from each x to the next.
    pub points: Vec<(f64, f64)>,
}

/// A single point.
pub(super) struct Mark {
    /// Where.
    pub at: (f64, f64),
    /// Its class, with the class of the line that it goes with.
    pub class: &'static str,
}

/// Step lines over 0 to `x_max`, both axes shares, with a vertical line at `chosen`.
pub(super) fn steps(
    series: &[Series],
    marks: &[Mark],
    chosen: f64,
    x_max: f64,
    label: &str,
) -> String {
    let draw = |width: f64| {
        let narrow = width < 500.0;
        let (left, right, top, bottom) =
            if narrow { (36.0, 14.0, 26.0, 40.0) } else { (52.0, 24.0, 28.0, 44.0) };
        let height = if narrow { 250.0 } else { 300.0 };
        let mut svg = Svg::new(width, height);
        let x = |value: f64| left + (value / x_max).clamp(0.0, 1.0) * (width - left - right);
        let y = |value: f64| top + (1.0 - value.clamp(0.0, 1.0)) * (height - top - bottom);
        for tick in [0.0, 0.25, 0.5, 0.75, 1.0] {
            svg.line((left, y(tick)), (width - right, y(tick)), "grid");
            svg.text((left - 6.0, y(tick) + 4.0), Anchor::End, "tick", &format!("{tick:.2}"));
        }
        let step = if x_max > 0.5 { 0.2 } else { 0.1 };
        let ticks = (0..).map(|at| f64::from(at) * step).take_while(|at| *at <= x_max + 1e-9);
        for tick in ticks {
            svg.text(
                (x(tick), height - bottom + 18.0),
                Anchor::Middle,
                "tick",
                &format!("{tick:.1}"),
            );
        }
        svg.text((x(x_max / 2.0), height - 6.0), Anchor::Middle, "tick", "minimum score");
        svg.line((x(chosen), top - 6.0), (x(chosen), y(0.0)), "limit");
        svg.text(
            (x(chosen) + 4.0, top - 10.0),
            Anchor::Start,
            "tick",
            &format!("in force: {chosen}"),
        );
        let mut taken: Vec<f64> = Vec::new();
        for line in series {
            let mut path = Vec::with_capacity(line.points.len() * 2);
            for (at, point) in line.points.iter().enumerate() {
                path.push((x(point.0), y(point.1)));
                let next = line.points.get(at + 1).map_or(x_max, |next| next.0);
                path.push((x(next), y(point.1)));
            }
            svg.path(&path, &format!("series {}", line.class));
            // The first name stands above its line, the others below theirs.
            let first = line.points.first().map_or(0.0, |point| y(point.1));
            let mut above = if taken.is_empty() { first - 7.0 } else { first + 17.0 };
            while taken.iter().any(|other| (other - above).abs() < 14.0) {
                above += 15.0;
            }
            taken.push(above);
            svg.text(
                (left + 6.0, above),
                Anchor::Start,
                &format!("name {}", line.class),
                line.name,
            );
        }
        for mark in marks {
            svg.diamond((x(mark.at.0), y(mark.at.1)), 6.0, &format!("mark {}", mark.class));
        }
        svg
    };
    both(draw, label)
}

/// How often each size occurs, over a logarithmic axis of microseconds, with lines at percentiles.
pub(super) fn histogram(
    counts: &[(f64, u64)],
    lines: &[(String, f64)],
    time: impl Fn(f64) -> String,
    label: &str,
) -> String {
    let sizes = || counts.iter().map(|(us, _)| us.max(0.001));
    let (least, most) = (sizes().fold(f64::INFINITY, f64::min), sizes().fold(0.0, f64::max));
    if counts.is_empty() {
        return String::new();
    }
    let (low, high) = ((least * 0.9).log10(), (most * 1.1).log10());
    let draw = |width: f64| {
        let narrow = width < 500.0;
        let (left, right, top, bottom) = (14.0, 14.0, 20.0 + 15.0 * lines.len() as f64, 26.0);
        let height = if narrow { 230.0 } else { 250.0 };
        let bins = if narrow { 28 } else { 56 };
        let mut svg = Svg::new(width, height);
        let x =
            |us: f64| left + (us.max(0.001).log10() - low) / (high - low) * (width - left - right);
        let mut filled = vec![0_u64; bins];
        for (us, count) in counts {
            let share = (us.max(0.001).log10() - low) / (high - low);
            filled[((share * bins as f64) as usize).min(bins - 1)] += count;
        }
        let fullest = filled.iter().copied().max().unwrap_or(1).max(1) as f64;
        let floor = height - bottom;
        let wide = (width - left - right) / bins as f64;
        for (at, count) in filled.iter().enumerate().filter(|(_, count)| **count > 0) {
            let tall = ((*count as f64) / fullest * (floor - top)).max(1.5);
            svg.rect((left + wide * at as f64 + 0.5, floor - tall), (wide - 1.0, tall), "bar");
        }
        svg.line((left, floor), (width - right, floor), "axis");
        let places = if narrow { 3 } else { 5 };
        for at in 0..places {
            let share = f64::from(at) / f64::from(places - 1);
            let us = 10_f64.powf(low + share * (high - low));
            let anchor = match at {
                0 => Anchor::Start,
                at if at == places - 1 => Anchor::End,
                _ => Anchor::Middle,
            };
            svg.text((x(us), height - 8.0), anchor, "tick", &time(us));
        }
        for (at, (name, us)) in lines.iter().enumerate() {
            let y = 14.0 + 15.0 * at as f64;
            svg.line((x(*us), y - 10.0), (x(*us), floor), "limit");
            let (anchor, shift) =
                if x(*us) > width * 0.6 { (Anchor::End, -5.0) } else { (Anchor::Start, 5.0) };
            svg.text((x(*us) + shift, y), anchor, "label", name);
        }
        svg
    };
    both(draw, label)
}
