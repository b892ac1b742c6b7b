//! The built-in answerer: it quotes, and it declines.
//!
//! Every sentence, list item and table row of the context is a [`Unit`] and gets
//! [`Features`], numbers from 0 to 1 that can be read off the question and the unit. Two fitted
//! functions turn them into probabilities:
//!
//! ```text
//! unit(u)  = σ(w · features(u))       how likely the unit is what answers the question
//! score    = σ(v · features(best))    how likely the best unit's evidence answers it at all
//! ```
//!
//! The best unit is quoted. A further one is quoted when its probability is at least
//! [`FURTHER_SHARE`] of the best one's and it says a part of the question that the quotes so far do
//! not. When the score is below `answer.min_score` the answer is the abstention sentence.
//!
//! Ties go to the better source, then to the earlier unit. Nothing depends on what the asker may not
//! read: the weights of the question's terms are those of the asker's scope.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::asks::{for_quantity, has_quantity};
use super::units::{Unit, units};
use super::{Answer, Answerer, Asked, Quote, Settings, Source};
use crate::access::Scope;
use crate::error::Result;
use crate::index::Index;
use crate::lexical::{Bm25, Query};
use crate::text::Stems;
use crate::vectors::Role;

/// How many features a unit has.
pub const FEATURES: usize = 7;

/// What can be read off a question and a unit; each from 0 to 1.
///
/// *Weight* is the inverse document frequency of a question's term in the asker's scope. A plain
/// number of the question that stands nowhere in the scope is the asker's own (an order of $600) and
/// has no weight.
///
/// | At | Feature |
/// | --- | --- |
/// | 0 | share of the question's weight that the unit itself says |
/// | 1 | share that unit, section titles and document title say together |
/// | 2 | share that the whole block with its titles says |
/// | 3 | cosine of question and unit under its titles, 0 when negative |
/// | 4 | score of the block in the search |
/// | 5 | 1 when a quantity is asked for and stated, 0 when asked for and not stated, else 0.5 |
/// | 6 | share of the question's codes that unit and titles name; 1 when it has none |
pub type Features = [f64; FEATURES];

/// Constants of `unit`: base, then one for each feature.
///
/// Fitted by `tools/calibrate_answers.py` on one half of the questions of four public sets with recorded
/// answers, and on the development questions of Atlas Bikes, the only ones of papers with sections. On the
/// other half the unit chosen is the one that has most of the answer for 20 of 32 questions of aws-docs, 23
/// of 50 of claude-docs, 117 of 221 of chunking-spans, and 37 of 133 of mtrag-un-mini, whose answers are
/// composed of many sentences. A feature whose constant came out below 0 has 0.
const UNIT: [f64; FEATURES + 1] = [-4.774, 2.094, 0.671, 0.0, 0.069, 2.051, 1.012, 0.059];

/// Constants of `score`: base, then one for each feature of the best unit.
///
/// Fitted on one half of the questions of four public sets, on the same questions asked within a scope
/// that lacks every relevant document, on the questions of mtrag-un-mini that its corpus cannot answer, and
/// on the development questions of Atlas Bikes in both ways, which weigh as three sets. What a block says
/// besides was left out: it is worth much in the long blocks of public sets and little in papers with
/// sections. On the other half, mean of the sets (that of Atlas Bikes is what was fitted on), a minimum
/// score declines
///
/// | minimum score | .3 | .35 | .4 | .45 | .5 | .55 | .6 |
/// | --- | --- | --- | --- | --- | --- | --- | --- |
/// | of what can be answered | .02 | .03 | .05 | .11 | .20 | .28 | .34 |
/// | of what cannot | .21 | .32 | .39 | .50 | .58 | .66 | .73 |
///
/// The default, .45, is where the second is farthest above the first.
const SCORE: [f64; FEATURES + 1] = [-4.295, 0.0, 2.352, 0.0, 0.0, 2.220, 0.514, 1.878];

