//! `atlas build`.

use std::io::IsTerminal as _;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use atlas::error::{Error, Result};
use atlas::eval::{ledger, scale};
use atlas::format::Manifest;
use atlas::index::{self, BuildReport, How, Index, Progress};
use atlas::project::{Project, Staleness};
use atlas::report::counted;
use clap::Args;
use indicatif::{ProgressBar, ProgressStyle};
use serde_json::json;

use super::output::{Output, bytes, duration, note};
use super::wait::Wait;
use super::watch::{self, WatchArgs};
use super::{Exit, Format, Global, project};

/// Arguments of `build`.
#[derive(Debug, Args)]
pub struct BuildArgs {
    /// Folder of documents [default: `corpus` of atlas.toml]
    corpus: Option<PathBuf>,
    /// Build even when nothing changed
    #[arg(long)]
    full: bool,
    /// Fail on the first file that would be skipped
    #[arg(long)]
    strict: bool,
    /// Build even when it drops more of the documents than build.max_shrink [default: half] allows
    #[arg(long)]
    allow_shrink: bool,
    #[command(flatten)]
    wait: Wait,
    #[command(flatten)]
    pub watch: WatchArgs,
}

/// Builds, or says that nothing changed; with `--watch`, goes on building.
pub fn run(args: &BuildArgs, global: &Global, out: &mut Output) -> Result<Exit> {
    let project = args.project(global)?;
    if let Some(corpus) = args.corpus.as_ref().filter(|_| global.index.is_none()) {
        let own = super::project(global)?.corpus;
        if *corpus != own {
            note(&format!(
                "this index is of {}, and the project's corpus is {}: the next command will build it \
                 again; keep both with `--index DIR`",
                corpus.display(),
                own.display()
            ));
        }
    }
    if args.watch.watch {
        return watch::run(args, global, out);
    }
    args.wait.run(&project.store(), || once(args, &project, global, out))
}

impl BuildArgs {
    /// The project with what these arguments change of it.
    pub fn project(&self, global: &Global) -> Result<Project> {
        let mut project = project(global)?;
        if let Some(corpus) = &self.corpus {
            project.corpus = corpus.clone();
        }
        project.file.reading.strict |= self.strict;
        if self.allow_shrink {
            project.file.build.max_shrink = 1.0;
        }
        Ok(project)
    }
}

fn once(args: &BuildArgs, project: &Project, global: &Global, out: &mut Output) -> Result<Exit> {
    if let (false, Some(manifest)) = (args.full || args.strict, current(project)?) {
        warn_of_scale(project, &manifest);
        match global.format {
            Format::Text => out.line(format!(
                "nothing changed: generation {} holds {} documents, {} passages",
                manifest.generation, manifest.documents, manifest.passages
            )),
            Format::Json => {
                let unchanged = index::Changes {
                    unchanged: manifest.sources.len(),
                    ..index::Changes::default()
                };
                out.json(&report_json(&manifest, &unchanged, &Steps::default()));
            }
        }
        return Ok(Exit::Done);
    }
    let (report, steps) = build(project, args.full)?;
    warn_of_roles(project);
    let m = &report.manifest;
    warn_of_scale(project, m);
    match global.format {
        Format::Json => {
            out.json(&report_json(m, &report.changed, &steps));
        }
        Format::Text => text(&report, &steps, out),
    }
    Ok(Exit::Done)
}

/// The manifest of the current generation when it is of these settings and files. One that was gone
/// back to is never as a build would leave it.
pub fn current(project: &Project) -> Result<Option<Manifest>> {
    let Ok(index) = project.open_index() else { return Ok(None) };
    let m = index.manifest();
    if m.rolled_back_to.is_some() || !project.file.graph.is_of(m) {
        return Ok(None);
    }
    let stale = project.stale(&index.manifest().sources)?;
    Ok(stale.is_empty().then(|| index.manifest().clone()))
}

fn report_json(m: &Manifest, changed: &index::Changes, steps: &Steps) -> serde_json::Value {
    let files = |files: &[(String, String)]| -> Vec<_> {
        files.iter().map(|(path, reason)| json!({ "path": path, "reason": reason })).collect()
    };
    let steps: Vec<_> =
        steps.done.iter().map(|(name, ms)| json!({ "name": name, "elapsed_ms": ms })).collect();
    json!({
        "documents": m.documents,
        "blocks": m.blocks,
        "passages": m.passages,
        "generation": m.generation,
        "digest": m.digest,
        "fingerprint": m.fingerprint,
        "changed": changed,
        "skipped": files(&m.skipped),
        "noted": files(&m.noted),
        "steps": steps,
        "size_bytes": m.size_bytes(),
        "peak_rss_bytes": peak_rss_bytes(),
    })
}

