//! Which files of a folder are documents.

use std::path::Path;

use ignore::WalkBuilder;
use ignore::overrides::OverrideBuilder;

use super::{CorpusSettings, KINDS, NOT_DOCUMENTS, Passed, RawFile, Reader};
use crate::error::{Error, Result};

/// The files under a corpus folder, and those passed over, both by path in byte order.
pub(super) struct Listing {
    pub(super) files: Vec<RawFile>,
    pub(super) skipped: Vec<Passed>,
    /// Files and folders that could not be looked into.
    pub(super) unreadable: Vec<String>,
}

/// Lists the files that some reader takes.
///
/// Hidden files and what git ignores are passed over in silence, as are the [`NOT_DOCUMENTS`] and
/// the `exclude` setting; everything else that is not read is listed with its reason.
pub(super) fn list(folder: &Path, settings: &CorpusSettings) -> Result<Listing> {
    let mut listing = Listing { files: Vec::new(), skipped: Vec::new(), unreadable: Vec::new() };
    for entry in builder(folder, settings)?.build() {
        match entry {
            Ok(entry) => sort_in(folder, &entry, &mut listing),
            Err(fault) => {
                let (path, problem) = named(folder, &fault);
                listing.unreadable.push(path.clone());
                listing.skipped.push(Passed::new(path, problem, ""));
            }
        }
    }
    let vectors: Vec<RawFile> = settings.vectors.iter().flat_map(|own| own.raw(folder)).collect();
    listing.files.retain(|file| vectors.iter().all(|own| own.path != file.path));
    listing.skipped.retain(|file| vectors.iter().all(|own| own.path != file.path));
    listing.files.sort_by(|left, right| left.path.cmp(&right.path));
    listing.skipped.sort_by(|left, right| left.path.cmp(&right.path));
    Ok(listing)
}

fn builder(folder: &Path, settings: &CorpusSettings) -> Result<WalkBuilder> {
    let mut overrides = OverrideBuilder::new(folder);
    for pattern in &settings.exclude {
        // A `!` turns the meaning round: without it, an override is a list of what to keep.
        overrides.add(&format!("!{pattern}")).map_err(|fault| {
            // The fault shows the pattern as it was turned round; only its reason is of use.
            let why = match fault {
                ignore::Error::Glob { err, .. } => err,
                other => other.to_string(),
            };
            let expected = format!("a pattern as in `.gitignore` ({why})");
            Error::invalid("reading.exclude", format!("`{pattern}`"), expected)
        })?;
    }
    let overrides = overrides
        .build()
        .map_err(|fault| Error::invalid("reading.exclude", fault, "patterns as in `.gitignore`"))?;
    // Rules of folders above count only within one repository, as git has it.
    let absolute = folder.canonicalize().map_err(|fault| Error::io("finding", folder, fault))?;
    let in_repository = absolute.ancestors().any(|above| above.join(".git").exists());
    let mut builder = WalkBuilder::new(folder);
    builder
        .follow_links(false)
        .hidden(true)
        .ignore(false)
        .git_ignore(true)
        .git_exclude(true)
        // A user's own ignore file would make one corpus two on two machines.
        .git_global(false)
        .require_git(false)
        .parents(in_repository)
        .overrides(overrides);
    Ok(builder)
}

fn sort_in(folder: &Path, entry: &ignore::DirEntry, listing: &mut Listing) {
    if let Some(fault) = entry.error() {
        let (path, problem) = named(folder, fault);
        listing.skipped.push(Passed::new(path, problem, ""));
    }
    let Some(kind) = entry.file_type().filter(|kind| !kind.is_dir()) else { return };
    let (path, readable) = relative(folder, entry.path());
    if NOT_DOCUMENTS.contains(&path.as_str()) {
        return;
    }
    let (problem, help) = if !readable {
        ("its name is not Unicode, so it cannot be cited".to_owned(), "rename it")
    } else if kind.is_symlink() {
        let problem = "it is a symbolic link, and links are not followed".to_owned();
        (problem, "copy the file instead")
    } else if !kind.is_file() {
        ("it is not a regular file".to_owned(), "")
    } else if reader_of(&path).is_none() {
        (unknown(&path), "")
    } else {
        listing.files.push(RawFile { path, location: entry.path().to_owned() });
        return;
    };
    listing.skipped.push(Passed::new(path, problem, help));
}

/// The reader that takes the file by its ending, in any case of letters.
pub fn reader_of(path: &str) -> Option<&'static dyn Reader> {
    let name = path.rsplit('/').next().unwrap_or(path).to_lowercase();
    let ends = |ending: &str| name.strip_suffix(ending).is_some_and(|stem| stem.ends_with('.'));
    KINDS.iter().find(|(ending, _)| ends(ending)).map(|(_, reader)| *reader)
}

/// The endings that [`list`] knows, for messages: `.md, .markdown, .txt, .text`.
pub(super) fn known_kinds() -> String {
    KINDS.iter().map(|(ending, _)| format!(".{ending}")).collect::<Vec<_>>().join(", ")
}

fn unknown(path: &str) -> String {
    match path.rsplit('/').next().unwrap_or(path).rsplit_once('.') {
        Some((_, ending)) => format!("files ending in .{ending} are not read"),
        None => "files without an ending are not read".to_owned(),
    }
}

/// The path below the corpus folder with `/`, and whether it is Unicode.
fn relative(folder: &Path, path: &Path) -> (String, bool) {
    let below = path.strip_prefix(folder).unwrap_or(path);
    let parts = below.components().map(|part| part.as_os_str().to_string_lossy());
    (parts.collect::<Vec<_>>().join("/"), below.to_str().is_some())
}

/// The path a walking error is about, and what happened there.
fn named(folder: &Path, fault: &ignore::Error) -> (String, String) {
    let mut inner = fault;
    let mut place = None;
    loop {
        match inner {
            ignore::Error::WithPath { path, err } => (place, inner) = (Some(path), err),
            ignore::Error::WithDepth { err, .. } | ignore::Error::WithLineNumber { err, .. } => {
                inner = err;
            }
            ignore::Error::Partial(faults) if !faults.is_empty() => inner = &faults[0],
            _ => break,
        }
    }
    let path = place.map_or_else(|| ".".to_owned(), |path| relative(folder, path).0);
    (path, format!("it could not be read: {inner}"))
}
