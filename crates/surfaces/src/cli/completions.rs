//! `completions`: prints completion scripts for shells.

use clap::Command;
use clap_complete::Shell;

use super::output::Output;
use super::session::Exit;

/// Arguments of `completions`.
#[derive(Debug, clap::Args)]
pub(super) struct CompletionsArgs {
    /// Shell to print the script for
    shell: Shell,
}

/// Entry point of `completions`; `grammar` is the whole command line.
pub(super) fn print_completions(args: &CompletionsArgs, grammar: Command) -> Exit {
    let mut script = Vec::new();
    // The program's name is not parsed here, but in a shell it is part of the command line.
    let mut grammar = grammar.no_binary_name(false);
    clap_complete::generate(args.shell, &mut grammar, "pairofcleats", &mut script);
    Output { json: false, quiet: false }.print_text(&String::from_utf8_lossy(&script));
    Exit::Ok
}
