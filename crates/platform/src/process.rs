//! Child processes that are ended with all their descendants: at a deadline, on cancellation, or when this process ends.
//!
//! This is the only module that starts programs. A run of a [`Program`] owns a process group with the child, its descendants and
//! a guard. The guard is a shell that reads from a pipe whose write end only this process has. However this process ends, the
//! pipe closes and the guard ends the group. A [`worker::Worker`] is a long-lived child that answers requests; [`sandbox`] drops
//! the privileges of a child before it reads untrusted input; [`confined`] runs commands that are not part of this program.

pub mod confined;
pub mod sandbox;
pub mod worker;

use std::collections::VecDeque;
use std::ffi::OsStr;
use std::fs;
use std::io::{self, Read, Write};
use std::os::unix::fs::MetadataExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{self, Receiver};
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process_group, waitid};

use contract::config;
use contract::{ErrorCode, Fault};

/// Bytes kept from the end of each output stream, where programs report why they failed.
const TAIL_BYTES: usize = 64 * 1024;
/// Time between SIGTERM and SIGKILL.
const GRACE: Duration = Duration::from_secs(3);
/// Time limit of reading a stream after the child ended: a process that left the group may keep it open.
const DRAIN: Duration = Duration::from_secs(1);
/// Time between two checks of a running child.
const POLL: Duration = Duration::from_millis(10);
/// The guard's script: waits until its input is closed, then ends its process group as dropping a [`ProcessGroup`] does: SIGTERM,
/// and SIGKILL three seconds later. `kill 0` signals the guard's own group, so it cannot hit another one.
const GUARD: &str = "trap '' TERM INT HUP; read -r line; kill -s TERM 0; sleep 3; kill -s KILL 0";

/// The exit status of a child, and the end of its output.
#[derive(Debug)]
pub struct ProgramOutput {
    /// The exit status.
    pub status: ExitStatus,
    /// The last 64 KiB of standard output.
    pub stdout: Vec<u8>,
    /// The last 64 KiB of standard error.
    pub stderr: Vec<u8>,
}

impl ProgramOutput {
    /// Returns the last `lines` lines of standard error, for the details of a fault.
    #[must_use]
    pub fn stderr_tail(&self, lines: usize) -> String {
        let text = String::from_utf8_lossy(&self.stderr);
        let all: Vec<&str> = text.lines().collect();
        all[all.len().saturating_sub(lines)..].join("\n")
    }
}

/// A program with its arguments, environment and input.
#[derive(Debug)]
pub struct Program {
    command: Command,
    input: Vec<u8>,
}

impl From<Command> for Program {
    fn from(command: Command) -> Self {
        Self { command, input: Vec::new() }
    }
}

impl Program {
    /// Creates a program by its path, or by its name on the `PATH`.
    #[must_use]
    pub fn new(program: impl AsRef<OsStr>) -> Self {
        Command::new(program).into()
    }

    /// Adds an argument.
    #[must_use]
    pub fn arg(mut self, argument: impl AsRef<OsStr>) -> Self {
        self.command.arg(argument);
        self
    }

    /// Adds arguments.
    #[must_use]
    pub fn args(mut self, arguments: impl IntoIterator<Item = impl AsRef<OsStr>>) -> Self {
        self.command.args(arguments);
        self
    }

    /// Sets an environment variable, in addition to the inherited ones.
    #[must_use]
    pub fn env(mut self, name: &str, value: impl AsRef<OsStr>) -> Self {
        self.command.env(name, value);
        self
    }

    /// Removes an environment variable.
    #[must_use]
    pub fn env_remove(mut self, name: &str) -> Self {
        self.command.env_remove(name);
        self
    }

    /// Inherits no environment variables: those of this process may contain passwords.
    #[must_use]
    pub fn env_clear(mut self) -> Self {
        self.command.env_clear();
        self
    }

    /// Sets the standard input; default: empty.
    #[must_use]
    pub fn input(mut self, input: impl Into<Vec<u8>>) -> Self {
        self.input = input.into();
        self
    }

    /// Returns the name of the program in messages.
    #[must_use]
    pub fn name(&self) -> String {
        self.command.get_program().to_string_lossy().into_owned()
    }

