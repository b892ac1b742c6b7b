//! `atlas search --batch`: many requests in one go, JSON lines in and out.

use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use atlas::access::{Asker, Scope};
use atlas::corpus::VectorFile;
use atlas::error::{Error, Result, complaint};
use atlas::index::{Filter, Index};
use atlas::project::Project;
use atlas::search::{Mode, Outcome, Request, Searcher, Settings};
use rayon::prelude::*;
use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::output::{Output, note};
use super::search::SearchArgs;
use super::{Exit, Format, Global, build, usage};

/// One line of the file; what it does not say comes from the arguments.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Line {
    id: Option<Value>,
    #[serde(default)]
    question: String,
    k: Option<usize>,
    mode: Option<Mode>,
    #[serde(rename = "as")]
    asker: Option<String>,
    #[serde(default)]
    filter: Filters,
    vector: Option<Vec<f32>>,
}

/// One `KEY=VALUE`, or several.
#[derive(Debug, Deserialize)]
#[serde(untagged)]
enum Filters {
    One(String),
    All(Vec<String>),
}

impl Default for Filters {
    fn default() -> Self {
        Self::All(Vec::new())
    }
}

impl Filters {
    fn iter(&self) -> impl Iterator<Item = &String> {
        match self {
            Self::One(one) => std::slice::from_ref(one),
            Self::All(all) => all.as_slice(),
        }
        .iter()
    }
}

/// A request as it will be asked, but for the scope, which is found anew each time.
struct Asked<'p> {
    id: Value,
    line: u64,
    request: Result<Ready<'p>>,
}

struct Ready<'p> {
    request: Request,
    filter: Filter,
    asker: Option<&'p Asker>,
    /// Why nothing is visible, if so.
    nobody: Option<String>,
}

/// What one request brought: the window by name, and the outcome for times and log.
struct Answer {
    hits: Vec<Value>,
    request: Request,
    outcome: Outcome,
}

/// What the loop over the requests cost.
struct Cost {
    wall_s: f64,
    /// Seconds of processor time of this process; `None` where the system does not tell.
    cpu_s: Option<f64>,
}

/// Answers every line of `path`; exit code 4 when one of them cannot be.
pub fn run(
    args: &SearchArgs,
    path: &Path,
    project: &Project,
    settings: &Settings,
    global: &Global,
    out: &mut Output,
) -> Result<Exit> {
    let threads = args
        .threads
        .map_or_else(|| std::thread::available_parallelism().map_or(1, usize::from), usize::from);
    let text = std::fs::read_to_string(path).map_err(|e| Error::reading("reading", path, e))?;
    let lines = text.lines().zip(1..).filter(|(line, _)| !line.trim().is_empty());
    let lines: Vec<(&str, u64)> = lines.collect();
    let vectors =
        args.vectors.as_deref().map(|file| vectors(file, path, lines.len())).transpose()?;
    let index = Arc::new(build::ensure(project)?);
    let searcher = Searcher::new(Arc::clone(&index), settings.clone())?;
    let ask = |(at, (text, line)): (usize, (&str, u64))| {
        let vector = vectors.as_ref().map(|rows| &*rows[at]);
        asked(args, project, &searcher, path, text, line, vector)
    };
    let requests: Vec<Asked<'_>> = lines.into_iter().enumerate().map(ask).collect();
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build();
    let pool = pool.map_err(|e| Error::invalid("--threads", threads, format!("fewer ({e})")))?;
    let all = || -> Vec<Option<Result<Answer>>> {
        let one = |asked: &Asked<'_>| {
            asked.request.as_ref().ok().map(|ready| answer(&searcher, ready, args.texts))
        };
        requests.par_iter().with_max_len(1).map(one).collect()
    };
    pool.install(|| (0..args.warm_up).for_each(|_| drop(all())));
    let (answers, cost) = timed(|| pool.install(all));
    let times = args.timings || global.format == Format::Json;
    let mut failed = 0;
    for (asked, answer) in requests.iter().zip(answers) {
        let told = match (&asked.request, answer) {
            (Ok(ready), Some(Ok(answer))) => {
                usage::record(project, ready.asker, &answer.request, &index, &answer.outcome)?;
                line_of(asked, ready, answer, times)
            }
            (Ok(_), Some(Err(fault))) => fault_of(asked, &fault),
            (Err(fault), _) => fault_of(asked, fault),
            (Ok(_), None) => continue,
        };
        failed += usize::from(told.contains_key("error"));
        out.line(Value::Object(told).to_string());
    }
    summary(requests.len(), failed, threads, &cost, global.format);
    Ok(if failed > 0 { Exit::Bad } else { Exit::Done })
}

/// The rows of `file`, one for each of the requests of `path`.
fn vectors(file: &Path, path: &Path, requests: usize) -> Result<Vec<Box<[f32]>>> {
    let rows = VectorFile::open(file)?;
    if rows.rows() != requests {
        let problem =
            format!("{} rows for the {requests} requests of {}", rows.rows(), path.display());
        return Err(Error::input(file, None, problem, "row i is the vector of request i"));
    }
    rows.read_all()
}

/// The request of one line; what is wrong with it is told in its place among the answers.
fn asked<'p>(
    args: &SearchArgs,
    project: &'p Project,
    searcher: &Searcher,
    path: &Path,
    text: &str,
    line: u64,
    vector: Option<&[f32]>,
) -> Asked<'p> {
    let parsed = serde_json::from_str::<Line>(text.trim()).map_err(|fault| {
        let (mut problem, meant) = complaint(&fault.to_string(), "");
        if !fault.is_data() {
            problem = format!("not JSON: {problem}");
        }
        let keys = "the keys are id, question, k, mode, as, filter and vector";
        Error::input(path, Some(line), problem, meant.as_deref().unwrap_or(keys))
    });
    let id = parsed.as_ref().ok().and_then(|own| own.id.clone()).unwrap_or_else(|| json!(line));
    let request = parsed.and_then(|own| ready(args, project, searcher, own, vector));
    Asked { id, line, request }
}

