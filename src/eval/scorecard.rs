//! The targets and the gate on one page: whether each holds, how certain that is, and what to work on.
//!
//! Two things are kept apart. **Held** says whether the value of this sample is within its limit. The
//! **verdict** says whether the true value is: met or missed only when the whole interval lies on one
//! side, else it cannot be told. A census (adoption) has no interval; a gate has no interval either, and
//! nothing averages it.

use serde::Serialize;

use super::latency::Judged;
use super::leakage;
use super::measurement::Measurement;
use super::posterior::chance_of_at_least;
use super::statistics::{percentile, upper_limit_after_none, wilson};
use super::targets::{Kind, Target, Verdict};

/// One line of the page.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Row {
    /// `coverage`, or `latency p95` where a target has several limits.
    pub name: String,
    /// Target or gate.
    pub kind: Kind,
    /// The value, in `unit`; `None` where nothing was measured.
    pub value: Option<f64>,
    /// What was counted, `24 of 34`, where it is a count.
    pub count: Option<(usize, usize)>,
    /// Size of the sample.
    pub n: usize,
    /// The 95 % interval of the value, in `unit`.
    pub interval: Option<(f64, f64)>,
    /// The limit: `at least 0.7`.
    pub threshold: String,
    /// The limit as a number, in `unit`.
    pub limit: f64,
    /// The unit of value, interval and limit.
    pub unit: String,
    /// Whether the value of this sample is within the limit.
    pub held: Option<bool>,
    /// Whether the true value is.
    pub verdict: Verdict,
    /// How certain that is, in words.
    pub certainty: String,
    /// Why there is no value, or what must be known to read it.
    pub notes: Vec<String>,
    /// What is counted or timed.
    pub definition: String,
    /// How.
    pub method: String,
    /// On what.
    pub sample: String,
    /// Where the data comes from.
    pub source: String,
}

impl Row {
    /// A row of `target` for its limit number `at`, not measured, with the reason.
    pub fn not_measured(target: &Target, at: usize, why: impl Into<String>) -> Self {
        let limit = target.thresholds.get(at);
        let several = target.thresholds.len() > 1;
        let part = limit.filter(|_| several).map(|limit| limit.key.split('_').next().unwrap_or(""));
        Self {
            name: part
                .map_or_else(|| target.name.to_owned(), |part| format!("{} {part}", target.name)),
            kind: target.kind,
            value: None,
            count: None,
            n: 0,
            interval: None,
            threshold: limit.map(super::targets::Threshold::words).unwrap_or_default(),
            limit: limit.map_or(0.0, |limit| limit.limit),
            unit: target.unit.clone(),
            held: None,
            verdict: Verdict::NotMeasured,
            certainty: String::new(),
            notes: vec![why.into()],
            definition: target.definition.clone(),
            method: target.method.clone(),
            sample: target.sample.clone(),
            source: target.source.clone(),
        }
    }

    /// Rows of `target` for all its limits, not measured.
    pub fn all_not_measured(target: &Target, why: &str) -> Vec<Self> {
        (0..target.thresholds.len()).map(|at| Self::not_measured(target, at, why)).collect()
    }
}

