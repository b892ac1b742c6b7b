//! `atlas measure --sweep`.

use atlas::access::Scope;
use atlas::error::{Error, Result};
use atlas::eval::ledger::{self, Entry};
use atlas::eval::questions::{Question, QuestionSet};
use atlas::eval::scale::scale;
use atlas::eval::sweep::{Knob, Recording, Step, Sweep, bits};
use atlas::project::Project;
use atlas::report::{Receipt, counted};
use atlas::search::{Mode, Searcher};
use clap::{Args, ValueEnum};
use serde_json::json;

use super::output::{Output, today};
use super::{Exit, Format};

/// Which setting to sweep.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum KnobArg {
    /// The minimum score, at every value that changes anything
    MinScore,
    /// The number of blocks in the window
    K,
    /// The weight of the dense leg in convex fusion
    Alpha,
    /// The constant of reciprocal rank fusion
    RrfK,
}

impl From<KnobArg> for Knob {
    fn from(arg: KnobArg) -> Self {
        match arg {
            KnobArg::MinScore => Self::MinScore,
            KnobArg::K => Self::K,
            KnobArg::Alpha => Self::Alpha,
            KnobArg::RrfK => Self::RrfK,
        }
    }
}

/// Arguments of a sweep.
#[derive(Debug, Args)]
pub struct SweepArgs {
    /// Show what every value of a setting would do, on the development questions; with `--choose`
    /// and `--held-out`, beside it what each minimum score does to the held-out ones
    #[arg(long, value_enum, value_name = "SETTING", num_args = 0..=1, default_missing_value = "min-score", conflicts_with_all = ["compare", "export_csv", "export_ragas", "export_run", "export_qrels"])]
    pub sweep: Option<KnobArg>,
    /// The minimum score chosen on the development questions; it goes into the ledger with `--why`
    #[arg(long, value_name = "X", requires = "sweep", requires = "why")]
    choose: Option<f64>,
    /// Why it was chosen
    #[arg(long, value_name = "TEXT", requires = "choose")]
    why: Option<String>,
}

/// What a sweep is run on.
pub struct Ground<'g> {
    /// The project.
    pub project: &'g Project,
    /// The searcher, with the settings in force.
    pub searcher: &'g Searcher,
    /// The development questions, or those of `--set`.
    pub set: &'g QuestionSet,
    /// The held-out ones, when they are to be shown.
    pub held_out: Option<&'g QuestionSet>,
    /// The legs.
    pub mode: Mode,
}

/// Sweeps, writes the choice and the look down, and prints.
pub fn run(
    args: &SweepArgs,
    knob: KnobArg,
    ground: &Ground<'_>,
    format: Format,
    out: &mut Output,
) -> Result<Exit> {
    let knob = Knob::from(knob);
    let (searcher, set, mode) = (ground.searcher, ground.set, ground.mode);
    if args.choose.is_some() || ground.held_out.is_some() {
        if knob != Knob::MinScore {
            let expected = "`--sweep min-score`: other settings are swept on development questions";
            return Err(Error::invalid("--sweep", knob.key(), expected));
        }
        if args.choose.is_none() {
            let expected = "`--choose X --why TEXT` with it: the choice is made on development \
                            questions and written down before held-out ones are looked at";
            return Err(Error::invalid("--held-out", "with --sweep", expected));
        }
    }
    if let Some(chosen) = args.choose.filter(|chosen| !(0.0..=1.0).contains(chosen)) {
        return Err(Error::invalid("--choose", chosen, "a number from 0 to 1"));
    }
    let index = searcher.index();
    let scope_of = |question: &Question| -> Result<Scope> {
        ground.project.scope(index, question.asker.as_deref())
    };
    let recording = Recording::new(searcher, set, mode, &scope_of)?;
    let sweep = recording.sweep(knob, recording.values(knob)?)?;
    let in_force = knob.of(searcher.settings());
    let value = args.choose.unwrap_or(in_force);
    if let Some(chosen) = args.choose {
        choose(args, ground, &sweep, chosen)?;
    }
    let shown = shown(&sweep, in_force, args.choose);
    let at = recording.sweep(knob, shown.clone())?;
    let beside = match ground.held_out {
        Some(set) => Some(held_out(ground, set, &shown, &scope_of)?),
        None => None,
    };
    match format {
        Format::Json => {
            let beside = beside.as_ref().map(|beside| {
                json!({ "set": beside.sweep.set, "scored": beside.sweep.ids.len(), "look": beside.look,
                    "bits_spent": beside.bits, "steps": beside.sweep.steps() })
            });
            out.json(&json!({
                "set": sweep.set,
                "setting": knob.key(),
                "scored": sweep.ids.len(),
                "values": sweep.values.len(),
                "in_force": in_force,
                "chosen": args.choose,
                "margin": margin(&sweep, value),
                "tied": sweep.tied(),
                "selection_floor": json!({
                    "recall": sweep.floor(value, |cell| cell.recall),
                    "precision": sweep.floor(value, |cell| cell.precision),
                }),
                "steps": sweep.steps(),
                "held_out": beside,
            }));
        }
        Format::Text => {
            let other_fusion = !knob.is_in_force(searcher.settings());
            text(&sweep, &at, (in_force, args.choose, other_fusion), beside.as_ref(), out);
        }
    }
    Ok(Exit::Done)
}

