//! Plain text: one document a file, without metadata.

use super::{BodyForm, Document, Metadata, RawFile, Reader, Source, naming};
use crate::error::Result;

/// Reads `.txt` and `.text`: id and title come from the path, the body is the text as it stands.
pub struct Plain;

impl Reader for Plain {
    fn extensions(&self) -> &[&str] {
        &["txt", "text"]
    }

    fn read(&self, source: &RawFile) -> Result<Vec<Document>> {
        Ok(vec![Document {
            id: naming::id_of_path(&source.path),
            title: naming::title_of_path(&source.path),
            metadata: Metadata::default(),
            body: source.text()?,
            form: BodyForm::Plain,
            source: Source::file(&source.path, 1, 0),
        }])
    }
}
