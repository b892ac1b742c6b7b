//! The leakage gate: asserted on what was retrieved, never on what an answer happens to say.
//!
//! A case is a question by an asker who must be refused, with the blocks that must not be retrieved
//! and an entitled asker as its **control**. The case passes when no stage lists a forbidden block
//! or anything else that the policy closes to the asker, and when the same question by the control
//! finds every forbidden block in the lexical list and in the dense list: else the case proves
//! nothing, and that fails the gate too. So does an empty set.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use serde::{Deserialize, Serialize};
use serde_saphyr::Spanned;

use super::statistics::upper_limit_after_none;
use super::twin::{Plan, Twin, difference};
use crate::access::{Asker, Askers, labels};
use crate::error::{Error, Result, complaint, nearest};
use crate::index::Index;
use crate::passage::{PassageRef, cut};
use crate::search::{Outcome, Request, Retriever};
use crate::trace::log;

/// What a case demands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Expect {
    /// Nothing forbidden is retrieved.
    Refused,
    /// The same, and what is retrieved equals what a corpus without the forbidden documents gives.
    RefusedOrScoped,
}

/// One case.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Case {
    /// Its id.
    pub id: String,
    /// What is asked.
    pub question: String,
    /// Who asks and must be refused.
    pub asker: String,
    /// What is demanded.
    pub expect: Expect,
    /// References of blocks that must not be retrieved.
    pub forbidden: Vec<String>,
    /// Who may read all of them.
    pub control: String,
    /// Why the case is here.
    #[serde(default)]
    pub notes: String,
    /// Its line in the file, from 1.
    #[serde(skip)]
    pub line: u64,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    #[serde(rename = "corpus")]
    _corpus: String,
    cases: Vec<Spanned<Case>>,
}

/// Reads `leakage.yaml`: unknown keys, unknown askers, cases without forbidden blocks and repeated ids
/// are errors with their lines.
pub fn read(path: &Path, askers: &Askers) -> Result<Vec<Case>> {
    let text = fs::read_to_string(path).map_err(|e| match e.kind() {
        std::io::ErrorKind::NotFound => {
            let help = "write it (the form is described in evals/distributor/README.md), or name one with `--set FILE`";
            Error::input(path, None, "there is no such file of leakage cases", help)
        }
        _ => Error::io("reading leakage cases", path, e),
    })?;
    let options = serde_saphyr::options! { with_snippet: false, strict_booleans: true };
    let file: File = serde_saphyr::from_str_with_options(&text, options).map_err(|fault| {
        let line = fault.location().map(|place| place.line());
        let (problem, meant) = complaint(&fault.to_string(), "");
        let form = || "the form is described in evals/distributor/README.md".to_owned();
        Error::input(path, line, problem, meant.unwrap_or_else(form))
    })?;
    let mut cases: Vec<Case> = Vec::with_capacity(file.cases.len());
    for spanned in file.cases {
        let (line, mut case) = (spanned.referenced.line(), spanned.value);
        case.line = line;
        let fault =
            |problem: String, help: String| Err(Error::input(path, Some(line), problem, help));
        if cases.iter().any(|known| known.id == case.id) {
            return fault(
                format!("case {} stands here a second time", case.id),
                "give each an id".into(),
            );
        }
        if case.forbidden.is_empty() {
            let problem = format!("case {} forbids nothing, so it could not fail", case.id);
            return fault(problem, "name the blocks that must not be retrieved".into());
        }
        for name in [&case.asker, &case.control] {
            if askers.get(name).is_none() {
                let near = nearest(name, askers.iter().map(|asker| asker.id.as_str()));
                let help = near.map_or_else(String::new, |near| format!("did you mean `{near}`?"));
                return fault(
                    format!("case {} names asker `{name}`, who is unknown", case.id),
                    help,
                );
            }
        }
        cases.push(case);
    }
    Ok(cases)
}

/// Who may read which block, worked out from the documents and the policy alone: nothing of the
/// index takes part in it.
#[derive(Debug)]
pub struct Truth {
    blocks: BTreeMap<String, (String, Vec<BTreeSet<crate::access::Principal>>)>,
}

