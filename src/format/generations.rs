//! The generations that a store keeps: what each takes on disk, who holds it, and removing them.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File, Metadata};
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};

use super::disk;
use super::store::{CURRENT_NEW, modified_ns, parse, remove_generation, sync_folder};
use super::{BuildLock, CURRENT_FILE, LOCK_FILE, MANIFEST_FILE, Manifest, Store};
use crate::error::{Error, Result};

/// One generation as it lies on disk.
#[derive(Debug)]
pub struct Kept {
    /// Its number.
    pub number: u64,
    /// Its folder.
    pub folder: PathBuf,
    /// What it holds, or why that cannot be told.
    pub manifest: Result<Manifest>,
    /// When its manifest was written, in nanoseconds since 1970; 0 where the system does not tell.
    pub built_ns: u64,
    /// Bytes of all its files.
    pub size_bytes: u64,
    /// Those of them that lie in files which another generation has as well.
    pub shared_bytes: u64,
    /// Whether it is the one that is served.
    pub current: bool,
    /// Whether a reader has it open. A reader of this program's own counts.
    pub held: bool,
}

/// Everything in an index folder.
#[derive(Debug)]
pub struct Listing {
    /// The generations by their numbers.
    pub generations: Vec<Kept>,
    /// Bytes of all of them, a file that several share counted once.
    pub size_bytes: u64,
    /// What killed builds and removals left.
    pub leftovers: Vec<PathBuf>,
    /// What is none of ours, by name.
    pub strangers: Vec<String>,
}

/// What a collection did.
#[derive(Debug, Default)]
pub struct Collected {
    /// Generations that were removed.
    pub removed: Vec<u64>,
    /// Generations that were to go and stay, since a reader has them open.
    pub held: Vec<u64>,
    /// Leftovers that were removed.
    pub leftovers: Vec<PathBuf>,
    /// What could not be removed, and why.
    pub failed: Vec<Error>,
    /// Bytes that the index folder takes less than before.
    pub freed_bytes: u64,
}

/// A file as the system tells it from others, so that a second name of one is known.
type FileId = (u64, u64);

/// Gives the file at `source` the second name `target`; a copy where the file system knows no such names.
/// Files of an index never change, so both may be read at once.
pub(crate) fn link_file(source: &Path, target: &Path) -> Result<()> {
    if disk::link(source, target).is_ok() {
        return Ok(());
    }
    let copied = disk::copy(source, target).and_then(|()| disk::sync_file(target));
    copied.map_err(|e| Error::io("copying a part to", target, e))
}

impl Store {
    /// Lists what the folder holds. Nothing is held by it, and nothing waits for it.
    pub fn list(&self) -> Result<Listing> {
        let current = self.current_number();
        let mut files = Files::default();
        let mut generations = Vec::new();
        let mut listing = Listing {
            generations: Vec::new(),
            size_bytes: 0,
            leftovers: self.leftovers(current)?,
            strangers: self.strangers()?,
        };
        let mut folders = self.folders()?;
        folders.sort();
        for (number, folder) in folders {
            if listing.leftovers.contains(&folder) {
                continue;
            }
            let path = folder.join(MANIFEST_FILE);
            let (manifest, built_ns, held) = look(&path);
            let names = match files.add(&folder) {
                // It was collected while this was looking.
                Err(Error::Io { source, .. }) if source.kind() == io::ErrorKind::NotFound => {
                    continue;
                }
                names => names?,
            };
            let current = current == Some(number);
            generations.push((
                Kept {
                    number,
                    folder,
                    manifest,
                    built_ns,
                    size_bytes: 0,
                    shared_bytes: 0,
                    current,
                    held,
                },
                names,
            ));
        }
        for (mut kept, names) in generations {
            for name in names {
                let (size, owners) = files.sizes[&name];
                kept.size_bytes += size;
                kept.shared_bytes += if owners > 1 { size } else { 0 };
            }
            listing.generations.push(kept);
        }
        listing.size_bytes = files.sizes.values().map(|(size, _)| size).sum();
        Ok(listing)
    }

