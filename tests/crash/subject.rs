//! A project that is built, killed, damaged and asked: in a folder of its own, with everything an index
//! can hold (a policy, a graph, texts in several scripts).
#![allow(dead_code, reason = "each test file is a crate of its own and uses its part of this")]

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;

use atlas::error::Result;
use atlas::format::LOCK_FILE;
use atlas::project::Project;
use atlas::search::{DensePath, Mode, Request, Retriever as _, Searcher};
use tempfile::TempDir;

#[path = "../common/random.rs"]
mod random;

pub use random::Random;

/// What everybody is asked. The last one holds no word of the corpus.
const QUESTIONS: [&str; 4] =
    ["Which seal whistles when it is dry?", "valve 3", "ポンプ oil", "xylophone concerto"];

/// Who asks: one reads everything, one the public part, one is unknown and reads nothing.
const ASKERS: [&str; 3] = ["chief", "guest", "stranger"];

/// What is found, each answer as one text: everything that `search --format json` tells of a hit.
pub type Answers = BTreeMap<String, String>;

/// A project in a folder.
#[derive(Debug, Clone)]
pub struct Subject {
    pub folder: PathBuf,
}

/// How a command ended.
#[derive(Debug)]
pub struct Ended {
    /// `None` when a signal ended it.
    pub code: Option<i32>,
    pub stdout: String,
    pub stderr: String,
}

impl Subject {
    /// Writes a project of `documents` documents.
    pub fn create(folder: &Path, documents: usize) -> Self {
        let subject = Self { folder: folder.to_owned() };
        let settings = "corpus = \"docs\"\nindex = \"index\"\naccess = \"access.yaml\"\n\
                        default_asker = \"chief\"\n\n[graph]\nfrom_passages = 1\nm = 4\n\
                        ef_construction = 16\n\n[layers]\nmost = 3\nrewrite_percent = 1000\n";
        subject.write("atlas.toml", settings);
        let policy = "classifications:\n  public: { read: [everyone] }\n  internal: { read: [boss] }\n\
                      default: nobody\n";
        subject.write("access.yaml", policy);
        let users = "users:\n  - id: chief\n    roles: [boss]\n  - id: guest\n    roles: []\n";
        subject.write("evals/users.yaml", users);
        for number in 0..documents {
            subject.document(number, "dry");
        }
        subject
    }

    /// Writes document `number`, whose seal is `state`.
    fn document(&self, number: usize, state: &str) {
        let class = if number.is_multiple_of(3) { "internal" } else { "public" };
        let text = format!(
            "---\nid: PUMP-{number}\ntitle: Pump {number}\nclassification: {class}\n---\n\
             Pump {number} needs {} litres of oil a year, ポンプの油.\n\n\
             ## Seals\n\nThe seal of pump {number} is {state}; a {state} seal whistles.\n\n\
             ## Valves\n\nValve {} opens to the left and closes to the right.\n",
            number % 7,
            number % 5
        );
        self.write(&format!("docs/pump-{number:03}.md"), &text);
    }

    /// Changes the corpus: one document edited, one renamed, one removed, one new. `round` tells one
    /// change from the next.
    pub fn edit(&self, round: usize) {
        self.document(0, &format!("wet{round}"));
        self.document(100 + round, "new");
        let (from, to) =
            (self.at(&format!("docs/pump-{round:03}.md")), format!("docs/a-{round}.md"));
        fs::rename(from, self.at(&to)).unwrap();
        let _ = fs::remove_file(self.at(&format!("docs/pump-{:03}.md", 10 + round)));
    }

    pub fn at(&self, path: &str) -> PathBuf {
        self.folder.join(path)
    }

    pub fn index(&self) -> PathBuf {
        self.at("index")
    }

