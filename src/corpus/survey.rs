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
    /// blake3 of the file's bytes, in hexadecimal.
    pub fn read_hash(&self, folder: &Path) -> Result<String> {
        let location = folder.join(&self.path);
        Ok(RawFile { path: self.path.clone(), location }.record()?.hash)
    }
}

/// The files that [`read`](super::read) would read, by path, with their sizes and times. Files that
/// cannot be looked at are left out, as they would be skipped.
pub fn survey(folder: &Path, settings: &CorpusSettings) -> Result<Vec<Surveyed>> {
    require_folder(folder)?;
    let files = match set_file(folder)? {
        Some(file) => vec![file],
        None => walk::list(folder, settings)?.files,
    };
    let mut found: Vec<Surveyed> = files
        .into_iter()
        .filter_map(|file| {
            let facts = file.location.metadata().ok()?;
            let since = facts.modified().ok().and_then(|time| time.duration_since(UNIX_EPOCH).ok());
            let mtime_ns =
                since.and_then(|since| u64::try_from(since.as_nanos()).ok()).unwrap_or(0);
            Some(Surveyed { path: file.path, size_bytes: facts.len(), mtime_ns })
        })
        .collect();
    found.sort_by(|a, b| a.path.cmp(&b.path));
    Ok(found)
}
