//! `atlas why`.

use std::sync::Arc;

use atlas::access::Scope;
use atlas::error::{Error, Result};
use atlas::eval::measurement::{Measurement, Options, measure};
use atlas::eval::questions::{Question, QuestionSet};
use atlas::index::{self, Index, Quiet};
use atlas::passage::{Unit, covers};
use atlas::project::Project;
use atlas::search::{Fusion, Mode, Outcome, Request, Retriever as _, Searcher};
use clap::Args;
use serde_json::json;

use super::output::{Output, note};
use super::{Exit, Format, Global, build, project};

/// Arguments of `why`.
#[derive(Debug, Args)]
pub struct WhyArgs {
    /// The question
    question: String,
    /// The document, block or passage that should have arrived
    reference: String,
    /// Who asks, by a name of users.yaml [default: default_asker of atlas.toml]
    #[arg(long = "as", value_name = "ASKER")]
    asker: Option<String>,
}

/// Passages up to which a change that needs another index is tried on one built for it.
const REBUILD_PASSAGES_MAX: usize = 20_000;

/// One thing that could be done differently.
struct Trial {
    name: &'static str,
    mode: Mode,
    /// Whether it needs another index.
    rebuild: bool,
    change: fn(&mut Project),
}

/// The menu, smallest change first.
const MENU: [Trial; 10] = [
    Trial {
        name: "no minimum score",
        mode: Mode::Hybrid,
        rebuild: false,
        change: |p| p.file.search.min_score = 0.0,
    },
    Trial {
        name: "twice the window",
        mode: Mode::Hybrid,
        rebuild: false,
        change: |p| {
            let search = &mut p.file.search;
            search.k = (search.k * 2).min(search.depth);
            search.window_tokens = (search.window_tokens * 2).min(10_000_000);
        },
    },
    Trial { name: "lexical leg alone", mode: Mode::Lexical, rebuild: false, change: |_| {} },
    Trial { name: "dense leg alone", mode: Mode::Dense, rebuild: false, change: |_| {} },
    Trial {
        name: "dense weight 0.3",
        mode: Mode::Hybrid,
        rebuild: false,
        change: |p| p.file.search.alpha = 0.3,
    },
    Trial {
        name: "dense weight 0.9",
        mode: Mode::Hybrid,
        rebuild: false,
        change: |p| p.file.search.alpha = 0.9,
    },
    Trial {
        name: "fusion by ranks",
        mode: Mode::Hybrid,
        rebuild: false,
        change: |p| p.file.search.fusion = Fusion::Rrf,
    },
    Trial {
        name: "five times the candidates",
        mode: Mode::Hybrid,
        rebuild: false,
        change: |p| p.file.search.depth = (p.file.search.depth * 5).min(10_000),
    },
    Trial {
        name: "document titles in what is searched, or out of it",
        mode: Mode::Hybrid,
        rebuild: true,
        change: |p| p.file.passage.titles = !p.file.passage.titles,
    },
    Trial {
        name: "English stemming, or none",
        mode: Mode::Hybrid,
        rebuild: true,
        change: |p| {
            p.file.text.language =
                if p.file.text.language == "none" { "en" } else { "none" }.to_owned();
        },
    },
];

/// What a trial did.
struct Tried {
    name: &'static str,
    place: Option<usize>,
    gained: usize,
    lost: usize,
}

/// Says where the block stands at every stage, where it was lost, and what would have brought it in.
pub fn run(args: &WhyArgs, global: &Global, out: &mut Output) -> Result<Exit> {
    let project = project(global)?;
    let index = Arc::new(build::ensure(&project)?);
    let (asker, why) = project.asker(args.asker.as_deref());
    if let Some(why) = why {
        note(&why);
    }
    let scope = index.scope(asker)?;
    let unit = named(&index, &scope, &args.reference)?;
    let searcher = Searcher::new(Arc::clone(&index), project.file.search.clone())?;
    let outcome = searcher.retrieve(&Request::new(&args.question, scope.clone()))?;
    let mut stages = Vec::new();
    for stage in &outcome.trace.stages {
        if stage.name == "embed" {
            continue;
        }
        let mut place = None;
        for (at, scored) in stage.list.iter().enumerate() {
            if covers(&unit, &index.passages().reference(scored.row)?) {
                place = Some((at + 1, scored.score));
                break;
            }
        }
        stages.push((stage.name, place, stage.list.len(), stage.note.clone()));
    }
    let arrived = context_place(&index, &unit, &outcome)?.is_some();
    let verdict = verdict(arrived, &stages);
    let tried = if arrived { Vec::new() } else { trials(&project, &index, args, &unit)? };
    match global.format {
        Format::Json => {
            let stages: Vec<_> = stages
                .iter()
                .map(|(name, place, of, note)| {
                    json!({ "name": name, "place": place.map(|p| p.0), "score": place.map(|p| p.1), "of": of, "note": note })
                })
                .collect();
            let tried: Vec<_> = tried
                .iter()
                .map(|t| json!({ "change": t.name, "place": t.place, "development_gained": t.gained, "development_lost": t.lost }))
                .collect();
            out.json(&json!({ "reference": args.reference, "verdict": verdict, "stages": stages, "tried": tried }));
        }
        Format::Text => {
            for (name, place, of, note) in &stages {
                let place = place.map_or_else(
                    || format!("not among {of}"),
                    |(place, score)| format!("{place} of {of}, {score:.3}"),
                );
                out.line(format!("{name:9}  {place:22}  {note}"));
            }
            out.line(format!("\n{verdict}"));
            if !tried.is_empty() {
                out.line(format!(
                    "\n{:52}  place  development questions gained and lost",
                    "single changes"
                ));
                for one in &tried {
                    let place = one.place.map_or_else(|| "-".to_owned(), |place| place.to_string());
                    out.line(format!(
                        "  {:50}  {place:>5}  +{} -{}",
                        one.name, one.gained, one.lost
                    ));
                }
                match tried.iter().find(|one| one.place.is_some()) {
                    Some(first) => {
                        out.line(format!("\nthe smallest that brings it in: {}", first.name));
                    }
                    None => out.line("\nno single change of the menu brings it in"),
                }
            }
        }
    }
    Ok(Exit::Done)
}