/// A share, `k` of `n`, judged by its Wilson interval.
pub fn share(target: &Target, k: usize, n: usize) -> Row {
    let mut row = Row::not_measured(target, 0, "");
    row.notes.clear();
    let (Some(limit), Some(interval)) = (target.thresholds.first(), wilson(k, n)) else {
        row.notes.push("the sample is empty".to_owned());
        return row;
    };
    let value = k as f64 / n as f64;
    row.value = Some(value);
    row.count = Some((k, n));
    row.n = n;
    row.interval = Some((interval.low, interval.high));
    row.held = Some(limit.holds(value));
    row.verdict = match (limit.holds(interval.low), limit.holds(interval.high)) {
        (true, true) => Verdict::Met,
        (false, false) => Verdict::Missed,
        _ => Verdict::CannotTell,
    };
    let above = chance_of_at_least(k, n, limit.limit);
    let chance = if limit.key == "at_least" { above } else { 1.0 - above };
    row.certainty = format!("{} that the true share meets it", percent(chance));
    if let (true, Some(allowed)) = (k == 0, upper_limit_after_none(n)) {
        row.notes
            .push(format!("none of {n} still allows a rate of up to {:.1} %", allowed * 100.0));
    }
    if limit.key == "at_most" && (1.0 / n as f64) > limit.limit && limit.limit > 0.0 {
        row.notes.push(format!(
            "on a sample of {n} a limit of {} % means none: one is already {:.1} %",
            limit.limit * 100.0,
            100.0 / n as f64
        ));
    }
    row
}

/// `52 %`; what is not certain is never called 0 or 100.
fn percent(share: f64) -> String {
    match share * 100.0 {
        of if of < 1.0 => "under 1 %".to_owned(),
        of if of > 99.0 => "over 99 %".to_owned(),
        of => format!("{of:.0} %"),
    }
}

/// The gate, from its report.
pub fn gate(target: &Target, report: &leakage::Report) -> Row {
    let mut row = Row::not_measured(target, 0, "");
    row.notes.clear();
    let (n, leaks, unproven) = (report.cases.len(), report.leaks(), report.unproven());
    row.n = n;
    row.value = Some(leaks as f64);
    row.count = Some((leaks, n));
    row.held = Some(report.passed());
    row.verdict = if report.passed() { Verdict::Met } else { Verdict::GateFailed };
    row.certainty = match report.bound() {
        Some(bound) => format!(
            "{} clean cases still allow a rate of up to {:.1} %",
            report.clean(),
            bound * 100.0
        ),
        None if n == 0 => "an empty set proves nothing".to_owned(),
        None => "a leak is certain".to_owned(),
    };
    row.notes.push(format!("{} of {n} controls fired, lexical and dense", n - unproven));
    if unproven > 0 {
        row.notes.push(format!("{unproven} unproven: that fails the gate too"));
    }
    row
}

/// One row a limit of a target of time.
pub fn times(target: &Target, judged: &[Judged]) -> Vec<Row> {
    let mut rows = Vec::with_capacity(judged.len());
    for (at, one) in judged.iter().enumerate() {
        let mut row = Row::not_measured(target, at, "");
        row.notes.clear();
        row.value = one.value;
        row.n = one.n;
        row.interval = one.interval;
        row.held = one.held;
        row.verdict = one.verdict;
        row.certainty = match one.interval {
            Some(_) => "by the order of the requests".to_owned(),
            None => format!("{} requests are too few for an interval", one.n),
        };
        rows.push(row);
    }
    rows
}

/// A time that was taken several times over, in seconds: its median, by nearest rank.
pub fn median(target: &Target, seconds: &[f64]) -> Row {
    let mut row = Row::not_measured(target, 0, "");
    row.notes.clear();
    let unit_us = target.unit_us().unwrap_or(1e6);
    let values: Vec<f64> = seconds.iter().map(|s| s * 1e6 / unit_us).collect();
    let (Some(found), Some(limit)) = (percentile(&values, 0.5), target.thresholds.first()) else {
        row.notes.push("nothing was timed".to_owned());
        return row;
    };
    row.value = Some(found.value);
    row.n = values.len();
    row.held = Some(limit.holds(found.value));
    row.interval = found.interval.map(|interval| (interval.low, interval.high));
    row.verdict = match row.interval.map(|(low, high)| (limit.holds(low), limit.holds(high))) {
        Some((true, true)) => Verdict::Met,
        Some((false, false)) => Verdict::Missed,
        _ => Verdict::CannotTell,
    };
    row.certainty = format!("the median of {} runs, by their order", values.len());
    row
}

