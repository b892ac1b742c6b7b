//! Vectors on disk: rows and their codes, layer by layer, and a graph over the rows of the base.

use std::borrow::Cow;
use std::path::Path;
use std::sync::Arc;

use super::build::{Batched, GraphBuilder, GraphParams};
use super::codes::Codes;
use super::graph::{GraphView, Sections};
use super::hnsw::HnswRs;
use super::plan::{self, Choice, Situation};
use super::rows::{Allowed, Hit, Rows};
use super::{scan, walk};
use crate::access::{Bitmap, Scope};
use crate::error::{Error, Result};
use crate::format::{
    GraphState, Layer, Layout, Manifest, Pace, Part, PartEntry, PartWriter, Section,
};

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
    /// Starts both files in the layer's `folder`.
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

/// The vectors of one layer, memory-mapped.
#[derive(Debug)]
pub struct VectorLayer {
    dim: usize,
    vectors: Section,
    codes: Section,
    scales: Section,
    residuals: Section,
}

/// The vectors of an open generation, and the graph over those of its base. Rows that the graph lacks
/// are scanned beside every walk; rows that were dropped only lead on.
#[derive(Debug)]
pub struct VectorIndex {
    dim: usize,
    layers: Vec<VectorLayer>,
    layout: Arc<Layout>,
    /// What is alive of each layer.
    alive: Vec<Bitmap>,
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

impl VectorLayer {
    /// Opens the vectors of a layer in its `folder`.
    pub fn open(folder: &Path, dim: usize, vectors: &PartEntry, codes: &PartEntry) -> Result<Self> {
        let vectors = Part::open(folder, vectors, VECTORS_KIND)?.in_scattered_reads();
        let vectors = vectors.section("vectors")?;
        let part = Part::open(folder, codes, CODES_KIND)?.in_large_pages();
        Ok(Self {
            dim,
            vectors,
            codes: part.section("codes")?,
            scales: part.section("scales")?,
            residuals: part.section("residual")?,
        })
    }

    /// The rows: codes checked on first touch, and each vector's own blocks when it is first scored.
    pub fn rows(&self) -> Result<Rows<'_>> {
        Rows::in_file(
            self.dim,
            &self.vectors,
            self.codes.bytes()?,
            self.scales.numbers()?,
            self.residuals.numbers()?,
        )
    }

    /// One embedding, of which only its own blocks of the file are checked.
    pub fn row(&self, row: u32) -> Result<&[f32]> {
        let bytes = self.dim * 4;
        let start = row as usize * bytes;
        let found = self.vectors.slice(start..start + bytes)?;
        bytemuck::try_cast_slice(found)
            .map_err(|e| Error::damaged(self.vectors.path(), format!("row {row}: {e}")))
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

    fn verify(&self, pace: &Pace) -> Result<()> {
        for section in [&self.vectors, &self.codes, &self.scales, &self.residuals] {
            section.verify(pace)?;
        }
        for (row, vector) in self.rows()?.vectors()?.chunks_exact(self.dim).enumerate() {
            if vector.iter().any(|number| !number.is_finite()) {
                let problem = format!("row {row} holds a number that is not finite");
                return Err(Error::damaged(self.vectors.path(), problem));
            }
            pace.spend(self.dim * 4);
        }
        Ok(())
    }
}

impl VectorIndex {
    /// Opens the vectors of the generation in `folder`, whose rows lie as `layout` says.
    pub fn open(folder: &Path, manifest: &Manifest, layout: Arc<Layout>) -> Result<Self> {
        let dim = manifest.dim;
        let mut layers = Vec::with_capacity(manifest.layers.len());
        for Layer { folder: own, passages: rows, vectors, codes, .. } in &manifest.layers {
            let layer = VectorLayer::open(&folder.join(own), dim, vectors, codes)?;
            if layer.vectors.len() != rows * dim * 4 || layer.scales.len() != rows * 4 {
                let problem = format!("it does not hold the {rows} rows of the manifest");
                return Err(Error::damaged(layer.vectors.path(), problem));
            }
            layers.push(layer);
        }
        let graph = match (&manifest.graph, manifest.layers.first()) {
            (Some(GraphState { part, .. }), Some(base)) => {
                let folder = folder.join(&base.folder);
                let part = Part::open(&folder, part, GRAPH_KIND)?.in_large_pages();
                Some(StoredGraph {
                    head: part.section("head")?,
                    links: part.section("links0")?,
                    starts: part.section("starts")?,
                    upper: part.section("upper")?,
                })
            }
            _ => None,
        };
        let all = Bitmap::all(layout.len());
        let alive = (0..layers.len()).map(|at| all.of_layer(&layout, at)).collect();
        Ok(Self { dim, layers, layout, alive, graph })
    }

