//! A child that gets SIGINT when its parent dies, and may run as another user.
//!
//! The signal has to be asked for in the child itself, before it becomes the program: that is what the hidden mode
//! `postgres-server <parent pid> <program> <arguments>` does. Linux only; elsewhere the next start ends what was left.

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
    // A server must not depend on who happened to start it.
    command.env_clear().current_dir("/");
    command.arg(MODE).arg(std::process::id().to_string()).arg(program);
    account.apply(&mut command);
    Ok(command)
}

#[cfg(target_os = "linux")]
#[expect(clippy::unnecessary_wraps, reason = "other platforms have to look for the program")]
fn this_program() -> io::Result<std::path::PathBuf> {
    // Not a path but the file itself: it works where the account cannot reach the program, and after an upgrade.
    Ok("/proc/self/exe".into())
}

#[cfg(not(target_os = "linux"))]
fn this_program() -> io::Result<std::path::PathBuf> {
    std::env::current_exe()
}

/// Becomes the program; returns only when that fails.
pub(super) fn exec(arguments: &[OsString]) -> ExitCode {
    let [parent, program, rest @ ..] = arguments else { return ExitCode::FAILURE };
    let tied = tie(parent);
    let error = match tied {
        Ok(true) => Command::new(program).args(rest).exec(),
        // The parent died before the signal was asked for.
        Ok(false) => return ExitCode::FAILURE,
        Err(error) => error,
    };
    let _ = writeln!(io::stderr(), "cannot run {}: {error}", Path::new(program).display());
    ExitCode::FAILURE
}

/// Asks for the signal; `false` when `parent` is the parent no more.
fn tie(parent: &OsString) -> io::Result<bool> {
    #[cfg(target_os = "linux")]
    rustix::process::set_parent_process_death_signal(Some(rustix::process::Signal::INT))?;
    let actual = rustix::process::getppid().map(|pid| pid.as_raw_nonzero().to_string());
    Ok(actual.as_deref() == parent.to_str())
}
