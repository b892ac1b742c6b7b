//! Groundedness: whether every claim of an answer is supported by the sources that it cites.

use serde::Serialize;

use super::check::Share;
use super::judge::{Claim, ClaimCheck, Judge};
use crate::answer::Source;
use crate::error::Result;

/// The claims of one answer.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Grounded {
    /// Whether all of them are supported.
    pub supported: bool,
    /// Each, with what was found of it.
    pub claims: Vec<Claim>,
}

impl Grounded {
    /// What `judge` finds of `answer`; `None` when it makes no claim.
    pub fn of(
        judge: &dyn Judge,
        question: &str,
        answer: &str,
        sources: &[Source],
    ) -> Result<Option<Self>> {
        Ok(Self::new(judge.verdict(question, answer, sources)?.claims))
    }

    /// An answer that makes these claims; `None` when there are none.
    pub fn new(claims: Vec<Claim>) -> Option<Self> {
        let supported = claims.iter().all(|claim| claim.supported);
        (!claims.is_empty()).then_some(Self { supported, claims })
    }
}

/// How many unsupported claims a check found.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct CheckCount {
    /// The check.
    pub check: ClaimCheck,
    /// How many.
    pub n: usize,
}

/// Groundedness of a run, by answers and by claims: a target names which of the two it means.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Groundedness {
    /// Answers with at least one claim that is not supported, of answers with claims.
    pub unsupported_answers: Share,
    /// Claims that are not supported, of all claims.
    pub unsupported_claims: Share,
    /// Claims at fault by what was looked at; a claim with several faults counts in each.
    pub by_check: Vec<CheckCount>,
}

impl Groundedness {
    /// Counts `answers`.
    pub fn of<'g>(answers: impl Iterator<Item = &'g Grounded>) -> Self {
        let (mut bad, mut n, mut bad_claims, mut claims) = (0, 0, 0, 0);
        let checks =
            [ClaimCheck::Number, ClaimCheck::Code, ClaimCheck::Negation, ClaimCheck::Words];
        let mut by_check: Vec<CheckCount> =
            checks.into_iter().map(|check| CheckCount { check, n: 0 }).collect();
        for answer in answers {
            n += 1;
            bad += usize::from(!answer.supported);
            claims += answer.claims.len();
            for claim in answer.claims.iter().filter(|claim| !claim.supported) {
                bad_claims += 1;
                for count in &mut by_check {
                    let at_fault = claim.faults.iter().any(|fault| fault.check == count.check);
                    count.n += usize::from(at_fault);
                }
            }
        }
        Self {
            unsupported_answers: Share::new(bad, n),
            unsupported_claims: Share::new(bad_claims, claims),
            by_check,
        }
    }

    /// The most answers with an unsupported claim that still meet `at_most`, a share of answers: none
    /// at all while `at_most · n` is below 1.
    pub fn allowed(&self, at_most: f64) -> usize {
        (at_most * self.unsupported_answers.n as f64 + 1e-9).floor() as usize
    }
}
