//! Colours source code in a separate process, because the grammars are C code and the texts are untrusted.
//!
//! As when files are indexed ([`parser`](crate::indexing::parser)), the process is this program in a hidden mode, which first gives up
//! access to files, the network and other processes. A text that crashes it, or takes too long, is shown without colours. Its answers are
//! checked before they are used.

use std::ffi::OsString;
use std::process::ExitCode;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};
use tokio::sync::Semaphore;

use crate::indexing::parser::{MEMORY_PER_BYTE, Parsing, TextMemory, sandboxed_mode};
use languages::highlight::{HighlightLimits, HighlightedSpan, highlight};
use platform::process::Program;
use platform::process::worker::Worker;
use platform::task::blocking;

/// Name of the hidden mode: `highlighter <memory bytes>`.
const MODE: &str = "highlighter";
/// Maximum length of a request in bytes: the texts with their languages. Longer ones are not coloured.
const REQUEST_BYTES_MAX: usize = 2 << 20;
/// Maximum length of an answer in bytes, and the addition for each byte of the texts.
const ANSWER_BYTES: usize = 64 << 10;
const ANSWER_PER_BYTE: usize = 16;
/// Time until the process is killed. Colours are not worth a longer wait.
const TIMEOUT: Duration = Duration::from_millis(1500);
/// Requests at a time, and idle processes that are kept. The work of a caller that gives up continues without a slot, so for a
/// moment there may be more processes.
const PROCESSES_MAX: usize = 2;
/// The longest time that a request waits for one of them.
const WAIT: Duration = Duration::from_millis(500);

/// A text to colour.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct CodeText {
    /// Language id; texts in unknown languages get no colours.
    pub language: String,
    /// The text.
    pub text: String,
}

/// Colours texts; starts its processes on first use.
pub struct Highlighter {
    parsing: Parsing,
    idle: Mutex<Vec<Worker>>,
    slots: Semaphore,
}

impl Highlighter {
    /// Creates a highlighter without a process.
    #[must_use]
    pub fn new(parsing: Parsing) -> Self {
        Self { parsing, idle: Mutex::default(), slots: Semaphore::new(PROCESSES_MAX) }
    }

    /// Returns the highlighted spans of each text. A text in an unknown language has none. No text has any if no process is free in
    /// time, or if the request is too long, crashes its process or takes too long.
    pub async fn highlight(self: &Arc<Self>, texts: Vec<CodeText>) -> Vec<Vec<HighlightedSpan>> {
        let without = vec![Vec::new(); texts.len()];
        let Ok(Ok(_slot)) = tokio::time::timeout(WAIT, self.slots.acquire()).await else { return without };
        let this = Arc::clone(self);
        blocking(move || Ok(this.highlight_now(&texts))).await.unwrap_or(without)
    }

    fn highlight_now(&self, texts: &[CodeText]) -> Vec<Vec<HighlightedSpan>> {
        let spans = match &self.parsing {
            Parsing::InProcess => Some(texts.iter().map(spans_of).collect()),
            Parsing::Sandboxed { .. } => self.highlight_in_process(texts),
        };
        spans.unwrap_or_else(|| vec![Vec::new(); texts.len()])
    }

    fn highlight_in_process(&self, texts: &[CodeText]) -> Option<Vec<Vec<HighlightedSpan>>> {
        let Parsing::Sandboxed { program, memory_bytes } = &self.parsing else { return None };
        let bytes: usize = texts.iter().map(|text| text.text.len()).sum();
        let request = postcard::to_stdvec(texts).ok().filter(|request| request.len() <= REQUEST_BYTES_MAX)?;
        let idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner).pop();
        let started = || {
            let program = Program::new(program).args([MODE, &memory_bytes.to_string()]).env_clear();
            Worker::start(program)
                .inspect_err(|fault| tracing::warn!("code is shown without colours: {}", fault.message))
                .ok()
        };
        let mut worker = idle.or_else(started)?;
        let answer_max = ANSWER_BYTES + ANSWER_PER_BYTE * bytes;
        let answer = worker.request(&request, answer_max, Instant::now() + TIMEOUT, &|| false);
        let answer =
            answer.inspect_err(|error| tracing::warn!(?error, "code is shown without colours")).ok()?;
        let spans: Vec<Vec<HighlightedSpan>> = postcard::from_bytes(&answer).ok()?;
        let are_valid = spans.len() == texts.len()
            && spans.iter().zip(texts).all(|(spans, text)| are_parts_of(spans, &text.text));
        if !are_valid {
            tracing::warn!("a highlighter returned an invalid answer");
            return None;
        }
        let mut idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner);
        if idle.len() < PROCESSES_MAX {
            idle.push(worker);
        }
        Some(spans)
    }
}

