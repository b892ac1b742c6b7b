//! Tantivy's view of a folder of a generation: written once, then read-only.
//!
//! No lock files, no watcher: a generation has one writer, which holds the store's lock, and its
//! files never change afterwards, so an index on a read-only disk can be searched.

use std::fs;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use tantivy::Directory;
use tantivy::directory::error::{DeleteError, LockError, OpenReadError, OpenWriteError};
use tantivy::directory::{
    AntiCallToken, DirectoryLock, FileHandle, Lock, OwnedBytes, TerminatingWrite, WatchCallback,
    WatchHandle, WritePtr,
};

use crate::error::Error;
use crate::format::{MappedFile, disk};

/// A folder.
#[derive(Debug, Clone)]
pub(super) struct Folder {
    path: PathBuf,
    /// The first refusal of the operating system, and the file. Tantivy hands on its words at best, and
    /// those of a thread of its own not at all.
    refused: Arc<OnceLock<(PathBuf, io::Error)>>,
}

/// A file being written; synced when tantivy is done with it.
struct Output {
    file: disk::Output,
    folder: Folder,
    path: PathBuf,
}

impl Write for Output {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.file.write(bytes).map_err(|e| self.folder.refused(&self.path, e))
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

impl TerminatingWrite for Output {
    fn terminate_ref(&mut self, _: AntiCallToken) -> io::Result<()> {
        self.file.sync().map_err(|e| self.folder.refused(&self.path, e))
    }
}

impl Folder {
    /// The folder at `path`.
    pub(super) fn at(path: PathBuf) -> Self {
        Self { path, refused: Arc::default() }
    }

    /// Where it lies.
    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// The first refusal of the operating system, if there was one: what is behind an error of
    /// tantivy's. `doing` is a participle.
    pub(super) fn refusal(&self, doing: &'static str) -> Option<Error> {
        let (path, fault) = self.refused.get()?;
        Some(Error::io(doing, self.path.join(path), disk::same_fault(fault)))
    }

    /// Keeps the first refusal, and hands it on.
    fn refused(&self, path: &Path, fault: io::Error) -> io::Error {
        if !matches!(fault.kind(), io::ErrorKind::NotFound | io::ErrorKind::Interrupted) {
            self.refused.get_or_init(|| (path.to_owned(), disk::same_fault(&fault)));
        }
        fault
    }

    fn read_fault(path: &Path, fault: io::Error) -> OpenReadError {
        if fault.kind() == io::ErrorKind::NotFound {
            OpenReadError::FileDoesNotExist(path.to_owned())
        } else {
            OpenReadError::wrap_io_error(fault, path.to_owned())
        }
    }
}

impl Directory for Folder {
    fn get_file_handle(&self, path: &Path) -> Result<Arc<dyn FileHandle>, OpenReadError> {
        let full = self.path.join(path);
        if !full.is_file() {
            return Err(OpenReadError::FileDoesNotExist(path.to_owned()));
        }
        let mapped = MappedFile::open(&full).map_err(|fault| match fault {
            Error::Io { source, .. } => Self::read_fault(path, self.refused(path, source)),
            other => Self::read_fault(path, io::Error::other(other)),
        })?;
        let bytes = mapped.into_map().map_or_else(OwnedBytes::empty, OwnedBytes::new);
        Ok(Arc::new(bytes))
    }

    fn delete(&self, path: &Path) -> Result<(), DeleteError> {
        disk::remove_file(&self.path.join(path)).map_err(|fault| match fault.kind() {
            io::ErrorKind::NotFound => DeleteError::FileDoesNotExist(path.to_owned()),
            _ => DeleteError::IoError { io_error: Arc::new(fault), filepath: path.to_owned() },
        })
    }

    fn exists(&self, path: &Path) -> Result<bool, OpenReadError> {
        Ok(self.path.join(path).is_file())
    }

    fn open_write(&self, path: &Path) -> Result<WritePtr, OpenWriteError> {
        let created = disk::Output::create_new(&self.path.join(path));
        match created.map_err(|e| self.refused(path, e)) {
            Ok(file) => {
                let (folder, path) = (self.clone(), path.to_owned());
                Ok(BufWriter::new(Box::new(Output { file, folder, path })))
            }
            Err(fault) if fault.kind() == io::ErrorKind::AlreadyExists => {
                Err(OpenWriteError::FileAlreadyExists(path.to_owned()))
            }
            Err(fault) => Err(OpenWriteError::wrap_io_error(fault, path.to_owned())),
        }
    }

    fn atomic_read(&self, path: &Path) -> Result<Vec<u8>, OpenReadError> {
        let read = fs::read(self.path.join(path));
        read.map_err(|fault| Self::read_fault(path, self.refused(path, fault)))
    }

    fn atomic_write(&self, path: &Path, data: &[u8]) -> io::Result<()> {
        let target = self.path.join(path);
        let temporary = target.with_extension("new");
        let written = disk::write_synced(&temporary, data);
        written.and_then(|()| disk::rename(&temporary, &target)).map_err(|e| self.refused(path, e))
    }

    fn sync_directory(&self) -> io::Result<()> {
        disk::sync_folder(&self.path).map_err(|e| self.refused(Path::new(""), e))
    }

    fn acquire_lock(&self, _: &Lock) -> Result<DirectoryLock, LockError> {
        Ok(DirectoryLock::from(Box::new(())))
    }

    fn watch(&self, _: WatchCallback) -> tantivy::Result<WatchHandle> {
        Ok(WatchHandle::empty())
    }
}
