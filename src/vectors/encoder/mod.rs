//! A sentence encoder from outside: a transformer in ONNX format, run by a library that the caller
//! names. Only with the feature `transformer`.
//!
//! Texts of equal length in tokens go through the network together and no others: nothing is padded,
//! so a text costs what it costs alone, and its bits are those that it has alone.

mod network;
mod pieces;

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::SystemTime;

use ndarray::Array2;
use rayon::prelude::*;
use serde::Deserialize;

use self::network::Network;
use self::pieces::Pieces;
use super::embedder::{Embedder, Embeddings, Role};
use super::model_settings::{ModelSettings, Pooling};
use crate::error::{Error, Result};

const NETWORK_FILE: &str = "model.onnx";
/// Where networks over 2 GB keep their weights.
const WEIGHT_FILES: [&str; 2] = ["model.onnx_data", "model.onnx.data"];
const TOKENIZER_FILE: &str = "tokenizer.json";
const CONFIG_FILE: &str = "config.json";

/// Raised when the same files and settings give other vectors.
const RULES: &str = "atlas onnx-encoder rules 1";
/// Hexadecimal digits of the digest in the id: 64 bits.
const DIGEST_DIGITS: usize = 16;

/// Tokens that go through the network together: short texts are two to three times as fast as one by
/// one, and from about 64 tokens on a text nothing is gained.
const BATCH_TOKENS: usize = 1024;
/// Texts between two words about the progress of a build: some ten seconds on one core.
const TEXTS_AT_A_TIME: usize = 512;

/// The encoder of the last call of [`Encoder::open`], with what it was made of: a command opens its
/// project more than once, and reading the files takes longer than most commands.
static LAST: Mutex<Option<Last>> = Mutex::new(None);

/// An encoder, and what it was made of.
struct Last {
    settings: ModelSettings,
    stamps: Vec<Stamp>,
    encoder: Arc<Encoder>,
}

/// A file as the system knows it: size, and time of change.
type Stamp = (u64, Option<SystemTime>);

/// What is read of a `config.json`.
#[derive(Deserialize)]
struct Config {
    hidden_size: usize,
    max_position_embeddings: Option<usize>,
}

/// A sentence encoder: a text's tokens through a transformer, their vectors made one of length 1.
///
/// The id holds a digest of the files and of all settings that shape a vector, so an index of another
/// model, prefix or pooling is refused by name. The network is loaded when the first text comes. The
/// readable share is that of the wordpieces, as for the model in the program.
#[derive(Debug)]
pub struct Encoder {
    id: String,
    dim: usize,
    pooling: Pooling,
    pieces: Pieces,
    runtime: PathBuf,
    network: PathBuf,
    /// Copies of the network at most, at least 1.
    threads: usize,
    pool: Mutex<Pool>,
    returned: Condvar,
}

/// Copies of the network: those that nobody uses, and how many there may be yet.
#[derive(Debug)]
struct Pool {
    free: Vec<Network>,
    left: usize,
}

/// Texts of one length on their way: their places, and their ids one behind the other.
struct Batch {
    places: Vec<usize>,
    ids: Vec<i64>,
    tokens: usize,
}

impl Encoder {
    /// Reads the encoder that `settings` name.
    ///
    /// # Errors
    /// When path or library are not named, a file is missing, or the tokenizer is of another kind.
    /// Whether library and network can be used shows at the first text.
    pub fn open(settings: &ModelSettings) -> Result<Arc<Self>> {
        settings.check()?;
        let Some(folder) = &settings.path else {
            return Err(Error::invalid("model.path", "not set", "the folder of an encoder"));
        };
        let files = [NETWORK_FILE, TOKENIZER_FILE, CONFIG_FILE];
        let stamps: Vec<Stamp> =
            files.iter().map(|name| stamp(folder, name)).collect::<Result<_>>()?;
        let mut last = LAST.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = &*last
            && known.settings == *settings
            && known.stamps == stamps
        {
            return Ok(Arc::clone(&known.encoder));
        }
        let encoder = Arc::new(Self::new(folder, settings)?);
        let (settings, own) = (settings.clone(), Arc::clone(&encoder));
        *last = Some(Last { settings, stamps, encoder: own });
        Ok(encoder)
    }

