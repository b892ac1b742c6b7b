//! Results for people and for machines.

mod adoption;
mod cases;
mod html;
mod junit;
mod check_compare;
mod check_text;
mod judge_text;
mod compare_text;
mod csv;
mod fold;
mod labels;
mod latency;
mod markdown;
mod measure_json;
mod measure_text;
mod numbers;
mod receipt;
mod scorecard;
mod tables;

pub use adoption::{AdoptionReport, adoption_json, adoption_text};
pub use cases::{Case, Outcome as CaseOutcome, of_check, of_leakage, of_questions, of_scorecard};
pub use check_compare::check_compare_text;
pub use check_text::check_text;
pub use compare_text::compare_text;
pub use csv::measure_csv;
pub use fold::folded;
pub use html::{Arrived, Drill, Page, Quality, Rung, html};
pub use judge_text::{calibration_permits, calibration_summary, calibration_table};
pub use junit::{annotations, junit};
pub use latency::{LatencyReport, latency_json, latency_text, time};
pub use markdown::markdown;
pub use measure_json::measure_json;
pub use measure_text::{Shown, measure_text, timing_text};
pub use receipt::Receipt;
pub use scorecard::{scorecard_json, scorecard_text};

use crate::eval::measurement::Measurement;
use crate::format::Manifest;
use crate::search::Settings;

pub use labels::stale_line;

/// A run of `measure`, with what it was run on.
#[derive(Debug)]
pub struct MeasureReport<'r> {
    /// The index.
    pub manifest: &'r Manifest,
    /// The pipeline's settings, with what the run changed.
    pub settings: &'r Settings,
    /// The sets, in the order they were run.
    pub sets: Vec<Measurement>,
    /// Whether single questions are shown: always for development, on request for held-out.
    pub show_questions: bool,
    /// Whether results by kind are shown: a kind of one question shows that question.
    pub show_kinds: bool,
    /// What the numbers depend on.
    pub receipt: Receipt,
}

/// Whole numbers with a plural: `1 question`, `2 questions`.
pub fn counted(n: usize, what: &str) -> String {
    if n == 1 { format!("1 {what}") } else { format!("{n} {what}s") }
}
