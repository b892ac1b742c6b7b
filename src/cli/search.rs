//! `atlas search`.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use atlas::corpus::{Place, VectorFile};
use atlas::error::{Error, Result};
use atlas::index::{Filter, Index};
use atlas::search::{ContextBlock, DensePath, Mode, Outcome, Request, Searcher};
use clap::{Args, ValueEnum};
use serde_json::{Value, json};

use super::output::{Output, note, one_line, width};
use super::{Exit, Format, Global, batch, build, project, usage};

/// Arguments of `search`.
#[derive(Debug, Args)]
pub struct SearchArgs {
    /// The question
    #[arg(required_unless_present = "batch", conflicts_with = "batch")]
    question: Option<String>,
    /// Who asks, by a name of users.yaml [default: default_asker of atlas.toml]
    #[arg(long = "as", value_name = "ASKER")]
    pub asker: Option<String>,
    /// Blocks in the window, 1 to the depth of 100 [default: search.k of atlas.toml, 5]
    #[arg(short, value_name = "N")]
    k: Option<usize>,
    /// Which legs to use
    #[arg(long, value_enum, default_value_t = ModeArg::Hybrid)]
    mode: ModeArg,
    /// Only documents whose metadata has one of the values; <, <=, > and >= compare numbers and
    /// dates; may be repeated, all must hold
    #[arg(long, value_name = "KEY=VALUE[,VALUE]")]
    pub filter: Vec<String>,
    /// Only documents that hold on this day, by effective_from and effective_to
    #[arg(long, value_name = "YYYY-MM-DD")]
    pub as_of: Option<String>,
    /// How the dense leg searches [default: search.dense of atlas.toml, auto]
    #[arg(long, value_enum)]
    dense: Option<DenseArg>,
    /// Drop what scores less, 0 to 1 [default: search.min_score of atlas.toml]
    #[arg(long, value_name = "X")]
    min_score: Option<f64>,
    /// Show what every stage did, and which words gave each score
    #[arg(long, conflicts_with = "batch")]
    explain: bool,
    /// The question's embedding, the one row of a .npy or .fvecs file
    #[arg(long, value_name = "FILE", conflicts_with = "batch")]
    vector: Option<PathBuf>,
    /// Answer every line of FILE, {"id", "question", "k", "mode", "as", "filter", "vector"}, as JSON lines in the
    /// same order; what a line leaves out is as these options say
    #[arg(long, value_name = "FILE")]
    batch: Option<PathBuf>,
    /// Embeddings of the batch's questions, .npy or .fvecs, a row a request
    #[arg(long, value_name = "FILE")]
    pub vectors: Option<PathBuf>,
    /// Threads that answer a batch, 1 to 1000 [default: as many as there are cores]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1000))]
    pub threads: Option<u16>,
    /// Passes over the batch before the one that is timed
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub warm_up: usize,
    /// Give the text of every hit of a batch
    #[arg(long)]
    pub texts: bool,
    /// Give the microseconds of every request of a batch, stage by stage; always with --format json
    #[arg(long)]
    pub timings: bool,
}

/// Legs by name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum ModeArg {
    /// Both legs.
    Hybrid,
    /// BM25 alone.
    Lexical,
    /// Embeddings alone.
    Dense,
}

/// Dense paths by name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum DenseArg {
    /// By cost.
    Auto,
    /// Every allowed row.
    Exact,
    /// The graph.
    Graph,
}

impl From<ModeArg> for Mode {
    fn from(mode: ModeArg) -> Self {
        match mode {
            ModeArg::Hybrid => Self::Hybrid,
            ModeArg::Lexical => Self::Lexical,
            ModeArg::Dense => Self::Dense,
        }
    }
}

impl From<DenseArg> for DensePath {
    fn from(path: DenseArg) -> Self {
        match path {
            DenseArg::Auto => Self::Auto,
            DenseArg::Exact => Self::Exact,
            DenseArg::Graph => Self::Graph,
        }
    }
}

