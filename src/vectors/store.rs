//! The vectors of one generation on disk: rows, their codes, and a graph over them.

use std::path::Path;

use super::build::{Batched, GraphBuilder, GraphParams};
use super::codes::Codes;
use super::graph::{GraphView, Sections};
use super::hnsw::HnswRs;
use super::plan::{self, Choice, Situation};
use super::rows::{Allowed, Hit, Rows};
use super::{scan, walk};
use crate::access::Scope;
use crate::error::{Error, Result};
use crate::format::{GraphState, Manifest, Part, PartEntry, PartWriter, Section};

/// Kind of the part that holds the rows as `f32`.
pub const VECTORS_KIND: [u8; 4] = *b"VECS";

/// Kind of the part that holds the codes of the rows.
pub const CODES_KIND: [u8; 4] = *b"CODE";

/// Kind of the part that holds a graph.
pub const GRAPH_KIND: [u8; 4] = *b"GRPH";

/// Writes rows and codes as they come.
#[derive(Debug)]
pub struct VectorWriter {
    dim: usize,
    vectors: PartWriter,
    codes: PartWriter,
    scales: Vec<f32>,
    residuals: Vec<f32>,
}

impl VectorWriter {
    /// Starts both files in the generation `folder`.
    pub fn create(folder: &Path, dim: usize) -> Result<Self> {
        let mut vectors = PartWriter::create(&folder.join("vectors.part"), VECTORS_KIND)?;
        vectors.begin("vectors")?;
        let mut codes = PartWriter::create(&folder.join("codes.part"), CODES_KIND)?;
        codes.begin("codes")?;
        Ok(Self { dim, vectors, codes, scales: Vec::new(), residuals: Vec::new() })
    }

    /// Appends `rows` `[n × dim]`, each of unit length or zero; a number that is not finite is
    /// refused.
    pub fn add(&mut self, rows: &[f32]) -> Result<()> {
        let codes = Codes::of(self.dim, rows)?;
        self.vectors.write(bytemuck::cast_slice(rows))?;
        self.codes.write(&codes.codes)?;
        self.scales.extend_from_slice(&codes.scales);
        self.residuals.extend_from_slice(&codes.residuals);
        Ok(())
    }

    /// Ends both files: the entries of vectors and codes.
    pub fn finish(mut self) -> Result<(PartEntry, PartEntry)> {
        self.codes.section("scales", bytemuck::cast_slice(&self.scales))?;
        self.codes.section("residual", bytemuck::cast_slice(&self.residuals))?;
        Ok((self.vectors.finish()?, self.codes.finish()?))
    }
}

/// The vectors of an open generation, memory-mapped.
#[derive(Debug)]
pub struct VectorIndex {
    dim: usize,
    vectors: Section,
    codes: Section,
    scales: Section,
    residuals: Section,
    graph: Option<StoredGraph>,
}

#[derive(Debug)]
struct StoredGraph {
    head: Section,
    links: Section,
    starts: Section,
    upper: Section,
}

/// What the dense leg found, and how.
#[derive(Debug, Clone, PartialEq)]
pub struct Found {
    /// Row and cosine; score descending, ties by row ascending.
    pub hits: Vec<(u32, f64)>,
    /// The path taken and why, for the trace.
    pub note: String,
}

impl VectorIndex {
    /// Opens the vectors of the generation in `folder`.
    pub fn open(folder: &Path, manifest: &Manifest) -> Result<Self> {
        let mut index = Self::open_rows(folder, manifest.dim, &manifest.vectors, &manifest.codes)?;
        let rows = manifest.passages;
        if index.vectors.len() != rows * manifest.dim * 4 || index.scales.len() != rows * 4 {
            let problem = format!("it does not hold the {rows} rows of the manifest");
            return Err(Error::damaged(index.vectors.path(), problem));
        }
        if let Some(GraphState { part, .. }) = &manifest.graph {
            let part = Part::open(folder, part, GRAPH_KIND)?;
            index.graph = Some(StoredGraph {
                head: part.section("head")?,
                links: part.section("links0")?,
                starts: part.section("starts")?,
                upper: part.section("upper")?,
            });
        }
        Ok(index)
    }

    /// Opens rows without a graph, to build one over them.
    pub fn open_rows(
        folder: &Path,
        dim: usize,
        vectors: &PartEntry,
        codes: &PartEntry,
    ) -> Result<Self> {
        let vectors = Part::open(folder, vectors, VECTORS_KIND)?.section("vectors")?;
        let part = Part::open(folder, codes, CODES_KIND)?;
        Ok(Self {
            dim,
            vectors,
            codes: part.section("codes")?,
            scales: part.section("scales")?,
            residuals: part.section("residual")?,
            graph: None,
        })
    }

