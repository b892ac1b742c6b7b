//! Numbers as a sheet shows them.

/// How the number of a cell is shown.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Shape {
    /// As it is stored, with at most 15 digits.
    General,
    /// As text, whatever is in it.
    Text,
    Number {
        decimals: usize,
        thousands: bool,
        /// 2 for percent.
        shift: i32,
        before: String,
        after: String,
    },
    Scientific {
        decimals: usize,
    },
    Date {
        day: bool,
        time: bool,
        seconds: bool,
    },
    /// Hours that go on beyond 24.
    Elapsed,
}

/// The shape of one of the formats that every program knows by its number.
pub(super) fn built_in(id: u32) -> Shape {
    let number = |decimals: usize, thousands: bool, shift: i32| Shape::Number {
        decimals,
        thousands,
        shift,
        before: String::new(),
        after: if shift == 2 { "%".to_owned() } else { String::new() },
    };
    match id {
        1 => number(0, false, 0),
        2 => number(2, false, 0),
        3 | 5 | 6 | 37 | 38 | 41 | 42 => number(0, true, 0),
        4 | 7 | 8 | 39 | 40 | 43 | 44 => number(2, true, 0),
        9 => number(0, false, 2),
        10 => number(2, false, 2),
        11 | 48 => Shape::Scientific { decimals: if id == 11 { 2 } else { 1 } },
        14..=17 | 27..=31 | 34..=36 | 50..=58 => {
            Shape::Date { day: true, time: false, seconds: false }
        }
        18 | 20 => Shape::Date { day: false, time: true, seconds: false },
        19 | 21 | 32 | 33 | 45 | 47 => Shape::Date { day: false, time: true, seconds: true },
        22 => Shape::Date { day: true, time: true, seconds: false },
        46 => Shape::Elapsed,
        49 => Shape::Text,
        _ => Shape::General,
    }
}

/// The shape that a format code such as `#,##0.00 "kg"` asks for. Of its parts for positive,
/// negative and other values the first counts.
pub(super) fn shape(code: &str) -> Shape {
    let Parsed { bare, before, after, elapsed } = parse(code);
    if elapsed {
        return Shape::Elapsed;
    }
    let low = bare.to_lowercase();
    if low.trim() == "@" {
        return Shape::Text;
    }
    if low.contains("general") || low.trim().is_empty() {
        return Shape::General;
    }
    let is_number = bare.contains(['0', '#', '?']);
    let has = |letter: char| low.contains(letter);
    // `m` is a month beside days and years, and a minute beside hours and seconds.
    let (day, time) = (has('d') || has('y'), has('h') || has('s'));
    let month_alone = has('m') && !day && !time;
    if day || time || month_alone {
        return Shape::Date { day: day || month_alone, time, seconds: has('s') };
    }
    if !is_number {
        return Shape::General;
    }
    let decimals = bare
        .split_once('.')
        .map_or(0, |(_, rest)| rest.chars().take_while(|c| matches!(c, '0' | '#' | '?')).count());
    if has('e') {
        return Shape::Scientific { decimals };
    }
    if bare.contains('/') {
        return Shape::General;
    }
    let shift = if bare.contains('%') { 2 } else { 0 };
    let whole = bare.split('.').next().unwrap_or_default();
    let inside = whole.trim_end_matches(|c| c != '0' && c != '#' && c != '?');
    Shape::Number { decimals, thousands: inside.contains(','), shift, before, after }
}

struct Parsed {
    /// The first part without what is shown as it stands.
    bare: String,
    /// What is shown before and behind the number.
    before: String,
    after: String,
    elapsed: bool,
}

