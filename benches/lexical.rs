//! What does an exact lexical score cost, beside scoring everything and beside tantivy's own search?
//!
//! Data: the 100,000 passages of the AWS guides that `search` uses; 200 queries each of 2, 4 and 8
//! distinct terms (stop words left out), drawn from one passage each, seed 0x6C65_7869. Tantivy gets an
//! index of the very same terms that this bench builds in memory, with field norms, one segment, and a
//! Boolean query of `Should` terms; its top 10 and top 100 are pruned by block-max WAND.
//!
//! With `ATLAS_BENCH_MILLION=1` the same follows on a million passages: the passages of aws-docs-full,
//! scifact, cranfield, cisi, medline, cacm and npl (`../shared/data`), of which two drawn ones at a time
//! give the first half of the words of one and the second half of the other, seed 0x6D69_6C6C; no text
//! repeats, and terms are as frequent as in the real ones. It is built once, some minutes.
//!
//! Kinds of queries: `mixed` terms as they come; `frequent` ones, which 1 % of the passages or more
//! hold; `rare` ones, which at most 0.01 % or 20 passages do. Scopes of 50 % and 10 % of the rows, drawn: ours
//! takes its statistics from the scope, tantivy ANDs a term that stands for it, with no weight.
//!
//! Reading: µs, p50, all cases in turns in one run, one thread. Our scorer is beside tantivy at the same
//! depth: `ratio` is ours / tantivy. `same` says how many of its results were those of the exhaustive
//! oracle, rows, scores and order, bit for bit; `overlap` is the share of our first 10 that tantivy has
//! among its own: it counts stop words in a length and rounds it to a byte, so less than 1 is expected.
#![allow(clippy::unwrap_used, reason = "a bench stops at the first surprise")]

mod common;

use std::path::Path;
use std::sync::Arc;

use atlas::access::{Bitmap, Scope};
use atlas::corpus::{self, BodyForm, Corpus, CorpusSettings, Document, Metadata, Source};
use atlas::format::Store;
use atlas::index::{self, Index, Options, Quiet};
use atlas::lexical::{Bm25, Query, exhaustive};
use atlas::text::Stems;
use atlas::vectors::Outside;
use common::{Draw, Guides, Table, at, cached, form, in_turns, measuring, timed};
use criterion::{Criterion, criterion_group, criterion_main};
use tantivy::collector::TopDocs;
use tantivy::query::{BooleanQuery, ConstScoreQuery, Occur, TermQuery};
use tantivy::schema::{FAST, Field, IndexRecordOption, Schema, TextFieldIndexing, TextOptions};
use tantivy::tokenizer::{TextAnalyzer, WhitespaceTokenizer};
use tantivy::{Searcher, TantivyDocument, Term};

const SEED: u64 = 0x6C65_7869;
const QUERIES: usize = 200;
const ROUNDS: usize = 3;

/// The same terms under tantivy's own scorer.
struct Bare {
    searcher: Searcher,
    terms: Field,
    scopes: Field,
}

/// Shares of the rows that scopes have, in percent; the seeds of their draws follow from them.
const SCOPES: [usize; 2] = [50, 10];

/// The rows of a scope of `percent` of `rows`.
fn part(percent: usize, rows: usize) -> Bitmap {
    let drawn = Draw(SEED ^ percent as u64).distinct(rows * percent / 100, rows);
    Bitmap::of(rows as u32, drawn)
}