    /// Runs the program in a process group of its own and waits for it. Blocks; calls `cancelled` every 10 ms. After `timeout`,
    /// or when cancelled, sends SIGTERM to the group, and SIGKILL three seconds later. If this process ends first, the group
    /// ends too.
    ///
    /// A failed exit status is not an error here. A process that leaves the group (a daemon) is not ended.
    ///
    /// # Errors
    /// `TOOLCHAIN_MISSING` if the program does not exist, `TOOL_TIMEOUT`, `CANCELLED`, `INTERNAL` if the child cannot be started
    /// or waited for.
    pub fn run(self, timeout: Duration, cancelled: &dyn Fn() -> bool) -> Result<ProgramOutput, Fault> {
        let name = self.name();
        let Program { command, input } = self;
        let stdin = if input.is_empty() { Stdio::null() } else { Stdio::piped() };
        let mut group = ProcessGroup::start(command, stdin).map_err(|error| not_started(&name, error))?;
        write_in_background(group.child.stdin.take(), input);
        let stdout = read_tail(group.child.stdout.take());
        let stderr = read_tail(group.child.stderr.take());
        let deadline = Instant::now() + timeout;
        while !group.has_ended() {
            if cancelled() {
                return Err(Fault::new(ErrorCode::Cancelled, format!("`{name}` was cancelled.")));
            }
            if Instant::now() >= deadline {
                let seconds = timeout.as_secs_f64();
                return Err(Fault::new(
                    ErrorCode::ToolTimeout,
                    format!("`{name}` timed out after {seconds} s."),
                )
                .with_hint("Try again; if that fails too, check the network and the load of this machine."));
            }
            thread::sleep(POLL);
        }
        let (stdout, stderr) = (group.drain(&stdout), group.drain(&stderr));
        let status = group.reap().map_err(|error| {
            Fault::internal(format!("The exit status of `{name}` could not be read."), error)
        })?;
        Ok(ProgramOutput { status, stdout, stderr })
    }

    /// Runs the program in the foreground, as a pager: it prints on the terminal, and shares the process group of this process,
    /// so that keys and Ctrl-C reach it. Blocks until it ends, however long that takes. It need not read all of its input.
    ///
    /// # Errors
    /// Those of starting it and of waiting for it; a failed exit status is not an error.
    pub fn run_in_foreground(self) -> io::Result<ExitStatus> {
        let Program { mut command, input } = self;
        let mut child = command.stdin(Stdio::piped()).spawn()?;
        if let Some(mut stdin) = child.stdin.take() {
            // Fails if the program ends before it has read everything.
            let _ = stdin.write_all(&input);
        }
        child.wait()
    }
}

/// Returns the path to start `program` from: `/proc/self/exe` if `program` is the executable of this process, so that the same version
/// starts even if an upgrade replaces the file; else `program` itself.
#[must_use]
pub fn executable_path(program: &Path) -> PathBuf {
    let running = Path::new("/proc/self/exe");
    let identity = |path: &Path| fs::metadata(path).ok().map(|metadata| (metadata.dev(), metadata.ino()));
    match (identity(running), identity(program)) {
        (Some(own), Some(other)) if own == other => running.to_owned(),
        _ => program.to_owned(),
    }
}

/// Starts `program` detached: in a process group of its own, without input and output. It outlives this process and gets no
/// signals from its terminal.
///
/// # Errors
/// `TOOLCHAIN_MISSING` if the program does not exist; `INTERNAL` if it cannot be started.
pub fn start_detached(program: Program) -> Result<(), Fault> {
    let Program { mut command, .. } = program;
    let name = command.get_program().to_string_lossy().into_owned();
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).process_group(0);
    let mut child = command.spawn().map_err(|error| not_started(&name, error))?;
    // Reap the child if it ends before this process, so that no zombie is left.
    thread::spawn(move || child.wait());
    Ok(())
}

/// If set, ONNX Runtime neither creates a device id nor records hardware data.
const ORT_TELEMETRY_OFF: &str = "ORT_DISABLE_TELEMETRY";

/// Re-executes this program, once, with an environment variable that keeps ONNX Runtime from writing to the user's home.
///
/// The library writes while it is loaded, before its API can disable that, and a running process cannot safely change its
/// environment. So the process replaces itself by `exec`, with the same process id, arguments and streams. If `exec` fails, it
/// continues.
pub fn disable_ort_telemetry() {
    if config::is_env_set(ORT_TELEMETRY_OFF) {
        return;
    }
    if let Ok(program) = std::env::current_exe() {
        let mut arguments = std::env::args_os();
        let mut command = Command::new(program);
        if let Some(name) = arguments.next() {
            command.arg0(name);
        }
        // `exec` returns only if it failed.
        drop(command.args(arguments).env(ORT_TELEMETRY_OFF, "1").exec());
    }
}

