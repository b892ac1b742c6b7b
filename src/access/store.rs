//! Who may read each passage, on disk: labels by layer, and what they open under the policy.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use serde::{Deserialize, Serialize};

use super::{Asker, Bitmap, Label, Policy, Principal, Scope};
use crate::error::{Error, Result};
use crate::format::{Layer, Layout, Pace, Part, PartEntry, PartWriter, Section};

/// Kind of the part.
pub const ACCESS_KIND: [u8; 4] = *b"ACCS";

/// The part's file in the folder of its layer.
const FILE: &str = "access.part";

/// How labels are encoded: bincode 2, little-endian, variable-length integers.
const CODEC: bincode::config::Configuration = bincode::config::standard();

/// Scopes that an open index remembers.
const SCOPES_KEPT: usize = 256;

/// A label with the sets of principals that open it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Resolved {
    /// What the documents state.
    pub label: Label,
    /// Whoever claims all of one set may read.
    pub readers: Vec<BTreeSet<Principal>>,
}

/// Writes the labels of passages in the order of their rows.
#[derive(Debug, Default)]
pub struct AccessWriter {
    known: BTreeMap<(Label, Vec<Label>), u32>,
    labels: Vec<(Label, Vec<Label>)>,
    rows: Vec<u32>,
}

impl AccessWriter {
    /// Adds the next row.
    pub fn add(&mut self, label: &Label) {
        self.add_closed(label, &[]);
    }

    /// Adds the next row, which only those may read whom `label` and each of `also` lets in.
    pub fn add_closed(&mut self, label: &Label, also: &[Label]) {
        let key = (label.clone(), also.to_vec());
        let number = self.known.get(&key).copied().unwrap_or_else(|| {
            let number = self.labels.len() as u32;
            self.labels.push(key.clone());
            self.known.insert(key, number);
            number
        });
        self.rows.push(number);
    }

    /// Resolves the labels under `policy` and writes the part; without a policy everyone reads
    /// everything. Gives the entry and, for each label that closes what carries it by mistake, why.
    pub fn finish(
        self,
        folder: &Path,
        policy: Option<&Policy>,
    ) -> Result<(PartEntry, Vec<String>)> {
        let everyone = || vec![BTreeSet::from([Principal::Everyone])];
        let resolved: Vec<Resolved> = self
            .labels
            .iter()
            .map(|(label, also)| Resolved {
                label: label.clone(),
                readers: policy.map_or_else(everyone, |policy| {
                    let own = policy.readers(label);
                    also.iter().fold(own, |sets, label| both(&sets, &policy.readers(label)))
                }),
            })
            .collect();
        let path = folder.join(FILE);
        let labels = bincode::serde::encode_to_vec(&resolved, CODEC)
            .map_err(|e| Error::io("writing", &path, std::io::Error::other(e)))?;
        let mut part = PartWriter::create(&path, ACCESS_KIND)?;
        part.section("policy", &[u8::from(policy.is_some())])?;
        part.section("labels", &labels)?;
        part.section("rows", bytemuck::cast_slice(&self.rows))?;
        let faults = policy
            .into_iter()
            .flat_map(|policy| self.labels.iter().filter_map(|(l, _)| policy.fault(l)));
        Ok((part.finish()?, faults.collect()))
    }
}

/// The sets of principals that open two things at once: whoever claims all of one set may read both.
fn both(one: &[BTreeSet<Principal>], other: &[BTreeSet<Principal>]) -> Vec<BTreeSet<Principal>> {
    let joined: BTreeSet<BTreeSet<Principal>> = one
        .iter()
        .flat_map(|left| other.iter().map(move |right| left.union(right).cloned().collect()))
        .collect();
    joined.into_iter().collect()
}

/// The labels of one layer.
#[derive(Debug)]
struct LabelLayer {
    restricted: bool,
    labels: Vec<Resolved>,
    rows: Section,
}

impl LabelLayer {
    fn open(folder: &Path, entry: &PartEntry) -> Result<Self> {
        let part = Part::open(folder, entry, ACCESS_KIND)?;
        let restricted = part.section("policy")?;
        let restricted = match restricted.bytes()? {
            [0] => false,
            [1] => true,
            _ => {
                return Err(Error::damaged(
                    restricted.path(),
                    "section `policy` is neither 0 nor 1",
                ));
            }
        };
        let labels = part.section("labels")?;
        let (decoded, _) = bincode::serde::decode_from_slice(labels.bytes()?, CODEC)
            .map_err(|e| Error::damaged(labels.path(), format!("its labels: {e}")))?;
        Ok(Self { restricted, labels: decoded, rows: part.section("rows")? })
    }
}

/// Who may read what, in an open generation.
#[derive(Debug)]
pub struct AccessStore {
    restricted: bool,
    layers: Vec<LabelLayer>,
    layout: Arc<Layout>,
    scopes: Mutex<Vec<(BTreeSet<Principal>, Scope)>>,
}

