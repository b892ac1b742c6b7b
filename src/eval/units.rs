//! From rows of an index to the units that judgments name.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

use super::judgments::Judgments;
use crate::error::Result;
use crate::passage::store::PassageStore;
use crate::passage::{PassageRef, Unit, covers};

/// Names rows by what the judgments of one question name.
///
/// A passage satisfies a judgment on itself or on anything that contains it, so a row becomes the
/// narrowest judged unit that holds it; a row that no judgment covers becomes its block, or its
/// document where all judgments of the set name documents.
#[derive(Debug)]
pub struct Units<'i> {
    passages: &'i PassageStore,
    judged: BTreeMap<String, Vec<Unit>>,
    by_document: bool,
}

impl<'i> Units<'i> {
    /// For the judgments of one question.
    pub fn new(
        passages: &'i PassageStore,
        judgments: &Judgments,
        by_document: bool,
    ) -> Result<Self> {
        let mut judged: BTreeMap<String, Vec<Unit>> = BTreeMap::new();
        if !by_document {
            for name in judgments.groups().iter().flatten().chain(judgments.grades().keys()) {
                if let Some(unit) = parse(passages, name)? {
                    judged.entry(unit.document().to_owned()).or_default().push(unit);
                }
            }
        }
        Ok(Self { passages, judged, by_document })
    }

    /// The unit of one row.
    pub fn of(&self, row: u32) -> Result<String> {
        let block = self.passages.passage(row)?.block;
        if self.by_document {
            let document = self.passages.block(block)?.document;
            return Ok(self.passages.document(document)?.id);
        }
        let reference = self.passages.reference(row)?;
        let judged = self.judged.get(reference.block.document.as_str());
        let narrowest =
            judged.into_iter().flatten().filter(|unit| covers(unit, &reference)).max_by_key(
                |unit| match unit {
                    Unit::Document(_) => 0,
                    Unit::Block(_) => 1,
                    Unit::Passage(_) => 2,
                },
            );
        if let Some(unit) = narrowest {
            return Ok(unit.to_string());
        }
        // A judged document `A-2` must not be taken for block 2 of `A`.
        let block = reference.block.to_string();
        let taken = self.judged.values().flatten().any(|unit| unit.to_string() == block);
        Ok(if taken { reference.to_string() } else { block })
    }

    /// The distinct units of `rows`, in the order of their first rows.
    pub fn fold(&self, rows: impl IntoIterator<Item = u32>) -> Result<Vec<String>> {
        let mut seen = BTreeSet::new();
        let mut units = Vec::new();
        for row in rows {
            let unit = self.of(row)?;
            if seen.insert(unit.clone()) {
                units.push(unit);
            }
        }
        Ok(units)
    }
}

impl Units<'_> {
    /// The judgments as a context of the units `supplied` meets them: a unit that was collapsed into a hit
    /// which says the same is met by that hit, so it takes the name of the hit's unit. One that is
    /// supplied as well keeps its own. `same` are the collapsed rows, each with the hit's.
    pub fn through<'j>(
        &self,
        judgments: &'j Judgments,
        supplied: &[&str],
        same: &[(u32, u32)],
    ) -> Result<Cow<'j, Judgments>> {
        let mut names: BTreeMap<String, String> = BTreeMap::new();
        for (row, hit) in same {
            let (unit, hit) = (self.of(*row)?, self.of(*hit)?);
            if unit != hit && !supplied.contains(&unit.as_str()) {
                names.entry(unit).or_insert(hit);
            }
        }
        if names.is_empty() {
            return Ok(Cow::Borrowed(judgments));
        }
        let name = |unit: &str| Some(names.get(unit).map_or(unit, String::as_str).to_owned());
        Ok(judgments.mapped(name).map_or(Cow::Borrowed(judgments), Cow::Owned))
    }
}

/// The unit called `name` that exists in the index.
pub fn parse(passages: &PassageStore, name: &str) -> Result<Option<Unit>> {
    for unit in Unit::readings(name) {
        if exists(passages, &unit)? {
            return Ok(Some(unit));
        }
    }
    Ok(None)
}

fn exists(passages: &PassageStore, unit: &Unit) -> Result<bool> {
    let Some(document) = passages.find(unit.document())? else { return Ok(false) };
    let (block, piece) = match unit {
        Unit::Document(_) => return Ok(true),
        Unit::Block(block) => (block, None),
        Unit::Passage(PassageRef { block, passage }) => (block, Some(*passage)),
    };
    let record = passages.document(document)?;
    for number in record.first_block..record.first_block + record.blocks {
        let found = passages.block(number)?;
        if found.number == block.block {
            return Ok(piece.is_none_or(|piece| piece < found.passages));
        }
    }
    Ok(false)
}

/// The rows of the unit called `name`; none when it does not exist.
pub fn rows(passages: &PassageStore, name: &str) -> Result<std::ops::Range<u32>> {
    let Some(unit) = parse(passages, name)? else { return Ok(std::ops::Range::default()) };
    let Some(document) = passages.find(unit.document())? else {
        return Ok(std::ops::Range::default());
    };
    let record = passages.document(document)?;
    let mut rows: Option<std::ops::Range<u32>> = None;
    for number in record.first_block..record.first_block + record.blocks {
        let block = passages.block(number)?;
        let own = match &unit {
            Unit::Document(_) => block.first_row..block.first_row + block.passages,
            Unit::Block(own) if own.block == block.number => {
                block.first_row..block.first_row + block.passages
            }
            Unit::Passage(own) if own.block.block == block.number => {
                block.first_row + own.passage..block.first_row + own.passage + 1
            }
            Unit::Block(_) | Unit::Passage(_) => continue,
        };
        rows = Some(rows.map_or(own.start, |rows| rows.start)..own.end);
    }
    Ok(rows.unwrap_or_default())
}

/// Every block reference of the index, for suggestions.
pub fn all_blocks(passages: &PassageStore) -> Result<Vec<String>> {
    let mut names = Vec::new();
    for document in 0..passages.documents_len() {
        let record = passages.document(document)?;
        for block in record.first_block..record.first_block + record.blocks {
            names.push(format!("{}-{}", record.id, passages.block(block)?.number));
        }
    }
    Ok(names)
}
