//! Faults set at the boundaries of `disk`, for tests. Compiled only with debug assertions.
//!
//! The process counts its boundaries from 1 in the order in which they are passed. A [`Failpoint`] says
//! what happens from which one on. The library reads no environment; the binary takes `ATLAS_FAILPOINT`
//! (debug builds only):
//!
//! | Text | What happens |
//! | --- | --- |
//! | `count` | nothing; the boundaries passed are listed on standard error when the command ends |
//! | `kill@N` | the process dies before change N, as by SIGKILL: nothing is flushed, nothing is tidied |
//! | `torn@N` | it dies in the midst of change N: half of the bytes of a write are on the disk |
//! | `eio@N` | change N alone fails: a bad disk |
//! | `enospc@N` | from change N on, every change that takes space fails: a full disk |
//! | `erofs@N` | from change N on, every change fails: a disk that became read-only |
//! | `emfile@N` | from change N on, every change that opens a file fails: too many open files |

use std::fs::File;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, OnceLock, PoisonError};

use super::disk::Change;
use crate::error::{Error, Result};

/// What happens, and from which boundary on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Failpoint {
    kind: Kind,
    at: usize,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Count,
    Kill,
    Torn,
    /// The number of the error.
    Fail(i32),
}

const EIO: i32 = 5;
const EMFILE: i32 = 24;
const ENOSPC: i32 = 28;
const EROFS: i32 = 30;

static SET: OnceLock<Failpoint> = OnceLock::new();

/// The boundaries passed so far.
static PASSED: Mutex<Vec<(Change, PathBuf)>> = Mutex::new(Vec::new());

impl Failpoint {
    /// Reads `kill@17` and the like.
    ///
    /// # Errors
    /// [`Error::Invalid`] for any other text.
    pub fn parse(text: &str) -> Result<Self> {
        let wrong = || {
            let expected =
                "`count`, or `kill@N`, `torn@N`, `eio@N`, `enospc@N`, `erofs@N`, `emfile@N`";
            Error::invalid("ATLAS_FAILPOINT", format!("`{text}`"), expected)
        };
        if text == "count" {
            return Ok(Self { kind: Kind::Count, at: 0 });
        }
        let (kind, at) = text.split_once('@').ok_or_else(wrong)?;
        let kind = match kind {
            "kill" => Kind::Kill,
            "torn" => Kind::Torn,
            "eio" => Kind::Fail(EIO),
            "enospc" => Kind::Fail(ENOSPC),
            "erofs" => Kind::Fail(EROFS),
            "emfile" => Kind::Fail(EMFILE),
            _ => return Err(wrong()),
        };
        Ok(Self { kind, at: at.parse().map_err(|_| wrong())? })
    }

    /// Puts it in force for the rest of the process; the first one stays.
    pub fn set(self) {
        let _ = SET.set(self);
    }
}

/// The boundaries passed so far, one a line: number, change, path.
pub fn passed() -> Vec<String> {
    let passed = PASSED.lock().unwrap_or_else(PoisonError::into_inner);
    let line = |(at, (change, path)): (usize, &(Change, PathBuf))| {
        format!("{} {change:?} {}", at + 1, path.display())
    };
    passed.iter().enumerate().map(line).collect()
}

/// Passes a boundary, or fails or dies there. For a write, `bytes` are what was about to go to the file.
pub(super) fn pass(
    change: Change,
    path: &Path,
    bytes: Option<(&mut File, &[u8])>,
) -> io::Result<()> {
    let Some(Failpoint { kind, at }) = SET.get() else { return Ok(()) };
    let mut passed = PASSED.lock().unwrap_or_else(PoisonError::into_inner);
    passed.push((change, path.to_owned()));
    let now = passed.len();
    match kind {
        Kind::Kill if now == *at => std::process::abort(),
        Kind::Torn if now == *at => {
            if let Some((file, bytes)) = bytes {
                let _ = file.write_all(&bytes[..bytes.len() / 2]);
            }
            std::process::abort()
        }
        Kind::Fail(number) if now >= *at && concerns(*number, change, now == *at) => {
            Err(io::Error::from_raw_os_error(*number))
        }
        _ => Ok(()),
    }
}

/// Whether the error `number` can come of `change`; `first` at the boundary that it was set at.
fn concerns(number: i32, change: Change, first: bool) -> bool {
    use Change::{Copy, CreateFile, CreateFolder, Link, OpenFolder, SyncFile, Write};
    match number {
        EIO => first,
        ENOSPC => matches!(change, CreateFolder | CreateFile | Write | Link | Copy | SyncFile),
        EMFILE => matches!(change, CreateFile | Copy | OpenFolder),
        _ => true,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_read_or_refused() {
        let kill = Failpoint { kind: Kind::Kill, at: 17 };
        assert_eq!(Failpoint::parse("kill@17").unwrap(), kill);
        assert_eq!(Failpoint::parse("enospc@3").unwrap().kind, Kind::Fail(ENOSPC));
        for text in ["", "kill", "kill@", "kill@x", "burn@1"] {
            let fault = Failpoint::parse(text).unwrap_err().to_string();
            assert!(
                fault.starts_with(&format!("ATLAS_FAILPOINT is `{text}`; expected")),
                "{fault}"
            );
        }
    }
}
