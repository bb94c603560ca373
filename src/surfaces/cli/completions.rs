//! `completions`: completion scripts for shells.

use clap::CommandFactory;
use clap_complete::Shell;

use super::arguments::Cli;
use super::output::Output;
use super::session::Exit;

/// Arguments of `completions`.
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// The shell
    shell: Shell,
}

/// Runs the command.
pub(super) fn run(args: &Args) -> Exit {
    let mut script = Vec::new();
    // The grammar omits the program's name from parsing only; in a shell it is there.
    let mut grammar = Cli::command().no_binary_name(false);
    clap_complete::generate(args.shell, &mut grammar, "pairofcleats", &mut script);
    Output { json: false, quiet: false }.text(&String::from_utf8_lossy(&script));
    Exit::Ok
}