impl Bare {
    fn build(index: &Index) -> Self {
        let mut schema = Schema::builder();
        let indexing = TextFieldIndexing::default()
            .set_tokenizer("spaces")
            .set_index_option(IndexRecordOption::WithFreqs);
        let terms =
            schema.add_text_field("terms", TextOptions::default().set_indexing_options(indexing));
        let row = schema.add_u64_field("row", FAST);
        let only = TextFieldIndexing::default()
            .set_tokenizer("spaces")
            .set_fieldnorms(false)
            .set_index_option(IndexRecordOption::Basic);
        let scopes = schema.add_text_field("in", TextOptions::default().set_indexing_options(only));
        let parts = SCOPES.map(|percent| (percent, part(percent, index.manifest().passages)));
        let own = tantivy::Index::create_in_ram(schema.build());
        let splitter = TextAnalyzer::builder(WhitespaceTokenizer::default()).build();
        own.tokenizers().register("spaces", splitter);
        let mut writer = own.writer_with_num_threads::<TantivyDocument>(1, 1 << 30).unwrap();
        let mut stems = Stems::default();
        for at in 0..index.manifest().passages as u32 {
            let mut document = TantivyDocument::new();
            document.add_text(terms, index.analyzer().document(&form(index, at), &mut stems).0);
            document.add_u64(row, u64::from(at));
            for (percent, rows) in &parts {
                if rows.contains(at) {
                    document.add_text(scopes, percent.to_string());
                }
            }
            writer.add_document(document).unwrap();
        }
        writer.commit().unwrap();
        writer.wait_merging_threads().unwrap();
        Self { searcher: own.reader().unwrap().searcher(), terms, scopes }
    }

    fn query(&self, query: &Query) -> BooleanQuery {
        let clauses = query.terms().iter().map(|(term, _)| {
            let term = Term::from_field_text(self.terms, term);
            let term = TermQuery::new(term, IndexRecordOption::WithFreqs);
            (Occur::Should, Box::new(term) as Box<dyn tantivy::query::Query>)
        });
        BooleanQuery::new(clauses.collect())
    }

    /// The same within a scope of `percent`.
    fn scoped(&self, query: &Query, percent: usize) -> BooleanQuery {
        let within = Term::from_field_text(self.scopes, &percent.to_string());
        let within = TermQuery::new(within, IndexRecordOption::Basic);
        BooleanQuery::new(vec![
            (Occur::Must, Box::new(self.query(query)) as Box<dyn tantivy::query::Query>),
            (Occur::Must, Box::new(ConstScoreQuery::new(Box::new(within), 0.0))),
        ])
    }

    /// Documents of the only segment, which are rows, best first.
    fn search(&self, query: &BooleanQuery, depth: usize) -> Vec<u32> {
        let best = TopDocs::with_limit(depth).order_by_score();
        let found = self.searcher.search(query, &best).unwrap();
        found.into_iter().map(|(_, place)| place.doc_id).collect()
    }
}

/// How frequent the terms of queries are.
#[derive(Clone, Copy, PartialEq)]
enum Kind {
    Mixed,
    Frequent,
    Rare,
}

/// Queries of `terms` terms of a kind, each drawn from one passage.
fn queries(index: &Index, bare: Option<&Bare>, terms: usize, kind: Kind) -> Vec<Query> {
    let mut draw = Draw(SEED + terms as u64);
    let mut made = Vec::with_capacity(QUERIES);
    let passages = index.manifest().passages as u64;
    let (least, most) = (passages / 100, (passages / 10_000).max(20));
    while made.len() < QUERIES {
        let row = draw.below(index.manifest().passages) as u32;
        let mut words = index.analyzer().question(&form(index, row));
        words.sort_unstable();
        words.dedup();
        words.retain(|word| {
            let Some(bare) = bare.filter(|_| kind != Kind::Mixed) else { return true };
            let df = bare.searcher.doc_freq(&Term::from_field_text(bare.terms, word)).unwrap();
            if kind == Kind::Frequent { df >= least } else { df <= most }
        });
        if words.len() >= terms {
            draw.shuffle(&mut words);
            words.truncate(terms);
            made.push(Query::new(words));
        }
    }
    made
}

/// Our depth 10 and 100, tantivy's, and the oracle.
const OURS: [usize; 2] = [10, 100];

