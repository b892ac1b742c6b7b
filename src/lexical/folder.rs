//! Tantivy's view of a folder of a generation: written once, then read-only.
//!
//! No lock files, no watcher: a generation has one writer, which holds the store's lock, and its
//! files never change afterwards, so an index on a read-only disk can be searched.

use std::fs;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use tantivy::Directory;
use tantivy::directory::error::{DeleteError, LockError, OpenReadError, OpenWriteError};
use tantivy::directory::{
    AntiCallToken, DirectoryLock, FileHandle, Lock, OwnedBytes, TerminatingWrite, WatchCallback,
    WatchHandle, WritePtr,
};

use crate::format::{MappedFile, disk};

/// A folder.
#[derive(Debug, Clone)]
pub(super) struct Folder(pub PathBuf);

/// A file being written; synced when tantivy is done with it.
struct Output(disk::Output);

impl Write for Output {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}

impl TerminatingWrite for Output {
    fn terminate_ref(&mut self, _: AntiCallToken) -> io::Result<()> {
        self.0.sync()
    }
}

impl Folder {
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
        let full = self.0.join(path);
        if !full.is_file() {
            return Err(OpenReadError::FileDoesNotExist(path.to_owned()));
        }
        let mapped = MappedFile::open(&full).map_err(|fault| match fault {
            crate::error::Error::Io { source, .. } => Self::read_fault(path, source),
            other => Self::read_fault(path, io::Error::other(other)),
        })?;
        let bytes = mapped.into_map().map_or_else(OwnedBytes::empty, OwnedBytes::new);
        Ok(Arc::new(bytes))
    }

    fn delete(&self, path: &Path) -> Result<(), DeleteError> {
        disk::remove_file(&self.0.join(path)).map_err(|fault| match fault.kind() {
            io::ErrorKind::NotFound => DeleteError::FileDoesNotExist(path.to_owned()),
            _ => DeleteError::IoError { io_error: Arc::new(fault), filepath: path.to_owned() },
        })
    }

    fn exists(&self, path: &Path) -> Result<bool, OpenReadError> {
        Ok(self.0.join(path).is_file())
    }

    fn open_write(&self, path: &Path) -> Result<WritePtr, OpenWriteError> {
        match disk::Output::create_new(&self.0.join(path)) {
            Ok(file) => Ok(BufWriter::new(Box::new(Output(file)))),
            Err(fault) if fault.kind() == io::ErrorKind::AlreadyExists => {
                Err(OpenWriteError::FileAlreadyExists(path.to_owned()))
            }
            Err(fault) => Err(OpenWriteError::wrap_io_error(fault, path.to_owned())),
        }
    }

    fn atomic_read(&self, path: &Path) -> Result<Vec<u8>, OpenReadError> {
        fs::read(self.0.join(path)).map_err(|fault| Self::read_fault(path, fault))
    }

    fn atomic_write(&self, path: &Path, data: &[u8]) -> io::Result<()> {
        let target = self.0.join(path);
        let temporary = target.with_extension("new");
        disk::write_synced(&temporary, data)?;
        disk::rename(&temporary, &target)
    }

    fn sync_directory(&self) -> io::Result<()> {
        disk::sync_folder(&self.0)
    }

    fn acquire_lock(&self, _: &Lock) -> Result<DirectoryLock, LockError> {
        Ok(DirectoryLock::from(Box::new(())))
    }

    fn watch(&self, _: WatchCallback) -> tantivy::Result<WatchHandle> {
        Ok(WatchHandle::empty())
    }
}