fn parse(code: &str) -> Parsed {
    let mut parsed =
        Parsed { bare: String::new(), before: String::new(), after: String::new(), elapsed: false };
    let mut letters = code.chars();
    while let Some(letter) = letters.next() {
        let literal = match letter {
            ';' => break,
            '"' => letters.by_ref().take_while(|c| *c != '"').collect(),
            '\\' => letters.next().map(String::from).unwrap_or_default(),
            // The width of a letter, and a letter repeated to fill the cell.
            '_' | '*' => {
                letters.next();
                String::new()
            }
            '[' => {
                let inside: String = letters.by_ref().take_while(|c| *c != ']').collect();
                let low = inside.to_lowercase();
                parsed.elapsed |=
                    !low.is_empty() && low.bytes().all(|b| matches!(b, b'h' | b'm' | b's'));
                let sign = inside.strip_prefix('$').and_then(|rest| rest.split('-').next());
                sign.unwrap_or_default().to_owned()
            }
            '$' | '€' | '£' | '¥' | ' ' => letter.to_string(),
            '%' => {
                parsed.bare.push('%');
                letter.to_string()
            }
            _ => {
                parsed.bare.push(letter);
                continue;
            }
        };
        let shown = if parsed.bare.contains(['0', '#', '?']) {
            &mut parsed.after
        } else {
            &mut parsed.before
        };
        shown.push_str(&literal);
    }
    parsed
}

/// `value` as `shape` shows it; `from_1904` is the other of the two calendars of sheets.
pub(super) fn shown(value: f64, shape: &Shape, from_1904: bool) -> String {
    if !value.is_finite() {
        return value.to_string();
    }
    match shape {
        Shape::General | Shape::Text => general(value),
        Shape::Scientific { decimals } => scientific(value, *decimals),
        Shape::Number { decimals, thousands, shift, before, after } => {
            let value = value * 10_f64.powi(*shift);
            // A format never asks for more than the 15 digits that a number has.
            let digits = format!("{:.*}", (*decimals).min(15), value.abs());
            let is_zero = digits.bytes().all(|b| b == b'0' || b == b'.');
            let sign = if value < 0.0 && !is_zero { "-" } else { "" };
            let digits = if *thousands { grouped(&digits) } else { digits };
            format!("{sign}{before}{digits}{after}")
        }
        Shape::Elapsed => {
            let seconds = (value.abs() * 86_400.0).round();
            let (hours, rest) = ((seconds / 3600.0).floor(), seconds % 3600.0);
            let sign = if value < 0.0 { "-" } else { "" };
            format!("{sign}{hours}:{:02}:{:02}", (rest / 60.0).floor(), rest % 60.0)
        }
        Shape::Date { day, time, seconds } => {
            date(value, *day, *time, *seconds, from_1904).unwrap_or_else(|| general(value))
        }
    }
}

/// A number with at most 15 significant digits, which is what sheets keep; only what has more than 20
/// digits, or begins after nine zeros, has an exponent: long numbers are names that are looked for.
fn general(value: f64) -> String {
    if value == 0.0 {
        return "0".to_owned();
    }
    let rounded: f64 = format!("{value:.14e}").parse().unwrap_or(value);
    if (1e-9..1e20).contains(&rounded.abs()) {
        return rounded.to_string();
    }
    let text = format!("{rounded:e}");
    match text.split_once('e') {
        Some((digits, power)) => exponent(digits, power),
        None => text,
    }
}

fn scientific(value: f64, decimals: usize) -> String {
    let text = format!("{value:.*e}", decimals.min(15));
    match text.split_once('e') {
        Some((digits, power)) => exponent(digits, power),
        None => text,
    }
}

/// `1.5E+09`.
fn exponent(digits: &str, power: &str) -> String {
    let (sign, power) = power.strip_prefix('-').map_or(('+', power), |power| ('-', power));
    format!("{digits}E{sign}{power:0>2}")
}

