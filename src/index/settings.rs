//! What shapes an index.

use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};
use crate::format::Manifest;
use crate::vectors::build::GraphParams;
use crate::vectors::store::BUILDERS;
use crate::{passage, text};

/// Everything that decides what an index of a corpus holds.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Settings {
    /// Names what of the corpus folder is read: a subset or an excluded file makes another index.
    pub reading: String,
    /// How documents are cut.
    pub passage: passage::Settings,
    /// How text becomes terms.
    pub text: text::Settings,
    /// The graph.
    pub graph: GraphSettings,
    /// When a build starts anew; no part of what an index holds.
    pub layers: LayerSettings,
    /// What a build may hold; no part of what an index holds.
    pub memory: Memory,
}

/// Bytes of memory that a build may fill by its own choice, `build.memory_bytes` in `atlas.toml`: with
/// documents that wait for their turn, with postings that gather, and with the documents that are worked on.
/// What it holds is the same with any; what it takes beside them is told in `ARCHITECTURE.md`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Memory {
    /// The bytes, [`Memory::LEAST`] or more.
    pub bytes: u64,
}

impl Default for Memory {
    /// 1 GiB.
    fn default() -> Self {
        Self { bytes: 1 << 30 }
    }
}

impl Memory {
    /// 64 MiB: a quarter is what tantivy wants at least.
    pub const LEAST: u64 = 64 << 20;

    /// Half is for documents: those of a larger corpus wait in a file.
    pub(super) fn documents(self) -> usize {
        usize::try_from(self.bytes / 2).unwrap_or(usize::MAX)
    }

    /// A quarter is for postings.
    pub(super) fn postings(self) -> usize {
        usize::try_from(self.bytes / 4).unwrap_or(usize::MAX)
    }

    /// Bytes of documents that are cut, analysed and embedded at a time. With all that is made of them
    /// they take about ten times as much; 8 MiB keep all threads busy.
    pub(super) fn batch(self) -> usize {
        usize::try_from(self.bytes / 64).unwrap_or(usize::MAX).clamp(256 << 10, 8 << 20)
    }
}

/// How much may lie beside the base, `[layers]` in `atlas.toml`. It decides what a build costs now or
/// later, never what is found.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct LayerSettings {
    /// Layers at most, 1..=64; each costs every search a little, and 1 writes all each time. Default 4.
    pub most: usize,
    /// Documents that were added, changed or dropped since the base was written, in percent of its own,
    /// from which on all is written anew; 0..=1000000. Default 10: rows beside the graph are scanned, so
    /// this bounds what searches pay.
    pub rewrite_percent: usize,
}

impl Default for LayerSettings {
    fn default() -> Self {
        Self { most: 4, rewrite_percent: 10 }
    }
}

/// The graph over the embeddings, `[graph]` in `atlas.toml`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct GraphSettings {
    /// Passages from which on a graph is built; below, the exact scan is faster. Default 20000.
    pub from_passages: usize,
    /// Who builds it: `batched` (ours, the same bytes on any number of threads) or `hnsw_rs`.
    pub builder: String,
    /// Links of a row on an upper layer, twice that on the lowest, 2..=128. Default 16.
    pub m: usize,
    /// Candidates kept while a row is inserted, 1..=10000. Default 200.
    pub ef_construction: usize,
}

impl Default for GraphSettings {
    fn default() -> Self {
        let GraphParams { m, ef_construction } = GraphParams::default();
        Self { from_passages: 20_000, builder: BUILDERS[0].to_owned(), m, ef_construction }
    }
}

impl GraphSettings {
    /// Whether a generation has the graph that these settings ask for.
    pub fn is_of(&self, manifest: &Manifest) -> bool {
        let wanted = manifest.passages >= self.from_passages.max(1);
        manifest.graph.as_ref().map_or(!wanted, |graph| {
            let same = (graph.m, graph.ef_construction) == (self.m, self.ef_construction);
            wanted && same && graph.builder == self.builder
        })
    }

    /// The parameters for a builder.
    pub const fn params(&self) -> GraphParams {
        GraphParams { m: self.m, ef_construction: self.ef_construction }
    }
}

impl Settings {
    /// Refuses values out of their ranges.
    pub fn check(&self) -> Result<()> {
        self.passage.validate()?;
        text::Analyzer::new(&self.text)?;
        self.graph.params().check()?;
        for (name, value, least, most) in [
            ("layers.most", self.layers.most, 1, 64),
            ("layers.rewrite_percent", self.layers.rewrite_percent, 0, 1_000_000),
        ] {
            if !(least..=most).contains(&value) {
                let expected = format!("a whole number from {least} to {most}");
                return Err(Error::invalid(name, value, expected));
            }
        }
        if !BUILDERS.contains(&self.graph.builder.as_str()) {
            let expected = format!("one of {}", BUILDERS.join(", "));
            return Err(Error::invalid(
                "graph.builder",
                format!("`{}`", self.graph.builder),
                expected,
            ));
        }
        Ok(())
    }

    /// The passage settings as a manifest states them.
    pub(super) fn passage_id(&self) -> String {
        serde_json::to_string(&self.passage).unwrap_or_default()
    }
}
