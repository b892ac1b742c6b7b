//! Calibrating a judge: its verdicts beside those of a person on the same answers.
//!
//! A judge's score means something only for the kinds of answers on which it was found to agree with a
//! person more often than a judge that calls everything correct. Everything that says how far it can be
//! believed is here: the confusion matrix, agreement, kappa, the two error rates, and a permit a kind.

use std::fs;
use std::path::Path;

use serde::{Deserialize, Serialize};
use serde_saphyr::Spanned;

use super::bootstrap::{SEED, counts_interval};
use super::check::Share;
use super::judge::{Claim, Judge};
use super::statistics::Interval;
use crate::answer::Source;
use crate::error::{Error, Result, complaint};

/// Correct or wrong, by a person or a judge.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Label {
    /// It says only what the sources support, and answers.
    Correct,
    /// It does not.
    Wrong,
}

impl Label {
    /// The word for it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Correct => "correct",
            Self::Wrong => "wrong",
        }
    }
}

/// An answer that a person has labelled, as it stands in `judge.yaml`.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Labelled {
    /// Its id.
    pub id: String,
    /// What was asked.
    pub question: String,
    /// What was answered.
    pub answer: String,
    /// References of the blocks that a judge gets to see.
    pub sources: Vec<String>,
    /// The person's label.
    pub person: Label,
    /// Why that label.
    #[serde(default)]
    pub note: String,
    /// What it is hard for; `plain` where nothing is said.
    #[serde(default = "plain")]
    pub kind: String,
}

fn plain() -> String {
    "plain".to_owned()
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    #[serde(rename = "corpus")]
    _corpus: String,
    answers: Vec<Spanned<Labelled>>,
}

/// Reads labelled answers: unknown keys, labels that are none, repeated ids and answers without
/// sources are errors with their lines.
pub fn read(path: &Path) -> Result<Vec<Labelled>> {
    let schema = "the form is described in evals/README.md, \"Labelled answers\"";
    let text = fs::read_to_string(path).map_err(|e| match e.kind() {
        std::io::ErrorKind::NotFound => {
            let help = format!("write it ({schema}), or name one with `--set FILE`");
            Error::input(path, None, "there is no such file of labelled answers", help)
        }
        _ => Error::reading("reading labelled answers", path, e),
    })?;
    let options = serde_saphyr::options! { with_snippet: false, strict_booleans: true };
    let file: File = serde_saphyr::from_str_with_options(&text, options).map_err(|fault| {
        let line = fault.location().map(|place| place.line());
        let (problem, meant) = complaint(&fault.to_string(), "");
        Error::input(path, line, problem, meant.as_deref().unwrap_or(schema))
    })?;
    let mut answers: Vec<Labelled> = Vec::with_capacity(file.answers.len());
    for spanned in file.answers {
        let (line, answer) = (spanned.referenced.line(), spanned.value);
        let fault =
            |problem: String, help: &str| Err(Error::input(path, Some(line), problem, help));
        if answers.iter().any(|known| known.id == answer.id) {
            return fault(
                format!("answer {} stands here a second time", answer.id),
                "give each an id",
            );
        }
        if answer.sources.is_empty() {
            let problem =
                format!("answer {} has no sources, so nothing could support it", answer.id);
            return fault(problem, "name the blocks that a judge gets to see");
        }
        answers.push(answer);
    }
    if answers.is_empty() {
        return Err(Error::input(path, None, "it holds no answer", schema));
    }
    Ok(answers)
}

/// An answer on its way to a judge.
#[derive(Debug, Clone, PartialEq)]
pub struct Item {
    /// Its id.
    pub id: String,
    /// What it is hard for.
    pub kind: String,
    /// What was asked.
    pub question: String,
    /// What was answered.
    pub answer: String,
    /// What the judge gets to see.
    pub sources: Vec<Source>,
    /// The label: a person's, or one that follows from a person's by what was done to the answer.
    pub person: Label,
    /// Why.
    pub note: String,
}

/// An item with the judge's verdict.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Judged {
    /// Its id.
    pub id: String,
    /// What it is hard for.
    pub kind: String,
    /// What was answered.
    pub answer: String,
    /// The person's label.
    pub person: Label,
    /// The judge's.
    pub judge: Label,
    /// Why the person's.
    pub note: String,
    /// Why the judge's, claim by claim.
    pub claims: Vec<Claim>,
}

/// Verdicts against labels.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
pub struct Confusion {
    /// Correct for both.
    pub both_correct: usize,
    /// Wrong for the person and correct for the judge: the error that matters.
    pub wrong_accepted: usize,
    /// Correct for the person and wrong for the judge.
    pub correct_rejected: usize,
    /// Wrong for both.
    pub both_wrong: usize,
}

