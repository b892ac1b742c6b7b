//! The tables of a measurement: by kind, by stage, and what the noise was.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use super::measure_text::shortened;
use super::{counted, numbers};
use crate::eval::measurement::{Measured, Measurement, TOKENS};
use crate::eval::noise::{RELATIONS, Relation};
use crate::eval::statistics::{Interval, wilson};

/// Questions of a kind below which its range spans nearly everything: at 8, six hits are 41 to 93 %.
const KIND_QUESTIONS_MIN: usize = 8;

/// Columns from which the table by kind shows precision.
const WIDE: usize = 72;

pub(super) fn kinds_text(out: &mut String, set: &Measurement, columns: usize) {
    let kinds = set.kinds();
    if kinds.is_empty() {
        return;
    }
    let wide = columns >= WIDE;
    let width = kinds.iter().map(|kind| kind.chars().count()).max().unwrap_or(0).clamp(7, 20);
    let (head, value) = if wide { ("  prec.", 7) } else { ("", 0) };
    let _ = writeln!(out, "  {:width$}       hit  95 %       recall{head}  tokens", "by kind");
    let mut few = 0;
    for kind in &kinds {
        let n = set.scored(Some(kind)).count();
        few += usize::from(n < KIND_QUESTIONS_MIN);
        let (hits, range) = numbers::hits(set, Some(kind));
        let mean = |name: &str| set.mean(name, Some(kind)).unwrap_or(0.0);
        let precision = if wide { format!("  {:5.2}", mean("precision")) } else { String::new() };
        let _ = writeln!(
            out,
            "  {:width$}  {:>8}  {range:9}  {:6.2}{precision:value$}  {:6.0}",
            shortened(kind, width),
            format!("{hits} of {n}"),
            mean("recall"),
            mean(TOKENS)
        );
    }
    let pad = " ".repeat(width + 4);
    if ranges_overlap(set, &kinds) {
        let _ = writeln!(out, "{pad}ranges overlap: no kind is better than another");
    }
    if few > 0 {
        let _ = writeln!(
            out,
            "{pad}{few} of {} with fewer than {KIND_QUESTIONS_MIN} questions: read the ranges",
            counted(kinds.len(), "kind")
        );
    }
    for kind in &kinds {
        if let Some((document, of, n)) = feeding(set, kind) {
            let _ = writeln!(out, "{pad}{of} of {n} {kind} questions rest on {document}");
        }
    }
    out.push('\n');
}

/// The document that holds evidence of most questions of `kind`, three or more of them, and of how
/// many: then the kind measures that document.
fn feeding<'s>(set: &'s Measurement, kind: &str) -> Option<(&'s str, usize, usize)> {
    let n = set.scored(Some(kind)).count();
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    for question in
        set.questions.iter().filter(|q| q.is_scored() && q.kinds.iter().any(|k| k == kind))
    {
        for document in &question.documents {
            *counts.entry(document).or_default() += 1;
        }
    }
    let most = counts.into_iter().max_by_key(|(document, n)| (*n, std::cmp::Reverse(*document)))?;
    (n >= 3 && most.1 * 2 > n).then_some((most.0, most.1, n))
}

fn ranges_overlap(set: &Measurement, kinds: &[&str]) -> bool {
    let range = |kind: &&str| {
        let hits = set.values("hit", Some(kind));
        wilson(hits.iter().filter(|hit| **hit > 0.0).count(), hits.len())
    };
    let ranges: Vec<Interval> = kinds.iter().filter_map(range).collect();
    let low = ranges.iter().map(|range| range.low).fold(0.0, f64::max);
    ranges.len() > 1 && ranges.iter().all(|range| range.high >= low)
}

/// Hits at every stage: where evidence is found, and where it is lost on the way.
pub(super) fn stages_text(out: &mut String, set: &Measurement) {
    let n = set.scored(None).count();
    let _ = writeln!(out, "\n  stage            hit  95 %       evidence groups");
    let groups: usize = set.scored(None).map(|question| question.groups).sum();
    for name in stage_names(set) {
        let at =
            |question: &&Measured| question.stages.iter().find(|stage| stage.name == name).copied();
        let found: Vec<_> = set.scored(None).filter_map(|question| at(&question)).collect();
        let hits = found.iter().filter(|stage| stage.rank.is_some()).count();
        let covered: usize = found.iter().map(|stage| stage.covered).sum();
        let range = wilson(hits, n)
            .map_or_else(String::new, |i| format!("{:.0} to {:.0}", i.low * 100.0, i.high * 100.0));
        let hits = format!("{hits} of {n}");
        let _ = writeln!(out, "  {name:10}  {hits:>8}  {range:9}  {covered} of {groups}");
    }
    out.push('\n');
}

/// The stages that ran for any question, in the order of the pipeline.
pub(super) fn stage_names(set: &Measurement) -> Vec<&'static str> {
    let mut names = Vec::new();
    for stage in set.questions.iter().flat_map(|question| &question.stages) {
        if !names.contains(&stage.name) {
            names.push(stage.name);
        }
    }
    names
}

/// Blocks, tokens and questions of one relation.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Noise {
    pub blocks: usize,
    pub tokens: usize,
    pub questions: usize,
}

/// How much of each relation arrived, nearest first; those that do not occur are left out.
pub(super) fn noise(set: &Measurement) -> Vec<(Relation, Noise)> {
    let of = |relation: Relation| {
        let mut noise = Noise::default();
        for question in set.scored(None) {
            let own = question.supplied.iter().filter(|block| block.relation == Some(relation));
            let (blocks, tokens) =
                own.fold((0, 0), |(n, tokens), block| (n + 1, tokens + block.tokens));
            noise.blocks += blocks;
            noise.tokens += tokens;
            noise.questions += usize::from(blocks > 0);
        }
        (relation, noise)
    };
    RELATIONS.into_iter().map(of).filter(|(_, noise)| noise.blocks > 0).collect()
}

/// The noise by its relation to the evidence and, on request, block by block with scores in full.
pub(super) fn noise_text(out: &mut String, set: &Measurement, each: bool) {
    let all = noise(set);
    if all.is_empty() {
        return;
    }
    let n = set.scored(None).count();
    let handed: usize = set.scored(None).map(|question| question.tokens).sum();
    let _ = writeln!(out, "  noise           blocks  tokens  of {handed} handed over");
    for (relation, noise) in &all {
        let Noise { blocks, tokens, questions } = noise;
        let share = 100.0 * *tokens as f64 / handed.max(1) as f64;
        let _ = writeln!(
            out,
            "  {relation:14}  {blocks:6}  {tokens:6}  {share:2.0} %, in {questions} of {n}",
        );
    }
    out.push('\n');
    for question in set.scored(None).filter(|_| each) {
        for block in &question.supplied {
            let Some(relation) = block.relation else { continue };
            let _ = writeln!(
                out,
                "  {}  {} {}, {relation}, {} tokens: {}",
                question.id, block.score, block.reference, block.tokens, block.excerpt
            );
        }
    }
    if each {
        out.push('\n');
    }
}
