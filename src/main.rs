//! The `pairofcleats` program: parse, run, exit code.

use std::ffi::OsString;
use std::process::ExitCode;

fn main() -> ExitCode {
    let arguments: Vec<OsString> = std::env::args_os().skip(1).collect();
    pairofcleats::surfaces::cli::run(arguments)
}