impl Confusion {
    /// Counts `pairs` of a person's and a judge's label.
    pub fn of(pairs: impl Iterator<Item = (Label, Label)>) -> Self {
        let mut counts = Self::default();
        for pair in pairs {
            *match pair {
                (Label::Correct, Label::Correct) => &mut counts.both_correct,
                (Label::Wrong, Label::Correct) => &mut counts.wrong_accepted,
                (Label::Correct, Label::Wrong) => &mut counts.correct_rejected,
                (Label::Wrong, Label::Wrong) => &mut counts.both_wrong,
            } += 1;
        }
        counts
    }

    /// How many items there are.
    pub const fn n(&self) -> usize {
        self.both_correct + self.wrong_accepted + self.correct_rejected + self.both_wrong
    }

    /// Items on which both agree.
    pub fn agreement(&self) -> Share {
        Share::new(self.both_correct + self.both_wrong, self.n())
    }

    /// Items that the person calls correct: what a judge agrees on that calls everything correct.
    pub fn correct(&self) -> Share {
        Share::new(self.both_correct + self.correct_rejected, self.n())
    }

    /// Cohen's kappa: `(observed − by chance) / (1 − by chance)`, where *by chance* is the agreement
    /// of two raters with these margins who know nothing of each other. `None` when it is 1, as when
    /// both use one label only: then kappa is undefined.
    ///
    /// Reference: Cohen, "A coefficient of agreement for nominal scales", Educational and Psychological
    /// Measurement 20, 1960.
    pub fn kappa(&self) -> Option<f64> {
        let cells =
            [self.both_correct, self.wrong_accepted, self.correct_rejected, self.both_wrong];
        kappa(&cells.map(|n| n as f64))
    }

    /// The 95% interval of kappa: the four cells with Jeffreys' prior, half a pseudo-item each.
    pub fn kappa_interval(&self) -> Option<Interval> {
        let cells =
            [self.both_correct, self.wrong_accepted, self.correct_rejected, self.both_wrong];
        counts_interval(&cells, SEED, &kappa)
    }
}

/// Kappa of four cells, in the order of [`Confusion`].
fn kappa(cells: &[f64]) -> Option<f64> {
    let &[both_correct, wrong_accepted, correct_rejected, both_wrong] = cells else { return None };
    let n: f64 = cells.iter().sum();
    if n <= 0.0 {
        return None;
    }
    let observed = (both_correct + both_wrong) / n;
    let person = (both_correct + correct_rejected) / n;
    let judge = (both_correct + wrong_accepted) / n;
    let by_chance = person * judge + (1.0 - person) * (1.0 - judge);
    (by_chance < 1.0 - 1e-12).then(|| (observed - by_chance) / (1.0 - by_chance))
}

/// Whether a judge may score answers of a kind.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Permit {
    /// The kind.
    pub kind: String,
    /// Agreement with the labels.
    pub agreement: Share,
    /// What a judge gets that calls everything correct.
    pub constant: Share,
    /// Wrong answers that it accepted, of the wrong ones.
    pub wrong_accepted: Share,
    /// Correct answers that it rejected, of the correct ones.
    pub correct_rejected: Share,
    /// Whether it may: there are answers of both labels, and the lower end of its agreement is above
    /// what the constant judge gets. All other kinds are for people.
    pub permitted: bool,
}

/// A judge, calibrated.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Calibration {
    /// The judge.
    pub judge: String,
    /// Every item, in order.
    pub items: Vec<Judged>,
    /// Verdicts against labels.
    pub confusion: Confusion,
    /// Agreement as a count.
    pub agreement: Share,
    /// Cohen's kappa; `None`: undefined.
    pub kappa: Option<f64>,
    /// Its 95% interval.
    pub kappa_interval: Option<Interval>,
    /// Wrong answers accepted, of the wrong ones.
    pub wrong_accepted: Share,
    /// Correct answers rejected, of the correct ones.
    pub correct_rejected: Share,
    /// What a judge agrees on that calls everything correct: also the prevalence of correct answers,
    /// by which kappa moves.
    pub constant: Share,
    /// A permit a kind, in order of the names.
    pub permits: Vec<Permit>,
}

