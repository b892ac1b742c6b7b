//! How long builds take, for the targets of them.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Instant;

use atlas::error::{Error, Result};
use atlas::eval::scorecard::{Row, median};
use atlas::eval::targets::Target;
use atlas::index::Quiet;
use atlas::project::Project;

/// Builds of each kind that are timed: the fewest of which the median has a 95 % interval.
const BUILDS: usize = 6;

/// What is added to a file to change it.
const ADDED: &str = "\n\nThis was added to see how soon it can be searched.\n";

/// Seconds of every build.
pub struct Times {
    /// From nothing to an index.
    full_s: Vec<f64>,
    /// From one changed file to an index that holds the change.
    one_file_s: Vec<f64>,
}

/// The row of `target`, `build` or `rebuild_one_file`, on a copy of the project's corpus: builds are
/// timed for the first of the two, and kept in `built` for the other. A program with debug assertions
/// measures nothing, as the targets are of a release build.
pub fn row(project: &Project, target: &Target, built: &mut Option<Times>) -> Result<Row> {
    if cfg!(debug_assertions) {
        let why = "this program is a debug build, and the target is of a release build";
        return Ok(Row::not_measured(target, 0, why));
    }
    let times = match built {
        Some(times) => times,
        none => none.insert(times(project)?),
    };
    let of = if target.name == "build" { &times.full_s } else { &times.one_file_s };
    Ok(median(target, of))
}

/// Times builds of a copy of the project's corpus, each whole one into a folder of its own.
fn times(project: &Project) -> Result<Times> {
    let folder = tempfile::tempdir()
        .map_err(|e| Error::io("making a folder in", std::env::temp_dir(), e))?;
    let mut copy = project.clone();
    copy.corpus = folder.path().join("corpus");
    copy_all(&project.corpus, &copy.corpus)?;
    let mut times = Times { full_s: Vec::new(), one_file_s: Vec::new() };
    for at in 0..BUILDS {
        copy.index = folder.path().join(format!("index-{at}"));
        let began = Instant::now();
        copy.build(&mut Quiet)?;
        times.full_s.push(began.elapsed().as_secs_f64());
    }
    let file = changeable(&copy)?;
    for _ in 0..BUILDS {
        let text = fs::read_to_string(&file).map_err(|e| Error::io("reading", &file, e))?;
        fs::write(&file, text + ADDED).map_err(|e| Error::io("writing", &file, e))?;
        let began = Instant::now();
        copy.update(&mut Quiet)?;
        times.one_file_s.push(began.elapsed().as_secs_f64());
    }
    Ok(times)
}

/// The first file of the index that a sentence can be added to.
fn changeable(project: &Project) -> Result<PathBuf> {
    let index = project.open_index()?;
    let mut files = index.manifest().sources.iter().map(|source| source.path.as_str());
    let text = files.find(|path| [".md", ".txt"].iter().any(|end| path.ends_with(end)));
    let expected =
        "a corpus with a file of Markdown or plain text, to which a sentence can be added";
    let text =
        text.ok_or_else(|| Error::invalid("[rebuild_one_file]", "not measurable", expected))?;
    Ok(project.corpus.join(text))
}

fn copy_all(from: &Path, to: &Path) -> Result<()> {
    fs::create_dir_all(to).map_err(|e| Error::io("making", to, e))?;
    let entries = fs::read_dir(from).map_err(|e| Error::io("listing", from, e))?;
    for entry in entries {
        let entry = entry.map_err(|e| Error::io("listing", from, e))?;
        let (path, target) = (entry.path(), to.join(entry.file_name()));
        if path.is_dir() {
            copy_all(&path, &target)?;
        } else {
            fs::copy(&path, &target).map_err(|e| Error::io("copying", &path, e))?;
        }
    }
    Ok(())
}
