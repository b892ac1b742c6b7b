//! The folder of generations: one is current, by one rename.

use std::fs::{self, File};
use std::io::{self, Read as _, Write as _};
use std::path::{Path, PathBuf};

use super::disk::{self, Change, Output};
use super::{CURRENT_FILE, FORMAT_VERSION, LOCK_FILE, MANIFEST_FILE, Manifest};
use crate::error::{Error, REBUILD, Result};

/// Generations kept beside the current one after a commit.
const KEPT_BEFORE_CURRENT: usize = 1;

/// An index folder: `CURRENT`, a lock for builders, and one folder a generation.
#[derive(Debug, Clone)]
pub struct Store {
    folder: PathBuf,
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

/// A builder's exclusive right to write the next generation; released when dropped or killed.
#[derive(Debug)]
pub struct BuildLock(#[expect(dead_code, reason = "held for its lock")] File);

impl Store {
    /// The store in `folder`, which need not exist yet.
    pub fn new(folder: impl Into<PathBuf>) -> Self {
        Self { folder: folder.into() }
    }

    /// The folder.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Whether a generation is current.
    pub fn exists(&self) -> bool {
        self.folder.join(CURRENT_FILE).is_file()
    }

    /// Opens the current generation.
    pub fn open(&self) -> Result<Generation> {
        let (name, hash) = self.current()?;
        let folder = self.folder.join(&name);
        let path = folder.join(MANIFEST_FILE);
        let mut file = File::open(&path).map_err(|e| match e.kind() {
            io::ErrorKind::NotFound => Error::damaged(&path, "it is missing, and CURRENT names it"),
            _ => Error::io("opening", &path, e),
        })?;
        file.lock_shared().map_err(|e| Error::io("locking", &path, e))?;
        let mut text = Vec::new();
        file.read_to_end(&mut text).map_err(|e| Error::io("reading", &path, e))?;
        let version = serde_json::from_slice::<serde_json::Value>(&text)
            .ok()
            .and_then(|value| value.get("format").and_then(serde_json::Value::as_u64));
        if version.is_some_and(|version| version != u64::from(FORMAT_VERSION)) {
            let found = version.unwrap_or_default();
            let problem =
                format!("it has format {found}, this program reads format {FORMAT_VERSION}");
            return Err(Error::unusable(&self.folder, problem, REBUILD));
        }
        if blake3::hash(&text).to_hex().as_str() != hash {
            return Err(Error::damaged(path, "it does not match the hash that CURRENT states"));
        }
        let manifest = serde_json::from_slice(&text)
            .map_err(|e| Error::damaged(path, format!("it is no manifest: {e}")))?;
        Ok(Generation { folder, manifest, _held: file })
    }

    /// Name of the current generation's folder and hash of its manifest.
    fn current(&self) -> Result<(String, String)> {
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
        disk::create_folders(&self.folder).map_err(|e| Error::io("creating", &self.folder, e))?;
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
                let problem = format!("process {} is building it", holder.trim());
                let help = "wait for it to end, or stop it";
                return Err(Error::unusable(&self.folder, problem, help));
            }
            Err(fs::TryLockError::Error(e)) => return Err(Error::io("locking", &path, e)),
        }
        let own = format!("{:<12}", std::process::id());
        let mut file = Output::to(file, &path);
        file.write_all(own.as_bytes())
            .and_then(|()| file.set_len(own.len() as u64))
            .map_err(|e| Error::io("writing", &path, e))?;
        Ok(BuildLock(file.into_file()))
    }

    /// Makes the empty folder of the next generation, and clears away what a killed build left.
    pub fn next(&self, _lock: &BuildLock) -> Result<(u64, PathBuf)> {
        let current =
            self.current().ok().and_then(|(name, _)| generation_number(&name)).unwrap_or(0);
        for (number, folder) in self.generations()? {
            if number > current {
                disk::remove_folder(&folder).map_err(|e| Error::io("removing", &folder, e))?;
            }
        }
        let folder = self.folder.join(generation_name(current + 1));
        disk::create_folder(&folder).map_err(|e| Error::io("creating", &folder, e))?;
        disk::restrict(&folder).map_err(|e| Error::io("restricting", &folder, e))?;
        Ok((current + 1, folder))
    }

    /// Writes the manifest of a finished generation and makes it current: the one commit point.
    pub fn commit(&self, _lock: &BuildLock, manifest: &Manifest) -> Result<()> {
        let name = generation_name(manifest.generation);
        let folder = self.folder.join(&name);
        let path = folder.join(MANIFEST_FILE);
        let mut text = serde_json::to_vec_pretty(manifest)
            .map_err(|e| Error::io("writing", &path, io::Error::other(e)))?;
        text.push(b'\n');
        write_synced(&path, &text)?;
        sync_folder(&folder)?;
        let line = format!("{name} {}\n", blake3::hash(&text).to_hex());
        let temporary = self.folder.join("CURRENT.new");
        write_synced(&temporary, line.as_bytes())?;
        let current = self.folder.join(CURRENT_FILE);
        disk::rename(&temporary, &current).map_err(|e| Error::io("renaming to", &current, e))?;
        sync_folder(&self.folder)?;
        // It is current now, whatever becomes of the older ones: the next commit tries again.
        let _ = self.collect(manifest.generation);
        Ok(())
    }

    /// Deletes generations that are neither recent nor held by a reader.
    fn collect(&self, current: u64) -> Result<()> {
        let mut older: Vec<_> =
            self.generations()?.into_iter().filter(|(number, _)| *number < current).collect();
        older.sort();
        let away = older.len().saturating_sub(KEPT_BEFORE_CURRENT);
        for (_, folder) in older.into_iter().take(away) {
            let held = File::open(folder.join(MANIFEST_FILE))
                .is_ok_and(|file| matches!(file.try_lock(), Err(fs::TryLockError::WouldBlock)));
            if !held {
                disk::remove_folder(&folder).map_err(|e| Error::io("removing", &folder, e))?;
            }
        }
        Ok(())
    }

    /// Every generation's number and folder, in no order.
    fn generations(&self) -> Result<Vec<(u64, PathBuf)>> {
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

fn generation_name(number: u64) -> String {
    format!("generation-{number:06}")
}

fn generation_number(name: &str) -> Option<u64> {
    name.strip_prefix("generation-")?.parse().ok()
}

fn write_synced(path: &Path, bytes: &[u8]) -> Result<()> {
    disk::write_synced(path, bytes).map_err(|e| Error::io("writing", path, e))
}

fn sync_folder(folder: &Path) -> Result<()> {
    disk::sync_folder(folder).map_err(|e| Error::io("syncing", folder, e))
}
