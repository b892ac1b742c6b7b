//! What shapes a ranking.

use serde::{Deserialize, Serialize};

use super::{Fusion, Synonyms};
use crate::error::{Error, Result};
use crate::lexical::Bm25;

/// Which legs a search uses.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, Default)]
#[serde(rename_all = "lowercase")]
pub enum Mode {
    /// Both legs.
    #[default]
    Hybrid,
    /// BM25 alone.
    Lexical,
    /// Embeddings alone.
    Dense,
}

/// How the dense leg finds its rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, Default)]
#[serde(rename_all = "lowercase")]
pub enum DensePath {
    /// By cost: the scan where it is fast enough, else the graph; the trace says which.
    #[default]
    Auto,
    /// The scan of every allowed row.
    Exact,
    /// The graph; an error when the index has none.
    Graph,
}

/// Settings of the pipeline, `[search]` in `atlas.toml`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Settings {
    /// Rows that each leg contributes, 1..=10000. Default 100. Nothing depends on `k`, so a result
    /// for a small `k` is a prefix of that for a larger one.
    pub depth: usize,
    /// Blocks in the window, 1..=`depth`. Default 5.
    pub k: usize,
    /// Estimated tokens in the window; the first block always fits. Default 2048.
    pub window_tokens: usize,
    /// What a term of the question adds to a candidate's words when it stands in the title of the
    /// document or of a section, as a share of its weight, 0.0..=10.0. Default 0.2.
    pub heading: f64,
    /// How the legs are joined.
    pub fusion: Fusion,
    /// Weight of the dense leg in convex fusion, 0.0..=1.0. Default 0.6, with an encoder from outside
    /// 0.8.
    pub alpha: f64,
    /// The share of a question, 0.0..=1.0, up to which the model must have read it for the dense leg to
    /// count at all. Default 0.5, with an encoder 0.25.
    pub readable_from: f64,
    /// The share from which the dense leg has its whole weight, `readable_from`..=1.0; between the two
    /// it grows evenly. Default 0.75, with an encoder 0.5. English questions read .96 on average and nearly always more than
    /// .7; German and Spanish ones .54, other scripts 0.
    pub readable_full: f64,
    /// The constant of reciprocal rank fusion, 1 or more. Default 60.
    pub rrf_k: f64,
    /// Candidates whose reranked score is below this are dropped, 0.0..=1.0; one at the value stays.
    /// Default 0, which keeps all.
    pub min_score: f64,
    /// Constants of BM25.
    pub bm25: Bm25,
    /// How the dense leg searches.
    pub dense: DensePath,
    /// Candidates that a walk over the graph keeps, 10..=10000. Default 256.
    pub ef: usize,
    /// The file of words that say the same. Default: none.
    #[serde(skip_serializing_if = "Synonyms::is_none")]
    pub synonyms: Synonyms,
    /// What a synonym counts beside the word that was asked, 0.0..=1.0. Default 0.5.
    #[serde(skip_serializing_if = "is_default_weight")]
    pub synonym_weight: f64,
    /// Likeness from which two passages say the same and only the better one is handed over,
    /// 0.0..=1.0; 1 is the same words. Default 0, which keeps all.
    #[serde(skip_serializing_if = "is_off")]
    pub duplicates: f64,
    /// How much being unlike the hits before it counts beside the score, 0.0..=1.0. Default 0.
    #[serde(skip_serializing_if = "is_off")]
    pub diversity: f64,
    /// The most hits of one document in the window; 0, the default, is no limit.
    #[serde(skip_serializing_if = "is_none")]
    pub per_document: usize,
    /// Blocks before and after a hit that are handed over with it, 0..=100. Default 0.
    #[serde(skip_serializing_if = "is_none")]
    pub neighbours: usize,
    /// Keys of metadata of which a value in the question raises the documents that have it and lowers those
    /// that have others. Default: none.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub cues: Vec<String>,
    /// How much of the fused score a cue is worth, 0.0..=1.0. Default 0.1.
    #[serde(skip_serializing_if = "is_default_cue")]
    pub cue_weight: f64,
}

/// What a cue is worth by default.
const CUE_WEIGHT: f64 = 0.1;

