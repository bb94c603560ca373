//! The program: hidden modes first, then the command line.
use std::process::ExitCode;

fn main() -> ExitCode {
    let arguments: Vec<_> = std::env::args_os().skip(1).collect();
    pairofcleats::postgres::embedded::hidden_mode(&arguments).unwrap_or(ExitCode::SUCCESS)
}