/// Searches and prints the window.
pub fn run(args: &SearchArgs, global: &Global, out: &mut Output) -> Result<Exit> {
    let project = project(global)?;
    let mut settings = project.file.search.clone();
    if let Some(path) = args.dense {
        settings.dense = path.into();
    }
    settings.check()?;
    let mut filter = Filter::default();
    args.filter.iter().try_for_each(|written| filter.add(written))?;
    if let Some(day) = &args.as_of {
        filter.as_of(day)?;
    }
    let probe = atlas::access::Scope::everyone(0);
    // Bad arguments are told before an index is built for them.
    args.refine(Request::new("", probe), &settings)?;
    if let Some(path) = &args.batch {
        return batch::run(args, path, &project, &settings, global, out);
    }
    args.of_a_batch()?;
    let vector = args.vector.as_deref().map(one_row).transpose()?;
    let index = Arc::new(build::ensure(&project)?);
    let searcher = Searcher::new(Arc::clone(&index), settings.clone())?;
    let (asker, why) = project.asker(args.asker.as_deref());
    if let Some(why) = why {
        note(&why);
    }
    if project.policy.is_none() && args.asker.is_some() {
        note("the project is open, so everyone reads everything; `--as` changes nothing");
    }
    let scope = index.scope(asker)?;
    // Under an empty scope no key is known; the message above says all there is to say.
    let scope =
        if scope.readable().count() == 0 { scope } else { index.narrow(&scope, &filter)? };
    let question = args.question.clone().unwrap_or_default();
    let mut request = args.refine(Request::new(question, scope), &settings)?;
    if let Some(vector) = &vector {
        request = request.vector(vector)?;
    }
    let outcome = usage::retrieve(&project, asker, &searcher, &request)?;
    usage::record(&project, asker, &request, &index, &outcome)?;
    match global.format {
        Format::Json => out.json(&to_json(&index, &outcome)?),
        Format::Text => text(args, &searcher, &request, &outcome, out)?,
    }
    Ok(Exit::Done)
}

impl SearchArgs {
    /// Refuses what only a batch has.
    fn of_a_batch(&self) -> Result<()> {
        let given = [
            ("--vectors", self.vectors.is_some()),
            ("--threads", self.threads.is_some()),
            ("--warm-up", self.warm_up > 0),
            ("--texts", self.texts),
            ("--timings", self.timings),
        ];
        match given.into_iter().find(|(_, is_given)| *is_given) {
            Some((name, _)) => Err(Error::invalid(name, "without `--batch FILE`", "both, or none")),
            None => Ok(()),
        }
    }

    /// `request` as these arguments have it.
    pub fn refine(&self, request: Request, settings: &atlas::search::Settings) -> Result<Request> {
        let mut request = request.mode(self.mode.into());
        if let Some(k) = self.k {
            request = request.k(k, settings)?;
        }
        if let Some(min_score) = self.min_score {
            request = request.min_score(min_score)?;
        }
        Ok(request)
    }
}

/// The one row that `file` holds.
fn one_row(file: &Path) -> Result<Box<[f32]>> {
    let rows = VectorFile::open(file)?;
    let problem = format!("it holds {} rows", rows.rows());
    match <[_; 1]>::try_from(rows.read_all()?) {
        Ok([row]) => Ok(row),
        Err(_) => Err(Error::input(file, None, problem, "expected one, the question's")),
    }
}

/// The score below which the best hit is called a guess: one chance in twenty.
const GUESS: f64 = 0.05;

/// A hit with everything that is shown of it.
struct Shown {
    reference: String,
    block: String,
    document: String,
    title: String,
    sections: Vec<String>,
    text: String,
    path: String,
    place: Place,
    /// References of passages that say the same and were collapsed into it.
    same_as: Vec<String>,
    /// The block that it is a neighbour of.
    joined_to: Option<String>,
}

impl Shown {
    /// `notes.md:3-7`, `manual.pdf, page 4`.
    fn at(&self) -> String {
        let lines = self.place.lines.map_or_else(String::new, |lines| format!(":{lines}"));
        let page = self.place.page.map_or_else(String::new, |page| format!(", page {page}"));
        format!("{}{lines}{page}", self.path)
    }
}

fn shown(index: &Index, outcome: &Outcome, hit: &ContextBlock) -> Result<Shown> {
    let passages = index.passages();
    let passage = passages.passage(hit.row)?;
    let block = passages.block(hit.block)?;
    let document = passages.document(block.document)?;
    Ok(Shown {
        reference: passages.reference(hit.row)?.to_string(),
        block: passages.block_reference(hit.block)?.to_string(),
        title: document.title,
        document: document.id,
        sections: passages.sections(&block)?,
        text: passages.passage_text(&passage)?.to_owned(),
        path: document.path,
        place: passage.place(),
        same_as: outcome
            .same_as(hit.row)
            .map(|row| Ok(passages.reference(row)?.to_string()))
            .collect::<Result<_>>()?,
        joined_to: hit
            .joined_to
            .map(|block| Ok::<_, Error>(passages.block_reference(block)?.to_string()))
            .transpose()?,
    })
}

