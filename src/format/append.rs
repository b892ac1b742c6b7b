//! Files that only grow: one record a line.

use std::fs::{File, OpenOptions};
use std::io::{Read as _, Result, Seek as _, SeekFrom, Write as _};
use std::path::Path;

use serde::Serialize;

use super::disk::{self, Change, Output};

/// Appends `record` as one line of JSON to the file at `path`, whose folder is made when it is missing.
///
/// The line is written at once, so that processes that append do not mix, and a line that a killed
/// process left torn is ended first. A `private` file is created readable by its owner only.
pub fn append_line(path: &Path, record: &impl Serialize, private: bool) -> Result<File> {
    if let Some(folder) = path.parent().filter(|folder| !folder.as_os_str().is_empty()) {
        disk::create_folders(folder)?;
    }
    let mut line = serde_json::to_vec(record)?;
    line.push(b'\n');
    disk::boundary(Change::CreateFile, path)?;
    let mut file = open(path, private)?;
    if is_torn(&mut file)? {
        line.insert(0, b'\n');
    }
    let mut file = Output::to(file, path);
    file.write_all(&line)?;
    Ok(file.into_file())
}

/// Whether the last line of `file` has no end.
fn is_torn(file: &mut File) -> Result<bool> {
    if file.seek(SeekFrom::End(0))? == 0 {
        return Ok(false);
    }
    file.seek(SeekFrom::End(-1))?;
    let mut last = [0];
    file.read_exact(&mut last)?;
    Ok(last != *b"\n")
}

#[cfg(unix)]
fn open(path: &Path, private: bool) -> Result<File> {
    use std::os::unix::fs::OpenOptionsExt as _;
    let mode = if private { 0o600 } else { 0o666 };
    OpenOptions::new().create(true).read(true).append(true).mode(mode).open(path)
}

#[cfg(not(unix))]
fn open(path: &Path, _private: bool) -> Result<File> {
    OpenOptions::new().create(true).read(true).append(true).open(path)
}