impl AccessStore {
    /// Opens the parts of `layers` in the generation `folder`, whose rows lie as `layout` says.
    pub fn open(folder: &Path, layers: &[Layer], layout: Arc<Layout>) -> Result<Self> {
        let open = |layer: &Layer| LabelLayer::open(&folder.join(&layer.folder), &layer.access);
        let layers: Vec<LabelLayer> = layers.iter().map(open).collect::<Result<_>>()?;
        let restricted = layers.iter().any(|layer| layer.restricted);
        for (at, layer) in layers.iter().enumerate() {
            if layer.restricted != restricted {
                let problem = "one layer is under a policy and another is open";
                return Err(Error::damaged(layer.rows.path(), problem));
            }
            if layer.rows.len() != layout.stored(at) as usize * 4 {
                let problem = "it does not hold one label a passage";
                return Err(Error::damaged(layer.rows.path(), problem));
            }
        }
        Ok(Self { restricted, layers, layout, scopes: Mutex::new(Vec::new()) })
    }

    /// Whether a policy was in force when the generation was built.
    pub const fn is_restricted(&self) -> bool {
        self.restricted
    }

    /// What `asker` may read. Without a policy, everyone reads everything; under one, nobody unknown
    /// reads anything.
    pub fn scope(&self, asker: Option<&Asker>) -> Result<Scope> {
        if !self.restricted {
            return Ok(Scope::everyone(self.layout.len()));
        }
        let claims = asker.map(Asker::principals).unwrap_or_default();
        let mut known = self.scopes.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, scope)) = known.iter().find(|(own, _)| *own == claims) {
            return Ok(scope.clone());
        }
        let opens = |label: &Resolved| label.readers.iter().any(|set| set.is_subset(&claims));
        let mut readable = Bitmap::none(self.layout.len());
        for (at, layer) in self.layers.iter().enumerate() {
            let open: Vec<bool> = layer.labels.iter().map(opens).collect();
            for (row, label) in self.labelled(at)? {
                // A label that is not listed opens nothing.
                if open.get(label as usize).copied().unwrap_or(false) {
                    readable.insert(row);
                }
            }
        }
        let scope = Scope::restricted(readable);
        if known.len() == SCOPES_KEPT {
            known.remove(0);
        }
        known.push((claims, scope.clone()));
        Ok(scope)
    }

    /// What the document of the passage at `row` states about who may read it.
    pub fn label(&self, row: u32) -> Result<&Label> {
        let place = self.layout.locate(row);
        let label = place.and_then(|(at, own)| {
            let layer = &self.layers[at];
            let number = layer.rows.numbers::<u32>().ok()?.get(own as usize)?;
            layer.labels.get(*number as usize)
        });
        label.map(|resolved| &resolved.label).ok_or_else(|| {
            let path = self.layers.first().map_or(Path::new(""), |layer| layer.rows.path());
            Error::damaged(path, format!("it holds no label of row {row}"))
        })
    }

    /// The live rows of a layer, each with the number of its label.
    fn labelled(&self, layer: usize) -> Result<impl Iterator<Item = (u32, u32)>> {
        let labels = self.layers[layer].rows.numbers::<u32>()?;
        Ok(self.layout.runs_of(layer).flat_map(move |run| {
            let own = run.start as usize..(run.start + run.len) as usize;
            (run.first..).zip(labels.get(own).unwrap_or_default().iter().copied())
        }))
    }

    /// How many passages carry each label, by label and by whom it opens to.
    pub fn counts(&self) -> Result<Vec<(&Resolved, usize)>> {
        let mut all: BTreeMap<&Resolved, usize> = BTreeMap::new();
        for (at, layer) in self.layers.iter().enumerate() {
            for (_, number) in self.labelled(at)? {
                if let Some(label) = layer.labels.get(number as usize) {
                    *all.entry(label).or_default() += 1;
                }
            }
        }
        Ok(all.into_iter().collect())
    }

    /// For each label in use that closes what carries it by mistake under `policy`, why.
    pub fn faults(&self, policy: &Policy) -> Result<Vec<String>> {
        Ok(self.counts()?.iter().filter_map(|(label, _)| policy.fault(&label.label)).collect())
    }

    /// Writes the labels of `layer` anew into `folder`, resolved under `policy`, each live row closed by
    /// those that `also` gives for it beside its own: what a change of the policy needs, documents being
    /// as they were.
    pub fn rewrite(
        &self,
        layer: usize,
        folder: &Path,
        policy: Option<&Policy>,
        also: impl Fn(u32) -> Result<Vec<Label>>,
    ) -> Result<PartEntry> {
        let own = &self.layers[layer];
        let mut writer = AccessWriter::default();
        for (at, number) in (0..).zip(own.rows.numbers::<u32>()?) {
            let label = own.labels.get(*number as usize).ok_or_else(|| self.unlisted(own))?;
            let also = self.layout.number(layer, at).map_or_else(|| Ok(Vec::new()), &also)?;
            writer.add_closed(&label.label, &also);
        }
        Ok(writer.finish(folder, policy)?.0)
    }

    fn unlisted(&self, layer: &LabelLayer) -> Error {
        Error::damaged(layer.rows.path(), "a row has a label that is not listed")
    }

    /// Reads every byte.
    pub fn verify(&self, pace: &Pace) -> Result<()> {
        for layer in &self.layers {
            layer.rows.verify(pace)?;
            let rows = layer.rows.numbers::<u32>()?;
            if rows.iter().any(|number| *number as usize >= layer.labels.len()) {
                return Err(self.unlisted(layer));
            }
        }
        Ok(())
    }
}