fn to_json(index: &Index, outcome: &Outcome) -> Result<Value> {
    let mut hits = Vec::new();
    for hit in &outcome.context {
        let shown = shown(index, outcome, hit)?;
        let Place { page, lines, bytes } = &shown.place;
        let mut own = json!({
            "reference": shown.reference,
            "block": shown.block,
            "document": shown.document,
            "title": shown.title,
            "sections": shown.sections,
            "score": hit.score,
            "tokens": hit.tokens,
            "text": shown.text,
            "source": {
                "path": shown.path,
                "page": page,
                "lines": lines.map(|lines| [lines.first, lines.last]),
                "bytes": bytes.as_ref().map(|bytes| [bytes.start, bytes.end]),
            },
        });
        if !shown.same_as.is_empty() {
            own["same_as"] = json!(shown.same_as);
        }
        if let Some(block) = shown.joined_to {
            own["joined_to"] = json!(block);
        }
        hits.push(own);
    }
    Ok(json!({ "hits": hits, "trace": outcome.trace }))
}

fn text(
    args: &SearchArgs,
    searcher: &Searcher,
    request: &Request,
    outcome: &Outcome,
    out: &mut Output,
) -> Result<()> {
    let index = searcher.index();
    let columns = width();
    if outcome.context.is_empty() {
        let terms = index.analyzer().question(request.question());
        let why = if terms.is_empty() { ": the question holds no word" } else { "" };
        out.line(format!("nothing found{why}"));
    }
    if outcome.context.first().is_some_and(|best| best.score < GUESS)
        && args.mode == ModeArg::Hybrid
    {
        note(&format!("nothing scores {GUESS} or more: these are guesses"));
    }
    let mut number = 0;
    for hit in &outcome.context {
        let shown = shown(index, outcome, hit)?;
        let at_source = shown.at();
        let place = [&[shown.title][..], &shown.sections].concat().join(" › ");
        let place = one_line(&place, columns.saturating_sub(shown.reference.len() + 13));
        if shown.joined_to.is_some() {
            out.line(format!(" +         {}  {place}", shown.reference));
        } else {
            number += 1;
            out.line(format!("{number:2}  {:.3}  {}  {place}", hit.score, shown.reference));
        }
        out.line(format!("           {}", one_line(&shown.text, columns.saturating_sub(11))));
        out.line(format!("           {at_source}"));
        if !shown.same_as.is_empty() {
            out.line(format!("           says the same: {}", shown.same_as.join(", ")));
        }
        if args.explain && shown.joined_to.is_none() {
            explain(searcher, request, hit, outcome, out)?;
        }
    }
    if args.explain {
        out.line("");
        for stage in &outcome.trace.stages {
            out.line(format!(
                "{:9}  {:8.1} µs  {:4} in  {:4} out  {}",
                stage.name, stage.elapsed_us, stage.before, stage.after, stage.note
            ));
        }
        let trace = &outcome.trace;
        out.line(format!(
            "{:9}  {:8.1} µs, of which {:.1} µs between the stages",
            "total",
            trace.total_us,
            trace.gap_us()
        ));
    }
    Ok(())
}

/// The places of a hit in both legs, and the words behind its BM25 score.
fn explain(
    searcher: &Searcher,
    request: &Request,
    hit: &ContextBlock,
    outcome: &Outcome,
    out: &mut Output,
) -> Result<()> {
    let place = |stage: &str| {
        outcome.trace.rank(stage, hit.row).map_or_else(
            || format!("not in {stage}"),
            |(rank, score)| format!("{stage} {rank} with {score:.3}"),
        )
    };
    out.line(format!("           {}, {}, {}", place("lexical"), place("dense"), place("fuse")));
    let index = searcher.index();
    let query = &outcome.query;
    let bm25 = searcher.settings().bm25;
    let parts = index.lexical().explain(query, request.scope(), bm25, hit.row)?;
    let parts: Vec<String> = parts
        .iter()
        .map(|part| {
            let meant = part.stands_for.as_ref().map_or_else(String::new, |a| format!(" for {a}"));
            let heading = if part.heading { ", and in a heading" } else { "" };
            format!(
                "{}{meant} {:.2} ({} in it{heading}, in {} passages)",
                part.term, part.score, part.tf, part.df
            )
        })
        .collect();
    out.line(format!("           {}", parts.join("; ")));
    Ok(())
}
