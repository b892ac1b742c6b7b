//! Glyphs to lines of text.

use unicode_normalization::UnicodeNormalization;

use super::extract::Glyph;

/// A gap that parts words, as a share of the height of the font. The space of a justified line gets
/// as narrow as 0.2; letters of a word that are pushed together or apart stay below 0.1.
const WORD_GAP: f64 = 0.17;

/// A gap that parts columns, in heights of the font.
const COLUMN_GAP: f64 = 1.8;

/// How far a raised or lowered sign may stand from its line, as a share of the height.
const SAME_LINE: f64 = 0.45;

/// Text on one base line.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Line {
    pub(super) text: String,
    /// Along the base line: where it begins and ends, in points.
    pub(super) start: f64,
    pub(super) end: f64,
    /// Across it, upwards.
    pub(super) height: f64,
    /// Of the font that most of it is set in.
    pub(super) size: f64,
    /// The direction in whole degrees, 0 to 359.
    pub(super) angle: u16,
    /// Whether it has gaps as between columns.
    pub(super) is_row: bool,
}

/// The lines of a page in the order in which they are read.
pub(super) fn lines(glyphs: &[Glyph]) -> Vec<Line> {
    // By whole degrees, each turned back by the angle of its first glyph.
    let mut angles: Vec<(u16, f64)> = Vec::new();
    for glyph in glyphs.iter().filter(|glyph| !glyph.text.trim().is_empty()) {
        let whole = whole_angle(glyph.angle);
        if angles.iter().all(|(known, _)| *known != whole) {
            angles.push((whole, glyph.angle));
        }
    }
    let mut all = Vec::new();
    for (whole, angle) in angles {
        let own: Vec<Placed> = glyphs
            .iter()
            .filter(|glyph| whole_angle(glyph.angle) == whole)
            .map(|glyph| Placed::of(glyph, angle))
            .collect();
        all.extend(rows(in_order(runs(&own, whole))));
    }
    for line in &mut all {
        line.text = tidied(&line.text);
    }
    all.retain(|line| !line.text.is_empty());
    all
}

fn whole_angle(angle: f64) -> u16 {
    angle.round() as u16 % 360
}

/// A glyph in the directions of its line.
struct Placed<'g> {
    text: &'g str,
    along: f64,
    up: f64,
    advance: f64,
    size: f64,
}

impl<'g> Placed<'g> {
    fn of(glyph: &'g Glyph, angle: f64) -> Self {
        let (sin, cos) = angle.to_radians().sin_cos();
        Self {
            text: &glyph.text,
            along: glyph.x * cos + glyph.y * sin,
            up: glyph.y * cos - glyph.x * sin,
            advance: glyph.advance,
            // A font of no height would part every letter.
            size: if glyph.size > 0.1 { glyph.size } else { 10.0 },
        }
    }
}

/// What is drawn in one go along a base line.
struct Run {
    line: Line,
    /// Characters by the height of their font, to find that of most.
    sizes: Vec<(f64, usize)>,
    /// Where the last glyph begins.
    last_start: f64,
    /// Whether the last glyph is a raised digit behind a digit.
    is_raised: bool,
}

