//! A terminal session in a folder of its own: commands, and what they said.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use tempfile::TempDir;

use super::diff::difference;
use super::filter::filter;
use super::json;

/// Set to anything, it writes snapshots instead of comparing with them.
const UPDATE: &str = "ATLAS_UPDATE";

/// Starts a session whose snapshot is named after the test that it stands in.
macro_rules! session {
    () => {{
        fn here() {}
        crate::session::Session::new(std::any::type_name_of_val(&here))
    }};
}
pub(crate) use session;

/// What one command did, as it was.
pub struct Ran {
    pub stdout: String,
    pub stderr: String,
    pub code: i32,
}

/// A session compares itself with its snapshot when it ends, so that no test can forget to; one of
/// which nothing was kept has no snapshot.
pub struct Session {
    name: String,
    folder: TempDir,
    log: String,
    /// Whom commands are run as, when not as whoever runs the tests.
    user: Option<u32>,
}

impl Session {
    /// A session in an empty folder, for the test that holds the function called `inner`.
    pub fn new(inner: &str) -> Self {
        let name = inner.trim_end_matches("::here").rsplit("::").next().unwrap().to_owned();
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir(folder.path().join("home")).unwrap();
        fs::create_dir(folder.path().join("project")).unwrap();
        Self { name, folder, log: String::new(), user: None }
    }

    /// The folder that commands run in.
    pub fn dir(&self) -> PathBuf {
        self.folder.path().join("project")
    }

    pub fn at(&self, path: &str) -> PathBuf {
        self.dir().join(path)
    }

    /// A remark in the snapshot: what was done between two commands.
    pub fn say(&mut self, what: &str) {
        self.log.push_str(&format!("# {what}\n\n"));
    }

