//! The faults: mistakes that search engines have had.

use super::surgery::{Patient, RankingChange};
use crate::error::Result;
use crate::index;
use crate::lexical::{Bm25, Explained};
use crate::search::{ContextBlock, Mode, Recalled, Settings};

/// A mistake, and where it is made.
pub struct Fault {
    /// Its name.
    pub name: &'static str,
    /// What is broken, in a few words.
    pub what: &'static str,
    /// Where.
    pub place: Place,
}

impl std::fmt::Debug for Fault {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.debug_struct("Fault").field("name", &self.name).finish_non_exhaustive()
    }
}

/// Where a fault is made.
pub enum Place {
    /// Nowhere: the engine as it is.
    None,
    /// The index is built otherwise.
    Index(fn(&mut index::Settings)),
    /// The index lacks documents: those for whose number, from 0, this is false.
    Corpus(fn(usize) -> bool),
    /// The search is set otherwise.
    Search(fn(&mut Settings)),
    /// A leg is not asked.
    Mode(Mode),
    /// The question arrives changed.
    Question(fn(&str) -> String),
    /// The filter is forgotten.
    Filter,
    /// Permissions are forgotten.
    Permissions,
    /// Statistics are those of everything, also of what the asker may not read.
    Statistics,
    /// What the legs found is changed before fusion.
    Legs(fn(&Patient<'_>, &mut Recalled) -> Result<()>),
    /// The reranked list is changed.
    Ranking(RankingChange),
    /// The reranked list is changed, which shows only where there is a minimum score.
    MinScore(RankingChange),
    /// The context is changed.
    Context(fn(&Patient<'_>, &mut Vec<ContextBlock>) -> Result<()>),
}

impl std::fmt::Debug for Place {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.write_str("Place")
    }
}

/// How far a minimum score is off.
const A_LITTLE: f64 = 0.02;

/// Words that are left of a question that is cut.
const WORDS_LEFT: usize = 5;

const fn fault(name: &'static str, what: &'static str, place: Place) -> Fault {
    Fault { name, what, place }
}

/// Every fault, from the index to the context.
pub const FAULTS: &[Fault] = &[
    fault(
        "no-stemming",
        "words match in one form only",
        Place::Index(|s| {
            "none".clone_into(&mut s.text.language);
        }),
    ),
    fault(
        "no-titles",
        "document titles are not searched",
        Place::Index(|s| {
            s.passage.titles = !s.passage.titles;
        }),
    ),
    fault(
        "stop-words-kept",
        "stop words count as words",
        Place::Index(|s| {
            s.text.stop_words = !s.text.stop_words;
        }),
    ),
    fault(
        "passages-halved",
        "passages are cut to half their size",
        Place::Index(|s| {
            s.passage.max_tokens = (s.passage.max_tokens / 2).max(16);
        }),
    ),
    fault(
        "documents-missing",
        "every tenth document is not indexed",
        Place::Corpus(|at| at % 10 != 9),
    ),
    fault(
        "question-cut",
        "the question is cut after five words",
        Place::Question(|question| {
            question.split_whitespace().take(WORDS_LEFT).collect::<Vec<_>>().join(" ")
        }),
    ),
    fault("filter-ignored", "the filter is forgotten", Place::Filter),
    fault("permissions-ignored", "everyone may read everything", Place::Permissions),
    fault(
        "statistics-of-everyone",
        "words are counted where the asker may not read",
        Place::Statistics,
    ),
    fault("lexical-leg-dead", "the lexical leg is not asked", Place::Mode(Mode::Dense)),
    fault("dense-leg-dead", "the dense leg is not asked", Place::Mode(Mode::Lexical)),
    fault(
        "legs-shallow",
        "each leg brings no more than the window holds",
        Place::Search(|s| s.depth = s.k),
    ),
    fault(
        "df-of-one",
        "every word counts as if one passage held it",
        Place::Legs(|patient, recalled| {
            patient.relex(recalled, |term, passages, _| with_df(term, passages, 1))
        }),
    ),
    fault(
        "df-halved",
        "document frequencies are counted on half the passages",
        Place::Legs(|patient, recalled| {
            patient.relex(recalled, |term, passages, _| with_df(term, passages, term.df / 2))
        }),
    ),
    fault(
        "codes-in-parts",
        "codes count as their parts alone",
        Place::Legs(|patient, recalled| {
            patient.relex(recalled, |term, _, _| if is_code(term) { 0.0 } else { term.score })
        }),
    ),
    fault(
        "rarest-word-lost",
        "the rarest word of the question is lost",
        Place::Legs(|patient, recalled| {
            patient.relex(recalled, |term, _, rarity| if rarity == 0 { 0.0 } else { term.score })
        }),
    ),
    fault(
        "average-length-doubled",
        "the average length is twice what it is",
        Place::Search(|s| {
            s.bm25 = Patient::with_average(s.bm25, 2.0);
        }),
    ),
    fault("length-ignored", "long passages are not held back", Place::Search(|s| s.bm25.b = 0.0)),
    fault(
        "repeats-add-up",
        "a word said ten times counts tenfold",
        Place::Search(|s| {
            s.bm25 = Bm25 { k1: 1_000.0, b: s.bm25.b };
        }),
    ),
    fault(
        "embeddings-off-by-one",
        "each passage has the embedding of the next",
        Place::Legs(|patient, recalled| {
            patient.redense(recalled, |row, rows| (row + 1) % rows, |cosine| cosine)
        }),
    ),
    fault(
        "embeddings-stale",
        "every tenth passage has the embedding of another text",
        Place::Legs(|patient, recalled| {
            let of =
                |row: u32, rows: u32| if row % 10 == 9 { (row + rows / 2) % rows } else { row };
            patient.redense(recalled, of, |cosine| cosine)
        }),
    ),
    fault(
        "distance-for-similarity",
        "the farthest passage counts as the nearest",
        Place::Legs(|patient, recalled| patient.redense(recalled, |row, _| row, |cosine| -cosine)),
    ),
    fault(
        "weights-swapped",
        "the weights of the legs are exchanged",
        Place::Search(|s| {
            s.alpha = 1.0 - s.alpha;
        }),
    ),
    fault(
        "ties-reversed",
        "equal scores stand in the other order",
        Place::Ranking(|_, list| {
            for run in list.chunk_by_mut(|a, b| a.score == b.score) {
                run.reverse();
            }
            Ok(())
        }),
    ),
    fault(
        "ranking-reversed",
        "the worst that passes the minimum comes first",
        Place::Ranking(|patient, list| {
            let least = patient.settings.min_score;
            list.retain(|scored| scored.score >= least);
            list.reverse();
            Ok(())
        }),
    ),
    fault(
        "first-lost",
        "the best passage is lost",
        Place::Ranking(|_, list| {
            if !list.is_empty() {
                list.remove(0);
            }
            Ok(())
        }),
    ),
    fault(
        "first-two-swapped",
        "the first and the second are exchanged",
        Place::Ranking(|_, list| {
            if let [first, second, ..] = list.as_mut_slice() {
                std::mem::swap(&mut first.row, &mut second.row);
            }
            Ok(())
        }),
    ),
    fault(
        "one-block-a-document",
        "a second block of a document is dropped",
        Place::Ranking(|patient, list| patient.one_a_document(list)),
    ),
    fault(
        "minimum-ignored",
        "the minimum score is forgotten",
        Place::Search(|s| s.min_score = 0.0),
    ),
    fault(
        "minimum-a-little-high",
        "the minimum score is .02 too high",
        Place::Search(|s| {
            s.min_score = (s.min_score + A_LITTLE).min(1.0);
        }),
    ),
    fault(
        "minimum-a-little-low",
        "the minimum score is .02 too low",
        Place::Search(|s| {
            s.min_score = (s.min_score - A_LITTLE).max(0.0);
        }),
    ),
    fault(
        "minimum-excludes-equal",
        "a candidate at the minimum is dropped",
        Place::MinScore(|patient, list| {
            let least = patient.settings.min_score;
            list.retain(|scored| scored.score > least);
            Ok(())
        }),
    ),
    fault(
        "window-one-short",
        "the window holds one block less",
        Place::Search(|s| {
            s.k = s.k.saturating_sub(1).max(1);
        }),
    ),
    fault(
        "window-one-long",
        "the window holds one block more",
        Place::Search(|s| {
            s.k = (s.k + 1).min(s.depth);
        }),
    ),
    fault(
        "last-block-lost",
        "the last block is not handed over",
        Place::Context(|_, context| {
            context.pop();
            Ok(())
        }),
    ),
    fault(
        "first-block-twice",
        "the first block stands in the last one's place too",
        Place::Context(|_, context| {
            if let (Some(first), Some(last)) = (context.first().copied(), context.last_mut()) {
                *last = first;
            }
            Ok(())
        }),
    ),
    fault(
        "neighbour-for-first",
        "the block beside the best is handed over instead",
        Place::Context(|patient, context| {
            let Some(first) = context.first_mut() else { return Ok(()) };
            if let Some(block) = patient.neighbour(first.block)? {
                *first = patient.handed_over(block, first.score)?;
            }
            Ok(())
        }),
    ),
    fault(
        "neighbour-beside-first",
        "the block beside the best is handed over as well",
        Place::Context(|patient, context| {
            let Some(first) = context.first().copied() else { return Ok(()) };
            let Some(block) = patient.neighbour(first.block)? else { return Ok(()) };
            if context.iter().all(|own| own.block != block) {
                context.insert(1, patient.handed_over(block, first.score)?);
                context.truncate(patient.settings.k);
            }
            Ok(())
        }),
    ),
    fault(
        "versions-swapped",
        "the other version of a document is handed over",
        Place::Context(|patient, context| {
            for own in context {
                if let Some(block) = patient.other_version(own.block)? {
                    *own = patient.handed_over(block, own.score)?;
                }
            }
            Ok(())
        }),
    ),
];

/// Whether a term is a code counted whole: letters and digits in one.
fn is_code(term: &Explained) -> bool {
    let has = |what: fn(&char) -> bool| term.term.chars().any(|c| what(&c));
    has(|c| c.is_alphabetic()) && has(|c| c.is_numeric())
}

/// What the term would give if `df` of `passages` passages held it.
fn with_df(term: &Explained, passages: u64, df: u64) -> f64 {
    if term.idf > 0.0 { term.score / term.idf * Bm25::idf(passages, df) } else { 0.0 }
}
