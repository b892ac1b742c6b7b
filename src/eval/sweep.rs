//! What a setting would do, at every value that makes a difference, from one pass over the questions.
//!
//! The legs run once a question; fusion, minimum and window are replayed for each value by the same
//! stages that a search runs, so every step is what a real run with that value would measure.

mod cell;

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use cell::Eye;
pub use cell::{Cell, Range, TieRange, tie_range};

use super::measurement::{Options, request};
use super::questions::{Question, QuestionSet};
use super::selection::{Floor, floor};
use crate::access::Scope;
use crate::error::{Error, Result};
use crate::index::Index;
use crate::search::{Fusion, Mode, Outcome, Recalled, Searcher, Settings};
use crate::trace::Scored;

/// A setting that can be swept.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Knob {
    /// `search.min_score`: every value at which a block drops out of some question's window.
    MinScore,
    /// `search.k`: every number of blocks up to the one from which no window grows.
    K,
    /// `search.alpha`, with convex fusion: steps of 0.05.
    Alpha,
    /// `search.rrf_k`, with fusion by reciprocal ranks: a rising series.
    RrfK,
}

/// The values of alpha, in twentieths.
const ALPHA_STEPS: u32 = 20;

/// The values of the constant of reciprocal rank fusion.
const RRF_VALUES: [f64; 12] =
    [1.0, 2.0, 5.0, 10.0, 20.0, 30.0, 60.0, 100.0, 200.0, 500.0, 1_000.0, 10_000.0];

impl Knob {
    /// The values that a sweep tries whatever the questions are, the one in force apart; none for a
    /// setting whose values depend on what was found.
    pub fn fixed_values(self) -> Vec<f64> {
        match self {
            Self::Alpha => {
                (0..=ALPHA_STEPS).map(|step| f64::from(step) / f64::from(ALPHA_STEPS)).collect()
            }
            Self::RrfK => RRF_VALUES.to_vec(),
            Self::MinScore | Self::K => Vec::new(),
        }
    }

    /// Its key in `atlas.toml`.
    pub const fn key(self) -> &'static str {
        match self {
            Self::MinScore => "search.min_score",
            Self::K => "search.k",
            Self::Alpha => "search.alpha",
            Self::RrfK => "search.rrf_k",
        }
    }

    /// The value that `settings` have.
    pub const fn of(self, settings: &Settings) -> f64 {
        match self {
            Self::MinScore => settings.min_score,
            Self::K => settings.k as f64,
            Self::Alpha => settings.alpha,
            Self::RrfK => settings.rrf_k,
        }
    }

    /// Whether the setting has any effect with the fusion that `settings` have.
    pub const fn is_in_force(self, settings: &Settings) -> bool {
        match self {
            Self::MinScore | Self::K => true,
            Self::Alpha => matches!(settings.fusion, Fusion::Convex),
            Self::RrfK => matches!(settings.fusion, Fusion::Rrf),
        }
    }

    /// `settings` with `value`, and with the fusion that the setting belongs to.
    pub fn set(self, settings: &Settings, value: f64) -> Settings {
        let mut settings = settings.clone();
        match self {
            Self::MinScore => settings.min_score = value,
            Self::K => settings.k = value as usize,
            Self::Alpha => (settings.alpha, settings.fusion) = (value, Fusion::Convex),
            Self::RrfK => (settings.rrf_k, settings.fusion) = (value, Fusion::Rrf),
        }
        settings
    }
}

/// The means over the scored questions at one value.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Step {
    /// The value. A minimum score holds up to it: a candidate at the value stays.
    pub value: f64,
    /// Mean hit.
    pub hit: f64,
    /// Mean recall.
    pub recall: f64,
    /// Mean precision over what was supplied; nothing supplied counts 0.
    pub precision: f64,
    /// Mean estimated tokens.
    pub tokens: f64,
    /// Mean number of blocks supplied.
    pub blocks: f64,
    /// Questions with nothing supplied.
    pub empty: usize,
    /// Questions of which some number depends on the order of equal scores.
    pub tied: usize,
    /// Mean recall if every tie fell badly, and if every tie fell well.
    pub recall_range: (f64, f64),
    /// The same of mean precision.
    pub precision_range: (f64, f64),
}

/// A sweep of one setting.
#[derive(Debug, Clone, PartialEq)]
pub struct Sweep {
    /// Which setting.
    pub knob: Knob,
    /// The set's name.
    pub set: String,
    /// Ids of the scored questions.
    pub ids: Vec<String>,
    /// The values, ascending.
    pub values: Vec<f64>,
    /// What each value does to each question, `[values × questions]`.
    pub cells: Vec<Vec<Cell>>,
}

