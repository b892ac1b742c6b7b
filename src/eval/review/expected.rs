//! What the answers of a set must hold.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use serde::Deserialize;

use crate::error::{Error, Result};
use crate::eval::written::OneOrMany;

#[derive(Deserialize)]
struct File {
    questions: Vec<Asked>,
}

#[derive(Deserialize)]
struct Asked {
    id: String,
    expect: Option<Expect>,
}

#[derive(Deserialize)]
struct Expect {
    #[serde(default)]
    must_contain: Vec<OneOrMany>,
}

/// The strings of `must_contain` by question, for a file of expected answers; none for a set that states
/// no answers, or that is a folder. Where any of several strings is enough none of them must stand
/// anywhere, so those are left out.
pub fn strings(path: &Path) -> Result<BTreeMap<String, Vec<String>>> {
    if path.is_dir() {
        return Ok(BTreeMap::new());
    }
    let text =
        fs::read_to_string(path).map_err(|e| Error::reading("reading question set", path, e))?;
    let file: File = serde_saphyr::from_str(&text).map_err(|fault| {
        let line = fault.location().map(|place| place.line());
        Error::input(path, line, fault.to_string(), "it holds a list `questions`")
    })?;
    let stated = file.questions.into_iter().filter_map(|asked| {
        let lists = asked.expect?.must_contain.into_iter().map(OneOrMany::into_vec);
        let one = |list: Vec<String>| <[String; 1]>::try_from(list).ok().map(|[one]| one);
        let strings: Vec<String> = lists.filter_map(one).collect();
        (!strings.is_empty()).then_some((asked.id, strings))
    });
    Ok(stated.collect())
}
