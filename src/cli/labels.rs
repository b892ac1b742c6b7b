//! Labels of a question set, held against the index before anything is measured on them.

use atlas::error::Result;
use atlas::eval::labels::{Label, resolve};
use atlas::eval::questions::QuestionSet;
use atlas::index::Index;
use atlas::report::stale_line;

use super::output::note;

/// Lets the labels of `set` follow their texts in `index`, as `measure` does, and says on standard error
/// which of them are stale. A set that judges whole documents has none.
pub fn follow(index: &Index, set: &mut QuestionSet) -> Result<Vec<Label>> {
    if set.by_document {
        return Ok(Vec::new());
    }
    let labels = resolve(index, set, false)?;
    if let Some(stale) = stale_line(&labels, false) {
        note(&stale);
    }
    Ok(labels)
}
