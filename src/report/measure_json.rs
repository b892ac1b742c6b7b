//! `measure` for machines. Keys are stable; additions only.

use serde_json::{Map, Value, json};

use super::MeasureReport;
use super::labels::labels_json;
use super::numbers::{by_cluster, ends, mean_of, of_judged};
use super::tables::{noise, stage_names};
use crate::eval::bootstrap::{SEED, mean_interval};
use crate::eval::measurement::{CONTEXT_MEASURES, Measured, Measurement, RANKING_MEASURES, TOKENS};
use crate::eval::statistics::{percentile, wilson};

/// One object: receipt, corpus, sets, and the timings apart from what is byte-identical.
pub fn measure_json(report: &MeasureReport<'_>) -> Value {
    let manifest = report.manifest;
    json!({
        "receipt": report.receipt,
        "corpus": {
            "documents": manifest.documents,
            "blocks": manifest.blocks,
            "passages": manifest.passages,
            "fingerprint": manifest.fingerprint,
        },
        "sets": report.sets.iter().map(|set| set_json(set, report)).collect::<Vec<_>>(),
        "timing": report.sets.iter().map(timing_json).collect::<Vec<_>>(),
    })
}

fn set_json(set: &Measurement, report: &MeasureReport<'_>) -> Value {
    let show_questions = report.show_questions;
    let scored = set.scored(None).count();
    let unscoreable: Vec<Value> = set
        .questions
        .iter()
        .filter(|question| show_questions && !question.is_scored())
        .map(|question| json!({ "id": question.id, "reason": question.unscoreable }))
        .collect();
    let kinds: Vec<Value> = set
        .kinds()
        .into_iter()
        .filter(|_| report.show_kinds)
        .map(|kind| {
            json!({
                "kind": kind,
                "n": set.scored(Some(kind)).count(),
                "means": means(set, Some(kind)),
            })
        })
        .collect();
    let shown = set.questions.iter().filter(|_| show_questions);
    json!({
        "name": set.set,
        "mode": set.mode,
        "questions": set.questions.len(),
        "scored": scored,
        "unscoreable": set.questions.len() - scored,
        "unscoreable_questions": unscoreable,
        "labels": labels_json(set, show_questions),
        "means": means(set, None),
        "intervals": intervals(set),
        "clusters": clusters(set, show_questions),
        "supplied": supplied(set, report.settings.k),
        "ties": ties(set),
        "stages": stages(set),
        "noise": noise_json(set),
        "by_kind": kinds,
        "per_question": shown.map(question_json).collect::<Vec<_>>(),
    })
}

fn means(set: &Measurement, kind: Option<&str>) -> Value {
    let names = CONTEXT_MEASURES.into_iter().chain([TOKENS]).chain(RANKING_MEASURES);
    let means = names.map(|name| (name.to_owned(), json!(set.mean(name, kind))));
    Value::Object(means.collect::<Map<_, _>>())
}

/// The 95 % interval of each mean that has one: Wilson's for hits, the Bayesian bootstrap's else.
fn intervals(set: &Measurement) -> Value {
    let names = CONTEXT_MEASURES.into_iter().chain(RANKING_MEASURES);
    let all = names.filter_map(|name| {
        let values = set.values(name, None);
        let hits = values.iter().filter(|value| **value > 0.0).count();
        let interval =
            if name == "hit" { wilson(hits, values.len()) } else { mean_interval(&values, SEED) };
        Some((name.to_owned(), json!(interval?)))
    });
    Value::Object(all.collect::<Map<_, _>>())
}

/// Questions that share a document of their evidence as one: how many that leaves and, where single
/// questions may be shown, the intervals drawn by cluster.
fn clusters(set: &Measurement, show_questions: bool) -> Value {
    let Some((number, [hit, recall, precision])) = by_cluster(set) else { return Value::Null };
    if show_questions {
        json!({ "n": number, "hit": hit, "recall": recall, "precision": precision })
    } else {
        json!({ "n": number })
    }
}

