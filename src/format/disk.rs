//! Every change to the disk, through one door.
//!
//! Each function here is a *boundary*: before it the disk is in one state, after it in another, and a
//! build can be killed, or refused by the operating system, between the two. In a build with debug
//! assertions a fault can be set at any of them (see [`failpoint`](super::failpoint)), which is how the
//! tests kill a build at each in turn; in a release there is nothing of that. The rooms that write an
//! index change the disk nowhere else, and `tests/architecture.rs` holds them to it.

use std::fs::{self, File};
use std::io::{self, Result, Write};
use std::path::{Path, PathBuf};

/// A kind of change.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Change {
    /// A folder appears.
    CreateFolder,
    /// A file appears, or is opened to be written.
    CreateFile,
    /// Bytes are appended to a file.
    Write,
    /// A file appears that shares the bytes of another.
    Link,
    /// A file appears with the bytes of another.
    Copy,
    /// The bytes of a file must outlive the power.
    SyncFile,
    /// A folder is opened, to be synced.
    OpenFolder,
    /// The names in a folder must outlive the power.
    SyncFolder,
    /// A file gets another name.
    Rename,
    /// Who may enter a folder changes.
    Restrict,
    /// A file or an empty folder goes.
    Remove,
}

/// Passes the boundary of `change` at `path`, unless a fault is set there.
#[cfg(debug_assertions)]
pub(crate) fn boundary(change: Change, path: &Path) -> Result<()> {
    super::failpoint::pass(change, path, None)
}

/// Passes the boundary: a release has no faults to set.
#[cfg(not(debug_assertions))]
#[inline]
pub(crate) fn boundary(_: Change, _: &Path) -> Result<()> {
    Ok(())
}

/// A file that is being written. What is written goes to the operating system at once, so a caller with
/// small pieces puts a [`BufWriter`](std::io::BufWriter) before it.
#[derive(Debug)]
pub(crate) struct Output {
    file: File,
    path: PathBuf,
}

impl Output {
    /// Creates `path`, which must not exist.
    pub(crate) fn create_new(path: &Path) -> Result<Self> {
        boundary(Change::CreateFile, path)?;
        Ok(Self { file: File::create_new(path)?, path: path.to_owned() })
    }

    /// Creates `path`, or empties it.
    pub(crate) fn create(path: &Path) -> Result<Self> {
        boundary(Change::CreateFile, path)?;
        Ok(Self { file: File::create(path)?, path: path.to_owned() })
    }

    /// Writes to `file`, which was opened at `path`.
    pub(crate) fn to(file: File, path: &Path) -> Self {
        Self { file, path: path.to_owned() }
    }

    /// The open file, for its lock.
    pub(crate) fn into_file(self) -> File {
        self.file
    }

    /// Cuts or fills the file to `length` bytes.
    pub(crate) fn set_len(&self, length: u64) -> Result<()> {
        boundary(Change::Write, &self.path)?;
        self.file.set_len(length)
    }

    /// Returns when the bytes would outlive a loss of power.
    pub(crate) fn sync(&self) -> Result<()> {
        boundary(Change::SyncFile, &self.path)?;
        self.file.sync_all()
    }
}

impl Write for Output {
    fn write(&mut self, bytes: &[u8]) -> Result<usize> {
        #[cfg(debug_assertions)]
        super::failpoint::pass(Change::Write, &self.path, Some((&mut self.file, bytes)))?;
        self.file.write(bytes)
    }

    fn flush(&mut self) -> Result<()> {
        self.file.flush()
    }
}

/// Writes `bytes` to a new or emptied file at `path` and syncs it.
pub(crate) fn write_synced(path: &Path, bytes: &[u8]) -> Result<()> {
    let mut file = Output::create(path)?;
    file.write_all(bytes)?;
    file.sync()
}

/// Syncs the file at `path`, as after a copy.
pub(crate) fn sync_file(path: &Path) -> Result<()> {
    boundary(Change::SyncFile, path)?;
    File::open(path)?.sync_all()
}

/// A folder whose names can be synced, with nothing left to open: whoever has a name to change that must
/// not be left in doubt opens the folder first.
#[derive(Debug)]
pub(crate) struct Names {
    open: Option<File>,
    folder: PathBuf,
}