/// Returns whether the spans are in order, do not overlap, and can be cut from the text.
fn are_parts_of(spans: &[HighlightedSpan], text: &str) -> bool {
    let mut end = 0;
    spans.iter().all(|span| {
        let fits = end <= span.start && span.start < span.end && text.get(span.start..span.end).is_some();
        end = span.end;
        fits
    })
}

fn spans_of(text: &CodeText) -> Vec<HighlightedSpan> {
    let language = languages::by_name(&text.language);
    language.map(|language| highlight(language, &text.text, &HighlightLimits::default())).unwrap_or_default()
}

/// Runs the hidden mode if the arguments select it; for `main`.
#[must_use]
pub fn hidden_mode(arguments: &[OsString]) -> Option<ExitCode> {
    sandboxed_mode(MODE, arguments, REQUEST_BYTES_MAX, MEMORY_PER_BYTE, answer_request)
}

/// Answers a request; an invalid request gets an empty answer, which the caller rejects.
fn answer_request(request: &[u8], memory: &TextMemory<'_>) -> Vec<u8> {
    let Ok(texts) = postcard::from_bytes::<Vec<CodeText>>(request) else { return Vec::new() };
    memory.permit(request.len());
    let spans: Vec<_> = texts.iter().map(spans_of).collect();
    postcard::to_stdvec(&spans).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::PermissionsExt;

    use super::*;
    use languages::highlight::Highlight;

    fn text() -> CodeText {
        CodeText { language: "python".to_owned(), text: "def send(): # é\n    pass\n".to_owned() }
    }

    /// Colours [`text`] with a shell script as the process. The file `$frame` contains the answer.
    fn with_script(script: &str, answer: &[u8]) -> Vec<Vec<HighlightedSpan>> {
        let folder = tempfile::tempdir().unwrap();
        let (program, frame) = (folder.path().join("highlighter"), folder.path().join("frame"));
        let length = u32::try_from(answer.len()).unwrap().to_le_bytes();
        fs::write(&frame, [&length, answer].concat()).unwrap();
        fs::write(&program, format!("#!/bin/sh\nframe={}\n{script}\n", frame.display())).unwrap();
        fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
        Highlighter::new(Parsing::Sandboxed { program, memory_bytes: 0 }).highlight_now(&[text()])
    }

    fn encoded(spans: &[Vec<HighlightedSpan>]) -> Vec<u8> {
        postcard::to_stdvec(spans).unwrap()
    }

    #[test]
    fn a_valid_answer_is_taken() {
        let expected = Highlighter::new(Parsing::InProcess).highlight_now(&[text()]);
        assert!(expected[0].iter().any(|span| span.highlight == Highlight::Keyword), "{expected:?}");
        assert_eq!(with_script("cat $frame; sleep 60", &encoded(&expected)), expected);
    }

    #[test]
    fn whatever_else_is_answered_leaves_the_text_without_colours() {
        let span = |start, end| HighlightedSpan { start, end, highlight: Highlight::Keyword };
        let text = text().text;
        let text_end = text.len();
        let inside_a_character = text.find('é').unwrap() + 1;
        for spans in [
            vec![span(0, text_end + 1)],
            vec![span(3, 3)],
            vec![span(4, 6), span(5, 8)],
            vec![span(4, 6), span(0, 2)],
            vec![span(0, inside_a_character)],
        ] {
            assert_eq!(
                with_script("cat $frame; sleep 60", &encoded(std::slice::from_ref(&spans))),
                [vec![]],
                "{spans:?}"
            );
        }
        for answer in [encoded(&[]), encoded(&[vec![], vec![]]), vec![0xff; 64], Vec::new()] {
            assert_eq!(with_script("cat $frame; sleep 60", &answer), [vec![]], "{answer:?}");
        }
        for script in ["kill -s SEGV $$", "exit 1", "sleep 60", "yes"] {
            assert_eq!(with_script(script, &[1; 100]), [vec![]], "{script}");
        }
    }
}
