//! What a question can ask for when its asker may not read everything.

use std::borrow::Cow;
use std::collections::BTreeSet;

use crate::access::Scope;
use crate::error::Result;
use crate::eval::questions::{Question, QuestionSet};
use crate::eval::units;
use crate::index::Index;

/// Why a question is not scored whose asker may not read the evidence.
pub const CLOSED: &str = "permission";

/// Restricts every question of `set` to what its asker may read, as [`measure`](super::measure) does, for whoever runs
/// the questions otherwise.
pub fn keep_readable(
    index: &Index,
    set: &mut QuestionSet,
    scope_of: &dyn Fn(&Question) -> Result<Scope>,
) -> Result<()> {
    for question in &mut set.questions {
        let scope = scope_of(question)?;
        *question = readable(index, question, &scope)?.into_owned();
    }
    Ok(())
}

/// The question as far as its asker can get an answer: units that the asker may not read are taken
/// out of the judgments, and without any of a group left it cannot be scored.
pub(super) fn readable<'q>(
    index: &Index,
    question: &'q Question,
    scope: &Scope,
) -> Result<Cow<'q, Question>> {
    if !scope.is_restricted() {
        return Ok(Cow::Borrowed(question));
    }
    let mut closed = BTreeSet::new();
    for unit in question.judgments.units() {
        let mut rows = units::rows(index.passages(), unit)?;
        if !rows.any(|row| scope.readable().contains(row)) {
            closed.insert(unit);
        }
    }
    if closed.is_empty() {
        return Ok(Cow::Borrowed(question));
    }
    let judgments =
        question.judgments.mapped(|unit| (!closed.contains(unit)).then(|| unit.to_owned()));
    let unscoreable = match &judgments {
        Some(_) => question.unscoreable.clone(),
        None => Some(CLOSED.to_owned()),
    };
    let judgments = judgments.unwrap_or_default();
    Ok(Cow::Owned(Question { judgments, unscoreable, ..question.clone() }))
}
