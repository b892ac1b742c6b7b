//! Exchange with other evaluators: run files, qrels, and trec_eval's way of scoring them.
//!
//! trec_eval does not take a run in the order it is written: it sorts each question by score,
//! descending, as 64-bit numbers, then by id, *descending*, byte by byte, and never looks at the rank
//! column. [`Run::ranking`] gives that order and [`evaluate`] scores it; the engine's own lists are
//! scored in the engine's order and do not pass through here.
//!
//! Reference: usnistgov/trec_eval 10.0 (`form_res_rels.c`, `meas_avg.c`, `trec_eval.c`).

mod read;
mod write;

use std::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet};

use crate::error::{Error, Result};
use crate::eval::judgments::Judgments;
use crate::eval::measures::{Combine, Measure};

pub use read::{Columns, parse_beir_qrels, parse_qrels, parse_run};
pub use read::{read_beir_qrels, read_qrels, read_run};
pub use write::{format_qrels, format_run, write_qrels, write_run};

/// Judgments of many questions: a grade for each unit.
///
/// Question ids are strings, also when they look like numbers: `10` stands before `2`. A unit is
/// judged once for a question. A grade below zero means in the pool and not judged.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Qrels {
    questions: BTreeMap<String, BTreeMap<String, i32>>,
}

impl Qrels {
    /// Adds one judgment; a second one of the same unit for the same question is refused.
    pub fn add(
        &mut self,
        question: impl Into<String>,
        unit: impl Into<String>,
        grade: i32,
    ) -> Result<()> {
        let (question, unit) = (question.into(), unit.into());
        let grades = self.questions.entry(question).or_default();
        if grades.contains_key(&unit) {
            return Err(Error::invalid(format!("the judgment of {unit}"), "given twice", "one"));
        }
        grades.insert(unit, grade);
        Ok(())
    }

    /// The judged questions, in byte order of their ids, each with the grades of its units.
    pub fn questions(&self) -> impl Iterator<Item = (&str, &BTreeMap<String, i32>)> {
        self.questions.iter().map(|(question, grades)| (question.as_str(), grades))
    }

    /// The judgments of one question, a unit being relevant from grade `level` up; `None` when the
    /// question was not judged.
    pub fn judgments(&self, question: &str, level: i32) -> Option<Judgments> {
        let grades = self.questions.get(question)?;
        Some(Judgments::from_qrels(
            grades.iter().map(|(unit, grade)| (unit.as_str(), *grade)),
            level,
        ))
    }
}

/// What a system returned for many questions: units with scores, as they were written.
///
/// Invariants: every score is a finite number, and no unit comes twice for a question.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Run {
    tag: String,
    questions: BTreeMap<String, Vec<(String, f64)>>,
}

impl Run {
    /// An empty run; the tag is the name of the system, the sixth column.
    pub fn new(tag: impl Into<String>) -> Self {
        Self { tag: tag.into(), questions: BTreeMap::new() }
    }

    /// The name of the system.
    pub fn tag(&self) -> &str {
        &self.tag
    }

    /// Adds the results of one question, best first, each with its score.
    ///
    /// A question given before, a unit given twice and a score that is not finite are refused.
    pub fn add(&mut self, question: impl Into<String>, results: Vec<(String, f64)>) -> Result<()> {
        let question = question.into();
        if self.questions.contains_key(&question) {
            let what = format!("the ranking of question {question}");
            return Err(Error::invalid(what, "given twice", "one"));
        }
        let mut seen = BTreeSet::new();
        for (unit, score) in &results {
            if !score.is_finite() {
                let what = format!("the score of {unit} for question {question}");
                return Err(Error::invalid(what, score, "a finite number"));
            }
            if !seen.insert(unit) {
                let what = format!("{unit} for question {question}");
                return Err(Error::invalid(what, "given twice", "each unit once"));
            }
        }
        self.questions.insert(question, results);
        Ok(())
    }

    /// The questions, in byte order of their ids, each with its results in the order written.
    pub fn questions(&self) -> impl Iterator<Item = (&str, &[(String, f64)])> {
        self.questions.iter().map(|(question, results)| (question.as_str(), results.as_slice()))
    }

    /// The units of one question in trec_eval's order: score descending, then id descending by
    /// bytes. Empty for a question that is not in the run.
    pub fn ranking(&self, question: &str) -> Vec<&str> {
        let results = self.questions.get(question).map_or(&[][..], Vec::as_slice);
        let mut order: Vec<&(String, f64)> = results.iter().collect();
        order.sort_by(|a, b| trec_order(a, b));
        order.into_iter().map(|(unit, _)| unit.as_str()).collect()
    }