/// How far the value in force is from an edge.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Margin {
    /// The largest value at which recall is still what it is at the least value of the sweep.
    pub holds_to: f64,
    /// The distance from the value in force to it; negative beyond it.
    pub margin: f64,
    /// Questions that lose a block of any kind between the two.
    pub questions_inside: usize,
    /// The distance to the next value that changes anything; `None` above the last.
    pub next_change: Option<f64>,
}

impl Sweep {
    /// The means at the value number `at`.
    pub fn step(&self, at: usize) -> Step {
        let cells = &self.cells[at];
        let n = cells.len().max(1) as f64;
        let mean = |of: &dyn Fn(&Cell) -> f64| cells.iter().map(of).sum::<f64>() / n;
        Step {
            value: self.values[at],
            hit: mean(&|c| c.hit),
            recall: mean(&|c| c.recall),
            precision: mean(&|c| c.precision),
            tokens: mean(&|c| c.tokens as f64),
            blocks: mean(&|c| c.blocks as f64),
            empty: cells.iter().filter(|c| c.blocks == 0).count(),
            tied: cells.iter().filter(|c| c.depends_on_ties()).count(),
            recall_range: (mean(&|c| c.least.recall), mean(&|c| c.most.recall)),
            precision_range: (mean(&|c| c.least.precision), mean(&|c| c.most.precision)),
        }
    }

    /// The means at every value.
    pub fn steps(&self) -> Vec<Step> {
        (0..self.values.len()).map(|at| self.step(at)).collect()
    }

    /// The ids of the questions of which a number depends on the order of equal scores, at some value.
    pub fn tied(&self) -> Vec<&str> {
        let depends = |at: &usize| self.cells.iter().any(|row| row[*at].depends_on_ties());
        (0..self.ids.len()).filter(depends).map(|at| self.ids[at].as_str()).collect()
    }

    /// The margin of `in_force` below the first drop of recall, for a setting along which recall only
    /// falls; `None` when no value lowers it.
    pub fn margin(&self, in_force: f64) -> Option<Margin> {
        let recalls: Vec<f64> = (0..self.values.len()).map(|at| self.step(at).recall).collect();
        let dropped = recalls.iter().position(|recall| recall < &recalls[0])?;
        let holds = dropped.checked_sub(1)?;
        // The value in force is in the plateau that ends at the first value not below it.
        let now = self.values.iter().position(|value| *value >= in_force)?;
        let (low, high) = (now.min(holds), now.max(holds));
        let inside = (0..self.ids.len())
            .filter(|at| self.cells[low][*at].blocks != self.cells[high][*at].blocks)
            .count();
        Some(Margin {
            holds_to: self.values[holds],
            margin: self.values[holds] - in_force,
            questions_inside: inside,
            next_change: (now + 1 < self.values.len()).then(|| self.values[now] - in_force),
        })
    }

    /// The gain that the best of all values would show over the one in force if none were better:
    /// what choosing on these questions finds by luck. `of` reads the measure.
    pub fn floor(&self, in_force: f64, of: fn(&Cell) -> f64) -> Option<Floor> {
        let base = self.values.iter().position(|value| *value >= in_force)?;
        let differences = self.cells.iter().map(|row| {
            row.iter().zip(&self.cells[base]).map(|(cell, own)| of(cell) - of(own)).collect()
        });
        floor(differences.collect())
    }
}

/// The scored questions of a set with what the legs found for each.
#[derive(Debug)]
pub struct Recording<'r> {
    index: &'r Arc<Index>,
    settings: Settings,
    set: &'r QuestionSet,
    recalled: Vec<(&'r Question, Recalled)>,
}

impl<'r> Recording<'r> {
    /// Runs the legs for every scored question of `set`.
    pub fn new(
        searcher: &'r Searcher,
        set: &'r QuestionSet,
        mode: Mode,
        scope_of: &dyn Fn(&Question) -> Result<Scope>,
    ) -> Result<Self> {
        let (index, settings) = (searcher.index(), searcher.settings().clone());
        let mut recalled = Vec::new();
        for question in set.questions.iter().filter(|q| q.unscoreable.is_none()) {
            let options = Options { mode, ..Options::default() };
            let request = request(index, &settings, question, options, scope_of(question)?)?;
            recalled.push((question, searcher.recall(&request)?));
        }
        Ok(Self { index, settings, set, recalled })
    }

