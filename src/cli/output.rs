//! Standard output, gathered and written once; standard error for everything else.

use std::io::{self, IsTerminal as _, Write as _};

/// What goes to standard output.
#[derive(Debug)]
pub struct Output(String);

impl Output {
    /// Nothing yet.
    pub const fn new() -> Self {
        Self(String::new())
    }

    /// Appends a line.
    pub fn line(&mut self, text: impl AsRef<str>) {
        self.0.push_str(text.as_ref());
        self.0.push('\n');
    }

    /// Appends text as it is.
    pub fn text(&mut self, text: impl AsRef<str>) {
        self.0.push_str(text.as_ref());
    }

    /// Appends a JSON value.
    pub fn json(&mut self, value: &serde_json::Value) {
        self.line(serde_json::to_string_pretty(value).unwrap_or_default());
    }

    /// Writes what was gathered.
    pub fn flush(&mut self) -> io::Result<()> {
        let mut out = io::stdout().lock();
        out.write_all(self.0.as_bytes())?;
        self.0.clear();
        out.flush()
    }
}

/// Says something on standard error.
pub fn note(text: &str) {
    let _ = writeln!(io::stderr().lock(), "{text}");
}

/// Columns of the terminal that standard output goes to, or those that COLUMNS demands; 100 otherwise.
pub fn width() -> usize {
    let demanded = std::env::var("COLUMNS").ok().and_then(|columns| columns.parse().ok());
    if let Some(columns) = demanded {
        return usize::clamp(columns, 40, 160);
    }
    if !io::stdout().is_terminal() {
        return 100;
    }
    terminal_size::terminal_size().map_or(100, |(columns, _)| usize::from(columns.0).clamp(40, 160))
}

/// `text` on one line, cut to `columns` with an ellipsis.
pub fn one_line(text: &str, columns: usize) -> String {
    let flat: Vec<&str> = text.split_whitespace().collect();
    let flat = flat.join(" ");
    if flat.chars().count() <= columns {
        return flat;
    }
    let mut cut: String = flat.chars().take(columns.saturating_sub(1)).collect();
    cut.truncate(cut.trim_end().len());
    cut.push('…');
    cut
}

/// Today's date in UTC, YYYY-MM-DD.
pub fn today() -> String {
    time::OffsetDateTime::now_utc().date().to_string()
}

/// The day in UTC of a moment in seconds since 1970, YYYY-MM-DD.
pub fn day(at_s: f64) -> String {
    let at = time::OffsetDateTime::from_unix_timestamp(at_s as i64).ok();
    at.map_or_else(|| "no date".to_owned(), |at| at.date().to_string())
}

/// Bytes for people: `8.6 MB`.
pub fn bytes(n: u64) -> String {
    let n = n as f64;
    match n {
        _ if n < 1e3 => format!("{n:.0} B"),
        _ if n < 1e6 => format!("{:.1} kB", n / 1e3),
        _ if n < 1e9 => format!("{:.1} MB", n / 1e6),
        _ => format!("{:.2} GB", n / 1e9),
    }
}

/// Milliseconds for people: `3.2 ms`, `1.41 s`.
pub fn duration(ms: f64) -> String {
    if ms < 1000.0 { format!("{ms:.1} ms") } else { format!("{:.2} s", ms / 1000.0) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn today_is_a_date() {
        assert!(atlas::corpus::Date::parse(&today()).is_some(), "{}", today());
    }

    #[test]
    fn a_line_is_cut_with_an_ellipsis() {
        assert_eq!(one_line("a  b\nc", 10), "a b c");
        assert_eq!(one_line("abcdef", 4), "abc…");
    }
}