fn ready<'p>(
    args: &SearchArgs,
    project: &'p Project,
    searcher: &Searcher,
    line: Line,
    vector: Option<&[f32]>,
) -> Result<Ready<'p>> {
    let mut filter = Filter::default();
    args.filter.iter().chain(line.filter.iter()).try_for_each(|written| filter.add(written))?;
    if let Some(day) = &args.as_of {
        filter.as_of(day)?;
    }
    let (asker, nobody) = project.asker(line.asker.as_deref().or(args.asker.as_deref()));
    // The scope of everyone over nothing: the own one is put in its place when it is asked.
    let mut request =
        args.refine(Request::new(line.question, Scope::everyone(0)), searcher.settings())?;
    if let Some(mode) = line.mode {
        request = request.mode(mode);
    }
    if let Some(k) = line.k {
        request = request.k(k, searcher.settings())?;
    }
    match (vector, &line.vector) {
        (Some(_), Some(_)) => {
            return Err(Error::invalid("`vector`", "given twice", "one, here or in --vectors"));
        }
        (Some(own), None) => request = request.vector(own)?,
        (None, Some(own)) => request = request.vector(own)?,
        (None, None) => {}
    }
    Ok(Ready { request, filter, asker, nobody })
}

/// Searches within what the asker may read and the filter leaves.
fn answer(searcher: &Searcher, ready: &Ready<'_>, texts: bool) -> Result<Answer> {
    use atlas::search::Retriever as _;
    let index = searcher.index();
    let scope = index.scope(ready.asker)?;
    let scope =
        if scope.readable().count() == 0 { scope } else { index.narrow(&scope, &ready.filter)? };
    let request = ready.request.clone().within(scope);
    let outcome = searcher.retrieve(&request)?;
    let hits = outcome.context.iter().map(|hit| shown(index, hit.row, hit.score, texts));
    Ok(Answer { hits: hits.collect::<Result<_>>()?, request, outcome })
}

fn shown(index: &Index, row: u32, score: f64, texts: bool) -> Result<Value> {
    let passages = index.passages();
    let reference = passages.reference(row)?;
    let mut hit = json!({
        "reference": reference.to_string(),
        "document": reference.block.document,
        "score": score,
    });
    if texts {
        hit["text"] = json!(passages.passage_text(&passages.passage(row)?)?);
    }
    Ok(hit)
}

fn line_of(
    asked: &Asked<'_>,
    ready: &Ready<'_>,
    answer: Answer,
    times: bool,
) -> Map<String, Value> {
    let mut told = Map::new();
    told.insert("id".to_owned(), asked.id.clone());
    told.insert("hits".to_owned(), Value::Array(answer.hits));
    if let Some(why) = &ready.nobody {
        told.insert("note".to_owned(), json!(why));
    }
    if times {
        let trace = &answer.outcome.trace;
        let stages = trace.stages.iter();
        let stages: Map<String, Value> =
            stages.map(|stage| (stage.name.to_owned(), json!(stage.elapsed_us))).collect();
        told.insert("total_us".to_owned(), json!(trace.total_us));
        told.insert("stages_us".to_owned(), Value::Object(stages));
    }
    told
}

fn fault_of(asked: &Asked<'_>, fault: &Error) -> Map<String, Value> {
    let told = [
        ("id", asked.id.clone()),
        ("line", json!(asked.line)),
        ("error", json!(fault.to_string())),
    ];
    told.into_iter().map(|(key, value)| (key.to_owned(), value)).collect()
}

/// Runs `work`: what it gave, and what it cost.
fn timed<T>(work: impl FnOnce() -> T) -> (T, Cost) {
    let (cpu, began) = (cpu_s(), Instant::now());
    let done = work();
    let wall_s = began.elapsed().as_secs_f64();
    let cpu_s = cpu_s().zip(cpu).map(|(after, before)| after - before);
    (done, Cost { wall_s, cpu_s })
}

/// Seconds of processor time that the threads of this process have taken; `None` where the system does not
/// tell. The threads of a batch live as long as its pool, so none drops out between two looks.
fn cpu_s() -> Option<f64> {
    let mut total_ns = 0;
    for thread in std::fs::read_dir("/proc/self/task").ok()? {
        let said = std::fs::read_to_string(thread.ok()?.path().join("schedstat")).ok()?;
        total_ns += said.split(' ').next()?.parse::<u64>().ok()?;
    }
    Some(total_ns as f64 / 1e9)
}

fn summary(requests: usize, failed: usize, threads: usize, cost: &Cost, format: Format) {
    let rate = requests as f64 / cost.wall_s.max(1e-9);
    match format {
        Format::Json => note(
            &json!({
                "requests": requests,
                "failed": failed,
                "threads": threads,
                "wall_s": cost.wall_s,
                "cpu_s": cost.cpu_s,
                "requests_per_second": rate,
            })
            .to_string(),
        ),
        Format::Text => {
            let cpu = cost.cpu_s.map_or_else(
                || "processor time not known".to_owned(),
                |cpu_s| format!("{cpu_s:.3} s of processor time"),
            );
            note(&format!(
                "{}, {failed} failed, {:.3} s, {rate:.0} requests a second, {cpu}, {}",
                atlas::report::counted(requests, "request"),
                cost.wall_s,
                atlas::report::counted(threads, "thread"),
            ));
        }
    }
}