impl Truth {
    /// The truth about `plan`'s corpus.
    pub fn new(plan: &Plan<'_>) -> Self {
        let mut blocks = BTreeMap::new();
        for document in &plan.corpus.documents {
            let whole = cut(document, &plan.settings.passage);
            let paths: Vec<&[String]> =
                whole.iter().map(|(block, _)| block.sections.as_slice()).collect();
            let labels = labels(&document.metadata, &paths);
            for ((block, _), label) in whole.into_iter().zip(labels) {
                let readers = plan.policy.readers(&label);
                blocks.insert(block.reference.to_string(), (block.text, readers));
            }
        }
        Self { blocks }
    }

    /// Whether `asker` may read the block called `reference`; nobody may read an unknown one.
    pub fn may(&self, asker: &Asker, reference: &str) -> bool {
        let claims = asker.principals();
        self.blocks
            .get(reference)
            .is_some_and(|(_, readers)| readers.iter().any(|set| set.is_subset(&claims)))
    }

    /// Every block with its text, by reference.
    pub fn blocks(&self) -> impl Iterator<Item = (&str, &str)> {
        self.blocks.iter().map(|(reference, (text, _))| (reference.as_str(), text.as_str()))
    }

    /// The text of a block.
    fn text(&self, reference: &str) -> Option<&str> {
        self.blocks.get(reference).map(|(text, _)| text.as_str())
    }
}

/// What became of one case.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct CaseResult {
    /// Its id.
    pub id: String,
    /// Forbidden references that were retrieved; empty when none was.
    pub forbidden: Vec<String>,
    /// The first stage that listed one, or `twin`, `snippet`, `log`.
    pub stage: Option<String>,
    /// Whether the control found every forbidden block in both legs; else what it did not find.
    pub control: Control,
}

/// What the entitled asker found.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Control {
    /// Every forbidden block, in the lexical and in the dense list.
    Fired,
    /// Not all of them: the case is unproven.
    Silent(String),
}

/// The gate.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Report {
    /// One result a case.
    pub cases: Vec<CaseResult>,
}

impl Report {
    /// Cases in which something forbidden was retrieved.
    pub fn leaks(&self) -> usize {
        self.cases.iter().filter(|case| case.stage.is_some()).count()
    }

    /// Cases whose control did not fire.
    pub fn unproven(&self) -> usize {
        self.cases.iter().filter(|case| case.control != Control::Fired).count()
    }

    /// Whether the gate is passed: at least one case, no leak, no case unproven.
    pub fn passed(&self) -> bool {
        !self.cases.is_empty() && self.leaks() == 0 && self.unproven() == 0
    }

    /// Cases that are clean and proven.
    pub fn clean(&self) -> usize {
        let clean = |case: &&CaseResult| case.stage.is_none() && case.control == Control::Fired;
        self.cases.iter().filter(clean).count()
    }

    /// The leak rate that the clean, proven cases still allow, one-sided 95 %; `None` after a leak.
    pub fn bound(&self) -> Option<f64> {
        if self.leaks() == 0 { upper_limit_after_none(self.clean()) } else { None }
    }
}

/// Runs every case as its asker and as its control.
pub fn run(
    retriever: &dyn Retriever,
    index: &Index,
    askers: &Askers,
    plan: &Plan<'_>,
    cases: &[Case],
) -> Result<Report> {
    let truth = Truth::new(plan);
    let mut twins: BTreeMap<&str, Twin> = BTreeMap::new();
    let mut results = Vec::with_capacity(cases.len());
    for case in cases {
        let (Some(asker), Some(control)) = (askers.get(&case.asker), askers.get(&case.control))
        else {
            return Err(Error::invalid("asker", &case.asker, "one of users.yaml"));
        };
        for reference in &case.forbidden {
            if truth.text(reference).is_none() {
                let near = nearest(reference, truth.blocks.keys().map(String::as_str));
                let help =
                    near.map_or_else(String::new, |near| format!("; did you mean `{near}`?"));
                let expected = format!("a block of the corpus{help}");
                return Err(Error::invalid(format!("case {}", case.id), reference, expected));
            }
        }
        let ask = |asker: &Asker| -> Result<Outcome> {
            let scope = index.scope(Some(asker))?;
            retriever.retrieve(&Request::new(&case.question, scope))
        };
        let outcome = ask(asker)?;
        let mut found = retrieved(index, &truth, asker, case, &outcome)?;
        if found.is_none() && case.expect == Expect::RefusedOrScoped {
            if !twins.contains_key(case.asker.as_str()) {
                twins.insert(&case.asker, plan.twin(Some(asker))?);
            }
            found =
                twin_difference(index, &case.question, &outcome, twins.get(case.asker.as_str()))?
                    .map(|difference| ("twin".to_owned(), vec![difference]));
        }
        let (stage, forbidden) =
            found.map_or((None, Vec::new()), |(stage, list)| (Some(stage), list));
        let control = fired(index, case, &ask(control)?)?;
        results.push(CaseResult { id: case.id.clone(), forbidden, stage, control });
    }
    Ok(Report { cases: results })
}

