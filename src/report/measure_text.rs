//! `measure` for people.

use std::fmt::Write as _;

use super::labels::labels_text;
use super::measure_json::times;
use super::{MeasureReport, counted};
use crate::eval::bootstrap::{SEED, mean_interval};
use crate::eval::measurement::{Loss, Measured, Measurement, TOKENS};
use crate::eval::statistics::{percentile, wilson};
use crate::text::ESTIMATOR;

/// Fewest values for which a 95th percentile has an upper limit at all.
const P95_VALUES_MIN: usize = 59;

/// The report without its timings: byte-identical on a rerun. A `summary` has no line a question.
pub fn measure_text(report: &MeasureReport<'_>, summary: bool) -> String {
    let mut out = String::new();
    let m = report.manifest;
    let _ = writeln!(
        out,
        "index       {} documents, {} blocks, {} passages   corpus {}   digest {}",
        m.documents,
        m.blocks,
        m.passages,
        short(&m.fingerprint),
        short(&m.digest)
    );
    let s = report.settings;
    let mode = format!("{:?}", report.receipt.mode).to_lowercase();
    let _ = writeln!(
        out,
        "settings    {mode}, k {}, window {} tokens, min-score {}, depth {}",
        s.k, s.window_tokens, s.min_score, s.depth
    );
    for set in &report.sets {
        set_text(&mut out, set, report, summary);
    }
    let _ = writeln!(out, "\nreceipt     {}", short(&report.receipt.id));
    out
}

fn set_text(out: &mut String, set: &Measurement, report: &MeasureReport<'_>, summary: bool) {
    let scored = set.scored(None).count();
    let left = set.questions.len() - scored;
    let _ = write!(
        out,
        "\n{}   {}: {scored} scored",
        set.set,
        counted(set.questions.len(), "question")
    );
    if left > 0 {
        let _ = write!(out, ", {left} not ({})", reasons(set));
    }
    out.push('\n');
    labels_text(out, set, report.show_questions);
    out.push('\n');
    if report.show_questions && !summary {
        questions_text(out, set);
    }
    kinds_text(out, set);
    means_text(out, set);
    if report.show_questions && !summary {
        losses_text(out, set, report);
    } else if !report.show_questions {
        let missed = set.scored(None).filter(|question| !question.losses.is_empty()).count();
        let _ = writeln!(
            out,
            "  missed     evidence lost for {}; `--reveal` names them",
            counted(missed, "question")
        );
    }
}

/// `1 calculation, 2 clarification`.
fn reasons(set: &Measurement) -> String {
    let mut reasons: Vec<&str> =
        set.questions.iter().filter_map(|question| question.unscoreable.as_deref()).collect();
    reasons.sort_unstable();
    let groups: Vec<String> =
        reasons.chunk_by(|a, b| a == b).map(|same| format!("{} {}", same.len(), same[0])).collect();
    groups.join(", ")
}

fn questions_text(out: &mut String, set: &Measurement) {
    let width = set.questions.iter().map(|q| q.id.chars().count()).max().unwrap_or(0).clamp(8, 28);
    let kind_width =
        set.questions.iter().map(|q| q.kinds.join(", ").len()).max().unwrap_or(0).clamp(4, 28);
    let _ = writeln!(
        out,
        "  {:width$}  {:kind_width$}  hit  recall  precision  rank  tokens",
        "question", "kind"
    );
    for question in &set.questions {
        let kinds = question.kinds.join(", ");
        let _ = write!(out, "  {:width$}  {kinds:kind_width$}  ", question.id);
        if let Some(reason) = &question.unscoreable {
            let blocks = counted(question.supplied.len(), "block");
            let _ = writeln!(
                out,
                "  -       -          -     -  {:6}  not scored: {reason}; {blocks} handed over",
                question.tokens
            );
            continue;
        }
        let value = |name: &str| question.value(name).unwrap_or(0.0);
        let rank =
            question.value("rank").map_or_else(|| "none".to_owned(), |rank| format!("{rank:.0}"));
        let _ = writeln!(
            out,
            "{:3.0}  {:6.2}  {:9.2}  {rank:>4}  {:6}",
            value("hit"),
            value("recall"),
            value("precision"),
            question.tokens
        );
    }
    out.push('\n');
}

