//! Readers that go away, and disks that are full.

use std::fs::File;
use std::io::{BufRead as _, BufReader, Read as _};
use std::path::Path;
use std::process::{Child, Stdio};

use super::session::{Session, session};

/// Waits for a command whose standard output was closed: it must end well and say nothing.
fn ends_quietly(mut child: Child, line: &str) {
    let mut said = String::new();
    child.stderr.take().unwrap().read_to_string(&mut said).unwrap();
    let code = child.wait().unwrap().code();
    assert_eq!((code, said.as_str()), (Some(0), ""), "{line}");
}

fn project() -> Session {
    let s = session!();
    s.bikes();
    assert_eq!(s.prepare("build").code, 0);
    s
}

/// `atlas measure | head -1`.
#[test]
fn a_reader_that_has_seen_enough() {
    let s = project();
    for line in ["measure", "measure --format json", "search battery --explain"] {
        let mut child = s.command(line).spawn().unwrap();
        let mut first = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut first).unwrap();
        assert!(!first.is_empty(), "{line}");
        ends_quietly(child, line);
    }
}

/// Nobody reads from the start, so that the first write already fails.
#[test]
fn a_reader_that_never_was() {
    let s = project();
    for line in ["measure", "search battery", "status", "leakage", "--help", "build"] {
        let mut child = s.command(line).spawn().unwrap();
        drop(child.stdout.take());
        ends_quietly(child, line);
    }
}

/// Writing fails for another reason than a closed pipe: that is an error.
#[test]
fn a_full_disk_is_told() {
    let full = Path::new("/dev/full");
    if !full.exists() {
        return;
    }
    let s = project();
    let mut command = s.command("status");
    let out = command.stdout(Stdio::from(File::create(full).unwrap())).output().unwrap();
    let said = String::from_utf8(out.stderr).unwrap();
    assert_eq!(out.status.code(), Some(4));
    assert!(said.starts_with("error: writing to standard output: No space left"), "{said}");
}