/// The kinds of terms and scopes beside tantivy, top 10.
fn kinds(index: &Index, bare: &Bare, table: &mut Table) {
    let (lexical, bm25) = (index.lexical(), Bm25::default());
    let rows = index.manifest().passages;
    table.heading(&format!("{rows} passages: kinds of terms, and scopes, top 10, µs"));
    let everyone = index.everyone();
    let scopes = SCOPES.map(|percent| (percent, Scope::restricted(part(percent, rows))));
    let all = std::iter::once((100, &everyone)).chain(scopes.iter().map(|(p, s)| (*p, s)));
    for (percent, scope) in all {
        for (kind, name) in
            [(Kind::Mixed, "mixed"), (Kind::Frequent, "frequent"), (Kind::Rare, "rare")]
        {
            for terms in [2, 4, 8].into_iter().filter(|terms| kind != Kind::Rare || *terms < 8) {
                let queries = queries(index, Some(bare), terms, kind);
                let theirs: Vec<BooleanQuery> = queries
                    .iter()
                    .map(|query| match percent {
                        100 => bare.query(query),
                        _ => bare.scoped(query, percent),
                    })
                    .collect();
                let same = queries.iter().take(10).filter(|query| {
                    let truth = exhaustive(lexical, query, scope, bm25).unwrap();
                    let own = lexical.search(query, scope, bm25, 10).unwrap();
                    own == truth[..10.min(truth.len())]
                });
                let exact = format!("same {} of 10", same.count());
                // A query remembers its statistics, which belong to a search: a new one each time.
                let times = in_turns(2, queries.len(), ROUNDS, |case, item| match case {
                    0 => {
                        let query = anew(&queries[item]);
                        timed(|| lexical.search(&query, scope, bm25, 10).unwrap()).1
                    }
                    _ => timed(|| bare.search(&theirs[item], 10)).1,
                });
                let name = format!("{rows} passages, scope {percent} %, {name}, {terms} terms");
                table.times(&name, &times[0], &times[1], &exact);
            }
        }
    }
}

fn anew(query: &Query) -> Query {
    let each = query.terms().iter();
    Query::new(each.flat_map(|(term, n)| vec![term.clone(); n.ceil() as usize]))
}

/// The sets that a million passages are made of.
const SETS: [&str; 7] = ["aws-docs-full", "scifact", "cranfield", "cisi", "medline", "cacm", "npl"];

const MILLION: usize = 1_000_000;

/// A million passages of two halves, built when they are not there.
fn million() -> Arc<Index> {
    let store = Store::new(cached("lexical-million"));
    let mut settings = index::Settings::default();
    // The lexical leg alone is asked: one number stands for a vector, and there is no graph.
    settings.graph.from_passages = usize::MAX;
    let model = Arc::new(Outside::new(1));
    if let Ok(index) = Index::open(&store, &settings, model.clone(), None) {
        return Arc::new(index);
    }
    let mut texts: Vec<String> = Vec::new();
    for set in SETS {
        let folder = at("../shared/data").join(set);
        let corpus = corpus::read(Path::new(&folder), &CorpusSettings::default()).unwrap();
        for document in &corpus.documents {
            let cut = atlas::passage::cut(document, &settings.passage);
            texts.extend(cut.into_iter().flat_map(|(_, all)| all).map(|passage| passage.text));
        }
    }
    let mut draw = Draw(0x6D69_6C6C);
    let documents = (0..MILLION).map(|number| {
        let halves = [0, 1].map(|half| {
            let words: Vec<&str> = texts[draw.below(texts.len())].split_whitespace().collect();
            let (first, second) = words.split_at(words.len() / 2);
            if half == 0 { first.join(" ") } else { second.join(" ") }
        });
        Document {
            id: format!("{number:07}"),
            title: String::new(),
            metadata: Metadata::default(),
            body: format!("{} .", halves.join(" ")),
            form: BodyForm::Plain,
            source: Source::file("made", 1, 0),
            vector: Some(Box::new([1.0])),
        }
    });
    let corpus = Corpus {
        documents: documents.collect(),
        skipped: Vec::new(),
        noted: Vec::new(),
        fingerprint: "million".to_owned(),
        files: Vec::new(),
        closed: Vec::new(),
    };
    index::build(&corpus, &settings, &*model, &store, Options::default(), &mut Quiet).unwrap();
    Arc::new(Index::open(&store, &settings, model, None).unwrap())
}

