//! A log with every trap: half weeks, empty weeks, rows without a user, another time zone, people who
//! come and go, accounts that are no people, and nobody to divide by.

use std::fs;

use super::*;
use crate::eval::targets::{Kind, Threshold};
use crate::trace::Trace;
use crate::trace::log::{Entry, pseudonym};

const ROSTER: &str = "\
group: inside sales
launch: 2026-09-07
utc_offset: \"+00:00\"
people:
  - id: ada
  - { id: bob, from: 2026-09-14 }
  - { id: cyd, to: 2026-09-13 }
  - { id: dee, to: 2026-09-09 }
  - { id: dee, from: 2026-10-05 }
  - id: eve
excluded:
  - { id: smoke, why: a test that runs every night }
";

fn read(text: &str) -> crate::error::Result<Roster> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("roster.yaml");
    fs::write(&path, text).unwrap();
    Roster::read(&path)
}

fn at(date: &str, hour: u8) -> f64 {
    let at = day(date).unwrap().with_hms(hour, 0, 0).unwrap().assume_utc();
    at.unix_timestamp() as f64
}

fn entry(date: &str, hour: u8, asker: Option<&str>) -> Entry {
    let asker = asker.map(str::to_owned);
    Entry::new(at(date, hour), asker, "q", "d", &Trace::default(), Vec::new())
}

/// The log: who asked on which day, at noon.
fn log(rows: &[(&str, &str)]) -> Log {
    let named = |asker: &'static str| Some(asker).filter(|asker| *asker != "-");
    let mut entries: Vec<Entry> = rows
        .iter()
        .map(|(date, asker)| {
            let asker = asker.to_string();
            entry(date, 12, named(Box::leak(asker.into_boxed_str())))
        })
        .collect();
    entries.sort_by(|a, b| a.at_s.total_cmp(&b.at_s));
    Log { entries, unreadable: Vec::new() }
}

fn until(date: &str) -> Window {
    Window { since_s: None, until_s: at(date, 0), weeks: 8 }
}

#[test]
fn every_trap_at_once() {
    let log = log(&[
        ("2026-09-07", "ada"),
        ("2026-09-08", "cyd"),
        ("2026-09-08", "-"),
        ("2026-09-13", "smoke"),
        ("2026-09-14", "ada"),
        ("2026-09-15", "ada"),
        ("2026-09-15", "zoe"),
        ("2026-09-16", "-"),
        ("2026-09-16", ""),
        // Nobody but a test in the week of 21 September.
        ("2026-09-22", "smoke"),
        ("2026-09-28", "bob"),
        ("2026-09-30", "eve"),
        ("2026-10-05", "dee"),
        ("2026-10-06", "ada"),
    ]);
    let found = adoption(&log, &read(ROSTER).unwrap(), None, until("2026-10-08"));
    let line = |week: &Week| {
        format!(
            "{} {} askers {} questions {} of {} outside {} unnamed {} excluded {} {:?}",
            week.week,
            week.askers,
            week.questions,
            week.members_asking,
            week.members,
            week.outside,
            week.unnamed,
            week.excluded,
            week.partial.as_deref().unwrap_or("whole")
        )
    };
    let lines: Vec<String> = found.weeks.iter().map(line).collect();
    assert_eq!(
        lines,
        [
            // bob is not there yet; dee is, until Wednesday.
            "2026-W37 2 askers 2 questions 2 of 4 outside 0 unnamed 1 excluded 1 \"whole\"",
            // cyd and dee have left; zoe is on no roster.
            "2026-W38 2 askers 3 questions 1 of 3 outside 1 unnamed 2 excluded 0 \"whole\"",
            "2026-W39 0 askers 0 questions 0 of 3 outside 0 unnamed 0 excluded 1 \"whole\"",
            "2026-W40 2 askers 2 questions 2 of 3 outside 0 unnamed 0 excluded 0 \"whole\"",
            "2026-W41 2 askers 2 questions 2 of 4 outside 0 unnamed 0 excluded 0 \"to Thursday\"",
        ]
    );
    // Rows without a user count for nobody, and nobody is divided by.
    assert_eq!(found.weeks[1].per_asker, Some(1.5));
    assert_eq!((found.weeks[2].per_asker, found.weeks[2].top_three), (None, None));
    assert_eq!(found.weeks[1].returning, Some((1, 2)));
    assert_eq!(found.weeks[2].returning, Some((0, 2)));
    assert_eq!(found.weeks[3].returning, None);
    assert_eq!(found.weeks.iter().map(|week| week.new).collect::<Vec<_>>(), [2, 1, 0, 2, 1]);
    // ada came back; cyd and zoe did not. bob, eve and dee have not had a whole week yet.
    assert_eq!(found.tried_once, (2, 3));
    assert_eq!(found.target_week.week, "2026-W40");
}

#[test]
fn more_questions_by_fewer_people_are_flagged() {
    let mut rows: Vec<(&str, &str)> =
        vec![("2026-09-07", "ada"), ("2026-09-08", "cyd"), ("2026-09-09", "eve")];
    rows.extend([("2026-09-15", "ada"); 9]);
    let mut found = adoption(&log(&rows), &read(ROSTER).unwrap(), None, until("2026-09-21"));
    assert_eq!(found.weeks[1].flag.as_deref(), Some("more questions by fewer people"));
    assert_eq!((found.weeks[1].top_three, found.weeks[1].per_asker), (Some(1.0), Some(9.0)));
    // Half a week has fewer askers for another reason.
    found = adoption(&log(&rows), &read(ROSTER).unwrap(), None, until("2026-09-17"));
    assert_eq!(found.weeks[1].flag, None);
}

