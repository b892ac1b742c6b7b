//! What lies in a corpus folder now, without reading it.

use std::path::Path;
use std::time::UNIX_EPOCH;

use super::{CorpusSettings, RawFile, require_folder, set_file, walk};
use crate::error::Result;

/// A file of the corpus, as the file system describes it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Surveyed {
    /// The path relative to the corpus folder, with `/`.
    pub path: String,
    /// Length in bytes.
    pub size_bytes: u64,
    /// Time of the last change in nanoseconds since 1970; 0 when the system does not tell.
    pub mtime_ns: u64,
}

impl Surveyed {
    /// What the file system tells of `file`; zeros when it cannot be looked at.
    pub(super) fn of(file: &RawFile) -> Self {
        let facts = file.location.metadata().ok();
        let changed = facts.as_ref().and_then(|facts| facts.modified().ok());
        let since = changed.and_then(|time| time.duration_since(UNIX_EPOCH).ok());
        let mtime_ns = since.and_then(|since| u64::try_from(since.as_nanos()).ok()).unwrap_or(0);
        let size_bytes = facts.map_or(0, |facts| facts.len());
        Self { path: file.path.clone(), size_bytes, mtime_ns }
    }

    /// blake3 of the file's bytes, in hexadecimal.
    pub fn read_hash(&self, folder: &Path) -> Result<String> {
        let location = folder.join(&self.path);
        Ok(RawFile { path: self.path.clone(), location }.record()?.hash)
    }
}

/// The files that [`read`](super::read) would read, by path, with their sizes and times.
pub fn survey(folder: &Path, settings: &CorpusSettings) -> Result<Vec<Surveyed>> {
    require_folder(folder)?;
    let mut files = match set_file(folder)? {
        Some(file) => vec![file],
        None => walk::list(folder, settings)?.files,
    };
    files.extend(settings.vectors.iter().flat_map(|own| own.raw(folder)));
    let mut found: Vec<Surveyed> = files.iter().map(Surveyed::of).collect();
    found.sort_by(|a, b| a.path.cmp(&b.path));
    Ok(found)
}
