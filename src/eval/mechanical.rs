//! One answer against what is expected of it: mechanical, exact, and every failure named.

use std::ops::Range;

use serde::Serialize;

use super::expectations::{Case, Cite};
use super::phrases::find;
use crate::answer::{Answer, Citation, Refusal, Settings, Source, refusal};

/// What is wrong with an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Fault {
    /// A phrase that must be in it is not.
    Missing,
    /// A phrase that must not be in it is.
    Unexpected,
    /// A source that it must name is not named.
    Uncited,
    /// It names a source that was not in its context: cited, and not read.
    OutsideContext,
    /// It answers where it should decline.
    NotDeclined,
    /// It declines and goes on.
    Continued,
    /// It declines in other words than the sentence.
    Reworded,
    /// It declines where it should answer.
    Declined,
    /// It says nothing.
    Empty,
    /// Needed evidence did not arrive; only where evidence is judged.
    NoEvidence,
    /// Misleading evidence arrived.
    Misleading,
    /// The context that was recorded with the answer holds what the asker may not read.
    ClosedContext,
}

impl Fault {
    /// Its name in JSON and in lists.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Missing => "missing",
            Self::Unexpected => "unexpected",
            Self::Uncited => "uncited",
            Self::OutsideContext => "outside_context",
            Self::NotDeclined => "not_declined",
            Self::Continued => "continued",
            Self::Reworded => "reworded",
            Self::Declined => "declined",
            Self::Empty => "empty",
            Self::NoEvidence => "no_evidence",
            Self::Misleading => "misleading",
            Self::ClosedContext => "closed_context",
        }
    }
}

/// One failure of an answer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Failure {
    /// What is wrong.
    pub fault: Fault,
    /// The phrase, title or reference that it is about; empty where it is about the whole answer.
    pub what: String,
    /// Bytes of the answer's text at which it stands, where it stands anywhere.
    pub place: Option<Range<usize>>,
}

impl Failure {
    fn new(fault: Fault, what: impl Into<String>) -> Self {
        Self { fault, what: what.into(), place: None }
    }
}

/// What an answer did.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Did {
    /// It answered, well or not.
    Answered,
    /// It is the abstention sentence, whole.
    Declined,
}

/// Every failure of `answer`, in the order of the expectations, and what it did. `context` is what it
/// was made from.
pub fn judge(
    case: &Case,
    answer: &Answer,
    context: &[Source],
    settings: &Settings,
) -> (Did, Vec<Failure>) {
    let declines = refusal(&answer.text, settings);
    let did = if declines == Refusal::Whole { Did::Declined } else { Did::Answered };
    let mut failures = Vec::new();
    if super::phrases::tokens(&answer.text).is_empty() {
        failures.push(Failure::new(Fault::Empty, ""));
    }
    match (case.expect.abstains, declines) {
        (true, Refusal::Whole) | (false, Refusal::Not) => {}
        (true, Refusal::Not) => failures.push(Failure::new(Fault::NotDeclined, "")),
        (_, Refusal::Continued) => failures.push(Failure::new(Fault::Continued, "")),
        (_, Refusal::Reworded) => failures.push(Failure::new(Fault::Reworded, "")),
        (false, Refusal::Whole) => failures.push(Failure::new(Fault::Declined, "")),
    }
    for any in &case.expect.must_contain {
        if !any.iter().any(|phrase| find(&answer.text, phrase).is_some()) {
            failures.push(Failure::new(Fault::Missing, any.join(" | ")));
        }
    }
    for phrase in &case.expect.must_not_contain {
        if let Some(place) = find(&answer.text, phrase) {
            let what = phrase.clone();
            failures.push(Failure { fault: Fault::Unexpected, what, place: Some(place) });
        }
    }
    let read = |citation: &&Citation| {
        context.iter().any(|source| {
            source.reference == citation.reference || source.document == citation.reference
        })
    };
    for cite in &case.expect.must_cite {
        if !answer.citations.iter().filter(read).any(|citation| names(cite, citation)) {
            failures.push(Failure::new(Fault::Uncited, cite.to_string()));
        }
    }
    for citation in answer.citations.iter().filter(|citation| !read(citation)) {
        failures.push(Failure::new(Fault::OutsideContext, &citation.reference));
    }
    (did, failures)
}

