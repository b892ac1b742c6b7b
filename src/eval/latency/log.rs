//! Requests of a live system, as its usage log holds them.

use std::collections::HashMap;

use super::{Load, Run, Timed};
use crate::trace::log::Log;

/// The run that `log` tells of. Stages are those of any entry, in the order in which they first occur;
/// one that another process adds, such as `generate`, is a stage like any other.
pub fn from_log(log: &Log) -> Run {
    let mut stages: Vec<String> = Vec::new();
    for (name, _) in log.entries.iter().flat_map(|entry| &entry.stages_us) {
        if !stages.contains(name) {
            stages.push(name.clone());
        }
    }
    let mut known: HashMap<&str, usize> = HashMap::new();
    let mut requests = Vec::with_capacity(log.entries.len());
    for entry in &log.entries {
        let next = known.len();
        let question = *known.entry(entry.question.as_str()).or_insert(next);
        let mut stages_us = vec![0.0; stages.len()];
        for (name, us) in &entry.stages_us {
            if let Some(at) = stages.iter().position(|stage| stage == name) {
                stages_us[at] += us;
            }
        }
        requests.push(Timed {
            question,
            stages_us,
            total_us: entry.total_us,
            wait_us: None,
            tokens: entry.tokens,
            failed: entry.failed,
        });
    }
    let at = |entry: Option<&crate::trace::log::Entry>| entry.map_or(0.0, |entry| entry.at_s);
    let elapsed_s = at(log.entries.last()) - at(log.entries.first());
    Run { load: Load::Logged, stages, requests, warm_up: 0, cold: false, first: None, elapsed_s }
}
