//! Finding a project and opening its parts.

use std::path::{Component, Path, PathBuf};

use super::{OPEN, PROJECT_FILE, ProjectFile};
use crate::access::{Asker, Askers, Policy, Scope};
use crate::corpus::{self, Corpus};
use crate::error::{Error, Result};
use crate::eval::apart::check_apart;
use crate::eval::questions::QuestionSet;
use crate::format::{Manifest, SourceFile, Store};
use crate::index::{self, BuildReport, Index, Memory, Progress};

/// Folder of the index in a project without `atlas.toml`.
const BARE_INDEX: &str = ".atlas";

/// A project with its paths resolved.
#[derive(Debug, Clone, PartialEq)]
pub struct Project {
    /// Its folder.
    pub folder: PathBuf,
    /// The folder of documents.
    pub corpus: PathBuf,
    /// The index folder.
    pub index: PathBuf,
    /// The folder of question sets.
    pub evals: PathBuf,
    /// Its settings.
    pub file: ProjectFile,
    /// Who may read what; `None` where everyone reads everything.
    pub policy: Option<Policy>,
    /// Who asks; empty without a policy.
    pub askers: Askers,
}

/// A source file that is not as it was when the index was built.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct Staleness {
    /// The file, relative to the corpus folder.
    pub path: String,
    /// `added`, `changed`, `removed` or `unreadable`.
    pub why: &'static str,
}

impl Project {
    /// The project at `folder`, or the nearest one upwards of `start` that has an `atlas.toml`.
    /// `index` replaces the index folder, `overrides` single settings.
    pub fn find(
        folder: Option<&Path>,
        start: &Path,
        index: Option<&Path>,
        overrides: &[String],
    ) -> Result<Self> {
        let folder = match folder {
            Some(folder) => folder.to_owned(),
            None => start
                .ancestors()
                .find(|folder| folder.join(PROJECT_FILE).is_file())
                .map(Path::to_owned)
                .ok_or_else(|| {
                    let help = "run `atlas init` here, or name a folder with `--project DIR`";
                    Error::input(start, None, format!("no {PROJECT_FILE} here or above"), help)
                })?,
        };
        if !folder.is_dir() {
            let help = "create it first, or name another";
            return Err(Error::input(folder, None, "it is not a folder", help));
        }
        let stated = Some(folder.join(PROJECT_FILE)).filter(|path| path.is_file());
        let mut file = ProjectFile::read(stated.as_deref(), overrides)?;
        if stated.is_none() && !overrides.iter().any(|set| set.trim_start().starts_with("index")) {
            file.index = PathBuf::from(BARE_INDEX);
        }
        file.search.synonyms.read(&folder)?;
        let beir =
            ["corpus.jsonl", "corpus.jsonl.zst"].iter().any(|name| folder.join(name).is_file());
        let evals =
            if beir && stated.is_none() { folder.clone() } else { folder.join(&file.evals) };
        let model = &mut file.model;
        for path in [&mut model.path, &mut model.runtime].into_iter().flatten() {
            *path = folder.join(&path);
        }
        if model.is_encoder() {
            file.suit_an_encoder();
        }
        let corpus = folder.join(&file.corpus);
        let own_index = index.map_or_else(|| folder.join(&file.index), Path::to_owned);
        leave_out(&corpus, &own_index, &mut file);
        super::vectors::find(&folder, &mut file)?;
        let (policy, askers) = if file.access == OPEN {
            (None, Askers::default())
        } else {
            let path = policy_path(&folder, &corpus, &file.access)?;
            let users =
                file.askers.as_ref().map_or_else(|| evals.join("users.yaml"), |p| folder.join(p));
            (Some(Policy::read(&path)?), Askers::read(&users)?)
        };
        let project = Self { corpus, index: own_index, evals, folder, file, policy, askers };
        project.index_settings().check()?;
        project.file.search.check()?;
        project.file.model.check()?;
        project.file.build.check()?;
        project.file.answer.check()?;
        Ok(project)
    }

    /// What shapes its index.
    pub fn index_settings(&self) -> index::Settings {
        let mut reading = self.file.reading.clone();
        // Strictness decides whether there is an index, not what is in it.
        reading.strict = false;
        index::Settings {
            reading: serde_json::to_string(&reading).unwrap_or_default(),
            passage: self.file.passage.clone(),
            text: self.file.text.clone(),
            graph: self.file.graph.clone(),
            layers: self.file.layers.clone(),
            memory: Memory { bytes: self.file.build.memory_bytes },
        }
    }

    /// Its store of generations.
    pub fn store(&self) -> Store {
        Store::new(&self.index).keeping(self.file.build.keep_generations)
    }

