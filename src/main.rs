//! The `pairofcleats` program: hidden modes of the embedded Postgres first, then the command line.

use std::ffi::OsString;
use std::process::ExitCode;

use pairofcleats::postgres::embedded;
use pairofcleats::process;
use pairofcleats::surfaces::cli;

fn main() -> ExitCode {
    let arguments: Vec<OsString> = std::env::args_os().skip(1).collect();
    embedded::hidden_mode(&arguments).unwrap_or_else(|| {
        process::silence_runtime();
        cli::run(arguments)
    })
}
