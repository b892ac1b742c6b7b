//! The command line. It uses the library as any caller would.

mod cli;

fn main() -> std::process::ExitCode {
    cli::run()
}