/// Only along a minimum score does recall fall for certain.
fn margin(sweep: &Sweep, value: f64) -> Option<atlas::eval::sweep::Margin> {
    (sweep.knob == Knob::MinScore).then(|| sweep.margin(value)).flatten()
}

/// Writes the choice into the ledger, once.
fn choose(args: &SweepArgs, ground: &Ground<'_>, sweep: &Sweep, chosen: f64) -> Result<()> {
    let path = ground.project.ledger();
    let now = scale(ground.searcher.settings(), ground.searcher.index().manifest());
    let margin = margin(sweep, chosen);
    let entry = Entry::Choice {
        date: today(),
        setting: sweep.knob.key().to_owned(),
        value: chosen,
        set: sweep.set.clone(),
        holds_to: margin.as_ref().map_or(1.0, |margin| margin.holds_to),
        margin: margin.as_ref().map_or(1.0 - chosen, |margin| margin.margin),
        why: args.why.clone().unwrap_or_default(),
        under: Some(now.clone()),
    };
    let why = args.why.as_deref().unwrap_or_default();
    let known = |written: &Entry| match written {
        Entry::Choice { setting, value, set, why: reason, under, .. } => {
            setting == sweep.knob.key()
                && *value == chosen
                && *set == sweep.set
                && reason == why
                && under.as_ref() == Some(&now)
        }
        _ => false,
    };
    if ledger::read(&path)?.iter().any(known) {
        return Ok(());
    }
    ledger::append(&path, &entry)
}

/// The held-out questions at the values shown, with what the look cost.
struct Beside {
    sweep: Sweep,
    look: usize,
    bits: f64,
}

/// Looks at the held-out questions; the look is in the ledger before anything of it is shown.
fn held_out(
    ground: &Ground<'_>,
    set: &QuestionSet,
    values: &[f64],
    scope_of: &dyn Fn(&Question) -> Result<Scope>,
) -> Result<Beside> {
    let (project, searcher) = (ground.project, ground.searcher);
    let recording = Recording::new(searcher, set, ground.mode, scope_of)?;
    let sweep = recording.sweep(Knob::MinScore, values.to_vec())?;
    let sets = vec![(set.name.clone(), set.hash.clone())];
    let manifest = searcher.index().manifest();
    // The values that are shown decide what is learned, so they are part of the look.
    let mut settings = searcher.settings().clone();
    settings.min_score = 0.0;
    let access = format!("{} {values:?}", project.access_id());
    let receipt = Receipt::new(manifest, sets, ground.mode, &settings, access);
    let path = project.ledger();
    let mut entries = ledger::read(&path)?;
    if !ledger::known(&entries, &receipt.id, "sweep") {
        let line = receipt.settings_line();
        let entry = Entry::Look {
            date: today(),
            set: set.name.clone(),
            receipt: receipt.id,
            shown: "sweep".to_owned(),
            bits: bits(sweep.ids.len(), values.len()),
            settings: Some(format!("{line}, {} minimum scores", values.len())),
            missed: None,
        };
        ledger::append(&path, &entry)?;
        entries.push(entry);
    }
    let spent = ledger::spent(&entries, &set.name);
    Ok(Beside { sweep, look: spent.looks, bits: spent.bits })
}

/// The values that a table shows: all of a short sweep; of a minimum score every twentieth, the value in
/// force, the one chosen, and the last before each of the first drops of recall.
fn shown(sweep: &Sweep, in_force: f64, chosen: Option<f64>) -> Vec<f64> {
    if sweep.knob != Knob::MinScore {
        return sweep.values.clone();
    }
    let recalls: Vec<f64> = sweep.steps().iter().map(|step| step.recall).collect();
    let drops = (1..recalls.len()).filter(|at| recalls[*at] < recalls[at - 1]);
    let mut values: Vec<f64> = drops.take(3).map(|at| sweep.values[at - 1]).collect();
    let last = sweep.values.iter().rev().nth(1).copied().unwrap_or(1.0);
    values.extend((0..20).map(|step| f64::from(step) / 20.0).filter(|value| *value <= last + 0.05));
    values.extend([in_force].into_iter().chain(chosen));
    values.sort_by(f64::total_cmp);
    values.dedup();
    values
}

