//! Atlas and two peers written in Rust, behind the protocol of `tools/compare`:
//!
//! ```text
//! cargo run --release --example compare -- data CORPUS OUT PASSAGES [MORE ..]
//! cargo run --release --example compare -- serve atlas|tantivy|hnsw_rs DATA INDEX
//! ```
//!
//! `data` cuts the documents of CORPUS (a set in BEIR layout) as Atlas does, takes PASSAGES of them, embeds
//! them with the model in the program, and writes what every system is then given. MORE are folders of
//! other documents, taken once CORPUS is used up. `serve` answers one JSON object a line with another.
//! Nothing here is timed but the call to the system: reading queries and writing answers is outside.
#![allow(clippy::print_stdout, reason = "answers go to stdout")]

mod atlas_system;
mod data;
mod given;
mod hnsw_rs_system;
mod npy;
mod serve;
mod tantivy_system;

use std::error::Error;
use std::path::PathBuf;

/// What every part of this program may fail with.
type Result<T> = std::result::Result<T, Box<dyn Error>>;

fn main() -> Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match words[..] {
        ["data", corpus, out, passages, ref more @ ..] => {
            let more: Vec<PathBuf> = more.iter().map(PathBuf::from).collect();
            data::write(corpus.as_ref(), out.as_ref(), passages.parse()?, &more)
        }
        ["serve", system, data, index] => serve::serve(system, data.as_ref(), index.as_ref()),
        _ => {
            Err("usage: compare data CORPUS OUT PASSAGES [MORE ..] | serve SYSTEM DATA INDEX"
                .into())
        }
    }
}
