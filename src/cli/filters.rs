//! `atlas measure --filters`.

use std::collections::HashMap;

use atlas::error::Result;
use atlas::eval::bootstrap::SignFlip;
use atlas::eval::filtering::{Effects, stated, suggested, values_of};
use atlas::eval::measurement::{Measurement, Options, measure};
use atlas::eval::questions::{Question, QuestionSet};
use atlas::project::Project;
use atlas::report::counted;
use atlas::search::{Mode, Searcher};
use serde_json::{Value, json};

use super::output::Output;
use super::{Exit, Format};

/// Measures the filters that questions carry, and the filter on `key` that their words name.
pub fn run(
    key: &str,
    project: &Project,
    searcher: &Searcher,
    set: &QuestionSet,
    mode: Mode,
    format: Format,
    out: &mut Output,
) -> Result<Exit> {
    let index = searcher.index();
    let scope_of = |question: &Question| project.scope(index, question.asker.as_deref());
    let measured = |set: &QuestionSet| -> Result<Measurement> {
        let options = Options { mode, ..Options::default() };
        measure(searcher, index, searcher.settings(), set, options, &scope_of)
    };
    let effects = |(with, without): &(QuestionSet, QuestionSet)| -> Result<Effects> {
        Ok(Effects::new(with, &measured(with)?, &measured(without)?))
    };
    let mut known: HashMap<Option<String>, Vec<String>> = HashMap::new();
    for question in &set.questions {
        if !known.contains_key(&question.asker) {
            let values = values_of(index, &scope_of(question)?, key)?;
            known.insert(question.asker.clone(), values);
        }
    }
    let values = |question: &Question| Ok(known.get(&question.asker).cloned().unwrap_or_default());
    let own = effects(&stated(set))?;
    let named = effects(&suggested(set, key, &values)?)?;
    match format {
        Format::Json => {
            out.json(&json!({
                "set": set.name, "key": key, "stated": to_json(&own), "named": to_json(&named),
            }));
        }
        Format::Text => {
            let n = set.questions.iter().filter(|question| question.unscoreable.is_none()).count();
            out.line(format!("{}: {}", set.name, counted(n, "scored question")));
            text("carry a filter of their own", &own, out);
            text(&format!("name a {key}, which a filter could ask for"), &named, out);
        }
    }
    Ok(Exit::Done)
}

fn to_json(effects: &Effects) -> Value {
    let mean = |(without, with): (f64, f64)| json!({ "without": without, "with": with });
    json!({
        "n": effects.questions.len(),
        "recall": mean(effects.means(|n| n.recall)),
        "precision": mean(effects.means(|n| n.precision)),
        "tokens": mean(effects.means(|n| n.tokens as f64)),
        "recall_test": effects.recall,
        "precision_test": effects.precision,
        "questions": effects.questions,
    })
}

fn text(what: &str, effects: &Effects, out: &mut Output) {
    let n = effects.questions.len();
    out.line(format!("\n{n} {what}"));
    if n == 0 {
        return;
    }
    out.line(
        "  question                filter                recall          precision       tokens",
    );
    for effect in &effects.questions {
        let (before, after) = (&effect.without, &effect.with);
        let mark = if after.recall < before.recall { "  evidence lost" } else { "" };
        out.line(format!(
            "  {:22}  {:18}  {:.2} to {:.2}    {:.2} to {:.2}    {:4} to {:4}{mark}",
            effect.id,
            effect.filter,
            before.recall,
            after.recall,
            before.precision,
            after.precision,
            before.tokens,
            after.tokens
        ));
    }
    let (recall, precision) = (effects.means(|n| n.recall), effects.means(|n| n.precision));
    let tokens = effects.means(|n| n.tokens as f64);
    out.line(format!(
        "  {:42}  {:.2} to {:.2}    {:.2} to {:.2}    {:4.0} to {:4.0}",
        format!("mean (n {n})"),
        recall.0,
        recall.1,
        precision.0,
        precision.1,
        tokens.0,
        tokens.1
    ));
    let test = |name: &str, test: Option<SignFlip>| {
        test.map(|test| format!("{name} {} changed, exact sign-flip p {:.3}", test.changed, test.p))
    };
    let tests = [test("precision", effects.precision), test("recall", effects.recall)];
    out.line(format!("  {}", tests.into_iter().flatten().collect::<Vec<_>>().join("; ")));
}
