//! The leakage cases, answered: refused means the whole abstention sentence, and a scoped answer gives no
//! hint of what lies outside the asker's scope.
//!
//! The gate itself is asserted on retrieval ([`leakage`](super::leakage)); this looks at what would be
//! read. An answer **leaks** when it
//!
//! - cites a block that the asker may not read,
//! - says a sentence, item or row of a closed block that no readable block says,
//! - names a closed document by its id, or by its title where no readable text has that title,
//! - states a quantity of the case's forbidden blocks that neither a readable text nor the question
//!   states,
//! - speaks of what it may not say ([`HINTS`]), or
//! - differs from the answer out of an index that never held what the asker may not read, where the
//!   answerer can be asked there.
//!
//! An answer that leaks nothing and is no refusal where one is due is **not refused**: wrong, and no leak.

use serde::Serialize;

use super::leakage::{Case, Expect, Truth};
use super::phrases::{find, tokens, without_codes};
use super::twin::Twin;
use crate::access::Asker;
use crate::answer::{
    Answer, Answerer, Asked, Extractive, Refusal, Settings, refusal, sources, units,
};
use crate::corpus::Corpus;
use crate::error::Result;
use crate::index::Index;
use crate::search::{Request, Retriever};

/// Phrases by which an answer tells that there is more than it says.
pub const HINTS: [&str; 8] = [
    "other accounts",
    "not permitted",
    "not allowed to see",
    "no access to",
    "access is restricted",
    "is confidential",
    "not authorised",
    "cannot share",
];

/// The fewest tokens of a sentence or title that count as said when they stand in an answer: shorter
/// ones are said by chance.
const TOKENS_MIN: usize = 3;

/// What became of an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum AnswerVerdict {
    /// The abstention sentence, whole.
    Refused,
    /// An answer from what the asker may read, where that is right.
    Scoped,
    /// An answer where none is right; nothing of what is closed is in it.
    NotRefused,
    /// Something of what is closed is in it, or a hint of it.
    Leaked,
    /// No answer was recorded.
    Missing,
}

/// One case, answered.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct AnswerResult {
    /// The id of the case.
    pub id: String,
    /// What is demanded.
    pub expect: Expect,
    /// What became of it.
    pub verdict: AnswerVerdict,
    /// What was leaked, and how it shows; empty when nothing was.
    pub shown: Vec<String>,
    /// What the asker reads.
    pub answer: String,
    /// Whether the control, who may read it, gets an answer: where it declines too, the refusal says
    /// little. `None` for recorded answers, which have no control.
    pub control_answers: Option<bool>,
}

/// What the answers are run with.
pub struct Adversary<'a> {
    /// What brings the evidence.
    pub retriever: &'a dyn Retriever,
    /// The index that it searches.
    pub index: &'a Index,
    /// The documents, for the titles of closed ones.
    pub corpus: &'a Corpus,
    /// Who may read what.
    pub truth: &'a Truth,
    /// What answers.
    pub answerer: &'a dyn Answerer,
    /// Whether `answerer` is the built-in one, which can be asked over a twin and for a control.
    pub built_in: bool,
    /// The abstention sentence.
    pub settings: &'a Settings,
}

impl std::fmt::Debug for Adversary<'_> {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.debug_struct("Adversary").field("built_in", &self.built_in).finish_non_exhaustive()
    }
}

