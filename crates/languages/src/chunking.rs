//! Splits the text of a file into chunks: along the syntax if its language has a grammar, else by lines.

use std::thread;

use super::cells::Cells;
use super::chunk::{Chunk, Chunked, ChunkingMethod};
use super::facts;
use super::grammar::Grammar;
use super::language::Language;
use super::limits::ChunkLimits;
use super::lines::Lines;
use super::outline::Outline;
use super::stop::{Stop, Stopped};
use super::tree_query::Nodes;
use super::{merge, name, sections, split, symbols, syntax};

/// Increase when the same file yields other chunks. It is stored with an index, which is rebuilt when it changes.
pub const CHUNKER_VERSION: i32 = 8;

/// Bytes of thread stack for each byte of text. If a grammar is ambiguous, the parser releases its own stack recursively, in
/// the worst case once per token. Frames of a hundred bytes were observed; this allows five times as much.
const STACK_BYTES_PER_BYTE: usize = 512;
/// Texts up to this length in bytes are parsed on the current thread. Longer ones get a thread with a stack that they cannot
/// exhaust; it only reserves address space, because untouched pages cost nothing.
const INLINE_BYTES_MAX: usize = 4096;
/// Maximum length in bytes of a text that is parsed; a longer one would need a stack of more than a gigabyte.
pub const PARSED_BYTES_MAX: usize = 2 * 1024 * 1024;

/// Splits a text into chunks. Never fails: a text that cannot be parsed is split by lines, with the reason.
#[must_use]
pub fn chunk(text: &str, language: Option<&'static Language>, limits: &ChunkLimits) -> Chunked {
    chunk_while(text, language, limits, &|| false)
}

/// As [`chunk()`], but stops parsing as soon as `cancelled` returns true, and then splits by lines as after a timeout.
/// `cancelled` is called by one thread at a time, every hundred steps of the parser, so it must be cheap.
#[must_use]
pub fn chunk_while(
    text: &str,
    language: Option<&'static Language>,
    limits: &ChunkLimits,
    cancelled: &(dyn Fn() -> bool + Sync),
) -> Chunked {
    chunk_until(text, language, limits, &Stop::new(limits.parse_timeout, cancelled))
}

pub(super) fn chunk_until(
    text: &str,
    language: Option<&'static Language>,
    limits: &ChunkLimits,
    stop: &Stop<'_>,
) -> Chunked {
    let lines = Lines::new(text);
    let cells = Cells::find(&lines, limits);
    let parsed =
        match language.and_then(|language| language.grammar.as_ref().map(|grammar| (language, grammar))) {
            None => match language.and_then(|language| sections::heading_scanner(language.id)) {
                Some(scan) => {
                    sections::chunk(text, &lines, scan, limits, stop).map_err(|Stopped| "parse_timeout")
                }
                None => Err("no_grammar"),
            },
            Some(_) if text.len() > PARSED_BYTES_MAX => Err("too_large"),
            Some((_, grammar)) if grammar.crash_check.is_some_and(|crashes| crashes(text)) => Err("hazard"),
            Some((language, grammar)) => with_stack(text.len(), || {
                let along = |outline: &Outline<'_>, nodes: &Nodes<'_>| {
                    let split = split::split(nodes.node(0), outline, (&lines, &cells), limits, stop)?;
                    let pieces = merge::merge(split, outline, (&lines, &cells), limits);
                    let mut chunked =
                        Chunked::new(name::chunks(&pieces, outline, &lines, stop)?, ChunkingMethod::Syntax);
                    chunked.syntax_error = syntax::first_error(nodes.node(0));
                    if limits.facts {
                        chunked.facts_missing = add_facts(&mut chunked, grammar, outline, nodes, stop).err();
                    }
                    Ok(chunked)
                };
                let cut = syntax::with_outline(text, language, grammar, stop, along)?;
                cut.map_err(|Stopped| "parse_timeout")
            })
            .unwrap_or(Err("parse_failed")),
        };
    parsed.unwrap_or_else(|reason| cut_by_lines(&lines, limits, reason))
}

/// Splits a text by lines without parsing it, for a reason of [`ChunkingMethod::Lines`].
#[must_use]
pub fn by_lines(text: &str, limits: &ChunkLimits, reason: &'static str) -> Chunked {
    cut_by_lines(&Lines::new(text), limits, reason)
}

fn cut_by_lines(lines: &Lines<'_>, limits: &ChunkLimits, reason: &'static str) -> Chunked {
    let cells = Cells::find(lines, limits).parts(lines.last_row());
    let cut = cells.into_iter().flat_map(|(first, last)| lines.cut(first, last, limits)).collect();
    let pieces = merge::bound(cut, limits);
    let mut chunked = Chunked::new(name::blocks(&pieces, lines), ChunkingMethod::Lines(reason));
    // Without a grammar no facts were expected, so none are missing.
    chunked.facts_missing = Some(reason).filter(|reason| *reason != "no_grammar");
    chunked
}

