//! A child process that answers requests, one at a time, over its standard streams. Each message is a frame: its length in four
//! bytes, little-endian, and its content. Answers have a maximum length and a deadline, because the child is not trusted.

use std::io::{self, Read, Write};
use std::process::{ChildStdin, ChildStdout, Stdio};
use std::sync::mpsc::Receiver;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{OFlags, fcntl_getfl, fcntl_setfl};
use rustix::io::Errno;
use rustix::process::Signal;

use super::{DRAIN, ProcessGroup, Program, ProgramOutput, not_started, read_tail};
use contract::Fault;

/// Bytes of a frame's length field.
const HEAD_BYTES: usize = 4;
/// Time between two checks for cancellation: 20 ms.
const CANCEL_POLL: Timespec = Timespec { tv_sec: 0, tv_nsec: 20_000_000 };
/// Bytes read at a time.
const BLOCK_BYTES: usize = 64 * 1024;

/// A child that has answered every request so far. Dropping a worker kills the child and its descendants.
pub struct Worker {
    group: ProcessGroup,
    input: ChildStdin,
    output: ChildStdout,
    errors: Receiver<Vec<u8>>,
}

/// The reason why a request got no answer. The worker can no longer be used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WorkerError {
    /// The child ended, or closed its streams.
    Ended,
    /// The answer is too long.
    TooLarge,
    /// The deadline passed.
    TimedOut,
    /// The request was cancelled.
    Cancelled,
}

impl Worker {
    /// Starts the program.
    ///
    /// # Errors
    /// See [`Program::run`].
    pub fn start(program: Program) -> Result<Self, Fault> {
        let name = program.name();
        let mut group = ProcessGroup::start(program.command, Stdio::piped())
            .map_err(|error| not_started(&name, error))?;
        let errors = read_tail(group.child.stderr.take());
        let streams = group.child.stdin.take().zip(group.child.stdout.take());
        let (input, output) =
            streams.ok_or_else(|| not_started(&name, io::Error::other("it has no standard streams")))?;
        let set_nonblocking = |flags: rustix::io::Result<OFlags>, fd| {
            flags.and_then(|flags| fcntl_setfl(fd, flags | OFlags::NONBLOCK))
        };
        set_nonblocking(fcntl_getfl(&input), rustix::fd::AsFd::as_fd(&input))
            .and_then(|()| set_nonblocking(fcntl_getfl(&output), rustix::fd::AsFd::as_fd(&output)))
            .map_err(|error| not_started(&name, error.into()))?;
        Ok(Self { group, input, output, errors })
    }

    /// Returns the process id.
    #[must_use]
    pub fn id(&self) -> u32 {
        self.group.child.id()
    }

    /// Sends a request and waits for its answer of at most `answer_bytes_max` bytes. Blocks; calls `cancelled` every 20 ms.
    ///
    /// # Errors
    /// [`WorkerError`]; the worker cannot be used afterwards.
    pub fn request(
        &mut self,
        request: &[u8],
        answer_bytes_max: usize,
        deadline: Instant,
        cancelled: &dyn Fn() -> bool,
    ) -> Result<Vec<u8>, WorkerError> {
        let head = u32::try_from(request.len()).map_err(|_| WorkerError::Ended)?.to_le_bytes();
        let (mut head, mut body) = (&head[..], request);
        let mut answer = Vec::new();
        loop {
            if cancelled() {
                return Err(WorkerError::Cancelled);
            }
            if Instant::now() >= deadline {
                return Err(WorkerError::TimedOut);
            }
            self.poll_streams(!body.is_empty() || !head.is_empty()).map_err(|_| WorkerError::Ended)?;
            for part in [&mut head, &mut body] {
                if !send(&mut self.input, part)? {
                    break;
                }
            }
            if let Some(length) = receive(&mut self.output, &mut answer, answer_bytes_max)?
                && answer.len() == HEAD_BYTES + length
            {
                answer.drain(..HEAD_BYTES);
                return Ok(answer);
            }
        }
    }

    /// Waits for at most 20 ms until the output is readable or, if `has_input`, the input is writable.
    fn poll_streams(&self, has_input: bool) -> rustix::io::Result<()> {
        let readable = PollFd::new(&self.output, PollFlags::IN);
        let result = match has_input {
            true => poll(&mut [readable, PollFd::new(&self.input, PollFlags::OUT)], Some(&CANCEL_POLL)),
            false => poll(&mut [readable], Some(&CANCEL_POLL)),
        };
        match result {
            Ok(_) | Err(Errno::INTR) => Ok(()),
            Err(error) => Err(error),
        }
    }

    /// Waits up to 200 ms for the child to end, then kills it. Returns its exit status and the end of its standard error.
    #[must_use]
    pub fn wait_or_kill(mut self) -> Option<ProgramOutput> {
        let deadline = Instant::now() + Duration::from_millis(200);
        while !self.group.has_ended() && Instant::now() < deadline {
            std::thread::sleep(super::POLL);
        }
        let status = self.group.reap().ok()?;
        let stderr = self.errors.recv_timeout(DRAIN).unwrap_or_default();
        Some(ProgramOutput { status, stdout: Vec::new(), stderr })
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        if !self.group.reaped {
            self.group.signal(Signal::KILL);
            // Fails only if the child was reaped.
            let _ = self.group.reap();
        }
    }
}

