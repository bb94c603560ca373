//! Child processes that end with everything they started: at a deadline, on request, or by themselves.

use std::collections::VecDeque;
use std::io::{self, Read};
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{self, Receiver};
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process_group, waitid};

use crate::config;
use crate::contract::{ErrorCode, Fault};

/// What is kept of each stream: its end, where programs say why they failed.
const TAIL_BYTES: usize = 64 * 1024;
/// How long a child may take to end after SIGTERM.
const GRACE: Duration = Duration::from_secs(3);
/// How long a stream may stay open after its child ended: a process that left the group may hold it.
const DRAIN: Duration = Duration::from_secs(1);
const POLL: Duration = Duration::from_millis(10);

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

/// Runs `command` in a process group of its own, without input, and waits for it. Blocks; `cancelled` is asked every few
/// milliseconds. After `timeout`, or when cancelled, the whole group gets SIGTERM and three seconds later SIGKILL.
///
/// A status other than success is the caller's to judge.
///
/// # Errors
/// `TOOLCHAIN_MISSING` when there is no such program, `TOOL_TIMEOUT`, `CANCELLED`, and `INTERNAL` when the child cannot be
/// started or watched.
pub fn run(mut command: Command, timeout: Duration, cancelled: &dyn Fn() -> bool) -> Result<Output, Fault> {
    let name = command.get_program().to_string_lossy().into_owned();
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).process_group(0);
    let child = command.spawn().map_err(|error| not_started(&name, error))?;
    let mut group = Group { child, reaped: false };
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

/// Starts `command` and leaves it to itself: in a process group of its own, without input and output. It goes on when this
/// program ends, and signals from this program's terminal do not reach it.
///
/// # Errors
/// `TOOLCHAIN_MISSING` when there is no such program, and `INTERNAL` when it cannot be started.
pub fn start_detached(mut command: Command) -> Result<(), Fault> {
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
/// The child is reaped last: until then its number, which is also the group's, is not given to another process, so no
/// signal can hit a stranger.
struct Group {
    child: Child,
    reaped: bool,
}

impl Group {
    fn signal(&self, signal: Signal) {
        // No such group any more is what was wanted.
        let _ = kill_process_group(Pid::from_child(&self.child), signal);
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

    /// Ends what is left of the group and reaps the child.
    fn reap(&mut self) -> io::Result<ExitStatus> {
        self.signal(Signal::KILL);
        self.reaped = true;
        self.child.wait()
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

    fn shell(script: &str) -> Command {
        let mut command = Command::new("sh");
        command.args(["-c", script]);
        command
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
        let fault = run(Command::new("no-such-program-here"), LONG, &|| false).unwrap_err();
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
