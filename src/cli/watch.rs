//! `atlas build --watch`: builds again whenever a file changes.
//!
//! What the system tells of changes is a hint and no more: every build looks at all files itself, so an
//! event that was lost, or one too many, changes nothing but the moment. Nobody holds the right to build
//! between two builds.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::{Duration, Instant};

use atlas::corpus::{self, Surveyed};
use atlas::error::{Error, Result};
use atlas::index::BuildReport;
use atlas::project::{PROJECT_FILE, Project, ProjectFile};
use atlas::report::counted;
use clap::Args;
use notify::{Event, EventKind, RecommendedWatcher, RecursiveMode, Watcher as _};
use serde_json::json;

use super::build::{BuildArgs, build, current};
use super::output::{Output, duration, note};
use super::{Exit, Format, Global};

/// A build begins when nothing has changed for so long: longer than the gaps within a save, and short
/// beside what a person notices.
const QUIET: Duration = Duration::from_millis(100);

/// The same once more has happened than a save makes: a checkout or a copy has longer gaps, and nobody
/// waits for one of its files.
const QUIET_IN_BURST: Duration = Duration::from_millis(400);

/// Events that one save makes, at most: a temporary file, its data, its attributes, two renames.
const OF_ONE_SAVE: usize = 16;

/// It begins after so long even if files go on changing.
const AT_MOST: Duration = Duration::from_secs(3);

/// All files are looked at so often, whatever the system tells: a watch misses what happens in a folder
/// between its making and its being watched, and everything on some network disks.
const LOOK_ANYWAY: Duration = Duration::from_secs(60);

/// Pause before another try while another process builds.
const TRY_AGAIN: Duration = Duration::from_millis(200);

/// Seconds between two looks where the system tells nothing.
const POLL_SECONDS: f64 = 2.0;

/// Arguments of `build --watch`.
#[derive(Debug, Clone, Args)]
pub struct WatchArgs {
    /// Go on, and build again whenever a file changes, until interrupted
    #[arg(long, conflicts_with_all = ["full", "wait"])]
    pub watch: bool,
    /// With --watch: look at all files so often instead of being told by the system [default: 2]
    #[arg(long, value_name = "SECONDS", requires = "watch", num_args = 0..=1, require_equals = true, default_missing_value = "2")]
    poll: Option<f64>,
}

/// Why the session wakes.
enum Wake {
    /// Something changed.
    Changed,
    /// The system says that it lost count of changes, or that it cannot watch any more.
    Lost(String),
    /// A signal asks to end.
    Stop,
}

/// Watches until a signal comes.
pub fn run(args: &BuildArgs, global: &Global, out: &mut Output) -> Result<Exit> {
    let project = args.project(global)?;
    let poll = args.watch.poll.unwrap_or(POLL_SECONDS);
    if !(0.01..=86_400.0).contains(&poll) {
        return Err(Error::invalid("--poll", poll, "seconds from 0.01 to 86400"));
    }
    let (wake, woken) = channel();
    stop_on_signal(wake.clone())?;
    // Watched before the first build, so that nothing falls between the two.
    let watcher = match args.watch.poll {
        Some(_) => None,
        None => match watch(&project, wake) {
            Ok(watcher) => Some(watcher),
            Err(why) => {
                note(&format!("the system does not tell of changes here: {why}"));
                None
            }
        },
    };
    let every = watcher.as_ref().map_or_else(|| Duration::from_secs_f64(poll), |_| LOOK_ANYWAY);
    let mut session =
        Session { args, global, out, skipped: None, told: None, failed: None, busy: false };
    session.look(Instant::now());
    let how = match &watcher {
        Some(_) => "watching".to_owned(),
        None => format!("looking every {poll} s at"),
    };
    note(&format!("{how} {}; interrupt to end", project.corpus.display()));
    session.follow(&woken, every, watcher.is_some());
    let last = project.store().current_number();
    note(&last.map_or_else(
        || "ended without an index".to_owned(),
        |number| format!("ended; generation {number} is served"),
    ));
    Ok(Exit::Done)
}

/// The first signal ends the session after the build at hand; the second ends the process as it is,
/// which leaves the generation before served.
fn stop_on_signal(wake: Sender<Wake>) -> Result<()> {
    let asked = AtomicBool::new(false);
    let handler = move || {
        if asked.swap(true, Ordering::Relaxed) {
            std::process::exit(130);
        }
        let _ = wake.send(Wake::Stop);
    };
    ctrlc::set_handler(handler).map_err(|fault| {
        Error::io("listening for signals in", PathBuf::from("."), std::io::Error::other(fault))
    })
}

