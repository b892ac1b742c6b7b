//! The usage log, where a project keeps one: a line a request, of `search` and of `ask`.

use std::time::{Instant, SystemTime, UNIX_EPOCH};

use atlas::access::Asker;
use atlas::error::Result;
use atlas::index::Index;
use atlas::project::Project;
use atlas::search::{Outcome, Request, Retriever as _, Searcher};
use atlas::trace::Trace;
use atlas::trace::log::{self, Entry};

/// Searches; a request that fails is logged with the time that it took to fail.
pub fn retrieve(
    project: &Project,
    asker: Option<&Asker>,
    searcher: &Searcher,
    request: &Request,
) -> Result<Outcome> {
    let began = Instant::now();
    let found = searcher.retrieve(request);
    if found.is_err() && project.file.usage_log.is_some() {
        let mut entry =
            entry(project, asker, request.question(), searcher.index(), &Outcome::default())?;
        entry.total_us = began.elapsed().as_secs_f64() * 1e6;
        entry.failed = true;
        append(project, &entry)?;
    }
    found
}

/// Logs a request that ended with the search.
pub fn record(
    project: &Project,
    asker: Option<&Asker>,
    request: &Request,
    index: &Index,
    outcome: &Outcome,
) -> Result<()> {
    if project.file.usage_log.is_none() {
        return Ok(());
    }
    append(project, &entry(project, asker, request.question(), index, outcome)?)
}

/// Answers from what the search brought, and logs the request with the stage `answer`; an answer that
/// fails is logged with the time that it took to fail.
pub fn answered<T>(
    project: &Project,
    asker: Option<&Asker>,
    request: &Request,
    index: &Index,
    outcome: &Outcome,
    answer: impl FnOnce() -> Result<T>,
) -> Result<T> {
    let began = Instant::now();
    let answer = answer();
    let us = began.elapsed().as_secs_f64() * 1e6;
    if project.file.usage_log.is_some() {
        let mut entry = entry(project, asker, request.question(), index, outcome)?;
        entry.stages_us.push(("answer".to_owned(), us));
        entry.total_us += us;
        entry.failed = answer.is_err();
        append(project, &entry)?;
    }
    answer
}

fn append(project: &Project, entry: &Entry) -> Result<()> {
    let Some(path) = &project.file.usage_log else { return Ok(()) };
    entry.append(&project.folder.join(path), project.file.usage_log_days)
}

fn entry(
    project: &Project,
    asker: Option<&Asker>,
    question: &str,
    index: &Index,
    outcome: &Outcome,
) -> Result<Entry> {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let name = asker.map(|asker| {
        let hidden = project.file.usage_log_pseudonyms;
        if hidden { log::pseudonym(&asker.id, &key(project)) } else { asker.id.clone() }
    });
    let mut context = Vec::with_capacity(outcome.context.len());
    for hit in &outcome.context {
        context.push((index.passages().reference(hit.row)?.to_string(), hit.score));
    }
    let digest = &index.manifest().digest;
    let trace: &Trace = &outcome.trace;
    let entry = Entry::new(since.as_secs_f64(), name, question, digest, trace, context);
    Ok(entry.with_tokens(outcome.tokens()).of_corpus(&index.manifest().fingerprint))
}

/// The key of the project's pseudonyms: its folder, so that the same log gives the same name however
/// the project was named.
pub fn key(project: &Project) -> String {
    let folder = project.folder.canonicalize().unwrap_or_else(|_| project.folder.clone());
    folder.to_string_lossy().into_owned()
}
