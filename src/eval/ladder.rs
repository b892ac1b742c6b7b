//! Where needed evidence was lost: the ladder of the engine's stages, and the classes that people act
//! on.
//!
//! Every case that does not pass stands on exactly one [`Rung`], and every rung belongs to exactly one
//! [`Class`]. The counts must add up to the failures; when they do not, the run is invalid.

use std::collections::BTreeSet;

use serde::Serialize;

use crate::access::Scope;
use crate::error::{Error, Result};
use crate::index::Index;
use crate::passage::{Unit, covers};
use crate::search::{Outcome, Settings};

/// The first place at which a case went wrong, in the order of the engine.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Rung {
    /// The evidence is in no passage of the index.
    NotIndexed,
    /// The asker may not read it.
    OutOfScope,
    /// The question's filter leaves it out.
    Filtered,
    /// Neither leg has it among its candidates.
    NotFound,
    /// Its reranked score is below `search.min_score`.
    MinScore,
    /// `k` blocks stand before it.
    Window,
    /// It did not fit the tokens of the window.
    TokenBudget,
    /// The context that was recorded with the answer does not hold it. Of another system nobody here can
    /// say at which stage it was lost.
    NotSupplied,
    /// Evidence arrived that answers as well, and differently.
    Ambiguous,
    /// All evidence arrived, and the answer cites a block of another version or product in its place.
    WrongVersion,
    /// All evidence arrived, and the answer declined.
    Declined,
    /// All evidence arrived, and the answer is not what it says.
    Unused,
    /// There was nothing to answer from, and something was answered.
    AnsweredAnyway,
}

/// What a rung points at.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
pub enum Class {
    /// Evidence was never a candidate.
    #[serde(rename = "retrieval:absent")]
    Absent,
    /// Evidence was a candidate and did not come into the window.
    #[serde(rename = "retrieval:ranked_low")]
    RankedLow,
    /// Evidence was in the window, and the answer does not show it.
    #[serde(rename = "generation")]
    Generation,
    /// An answer where none is right: no evidence was lost, so none of the three above.
    #[serde(rename = "abstention")]
    Abstention,
    /// Evidence of something else arrived with it: the question or the filter has to change.
    #[serde(rename = "ambiguous")]
    Ambiguous,
}

impl Rung {
    /// Every rung, in order.
    pub const ALL: [Self; 13] = [
        Self::NotIndexed,
        Self::OutOfScope,
        Self::Filtered,
        Self::NotFound,
        Self::MinScore,
        Self::Window,
        Self::TokenBudget,
        Self::NotSupplied,
        Self::Ambiguous,
        Self::WrongVersion,
        Self::Declined,
        Self::Unused,
        Self::AnsweredAnyway,
    ];

    /// The class that it belongs to.
    pub const fn class(self) -> Class {
        match self {
            Self::NotIndexed
            | Self::OutOfScope
            | Self::Filtered
            | Self::NotFound
            | Self::NotSupplied => Class::Absent,
            Self::MinScore | Self::Window | Self::TokenBudget => Class::RankedLow,
            Self::Ambiguous => Class::Ambiguous,
            Self::WrongVersion | Self::Declined | Self::Unused => Class::Generation,
            Self::AnsweredAnyway => Class::Abstention,
        }
    }

    /// Its name in JSON and in lists.
    pub const fn name(self) -> &'static str {
        match self {
            Self::NotIndexed => "not_indexed",
            Self::OutOfScope => "out_of_scope",
            Self::Filtered => "filtered",
            Self::NotFound => "not_found",
            Self::MinScore => "min_score",
            Self::Window => "window",
            Self::TokenBudget => "token_budget",
            Self::NotSupplied => "not_supplied",
            Self::Ambiguous => "ambiguous",
            Self::WrongVersion => "wrong_version",
            Self::Declined => "declined",
            Self::Unused => "unused",
            Self::AnsweredAnyway => "answered_anyway",
        }
    }

    /// What happened, for people.
    pub const fn meaning(self) -> &'static str {
        match self {
            Self::NotIndexed => "the evidence is not in the index",
            Self::OutOfScope => "the asker may not read the evidence",
            Self::Filtered => "the filter left the evidence out",
            Self::NotFound => "neither leg found the evidence",
            Self::MinScore => "the evidence scored below search.min_score",
            Self::Window => "the evidence stood outside the window",
            Self::TokenBudget => "the evidence did not fit the window's tokens",
            Self::NotSupplied => "the context that was recorded does not hold the evidence",
            Self::Ambiguous => "other evidence arrived that answers differently",
            Self::WrongVersion => "the evidence was there and another version or product was cited",
            Self::Declined => "the evidence was there and the answer declined",
            Self::Unused => "the evidence was there and the answer is wrong",
            Self::AnsweredAnyway => "answered where declining was right",
        }
    }
}