fn kinds_text(out: &mut String, set: &Measurement) {
    let kinds = set.kinds();
    if kinds.is_empty() {
        return;
    }
    let width = kinds.iter().map(|kind| kind.len()).max().unwrap_or(0).max(7);
    let _ = writeln!(
        out,
        "  {:width$}   n       hit  95 %        recall  precision  tokens",
        "by kind"
    );
    for kind in &kinds {
        let n = set.scored(Some(kind)).count();
        let hits = set.values("hit", Some(kind)).iter().filter(|hit| **hit > 0.0).count();
        let mean = |name: &str| set.mean(name, Some(kind)).unwrap_or(0.0);
        let _ = writeln!(
            out,
            "  {kind:width$}  {n:2}  {:>8}  {:10}  {:6.2}  {:9.2}  {:6.0}",
            format!("{hits} of {n}"),
            wilson(hits, n).map_or_else(String::new, |i| percent(i.low, i.high)),
            mean("recall"),
            mean("precision"),
            mean(TOKENS)
        );
    }
    if ranges_overlap(set, &kinds) {
        let _ = writeln!(out, "  {:width$}  ranges overlap: no kind is better than another", "");
    }
    out.push('\n');
}

fn ranges_overlap(set: &Measurement, kinds: &[&str]) -> bool {
    let ranges: Vec<_> = kinds
        .iter()
        .filter_map(|kind| {
            let hits = set.values("hit", Some(kind));
            wilson(hits.iter().filter(|hit| **hit > 0.0).count(), hits.len())
        })
        .collect();
    let low = ranges.iter().map(|range| range.low).fold(0.0, f64::max);
    ranges.len() > 1 && ranges.iter().all(|range| range.high >= low)
}

fn percent(low: f64, high: f64) -> String {
    format!("{:.0} to {:.0}", low * 100.0, high * 100.0)
}

fn means_text(out: &mut String, set: &Measurement) {
    let n = set.scored(None).count();
    if n == 0 {
        let _ = writeln!(out, "  no question can be scored, so there is nothing to average");
        return;
    }
    let hits = set.values("hit", None).iter().filter(|hit| **hit > 0.0).count();
    let range = wilson(hits, n).map_or_else(String::new, |i| percent(i.low, i.high));
    let _ = writeln!(out, "  hit        {hits} of {n}   95 %: {range}");
    for name in ["recall", "precision"] {
        let values = set.values(name, None);
        let mean = set.mean(name, None).unwrap_or(0.0);
        let range = mean_interval(&values, SEED)
            .map_or_else(String::new, |i| format!("   95 %: {:.2} to {:.2}", i.low, i.high));
        let _ = writeln!(out, "  {name:9}  {mean:.2} over {n}{range}");
    }
    let ranks = set.values("rank", None);
    let mean =
        set.mean("rank", None).map_or_else(|| "none".to_owned(), |rank| format!("{rank:.2}"));
    let mrr = set.mean("mrr", None).unwrap_or(0.0);
    let _ = writeln!(
        out,
        "  rank       {mean} over {}, {} missed; MRR {mrr:.2} over {n}",
        counted(ranks.len(), "hit"),
        n - ranks.len()
    );
    let tokens = set.values(TOKENS, None);
    let largest = tokens.iter().copied().fold(0.0, f64::max);
    let mean = set.mean(TOKENS, None).unwrap_or(0.0);
    let _ = writeln!(
        out,
        "  prompt     {mean:.0} tokens mean, {largest:.0} largest, by estimate {ESTIMATOR}"
    );
    let value = |name: &str| set.mean(name, None).unwrap_or(0.0);
    let _ = writeln!(
        out,
        "  ranking    nDCG@10 {:.3}  recall@10 {:.3}  recall@100 {:.3}  MAP {:.3}  P@5 {:.3}",
        value("ndcg@10"),
        value("recall@10"),
        value("recall@100"),
        value("map"),
        value("p@5")
    );
    let _ = writeln!(
        out,
        "             success@5 {:.3}  R-precision {:.3}  bpref {:.3}  judged@10 {:.3}",
        value("success@5"),
        value("rprec"),
        value("bpref"),
        value("judged@10")
    );
}