    /// Removes what killed builds left and all generations before the current one but the `keep` last.
    /// One that a reader has open stays; the next collection tries again.
    pub fn gc(&self, _lock: &BuildLock, keep: usize) -> Result<Collected> {
        self.clear(|| match self.current_number() {
            Some(current) => self.collect(current, keep),
            // What is there may be all there is: without CURRENT nothing is known to be older.
            None => Ok(Collected::default()),
        })
    }

    /// Removes every generation but the current one, whoever has it open, and what killed builds left.
    ///
    /// Where a file can be removed while it is open (Unix), readers go on with what they have mapped,
    /// and the system frees the bytes when the last of them ends. Elsewhere such a generation stays and
    /// is among those that failed.
    pub fn purge(&self, _lock: &BuildLock) -> Result<Collected> {
        let (current, _) = self.current()?;
        self.clear(|| {
            let mut done = Collected::default();
            for (number, folder) in self.folders()? {
                if folder != self.folder.join(&current) {
                    match remove_generation(&folder) {
                        Ok(()) => done.removed.push(number),
                        Err(fault) => done.failed.push(fault),
                    }
                }
            }
            done.removed.sort_unstable();
            Ok(done)
        })
    }

    /// Removes the leftovers, then what `work` removes, and says what became free.
    fn clear(&self, work: impl FnOnce() -> Result<Collected>) -> Result<Collected> {
        let before = self.list()?.size_bytes + self.leftover_bytes()?;
        let leftovers = self.leftovers(self.current_number())?;
        let mut removed = Vec::new();
        let mut failed = Vec::new();
        for path in leftovers {
            let done = if path.is_dir() {
                remove_generation(&path)
            } else {
                disk::remove_file(&path).map_err(|e| Error::io("removing", &path, e))
            };
            match done {
                Ok(()) => removed.push(path),
                Err(fault) => failed.push(fault),
            }
        }
        let mut done = work()?;
        done.leftovers = removed;
        done.failed.append(&mut failed);
        sync_folder(&self.folder)?;
        let after = self.list()?.size_bytes + self.leftover_bytes()?;
        done.freed_bytes = before.saturating_sub(after);
        Ok(done)
    }

    /// Removes generations before `current` but the `keep` last of them and those that a reader holds.
    pub(super) fn collect(&self, current: u64, keep: usize) -> Result<Collected> {
        let mut done = Collected::default();
        let mut older = Vec::new();
        for (number, folder) in self.folders()?.into_iter().filter(|(number, _)| *number < current)
        {
            if folder.join(MANIFEST_FILE).is_file() {
                older.push((number, folder));
            } else if let Err(fault) = remove_generation(&folder) {
                // What is left of a removal that was killed.
                done.failed.push(fault);
            }
        }
        older.sort();
        let away = older.len().saturating_sub(keep);
        for (number, folder) in older.into_iter().take(away) {
            // Locked until it is gone: a reader that comes now waits, finds that CURRENT names another,
            // and takes that.
            let lock = File::open(folder.join(MANIFEST_FILE)).ok();
            if lock.as_ref().is_some_and(|file| would_block(file.try_lock())) {
                done.held.push(number);
                continue;
            }
            match remove_generation(&folder) {
                Ok(()) => done.removed.push(number),
                Err(fault) => done.failed.push(fault),
            }
        }
        Ok(done)
    }

    /// Makes the files of the generation in `from` part of the one in `to` under second names, all but
    /// `except`; where the file system has no second names they are copied.
    pub fn link(&self, from: &Path, to: &Path, except: &[&str]) -> Result<()> {
        for entry in read_folder(from)? {
            let (source, target) = (entry.path(), to.join(entry.file_name()));
            let name = entry.file_name();
            if except.iter().any(|own| name == **own) {
                continue;
            }
            if entry.file_type().map_err(|e| Error::io("reading", &source, e))?.is_dir() {
                disk::create_folder(&target).map_err(|e| Error::io("creating", &target, e))?;
                self.link(&source, &target, &[])?;
            } else {
                link_file(&source, &target)?;
            }
        }
        sync_folder(to)
    }

