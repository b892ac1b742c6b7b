//! Reading some files of a corpus folder, when the others are as they were.

use std::collections::BTreeSet;
use std::path::Path;

use rayon::prelude::*;

use super::{
    CorpusSettings, Document, FileRecord, Gathered, Noted, Passed, RawFile, Skipped, Surveyed,
    read_file, read_set, require_folder, set_file, sift, walk,
};
use crate::error::Result;

/// What lies in a corpus folder, unread.
#[derive(Debug)]
pub struct Listing {
    /// The files that [`read`](super::read) would read, by path.
    pub files: Vec<Surveyed>,
    /// What it would pass over without opening it, by path.
    pub skipped: Vec<Skipped>,
    /// Files and folders that could not be looked into: what lay there is not known to be gone.
    pub unreadable: Vec<String>,
    found: Vec<RawFile>,
    /// Files that hold the vectors of all documents.
    vectors: Vec<RawFile>,
    is_set: bool,
}

/// What some files of a corpus hold.
#[derive(Debug, Default)]
pub struct PartRead {
    /// Their documents, in no promised order; two may have one id.
    pub documents: Vec<Document>,
    /// What of them is no document, by path.
    pub skipped: Vec<Skipped>,
    /// What of them was taken in part, or needs a word, by path.
    pub noted: Vec<Noted>,
    /// The files as they were read; an empty hash is one that could not be.
    pub files: Vec<FileRecord>,
}

/// Lists the corpus that lies in `folder`.
///
/// # Errors
///
/// A missing folder, and settings that are no patterns.
pub fn list(folder: &Path, settings: &CorpusSettings) -> Result<Listing> {
    require_folder(folder)?;
    let (mut found, passed, unreadable, is_set) = match set_file(folder)? {
        Some(file) => (vec![file], Vec::new(), Vec::new(), true),
        None => {
            let walk::Listing { files, skipped, unreadable } = walk::list(folder, settings)?;
            (files, skipped, unreadable, false)
        }
    };
    found.sort_by(|a, b| a.path.cmp(&b.path));
    let vectors: Vec<RawFile> = settings.vectors.iter().flat_map(|own| own.raw(folder)).collect();
    let mut files: Vec<Surveyed> = found.par_iter().chain(&vectors).map(Surveyed::of).collect();
    files.sort_by(|a, b| a.path.cmp(&b.path));
    let skipped = passed.into_iter().map(Passed::skipped).collect();
    Ok(Listing { files, skipped, unreadable, found, vectors, is_set })
}

impl Listing {
    /// Whether `path` lies in something that could not be looked into.
    pub fn hides(&self, path: &str) -> bool {
        is_in(&self.unreadable, path)
    }

    /// The files that hold the vectors of all documents, by path.
    pub fn vectors(&self) -> impl Iterator<Item = &str> {
        self.vectors.iter().map(|file| file.path.as_str())
    }

    /// Reads those of the files that are among `paths`; all, when one of those that hold the vectors is.
    ///
    /// # Errors
    ///
    /// A fault in the one file of a public set; in any other file it is a reason to pass it over.
    pub fn read(&self, paths: &BTreeSet<&str>, settings: &CorpusSettings) -> Result<PartRead> {
        let named = |file: &&RawFile| paths.contains(file.path.as_str());
        let others: Vec<&RawFile> = self.vectors.iter().filter(named).collect();
        let wanted: Vec<&RawFile> =
            self.found.iter().filter(|file| !others.is_empty() || named(file)).collect();
        let mut all = Gathered::default();
        if self.is_set {
            for file in wanted {
                let record = file.record()?;
                all = Gathered { files: vec![record], ..sift(file, read_set(file, settings)?) };
            }
        } else {
            let read: Vec<Gathered> =
                wanted.par_iter().map(|file| read_file(file, settings)).collect();
            for mut one in read {
                all.documents.append(&mut one.documents);
                all.skipped.append(&mut one.skipped);
                all.noted.append(&mut one.noted);
                all.files.append(&mut one.files);
            }
            if let (Some(vectors), false) = (&settings.vectors, all.documents.is_empty()) {
                vectors.attach(&mut all.documents, false)?;
            }
        }
        for file in others {
            all.files.push(file.record()?);
        }
        let Gathered { documents, mut skipped, mut noted, files, .. } = all;
        skipped.sort_by(|left, right| left.path.cmp(&right.path));
        noted.sort_by(|(left, _), (right, _)| left.path.cmp(&right.path));
        let noted = noted.into_iter().map(|(passed, is_loss)| passed.noted(is_loss)).collect();
        Ok(PartRead {
            documents,
            skipped: skipped.into_iter().map(Passed::skipped).collect(),
            noted,
            files,
        })
    }
}

/// Whether there may be a file at `path` that could not be read: one of `files`, by path, without a hash,
/// or something in a folder that is `closed`.
pub(crate) fn is_hidden(files: &[FileRecord], closed: &[String], path: &str) -> bool {
    let record = files.binary_search_by(|file| file.path.as_str().cmp(path));
    record.is_ok_and(|at| files[at].hash.is_empty()) || is_in(closed, path)
}

/// Whether `path` is one of `closed`, or lies in one.
fn is_in(closed: &[String], path: &str) -> bool {
    closed.iter().any(|closed| {
        let below = path.strip_prefix(closed.as_str());
        closed == "." || below.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    })
}