/// What the means of the context leave open: a context of nothing, blocks that repeat a unit, and the
/// two other denominators of precision.
fn supplied(set: &Measurement, k: usize) -> Value {
    let n = set.scored(None).count().max(1) as f64;
    let mean = |of: &dyn Fn(&Measured) -> f64| set.scored(None).map(of).sum::<f64>() / n;
    json!({
        "empty": set.scored(None).filter(|question| question.supplied.is_empty()).count(),
        "duplicates": set.scored(None).map(Measured::duplicates).sum::<usize>(),
        "missed": set.scored(None).filter(|question| question.value("rank").is_none()).count(),
        "mrr": mean(&|question| question.value("rank").map_or(0.0, f64::recip)),
        "precision_of_k": mean(&|question| question.precision_of_k(k)),
        "precision_of_tokens": mean(&Measured::precision_of_tokens),
        "judged": set.scored(None).map(Measured::judged_units).sum::<usize>(),
        "precision_of_judged": mean_of(&of_judged(set)),
    })
}

/// How far the means depend on the order of equal scores.
fn ties(set: &Measurement) -> Value {
    let recall = ends(set, |end| end.recall);
    let precision = ends(set, |end| end.precision);
    json!({
        "questions": set.scored(None).filter(|question| question.depends_on_ties()).count(),
        "recall": recall,
        "precision": precision,
    })
}

fn stages(set: &Measurement) -> Value {
    let names = stage_names(set).into_iter();
    let all = names.map(|name| {
        let found = set.scored(None).flat_map(|q| q.stages.iter().filter(move |s| s.name == name));
        let (hits, covered) = found.fold((0, 0), |(hits, covered), stage| {
            (hits + usize::from(stage.rank.is_some()), covered + stage.covered)
        });
        json!({ "name": name, "hits": hits, "groups_covered": covered })
    });
    json!({
        "n": set.scored(None).count(),
        "groups": set.scored(None).map(|question| question.groups).sum::<usize>(),
        "stages": all.collect::<Vec<_>>(),
    })
}

fn noise_json(set: &Measurement) -> Value {
    let all = noise(set).into_iter().map(|(relation, noise)| {
        json!({
            "relation": relation,
            "blocks": noise.blocks,
            "tokens": noise.tokens,
            "questions": noise.questions,
        })
    });
    all.collect()
}

fn question_json(question: &Measured) -> Value {
    let supplied: Vec<Value> = question
        .supplied
        .iter()
        .map(|block| {
            json!({
                "reference": block.reference,
                "score": block.score,
                "tokens": block.tokens,
                "relevant": block.relevant,
                "relation": block.relation,
            })
        })
        .collect();
    let lost: Vec<Value> = question
        .losses
        .iter()
        .filter(|_| question.is_scored())
        .map(|loss| {
            json!({
                "units": loss.units,
                "class": loss.class(),
                "place": loss.found.as_ref().map(|(_, place, _)| place),
                "score": loss.found.as_ref().map(|(_, _, score)| score),
                "candidates": loss.candidates,
            })
        })
        .collect();
    json!({
        "id": question.id,
        "kind": question.kinds,
        "unscoreable": question.unscoreable,
        "hit": question.value("hit"),
        "recall": question.value("recall"),
        "precision": question.value("precision"),
        "rank": question.value("rank"),
        "tokens": question.tokens,
        "supplied": supplied,
        "lost": lost,
        "standing_miss": question.standing_miss,
        "groups": question.groups,
        "duplicates": question.duplicates(),
        "tokens_relevant": question.tokens_relevant(),
        "stages": question
            .stages
            .iter()
            .map(|stage| {
                json!({
                    "name": stage.name,
                    "covered": stage.covered,
                    "rank": stage.rank,
                    "candidates": stage.candidates,
                    "best": stage.best,
                    "median": stage.median,
                })
            })
            .collect::<Vec<_>>(),
        "ties": question.ties,
        "measures": question.values,
    })
}

/// n, p50 and p95 of every stage and of the total, by nearest rank.
fn timing_json(set: &Measurement) -> Value {
    let names: Vec<&str> = set
        .questions
        .first()
        .map_or_else(Vec::new, |q| q.times_us.iter().map(|(n, _)| *n).collect());
    let stages: Vec<Value> = names
        .into_iter()
        .map(|name| {
            let times = times(set, name);
            json!({
                "name": name,
                "n": times.len(),
                "p50_us": percentile(&times, 0.5).map(|p| p.value),
                "p95_us": percentile(&times, 0.95).map(|p| p.value),
            })
        })
        .collect();
    json!({ "name": set.set, "first_us": set.first_us, "stages": stages })
}

/// Microseconds of the stage called `name`, over all questions.
pub(super) fn times(set: &Measurement, name: &str) -> Vec<f64> {
    let all = set.questions.iter().flat_map(|question| &question.times_us);
    all.filter(|(own, _)| *own == name).map(|(_, us)| *us).collect()
}
