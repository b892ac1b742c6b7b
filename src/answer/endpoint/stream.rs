//! An answer as it comes: server-sent events, or one JSON object.

use std::io::{self, BufRead};

use serde::Deserialize;

use super::Said;

/// Why an answer cannot be read.
#[derive(Debug)]
pub(super) enum Fault {
    /// It broke off.
    Io(io::Error),
    /// It is of another form.
    Form(String),
}

impl From<io::Error> for Fault {
    fn from(fault: io::Error) -> Self {
        Self::Io(fault)
    }
}

#[derive(Deserialize)]
struct Chunk {
    #[serde(default)]
    choices: Vec<Choice>,
    error: Option<serde_json::Value>,
}

#[derive(Deserialize)]
struct Choice {
    #[serde(default, alias = "message")]
    delta: Delta,
    finish_reason: Option<String>,
}

#[derive(Deserialize, Default)]
struct Delta {
    content: Option<String>,
    refusal: Option<String>,
}

/// Reads a whole answer.
pub(super) fn read(mut reader: impl BufRead, events: bool) -> Result<Said, Fault> {
    let mut said = Said::default();
    if !events {
        let mut text = String::new();
        reader.read_to_string(&mut text)?;
        add(&text, &mut said)?;
        return Ok(said);
    }
    let mut ended = false;
    let mut line = String::new();
    while !ended {
        line.clear();
        if reader.read_line(&mut line)? == 0 {
            break;
        }
        // Comments, names of events and empty lines say nothing.
        let Some(data) = line.trim_end().strip_prefix("data:") else { continue };
        match data.trim() {
            "" => {}
            "[DONE]" => ended = true,
            data => ended = add(data, &mut said)?,
        }
    }
    if ended { Ok(said) } else { Err(Fault::Form("its answer ends before its end".to_owned())) }
}

/// Adds one object; whether it is the last.
fn add(text: &str, said: &mut Said) -> Result<bool, Fault> {
    let chunk: Chunk = serde_json::from_str(text).map_err(|fault| {
        let start: String = text.chars().take(60).collect();
        Fault::Form(format!("its answer is not the JSON expected ({fault}): `{start}`"))
    })?;
    if let Some(error) = chunk.error {
        let why = error.get("message").and_then(|own| own.as_str()).unwrap_or("no reason given");
        return Err(Fault::Form(format!("it answered with an error: {why}")));
    }
    let mut last = false;
    for choice in chunk.choices.into_iter().take(1) {
        said.text.push_str(choice.delta.content.as_deref().unwrap_or_default());
        if let Some(refusal) = choice.delta.refusal {
            said.text.push_str(&refusal);
            said.refused = true;
        }
        match choice.finish_reason.as_deref() {
            Some("length") => {
                let problem = "its answer is cut at the most tokens";
                return Err(Fault::Form(problem.to_owned()));
            }
            reason => last |= reason.is_some(),
        }
    }
    Ok(last)
}

/// The message of an error object, if `text` is one.
pub(super) fn message(text: &str) -> Option<String> {
    let value: serde_json::Value = serde_json::from_str(text).ok()?;
    value.get("error")?.get("message")?.as_str().map(str::to_owned)
}
