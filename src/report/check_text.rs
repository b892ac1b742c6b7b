//! A check for people.

use std::fmt::Write as _;

use crate::eval::check::{CaseReport, CheckReport, Share, Should, Verdict};
use crate::eval::mechanical::{Failure, Fault};
use crate::report::counted;

/// The report as text; with `show`, every answer and where every piece of evidence stood.
pub fn check_text(report: &CheckReport, show: bool) -> String {
    let mut out = String::new();
    let width = report.cases.iter().map(|case| case.id.len()).max().unwrap_or(0);
    for case in &report.cases {
        one_case(case, width, show, &mut out);
    }
    out.push('\n');
    totals(report, &mut out);
    failures(report, &mut out);
    by_kind(report, &mut out);
    let short = |id: &str| id.chars().take(28).collect::<String>();
    if !report.answerer.is_empty() {
        let _ = writeln!(out, "answers     {}", short(&report.answerer));
    }
    out
}

fn one_case(case: &CaseReport, width: usize, show: bool, out: &mut String) {
    let verdict = match case.verdict {
        Verdict::Passed => "passed",
        Verdict::Failed => "FAILED",
        Verdict::ExpectedFail => "failed, as expected",
        Verdict::UnexpectedPass => "PASSED, though marked as failing",
        Verdict::NotEvaluated if case.should == Should::Evidence => {
            "not evaluated: needs no evidence"
        }
        Verdict::NotEvaluated => "no answer",
    };
    let wrong: Vec<String> = case.failures.iter().map(failure).collect();
    let _ = write!(out, "{:width$}  {verdict}", case.id);
    if !wrong.is_empty() {
        let _ = write!(out, "  {}", wrong.join("; "));
    }
    out.push('\n');
    if let (Some(why), Verdict::ExpectedFail | Verdict::UnexpectedPass) =
        (&case.expected_fail, case.verdict)
    {
        let _ = writeln!(out, "{:width$}    expected: {why}", "");
    }
    if let Some(rung) = case.rung {
        let part = if case.partial { ", a part of it arrived" } else { "" };
        let _ = writeln!(out, "{:width$}    {}: {}{part}", "", rung.class().name(), rung.meaning());
    }
    if show || case.rung.is_some() {
        for group in &case.evidence {
            let place = group.arrived.map_or_else(
                || {
                    let seen = group.stages.iter().map(|at| format!("{} {}", at.stage, at.place));
                    let seen = seen.collect::<Vec<_>>().join(", ");
                    if seen.is_empty() { "in no list".to_owned() } else { format!("lost; {seen}") }
                },
                |at| format!("arrived at {at}"),
            );
            let _ = writeln!(out, "{:width$}    {}  {place}", "", group.units.join(" | "));
        }
    }
    for rival in case.rivals.iter().filter(|rival| case.rung.is_some() || show && rival.cited) {
        let (reference, relation) = (&rival.reference, rival.relation);
        let cited = if rival.cited { ", and is cited" } else { "" };
        let _ = writeln!(out, "{:width$}    {reference}  {relation}, arrived{cited}", "");
    }
    if (show || case.rung.is_some())
        && let Some(answer) = &case.answer
    {
        let cited: Vec<&str> = answer.citations.iter().map(|own| own.reference.as_str()).collect();
        let cited =
            if cited.is_empty() { String::new() } else { format!("  [{}]", cited.join(", ")) };
        let text = answer.text.split_whitespace().collect::<Vec<_>>().join(" ");
        let _ = writeln!(out, "{:width$}    \u{201c}{}\u{201d}{cited}", "", cut(&text, 300));
    }
    for claim in case.grounded.iter().flat_map(|grounded| &grounded.claims) {
        for fault in &claim.faults {
            let what =
                if fault.what.is_empty() { String::new() } else { format!(" {}", fault.what) };
            let text = cut(&claim.text, 80);
            let _ =
                writeln!(out, "{:width$}    unsupported {}{what}: {text}", "", fault.check.name());
        }
    }
}

fn cut(text: &str, most: usize) -> String {
    if text.chars().count() <= most {
        return text.to_owned();
    }
    let cut: String = text.chars().take(most - 1).collect();
    format!("{}…", cut.trim_end())
}

/// A failure in a few words.
fn failure(failure: &Failure) -> String {
    let what = &failure.what;
    match failure.fault {
        Fault::Missing => format!("missing \u{201c}{what}\u{201d}"),
        Fault::Unexpected => format!("unexpected \u{201c}{what}\u{201d}"),
        Fault::Uncited => format!("uncited \u{201c}{what}\u{201d}"),
        Fault::OutsideContext => format!("cites {what}, which was not in the context"),
        Fault::NotDeclined => "answers where declining was right".to_owned(),
        Fault::Continued => "declines and goes on".to_owned(),
        Fault::Reworded => "declines in other words".to_owned(),
        Fault::Declined => "declines".to_owned(),
        Fault::Empty => "says nothing".to_owned(),
        Fault::NoEvidence => format!("no evidence {what}"),
        Fault::Misleading => format!("misleading evidence {what}"),
        Fault::ClosedContext => format!("was given {what}, which the asker may not read"),
    }
}

