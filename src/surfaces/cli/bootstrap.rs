//! `bootstrap`: install the runtime files.

use std::path::PathBuf;

use super::install::install;
use super::session::{Exit, Ran, Session};

/// Arguments of `bootstrap`.
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// Take the files from this folder instead of the network
    #[arg(long, value_name = "DIR")]
    from: Option<PathBuf>,
}

/// Runs the command.
pub(super) async fn run(session: &Session, args: Args) -> Ran {
    install(session, args.from).await?;
    Ok(Exit::Ok)
}
