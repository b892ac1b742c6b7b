//! What differs from run to run, or from machine to machine, by a name in brackets.

/// Lengths of the hashes that are shown: short form, xxh3, half and whole blake3.
const HASH_LENGTHS: [usize; 4] = [12, 16, 32, 64];

/// Decimals above which a number is rounded: more come from JSON alone, and the last of them depend
/// on the machine.
const DECIMALS_MAX: usize = 6;

/// `text` with folders, hashes, times, sizes and process numbers replaced.
pub fn filter(text: &str, folders: &[&str]) -> String {
    let mut text = text.to_owned();
    for folder in folders {
        text = text.replace(folder, "[DIR]");
    }
    let mut out = String::with_capacity(text.len());
    for line in text.split_inclusive('\n') {
        out.push_str(&numbers(&keyed(&hashes(&moments(&days(line))))));
    }
    out
}

/// The day of a ledger's entry, which is the day of the test.
fn days(line: &str) -> String {
    const KEY: &str = "\"date\":\"";
    let Some((before, after)) = line.split_once(KEY) else { return line.to_owned() };
    let Some((_, rest)) = after.split_once('"') else { return line.to_owned() };
    format!("{before}{KEY}[DAY]\"{}", days(rest))
}

/// Dates with a time of day, `2026-11-30 23:05:12 UTC`.
fn moments(line: &str) -> String {
    const FORM: &[u8] = b"0000-00-00 00:00:00 UTC";
    let mut out = String::new();
    let mut rest = line;
    while let Some(first) = rest.chars().next() {
        let is = |(found, form): (&u8, &u8)| {
            if *form == b'0' { found.is_ascii_digit() } else { found == form }
        };
        if rest.len() >= FORM.len() && rest.as_bytes().iter().zip(FORM).all(is) {
            out.push_str("[MOMENT]");
            rest = &rest[FORM.len()..];
        } else {
            out.push(first);
            rest = &rest[first.len_utf8()..];
        }
    }
    out
}

/// Runs of small hexadecimal digits of a hash's length.
fn hashes(line: &str) -> String {
    let mut out = String::new();
    let mut rest = line;
    while !rest.is_empty() {
        let word = rest.find(|c: char| !c.is_ascii_alphanumeric()).unwrap_or(rest.len());
        if word == 0 {
            let one = rest.chars().next().map_or(1, char::len_utf8);
            out.push_str(&rest[..one]);
            rest = &rest[one..];
            continue;
        }
        let hex = rest[..word].bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f'));
        let hash = hex && HASH_LENGTHS.contains(&word) && !out.ends_with('.');
        out.push_str(if hash { "[HASH]" } else { &rest[..word] });
        rest = &rest[word..];
    }
    out
}

/// A line of JSON whose key names the unit of a time or a size.
fn keyed(line: &str) -> String {
    let units = [("_us\": ", "[TIME]"), ("_ms\": ", "[TIME]"), ("_bytes\": ", "[SIZE]")];
    for (unit, name) in units {
        if let Some(at) = line.find(unit) {
            let value = at + unit.len();
            let end = line[value..].find([',', '\n']).map_or(line.len(), |end| value + end);
            return format!("{}{name}{}", &line[..value], &line[end..]);
        }
    }
    line.to_owned()
}

/// Numbers with a unit of time or size, with the blanks that align them; `process 17`; long decimals.
fn numbers(line: &str) -> String {
    let mut out = String::new();
    let mut rest = line;
    while let Some(first) = rest.chars().next() {
        let inside = out.ends_with(|c: char| c.is_alphanumeric() || c == '.');
        if !first.is_ascii_digit() || inside {
            out.push(first);
            rest = &rest[first.len_utf8()..];
            continue;
        }
        let whole = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
        let decimals = rest[whole..]
            .strip_prefix('.')
            .map_or(0, |tail| tail.find(|c: char| !c.is_ascii_digit()).unwrap_or(tail.len()));
        let end = if decimals == 0 { whole } else { whole + 1 + decimals };
        let (number, after) = rest.split_at(end);
        let unit = after.strip_prefix(' ').unwrap_or("");
        let unit = &unit[..unit.find(|c: char| !c.is_alphabetic()).unwrap_or(unit.len())];
        let name = match unit {
            "µs" | "ms" | "s" if decimals > 0 => Some("[TIME]"),
            "kB" | "MB" | "GB" if decimals > 0 => Some("[SIZE]"),
            "B" => Some("[SIZE]"),
            _ => None,
        };
        if let Some(name) = name {
            out.truncate(out.trim_end_matches(' ').len() + 1);
            out.push_str(name);
            rest = &after[1 + unit.len()..];
            continue;
        }
        if after.starts_with(" requests a second") {
            out.push_str("[RATE]");
        } else if out.ends_with("process ") {
            out.push_str("[PID]");
        } else if out.ends_with(", of which ") {
            out.push_str("[TIME]");
        } else if decimals > DECIMALS_MAX {
            let value: f64 = number.parse().unwrap();
            out.push_str(&format!("{value:.4}"));
        } else {
            out.push_str(number);
        }
        rest = after;
    }
    out
}

#[test]
fn what_changes_is_named_and_nothing_else() {
    let cases = [
        ("in /tmp/x/a.md:3\n", "in [DIR]/a.md:3\n"),
        ("corpus 43d972667062, E-417 for 10 s", "corpus [HASH], E-417 for 10 s"),
        ("static-256@0d118bfe668edf26", "static-256@[HASH]"),
        ("embed          30.7 µs     0 in", "embed [TIME]     0 in"),
        ("3.2 ms (read 1.41 s, cut 0.0 ms)", "[TIME] (read [TIME], cut [TIME])"),
        ("passages, 229.3 kB on disk", "passages, [SIZE] on disk"),
        ("  \"size_bytes\": 17,\n", "  \"size_bytes\": [SIZE],\n"),
        ("0.004 s, 2427 requests a second", "[TIME], [RATE] requests a second"),
        ("process 4711 is building", "process [PID] is building"),
        ("since 2026-11-30 23:05:12 UTC; wait", "since [MOMENT]; wait"),
        ("\"score\": 0.68912345678,", "\"score\": 0.6891,"),
        ("0.689123456789 atlas", "0.6891 atlas"),
        ("total       481.3 µs, of which 3.5 between", "total [TIME], of which [TIME] between"),
        (" 1  0.745  WARR-R2-2-p0", " 1  0.745  WARR-R2-2-p0"),
    ];
    for (written, shown) in cases {
        assert_eq!(filter(written, &["/tmp/x"]), shown);
    }
}
