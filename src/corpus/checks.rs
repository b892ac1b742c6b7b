//! What is wrong with a corpus as a whole.

use std::collections::BTreeSet;
use std::path::Path;

use super::{Document, Skipped, beir, walk};
use crate::error::{Error, Result, nearest};

/// Two documents of one id cannot both be cited; `documents` are sorted by id and place.
pub(super) fn refuse_twins(folder: &Path, documents: &[Document]) -> Result<()> {
    let twins = documents.windows(2).find(|pair| pair[0].id == pair[1].id);
    let Some([first, second]) = twins else {
        return Ok(());
    };
    let (place, line) = (&first.source, second.source.first_line);
    let other = if place.is_record() {
        format!("{}:{}", place.path, place.first_line)
    } else {
        place.path.clone()
    };
    let line = second.source.is_record().then_some(line);
    let problem = format!("the id `{}` is also that of {other}", second.id);
    let help = "give one of them another id";
    Err(Error::input(folder.join(&second.source.path), line, problem, help))
}

pub(super) fn nothing_found(folder: &Path, skipped: &[Skipped]) -> Error {
    let also = skipped.first().map_or_else(String::new, |first| {
        format!(" ({} skipped, the first being {}: {})", skipped.len(), first.path, first.reason)
    });
    let kinds = walk::known_kinds();
    let sets = beir::NAMES.join(" or ");
    let problem = format!("no document found; looked for {kinds}, and for {sets} at the top{also}");
    Error::input(folder, None, problem, "put documents there, or name another folder")
}

pub(super) fn keep_subset(documents: &mut Vec<Document>, wanted: &[String]) -> Result<()> {
    let expected = |near: Option<&str>| match near {
        Some(near) => format!("ids of documents; did you mean `{near}`?"),
        None => "ids of documents of the corpus".to_owned(),
    };
    if wanted.is_empty() {
        return Err(Error::invalid("the subset of the corpus", "empty", expected(None)));
    }
    let known = |id: &str| documents.binary_search_by(|document| document.id.as_str().cmp(id));
    if let Some(stranger) = wanted.iter().find(|id| known(id).is_err()) {
        let near = nearest(stranger, documents.iter().map(|document| document.id.as_str()));
        let found = format!("`{stranger}`");
        return Err(Error::invalid("an id in the subset of the corpus", found, expected(near)));
    }
    let wanted: BTreeSet<&str> = wanted.iter().map(String::as_str).collect();
    documents.retain(|document| wanted.contains(document.id.as_str()));
    Ok(())
}
