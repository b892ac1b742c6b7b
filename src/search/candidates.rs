//! What passes from stage to stage.

use super::Request;
use super::window::Chosen;
use crate::error::Result;
use crate::lexical::Query;
use crate::trace::Scored;

/// A row that may become evidence.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Candidate {
    /// The passage's row.
    pub row: u32,
    /// Its BM25 score, once known.
    pub lexical: Option<f64>,
    /// Its cosine with the question, once known.
    pub dense: Option<f64>,
    /// The score that it is ranked by at this stage.
    pub score: f64,
}

/// The candidates, best first, and what the stages before learned about the question.
#[derive(Debug, Clone, Default)]
pub struct Candidates {
    /// The candidates: score descending, ties by row ascending.
    pub list: Vec<Candidate>,
    /// The question as terms.
    pub query: Query,
    /// The question's embedding; `None` when the dense leg does not run.
    pub vector: Option<Vec<f32>>,
    /// Share of the question that the embedder could read, 0.0..=1.0.
    pub readable: f64,
    /// Weight that fusion gave to the dense leg, 0.0..=1.0.
    pub alpha: f64,
    /// The list a leg found by itself, for the trace; taken by the pipeline after each stage.
    pub leg: Option<Vec<Scored>>,
    /// What the window holds, once there is one.
    pub(super) chosen: Chosen,
    /// How the stage did its work; taken by the pipeline after each stage.
    pub note: String,
}

impl Candidates {
    /// Restores the order: score descending, ties by row ascending.
    pub fn sort(&mut self) {
        self.list.sort_by(|a, b| b.score.total_cmp(&a.score).then_with(|| a.row.cmp(&b.row)));
    }

    /// Adds the hits of a leg; `set` writes the leg's score into a candidate.
    pub fn add(&mut self, hits: &[(u32, f64)], set: impl Fn(&mut Candidate, f64)) {
        let mut places: Vec<(u32, usize)> =
            self.list.iter().enumerate().map(|(at, candidate)| (candidate.row, at)).collect();
        places.sort_unstable();
        for &(row, score) in hits {
            let known = places.binary_search_by_key(&row, |(row, _)| *row);
            let at = known.map_or_else(
                |_| {
                    self.list.push(Candidate { row, lexical: None, dense: None, score: 0.0 });
                    self.list.len() - 1
                },
                |place| places[place].1,
            );
            set(&mut self.list[at], score);
        }
        self.leg = Some(hits.iter().map(|&(row, score)| Scored { row, score }).collect());
    }
}

/// One step of a search. Everything it needs besides the request it was given at construction.
pub trait Stage: Send + Sync {
    /// Its name in the trace.
    fn name(&self) -> &'static str;

    /// Why it does not run for `request`, if it does not.
    fn skipped(&self, request: &Request) -> Option<&'static str> {
        let _ = request;
        None
    }

    /// Does its work.
    fn run(&self, request: &Request, candidates: Candidates) -> Result<Candidates>;
}