impl Class {
    /// Every class, in order.
    pub const ALL: [Self; 5] =
        [Self::Absent, Self::RankedLow, Self::Generation, Self::Abstention, Self::Ambiguous];

    /// Its name in JSON and in lists.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Absent => "retrieval:absent",
            Self::RankedLow => "retrieval:ranked_low",
            Self::Generation => "generation",
            Self::Abstention => "abstention",
            Self::Ambiguous => "ambiguous",
        }
    }
}

/// What became of one group of needed evidence.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Evidence {
    /// The units of which any would do.
    pub units: Vec<String>,
    /// The place in the context of the first of them that arrived, from 1; `None`: none did.
    pub arrived: Option<usize>,
    /// Where the one that came farthest was lost; `None` when one arrived.
    pub lost: Option<Rung>,
    /// The best place from 1 that any of them had in each stage's list, and its score; stages whose
    /// list has none of them are left out.
    pub stages: Vec<StagePlace>,
}

/// A place in a stage's list.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct StagePlace {
    /// The stage: `lexical`, `dense`, `fuse`, `rerank`, `min-score` or `window`.
    pub stage: &'static str,
    /// The place, from 1, among passages.
    pub place: usize,
    /// The score there.
    pub score: f64,
}

/// Follows the units of `group` through the stages of `outcome`.
pub fn follow(
    index: &Index,
    scope: &Scope,
    settings: &Settings,
    outcome: &Outcome,
    group: &[String],
) -> Result<Evidence> {
    let (units, rows) = named(index, group)?;
    let mut arrived = None;
    for (at, block) in outcome.context.iter().enumerate() {
        let reference = index.passages().reference(block.row)?;
        let mut met = units.iter().any(|unit| covers(unit, &reference));
        // What says the same and was collapsed into the block has arrived with it.
        for row in outcome.same_as(block.row) {
            let reference = index.passages().reference(row)?;
            met |= units.iter().any(|unit| covers(unit, &reference));
        }
        if met {
            arrived = Some(at + 1);
            break;
        }
    }
    let mut stages = Vec::new();
    for stage in &outcome.trace.stages {
        let found = stage.list.iter().position(|scored| rows.contains(&scored.row));
        if let Some(at) = found {
            stages.push(StagePlace {
                stage: stage.name,
                place: at + 1,
                score: stage.list[at].score,
            });
        }
    }
    let reached = |name: &str| stages.iter().any(|place| place.stage == name);
    let lost = if arrived.is_some() {
        None
    } else if let Some(closed) = closed(scope, &rows) {
        Some(closed)
    } else if !reached("rerank") {
        Some(Rung::NotFound)
    } else if !reached("min-score") {
        Some(Rung::MinScore)
    } else if outcome.hits() >= settings.k {
        Some(Rung::Window)
    } else {
        Some(Rung::TokenBudget)
    };
    Ok(Evidence { units: group.to_vec(), arrived, lost, stages })
}

/// The units of `group` in a context that was recorded: the numbers of its blocks, best first.
pub fn follow_recorded(
    index: &Index,
    scope: &Scope,
    context: &[u32],
    group: &[String],
) -> Result<Evidence> {
    let (_, rows) = named(index, group)?;
    let blocks = blocks_of(index, &rows)?;
    let arrived = context.iter().position(|block| blocks.contains(block)).map(|at| at + 1);
    let lost = arrived.is_none().then(|| closed(scope, &rows).unwrap_or(Rung::NotSupplied));
    Ok(Evidence { units: group.to_vec(), arrived, lost, stages: Vec::new() })
}

/// The numbers of the blocks that hold the units called `names`.
pub fn blocks(index: &Index, names: &[String]) -> Result<BTreeSet<u32>> {
    blocks_of(index, &named(index, names)?.1)
}

fn blocks_of(index: &Index, rows: &BTreeSet<u32>) -> Result<BTreeSet<u32>> {
    rows.iter().map(|row| Ok(index.passages().passage(*row)?.block)).collect()
}

/// The units of `group` that exist, and the rows of their passages.
fn named(index: &Index, group: &[String]) -> Result<(Vec<Unit>, BTreeSet<u32>)> {
    let (mut units, mut rows) = (Vec::new(), BTreeSet::new());
    for name in group {
        if let Some(unit) = super::units::parse(index.passages(), name)? {
            rows.extend(rows_of(index, &unit)?);
            units.push(unit);
        }
    }
    Ok((units, rows))
}

