//! The commands, one file each; this file parses arguments and turns results into exit codes.

mod adoption;
mod answered;
mod ask;
mod batch;
mod build;
mod build_time;
mod check;
mod endpoint;
mod drift;
mod filters;
mod exports;
mod gc;
mod history;
mod init;
mod labels;
mod latency;
mod judge;
mod judge_calibration;
mod leakage;
mod load;
mod measure;
mod mutate;
mod output;
mod page;
mod promote;
mod read_pdf;
mod rebuild;
mod review;
mod rollback;
mod scorecard;
mod search;
mod status;
mod sweep;
mod trec;
mod usage;
mod verify;
mod wait;
mod watch;
mod why;

use std::path::PathBuf;
use std::process::ExitCode;

use atlas::error::Result;
use atlas::project::Project;
use clap::{Args, Parser, Subcommand, ValueEnum};

use output::Output;

/// Exit codes; see `atlas help`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Exit {
    /// Done, and all that was demanded held.
    Done = 0,
    /// A check found something wrong.
    Failed = 1,
    /// A gate failed.
    GateFailed = 2,
    /// It could not be evaluated, or the sample is too small to tell.
    CannotTell = 3,
    /// Bad input or usage, or an I/O failure.
    Bad = 4,
}

/// Search a folder of documents, and measure how well it is searched.
#[derive(Debug, Parser)]
#[command(
    name = "atlas",
    version,
    after_help = "Exit codes: 0 done; 1 a check failed; 2 a gate failed; 3 not measured, or too few to tell; \
                  4 bad input or usage, or an I/O failure.\n\
                  A missing or stale index is built on the way by the commands that need it."
)]
struct Cli {
    #[command(flatten)]
    global: Global,
    #[command(subcommand)]
    command: Command,
}

/// Options of every command.
#[derive(Debug, Clone, Args)]
pub struct Global {
    /// Folder of the project [default: the nearest `atlas.toml` upwards]
    #[arg(long, value_name = "DIR", global = true)]
    pub project: Option<PathBuf>,
    /// Folder of the index [default: `index` of atlas.toml, or DIR/.atlas without one]
    #[arg(long, value_name = "DIR", global = true)]
    pub index: Option<PathBuf>,
    /// One setting of atlas.toml for this run, such as text.language=de; may be repeated
    #[arg(long, value_name = "KEY=VALUE", global = true)]
    pub setting: Vec<String>,
    /// Output for people or for machines
    #[arg(long, value_enum, default_value_t = Format::Text, global = true)]
    pub format: Format,
}

/// Output formats.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// For people.
    Text,
    /// One JSON object.
    Json,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Make a project of a folder of documents
    Init(init::InitArgs),
    /// Build the index of a corpus
    Build(build::BuildArgs),
    /// Show what is indexed, all generations and their sizes, and which files changed since
    Status,
    /// Read every byte of the index and check it
    Verify(verify::VerifyArgs),
    /// Remove old generations, and what killed builds left
    Gc(gc::GcArgs),
    /// Go back to an older generation, under the policy of today
    Rollback(rollback::RollbackArgs),
    /// Search the corpus
    Search(search::SearchArgs),
    /// Answer a question with quotes and their sources, or decline
    Ask(ask::AskArgs),
    /// Check answers against what is expected of them, and explain every failure
    Check(check::CheckArgs),
    /// Hold judges against answers that people have labelled
    JudgeCalibration(judge_calibration::JudgeCalibrationArgs),
    /// Measure retrieval on a question set
    Measure(measure::MeasureArgs),
    /// Score a run file against judgments as trec_eval does
    Trec(trec::TrecArgs),
    /// Say where a passage was lost, and what would have brought it in
    Why(why::WhyArgs),
    /// Move a held-out question that was used for a change to development, or take one from the usage log
    Promote(promote::PromoteArgs),
    /// Print what was chosen, looked at and moved, as the ledger has it
    History(history::HistoryArgs),
    /// List the questions that a change of the corpus touched, each with the reason
    Review(review::ReviewArgs),
    /// List the blocks that searches bring and nobody has judged, and take grades
    Judge(judge::JudgeArgs),
    /// Break the engine on purpose and see which questions notice
    Mutate(mutate::MutateArgs),
    /// Say whether what people ask, and what they get, has changed
    Drift(drift::DriftArgs),
    /// Run the leakage gate: nothing that an asker may not read is retrieved, at any stage
    Leakage(leakage::LeakageArgs),
    /// Time searches, stage by stage, and compare with targets or an earlier run
    Latency(latency::LatencyArgs),
    /// Show who asks, week by week, from the usage log
    Adoption(adoption::AdoptionArgs),
    /// Judge the targets and the gate on one page
    Scorecard(scorecard::ScorecardArgs),
    /// Read one PDF for a program that started this one
    #[command(name = read_pdf::NAME, hide = true)]
    ReadPdf(read_pdf::ReadPdfArgs),
}

