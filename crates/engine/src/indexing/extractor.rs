//! Extracts the texts of documents in a separate process, because the documents are untrusted and their formats are complex.
//!
//! As for parsing ([`super::parser`]), the process is this program in a hidden mode. It gives up access to files, network and other
//! processes before it reads a document, and has limited memory and time. A document that crashes it, or takes too long, is skipped.
//! A text that it returns is only text: it is checked like that of any file.

use std::ffi::OsString;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use documents::{Format, Unreadable};

use super::file::SkipReason;
use super::parser::{Parsing, sandboxed_mode, was_killed};
use contract::Fault;
use contract::config;
use platform::process::Program;
use platform::process::worker::{Worker, WorkerError};

/// Name of the hidden mode: `extractor <memory bytes> <document bytes>`.
const MODE: &str = "extractor";
/// Additional memory for each byte of a document: for its copies, and for what it unpacks to.
const MEMORY_PER_BYTE: u64 = 16;
/// Maximum length of the text of a document in bytes; the rest of it is omitted.
const TEXT_BYTES_MAX: usize = 4 * 1024 * 1024;
/// Bytes of an answer besides the text, at most.
const ANSWER_BYTES: usize = 1024;
/// Bytes of a request besides the document: its format.
const HEAD_BYTES: usize = 1;
/// Attempts for each document. If the process dies in both, the document is taken to be the cause.
const ATTEMPTS: usize = 2;

/// A process that extracts texts, started on first use.
pub struct Extractor {
    parsing: Parsing,
    worker: Option<Worker>,
}

impl Extractor {
    /// Creates an extractor without starting the process.
    #[must_use]
    pub fn new(parsing: Parsing) -> Self {
        Self { parsing, worker: None }
    }

    /// Returns the text of a document, or the reason to skip it. Blocks. If it is cancelled, the result is to be discarded.
    ///
    /// # Errors
    /// If the process cannot be started.
    pub fn text(
        &mut self,
        format: Format,
        document: &[u8],
        settings: &config::Indexing,
        cancelled: &(dyn Fn() -> bool + Sync),
    ) -> Result<Result<String, SkipReason>, Fault> {
        let Parsing::Sandboxed { program, memory_bytes } = &self.parsing else {
            return Ok(checked(documents::extract(format, document, TEXT_BYTES_MAX)));
        };
        let mut request = Vec::with_capacity(HEAD_BYTES + document.len());
        request.push(format.number());
        request.extend(document);
        let format = format.as_str();
        let mut reason = SkipReason::UnreadableDocument;
        for _ in 0..ATTEMPTS {
            let mut worker = match self.worker.take() {
                Some(worker) => worker,
                None => {
                    let bytes_max = settings.document_bytes_max.max(settings.file_bytes_max);
                    let limits = [*memory_bytes, bytes_max].map(|limit| limit.to_string());
                    let arguments = std::iter::once(MODE).chain(limits.iter().map(String::as_str));
                    Worker::start(Program::new(program).args(arguments).env_clear())?
                }
            };
            let deadline = Instant::now() + Duration::from_millis(settings.document_timeout_ms);
            let answer = worker.request(&request, TEXT_BYTES_MAX + ANSWER_BYTES, deadline, cancelled);
            match answer.map(|answer| postcard::from_bytes::<Result<String, Unreadable>>(&answer)) {
                Ok(Ok(text)) => {
                    self.worker = Some(worker);
                    return Ok(checked(text));
                }
                Ok(Err(_)) | Err(WorkerError::TooLarge) => {
                    tracing::warn!(format, "an extractor returned an invalid answer");
                }
                Err(WorkerError::Cancelled) => break,
                Err(WorkerError::TimedOut) => {
                    tracing::warn!(format, "a document was not read in time");
                    return Ok(Err(SkipReason::DocumentTimeout));
                }
                Err(WorkerError::Ended) => reason = reason_of_end(format, worker),
            }
        }
        Ok(Err(reason))
    }
}

/// Returns a text in its stored form, or the reason why it cannot be stored.
fn checked(text: Result<String, Unreadable>) -> Result<String, SkipReason> {
    match text {
        Ok(text) if text.len() > TEXT_BYTES_MAX + ANSWER_BYTES || text.contains('\0') => {
            Err(SkipReason::UnreadableDocument)
        }
        Ok(text) if text.trim().is_empty() => Err(SkipReason::DocumentWithoutText),
        Ok(text) => Ok(text),
        Err(Unreadable::Damaged) => Err(SkipReason::UnreadableDocument),
        Err(Unreadable::Encrypted) => Err(SkipReason::EncryptedDocument),
        Err(Unreadable::NoText) => Err(SkipReason::DocumentWithoutText),
    }
}

/// Returns the reason why a document is skipped after its extractor died.
fn reason_of_end(format: &str, worker: Worker) -> SkipReason {
    let Some(output) = worker.wait_or_kill() else { return SkipReason::UnreadableDocument };
    let (status, stderr) = (output.status.to_string(), output.stderr_tail(3));
    tracing::warn!(format, status, stderr, "an extractor died while it read a document");
    if was_killed(output.status) { SkipReason::DocumentTimeout } else { SkipReason::UnreadableDocument }
}