/// Lets `judge` judge `items`.
pub fn calibrate(judge: &dyn Judge, items: &[Item]) -> Result<Calibration> {
    let mut judged = Vec::with_capacity(items.len());
    for item in items {
        let verdict = judge.verdict(&item.question, &item.answer, &item.sources)?;
        judged.push(Judged {
            id: item.id.clone(),
            kind: item.kind.clone(),
            answer: item.answer.clone(),
            person: item.person,
            judge: if verdict.correct { Label::Correct } else { Label::Wrong },
            note: item.note.clone(),
            claims: verdict.claims,
        });
    }
    let confusion = Confusion::of(judged.iter().map(|item| (item.person, item.judge)));
    let mut kinds: Vec<&String> = judged.iter().map(|item| &item.kind).collect();
    kinds.sort_unstable();
    kinds.dedup();
    let permit = |kind: &String| {
        let own = judged.iter().filter(|item| item.kind == *kind);
        permit(kind, Confusion::of(own.map(|item| (item.person, item.judge))))
    };
    let permits = kinds.into_iter().map(permit).collect();
    Ok(Calibration {
        judge: judge.id(),
        confusion,
        agreement: confusion.agreement(),
        kappa: confusion.kappa(),
        kappa_interval: confusion.kappa_interval(),
        wrong_accepted: wrong_accepted(&confusion),
        correct_rejected: correct_rejected(&confusion),
        constant: confusion.correct(),
        permits,
        items: judged,
    })
}

fn wrong_accepted(confusion: &Confusion) -> Share {
    Share::new(confusion.wrong_accepted, confusion.wrong_accepted + confusion.both_wrong)
}

fn correct_rejected(confusion: &Confusion) -> Share {
    Share::new(confusion.correct_rejected, confusion.correct_rejected + confusion.both_correct)
}

fn permit(kind: &str, confusion: Confusion) -> Permit {
    let (agreement, constant) = (confusion.agreement(), confusion.correct());
    let both = (1..confusion.n()).contains(&constant.k);
    let low = agreement.interval.map_or(0.0, |interval| interval.low);
    Permit {
        kind: kind.to_owned(),
        agreement,
        constant,
        wrong_accepted: wrong_accepted(&confusion),
        correct_rejected: correct_rejected(&confusion),
        permitted: both && constant.value().is_some_and(|share| low > share),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn confusion(cells: [usize; 4]) -> Confusion {
        let [both_correct, wrong_accepted, correct_rejected, both_wrong] = cells;
        Confusion { both_correct, wrong_accepted, correct_rejected, both_wrong }
    }

    #[test]
    fn three_of_six_is_a_kappa_of_nothing() {
        // Three correct and three wrong by the person, four and two by the judge.
        let six = confusion([2, 2, 1, 1]);
        assert_eq!((six.agreement().k, six.agreement().n, six.correct().k), (3, 6, 3));
        assert_eq!(six.kappa(), Some(0.0));
        let interval = six.kappa_interval().unwrap();
        assert!(interval.low < -0.4 && interval.high > 0.4, "{interval:?}");
    }

    #[test]
    fn kappa_of_known_tables() {
        // Cohen's own formula by hand: (0.7 - 0.5) / 0.5.
        let found = confusion([20, 5, 10, 15]).kappa().unwrap();
        assert!((found - 0.4).abs() < 1e-12, "{found}");
        assert_eq!(confusion([3, 0, 0, 3]).kappa(), Some(1.0));
        assert_eq!(confusion([0, 3, 3, 0]).kappa(), Some(-1.0));
        // One label for both: undefined, neither 0 nor 1.
        assert_eq!(confusion([5, 0, 0, 0]).kappa(), None);
        assert_eq!(confusion([0, 0, 0, 0]).kappa(), None);
        // The constant judge has a kappa of 0 whenever both labels occur.
        assert_eq!(confusion([3, 3, 0, 0]).kappa(), Some(0.0));
    }

    #[test]
    fn a_permit_needs_both_labels_and_more_than_the_constant_judge() {
        assert!(permit("a", confusion([20, 1, 1, 20])).permitted);
        assert!(!permit("a", confusion([2, 2, 1, 1])).permitted);
        assert!(!permit("one label", confusion([0, 0, 0, 20])).permitted);
        assert!(!permit("one label", confusion([20, 0, 0, 0])).permitted);
        assert!(!permit("mostly correct", confusion([19, 1, 0, 0])).permitted);
    }

    fn fault(answer: &str) -> String {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("judge.yaml");
        fs::write(&path, format!("corpus: c\nanswers:\n  - {{{answer}}}\n")).unwrap();
        let said = read(&path).unwrap_err().to_string();
        said.split_once("judge.yaml").unwrap().1.to_owned()
    }

    #[test]
    fn faults_name_the_line_and_the_way_out() {
        let all = "id: J1, question: q, answer: a, sources: [A-1], person: correct";
        assert_eq!(
            fault(&all.replace("person", "persn")),
            ":3: unknown key `persn`; did you mean `person`?"
        );
        assert!(fault(&all.replace("correct", "right")).starts_with(":3: "));
        assert_eq!(
            fault(&all.replace("[A-1]", "[]")),
            ":3: answer J1 has no sources, so nothing could support it; name the blocks that a judge gets to see"
        );
        assert!(
            fault(&format!("{all}}}\n  - {{{all}"))
                .starts_with(":4: answer J1 stands here a second time")
        );
    }
}
