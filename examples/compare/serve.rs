//! The protocol: one JSON object a line in, one out. `tools/compare/serve.py` speaks the same for the
//! peers in Python.
//!
//! ```text
//! {"op": "hello"}                                   → {"system", "version"}
//! {"op": "build", "part": "graph"}                  → {"cpu_s", "wall_s", "bytes", ..}
//! {"op": "open", "task": "dense", "ef": 64}         → {"open_ms", "first_ms"}
//! {"op": "run", "task": "dense", "from": 0, "count": 100, "ef": 64, "pass": 10, "ids": true}
//!                                                   → {"us": [..], "cpu_s", "wall_s", "ids": [[..]]}
//! {"op": "memory"}                                  → {"private_bytes", "clean_bytes", ..}
//! ```

use std::io::{BufRead as _, Write as _};
use std::path::Path;
use std::time::Instant;

use cpu_time::ProcessTime;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::npy::Matrix;
use crate::{Result, atlas_system, hnsw_rs_system, tantivy_system};

/// Hits wanted of every search.
pub const K: usize = 10;

/// One question as systems get it.
pub struct Asked<'a> {
    pub text: &'a str,
    pub vector: &'a [f32],
    /// Candidates of a walk over a graph; 0 for whatever the system does by itself.
    pub ef: usize,
    /// The share of parts that pass, of 100.
    pub pass: Option<u32>,
}

/// A system under comparison.
pub trait System {
    fn version(&self) -> String;

    /// Builds `part` of an index, and tells its size; the caller times it.
    fn build(&mut self, part: &str) -> Result<Box<dyn FnOnce() -> Result<Value> + '_>>;

    /// Opens what `task` needs.
    fn open(&mut self, task: &str) -> Result<()>;