    /// Reads its documents.
    pub fn read_corpus(&self) -> Result<Corpus> {
        corpus::read(&self.corpus, &self.file.reading)
    }

    /// Reads its documents and writes the whole index.
    pub fn build(&self, progress: &mut dyn Progress) -> Result<BuildReport> {
        let (settings, embedder) = (self.index_settings(), self.embedder_to_build()?);
        let (reading, store) = (&self.file.reading, self.store());
        let (folder, embedder) = (&self.corpus, embedder.as_ref());
        let check = |before: &Manifest, left: &index::Left| self.check_shrink(before, left);
        let options = self.options(&check);
        index::build_folder(folder, reading, &settings, embedder, &store, options, progress)
    }

    /// Brings its index up to date.
    pub fn update(&self, progress: &mut dyn Progress) -> Result<BuildReport> {
        let (settings, embedder) = (self.index_settings(), self.embedder_to_build()?);
        let (reading, store) = (&self.file.reading, self.store());
        let (folder, embedder) = (&self.corpus, embedder.as_ref());
        let check = |before: &Manifest, left: &index::Left| self.check_shrink(before, left);
        let options = self.options(&check);
        index::update(folder, reading, &settings, embedder, &store, options, progress)
    }

    fn options<'o>(
        &'o self,
        check: &'o (dyn Fn(&Manifest, &index::Left) -> Result<()> + Sync + 'o),
    ) -> index::Options<'o> {
        let strict = Some(self.corpus.as_path()).filter(|_| self.file.reading.strict);
        index::Options { policy: self.policy.as_ref(), check: Some(check), strict, keep: None }
    }

    /// Opens its index.
    pub fn open_index(&self) -> Result<Index> {
        let settings = self.index_settings();
        Index::open(&self.store(), &settings, self.embedder()?, self.policy.as_ref())
    }

    /// The asker called `named`, or the default one. Under a policy an unknown name, or none at all,
    /// is nobody, who may read nothing; the second value says so.
    pub fn asker(&self, named: Option<&str>) -> (Option<&Asker>, Option<String>) {
        if self.policy.is_none() {
            return (None, None);
        }
        match named.or(self.file.default_asker.as_deref()) {
            Some(id) => match self.askers.known(id) {
                Ok(asker) => (Some(asker), None),
                Err(why) => (None, Some(why)),
            },
            None => {
                let why = "nobody asks, so nothing is visible; name someone with `--as`, or set default_asker";
                (None, Some(why.to_owned()))
            }
        }
    }

    /// Names everything about access that decides numbers: policy, askers, default asker.
    pub fn access_id(&self) -> String {
        let Some(policy) = &self.policy else { return OPEN.to_owned() };
        let mut hash = blake3::Hasher::new();
        hash.update(policy.hash().as_bytes());
        for asker in self.askers.iter() {
            hash.update(format!("{asker:?}").as_bytes());
        }
        hash.update(format!("{:?}", self.file.default_asker).as_bytes());
        hash.finalize().to_hex().to_string()
    }

    /// Roles that the policy names and nobody has: most likely misspelt.
    pub fn idle_roles(&self) -> Vec<String> {
        let roles = self.policy.iter().flat_map(Policy::roles);
        let held =
            |role: &&str| self.askers.iter().any(|asker| asker.roles.iter().any(|own| own == role));
        roles.filter(|role| !held(role)).map(str::to_owned).collect()
    }

    /// What the asker called `named`, or the default one, may read in `index`.
    pub fn scope(&self, index: &Index, named: Option<&str>) -> Result<Scope> {
        index.scope(self.asker(named).0)
    }

    /// How the files of the corpus differ from `sources`. A file of the same size and time counts as
    /// unchanged; any other is read.
    pub fn stale(&self, sources: &[SourceFile]) -> Result<Vec<Staleness>> {
        let listing = corpus::list(&self.corpus, &self.file.reading)?;
        let now = &listing.files;
        let mut stale = Vec::new();
        for file in now {
            let why = match sources.binary_search_by(|known| known.path.as_str().cmp(&file.path)) {
                Err(_) => "added",
                Ok(at) => {
                    let known = &sources[at];
                    let same =
                        known.size_bytes == file.size_bytes && known.mtime_ns == file.mtime_ns;
                    // An empty hash is a file that could not be read; it may be readable by now.
                    if same && !known.hash.is_empty() {
                        continue;
                    }
                    match file.read_hash(&self.corpus) {
                        Ok(hash) if hash == known.hash => continue,
                        Err(_) if known.hash.is_empty() => continue,
                        Ok(_) => "changed",
                        Err(_) => "unreadable",
                    }
                }
            };
            stale.push(Staleness { path: file.path.clone(), why });
        }
        for known in sources {
            if now.binary_search_by(|file| file.path.as_str().cmp(&known.path)).is_ok() {
                continue;
            }
            // What lies in a folder that cannot be looked into is not known to be gone. A build that met
            // it so has emptied its hash.
            match (listing.hides(&known.path), known.hash.is_empty()) {
                (false, _) => stale.push(Staleness { path: known.path.clone(), why: "removed" }),
                (true, false) => {
                    stale.push(Staleness { path: known.path.clone(), why: "unreadable" });
                }
                (true, true) => {}
            }
        }
        stale.sort_by(|a, b| a.path.cmp(&b.path));
        Ok(stale)
    }

    /// The ledger of its question sets.
    pub fn ledger(&self) -> PathBuf {
        self.evals.join("ledger.jsonl")
    }

    /// Reads the question set at `path` and proves it apart from the project's held-out questions, or,
    /// where it is those, from the development questions. A set in BEIR layout has no other half.
    pub fn questions(&self, path: &Path) -> Result<QuestionSet> {
        let set = QuestionSet::read(path)?;
        let [development, held_out] =
            ["development", "held-out"].map(|name| self.question_set(name));
        if set.by_document {
            return Ok(set);
        }
        if self.is_held_out(path) {
            if development.is_file() {
                check_apart(&QuestionSet::read(&development)?, &set)?;
            }
        } else if held_out.is_file() {
            check_apart(&set, &QuestionSet::read(&held_out)?)?;
        }
        Ok(set)
    }

    /// Whether the file at `path` holds the held-out questions, by whatever name it is called.
    pub fn is_held_out(&self, path: &Path) -> bool {
        let own = self.evals.join("held-out.yaml");
        matches!((path.canonicalize(), own.canonicalize()), (Ok(path), Ok(own)) if path == own)
    }

    /// The question sets that stand in its folder: `development.yaml`, `held-out.yaml`, or the
    /// folder itself in BEIR layout.
    pub fn question_set(&self, name: &str) -> PathBuf {
        if self.evals.join("queries.jsonl").is_file() {
            return self.evals.clone();
        }
        self.evals.join(format!("{name}.yaml"))
    }
}