    pub fn write(&self, path: &str, text: impl AsRef<[u8]>) {
        let path = self.at(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    pub fn read(&self, path: &str) -> String {
        fs::read_to_string(self.at(path)).unwrap()
    }

    /// Has all commands run as a user whom permissions bind, which is another one where root runs the
    /// tests; false, with the reason printed, when that cannot be done here.
    #[cfg(unix)]
    #[expect(clippy::print_stderr, reason = "a test that is skipped says so")]
    pub fn bind(&mut self) -> bool {
        use std::os::unix::fs::{MetadataExt as _, chown};
        const NOBODY: u32 = 65_534;
        if self.folder.path().metadata().unwrap().uid() != 0 {
            return true;
        }
        self.user = Some(NOBODY);
        for below in ["", "home", "project"] {
            chown(self.folder.path().join(below), Some(NOBODY), Some(NOBODY)).unwrap();
        }
        match self.command("--version").output() {
            Ok(out) if out.status.success() => true,
            tried => {
                eprintln!("skipped: permissions do not bind root, and nobody runs here: {tried:?}");
                false
            }
        }
    }

    /// Replaces `from`, which must be there, by `to`.
    pub fn edit(&self, path: &str, from: &str, to: &str) {
        let text = self.read(path);
        assert!(text.contains(from), "{path} does not hold `{from}`");
        self.write(path, text.replacen(from, to, 1));
    }

    /// Copies the folder at `from` in the repository to `to` in the session.
    pub fn copy(&self, from: &str, to: &str) {
        copy_all(&Path::new(env!("CARGO_MANIFEST_DIR")).join(from), &self.at(to));
    }

    /// Copies the folder `from` of the session to `to`.
    pub fn copy_within(&self, from: &str, to: &str) {
        copy_all(&self.at(from), &self.at(to));
    }

    /// The project of this repository, corpus and question sets with it.
    pub fn bikes(&self) {
        for path in ["atlas.toml", "corpus/atlas-bikes", "evals/atlas-bikes"] {
            self.copy(path, path);
        }
    }

    /// Three short documents about pumps, in a project with settings of its own.
    pub fn pumps(&self) {
        self.write("atlas.toml", "corpus = \"docs\"\nindex = \"index\"\n");
        self.write(
            "docs/pump.md",
            "---\nid: PUMP\ntitle: Pumps\nproduct: [P-1, P-2]\neffective_from: 2026-01-01\n---\n\
             The pump P-1 needs a litre of oil a year.\n\n## Seals\n\nA dry seal whistles.\n\n\
             | Code | Meaning |\n|---|---|\n| F-12 | No oil |\n",
        );
        self.write("docs/hose.md", "# Hoses\n\nA hose is laid without a kink.\n");
        self.write("docs/valve.txt", "The valve opens to the left.\n\nIt closes to the right.\n");
    }

    /// Runs a command line whose words are parted by blanks, quoted where they hold some, and keeps
    /// what it said for the snapshot.
    pub fn run(&mut self, line: &str) -> Ran {
        let ran = self.prepare(line);
        let stdout = self.shown(&ran.stdout);
        self.keep(line, &stdout, &ran);
        ran
    }

    /// The same for JSON: the snapshot holds the keys and the kinds of their values.
    pub fn run_json(&mut self, line: &str) -> serde_json::Value {
        let ran = self.prepare(line);
        let value = serde_json::from_str(&ran.stdout)
            .unwrap_or_else(|fault| panic!("{line}: {fault}\n{}{}", ran.stdout, ran.stderr));
        self.keep(line, &json::shape(&value), &ran);
        value
    }

    /// Runs a command line and keeps nothing of it.
    pub fn prepare(&self, line: &str) -> Ran {
        let out = self.command(line).output().unwrap();
        Ran {
            stdout: String::from_utf8(out.stdout).unwrap(),
            stderr: String::from_utf8(out.stderr).unwrap(),
            code: out.status.code().unwrap_or_else(|| panic!("{line}: killed by a signal")),
        }
    }

    /// The command in a clean environment.
    pub fn command(&self, line: &str) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_atlas"));
        command
            .args(words(line))
            .current_dir(self.dir())
            .env_clear()
            .env("HOME", self.folder.path().join("home"))
            .env("TERM", "dumb")
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        #[cfg(unix)]
        if let Some(user) = self.user {
            use std::os::unix::process::CommandExt as _;
            command.uid(user).gid(user);
        }
        if let Some(path) = std::env::var_os("PATH") {
            command.env("PATH", path);
        }
        command
    }

    /// Keeps the first `lines` of a file for the snapshot.
    pub fn show(&mut self, path: &str, lines: usize) {
        let text: Vec<String> = self.read(path).lines().take(lines).map(str::to_owned).collect();
        let text = self.shown(&text.join("\n"));
        self.log.push_str(&format!("$ head -{lines} {path}\n{text}\n\n"));
    }

    /// Keeps what a command that ran on its own said.
    pub fn keep(&mut self, line: &str, stdout: &str, ran: &Ran) {
        let end = |text: &str| if text.is_empty() || text.ends_with('\n') { "" } else { "\\\n" };
        let stderr = self.shown(&ran.stderr);
        let blank = if line.is_empty() { "" } else { " " };
        self.log.push_str(&format!("$ atlas{blank}{line}\n{stdout}{}", end(stdout)));
        if !stderr.is_empty() {
            self.log.push_str(&format!("[stderr]\n{stderr}{}", end(&stderr)));
        }
        self.log.push_str(&format!("[exit {}]\n\n", ran.code));
    }

    pub fn shown(&self, text: &str) -> String {
        let real = self.dir().canonicalize().unwrap();
        filter(text, &[&real.to_string_lossy(), &self.dir().to_string_lossy()])
    }

    fn compare(&self) {
        let home = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cli/snapshots");
        let path = home.join(format!("{}.txt", self.name));
        let found = format!("{}\n", self.log.trim_end());
        if std::env::var_os(UPDATE).is_some() {
            return fs::write(path, found).unwrap();
        }
        let how =
            format!("if this is right: {UPDATE}=1 cargo test --release --test cli {}", self.name);
        let Ok(expected) = fs::read_to_string(&path) else {
            panic!("there is no snapshot {}; {how}\n\n{found}", path.display());
        };
        if expected != found {
            let difference = difference(&expected, &found);
            panic!("{} differs (- expected, + found)\n{difference}\n{how}\n", path.display());
        }
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        let left: Vec<_> = fs::read_dir(self.folder.path().join("home")).unwrap().collect();
        // What failed already is told by its own message.
        if !std::thread::panicking() {
            assert!(left.is_empty(), "something was written to the home folder: {left:?}");
            if !self.log.is_empty() {
                self.compare();
            }
        }
    }
}

/// `search 'a question' -k 3` in its words.
fn words(line: &str) -> Vec<String> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut quoted = false;
    for letter in line.chars() {
        match letter {
            '\'' => {
                quoted = !quoted;
                word.get_or_insert_default();
            }
            ' ' if !quoted => words.extend(word.take()),
            _ => word.get_or_insert_default().push(letter),
        }
    }
    words.extend(word);
    words
}

fn copy_all(from: &Path, to: &Path) {
    if from.is_file() {
        fs::create_dir_all(to.parent().unwrap()).unwrap();
        fs::copy(from, to).unwrap();
        return;
    }
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let path = entry.unwrap().path();
        copy_all(&path, &to.join(path.file_name().unwrap()));
    }
}