/// Has the system tell of changes under the corpus, and of the settings.
fn watch(project: &Project, wake: Sender<Wake>) -> std::result::Result<RecommendedWatcher, String> {
    let told = |fault: std::io::Error| fault.to_string();
    fs::create_dir_all(&project.index).map_err(told)?;
    let corpus = project.corpus.canonicalize().map_err(told)?;
    let index = project.index.canonicalize().map_err(told)?;
    let folder = project.folder.canonicalize().map_err(told)?;
    let policy = folder.join(&project.file.access);
    let settings = [folder.join(PROJECT_FILE), policy.clone()];
    let below = corpus.clone();
    let handler = move |event: notify::Result<Event>| {
        let _ = match event {
            Err(fault) => wake.send(Wake::Lost(fault.to_string())),
            Ok(event) if event.need_rescan() => {
                wake.send(Wake::Lost("more happened than it could tell".to_owned()))
            }
            Ok(event) if matches!(event.kind, EventKind::Access(_)) => return,
            Ok(event) => {
                let tells = |path: &PathBuf| {
                    settings.contains(path) || (!path.starts_with(&index) && seen(path, &below))
                };
                // An event without a path may be about anything.
                if event.paths.is_empty() || event.paths.iter().any(tells) {
                    wake.send(Wake::Changed)
                } else {
                    return;
                }
            }
        };
    };
    let told = |fault: notify::Error| fault.to_string();
    let mut watcher = notify::recommended_watcher(handler).map_err(told)?;
    watcher.watch(&corpus, RecursiveMode::Recursive).map_err(told)?;
    for beside in [folder.as_path(), policy.parent().unwrap_or(&folder)] {
        if !beside.starts_with(&corpus) && beside.is_dir() {
            watcher.watch(beside, RecursiveMode::NonRecursive).map_err(told)?;
        }
    }
    Ok(watcher)
}

/// Whether `path` is below `corpus` and neither hidden nor in a hidden folder. A file of rules that say
/// what is ignored counts.
fn seen(path: &Path, corpus: &Path) -> bool {
    let Ok(below) = path.strip_prefix(corpus) else { return false };
    let hidden = |part: &OsStr| part.as_encoded_bytes().starts_with(b".");
    let rules = below.file_name() == Some(OsStr::new(".gitignore"));
    rules || !below.iter().any(hidden)
}

/// What decided a build: another try with all of it the same would do the same.
type Tried = (Vec<Surveyed>, ProjectFile, Option<String>);

struct Session<'s> {
    args: &'s BuildArgs,
    global: &'s Global,
    out: &'s mut Output,
    /// Reasons that were told already; `None` before the first build.
    skipped: Option<BTreeSet<(String, String)>>,
    /// The error that was told last and still stands.
    told: Option<String>,
    /// What was tried last and failed.
    failed: Option<Tried>,
    /// Whether another process builds.
    busy: bool,
}