fn not_started(name: &str, error: io::Error) -> Fault {
    if error.kind() == io::ErrorKind::NotFound {
        return Fault::new(ErrorCode::ToolchainMissing, format!("`{name}` is not installed."))
            .with_hint(format!("Install `{name}` and make sure that it is on the PATH."))
            .with_source(error);
    }
    Fault::internal(format!("`{name}` could not be started."), error)
}

/// A child and its process group; dropping it ends both.
///
/// The guard leads the group, or the child if there is no guard. The leader is reaped last: until then the kernel does not reuse
/// its process id, which is also the id of the group, so no signal can hit another process.
struct ProcessGroup {
    child: Child,
    guard: Option<Child>,
    reaped: bool,
}

impl ProcessGroup {
    fn start(mut command: Command, stdin: Stdio) -> io::Result<Self> {
        let guard = start_guard();
        let leader = guard.as_ref().map_or(0, |guard| Pid::from_child(guard).as_raw_nonzero().get());
        command.stdin(stdin).stdout(Stdio::piped()).stderr(Stdio::piped()).process_group(leader);
        match command.spawn() {
            Ok(child) => Ok(Self { child, guard, reaped: false }),
            Err(error) => {
                guard.into_iter().for_each(end_guard);
                Err(error)
            }
        }
    }

    fn signal(&self, signal: Signal) {
        let leader = self.guard.as_ref().unwrap_or(&self.child);
        // Fails only if the group has ended.
        let _ = kill_process_group(Pid::from_child(leader), signal);
    }

    /// Checks whether the child has ended; does not reap it.
    fn has_ended(&self) -> bool {
        let options = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT | WaitIdOptions::NOHANG;
        // An error means that the child no longer exists.
        !matches!(waitid(WaitId::Pid(Pid::from_child(&self.child)), options), Ok(None))
    }

    /// Waits for the end of a stream and returns its tail. Kills descendants that keep the stream open.
    fn drain(&self, stream: &Receiver<Vec<u8>>) -> Vec<u8> {
        stream.recv_timeout(DRAIN).unwrap_or_else(|_| {
            self.signal(Signal::KILL);
            stream.recv_timeout(DRAIN).unwrap_or_default()
        })
    }

    /// Kills the rest of the group, and reaps the child and its guard.
    fn reap(&mut self) -> io::Result<ExitStatus> {
        self.signal(Signal::KILL);
        self.reaped = true;
        let status = self.child.wait();
        self.guard.take().into_iter().for_each(end_guard);
        status
    }
}

/// Starts a guard as the leader of a new process group. `None` on a system without a shell: then the child leads the group, and
/// may outlive this process if this process is killed.
fn start_guard() -> Option<Child> {
    let mut shell = Command::new("/bin/sh");
    shell.args(["-c", GUARD]).current_dir("/").process_group(0);
    let started = shell.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null()).spawn();
    started.inspect_err(|error| tracing::debug!(%error, "a child process runs without a guard")).ok()
}

/// Ends a guard whose group has ended.
fn end_guard(mut guard: Child) {
    // Both fail only if the guard has ended.
    let _ = guard.kill();
    let _ = guard.wait();
}

/// Writes `input` on a thread, so that a child that reads slowly does not delay deadline and cancellation.
fn write_in_background(stdin: Option<impl Write + Send + 'static>, input: Vec<u8>) {
    if let Some(mut stdin) = stdin {
        // Ignore errors: a child need not read all of its input.
        thread::spawn(move || drop(stdin.write_all(&input)));
    }
}

impl Drop for ProcessGroup {
    fn drop(&mut self) {
        if self.reaped {
            return;
        }
        self.signal(Signal::TERM);
        let deadline = Instant::now() + GRACE;
        while !self.has_ended() && Instant::now() < deadline {
            thread::sleep(POLL);
        }
        let _ = self.reap();
    }
}

