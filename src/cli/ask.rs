//! `atlas ask`.

use std::sync::Arc;

use atlas::answer::{Answer, Asked, Extractive, Source, sources};
use atlas::error::Result;
use atlas::index::{Filter, Index};
use atlas::search::{Outcome, Request, Searcher};
use clap::Args;
use serde_json::{Value, json};

use super::output::{Output, note};
use super::{Exit, Format, Global, build, endpoint, project, usage};

/// Arguments of `ask`.
#[derive(Debug, Args)]
pub struct AskArgs {
    /// The question
    question: String,
    /// Who asks, by a name of users.yaml [default: default_asker of atlas.toml]
    #[arg(long = "as", value_name = "ASKER")]
    asker: Option<String>,
    /// Only documents whose metadata has one of the values, as in `search`; may be repeated
    #[arg(long, value_name = "KEY=VALUE[,VALUE]")]
    filter: Vec<String>,
    /// Only documents that hold on this day, by effective_from and effective_to
    #[arg(long, value_name = "YYYY-MM-DD")]
    as_of: Option<String>,
    /// Let the endpoint of atlas.toml answer (`[answer.endpoint]`), from the same evidence
    #[arg(long)]
    endpoint: bool,
}

/// Answers with quotes and their sources, or with the abstention sentence.
pub fn run(args: &AskArgs, global: &Global, out: &mut Output) -> Result<Exit> {
    let project = project(global)?;
    let endpoint =
        if args.endpoint { Some(endpoint::answerer(&project.file.answer)?) } else { None };
    let mut filter = Filter::default();
    args.filter.iter().try_for_each(|written| filter.add(written))?;
    if let Some(day) = &args.as_of {
        filter.as_of(day)?;
    }
    let index = Arc::new(build::ensure(&project)?);
    let searcher = Searcher::new(Arc::clone(&index), project.file.search.clone())?;
    let (asker, why) = project.asker(args.asker.as_deref());
    if let Some(why) = why {
        note(&why);
    }
    if project.policy.is_none() && args.asker.is_some() {
        note("the project is open, so everyone reads everything; `--as` changes nothing");
    }
    let scope = index.scope(asker)?;
    let scope =
        if scope.readable().count() == 0 { scope } else { index.narrow(&scope, &filter)? };
    let request = Request::new(args.question.clone(), scope);
    let outcome = usage::retrieve(&project, asker, &searcher, &request)?;
    let context = sources(&index, &outcome)?;
    let asked = Asked { id: "", request: &request, outcome: &outcome, sources: &context };
    let built_in = Extractive::new(Arc::clone(&index), project.file.answer.clone())?;
    let answerer = endpoint.as_deref().unwrap_or(&built_in);
    let answer = || answerer.answer(&asked);
    let answer = usage::answered(&project, asker, &request, &index, &outcome, answer)?;
    let answer = answer.unwrap_or_default();
    match global.format {
        Format::Json => out.json(&to_json(&answer, &context, &outcome)),
        Format::Text => text(&answer, &index, &outcome, out)?,
    }
    Ok(Exit::Done)
}

/// The place of a block: file and lines.
fn place(index: &Index, outcome: &Outcome, at: usize) -> Result<String> {
    let passages = index.passages();
    let Some(hit) = outcome.context.get(at) else { return Ok(String::new()) };
    let block = passages.block(hit.block)?;
    let first = passages.passage(block.first_row)?.first_line;
    let last = passages.passage(block.first_row + block.passages - 1)?.last_line;
    let path = passages.document(block.document)?.path;
    Ok(if first == last { format!("{path}:{first}") } else { format!("{path}:{first}-{last}") })
}

fn text(answer: &Answer, index: &Index, outcome: &Outcome, out: &mut Output) -> Result<()> {
    if answer.quotes.is_empty() {
        out.line(&answer.text);
    }
    for quote in &answer.quotes {
        let number = answer.citations.iter().position(|own| own.reference == quote.reference);
        let mark = number.map_or_else(String::new, |at| format!(" [{}]", at + 1));
        out.line(format!("{}{mark}", quote.text));
    }
    if !answer.citations.is_empty() {
        out.line("");
    }
    for (at, citation) in answer.citations.iter().enumerate() {
        let mut at_context = None;
        for (place, hit) in outcome.context.iter().enumerate() {
            if index.passages().block_reference(hit.block)?.to_string() == citation.reference {
                at_context = Some(place);
            }
        }
        let place = at_context.map_or(Ok(String::new()), |at| place(index, outcome, at))?;
        let revision =
            citation.revision.as_ref().map_or_else(String::new, |own| format!(", {own}"));
        out.line(format!(
            "[{}] {}  {}{revision}  {place}",
            at + 1,
            citation.reference,
            citation.title
        ));
    }
    Ok(())
}

fn to_json(answer: &Answer, context: &[Source], outcome: &Outcome) -> Value {
    json!({ "answer": answer, "context": context, "trace": outcome.trace })
}
