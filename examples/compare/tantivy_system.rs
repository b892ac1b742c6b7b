//! Tantivy alone: its own scorer over the terms that Atlas's analyzer makes, in memory.
//!
//! The crate is built here without its memory-mapped folder, so the index is made anew when it is
//! opened, and neither that nor its memory is compared.

use std::path::{Path, PathBuf};

use atlas::lexical::Query;
use atlas::text::{Analyzer, Stems};
use serde_json::{Value, json};
use tantivy::collector::TopDocs;
use tantivy::directory::RamDirectory;
use tantivy::query::{BooleanQuery, Occur, TermQuery};
use tantivy::schema::{FAST, Field, IndexRecordOption, Schema, TextFieldIndexing, TextOptions};
use tantivy::tokenizer::{TextAnalyzer, WhitespaceTokenizer};
use tantivy::{IndexSettings, Searcher, TantivyDocument, Term};

use crate::Result;
use crate::serve::{Asked, K, System, texts};

/// Bytes that postings gather in before a segment is written.
const BUDGET: usize = 1 << 30;

/// Tantivy over the passages of the data.
pub struct Tantivy {
    data: PathBuf,
    analyzer: Analyzer,
    opened: Option<Opened>,
}

struct Opened {
    searcher: Searcher,
    terms: Field,
    bytes: usize,
}

impl Tantivy {
    pub fn new(data: &Path) -> Result<Self> {
        let analyzer = Analyzer::new(&atlas::text::Settings::default())?;
        Ok(Self { data: data.to_owned(), analyzer, opened: None })
    }

    /// An index of one segment, whose documents are rows.
    fn index(&self, texts: &[String]) -> Result<Opened> {
        let mut schema = Schema::builder();
        let indexing = TextFieldIndexing::default()
            .set_tokenizer("spaces")
            .set_index_option(IndexRecordOption::WithFreqs);
        let terms =
            schema.add_text_field("terms", TextOptions::default().set_indexing_options(indexing));
        let row = schema.add_u64_field("row", FAST);
        let folder = RamDirectory::create();
        let own = tantivy::Index::create(folder.clone(), schema.build(), IndexSettings::default())?;
        let splitter = TextAnalyzer::builder(WhitespaceTokenizer::default()).build();
        own.tokenizers().register("spaces", splitter);
        let mut writer = own.writer_with_num_threads::<TantivyDocument>(1, BUDGET)?;
        let mut stems = Stems::default();
        for (at, text) in texts.iter().enumerate() {
            let mut document = TantivyDocument::new();
            document.add_text(terms, self.analyzer.document(text, &mut stems).0);
            document.add_u64(row, at as u64);
            writer.add_document(document)?;
        }
        writer.commit()?;
        let segments = own.searchable_segment_ids()?;
        if segments.len() > 1 {
            writer.merge(&segments).wait()?;
        }
        writer.wait_merging_threads()?;
        Ok(Opened { searcher: own.reader()?.searcher(), terms, bytes: folder.total_mem_usage() })
    }
}

impl System for Tantivy {
    fn version(&self) -> String {
        tantivy::version_string().to_owned()
    }

    fn build(&mut self, _: &str) -> Result<Box<dyn FnOnce() -> Result<Value> + '_>> {
        let texts = texts(&self.data.join("passages.jsonl"))?;
        Ok(Box::new(move || Ok(json!({"bytes": self.index(&texts)?.bytes}))))
    }

    fn open(&mut self, _: &str) -> Result<()> {
        let opened = self.index(&texts(&self.data.join("passages.jsonl"))?)?;
        if opened.searcher.segment_readers().len() != 1 {
            return Err("tantivy's index is not of one segment".into());
        }
        self.opened = Some(opened);
        Ok(())
    }

    fn search(&self, _: &str, asked: &Asked<'_>) -> Result<(Vec<u32>, usize)> {
        let opened = self.opened.as_ref().ok_or("no index is open")?;
        let query = Query::new(self.analyzer.question(asked.text));
        let clauses = query.terms().iter().map(|(term, _)| {
            let term = Term::from_field_text(opened.terms, term);
            let term = TermQuery::new(term, IndexRecordOption::WithFreqs);
            (Occur::Should, Box::new(term) as Box<dyn tantivy::query::Query>)
        });
        let query = BooleanQuery::new(clauses.collect());
        let best = TopDocs::with_limit(K).order_by_score();
        let found = opened.searcher.search(&query, &best)?;
        Ok((found.into_iter().map(|(_, place)| place.doc_id).collect(), 0))
    }
}
