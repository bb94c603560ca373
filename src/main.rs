//! The `pairofcleats` program: hidden modes of the embedded Postgres, of index runs, of pages and of the commands of sites first, then
//! the command line.

mod modules;

use std::ffi::OsString;
use std::process::ExitCode;

use engine::highlighting;
use engine::indexing::{extractor, historian, parser};
use platform::process::{self, confined};
use store::postgres::embedded;
use surfaces::cli;

fn main() -> ExitCode {
    let arguments: Vec<OsString> = std::env::args_os().skip(1).collect();
    let hidden = embedded::hidden_mode(&arguments)
        .or_else(|| parser::hidden_mode(&arguments))
        .or_else(|| extractor::hidden_mode(&arguments))
        .or_else(|| historian::hidden_mode(&arguments))
        .or_else(|| highlighting::hidden_mode(&arguments))
        .or_else(|| confined::hidden_mode(&arguments));
    hidden.unwrap_or_else(|| {
        process::disable_ort_telemetry();
        cli::run(arguments, &modules::MODULES)
    })
}
