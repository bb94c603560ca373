//! A child process that gets SIGINT when its parent dies, and may run as another user.
//!
//! The child itself has to request the signal before it executes the program, which is what the hidden mode
//! `postgres-server <parent pid> <program> <arguments>` does. Linux only; elsewhere the next start terminates orphans.

use std::ffi::OsString;
use std::io::{self, Write};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, ExitCode};

use super::account::Account;

pub(super) const MODE: &str = "postgres-server";

/// A command that runs `program` as `account`, tied to the *thread* that spawns it: call it on one that lives as long
/// as the child should.
pub(super) fn command(account: &Account, program: &Path) -> io::Result<Command> {
    let mut command = Command::new(this_program()?);
    // The server must not depend on the environment of the process that happened to start it.
    command.env_clear().current_dir("/");
    command.arg(MODE).arg(std::process::id().to_string()).arg(program);
    account.apply_to(&mut command);
    Ok(command)
}

#[cfg(target_os = "linux")]
#[expect(clippy::unnecessary_wraps, reason = "other platforms have to look up the path")]
fn this_program() -> io::Result<std::path::PathBuf> {
    // Refers to the file itself and not to its path: works if the account cannot reach the path, and after an upgrade.
    Ok("/proc/self/exe".into())
}

#[cfg(not(target_os = "linux"))]
fn this_program() -> io::Result<std::path::PathBuf> {
    std::env::current_exe()
}

/// Executes the program in place of this process; returns only if that fails.
pub(super) fn exec(arguments: &[OsString]) -> ExitCode {
    let [parent, program, rest @ ..] = arguments else { return ExitCode::FAILURE };
    let error = match request_death_signal(parent) {
        Ok(true) => Command::new(program).args(rest).exec(),
        // The parent died before the signal was requested.
        Ok(false) => return ExitCode::FAILURE,
        Err(error) => error,
    };
    let _ = writeln!(io::stderr(), "cannot run {}: {error}", Path::new(program).display());
    ExitCode::FAILURE
}

/// Requests SIGINT for the death of the parent; `false` if `parent` is not the parent any more.
fn request_death_signal(parent: &OsString) -> io::Result<bool> {
    #[cfg(target_os = "linux")]
    rustix::process::set_parent_process_death_signal(Some(rustix::process::Signal::INT))?;
    let actual = rustix::process::getppid().map(|pid| pid.as_raw_nonzero().to_string());
    Ok(actual.as_deref() == parent.to_str())
}
