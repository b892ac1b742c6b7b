//! `measure` for people.

use std::fmt::Write as _;

use super::fold::folded;
use super::labels::labels_text;
use super::measure_json::times;
use super::numbers::{ends, of_judged};
use super::tables::{kinds_text, noise_text, stages_text};
use super::{MeasureReport, counted, numbers};
use crate::eval::compare::CHANGES_MIN;
use crate::eval::measurement::{Loss, Measured, Measurement, RANKING_MEASURES, TOKENS};
use crate::eval::statistics::{Interval, percentile};
use crate::text::ESTIMATOR;

/// Fewest values for which a 95th percentile has an upper limit at all.
const P95_VALUES_MIN: usize = 59;

/// Columns from which a question's line shows its kinds.
const WIDE: usize = 88;

/// What a report for people shows.
#[derive(Debug, Clone, Copy)]
pub struct Shown {
    /// A line for each question, with the evidence that did not arrive; always off where the report
    /// says that questions are not to be shown.
    pub questions: bool,
    /// Every superfluous block with its score, its relation to the evidence and its beginning.
    pub noise: bool,
    /// The most characters in a line, at least 40; a single word may be longer.
    pub columns: usize,
}

/// The report without its timings: byte-identical on a rerun.
pub fn measure_text(report: &MeasureReport<'_>, shown: Shown) -> String {
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
    let _ = writeln!(out, "settings    {}", report.receipt.settings_line());
    for set in &report.sets {
        set_text(&mut out, set, report, shown);
    }
    let _ = writeln!(out, "\nreceipt     {}", short(&report.receipt.id));
    folded(&out, shown.columns)
}

