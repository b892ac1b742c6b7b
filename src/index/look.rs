//! What has become of the files that an index was built from.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::time::UNIX_EPOCH;

use super::build::{Before, source};
use crate::corpus::{
    CorpusSettings, Document, FileRecord, Listing, Noted, PartRead, Skipped, Surveyed,
};
use crate::error::Result;
use crate::format::{MANIFEST_FILE, SourceFile};

/// Times of files are trusted when they are this much older than the generation: a file may change twice
/// within the grain of the file system's clock.
const GRAIN_NS: u64 = 2_000_000_000;

/// What a look at the corpus folder brought.
#[derive(Default)]
pub(super) struct Seen {
    /// Documents of changed files.
    pub(super) documents: Vec<Document>,
    /// Files with other content than before, new or gone.
    pub(super) changed: BTreeSet<String>,
    /// Files that could not be read.
    pub(super) unreadable: BTreeSet<String>,
    pub(super) sources: Vec<SourceFile>,
    pub(super) skipped: Vec<Skipped>,
    pub(super) noted: Vec<Noted>,
}

impl Seen {
    /// Reads the files that may have changed.
    pub(super) fn of(before: &Before, listing: &Listing, reading: &CorpusSettings) -> Result<Self> {
        let manifest = &before.generation.manifest;
        let known: BTreeMap<&str, &SourceFile> =
            manifest.sources.iter().map(|file| (file.path.as_str(), file)).collect();
        let trusted = trusted_before(&before.generation.folder);
        let as_it_was = |file: &Surveyed| {
            known.get(file.path.as_str()).is_some_and(|known| {
                let same = (known.size_bytes, known.mtime_ns) == (file.size_bytes, file.mtime_ns);
                same && !known.hash.is_empty() && file.mtime_ns < trusted
            })
        };
        let doubtful: BTreeSet<&str> = listing
            .files
            .iter()
            .filter(|file| !as_it_was(file))
            .map(|file| file.path.as_str())
            .collect();
        let PartRead { documents, skipped, noted, files } = listing.read(&doubtful, reading)?;
        let mut seen = Seen { documents, ..Seen::default() };
        let read: BTreeMap<&str, &FileRecord> =
            files.iter().map(|file| (file.path.as_str(), file)).collect();
        for file in &listing.files {
            let path = file.path.as_str();
            let old = known.get(path).copied();
            let record = match (read.get(path).copied(), old) {
                (None, Some(old)) => old.clone(),
                (None, None) => continue,
                (Some(record), old) => {
                    if record.hash.is_empty() {
                        seen.unreadable.insert(path.to_owned());
                    } else if old.is_none_or(|old| old.hash != record.hash) {
                        seen.changed.insert(path.to_owned());
                    }
                    source(record)
                }
            };
            seen.sources.push(record);
        }
        for old in &manifest.sources {
            if listing.files.binary_search_by(|file| file.path.cmp(&old.path)).is_ok() {
                continue;
            }
            if listing.hides(&old.path) {
                seen.unreadable.insert(old.path.clone());
                seen.sources.push(SourceFile { hash: String::new(), ..old.clone() });
            } else {
                seen.changed.insert(old.path.clone());
            }
        }
        if listing.vectors().any(|path| seen.changed.contains(path)) {
            // Any document may bring another vector then; what else is as it was is found by its mark.
            let all = listing.files.iter().filter(|file| !seen.unreadable.contains(&file.path));
            seen.changed.extend(all.map(|file| file.path.clone()));
        }
        seen.sources.sort_by(|a, b| a.path.cmp(&b.path));
        // What was said of a file that is as it was is said still.
        let own = |path: &str| known.contains_key(path) && !seen.is_new(path);
        let mut all: Vec<Skipped> = (manifest.skipped.iter().filter(|(path, _)| own(path)))
            .map(|(path, reason)| Skipped { path: path.clone(), reason: reason.clone() })
            .collect();
        all.extend(skipped.into_iter().filter(|skipped| seen.is_new(&skipped.path)));
        all.extend(listing.skipped.iter().cloned());
        let mut told: Vec<Noted> = (manifest.noted.iter().filter(|(path, _)| own(path)))
            .map(|(path, reason)| Noted { path: path.clone(), reason: reason.clone() })
            .collect();
        told.extend(noted.into_iter().filter(|noted| seen.is_new(&noted.path)));
        (seen.skipped, seen.noted) = (all, told);
        let (changed, documents) = (&seen.changed, std::mem::take(&mut seen.documents));
        let kept = documents.into_iter().filter(|document| changed.contains(&document.source.path));
        seen.documents = kept.collect();
        Ok(seen)
    }

    fn is_new(&self, path: &str) -> bool {
        self.changed.contains(path) || self.unreadable.contains(path)
    }
}

/// The time, in nanoseconds since 1970, before which a file's own time is trusted.
fn trusted_before(generation: &Path) -> u64 {
    let written = generation.join(MANIFEST_FILE).metadata().and_then(|facts| facts.modified());
    let since = written.ok().and_then(|time| time.duration_since(UNIX_EPOCH).ok());
    let ns = since.and_then(|since| u64::try_from(since.as_nanos()).ok()).unwrap_or(0);
    ns.saturating_sub(GRAIN_NS)
}