/// Why no search of this asker can bring any of `rows`, if none can.
fn closed(scope: &Scope, rows: &BTreeSet<u32>) -> Option<Rung> {
    if rows.is_empty() {
        Some(Rung::NotIndexed)
    } else if !rows.iter().any(|row| scope.readable().contains(*row)) {
        Some(Rung::OutOfScope)
    } else if !rows.iter().any(|row| scope.allowed().contains(*row)) {
        Some(Rung::Filtered)
    } else {
        None
    }
}

/// The rows of a unit's passages.
fn rows_of(index: &Index, unit: &Unit) -> Result<Vec<u32>> {
    let passages = index.passages();
    let Some(document) = passages.find(unit.document())? else { return Ok(Vec::new()) };
    let record = passages.document(document)?;
    let mut rows = Vec::new();
    for block in record.first_block..record.first_block + record.blocks {
        let block = passages.block(block)?;
        for row in block.first_row..block.first_row + block.passages {
            if covers(unit, &passages.reference(row)?) {
                rows.push(row);
            }
        }
    }
    Ok(rows)
}

/// How many failures stand on a rung.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct RungCount {
    /// The rung.
    pub rung: Rung,
    /// How many.
    pub n: usize,
}

/// How many failures are of a class.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct ClassCount {
    /// The class.
    pub class: Class,
    /// How many.
    pub n: usize,
}

/// The failures of a run by rung and by class.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Decomposition {
    /// Cases that did not pass.
    pub failures: usize,
    /// How many stand on each rung that has any, in the order of the engine.
    pub by_rung: Vec<RungCount>,
    /// How many belong to each class, none left out.
    pub by_class: Vec<ClassCount>,
    /// How many of them had a part of their evidence, and not all.
    pub partial: usize,
}

impl Decomposition {
    /// Counts `rungs`, one a failing case, with whether a part of its evidence had arrived. An error
    /// when they do not account for `failures`, each exactly once: the run is invalid.
    pub fn new(failures: usize, rungs: &[(Option<Rung>, bool)]) -> Result<Self> {
        let on = |rung: Rung| rungs.iter().filter(|(own, _)| *own == Some(rung)).count();
        let by_rung: Vec<RungCount> =
            Rung::ALL.into_iter().map(|rung| RungCount { rung, n: on(rung) }).collect();
        let by_rung: Vec<RungCount> = by_rung.into_iter().filter(|count| count.n > 0).collect();
        let of = |class: Class| -> usize {
            by_rung.iter().filter(|count| count.rung.class() == class).map(|count| count.n).sum()
        };
        let by_class: Vec<ClassCount> =
            Class::ALL.into_iter().map(|class| ClassCount { class, n: of(class) }).collect();
        let classed: usize = by_class.iter().map(|count| count.n).sum();
        if classed != failures || rungs.len() != failures {
            let found = format!("{classed} classed failures");
            let expected = format!("{failures}, each once: the run is invalid");
            return Err(Error::invalid("the decomposition", found, expected));
        }
        let partial = rungs.iter().filter(|(_, partial)| *partial).count();
        Ok(Self { failures, by_rung, by_class, partial })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_rung_is_listed_once_and_has_a_class() {
        let names: BTreeSet<&str> = Rung::ALL.iter().map(|rung| rung.name()).collect();
        assert_eq!(names.len(), Rung::ALL.len());
        assert!(Rung::ALL.is_sorted() && Class::ALL.is_sorted());
        for rung in Rung::ALL {
            assert_eq!(serde_json::to_value(rung).unwrap(), rung.name());
            assert!(Class::ALL.contains(&rung.class()));
            assert_eq!(serde_json::to_value(rung.class()).unwrap(), rung.class().name());
        }
    }

    #[test]
    fn counts_add_up_or_the_run_is_invalid() {
        let rungs = [
            (Some(Rung::NotFound), false),
            (Some(Rung::Window), true),
            (Some(Rung::Window), false),
            (Some(Rung::Unused), false),
        ];
        let whole = Decomposition::new(4, &rungs).unwrap();
        let rungs_found: Vec<(Rung, usize)> =
            whole.by_rung.iter().map(|count| (count.rung, count.n)).collect();
        assert_eq!(rungs_found, [(Rung::NotFound, 1), (Rung::Window, 2), (Rung::Unused, 1)]);
        let counts: Vec<usize> = whole.by_class.iter().map(|count| count.n).collect();
        assert_eq!((counts, whole.partial), (vec![1, 2, 1, 0, 0], 1));
        let said = Decomposition::new(5, &rungs).unwrap_err().to_string();
        assert!(said.ends_with("expected 5, each once: the run is invalid"), "{said}");
        assert!(Decomposition::new(1, &[(None, false)]).is_err());
        assert!(Decomposition::new(1, &[(Some(Rung::Unused), false), (None, false)]).is_err());
    }
}
