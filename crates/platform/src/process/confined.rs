//! Runs a command of the operator over untrusted files: without network, with limits, and with no file to write but its own.
//!
//! Three processes are involved. The server starts this program in a hidden mode, the supervisor ([`supervisor`]), which switches to an
//! unprivileged user if it is root and enters namespaces of its own. Its child gives up every permission that the command does not need
//! ([`restrictions`]) and starts the command. If possible, the child is the first process of a PID namespace, so that the kernel ends all
//! processes left in it; otherwise the supervisor adopts all descendants and ends them.
//!
//! Protections are not assumed to work: the child reports the ones that it has, and starts nothing if a required one is missing. Only Linux
//! has them.

#[cfg(target_os = "linux")]
mod restrictions;
#[cfg(target_os = "linux")]
mod supervisor;

#[cfg(all(test, target_os = "linux"))]
mod tests;

use std::ffi::OsString;
use std::fmt;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use serde::{Deserialize, Serialize};

#[cfg(target_os = "linux")]
use restrictions::available;
#[cfg(target_os = "linux")]
use supervisor::run_mode;

use super::Program;
use contract::{ErrorCode, Fault, echo};

/// The folders in which a program is looked up that is given by its name.
pub const SEARCH_PATH: &str = "/usr/local/bin:/usr/bin:/bin";
/// CPU time that each process of a command may use, in seconds.
pub const CPU_SECONDS_MAX: u64 = 120;
/// Largest file that a command may write.
pub const FILE_BYTES_MAX: u64 = 256 << 20;
/// Maximum number of processes and threads of a command at a time.
pub const PROCESSES_MAX: u64 = 64;
/// Maximum number of files that a process of a command has open.
pub const OPEN_FILES_MAX: u64 = 256;
/// Maximum number of bytes and entries in the folders that a command may write. The kernel has no limit for these, so they are counted
/// while it runs.
pub const WRITTEN_BYTES_MAX: u64 = 2 << 30;
/// See [`WRITTEN_BYTES_MAX`].
pub const WRITTEN_ENTRIES_MAX: usize = 200_000;

/// Time that the supervisor has beyond that of the command.
const SUPERVISOR_TIME: Duration = Duration::from_secs(15);
/// The signal of a process that used up its CPU time, and of one whose file is too large, as Linux numbers them.
const SIGXCPU: i32 = 24;
const SIGXFSZ: i32 = 25;
/// The number that shells add to the signal that ended their child.
const SHELL_SIGNALS: i32 = 128;

/// A protection against a command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Protection {
    /// Limits of memory, time, processes and files.
    Limits,
    /// It can read only listed folders, and write only its own.
    Landlock,
    /// It cannot create a socket that reaches another process.
    NoNetwork,
}

impl Protection {
    /// All.
    pub const ALL: [Self; 3] = [Self::Limits, Self::Landlock, Self::NoNetwork];

    /// Returns the name in settings and reports.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Limits => "limits",
            Self::Landlock => "landlock",
            Self::NoNetwork => "no_network",
        }
    }
}

impl fmt::Display for Protection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// Returns the protections that this system can give. They are checked again when a command starts.
#[must_use]
pub fn protections() -> Vec<Protection> {
    available()
}

#[cfg(not(target_os = "linux"))]
fn available() -> Vec<Protection> {
    Vec::new()
}

/// Returns the names in `required` that are not among `given`. An unknown name is missing.
#[must_use]
pub fn missing(required: &[String], given: &[Protection]) -> Vec<String> {
    let is_given = |name: &String| given.iter().any(|protection| protection.as_str() == name);
    required.iter().filter(|name| !is_given(name)).cloned().collect()
}

/// A command and its permissions.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConfinedCommand {
    /// The program, by its absolute path or by its name on [`SEARCH_PATH`], and its arguments.
    pub argv: Vec<String>,
    /// The folder that it can read, and in which it runs. No file in it can be started as a program by itself.
    pub folder: PathBuf,
    /// A folder in it, or itself, that it can write.
    pub output: Option<PathBuf>,
    /// Its folder for temporary files, which is also its home.
    pub temporary: PathBuf,
    /// The longest time that it may take.
    pub timeout: Duration,
    /// The address space of each of its processes.
    pub memory_bytes_max: u64,
    /// The protections without which it does not run.
    pub require: Vec<String>,
}

/// The way in which a command ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Ending {
    /// With this exit status.
    Exited(i32),
    /// By this signal.
    Signalled(i32),
    /// It took too long and was ended.
    TimedOut,
    /// It wrote more than it may and was ended.
    WroteTooMuch,
    /// It could not be started, for this reason.
    NotStarted(String),
    /// It was not started, because these required protections are missing.
    Unprotected(Vec<String>),
    /// Unknown, because the supervisor was killed.
    Lost,
}

/// The result of a command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConfinedOutput {
    /// The way in which it ended.
    pub ending: Ending,
    /// The last 64 KiB of its output.
    pub output: Vec<u8>,
}

