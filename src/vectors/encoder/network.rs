//! The network of an encoder, run by ONNX Runtime.
//!
//! The library is loaded from the path that the caller names, once a process. Its own threads are
//! off: a text is encoded by one thread, so that its bits do not depend on how many there are.

use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use ort::environment::Environment;
use ort::session::Session;
use ort::session::builder::GraphOptimizationLevel;
use ort::value::TensorRef;

use crate::error::{Error, Result};

/// What to do about a library that cannot be used.
const OTHER_RUNTIME: &str =
    "name another with model.runtime, or take libonnxruntime out of the Python package onnxruntime";
/// What to do about a network that cannot be used.
const OTHER_NETWORK: &str = "use a model that was exported as a sentence encoder in ONNX format";

/// What a network may ask for: ids, which of them count, which of two texts they belong to.
const IDS: &str = "input_ids";
const MASK: &str = "attention_mask";
const SEGMENTS: &str = "token_type_ids";
/// Names of the output that holds a vector a token; else the first output is taken.
const STATES: [&str; 2] = ["last_hidden_state", "token_embeddings"];

/// The library that is loaded, and where it came from.
static LOADED: Mutex<Option<(PathBuf, Environment)>> = Mutex::new(None);

/// One copy of the network, for one thread at a time.
#[derive(Debug)]
pub(super) struct Network {
    path: PathBuf,
    session: Session,
    /// The inputs that it asks for, a value of each told by its name.
    inputs: Vec<String>,
    output: usize,
}

impl Network {
    /// Loads the library `runtime`, if it is not loaded yet, and the network at `path`.
    pub(super) fn open(runtime: &Path, path: &Path) -> Result<Self> {
        let environment = environment(runtime)?;
        let fault = |e: ort::Error| {
            Error::input(path, None, format!("ONNX Runtime does not take it ({e})"), OTHER_NETWORK)
        };
        let builder = Session::builder(&environment).map_err(fault)?;
        let builder = builder.with_intra_threads(1).map_err(|e| fault(e.into()))?;
        let builder = builder.with_inter_threads(1).map_err(|e| fault(e.into()))?;
        let level = GraphOptimizationLevel::Level3;
        let mut builder = builder.with_optimization_level(level).map_err(|e| fault(e.into()))?;
        let session = builder.commit_from_file(path).map_err(fault)?;
        let inputs: Vec<String> =
            session.inputs().iter().map(|input| input.name().to_owned()).collect();
        let other = inputs.iter().find(|name| ![IDS, MASK, SEGMENTS].contains(&name.as_str()));
        if let Some(other) = other {
            let problem = format!("it asks for `{other}`, which is not known here");
            return Err(Error::input(path, None, problem, OTHER_NETWORK));
        }
        let named = |name: &&str| session.outputs().iter().position(|own| own.name() == *name);
        let output = STATES.iter().find_map(named).unwrap_or_default();
        Ok(Self { path: path.to_owned(), session, inputs, output })
    }

    /// Encodes texts of `tokens` ids each, which stand one behind the other in `ids`, and gives `then`
    /// the vectors of all tokens, `[texts × tokens × dim]`.
    pub(super) fn run<T>(
        &mut self,
        ids: &[i64],
        tokens: usize,
        dim: usize,
        then: impl FnOnce(&[f32]) -> T,
    ) -> Result<T> {
        let path = &self.path;
        let fault = |e: ort::Error| {
            let problem = format!("running it failed ({e})");
            Error::input(path, None, problem, OTHER_NETWORK)
        };
        let (ones, zeros) = (vec![1_i64; ids.len()], vec![0_i64; ids.len()]);
        let shape = [ids.len() / tokens.max(1), tokens];
        let mut feed = Vec::with_capacity(self.inputs.len());
        for name in &self.inputs {
            let values = match name.as_str() {
                IDS => ids,
                MASK => ones.as_slice(),
                _ => zeros.as_slice(),
            };
            feed.push((name.as_str(), TensorRef::from_array_view((shape, values)).map_err(fault)?));
        }
        let outputs = self.session.run(feed).map_err(fault)?;
        let (found, states) = outputs[self.output].try_extract_tensor::<f32>().map_err(fault)?;
        let expected = [shape[0] as i64, shape[1] as i64, dim as i64];
        if found[..] != expected {
            let problem = format!(
                "it gives numbers of shape {}, not {}: a vector of {dim} for each token",
                shown(found),
                shown(&expected)
            );
            return Err(Error::input(path, None, problem, OTHER_NETWORK));
        }
        Ok(then(states))
    }
}

fn shown(shape: &[i64]) -> String {
    shape.iter().map(i64::to_string).collect::<Vec<_>>().join(" × ")
}

/// The library at `path`, loaded at the first call. Only one can be loaded in a process.
fn environment(path: &Path) -> Result<Environment> {
    let path = &std::path::absolute(path).map_err(|e| Error::io("finding", path, e))?;
    let fault = |problem: String| Error::input(path, None, problem, OTHER_RUNTIME);
    if !path.is_file() {
        return Err(fault("there is no library of ONNX Runtime here".to_owned()));
    }
    let mut loaded = LOADED.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some((own, environment)) = &*loaded {
        if own == path {
            return Ok(environment.clone());
        }
        return Err(fault(format!("this process has loaded {} already", own.display())));
    }
    let environment = ort::init_from(path)
        .map_err(|e| fault(format!("it is no library of ONNX Runtime that can be used ({e})")))?
        .with_telemetry(false)
        .build()
        .map_err(|e| fault(format!("ONNX Runtime did not start ({e})")))?;
    *loaded = Some((path.clone(), environment.clone()));
    Ok(environment)
}
