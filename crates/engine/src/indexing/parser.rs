//! Parses files in a separate process, because the grammars are C code and the files are untrusted.
//!
//! Each thread of an index run has one [`Parser`], which starts this program again in a hidden mode. That process gives
//! up access to files, network and other processes before it reads a text ([`sandbox`]), and serves only one run. A
//! text that crashes the process or exceeds its memory or time is chunked by lines. The answer is not trusted: chunk
//! texts are cut from the original text in this process, and the rest of the answer is only metadata.

use std::ffi::OsString;
use std::io::{self, Write};
use std::os::unix::process::ExitStatusExt;
use std::path::PathBuf;
use std::process::{ExitCode, ExitStatus};
use std::time::{Duration, Instant};

use rustix::process::Signal;
use serde::{Deserialize, Serialize};

use contract::{ErrorCode, Fault};
use languages::{
    self, ChunkLimits, Chunked, ChunkingMethod, Language, PARSED_BYTES_MAX, by_lines, chunk_while,
};
use platform::process::Program;
use platform::process::sandbox::{self, MemoryLimit};
use platform::process::worker::{Worker, WorkerError, serve_requests};

/// Name of the hidden mode: `parser <memory bytes>`.
const MODE: &str = "parser";
/// Additional memory for each byte of a text; half of it is address space of the stack.
pub(crate) const MEMORY_PER_BYTE: u64 = 1024;
/// Maximum length of a request in bytes: a text with its language and limits.
const REQUEST_BYTES_MAX: usize = PARSED_BYTES_MAX + 1024;
/// Maximum length of an answer in bytes, and the addition for each byte of the text.
const ANSWER_BYTES: usize = 16 * 1024 * 1024;
const ANSWER_PER_BYTE: usize = 256;
/// Additional time before the process is killed. Within its own time limit a text stops at the next step; this covers steps
/// that cannot be interrupted and the transfer.
const GRACE: Duration = Duration::from_secs(5);
/// Attempts for each text. If the process dies in both, the text is taken to be the cause.
const ATTEMPTS: usize = 2;

/// Method of parsing texts.
#[derive(Debug, Clone)]
pub enum Parsing {
    /// In sandboxed processes.
    Sandboxed {
        /// The `pairofcleats` executable.
        program: PathBuf,
        /// Base memory limit of a process, in bytes.
        memory_bytes: u64,
    },
    /// In this process, for trusted texts.
    InProcess,
}

/// A parser process, started on first use.
pub struct Parser {
    parsing: Parsing,
    worker: Option<Worker>,
}

#[derive(Serialize, Deserialize)]
struct ParseRequest<'t> {
    language: &'t str,
    limits: ChunkLimits,
    text: &'t str,
}

impl Parser {
    /// Creates a parser without starting the process.
    #[must_use]
    pub fn new(parsing: Parsing) -> Self {
        Self { parsing, worker: None }
    }

    /// Chunks a text like [`languages::chunk_while`]. Blocks.
    ///
    /// # Errors
    /// If the process cannot be started. A text that crashes the process is chunked by lines.
    pub fn chunk(
        &mut self,
        text: &str,
        language: Option<&'static Language>,
        limits: &ChunkLimits,
        cancelled: &(dyn Fn() -> bool + Sync),
    ) -> Result<Chunked, Fault> {
        let Parsing::Sandboxed { program, memory_bytes } = &self.parsing else {
            return Ok(chunk_while(text, language, limits, cancelled));
        };
        let parsed = language.filter(|language| language.has_grammar() && text.len() <= PARSED_BYTES_MAX);
        let Some(language) = parsed else {
            // Without a grammar no C code runs.
            return Ok(chunk_while(text, language, limits, cancelled));
        };
        let request = ParseRequest { language: language.id, limits: *limits, text };
        let request = postcard::to_stdvec(&request)
            .map_err(|error| Fault::internal("A text could not be serialised for its parser.", error))?;
        let mut missing_reason = "parse_failed";
        for _ in 0..ATTEMPTS {
            let mut worker = match self.worker.take() {
                Some(worker) => worker,
                None => {
                    Worker::start(Program::new(program).args([MODE, &memory_bytes.to_string()]).env_clear())?
                }
            };
            let deadline = Instant::now() + limits.parse_timeout + GRACE;
            let answer_max = ANSWER_BYTES + ANSWER_PER_BYTE * text.len();
            let answer = worker.request(&request, answer_max, deadline, cancelled);
            match answer.map(|answer| parse_answer(&answer, text)) {
                Ok(Some(chunked)) => {
                    self.worker = Some(worker);
                    return Ok(chunked);
                }
                Ok(None) | Err(WorkerError::TooLarge) => {
                    tracing::warn!(language = language.id, "a parser returned an invalid answer");
                    missing_reason = "parse_failed";
                }
                // The run is cancelled, so the result is discarded.
                Err(WorkerError::Cancelled) => return Ok(by_lines(text, limits, "parse_timeout")),
                Err(WorkerError::TimedOut) => {
                    tracing::warn!(language = language.id, "a parser did not finish in time");
                    return Ok(by_lines(text, limits, "parse_timeout"));
                }
                Err(WorkerError::Ended) => missing_reason = facts_missing_reason(language, worker),
            }
        }
        Ok(by_lines(text, limits, missing_reason))
    }
}

