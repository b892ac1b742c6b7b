//! Measuring a retriever on a question set, in process, from traces.

mod readable;

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

use super::judgments::{Judgments, Place, Standing};
use super::labels::Label;
use super::measures::{self, Combine, Measure};
use super::noise::{Evidence, Relation};
use super::questions::{Question, QuestionSet};
use super::statistics::percentile;
use super::sweep::{TieRange, tie_range};
use super::units::Units;
use crate::access::Scope;
use crate::error::Result;
use crate::index::{Filter, Index};
use crate::search::{Mode, Outcome, Request, Retriever, Settings};
use crate::trace::Scored;

use readable::readable;
pub use readable::{CLOSED, keep_readable};

/// Measures of the context: the four of the mission.
pub const CONTEXT_MEASURES: [&str; 4] = ["hit", "recall", "precision", "rank"];

/// Measures of the ranking: the field's.
pub const RANKING_MEASURES: [&str; 10] = [
    "ndcg@10",
    "recall@10",
    "recall@100",
    "mrr",
    "map",
    "p@5",
    "success@5",
    "rprec",
    "bpref",
    "judged@10",
];

/// The name under which the estimated size of the context is reported.
pub const TOKENS: &str = "prompt_tokens";

/// Characters of a block that a list of noise shows.
const EXCERPT_CHARS: usize = 60;

/// What is varied in a run; everything else is the searcher's settings.
#[derive(Debug, Clone, Copy, Default)]
pub struct Options {
    /// Which legs.
    pub mode: Mode,
    /// Blocks in the window, instead of the setting.
    pub k: Option<usize>,
    /// Minimum score, instead of the setting.
    pub min_score: Option<f64>,
}

/// A question set, measured.
#[derive(Debug, Clone)]
pub struct Measurement {
    /// The set's name.
    pub set: String,
    /// Hash of the set as it was read.
    pub set_hash: String,
    /// Which legs were used.
    pub mode: Mode,
    /// The questions, in the order of the set.
    pub questions: Vec<Measured>,
    /// What became of the labels since they were made; empty where nothing was compared.
    pub labels: Vec<Label>,
    /// Microseconds of the first search after opening, which pays for page faults and checksums
    /// and is no part of the timings.
    pub first_us: f64,
}

/// A question, measured.
#[derive(Debug, Clone)]
pub struct Measured {
    /// Its id.
    pub id: String,
    /// Its kinds.
    pub kinds: Vec<String>,
    /// Why it cannot be scored, if it cannot.
    pub unscoreable: Option<String>,
    /// Why its miss is known and stays, if it is.
    pub standing_miss: Option<String>,
    /// The context, best first.
    pub supplied: Vec<Supplied>,
    /// Every measure's value; `None` where it has none.
    pub values: BTreeMap<String, Option<f64>>,
    /// Estimated tokens of the context.
    pub tokens: usize,
    /// Needed evidence that did not arrive.
    pub losses: Vec<Loss>,
    /// Evidence groups, all of which are needed.
    pub groups: usize,
    /// The documents that hold the evidence, by id.
    pub documents: Vec<String>,
    /// Its numbers if equal scores stood in the worst and in the best order; `None` when it cannot be
    /// scored.
    pub ties: Option<TieRange>,
    /// What was found at every stage that ran, in the order of the pipeline.
    pub stages: Vec<AtStage>,
    /// The reranked list, folded to units: what the field's measures saw.
    pub ranking: Vec<(String, f64)>,
    /// The reranked list as rows, before min-score.
    pub reranked: Vec<Scored>,
    /// Microseconds of every stage by name, and of the total.
    pub times_us: Vec<(&'static str, f64)>,
}

/// A block that arrived.
#[derive(Debug, Clone, PartialEq)]
pub struct Supplied {
    /// Its reference.
    pub reference: String,
    /// The unit that the judgments see in it.
    pub unit: String,
    /// Its best passage's score.
    pub score: f64,
    /// Its estimated tokens.
    pub tokens: usize,
    /// Whether it answers, in part or in whole.
    pub relevant: bool,
    /// Whether a person has judged it for this question; one that nobody has counts as wrong.
    pub judged: bool,
    /// Its relation to the evidence when it does not answer; `None` too where nothing can be scored
    /// and in sets that judge documents.
    pub relation: Option<Relation>,
    /// The beginning of its best passage, on one line.
    pub excerpt: String,
}

/// What the list of one stage held of the evidence.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct AtStage {
    /// The stage.
    pub name: &'static str,
    /// Evidence groups with a unit in its list.
    pub covered: usize,
    /// The place of the first relevant unit, from 1; `None` when there is none.
    pub rank: Option<usize>,
    /// Passages in the list.
    pub candidates: usize,
    /// The best score of the list; `None` when it is empty.
    pub best: Option<f64>,
    /// The nearest-rank median of its scores; `None` when it is empty.
    pub median: Option<f64>,
}

