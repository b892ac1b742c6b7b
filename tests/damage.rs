//! An index that is damaged: every byte flipped, files cut short, missing, exchanged, of another format, and
//! forged with checksums that fit.
//!
//! Opening, searching or verifying must give a named error, or the damage must be harmless: the answers
//! are those of the sound index. Never a panic, another answer, an endless loop or a killed process.
//! Everything runs in this process, so a killed process is a failed run; a sample runs as a child too.
//!
//! `tools/corrupt-run` goes through all bytes and all lengths, `tools/fuzz-index` through as many forged
//! indexes as one likes; here it is a sample. `ATLAS_SEED=N` draws another.
#![expect(
    clippy::unwrap_used,
    clippy::panic,
    clippy::print_stdout,
    reason = "helpers of tests, which clippy takes for production code"
)]

#[path = "damage/files.rs"]
mod files;
#[path = "damage/forged.rs"]
mod forged;
#[path = "damage/patient.rs"]
mod patient;
#[path = "crash/subject.rs"]
mod subject;
