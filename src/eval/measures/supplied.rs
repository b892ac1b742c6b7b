//! The mission's measures, of the list that was handed over: hit, recall, precision, rank.
//!
//! All of them are `None` when nothing is relevant: such a question is listed, not scored. When
//! something is relevant and nothing was supplied, hit, recall and precision are 0 and rank is
//! `None`.

use std::num::NonZeroUsize;

use crate::eval::judgments::Judgments;

use super::{Combine, Measure, covered, first, named, relevant};

/// Whether anything relevant was found: 1 or 0. With a cut, the field's success@k.
///
/// Formula: 1 if a relevant unit is in the list (in its first k places), else 0. Cutoff: optional; a
/// k beyond the list is no error. Ties: as given. Nothing relevant: `None`.
///
/// Reference: the mission; `success` of trec_eval (`m_success.c`).
#[derive(Debug, Clone, Copy)]
pub struct Hit {
    /// The number of places looked at; all of them without it.
    pub cut: Option<NonZeroUsize>,
}

impl Measure for Hit {
    fn name(&self) -> String {
        named(if self.cut.is_some() { "success" } else { "hit" }, self.cut)
    }

    fn score(&self, judgments: &Judgments, ranking: &[&str]) -> Option<f64> {
        let found = relevant(first(&judgments.walk(ranking), self.cut)) > 0;
        judgments.is_scoreable().then(|| f64::from(u8::from(found)))
    }
}

/// The share of the needed evidence that was found.
///
/// Formula: evidence groups covered by the list (by its first k places) over all groups; with qrels,
/// relevant units found over relevant units. One of two equivalent units gives 1. Cutoff: optional.
/// Ties: as given. Nothing relevant: `None`, not 0 and not 1.
///
/// Reference: the mission; `recall` and `set_recall` of trec_eval (`m_recall.c`, `m_set_recall.c`).
#[derive(Debug, Clone, Copy)]
pub struct Recall {
    /// The number of places looked at; all of them without it.
    pub cut: Option<NonZeroUsize>,
}

impl Measure for Recall {
    fn name(&self) -> String {
        named("recall", self.cut)
    }

    fn score(&self, judgments: &Judgments, ranking: &[&str]) -> Option<f64> {
        let found = covered(first(&judgments.walk(ranking), self.cut));
        judgments.is_scoreable().then(|| found as f64 / judgments.groups().len() as f64)
    }
}

/// The share of what was supplied that is relevant.
///
/// Formula: relevant units over distinct units supplied; a unit supplied twice counts once, and an
/// equivalent unit is relevant. Cutoff: none, the denominator is what came and not a k. Ties: do
/// not matter. Nothing supplied while something is relevant: 0. Nothing relevant: `None`.
///
/// Reference: the mission; `set_P` of trec_eval (`m_set_P.c`).
#[derive(Debug, Clone, Copy)]
pub struct Precision;

impl Measure for Precision {
    fn name(&self) -> String {
        "precision".to_owned()
    }

    fn score(&self, judgments: &Judgments, ranking: &[&str]) -> Option<f64> {
        let places = judgments.walk(ranking);
        judgments.is_scoreable().then(|| relevant(&places) as f64 / places.len().max(1) as f64)
    }
}

/// The place of the first relevant unit, counted from 1.
///
/// Formula: its position in the list without repeats. Cutoff: none. Ties: as given. `None` when no
/// relevant unit came, and when nothing is relevant. Its mean over hits falls when a late hit is
/// cut away: print the misses and [`super::ReciprocalRank`] beside it.
///
/// Reference: the mission.
#[derive(Debug, Clone, Copy)]
pub struct Rank;

impl Measure for Rank {
    fn name(&self) -> String {
        "rank".to_owned()
    }

    fn score(&self, judgments: &Judgments, ranking: &[&str]) -> Option<f64> {
        let places = judgments.walk(ranking);
        places.iter().position(|place| place.is_relevant()).map(|index| (index + 1) as f64)
    }

    fn combine(&self) -> Combine {
        Combine::MeanOfHits
    }
}

/// The harmonic mean of precision and recall over the whole list.
///
/// Formula: 2PR / (P + R) of [`Precision`] and [`Recall`]; 0 when both are. Cutoff: none. Ties: do
/// not matter. Nothing relevant: `None`.
///
/// Reference: van Rijsbergen, "Information Retrieval", 1979; `set_F` of trec_eval (`m_set_F.c`).
#[derive(Debug, Clone, Copy)]
pub struct SetF;

impl Measure for SetF {
    fn name(&self) -> String {
        "set_f".to_owned()
    }

    fn score(&self, judgments: &Judgments, ranking: &[&str]) -> Option<f64> {
        let precision = Precision.score(judgments, ranking)?;
        let recall = Recall { cut: None }.score(judgments, ranking)?;
        let sum = precision + recall;
        Some(if sum > 0.0 { 2.0 * precision * recall / sum } else { 0.0 })
    }
}
