//! A disk that refuses: full, broken, read-only, forbidden, too many open files. The error names the file
//! and a way out, the exit code is 4, and the old index is untouched and served.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::process::Command;

use super::scene::{KINDS, Kind, Scene, Served, clear};
use super::subject::{Ended, Random, Subject, ended, number, on_all_cores, scratch};

const DOCUMENTS: usize = 14;

/// What a message must offer, by the words of the operating system that stand in it.
const WAYS_OUT: [(&str, &str); 6] = [
    ("No space left on device", "free some space"),
    ("File too large", "ulimit -f"),
    ("Too many open files", "ulimit -n"),
    ("Read-only file system", "--index DIR"),
    ("Permission denied", "permission"),
    ("Input/output error", "check the disk"),
];

/// Judges how `subject` stands after a build that was refused, or was not. `may_be_new` where the
/// new generation had its name already.
fn judge(
    scene: &Scene,
    subject: &Subject,
    built: &Ended,
    may_be_new: bool,
) -> Result<bool, String> {
    let refused = match built.code {
        Some(0) => false,
        Some(4) => true,
        _ => return Err(format!("{built:?}")),
    };
    let served = scene.served(subject)?;
    if !refused {
        if served != Served::New {
            return Err(format!("it succeeded, and serves {served:?}"));
        }
        return Ok(false);
    }
    message(subject, &built.stderr)?;
    // A full disk is as full as it was; where nothing can be removed or opened, the next build tidies.
    if built.stderr.contains("No space left") || built.stderr.contains("File too large") {
        let (now, before) = (generations(subject), generations(&scene.before));
        if now != before {
            return Err(format!("there were the generations {before:?}, and are {now:?}"));
        }
    }
    if may_be_new && served == Served::New {
        return Ok(true);
    }
    if served != if scene.old.is_some() { Served::Old } else { Served::Nothing } {
        return Err(format!("it failed, and serves {served:?}"));
    }
    let now = subject.bytes();
    for (path, bytes) in scene.before.bytes() {
        let path = subject.folder.join(path.strip_prefix(&scene.before.folder).unwrap());
        if now.get(&path) != Some(&bytes) {
            return Err(format!("{} is not as it was", path.display()));
        }
    }
    Ok(true)
}

/// What stands in the index folder beside the lock.
fn generations(subject: &Subject) -> BTreeSet<OsString> {
    let Ok(entries) = std::fs::read_dir(subject.index()) else { return BTreeSet::new() };
    entries.map(|entry| entry.unwrap().file_name()).filter(|name| name != "BUILD.lock").collect()
}

/// Whether an error names a file of the project and the way out.
fn message(subject: &Subject, stderr: &str) -> Result<(), String> {
    let Some(error) = stderr.lines().find(|line| line.starts_with("error: ")) else {
        return Err(format!("no error is told: {stderr}"));
    };
    if !error.contains(&*subject.folder.to_string_lossy()) {
        return Err(format!("no file is named: {error}"));
    }
    let known = WAYS_OUT.iter().find(|(words, _)| error.contains(words));
    match known {
        Some((_, way)) if error.contains(way) => Ok(()),
        _ => Err(format!("no way out is named: {error}")),
    }
}

#[test]
fn a_refusal_at_any_boundary_leaves_the_old_index() {
    if !cfg!(debug_assertions) {
        println!("skipped: there are no failpoints without debug assertions");
        return;
    }
    let seed = number("ATLAS_SEED", 1);
    let step = number("ATLAS_BOUNDARY_STEP", 30) as usize;
    let mut random = Random(seed);
    for kind in KINDS {
        let scene = Scene::set(kind, DOCUMENTS);
        let count = scene.boundaries.len();
        let commit = scene.boundaries.iter().position(|line| line.ends_with("/CURRENT")).unwrap();
        let mut cases = Vec::new();
        for kind in ["eio", "enospc", "erofs", "emfile"] {
            let first = random.below(step);
            let near = commit.saturating_sub(2)..(commit + 2).min(count);
            let chosen = (0..count).filter(|at| at % step == first || near.contains(at));
            cases.extend(chosen.map(|at| (kind, at)));
        }
        let judged = on_all_cores(&cases, |number, (kind, at)| {
            let subject = scene.fresh(&format!("refused-{number}"));
            let point = format!("{kind}@{}", at + 1);
            let mut command = subject.command(Scene::line(scene.kind));
            let built = ended(command.env("ATLAS_FAILPOINT", &point));
            let judged = judge(&scene, &subject, &built, *at > commit)
                .and_then(|refused| scene.judge(&subject).map(|_| refused));
            if judged.is_ok() {
                clear(&subject.folder);
            }
            judged.map_err(|fault| format!("{point} {}: {fault}", scene.boundaries[*at]))
        });
        tell(&format!("seed {seed}, {kind:?} build, errors at boundaries"), judged);
    }
}

