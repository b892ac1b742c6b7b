//! `atlas trec`: scores a run file against judgments as trec_eval does.

use std::path::PathBuf;

use atlas::error::Result;
use atlas::eval::measures;
use atlas::eval::trec::{Columns, Settings, evaluate, read_qrels, read_run};
use clap::Args;
use serde_json::{Map, Value, json};

use super::output::{Output, note};
use super::{Exit, Format, Global};

/// Arguments of `trec`.
#[derive(Debug, Args)]
pub struct TrecArgs {
    /// Judgments: question, 0, unit, grade
    qrels: PathBuf,
    /// Results: question, Q0, unit, rank, score, tag; the rank is not looked at
    run: PathBuf,
    /// Measures by name, ours or trec_eval's [default: the usual ones]
    #[arg(short = 'm', long = "measure", value_name = "NAME")]
    measures: Vec<String>,
    /// The lowest grade that counts as relevant
    #[arg(short = 'l', long, default_value_t = 1, value_name = "GRADE")]
    level: i32,
    /// The most results of a question that are looked at [default: all]
    #[arg(short = 'M', long, value_name = "N")]
    most: Option<usize>,
    /// Leave judged questions without results out of the means, instead of counting them as 0
    #[arg(long)]
    incomplete: bool,
    /// Print every question too
    #[arg(short = 'q', long)]
    questions: bool,
}

/// What is printed when no measure is named.
const USUAL: [&str; 14] = [
    "num_ret",
    "num_rel",
    "num_rel_ret",
    "map",
    "rprec",
    "bpref",
    "mrr",
    "p@5",
    "p@10",
    "recall@100",
    "ndcg",
    "ndcg@10",
    "success@5",
    "judged@10",
];

/// Scores the run.
pub fn run(args: &TrecArgs, global: &Global, out: &mut Output) -> Result<Exit> {
    let names: Vec<&str> = if args.measures.is_empty() {
        USUAL.to_vec()
    } else {
        args.measures.iter().map(String::as_str).collect()
    };
    let measures = measures::parse_all(names)?;
    let qrels = read_qrels(&args.qrels)?;
    let run = read_run(&args.run, Columns::SixOrMore)?;
    let settings =
        Settings { level: args.level, retrieved_max: args.most, complete: !args.incomplete };
    let found = evaluate(&qrels, &run, &measures, settings);
    for (list, what) in [
        (&found.missing, "judged and not in the run"),
        (&found.unjudged, "in the run and not judged"),
    ] {
        if !list.is_empty() {
            note(&format!("{} questions are {what}, {} among them", list.len(), list[0]));
        }
    }
    let value = |value: &Option<f64>| {
        value.map_or_else(|| "none".to_owned(), |value| format!("{value:.4}"))
    };
    match global.format {
        Format::Text => {
            let rows = found.questions.iter().filter(|_| args.questions);
            let all = ("all".to_owned(), &found.all);
            for (question, values) in rows.map(|(name, values)| (name.clone(), values)).chain([all])
            {
                for (name, one) in found.measures.iter().zip(values) {
                    out.line(format!("{name:22}\t{question}\t{}", value(one)));
                }
            }
        }
        Format::Json => {
            let object = |values: &[Option<f64>]| -> Value {
                let pairs = found.measures.iter().cloned().zip(values.iter().map(|v| json!(v)));
                Value::Object(pairs.collect::<Map<_, _>>())
            };
            let rows = found.questions.iter().filter(|_| args.questions);
            let rows: Map<_, _> =
                rows.map(|(name, values)| (name.clone(), object(values))).collect();
            out.json(&json!({
                "questions": found.questions.len(),
                "missing": found.missing,
                "unjudged": found.unjudged,
                "all": object(&found.all),
                "per_question": rows,
            }));
        }
    }
    Ok(Exit::Done)
}
