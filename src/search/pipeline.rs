//! Running the stages: the one place that reads the clock in a search.

use std::sync::Arc;
use std::time::Instant;

use super::dense::Dense;
use super::embed::Embed;
use super::fuse::Fuse;
use super::lexical::Lexical;
use super::min_score::MinScore;
use super::rerank::Rerank;
use super::window::Window;
use super::{Candidates, Outcome, Request, Retriever, Settings, Stage};
use crate::error::{Error, Result};
use crate::index::Index;
use crate::trace::{Scored, StageTrace, Trace};

/// Stages before fusion: embed, lexical, dense.
const LEGS: usize = 3;

/// A request with what the legs found for it.
#[derive(Debug, Clone)]
pub struct Recalled {
    /// What was asked.
    pub request: Request,
    /// The candidates before fusion.
    pub candidates: Candidates,
    stages: Vec<StageTrace>,
    of: (u64, Arc<Settings>),
}

/// Searches one open index.
pub struct Searcher {
    index: Arc<Index>,
    settings: Arc<Settings>,
    stages: Vec<Box<dyn Stage>>,
}

impl std::fmt::Debug for Searcher {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.debug_struct("Searcher").field("settings", &self.settings).finish_non_exhaustive()
    }
}

impl Searcher {
    /// A searcher over `index`; refuses settings out of their ranges.
    pub fn new(index: Arc<Index>, settings: Settings) -> Result<Self> {
        settings.check()?;
        let rules = settings.synonyms.compile(index.analyzer())?;
        let settings = Arc::new(settings);
        let (i, s) = (|| Arc::clone(&index), || Arc::clone(&settings));
        let stages: Vec<Box<dyn Stage>> = vec![
            Box::new(Embed { index: i(), settings: s(), rules }),
            Box::new(Lexical { index: i(), settings: s() }),
            Box::new(Dense { index: i(), settings: s() }),
            Box::new(Fuse { index: i(), settings: s() }),
            Box::new(Rerank { index: i() }),
            Box::new(MinScore(s())),
            Box::new(Window { index: i(), settings: s() }),
        ];
        Ok(Self { index, settings, stages })
    }

    /// The index that is searched.
    pub fn index(&self) -> &Arc<Index> {
        &self.index
    }

    /// The settings in force.
    pub fn settings(&self) -> &Settings {
        &self.settings
    }

    /// Runs the legs alone, so that settings of every later stage can be tried without searching again.
    pub fn recall(&self, request: &Request) -> Result<Recalled> {
        self.admit(request)?;
        let mut recalled = Recalled {
            request: request.clone(),
            candidates: Candidates::default(),
            stages: Vec::with_capacity(self.stages.len()),
            of: (self.index.stamp(), Arc::clone(&self.settings)),
        };
        let Recalled { candidates, stages, .. } = &mut recalled;
        run(&self.stages[..LEGS], request, candidates, stages)?;
        Ok(recalled)
    }

    /// What the request that was recalled brings with this searcher's settings: the same, to the bit,
    /// as if it were searched again. Refuses candidates of another generation, and of legs that were
    /// set otherwise.
    pub fn replay(&self, recalled: &Recalled) -> Result<Outcome> {
        let (stamp, settings) = &recalled.of;
        let legs = |s: &Settings| (s.depth, s.bm25, s.dense, s.ef, s.synonym_weight);
        if *stamp != self.index.stamp()
            || legs(settings) != legs(&self.settings)
            || settings.synonyms != self.settings.synonyms
        {
            let problem = "the candidates are of another index or of other legs".to_owned();
            return Err(Error::Guard { stage: "fuse", problem });
        }
        let started = Instant::now();
        let Recalled { request, mut candidates, mut stages, .. } = recalled.clone();
        run(&self.stages[LEGS..], &request, &mut candidates, &mut stages)?;
        let mut outcome = self.outcome(&request, candidates, Trace { stages, total_us: 0.0 })?;
        outcome.trace.total_us = started.elapsed().as_secs_f64() * 1e6;
        Ok(outcome)
    }

    /// Refuses a request for another generation.
    fn admit(&self, request: &Request) -> Result<()> {
        let stamp = request.scope.stamp();
        if stamp.is_some_and(|stamp| stamp != self.index.stamp())
            || request.scope.allowed().rows() as usize != self.index.manifest().passages
        {
            let problem = "the scope is of another generation of the index".to_owned();
            return Err(Error::Guard { stage: "request", problem });
        }
        Ok(())
    }

    fn outcome(&self, request: &Request, candidates: Candidates, trace: Trace) -> Result<Outcome> {
        let Candidates { list, chosen, query, .. } = candidates;
        let scored =
            |candidate: &super::Candidate| Scored { row: candidate.row, score: candidate.score };
        let list: Vec<Scored> = list.iter().map(scored).collect();
        let context = chosen.context(&self.index, &list)?;
        let all = context.iter().map(|block| block.row);
        let same = chosen.same.iter().map(|(row, _)| *row);
        within("window", request, all.chain(same))?;
        Ok(Outcome { context, trace, same: chosen.same, query })
    }
}

impl Retriever for Searcher {
    fn retrieve(&self, request: &Request) -> Result<Outcome> {
        self.admit(request)?;
        let started = Instant::now();
        let mut candidates = Candidates::default();
        let mut stages = Vec::with_capacity(self.stages.len());
        run(&self.stages, request, &mut candidates, &mut stages)?;
        let mut outcome = self.outcome(request, candidates, Trace { stages, total_us: 0.0 })?;
        outcome.trace.total_us = started.elapsed().as_secs_f64() * 1e6;
        Ok(outcome)
    }
}

/// Runs `stages` one after the other, each timed, guarded and traced.
fn run(
    stages: &[Box<dyn Stage>],
    request: &Request,
    candidates: &mut Candidates,
    traces: &mut Vec<StageTrace>,
) -> Result<()> {
    for stage in stages {
        let before = candidates.list.len();
        if let Some(reason) = stage.skipped(request) {
            traces.push(StageTrace {
                name: stage.name(),
                elapsed_us: 0.0,
                before,
                after: before,
                note: format!("did not run: {reason}"),
                list: Vec::new(),
            });
            continue;
        }
        let began = Instant::now();
        *candidates = stage.run(request, std::mem::take(candidates))?;
        let elapsed_us = began.elapsed().as_secs_f64() * 1e6;
        guard(stage.name(), request, candidates)?;
        let list = candidates.leg.take().unwrap_or_else(|| {
            let scored = |c: &super::Candidate| Scored { row: c.row, score: c.score };
            candidates.list.iter().map(scored).collect()
        });
        traces.push(StageTrace {
            name: stage.name(),
            elapsed_us,
            before,
            after: candidates.list.len(),
            note: std::mem::take(&mut candidates.note),
            list,
        });
    }
    Ok(())
}

/// Stops the request when a candidate is outside the scope. Says which stage, never which passage.
fn guard(stage: &'static str, request: &Request, candidates: &Candidates) -> Result<()> {
    let led = candidates.leg.as_deref().unwrap_or_default().iter().map(|scored| scored.row);
    within(stage, request, candidates.list.iter().map(|candidate| candidate.row).chain(led))
}

fn within(
    stage: &'static str,
    request: &Request,
    mut rows: impl Iterator<Item = u32>,
) -> Result<()> {
    let allowed = request.scope.allowed();
    if rows.all(|row| allowed.contains(row)) {
        return Ok(());
    }
    Err(Error::Guard { stage, problem: "a candidate is outside the asker's scope".to_owned() })
}