fn grouped(digits: &str) -> String {
    let (whole, rest) = digits.split_at(digits.find('.').unwrap_or(digits.len()));
    let mut out = String::new();
    for (at, digit) in whole.chars().enumerate() {
        if at > 0 && (whole.len() - at).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out + rest
}

/// A day as `YYYY-MM-DD`, a time as `HH:MM` or `HH:MM:SS`: one form for every language, so that it is
/// found by it. `None` for what is no day of the calendar.
fn date(value: f64, day: bool, time: bool, seconds: bool, from_1904: bool) -> Option<String> {
    if !(0.0..2_958_466.0).contains(&value) {
        return None;
    }
    let step = if seconds || !time { 1.0 } else { 60.0 };
    let total = (value * 86_400.0 / step).round() * step;
    let (days, rest) = ((total / 86_400.0).floor(), total % 86_400.0);
    let mut parts = Vec::new();
    if day {
        // Sheets that count from 1900 have a 29 February in that year, which was none.
        let since_1970 = if from_1904 {
            days - 24_107.0
        } else if days < 60.0 {
            days - 25_568.0
        } else {
            days - 25_569.0
        };
        let (year, month, day) = civil(since_1970 as i64);
        parts.push(format!("{year:04}-{month:02}-{day:02}"));
    }
    if time {
        let (hours, minutes) = ((rest / 3600.0).floor(), (rest % 3600.0 / 60.0).floor());
        let clock = format!("{hours:02}:{minutes:02}");
        parts.push(if seconds { format!("{clock}:{:02}", rest % 60.0) } else { clock });
    }
    Some(parts.join(" "))
}

/// Year, month and day of a day counted from 1970-01-01 (Howard Hinnant, "chrono-compatible low-level
/// date algorithms", `civil_from_days`).
fn civil(days: i64) -> (i64, i64, i64) {
    let shifted = days + 719_468;
    let era = shifted.div_euclid(146_097);
    let of_era = shifted.rem_euclid(146_097);
    let year = (of_era - of_era / 1460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year + year / 4 - year / 100);
    let month = (5 * of_year + 2) / 153;
    let day = of_year - (153 * month + 2) / 5 + 1;
    let month = if month < 10 { month + 3 } else { month - 9 };
    (year + era * 400 + i64::from(month <= 2), month, day)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_shown_as_the_sheet_shows_them() {
        let cases = [
            (1234.5, "General", "1234.5"),
            (0.1 + 0.2, "General", "0.3"),
            (1e20, "General", "1E+20"),
            (1_234_567_890_123_456.0, "General", "1234567890123460"),
            (1234.5, "0", "1234"),
            (1235.5, "0.00", "1235.50"),
            (-1_234_567.891, "#,##0.00", "-1,234,567.89"),
            (0.256, "0.0%", "25.6%"),
            (0.256, "0 %;[Red]-0 %", "26 %"),
            (12.0, "0 \"kg\"", "12 kg"),
            (99.5, "[$€-407] #,##0.00", "€ 99.50"),
            (5.0, "$#,##0_);($#,##0)", "$5"),
            (-0.001, "0.0", "0.0"),
            (12_345.0, "0.00E+00", "1.23E+04"),
            (45_292.0, "dd.mm.yyyy", "2024-01-01"),
            (45_292.75, "yyyy-mm-dd hh:mm", "2024-01-01 18:00"),
            (0.5, "h:mm:ss AM/PM", "12:00:00"),
            (1.25, "[h]:mm:ss", "30:00:00"),
            (59.0, "d/m/yy", "1900-02-28"),
            (61.0, "d/m/yy", "1900-03-01"),
            (-3.0, "d/m/yy", "-3"),
            (45_292.0, "mmm", "2024-01-01"),
            (7.0, "@", "7"),
            (0.5, "# ?/?", "0.5"),
        ];
        for (value, code, wanted) in cases {
            assert_eq!(shown(value, &shape(code), false), wanted, "{value} as {code}");
        }
        assert_eq!(shown(0.0, &built_in(14), true), "1904-01-01");
        assert_eq!(shown(0.5, &built_in(9), false), "50%");
        assert_eq!(shown(0.999_999, &built_in(20), false), "24:00".replace("24", "00"));
    }
}