    fn new(folder: &Path, settings: &ModelSettings) -> Result<Self> {
        let Some(runtime) = &settings.runtime else {
            let expected = "the path of ONNX Runtime's shared library (libonnxruntime.so), in \
                            atlas.toml or in the environment variable ORT_DYLIB_PATH";
            return Err(Error::invalid("model.runtime", "not set", expected));
        };
        let read = |name| {
            let path = folder.join(name);
            std::fs::read(&path).map_err(|e| Error::io("reading", path, e))
        };
        let (network, tokenizer, config) =
            (folder.join(NETWORK_FILE), folder.join(TOKENIZER_FILE), folder.join(CONFIG_FILE));
        let pieces = Pieces::new(&tokenizer, &read(TOKENIZER_FILE)?, settings)?;
        let Config { hidden_size: dim, max_position_embeddings: most } =
            serde_json::from_slice(&read(CONFIG_FILE)?).map_err(|e| {
                let help = "put the config.json of the model there, with its hidden_size";
                Error::input(&config, None, format!("not the configuration of a model ({e})"), help)
            })?;
        if dim == 0 {
            return Err(Error::input(
                config,
                None,
                "hidden_size is 0",
                "put the model's own there",
            ));
        }
        if let Some(most) = most.filter(|most| settings.max_tokens > *most) {
            let expected = format!("at most the {most} tokens that the model knows");
            return Err(Error::invalid("model.max_tokens", settings.max_tokens, expected));
        }
        let digest = digest(folder, settings)?;
        let threads = match settings.threads {
            0 => rayon::current_num_threads(),
            threads => threads,
        };
        Ok(Self {
            id: format!("onnx-{dim}@{digest}"),
            dim,
            pooling: settings.pooling,
            pieces,
            runtime: runtime.clone(),
            network,
            threads,
            pool: Mutex::new(Pool { free: Vec::new(), left: threads }),
            returned: Condvar::new(),
        })
    }

    /// Number of token ids of the vocabulary.
    pub fn vocabulary_len(&self) -> usize {
        self.pieces.len()
    }

    /// The token ids of `text`, as the network gets them; none for a text without words.
    pub fn ids(&self, role: Role, text: &str) -> Vec<i64> {
        self.pieces.ids(role, text).0
    }

    /// Takes a copy of the network, makes one while there may be more, or waits for one.
    fn take(&self) -> Result<Network> {
        let mut pool = self.pool.lock().unwrap_or_else(PoisonError::into_inner);
        loop {
            if let Some(network) = pool.free.pop() {
                return Ok(network);
            }
            if pool.left > 0 {
                pool.left -= 1;
                drop(pool);
                let made = Network::open(&self.runtime, &self.network);
                if made.is_err() {
                    self.pool.lock().unwrap_or_else(PoisonError::into_inner).left += 1;
                    self.returned.notify_one();
                }
                return made;
            }
            pool = self.returned.wait(pool).unwrap_or_else(PoisonError::into_inner);
        }
    }

    fn put_back(&self, network: Network) {
        self.pool.lock().unwrap_or_else(PoisonError::into_inner).free.push(network);
        self.returned.notify_one();
    }

    /// Works on `batches` until none is left or one fails; gives places and rows.
    fn work(&self, batches: &[Batch], next: &AtomicUsize) -> Result<Vec<(usize, Vec<f32>)>> {
        let mut network = self.take()?;
        let mut rows = Vec::new();
        let mut done = Ok(());
        while let Some(batch) = batches.get(next.fetch_add(1, Ordering::Relaxed)) {
            let (dim, size) = (self.dim, self.dim * batch.tokens);
            let pooled = network.run(&batch.ids, batch.tokens, dim, |states| {
                let each = batch.places.iter().zip(states.chunks_exact(size));
                rows.extend(each.map(|(place, states)| (*place, pool(self.pooling, states, dim))));
            });
            if pooled.is_err() {
                // The others need not go on either.
                next.store(batches.len(), Ordering::Relaxed);
                done = pooled;
                break;
            }
        }
        self.put_back(network);
        done.map(|()| rows)
    }
}

impl Embedder for Encoder {
    fn id(&self) -> &str {
        &self.id
    }

    fn dim(&self) -> usize {
        self.dim
    }

    fn texts_at_a_time(&self) -> usize {
        TEXTS_AT_A_TIME
    }