fn table(index: &Index, bare: &Bare, table: &mut Table) {
    let scope = index.everyone();
    let lexical = index.lexical();
    let bm25 = Bm25::default();
    for terms in [2, 4, 8] {
        table.heading(&format!("{terms} terms, µs"));
        let queries = queries(index, None, terms, Kind::Mixed);
        let theirs: Vec<BooleanQuery> = queries.iter().map(|query| bare.query(query)).collect();
        let (mut same, mut overlap) = ([0; 2], 0);
        for (query, their) in queries.iter().zip(&theirs) {
            let truth = exhaustive(lexical, query, &scope, bm25).unwrap();
            for (same, depth) in same.iter_mut().zip(OURS) {
                let own = lexical.search(query, &scope, bm25, depth).unwrap();
                *same += usize::from(own == truth[..depth.min(truth.len())]);
            }
            let found = bare.search(their, 10);
            let own = truth.iter().take(10).filter(|(row, _)| found.contains(row));
            overlap += own.count() * 10 / truth.len().clamp(1, 10);
        }
        let times = in_turns(5, queries.len(), ROUNDS, |case, item| match case {
            0 | 1 => timed(|| lexical.search(&queries[item], &scope, bm25, OURS[case]).unwrap()).1,
            2 | 3 => timed(|| bare.search(&theirs[item], OURS[case - 2])).1,
            _ => timed(|| exhaustive(lexical, &queries[item], &scope, bm25).unwrap()).1,
        });
        let share = overlap as f64 / (10 * queries.len()) as f64;
        for (at, depth) in OURS.into_iter().enumerate() {
            let exact = format!("same {} of {}", same[at], queries.len());
            let name = format!("{terms} terms: ours, top {depth} / tantivy");
            table.times(&name, &times[at], &times[at + 2], &exact);
        }
        for (at, depth) in OURS.into_iter().enumerate() {
            let name = format!("{terms} terms: ours, top {depth} / oracle");
            table.times(&name, &times[at], &times[4], "");
        }
        let (ours, deep) = (times[1].clone(), &times[0]);
        table.times(&format!("{terms} terms: ours, top 100 / top 10"), &ours, deep, "");
        let name = format!("{terms} terms: tantivy, top 10 / oracle");
        table.times(&name, &times[2], &times[4], &format!("overlap {share:.3}"));
        let late = |at: usize| common::percentile(&times[at], 0.95);
        let name = format!("{terms} terms: ours, top 10 / tantivy, p95");
        table.row(&name, late(0), late(2), times[0].len(), "");
    }
}

fn bench(criterion: &mut Criterion) {
    let Some(guides) = Guides::open() else { return };
    let index = guides.index.as_ref();
    let scope: Scope = index.everyone();
    if measuring() {
        let bare = Bare::build(index);
        let segments = bare.searcher.segment_readers().len();
        assert_eq!(segments, 1, "rows are documents of one segment");
        let mut whole = Table::new("lexical", "the exact scorer beside tantivy and the oracle");
        table(index, &bare, &mut whole);
        kinds(index, &bare, &mut whole);
        drop(bare);
        if std::env::var("ATLAS_BENCH_MILLION").is_ok_and(|set| set == "1") {
            let million = million();
            kinds(&million, &Bare::build(&million), &mut whole);
        }
        whole.keep(
            "µs, p50 unless said",
            "100,000 passages of aws-docs-full; queries from passages",
        );
    }
    let mut group = common::group(criterion, "lexical");
    for terms in [2, 4, 8] {
        let queries = queries(index, None, terms, Kind::Mixed);
        let mut asked = queries.iter().cycle();
        group.bench_function(format!("{terms} terms, top 10"), |bencher| {
            bencher.iter(|| {
                let query = asked.next().unwrap_or(&queries[0]);
                index.lexical().search(query, &scope, Bm25::default(), 10).unwrap()
            });
        });
    }
    group.finish();
}

criterion_group!(benches, bench);
criterion_main!(benches);