impl Session<'_> {
    /// Builds whenever it is woken, and looks `every` so often all the same, until it is told to stop.
    fn follow(&mut self, woken: &Receiver<Wake>, every: Duration, told: bool) {
        loop {
            let pause = if self.busy { TRY_AGAIN } else { every };
            let since = match woken.recv_timeout(pause) {
                // The handler of signals lives as long as the process, so that somebody can always send.
                Ok(Wake::Stop) | Err(RecvTimeoutError::Disconnected) => return,
                Ok(Wake::Changed) => Instant::now(),
                Ok(Wake::Lost(why)) => {
                    note(&format!("changes may have been missed ({why}): looking at all files"));
                    Instant::now()
                }
                Err(RecvTimeoutError::Timeout) => {
                    let since = Instant::now();
                    if !told && self.settle(woken) {
                        return;
                    }
                    self.look(since);
                    continue;
                }
            };
            if quiet(woken, since) {
                return;
            }
            self.look(since);
        }
    }

    /// Waits until two looks at all files see the same; gives whether to stop.
    fn settle(&self, woken: &Receiver<Wake>) -> bool {
        let Ok(project) = self.args.project(self.global) else { return false };
        let look = || corpus::survey(&project.corpus, &project.file.reading).ok();
        let (since, mut before) = (Instant::now(), look());
        if matches!(current(&project), Ok(Some(_))) {
            return false;
        }
        while since.elapsed() < AT_MOST {
            if matches!(woken.recv_timeout(QUIET), Ok(Wake::Stop)) {
                return true;
            }
            let now = look();
            if now == before {
                break;
            }
            before = now;
        }
        false
    }

    /// Builds when anything differs from the current generation. What goes wrong is told, and the
    /// session goes on with what there is.
    fn look(&mut self, since: Instant) {
        match self.try_build(since).map_err(|fault| fault.to_string()) {
            Ok(true) => self.told = None,
            // What was told stands.
            Ok(false) => {}
            Err(fault) if self.told.as_ref() == Some(&fault) => {}
            Err(fault) => {
                note(&format!("error: {fault}"));
                self.told = Some(fault);
            }
        }
        let _ = self.out.flush();
    }

    /// Gives whether the index is as the files are, or at least on its way there.
    fn try_build(&mut self, since: Instant) -> Result<bool> {
        let project = self.args.project(self.global)?;
        if let Some(manifest) = current(&project)? {
            self.busy = false;
            self.failed = None;
            self.skipped.get_or_insert_with(|| {
                manifest.skipped.into_iter().chain(manifest.noted).collect()
            });
            return Ok(true);
        }
        let survey = corpus::survey(&project.corpus, &project.file.reading)?;
        let policy = project.policy.as_ref().map(|policy| policy.hash().to_owned());
        let tried = (survey, project.file.clone(), policy);
        if self.failed.as_ref() == Some(&tried) {
            return Ok(false);
        }
        match build(&project, false) {
            Err(Error::Busy { holder, .. }) => {
                if !std::mem::replace(&mut self.busy, true) {
                    note(&format!("process {holder} is building it; waiting"));
                }
                Ok(true)
            }
            Err(fault) => {
                self.busy = false;
                self.failed = Some(tried);
                Err(fault)
            }
            Ok((report, _)) => {
                self.busy = false;
                self.failed = None;
                self.show(&report, since.elapsed().as_secs_f64() * 1000.0);
                Ok(true)
            }
        }
    }

    /// One line a generation; a file that is passed over is named once.
    fn show(&mut self, report: &BuildReport, ms: f64) {
        let (m, changed) = (&report.manifest, &report.changed);
        let now: BTreeSet<(String, String)> = m.skipped.iter().chain(&m.noted).cloned().collect();
        let known = self.skipped.replace(now.clone()).unwrap_or_default();
        let fresh: Vec<&(String, String)> = now.difference(&known).collect();
        if self.global.format == Format::Json {
            let of = |files: &[(String, String)]| -> Vec<_> {
                let own = fresh.iter().filter(|one| files.contains(one));
                own.map(|(path, why)| json!({ "path": path, "reason": why })).collect()
            };
            let line = json!({
                "generation": m.generation,
                "documents": m.documents,
                "passages": m.passages,
                "changed": changed,
                "skipped": of(&m.skipped),
                "noted": of(&m.noted),
                "elapsed_ms": ms,
            });
            return self.out.line(line.to_string());
        }
        self.out.line(format!(
            "generation {}: {} added, {} updated, {} removed; {} and {}, {} after the change",
            m.generation,
            changed.added,
            changed.updated,
            changed.removed,
            counted(m.documents, "document"),
            counted(m.passages, "passage"),
            duration(ms)
        ));
        for one @ (path, why) in fresh {
            let label = if m.skipped.contains(one) { "skipped" } else { "noted  " };
            self.out.line(format!("{label}     {path}: {why}"));
        }
    }
}

/// Waits until nothing more comes for a while, [`AT_MOST`] from `since` on; gives whether to stop.
fn quiet(woken: &Receiver<Wake>, since: Instant) -> bool {
    let mut came = 1;
    loop {
        let pause = if came > OF_ONE_SAVE { QUIET_IN_BURST } else { QUIET };
        match woken.recv_timeout(pause) {
            Ok(Wake::Stop) | Err(RecvTimeoutError::Disconnected) => return true,
            Err(RecvTimeoutError::Timeout) => return false,
            Ok(_) if since.elapsed() >= AT_MOST => return false,
            Ok(_) => came += 1,
        }
    }
}