/// What a synonym counts by default.
const SYNONYM_WEIGHT: f64 = 0.5;

// A setting that came later is written only where it is set, so that the receipts of all others stay
// as they were.
fn is_default_weight(weight: &f64) -> bool {
    *weight == SYNONYM_WEIGHT
}

fn is_default_cue(weight: &f64) -> bool {
    *weight == CUE_WEIGHT
}

fn is_off(share: &f64) -> bool {
    *share == 0.0
}

fn is_none(count: &usize) -> bool {
    *count == 0
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            depth: 100,
            k: 5,
            window_tokens: 2048,
            heading: 0.2,
            fusion: Fusion::Convex,
            alpha: 0.6,
            readable_from: 0.5,
            readable_full: 0.75,
            rrf_k: 60.0,
            min_score: 0.0,
            bm25: Bm25::default(),
            dense: DensePath::Auto,
            ef: 256,
            synonyms: Synonyms::default(),
            synonym_weight: SYNONYM_WEIGHT,
            duplicates: 0.0,
            diversity: 0.0,
            per_document: 0,
            neighbours: 0,
            cues: Vec::new(),
            cue_weight: CUE_WEIGHT,
        }
    }
}

impl Settings {
    /// The defaults where an encoder from outside embeds, chosen with all-MiniLM-L6-v2: it deserves more
    /// weight than the model in the program, and makes more of words that crumble into short pieces.
    pub fn with_encoder() -> Self {
        Self { alpha: 0.8, readable_from: 0.25, readable_full: 0.5, ..Self::default() }
    }

    /// How much of its weight the dense leg has for a question of which the model read the share
    /// `readable`.
    pub(super) fn trust(&self, readable: f64) -> f64 {
        if readable >= self.readable_full {
            1.0
        } else if readable <= self.readable_from {
            0.0
        } else {
            (readable - self.readable_from) / (self.readable_full - self.readable_from)
        }
    }

    /// Refuses values out of their ranges.
    pub fn check(&self) -> Result<()> {
        let share = |name: &str, value: f64| {
            if (0.0..=1.0).contains(&value) {
                Ok(())
            } else {
                Err(Error::invalid(name, value, "a number from 0 to 1"))
            }
        };
        let count = |name: &str, value: usize, most: usize| {
            if (1..=most).contains(&value) {
                Ok(())
            } else {
                Err(Error::invalid(name, value, format!("a whole number from 1 to {most}")))
            }
        };
        count("search.depth", self.depth, 10_000)?;
        count("search.k", self.k, self.depth)?;
        count("search.window_tokens", self.window_tokens, 10_000_000)?;
        if !(0.0..=10.0).contains(&self.heading) {
            return Err(Error::invalid("search.heading", self.heading, "a number from 0 to 10"));
        }
        share("search.alpha", self.alpha)?;
        share("search.readable_from", self.readable_from)?;
        if !(self.readable_from..=1.0).contains(&self.readable_full) {
            let expected =
                format!("a number from search.readable_from ({}) to 1", self.readable_from);
            return Err(Error::invalid("search.readable_full", self.readable_full, expected));
        }
        share("search.min_score", self.min_score)?;
        share("search.bm25.b", self.bm25.b)?;
        share("search.synonym_weight", self.synonym_weight)?;
        share("search.cue_weight", self.cue_weight)?;
        share("search.duplicates", self.duplicates)?;
        share("search.diversity", self.diversity)?;
        if self.neighbours > 100 {
            let expected = "a whole number from 0 to 100";
            return Err(Error::invalid("search.neighbours", self.neighbours, expected));
        }
        if !(0.0..=1000.0).contains(&self.bm25.k1) {
            return Err(Error::invalid("search.bm25.k1", self.bm25.k1, "a number from 0 to 1000"));
        }
        if !(1.0..=1e6).contains(&self.rrf_k) {
            return Err(Error::invalid("search.rrf_k", self.rrf_k, "a number from 1 to 1000000"));
        }
        if !(10..=10_000).contains(&self.ef) {
            return Err(Error::invalid("search.ef", self.ef, "a whole number from 10 to 10000"));
        }
        Ok(())
    }
}
