//! Memory-mapped files: the one place that maps.

use std::fs::File;
use std::path::{Path, PathBuf};

use memmap2::Mmap;

use crate::error::{Error, Result};

/// A whole file, read-only, in memory by page fault. An empty file is no mapping at all.
#[derive(Debug)]
pub struct MappedFile {
    path: PathBuf,
    map: Option<Mmap>,
    scattered: bool,
}

impl MappedFile {
    /// Maps `path`, which must be a file inside a generation: those are written once and never
    /// changed or cut, only deleted as a whole.
    pub fn open(path: &Path) -> Result<Self> {
        let file = File::open(path).map_err(|e| match e.kind() {
            std::io::ErrorKind::NotFound => Error::damaged(path, "it is missing"),
            _ => Error::io("opening", path, e),
        })?;
        let length = file.metadata().map_err(|e| Error::io("reading", path, e))?.len();
        if length == 0 {
            return Ok(Self { path: path.to_owned(), map: None, scattered: false });
        }
        #[expect(
            unsafe_code,
            reason = "mapping is undefined if the file is truncated or written while mapped; files of \
                      a generation are written under another name, synced, and never touched again"
        )]
        let map = unsafe { Mmap::map(&file) }.map_err(|e| Error::io("mapping", path, e))?;
        Ok(Self { path: path.to_owned(), map: Some(map), scattered: false })
    }

    /// Asks for large pages, for a file that is read in small pieces from all over: a random read then
    /// seldom waits for the page tables. Read from a disk, such a file comes in by 2 MiB. A wish that a
    /// system may not grant, and nothing depends on it.
    pub fn prefer_large_pages(&self) {
        #[cfg(target_os = "linux")]
        if let Some(map) = &self.map {
            let _ = map.advise(memmap2::Advice::HugePage);
        }
    }

    /// Says that it will be read in few places far apart: a system then brings in what is touched, and
    /// not megabytes around it. [`MappedFile::will_need`] asks for more at once.
    pub fn expect_scattered_reads(&mut self) {
        self.scattered = true;
        #[cfg(unix)]
        if let Some(map) = &self.map {
            let _ = map.advise(memmap2::Advice::Random);
        }
    }

    /// Asks for the bytes of `range` to be read from the disk in one go, where nothing else would see to
    /// that: when reads are expected to be scattered.
    pub fn will_need(&self, range: std::ops::Range<usize>) {
        #[cfg(unix)]
        if let Some(map) = &self.map
            && self.scattered
        {
            let _ = map.advise_range(memmap2::Advice::WillNeed, range.start, range.len());
        }
        #[cfg(not(unix))]
        let _ = range;
    }

    /// The mapping itself, for crates that own their bytes; `None` for an empty file.
    pub fn into_map(self) -> Option<Mmap> {
        self.map
    }

    /// The file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Its bytes.
    pub fn bytes(&self) -> &[u8] {
        self.map.as_deref().unwrap_or(&[])
    }
}

impl std::ops::Deref for MappedFile {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        self.bytes()
    }
}
