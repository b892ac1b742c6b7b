//! An open index.

use std::path::Path;
use std::sync::{Arc, OnceLock};

use super::columns::Columns;
use super::{OPEN_POLICY, Settings};
use crate::access::store::AccessStore;
use crate::access::{Asker, Policy, Scope};
use crate::error::{Error, Result};
use crate::format::{Generation, Manifest, Pace, Store, checksum};
use crate::lexical::LexicalIndex;
use crate::passage::store::PassageStore;
use crate::text::Analyzer;
use crate::vectors::Embedder;
use crate::vectors::store::VectorIndex;

/// One generation, open for searching: immutable, memory-mapped, shared by threads.
pub struct Index {
    generation: Generation,
    analyzer: Analyzer,
    embedder: Arc<dyn Embedder>,
    passages: PassageStore,
    lexical: LexicalIndex,
    vectors: VectorIndex,
    access: AccessStore,
    columns: OnceLock<Columns>,
}

impl std::fmt::Debug for Index {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.debug_struct("Index")
            .field("generation", &self.generation.folder)
            .finish_non_exhaustive()
    }
}

/// One thing that [`Index::verify`] looked at.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Check {
    /// What was looked at.
    pub name: &'static str,
    /// What is wrong with it, if anything is.
    pub fault: Option<String>,
}

impl Index {
    /// Opens the current generation of `store`. An index that was built with another analyzer,
    /// embedder, cut or policy than asked for is refused by name: no `policy` asks for an open index.
    pub fn open(
        store: &Store,
        settings: &Settings,
        embedder: Arc<dyn Embedder>,
        policy: Option<&Policy>,
    ) -> Result<Self> {
        let generation = store.open()?;
        if generation.manifest.policy != policy.map_or(OPEN_POLICY, Policy::hash) {
            fits(store, &generation.manifest, settings, embedder.as_ref())?;
            let problem = "the policy has changed since it was built";
            let help = "run `atlas build` to build it again";
            return Err(Error::unusable(store.folder(), problem, help));
        }
        Self::of(store, generation, settings, embedder)
    }

    /// Opens `generation` of `store`, whatever policy it was built under: for what looks at it and
    /// answers nobody.
    pub(super) fn of(
        store: &Store,
        generation: Generation,
        settings: &Settings,
        embedder: Arc<dyn Embedder>,
    ) -> Result<Self> {
        let manifest = &generation.manifest;
        fits(store, manifest, settings, embedder.as_ref())?;
        let folder = &generation.folder;
        let passages = PassageStore::open(folder, &manifest.layers)?;
        let layout = || Arc::clone(passages.layout());
        Ok(Self {
            lexical: LexicalIndex::open(folder, manifest, layout())?,
            vectors: VectorIndex::open(folder, manifest, layout())?,
            access: AccessStore::open(folder, &manifest.layers, layout())?,
            passages,
            columns: OnceLock::new(),
            analyzer: Analyzer::new(&settings.text)?,
            embedder,
            generation,
        })
    }

    /// The folder of the generation.
    pub fn folder(&self) -> &Path {
        &self.generation.folder
    }

    /// The first thing that [`verify`](Self::verify) finds wrong, as an error; reads at `pace`.
    pub fn sound(&self, pace: &Pace) -> Result<()> {
        self.checks(pace).into_iter().try_for_each(|(_, result)| result)
    }

    /// What the generation is.
    pub fn manifest(&self) -> &Manifest {
        &self.generation.manifest
    }

    /// The analyzer that questions go through.
    pub fn analyzer(&self) -> &Analyzer {
        &self.analyzer
    }

    /// The model that questions go through.
    pub fn embedder(&self) -> &dyn Embedder {
        self.embedder.as_ref()
    }

    /// Passages, blocks and documents.
    pub fn passages(&self) -> &PassageStore {
        &self.passages
    }

    /// The lexical leg.
    pub fn lexical(&self) -> &LexicalIndex {
        &self.lexical
    }

    /// The dense leg.
    pub fn vectors(&self) -> &VectorIndex {
        &self.vectors
    }

    /// Who may read which passage.
    pub fn access(&self) -> &AccessStore {
        &self.access
    }

    /// What `asker` may read: everything in an open index, nothing for an unknown asker in any other.
    pub fn scope(&self, asker: Option<&Asker>) -> Result<Scope> {
        Ok(self.access.scope(asker)?.bound_to(self.stamp()))
    }

    /// The scope of everyone, for an index whose access is open. Under a policy it opens everything:
    /// it is for controls and tests, never for a request on somebody's behalf.
    pub fn everyone(&self) -> Scope {
        Scope::everyone(self.manifest().passages as u32).bound_to(self.stamp())
    }

    /// Tells generations of other content apart, so that a scope of one is not used on another.
    pub fn stamp(&self) -> u64 {
        checksum(self.manifest().digest.as_bytes())
    }

    /// The metadata of every document by key, read once.
    pub(super) fn columns(&self) -> Result<&Columns> {
        if let Some(columns) = self.columns.get() {
            return Ok(columns);
        }
        let read = Columns::read(&self.passages)?;
        Ok(self.columns.get_or_init(|| read))
    }

    /// Reads every byte of every file and checks it, and that the counts agree.
    pub fn verify(&self) -> Vec<Check> {
        let told = |(name, result): (&'static str, Result<()>)| Check {
            name,
            fault: result.err().map(|e| e.to_string()),
        };
        self.checks(&Pace::full()).into_iter().map(told).collect()
    }

    fn checks(&self, pace: &Pace) -> Vec<(&'static str, Result<()>)> {
        let counts = || {
            let m = self.manifest();
            let counted = [
                ("documents", m.documents as u64, u64::from(self.passages.documents_len())),
                ("blocks", m.blocks as u64, u64::from(self.passages.blocks_len())),
                ("passages", m.passages as u64, u64::from(self.passages.passages_len())),
                ("terms", m.terms_total, self.lexical.terms_total()?),
            ];
            for (what, said, found) in counted {
                if said != found {
                    let problem = format!("the manifest says {said} {what}, {found} are stored");
                    return Err(Error::damaged(&self.generation.folder, problem));
                }
            }
            Ok(())
        };
        vec![
            ("passages", self.passages.verify(pace)),
            ("lexical", self.lexical.verify(pace)),
            ("vectors", self.vectors.verify(pace)),
            ("access", self.access.verify(pace)),
            ("counts", counts()),
        ]
    }
}

/// Refuses a generation that was built with another analyzer, embedder or cut than asked for.
fn fits(
    store: &Store,
    manifest: &Manifest,
    settings: &Settings,
    embedder: &dyn Embedder,
) -> Result<()> {
    let analyzer = Analyzer::new(&settings.text)?.id();
    let matches = [
        ("analyzer", manifest.analyzer.as_str(), analyzer),
        ("embedder", manifest.embedder.as_str(), embedder.id().to_owned()),
        ("reading settings", manifest.reading.as_str(), settings.reading.clone()),
        ("passage settings", manifest.passage.as_str(), settings.passage_id()),
    ];
    for (what, built, asked) in matches {
        if built != asked {
            let problem = format!("it was built with {what} {built}, and {asked} is asked for");
            let help = "run `atlas build` to build it again";
            return Err(Error::unusable(store.folder(), problem, help));
        }
    }
    Ok(())
}