impl Names {
    /// Opens `folder`; nothing where the system cannot sync a folder.
    pub(crate) fn of(folder: &Path) -> Result<Self> {
        boundary(Change::OpenFolder, folder)?;
        let open = if cfg!(unix) { Some(File::open(folder)?) } else { None };
        Ok(Self { open, folder: folder.to_owned() })
    }

    /// Returns when the names would outlive a loss of power.
    pub(crate) fn sync(&self) -> Result<()> {
        boundary(Change::SyncFolder, &self.folder)?;
        self.open.as_ref().map_or(Ok(()), File::sync_all)
    }
}

/// Syncs the names in `folder`.
pub(crate) fn sync_folder(folder: &Path) -> Result<()> {
    Names::of(folder)?.sync()
}

/// Syncs the names in `folder` and in every folder below it.
pub(crate) fn sync_folders(folder: &Path) -> Result<()> {
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        if entry.file_type()?.is_dir() {
            sync_folders(&entry.path())?;
        }
    }
    sync_folder(folder)
}

/// Makes a folder, whose parent must exist.
pub(crate) fn create_folder(path: &Path) -> Result<()> {
    boundary(Change::CreateFolder, path)?;
    fs::create_dir(path)
}

/// Makes a folder and those above it, and syncs their names; one that exists is left as it is.
pub(crate) fn create_folders(path: &Path) -> Result<()> {
    if path.is_dir() {
        return Ok(());
    }
    let above = path.parent().filter(|above| !above.as_os_str().is_empty());
    if let Some(above) = above {
        create_folders(above)?;
    }
    boundary(Change::CreateFolder, path)?;
    match fs::create_dir(path) {
        // Another process was faster.
        Err(fault) if fault.kind() == io::ErrorKind::AlreadyExists && path.is_dir() => {}
        made => made?,
    }
    sync_folder(above.unwrap_or(Path::new(".")))
}

/// Gives `from` the name `to`, in place of a file of that name.
pub(crate) fn rename(from: &Path, to: &Path) -> Result<()> {
    boundary(Change::Rename, to)?;
    fs::rename(from, to)
}

/// Gives the bytes of `from` a second name.
pub(crate) fn link(from: &Path, to: &Path) -> Result<()> {
    boundary(Change::Link, to)?;
    fs::hard_link(from, to)
}

/// Copies the bytes of `from` to `to`; not synced.
pub(crate) fn copy(from: &Path, to: &Path) -> Result<()> {
    boundary(Change::Copy, to)?;
    fs::copy(from, to).map(|_| ())
}

/// Removes a file.
pub(crate) fn remove_file(path: &Path) -> Result<()> {
    boundary(Change::Remove, path)?;
    fs::remove_file(path)
}

/// Removes a folder and all in it, one name at a time.
pub(crate) fn remove_folder(path: &Path) -> Result<()> {
    for entry in fs::read_dir(path)? {
        let entry = entry?;
        if entry.file_type()?.is_dir() {
            remove_folder(&entry.path())?;
        } else {
            remove_file(&entry.path())?;
        }
    }
    boundary(Change::Remove, path)?;
    fs::remove_dir(path)
}

/// Lets only the owner enter `folder`: index files hold restricted text.
#[cfg(unix)]
pub(crate) fn restrict(folder: &Path) -> Result<()> {
    use std::os::unix::fs::PermissionsExt as _;
    boundary(Change::Restrict, folder)?;
    fs::set_permissions(folder, fs::Permissions::from_mode(0o700))
}

/// Nothing: folders are the owner's own here.
#[cfg(not(unix))]
pub(crate) fn restrict(_: &Path) -> Result<()> {
    Ok(())
}

/// A failure by its own number where it has one, so that what is said about it is not lost on the way
/// through a crate that copies its errors.
pub(crate) fn same_fault(fault: &io::Error) -> io::Error {
    fault.raw_os_error().map_or_else(
        || io::Error::new(fault.kind(), fault.to_string()),
        io::Error::from_raw_os_error,
    )
}
