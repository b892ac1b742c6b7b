//! Where the embeddings of a project come from: a model, or its documents.

use std::path::Path;
use std::sync::Arc;

use super::{Project, ProjectFile};
use crate::corpus::{VectorFile, VectorFiles, vector_dim};
use crate::error::{Error, Result};
use crate::vectors::{Embedder, ModelSettings, Outside, StaticModel};

/// Finds the files that `[vectors]` names from the project's `folder`, and refuses what does not fit
/// together.
pub(super) fn find(folder: &Path, file: &mut ProjectFile) -> Result<()> {
    let own = &file.vectors;
    let field = file.reading.json.vector.as_deref();
    match (&own.file, field) {
        (Some(_), Some(field)) => {
            let expected =
                "one of the two: vectors come from a file, or from a field of the records";
            return Err(Error::invalid(
                "vectors.file beside reading.json.vector",
                format!("`{field}`"),
                expected,
            ));
        }
        (Some(_), None) | (None, Some(_)) if file.model.path.is_some() => {
            let expected =
                "one of the two: documents that bring their vectors are embedded by no model";
            return Err(Error::invalid("model.path", "beside vectors from outside", expected));
        }
        (None, None) if own.ids.is_some() || own.dim.is_some() => {
            let key = if own.ids.is_some() { "vectors.ids" } else { "vectors.dim" };
            let expected = "with vectors.file, or with reading.json.vector";
            return Err(Error::invalid(key, "without vectors", expected));
        }
        _ => {}
    }
    file.reading.vectors = own.file.as_ref().map(|rows| VectorFiles {
        file: folder.join(rows),
        ids: own.ids.as_ref().map(|ids| folder.join(ids)),
    });
    Ok(())
}

impl Project {
    /// Whether the documents bring their embeddings.
    fn brings_vectors(&self) -> bool {
        self.file.reading.vectors.is_some() || self.file.reading.json.vector.is_some()
    }

    /// What embeds its passages and questions: its model, or nothing where the documents bring
    /// their vectors, of the dimension that its current generation has.
    pub fn embedder(&self) -> Result<Arc<dyn Embedder>> {
        if !self.brings_vectors() {
            return match &self.file.model.path {
                None => Ok(Arc::new(StaticModel::built_in()?)),
                Some(folder) if !self.file.model.is_encoder() => {
                    Ok(Arc::new(StaticModel::open(folder)?))
                }
                Some(_) => encoder(&self.file.model),
            };
        }
        let current = self.store().open().ok();
        let known = current.and_then(|generation| Outside::called(&generation.manifest.embedder));
        known.map_or_else(|| self.embedder_to_build(), |outside| Ok(Arc::new(outside)))
    }

    /// [`embedder`](Self::embedder) of the dimension that the data has now.
    ///
    /// # Errors
    ///
    /// A file of vectors that is none, records without any, and another dimension than `vectors.dim`.
    pub(super) fn embedder_to_build(&self) -> Result<Arc<dyn Embedder>> {
        let reading = &self.file.reading;
        let (dim, place) = match (&reading.vectors, &reading.json.vector) {
            (Some(files), _) => (VectorFile::open(&files.file)?.dim(), files.file.clone()),
            (None, Some(field)) => (vector_dim(&self.corpus, reading, field)?, self.corpus.clone()),
            (None, None) => return self.embedder(),
        };
        match self.file.vectors.dim {
            Some(asked) if asked != dim => {
                let problem = format!("its vectors have {dim} numbers");
                let help = format!("vectors.dim says {asked}; correct one of the two");
                Err(Error::input(place, None, problem, help))
            }
            _ => Ok(Arc::new(Outside::new(dim))),
        }
    }
}

/// The encoder that `settings` name.
#[cfg(feature = "transformer")]
fn encoder(settings: &ModelSettings) -> Result<Arc<dyn Embedder>> {
    Ok(crate::vectors::Encoder::open(settings)?)
}

/// Says that this program has no encoders.
#[cfg(not(feature = "transformer"))]
fn encoder(settings: &ModelSettings) -> Result<Arc<dyn Embedder>> {
    let path = settings.path.as_deref().unwrap_or_else(|| Path::new(""));
    let expected = format!(
        "the folder of a static model, with its {}; for an encoder take a program that was built with \
         `cargo build --features transformer`",
        StaticModel::FILE
    );
    Err(Error::invalid("model.path", format!("`{}`", path.display()), expected))
}
