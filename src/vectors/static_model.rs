//! The model that comes with the program: a vector per wordpiece, a text the sum of its pieces.
//!
//! No network runs. A text costs its tokenizing and one row of `i8` per piece, so that a question
//! takes microseconds and a passage tens of them. `model/README.md` tells how the model was made.

use std::borrow::Cow;
use std::path::Path;
use std::sync::OnceLock;

use ndarray::Array2;
use rayon::prelude::*;

use super::embedder::{Embedder, Embeddings, Role};
use super::readable::Reading;
use super::safetensors::Table;
use super::vocabulary::FRESH_COPY;
use super::wordpiece::WordPiece;
use crate::error::{Error, Result};

const MODEL_FILE: &str = "model.safetensors";
const VOCABULARY_FILE: &str = "vocab.txt";
const MODEL: &[u8] = include_bytes!("model/model.safetensors");
const VOCABULARY: &[u8] = include_bytes!("model/vocab.txt");

/// What [`digest`] gives for the two files above: known beforehand, as reading 8 MB would take
/// longer than all else at the start.
const DIGEST: &str = "0d118bfe668edf26";
/// Raised when the same files give other vectors: when the rules of the tokenizer or the sum change.
const RULES: &str = "atlas static-model rules 1";
/// Hexadecimal digits of the digest in the id: 64 bits.
const DIGEST_DIGITS: usize = 16;

/// Below so many bytes of text a second thread costs more than it gives (a passage has about 600
/// bytes and takes about 10 µs).
const PARALLEL_BYTES: usize = 16 << 10;
/// Texts that a thread takes at a time at least.
const PARALLEL_TEXTS: usize = 8;

/// A static model: the vocabulary, and a row for each piece.
///
/// A vector is the sum of the rows of the text's pieces in their order, divided by its length. The
/// sum is in plain `f32` multiplications and additions, one component apart from the other, so the
/// bits are the same on every machine and for any number of threads. A text without pieces that
/// the model knows gives zeros.
///
/// The readable share goes by the vocabulary: words that are one piece, or a few long ones, are
/// read; other scripts, codes and foreign words in short pieces are not. Numbers, single letters
/// and punctuation do not count, and a text of nothing else has share 0.
///
/// ```
/// use atlas::vectors::{Embedder, Role};
/// use atlas::vectors::StaticModel;
///
/// let model = StaticModel::built_in()?;
/// let texts = ["my heart beats too fast", "rapid pulse", "the price of apples", "心拍数"];
/// let answer = model.embed(Role::Passage, &texts)?;
/// let cosine = |i: usize, j: usize| answer.rows.row(i).dot(&answer.rows.row(j));
/// assert!(cosine(0, 1) > cosine(0, 2));
/// assert!(answer.readable[0] > 0.9 && answer.readable[3] < 0.1);
/// # Ok::<(), atlas::error::Error>(())
/// ```
#[derive(Debug)]
pub struct StaticModel {
    id: String,
    pieces: WordPiece,
    file: Cow<'static, [u8]>,
    table: Table,
}

impl StaticModel {
    /// The file by which a folder is known for one of a static model.
    pub const FILE: &str = MODEL_FILE;