impl ConfinedOutput {
    /// Returns the limit that ended the command, as far as its exit status and its output show.
    #[must_use]
    pub fn limit(&self) -> Option<&'static str> {
        let by_signal = |signal: i32| {
            matches!(self.ending, Ending::Signalled(number) if number == signal)
                || matches!(self.ending, Ending::Exited(status) if status == SHELL_SIGNALS + signal)
        };
        let text = String::from_utf8_lossy(&self.output);
        let says = |words: &[&str]| {
            !matches!(self.ending, Ending::Exited(0)) && words.iter().any(|word| text.contains(word))
        };
        match &self.ending {
            Ending::TimedOut => Some("time"),
            Ending::WroteTooMuch => Some("bytes written"),
            _ if by_signal(SIGXCPU) => Some("CPU time"),
            _ if by_signal(SIGXFSZ) || says(&["File too large"]) => Some("bytes of one file"),
            _ if says(&["Cannot allocate memory", "MemoryError", "out of memory", "Out of memory"]) => {
                Some("memory")
            }
            _ if says(&["Cannot fork", "Resource temporarily unavailable"]) => Some("processes"),
            _ => None,
        }
    }
}

/// The specification that the processes of a command receive.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct Spec {
    argv: Vec<String>,
    folder: PathBuf,
    writable: Vec<PathBuf>,
    temporary: PathBuf,
    timeout_ms: u64,
    memory_bytes_max: u64,
    require: Vec<String>,
    /// The user and group to become, if the supervisor is root.
    user: Option<u32>,
    processes_max: u64,
}

impl ConfinedCommand {
    /// Runs the command and waits until it and all its descendants have ended. Blocks; calls `cancelled` every 10 ms. `program` is the
    /// executable of this program.
    ///
    /// After its time, or when cancelled, all its processes get SIGTERM, and SIGKILL within three seconds.
    ///
    /// # Errors
    /// `TOOLCHAIN_MISSING` if the command does not exist; `CANCELLED`; `INTERNAL` if the supervisor cannot be started.
    pub fn run(&self, program: &Path, cancelled: &dyn Fn() -> bool) -> Result<ConfinedOutput, Fault> {
        if !cfg!(target_os = "linux") {
            let missing = Protection::ALL.iter().map(ToString::to_string).collect();
            return Ok(ConfinedOutput { ending: Ending::Unprotected(missing), output: Vec::new() });
        }
        let spec = serde_json::to_vec(&self.spec()?)
            .map_err(|error| Fault::internal("A command could not be written for its supervisor.", error))?;
        let supervisor = Program::new(program).arg(SUPERVISOR_MODE).env_clear().input(spec);
        let finished = supervisor.run(self.timeout.saturating_add(SUPERVISOR_TIME), cancelled);
        match finished {
            Ok(output) => Ok(ConfinedOutput {
                ending: last_ending(&output.stdout).unwrap_or(Ending::Lost),
                output: output.stderr,
            }),
            Err(fault) if fault.code == ErrorCode::ToolTimeout => {
                Ok(ConfinedOutput { ending: Ending::TimedOut, output: Vec::new() })
            }
            Err(fault) => Err(fault),
        }
    }

    fn spec(&self) -> Result<Spec, Fault> {
        let (name, arguments) = self
            .argv
            .split_first()
            .ok_or_else(|| Fault::internal("A command has no program.", "its argv is empty"))?;
        let program = find_program(name).ok_or_else(|| {
            let message = format!("`{}` is not installed.", echo(name));
            let hint = format!("The operator installs it below {SEARCH_PATH}, or names it by its path.");
            Fault::new(ErrorCode::ToolchainMissing, message).with_hint(hint)
        })?;
        let program = program.to_string_lossy().into_owned();
        let argv = std::iter::once(program).chain(arguments.iter().cloned()).collect();
        Ok(Spec {
            argv,
            folder: self.folder.clone(),
            writable: self.output.iter().cloned().chain([self.temporary.clone()]).collect(),
            temporary: self.temporary.clone(),
            timeout_ms: u64::try_from(self.timeout.as_millis()).unwrap_or(u64::MAX),
            memory_bytes_max: self.memory_bytes_max,
            require: self.require.clone(),
            user: None,
            processes_max: PROCESSES_MAX,
        })
    }
}

/// Finds the file of a program: an absolute path, or the first of this name on [`SEARCH_PATH`].
fn find_program(name: &str) -> Option<PathBuf> {
    let is_program = |path: &PathBuf| {
        fs::metadata(path).is_ok_and(|file| file.is_file() && file.permissions().mode() & 0o111 != 0)
    };
    if Path::new(name).is_absolute() {
        return Some(PathBuf::from(name)).filter(is_program);
    }
    if name.is_empty() || name.contains('/') {
        return None;
    }
    SEARCH_PATH.split(':').map(|folder| Path::new(folder).join(name)).find(is_program)
}

/// Returns the last report. A command that manages to write reports itself gains nothing: it can choose how it ends anyway.
fn last_ending(reports: &[u8]) -> Option<Ending> {
    let text = std::str::from_utf8(reports).ok()?;
    text.lines().rev().find_map(|line| serde_json::from_str(line).ok())
}

/// The hidden mode of the supervisor.
const SUPERVISOR_MODE: &str = "supervise-command";

/// Runs a hidden mode if the arguments select one; for `main`, before it starts a thread.
#[must_use]
pub fn hidden_mode(arguments: &[OsString]) -> Option<ExitCode> {
    match arguments {
        [mode] => run_mode(mode),
        _ => None,
    }
}

#[cfg(not(target_os = "linux"))]
fn run_mode(_: &std::ffi::OsStr) -> Option<ExitCode> {
    None
}