fn text(report: &BuildReport, steps: &Steps, out: &mut Output) {
    let (m, changed) = (&report.manifest, &report.changed);
    out.line(format!(
        "generation {}: {}, {}, {}, {} on disk",
        m.generation,
        counted(m.documents, "document"),
        counted(m.blocks, "block"),
        counted(m.passages, "passage"),
        bytes(m.size_bytes())
    ));
    match &report.how {
        How::Whole(why) => out.line(format!("written     all, since {why}")),
        How::Changes { written, dropped, redone } => {
            let also = redone.iter().map(|what| format!(", {what} redone")).collect::<String>();
            let written = counted(*written, "passage");
            out.line(format!("written     {written}, {dropped} dropped{also}"));
        }
    }
    out.line(format!(
        "files       {} added, {} updated, {} removed, {} unchanged",
        changed.added, changed.updated, changed.removed, changed.unchanged
    ));
    let times: Vec<String> =
        steps.done.iter().map(|(name, ms)| format!("{name} {}", duration(*ms))).collect();
    let total: f64 = steps.done.iter().map(|(_, ms)| ms).sum();
    out.line(format!("time        {} ({})", duration(total), times.join(", ")));
    if let Some(graph) = &m.graph {
        out.line(format!(
            "graph       by {}, recall@10 {:.3} against the exact scan",
            graph.builder, graph.recall_at_10
        ));
    }
    if let Some(peak) = peak_rss_bytes() {
        out.line(format!("memory      {} at the peak", bytes(peak)));
    }
    out.line(format!("digest      {}", m.digest));
    if report.reused > 0 {
        let written = match &report.how {
            How::Whole(_) => m.passages,
            How::Changes { written, .. } => *written,
        };
        let made = written.saturating_sub(report.reused);
        out.line(format!("embeddings  {} taken over, {made} made", report.reused));
    }
    for path in &report.kept {
        out.line(format!(
            "kept        {path}: it could not be read; its documents are as they were"
        ));
    }
    for why in &report.closed {
        out.line(format!("closed      {why}"));
    }
    for skipped in &report.skipped {
        out.line(format!("skipped     {}: {}", skipped.path, skipped.reason));
    }
    for (path, reason) in &m.noted {
        out.line(format!("noted       {path}: {reason}"));
    }
}

/// The project's index: opened as it is when it fits, built first when it is missing, stale or of
/// other settings, which is said on standard error.
pub fn ensure(project: &Project) -> Result<Index> {
    let index = served(project)?;
    warn_of_scale(project, index.manifest());
    Ok(index)
}

/// Says so when the minimum score in force was chosen while scores had another scale. A ledger that cannot
/// be read is told by the commands that need it.
fn warn_of_scale(project: &Project, manifest: &Manifest) {
    let settings = &project.file.search;
    let entries = ledger::read(&project.ledger()).unwrap_or_default();
    if let Some(moved) = scale::moved(&entries, settings, &scale::scale(settings, manifest)) {
        note(&moved.line(settings.min_score));
    }
}

fn served(project: &Project) -> Result<Index> {
    let why = match project.open_index() {
        Ok(index) => {
            let stale = project.stale(&index.manifest().sources)?;
            if stale.is_empty() {
                return Ok(index);
            }
            // Names of files are not for whoever asks under a policy.
            let why = if project.policy.is_some() {
                let verb = if stale.len() == 1 { "differs" } else { "differ" };
                format!("{} {verb} from it", counted(stale.len(), "file"))
            } else {
                describe(&stale)
            };
            if let Some(of) = index.manifest().rolled_back_to {
                note(&format!(
                    "{why}; answering from generation {of}, which was gone back to, until `atlas build`"
                ));
                return Ok(index);
            }
            why
        }
        Err(Error::Unusable { problem, .. }) => problem,
        Err(fault) => return Err(fault),
    };
    note(&format!("building the index: {why}"));
    let (report, steps) = match build(project, false) {
        Ok(built) => built,
        // Another process is at it, or it is not done without a word: what is there still answers.
        Err(Error::Busy { holder, .. }) => {
            note(&format!("process {holder} is building it; answering from the index as it is"));
            return project.open_index();
        }
        Err(Error::Refused { problem, help, .. }) => {
            let named = project.policy.is_none();
            let problem = if named { &problem } else { "it would drop too many documents" };
            note(&format!("{problem}; {help}; answering from the index as it is"));
            return project.open_index();
        }
        Err(fault) => return Err(fault),
    };
    let total: f64 = steps.done.iter().map(|(_, ms)| ms).sum();
    let m = &report.manifest;
    note(&format!(
        "built {} of {} in {}",
        counted(m.passages, "passage"),
        counted(m.documents, "document"),
        duration(total)
    ));
    warn_of_roles(project);
    if project.policy.is_some() {
        let hidden = report.closed.len() + report.skipped.len() + m.noted.len();
        if hidden > 0 {
            note(&format!("{} to look at: run `atlas build --full`", counted(hidden, "message")));
        }
        return project.open_index();
    }
    for skipped in report.skipped.iter().take(SKIPPED_SHOWN) {
        note(&format!("skipped {}: {}", skipped.path, skipped.reason));
    }
    if let more @ 1.. = report.skipped.len().saturating_sub(SKIPPED_SHOWN) {
        note(&format!("skipped {more} more; `atlas status` lists them"));
    }
    for (path, reason) in m.noted.iter().take(SKIPPED_SHOWN) {
        note(&format!("{path}: {reason}"));
    }
    if let more @ 1.. = m.noted.len().saturating_sub(SKIPPED_SHOWN) {
        note(&format!("a word about {more} more; `atlas status` lists them"));
    }
    project.open_index()
}