fn losses_text(out: &mut String, set: &Measurement, report: &MeasureReport<'_>) {
    let lost: Vec<(&Measured, &Loss)> = set
        .scored(None)
        .flat_map(|question| question.losses.iter().map(move |loss| (question, loss)))
        .collect();
    if lost.is_empty() {
        return;
    }
    out.push_str("\n  evidence that did not arrive\n");
    for (question, loss) in lost {
        let _ = writeln!(out, "  {}  {}", question.id, loss_text(loss, report));
        if let Some(cause) = &question.standing_miss {
            let _ = writeln!(out, "  {}  known and kept: {cause}", " ".repeat(question.id.len()));
        }
    }
}

/// `retrieval:ranked_low: GUIDE-C3-4 came 7th of 142, the window held 5`.
fn loss_text(loss: &Loss, report: &MeasureReport<'_>) -> String {
    let names = loss.units.join(" or ");
    match &loss.found {
        None => {
            format!("{}: no leg found {names} in its first {}", loss.class(), report.settings.depth)
        }
        Some((unit, place, score)) if *place <= report.settings.k => format!(
            "{}: {unit} came {} of {} with score {score:.3}, and there was no room for it among {} tokens, \
             or its score was too low",
            loss.class(),
            ordinal(*place),
            loss.candidates,
            report.settings.window_tokens
        ),
        Some((unit, place, score)) => format!(
            "{}: {unit} came {} of {} with score {score:.3}; the window held at most {}",
            loss.class(),
            ordinal(*place),
            loss.candidates,
            counted(report.settings.k, "block")
        ),
    }
}

/// `1st`, `2nd`, `3rd`, `4th`, `11th`.
pub(super) fn ordinal(n: usize) -> String {
    let ending = match (n % 10, n % 100) {
        (1, rest) if rest != 11 => "st",
        (2, rest) if rest != 12 => "nd",
        (3, rest) if rest != 13 => "rd",
        _ => "th",
    };
    format!("{n}{ending}")
}

/// n, p50 and p95 of every stage and of the total: no part of what is byte-identical.
pub fn timing_text(set: &Measurement) -> String {
    let mut out = String::new();
    let n = set.questions.len();
    let _ = writeln!(
        out,
        "timing      {} one after the other; the first after opening took {:.2} ms and is not counted",
        counted(n, "search").replace("searchs", "searches"),
        set.first_us / 1000.0
    );
    let names = set.questions.first().map_or(&[][..], |question| &question.times_us);
    for (name, _) in names {
        let values = times(set, name);
        let at = |share: f64| percentile(&values, share).map_or(0.0, |p| p.value);
        let _ = writeln!(out, "  {name:9}  p50 {:8.1} µs   p95 {:8.1} µs", at(0.5), at(0.95));
    }
    if n < P95_VALUES_MIN {
        let _ = writeln!(
            out,
            "  p95 of {n} values has no upper limit; {P95_VALUES_MIN} are the fewest that do"
        );
    }
    out
}

fn short(hash: &str) -> &str {
    hash.get(..12).unwrap_or(hash)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_written_as_people_say_them() {
        let said: Vec<String> = [1, 2, 3, 4, 11, 12, 13, 21, 112].map(ordinal).to_vec();
        assert_eq!(said, ["1st", "2nd", "3rd", "4th", "11th", "12th", "13th", "21st", "112th"]);
    }
}