/// Checks that files can be parsed on this system. Returns whether the parser process is sandboxed. Blocks.
///
/// # Errors
/// If the process cannot be started or does not answer, and always for [`Parsing::InProcess`].
pub fn probe(parsing: &Parsing) -> Result<bool, Fault> {
    let mut parser = Parser::new(parsing.clone());
    let limits = ChunkLimits { parse_timeout: Duration::from_secs(30), ..ChunkLimits::default() };
    let chunked = parser.chunk("{}", languages::by_name("json"), &limits, &|| false)?;
    match (chunked.how, &parser.worker) {
        (ChunkingMethod::Syntax, Some(worker)) => Ok(sandbox::has_seccomp_filter(worker.id())),
        _ => Err(Fault::new(ErrorCode::Internal, "The parser process does not answer.")
            .with_hint("See the log for the cause; a memory limit (`ulimit -v`) is a common one.")),
    }
}

/// Deserialises an answer and cuts the chunk texts from `text`; `None` if the answer is invalid.
pub(super) fn parse_answer(answer: &[u8], text: &str) -> Option<Chunked> {
    postcard::from_bytes::<Chunked>(answer).ok()?.with_text(text)
}

/// Returns the reason for which the facts of a text are missing after its parser died. If the process was killed from outside, the reason
/// permits another attempt.
fn facts_missing_reason(language: &Language, worker: Worker) -> &'static str {
    let Some(output) = worker.wait_or_kill() else { return "parse_failed" };
    let (status, stderr) = (output.status.to_string(), output.stderr_tail(3));
    tracing::warn!(language = language.id, status, stderr, "a parser process died while parsing");
    if was_killed(output.status) { "parse_timeout" } else { "parse_failed" }
}

/// Returns whether a process was killed from outside, for example by the kernel for lack of memory, so that another attempt may succeed.
pub(super) fn was_killed(status: ExitStatus) -> bool {
    let outside = [Signal::KILL, Signal::TERM].map(Signal::as_raw);
    status.signal().is_some_and(|signal| outside.contains(&signal))
}

/// Runs the hidden mode if the arguments select it; for `main`.
#[must_use]
pub fn hidden_mode(arguments: &[OsString]) -> Option<ExitCode> {
    sandboxed_mode(MODE, arguments, REQUEST_BYTES_MAX, MEMORY_PER_BYTE, answer_request)
}

/// Memory of a process that answers requests: the base limit in bytes, and the limit to adjust to each text.
pub(crate) struct TextMemory<'m> {
    base: u64,
    per_byte: u64,
    limit: &'m MemoryLimit,
}

impl TextMemory<'_> {
    /// Permits the memory for texts of this many bytes.
    pub(crate) fn permit(&self, text_bytes: usize) {
        self.limit.set_headroom(memory(self.base, self.per_byte, text_bytes));
    }
}

/// Returns the memory limit for texts of this many bytes.
fn memory(base: u64, per_byte: u64, text_bytes: usize) -> u64 {
    base.saturating_add(per_byte.saturating_mul(text_bytes as u64))
}

/// Runs a hidden mode `name <memory bytes>` if the arguments select it: gives up all access, then answers requests of at most
/// `request_bytes_max` bytes. Each byte of their texts permits `memory_per_byte` more.
pub(crate) fn sandboxed_mode(
    name: &str,
    arguments: &[OsString],
    request_bytes_max: usize,
    memory_per_byte: u64,
    answer: impl Fn(&[u8], &TextMemory<'_>) -> Vec<u8>,
) -> Option<ExitCode> {
    let [mode, memory_bytes] = arguments else { return None };
    if mode != name {
        return None;
    }
    let base: u64 = memory_bytes.to_str()?.parse().ok()?;
    let serve = || -> io::Result<()> {
        let limit = sandbox::enter_compute_only(memory(base, memory_per_byte, request_bytes_max))?;
        let memory = TextMemory { base, per_byte: memory_per_byte, limit: &limit };
        serve_requests(request_bytes_max, |request| answer(request, &memory))
    };
    Some(match serve() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            let _ = writeln!(io::stderr(), "the {name} ended: {error}");
            ExitCode::FAILURE
        }
    })
}

