//! Random questions, and the comparison of an answer with the twin's.

use std::fmt::Write as _;
use std::fs;
use std::path::PathBuf;
use std::sync::{Arc, LazyLock};

use atlas::access::Scope;
use atlas::corpus::Corpus;
use atlas::eval::twin::{Twin, difference};
use atlas::index::{Filter, Index};
use atlas::lexical::Bm25;
use atlas::search::{
    DensePath, Fusion, Mode, Outcome, Request, Retriever as _, Searcher, Settings, Synonyms,
};

use super::random::Random;
use super::world::{ABSENT, ACCOUNTS, CLASSES, DAYS, RARE, REGIONS, STOP_WORDS, WORDS, folder};

/// Words of the corpora that stand for one another, for half of the searches.
static SYNONYMS: LazyLock<Synonyms> = LazyLock::new(|| {
    let folder = folder();
    let mut text = String::new();
    for pair in WORDS.chunks_exact(3) {
        writeln!(text, "{} => {}", pair[0], pair[1..].join(" ")).unwrap();
    }
    writeln!(text, "{}", WORDS[..4].join(", ")).unwrap();
    fs::write(folder.path().join("synonyms.txt"), text).unwrap();
    let mut synonyms = Synonyms::from(PathBuf::from("synonyms.txt"));
    synonyms.read(folder.path()).unwrap();
    synonyms
});

/// Everything of a case but who asks.
#[derive(Debug)]
pub struct Ask {
    pub question: String,
    pub mode: Mode,
    pub settings: Settings,
    pub k: usize,
    pub min_score: Option<f64>,
    pub filter: Filter,
}

impl Ask {
    pub fn random(random: &mut Random, corpus: &Corpus) -> Self {
        let settings = Self::settings(random);
        Self {
            question: Self::question(random, corpus),
            mode: random.pick(&[Mode::Hybrid, Mode::Hybrid, Mode::Lexical, Mode::Dense]),
            k: random.from(1, settings.depth),
            min_score: random.pick(&[None, None, None, None, Some(0.01), Some(0.3), Some(1.0)]),
            filter: Self::filter(random, corpus),
            settings,
        }
    }

    pub fn question(random: &mut Random, corpus: &Corpus) -> String {
        match random.below(12) {
            0 => String::new(),
            1 => random.words(&STOP_WORDS, 1, 3),
            2 => random.words(&ABSENT, 1, 2),
            3 => random.words(&["E-417", "SKU-44", "417", "sku 44", "E-471"], 1, 2),
            // The very words of a document that the asker may not know of.
            4 => corpus.documents[random.below(corpus.documents.len())].body.clone(),
            5 => format!("{} {}", random.words(&WORDS, 1, 3), random.words(&ABSENT, 1, 1)),
            _ => random.words(&WORDS, 1, 6),
        }
    }

    pub fn settings(random: &mut Random) -> Settings {
        Settings {
            depth: random.pick(&[1, 2, 5, 20, 100, 100]),
            k: 1,
            window_tokens: random.pick(&[1, 30, 2048]),
            fusion: random.pick(&[Fusion::Convex, Fusion::Rrf]),
            alpha: random.pick(&[0.0, 0.3, 0.6, 1.0]),
            rrf_k: random.pick(&[1.0, 60.0]),
            bm25: random.pick(&[
                Bm25::default(),
                Bm25::default(),
                Bm25 { k1: 0.0, b: 0.0 },
                Bm25 { k1: 2.0, b: 1.0 },
            ]),
            dense: random.pick(&[DensePath::Auto, DensePath::Exact]),
            synonyms: random.pick(&[&Synonyms::default(), &SYNONYMS]).clone(),
            synonym_weight: random.pick(&[0.5, 1.0]),
            duplicates: random.pick(&[0.0, 0.0, 0.6, 1.0]),
            diversity: random.pick(&[0.0, 0.0, 0.3, 1.0]),
            per_document: random.pick(&[0, 0, 1, 2]),
            neighbours: random.pick(&[0, 0, 1, 3]),
            cues: random.some(&["product", "account", "region", "effective_from", "title"], 30),
            cue_weight: random.pick(&[0.1, 1.0]),
            ..Settings::default()
        }
    }

    pub fn filter(random: &mut Random, corpus: &Corpus) -> Filter {
        let mut filter = Filter::default();
        for _ in 0..random.pick(&[0, 0, 0, 0, 1, 1, 2]) {
            let id = &corpus.documents[random.below(corpus.documents.len())].id;
            let written = match random.below(9) {
                0 => format!("account={}", random.pick(&ACCOUNTS)),
                1 => format!("region={},{}", random.pick(&REGIONS), random.pick(&REGIONS)),
                2 => format!("product={}", random.pick(&["C-3", "T-7", "K-1"])),
                3 => format!("weight{}2.5", random.pick(&["<", "<=", ">", ">="])),
                4 => format!("effective_from<={}", random.pick(&DAYS)),
                5 => format!("id={id}"),
                6 => format!("classification={}", random.pick(&CLASSES)),
                7 => format!("{}={}", random.pick(&RARE), random.pick(&WORDS[..6])),
                // Nearly a key: the message may name only what the asker has seen.
                _ => {
                    format!("{}=x", random.pick(&["pay_roll", "merge", "acount", "sections.Cost"]))
                }
            };
            filter.add(&written).unwrap();
        }
        if random.chance(15) {
            filter.as_of(random.pick(&DAYS)).unwrap();
        }
        filter
    }

