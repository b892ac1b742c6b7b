//! Who may read each passage of one generation, on disk.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::{Mutex, PoisonError};

use serde::{Deserialize, Serialize};

use super::{Asker, Bitmap, Label, Policy, Principal, Scope};
use crate::error::{Error, Result};
use crate::format::{Part, PartEntry, PartWriter, Section};

/// Kind of the part.
pub const ACCESS_KIND: [u8; 4] = *b"ACCS";

/// How labels are encoded: bincode 2, little-endian, variable-length integers.
const CODEC: bincode::config::Configuration = bincode::config::standard();

/// Scopes that an open index remembers.
const SCOPES_KEPT: usize = 256;

/// A label with the sets of principals that open it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
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
        let path = folder.join("access.part");
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

/// Who may read what, in an open generation.
#[derive(Debug)]
pub struct AccessStore {
    restricted: bool,
    labels: Vec<Resolved>,
    rows: Section,
    scopes: Mutex<Vec<(BTreeSet<Principal>, Scope)>>,
}

impl AccessStore {
    /// Opens the part that `entry` describes in the generation `folder`.
    pub fn open(folder: &Path, entry: &PartEntry) -> Result<Self> {
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
        let rows = part.section("rows")?;
        Ok(Self { restricted, labels: decoded, rows, scopes: Mutex::new(Vec::new()) })
    }

    /// Whether a policy was in force when the generation was built.
    pub const fn is_restricted(&self) -> bool {
        self.restricted
    }

    /// What `asker` may read. Without a policy, everyone reads everything; under one, nobody unknown
    /// reads anything.
    pub fn scope(&self, asker: Option<&Asker>) -> Result<Scope> {
        let rows = self.rows.numbers::<u32>()?;
        if !self.restricted {
            return Ok(Scope::everyone(rows.len() as u32));
        }
        let claims = asker.map(Asker::principals).unwrap_or_default();
        let mut known = self.scopes.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, scope)) = known.iter().find(|(own, _)| *own == claims) {
            return Ok(scope.clone());
        }
        let open: Vec<bool> = self
            .labels
            .iter()
            .map(|label| label.readers.iter().any(|set| set.is_subset(&claims)))
            .collect();
        let readable = |row: &u32| open.get(rows[*row as usize] as usize).copied().unwrap_or(false);
        let scope = Scope::restricted(Bitmap::of(
            rows.len() as u32,
            (0..rows.len() as u32).filter(readable),
        ));
        if known.len() == SCOPES_KEPT {
            known.remove(0);
        }
        known.push((claims, scope.clone()));
        Ok(scope)
    }

    /// What the document of the passage at `row` states about who may read it.
    pub fn label(&self, row: u32) -> Result<&Label> {
        let number = self.rows.numbers::<u32>()?.get(row as usize).copied();
        let label = number.and_then(|number| self.labels.get(number as usize));
        label.map(|resolved| &resolved.label).ok_or_else(|| {
            Error::damaged(self.rows.path(), format!("it holds no label of row {row}"))
        })
    }

    /// Writes the labels anew into `folder`, resolved under `policy`, each row closed by those that `also`
    /// gives for it beside its own. Gives what [`AccessWriter::finish`] gives.
    pub fn rewrite(
        &self,
        folder: &Path,
        policy: Option<&Policy>,
        also: impl Fn(u32) -> Result<Vec<Label>>,
    ) -> Result<(PartEntry, Vec<String>)> {
        let mut writer = AccessWriter::default();
        for row in 0..self.rows.numbers::<u32>()?.len() as u32 {
            writer.add_closed(self.label(row)?, &also(row)?);
        }
        writer.finish(folder, policy)
    }

    /// How many passages carry each label, by label.
    pub fn counts(&self) -> Result<Vec<(&Resolved, usize)>> {
        let mut counts = vec![0; self.labels.len()];
        for number in self.rows.numbers::<u32>()? {
            if let Some(count) = counts.get_mut(*number as usize) {
                *count += 1;
            }
        }
        Ok(self.labels.iter().zip(counts).collect())
    }

    /// Reads every byte.
    pub fn verify(&self) -> Result<()> {
        let rows = self.rows.numbers::<u32>()?;
        if rows.iter().any(|number| *number as usize >= self.labels.len()) {
            return Err(Error::damaged(self.rows.path(), "a row has a label that is not listed"));
        }
        Ok(())
    }
}