fn runs(glyphs: &[Placed<'_>], angle: u16) -> Vec<Line> {
    let mut done: Vec<Line> = Vec::new();
    let mut open: Option<Run> = None;
    for glyph in glyphs {
        if let Some(run) = &mut open {
            let gap = glyph.along - run.line.end;
            let size = run.line.size.max(glyph.size);
            let level = (glyph.up - run.line.height).abs() < SAME_LINE * size;
            // Text set twice to look bold: the same sign nearly in the same place.
            let again = (glyph.along - run.last_start).abs() < 0.1 * size
                && run.line.text.ends_with(glyph.text)
                && !glyph.text.trim().is_empty();
            if level && again {
                continue;
            }
            if level && gap > -0.6 * size && gap < COLUMN_GAP * size {
                let small = run.line.size.min(glyph.size);
                let parted = gap > WORD_GAP * small
                    && !run.line.text.ends_with(char::is_whitespace)
                    && !glyph.text.starts_with(char::is_whitespace);
                if parted {
                    run.line.text.push(' ');
                }
                run.add(glyph);
                continue;
            }
            done.extend(open.take().map(Run::close));
        }
        // A blank begins nothing: columns are often parted by blanks that are drawn.
        if !glyph.text.trim().is_empty() {
            open = Some(Run::begin(glyph, angle));
        }
    }
    done.extend(open.take().map(Run::close));
    done
}

impl Run {
    fn begin(glyph: &Placed<'_>, angle: u16) -> Self {
        let line = Line {
            text: String::new(),
            start: glyph.along,
            end: glyph.along,
            height: glyph.up,
            size: glyph.size,
            angle,
            is_row: false,
        };
        let mut run = Self { line, sizes: Vec::new(), last_start: f64::NAN, is_raised: false };
        run.add(glyph);
        run
    }

    fn add(&mut self, glyph: &Placed<'_>) {
        // A raised number behind a number is a mark of a note or a power, and no digit of it.
        let raised = glyph.size < 0.85 * self.line.size
            && glyph.up > self.line.height + 0.15 * self.line.size
            && self.line.text.ends_with(|c: char| c.is_ascii_digit())
            && glyph.text.starts_with(|c: char| c.is_ascii_digit());
        if raised && !self.is_raised {
            self.line.text.push('^');
        }
        self.is_raised = raised;
        self.line.text.push_str(glyph.text);
        if !glyph.text.trim().is_empty() {
            self.line.end = self.line.end.max(glyph.along + glyph.advance.max(0.0));
            match self.sizes.iter_mut().find(|(size, _)| (*size - glyph.size).abs() < 0.05) {
                Some((_, count)) => *count += 1,
                None => self.sizes.push((glyph.size, 1)),
            }
            // A raised sign does not move the line, a line that began with one does.
            if glyph.size > self.line.size + 0.05 {
                (self.line.size, self.line.height) = (glyph.size, glyph.up);
            }
        }
        self.last_start = glyph.along;
    }

    fn close(mut self) -> Line {
        let most = self.sizes.iter().max_by_key(|(_, count)| *count);
        self.line.size = most.map_or(self.line.size, |(size, _)| *size);
        self.line
    }
}

/// Runs in the order in which they are read.
///
/// Programs draw text in the order of reading, columns included, so that order is kept. Only where it
/// jumps upwards again and again is the page sorted, column by column as far as gaps show any.
fn in_order(runs: Vec<Line>) -> Vec<Line> {
    let ups = runs.windows(2).filter(|pair| pair[1].height > pair[0].height + pair[0].size * 2.0);
    // Two columns jump once, a page of boxes a few times.
    if runs.len() < 8 || ups.count() * 4 < runs.len() {
        return runs;
    }
    let mut runs = runs;
    runs.sort_by(|a, b| {
        let row = |line: &Line| (line.height / (line.size * 0.5)).round();
        row(b).total_cmp(&row(a)).then(a.start.total_cmp(&b.start))
    });
    runs
}

/// Joins runs that stand beside one another, as in a row of a table.
fn rows(runs: Vec<Line>) -> Vec<Line> {
    let mut rows: Vec<Line> = Vec::new();
    for run in runs {
        if let Some(last) = rows.last_mut() {
            let size = last.size.max(run.size);
            let gap = run.start - last.end;
            if (run.height - last.height).abs() < 0.3 * size && gap > -0.3 * size {
                last.text.push_str(if gap > WORD_GAP * size { "  " } else { "" });
                last.is_row |= gap > COLUMN_GAP * size;
                last.text.push_str(&run.text);
                last.end = run.end;
                continue;
            }
        }
        rows.push(run);
    }
    rows
}

/// The text of a line: ligatures and presentation forms in plain letters, no control characters and
/// signs of private use, and single spaces.
fn tidied(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '\u{FB00}'..='\u{FDFF}' | '\u{FE70}'..='\u{FEFC}' => plain.extend(c.nfkc()),
            // Signs of one font alone.
            '\u{E000}'..='\u{F8FF}' | '\u{F0000}'.. => plain.push(' '),
            c if c.is_control() || c == '\u{FFFD}' || c == '\u{FEFF}' => plain.push(' '),
            c => plain.push(c),
        }
    }
    super::super::heading::tidy(&plain)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Glyphs of `text`, each half as wide as high, from a place on.
    fn set(text: &str, x: f64, y: f64, size: f64) -> Vec<Glyph> {
        let glyph = |(place, c): (usize, char)| Glyph {
            text: c.to_string(),
            x: x + place as f64 * size / 2.0,
            y,
            advance: size / 2.0,
            size,
            angle: 0.0,
        };
        text.chars().enumerate().map(glyph).collect()
    }

    fn texts(glyphs: &[Glyph]) -> Vec<String> {
        lines(glyphs).into_iter().map(|line| line.text).collect()
    }

    #[test]
    fn gaps_make_words_and_columns_and_raised_signs_stay() {
        let mut glyphs = set("pump", 0.0, 100.0, 10.0);
        glyphs.extend(set("seal", 22.5, 100.0, 10.0));
        glyphs.extend(set("2", 43.0, 104.0, 6.0));
        glyphs.extend(set("kg", 90.0, 100.0, 10.0));
        glyphs.extend(set("next", 0.0, 88.0, 10.0));
        let found = lines(&glyphs);
        assert_eq!(texts(&glyphs), ["pump seal2 kg", "next"]);
        assert!(found[0].is_row && !found[1].is_row);
    }

    #[test]
    fn turned_text_is_read_in_its_own_direction() {
        let turned = set("up", 0.0, 0.0, 10.0).into_iter().map(|glyph| Glyph {
            x: -glyph.y,
            y: glyph.x,
            angle: 90.0,
            ..glyph
        });
        let mut glyphs = set("flat", 0.0, 50.0, 10.0);
        glyphs.extend(turned);
        assert_eq!(texts(&glyphs), ["flat", "up"]);
        assert_eq!((whole_angle(359.7), whole_angle(5.2)), (0, 5));
    }

    #[test]
    fn what_is_drawn_twice_is_read_once_and_ligatures_are_letters() {
        let mut glyphs = set("o\u{FB03}ce", 0.0, 0.0, 10.0);
        let again: Vec<Glyph> = glyphs
            .iter()
            .flat_map(|one| [one.clone(), Glyph { x: one.x + 0.2, ..one.clone() }])
            .collect();
        assert_eq!(texts(&again), ["office"]);
        glyphs.reverse();
        assert_eq!(texts(&glyphs).len(), 4);
    }
}
