//! What an answer was made from: what the engine brought, or what was recorded with the answer.

use serde::Serialize;

use crate::access::Scope;
use crate::answer::{Answer, Source, sources};
use crate::error::Result;
use crate::eval::expectations::Case;
use crate::eval::judgments::Judgments;
use crate::eval::ladder::blocks;
use crate::eval::noise::{Evidence, Relation};
use crate::index::Index;
use crate::search::Outcome;

/// A block of another version or product than the evidence of a case.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Rival {
    /// The block.
    pub reference: String,
    /// `other_version` or `other_product`.
    pub relation: Relation,
    /// Whether the answer cites it.
    pub cited: bool,
}

/// What an answer does with the blocks of its context.
#[derive(Debug, Default)]
pub(super) struct Used {
    /// Those of another version or product.
    pub(super) rivals: Vec<Rival>,
    /// Whether it cites any of the evidence.
    pub(super) evidence_is_cited: bool,
}

/// The blocks that an answer was made from, best first.
pub(super) struct Context {
    /// Their numbers in the index.
    pub(super) blocks: Vec<u32>,
    /// The same, as an answerer sees them.
    pub(super) sources: Vec<Source>,
    /// Those that the asker may not read; never any of the engine's own.
    pub(super) closed: Vec<String>,
    /// Whether they were recorded with the answer.
    pub(super) is_recorded: bool,
}

impl Context {
    /// What the engine brought.
    pub(super) fn of(index: &Index, outcome: &Outcome) -> Result<Self> {
        let blocks = outcome.context.iter().map(|hit| hit.block).collect();
        let sources = sources(index, outcome)?;
        Ok(Self { blocks, sources, closed: Vec::new(), is_recorded: false })
    }

    /// What was recorded: blocks by reference, all of which exist.
    pub(super) fn recorded(index: &Index, scope: &Scope, names: &[String]) -> Result<Self> {
        let mut context =
            Self { blocks: Vec::new(), sources: Vec::new(), closed: Vec::new(), is_recorded: true };
        for name in names {
            for block in blocks(index, std::slice::from_ref(name))? {
                let record = index.passages().block(block)?;
                let mut rows = record.first_row..record.first_row + record.passages;
                if !rows.any(|row| scope.readable().contains(row)) {
                    context.closed.push(name.clone());
                }
                context.sources.push(Source::of(index, block)?);
                context.blocks.push(block);
            }
        }
        Ok(context)
    }

    /// What `answer` does with them, for the evidence of `case`.
    pub(super) fn rivals(
        &self,
        index: &Index,
        case: &Case,
        answer: Option<&Answer>,
    ) -> Result<Used> {
        let mut used = Used::default();
        if case.supporting.is_empty() {
            return Ok(used);
        }
        let judgments = Judgments::from_groups(case.supporting.clone())?;
        let evidence = Evidence::of(index.passages(), &judgments)?;
        let names: Vec<String> = case.supporting.iter().flatten().cloned().collect();
        let needed = blocks(index, &names)?;
        for (block, source) in self.blocks.iter().zip(&self.sources) {
            let cited = answer.is_some_and(|answer| {
                answer.citations.iter().any(|citation| {
                    [&source.reference, &source.document].contains(&&citation.reference)
                })
            });
            if needed.contains(block) {
                used.evidence_is_cited |= cited;
                continue;
            }
            let relation = evidence.relation(*block)?;
            if matches!(relation, Relation::OtherVersion | Relation::OtherProduct) {
                used.rivals.push(Rival { reference: source.reference.clone(), relation, cited });
            }
        }
        Ok(used)
    }
}