    pub fn write(&self, path: &str, text: &str) {
        let path = self.at(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    /// A copy of everything at `folder`, which must not exist.
    pub fn copy(&self, folder: &Path) -> Self {
        copy_tree(&self.folder, folder, &mut HashMap::new());
        Self { folder: folder.to_owned() }
    }

    /// Puts the index of `other` in place of its own.
    pub fn take_index(&self, other: &Self) {
        if self.index().exists() {
            fs::remove_dir_all(self.index()).unwrap();
        }
        if other.index().exists() {
            copy_tree(&other.index(), &self.index(), &mut HashMap::new());
        }
    }

    /// `atlas` with the words of `line`, in a clean environment.
    pub fn command(&self, line: &str) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_atlas"));
        self.at_home(command.args(line.split(' ')));
        command
    }

    /// Gives `command` a clean environment in the project's folder.
    pub fn at_home(&self, command: &mut Command) {
        command.current_dir(&self.folder).env_clear().env("HOME", &self.folder).env("TERM", "dumb");
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        if let Some(path) = std::env::var_os("PATH") {
            command.env("PATH", path);
        }
    }

    pub fn run(&self, line: &str) -> Ended {
        ended(&mut self.command(line))
    }

    /// Builds and says what was wrong, if anything.
    pub fn build(&self) -> std::result::Result<(), String> {
        let built = self.run("build");
        if built.code == Some(0) { Ok(()) } else { Err(format!("the next build: {built:?}")) }
    }

    /// What the index answers to every question, asker and leg, without a build on the way.
    pub fn answers(&self) -> Result<Answers> {
        let project = Project::find(Some(&self.folder), &self.folder, None, &[])?;
        let index = Arc::new(project.open_index()?);
        let mut answers = Answers::new();
        for (mode, dense) in [
            (Mode::Hybrid, DensePath::Auto),
            (Mode::Lexical, DensePath::Auto),
            (Mode::Dense, DensePath::Exact),
            (Mode::Dense, DensePath::Graph),
        ] {
            let mut settings = project.file.search.clone();
            settings.dense = dense;
            let searcher = Searcher::new(Arc::clone(&index), settings)?;
            for asker in ASKERS {
                let scope = project.scope(&index, Some(asker))?;
                for question in QUESTIONS {
                    let outcome =
                        searcher.retrieve(&Request::new(question, scope.clone()).mode(mode))?;
                    let mut answer = String::new();
                    for hit in &outcome.context {
                        let passages = index.passages();
                        let reference = passages.reference(hit.row)?;
                        let block = passages.block(hit.block)?;
                        let document = passages.document(block.document)?;
                        answer.push_str(&format!(
                            "{reference} {:016x} {} {} {:?} {:?} {:?}\n",
                            hit.score.to_bits(),
                            hit.tokens,
                            document.title,
                            passages.sections(&block)?,
                            document.metadata,
                            passages.passage_text(&passages.passage(hit.row)?)?
                        ));
                    }
                    answers.insert(format!("{asker} {mode:?} {dense:?} {question}"), answer);
                }
            }
        }
        Ok(answers)
    }

    /// Every file of the index by a name that does not depend on how often it was built: generations
    /// counted back from the newest, layers by the order in which they were written, names that tantivy
    /// draws left out.
    pub fn listing(&self) -> BTreeSet<String> {
        let mut files = Vec::new();
        walk(&self.index(), &mut files);
        let index = self.index();
        let names: Vec<String> = files
            .iter()
            .map(|path| path.strip_prefix(&index).unwrap().to_string_lossy().into_owned())
            .collect();
        let generations: BTreeSet<&str> = names
            .iter()
            .filter_map(|name| name.split('/').next())
            .filter(|name| name.starts_with("generation-"))
            .collect();
        let age: HashMap<&str, usize> =
            generations.iter().rev().enumerate().map(|(age, name)| (*name, age)).collect();
        let layers: BTreeSet<(&str, &str)> = names
            .iter()
            .filter_map(|name| {
                let mut parts = name.split('/');
                let (generation, layer) = (parts.next()?, parts.next()?);
                layer.starts_with("delta-").then_some((generation, layer))
            })
            .collect();
        names
            .iter()
            .map(|name| {
                let generation = name.split('/').next().unwrap_or_default();
                let own = layers.range((generation, "")..).take_while(|(of, _)| *of == generation);
                let own: Vec<&str> = own.map(|(_, layer)| *layer).collect();
                let parts = name.split('/').map(|part| match age.get(part) {
                    Some(age) => format!("generation-{age}-back"),
                    None => match own.iter().position(|layer| *layer == part) {
                        Some(at) => format!("delta-{at}"),
                        None => without_random(part),
                    },
                });
                parts.collect::<Vec<_>>().join("/")
            })
            .collect()
    }

    /// Every file of the index with its bytes, the builders' lock apart, which holds a process number.
    pub fn bytes(&self) -> BTreeMap<PathBuf, Vec<u8>> {
        let mut files = Vec::new();
        if self.index().exists() {
            walk(&self.index(), &mut files);
        }
        files.retain(|path| path.is_file() && !path.ends_with(LOCK_FILE));
        files.into_iter().map(|path| (path.clone(), fs::read(path).unwrap())).collect()
    }
}

/// A folder to work in: in memory where there is such a place, since what is tried here is killed, not
/// unplugged, and waiting for a disk would be most of the time.
pub fn scratch() -> TempDir {
    tempfile::tempdir_in("/dev/shm").unwrap_or_else(|_| tempfile::tempdir().unwrap())
}

/// Runs a command to its end.
pub fn ended(command: &mut Command) -> Ended {
    let out = command.output().unwrap();
    Ended {
        code: out.status.code(),
        stdout: String::from_utf8_lossy(&out.stdout).into_owned(),
        stderr: String::from_utf8_lossy(&out.stderr).into_owned(),
    }
}

/// `f995679be31d476eac658a5ec5b6ffe0.term` as `*.term`.
fn without_random(name: &str) -> String {
    let (stem, ending) = name.split_once('.').unwrap_or((name, ""));
    if stem.len() == 32 && stem.bytes().all(|b| b.is_ascii_hexdigit()) {
        format!("*.{ending}")
    } else {
        name.to_owned()
    }
}

/// Every file and folder under `folder`, in no order.
fn walk(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            walk(&path, found);
        }
        found.push(path);
    }
}