    /// The model inside the program, made ready at the first call (about a millisecond).
    pub fn built_in() -> Result<&'static Self> {
        static READY: OnceLock<StaticModel> = OnceLock::new();
        if let Some(model) = READY.get() {
            return Ok(model);
        }
        let folder = Path::new("(built in)");
        let (file, vocabulary) = (Cow::Borrowed(MODEL), Cow::Borrowed(VOCABULARY));
        let model = Self::new(folder, file, vocabulary, DIGEST.to_owned())?;
        Ok(READY.get_or_init(|| model))
    }

    /// Reads `model.safetensors` and `vocab.txt` in `folder`.
    ///
    /// The first must hold `embedding.weight` (`i8`, `[pieces × dim]`) and `embedding.scale`
    /// (`f32`, `[pieces]`, each from 0 to 1e6), the second one piece a line, with `[UNK]` among
    /// them. The same files give the same id wherever they lie.
    pub fn open(folder: &Path) -> Result<Self> {
        let read = |name| {
            let path = folder.join(name);
            std::fs::read(&path).map_err(|e| Error::io("reading", path, e))
        };
        let (file, vocabulary) = (read(MODEL_FILE)?, read(VOCABULARY_FILE)?);
        let digest = digest(&file, &vocabulary);
        Self::new(folder, Cow::Owned(file), Cow::Owned(vocabulary), digest)
    }

    fn new(
        folder: &Path,
        file: Cow<'static, [u8]>,
        vocabulary: Cow<'static, [u8]>,
        digest: String,
    ) -> Result<Self> {
        let path = folder.join(MODEL_FILE);
        let table = Table::read(&path, &file)?;
        let pieces = WordPiece::new(&folder.join(VOCABULARY_FILE), vocabulary)?;
        if pieces.len() != table.scales.len() {
            let (rows, pieces) = (table.scales.len(), pieces.len());
            let problem = format!("{rows} rows, but {VOCABULARY_FILE} has {pieces} pieces");
            return Err(Error::input(path, None, problem, FRESH_COPY));
        }
        let id = format!("static-{}@{digest}", table.dim);
        Ok(Self { id, pieces, file, table })
    }

    /// The tokenizer.
    pub fn pieces(&self) -> &WordPiece {
        &self.pieces
    }

    /// Embeds one text into `row`, which holds `dim` zeros, and gives the share read. `ids` is
    /// room to use again.
    fn embed_into(&self, text: &str, row: &mut [f32], ids: &mut Vec<u32>) -> f32 {
        ids.clear();
        let mut reading = Reading::default();
        self.pieces.words(text, |word| {
            ids.extend_from_slice(word.ids);
            reading.add(&word);
        });
        let rows: &[i8] = bytemuck::cast_slice(&self.file[self.table.rows.clone()]);
        for id in ids.iter().map(|id| *id as usize) {
            let weights = &rows[id * self.table.dim..][..row.len()];
            add_scaled(row, weights, self.table.scales[id]);
        }
        normalise(row);
        reading.share()
    }
}

impl Embedder for StaticModel {
    fn id(&self) -> &str {
        &self.id
    }

    fn dim(&self) -> usize {
        self.table.dim
    }

    /// Questions and passages are treated alike.
    fn embed(&self, _role: Role, texts: &[&str]) -> Result<Embeddings> {
        let dim = self.dim();
        let mut numbers = vec![0.0; texts.len() * dim];
        let mut readable = vec![0.0; texts.len()];
        let size_bytes: usize = texts.iter().map(|text| text.len()).sum();
        if texts.len() == 1 || size_bytes < PARALLEL_BYTES {
            let mut ids = Vec::new();
            let rows = numbers.chunks_exact_mut(dim);
            for ((text, row), share) in texts.iter().zip(rows).zip(&mut readable) {
                *share = self.embed_into(text, row, &mut ids);
            }
        } else {
            let rows = numbers.par_chunks_exact_mut(dim);
            (texts.par_iter().zip(rows).zip(&mut readable))
                .with_min_len(PARALLEL_TEXTS)
                .for_each_init(Vec::new, |ids, ((text, row), share)| {
                    *share = self.embed_into(text, row, ids);
                });
        }
        let rows = Array2::from_shape_vec((texts.len(), dim), numbers)
            .map_err(|e| Error::invalid("the number of texts", texts.len(), e.to_string()))?;
        Ok(Embeddings { rows, readable })
    }
}

/// `sum += scale × weights`, component by component.
#[inline]
fn add_scaled(sum: &mut [f32], weights: &[i8], scale: f32) {
    for (sum, weight) in sum.iter_mut().zip(weights) {
        *sum += scale * f32::from(*weight);
    }
}

/// Divides by the length; zeros stay zeros.
///
/// The squares are added in eight sums side by side, component `i` into sum `i mod 8`, which is an
/// order that a processor can follow with wide registers; in `f64`, where none of them vanishes.
fn normalise(row: &mut [f32]) {
    let mut sums = [0.0; 8];
    for eight in row.chunks(8) {
        for (sum, x) in sums.iter_mut().zip(eight) {
            *sum += f64::from(*x) * f64::from(*x);
        }
    }
    let length = sums.iter().sum::<f64>().sqrt();
    if length > 0.0 {
        row.iter_mut().for_each(|x| *x = (f64::from(*x) / length) as f32);
    }
}

/// Digest of the two files and of the rules they are read by.
fn digest(file: &[u8], vocabulary: &[u8]) -> String {
    let mut hasher = blake3::Hasher::new_derive_key(RULES);
    // Both lengths, so that no byte can move from one file to the other unnoticed.
    for part in [file, vocabulary] {
        hasher.update(&(part.len() as u64).to_le_bytes());
        hasher.update(part);
    }
    let mut digits = hasher.finalize().to_hex().to_string();
    digits.truncate(DIGEST_DIGITS);
    digits
}

#[cfg(test)]
mod tests;