/// Skipped files that are named when an index is built on the way.
const SKIPPED_SHOWN: usize = 5;

/// Says which roles of the policy nobody has.
fn warn_of_roles(project: &Project) {
    for role in project.idle_roles() {
        note(&format!(
            "role `{role}` of the policy is held by nobody in users.yaml; is it misspelt?"
        ));
    }
}

/// `3 files changed, a.md among them`.
pub fn describe(stale: &[Staleness]) -> String {
    match stale {
        [one] => format!("{} was {}", one.path, one.why),
        [first, ..] => format!("{} files differ from it, {} among them", stale.len(), first.path),
        [] => "nothing changed".to_owned(),
    }
}

/// Brings the index of `project` up to date, or with `full` writes all of it, with progress on a
/// terminal.
pub fn build(project: &Project, full: bool) -> Result<(BuildReport, Steps)> {
    let mut steps = Steps::start();
    let report = if full { project.build(&mut steps)? } else { project.update(&mut steps)? };
    steps.stop();
    Ok((report, steps))
}

/// The time of every step, and a bar while there is a terminal to see it.
#[derive(Debug, Default)]
pub struct Steps {
    /// Milliseconds by step, in the order the steps first came.
    pub done: Vec<(&'static str, f64)>,
    current: Option<(&'static str, Instant)>,
    bar: Option<ProgressBar>,
    /// When and at which document the first word about progress came, and when the last one was passed
    /// on; where there is no terminal.
    told: Option<(Instant, usize, Instant)>,
}

/// Where there is no terminal, a long build says so often how far it is.
const TELL_EVERY: Duration = Duration::from_secs(30);

impl Steps {
    fn start() -> Self {
        Self::default()
    }

    fn stop(&mut self) {
        if let Some((name, since)) = self.current.take() {
            let ms = since.elapsed().as_secs_f64() * 1000.0;
            match self.done.iter_mut().find(|(own, _)| *own == name) {
                Some((_, total)) => *total += ms,
                None => self.done.push((name, ms)),
            }
        }
        if let Some(bar) = self.bar.take() {
            bar.finish_and_clear();
        }
    }
}

impl Progress for Steps {
    fn step(&mut self, name: &'static str) {
        let bar = self.bar.take();
        self.stop();
        self.bar = bar;
        self.current = Some((name, Instant::now()));
    }

    fn documents(&mut self, done: usize, total: usize) {
        if !std::io::stderr().is_terminal() {
            let now = Instant::now();
            let (since, first, last) = *self.told.get_or_insert((now, done, now));
            if now - last >= TELL_EVERY && first < done && done < total {
                let left = (now - since).mul_f64((total - done) as f64 / (done - first) as f64);
                note(&format!("{done} of {total} documents, about {} left", rounded(left)));
                self.told = Some((since, first, now));
            }
            return;
        }
        let bar = self.bar.get_or_insert_with(|| {
            let bar = ProgressBar::new(total as u64);
            let style =
                ProgressStyle::with_template("{bar:30} {pos} of {len} documents, {eta} left");
            bar.with_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()))
        });
        bar.set_position(done as u64);
    }
}

/// A time in seconds, or from two minutes on in minutes.
fn rounded(time: Duration) -> String {
    match time.as_secs_f64().round() as u64 {
        seconds @ ..120 => format!("{seconds} s"),
        seconds => format!("{} min", (seconds + 30) / 60),
    }
}

/// The most memory that this process held, in bytes; `None` where the system does not tell.
fn peak_rss_bytes() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    let kilobytes: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kilobytes * 1024)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_left_is_told_in_seconds_and_then_in_minutes() {
        let told = |seconds| rounded(Duration::from_secs_f64(seconds));
        assert_eq!(told(0.2), "0 s");
        assert_eq!(told(119.4), "119 s");
        assert_eq!(told(119.6), "2 min");
        assert_eq!(told(3629.0), "60 min");
        assert_eq!(told(3631.0), "61 min");
    }
}
