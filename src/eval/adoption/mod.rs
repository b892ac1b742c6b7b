//! Who uses it, week by week: distinct people over a roster, not questions.
//!
//! Weeks are ISO weeks, Monday to Sunday, at the roster's offset from UTC. A week that the log does not
//! cover whole is marked; a week with nobody asking is a line of zeros. Requests without an asker are
//! counted apart and take no part in what is counted of people; so do accounts that are no people.
//! A share of a roster is a census and has no interval.

mod roster;

pub use roster::{Roster, Stay, day};

use std::collections::{BTreeMap, BTreeSet};

use roster::monday;
use serde::Serialize;
use time::{Date, Duration, OffsetDateTime};

use super::targets::{Target, Verdict};
use crate::trace::log::Log;

/// The week after launch that the target is about, the launch's own week being 1.
pub const TARGET_WEEK: i64 = 4;

/// What part of a log is looked at.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Window {
    /// Seconds since 1970 from which the log is whole; `None` works it out: from launch, if the first
    /// request is in the launch's week, else from the first request, since what was before may have
    /// been cut off.
    pub since_s: Option<f64>,
    /// Seconds since 1970 up to which the log reaches: now, for a live one.
    pub until_s: f64,
    /// Weeks shown, the one that holds `until_s` the last.
    pub weeks: usize,
}

/// One week.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Week {
    /// `2026-W48`.
    pub week: String,
    /// Its Monday.
    pub monday: String,
    /// Distinct people who asked, in the roster or not.
    pub askers: usize,
    /// Their requests.
    pub questions: usize,
    /// `questions / askers`; `None` when nobody asked.
    pub per_asker: Option<f64>,
    /// People of the roster who belong on some day of the week.
    pub members: usize,
    /// How many of them asked.
    pub members_asking: usize,
    /// Askers who are not on the roster in this week.
    pub outside: usize,
    /// Share of the questions that the three busiest asked; `None` when nobody asked.
    pub top_three: Option<f64>,
    /// Of the askers of the week before, how many asked again; `None` when there were none.
    pub returning: Option<(usize, usize)>,
    /// People who asked for the first time.
    pub new: usize,
    /// Requests without an asker.
    pub unnamed: usize,
    /// Requests of accounts that are excluded.
    pub excluded: usize,
    /// Why the week is not whole, if it is not.
    pub partial: Option<String>,
    /// What is odd about it.
    pub flag: Option<String>,
}

impl Week {
    /// Share of the roster that asked; `None` when nobody belongs to it in this week.
    pub fn coverage(&self) -> Option<f64> {
        (self.members > 0).then(|| self.members_asking as f64 / self.members as f64)
    }
}

/// The whole table.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Adoption {
    /// The weeks, oldest first, none left out.
    pub weeks: Vec<Week>,
    /// Of the people who asked first in a week that was over a week before the end, how many asked in
    /// one week only, and how many there are.
    pub tried_once: (usize, usize),
    /// The day from which the log is whole.
    pub since: String,
    /// The day on which it ends.
    pub until: String,
    /// The offset from UTC of days and weeks: `+02:00`.
    pub offset: String,
    /// Week [`TARGET_WEEK`], whether or not it is among those shown.
    pub target_week: Week,
}

/// The table of `log` over `roster`. `key` is what pseudonyms of the log were made with, if any.
pub fn adoption(log: &Log, roster: &Roster, key: Option<&str>, window: Window) -> Adoption {
    let local = |at_s: f64| {
        let whole = OffsetDateTime::from_unix_timestamp(at_s.floor() as i64);
        whole.unwrap_or(OffsetDateTime::UNIX_EPOCH).to_offset(roster.offset)
    };
    let until = local(window.until_s);
    let since = since(log, roster, window, &local);
    let names = roster.names(key);
    let excluded: BTreeSet<&str> = roster.excluded.iter().map(|(id, _)| id.as_str()).collect();

    let mut weeks: BTreeMap<Date, Asked<'_>> = BTreeMap::new();
    for entry in log.entries.iter().filter(|entry| entry.at_s <= window.until_s) {
        let at = local(entry.at_s);
        if at < since {
            continue;
        }
        let week = weeks.entry(monday(at.date())).or_default();
        match entry.asker.as_deref().filter(|asker| !asker.trim().is_empty()) {
            None => week.unnamed += 1,
            Some(asker) => {
                let name = names.get(asker).copied().unwrap_or(asker);
                if excluded.contains(name) {
                    week.excluded += 1;
                } else {
                    *week.questions.entry(name).or_default() += 1;
                }
            }
        }
    }
    let table = Table { roster, weeks: &weeks, since, until };
    // A log that ends as a week begins has nothing of that week.
    let last = monday((until - Duration::seconds(1)).date());
    // One week more than is shown, so that the first one has another to be compared with.
    let shown = (0..=window.weeks as i64).rev().map(|back| last - Duration::weeks(back));
    let first = monday(since.date());
    let mut shown: Vec<Week> =
        shown.filter(|monday| *monday >= first).map(|monday| table.week(monday)).collect();
    flag(&mut shown);
    shown.drain(..shown.len().saturating_sub(window.weeks));
    Adoption {
        tried_once: table.tried_once(),
        since: since.date().to_string(),
        until: until.date().to_string(),
        offset: format!(
            "{}{:02}:{:02}",
            if roster.offset.is_negative() { '-' } else { '+' },
            roster.offset.whole_hours().unsigned_abs(),
            roster.offset.minutes_past_hour().unsigned_abs()
        ),
        target_week: table.week(roster.week(TARGET_WEEK)),
        weeks: shown,
    }
}