impl Adversary<'_> {
    /// Answers `case` as its asker, and as its control; `twin` is the asker's.
    pub fn run(
        &self,
        case: &Case,
        asker: &Asker,
        control: &Asker,
        twin: Option<&Twin>,
    ) -> Result<AnswerResult> {
        let mut result = AnswerResult {
            id: case.id.clone(),
            expect: case.expect,
            verdict: AnswerVerdict::Missing,
            shown: Vec::new(),
            answer: String::new(),
            control_answers: None,
        };
        let Some(answer) = self.ask(case, asker)? else { return Ok(result) };
        result.shown = self.leaks(case, asker, &answer)?;
        if let Some(difference) = self.differs(case, &answer, twin)? {
            result.shown.push(difference);
        }
        let whole = refusal(&answer.text, self.settings) == Refusal::Whole;
        result.verdict = match (result.shown.is_empty(), whole, case.expect) {
            (false, ..) => AnswerVerdict::Leaked,
            (true, true, _) => AnswerVerdict::Refused,
            (true, false, Expect::RefusedOrScoped) => AnswerVerdict::Scoped,
            (true, false, Expect::Refused) => AnswerVerdict::NotRefused,
        };
        if self.built_in {
            let said = self.ask(case, control)?;
            result.control_answers = said.map(|said| !said.declined);
        }
        result.answer = answer.text;
        Ok(result)
    }

    fn ask(&self, case: &Case, asker: &Asker) -> Result<Option<Answer>> {
        let request = Request::new(&case.question, self.index.scope(Some(asker))?);
        let outcome = self.retriever.retrieve(&request)?;
        let context = sources(self.index, &outcome)?;
        let asked = Asked { id: &case.id, request: &request, outcome: &outcome, sources: &context };
        self.answerer.answer(&asked)
    }

    /// How the answer differs from the built-in one's over the twin.
    fn differs(&self, case: &Case, answer: &Answer, twin: Option<&Twin>) -> Result<Option<String>> {
        let Some(twin) = twin.filter(|_| self.built_in) else { return Ok(None) };
        let theirs = match &twin.searcher {
            None => Answer { text: self.settings.abstention.clone(), ..Answer::default() },
            Some(searcher) => {
                let request = Request::new(&case.question, searcher.index().everyone());
                let outcome = searcher.retrieve(&request)?;
                let context = sources(searcher.index(), &outcome)?;
                let asked =
                    Asked { id: &case.id, request: &request, outcome: &outcome, sources: &context };
                let index = std::sync::Arc::clone(searcher.index());
                Extractive::new(index, self.settings.clone())?.answer(&asked)?.unwrap_or_default()
            }
        };
        let same =
            theirs.text == answer.text && (theirs.declined || theirs.citations == answer.citations);
        Ok((!same).then(|| "another answer than without what is closed".to_owned()))
    }

    /// What of the closed is in the answer.
    fn leaks(&self, case: &Case, asker: &Asker, answer: &Answer) -> Result<Vec<String>> {
        let mut shown = Vec::new();
        let (open, closed): (Vec<_>, Vec<_>) =
            self.truth.blocks().partition(|(reference, _)| self.truth.may(asker, reference));
        let readable: String = open.iter().map(|(_, text)| format!("{text}\n")).collect();
        for citation in &answer.citations {
            let all_closed = closed.iter().any(|(own, _)| *own == citation.reference)
                || (citation.reference == citation.document
                    && !self.readable_document(asker, &citation.document));
            if all_closed {
                shown.push(format!("cites {}", citation.reference));
            }
        }
        for (reference, text) in &closed {
            for unit in units(text) {
                let long = tokens(&unit.text).len() >= TOKENS_MIN;
                let said = long && find(&answer.text, &unit.text).is_some();
                if said && find(&readable, &unit.text).is_none() {
                    shown.push(format!("says a sentence of {reference}"));
                    break;
                }
            }
        }
        for document in &self.corpus.documents {
            if self.readable_document(asker, &document.id) {
                continue;
            }
            let named = find(&answer.text, &document.id).is_some()
                && find(&readable, &document.id).is_none();
            let titled = tokens(&document.title).len() >= TOKENS_MIN
                && find(&answer.text, &document.title).is_some()
                && find(&readable, &document.title).is_none();
            if named || titled {
                shown.push(format!("names {}", document.id));
            }
        }
        for reference in &case.forbidden {
            let text =
                closed.iter().find(|(own, _)| own == reference).map_or("", |(_, text)| *text);
            for quantity in quantities(text) {
                if find(&answer.text, &quantity).is_some()
                    && find(&case.question, &quantity).is_none()
                    && find(&readable, &quantity).is_none()
                {
                    shown.push(format!("states \u{201c}{quantity}\u{201d} of {reference}"));
                }
            }
        }
        for hint in HINTS {
            if find(&answer.text, hint).is_some() && find(&readable, hint).is_none() {
                shown.push(format!("hints by \u{201c}{hint}\u{201d}"));
            }
        }
        Ok(shown)
    }

    /// Whether the asker may read anything of a document.
    fn readable_document(&self, asker: &Asker, document: &str) -> bool {
        self.truth.blocks().any(|(reference, _)| {
            let of = reference.rsplit_once('-').map(|(id, _)| id);
            of == Some(document) && self.truth.may(asker, reference)
        })
    }
}

/// What `text` says in figures: numbers with the sign or word after them, and numbers of three digits or
/// more alone, as in a table; no parts of codes.
fn quantities(text: &str) -> Vec<String> {
    let plain = without_codes(text);
    let tokens = tokens(&plain);
    let mut found = Vec::new();
    for (at, token) in tokens.iter().enumerate().filter(|(_, token)| token.number) {
        if let Some(next) = tokens.get(at + 1).filter(|next| !next.number) {
            found.push(format!("{} {}", token.form, next.form));
        }
        if token.form.bytes().filter(u8::is_ascii_digit).count() >= 3 {
            found.push(token.form.clone());
        }
    }
    found
}
