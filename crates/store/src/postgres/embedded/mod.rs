//! A private Postgres that every process of one installation shares.
//!
//! Four locks (`flock`, so the kernel releases them when a process dies, however it dies) say all there is to know:
//!
//! | file | held by | held means |
//! |---|---|---|
//! | `start.lock` | a process inside [`ensure_running`] | it looks for a supervisor, or starts one |
//! | `users.lock` (shared) | every [`EmbeddedServer`] | somebody uses the cluster |
//! | `supervisor.lock` | the supervisor | there is one |
//! | `server.lock` | every process of the Postgres server, as its stdin | the data directory is in use |
//!
//! The supervisor is this same program in a hidden mode. It prepares the cluster, starts Postgres as its child, restarts
//! it when it crashes, and stops it once it could hold `users.lock` alone for a while. Postgres gets SIGINT from the
//! kernel when the supervisor dies, so nothing is left behind whichever process is killed.

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

pub use shared_server::{EmbeddedOptions, EmbeddedServer, ensure_running};

/// Runs the hidden mode that `arguments` (without the program's name) ask for; `None` when they ask for none.
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
