//! The cases of a check, counted.

use super::{Abstention, CaseReport, Kind, Share, Should};
use crate::eval::ladder::{Class, ClassCount};
use crate::eval::mechanical::{Did, Fault};

/// What was done against what should have been.
pub(super) fn abstention(cases: &[CaseReport]) -> Abstention {
    let mut table = Abstention::default();
    for case in cases {
        match (case.should, case.did) {
            (Should::Answer, Some(Did::Answered)) => table.answered += 1,
            (Should::Answer, Some(Did::Declined)) => table.over_refused += 1,
            (Should::Decline, Some(Did::Declined)) => table.declined += 1,
            (Should::Decline, Some(Did::Answered)) => table.under_refused += 1,
            _ => continue,
        }
        let has = |fault: Fault| case.failures.iter().any(|failure| failure.fault == fault);
        table.continued += usize::from(has(Fault::Continued));
        table.reworded += usize::from(has(Fault::Reworded));
    }
    table
}

/// Coverage by kind, in order of the names.
pub(super) fn by_kind(cases: &[CaseReport]) -> Vec<Kind> {
    let mut names: Vec<&String> = cases.iter().flat_map(|case| &case.kinds).collect();
    names.sort_unstable();
    names.dedup();
    let one = |name: &String| {
        let own: Vec<&CaseReport> =
            cases.iter().filter(|case| case.evaluated() && case.kinds.contains(name)).collect();
        let passed = own.iter().filter(|case| case.passed()).count();
        let of = |class: Class| own.iter().filter(|case| case.class == Some(class)).count();
        let classes = Class::ALL.into_iter().map(|class| ClassCount { class, n: of(class) });
        Kind {
            kind: name.clone(),
            share: Share::new(passed, own.len()),
            classes: classes.filter(|count| count.n > 0).collect(),
        }
    };
    names.into_iter().map(one).collect()
}