    /// Questions whose written order trec_eval would change, because of ties or of scores that are
    /// not descending: scored there, they may get other values than here.
    pub fn reordered(&self) -> usize {
        let changes = |results: &[(String, f64)]| {
            results.windows(2).any(|pair| match pair {
                [a, b] => trec_order(a, b) == Ordering::Greater,
                _ => false,
            })
        };
        self.questions.values().filter(|results| changes(results)).count()
    }

    /// The same run with scores counting down to 1, so that every tool keeps the order written.
    pub fn with_scores_from_ranks(mut self) -> Self {
        for results in self.questions.values_mut() {
            let count = results.len();
            for (index, (_, score)) in results.iter_mut().enumerate() {
                *score = (count - index) as f64;
            }
        }
        self
    }
}

/// Score descending (-0 equals 0), then id descending by bytes; scores are finite.
fn trec_order(a: &(String, f64), b: &(String, f64)) -> Ordering {
    b.1.partial_cmp(&a.1).unwrap_or(Ordering::Equal).then_with(|| b.0.cmp(&a.0))
}

/// The settings of [`evaluate`], named after the options of trec_eval.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Settings {
    /// The lowest grade that counts as relevant (`-l`); nDCG does not look at it.
    pub level: i32,
    /// The most results of a question that are looked at (`-M`), after sorting.
    pub retrieved_max: Option<usize>,
    /// Whether a judged question that is not in the run counts, with nothing retrieved (`-c`).
    ///
    /// Without it, it is left out of every mean, as in trec_eval up to 9 and in pytrec_eval; version
    /// 10.0 stops with an error there. With it is the honest way: a system that answers one question
    /// of two should not be perfect.
    pub complete: bool,
}

impl Default for Settings {
    /// Relevant from grade 1, all results, complete.
    fn default() -> Self {
        Self { level: 1, retrieved_max: None, complete: true }
    }
}

/// What [`evaluate`] found.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Evaluation {
    /// Names of the measures, in the order of the values.
    pub measures: Vec<String>,
    /// The values of each question counted.
    pub questions: BTreeMap<String, Vec<Option<f64>>>,
    /// The values over all questions counted: mean, geometric mean or sum, as the measure says.
    pub all: Vec<Option<f64>>,
    /// Judged questions that are not in the run.
    pub missing: Vec<String>,
    /// Questions of the run that nobody judged; they never count.
    pub unjudged: Vec<String>,
}

/// Scores a run as trec_eval does.
///
/// The means are over the questions that are in both, or with `complete` over all judged ones. A
/// judged question to which nothing is relevant counts 0, as there; the mission leaves it out, so
/// the native mode does. Only `rank`, which trec_eval lacks, keeps its `None`.
///
/// ```
/// use atlas::eval::{measures, trec};
/// let mut qrels = trec::Qrels::default();
/// qrels.add("1", "a", 1)?;
/// let mut run = trec::Run::new("ties");
/// let tied = ["a", "b", "c"].map(|unit| (unit.to_owned(), 0.5));
/// run.add("1", tied.to_vec())?;
/// let mrr = measures::parse_all(["mrr"])?;
/// let found = trec::evaluate(&qrels, &run, &mrr, trec::Settings::default());
/// assert_eq!(found.all, [Some(1.0 / 3.0)]);
/// # Ok::<(), atlas::error::Error>(())
/// ```
pub fn evaluate(
    qrels: &Qrels,
    run: &Run,
    measures: &[Box<dyn Measure>],
    settings: Settings,
) -> Evaluation {
    let mut found = Evaluation {
        measures: measures.iter().map(|measure| measure.name()).collect(),
        ..Evaluation::default()
    };
    let judged = |question: &&String| qrels.questions.contains_key(*question);
    found.unjudged = run.questions.keys().filter(|q| !judged(q)).cloned().collect();
    for question in qrels.questions.keys() {
        let retrieved = run.questions.contains_key(question);
        if !retrieved {
            found.missing.push(question.clone());
        }
        let Some(judgments) = qrels.judgments(question, settings.level) else { continue };
        if retrieved || settings.complete {
            let mut ranking = run.ranking(question);
            ranking.truncate(settings.retrieved_max.unwrap_or(usize::MAX));
            let values = measures.iter().map(|m| value(m.as_ref(), &judgments, &ranking));
            found.questions.insert(question.clone(), values.collect());
        }
    }
    let column = |index: usize| found.questions.values().map(move |row| *row.get(index)?);
    found.all = measures.iter().enumerate().map(|(i, m)| m.combine().over(column(i))).collect();
    found
}

