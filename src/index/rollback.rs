//! Going back: a new generation that holds what an older one held, under the policy of today.
//!
//! Nothing of an older generation says who may read it now. Its parts are taken over as they lie,
//! but who may read what is resolved again from the labels that its documents stated, under the policy
//! in force. So going back restores text, and never access that a policy has since withdrawn. It opens
//! nothing by an older label either: of a document that was reclassified since, only those may read who
//! may read both what it stated then and what it states now.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::{Index, OPEN_POLICY, Settings};
use crate::access::store::AccessStore;
use crate::access::{Label, Policy};
use crate::error::{Error, Result};
use crate::format::{Manifest, Pace, Store, disk};
use crate::passage::store::PassageStore;
use crate::vectors::Embedder;

/// What going back did.
#[derive(Debug)]
pub struct RolledBack {
    /// The new generation.
    pub manifest: Manifest,
    /// The generation that it repeats.
    pub of: u64,
    /// Whether the policy is another than the one that the older generation was built under.
    pub policy_changed: bool,
    /// Ids of documents that were reclassified since, and are open to fewer than they were.
    pub reclassified: Vec<String>,
    /// Labels that close what carries them by mistake, and why.
    pub closed: Vec<String>,
}

/// Makes a new generation of `store` that holds what generation `number` held, and makes it current.
///
/// Every byte of the older generation is checked first. It must be of the settings and the model asked
/// for, since it would be refused otherwise. The new one shares its files.
///
/// # Errors
///
/// There is no such generation, it is current already, it is damaged, or it is of other settings; the
/// current generation then stays current.
pub fn rollback(
    store: &Store,
    number: u64,
    settings: &Settings,
    embedder: &Arc<dyn Embedder>,
    policy: Option<&Policy>,
) -> Result<RolledBack> {
    let lock = store.lock()?;
    if store.current_number() == Some(number) {
        let problem = format!("generation {number} is the current one");
        return Err(Error::unusable(store.folder(), problem, "`atlas status` lists the others"));
    }
    let old = Index::of(store, store.open_number(number)?, settings, Arc::clone(embedder))?;
    old.sound(&Pace::full())?;
    let closer = Closer::between(&old, current(store, settings, embedder).as_ref())?;
    let (generation, folder) = store.next(&lock)?;
    let before = old.manifest().clone();
    let mut layers = before.layers.clone();
    for (at, layer) in layers.iter_mut().enumerate() {
        let (from, to) = (old.folder().join(&layer.folder), folder.join(&layer.folder));
        disk::create_folder(&to).map_err(|e| Error::io("creating", &to, e))?;
        store.link(&from, &to, &[&layer.access.file])?;
        layer.access = old.access().rewrite(at, &to, policy, |row| closer.also(&old, row))?;
    }
    let hash = policy.map_or(OPEN_POLICY, Policy::hash).to_owned();
    let policy_changed = hash != before.policy;
    let digest = if policy_changed || !closer.also.is_empty() {
        closer.digest(&before, &hash)
    } else {
        before.digest.clone()
    };
    let manifest = Manifest {
        generation,
        digest,
        layers,
        policy: hash,
        rolled_back_to: before.rolled_back_to.or(Some(number)),
        ..before
    };
    // Nobody else can collect it under this lock, and the commit may.
    drop(old);
    store.commit(&lock, &manifest)?;
    let passages = PassageStore::open(&folder, &manifest.layers)?;
    let access = AccessStore::open(&folder, &manifest.layers, Arc::clone(passages.layout()))?;
    let closed = policy.map(|policy| access.faults(policy)).transpose()?.unwrap_or_default();
    let reclassified = closer.also.into_keys().collect();
    Ok(RolledBack { manifest, of: number, policy_changed, reclassified, closed })
}

/// The current generation, when it is of these settings: its labels are what documents state today. One
/// that cannot be opened says nothing about today.
fn current(store: &Store, settings: &Settings, embedder: &Arc<dyn Embedder>) -> Option<Index> {
    Index::of(store, store.open().ok()?, settings, Arc::clone(embedder)).ok()
}

/// The labels that close documents further than they were closed then, by document id.
struct Closer {
    also: BTreeMap<String, Vec<Label>>,
}

impl Closer {
    /// Compares what the documents of `old` stated with what those of `now` state.
    fn between(old: &Index, now: Option<&Index>) -> Result<Self> {
        let today = now.map(stated).transpose()?.unwrap_or_default();
        let mut also = BTreeMap::new();
        for (id, then) in stated(old)? {
            let new = today.get(&id).map(|labels| labels.difference(&then).cloned().collect());
            let new: Vec<Label> = new.unwrap_or_default();
            if !new.is_empty() {
                also.insert(id, new);
            }
        }
        Ok(Self { also })
    }

    /// The labels that close the passage at `row` of `old` beside its own.
    fn also(&self, old: &Index, row: u32) -> Result<Vec<Label>> {
        if self.also.is_empty() {
            return Ok(Vec::new());
        }
        let id = document_of(old, row)?;
        Ok(self.also.get(&id).cloned().unwrap_or_default())
    }

    /// The digest of a generation that holds what `before` holds for other readers.
    fn digest(&self, before: &Manifest, policy: &str) -> String {
        let mut hasher = blake3::Hasher::new();
        let mut field = |text: &str| {
            hasher.update(&(text.len() as u64).to_le_bytes());
            hasher.update(text.as_bytes());
        };
        field(&before.digest);
        field(policy);
        for (id, labels) in &self.also {
            field(id);
            for label in labels {
                for part in [&label.classification, &label.account, &label.region] {
                    field(part.as_deref().unwrap_or("\0"));
                }
            }
        }
        hasher.finalize().to_hex().to_string()
    }
}

/// The labels of each document's passages, by document id.
fn stated(index: &Index) -> Result<BTreeMap<String, BTreeSet<Label>>> {
    let mut all: BTreeMap<String, BTreeSet<Label>> = BTreeMap::new();
    let mut block = None;
    for row in 0..index.manifest().passages as u32 {
        let own = index.passages().passage(row)?.block;
        // All passages of a block have its label.
        if block.replace(own) != Some(own) {
            let id = document_of(index, row)?;
            all.entry(id).or_default().insert(index.access().label(row)?.clone());
        }
    }
    Ok(all)
}

fn document_of(index: &Index, row: u32) -> Result<String> {
    let block = index.passages().passage(row)?.block;
    let document = index.passages().block(block)?.document;
    Ok(index.passages().document(document)?.id)
}