/// A share that is a census.
pub fn census(
    target: &Target,
    count: Option<(usize, usize)>,
    verdict: Verdict,
    why: Option<String>,
) -> Row {
    let mut row = Row::not_measured(target, 0, "");
    row.notes = why.into_iter().collect();
    row.verdict = verdict;
    if let (Some((k, n)), Some(limit)) = (count.filter(|(_, n)| *n > 0), target.thresholds.first())
    {
        let value = k as f64 / n as f64;
        row.value = Some(value);
        row.count = count;
        row.n = n;
        row.held = Some(limit.holds(value));
        row.certainty = "a census: everybody was counted".to_owned();
    }
    row
}

/// Failures of one class at one stage, and what to do about them.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Work {
    /// The class, such as `retrieval:ranked_low`.
    pub class: String,
    /// The stage where evidence was lost first, or that failed.
    pub stage: String,
    /// The failures, by id of the case.
    pub ids: Vec<String>,
    /// All failures of the sample.
    pub of: usize,
    /// Where to begin.
    pub advice: String,
}

/// The misses of `measured` by the first stage at which needed evidence was lost; the counts add up to
/// the questions that miss something. `min_score` and `k` are those in force.
pub fn work(measured: &Measurement, k: usize, min_score: f64) -> Vec<Work> {
    let missed: Vec<_> =
        measured.scored(None).filter(|question| !question.losses.is_empty()).collect();
    let mut work: Vec<Work> = Vec::new();
    for question in &missed {
        let Some(loss) = question.losses.first() else { continue };
        let (stage, advice) = match &loss.found {
            None => (
                "lexical and dense",
                "no leg finds it: look at wording, titles, language and the cut (`atlas why QUESTION REF`)",
            ),
            Some((_, _, score)) if *score < min_score => {
                ("min-score", "it is dropped for its score: look at `atlas measure --sweep`")
            }
            Some((_, place, _)) if *place > k => (
                "rerank",
                "it is found and ranked too low for the window: look at what stands above it (`atlas why`)",
            ),
            Some(_) => {
                ("window", "the window has no room: look at search.k and search.window_tokens")
            }
        };
        match work.iter_mut().find(|known| known.stage == stage) {
            Some(known) => known.ids.push(question.id.clone()),
            None => work.push(Work {
                class: loss.class().to_owned(),
                stage: stage.to_owned(),
                ids: vec![question.id.clone()],
                of: missed.len(),
                advice: advice.to_owned(),
            }),
        }
    }
    work.sort_by(|a, b| b.ids.len().cmp(&a.ids.len()).then_with(|| a.stage.cmp(&b.stage)));
    work
}

/// The page.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Scorecard {
    /// The day, YYYY-MM-DD.
    pub date: String,
    /// The targets' hash.
    pub targets: String,
    /// The day on which they were agreed.
    pub agreed: String,
    /// What moved since they were acknowledged.
    pub moved: Vec<String>,
    /// The lines.
    pub rows: Vec<Row>,
    /// What to work on, largest first.
    pub work: Vec<Work>,
    /// What else must be said: two raters' agreement, targets that are judged elsewhere.
    pub notes: Vec<String>,
    /// What changed since the scorecard that it was compared with; `None` without one.
    pub changed: Option<Vec<String>>,
    /// The receipt's id of the measurement behind it.
    pub receipt: String,
}

impl Scorecard {
    /// The verdict of the whole: a failed gate before a missed target, before what cannot be told.
    pub fn verdict(&self) -> Verdict {
        let order = [
            Verdict::GateFailed,
            Verdict::Missed,
            Verdict::NotMeasured,
            Verdict::CannotTell,
            Verdict::Met,
        ];
        let mut found = order.into_iter().filter(|v| self.rows.iter().any(|row| row.verdict == *v));
        found.next().unwrap_or(Verdict::NotMeasured)
    }
}

