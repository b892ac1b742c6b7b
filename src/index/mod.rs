//! An index: building one from a corpus, opening one, checking one.
//!
//! A build writes a whole generation beside the current one, syncs every file, and becomes current
//! by one rename. An open [`Index`] is immutable and may be shared by threads.

mod build;
mod columns;
mod damage;
mod digest;
mod filter;
mod layer;
mod look;
mod open;
mod rollback;
mod settings;
mod update;

pub use build::{
    BuildReport, Changes, How, Left, OPEN as OPEN_POLICY, Options, Progress, Quiet, build,
};
pub use damage::{Damage, damaged};
pub use filter::Filter;
pub use open::{Check, Index};
pub use rollback::{RolledBack, rollback};
pub use settings::{GraphSettings, LayerSettings, Memory, Settings};
pub use update::{build_folder, update};