/// The share of the best unit's probability that a further quote needs.
pub const FURTHER_SHARE: f64 = 0.5;

/// The share of the question's weight that a further quote must add.
pub const FURTHER_WEIGHT: f64 = 0.15;

/// The built-in answerer over one open index.
#[derive(Debug)]
pub struct Extractive {
    index: Arc<Index>,
    settings: Settings,
}

/// A unit with what was read off it.
#[derive(Debug, Clone)]
pub struct Read {
    /// Place of its source in the context.
    pub source: usize,
    /// The unit.
    pub unit: Unit,
    /// Its features.
    pub features: Features,
    /// The question's terms that it says itself or that its titles say.
    said: BTreeSet<String>,
}

impl Read {
    /// How likely the unit is what answers the question.
    pub fn probability(&self) -> f64 {
        logistic(&UNIT, &self.features)
    }

    /// How likely its evidence answers the question at all.
    pub fn score(&self) -> f64 {
        logistic(&SCORE, &self.features)
    }
}

fn logistic(weights: &[f64; FEATURES + 1], features: &Features) -> f64 {
    let sum: f64 = weights[0] + features.iter().zip(&weights[1..]).map(|(f, w)| f * w).sum::<f64>();
    1.0 / (1.0 + (-sum).exp())
}

/// A question's terms with their weights.
struct Terms {
    weights: BTreeMap<String, f64>,
    codes: BTreeSet<String>,
    total: f64,
}

impl Terms {
    /// The share of the weight that `said` has.
    fn share(&self, said: &BTreeSet<String>) -> f64 {
        if self.total <= 0.0 {
            return 0.0;
        }
        self.weights.iter().filter(|(term, _)| said.contains(*term)).map(|(_, w)| w).sum::<f64>()
            / self.total
    }
}

impl Extractive {
    /// An answerer over `index`; refuses settings out of their ranges.
    pub fn new(index: Arc<Index>, settings: Settings) -> Result<Self> {
        settings.check()?;
        Ok(Self { index, settings })
    }

    /// Every unit of `sources` with its features, in the order of the sources.
    pub fn read(&self, question: &str, scope: &Scope, sources: &[Source]) -> Result<Vec<Read>> {
        let terms = self.terms(question, scope)?;
        let asked = for_quantity(question);
        let query = self.index.embedder().embed(Role::Query, &[question])?;
        let query = query.rows.row(0).to_vec();
        let mut stems = Stems::default();
        let mut all = Vec::new();
        for (at, source) in sources.iter().enumerate() {
            let titles = [&[source.title.clone()][..], &source.sections].concat().join("\n");
            let found = units(&source.text);
            let forms: Vec<String> =
                found.iter().map(|unit| format!("{titles}\n{}", unit.text)).collect();
            let forms: Vec<&str> = forms.iter().map(String::as_str).collect();
            let rows = self.index.embedder().embed(Role::Passage, &forms)?.rows;
            let titles = self.said(&titles, &terms, &mut stems);
            let whole = &titles | &self.said(&source.text, &terms, &mut stems);
            for (unit, row) in found.into_iter().zip(rows.rows()) {
                let own = self.said(&unit.text, &terms, &mut stems);
                let said = &own | &titles;
                let cosine: f64 =
                    row.iter().zip(&query).map(|(a, b)| f64::from(*a) * f64::from(*b)).sum();
                let quantity = match (asked, has_quantity(&unit.text)) {
                    (false, _) => 0.5,
                    (true, stated) => f64::from(u8::from(stated)),
                };
                let codes = match terms.codes.len() {
                    0 => 1.0,
                    n => terms.codes.intersection(&said).count() as f64 / n as f64,
                };
                let features = [
                    terms.share(&own),
                    terms.share(&said),
                    terms.share(&whole),
                    cosine.clamp(0.0, 1.0),
                    source.score.clamp(0.0, 1.0),
                    quantity,
                    codes,
                ];
                all.push(Read { source: at, unit, features, said });
            }
        }
        Ok(all)
    }

