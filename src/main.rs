//! The command line. It uses the library as any caller would.

mod cli;

#[cfg(not(debug_assertions))]
fn main() -> std::process::ExitCode {
    cli::run()
}

/// With debug assertions a fault can be set at a change to the disk: see [`atlas::format::failpoint`].
#[cfg(debug_assertions)]
#[expect(clippy::print_stderr, reason = "for tests, which read it")]
fn main() -> std::process::ExitCode {
    use atlas::format::failpoint::{Failpoint, passed};
    let Some(text) = std::env::var_os("ATLAS_FAILPOINT") else { return cli::run() };
    match Failpoint::parse(&text.to_string_lossy()) {
        Ok(failpoint) => failpoint.set(),
        Err(fault) => {
            eprintln!("error: {fault}");
            return std::process::ExitCode::from(4);
        }
    }
    let code = cli::run();
    for line in passed() {
        eprintln!("boundary {line}");
    }
    code
}
