//! Files are parsed in a process of their own: grammars are written in C, and the files are anybody's.
//!
//! Each thread of an index run has one [`Parser`], which starts this program once more in a hidden mode. That process gives
//! up files, network and other processes before it reads a text ([`sandbox`]), serves one run, and so sees one repository.
//! When a text ends it, takes too much memory or never ends, that costs the syntax of this text: it is cut by lines. What
//! comes back is not trusted either: lines are taken from the text here, and nothing else of it is more than words about
//! them.

use std::ffi::OsString;
use std::io::{self, Write};
use std::os::unix::process::ExitStatusExt;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use rustix::process::Signal;
use serde::{Deserialize, Serialize};

use contract::{ErrorCode, Fault};
use languages::{self, ChunkLimits, Chunked, How, Language, PARSED_BYTES_MAX, by_lines, chunk_while};
use platform::process::Program;
use platform::process::sandbox::{self, Memory};
use platform::process::worker::{Broken, Worker, answer_all};

/// Hidden mode of the program: `parser <bytes>`.
const MODE: &str = "parser";
/// Memory for each byte of a text, above what any text may take: half of it is the address space of the stack.
const MEMORY_PER_BYTE: u64 = 1024;
/// Longest request: a text with its language and its limits.
const REQUEST_BYTES_MAX: usize = PARSED_BYTES_MAX + 1024;
/// Longest answer, and what is added for each byte of the text.
const ANSWER_BYTES: usize = 16 * 1024 * 1024;
const ANSWER_PER_BYTE: usize = 256;
/// What a text may take beyond its own time, which ends the work at its next step: for the steps that cannot be
/// interrupted, and for the way there and back.
const GRACE: Duration = Duration::from_secs(5);
/// A process may end by chance; one that ends twice over a text ends because of it, unless somebody ended it.
const ATTEMPTS: usize = 2;

/// Where texts are parsed.
#[derive(Debug, Clone)]
pub enum Parsing {
    /// In processes of this program.
    Apart {
        /// The program.
        program: PathBuf,
        /// Memory that any text may take, in bytes.
        memory_bytes: u64,
    },
    /// In this process: for texts that are one's own.
    Here,
}

/// One process that parses, started when it is first needed.
pub struct Parser {
    parsing: Parsing,
    worker: Option<Worker>,
}

#[derive(Serialize, Deserialize)]
struct Request<'t> {
    language: &'t str,
    limits: ChunkLimits,
    text: &'t str,
}

impl Parser {
    /// Starts nothing yet.
    #[must_use]
    pub fn new(parsing: Parsing) -> Self {
        Self { parsing, worker: None }
    }

    /// Cuts a text into chunks, as [`languages::chunk_while`] does. Blocks.
    ///
    /// # Errors
    /// When the process cannot be started. A text that ends it is cut by lines.
    pub fn chunk(
        &mut self,
        text: &str,
        language: Option<&'static Language>,
        limits: &ChunkLimits,
        cancelled: &(dyn Fn() -> bool + Sync),
    ) -> Result<Chunked, Fault> {
        let Parsing::Apart { program, memory_bytes } = &self.parsing else {
            return Ok(chunk_while(text, language, limits, cancelled));
        };
        let parsed = language.filter(|language| language.is_parsed() && text.len() <= PARSED_BYTES_MAX);
        let Some(language) = parsed else {
            // No grammar looks at it.
            return Ok(chunk_while(text, language, limits, cancelled));
        };
        let request = Request { language: language.id, limits: *limits, text };
        let request = postcard::to_stdvec(&request)
            .map_err(|error| Fault::internal("A text could not be handed to its parser.", error))?;
        let mut reason = "parse_failed";
        for _ in 0..ATTEMPTS {
            let mut worker = match self.worker.take() {
                Some(worker) => worker,
                None => {
                    Worker::start(Program::new(program).args([MODE, &memory_bytes.to_string()]).env_clear())?
                }
            };
            let deadline = Instant::now() + limits.parse_timeout + GRACE;
            let answer_max = ANSWER_BYTES + ANSWER_PER_BYTE * text.len();
            let answer = worker.ask(&request, answer_max, deadline, cancelled);
            match answer.map(|answer| read(&answer, text)) {
                Ok(Some(chunked)) => {
                    self.worker = Some(worker);
                    return Ok(chunked);
                }
                Ok(None) | Err(Broken::TooMuch) => {
                    tracing::warn!(language = language.id, "a parser's answer cannot be read");
                    reason = "parse_failed";
                }
                // Nobody reads what comes of it.
                Err(Broken::Cancelled) => return Ok(by_lines(text, limits, "parse_timeout")),
                Err(Broken::Late) => {
                    tracing::warn!(language = language.id, "a parser did not come to an end");
                    return Ok(by_lines(text, limits, "parse_timeout"));
                }
                Err(Broken::Ended) => reason = why_ended(language, worker),
            }
        }
        Ok(by_lines(text, limits, reason))
    }
}