    /// Folders without a manifest or with a number above the current one, and half-written names.
    fn leftovers(&self, current: Option<u64>) -> Result<Vec<PathBuf>> {
        let mut found: Vec<PathBuf> = self
            .folders()?
            .into_iter()
            .filter(|(number, folder)| {
                // Without CURRENT nothing is known to be left over.
                current.is_some_and(|current| {
                    *number > current
                        || (*number < current && !folder.join(MANIFEST_FILE).is_file())
                })
            })
            .map(|(_, folder)| folder)
            .collect();
        found.extend(Some(self.folder.join(CURRENT_NEW)).filter(|path| path.is_file()));
        found.sort();
        Ok(found)
    }

    fn leftover_bytes(&self) -> Result<u64> {
        let mut files = Files::default();
        for path in self.leftovers(self.current_number())? {
            if path.is_dir() {
                files.add(&path)?;
            }
        }
        Ok(files.sizes.values().map(|(size, _)| size).sum())
    }

    /// Names in the folder that nothing of ours has.
    fn strangers(&self) -> Result<Vec<String>> {
        let ours: BTreeSet<PathBuf> =
            self.folders()?.into_iter().map(|(_, folder)| folder).collect();
        let names = [CURRENT_FILE, LOCK_FILE, CURRENT_NEW].map(|name| self.folder.join(name));
        let mut found = Vec::new();
        for entry in read_folder(&self.folder)? {
            if !ours.contains(&entry.path()) && !names.contains(&entry.path()) {
                found.push(entry.file_name().to_string_lossy().into_owned());
            }
        }
        found.sort();
        Ok(found)
    }
}

/// The manifest at `path`, when it was written, and whether a reader holds it.
fn look(path: &Path) -> (Result<Manifest>, u64, bool) {
    let mut file = match File::open(path) {
        Ok(file) => file,
        Err(e) if e.kind() == io::ErrorKind::NotFound => {
            return (Err(Error::damaged(path, "it is missing, and CURRENT names it")), 0, false);
        }
        Err(e) => return (Err(Error::io("opening", path, e)), 0, false),
    };
    let held = would_block(file.try_lock());
    let _ = file.unlock();
    let mut text = Vec::new();
    let manifest = file.read_to_end(&mut text).map_err(|e| Error::io("reading", path, e));
    (manifest.and_then(|_| parse(path, &text, None)), modified_ns(&file), held)
}

fn would_block(tried: std::result::Result<(), fs::TryLockError>) -> bool {
    matches!(tried, Err(fs::TryLockError::WouldBlock))
}

fn read_folder(folder: &Path) -> Result<Vec<fs::DirEntry>> {
    let fault = |e| Error::io("reading", folder, e);
    fs::read_dir(folder).map_err(fault)?.collect::<io::Result<_>>().map_err(fault)
}

/// Files by what the system tells them by, each with its size and how many generations have it.
#[derive(Default)]
struct Files {
    sizes: BTreeMap<FileId, (u64, usize)>,
    unnamed: u64,
}

impl Files {
    /// Adds all files under `folder`, and gives them.
    fn add(&mut self, folder: &Path) -> Result<BTreeSet<FileId>> {
        let mut own = BTreeSet::new();
        let mut folders = vec![folder.to_owned()];
        while let Some(folder) = folders.pop() {
            for entry in read_folder(&folder)? {
                let path = entry.path();
                let facts = entry.metadata().map_err(|e| Error::io("examining", &path, e))?;
                if facts.is_dir() {
                    folders.push(path);
                    continue;
                }
                let id = file_id(&facts).unwrap_or_else(|| {
                    self.unnamed += 1;
                    (u64::MAX, self.unnamed)
                });
                if own.insert(id) {
                    self.sizes.entry(id).or_insert((facts.len(), 0)).1 += 1;
                }
            }
        }
        Ok(own)
    }
}

#[cfg(unix)]
fn file_id(facts: &Metadata) -> Option<FileId> {
    use std::os::unix::fs::MetadataExt as _;
    Some((facts.dev(), facts.ino()))
}

#[cfg(not(unix))]
fn file_id(_facts: &Metadata) -> Option<FileId> {
    None
}
