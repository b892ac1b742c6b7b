//! `measure` for machines. Keys are stable; additions only.

use serde_json::{Map, Value, json};

use super::MeasureReport;
use super::labels::labels_json;
use crate::eval::measurement::{CONTEXT_MEASURES, Measured, Measurement, RANKING_MEASURES, TOKENS};
use crate::eval::statistics::percentile;

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
        "sets": report.sets.iter().map(|set| set_json(set, report.show_questions)).collect::<Vec<_>>(),
        "timing": report.sets.iter().map(timing_json).collect::<Vec<_>>(),
    })
}

fn set_json(set: &Measurement, show_questions: bool) -> Value {
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
        "by_kind": kinds,
        "per_question": shown.map(question_json).collect::<Vec<_>>(),
    })
}

fn means(set: &Measurement, kind: Option<&str>) -> Value {
    let names = CONTEXT_MEASURES.into_iter().chain([TOKENS]).chain(RANKING_MEASURES);
    let means = names.map(|name| (name.to_owned(), json!(set.mean(name, kind))));
    Value::Object(means.collect::<Map<_, _>>())
}

fn question_json(question: &Measured) -> Value {
    let supplied: Vec<Value> = question
        .supplied
        .iter()
        .map(|block| json!({ "reference": block.reference, "score": block.score, "tokens": block.tokens }))
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