/// Whether `citation` is what `cite` asks for.
fn names(cite: &Cite, citation: &Citation) -> bool {
    let is = |name: &str| {
        let same = |own: &str| crate::answer::fold(own) == crate::answer::fold(name);
        citation.document == name || citation.reference == name || same(&citation.title)
    };
    match cite {
        Cite::Name(name) => is(name),
        Cite::Version(version) => {
            is(&version.document) && citation.revision.as_deref() == Some(&version.revision)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::eval::expectations::{Expect, Version};

    fn case(expect: Expect) -> Case {
        Case {
            id: "a".into(),
            question: "Why?".into(),
            asker: None,
            kinds: Vec::new(),
            expect,
            supporting: Vec::new(),
            misleading: Vec::new(),
            filter: std::collections::BTreeMap::new(),
            expected_fail: None,
            hashes: Default::default(),
            line: 1,
        }
    }

    fn source(reference: &str, document: &str, title: &str, revision: &str) -> Source {
        Source {
            reference: reference.into(),
            document: document.into(),
            title: title.into(),
            revision: Some(revision.into()),
            sections: Vec::new(),
            text: String::new(),
            score: 1.0,
        }
    }

    /// What is wrong with `text` citing `cited`, in a context of two policies.
    fn faults(expect: Expect, text: &str, cited: &[usize]) -> Vec<String> {
        let all = [
            source("NEW-2", "NEW", "Returns Policy", "R4"),
            source("OLD-2", "OLD", "Returns Policy", "R3"),
            source("FAR-1", "FAR", "Far away", "R1"),
        ];
        let citations = cited.iter().map(|at| all[*at].citation()).collect();
        let answer = Answer { text: text.into(), citations, ..Answer::default() };
        let (_, failures) = judge(&case(expect), &answer, &all[..2], &Settings::default());
        let shown = |f: &Failure| format!("{} {}", f.fault.name(), f.what).trim().to_owned();
        failures.iter().map(shown).collect()
    }

    fn contains(phrases: &[&str]) -> Expect {
        let one = |phrase: &&str| phrase.split('|').map(str::to_owned).collect();
        Expect { must_contain: phrases.iter().map(one).collect(), ..Expect::default() }
    }

    #[test]
    fn all_failures_are_named_not_only_the_first() {
        let expect = Expect {
            must_not_contain: vec!["restocking fee".into()],
            must_cite: vec![Cite::Name("Returns Policy".into())],
            ..contains(&["30 days", "full credit"])
        };
        let said = faults(expect, "Within 130 days, with a restocking\u{a0}fee.", &[]);
        assert_eq!(
            said,
            [
                "missing 30 days",
                "missing full credit",
                "unexpected restocking fee",
                "uncited Returns Policy"
            ]
        );
    }

    #[test]
    fn any_of_a_list_will_do() {
        assert!(faults(contains(&["36 months|3 years"]), "For three years.", &[]).is_empty());
    }

    #[test]
    fn a_version_is_told_from_another_of_the_same_title() {
        let version = Version { document: "Returns Policy".into(), revision: "R4".into() };
        let expect =
            || Expect { must_cite: vec![Cite::Version(version.clone())], ..Expect::default() };
        assert!(faults(expect(), "Yes.", &[0]).is_empty());
        assert_eq!(faults(expect(), "Yes.", &[1]), ["uncited Returns Policy, R4"]);
    }

    #[test]
    fn what_was_not_in_the_context_is_not_cited() {
        let expect =
            || Expect { must_cite: vec![Cite::Name("Far away".into())], ..Expect::default() };
        assert_eq!(faults(expect(), "Yes.", &[2]), ["uncited Far away", "outside_context FAR-1"]);
        let retrieved = Expect { must_cite: vec![Cite::Name("NEW".into())], ..Expect::default() };
        assert_eq!(faults(retrieved, "Yes.", &[]), ["uncited NEW"]);
    }

    #[test]
    fn declining_is_judged_by_the_whole_sentence() {
        let sentence = Settings::default().abstention;
        let abstains = |forbidden: &str| Expect {
            abstains: true,
            must_not_contain: vec![forbidden.to_owned()],
            ..Expect::default()
        };
        assert!(faults(abstains("15%"), &sentence, &[]).is_empty());
        let more = format!("{sentence} The fee is 15 %.");
        assert_eq!(faults(abstains("15%"), &more, &[]), ["continued", "unexpected 15%"]);
        assert_eq!(faults(abstains("x"), "The fee is 15 %.", &[]), ["not_declined"]);
        assert_eq!(faults(contains(&["15%"]), &sentence, &[]), ["declined", "missing 15%"]);
        assert_eq!(faults(abstains("x"), " ", &[]), ["empty", "not_declined"]);
        let other = sentence.replace("answers this question", "answers that question");
        assert_eq!(faults(abstains("x"), &other, &[]), ["reworded"]);
    }
}