/// Whether files can be parsed on this system, and whether what parses them can only compute. Blocks.
///
/// # Errors
/// When a process cannot be started, or does not answer.
pub fn probe(parsing: &Parsing) -> Result<bool, Fault> {
    let mut parser = Parser::new(parsing.clone());
    let limits = ChunkLimits { parse_timeout: Duration::from_secs(30), ..ChunkLimits::default() };
    let chunked = parser.chunk("{}", languages::by_name("json"), &limits, &|| false)?;
    match (chunked.how, &parser.worker) {
        (How::Syntax, Some(worker)) => Ok(sandbox::is_fenced(worker.id())),
        _ => Err(Fault::new(ErrorCode::Internal, "The process that parses files does not answer.")
            .with_hint(
                "Look at the log for how it ended; limits of memory (`ulimit -v`) are a common reason.",
            )),
    }
}

/// The chunks of an answer, with the lines of the text; none where it says what cannot be.
pub(super) fn read(answer: &[u8], text: &str) -> Option<Chunked> {
    postcard::from_bytes::<Chunked>(answer).ok()?.with_text(text)
}

/// Why the syntax of a text is not known whose parser ended: a process that was ended from outside, by the kernel for want
/// of memory or by a person, may come to its end another time.
fn why_ended(language: &Language, worker: Worker) -> &'static str {
    let Some(output) = worker.end() else { return "parse_failed" };
    let (status, said) = (output.status.to_string(), output.stderr_tail(3));
    tracing::warn!(language = language.id, status, said, "a parser ended in the middle of a text");
    let outside = [Signal::KILL, Signal::TERM].map(Signal::as_raw);
    match output.status.signal() {
        Some(signal) if outside.contains(&signal) => "parse_timeout",
        _ => "parse_failed",
    }
}

/// Answers requests where the arguments are those of a parser; for `main`.
#[must_use]
pub fn hidden_mode(arguments: &[OsString]) -> Option<ExitCode> {
    let [mode, memory_bytes] = arguments else { return None };
    if mode != MODE {
        return None;
    }
    let memory_bytes = memory_bytes.to_str()?.parse().ok()?;
    Some(match serve(memory_bytes) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            let _ = writeln!(io::stderr(), "the parser ended: {error}");
            ExitCode::FAILURE
        }
    })
}

fn serve(memory_bytes: u64) -> io::Result<()> {
    let memory = sandbox::enter(memory_bytes + MEMORY_PER_BYTE * PARSED_BYTES_MAX as u64)?;
    answer_all(REQUEST_BYTES_MAX, |request| answer(request, memory_bytes, &memory))
}

