//! Builds that are killed, and builds that the disk refuses.
//!
//! Each runs `atlas build` as a child. It is killed at a random moment, or at one of its boundaries (see
//! `src/format/failpoint.rs`), or gets an error of the operating system there. Afterwards the old or the
//! new generation must be served whole, `verify` must pass, the next build must succeed, and no file
//! may be left behind.
//!
//! `tools/kill-run` runs this with many more kills; here it is a sample. `ATLAS_SEED=N` draws another.
#![expect(
    clippy::unwrap_used,
    clippy::panic,
    clippy::print_stdout,
    reason = "helpers of tests, which clippy takes for production code"
)]

#[path = "crash/fault.rs"]
mod fault;
#[path = "crash/kill.rs"]
mod kill;
#[path = "crash/scene.rs"]
mod scene;
#[path = "crash/subject.rs"]
mod subject;
#[path = "crash/sync.rs"]
mod sync;
