//! What a generation holds, in JSON: counts, identities of everything that shaped it, and every
//! file with its length and checksum.

use serde::{Deserialize, Serialize};

/// One file of ours: see [`Part`](super::Part).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PartEntry {
    /// File name inside the generation.
    pub file: String,
    /// Its length in bytes.
    pub size_bytes: u64,
    /// XXH3 of its section table, which holds the checksums of its blocks; 16 hexadecimal digits.
    pub checksum: String,
}

/// One file written by a crate (tantivy), checked as a whole.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileEntry {
    /// Path inside the generation, with `/`.
    pub file: String,
    /// Its length in bytes.
    pub size_bytes: u64,
    /// XXH3 of its bytes; 16 hexadecimal digits.
    pub checksum: String,
}

/// A source file as it was when the generation was built.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SourceFile {
    /// Path relative to the corpus folder, with `/`.
    pub path: String,
    /// Its length in bytes.
    pub size_bytes: u64,
    /// Modification time in nanoseconds since 1970.
    pub mtime_ns: u64,
    /// BLAKE3 of its bytes, hexadecimal.
    pub hash: String,
}

/// The graph of a generation.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct GraphState {
    /// The builder's id.
    pub builder: String,
    /// Links of a row on an upper layer.
    pub m: usize,
    /// Candidates kept while a row was inserted.
    pub ef_construction: usize,
    /// Its part.
    pub part: PartEntry,
    /// Recall@10 against the exact scan on sampled rows of the index, 0..=1.
    pub recall_at_10: f64,
}

/// A generation, whole. Everything here is refused by name when it does not fit the reader.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Manifest {
    /// [`FORMAT_VERSION`](super::FORMAT_VERSION) of the writer.
    pub format: u32,
    /// Version of the program that wrote it.
    pub written_by: String,
    /// Number of the generation, from 1.
    pub generation: u64,
    /// BLAKE3 over the content: passages, statistics, vectors, settings. Not over the graph, not
    /// over the layout of tantivy's files, not over times and file names.
    pub digest: String,
    /// BLAKE3 over the digests of the indexed documents, by id: equal for corpora of equal content.
    pub fingerprint: String,
    /// The analyzer's id.
    pub analyzer: String,
    /// The embedder's id.
    pub embedder: String,
    /// What of the corpus folder is read, as the canonical JSON of the settings that decide it; empty
    /// for a corpus that was not read from a folder.
    pub reading: String,
    /// The passage settings, as their canonical JSON.
    pub passage: String,
    /// Components of an embedding.
    pub dim: usize,
    /// Documents indexed. This and the counts below are of what is alive in all layers.
    pub documents: usize,
    /// Blocks indexed.
    pub blocks: usize,
    /// Passages indexed.
    pub passages: usize,
    /// Terms in all passages: what BM25 divides by `passages` for the average length.
    pub terms_total: u64,
    /// Files that are not in the index, with the reason.
    pub skipped: Vec<(String, String)>,
    /// Files that are in the index in part, or of which something is to be said, with what it is.
    pub noted: Vec<(String, String)>,
    /// The source files as they were.
    pub sources: Vec<SourceFile>,
    /// The base and what has changed since, oldest first.
    pub layers: Vec<Layer>,
    /// Hash of the policy in force; `open` without one.
    pub policy: String,
    /// The graph over the embeddings of the base, when one was built.
    pub graph: Option<GraphState>,
    /// The generation that it repeats, for one that was made by going back.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rolled_back_to: Option<u64>,
}

/// Documents that were written together: a folder of a generation, the same files in every later
/// generation that still uses them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Layer {
    /// Its folder inside the generation.
    pub folder: String,
    /// Passages stored, dropped ones among them: rows of every column.
    pub passages: usize,
    /// Numbers of its documents that are gone or replaced by a later layer, ascending.
    pub dropped: Vec<u32>,
    /// Passage store.
    pub store: PartEntry,
    /// Passage lengths in terms.
    pub lengths: PartEntry,
    /// Embeddings.
    pub vectors: PartEntry,
    /// Their codes.
    pub codes: PartEntry,
    /// Who may read which passage.
    pub access: PartEntry,
    /// Tantivy's files.
    pub lexical: Vec<FileEntry>,
}

impl Layer {
    /// Every file of the layer, by its path inside the layer.
    pub fn files(&self) -> impl Iterator<Item = &str> {
        let parts = [&self.store, &self.lengths, &self.vectors, &self.codes, &self.access];
        let parts = parts.into_iter().map(|part| part.file.as_str());
        parts.chain(self.lexical.iter().map(|file| file.file.as_str()))
    }

    /// Bytes of all its files.
    pub fn size_bytes(&self) -> u64 {
        let parts = [&self.store, &self.lengths, &self.vectors, &self.codes, &self.access];
        parts.iter().map(|part| part.size_bytes).sum::<u64>()
            + self.lexical.iter().map(|file| file.size_bytes).sum::<u64>()
    }
}

/// The most components of an embedding; no model comes near.
const DIM_MAX: usize = 1 << 16;

/// The most rows, blocks or documents: their numbers have 32 bits.
const ROWS_MAX: usize = u32::MAX as usize;

impl Manifest {
    /// What no index can be, in words: counts that the number of a row cannot reach, so that no sum and
    /// no product of them can overflow.
    pub(super) fn fault(&self) -> Option<String> {
        let stored =
            self.layers.iter().fold(0_usize, |sum, layer| sum.saturating_add(layer.passages));
        let counts = [
            ("documents", self.documents, ROWS_MAX),
            ("blocks", self.blocks, ROWS_MAX),
            ("passages", self.passages, ROWS_MAX),
            ("passages of all layers", stored, ROWS_MAX),
            ("dim", self.dim, DIM_MAX),
        ];
        let (name, count, _) = counts.into_iter().find(|(_, count, most)| count > most)?;
        Some(format!("`{name}` is {count}, which no index can have"))
    }

    /// Bytes of all files of the generation, the manifest apart. Files that older generations share are
    /// counted whole.
    pub fn size_bytes(&self) -> u64 {
        let graph = self.graph.as_ref().map_or(0, |graph| graph.part.size_bytes);
        self.layers.iter().map(Layer::size_bytes).sum::<u64>() + graph
    }

    /// Passages in files, dropped ones among them.
    pub fn passages_stored(&self) -> usize {
        self.layers.iter().map(|layer| layer.passages).sum()
    }
}
