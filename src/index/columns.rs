//! The metadata of all documents by key, so that a filter looks at values and not at documents.

use std::collections::BTreeMap;
use std::ops::Range;

use super::filter::{FROM, TO};
use crate::access::Bitmap;
use crate::corpus::{Date, Metadata, Value};
use crate::error::{Error, Result};
use crate::passage::store::PassageStore;

/// What every document's metadata says, by key, and where its passages are.
#[derive(Debug)]
pub(super) struct Columns {
    /// The row of each document's first passage, then the number of rows: `[documents + 1]`.
    first_rows: Vec<u32>,
    keys: BTreeMap<String, Column>,
    /// The first and the last day on which each document holds; `None` is open. `[documents]`.
    days: Vec<(Option<Date>, Option<Date>)>,
}

/// What documents say under one key.
#[derive(Debug, Default)]
pub(super) struct Column {
    /// The documents that have the key, ascending.
    pub documents: Vec<u32>,
    /// The values, by how they are stored.
    values: BTreeMap<Vec<u8>, Entry>,
}

/// One value of a key, an item of a list being one of its own, and the documents that have it.
#[derive(Debug)]
pub(super) struct Entry {
    pub value: Value,
    /// Ascending.
    pub documents: Vec<u32>,
}

impl Columns {
    /// Reads every document's metadata.
    pub fn read(passages: &PassageStore) -> Result<Self> {
        let documents = (0..passages.documents_len()).map(|number| {
            let record = passages.document(number)?;
            let first_row = if record.first_block == passages.blocks_len() {
                passages.passages_len()
            } else {
                passages.block(record.first_block)?.first_row
            };
            Ok((first_row, record.metadata))
        });
        Self::of(documents, passages.passages_len())
    }

    /// Columns of documents, each given as its first row and its metadata, with `rows` rows in all.
    pub(super) fn of(
        documents: impl Iterator<Item = Result<(u32, Metadata)>>,
        rows: u32,
    ) -> Result<Self> {
        let mut columns = Self { first_rows: Vec::new(), keys: BTreeMap::new(), days: Vec::new() };
        for (number, document) in (0..).zip(documents) {
            let (first_row, metadata) = document?;
            columns.first_rows.push(first_row);
            columns.days.push((metadata.date(FROM), metadata.date(TO)));
            for (key, value) in metadata.0 {
                columns.keys.entry(key).or_default().add(number, &value)?;
            }
        }
        columns.first_rows.push(rows);
        Ok(columns)
    }

    /// The keys that any document has, ascending.
    pub fn keys(&self) -> impl Iterator<Item = &str> {
        self.keys.keys().map(String::as_str)
    }

    /// What documents say under `key`, if any has it.
    pub fn get(&self, key: &str) -> Option<&Column> {
        self.keys.get(key)
    }

    /// How many documents there are.
    pub fn documents(&self) -> u32 {
        self.days.len() as u32
    }

    /// The rows of a document's passages.
    pub fn rows(&self, document: u32) -> Range<u32> {
        let at = document as usize;
        self.first_rows[at]..self.first_rows[at + 1]
    }

    /// The documents that hold on `day`: they begin no later and end no earlier.
    pub fn holding(&self, day: Date) -> Bitmap {
        let holds = |(from, to): &(Option<Date>, Option<Date>)| {
            from.is_none_or(|from| from <= day) && to.is_none_or(|to| to >= day)
        };
        let documents = (0..).zip(&self.days).filter(|(_, days)| holds(days));
        Bitmap::of(self.documents(), documents.map(|(document, _)| document))
    }
}

impl Column {
    /// The values, each once.
    pub fn values(&self) -> impl Iterator<Item = &Entry> {
        self.values.values()
    }

    /// Adds what `document` says; documents come in ascending order.
    fn add(&mut self, document: u32, value: &Value) -> Result<()> {
        self.documents.push(document);
        for item in value.items() {
            let stored = bincode::serde::encode_to_vec(item, bincode::config::standard());
            let stored =
                stored.map_err(|e| Error::invalid("metadata", e, "values that can be stored"))?;
            let new = || Entry { value: item.clone(), documents: Vec::new() };
            let documents = &mut self.values.entry(stored).or_insert_with(new).documents;
            if documents.last() != Some(&document) {
                documents.push(document);
            }
        }
        Ok(())
    }
}