type Place = (&'static str, Option<(usize, f64)>, usize, String);

fn verdict(arrived: bool, stages: &[Place]) -> String {
    let found = |name: &str| stages.iter().any(|(own, place, ..)| *own == name && place.is_some());
    if arrived {
        return "it arrived".to_owned();
    }
    if !found("lexical") && !found("dense") {
        return "retrieval:absent: neither leg found it".to_owned();
    }
    let lost = if found("min-score") { "window" } else { "min-score" };
    format!("retrieval:ranked_low: lost at {lost}")
}

/// The unit called `reference` that the asker may read. One that is closed to the asker is told like
/// one that does not exist, and suggestions name what is readable alone.
fn named(index: &Index, scope: &Scope, reference: &str) -> Result<Unit> {
    let mut readable = Vec::new();
    for row in scope.readable().iter() {
        readable.push(index.passages().reference(row)?);
    }
    let covered = |unit: &Unit| readable.iter().any(|own| covers(unit, own));
    if let Some(unit) = Unit::readings(reference).find(covered) {
        return Ok(unit);
    }
    let blocks: Vec<String> = readable.iter().map(|own| own.block.to_string()).collect();
    let near = atlas::error::nearest(reference, blocks.iter().map(String::as_str));
    let help = near.map_or_else(String::new, |near| format!("; did you mean `{near}`?"));
    let expected = format!("a document, block or passage that the asker may read{help}");
    Err(Error::invalid("REFERENCE", format!("`{reference}`"), expected))
}

fn context_place(index: &Index, unit: &Unit, outcome: &Outcome) -> Result<Option<usize>> {
    for (at, block) in outcome.context.iter().enumerate() {
        let reference = index.passages().reference(block.row)?;
        let whole = Unit::Block(reference.block.clone());
        if covers(unit, &reference) || *unit == whole {
            return Ok(Some(at + 1));
        }
    }
    Ok(None)
}

/// Tries every change of the menu alone, with what it does to all development questions.
fn trials(
    project: &Project,
    index: &Arc<Index>,
    args: &WhyArgs,
    unit: &Unit,
) -> Result<Vec<Tried>> {
    let path = project.question_set("development");
    let mut set = if path.is_file() { Some(QuestionSet::read(&path)?) } else { None };
    if let Some(set) = &mut set {
        super::labels::follow(index, set)?;
    }
    let base = set.as_ref().map(|set| measured(project, index, set, Mode::Hybrid)).transpose()?;
    let mut tried = Vec::new();
    for trial in &MENU {
        let mut changed = project.clone();
        (trial.change)(&mut changed);
        let folder =
            tempfile::tempdir().map_err(|e| Error::io("creating", std::env::temp_dir(), e))?;
        let own = if trial.rebuild {
            if index.manifest().passages > REBUILD_PASSAGES_MAX {
                continue;
            }
            changed.index = folder.path().join("index");
            let options =
                index::Options { policy: changed.policy.as_ref(), ..index::Options::default() };
            let (corpus, embedder) = (changed.read_corpus()?, changed.embedder()?);
            let settings = changed.index_settings();
            index::build(
                &corpus,
                &settings,
                embedder.as_ref(),
                &changed.store(),
                options,
                &mut Quiet,
            )?;
            Arc::new(changed.open_index()?)
        } else {
            Arc::clone(index)
        };
        let searcher = Searcher::new(Arc::clone(&own), changed.file.search.clone())?;
        let scope = changed.scope(&own, args.asker.as_deref())?;
        let outcome = searcher.retrieve(&Request::new(&args.question, scope).mode(trial.mode))?;
        let place = context_place(&own, unit, &outcome)?;
        let (mut gained, mut lost) = (0, 0);
        if let (Some(set), Some(base)) = (&set, &base) {
            let now = measured(&changed, &own, set, trial.mode)?;
            for (before, after) in base.questions.iter().zip(&now.questions) {
                let recall = (before.value("recall"), after.value("recall"));
                gained += usize::from(recall.1 > recall.0);
                lost += usize::from(recall.1 < recall.0);
            }
        }
        tried.push(Tried { name: trial.name, place, gained, lost });
    }
    Ok(tried)
}

fn measured(
    project: &Project,
    index: &Arc<Index>,
    set: &QuestionSet,
    mode: Mode,
) -> Result<Measurement> {
    let settings = &project.file.search;
    let searcher = Searcher::new(Arc::clone(index), settings.clone())?;
    let scope_of = |question: &Question| project.scope(index, question.asker.as_deref());
    measure(&searcher, index, settings, set, Options { mode, ..Options::default() }, &scope_of)
}
