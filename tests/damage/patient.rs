//! An index to be damaged, copied once for every core, and what is found of each damage.

use std::collections::BTreeMap;
use std::fs;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use atlas::project::Project;
use tempfile::TempDir;

use super::subject::{Answers, Subject, scratch};

/// No case takes longer, by far: a sound index is opened, asked and verified in milliseconds.
const ENDLESS: Duration = Duration::from_secs(20);

/// A sound index.
pub struct Patient {
    pub subject: Subject,
    /// What it answers.
    pub good: Answers,
    /// The files that a reader of the current generation needs, by their path in the project.
    pub files: BTreeMap<PathBuf, Vec<u8>>,
    folder: TempDir,
}

/// What is done to the files of a copy: path in the project, and the new bytes; `None` removes it.
pub type Harm = Vec<(PathBuf, Option<Vec<u8>>)>;

/// How a damage showed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Shown {
    /// The error of opening or searching; `None` when all answers were those of the sound index.
    pub search: Option<String>,
    /// What `verify` says; `None` when it found nothing.
    pub verify: Option<String>,
}

impl Patient {
    /// An index of `documents` documents after one change, so that whatever is kept of an older
    /// generation is there too.
    pub fn of(documents: usize) -> Self {
        let folder = scratch();
        let subject = Subject::create(&folder.path().join("sound"), documents);
        subject.build().unwrap();
        subject.edit(1);
        subject.build().unwrap();
        Self::from(subject, folder)
    }

    pub fn from(subject: Subject, folder: TempDir) -> Self {
        let good = subject.answers().unwrap();
        assert_eq!(verify(&subject), None);
        let generations: Vec<String> = fs::read_dir(subject.index())
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .filter(|name| name.starts_with("generation-"))
            .collect();
        let newest = generations.into_iter().max().unwrap();
        let own = |path: &Path| path.strip_prefix(&subject.folder).unwrap().to_owned();
        let files = subject.bytes().into_iter().map(|(path, bytes)| (own(&path), bytes));
        // An older generation is not served; what the current one shares with it, it holds itself.
        let files = files.filter(|(path, _)| {
            let part = path.iter().nth(1).unwrap().to_string_lossy();
            !part.starts_with("generation-") || part == newest
        });
        Self { files: files.collect(), good, subject, folder }
    }

    /// Does every harm to a copy, one after the other and each undone before the next, on all cores.
    ///
    /// # Panics
    /// When a case panics, gives another answer, or does not end: the message names all of them.
    pub fn suffer<H: Sync>(
        &self,
        harms: &[H],
        what: impl Fn(&H) -> (String, Harm) + Sync,
    ) -> Vec<Shown> {
        self.each(harms, what, true)
    }

    /// The same for an index whose checksums fit: it may answer anything.
    pub fn forged<H: Sync>(
        &self,
        harms: &[H],
        what: impl Fn(&H) -> (String, Harm) + Sync,
    ) -> Vec<Shown> {
        self.each(harms, what, false)
    }

    fn each<H: Sync>(
        &self,
        harms: &[H],
        what: impl Fn(&H) -> (String, Harm) + Sync,
        same_answers: bool,
    ) -> Vec<Shown> {
        let cores = thread::available_parallelism().map_or(2, usize::from);
        let mut shown: Vec<Option<Result<Shown, String>>> = harms.iter().map(|_| None).collect();
        thread::scope(|scope| {
            let (send, receive) = mpsc::channel();
            for core in 0..cores {
                let (send, what) = (send.clone(), &what);
                scope.spawn(move || {
                    let copy = self.copy();
                    for (at, harm) in harms.iter().enumerate().skip(core).step_by(cores) {
                        let (name, harm) = what(harm);
                        send.send((core, at, name.clone(), None)).unwrap();
                        let shown = self
                            .one(&copy, &harm, same_answers)
                            .map_err(|fault| format!("{name}: {fault}"));
                        send.send((core, at, name, Some(shown))).unwrap();
                    }
                });
            }
            drop(send);
            let mut at_work: BTreeMap<usize, String> = BTreeMap::new();
            loop {
                match receive.recv_timeout(ENDLESS) {
                    Ok((core, _, name, None)) => drop(at_work.insert(core, name)),
                    Ok((core, at, _, Some(result))) => {
                        at_work.remove(&core);
                        shown[at] = Some(result);
                    }
                    Err(mpsc::RecvTimeoutError::Disconnected) => break,
                    Err(mpsc::RecvTimeoutError::Timeout) => {
                        // The threads cannot be stopped, so the process is.
                        println!("endless: one of {at_work:?}");
                        std::process::exit(1);
                    }
                }
            }
        });
        let (mut found, mut faults) = (Vec::new(), Vec::new());
        for result in shown.into_iter().flatten() {
            match result {
                Ok(shown) => found.push(shown),
                Err(fault) => faults.push(fault),
            }
        }
        let first: Vec<_> = faults.iter().take(20).cloned().collect();
        assert!(
            faults.is_empty(),
            "{} of {} cases:\n{}",
            faults.len(),
            harms.len(),
            first.join("\n")
        );
        found
    }

    /// A copy of the sound index.
    pub fn copy(&self) -> Subject {
        let folder = tempfile::tempdir_in(self.folder.path()).unwrap().keep();
        self.subject.copy(&folder.join("copy"))
    }

    /// Does one harm to `copy`, looks, and undoes it.
    fn one(&self, copy: &Subject, harm: &Harm, same_answers: bool) -> Result<Shown, String> {
        for (path, bytes) in harm {
            put(&copy.at_path(path), bytes.as_deref());
        }
        let looked = catch_unwind(AssertUnwindSafe(|| (copy.answers(), verify(copy))));
        for (path, _) in harm {
            put(&copy.at_path(path), self.files.get(path).map(Vec::as_slice));
        }
        let Ok((answers, verify)) = looked else { return Err("it panicked".to_owned()) };
        let search = match answers {
            Ok(answers) if answers == self.good || !same_answers => None,
            Ok(answers) => {
                let other =
                    answers.iter().find(|(key, answer)| self.good.get(*key) != Some(answer));
                return Err(format!("another answer: {other:?}"));
            }
            Err(fault) => Some(fault.to_string()),
        };
        Ok(Shown { search, verify })
    }
}

impl Subject {
    fn at_path(&self, path: &Path) -> PathBuf {
        self.folder.join(path)
    }
}

/// Gives `path` new bytes as a file of its own, or removes it. Generations may share a file, so it is never
/// written in place.
fn put(path: &Path, bytes: Option<&[u8]>) {
    let _ = fs::remove_file(path);
    if let Some(bytes) = bytes {
        fs::write(path, bytes).unwrap();
    }
}

/// What is wrong with the index in words; `None` when nothing is.
pub fn verify(subject: &Subject) -> Option<String> {
    let project = Project::find(Some(&subject.folder), &subject.folder, None, &[]).unwrap();
    match project.open_index() {
        Ok(index) => {
            let faults: Vec<String> =
                index.verify().into_iter().filter_map(|check| check.fault).collect();
            (!faults.is_empty()).then(|| faults.join("\n"))
        }
        Err(fault) => Some(fault.to_string()),
    }
}
