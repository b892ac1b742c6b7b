//! One question at one value: its numbers, and what they could be if equal scores stood in another order.

use std::collections::BTreeSet;

use serde::Serialize;

use crate::access::Scope;
use crate::error::Result;
use crate::eval::measurement::CONTEXT_MEASURES;
use crate::eval::measures::{self, Measure};
use crate::eval::questions::Question;
use crate::eval::units::Units;
use crate::index::Index;
use crate::search::{Settings, choose};
use crate::trace::Scored;

/// What one question is worth at one value.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Cell {
    /// 1 when a relevant block arrived, else 0.
    pub hit: f64,
    /// Share of the evidence groups that arrived.
    pub recall: f64,
    /// Relevant share of the supplied blocks.
    pub precision: f64,
    /// Place of the first relevant block, from 1.
    pub rank: Option<f64>,
    /// Estimated tokens supplied.
    pub tokens: usize,
    /// Blocks supplied.
    pub blocks: usize,
    /// The same if every tie fell badly.
    pub least: Range,
    /// The same if every tie fell well.
    pub most: Range,
}

/// One end of what the order of equal scores decides.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Range {
    /// Recall there.
    pub recall: f64,
    /// Precision there.
    pub precision: f64,
    /// Rank there.
    pub rank: Option<f64>,
}

impl Cell {
    /// Whether recall, precision or rank would be another in some order of equal scores.
    pub fn depends_on_ties(&self) -> bool {
        self.least != self.most
    }
}

/// What the order of equal scores leaves open of one question's context.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct TieRange {
    /// The numbers if every tie fell badly.
    pub least: Range,
    /// The numbers if every tie fell well.
    pub most: Range,
}

/// What the order of equal scores decides for `question`, asked within `scope`, whose candidates above
/// the minimum are `list`, best first, of which the window of `settings` is taken.
pub fn tie_range(
    (index, scope): (&Index, &Scope),
    question: &Question,
    by_document: bool,
    list: &[Scored],
    settings: &Settings,
) -> Result<TieRange> {
    let cell = Eye::new(index, scope, question, by_document)?.cell(list, settings)?;
    Ok(TieRange { least: cell.least, most: cell.most })
}

/// The values of a context in the order of the measures: hit, recall, precision, rank; then its tokens
/// and blocks.
type Numbers = ([Option<f64>; 4], usize, usize);

/// Looks at lists with the judgments of one question.
pub(super) struct Eye<'e> {
    index: &'e Index,
    scope: &'e Scope,
    question: &'e Question,
    units: Units<'e>,
    measures: Vec<Box<dyn Measure>>,
}

impl<'e> Eye<'e> {
    pub fn new(
        index: &'e Index,
        scope: &'e Scope,
        question: &'e Question,
        by_document: bool,
    ) -> Result<Self> {
        let units = Units::new(index.passages(), &question.judgments, by_document)?;
        let measures = measures::parse_all(CONTEXT_MEASURES)?;
        Ok(Self { index, scope, question, units, measures })
    }

    /// The numbers of the window that `settings` give over `list`, best first.
    pub fn cell(&self, list: &[Scored], settings: &Settings) -> Result<Cell> {
        let (values, tokens, blocks) = self.numbers(list, settings)?;
        let range = |[_, recall, precision, rank]: [Option<f64>; 4]| Range {
            recall: recall.unwrap_or(0.0),
            precision: precision.unwrap_or(0.0),
            rank,
        };
        let own = range(values);
        let (mut least, mut most) = (own, own);
        if list.windows(2).any(|pair| pair[0].score == pair[1].score) {
            least = range(self.numbers(&self.arranged(list, false)?, settings)?.0);
            most = range(self.numbers(&self.arranged(list, true)?, settings)?.0);
        }
        let hit = values[0].unwrap_or(0.0);
        let Range { recall, precision, rank } = own;
        Ok(Cell { hit, recall, precision, rank, tokens, blocks, least, most })
    }

    fn numbers(&self, list: &[Scored], settings: &Settings) -> Result<Numbers> {
        let chosen = choose(self.index, self.scope, settings, list, settings.k)?;
        let context = chosen.context(self.index, list)?;
        let tokens = context.iter().map(|block| block.tokens).sum();
        let names = context.iter().map(|block| self.units.of(block.row));
        let names = names.collect::<Result<Vec<String>>>()?;
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        let judgments = self.units.through(&self.question.judgments, &names, &chosen.same)?;
        let score = |at: usize| self.measures[at].score(&judgments, &names);
        Ok(([score(0), score(1), score(2), score(3)], tokens, context.len()))
    }

    /// The rows with every run of equal scores arranged so that evidence comes first, or last. Of
    /// evidence, what covers a group that nothing before it covered goes before what does not. Where a
    /// budget of tokens decides, another order may do a little better or worse.
    fn arranged(&self, list: &[Scored], well: bool) -> Result<Vec<Scored>> {
        let groups = self.question.judgments.groups();
        let mut covered = BTreeSet::new();
        let mut rows = Vec::with_capacity(list.len());
        for run in list.chunk_by(|a, b| a.score == b.score) {
            let mut left = Vec::with_capacity(run.len());
            for scored in run {
                let unit = self.units.of(scored.row)?;
                let of = (0..groups.len()).filter(|at| groups[*at].contains(&unit));
                left.push((*scored, of.collect::<Vec<_>>()));
            }
            while !left.is_empty() {
                let worth = |(_, of): &(Scored, Vec<usize>)| {
                    let fresh = of.iter().filter(|group| !covered.contains(*group)).count();
                    (fresh, usize::from(!of.is_empty()))
                };
                let order = 0..left.len();
                let next = if well {
                    order.rev().max_by_key(|at| worth(&left[*at]))
                } else {
                    order.min_by_key(|at| worth(&left[*at]))
                };
                let Some(next) = next else { break };
                let (scored, of) = left.remove(next);
                covered.extend(of);
                rows.push(scored);
            }
        }
        Ok(rows)
    }
}