/// Reads `stream` to its end on a thread, so that the child never blocks on a full pipe. The receiver gets the last 64 KiB.
fn read_tail(stream: Option<impl Read + Send + 'static>) -> Receiver<Vec<u8>> {
    let (sender, receiver) = mpsc::channel();
    thread::spawn(move || {
        let mut kept = VecDeque::new();
        let mut block = [0; 8192];
        if let Some(mut stream) = stream {
            while let Ok(read @ 1..) = stream.read(&mut block) {
                kept.extend(&block[..read]);
                kept.drain(..kept.len().saturating_sub(TAIL_BYTES));
            }
        }
        // Fails if the receiver was dropped together with the child.
        let _ = sender.send(kept.into());
    });
    receiver
}

#[cfg(test)]
mod tests {
    use super::*;

    const LONG: Duration = Duration::from_secs(60);

    fn run(program: Program, limit: Duration, cancelled: &dyn Fn() -> bool) -> Result<ProgramOutput, Fault> {
        program.run(limit, cancelled)
    }

    fn shell(script: &str) -> Program {
        Program::new("sh").args(["-c", script])
    }

    fn is_running(pid: &str) -> bool {
        // `ps` shows Z for a process that has ended and was not reaped.
        let output = Command::new("ps").args(["-o", "stat=", "-p", pid.trim()]).output().unwrap();
        let state = String::from_utf8_lossy(&output.stdout).trim().to_owned();
        !state.is_empty() && !state.starts_with('Z')
    }

    #[test]
    fn keeps_the_end_of_a_long_output() {
        let output = run(shell("seq 1 100000; echo why >&2; exit 3"), LONG, &|| false).unwrap();
        assert_eq!(output.status.code(), Some(3));
        assert_eq!(output.stdout.len(), TAIL_BYTES);
        assert!(output.stdout.ends_with(b"99999\n100000\n"));
        assert_eq!(output.stderr_tail(1), "why");
    }

    #[test]
    fn a_missing_program_is_named() {
        let fault = run(Program::new("no-such-program-here"), LONG, &|| false).unwrap_err();
        assert_eq!(fault.code, ErrorCode::ToolchainMissing);
        assert!(fault.message.contains("no-such-program-here"));
    }

    #[test]
    fn ends_all_descendants_even_if_they_ignore_sigterm() {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("pid");
        let script =
            format!("trap '' TERM; sleep 600 & echo $! > {}.new; mv {0}.new {0}; wait", file.display());
        let written = || file.exists();
        let fault = run(shell(&script), LONG, &written).unwrap_err();
        assert_eq!(fault.code, ErrorCode::Cancelled);
        let pid = std::fs::read_to_string(&file).unwrap();
        let start = Instant::now();
        while is_running(&pid) {
            assert!(start.elapsed() < LONG, "the grandchild still runs");
            thread::sleep(POLL);
        }
    }

    #[test]
    fn input_is_written_to_its_end() {
        let text = "line\n".repeat(100_000);
        let output = run(shell("wc -l").input(text), LONG, &|| false).unwrap();
        assert_eq!(String::from_utf8_lossy(&output.stdout).trim(), "100000");
        let output = run(shell("wc -c"), LONG, &|| false).unwrap();
        assert_eq!(String::from_utf8_lossy(&output.stdout).trim(), "0", "empty by default");
    }

    #[test]
    fn a_program_in_the_foreground_may_end_before_it_reads_everything() {
        let text = "line\n".repeat(100_000);
        for (script, code) in [("exit 3", 3), ("read -r line; test \"$line\" = line", 0)] {
            let status = shell(script).input(text.as_str()).run_in_foreground().unwrap();
            assert_eq!(status.code(), Some(code), "{script}");
        }
        assert!(Program::new("no-such-program-here").run_in_foreground().is_err());
    }

    #[test]
    fn a_timeout_is_a_fault() {
        let fault = run(shell("exec sleep 600"), Duration::from_millis(50), &|| false).unwrap_err();
        assert_eq!(fault.code, ErrorCode::ToolTimeout);
    }

    #[test]
    fn does_not_wait_for_a_background_process_that_holds_the_output() {
        let output = run(shell("sleep 600 & echo $!"), LONG, &|| false).unwrap();
        assert!(output.status.success());
        let pid = String::from_utf8(output.stdout).unwrap();
        let start = Instant::now();
        while is_running(&pid) {
            assert!(start.elapsed() < LONG, "the background process still runs");
            thread::sleep(POLL);
        }
    }
}