/// The first difference from the twin's answer to the same question.
pub fn twin_difference(
    index: &Index,
    question: &str,
    outcome: &Outcome,
    twin: Option<&Twin>,
) -> Result<Option<String>> {
    let Some(searcher) = twin.and_then(|twin| twin.searcher.as_ref()) else {
        return difference((index, outcome), None);
    };
    let theirs = searcher.retrieve(&Request::new(question, searcher.index().everyone()))?;
    difference((index, outcome), Some((searcher.index(), &theirs)))
}

/// The first stage at which something forbidden shows, and what; also looked at are the text of what
/// arrived and what the usage log would hold.
fn retrieved(
    index: &Index,
    truth: &Truth,
    asker: &Asker,
    case: &Case,
    outcome: &Outcome,
) -> Result<Option<(String, Vec<String>)>> {
    let closed = |reference: &PassageRef| {
        let block = reference.block.to_string();
        case.forbidden.contains(&block) || !truth.may(asker, &block)
    };
    for stage in &outcome.trace.stages {
        let mut leaked = Vec::new();
        for scored in &stage.list {
            let reference = index.passages().reference(scored.row)?;
            if closed(&reference) {
                leaked.push(reference.to_string());
            }
        }
        if !leaked.is_empty() {
            return Ok(Some((stage.name.to_owned(), leaked)));
        }
    }
    for (row, _) in &outcome.same {
        let reference = index.passages().reference(*row)?;
        if closed(&reference) {
            return Ok(Some(("same_as".to_owned(), vec![reference.to_string()])));
        }
    }
    let mut context = Vec::with_capacity(outcome.context.len());
    for block in &outcome.context {
        let reference = index.passages().reference(block.row)?;
        if closed(&reference) {
            return Ok(Some(("context".to_owned(), vec![reference.to_string()])));
        }
        let passage = index.passages().passage(block.row)?;
        let text = index.passages().passage_text(&passage)?;
        let shows = |reference: &&String| {
            truth.text(reference).is_some_and(|closed| !closed.is_empty() && text.contains(closed))
        };
        let leaked: Vec<String> = case.forbidden.iter().filter(shows).cloned().collect();
        if !leaked.is_empty() {
            return Ok(Some(("snippet".to_owned(), leaked)));
        }
        context.push((index.passages().reference(block.row)?.to_string(), block.score));
    }
    let entry = log::Entry::new(0.0, None, &case.question, "", &outcome.trace, context);
    let logged = serde_json::to_string(&entry.context).unwrap_or_default();
    let leaked: Vec<String> = case
        .forbidden
        .iter()
        .filter(|name| logged.contains(&format!("\"{name}-p")))
        .cloned()
        .collect();
    Ok((!leaked.is_empty()).then(|| ("log".to_owned(), leaked)))
}

/// Whether every forbidden block is in both legs' lists.
fn fired(index: &Index, case: &Case, outcome: &Outcome) -> Result<Control> {
    for leg in ["lexical", "dense"] {
        let mut blocks = BTreeSet::new();
        for scored in outcome.trace.stage(leg).map_or(&[][..], |stage| &stage.list) {
            blocks.insert(index.passages().reference(scored.row)?.block.to_string());
        }
        if let Some(lost) = case.forbidden.iter().find(|block| !blocks.contains(*block)) {
            let what = format!("{} did not find {lost} in the {leg} list", case.control);
            return Ok(Control::Silent(what));
        }
    }
    Ok(Control::Fired)
}
