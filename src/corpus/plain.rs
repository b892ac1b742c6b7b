//! Plain text: one document a file, without metadata.

use super::{
    BodyForm, CorpusSettings, Decoded, Document, Metadata, RawFile, Reader, Reading, Source, naming,
};
use crate::error::Result;

/// Reads `.txt` and `.text`: id and title come from the path, the body is the text as it stands.
pub struct Plain;

impl Reader for Plain {
    fn read(&self, source: &RawFile, _: &CorpusSettings) -> Result<Reading> {
        let Decoded { text, remarks, offsets } = source.text()?;
        let document = Document {
            id: naming::id_of_path(&source.path),
            title: naming::title_of_path(&source.path),
            metadata: Metadata::default(),
            body: text,
            form: BodyForm::Plain,
            source: Source::file(&source.path, 1, 0),
            vector: None,
        };
        Ok(Reading { documents: vec![document], remarks }.placed(&offsets))
    }
}