/// An evidence group of which nothing arrived.
#[derive(Debug, Clone, PartialEq)]
pub struct Loss {
    /// The units of which any would have done.
    pub units: Vec<String>,
    /// The best of them among the candidates: unit, place from 1, score. `None`: no leg found it.
    pub found: Option<(String, usize, f64)>,
    /// How many candidates there were.
    pub candidates: usize,
}

impl Loss {
    /// `retrieval:absent` when no leg found it, else `retrieval:ranked_low`.
    pub const fn class(&self) -> &'static str {
        if self.found.is_none() { "retrieval:absent" } else { "retrieval:ranked_low" }
    }
}

impl Measured {
    /// The value called `name`.
    pub fn value(&self, name: &str) -> Option<f64> {
        self.values.get(name).copied().flatten()
    }

    /// Blocks that arrived and answer, each unit counted once.
    pub fn relevant_units(&self) -> usize {
        self.distinct(|block| block.relevant)
    }

    /// Blocks that name a unit which an earlier block has named already: they count once.
    pub fn duplicates(&self) -> usize {
        self.supplied.len() - self.distinct(|_| true)
    }

    fn distinct(&self, wanted: impl Fn(&Supplied) -> bool) -> usize {
        let units = self.supplied.iter().filter(|block| wanted(block)).map(|block| &block.unit);
        units.collect::<BTreeSet<_>>().len()
    }

    /// Supplied units that a person has judged, each once.
    pub fn judged_units(&self) -> usize {
        self.distinct(|block| block.judged)
    }

    /// Whether recall, precision or rank would be another in some order of equal scores.
    pub fn depends_on_ties(&self) -> bool {
        self.ties.is_some_and(|ties| ties.least != ties.most)
    }

    /// Estimated tokens of the blocks that answer.
    pub fn tokens_relevant(&self) -> usize {
        self.supplied.iter().filter(|block| block.relevant).map(|block| block.tokens).sum()
    }

    /// The share of the `k` blocks that could have arrived which did and answer, `0.0..=1.0`: unlike
    /// precision it does not rise when less is supplied.
    pub fn precision_of_k(&self, k: usize) -> f64 {
        (self.relevant_units() as f64 / k.max(1) as f64).min(1.0)
    }

    /// The share of the tokens handed over that answer, `0.0..=1.0`; 0 when nothing was.
    pub fn precision_of_tokens(&self) -> f64 {
        self.tokens_relevant() as f64 / self.tokens.max(1) as f64
    }

    /// Whether something answers it.
    pub const fn is_scored(&self) -> bool {
        self.unscoreable.is_none()
    }
}

impl Measurement {
    /// The values of `name` over the scored questions that have one; of `kind` only, if given.
    pub fn values(&self, name: &str, kind: Option<&str>) -> Vec<f64> {
        self.scored(kind)
            .filter_map(|question| {
                if name == TOKENS { Some(question.tokens as f64) } else { question.value(name) }
            })
            .collect()
    }

    /// The scored questions, of `kind` only, if given.
    pub fn scored<'m>(&'m self, kind: Option<&'m str>) -> impl Iterator<Item = &'m Measured> {
        self.questions.iter().filter(move |question| {
            question.is_scored()
                && kind.is_none_or(|kind| question.kinds.iter().any(|own| own == kind))
        })
    }

    /// The mean called `name`; `None` when no question has a value.
    pub fn mean(&self, name: &str, kind: Option<&str>) -> Option<f64> {
        Combine::Mean.over(self.values(name, kind).into_iter().map(Some))
    }

