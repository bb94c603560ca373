//! Child processes that end with everything they started: at a deadline, on request, or with this process.
//!
//! This is the one place that starts programs. A [`Program`] can only be run, and a run owns a process group: the child,
//! what it starts, and a guard. The guard is a small shell that waits for the end of its input, a pipe that only this
//! process holds; when this process is gone, however it ended, the guard ends the group. A [`worker::Worker`] is a child that
//! stays and answers requests; what a child gives up before it touches hostile input, [`sandbox`] says.

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

/// What is kept of each stream: its end, where programs say why they failed.
const TAIL_BYTES: usize = 64 * 1024;
/// How long a child may take to end after SIGTERM.
const GRACE: Duration = Duration::from_secs(3);
/// How long a stream may stay open after its child ended: a process that left the group may hold it.
const DRAIN: Duration = Duration::from_secs(1);
const POLL: Duration = Duration::from_millis(10);
/// Waits until the other end of its input is closed, then ends its process group as [`Group`] would: SIGTERM, three
/// seconds, SIGKILL. A process group has the number of its leader, the guard, so that it is never another's.
const GUARD: &str = "trap '' TERM INT HUP; read -r line; kill -s TERM 0; sleep 3; kill -s KILL 0";

/// How a child ended, and the end of what it wrote.
#[derive(Debug)]
pub struct Output {
    /// Its exit status.
    pub status: ExitStatus,
    /// The last 64 KiB of its standard output.
    pub stdout: Vec<u8>,
    /// The last 64 KiB of its standard error.
    pub stderr: Vec<u8>,
}

impl Output {
    /// The last `lines` lines of standard error, for the details of a fault.
    #[must_use]
    pub fn stderr_tail(&self, lines: usize) -> String {
        let text = String::from_utf8_lossy(&self.stderr);
        let all: Vec<&str> = text.lines().collect();
        all[all.len().saturating_sub(lines)..].join("\n")
    }
}

/// A program with its arguments, which can only be started together with what ends it.
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
    /// A program by its path, or by its name on the `PATH`.
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

    /// Sets a variable of its environment, which else is this process's own.
    #[must_use]
    pub fn env(mut self, name: &str, value: impl AsRef<OsStr>) -> Self {
        self.command.env(name, value);
        self
    }

    /// Takes a variable out of its environment.
    #[must_use]
    pub fn env_remove(mut self, name: &str) -> Self {
        self.command.env_remove(name);
        self
    }

    /// Leaves it no variable of this process's environment, which may hold passwords.
    #[must_use]
    pub fn env_clear(mut self) -> Self {
        self.command.env_clear();
        self
    }

    /// What it reads from its standard input; nothing unless this is called.
    #[must_use]
    pub fn input(mut self, input: impl Into<Vec<u8>>) -> Self {
        self.input = input.into();
        self
    }

    /// What it is called in messages.
    #[must_use]
    pub fn name(&self) -> String {
        self.command.get_program().to_string_lossy().into_owned()
    }

    /// Runs the program in a process group of its own and waits for it. Blocks; `cancelled` is asked every few
    /// milliseconds. After `timeout`, or when cancelled, the whole group gets SIGTERM and three seconds later SIGKILL.
    /// When this process ends first, the group ends with it.
    ///
    /// A status other than success is the caller's to judge. A process that leaves the group (a daemon) is out of reach.
    ///
    /// # Errors
    /// `TOOLCHAIN_MISSING` when there is no such program, `TOOL_TIMEOUT`, `CANCELLED`, and `INTERNAL` when the child
    /// cannot be started or watched.
    pub fn run(self, timeout: Duration, cancelled: &dyn Fn() -> bool) -> Result<Output, Fault> {
        let name = self.name();
        let Program { command, input } = self;
        let stdin = if input.is_empty() { Stdio::null() } else { Stdio::piped() };
        let mut group = Group::start(command, stdin).map_err(|error| not_started(&name, error))?;
        feed(group.child.stdin.take(), input);
        let stdout = tail(group.child.stdout.take());
        let stderr = tail(group.child.stderr.take());
        let deadline = Instant::now() + timeout;
        while !group.ended() {
            if cancelled() {
                return Err(Fault::new(ErrorCode::Cancelled, format!("`{name}` was cancelled.")));
            }
            if Instant::now() >= deadline {
                let seconds = timeout.as_secs_f64();
                return Err(Fault::new(
                    ErrorCode::ToolTimeout,
                    format!("`{name}` took longer than {seconds} s."),
                )
                .with_hint("Try again; if it stays slow, look at the network or the machine's load."));
            }
            thread::sleep(POLL);
        }
        let (stdout, stderr) = (group.drain(&stdout), group.drain(&stderr));
        let status =
            group.reap().map_err(|error| Fault::internal(format!("`{name}` could not be watched"), error))?;
        Ok(Output { status, stdout, stderr })
    }
}