/// Writes as much as the pipe takes; returns true if all of `part` was written.
fn send(input: &mut ChildStdin, part: &mut &[u8]) -> Result<bool, WorkerError> {
    while !part.is_empty() {
        match input.write(part) {
            Ok(sent @ 1..) => *part = &part[sent..],
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(false),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Ok(0) | Err(_) => return Err(WorkerError::Ended),
        }
    }
    Ok(true)
}

/// Reads what is available; returns the length of the answer as soon as it is known.
fn receive(
    output: &mut ChildStdout,
    answer: &mut Vec<u8>,
    bytes_max: usize,
) -> Result<Option<usize>, WorkerError> {
    let mut block = [0; BLOCK_BYTES];
    loop {
        let length = answer.first_chunk::<HEAD_BYTES>().map(|head| u32::from_le_bytes(*head) as usize);
        if length.is_some_and(|length| length > bytes_max) {
            return Err(WorkerError::TooLarge);
        }
        let missing = length.map_or(HEAD_BYTES, |length| HEAD_BYTES + length) - answer.len();
        if missing == 0 {
            return Ok(length);
        }
        match output.read(&mut block[..missing.min(BLOCK_BYTES)]) {
            Ok(read @ 1..) => answer.extend(&block[..read]),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(None),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Ok(0) | Err(_) => return Err(WorkerError::Ended),
        }
    }
}

/// The child's side: answers each request from standard input until standard input is closed.
///
/// # Errors
/// If a stream fails, or a request is longer than `request_bytes_max`.
pub fn serve_requests(request_bytes_max: usize, mut answer: impl FnMut(&[u8]) -> Vec<u8>) -> io::Result<()> {
    let (mut input, mut output) = (io::stdin().lock(), io::stdout().lock());
    let mut request = Vec::new();
    loop {
        let mut head = [0; HEAD_BYTES];
        match input.read_exact(&mut head) {
            Ok(()) => {}
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok(()),
            Err(error) => return Err(error),
        }
        let length = u32::from_le_bytes(head) as usize;
        if length > request_bytes_max {
            return Err(io::Error::other("the request is too long"));
        }
        request.resize(length, 0);
        input.read_exact(&mut request)?;
        let answer = answer(&request);
        let length = u32::try_from(answer.len()).map_err(io::Error::other)?;
        output.write_all(&length.to_le_bytes())?;
        output.write_all(&answer)?;
        output.flush()?;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LONG: Duration = Duration::from_secs(60);

    /// Starts a worker that runs a shell script.
    fn worker(script: &str) -> Worker {
        Worker::start(Program::new("sh").args(["-c", script])).unwrap()
    }

    fn request(worker: &mut Worker, request: &[u8], timeout: Duration) -> Result<Vec<u8>, WorkerError> {
        worker.request(request, 1 << 20, Instant::now() + timeout, &|| false)
    }

    #[test]
    fn requests_larger_than_a_pipe_are_answered_one_after_another() {
        // `cat` answers each frame with the same frame.
        let mut echo = worker("exec cat");
        for length in [0, 1, 1 << 20, 3] {
            let frame: Vec<u8> = (0..length).map(|at: usize| (at % 251) as u8).collect();
            assert!(request(&mut echo, &frame, LONG).unwrap() == frame, "{length}");
        }
    }

    #[test]
    fn a_missing_late_or_overlong_answer_is_an_error() {
        let ended = Err(WorkerError::Ended);
        assert_eq!(request(&mut worker("exit 0"), b"request", LONG), ended);
        assert_eq!(request(&mut worker("kill -s SEGV $$"), b"request", LONG), ended);
        assert_eq!(request(&mut worker("exec >&-; sleep 60"), b"request", LONG), ended);
        let much = request(&mut worker(r"printf '\377\377\377\377much'; sleep 60"), b"request", LONG);
        assert_eq!(much, Err(WorkerError::TooLarge));
        let short = Duration::from_millis(200);
        assert_eq!(request(&mut worker("sleep 60"), b"request", short), Err(WorkerError::TimedOut));
        assert_eq!(
            request(&mut worker(r"printf '\011\000\000\000half'; sleep 60"), b"request", short),
            Err(WorkerError::TimedOut)
        );
        // The child does not read its input.
        assert_eq!(request(&mut worker("sleep 60"), &vec![0; 1 << 20], short), Err(WorkerError::TimedOut));
        let cancelled = worker("sleep 60").request(b"request", 10, Instant::now() + LONG, &|| true);
        assert_eq!(cancelled, Err(WorkerError::Cancelled));
    }

    #[test]
    fn returns_exit_status_and_standard_error() {
        let mut failing = worker("echo it went wrong >&2; exit 3");
        assert_eq!(request(&mut failing, b"request", LONG), Err(WorkerError::Ended));
        let output = failing.wait_or_kill().unwrap();
        assert_eq!((output.status.code(), output.stderr_tail(1).as_str()), (Some(3), "it went wrong"));
    }
}