/// Prints how many builds were refused; faults are failures.
fn tell(what: &str, judged: Vec<Result<bool, String>>) {
    let count = judged.len();
    let refused = judged.iter().filter(|judged| **judged == Ok(true)).count();
    let faults: Vec<String> = judged.into_iter().filter_map(Result::err).collect();
    println!("{what}: {count} runs, {refused} refused");
    assert!(faults.is_empty(), "{} of {count}:\n{}", faults.len(), faults.join("\n"));
    assert!(refused > 0, "{what}: nothing was refused");
}

/// The build of `scene` inside `script`, in which `$0` is the program and `$@` its arguments.
fn under(subject: &Subject, script: &str, line: &str) -> Ended {
    let mut command = Command::new("sh");
    command.args(["-c", script, env!("CARGO_BIN_EXE_atlas")]).args(line.split(' '));
    subject.at_home(&mut command);
    ended(&mut command)
}

#[test]
#[cfg(unix)]
fn too_many_open_files() {
    let scene = Scene::set(Kind::Incremental, DOCUMENTS);
    let limits = [5, 6, 7, 8, 9, 10, 11, 12, 14, 16, 20, 30, 40];
    let judged = on_all_cores(&limits, |_, limit: &u32| {
        let subject = scene.fresh(&format!("files-{limit}"));
        let built = under(&subject, &format!("ulimit -n {limit}; exec \"$0\" \"$@\""), "build");
        if built.code == Some(127) && built.stderr.contains("shared libraries") {
            return Ok(true); // The program could not even be loaded.
        }
        judge(&scene, &subject, &built, false)
            .and_then(|refused| scene.judge(&subject).map(|_| refused))
            .map_err(|fault| format!("{limit} open files: {fault}"))
    });
    tell("limits on open files", judged);
}

#[test]
#[cfg(unix)]
fn files_that_may_not_grow() {
    let scene = Scene::set(Kind::Incremental, DOCUMENTS);
    // In blocks of 512 bytes (1024 in some shells). The signal is ignored, as a server would.
    let limits = [0, 1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 4096];
    let judged = on_all_cores(&limits, |_, limit: &u32| {
        let subject = scene.fresh(&format!("size-{limit}"));
        let script = format!("trap '' XFSZ; ulimit -f {limit}; exec \"$0\" \"$@\"");
        let built = under(&subject, &script, "build");
        judge(&scene, &subject, &built, false)
            .and_then(|refused| scene.judge(&subject).map(|_| refused))
            .map_err(|fault| format!("files of at most {limit} blocks: {fault}"))
    });
    tell("limits on the size of files", judged);
}

/// Runs `script` where it may mount: in a name space of its own. `None`, with the reason printed, when
/// this user may not.
#[cfg(target_os = "linux")]
fn mounted(subject: &Subject, script: &str) -> Option<Ended> {
    let mut command = Command::new("unshare");
    command.args(["--mount", "sh", "-c", script, env!("CARGO_BIN_EXE_atlas")]);
    subject.at_home(&mut command);
    let Ok(out) = command.output() else {
        println!("skipped: there is no `unshare`");
        return None;
    };
    let stderr = String::from_utf8_lossy(&out.stderr).into_owned();
    if !subject.at("mounted").exists() {
        println!("skipped: this user may not mount: {}", stderr.trim());
        return None;
    }
    let stdout = String::from_utf8_lossy(&out.stdout).into_owned();
    Some(Ended { code: out.status.code(), stdout, stderr })
}

#[test]
#[cfg(target_os = "linux")]
fn a_full_disk() {
    // All is written again, so that it is known how much room it takes.
    let scene = Scene::set(Kind::Full, DOCUMENTS);
    let held: usize =
        scene.before.bytes().values().map(|bytes| bytes.len().div_ceil(4096) * 4).sum();
    let mut judged = Vec::new();
    // From a disk that holds no more than the old generations to one on which the new one fits.
    for more in [12, 16, 24, 32, 40, 48, 64, 80, 96, 128, 4096] {
        let subject = scene.fresh(&format!("full-{more}"));
        let script = format!(
            "mv index kept && mkdir index && mount -t tmpfs -o size={}k tmpfs index || exit 99\n\
             touch mounted; cp -a kept/. index/ || exit 98\n\
             \"$0\" build --full; code=$?; cp -a index after; umount index; rmdir index; mv after index; exit $code",
            held + more
        );
        let Some(built) = mounted(&subject, &script) else { return };
        let fault = |fault| format!("{more} kB free: {fault}");
        judged.push(
            judge(&scene, &subject, &built, false)
                .and_then(|refused| scene.judge(&subject).map(|_| refused))
                .map_err(fault),
        );
    }
    tell("disks of a few kB", judged);
}

