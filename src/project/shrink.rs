//! What a build may drop: a corpus of which half is suddenly gone is more often a folder that is not
//! mounted, moved, or excluded by a slip than one that somebody emptied.

use serde::{Deserialize, Serialize};

use super::Project;
use crate::error::{Error, Result};
use crate::format::{KEPT_BEFORE_CURRENT, Manifest};
use crate::index::{Left, Memory};

/// Files that are named when a build would drop too much.
const NAMED: usize = 5;

/// What builds may drop and what they keep, `[build]` in `atlas.toml`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct BuildSettings {
    /// Share of the documents that a build may drop without `--allow-shrink`, 0..=1. Default 0.5: a
    /// missing mount, a moved folder or a pattern too wide takes most of a corpus at once, and what
    /// people delete between two builds hardly ever does.
    pub max_shrink: f64,
    /// Generations kept before the current one, to go back to, 0..=1000. Default 1.
    pub keep_generations: usize,
    /// Bytes of memory that a build may fill by its own choice, 67108864 or more. Default 1 GiB.
    pub memory_bytes: u64,
}

impl Default for BuildSettings {
    fn default() -> Self {
        let memory_bytes = Memory::default().bytes;
        Self { max_shrink: 0.5, keep_generations: KEPT_BEFORE_CURRENT, memory_bytes }
    }
}

impl BuildSettings {
    /// Refuses values out of their ranges.
    pub fn check(&self) -> Result<()> {
        if !(0.0..=1.0).contains(&self.max_shrink) {
            return Err(Error::invalid("build.max_shrink", self.max_shrink, "a share from 0 to 1"));
        }
        if self.keep_generations > 1000 {
            let found = self.keep_generations;
            let expected = "a whole number from 0 to 1000";
            return Err(Error::invalid("build.keep_generations", found, expected));
        }
        if self.memory_bytes < Memory::LEAST {
            let expected = format!("a number of bytes from {}", Memory::LEAST);
            return Err(Error::invalid("build.memory_bytes", self.memory_bytes, expected));
        }
        Ok(())
    }
}

impl Project {
    /// Refuses a build that would leave more than `build.max_shrink` fewer documents than the generation
    /// `before` holds, or lose the documents of a file that cannot be read. Counted are documents: one that was renamed is not dropped.
    pub fn check_shrink(&self, before: &Manifest, left: &Left) -> Result<()> {
        if let (Some(first), true) = (left.unreadable.first(), self.file.build.max_shrink < 1.0) {
            let more = match left.unreadable.len() - 1 {
                0 => "cannot be read".to_owned(),
                more => format!("and {more} more cannot be read"),
            };
            let problem = format!(
                "all of it is to be built, {first} {more}, and what the index holds of that would be lost"
            );
            let help = "make it readable; if the loss is meant, run `atlas build --allow-shrink`";
            return Err(Error::Refused {
                path: self.index.clone(),
                problem,
                help: help.to_owned(),
            });
        }
        let (then, now) = (before.documents, left.documents);
        let dropped = then.saturating_sub(now);
        let most = self.file.build.max_shrink;
        if dropped as f64 <= most * then as f64 {
            return Ok(());
        }
        let gone = &left.gone;
        let more = gone.len().saturating_sub(NAMED);
        let named = gone[..gone.len().min(NAMED)].join(", ");
        let gone = match (gone.len(), more) {
            (0, _) => String::new(),
            (_, 0) => format!("; gone: {named}"),
            _ => format!("; gone: {named} and {more} more"),
        };
        let problem = format!(
            "building it would drop {dropped} of its {then} documents, more than build.max_shrink \
             = {most} allows, and leave {now}{gone}"
        );
        let help = "if that is meant, run `atlas build --allow-shrink`".to_owned();
        Err(Error::Refused { path: self.index.clone(), problem, help })
    }
}
