//! What an index holds, as one hash: equal for equal content, however it was built.

use crate::access::Label;
use crate::corpus::Document;
use crate::error::Result;
use crate::passage::store::{DocumentMark, PassageStore};
use crate::passage::{Block, Passage};

/// BLAKE3 over fields.
pub(super) struct Digest(blake3::Hasher);

impl Digest {
    pub(super) fn new() -> Self {
        Self(blake3::Hasher::new())
    }

    /// A field with its length before it, so that no two contents run into each other.
    pub(super) fn field(&mut self, bytes: &[u8]) {
        self.0.update(&(bytes.len() as u64).to_le_bytes());
        self.0.update(bytes);
    }

    pub(super) fn bytes(&self) -> [u8; 32] {
        *self.0.finalize().as_bytes()
    }

    pub(super) fn hex(&self) -> String {
        self.0.finalize().to_hex().to_string()
    }
}

/// The digest of all that an index holds of one document: its content, how it was cut, its terms, its
/// embeddings `[passages × dim]` and its labels.
pub(super) fn of_document(
    document: &Document,
    cut: &[(Block, Vec<Passage>)],
    labels: &[Label],
    terms: &[(String, u32)],
    vectors: &[f32],
) -> [u8; 32] {
    let mut digest = Digest::new();
    digest.field(&document.digest());
    for (block, passages) in cut {
        digest.field(block.reference.to_string().as_bytes());
        passages.iter().for_each(|passage| digest.field(passage.text.as_bytes()));
    }
    for label in labels {
        for part in [&label.classification, &label.account, &label.region] {
            digest.field(part.as_deref().unwrap_or("\0").as_bytes());
        }
    }
    terms.iter().for_each(|(terms, _)| digest.field(terms.as_bytes()));
    digest.field(bytemuck::cast_slice(vectors));
    digest.bytes()
}

/// The digest of an index, from what shaped it and the digests of its documents; and the fingerprint of
/// its corpus.
pub(super) fn of_index(shape: &[&str], passages: &PassageStore) -> Result<(String, String)> {
    let (mut digest, mut corpus) = (Digest::new(), Digest::new());
    shape.iter().for_each(|part| digest.field(part.as_bytes()));
    for run in passages.documents().runs() {
        let marks: &[DocumentMark] = match passages.layer(run.layer) {
            Some(layer) => layer.marks()?,
            None => &[],
        };
        let own = run.start as usize..(run.start + run.len) as usize;
        for mark in marks.get(own).unwrap_or_default() {
            digest.field(&mark.indexed);
            corpus.field(&mark.content);
        }
    }
    Ok((digest.hex(), corpus.hex()))
}
