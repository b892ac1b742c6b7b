//! `atlas judge-calibration`.

use std::path::PathBuf;
use std::sync::Arc;

use atlas::answer::Source;
use atlas::error::{Error, Result, nearest};
use atlas::eval::calibration::{self, Calibration, Item, Label, Labelled, calibrate};
use atlas::eval::claims::ClaimJudge;
use atlas::eval::judge::{Constant, Judge, WordOverlap};
use atlas::eval::metamorphic;
use atlas::eval::questions::QuestionSet;
use atlas::eval::units;
use atlas::index::Index;
use atlas::passage::Unit;
use atlas::project::Project;
use atlas::report::{calibration_permits, calibration_summary, calibration_table};
use clap::Args;
use serde_json::json;

use super::output::Output;
use super::{Exit, Format, Global, build, endpoint, project};

/// Arguments of `judge-calibration`.
#[derive(Debug, Args)]
pub struct JudgeCalibrationArgs {
    /// The labelled answers [default: judge.yaml of `evals`]
    #[arg(long, value_name = "FILE")]
    set: Option<PathBuf>,
    /// Show every metamorphic item on which a judge and the label disagree
    #[arg(long)]
    show: bool,
    /// Calibrate the model behind the endpoint of atlas.toml too (`[answer.endpoint]`)
    #[arg(long)]
    endpoint: bool,
}

/// A judge with what it found on both lists.
struct Beside {
    name: &'static str,
    labelled: Calibration,
    metamorphic: Calibration,
}

/// Lets every judge judge what people have labelled, and what follows from it.
pub fn run(args: &JudgeCalibrationArgs, global: &Global, out: &mut Output) -> Result<Exit> {
    let project = project(global)?;
    let path = args.set.clone().unwrap_or_else(|| project.evals.join("judge.yaml"));
    let answers = calibration::read(&path)?;
    let index = Arc::new(build::ensure(&project)?);
    let labelled: Result<Vec<Item>> =
        answers.iter().map(|answer| item(&path, &index, answer)).collect();
    let labelled = labelled?;
    let mut bases: Vec<Item> =
        labelled.iter().filter(|item| item.person == Label::Correct).cloned().collect();
    bases.extend(references(&project, &index)?);
    let items = metamorphic::items(&bases);
    let claims = ClaimJudge::new(Arc::clone(&index));
    let (overlap, constant) = (WordOverlap::default(), Constant);
    let behind = if args.endpoint { Some(endpoint::judge(&project.file.answer)?) } else { None };
    let mut judges =
        vec![("word-overlap", &overlap as &dyn Judge), ("claims", &claims as &dyn Judge)];
    judges.extend(behind.as_deref().map(|judge| ("endpoint", judge)));
    judges.push(("constant", &constant as &dyn Judge));
    let mut found = Vec::new();
    for (name, judge) in judges {
        found.push(Beside {
            name,
            labelled: calibrate(judge, &labelled)?,
            metamorphic: calibrate(judge, &items)?,
        });
    }
    match global.format {
        Format::Json => out.json(&to_json(&found)),
        Format::Text => text(&found, bases.len(), args.show, out),
    }
    Ok(Exit::Done)
}

/// A labelled answer with the text of its sources.
fn item(path: &std::path::Path, index: &Index, answer: &Labelled) -> Result<Item> {
    let mut sources = Vec::with_capacity(answer.sources.len());
    for name in &answer.sources {
        match source(index, name)? {
            Some(source) => sources.push(source),
            None => {
                let all = units::all_blocks(index.passages())?;
                let near = nearest(name, all.iter().map(String::as_str));
                let help = near.map_or_else(String::new, |near| format!("did you mean `{near}`?"));
                let problem = format!("answer {} names `{name}`, which is no block", answer.id);
                return Err(Error::input(path, None, problem, help));
            }
        }
    }
    Ok(Item {
        id: answer.id.clone(),
        kind: answer.kind.clone(),
        question: answer.question.clone(),
        answer: answer.answer.clone(),
        sources,
        person: answer.person,
        note: answer.note.clone(),
    })
}

/// The block called `name`.
fn source(index: &Index, name: &str) -> Result<Option<Source>> {
    let passages = index.passages();
    let Some(Unit::Block(block)) = units::parse(passages, name)? else { return Ok(None) };
    let Some(document) = passages.find(&block.document)? else { return Ok(None) };
    let record = passages.document(document)?;
    for number in record.first_block..record.first_block + record.blocks {
        if passages.block(number)?.number == block.block {
            return Source::of(index, number).map(Some);
        }
    }
    Ok(None)
}

/// The reference answers of the development questions with the blocks judged relevant: correct by
/// whoever wrote the question.
fn references(project: &Project, index: &Index) -> Result<Vec<Item>> {
    let path = project.question_set("development");
    if !path.is_file() {
        return Ok(Vec::new());
    }
    let mut items = Vec::new();
    for question in QuestionSet::read(&path)?.questions {
        let mut sources = Vec::new();
        for unit in question.judgments.groups().iter().filter_map(|group| group.first()) {
            sources.extend(source(index, unit)?);
        }
        if sources.is_empty() || question.reference.is_empty() {
            continue;
        }
        items.push(Item {
            id: question.id,
            kind: "reference".to_owned(),
            question: question.question,
            answer: question.reference,
            sources,
            person: Label::Correct,
            note: String::new(),
        });
    }
    Ok(items)
}

fn text(found: &[Beside], bases: usize, show: bool, out: &mut Output) {
    for one in found.iter().filter(|one| one.name != "constant") {
        out.line(format!("judge       {}", one.name));
        out.text(calibration_table(&one.labelled));
        let agreement = one.labelled.agreement;
        out.line(format!("Agreement with the person: {} of {}\n", agreement.k, agreement.n));
    }
    let items = found.first().map_or(0, |one| one.metamorphic.items.len());
    out.line(format!(
        "metamorphic {items} items from {bases} correct answers: changes that must flip the verdict, and \
         changes that must not\n"
    ));
    for one in found {
        out.line(format!("judge       {}", one.name));
        out.text(calibration_summary(&one.metamorphic));
        out.text(calibration_permits(&one.metamorphic));
        let wrong = one.metamorphic.items.iter().filter(|item| item.person != item.judge);
        for item in wrong.filter(|_| show && one.name != "constant") {
            let (person, judge) = (item.person.name(), item.judge.name());
            out.line(format!("  {}  {person}, judged {judge}: {}", item.id, item.answer));
        }
        out.line("");
    }
}

fn to_json(found: &[Beside]) -> serde_json::Value {
    let one = |beside: &Beside| {
        json!({
            "name": beside.name,
            "labelled": beside.labelled,
            "metamorphic": beside.metamorphic,
        })
    };
    json!({ "judges": found.iter().map(one).collect::<Vec<_>>() })
}
