//! A build about to be disturbed: what is there before it, and what must be there after it.

use std::collections::BTreeSet;
use std::path::Path;

use tempfile::TempDir;

use super::subject::{Answers, Subject, scratch};

/// What stands before the build, and what it does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// The first build of all: nothing is served before it.
    First,
    /// A changed corpus, with everything made again.
    Full,
    /// A changed corpus over two older generations, so that the build also collects one.
    Incremental,
}

pub const KINDS: [Kind; 3] = [Kind::First, Kind::Full, Kind::Incremental];

/// One such build, and what it must lead to.
pub struct Scene {
    pub kind: Kind,
    /// The project as it is before.
    pub before: Subject,
    /// What is served before; `None` when nothing is.
    pub old: Option<Answers>,
    /// What is served after.
    pub new: Answers,
    /// What is served after one more change.
    last: Answers,
    /// The files after that, when nothing ever went wrong.
    clean: BTreeSet<String>,
    /// The boundaries that the build passes, when nothing goes wrong: number, change, path.
    pub boundaries: Vec<String>,
    folder: TempDir,
}

impl Scene {
    pub fn set(kind: Kind, documents: usize) -> Self {
        let folder = scratch();
        let before = Subject::create(&folder.path().join("before"), documents);
        match kind {
            Kind::First => {}
            Kind::Full => before.build().unwrap(),
            Kind::Incremental => {
                before.build().unwrap();
                before.edit(1);
                before.build().unwrap();
            }
        }
        let old = before.answers().ok();
        if kind != Kind::First {
            before.edit(2);
        }
        let clean = before.copy(&folder.path().join("clean"));
        let mut command = clean.command(Self::line(kind));
        let built = super::subject::ended(command.env("ATLAS_FAILPOINT", "count"));
        assert_eq!(built.code, Some(0), "{built:?}");
        let boundaries = built
            .stderr
            .lines()
            .filter_map(|line| line.strip_prefix("boundary ").map(str::to_owned));
        let boundaries = boundaries.collect();
        let new = clean.answers().unwrap();
        clean.edit(3);
        clean.build().unwrap();
        let (last, clean) = (clean.answers().unwrap(), clean.listing());
        assert!(old.is_none() == (kind == Kind::First), "{kind:?}");
        assert!(old.as_ref() != Some(&new), "the build changes nothing");
        Self { kind, before, old, new, last, clean, boundaries, folder }
    }

    /// The arguments of the build.
    pub const fn line(kind: Kind) -> &'static str {
        if matches!(kind, Kind::Full) { "build --full" } else { "build" }
    }

    /// A fresh copy of the project as it was before, for the case `name`.
    pub fn fresh(&self, name: &str) -> Subject {
        self.before.copy(&self.folder.path().join(name))
    }

    /// Checks what a disturbed build left in `subject`. Says which generation is served, or what is
    /// wrong.
    pub fn judge(&self, subject: &Subject) -> Result<Served, String> {
        let served = self.served(subject)?;
        if served != Served::Nothing {
            let verified = subject.run("verify");
            if verified.code != Some(0) {
                return Err(format!("verify: {verified:?}"));
            }
        }
        // The same build again: one that was committed already may find that nothing changed.
        let built = subject.run(Self::line(self.kind));
        if built.code != Some(0) {
            return Err(format!("the next build: {built:?}"));
        }
        match subject.answers() {
            Ok(answers) if answers == self.new => {}
            Ok(_) => return Err("the next build serves something else than the corpus".to_owned()),
            Err(fault) => return Err(format!("the next build is not served: {fault}")),
        }
        // One more change, so that whatever the disturbed build left is collected.
        subject.edit(3);
        subject.build()?;
        if subject.answers().ok().as_ref() != Some(&self.last) {
            return Err("the build after the next serves something else than the corpus".to_owned());
        }
        let listing = subject.listing();
        if listing != self.clean {
            let left: Vec<_> = listing.difference(&self.clean).collect();
            let lost: Vec<_> = self.clean.difference(&listing).collect();
            return Err(format!("files left behind: {left:?}; files that are not there: {lost:?}"));
        }
        Ok(served)
    }

    /// Which generation is served, whole.
    pub fn served(&self, subject: &Subject) -> Result<Served, String> {
        match (subject.answers(), &self.old) {
            (Ok(answers), Some(old)) if answers == *old => Ok(Served::Old),
            (Ok(answers), _) if answers == self.new => Ok(Served::New),
            (Ok(_), _) => Err("neither the old nor the new generation is served".to_owned()),
            (Err(fault), None) if fault.to_string().contains("no index here yet") => {
                Ok(Served::Nothing)
            }
            (Err(fault), _) => Err(format!("nothing is served: {fault}")),
        }
    }
}

/// What is served.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Served {
    Nothing,
    Old,
    New,
}

/// Removes the folder of a case that went well, so that a large run does not fill the disk.
pub fn clear(folder: &Path) {
    std::fs::remove_dir_all(folder).unwrap();
}
