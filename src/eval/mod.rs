//! What a search was worth: question sets, judgments, measures, statistics, exchange files.
//!
//! [`measure`](measurement::measure) runs a [`QuestionSet`](questions::QuestionSet) through a
//! retriever and keeps, for each question, what arrived and what every measure says of it. Two lists
//! are measured and never confused: the **context**, distinct blocks after min-score and window, and
//! the **ranking**, the reranked list to the pipeline's depth, folded to the unit that the judgments
//! name.

pub mod adoption;
pub mod ambiguity;
pub mod answer_leaks;
pub mod apart;
pub mod bootstrap;
pub mod calibration;
pub mod check;
pub mod claims;
pub mod clusters;
pub mod compare;
pub mod drift;
#[cfg(feature = "answer-endpoint")]
pub mod endpoint_judge;
pub mod expectations;
pub mod filtering;
pub mod forbid;
pub mod groundedness;
pub mod judge;
pub mod history;
pub mod judgments;
pub mod labels;
pub mod latency;
pub mod ladder;
pub mod leakage;
pub mod ledger;
pub mod measurement;
pub mod measures;
pub mod mechanical;
pub mod metamorphic;
pub mod phrases;
pub mod mutation;
pub mod noise;
pub mod posterior;
pub mod promote;
pub mod questions;
pub mod ragas;
pub mod ratings;
pub mod reproduce;
pub mod review;
pub mod scale;
pub mod scorecard;
mod sheet;
pub mod rebuild;
mod set_text;
pub mod statistics;
pub mod selection;
pub mod sweep;
pub mod targets;
pub mod trec;
pub mod twin;
pub mod units;
pub mod usage;
pub mod worklist;
mod written;