    /// A text is cut after `max_tokens`; the readable share is that of the whole text. One without
    /// words gives zeros.
    fn embed(&self, role: Role, texts: &[&str]) -> Result<Embeddings> {
        let read: Vec<(Vec<i64>, f32)> =
            texts.par_iter().map(|text| self.pieces.ids(role, text)).collect();
        let batches = batches(&read);
        let workers = self.threads.min(batches.len());
        let next = AtomicUsize::new(0);
        let made: Vec<Vec<(usize, Vec<f32>)>> = (0..workers)
            .into_par_iter()
            .map(|_| self.work(&batches, &next))
            .collect::<Result<_>>()?;
        let mut rows = Array2::zeros((texts.len(), self.dim));
        for (place, row) in made.into_iter().flatten() {
            rows.row_mut(place).assign(&ndarray::ArrayView1::from(&row));
        }
        Ok(Embeddings { rows, readable: read.into_iter().map(|(_, share)| share).collect() })
    }
}

/// Texts of one length together, the longest first, so that no thread is left with them at the end.
fn batches(read: &[(Vec<i64>, f32)]) -> Vec<Batch> {
    let mut order: Vec<usize> =
        (0..read.len()).filter(|place| !read[*place].0.is_empty()).collect();
    order.sort_by_key(|place| (std::cmp::Reverse(read[*place].0.len()), *place));
    let mut batches = Vec::new();
    for group in order.chunk_by(|a, b| read[*a].0.len() == read[*b].0.len()) {
        let tokens = read[group[0]].0.len();
        for places in group.chunks((BATCH_TOKENS / tokens).max(1)) {
            let ids = places.iter().flat_map(|place| &read[*place].0).copied().collect();
            batches.push(Batch { places: places.to_vec(), ids, tokens });
        }
    }
    batches
}

/// One vector of length 1 out of those of a text's tokens, `[tokens × dim]`; zeros if they are no
/// numbers of any length.
///
/// Sums are in `f64` and in the order of the tokens.
fn pool(pooling: Pooling, states: &[f32], dim: usize) -> Vec<f32> {
    let mut sum = vec![0.0_f64; dim];
    let tokens = match pooling {
        Pooling::Mean => states.len() / dim,
        Pooling::Cls => 1,
    };
    for state in states.chunks_exact(dim).take(tokens) {
        sum.iter_mut().zip(state).for_each(|(sum, x)| *sum += f64::from(*x));
    }
    let length = sum.iter().map(|x| x * x).sum::<f64>().sqrt();
    let scale = if length > 0.0 { length.recip() } else { 0.0 };
    sum.into_iter().map(|x| (x * scale) as f32).collect()
}

/// Size and time of a file of the encoder in `folder`.
fn stamp(folder: &Path, name: &str) -> Result<Stamp> {
    let path = folder.join(name);
    match std::fs::metadata(&path) {
        Ok(known) => Ok((known.len(), known.modified().ok())),
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => {
            let found = format!("`{}`, which has no {name}", folder.display());
            let expected =
                format!("a folder with {NETWORK_FILE}, {TOKENIZER_FILE} and {CONFIG_FILE}");
            Err(Error::invalid("model.path", found, expected))
        }
        Err(e) => Err(Error::io("reading", path, e)),
    }
}

/// Digest of what shapes a vector: the files, the settings, and the rules they are used by.
fn digest(folder: &Path, settings: &ModelSettings) -> Result<String> {
    let mut hasher = blake3::Hasher::new_derive_key(RULES);
    let settings = ModelSettings { path: None, runtime: None, threads: 0, ..settings.clone() };
    hasher.update(serde_json::to_string(&settings).unwrap_or_default().as_bytes());
    for name in [TOKENIZER_FILE, CONFIG_FILE, NETWORK_FILE].iter().chain(&WEIGHT_FILES) {
        let path = folder.join(name);
        if WEIGHT_FILES.contains(name) && !path.is_file() {
            continue;
        }
        let fault = |e| Error::io("reading", &path, e);
        let file = std::fs::File::open(&path).map_err(fault)?;
        // Name and length first, so that no byte can move from one file to another unnoticed.
        hasher.update(name.as_bytes());
        hasher.update(&file.metadata().map_err(fault)?.len().to_le_bytes());
        hasher.update_reader(file).map_err(fault)?;
    }
    let mut digits = hasher.finalize().to_hex().to_string();
    digits.truncate(DIGEST_DIGITS);
    Ok(digits)
}

#[cfg(test)]
mod tests;
