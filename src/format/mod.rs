//! Bytes on disk: what every file of an index looks like, how it is checked, and how a new
//! generation becomes the current one.
//!
//! `index/FORMAT.md` describes the same bytes in prose; the constants stand here and nowhere else.
//! A *part* is one file of ours: header, sections, section table, footer ([`PartWriter`],
//! [`Part`]). A *generation* is a folder of parts under a [`Manifest`], and [`Store`] is the folder
//! of generations with the one name that says which is current.

mod append;
pub(crate) mod disk;
#[cfg(debug_assertions)]
pub mod failpoint;
mod generations;
mod layout;
mod manifest;
mod map;
mod pace;
mod part;
mod store;
mod write;

pub use append::append_line;
pub(crate) use generations::link_file;
pub use generations::{Collected, Kept, Listing};
pub use layout::{Layout, Run};
pub use manifest::{FileEntry, GraphState, Layer, Manifest, PartEntry, SourceFile};
pub use map::MappedFile;
pub use pace::Pace;
pub use part::{Part, Section};
pub(crate) use store::sync_folder;
pub use store::{BuildLock, Generation, KEPT_BEFORE_CURRENT, Store};
pub use write::PartWriter;

/// The version of everything on disk. A reader refuses another by name.
pub const FORMAT_VERSION: u32 = 2;

/// First eight bytes of every part.
pub const MAGIC: [u8; 8] = *b"ATLASPRT";

/// Last eight bytes of every part: a file without them was cut short.
pub const MAGIC_END: [u8; 8] = *b"TRPSALTA";

/// Bytes of the header and of the footer.
pub const FRAME_BYTES: usize = 64;

/// Bytes of one row of the section table.
pub const TABLE_ROW_BYTES: usize = 32;

/// Sections start at multiples of this, a cache line, so that rows can be read as numbers in place.
pub const ALIGN_BYTES: usize = 64;

/// Each run of this many bytes of a section has a checksum of its own, checked on first touch.
pub const BLOCK_BYTES: usize = 64 * 1024;

/// File name of a generation's manifest.
pub const MANIFEST_FILE: &str = "manifest.json";

/// File that names the current generation and its manifest's hash.
pub const CURRENT_FILE: &str = "CURRENT";

/// File whose lock a builder holds.
pub const LOCK_FILE: &str = "BUILD.lock";

/// The checksum of a run of bytes: XXH3, 64 bits.
pub fn checksum(bytes: &[u8]) -> u64 {
    xxhash_rust::xxh3::xxh3_64(bytes)
}

/// [`checksum`], at some pace.
pub fn checksum_of(bytes: &[u8], pace: &Pace) -> u64 {
    let mut sum = xxhash_rust::xxh3::Xxh3::new();
    for block in bytes.chunks(BLOCK_BYTES) {
        sum.update(block);
        pace.spend(block.len());
    }
    sum.digest()
}
