//! What the scorecard's page shows, gathered.

use std::sync::Arc;

use atlas::error::Result;
use atlas::eval::compare::Comparison;
use atlas::eval::ledger;
use atlas::eval::measurement::{Measured as Question, Options, keep_readable, measure, request};
use atlas::eval::questions::{Question as Asked, QuestionSet};
use atlas::eval::scorecard::Scorecard;
use atlas::eval::sweep::{Knob, Recording};
use atlas::index::Index;
use atlas::report::{
    AdoptionReport, Arrived, Drill, LatencyReport, Page, Quality, Receipt, Rung, html,
};
use atlas::search::{Outcome, Retriever as _, Searcher, Settings};

use super::output::one_line;
use super::scorecard::Measured;

/// Characters of a block's text that are shown.
const EXCERPT: usize = 180;

/// What there is to show.
pub struct Shown<'s> {
    /// The measurement behind the page.
    pub measured: &'s Measured,
    /// The targets and the gate.
    pub card: &'s Scorecard,
    /// Searches, timed.
    pub latency: Option<&'s LatencyReport<'s>>,
    /// Who uses it.
    pub adoption: Option<AdoptionReport<'s>>,
    /// Against an earlier run.
    pub comparison: Option<&'s Comparison>,
    /// The ladder of answers that failed.
    pub answers: Vec<Rung>,
}

/// The page.
pub fn page(shown: &Shown<'_>) -> Result<String> {
    let measured = shown.measured;
    let manifest = measured.index.manifest();
    let short = |hash: &str| hash.get(..12).unwrap_or(hash).to_owned();
    let folder = measured.project.folder.canonicalize().unwrap_or_default();
    let corpus = measured.project.corpus.file_name().or_else(|| folder.file_name());
    Ok(html(&Page {
        project: corpus.unwrap_or_default().to_string_lossy().into_owned(),
        ground: format!(
            "{} documents, {} passages, corpus {}, index {}",
            manifest.documents,
            manifest.passages,
            short(&manifest.fingerprint),
            short(&manifest.digest)
        ),
        card: shown.card,
        quality: Some(quality(measured)?),
        latency: shown.latency,
        adoption: shown.adoption.as_ref(),
        ladder: ladder(measured, shown.card),
        answers: shown.answers.clone(),
        questions: drills(measured)?,
        comparison: shown.comparison,
    }))
}

/// Scored questions by where the first of their evidence was lost; the counts add up to all of them.
fn ladder(measured: &Measured, card: &Scorecard) -> Vec<Rung> {
    let scored = measured.measurement.scored(None).count();
    let missed = measured.measurement.scored(None).filter(|q| !q.losses.is_empty()).count();
    let mut rungs =
        vec![Rung { name: "all evidence arrived".to_owned(), count: scored - missed, lost: false }];
    for stage in ["lexical and dense", "rerank", "min-score", "window"] {
        let count =
            card.work.iter().filter(|work| work.stage == stage).map(|work| work.ids.len()).sum();
        rungs.push(Rung { name: format!("lost at {stage}"), count, lost: true });
    }
    rungs
}

/// The sweep, and what the ledger already tells of the held-out questions.
fn quality(measured: &Measured) -> Result<Quality<'_>> {
    let settings = &measured.project.file.search;
    let (index, set, found) = (&measured.index, &measured.set, &measured.measurement);
    let searcher = Searcher::new(Arc::clone(index), settings.clone())?;
    let scope_of = |question: &Asked| measured.project.scope(index, question.asker.as_deref());
    let mut set = set.clone();
    keep_readable(index, &mut set, &scope_of)?;
    let recording = Recording::new(&searcher, &set, Options::default().mode, &scope_of)?;
    let whole = recording.sweep(Knob::MinScore, recording.values(Knob::MinScore)?)?;
    let mut values: Vec<f64> = (0..=40).map(|step| f64::from(step) / 50.0).collect();
    values.extend(whole.margin(settings.min_score).map(|margin| margin.holds_to));
    values.push(settings.min_score);
    values.sort_by(f64::total_cmp);
    values.dedup();
    let steps = recording.sweep(Knob::MinScore, values.clone())?.steps();
    let entries = ledger::read(&measured.project.ledger())?;
    let spent = ledger::spent(&entries, "held-out");
    Ok(Quality {
        measured: found,
        steps,
        min_score: settings.min_score,
        held_out: held_out(measured, &entries, &values)?,
        looks: (spent.looks, spent.bits),
    })
}