    /// The answer of `index` within `scope`, or the text of the error. A twin is open to everyone, so it
    /// has to be told to take the exact path that a policy brings with it.
    pub fn answer(&self, index: &Arc<Index>, scope: &Scope) -> Result<Outcome, String> {
        let scope = index.narrow(scope, &self.filter).map_err(|fault| fault.to_string())?;
        let dense = if scope.is_restricted() { self.settings.dense } else { DensePath::Exact };
        let settings = Settings { dense, ..self.settings.clone() };
        let searcher = Searcher::new(Arc::clone(index), settings).unwrap();
        let request = Request::new(self.question.clone(), scope).mode(self.mode);
        let mut request = request.k(self.k, &self.settings).unwrap();
        if let Some(least) = self.min_score {
            request = request.min_score(least).unwrap();
        }
        searcher.retrieve(&request).map_err(|fault| fault.to_string())
    }

    /// What else is shown of an answer: references, text and titles, and the words behind each score.
    pub fn shown(&self, index: &Index, scope: &Scope, outcome: &Outcome) -> Vec<String> {
        let passages = index.passages();
        let show = |hit: &atlas::search::ContextBlock| {
            let (row, tokens) = (hit.row, hit.tokens);
            let (score, reference) = (hit.score.to_bits(), passages.reference(row).unwrap());
            let block = passages.block(hit.block).unwrap();
            let (text, sections) = (passages.block_text(&block), passages.sections(&block));
            let words =
                index.lexical().explain(&outcome.query, scope, self.settings.bm25, row).unwrap();
            let joined = hit.joined_to.map(|block| passages.block_reference(block).unwrap());
            format!("{reference} {score:x} {tokens} {text:?} {sections:?} {words:?} {joined:?}")
        };
        let same = outcome.same.iter().map(|(row, hit)| {
            let [row, hit] = [row, hit].map(|row| passages.reference(*row).unwrap());
            format!("{row} says the same as {hit}")
        });
        outcome.context.iter().map(show).chain(same).collect()
    }

    /// The first difference between what is got in `scope` of the whole index and from the twin.
    pub fn compare(
        &self,
        whole: (&Arc<Index>, &Scope),
        twin: &Twin,
        seen: &mut Seen,
    ) -> Option<String> {
        let (index, scope) = whole;
        let ours = self.answer(index, scope);
        let Some(other) = twin.searcher.as_ref().map(Searcher::index) else {
            return match ours {
                Ok(outcome) if outcome.context.is_empty() => {
                    difference((index, &outcome), None).unwrap()
                }
                Ok(_) => Some("a context where nothing is readable".to_owned()),
                Err(said) => said.contains("did you mean").then_some(said),
            };
        };
        let all = other.everyone();
        let theirs = self.answer(other, &all);
        match (ours, theirs) {
            (Err(ours), Err(theirs)) => {
                seen.refused += 1;
                (ours != theirs).then(|| format!("`{ours}`; the twin: `{theirs}`"))
            }
            (Ok(ours), Ok(theirs)) => {
                seen.note(&ours);
                let (stages, expected) = (ours.trace.stages.len(), theirs.trace.stages.len());
                if stages != expected {
                    return Some(format!("{stages} stages, {expected} in the twin"));
                }
                let different = difference((index, &ours), Some((other, &theirs))).unwrap();
                let shown = || {
                    let ours = self.shown(index, scope, &ours);
                    let theirs = self.shown(other, &all, &theirs);
                    (ours != theirs).then(|| format!("context {ours:?}; the twin: {theirs:?}"))
                };
                different.or_else(shown)
            }
            (ours, theirs) => Some(format!("{:?}; the twin: {:?}", ours.err(), theirs.err())),
        }
    }
}

/// What the cases were like, so that a run which proves little is seen to.
#[derive(Debug, Default)]
pub struct Seen {
    pub cases: usize,
    pub corpora: usize,
    /// Cases in which some passages are readable and some are not.
    pub partial: usize,
    /// Cases in which nothing is readable.
    pub nothing: usize,
    /// Cases that ended in the same error on both sides.
    pub refused: usize,
    /// Cases with a context.
    pub found: usize,
    /// Cases with two candidates of one score.
    pub tied: usize,
}

impl Seen {
    pub fn note(&mut self, outcome: &Outcome) {
        self.found += usize::from(!outcome.context.is_empty());
        let fused = outcome.trace.stage("fuse").map_or(&[][..], |stage| &stage.list);
        self.tied += usize::from(fused.windows(2).any(|two| two[0].score == two[1].score));
    }
}