/// One row of an earlier scorecard.
#[derive(Debug, Clone, PartialEq, serde::Deserialize)]
pub struct Recorded {
    /// Its name.
    pub name: String,
    /// Its value.
    pub value: Option<f64>,
    /// Its verdict, as `scorecard --format json` writes it.
    pub verdict: String,
    /// Its limit.
    pub threshold: String,
}

/// What changed from `before` to `now`, one sentence a row that did.
pub fn changed(before: &[Recorded], now: &[Row]) -> Vec<String> {
    let word = |verdict: Verdict| {
        serde_json::to_value(verdict)
            .ok()
            .and_then(|v| v.as_str().map(str::to_owned))
            .unwrap_or_default()
    };
    let number =
        |value: Option<f64>| value.map_or_else(|| "nothing".to_owned(), |v| format!("{v:.4}"));
    let mut changed = Vec::new();
    for row in now {
        let Some(old) = before.iter().find(|old| old.name == row.name) else {
            changed.push(format!("{} is new: {}", row.name, word(row.verdict)));
            continue;
        };
        let mut parts = Vec::new();
        if old.verdict != word(row.verdict) {
            parts.push(format!("{} to {}", old.verdict, word(row.verdict)));
        }
        // Times differ from run to run; for them the verdict is what changes.
        if old.value != row.value && row.count.is_some() {
            parts.push(format!("value {} to {}", number(old.value), number(row.value)));
        }
        if old.threshold != row.threshold {
            parts.push(format!("limit {} to {}", old.threshold, row.threshold));
        }
        if !parts.is_empty() {
            changed.push(format!("{}: {}", row.name, parts.join(", ")));
        }
    }
    for old in before.iter().filter(|old| now.iter().all(|row| row.name != old.name)) {
        changed.push(format!("{} is gone", old.name));
    }
    changed
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::eval::leakage::{CaseResult, Control, Report};
    use crate::eval::targets::Threshold;

    fn target(name: &'static str, kind: Kind, key: &'static str, limit: f64) -> Target {
        Target {
            name,
            kind,
            definition: "d".into(),
            method: "m".into(),
            sample: "s".into(),
            thresholds: vec![Threshold { key, limit }],
            unit: "share".into(),
            source: "o".into(),
            project: None,
            line: 1,
        }
    }

    #[test]
    fn what_this_sample_says_and_what_is_true_are_kept_apart() {
        let coverage = target("coverage", Kind::Target, "at_least", 0.70);
        let of = |k| share(&coverage, k, 34);
        let edge = of(24);
        assert_eq!((edge.held, edge.verdict), (Some(true), Verdict::CannotTell));
        assert_eq!(edge.certainty, "52 % that the true share meets it");
        assert_eq!((of(23).held, of(23).verdict), (Some(false), Verdict::CannotTell));
        assert_eq!((of(34).held, of(34).verdict), (Some(true), Verdict::Met));
        assert_eq!((of(15).held, of(15).verdict), (Some(false), Verdict::Missed));
        assert_eq!(of(15).certainty, "under 1 % that the true share meets it");
        assert_eq!(share(&coverage, 0, 0).verdict, Verdict::NotMeasured);
    }

    #[test]
    fn a_time_is_judged_by_the_median_of_six_runs() {
        let build = Target { unit: "ms".into(), ..target("build", Kind::Target, "at_most", 20.0) };
        let of = |seconds: &[f64]| median(&build, seconds);
        let fast = of(&[0.011, 0.013, 0.012, 0.018, 0.012, 0.011]);
        assert_eq!((fast.value, fast.interval), (Some(12.0), Some((11.0, 18.0))));
        assert_eq!((fast.held, fast.verdict), (Some(true), Verdict::Met));
        let slow_once = of(&[0.011, 0.013, 0.012, 0.028, 0.012, 0.011]);
        assert_eq!((slow_once.held, slow_once.verdict), (Some(true), Verdict::CannotTell));
        assert_eq!(of(&[0.03; 6]).verdict, Verdict::Missed);
        assert_eq!(of(&[0.01; 5]).verdict, Verdict::CannotTell, "no interval under six");
        assert_eq!(of(&[]).verdict, Verdict::NotMeasured);
    }

    #[test]
    fn two_per_cent_of_34_answers_means_none() {
        let grounded = target("groundedness", Kind::Target, "at_most", 0.02);
        let clean = share(&grounded, 0, 34);
        assert_eq!((clean.held, clean.verdict), (Some(true), Verdict::CannotTell));
        assert!(clean.notes[0].starts_with("none of 34 still allows a rate of up to 8.4 %"));
        assert_eq!(
            clean.notes[1],
            "on a sample of 34 a limit of 2 % means none: one is already 2.9 %"
        );
        assert_eq!(share(&grounded, 1, 34).held, Some(false));
        assert_eq!(share(&grounded, 0, 400).verdict, Verdict::Met);
    }

    #[test]
    fn a_gate_fails_for_a_leak_for_a_silent_control_and_for_want_of_cases() {
        let leakage = target("leakage", Kind::Gate, "at_most", 0.0);
        let case = |leaked: bool, control| CaseResult {
            id: "x".into(),
            forbidden: Vec::new(),
            stage: leaked.then(|| "dense".to_owned()),
            control,
        };
        let of = |cases: Vec<CaseResult>| gate(&leakage, &Report { cases });
        assert_eq!(of(vec![case(false, Control::Fired); 40]).verdict, Verdict::Met);
        let clean = of(vec![case(false, Control::Fired); 40]);
        assert_eq!(clean.certainty, "40 clean cases still allow a rate of up to 7.2 %");
        for failed in [
            vec![],
            vec![case(true, Control::Fired)],
            vec![case(false, Control::Fired), case(false, Control::Silent("y".into()))],
        ] {
            assert_eq!(of(failed).verdict, Verdict::GateFailed);
        }
    }

    fn page(verdicts: &[Verdict]) -> Verdict {
        let coverage = target("coverage", Kind::Target, "at_least", 0.70);
        let rows = verdicts.iter().map(|verdict| {
            let mut row = Row::not_measured(&coverage, 0, "");
            row.verdict = *verdict;
            row
        });
        let page = Scorecard {
            date: String::new(),
            targets: String::new(),
            agreed: String::new(),
            moved: Vec::new(),
            rows: rows.collect(),
            work: Vec::new(),
            notes: Vec::new(),
            changed: None,
            receipt: String::new(),
        };
        page.verdict()
    }

    #[test]
    fn the_worst_line_speaks_for_the_page() {
        use Verdict::{CannotTell, GateFailed, Met, Missed, NotMeasured};
        assert_eq!(page(&[Met, Missed, GateFailed]), GateFailed);
        assert_eq!(page(&[Met, Missed, NotMeasured]), Missed);
        assert_eq!(page(&[Met, NotMeasured]), NotMeasured);
        assert_eq!(page(&[Met, CannotTell]), CannotTell);
        assert_eq!(page(&[Met]), Met);
        assert_eq!(page(&[]), NotMeasured);
    }

    #[test]
    fn what_changed_is_said_row_by_row() {
        let coverage = target("coverage", Kind::Target, "at_least", 0.70);
        let recorded = |name: &str, value, verdict: &str| Recorded {
            name: name.into(),
            value,
            verdict: verdict.into(),
            threshold: "at least 0.7".into(),
        };
        let now = vec![share(&coverage, 34, 34)];
        let same = [recorded("coverage", Some(1.0), "met")];
        assert!(changed(&same, &now).is_empty());
        let before = [recorded("coverage", Some(0.5), "missed"), recorded("gone", None, "met")];
        assert_eq!(
            changed(&before, &now),
            ["coverage: missed to met, value 0.5000 to 1.0000", "gone is gone"]
        );
        assert_eq!(changed(&[], &now), ["coverage is new: met"]);
    }
}