/// Copies a folder with the times of its files; names that shared a file share its copy.
fn copy_tree(from: &Path, to: &Path, seen: &mut HashMap<(u64, u64), PathBuf>) {
    fs::create_dir_all(to).unwrap();
    fs::set_permissions(to, from.metadata().unwrap().permissions()).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let path = entry.unwrap().path();
        let target = to.join(path.file_name().unwrap());
        let meta = path.metadata().unwrap();
        if meta.is_dir() {
            copy_tree(&path, &target, seen);
            continue;
        }
        if let Some(key) = identity(&meta)
            && let Some(known) = seen.insert(key, target.clone())
        {
            fs::hard_link(known, target).unwrap();
            continue;
        }
        fs::copy(&path, &target).unwrap();
        let file = fs::File::options().write(true).open(&target).unwrap();
        file.set_modified(meta.modified().unwrap()).unwrap();
    }
}

/// What names of one file share; `None` for a file of one name.
#[cfg(unix)]
fn identity(meta: &fs::Metadata) -> Option<(u64, u64)> {
    use std::os::unix::fs::MetadataExt as _;
    (meta.nlink() > 1).then(|| (meta.dev(), meta.ino()))
}

#[cfg(not(unix))]
fn identity(_: &fs::Metadata) -> Option<(u64, u64)> {
    None
}

/// A number from the environment, or `default`.
pub fn number(name: &str, default: u64) -> u64 {
    match std::env::var(name) {
        Ok(text) => text.parse().unwrap_or_else(|_| panic!("{name} is `{text}`, not a number")),
        Err(_) => default,
    }
}

/// Does `work` for every case on all cores, and gives what it said in the order of the cases.
pub fn on_all_cores<C: Sync, R: Send>(cases: &[C], work: impl Fn(usize, &C) -> R + Sync) -> Vec<R> {
    use rayon::prelude::*;
    cases.par_iter().enumerate().with_max_len(1).map(|(at, case)| work(at, case)).collect()
}
