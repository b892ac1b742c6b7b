//! The folder of generations: one is current, by one rename.

use std::fs::{self, File};
use std::io::{self, Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::UNIX_EPOCH;

use super::disk::{self, Change, Output};
use super::{CURRENT_FILE, FORMAT_VERSION, LOCK_FILE, MANIFEST_FILE, Manifest};
use crate::error::{Error, REBUILD, Result};

/// Generations kept before the current one after a commit, unless the store is told otherwise: the
/// one to go back to.
pub const KEPT_BEFORE_CURRENT: usize = 1;

/// How often [`Store::open`] reads `CURRENT` again when the generation that it named is collected
/// before it can be held. Each time means that another process has committed at least twice.
const OPEN_TRIES: usize = 16;

/// The name under which `CURRENT` is written before it is renamed.
pub(super) const CURRENT_NEW: &str = "CURRENT.new";

/// An index folder: `CURRENT`, a lock for builders, and one folder a generation.
#[derive(Debug, Clone)]
pub struct Store {
    pub(super) folder: PathBuf,
    keep: usize,
}

/// An open generation. While it lives, its manifest is held under a shared lock, so that no
/// collector deletes its files.
#[derive(Debug)]
pub struct Generation {
    /// Its folder.
    pub folder: PathBuf,
    /// What it holds.
    pub manifest: Manifest,
    _held: File,
}

/// A builder's exclusive right to write the next generation; released when dropped or killed. A
/// generation that was begun and not committed is removed with it, so that a build that a full disk ended
/// leaves as much room as it found; what a killed one left, the next one removes.
#[derive(Debug)]
pub struct BuildLock {
    _held: File,
    store: Store,
    begun: Mutex<Option<u64>>,
}

impl BuildLock {
    fn begun(&self, generation: Option<u64>) {
        *self.begun.lock().unwrap_or_else(PoisonError::into_inner) = generation;
    }
}

impl Drop for BuildLock {
    fn drop(&mut self) {
        let begun = self.begun.get_mut().unwrap_or_else(PoisonError::into_inner).take();
        // Never one that is current, whatever the system said of the rename.
        if let Some(number) = begun
            && self.store.current_number() != Some(number)
        {
            let _ = remove_generation(&self.store.folder.join(generation_name(number)));
            let _ = disk::remove_file(&self.store.folder.join(CURRENT_NEW));
        }
    }
}

impl Store {
    /// The store in `folder`, which need not exist yet.
    pub fn new(folder: impl Into<PathBuf>) -> Self {
        Self { folder: folder.into(), keep: KEPT_BEFORE_CURRENT }
    }

    /// The same store, whose commits keep `count` generations before the current one.
    #[must_use]
    pub fn keeping(self, count: usize) -> Self {
        Self { keep: count, ..self }
    }

    /// The folder.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Whether a generation is current.
    pub fn exists(&self) -> bool {
        self.folder.join(CURRENT_FILE).is_file()
    }

    /// Refuses a folder that is not there: what collects or goes back makes none.
    pub fn found(&self) -> Result<()> {
        if self.folder.is_dir() {
            return Ok(());
        }
        let help = "run `atlas build` to make it";
        Err(Error::unusable(&self.folder, "there is no index here yet", help))
    }

    /// Opens the current generation, and holds it: no collector deletes it while it lives.
    pub fn open(&self) -> Result<Generation> {
        let mut last = None;
        for _ in 0..OPEN_TRIES {
            let (name, hash) = self.current()?;
            let opened = hold(self.folder.join(&name), Some(&hash));
            // A collector may have taken it away between the two; then CURRENT names another by now.
            if self.current().is_ok_and(|now| now == (name, hash)) {
                return opened;
            }
            last = Some(opened);
        }
        last.unwrap_or_else(|| Err(Error::damaged(self.folder.join(CURRENT_FILE), "it is unread")))
    }

    /// Opens the generation called `number`, current or not, and holds it. Only that its manifest can
    /// be read is known of one that is not current.
    pub fn open_number(&self, number: u64) -> Result<Generation> {
        let folder = self.folder.join(generation_name(number));
        if !folder.join(MANIFEST_FILE).is_file() {
            let problem = format!("it holds no generation {number}");
            return Err(Error::unusable(&self.folder, problem, "`atlas status` lists them"));
        }
        hold(folder, None)
    }

    /// What `CURRENT` says, or `None` when that cannot be read: equal to what it said before means
    /// that the same generation is still current. Costs the reading of one short file.
    pub fn mark(&self) -> Option<String> {
        fs::read_to_string(self.folder.join(CURRENT_FILE)).ok()
    }

    /// The number of the current generation; `None` when there is none or `CURRENT` is damaged.
    pub fn current_number(&self) -> Option<u64> {
        generation_number(&self.current().ok()?.0)
    }

    /// Name of the current generation's folder and hash of its manifest.
    pub(super) fn current(&self) -> Result<(String, String)> {
        let path = self.folder.join(CURRENT_FILE);
        let text = match fs::read_to_string(&path) {
            Ok(text) => text,
            Err(e) if e.kind() == io::ErrorKind::NotFound => {
                let help = "run `atlas build` to make it";
                return Err(Error::unusable(&self.folder, "there is no index here yet", help));
            }
            Err(e) if e.kind() == io::ErrorKind::InvalidData => {
                return Err(Error::damaged(path, "it is not text"));
            }
            Err(e) if e.kind() == io::ErrorKind::NotADirectory => {
                let help = "name a folder with `--index DIR`";
                return Err(Error::unusable(&self.folder, "it is a file, not a folder", help));
            }
            Err(e) => return Err(Error::io("reading", path, e)),
        };
        let mut words = text.split_ascii_whitespace();
        match (words.next(), words.next(), words.next()) {
            (Some(name), Some(hash), None) if generation_number(name).is_some() => {
                Ok((name.to_owned(), hash.to_owned()))
            }
            _ => Err(Error::damaged(path, "it must hold a generation's name and a hash")),
        }
    }

    /// Takes the right to build; another builder at work is an error that says so.
    pub fn lock(&self) -> Result<BuildLock> {
        if !self.folder.is_dir() {
            let made = disk::create_folders(&self.folder);
            made.map_err(|e| Error::io("creating", &self.folder, e))?;
            if let Some(parent) = self.folder.parent().filter(|parent| parent.is_dir()) {
                sync_folder(parent)?;
            }
        }
        let path = self.folder.join(LOCK_FILE);
        disk::boundary(Change::CreateFile, &path).map_err(|e| Error::io("opening", &path, e))?;
        let mut file = File::options()
            .create(true)
            .truncate(false)
            .read(true)
            .write(true)
            .open(&path)
            .map_err(|e| Error::io("opening", &path, e))?;
        match file.try_lock() {
            Ok(()) => {}
            Err(fs::TryLockError::WouldBlock) => {
                let mut holder = String::new();
                let _ = file.read_to_string(&mut holder);
                let since = modified_ns(&file);
                return Err(Error::busy(&self.folder, holder.trim(), since));
            }
            Err(fs::TryLockError::Error(e)) => return Err(Error::io("locking", &path, e)),
        }
        let own = format!("{:<12}", std::process::id());
        let mut file = Output::to(file, &path);
        file.write_all(own.as_bytes())
            .and_then(|()| file.set_len(own.len() as u64))
            .map_err(|e| Error::io("writing", &path, e))?;
        Ok(BuildLock { _held: file.into_file(), store: self.clone(), begun: Mutex::new(None) })
    }

    /// Makes the empty folder of the next generation, and clears away what a killed build left: every
    /// folder with a number above the current one. While `CURRENT` cannot be read, only folders without
    /// a manifest are known to be of no use.
    pub fn next(&self, lock: &BuildLock) -> Result<(u64, PathBuf)> {
        let current = self.current_number();
        let mut last = current.unwrap_or(0);
        for (number, folder) in self.folders()? {
            let left_over = match current {
                Some(current) => number > current,
                None => !folder.join(MANIFEST_FILE).is_file(),
            };
            if left_over {
                remove_generation(&folder)?;
            } else {
                last = last.max(number);
            }
        }
        let folder = self.folder.join(generation_name(last + 1));
        disk::create_folder(&folder).map_err(|e| Error::io("creating", &folder, e))?;
        lock.begun(Some(last + 1));
        disk::restrict(&folder).map_err(|e| Error::io("restricting", &folder, e))?;
        sync_folder(&self.folder)?;
        Ok((last + 1, folder))
    }

    /// Writes the manifest of a finished generation and makes it current: the one commit point.
    pub fn commit(&self, lock: &BuildLock, manifest: &Manifest) -> Result<()> {
        let name = generation_name(manifest.generation);
        let folder = self.folder.join(&name);
        let path = folder.join(MANIFEST_FILE);
        let mut text = serde_json::to_vec_pretty(manifest)
            .map_err(|e| Error::io("writing", &path, io::Error::other(e)))?;
        text.push(b'\n');
        write_synced(&path, &text)?;
        disk::sync_folders(&folder).map_err(|e| Error::io("syncing", &folder, e))?;
        let line = format!("{name} {}\n", blake3::hash(&text).to_hex());
        let temporary = self.folder.join(CURRENT_NEW);
        write_synced(&temporary, line.as_bytes())?;
        // The name of the generation's own folder must last before CURRENT may state it.
        sync_folder(&self.folder)?;
        let current = self.folder.join(CURRENT_FILE);
        let names = disk::Names::of(&self.folder);
        let names = names.map_err(|e| Error::io("opening", &self.folder, e))?;
        disk::rename(&temporary, &current).map_err(|e| Error::io("renaming to", &current, e))?;
        lock.begun(None);
        names.sync().map_err(|e| Error::io("syncing", &self.folder, e))?;
        // It is current now, whatever becomes of the older ones: the next commit tries again.
        let _ = self.collect(manifest.generation, self.keep);
        Ok(())
    }

    /// Every generation's number and folder, in no order.
    pub(super) fn folders(&self) -> Result<Vec<(u64, PathBuf)>> {
        let fault = |e| Error::io("reading", &self.folder, e);
        let mut found = Vec::new();
        for entry in fs::read_dir(&self.folder).map_err(fault)? {
            let entry = entry.map_err(fault)?;
            if let Some(number) = entry.file_name().to_str().and_then(generation_number) {
                found.push((number, entry.path()));
            }
        }
        Ok(found)
    }
}

/// Opens the generation in `folder` under a shared lock; `hash` is what its manifest must have.
fn hold(folder: PathBuf, hash: Option<&str>) -> Result<Generation> {
    let path = folder.join(MANIFEST_FILE);
    let mut file = File::open(&path).map_err(|e| match e.kind() {
        io::ErrorKind::NotFound => Error::damaged(&path, "it is missing, and CURRENT names it"),
        _ => Error::io("opening", &path, e),
    })?;
    file.lock_shared().map_err(|e| Error::io("locking", &path, e))?;
    let mut text = Vec::new();
    file.read_to_end(&mut text).map_err(|e| Error::io("reading", &path, e))?;
    let manifest = parse(&path, &text, hash)?;
    Ok(Generation { folder, manifest, _held: file })
}

/// The manifest in `text`, which was read from `path` and must have `hash`.
pub(super) fn parse(path: &Path, text: &[u8], hash: Option<&str>) -> Result<Manifest> {
    // Before the format: a digit of it that was damaged is no other format.
    if hash.is_some_and(|hash| blake3::hash(text).to_hex().as_str() != hash) {
        return Err(Error::damaged(path, "it does not match the hash that CURRENT states"));
    }
    let version = serde_json::from_slice::<serde_json::Value>(text)
        .ok()
        .and_then(|value| value.get("format").and_then(serde_json::Value::as_u64));
    if let Some(found) = version.filter(|version| *version != u64::from(FORMAT_VERSION)) {
        let problem = format!("it has format {found}, this program reads format {FORMAT_VERSION}");
        let index = path.ancestors().nth(2).unwrap_or(path);
        return Err(Error::unusable(index, problem, REBUILD));
    }
    let manifest: Manifest = serde_json::from_slice(text)
        .map_err(|e| Error::damaged(path, format!("it is no manifest: {e}")))?;
    manifest.fault().map_or(Ok(manifest), |fault| Err(Error::damaged(path, fault)))
}

/// Removes a generation's folder, the manifest first: a folder without one is what is left of a build
/// or a removal that was killed, and never taken for a generation.
pub(super) fn remove_generation(folder: &Path) -> Result<()> {
    let manifest = folder.join(MANIFEST_FILE);
    match disk::remove_file(&manifest) {
        Err(e) if e.kind() != io::ErrorKind::NotFound => Err(Error::io("removing", &manifest, e)),
        _ => disk::remove_folder(folder).map_err(|e| Error::io("removing", folder, e)),
    }
}

/// When `file` was last written, in nanoseconds since 1970; 0 where the system does not tell.
pub(super) fn modified_ns(file: &File) -> u64 {
    let time = file.metadata().and_then(|facts| facts.modified()).ok();
    let since = time.and_then(|time| time.duration_since(UNIX_EPOCH).ok());
    since.and_then(|since| u64::try_from(since.as_nanos()).ok()).unwrap_or(0)
}

pub(super) fn generation_name(number: u64) -> String {
    format!("generation-{number:06}")
}

fn generation_number(name: &str) -> Option<u64> {
    name.strip_prefix("generation-")?.parse().ok()
}

fn write_synced(path: &Path, bytes: &[u8]) -> Result<()> {
    disk::write_synced(path, bytes).map_err(|e| Error::io("writing", path, e))
}

/// Makes the names in `folder` last, where the system knows how.
pub(crate) fn sync_folder(folder: &Path) -> Result<()> {
    disk::sync_folder(folder).map_err(|e| Error::io("syncing", folder, e))
}