/// The value trec_eval gives: 0 where nothing can be scored.
fn value(measure: &dyn Measure, judgments: &Judgments, ranking: &[&str]) -> Option<f64> {
    let scored = measure.score(judgments, ranking);
    if measure.combine() == Combine::MeanOfHits { scored } else { scored.or(Some(0.0)) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::eval::measures::parse_all;

    fn results(pairs: &[(&str, f64)]) -> Vec<(String, f64)> {
        pairs.iter().map(|(unit, score)| ((*unit).to_owned(), *score)).collect()
    }

    #[test]
    fn ties_go_by_id_descending_in_bytes() {
        let mut run = Run::new("t");
        run.add("q", results(&[("d2", 0.0), ("d10", -0.0), ("é", 0.0), ("D", 0.0), ("a", 1.0)]))
            .unwrap();
        assert_eq!(run.ranking("q"), ["a", "é", "d2", "d10", "D"]);
        assert!(run.ranking("other").is_empty());
        assert_eq!(run.reordered(), 1);
        let kept = run.with_scores_from_ranks();
        assert_eq!(kept.reordered(), 0);
        assert_eq!(kept.ranking("q"), ["d2", "d10", "é", "D", "a"]);
    }

    #[test]
    fn scores_are_told_apart_in_64_bits() {
        // As 32-bit numbers the two are equal, and b would come first.
        let mut run = Run::new("t");
        run.add("q", results(&[("b", 0.500000001), ("a", 0.5000000015)])).unwrap();
        assert_eq!(run.ranking("q"), ["a", "b"]);
    }

    #[test]
    fn a_missing_question_is_left_out_or_counts_nothing() {
        let mut qrels = Qrels::default();
        for question in ["1", "2", "zero"] {
            qrels.add(question, "a", i32::from(question != "zero")).unwrap();
        }
        let mut run = Run::new("t");
        run.add("1", results(&[("a", 1.0)])).unwrap();
        run.add("other", results(&[("a", 1.0)])).unwrap();
        let measures = parse_all(["mrr", "num_rel", "gm_map", "rank"]).unwrap();
        let partial = Settings { complete: false, ..Settings::default() };
        let found = evaluate(&qrels, &run, &measures, partial);
        assert_eq!(found.all, [Some(1.0), Some(1.0), Some(1.0), Some(1.0)]);
        assert_eq!((found.missing.len(), found.unjudged), (2, vec!["other".to_owned()]));
        let found = evaluate(&qrels, &run, &measures, Settings::default());
        assert_eq!(found.all[0], Some(1.0 / 3.0), "zero counts, as in trec_eval");
        assert_eq!(found.all[1], Some(2.0));
        assert!((found.all[2].unwrap() - 1e-10_f64.powf(1.0 / 3.0)).abs() < 1e-12);
        assert_eq!(found.all[3], Some(1.0), "a rank that is none takes no part");
        assert_eq!(evaluate(&Qrels::default(), &run, &measures, partial).all, [None; 4]);
    }

    #[test]
    fn the_level_touches_the_binary_measures_only() {
        let mut qrels = Qrels::default();
        qrels.add("q", "low", 1).unwrap();
        let mut run = Run::new("t");
        run.add("q", results(&[("low", 1.0)])).unwrap();
        let measures = parse_all(["p@1", "ndcg"]).unwrap();
        let settings = Settings { level: 2, ..Settings::default() };
        assert_eq!(evaluate(&qrels, &run, &measures, settings).all, [Some(0.0), Some(1.0)]);
    }

    #[test]
    fn what_contradicts_itself_is_refused() {
        let mut qrels = Qrels::default();
        qrels.add("q", "a", 1).unwrap();
        assert!(qrels.add("q", "a", 0).is_err());
        assert_eq!(qrels.questions().count(), 1);
        let mut run = Run::new("t");
        assert!(run.add("q", results(&[("a", 1.0), ("a", 0.5)])).is_err());
        assert!(run.add("q", results(&[("a", f64::NAN)])).is_err());
        assert!(run.add("q", results(&[("a", 1.0)])).is_ok());
        let fault = run.add("q", Vec::new()).unwrap_err();
        assert_eq!(fault.to_string(), "the ranking of question q is given twice; expected one");
    }
}
