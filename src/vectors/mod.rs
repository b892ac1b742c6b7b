//! Vectors: the model that makes them, the files that hold them, and the two ways of finding the
//! nearest.
//!
//! An [`Embedder`] turns text into rows of unit length: the model in the program, or with the feature
//! `transformer` an encoder from outside. A generation keeps them as `f32` and as
//! byte codes, both memory-mapped ([`store`]). The [`scan`] reads every code and re-scores what
//! could matter in `f32`, so it is exact; the [`walk`] over a [`graph`] reads few codes and is
//! nearly exact. [`plan`] chooses by cost, and says which and why.
//!
//! Whatever the path, a hit's score is the canonical `f32` inner product of [`kernels`], the same
//! bits on every machine, and hits are ordered by score descending, ties by row.

pub mod build;
pub mod codes;
mod embedder;
#[cfg(feature = "transformer")]
mod encoder;
pub mod graph;
pub mod hnsw;
pub mod kernels;
mod model_settings;
mod outside;
pub mod plan;
mod readable;
mod repair;
pub mod rows;
mod safetensors;
pub mod scan;
mod static_model;
pub mod store;
mod vocabulary;
pub mod walk;
mod wordpiece;

pub use embedder::{Embedder, Embeddings, LENGTH_TOLERANCE, Role};
#[cfg(feature = "transformer")]
pub use encoder::Encoder;
pub use model_settings::{ModelSettings, Pooling};
pub use outside::Outside;
pub use static_model::StaticModel;
pub use wordpiece::{Word, WordPiece};

#[cfg(test)]
mod tests;