    /// Every kind with at least one scored question, by name.
    pub fn kinds(&self) -> Vec<&str> {
        let mut kinds: Vec<&str> =
            self.scored(None).flat_map(|question| &question.kinds).map(String::as_str).collect();
        kinds.sort_unstable();
        kinds.dedup();
        kinds
    }
}

/// Asks every question of `set` and measures what comes back. `scope_of` says what each asker may
/// see, before the question's filter.
pub fn measure(
    retriever: &dyn Retriever,
    index: &Index,
    settings: &Settings,
    set: &QuestionSet,
    options: Options,
    scope_of: &dyn Fn(&Question) -> Result<Scope>,
) -> Result<Measurement> {
    let context_measures = measures::parse_all(CONTEXT_MEASURES)?;
    let ranking_measures = measures::parse_all(RANKING_MEASURES)?;
    let mut questions = Vec::with_capacity(set.questions.len());
    let mut first_us = 0.0;
    for question in &set.questions {
        let scope = scope_of(question)?;
        let question = &readable(index, question, &scope)?;
        let request = request(index, settings, question, options, scope)?;
        if questions.is_empty() {
            first_us = retriever.retrieve(&request)?.trace.total_us;
        }
        let outcome = retriever.retrieve(&request)?;
        let scorer = Scorer {
            units: Units::new(index.passages(), &question.judgments, set.by_document)?,
            by_document: set.by_document,
            index,
            context: &context_measures,
            ranking: &ranking_measures,
            scope: request.scope(),
            settings: match options.k {
                Some(k) => Cow::Owned(Settings { k, ..settings.clone() }),
                None => Cow::Borrowed(settings),
            },
        };
        questions.push(scorer.score(question, &outcome)?);
    }
    Ok(Measurement {
        set: set.name.clone(),
        set_hash: set.hash.clone(),
        mode: options.mode,
        questions,
        labels: Vec::new(),
        first_us,
    })
}

/// The request that asks `question` within `scope` and its own filter.
pub fn request(
    index: &Index,
    settings: &Settings,
    question: &Question,
    options: Options,
    scope: Scope,
) -> Result<Request> {
    let mut filter = Filter::default();
    for (key, values) in &question.filter {
        filter.require(key, values.clone());
    }
    let scope = index.narrow(&scope, &filter)?;
    let mut request = Request::new(question.question.clone(), scope).mode(options.mode);
    if let Some(k) = options.k {
        request = request.k(k, settings)?;
    }
    if let Some(min_score) = options.min_score {
        request = request.min_score(min_score)?;
    }
    Ok(request)
}

struct Scorer<'s> {
    units: Units<'s>,
    by_document: bool,
    index: &'s Index,
    context: &'s [Box<dyn Measure>],
    ranking: &'s [Box<dyn Measure>],
    scope: &'s Scope,
    /// Those of the run, with the blocks that were asked for.
    settings: Cow<'s, Settings>,
}