#[test]
#[cfg(target_os = "linux")]
fn a_read_only_disk() {
    let folder = scratch();
    let subject = current(&folder);
    let (bytes, answers) = (subject.bytes(), subject.answers().unwrap());
    let script = "mount --bind index index && mount -o remount,ro,bind index || exit 99\n\
                  touch mounted; \"$0\" search 'dry seal' && \"$0\" verify && \"$0\" build --full";
    let Some(built) = mounted(&subject, script) else { return };
    // Searching and checking write nothing, so they work; building does not.
    assert!(built.stdout.contains("seal whistles"), "{built:?}");
    assert!(built.stdout.contains("every section as it was written"), "{built:?}");
    assert_eq!((built.code, message(&subject, &built.stderr)), (Some(4), Ok(())), "{built:?}");
    assert!(built.stderr.contains("Read-only file system"), "{built:?}");
    assert!(subject.bytes() == bytes && subject.answers().unwrap() == answers);
}

/// A project whose index is of its files as they are, so that a search does not build on the way.
fn current(folder: &tempfile::TempDir) -> Subject {
    let subject = Subject::create(&folder.path().join("current"), DOCUMENTS);
    subject.build().unwrap();
    subject
}

/// Runs `line` as a user who owns nothing; `None`, with the reason printed, when that cannot be done.
#[cfg(unix)]
fn as_nobody(subject: &Subject, line: &str) -> Option<Ended> {
    use std::os::unix::fs::MetadataExt as _;
    let mut command = if subject.folder.metadata().unwrap().uid() == 0 {
        let mut command = Command::new("setpriv");
        command.args(["--reuid", "65534", "--regid", "65534", "--clear-groups"]);
        command.arg(env!("CARGO_BIN_EXE_atlas"));
        command
    } else {
        Command::new(env!("CARGO_BIN_EXE_atlas"))
    };
    subject.at_home(command.args(line.split(' ')));
    match command.output() {
        Ok(out) if out.status.code() != Some(127) => Some(Ended {
            code: out.status.code(),
            stdout: String::from_utf8_lossy(&out.stdout).into_owned(),
            stderr: String::from_utf8_lossy(&out.stderr).into_owned(),
        }),
        tried => {
            println!(
                "skipped: permissions do not bind root, and there is no other user: {tried:?}"
            );
            None
        }
    }
}

#[test]
#[cfg(unix)]
fn no_permission() {
    use std::fs::{self, Permissions};
    use std::os::unix::fs::PermissionsExt as _;
    let folder = scratch();
    let subject = current(&folder);
    let (bytes, answers) = (subject.bytes(), subject.answers().unwrap());
    let set =
        |path: &std::path::Path, mode| fs::set_permissions(path, Permissions::from_mode(mode));
    // The folder of the test is its owner's own; whoever runs it as root plays another user.
    for folder in [subject.folder.as_path(), folder.path()] {
        set(folder, 0o755).unwrap();
    }
    let files = &bytes;
    let folders: Vec<_> = files.keys().map(|path| path.parent().unwrap().to_owned()).collect();

    // All may be read, nothing written.
    files.keys().for_each(|path| set(path, 0o444).unwrap());
    folders.iter().for_each(|path| set(path, 0o555).unwrap());
    set(&subject.index(), 0o555).unwrap();
    let Some(built) = as_nobody(&subject, "build --full") else { return };
    assert_eq!((built.code, message(&subject, &built.stderr)), (Some(4), Ok(())), "{built:?}");
    let found = as_nobody(&subject, "search seal").unwrap();
    assert!(found.code == Some(0) && found.stdout.contains("whistles"), "{found:?}");

    // The folder may be entered, the files may not be read.
    files.keys().filter(|path| !path.ends_with("CURRENT")).for_each(|path| set(path, 0).unwrap());
    let found = as_nobody(&subject, "search seal").unwrap();
    assert_eq!((found.code, message(&subject, &found.stderr)), (Some(4), Ok(())), "{found:?}");

    // Not even the folder may be entered.
    set(&subject.index(), 0).unwrap();
    for line in ["search seal", "build --full", "verify"] {
        let found = as_nobody(&subject, line).unwrap();
        assert_eq!((found.code, message(&subject, &found.stderr)), (Some(4), Ok(())), "{found:?}");
    }

    // Given back, all is as it was.
    set(&subject.index(), 0o755).unwrap();
    folders.iter().for_each(|path| set(path, 0o755).unwrap());
    files.keys().for_each(|path| set(path, 0o644).unwrap());
    assert!(subject.bytes() == bytes && subject.answers().unwrap() == answers);
}
