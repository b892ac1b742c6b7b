//! Which files of a generation are not as they were written.

use std::path::{Path, PathBuf};

use crate::access::store::ACCESS_KIND;
use crate::error::{Error, Result};
use crate::format::{Generation, MappedFile, Part, PartEntry, checksum};
use crate::lexical::LENGTHS_KIND;
use crate::passage::store::STORE_KIND;
use crate::vectors::store::{CODES_KIND, GRAPH_KIND, VECTORS_KIND};

/// A file that is not as it was written.
#[derive(Debug)]
pub struct Damage {
    /// The file.
    pub path: PathBuf,
    /// What is wrong with it.
    pub fault: Error,
}

/// Reads every byte of every file of `generation` on its own, and gives those that are damaged, whether
/// the index as a whole can be opened or not. What the files mean together is not looked at.
pub fn damaged(generation: &Generation) -> Vec<Damage> {
    let m = &generation.manifest;
    let mut found = Vec::new();
    let mut look = |path: PathBuf, checked: Result<()>| {
        if let Err(fault) = checked {
            found.push(Damage { path, fault });
        }
    };
    for (at, layer) in m.layers.iter().enumerate() {
        let folder = generation.folder.join(&layer.folder);
        let mut parts: Vec<(&PartEntry, [u8; 4])> = vec![
            (&layer.store, STORE_KIND),
            (&layer.lengths, LENGTHS_KIND),
            (&layer.vectors, VECTORS_KIND),
            (&layer.codes, CODES_KIND),
            (&layer.access, ACCESS_KIND),
        ];
        // The graph is over the base and lies with it.
        parts.extend(m.graph.iter().filter(|_| at == 0).map(|graph| (&graph.part, GRAPH_KIND)));
        for (part, kind) in parts {
            let checked = Part::open(&folder, part, kind).and_then(|part| part.verify());
            look(folder.join(&part.file), checked);
        }
        for file in &layer.lexical {
            let path = folder.join(&file.file);
            let checked = whole(&path, &file.checksum);
            look(path, checked);
        }
    }
    found
}

fn whole(path: &Path, sum: &str) -> Result<()> {
    if format!("{:016x}", checksum(&MappedFile::open(path)?)) == sum {
        return Ok(());
    }
    Err(Error::damaged(path, "it does not match its checksum in the manifest"))
}