impl Scorer<'_> {
    /// `judgments` of every list, and `met` of the window, which knows what was collapsed.
    fn stages(
        &self,
        judgments: &Judgments,
        met: &Judgments,
        outcome: &Outcome,
    ) -> Result<Vec<AtStage>> {
        let mut stages = Vec::new();
        for stage in outcome.trace.stages.iter().filter(|stage| stage.ran()) {
            // The first stage has the question alone.
            if stage.name == "embed" {
                continue;
            }
            let units = self.units.fold(stage.list.iter().map(|scored| scored.row))?;
            let units: Vec<&str> = units.iter().map(String::as_str).collect();
            let judgments = if stage.name == "window" { met } else { judgments };
            let places = judgments.walk(&units);
            let scores: Vec<f64> = stage.list.iter().map(|scored| scored.score).collect();
            stages.push(AtStage {
                name: stage.name,
                covered: places.iter().map(|place| place.newly_covered).sum(),
                rank: places.iter().position(Place::is_relevant).map(|at| at + 1),
                candidates: stage.list.len(),
                best: scores.iter().copied().reduce(f64::max),
                median: percentile(&scores, 0.5).map(|median| median.value),
            });
        }
        Ok(stages)
    }

    /// What the order of equal scores decides of the context.
    fn ties(&self, question: &Question, outcome: &Outcome) -> Result<Option<TieRange>> {
        if question.unscoreable.is_some() {
            return Ok(None);
        }
        let list = outcome.trace.stage("min-score").map_or(&[][..], |stage| &stage.list);
        let within = (self.index, self.scope);
        tie_range(within, question, self.by_document, list, &self.settings).map(Some)
    }

    fn score(&self, question: &Question, outcome: &Outcome) -> Result<Measured> {
        let judgments = &question.judgments;
        let by_document = self.by_document;
        let passages = self.index.passages();
        let evidence = (question.unscoreable.is_none() && !by_document)
            .then(|| Evidence::of(passages, judgments))
            .transpose()?;
        let mut supplied = Vec::with_capacity(outcome.context.len());
        let names = outcome.context.iter().map(|block| self.units.of(block.row));
        let names = names.collect::<Result<Vec<String>>>()?;
        let context_units: Vec<&str> = names.iter().map(String::as_str).collect();
        let met = self.units.through(judgments, &context_units, &outcome.same)?;
        let judgments = &*met;
        for (block, unit) in outcome.context.iter().zip(names.iter().cloned()) {
            let standing = judgments.standing(&unit);
            let relevant = standing == Standing::Relevant;
            let relation = match &evidence {
                Some(evidence) if !relevant => Some(evidence.relation(block.block)?),
                _ => None,
            };
            supplied.push(Supplied {
                reference: passages.block_reference(block.block)?.to_string(),
                unit,
                score: block.score,
                tokens: block.tokens,
                relevant,
                judged: matches!(standing, Standing::Relevant | Standing::NotRelevant),
                relation,
                excerpt: excerpt(passages.passage_text(&passages.passage(block.row)?)?),
            });
        }
        let reranked = outcome.trace.stage("rerank").map_or(&[][..], |stage| &stage.list).to_vec();
        let mut ranking: Vec<(String, f64)> = Vec::new();
        let mut seen = std::collections::HashSet::new();
        for scored in &reranked {
            let unit = self.units.of(scored.row)?;
            if seen.insert(unit.clone()) {
                ranking.push((unit, scored.score));
            }
        }
        let ranking_units: Vec<&str> = ranking.iter().map(|(unit, _)| unit.as_str()).collect();
        let mut values = BTreeMap::new();
        let lists = [
            (self.context, &context_units, judgments),
            (self.ranking, &ranking_units, &question.judgments),
        ];
        for (list, units, judgments) in lists {
            for measure in list {
                let value = question.unscoreable.is_none().then(|| measure.score(judgments, units));
                values.insert(measure.name(), value.flatten());
            }
        }
        let losses = losses(judgments, &context_units, &ranking);
        let stages = outcome.trace.stages.iter().map(|stage| (stage.name, stage.elapsed_us));
        let times_us = stages.chain([("total", outcome.trace.total_us)]).collect();
        Ok(Measured {
            id: question.id.clone(),
            kinds: question.kinds.clone(),
            unscoreable: question.unscoreable.clone(),
            standing_miss: question.standing_miss.clone(),
            tokens: outcome.tokens(),
            supplied,
            values,
            losses,
            groups: judgments.groups().len(),
            documents: evidence.map_or_else(Vec::new, |evidence| evidence.documents()),
            stages: self.stages(&question.judgments, judgments, outcome)?,
            ties: self.ties(question, outcome)?,
            ranking,
            reranked,
            times_us,
        })
    }
}

/// The first characters of a text, on one line.
fn excerpt(text: &str) -> String {
    let flat: Vec<&str> = text.split_whitespace().take(EXCERPT_CHARS).collect();
    let cut: String = flat.join(" ").chars().take(EXCERPT_CHARS).collect();
    cut.trim_end().to_owned()
}

fn losses(judgments: &Judgments, context: &[&str], ranking: &[(String, f64)]) -> Vec<Loss> {
    let lost = judgments
        .groups()
        .iter()
        .filter(|group| !group.iter().any(|unit| context.contains(&unit.as_str())));
    lost.map(|group| {
        let at = ranking.iter().position(|(unit, _)| group.contains(unit));
        Loss {
            units: group.clone(),
            found: at.map(|at| (ranking[at].0.clone(), at + 1, ranking[at].1)),
            candidates: ranking.len(),
        }
    })
    .collect()
}