/// Runs the hidden mode if the arguments select it; for `main`.
#[must_use]
pub fn hidden_mode(arguments: &[OsString]) -> Option<ExitCode> {
    let [selected @ .., document_bytes_max] = arguments else { return None };
    let document_bytes_max: usize = document_bytes_max.to_str()?.parse().ok()?;
    let request_bytes_max = document_bytes_max.saturating_add(HEAD_BYTES);
    sandboxed_mode(MODE, selected, request_bytes_max, MEMORY_PER_BYTE, |request, memory| {
        memory.permit(request.len());
        answer(request)
    })
}

/// Answers a request; an invalid request gets an empty answer, which the caller rejects.
fn answer(request: &[u8]) -> Vec<u8> {
    let Some((number, document)) = request.split_first() else { return Vec::new() };
    let Some(format) = Format::from_number(*number) else { return Vec::new() };
    postcard::to_stdvec(&documents::extract(format, document, TEXT_BYTES_MAX)).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::PermissionsExt;

    use super::*;
    use contract::config::fuzzing::defaults;

    /// Extracts a text with a shell script as the process. The file `$frame` contains the answer.
    fn text_with(script: &str, answer: &[u8], timeout_ms: u64) -> Result<String, SkipReason> {
        let folder = tempfile::tempdir().unwrap();
        let (program, frame) = (folder.path().join("extractor"), folder.path().join("frame"));
        let length = u32::try_from(answer.len()).unwrap().to_le_bytes();
        fs::write(&frame, [&length, answer].concat()).unwrap();
        fs::write(&program, format!("#!/bin/sh\nframe={}\n{script}\n", frame.display())).unwrap();
        fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
        let mut extractor = Extractor::new(Parsing::Sandboxed { program, memory_bytes: 0 });
        let mut settings = defaults().indexing.clone();
        settings.document_timeout_ms = timeout_ms;
        extractor.text(Format::Pdf, b"%PDF-1.7", &settings, &|| false).unwrap()
    }

    fn encoded(answer: &Result<String, Unreadable>) -> Vec<u8> {
        postcard::to_stdvec(answer).unwrap()
    }

    #[test]
    fn an_answer_is_a_text_or_a_reason() {
        let serve = "cat $frame; sleep 60";
        let text = || "[page 1]\nwords\n".to_owned();
        assert_eq!(text_with(serve, &encoded(&Ok(text())), 60_000), Ok(text()));
        for (answer, reason) in [
            (Err(Unreadable::Damaged), SkipReason::UnreadableDocument),
            (Err(Unreadable::Encrypted), SkipReason::EncryptedDocument),
            (Err(Unreadable::NoText), SkipReason::DocumentWithoutText),
            (Ok("a\0b".to_owned()), SkipReason::UnreadableDocument),
            (Ok(" \n".to_owned()), SkipReason::DocumentWithoutText),
        ] {
            assert_eq!(text_with(serve, &encoded(&answer), 60_000), Err(reason), "{answer:?}");
        }
    }

    #[test]
    fn a_document_whose_extractor_fails_is_skipped() {
        let unreadable = Err(SkipReason::UnreadableDocument);
        for script in ["kill -s SEGV $$", "exit 1", "head -c 6 $frame", "yes", "cat $frame; sleep 60"] {
            assert_eq!(text_with(script, &[0xff; 100], 60_000), unreadable, "{script}");
        }
        assert_eq!(text_with("sleep 60", &[], 200), Err(SkipReason::DocumentTimeout));
        let crash_once = "test -e $frame.seen || { touch $frame.seen; exit 1; }; cat $frame; sleep 60";
        let text = "words\n".to_owned();
        assert_eq!(text_with(crash_once, &encoded(&Ok(text.clone())), 60_000), Ok(text));
    }

    #[test]
    fn requests_are_answered_as_documents_are_read_in_process() {
        let expected = documents::extract(Format::Pdf, b"%PDF-", TEXT_BYTES_MAX);
        assert_eq!(expected, Err(Unreadable::Damaged));
        let answer = answer(&[vec![Format::Pdf.number()], b"%PDF-".to_vec()].concat());
        assert_eq!(postcard::from_bytes::<Result<String, Unreadable>>(&answer), Ok(expected));
        assert!(super::answer(b"").is_empty() && super::answer(&[99, 1]).is_empty());
        let mut extractor = Extractor::new(Parsing::InProcess);
        let text = extractor.text(Format::Pdf, b"%PDF-", &defaults().indexing, &|| false).unwrap();
        assert_eq!(text, Err(SkipReason::UnreadableDocument));
    }

    #[test]
    fn only_its_own_arguments_select_the_mode() {
        let arguments = |words: &[&str]| words.iter().map(OsString::from).collect::<Vec<_>>();
        for words in
            [&["extractor"][..], &["parser", "1", "2"], &["extractor", "1", "x"], &["extractor", "1"]]
        {
            assert!(hidden_mode(&arguments(words)).is_none(), "{words:?}");
        }
    }
}
