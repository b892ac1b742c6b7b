//! Where in the engine the numbers of the same questions have moved.

use super::{AtStage, Change, SEED, Seen, Side, Verdict, sign_flip};
use crate::eval::statistics::percentile;

/// One number of a stage's list; `None` where the list is empty or nothing is recorded.
type Number = fn(&AtStage) -> Option<f64>;

/// What is compared at each stage.
const NUMBERS: [(&str, Number); 3] = [
    ("candidates", |stage| Some(stage.candidates as f64)),
    ("best score", |stage| stage.best),
    ("median score", |stage| stage.median),
];

/// How the lists of every stage have changed over the questions of `pairs`, before and after: the
/// number of candidates, the best score and the median score, each by the sign-flip test of its
/// differences. A question counts where both sides have the number, so nothing is compared with what
/// was not recorded. Verdicts are for whoever judges all lines together.
pub(super) fn stages(pairs: &[(&Seen, &Seen)]) -> Vec<Change> {
    let mut names: Vec<&str> = Vec::new();
    for stage in pairs.iter().flat_map(|(_, now)| &now.stages) {
        if !names.contains(&stage.name.as_str()) {
            names.push(&stage.name);
        }
    }
    let mut changes = Vec::new();
    for name in names {
        for (what, number) in NUMBERS {
            changes.extend(change(format!("{name}: {what}"), name, number, pairs));
        }
    }
    changes
}

fn change(name: String, stage: &str, number: Number, pairs: &[(&Seen, &Seen)]) -> Option<Change> {
    let of = |seen: &Seen| seen.stages.iter().find(|own| own.name == stage).and_then(number);
    let both = pairs.iter().filter_map(|(old, new)| Some((of(old)?, of(new)?)));
    let (before, after): (Vec<f64>, Vec<f64>) = both.unzip();
    let side =
        |values: &[f64]| percentile(values, 0.5).map(|p| Side::Values { n: p.n, median: p.value });
    let differences: Vec<f64> = after.iter().zip(&before).map(|(new, old)| new - old).collect();
    let test = sign_flip(&differences, SEED)?;
    Some(Change {
        name,
        before: side(&before)?,
        after: side(&after)?,
        statistic: "sign-flip",
        value: differences.iter().sum::<f64>() / differences.len() as f64,
        p: test.p,
        verdict: Verdict::NoDrift,
    })
}