    /// The rows, checked on first touch.
    pub fn rows(&self) -> Result<Rows<'_>> {
        Rows::new(
            self.dim,
            self.vectors.numbers()?,
            self.codes.bytes()?,
            self.scales.numbers()?,
            self.residuals.numbers()?,
        )
    }

    /// Components of a row.
    pub const fn dim(&self) -> usize {
        self.dim
    }

    /// Whether there is a graph.
    pub const fn has_graph(&self) -> bool {
        self.graph.is_some()
    }

    fn graph(&self) -> Result<Option<GraphView<'_>>> {
        let Some(graph) = &self.graph else { return Ok(None) };
        let damaged = |problem: String| Error::damaged(graph.head.path(), problem);
        let head: &[u32] = graph.head.numbers()?;
        let head: [u32; 4] =
            head.try_into().map_err(|_| damaged("its head is not four numbers".to_owned()))?;
        let sections = Sections {
            head,
            links0: graph.links.numbers()?,
            upper_starts: graph.starts.numbers()?,
            upper_links: graph.upper.numbers()?,
        };
        GraphView::from_sections(sections).map(Some).map_err(damaged)
    }

    /// Builds a graph over the rows with the builder called `builder`, and writes it.
    pub fn write_graph(
        &self,
        folder: &Path,
        builder: &str,
        params: &GraphParams,
    ) -> Result<PartEntry> {
        let graph = builder_called(builder)?.build(&self.rows()?, params)?;
        let sections = graph.to_sections();
        let mut part = PartWriter::create(&folder.join("graph.part"), GRAPH_KIND)?;
        part.section("head", bytemuck::cast_slice(&sections.head))?;
        part.section("links0", bytemuck::cast_slice(sections.links0))?;
        part.section("starts", bytemuck::cast_slice(sections.upper_starts))?;
        part.section("upper", bytemuck::cast_slice(sections.upper_links))?;
        part.finish()
    }

    /// The nearest allowed rows, by whichever path costs less.
    pub fn search(&self, query: &[f32], scope: &Scope, depth: usize, ef: usize) -> Result<Found> {
        let situation = Situation {
            rows: self.rows()?.len(),
            allowed: scope.allowed().count() as usize,
            depth,
            ef,
            has_graph: self.has_graph(),
        };
        let Choice { path, reason } = plan::choose(&situation);
        let mut found = match path {
            plan::Path::Exact => self.scan(query, scope, depth)?,
            plan::Path::Graph => self.walk(query, scope, depth, ef)?,
        };
        found.note = format!("{}: {reason}", found.note);
        Ok(found)
    }

    /// The nearest allowed rows by reading all of them.
    pub fn scan(&self, query: &[f32], scope: &Scope, depth: usize) -> Result<Found> {
        let hits = scan::scan(&self.rows()?, query, depth, allowed(scope))?;
        let note = format!("exact scan of {} rows", scope.allowed().count());
        Ok(Found { hits: pairs(&hits), note })
    }

    /// The nearest allowed rows as far as a walk finds them; the scan when the walk comes back short.
    pub fn walk(&self, query: &[f32], scope: &Scope, depth: usize, ef: usize) -> Result<Found> {
        let Some(graph) = self.graph()? else {
            let expected = "`exact` or `auto`, since the index has no graph";
            return Err(Error::invalid("dense", "`graph`", expected));
        };
        let walked = walk::search(&graph, &self.rows()?, query, depth, ef, allowed(scope))?;
        if walked.complete {
            let note = format!("graph, ef {ef}, {} codes scored", walked.scored);
            return Ok(Found { hits: pairs(&walked.hits), note });
        }
        let mut found = self.scan(query, scope, depth)?;
        found.note = format!("{}, since the walk came back short", found.note);
        Ok(found)
    }

    /// The true cosine of each of `rows`, in their order.
    pub fn score(&self, query: &[f32], rows: &[u32]) -> Result<Vec<f64>> {
        let scores = scan::score_rows(&self.rows()?, query, rows)?;
        Ok(scores.into_iter().map(f64::from).collect())
    }

    /// Recall@10 of walks with `ef` against the scan, over `sample` rows of the index spread evenly
    /// as questions; `None` without a graph.
    pub fn graph_recall(&self, ef: usize, sample: usize) -> Result<Option<f64>> {
        let Some(graph) = self.graph()? else { return Ok(None) };
        let rows = self.rows()?;
        let step = (rows.len() / sample.max(1)).max(1);
        let (mut found, mut wanted) = (0, 0);
        for row in (0..rows.len()).step_by(step) {
            let query = &rows.vectors()[row * self.dim..(row + 1) * self.dim];
            let truth = scan::scan(&rows, query, 10, None)?;
            let walked = walk::search(&graph, &rows, query, 10, ef, None)?;
            let least = truth.last().map_or(f32::MIN, |hit| hit.score);
            found += walked.hits.iter().filter(|hit| hit.score >= least).count().min(truth.len());
            wanted += truth.len();
        }
        Ok(Some(found as f64 / wanted.max(1) as f64))
    }

    /// Checks every byte, that every number is finite, and the structure of the graph.
    pub fn verify(&self) -> Result<()> {
        let rows = self.rows()?;
        if let Some(at) = rows.vectors().iter().position(|number| !number.is_finite()) {
            let problem = format!("row {} holds a number that is not finite", at / self.dim);
            return Err(Error::damaged(self.vectors.path(), problem));
        }
        if let Some(graph) = self.graph()? {
            let path = self.graph.as_ref().map_or(self.vectors.path(), |graph| graph.head.path());
            let report = graph.check().map_err(|problem| Error::damaged(path, problem))?;
            if report.reachable != report.rows {
                let lost = report.rows - report.reachable;
                let problem = format!("{lost} rows cannot be reached from the entry");
                return Err(Error::damaged(path, problem));
            }
        }
        Ok(())
    }
}

/// The ids of the builders, for settings and messages.
pub const BUILDERS: [&str; 2] = ["batched", "hnsw_rs"];

fn builder_called(id: &str) -> Result<Box<dyn GraphBuilder>> {
    let builders: [Box<dyn GraphBuilder>; 2] = [Box::new(Batched), Box::new(HnswRs)];
    builders.into_iter().find(|builder| builder.id() == id).ok_or_else(|| {
        Error::invalid(
            "graph.builder",
            format!("`{id}`"),
            format!("one of {}", BUILDERS.join(", ")),
        )
    })
}

fn allowed(scope: &Scope) -> Allowed<'_> {
    let allowed = scope.allowed();
    (!allowed.is_all()).then(|| allowed.words())
}

fn pairs(hits: &[Hit]) -> Vec<(u32, f64)> {
    hits.iter().map(|hit| (hit.row, f64::from(hit.score))).collect()
}
