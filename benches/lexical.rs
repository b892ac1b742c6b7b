//! What does an exact lexical score cost, beside scoring everything and beside tantivy's own search?
//!
//! Data: the 100,000 passages of the AWS guides that `search` uses; 200 queries each of 2, 4 and 8
//! distinct terms (stop words left out), drawn from one passage each, seed 0x6C65_7869. Tantivy gets an
//! index of the very same terms that this bench builds in memory, with field norms, one segment, and a
//! Boolean query of `Should` terms; its top 10 and top 100 are pruned by block-max WAND.
//!
//! Reading: µs, p50, all cases in turns in one run, one thread. Our scorer is beside tantivy at the same
//! depth: `ratio` is ours / tantivy. `same` says how many of its results were those of the exhaustive
//! oracle, rows, scores and order, bit for bit; `overlap` is the share of our first 10 that tantivy has
//! among its own: it counts stop words in a length and rounds it to a byte, so less than 1 is expected.
#![allow(clippy::unwrap_used, reason = "a bench stops at the first surprise")]

mod common;

use atlas::access::Scope;
use atlas::index::Index;
use atlas::lexical::{Bm25, Query, exhaustive};
use atlas::text::Stems;
use common::{Draw, Guides, Table, form, in_turns, measuring, timed};
use criterion::{Criterion, criterion_group, criterion_main};
use tantivy::collector::TopDocs;
use tantivy::query::{BooleanQuery, Occur, TermQuery};
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
        let own = tantivy::Index::create_in_ram(schema.build());
        let splitter = TextAnalyzer::builder(WhitespaceTokenizer::default()).build();
        own.tokenizers().register("spaces", splitter);
        let mut writer = own.writer_with_num_threads::<TantivyDocument>(1, 1 << 30).unwrap();
        let mut stems = Stems::default();
        for at in 0..index.manifest().passages as u32 {
            let mut document = TantivyDocument::new();
            document.add_text(terms, index.analyzer().document(&form(index, at), &mut stems).0);
            document.add_u64(row, u64::from(at));
            writer.add_document(document).unwrap();
        }
        writer.commit().unwrap();
        writer.wait_merging_threads().unwrap();
        Self { searcher: own.reader().unwrap().searcher(), terms }
    }

    fn query(&self, query: &Query) -> BooleanQuery {
        let clauses = query.terms().iter().map(|(term, _)| {
            let term = Term::from_field_text(self.terms, term);
            let term = TermQuery::new(term, IndexRecordOption::WithFreqs);
            (Occur::Should, Box::new(term) as Box<dyn tantivy::query::Query>)
        });
        BooleanQuery::new(clauses.collect())
    }

    /// Documents of the only segment, which are rows, best first.
    fn search(&self, query: &BooleanQuery, depth: usize) -> Vec<u32> {
        let best = TopDocs::with_limit(depth).order_by_score();
        let found = self.searcher.search(query, &best).unwrap();
        found.into_iter().map(|(_, place)| place.doc_id).collect()
    }
}

/// Queries of `terms` terms, each drawn from one passage.
fn queries(index: &Index, terms: usize) -> Vec<Query> {
    let mut draw = Draw(SEED + terms as u64);
    let mut made = Vec::with_capacity(QUERIES);
    while made.len() < QUERIES {
        let row = draw.below(index.manifest().passages) as u32;
        let mut words = index.analyzer().question(&form(index, row));
        words.sort_unstable();
        words.dedup();
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

fn table(index: &Index, bare: &Bare, table: &mut Table) {
    let scope = index.everyone();
    let lexical = index.lexical();
    let bm25 = Bm25::default();
    for terms in [2, 4, 8] {
        table.heading(&format!("{terms} terms, µs"));
        let queries = queries(index, terms);
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
        whole.keep(
            "µs, p50 unless said",
            "100,000 passages of aws-docs-full; queries from passages",
        );
    }
    let mut group = common::group(criterion, "lexical");
    for terms in [2, 4, 8] {
        let queries = queries(index, terms);
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