/// Answers a request; an invalid request gets an empty answer, which the caller rejects.
fn answer_request(request: &[u8], memory: &TextMemory<'_>) -> Vec<u8> {
    let Ok(ParseRequest { language, limits, text }) = postcard::from_bytes(request) else {
        return Vec::new();
    };
    memory.permit(text.len());
    let chunked = languages::chunk(text, languages::by_name(language), &limits);
    postcard::to_stdvec(&chunked).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    const TEXT: &str = "def send(parcel):\n    wrap(parcel)\n";

    /// Chunks [`TEXT`] with a shell script as the parser. The file `$frame` contains the answer.
    fn chunk_with(script: &str, answer: &[u8]) -> Chunked {
        let folder = tempfile::tempdir().unwrap();
        let (program, frame) = (folder.path().join("parser"), folder.path().join("frame"));
        let length = u32::try_from(answer.len()).unwrap().to_le_bytes();
        fs::write(&frame, [&length, answer].concat()).unwrap();
        fs::write(&program, format!("#!/bin/sh\nframe={}\n{script}\n", frame.display())).unwrap();
        fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
        let mut parser = Parser::new(Parsing::Sandboxed { program, memory_bytes: 0 });
        let limits = ChunkLimits { parse_timeout: Duration::from_secs(60), ..ChunkLimits::default() };
        parser.chunk(TEXT, languages::by_name("python"), &limits, &|| false).unwrap()
    }

    fn encoded(chunked: &Chunked) -> Vec<u8> {
        postcard::to_stdvec(chunked).unwrap()
    }

    fn expected() -> Chunked {
        languages::chunk(TEXT, languages::by_name("python"), &ChunkLimits::default())
    }

    #[test]
    fn chunk_texts_are_cut_from_the_text() {
        let chunked = chunk_with("cat $frame; sleep 60", &encoded(&expected()));
        assert_eq!(chunked, expected());
        assert!(chunked.chunks[0].text.contains("wrap"));
    }

    #[test]
    fn a_text_whose_parser_fails_is_chunked_by_lines() {
        let failed = (ChunkingMethod::Lines("parse_failed"), Some("parse_failed"));
        let mut beyond = expected();
        beyond.chunks[0].end_line = 3;
        let mut before = expected();
        before.chunks[0].start_line = 0;
        let mut twice = expected();
        twice.chunks.push(twice.chunks[0].clone());
        let mut unknown = expected();
        unknown.chunks[0].kind = "weapon";
        for answer in
            [&beyond, &before, &twice, &unknown].map(encoded).into_iter().chain([Vec::new(), vec![0xff; 64]])
        {
            let chunked = chunk_with("cat $frame; sleep 60", &answer);
            assert_eq!((chunked.how, chunked.facts_missing), failed, "{answer:?}");
            assert_eq!(chunked.chunks[0].text, TEXT.trim_end());
        }
        for script in ["kill -s SEGV $$", "exit 1", "head -c 6 $frame", "yes"] {
            let chunked = chunk_with(script, &[1; 100]);
            assert_eq!((chunked.how, chunked.facts_missing), failed, "{script}");
        }
        // A parser that is killed from outside: the next run tries the text again.
        let chunked = chunk_with("kill -s KILL $$", &[]);
        assert_eq!(chunked.facts_missing, Some("parse_timeout"));
    }

    #[test]
    fn a_text_is_tried_again_after_a_crash() {
        let crash_once = "test -e $frame.seen || { touch $frame.seen; exit 1; }; cat $frame; sleep 60";
        assert_eq!(chunk_with(crash_once, &encoded(&expected())), expected());
    }

    #[test]
    fn a_parser_that_cannot_be_started_is_an_error() {
        let mut parser =
            Parser::new(Parsing::Sandboxed { program: "/no/such/program".into(), memory_bytes: 0 });
        let limits = ChunkLimits::default();
        assert!(parser.chunk(TEXT, languages::by_name("python"), &limits, &|| false).is_err());
        let plain = parser.chunk("said", languages::by_name("text"), &limits, &|| false).unwrap();
        assert_eq!(plain.how, ChunkingMethod::Lines("no_grammar"), "no parser is needed");
    }
}