/// Parses the arguments, runs the command, and gives its exit code.
pub fn run() -> ExitCode {
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(fault) => {
            let _ = fault.print();
            return ExitCode::from(if fault.use_stderr() { Exit::Bad as u8 } else { 0 });
        }
    };
    let mut out = Output::new();
    let done = match &cli.command {
        Command::Init(args) => init::run(args, &cli.global, &mut out),
        Command::Build(args) => build::run(args, &cli.global, &mut out),
        Command::Status => status::run(&cli.global, &mut out),
        Command::Verify(args) => verify::run(args, &cli.global, &mut out),
        Command::Gc(args) => gc::run(args, &cli.global, &mut out),
        Command::Rollback(args) => rollback::run(args, &cli.global, &mut out),
        Command::Search(args) => search::run(args, &cli.global, &mut out),
        Command::Ask(args) => ask::run(args, &cli.global, &mut out),
        Command::Check(args) => check::run(args, &cli.global, &mut out),
        Command::JudgeCalibration(args) => judge_calibration::run(args, &cli.global, &mut out),
        Command::Measure(args) => measure::run(args, &cli.global, &mut out),
        Command::Trec(args) => trec::run(args, &cli.global, &mut out),
        Command::Why(args) => why::run(args, &cli.global, &mut out),
        Command::History(args) => history::run(args, &cli.global, &mut out),
        Command::Promote(args) => promote::run(args, &cli.global, &mut out),
        Command::Review(args) => review::run(args, &cli.global, &mut out),
        Command::Judge(args) => judge::run(args, &cli.global, &mut out),
        Command::Mutate(args) => mutate::run(args, &cli.global, &mut out),
        Command::Drift(args) => drift::run(args, &cli.global, &mut out),
        Command::Leakage(args) => leakage::run(args, &cli.global, &mut out),
        Command::Latency(args) => latency::run(args, &cli.global, &mut out),
        Command::Adoption(args) => adoption::run(args, &cli.global, &mut out),
        Command::Scorecard(args) => scorecard::run(args, &cli.global, &mut out),
        Command::ReadPdf(args) => read_pdf::run(args),
    };
    let exit = match (done, out.flush()) {
        (Err(fault), _) => {
            output::note(&format!("error: {fault}"));
            Exit::Bad
        }
        // Whoever reads has seen enough.
        (Ok(exit), Err(fault)) if fault.kind() == std::io::ErrorKind::BrokenPipe => exit,
        (Ok(_), Err(fault)) => {
            output::note(&format!("error: writing to standard output: {fault}"));
            Exit::Bad
        }
        (Ok(exit), Ok(())) => exit,
    };
    ExitCode::from(exit as u8)
}

/// The project that the global options name.
pub fn project(global: &Global) -> Result<Project> {
    let start = std::env::current_dir()
        .map_err(|e| atlas::error::Error::io("finding", PathBuf::from("."), e))?;
    let found =
        Project::find(global.project.as_deref(), &start, global.index.as_deref(), &global.setting);
    let mut project = found?;
    project.file.reading.pdf_helper = read_pdf::helper();
    if project.file.model.runtime.is_none() {
        let named = std::env::var_os("ORT_DYLIB_PATH").filter(|path| !path.is_empty());
        project.file.model.runtime = named.map(|path| start.join(path));
    }
    Ok(project)
}