/// The answer; nothing, which cannot be read as one, to what is no request.
fn answer(request: &[u8], memory_bytes: u64, memory: &Memory) -> Vec<u8> {
    let Ok(Request { language, limits, text }) = postcard::from_bytes(request) else { return Vec::new() };
    memory.limit(memory_bytes + MEMORY_PER_BYTE * text.len() as u64);
    let chunked = languages::chunk(text, languages::by_name(language), &limits);
    postcard::to_stdvec(&chunked).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    const TEXT: &str = "def send(parcel):\n    wrap(parcel)\n";

    /// What becomes of a text whose parser is this shell script; `$frame` is the file of its answer.
    fn with(script: &str, answer: &[u8]) -> Chunked {
        let folder = tempfile::tempdir().unwrap();
        let (program, frame) = (folder.path().join("parser"), folder.path().join("frame"));
        let length = u32::try_from(answer.len()).unwrap().to_le_bytes();
        fs::write(&frame, [&length, answer].concat()).unwrap();
        fs::write(&program, format!("#!/bin/sh\nframe={}\n{script}\n", frame.display())).unwrap();
        fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
        let mut parser = Parser::new(Parsing::Apart { program, memory_bytes: 0 });
        let limits = ChunkLimits { parse_timeout: Duration::from_secs(60), ..ChunkLimits::default() };
        parser.chunk(TEXT, languages::by_name("python"), &limits, &|| false).unwrap()
    }

    fn encoded(chunked: &Chunked) -> Vec<u8> {
        postcard::to_stdvec(chunked).unwrap()
    }

    fn here() -> Chunked {
        languages::chunk(TEXT, languages::by_name("python"), &ChunkLimits::default())
    }

    #[test]
    fn an_answer_comes_with_the_lines_of_the_text() {
        let chunked = with("cat $frame; sleep 60", &encoded(&here()));
        assert_eq!(chunked, here());
        assert!(chunked.chunks[0].text.contains("wrap"));
    }

    #[test]
    fn a_text_whose_parser_fails_is_cut_by_lines() {
        let failed = (How::Lines("parse_failed"), Some("parse_failed"));
        let mut beyond = here();
        beyond.chunks[0].end_line = 3;
        let mut before = here();
        before.chunks[0].start_line = 0;
        let mut twice = here();
        twice.chunks.push(twice.chunks[0].clone());
        let mut unknown = here();
        unknown.chunks[0].kind = "weapon";
        for answer in
            [&beyond, &before, &twice, &unknown].map(encoded).into_iter().chain([Vec::new(), vec![0xff; 64]])
        {
            let chunked = with("cat $frame; sleep 60", &answer);
            assert_eq!((chunked.how, chunked.facts_missing), failed, "{answer:?}");
            assert_eq!(chunked.chunks[0].text, TEXT.trim_end());
        }
        for script in ["kill -s SEGV $$", "exit 1", "head -c 6 $frame", "yes"] {
            let chunked = with(script, &[1; 100]);
            assert_eq!((chunked.how, chunked.facts_missing), failed, "{script}");
        }
        // Whoever ended it, the text did not: it is tried again.
        let chunked = with("kill -s KILL $$", &[]);
        assert_eq!(chunked.facts_missing, Some("parse_timeout"));
    }

    #[test]
    fn one_that_fails_by_chance_is_asked_again() {
        let once = "test -e $frame.seen || { touch $frame.seen; exit 1; }; cat $frame; sleep 60";
        assert_eq!(with(once, &encoded(&here())), here());
    }

    #[test]
    fn a_program_that_cannot_be_started_is_no_fault_of_the_text() {
        let mut parser = Parser::new(Parsing::Apart { program: "/no/such/program".into(), memory_bytes: 0 });
        let limits = ChunkLimits::default();
        assert!(parser.chunk(TEXT, languages::by_name("python"), &limits, &|| false).is_err());
        let plain = parser.chunk("said", languages::by_name("text"), &limits, &|| false).unwrap();
        assert_eq!(plain.how, How::Lines("no_grammar"), "no grammar looks at it");
    }
}