fn text(
    sweep: &Sweep,
    at: &Sweep,
    (in_force, chosen, other_fusion): (f64, Option<f64>, bool),
    beside: Option<&Beside>,
    out: &mut Output,
) {
    let what = match sweep.knob {
        Knob::MinScore => "a minimum score",
        Knob::K => "a number of blocks",
        Knob::Alpha => "a weight of the dense leg",
        Knob::RrfK => "a constant of reciprocal rank fusion",
    };
    let scored = counted(sweep.ids.len(), "scored question");
    out.line(format!("{}: what {what} would do, over {scored}", sweep.set));
    if other_fusion {
        out.line("  another fusion is in force: this is what the setting would do if its own were");
    }
    let value = chosen.unwrap_or(in_force);
    let margin = margin(sweep, value);
    let head = if beside.is_some() { "  held-out: hit  recall  precision" } else { "" };
    out.line(format!("      value   hit  recall  precision  tokens  blocks  empty  tied{head}"));
    for (row, step) in at.steps().iter().enumerate() {
        let beside = beside.map_or_else(String::new, |beside| {
            let Step { hit, recall, precision, .. } = beside.sweep.step(row);
            format!("            {hit:.2}  {recall:6.2}  {precision:9.2}")
        });
        let mut marks = Vec::new();
        if margin.as_ref().is_some_and(|margin| margin.holds_to == step.value) {
            marks.push("recall holds up to here and falls just above");
        }
        if step.value == in_force {
            marks.push(if other_fusion { "as set" } else { "in force" });
        }
        if chosen == Some(step.value) {
            marks.push("chosen");
        }
        let mark = if marks.is_empty() { String::new() } else { format!("  {}", marks.join("; ")) };
        out.line(format!(
            "  {:9}  {:.2}  {:6.2}  {:9.2}  {:6.0}  {:6.2}  {:5}  {:4}{beside}{mark}",
            written(sweep.knob, step.value),
            step.hit,
            step.recall,
            step.precision,
            step.tokens,
            step.blocks,
            step.empty,
            step.tied
        ));
    }
    closing(sweep, value, margin.as_ref(), out);
    if let Some(beside) = beside {
        out.line(format!(
            "  ledger     look {} of {}; all looks told at most {:.1} bits about it",
            beside.look, beside.sweep.set, beside.bits
        ));
    }
}

/// What the table cannot show: every value, the margin, ties, and the luck of choosing.
fn closing(
    sweep: &Sweep,
    value: f64,
    margin: Option<&atlas::eval::sweep::Margin>,
    out: &mut Output,
) {
    if sweep.knob == Knob::MinScore {
        // 0 and 1 frame the table and are no scores.
        let n = sweep.values.len().saturating_sub(2);
        out.line(format!("  {} in all, each in `--format json`", counted(n, "breakpoint")));
        match margin {
            Some(margin) => out.line(format!(
                "  margin     {:.4} below the drop of recall; {} a block in between; the next change is {} away",
                margin.margin,
                match margin.questions_inside {
                    1 => "1 question loses".to_owned(),
                    n => format!("{n} questions lose"),
                },
                margin.next_change.map_or_else(|| "nowhere".to_owned(), |next| format!("{next:.4}")),
            )),
            None => out.line("  margin     no value lowers recall"),
        }
    }
    let tied = sweep.tied();
    if tied.is_empty() {
        out.line("  ties       no number depends on the order of equal scores, at any value");
    } else {
        out.line(format!("  ties       the order of equal scores decides for {}", tied.join(", ")));
    }
    let recall = sweep.floor(value, |cell| cell.recall);
    let precision = sweep.floor(value, |cell| cell.precision);
    for (name, floor) in [("recall", recall), ("precision", precision)] {
        match floor {
            Some(floor) => out.line(format!(
                "  luck       the best of {} settings has {name} {:+.3}; luck alone would give {:+.3} (p {:.3}, {} changed)",
                floor.settings,
                floor.gain,
                floor.luck,
                floor.p,
                counted(floor.questions, "question")
            )),
            None => out.line(format!("  luck       no value changes {name}")),
        }
    }
}

fn written(knob: Knob, value: f64) -> String {
    match knob {
        Knob::MinScore => format!("{value:9.4}"),
        Knob::Alpha => format!("{value:9.2}"),
        Knob::K | Knob::RrfK => format!("{value:9.0}"),
    }
}
