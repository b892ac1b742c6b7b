//! The people whom a target of adoption counts, with the days on which they belong.

use std::collections::HashMap;
use std::fs;
use std::path::Path;

use serde::Deserialize;
use serde_saphyr::Spanned;
use time::{Date, Duration, Month, UtcOffset};

use crate::error::{Error, Result, complaint};
use crate::trace::log::pseudonym;

/// Where the form is described.
const FORM: &str = "the form is described in evals/README.md, \"Adoption\"";

/// One stay of a person in the group.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stay {
    /// The person's id in the usage log.
    pub id: String,
    /// The first day; `None` is always.
    pub from: Option<Date>,
    /// The last day, that day included; `None` is still.
    pub to: Option<Date>,
}

impl Stay {
    /// Whether it shares a day with `first..=last`.
    fn meets(&self, first: Date, last: Date) -> bool {
        self.from.is_none_or(|from| from <= last) && self.to.is_none_or(|to| to >= first)
    }
}

/// The group.
#[derive(Debug, Clone, PartialEq)]
pub struct Roster {
    /// What the group is called.
    pub group: String,
    /// The day on which the system was opened to it; its ISO week is week 1.
    pub launch: Date,
    /// The offset from UTC at which its days and weeks begin, all year round.
    pub offset: UtcOffset,
    /// The stays, in the order of the file. A person who left and came back has two.
    pub stays: Vec<Stay>,
    /// Ids that are no people (tests, services), with the reason.
    pub excluded: Vec<(String, String)>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    group: String,
    launch: Spanned<String>,
    utc_offset: Spanned<String>,
    people: Vec<Spanned<Written>>,
    #[serde(default)]
    excluded: Vec<Spanned<WrittenExcluded>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Written {
    id: String,
    from: Option<String>,
    to: Option<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct WrittenExcluded {
    id: String,
    why: String,
}

/// The day written as YYYY-MM-DD.
pub fn day(written: &str) -> Option<Date> {
    let mut parts = written.trim().split('-');
    let (year, month, day) = (parts.next()?, parts.next()?, parts.next()?);
    if parts.next().is_some() || (year.len(), month.len(), day.len()) != (4, 2, 2) {
        return None;
    }
    let month = Month::try_from(month.parse::<u8>().ok()?).ok()?;
    // Far enough from the ends of the calendar that weeks can be added and taken away.
    let year = year.parse().ok().filter(|year| (1970..=5000).contains(year))?;
    Date::from_calendar_date(year, month, day.parse().ok()?).ok()
}

/// The offset written as `+02:00` or `-05:30`.
fn offset(written: &str) -> Option<UtcOffset> {
    let (sign, rest) = match written.split_at_checked(1)? {
        ("+", rest) => (1, rest),
        ("-", rest) => (-1, rest),
        _ => return None,
    };
    let (hours, minutes) = rest.split_once(':')?;
    if (hours.len(), minutes.len()) != (2, 2) {
        return None;
    }
    let (hours, minutes): (i8, i8) = (hours.parse().ok()?, minutes.parse().ok()?);
    if !(0..=14).contains(&hours) || !(0..60).contains(&minutes) {
        return None;
    }
    UtcOffset::from_hms(sign * hours, sign * minutes, 0).ok()
}

impl Roster {
    /// Reads `path`: unknown keys, days that do not exist, stays of one person that overlap, and an id
    /// that is both a person and excluded are errors with their lines.
    pub fn read(path: &Path) -> Result<Self> {
        let text = fs::read_to_string(path).map_err(|e| match e.kind() {
            std::io::ErrorKind::NotFound => {
                let help = format!("write one, or name one with `--roster FILE`; {FORM}");
                Error::input(path, None, "there is no roster here, so no share of anybody", help)
            }
            _ => Error::reading("reading the roster", path, e),
        })?;
        let options = serde_saphyr::options! { with_snippet: false, strict_booleans: true };
        let file: File = serde_saphyr::from_str_with_options(&text, options).map_err(|fault| {
            let line = fault.location().map(|place| place.line());
            let (problem, meant) = complaint(&fault.to_string(), "");
            Error::input(path, line, problem, meant.as_deref().unwrap_or(FORM))
        })?;
        let fault = |line: u64, problem: String| Err(Error::input(path, Some(line), problem, FORM));
        let Some(launch) = day(&file.launch.value) else {
            let problem = format!("launch is `{}`; expected YYYY-MM-DD", file.launch.value);
            return fault(file.launch.referenced.line(), problem);
        };
        let Some(offset) = offset(&file.utc_offset.value) else {
            let problem = format!("utc_offset is `{}`; expected \"+01:00\"", file.utc_offset.value);
            return fault(file.utc_offset.referenced.line(), problem);
        };
        let mut stays: Vec<Stay> = Vec::with_capacity(file.people.len());
        for written in file.people {
            let line = written.referenced.line();
            let stay = match stay(written.value) {
                Ok(stay) => stay,
                Err(problem) => return fault(line, problem),
            };
            let (first, last) = (stay.from.unwrap_or(Date::MIN), stay.to.unwrap_or(Date::MAX));
            if stays.iter().any(|known| known.id == stay.id && known.meets(first, last)) {
                return fault(line, format!("`{}` stands here twice for the same days", stay.id));
            }
            stays.push(stay);
        }
        if stays.is_empty() {
            return Err(Error::input(path, None, "it holds no people", FORM));
        }
        let mut excluded = Vec::with_capacity(file.excluded.len());
        for written in file.excluded {
            let id = written.value.id;
            if stays.iter().any(|stay| stay.id == id) {
                let line = written.referenced.line();
                return fault(line, format!("`{id}` is among the people and excluded"));
            }
            excluded.push((id, written.value.why));
        }
        Ok(Self { group: file.group, launch, offset, stays, excluded })
    }

    /// Ids of the people who belong to the group on some day of `first..=last`, without repeats.
    pub fn members(&self, first: Date, last: Date) -> Vec<&str> {
        let here = self.stays.iter().filter(|stay| stay.meets(first, last));
        let mut ids: Vec<&str> = here.map(|stay| stay.id.as_str()).collect();
        ids.sort_unstable();
        ids.dedup();
        ids
    }

    /// What each id in a log stands for, its pseudonym under `key` with it.
    pub(super) fn names(&self, key: Option<&str>) -> HashMap<String, &str> {
        let ids = self.stays.iter().map(|stay| &stay.id);
        let ids = ids.chain(self.excluded.iter().map(|(id, _)| id));
        let mut names = HashMap::new();
        for id in ids {
            names.insert(id.clone(), id.as_str());
            if let Some(key) = key {
                names.insert(pseudonym(id, key), id.as_str());
            }
        }
        names
    }

    /// The Monday of week `number` after launch, from 1.
    pub fn week(&self, number: i64) -> Date {
        monday(self.launch) + Duration::weeks(number - 1)
    }
}

/// The Monday of the ISO week of `date`.
pub(super) fn monday(date: Date) -> Date {
    date - Duration::days(i64::from(date.weekday().number_days_from_monday()))
}

fn stay(written: Written) -> std::result::Result<Stay, String> {
    let id = written.id;
    if id.trim().is_empty() {
        return Err("a person needs an id".to_owned());
    }
    let read = |name: &str, written: Option<String>| match written {
        None => Ok(None),
        Some(text) => day(&text)
            .map(Some)
            .ok_or_else(|| format!("{name} of `{id}` is `{text}`; expected YYYY-MM-DD")),
    };
    let (from, to) = (read("from", written.from)?, read("to", written.to)?);
    if let (Some(from), Some(to)) = (from, to)
        && to < from
    {
        return Err(format!("`{id}` leaves on {to}, before {from}"));
    }
    Ok(Stay { id, from, to })
}