/// Adds the facts that the language's `facts.scm` extracts. The error is the reason why there are none; the chunks then stay as
/// they are, and pass no filter on facts.
fn add_facts(
    chunked: &mut Chunked,
    grammar: &Grammar,
    outline: &Outline<'_>,
    nodes: &Nodes<'_>,
    stop: &Stop<'_>,
) -> Result<(), &'static str> {
    let compiled = grammar.facts().map_err(|_| "bad_query")?;
    let items = facts::items(outline.text, compiled, nodes, stop)?;
    let extracted = match grammar.symbols {
        None if compiled.is_code() => Some(symbols::general::extract(outline, &items, stop)),
        _ => None,
    };
    let rows = |chunk: &Chunk| (chunk.start_line as usize - 1, chunk.end_line as usize - 1);
    let places: Vec<_> = chunked.chunks.iter().map(rows).collect();
    let gathered = facts::gather(outline, compiled, items, nodes.node(0), &places, stop);
    let gathered = gathered.map_err(|Stopped| "facts_timeout")?;
    let gathered_of = gathered.facts.into_iter().zip(gathered.comments).zip(gathered.definitions);
    for (chunk, ((facts, comments), definitions)) in chunked.chunks.iter_mut().zip(gathered_of) {
        chunk.facts = facts;
        chunk.comments = comments;
        for (definition, known) in chunk.definitions.iter_mut().zip(definitions) {
            (definition.facts, definition.exported) = (known.values, known.exported);
        }
    }
    chunked.imports = gathered.imports;
    chunked.flow = gathered.flow;
    let symbols = match extracted {
        Some(symbols) => symbols.map(Some),
        None => symbols::extract(grammar.symbols, (outline.text, outline.marks), nodes.node(0), stop),
    };
    chunked.symbols = symbols.map_err(|Stopped| "facts_timeout")?;
    let listed = chunked.chunks.iter().flat_map(|chunk| &chunk.definitions);
    let listed = listed.map(|one| symbols::Place { line: one.line, column: one.column }).collect();
    if let Some(symbols) = &mut chunked.symbols {
        symbols.mark_listed(&listed);
    }
    Ok(())
}

/// Runs `work` on a thread with enough stack for a text of `bytes`. `None` if the thread cannot be started or `work` panicked.
pub(crate) fn with_stack<R: Send>(bytes: usize, work: impl FnOnce() -> R + Send) -> Option<R> {
    if bytes <= INLINE_BYTES_MAX {
        return Some(work());
    }
    let stack = INLINE_BYTES_MAX * STACK_BYTES_PER_BYTE + bytes * STACK_BYTES_PER_BYTE;
    thread::scope(|scope| {
        let worker = thread::Builder::new().name("parse".to_owned()).stack_size(stack);
        worker.spawn_scoped(scope, work).ok()?.join().ok()
    })
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU32, Ordering};
    use std::time::Duration;

    use super::*;
    use crate::by_name;
    use crate::facts::Field;

    /// A grammar whose first two handles, used to compile the queries, take longer to create than the time limit of a file.
    fn slow() -> tree_sitter::Language {
        static HANDLES: AtomicU32 = AtomicU32::new(0);
        if HANDLES.fetch_add(1, Ordering::Relaxed) < 2 {
            thread::sleep(Duration::from_millis(1500));
        }
        tree_sitter_python::LANGUAGE.into()
    }

    static SLOW: Language = Language {
        id: "slow",
        title: "Slow",
        aliases: &[],
        extensions: &[],
        file_names: &[],
        interpreters: &[],
        separator: ".",
        grammar: Some(Grammar::new(
            slow,
            include_str!("python/definitions.scm"),
            include_str!("python/facts.scm"),
        )),
    };

    #[test]
    fn compiling_queries_does_not_count_towards_the_time_limit() {
        let limits = ChunkLimits { parse_timeout: Duration::from_secs(1), ..ChunkLimits::default() };
        let chunked = chunk("def send(parcel):\n    wrap(parcel)\n", Some(&SLOW), &limits);
        assert_eq!((chunked.how, chunked.facts_missing), (ChunkingMethod::Syntax, None));
        assert!(chunked.chunks[0].facts.has(Field::Call, "wrap"), "{chunked:#?}");
    }

    #[test]
    fn the_line_of_the_first_syntax_error_is_reported() {
        let error =
            |text: &str, language: &str| chunk(text, by_name(language), &ChunkLimits::default()).syntax_error;
        assert_eq!(error("def send(parcel):\n    wrap(parcel)\n", "python"), None);
        assert_eq!(error("x = 1\n\ny = = 2\n", "python"), Some(3));
        assert!(error("fn a() {}\n\nfn b( {\n", "rust").is_some());
        assert!(error("{ \"a\": 1,\n  \"b\": }\n", "json").is_some());
        assert_eq!(error("def (", "text"), None, "what is not parsed has no errors");
    }

    #[test]
    fn the_reason_for_missing_facts_is_reported() {
        let text = "def send(parcel):\n    wrap(parcel)\n".repeat(20_000);
        let python = by_name("python");
        let limits = ChunkLimits { parse_timeout: Duration::from_nanos(1), ..ChunkLimits::default() };
        let chunked = chunk(&text, python, &limits);
        assert_eq!(
            (chunked.how, chunked.facts_missing),
            (ChunkingMethod::Lines("parse_timeout"), Some("parse_timeout"))
        );
        assert!(!chunked.chunks.is_empty());
        assert_eq!(chunk("said", None, &limits).facts_missing, None, "nothing was looked for");
        assert_eq!(chunk("said", by_name("dart"), &limits).facts_missing, None, "nor here");

        // The time limit passes after the tree was built.
        let grammar = python.unwrap().grammar.as_ref().unwrap();
        let in_time = Stop::new(Duration::from_secs(600), &|| false);
        let over = Stop::new(Duration::ZERO, &|| false);
        let outcome = syntax::with_outline(&text, &SLOW, grammar, &in_time, |outline, nodes| {
            let mut chunked = Chunked::new(Vec::new(), ChunkingMethod::Syntax);
            add_facts(&mut chunked, grammar, outline, nodes, &over)
        });
        assert_eq!(outcome, Ok(Err("facts_timeout")));
    }
}