fn set_text(out: &mut String, set: &Measurement, report: &MeasureReport<'_>, shown: Shown) {
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
    let each = shown.questions && report.show_questions;
    if each {
        questions_text(out, set, shown.columns);
    }
    if report.show_kinds {
        kinds_text(out, set, shown.columns);
    }
    means_text(out, set, report);
    if scored > 0 {
        stages_text(out, set);
        noise_text(out, set, shown.noise && report.show_questions);
        can_it_tell(out, set);
    }
    if each {
        losses_text(out, set, report);
    } else if !report.show_questions {
        let missed = set.scored(None).filter(|question| !question.losses.is_empty()).count();
        let _ = writeln!(
            out,
            "  missed      evidence lost for {} of {scored}; `--reveal` names them",
            counted(missed, "question")
        );
    }
    standing_text(out, set, report.show_questions);
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

fn questions_text(out: &mut String, set: &Measurement, columns: usize) {
    let wide = columns >= WIDE;
    let longest = set.questions.iter().map(|q| q.id.chars().count()).max().unwrap_or(0);
    let width = longest.clamp(8, if wide { 28 } else { columns.saturating_sub(36).clamp(8, 28) });
    let kinds = |question: &Measured| {
        if wide { question.kinds.join(", ") } else { String::new() }
    };
    let longest = set.questions.iter().map(|q| kinds(q).chars().count()).max().unwrap_or(0);
    let kind_width = if wide { longest.clamp(4, 28) } else { 0 };
    let (kind, gap) = if wide { ("kind", "  ") } else { ("", "") };
    let _ = writeln!(
        out,
        "  {:width$}  {kind:kind_width$}{gap}hit  recall  prec.  rank  tokens",
        "question"
    );
    for question in &set.questions {
        let id = shortened(&question.id, width);
        let _ = write!(out, "  {id:width$}  {:kind_width$}{gap}", kinds(question));
        if let Some(reason) = &question.unscoreable {
            let blocks = counted(question.supplied.len(), "block");
            let (tokens, pad) = (question.tokens, 4 + width);
            let _ = writeln!(out, "  -       -      -     -  {tokens:6}");
            let _ = writeln!(out, "{:pad$}not scored: {reason}; {blocks} handed over", "");
            continue;
        }
        let value = |name: &str| question.value(name).unwrap_or(0.0);
        let rank = rank_text(question);
        let _ = writeln!(
            out,
            "{:3.0}  {:6.2}  {:5.2}  {rank:>4}  {:6}",
            value("hit"),
            value("recall"),
            value("precision"),
            question.tokens
        );
    }
    out.push('\n');
}

/// The rank, or the range that equal scores leave open: `2`, `1-3`, `none`.
fn rank_text(question: &Measured) -> String {
    let place =
        |rank: Option<f64>| rank.map_or_else(|| "none".to_owned(), |rank| format!("{rank:.0}"));
    match question.ties.map(|ties| (ties.most.rank, ties.least.rank)) {
        Some((well, badly)) if well != badly => format!("{}-{}", place(well), place(badly)),
        _ => place(question.value("rank")),
    }
}

/// What nobody has judged, and what equal scores leave open.
fn open_text(out: &mut String, set: &Measurement) {
    let sum = |of: &dyn Fn(&Measured) -> usize| set.scored(None).map(of).sum::<usize>();
    let supplied = sum(&|question| question.supplied.len() - question.duplicates());
    let (judged, relevant) = (sum(&Measured::judged_units), sum(&Measured::relevant_units));
    let values = of_judged(set);
    let left_out = match numbers::mean_of(&values) {
        Some(mean) if judged > relevant => {
            format!("left out, precision is {mean:.2} (n {})", values.len())
        }
        _ => "none was judged not relevant".to_owned(),
    };
    let of = format!("{judged} of {supplied}");
    let _ = writeln!(out, "  judged      {of:16} blocks; the others count as wrong; {left_out}");
    let tied = sum(&|question| usize::from(question.depends_on_ties()));
    let range = |of| {
        ends(set, of).map_or_else(String::new, |(least, most)| format!("{least:.3} to {most:.3}"))
    };
    let what = match tied {
        0 => "no number depends on the order of equal scores".to_owned(),
        _ => format!(
            "depend on the order of equal scores: recall {}, precision {}",
            range(|end| end.recall),
            range(|end| end.precision)
        ),
    };
    let _ = writeln!(out, "  ties        {:16} {what}", counted(tied, "question"));
}

/// `text` in at most `width` characters, cut with an ellipsis.
pub(super) fn shortened(text: &str, width: usize) -> String {
    if text.chars().count() <= width {
        return text.to_owned();
    }
    let mut cut: String = text.chars().take(width.saturating_sub(1)).collect();
    cut.push('…');
    cut
}

fn means_text(out: &mut String, set: &Measurement, report: &MeasureReport<'_>) {
    let n = set.scored(None).count();
    if n == 0 {
        let _ = writeln!(out, "  no question can be scored, so there is nothing to average");
        return;
    }
    let (hits, range) = numbers::hits(set, None);
    let _ = writeln!(out, "  hit         {:16} 95 %: {range}", format!("{hits} of {n}"));
    let line = |out: &mut String, name: &str, values: &[f64], what: &str| {
        let mean = values.iter().sum::<f64>() / values.len().max(1) as f64;
        let range = numbers::range(values);
        let value = format!("{mean:.2} (n {})", values.len());
        let line = format!("  {name:10}  {value:16} {:20}{what}", format!("95 %: {range}"));
        let _ = writeln!(out, "{}", line.trim_end());
    };
    line(out, "recall", &set.values("recall", None), "");
    let sums = |of: fn(&Measured) -> usize| set.scored(None).map(of).sum::<usize>();
    let empty = sums(|question| usize::from(question.supplied.is_empty()));
    let what = format!(
        "of what was supplied; {}, {empty} with nothing supplied",
        counted(sums(Measured::duplicates), "duplicate")
    );
    line(out, "precision", &set.values("precision", None), &what);
    let k = report.settings.k;
    let of_k: Vec<f64> = set.scored(None).map(|q| q.precision_of_k(k)).collect();
    line(out, "", &of_k, &format!("of k, {k}"));
    let of_tokens: Vec<f64> = set.scored(None).map(Measured::precision_of_tokens).collect();
    line(out, "", &of_tokens, "of the tokens");
    let ranks = set.values("rank", None);
    let mean =
        set.mean("rank", None).map_or_else(|| "none".to_owned(), |rank| format!("{rank:.2}"));
    let _ = writeln!(
        out,
        "  rank        {:16} {} missed",
        format!("{mean} (n {})", ranks.len()),
        n - ranks.len()
    );
    let reciprocal: Vec<f64> =
        set.scored(None).map(|q| q.value("rank").map_or(0.0, f64::recip)).collect();
    line(out, "MRR", &reciprocal, "of what was supplied");
    clusters_text(out, set, n, report.show_questions);
    prompt_text(out, set);
    open_text(out, set);
    let _ = writeln!(
        out,
        "  ranking     before min-score and window, to depth {}",
        report.settings.depth
    );
    for name in RANKING_MEASURES {
        let values = set.values(name, None);
        let mean = set.mean(name, None).unwrap_or(0.0);
        let value = format!("{mean:.3} (n {})", values.len());
        let _ = writeln!(out, "  {name:10}  {value:16} 95 %: {}", numbers::range(&values));
    }
}

/// What the questions know when those of one document count as one. Which of them hit together would be
/// told of questions that are not to be shown.
fn clusters_text(out: &mut String, set: &Measurement, n: usize, show_questions: bool) {
    let Some((clusters, [hit, recall, precision])) = numbers::by_cluster(set) else { return };
    let share = |range: &Interval| format!("{:.2} to {:.2}", range.low, range.high);
    let what = match (hit, recall, precision) {
        (Some(hit), Some(recall), Some(precision)) if show_questions => format!(
            "drawn by cluster, 95 %: hit {}, recall {}, precision {}",
            numbers::percent(&hit),
            share(&recall),
            share(&precision)
        ),
        _ => "the intervals are those of questions, and too narrow".to_owned(),
    };
    let of = format!("{clusters} of {n}");
    let _ = writeln!(out, "  clusters    {of:16} questions that share a document are one; {what}");
}

fn prompt_text(out: &mut String, set: &Measurement) {
    let tokens = set.values(TOKENS, None);
    let n = tokens.len();
    let largest = tokens.iter().copied().fold(0.0, f64::max);
    let mean = set.mean(TOKENS, None).unwrap_or(0.0);
    let p95 = match percentile(&tokens, 0.95) {
        Some(p) if n >= P95_VALUES_MIN => format!("p95 {:.0}", p.value),
        _ => format!("p95 unknown under {P95_VALUES_MIN} values"),
    };
    let _ = writeln!(
        out,
        "  prompt      {:16} largest {largest:.0}, {p95}; tokens of the context alone, by estimate {ESTIMATOR}",
        format!("{mean:.0} (n {n})")
    );
}

/// What the set can show at best.
fn can_it_tell(out: &mut String, set: &Measurement) {
    let failing = set.scored(None).filter(|q| q.value("hit") != Some(1.0)).count();
    let verdict = if failing < CHANGES_MIN { ", so it cannot show a gain" } else { "" };
    let _ = writeln!(
        out,
        "  can it tell?  a gain in hits needs {CHANGES_MIN} questions that change, all one way; failing \
         now: {failing}{verdict}"
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
        let stale = set.labels.iter().any(|label| {
            label.is_stale() && label.question == question.id && loss.units.contains(&label.unit)
        });
        let stale = if stale { "; its label is stale" } else { "" };
        let _ = writeln!(out, "  {}  {}{stale}", question.id, loss_text(loss, report));
    }
}

/// The misses that are known and kept, and those of them that are none any more.
fn standing_text(out: &mut String, set: &Measurement, show_questions: bool) {
    let known: Vec<(&Measured, &String)> =
        set.scored(None).filter_map(|q| Some((q, q.standing_miss.as_ref()?))).collect();
    if known.is_empty() {
        return;
    }
    let arrives = |question: &Measured| question.losses.is_empty();
    let now = known.iter().filter(|(question, _)| arrives(question)).count();
    let _ = write!(
        out,
        "\n  standing    {} known and kept",
        counted(known.len(), "miss").replace("misss", "misses")
    );
    if !show_questions {
        out.push('\n');
        return;
    }
    let _ = writeln!(out, "; arriving now: {now}");
    for (question, cause) in known {
        let what = if arrives(question) {
            "ARRIVES NOW, find out why before the mark is taken away"
        } else {
            "still missed"
        };
        let _ = writeln!(out, "  {}  {what}: {cause}", question.id);
    }
}

/// `retrieval:ranked_low: GUIDE-C3-4 came 7th of 142, the window held 5`.
fn loss_text(loss: &Loss, report: &MeasureReport<'_>) -> String {
    let names = loss.units.join(" or ");
    match &loss.found {
        None => {
            format!("{}: no leg found {names} in its first {}", loss.class(), report.settings.depth)
        }
        Some((unit, place, score)) if *score < report.settings.min_score => format!(
            "{}: {unit} came {} of {} with score {score:.3}, below the minimum of {}",
            loss.class(),
            ordinal(*place),
            loss.candidates,
            report.settings.min_score
        ),
        Some((unit, place, score)) if *place <= report.settings.k => format!(
            "{}: {unit} came {} of {} with score {score:.3}; the window of {} tokens passed it over",
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
pub fn timing_text(set: &Measurement, columns: usize) -> String {
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
    folded(&out, columns)
}

pub(super) fn short(hash: &str) -> &str {
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