/// Where a program of this process's kind is started from: the file itself where `program` is this process's own, so that it
/// is the same after an upgrade put another file in its place; else `program`.
#[must_use]
pub fn own_file(program: &Path) -> PathBuf {
    let running = Path::new("/proc/self/exe");
    let identity = |path: &Path| fs::metadata(path).ok().map(|of| (of.dev(), of.ino()));
    match (identity(running), identity(program)) {
        (Some(own), Some(other)) if own == other => running.to_owned(),
        _ => program.to_owned(),
    }
}

/// Starts `program` and leaves it to itself: in a process group of its own, without input and output. It goes on when this
/// program ends, and signals from this program's terminal do not reach it.
///
/// # Errors
/// `TOOLCHAIN_MISSING` when there is no such program, and `INTERNAL` when it cannot be started.
pub fn start_detached(program: Program) -> Result<(), Fault> {
    let Program { mut command, .. } = program;
    let name = command.get_program().to_string_lossy().into_owned();
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).process_group(0);
    let mut child = command.spawn().map_err(|error| not_started(&name, error))?;
    // It usually outlives this program; if it does not, it must not stay as a zombie.
    thread::spawn(move || child.wait());
    Ok(())
}

/// Set, ONNX Runtime neither makes a device id nor writes down what it ran on.
const SILENCE: &str = "ORT_DISABLE_TELEMETRY";

/// Starts this program anew, once, in an environment in which ONNX Runtime leaves no traces in the user's home.
///
/// Its own switch comes too late: it writes when it is loaded. A running program cannot safely change its
/// environment, so the new one takes its place, with the same number, arguments and streams. Where that fails, the
/// program goes on as it is.
pub fn silence_runtime() {
    if config::is_set(SILENCE) {
        return;
    }
    if let Ok(program) = std::env::current_exe() {
        let mut arguments = std::env::args_os();
        let mut again = Command::new(program);
        if let Some(name) = arguments.next() {
            again.arg0(name);
        }
        // Comes back only if it failed.
        drop(again.args(arguments).env(SILENCE, "1").exec());
    }
}

fn not_started(name: &str, error: io::Error) -> Fault {
    if error.kind() == io::ErrorKind::NotFound {
        return Fault::new(ErrorCode::ToolchainMissing, format!("`{name}` is not installed."))
            .with_hint(format!("Install `{name}` and make sure that it is on the PATH."))
            .with_source(error);
    }
    Fault::internal(format!("`{name}` could not be started"), error)
}

/// A child and its process group, which do not outlive this value.
///
/// The group's leader, which is the guard where there is one, is reaped last: until then its number, which is also the
/// group's, is not given to another process, so no signal can hit a stranger.
struct Group {
    child: Child,
    guard: Option<Child>,
    reaped: bool,
}

impl Group {
    fn start(mut command: Command, stdin: Stdio) -> io::Result<Self> {
        let guard = guard();
        let leader = guard.as_ref().map_or(0, |guard| Pid::from_child(guard).as_raw_nonzero().get());
        command.stdin(stdin).stdout(Stdio::piped()).stderr(Stdio::piped()).process_group(leader);
        match command.spawn() {
            Ok(child) => Ok(Self { child, guard, reaped: false }),
            Err(error) => {
                guard.into_iter().for_each(dismiss);
                Err(error)
            }
        }
    }

    fn signal(&self, signal: Signal) {
        let leader = self.guard.as_ref().unwrap_or(&self.child);
        // No such group any more is what was wanted.
        let _ = kill_process_group(Pid::from_child(leader), signal);
    }

