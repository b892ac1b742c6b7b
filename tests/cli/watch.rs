//! `build --watch`, driven as a child: what it says is waited for, line by line, never slept for.

use std::fs;
use std::io::{BufRead as _, BufReader, Read};
use std::process::{Child, Command};
use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::{Duration, Instant};

use super::session::{Ran, Session, session};

/// No wait is longer; what is waited for comes within a second on an idle machine.
const AT_MOST: Duration = Duration::from_secs(60);

/// A watching child and what it says.
struct Watch {
    child: Child,
    lines: Receiver<(bool, String)>,
    stdout: String,
    stderr: String,
}

impl Watch {
    /// Starts `line` and waits until it watches.
    fn start(s: &Session, line: &str) -> Self {
        let mut child = s.command(line).spawn().unwrap();
        let (send, lines) = channel();
        let pipes: [(bool, Box<dyn Read + Send>); 2] = [
            (true, Box::new(child.stdout.take().unwrap())),
            (false, Box::new(child.stderr.take().unwrap())),
        ];
        for (out, pipe) in pipes {
            let send = send.clone();
            thread::spawn(move || {
                for line in BufReader::new(pipe).lines() {
                    let _ = send.send((out, line.unwrap()));
                }
            });
        }
        let mut watch = Self { child, lines, stdout: String::new(), stderr: String::new() };
        watch.until("interrupt to end");
        watch
    }

    /// Waits for a line that holds `wanted`.
    fn until(&mut self, wanted: &str) -> String {
        let deadline = Instant::now() + AT_MOST;
        loop {
            let left = deadline.saturating_duration_since(Instant::now());
            let Ok((out, line)) = self.lines.recv_timeout(left) else {
                panic!("no line holds `{wanted}`:\n{}{}", self.stdout, self.stderr);
            };
            let to = if out { &mut self.stdout } else { &mut self.stderr };
            to.push_str(&line);
            to.push('\n');
            if line.contains(wanted) {
                return line;
            }
        }
    }

    /// Sends `signal` and gives what the session said in all.
    fn end(mut self, signal: &str) -> Ran {
        let id = self.child.id().to_string();
        assert!(Command::new("kill").args([signal, &id]).status().unwrap().success());
        let status = self.child.wait().unwrap();
        while let Ok((out, line)) = self.lines.recv() {
            let to = if out { &mut self.stdout } else { &mut self.stderr };
            to.push_str(&line);
            to.push('\n');
        }
        let code = status.code().unwrap_or(-1);
        Ran { stdout: self.stdout.clone(), stderr: self.stderr.clone(), code }
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Writes a file whole at once, as an editor does: nobody sees a half of it.
fn replace(s: &Session, path: &str, text: &str) {
    s.write("aside", text);
    fs::rename(s.at("aside"), s.at(path)).unwrap();
}

/// What a session over changes of every kind says, `how` it watches.
fn session_over_changes(s: &mut Session, how: &str) {
    s.pumps();
    let line = format!("build --watch{how}");
    let mut watch = Watch::start(s, &line);
    // The two streams are read by two threads, so that either may be heard first.
    if watch.stdout.is_empty() {
        watch.until("generation 1");
    }
    assert!(watch.stdout.starts_with("generation 1: 3 added"), "{}", watch.stdout);
    replace(s, "docs/hose.md", "# Hoses\n\nA hose is laid without a bend.\n");
    watch.until("generation 2: 0 added, 1 updated, 0 removed");
    let found = s.prepare("search 'how is a hose laid' -k 1");
    assert!(found.stdout.contains("without a bend") && found.stderr.is_empty(), "{}", found.stderr);
    replace(s, "docs/hose.md", "# Hoses\n\nA hose is laid without a knot.\n");
    watch.until("generation 3: 0 added, 1 updated, 0 removed");
    s.write("more/nut.md", "# Nuts\n\nA nut holds the hose.\n");
    s.write("more/bad.md", "---\nid: BAD\n");
    fs::rename(s.at("more"), s.at("docs/more")).unwrap();
    watch.until("skipped     more/bad.md");
    replace(s, "docs/more/nut.md", "# Nuts\n\nA nut keeps the hose.\n");
    watch.until("generation 5: 0 added, 1 updated, 0 removed; 4 documents");
    fs::remove_file(s.at("docs/valve.txt")).unwrap();
    watch.until("generation 6: 0 added, 0 updated, 1 removed; 3 documents");
    let settings = s.read("atlas.toml");
    replace(s, "atlas.toml", &format!("passage.max_tokens = 64\n{settings}"));
    watch.until("generation 7: 0 added, 0 updated, 0 removed");
    replace(s, "atlas.toml", &format!("passage.max_token = 64\n{settings}"));
    watch.until("did you mean `max_tokens`?");
    replace(s, "atlas.toml", &format!("passage.max_tokens = 64\n{settings}"));
    replace(s, "docs/hose.md", "# Hoses\n\nA hose is laid without a twist.\n");
    watch.until("generation 8: 0 added, 1 updated, 0 removed");
    let ran = watch.end("-TERM");
    assert_eq!(ran.code, 0, "{}{}", ran.stdout, ran.stderr);
    let stdout = s.shown(&ran.stdout);
    s.keep(&line, &stdout, &ran);
    assert_eq!(s.prepare("verify").code, 0);
    let again = s.run("build");
    assert!(again.stdout.starts_with("nothing changed"), "{}", again.stdout);
}

#[test]
fn a_watch_follows_every_change() {
    session_over_changes(&mut session!(), "");
}

#[test]
fn a_poll_follows_every_change() {
    session_over_changes(&mut session!(), " --poll=0.05");
}

#[test]
fn a_burst_is_one_generation() {
    let mut s = session!();
    s.pumps();
    s.edit("atlas.toml", "corpus = \"docs\"\nindex = \"index\"", "");
    s.write(".gitignore", "ignored/\n");
    let mut watch = Watch::start(&s, "build --watch --format json");
    for number in 0..1000 {
        s.write(&format!("docs/many/{number}.md"), format!("# Part {number}\n\nOne of many.\n"));
        s.write(&format!("ignored/{number}.md"), "Never seen.\n");
    }
    watch.until("\"generation\":2,\"documents\":1003");
    s.say("one more, so that a second generation of the burst would come before it");
    s.write("docs/last.md", "# Last\n\nThe last.\n");
    watch.until("\"generation\":3,\"documents\":1004");
    let ran = watch.end("-INT");
    assert_eq!(ran.code, 0, "{}{}", ran.stdout, ran.stderr);
    assert_eq!(ran.stdout.lines().count(), 3, "{}", ran.stdout);
    s.run("gc --keep 0");
}

#[test]
fn a_watch_waits_for_another_builder_and_holds_nothing_itself() {
    let s = session!();
    s.pumps();
    let mut watch = Watch::start(&s, "build --watch");
    let lock = fs::File::options().write(true).open(s.at("index/BUILD.lock")).unwrap();
    lock.lock().unwrap();
    replace(&s, "docs/hose.md", "# Hoses\n\nA hose is laid without a bend.\n");
    watch.until("is building it; waiting");
    lock.unlock().unwrap();
    watch.until("generation 2");
    assert_eq!(s.prepare("build --full").code, 0, "the watch held the lock");
    assert_eq!(watch.end("-INT").code, 0);
}

#[test]
fn watch_that_cannot_be() {
    let mut s = session!();
    s.pumps();
    s.run("build --watch --poll=0");
    s.run("build --watch --poll=often");
    s.run("build --poll");
    s.run("build --watch --full");
    s.edit("atlas.toml", "corpus", "corpse");
    s.run("build --watch");
}
