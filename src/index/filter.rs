//! Narrowing a search by metadata.

use super::Index;
use crate::access::{Bitmap, Scope};
use crate::error::{Error, Result, nearest};

/// Conditions on a document's metadata that must all hold; the id and the title count as metadata.
///
/// A condition names a key and the values of which one is enough. A document whose key holds a list
/// passes when any item does.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Filter {
    conditions: Vec<(String, Vec<String>)>,
}

impl Filter {
    /// Adds the condition written `key=value` or `key=one,other`.
    pub fn add(&mut self, written: &str) -> Result<()> {
        let bad =
            || Error::invalid("--filter", format!("`{written}`"), "KEY=VALUE or KEY=VALUE,VALUE");
        let (key, values) = written.split_once('=').ok_or_else(bad)?;
        let values: Vec<String> = values.split(',').map(|value| value.trim().to_owned()).collect();
        if key.trim().is_empty() || values.iter().any(String::is_empty) {
            return Err(bad());
        }
        self.require(key.trim(), values);
        Ok(())
    }

    /// Adds the condition that `key` has one of `values`.
    pub fn require(&mut self, key: &str, values: Vec<String>) {
        self.conditions.push((key.to_owned(), values));
    }

    /// Whether there is no condition.
    pub fn is_empty(&self) -> bool {
        self.conditions.is_empty()
    }
}

impl Index {
    /// `scope` narrowed to the documents that pass `filter`. Statistics stay those of the scope. A
    /// key that no readable document has is refused, with the nearest one that some has.
    pub fn narrow(&self, scope: &Scope, filter: &Filter) -> Result<Scope> {
        if filter.is_empty() {
            return Ok(scope.clone());
        }
        let metadata = self.metadata()?;
        for (key, _) in &filter.conditions {
            let readable = |document: &usize| self.readable(scope, *document as u32);
            let known = |key: &str| {
                key == "id"
                    || (0..metadata.len()).filter(readable).any(|d| metadata[d].get(key).is_some())
            };
            if !known(key) {
                let keys = metadata.iter().flat_map(|one| one.0.keys()).map(String::as_str);
                let help = nearest(key, keys.filter(|key| known(key)));
                let help =
                    help.map_or_else(String::new, |near| format!("; did you mean `{near}`?"));
                let expected = format!("a key of the documents' metadata{help}");
                return Err(Error::invalid("--filter", format!("`{key}`"), expected));
            }
        }
        let mut rows = Bitmap::none(self.manifest().passages as u32);
        for (document, own) in metadata.iter().enumerate() {
            let record = self.passages().document(document as u32)?;
            let passes = filter.conditions.iter().all(|(key, values)| {
                values.iter().any(|value| {
                    if key == "id" { record.id == *value } else { own.is_written(key, value) }
                })
            });
            if passes {
                for block in record.first_block..record.first_block + record.blocks {
                    let block = self.passages().block(block)?;
                    (block.first_row..block.first_row + block.passages)
                        .for_each(|row| rows.insert(row));
                }
            }
        }
        Ok(scope.narrowed(&rows))
    }

    /// Whether any passage of a document is readable.
    fn readable(&self, scope: &Scope, document: u32) -> bool {
        let Ok(record) = self.passages().document(document) else { return false };
        (record.first_block..record.first_block + record.blocks)
            .filter_map(|block| self.passages().block(block).ok())
            .flat_map(|block| block.first_row..block.first_row + block.passages)
            .any(|row| scope.readable().contains(row))
    }
}