    /// Whether the child has ended; does not reap it.
    fn ended(&self) -> bool {
        let look = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT | WaitIdOptions::NOHANG;
        // An error means that there is no such child (any more).
        !matches!(waitid(WaitId::Pid(Pid::from_child(&self.child)), look), Ok(None))
    }

    /// What the stream's end was. Descendants that still hold the stream are ended: nobody waits for them.
    fn drain(&self, stream: &Receiver<Vec<u8>>) -> Vec<u8> {
        stream.recv_timeout(DRAIN).unwrap_or_else(|_| {
            self.signal(Signal::KILL);
            stream.recv_timeout(DRAIN).unwrap_or_default()
        })
    }

    /// Ends what is left of the group and reaps the child and its guard.
    fn reap(&mut self) -> io::Result<ExitStatus> {
        self.signal(Signal::KILL);
        self.reaped = true;
        let status = self.child.wait();
        self.guard.take().into_iter().for_each(dismiss);
        status
    }
}

/// The leader of a new process group, which ends the group when this process is gone. None on a system without a shell:
/// then the child leads the group, and may outlive a process that is killed.
fn guard() -> Option<Child> {
    let mut shell = Command::new("/bin/sh");
    shell.args(["-c", GUARD]).current_dir("/").process_group(0);
    let started = shell.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null()).spawn();
    started.inspect_err(|error| tracing::debug!(%error, "a child process goes without its guard")).ok()
}

/// Ends a guard that has nothing to guard any more.
fn dismiss(mut guard: Child) {
    // Either fails only for what is gone already.
    let _ = guard.kill();
    let _ = guard.wait();
}

/// Writes `input` on a thread of its own, so that a child that reads slowly does not hold up its watch.
fn feed(stdin: Option<impl Write + Send + 'static>, input: Vec<u8>) {
    if let Some(mut stdin) = stdin {
        // A child that does not read to the end says so by how it ends.
        thread::spawn(move || drop(stdin.write_all(&input)));
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        if self.reaped {
            return;
        }
        self.signal(Signal::TERM);
        let deadline = Instant::now() + GRACE;
        while !self.ended() && Instant::now() < deadline {
            thread::sleep(POLL);
        }
        let _ = self.reap();
    }
}

/// Reads `stream` to its end on a thread of its own, so that the child never blocks on a full pipe.
fn tail(stream: Option<impl Read + Send + 'static>) -> Receiver<Vec<u8>> {
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
        // Nobody listens any more when the child was ended.
        let _ = sender.send(kept.into());
    });
    receiver
}

#[cfg(test)]
mod tests {
    use super::*;

    const LONG: Duration = Duration::from_secs(60);

    fn run(program: Program, limit: Duration, cancelled: &dyn Fn() -> bool) -> Result<Output, Fault> {
        program.run(limit, cancelled)
    }

    fn shell(script: &str) -> Program {
        Program::new("sh").args(["-c", script])
    }

    fn alive(pid: &str) -> bool {
        // `ps` shows a process that was ended and not yet reaped as Z.
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
    fn ends_the_whole_tree_even_if_it_ignores_the_polite_signal() {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("pid");
        let script =
            format!("trap '' TERM; sleep 600 & echo $! > {}.new; mv {0}.new {0}; wait", file.display());
        let written = || file.exists();
        let fault = run(shell(&script), LONG, &written).unwrap_err();
        assert_eq!(fault.code, ErrorCode::Cancelled);
        let pid = std::fs::read_to_string(&file).unwrap();
        let begun = Instant::now();
        while alive(&pid) {
            assert!(begun.elapsed() < LONG, "the grandchild lives on");
            thread::sleep(POLL);
        }
    }

    #[test]
    fn input_is_read_to_its_end() {
        let text = "line\n".repeat(100_000);
        let output = run(shell("wc -l").input(text), LONG, &|| false).unwrap();
        assert_eq!(String::from_utf8_lossy(&output.stdout).trim(), "100000");
        let output = run(shell("wc -c"), LONG, &|| false).unwrap();
        assert_eq!(String::from_utf8_lossy(&output.stdout).trim(), "0", "nothing unless it is given");
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
        let begun = Instant::now();
        while alive(&pid) {
            assert!(begun.elapsed() < LONG, "the background process lives on");
            thread::sleep(POLL);
        }
    }
}