/// Totals of the held-out questions under those settings alone that the ledger has a look for: showing
/// them again tells nothing new.
fn held_out(
    measured: &Measured,
    entries: &[ledger::Entry],
    values: &[f64],
) -> Result<Vec<(f64, f64, f64)>> {
    let project = &measured.project;
    let path = project.question_set("held-out");
    let mut told = Vec::new();
    if !path.is_file() || path == measured.set.path {
        return Ok(told);
    }
    let set = QuestionSet::read(&path)?;
    for value in values {
        let settings = Settings { min_score: *value, ..project.file.search.clone() };
        let sets = vec![(set.name.clone(), set.hash.clone())];
        let manifest = measured.index.manifest();
        let options = Options::default();
        let receipt = Receipt::new(manifest, sets, options.mode, &settings, project.access_id());
        if !ledger::known(entries, &receipt.id, "totals") {
            continue;
        }
        let searcher = Searcher::new(Arc::clone(&measured.index), settings.clone())?;
        let scope_of = |question: &atlas::eval::questions::Question| {
            project.scope(&measured.index, question.asker.as_deref())
        };
        let found = measure(&searcher, &measured.index, &settings, &set, options, &scope_of)?;
        if let (Some(recall), Some(precision)) =
            (found.mean("recall", None), found.mean("precision", None))
        {
            told.push((*value, recall, precision));
        }
    }
    Ok(told)
}

/// Every question of the development set, with what arrived and why.
fn drills(measured: &Measured) -> Result<Vec<Drill>> {
    let index = &measured.index;
    let settings = &measured.project.file.search;
    let searcher = Searcher::new(Arc::clone(index), settings.clone())?;
    let mut drills = Vec::with_capacity(measured.set.questions.len());
    for (question, found) in measured.set.questions.iter().zip(&measured.measurement.questions) {
        let scope = measured.project.scope(index, question.asker.as_deref())?;
        let request = request(index, settings, question, Options::default(), scope)?;
        let outcome = searcher.retrieve(&request)?;
        let relevant =
            |unit: &str| question.judgments.groups().iter().flatten().any(|judged| judged == unit);
        let mut arrived = Vec::with_capacity(outcome.context.len());
        for (hit, supplied) in outcome.context.iter().zip(&found.supplied) {
            arrived.push(arrived_block(index, &outcome, hit, relevant(&supplied.unit))?);
        }
        drills.push(Drill {
            id: question.id.clone(),
            question: question.question.clone(),
            asker: question.asker.clone(),
            kinds: question.kinds.join(", "),
            result: result(found),
            missed: found.is_scored() && !found.losses.is_empty(),
            arrived,
            lost: if found.is_scored() { lost(found) } else { Vec::new() },
        });
    }
    Ok(drills)
}

fn result(found: &Question) -> String {
    if let Some(why) = &found.unscoreable {
        return format!("not scored: {why}");
    }
    let value = |name: &str| found.value(name).unwrap_or(0.0);
    let rank = found.value("rank").map_or_else(|| "none".to_owned(), |rank| format!("{rank:.0}"));
    format!("rank {rank}, recall {:.2}, precision {:.2}", value("recall"), value("precision"))
}

fn lost(found: &Question) -> Vec<String> {
    let each = found.losses.iter().map(|loss| {
        let names = loss.units.join(" or ");
        match &loss.found {
            None => format!("{names}: no leg found it"),
            Some((unit, place, score)) => {
                format!("{unit} came {place} of {} with score {score:.3}", loss.candidates)
            }
        }
    });
    each.collect()
}

fn arrived_block(
    index: &Index,
    outcome: &Outcome,
    hit: &atlas::search::ContextBlock,
    relevant: bool,
) -> Result<Arrived> {
    let passages = index.passages();
    let passage = passages.passage(hit.row)?;
    let block = passages.block(hit.block)?;
    let mut title = vec![passages.document(block.document)?.title];
    title.extend(passages.sections(&block)?);
    let place = |stage: &str, what: &str| {
        outcome.trace.rank(stage, hit.row).map_or_else(
            || format!("not by {what}"),
            |(rank, score)| format!("{rank} by {what} ({score:.2})"),
        )
    };
    Ok(Arrived {
        reference: passages.block_reference(hit.block)?.to_string(),
        title: title.join(" › "),
        text: one_line(passages.passage_text(&passage)?, EXCERPT),
        score: hit.score,
        tokens: hit.tokens,
        relevant,
        why: format!("{}, {}", place("lexical", "words"), place("dense", "vectors")),
    })
}
