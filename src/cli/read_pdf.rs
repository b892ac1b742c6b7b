//! `atlas __read-pdf`, which `atlas` starts once a PDF; nobody types it.

use std::io;
use std::path::PathBuf;

use atlas::corpus::{PdfHelper, serve_pdfs};
use atlas::error::{Error, Result};
use clap::Args;

use super::Exit;

/// The name of the command.
pub const NAME: &str = "__read-pdf";

/// Arguments of `__read-pdf`.
#[derive(Debug, Args)]
pub struct ReadPdfArgs {
    /// Memory in bytes
    memory_bytes: u64,
    /// Processor time in seconds
    seconds: u64,
}

/// Reads the PDF on standard input and writes what is in it to standard output.
pub fn run(args: &ReadPdfArgs) -> Result<Exit> {
    let (mut input, mut output) = (io::stdin().lock(), io::stdout().lock());
    serve_pdfs(args.memory_bytes, args.seconds, &mut input, &mut output)
        .map_err(|fault| Error::io("reading a PDF from", PathBuf::from("standard input"), fault))?;
    Ok(Exit::Done)
}

/// This program as the reader of PDFs; `None` when it cannot find itself.
pub fn helper() -> Option<PdfHelper> {
    let program = std::env::current_exe().ok()?;
    Some(PdfHelper { program, arguments: vec![NAME.into()] })
}
