//! A private Postgres server that all processes of one installation share.
//!
//! Its state is kept in four file locks (`flock`), which the kernel releases when a process dies for whatever reason:
//!
//! | file | held by | held means |
//! |---|---|---|
//! | `start.lock` | a process inside [`ensure_running`] | it checks for a supervisor, or starts one |
//! | `users.lock` (shared) | every [`EmbeddedServer`] | a process uses the cluster |
//! | `supervisor.lock` | the supervisor | a supervisor is running |
//! | `server.lock` | every process of the Postgres server, as its stdin | the data directory is in use |
//!
//! The supervisor is this same program in a hidden mode. It prepares the cluster, starts Postgres as its child, restarts
//! it when it crashes, and stops it once no process has held `users.lock` for a while. If the supervisor dies, the kernel
//! sends SIGINT to Postgres, so no process is left behind whichever one is killed.

mod options;
mod shared_server;

mod account;
mod install_copy;
mod place;
mod relocation;

mod idleness;
mod limits;
mod supervisor;

mod access;
mod creation;
mod orphans;
mod postmaster;
mod server_process;
mod settings;
mod sockets;
mod tied_child;

mod failure;
mod locks;
mod log_file;
mod spare;

use std::ffi::OsString;
use std::process::ExitCode;

pub use options::EmbeddedOptions;
pub use shared_server::{EmbeddedServer, ensure_running};

/// Runs the hidden mode that the first of `arguments` (without the program's name) names; `None` if it names none.
///
/// `main` calls this before anything else: these modes read neither configuration nor environment.
#[must_use]
pub fn hidden_mode(arguments: &[OsString]) -> Option<ExitCode> {
    let (mode, rest) = arguments.split_first()?;
    match mode.to_str()? {
        supervisor::MODE => Some(supervisor::run(rest)),
        tied_child::MODE => Some(tied_child::exec(rest)),
        _ => None,
    }
}