/// From when on the log is whole.
fn since(
    log: &Log,
    roster: &Roster,
    window: Window,
    local: &dyn Fn(f64) -> OffsetDateTime,
) -> OffsetDateTime {
    let launch = roster.launch.midnight().assume_offset(roster.offset);
    match (window.since_s, log.entries.first()) {
        (Some(since), _) => local(since),
        (None, Some(first)) if monday(local(first.at_s).date()) > monday(roster.launch) => {
            local(first.at_s)
        }
        (None, _) => launch,
    }
}

/// What was asked in one week.
#[derive(Debug, Default)]
struct Asked<'l> {
    questions: BTreeMap<&'l str, usize>,
    unnamed: usize,
    excluded: usize,
}

struct Table<'t> {
    roster: &'t Roster,
    weeks: &'t BTreeMap<Date, Asked<'t>>,
    since: OffsetDateTime,
    until: OffsetDateTime,
}

impl Table<'_> {
    fn week(&self, monday: Date) -> Week {
        let nothing = Asked::default();
        let asked = self.weeks.get(&monday).unwrap_or(&nothing);
        let sunday = monday + Duration::days(6);
        let members: BTreeSet<&str> = self.roster.members(monday, sunday).into_iter().collect();
        let members_asking = asked.questions.keys().filter(|id| members.contains(*id)).count();
        let (askers, questions) = (asked.questions.len(), asked.questions.values().sum::<usize>());
        let mut busiest: Vec<usize> = asked.questions.values().copied().collect();
        busiest.sort_unstable_by(|a, b| b.cmp(a));
        let top: usize = busiest.iter().take(3).sum();
        let before = self.weeks.get(&(monday - Duration::weeks(1)));
        let returning = before.filter(|before| !before.questions.is_empty()).map(|before| {
            let again = before.questions.keys().filter(|id| asked.questions.contains_key(*id));
            (again.count(), before.questions.len())
        });
        let first_time = |id: &&&str| {
            !self.weeks.range(..monday).any(|(_, week)| week.questions.contains_key(**id))
        };
        let (year, number, _) = monday.to_iso_week_date();
        Week {
            week: format!("{year}-W{number:02}"),
            monday: monday.to_string(),
            askers,
            questions,
            per_asker: (askers > 0).then(|| questions as f64 / askers as f64),
            members: members.len(),
            members_asking,
            outside: askers - members_asking,
            top_three: (questions > 0).then(|| top as f64 / questions as f64),
            returning,
            new: asked.questions.keys().filter(first_time).count(),
            unnamed: asked.unnamed,
            excluded: asked.excluded,
            partial: self.partial(monday),
            flag: None,
        }
    }

    /// Why the week of `monday` is not whole.
    fn partial(&self, monday: Date) -> Option<String> {
        let begins = monday.midnight().assume_offset(self.roster.offset);
        let ends = begins + Duration::weeks(1);
        if ends <= self.since {
            return Some(format!("the log begins on {}", self.since.date()));
        }
        if begins >= self.until {
            return Some("it has not begun".to_owned());
        }
        let mut why = Vec::new();
        if begins < self.since {
            why.push(format!("from {} on", weekday(self.since)));
        }
        if ends > self.until {
            why.push(format!("to {}", weekday(self.until)));
        }
        (!why.is_empty()).then(|| why.join(", "))
    }

    /// People who asked in one week only, of those who have had a whole week to come back.
    fn tried_once(&self) -> (usize, usize) {
        let mut weeks_of: BTreeMap<&str, Vec<Date>> = BTreeMap::new();
        for (monday, week) in self.weeks {
            for id in week.questions.keys() {
                weeks_of.entry(id).or_default().push(*monday);
            }
        }
        let had_time = |first: &Date| {
            let next_ends = (*first + Duration::weeks(2)).midnight();
            next_ends.assume_offset(self.roster.offset) <= self.until
        };
        let cohort = weeks_of.values().filter(|weeks| weeks.first().is_some_and(had_time));
        cohort.fold((0, 0), |(once, all), weeks| (once + usize::from(weeks.len() == 1), all + 1))
    }
}

fn weekday(at: OffsetDateTime) -> String {
    at.weekday().to_string()
}

/// Marks whole weeks in which more was asked by fewer than in the whole week before.
fn flag(weeks: &mut [Week]) {
    for at in 1..weeks.len() {
        let (before, now) = (&weeks[at - 1], &weeks[at]);
        let whole = before.partial.is_none() && now.partial.is_none();
        if whole && now.questions > before.questions && now.askers < before.askers {
            weeks[at].flag = Some("more questions by fewer people".to_owned());
        }
    }
}

/// Judges week [`TARGET_WEEK`] by `target`: a census, so it is met or missed, once the week is over.
pub fn judge(target: &Target, adoption: &Adoption) -> (Option<f64>, Verdict, Option<String>) {
    let week = &adoption.target_week;
    if let Some(why) = &week.partial {
        let what = format!("week {TARGET_WEEK} after launch, {}, is not whole: {why}", week.week);
        return (None, Verdict::NotMeasured, Some(what));
    }
    let Some(value) = week.coverage() else {
        return (None, Verdict::NotMeasured, Some("nobody is on the roster then".to_owned()));
    };
    let held = target.thresholds.iter().all(|limit| limit.holds(value));
    (Some(value), if held { Verdict::Met } else { Verdict::Missed }, None)
}

#[cfg(test)]
mod tests;