    /// Every value of `knob` worth a step, the one in force included; see [`Knob`].
    pub fn values(&self, knob: Knob) -> Result<Vec<f64>> {
        let mut values: Vec<f64> = match knob {
            Knob::MinScore => {
                // Dropping ends the list from below and which blocks fit is decided from above, so a
                // window changes at the scores of its own blocks and nowhere else; unless what is
                // handed over first decides, by diversity, what comes after it, or what was collapsed
                // meets a judgment as long as it is not dropped.
                if self.settings.diversity > 0.0 || self.settings.duplicates > 0.0 {
                    let lists = self.reranked(&self.settings)?;
                    let scores = lists.iter().flatten().map(|scored| scored.score);
                    let mut values: Vec<f64> =
                        scores.chain([0.0, 1.0, self.settings.min_score]).collect();
                    values.sort_by(f64::total_cmp);
                    values.dedup();
                    return Ok(values);
                }
                let open = Settings { min_score: 0.0, ..self.settings.clone() };
                let outcomes = self.outcomes(&open)?;
                let blocks = outcomes.iter().flat_map(|outcome| &outcome.context);
                blocks.map(|block| block.score).chain([0.0, 1.0]).collect()
            }
            Knob::K => {
                let whole = Settings { k: self.settings.depth, ..self.settings.clone() };
                let outcomes = self.outcomes(&whole)?;
                let most = outcomes.iter().map(Outcome::hits).max();
                let most = most.unwrap_or(1).max(1) as u32;
                (1..=most).map(f64::from).chain([self.settings.k as f64]).collect()
            }
            Knob::Alpha | Knob::RrfK => {
                knob.fixed_values().into_iter().chain([knob.of(&self.settings)]).collect()
            }
        };
        values.sort_by(f64::total_cmp);
        values.dedup();
        Ok(values)
    }

    /// What each of `values`, ascending, does to each question.
    pub fn sweep(&self, knob: Knob, values: Vec<f64>) -> Result<Sweep> {
        for pair in values.windows(2) {
            if pair[0] >= pair[1] {
                return Err(Error::invalid(
                    "the values of a sweep",
                    pair[1],
                    "each above the last",
                ));
            }
        }
        // Minimum and window come after the reranked list: one list serves all their values.
        let late = matches!(knob, Knob::MinScore | Knob::K);
        let shared = if late { Some(self.reranked(&self.settings)?) } else { None };
        let mut cells = Vec::with_capacity(values.len());
        for value in &values {
            let settings = knob.set(&self.settings, *value);
            settings.check()?;
            let own;
            let lists = match &shared {
                Some(lists) => lists,
                None => {
                    own = self.reranked(&settings)?;
                    &own
                }
            };
            let mut row = Vec::with_capacity(lists.len());
            for ((question, recalled), list) in self.recalled.iter().zip(lists) {
                let kept = list.partition_point(|scored| scored.score >= settings.min_score);
                let scope = recalled.request.scope();
                let eye = Eye::new(self.index, scope, question, self.set.by_document)?;
                row.push(eye.cell(&list[..kept], &settings)?);
            }
            cells.push(row);
        }
        let ids = self.recalled.iter().map(|(question, _)| question.id.clone()).collect();
        Ok(Sweep { knob, set: self.set.name.clone(), ids, values, cells })
    }

    fn outcomes(&self, settings: &Settings) -> Result<Vec<Outcome>> {
        let searcher = Searcher::new(Arc::clone(self.index), settings.clone())?;
        self.recalled.iter().map(|(_, recalled)| searcher.replay(recalled)).collect()
    }

    /// The reranked list of every question.
    fn reranked(&self, settings: &Settings) -> Result<Vec<Vec<Scored>>> {
        let mut lists = Vec::with_capacity(self.recalled.len());
        for mut outcome in self.outcomes(settings)? {
            let stages = &mut outcome.trace.stages;
            let reranked = stages.iter_mut().find(|stage| stage.name == "rerank");
            lists.push(reranked.map(|stage| std::mem::take(&mut stage.list)).unwrap_or_default());
        }
        Ok(lists)
    }
}

/// The most bits that a table of `rows` falling counts over `n` questions tells about them: which of
/// the rows each question is lost at, in any order of the questions, and never more than a listing.
pub fn bits(n: usize, rows: usize) -> f64 {
    let ways: f64 = (1..=rows).map(|row| ((n + row) as f64 / row as f64).log2()).sum();
    ways.min(n as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_row_tells_what_a_total_tells_and_many_tell_what_a_listing_tells() {
        assert!((bits(15, 1) - 4.0).abs() < 1e-12);
        assert!((bits(15, 2) - 136.0_f64.log2()).abs() < 1e-12, "17 over 2 ways");
        assert_eq!(bits(15, 20), 15.0);
        assert_eq!(bits(15, 0), 0.0);
    }

    #[test]
    fn a_value_of_a_fusion_brings_its_fusion() {
        let settings = Settings::default();
        for knob in [Knob::MinScore, Knob::K, Knob::Alpha, Knob::RrfK] {
            let set = knob.set(&settings, 1.0);
            assert_eq!(knob.of(&set), 1.0, "{knob:?}");
            assert_eq!(set.fusion == Fusion::Rrf, knob == Knob::RrfK);
        }
    }
}
