//! What must outlive a loss of power is synced in time. No test can cut the power; the order of the
//! boundaries that a build passes shows it as well.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use super::scene::{KINDS, Scene};

/// Walks through `boundaries` (number, change, path) and says what is not as it must be:
///
/// - when `CURRENT` gets its name, every byte written before is synced, and every name made before
///   in a folder that stays, except that of the builders' lock;
/// - nothing of an older generation is removed before that name itself is synced.
fn faults(boundaries: &[String]) -> Vec<String> {
    let (mut files, mut names) = (BTreeSet::new(), BTreeSet::new());
    let (mut committed, mut safe) = (false, false);
    let mut faults = Vec::new();
    for line in boundaries {
        let mut words = line.splitn(3, ' ').skip(1);
        let (change, path) = (words.next().unwrap(), PathBuf::from(words.next().unwrap()));
        let is_lock = path.ends_with("BUILD.lock");
        let folder = path.parent().map(Path::to_owned).unwrap_or_default();
        match change {
            "Rename" if path.ends_with("CURRENT") => {
                committed = true;
                names.retain(|name: &PathBuf| !name.ends_with("CURRENT.new"));
                faults.extend(files.iter().map(|path: &PathBuf| {
                    format!("{} is not synced when CURRENT is renamed", path.display())
                }));
                faults.extend(names.iter().map(|path| {
                    format!("the name {} is not synced when CURRENT is renamed", path.display())
                }));
            }
            "CreateFile" | "Copy" if !is_lock => {
                files.insert(path.clone());
                names.insert(path);
            }
            "Write" if !is_lock => drop(files.insert(path)),
            "CreateFolder" | "Link" | "Rename" => drop(names.insert(path)),
            "SyncFile" => drop(files.remove(&path)),
            "SyncFolder" => {
                names.retain(|name| name.parent() != Some(&path));
                safe |= committed && path.ends_with("index");
            }
            "Remove" => {
                files.remove(&path);
                names.remove(&path);
                if committed && !safe {
                    let late = folder.display();
                    faults.push(format!("{late} is removed before the name CURRENT is synced"));
                }
            }
            _ => {}
        }
    }
    if !safe {
        faults.push("the name CURRENT is never synced".to_owned());
    }
    faults
}

#[test]
fn what_a_commit_stands_on_is_synced_before_it() {
    if !cfg!(debug_assertions) {
        println!("skipped: there are no failpoints without debug assertions");
        return;
    }
    for kind in KINDS {
        let scene = Scene::set(kind, 14);
        let faults = faults(&scene.boundaries);
        assert!(faults.is_empty(), "{kind:?}:\n{}", faults.join("\n"));
        // Each sync of a file before the commit is needed: without it the check above must complain.
        let commit = scene.boundaries.iter().position(|line| line.ends_with("/CURRENT")).unwrap();
        let change = |at: usize| scene.boundaries[at].split_once(' ').unwrap().1;
        for at in (0..commit).filter(|at| change(*at).starts_with("SyncFile ")) {
            // A file that is written and synced again later, or removed.
            let is_last = !(at + 1..commit).any(|later| change(later) == change(at));
            if !is_last || change(at).ends_with(".managed.new") {
                continue;
            }
            let mut without = scene.boundaries.clone();
            let line = without.remove(at);
            assert!(!self::faults(&without).is_empty(), "without `{line}` nothing is said");
        }
    }
}