    /// The rows found, best first, and the bytes of text that came with them.
    fn search(&self, task: &str, asked: &Asked<'_>) -> Result<(Vec<u32>, usize)>;
}

#[derive(Deserialize)]
struct Order {
    op: String,
    #[serde(default)]
    task: String,
    #[serde(default)]
    part: String,
    #[serde(default)]
    from: usize,
    #[serde(default)]
    count: usize,
    #[serde(default)]
    ef: usize,
    pass: Option<u32>,
    #[serde(default)]
    ids: bool,
}

/// The `text` of every line of a file.
pub fn texts(path: &Path) -> Result<Vec<String>> {
    #[derive(Deserialize)]
    struct Line {
        text: String,
    }
    let text = std::fs::read_to_string(path)?;
    text.lines().map(|line| Ok(serde_json::from_str::<Line>(line)?.text)).collect()
}

/// The titles and the text of every passage, which together are what the others get as `text`.
pub fn headed(path: &Path) -> Result<Vec<(String, String)>> {
    #[derive(Deserialize)]
    struct Line {
        text: String,
        headings_bytes: usize,
    }
    let lines = std::fs::read_to_string(path)?;
    let both = |line: &str| {
        let mut line = serde_json::from_str::<Line>(line)?;
        let text = line.text.split_off(line.headings_bytes);
        Ok((line.text, text))
    };
    lines.lines().map(both).collect()
}

/// The `part` of every passage.
pub fn parts(data: &Path) -> Result<Vec<u32>> {
    #[derive(Deserialize)]
    struct Line {
        part: u32,
    }
    let text = std::fs::read_to_string(data.join("passages.jsonl"))?;
    text.lines().map(|line| Ok(serde_json::from_str::<Line>(line)?.part)).collect()
}

/// Bytes of all files below `folder`.
pub fn bytes_below(folder: &Path) -> Result<u64> {
    let mut bytes = 0;
    for entry in std::fs::read_dir(folder)? {
        let entry = entry?;
        let about = entry.metadata()?;
        bytes += if about.is_dir() { bytes_below(&entry.path())? } else { about.len() };
    }
    Ok(bytes)
}

/// Bytes of this process's own memory by kind: dirty is its alone; clean is file pages that the kernel
/// may drop.
fn memory() -> Result<Value> {
    let text = std::fs::read_to_string("/proc/self/smaps_rollup")?;
    let of = |name: &str| {
        let line = text.lines().find_map(|line| line.strip_prefix(name));
        let kib = line.and_then(|rest| rest.trim().trim_end_matches(" kB").parse::<u64>().ok());
        kib.unwrap_or(0) * 1024
    };
    Ok(json!({
        "private_bytes": of("Private_Dirty:"), "clean_bytes": of("Private_Clean:"),
        "resident_bytes": of("Rss:"),
    }))
}

/// Runs `work`; its answer, wall seconds and seconds of processor time of the whole process.
fn timed<T>(work: impl FnOnce() -> Result<T>) -> Result<(T, f64, f64)> {
    let (wall, cpu) = (Instant::now(), ProcessTime::now());
    let made = work()?;
    let cpu = cpu.elapsed().as_secs_f64();
    Ok((made, wall.elapsed().as_secs_f64(), cpu))
}

/// Answers orders until stdin ends.
pub fn serve(name: &str, data: &Path, index: &Path) -> Result<()> {
    let texts = texts(&data.join("queries.jsonl"))?;
    let vectors = Matrix::read(&data.join("queries.npy"))?;
    let mut system: Box<dyn System> = match name {
        "atlas" => Box::new(atlas_system::Atlas::new(data, index)?),
        "tantivy" => Box::new(tantivy_system::Tantivy::new(data)?),
        "hnsw_rs" => Box::new(hnsw_rs_system::HnswRs::new(data, index)),
        _ => return Err(format!("no system `{name}` here").into()),
    };
    let ask = |at: usize, order: &Order| Asked {
        text: &texts[at],
        vector: vectors.row(at),
        ef: order.ef,
        pass: order.pass,
    };
    let mut out = std::io::stdout().lock();
    for line in std::io::stdin().lock().lines() {
        let order: Order = serde_json::from_str(&line?)?;
        let answer = match order.op.as_str() {
            "hello" => json!({"system": name, "version": system.version()}),
            "build" => {
                let work = system.build(&order.part)?;
                let (mut about, wall_s, cpu_s) = timed(work)?;
                about["wall_s"] = json!(wall_s);
                about["cpu_s"] = json!(cpu_s);
                about
            }
            "open" => {
                let (before, began) = (memory()?, Instant::now());
                system.open(&order.task)?;
                let open_ms = began.elapsed().as_secs_f64() * 1e3;
                system.search(&order.task, &ask(0, &order))?;
                let first_ms = began.elapsed().as_secs_f64() * 1e3;
                json!({"open_ms": open_ms, "first_ms": first_ms, "before": before})
            }
            "run" => run(system.as_ref(), &order, &ask)?,
            "memory" => memory()?,
            other => return Err(format!("no operation `{other}`").into()),
        };
        writeln!(out, "{answer}")?;
        out.flush()?;
    }
    Ok(())
}

fn run<'a>(
    system: &dyn System,
    order: &Order,
    ask: &impl Fn(usize, &Order) -> Asked<'a>,
) -> Result<Value> {
    let mut us = Vec::with_capacity(order.count);
    let mut found = Vec::with_capacity(order.count);
    let ((), wall_s, cpu_s) = timed(|| {
        for at in order.from..order.from + order.count {
            let began = Instant::now();
            found.push(system.search(&order.task, &ask(at, order))?);
            us.push(began.elapsed().as_secs_f64() * 1e6);
        }
        Ok(())
    })?;
    let mut answer = json!({"us": us, "wall_s": wall_s, "cpu_s": cpu_s});
    if order.ids {
        answer["text_bytes"] = json!(found.iter().map(|(_, bytes)| bytes).sum::<usize>());
        answer["ids"] = found.into_iter().map(|(rows, _)| json!(rows)).collect();
    }
    Ok(answer)
}