/// Where the policy called `access` lies: in the corpus, or else in the project.
fn policy_path(folder: &Path, corpus: &Path, access: &str) -> Result<PathBuf> {
    let mut places = vec![corpus.join(access), folder.join(access)];
    places.dedup();
    if let Some(found) = places.iter().find(|place| place.is_file()) {
        return Ok(found.clone());
    }
    let shown: Vec<String> = places.iter().map(|place| place.display().to_string()).collect();
    let problem = format!("`access` names a policy that is not at {}", shown.join(" nor at "));
    let help = "write one, or set access = \"open\"";
    Err(Error::input(folder.join(PROJECT_FILE), None, problem, help))
}

/// Leaves an index that lies inside the corpus out of it.
fn leave_out(corpus: &Path, index: &Path, file: &mut ProjectFile) {
    let whole = |path: &Path| {
        path.components().filter(|part| *part != Component::CurDir).collect::<PathBuf>()
    };
    let (corpus, index) = (whole(corpus), whole(index));
    if let Ok(inside) = index.strip_prefix(&corpus)
        && inside.components().next().is_some()
    {
        let parts: Vec<_> = inside.iter().map(|part| part.to_string_lossy()).collect();
        file.reading.exclude.push(format!("/{}/", parts.join("/")));
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn fault(settings: &str) -> String {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join(PROJECT_FILE), settings).unwrap();
        let fault = Project::find(Some(folder.path()), folder.path(), None, &[]).unwrap_err();
        fault.to_string().replace(&folder.path().display().to_string(), "DIR")
    }

    #[test]
    fn a_missing_policy_names_where_it_was_looked_for() {
        assert_eq!(
            fault("corpus = \"docs\"\naccess = \"who.yaml\"\n"),
            "DIR/atlas.toml: `access` names a policy that is not at DIR/docs/who.yaml nor at \
             DIR/who.yaml; write one, or set access = \"open\""
        );
    }

    #[test]
    fn values_out_of_range_are_told_at_once() {
        let said = fault("[graph]\nm = 1\n");
        assert_eq!(said, "graph.m is 1; expected a whole number from 2 to 128");
        assert_eq!(fault("search.k = 0\n"), "search.k is 0; expected a whole number from 1 to 100");
    }

    #[test]
    fn a_project_that_is_not_there_names_the_way_out() {
        let nowhere = Path::new("/nonexistent/nowhere");
        let said = Project::find(Some(nowhere), nowhere, None, &[]).unwrap_err().to_string();
        let expected = "it is not a folder; create it first, or name another";
        assert_eq!(said, format!("/nonexistent/nowhere: {expected}"));
    }
}