    /// The question's terms with their weights in `scope`.
    fn terms(&self, question: &str, scope: &Scope) -> Result<Terms> {
        let query = Query::new(self.index.analyzer().question(question));
        let passages = u64::from(scope.readable().count());
        let mut weights = BTreeMap::new();
        let mut codes = BTreeSet::new();
        let known = if passages == 0 {
            Vec::new()
        } else {
            self.index.lexical().explain(&query, scope, Bm25::default(), 0)?
        };
        for (term, count) in query.terms() {
            let found = known.iter().find(|known| known.term == *term);
            let digits = term.bytes().any(|byte| byte.is_ascii_digit());
            let plain = term.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.');
            let weight = match found {
                Some(known) => known.idf,
                None if plain => 0.0,
                None => Bm25::idf(passages, 0),
            };
            if digits && !plain {
                codes.insert(term.clone());
            }
            // A word with accents is asked for twice, each time with half its weight.
            weights.insert(term.clone(), weight * count.min(1.0));
        }
        let total = weights.values().sum();
        Ok(Terms { weights, codes, total })
    }

    /// The question's terms that `text` says.
    fn said(&self, text: &str, terms: &Terms, stems: &mut Stems) -> BTreeSet<String> {
        let (found, _) = self.index.analyzer().document(text, stems);
        found.lines().filter(|term| terms.weights.contains_key(*term)).map(str::to_owned).collect()
    }

    /// The units to quote, best first; at most `max_quotes`.
    fn choose<'r>(&self, read: &'r [Read], terms: &Terms) -> Vec<&'r Read> {
        let mut order: Vec<(f64, usize)> =
            read.iter().enumerate().map(|(at, one)| (one.probability(), at)).collect();
        order.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
        let mut chosen: Vec<&Read> = Vec::new();
        let mut said = BTreeSet::new();
        let best = order.first().map_or(0.0, |(probability, _)| *probability);
        for (probability, at) in order {
            let one = &read[at];
            let with = &said | &one.said;
            let adds = terms.share(&with) - terms.share(&said);
            let further = probability >= FURTHER_SHARE * best && adds >= FURTHER_WEIGHT;
            if chosen.is_empty() || (further && chosen.len() < self.settings.max_quotes) {
                chosen.push(one);
                said = with;
            }
        }
        chosen
    }

    fn declined(&self, score: f64) -> Answer {
        let text = self.settings.abstention.clone();
        Answer { text, declined: true, score: Some(score), ..Answer::default() }
    }
}

impl Answerer for Extractive {
    fn id(&self) -> String {
        let settings = serde_json::to_string(&self.settings).unwrap_or_default();
        let form = format!("{settings} {UNIT:?} {SCORE:?} {FURTHER_SHARE} {FURTHER_WEIGHT}");
        format!("built-in/{}", blake3::hash(form.as_bytes()).to_hex())
    }

    fn answer(&self, asked: &Asked<'_>) -> Result<Option<Answer>> {
        let (question, scope) = (asked.request.question(), asked.request.scope());
        let read = self.read(question, scope, asked.sources)?;
        let terms = self.terms(question, scope)?;
        let chosen = self.choose(&read, &terms);
        let Some(best) = chosen.first() else { return Ok(Some(self.declined(0.0))) };
        let score = best.score();
        if score < self.settings.min_score {
            return Ok(Some(self.declined(score)));
        }
        let mut answer = Answer { score: Some(score), ..Answer::default() };
        for one in chosen {
            let source = &asked.sources[one.source];
            if !answer.text.is_empty() {
                answer.text.push('\n');
            }
            answer.text.push_str(&one.unit.text);
            answer.quotes.push(Quote {
                text: one.unit.text.clone(),
                reference: source.reference.clone(),
                score: one.probability(),
            });
            if answer.citations.iter().all(|known| known.reference != source.reference) {
                answer.citations.push(source.citation());
            }
        }
        Ok(Some(answer))
    }
}