/// `24 of 34 = 70.6 %  95%: 54 to 83`; the share is left out below 1 case.
pub(super) fn share(share: &Share) -> String {
    let mut text = format!("{} of {}", share.k, share.n);
    if let (Some(value), Some(interval)) = (share.value(), share.interval) {
        let (low, high) = (interval.low * 100.0, interval.high * 100.0);
        let _ = write!(text, " = {:.1} %  95%: {low:.0} to {high:.0}", value * 100.0);
    }
    text
}

fn totals(report: &CheckReport, out: &mut String) {
    let mut listed = |what: &str, ids: Vec<&str>, told: &str| {
        if !ids.is_empty() {
            let n = counted(ids.len(), "case");
            let _ = writeln!(out, "{what:11} {n}: {}{told}", ids.join(", "));
        }
    };
    listed("no answer", report.not_evaluated(), "");
    listed("no evidence", report.without_evidence(), "; none is needed, so nothing is judged");
    if !report.left_out.is_empty() {
        let n = counted(report.left_out.len(), "case");
        let _ = writeln!(out, "left out    {n}: the evidence is not among these documents");
    }
    let _ = writeln!(out, "coverage    {}", share(&report.coverage.share));
    if let Some(target) = report.coverage.target {
        let met = if target.met { "met" } else { "missed" };
        let sure = if target.certain { "certain" } else { "cannot tell at this n" };
        let _ = writeln!(
            out,
            "            target {:.0} %: {met}, {sure} ({:.0} % that the true rate meets it)",
            target.at_least * 100.0,
            target.chance * 100.0
        );
    }
    if report.expected_failures > 0 {
        let n = report.expected_failures;
        let _ =
            writeln!(out, "            {} expected, each with its reason", counted(n, "failure"));
    }
    if !report.unexpected_passes.is_empty() {
        let names = report.unexpected_passes.join(", ");
        let _ = writeln!(
            out,
            "            passed though marked as failing: {names}; take the mark away"
        );
    }
    let _ = writeln!(out, "evidence    {}", share(&report.evidence));
    if report.answerer.is_empty() {
        return;
    }
    if report.recorded_contexts > 0 {
        let n = report.recorded_contexts;
        let _ = writeln!(
            out,
            "            {} judged against the context recorded with the answer, all others against that \
             of this engine",
            counted(n, "case")
        );
    } else if report.answerer.starts_with("recorded") {
        out.push_str(
            "            the answers name no context: judged against what this engine brings\n",
        );
    }
    let table = report.abstention;
    let _ = writeln!(out, "abstention                  answered  declined");
    let _ = writeln!(
        out,
        "            should answer   {:8}  {:8}  over-refused {}",
        table.answered, table.over_refused, table.over_refused
    );
    let _ = writeln!(
        out,
        "            should decline  {:8}  {:8}  under-refused {}",
        table.under_refused, table.declined, table.under_refused
    );
    if table.continued + table.reworded > 0 {
        let _ = writeln!(
            out,
            "            near misses: {} declined and went on, {} declined in other words",
            table.continued, table.reworded
        );
    }
    let grounded = &report.groundedness;
    let _ = writeln!(
        out,
        "grounded    {} answers with an unsupported claim",
        share(&grounded.unsupported_answers)
    );
    let _ = writeln!(out, "            {} claims unsupported", share(&grounded.unsupported_claims));
    let checks: Vec<String> =
        grounded.by_check.iter().map(|own| format!("{} {}", own.check.name(), own.n)).collect();
    let _ = writeln!(out, "            by check: {}", checks.join(", "));
    let allowed = grounded.allowed(0.02);
    let n = grounded.unsupported_answers.n;
    let _ = writeln!(out, "            at most 2 % of {n} answers allows {allowed}");
}

fn failures(report: &CheckReport, out: &mut String) {
    let whole = &report.decomposition;
    let _ = writeln!(
        out,
        "failures    {}, {} with a part of its evidence",
        whole.failures, whole.partial
    );
    for own in whole.by_class.iter().filter(|_| whole.failures > 0) {
        let share = share(&Share::new(own.n, whole.failures));
        let _ = writeln!(out, "            {:20}  {share}", own.class.name());
    }
    for own in &whole.by_rung {
        let (n, rung) = (own.n, own.rung);
        let _ = writeln!(out, "              {n:3}  {:15}  {}", rung.name(), rung.meaning());
    }
}

fn by_kind(report: &CheckReport, out: &mut String) {
    let width = report.by_kind.iter().map(|kind| kind.kind.len()).max().unwrap_or(0);
    let mut first = "by kind";
    for kind in &report.by_kind {
        let classes: Vec<String> =
            kind.classes.iter().map(|own| format!("{} {}", own.class.name(), own.n)).collect();
        let _ = writeln!(
            out,
            "{first:10}  {:width$}  {}{}{}",
            kind.kind,
            share(&kind.share),
            if classes.is_empty() { "" } else { "  " },
            classes.join(", ")
        );
        first = "";
    }
}