#[test]
fn weeks_begin_where_the_roster_says_and_cross_the_year() {
    // Sunday, 23:00 UTC, is Monday two hours further east.
    let log = Log { entries: vec![entry("2026-12-27", 23, Some("ada"))], unreadable: Vec::new() };
    let week = |offset: &str| {
        let text = ROSTER.replace("+00:00", offset).replace("2026-09-07", "2026-12-21");
        let found = adoption(&log, &read(&text).unwrap(), None, until("2027-01-05"));
        let asked = found.weeks.iter().find(|week| week.askers == 1).unwrap();
        (asked.week.clone(), found.weeks.last().unwrap().week.clone())
    };
    assert_eq!(week("+00:00"), ("2026-W52".into(), "2027-W01".into()));
    assert_eq!(week("+02:00"), ("2026-W53".into(), "2027-W01".into()));
}

#[test]
fn a_log_that_begins_late_does_not_say_that_nobody_asked_before() {
    // Its first line is three weeks after launch, on a Wednesday: what was before may be cut off.
    let log = log(&[("2026-09-30", "ada"), ("2026-10-06", "ada")]);
    let found = adoption(&log, &read(ROSTER).unwrap(), None, until("2026-10-12"));
    let partial: Vec<_> = found.weeks.iter().map(|week| week.partial.clone()).collect();
    assert_eq!(partial, [Some("from Wednesday on".to_owned()), None]);
    let (value, verdict, why) = judge(&target(0.5), &found);
    assert_eq!((value, verdict), (None, Verdict::NotMeasured));
    assert_eq!(why.unwrap(), "week 4 after launch, 2026-W40, is not whole: from Wednesday on");
    // Somebody knows that it is whole.
    let since = Window { since_s: Some(at("2026-09-07", 0)), ..until("2026-10-12") };
    let found = adoption(&log, &read(ROSTER).unwrap(), None, since);
    assert_eq!(found.weeks.len(), 5);
    assert_eq!(judge(&target(0.5), &found).1, Verdict::Missed);
}

fn target(limit: f64) -> Target {
    Target {
        name: "adoption",
        kind: Kind::Target,
        definition: String::new(),
        method: String::new(),
        sample: String::new(),
        thresholds: vec![Threshold { key: "at_least", limit }],
        unit: "share of people".to_owned(),
        source: String::new(),
        project: None,
        line: 1,
    }
}

#[test]
fn the_fourth_week_is_judged_when_it_is_over() {
    let log = log(&[("2026-09-07", "ada"), ("2026-09-28", "bob"), ("2026-10-04", "eve")]);
    let judged = |date: &str, limit: f64| {
        let found = adoption(&log, &read(ROSTER).unwrap(), None, until(date));
        let (value, verdict, _) = judge(&target(limit), &found);
        (value, verdict)
    };
    assert_eq!(judged("2026-10-04", 0.5), (None, Verdict::NotMeasured));
    assert_eq!(judged("2026-10-05", 0.5), (Some(2.0 / 3.0), Verdict::Met));
    assert_eq!(judged("2026-10-05", 2.0 / 3.0).1, Verdict::Met);
    assert_eq!(judged("2026-10-05", 0.7).1, Verdict::Missed);
    assert_eq!(judged("2026-09-20", 0.5).1, Verdict::NotMeasured);
}

#[test]
fn a_pseudonym_is_the_person_that_it_stands_for() {
    let mut log = log(&[("2026-09-07", "ada"), ("2026-09-08", "ada"), ("2026-09-09", "smoke")]);
    for at in [1, 2] {
        let entry = &mut log.entries[at];
        entry.asker = entry.asker.as_deref().map(|asker| pseudonym(asker, "key"));
    }
    let roster = read(ROSTER).unwrap();
    let week = |key| adoption(&log, &roster, key, until("2026-09-14")).weeks.remove(0);
    let known = week(Some("key"));
    assert_eq!((known.askers, known.questions, known.excluded, known.outside), (1, 2, 1, 0));
    let unknown = week(None);
    assert_eq!((unknown.askers, unknown.outside), (3, 2));
}

#[test]
fn a_roster_that_is_wrong_is_named_with_its_line() {
    let fault = |from: &str, to: &str| {
        let said = read(&ROSTER.replacen(from, to, 1)).unwrap_err().to_string();
        said.split_once("roster.yaml")
            .unwrap()
            .1
            .replace("; the form is described in evals/README.md, \"Adoption\"", "")
    };
    assert_eq!(
        fault("2026-09-07", "2026-02-30"),
        ":2: launch is `2026-02-30`; expected YYYY-MM-DD"
    );
    assert_eq!(
        fault("\"+00:00\"", "Europe/Berlin"),
        ":3: utc_offset is `Europe/Berlin`; expected \"+01:00\""
    );
    assert_eq!(fault("2026-10-05", "2026-09-09"), ":9: `dee` stands here twice for the same days");
    assert_eq!(
        fault("to: 2026-09-13", "to: 9999-01-01"),
        ":7: to of `cyd` is `9999-01-01`; expected YYYY-MM-DD"
    );
    assert_eq!(
        fault("{ id: cyd, to: 2026-09-13 }", "{ id: cyd, from: 2026-10-01, to: 2026-09-13 }"),
        ":7: `cyd` leaves on 2026-09-13, before 2026-10-01"
    );
    assert_eq!(fault("id: smoke", "id: eve"), ":12: `eve` is among the people and excluded");
    assert_eq!(
        fault("id: eve", "id: eve, form: x"),
        ":10: mapping values are not allowed in this context"
    );
    assert_eq!(
        fault("{ id: bob, from", "{ id: bob, form"),
        ":6: unknown key `form`; did you mean `from`?"
    );
}