    /// The vectors of one layer.
    pub fn layer(&self, layer: usize) -> Option<&VectorLayer> {
        self.layers.get(layer)
    }

    /// Components of a row.
    pub const fn dim(&self) -> usize {
        self.dim
    }

    /// Whether there is a graph.
    pub const fn has_graph(&self) -> bool {
        self.graph.is_some()
    }

    /// Live rows that the graph does not hold.
    pub fn beside_graph(&self) -> u32 {
        self.alive.iter().skip(1).map(Bitmap::count).sum()
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

    /// `rows` in numbers of `layer`.
    fn own<'s>(&'s self, rows: &'s Bitmap, layer: usize) -> Cow<'s, Bitmap> {
        if self.layout.is_whole() {
            Cow::Borrowed(rows)
        } else if rows.is_all() {
            Cow::Borrowed(&self.alive[layer])
        } else {
            Cow::Owned(rows.of_layer(&self.layout, layer))
        }
    }

    /// The nearest allowed rows, by whichever path costs less.
    pub fn search(&self, query: &[f32], scope: &Scope, depth: usize, ef: usize) -> Result<Found> {
        let Some(base) = self.layers.first() else { return self.scan(query, scope, depth) };
        let situation = Situation {
            rows: base.rows()?.len(),
            allowed: self.own(scope.allowed(), 0).count() as usize,
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
        let hits = self.scan_layers(0, query, scope.allowed(), depth)?;
        let note = format!("exact scan of {} rows", scope.allowed().count());
        Ok(Found { hits: self.ranked(hits, depth), note })
    }

    /// The nearest allowed rows as far as a walk finds them, and of the rows beside the graph all that
    /// are near; the scan when the walk comes back short.
    pub fn walk(&self, query: &[f32], scope: &Scope, depth: usize, ef: usize) -> Result<Found> {
        let (Some(graph), Some(base)) = (self.graph()?, self.layers.first()) else {
            let expected = "`exact` or `auto`, since the index has no graph";
            return Err(Error::invalid("dense", "`graph`", expected));
        };
        let allowed = self.own(scope.allowed(), 0);
        let walked = walk::search(&graph, &base.rows()?, query, depth, ef, bits(&allowed))?;
        if walked.complete {
            let filtered = match walked.kept {
                kept if kept < ef => format!("{kept} allowed rows kept, "),
                _ => String::new(),
            };
            let mut note = format!("graph, ef {ef}, {filtered}{} codes scored", walked.scored);
            let mut hits: Vec<Hit> =
                walked.hits.into_iter().filter_map(|hit| self.numbered(0, hit)).collect();
            if self.layers.len() > 1 {
                hits.extend(self.scan_layers(1, query, scope.allowed(), depth)?);
                note = format!("{note}, {} rows beside it", self.beside_graph());
            }
            return Ok(Found { hits: self.ranked(hits, depth), note });
        }
        let mut found = self.scan(query, scope, depth)?;
        found.note = format!("{}, since the walk came back short", found.note);
        Ok(found)
    }

    /// The nearest of `allowed` in each layer from `first` on, in no order.
    fn scan_layers(
        &self,
        first: usize,
        query: &[f32],
        allowed: &Bitmap,
        depth: usize,
    ) -> Result<Vec<Hit>> {
        let mut hits = Vec::new();
        for (at, layer) in self.layers.iter().enumerate().skip(first) {
            let own = scan::scan(&layer.rows()?, query, depth, bits(&self.own(allowed, at)))?;
            hits.extend(own.into_iter().filter_map(|hit| self.numbered(at, hit)));
        }
        Ok(hits)
    }

    /// A hit by its number in the generation; what is alive has one.
    fn numbered(&self, layer: usize, hit: Hit) -> Option<Hit> {
        Some(Hit { row: self.layout.number(layer, hit.row)?, ..hit })
    }

    /// The best `depth`: score descending, ties by row ascending.
    fn ranked(&self, mut hits: Vec<Hit>, depth: usize) -> Vec<(u32, f64)> {
        if self.layers.len() > 1 {
            hits.sort_unstable_by(Hit::order);
            hits.truncate(depth);
        }
        hits.iter().map(|hit| (hit.row, f64::from(hit.score))).collect()
    }

    /// The true cosine of each of `rows`, in their order.
    pub fn score(&self, query: &[f32], rows: &[u32]) -> Result<Vec<f64>> {
        let mut own: Vec<(Vec<u32>, Vec<usize>)> = vec![Default::default(); self.layers.len()];
        for (at, &row) in rows.iter().enumerate() {
            let Some((layer, row)) = self.layout.locate(row) else {
                return Err(Error::invalid("row", row, format!("under {}", self.layout.len())));
            };
            own[layer].0.push(row);
            own[layer].1.push(at);
        }
        let mut scores = vec![0.0; rows.len()];
        for (layer, (own, places)) in self.layers.iter().zip(own) {
            for (at, score) in
                places.into_iter().zip(scan::score_rows(&layer.rows()?, query, &own)?)
            {
                scores[at] = f64::from(score);
            }
        }
        Ok(scores)
    }

    /// The embedding of `row`.
    pub fn row(&self, row: u32) -> Result<&[f32]> {
        let Some((layer, own)) = self.layout.locate(row) else {
            return Err(Error::invalid("row", row, format!("under {}", self.layout.len())));
        };
        self.layers[layer].row(own)
    }

    /// Recall@10 of walks with `ef` against the scan, over `sample` rows of the index spread evenly
    /// as questions; `None` without a graph.
    pub fn graph_recall(&self, ef: usize, sample: usize) -> Result<Option<f64>> {
        if self.graph.is_none() {
            return Ok(None);
        }
        let everyone = Scope::everyone(self.layout.len());
        let step = (self.layout.len() as usize / sample.max(1)).max(1);
        let (mut found, mut wanted) = (0, 0);
        for row in (0..self.layout.len()).step_by(step) {
            let query = self.row(row)?;
            let truth = self.scan(query, &everyone, 10)?.hits;
            let walked = self.walk(query, &everyone, 10, ef)?.hits;
            let least = truth.last().map_or(f64::MIN, |hit| hit.1);
            found += walked.iter().filter(|hit| hit.1 >= least).count().min(truth.len());
            wanted += truth.len();
        }
        Ok(Some(found as f64 / wanted.max(1) as f64))
    }

    /// Checks every byte, that every number is finite, and the structure of the graph.
    pub fn verify(&self, pace: &Pace) -> Result<()> {
        self.layers.iter().try_for_each(|layer| layer.verify(pace))?;
        if let Some(graph) = &self.graph {
            for section in [&graph.head, &graph.links, &graph.starts, &graph.upper] {
                section.verify(pace)?;
            }
        }
        if let (Some(graph), Some(stored)) = (self.graph()?, &self.graph) {
            let path = stored.head.path();
            let report = graph.check(pace).map_err(|problem| Error::damaged(path, problem))?;
            if report.reachable != report.rows {
                let lost = report.rows - report.reachable;
                let problem = format!("{lost} rows cannot be reached from the entry");
                return Err(Error::damaged(path, problem));
            }
            if report.rows != self.layout.stored(0) as usize {
                let (said, found) = (self.layout.stored(0), report.rows);
                let problem = format!("it is over {found} rows, the base has {said}");
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

fn bits(allowed: &Bitmap) -> Allowed<'_> {
    (!allowed.is_all()).then(|| allowed.words())
}
