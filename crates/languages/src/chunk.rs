//! A file's text to its chunks: along the syntax where there is a grammar, by lines elsewhere.

use std::thread;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::defined::Defined;
use super::facts::{self, Comment, Facts, Flow};
use super::language::{Grammar, Language};
use super::lines::Lines;
use super::stop::{Late, Stop};
use super::syntax::Outline;
use super::tree_query::Nodes;
use super::word::Word;
use super::{merge, name, split, syntax, word};

/// Bump when the same file gives other chunks; stored with an index so that it is rebuilt.
pub const CHUNKER_VERSION: i32 = 1;

/// A run of whole lines that is searched, embedded and shown as one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Chunk {
    /// First line, 1-based.
    pub start_line: u32,
    /// Last line, inclusive.
    pub end_line: u32,
    /// `function`, `method`, `class`, `struct`, `interface`, `trait`, `enum`, `impl`, `module`, `type`,
    /// `variable`, `section`, or `block` where nothing is defined.
    #[serde(with = "word")]
    pub kind: Word,
    /// Qualified name of the main definition: `Outer.inner`, or with the language's own separator.
    pub name: Option<String>,
    /// Line of that name, 1-based; of a part of a definition, or of its documentation, the name stands in another chunk.
    pub line: Option<u32>,
    /// Simple names that this chunk defines, in order, each once, at most 64: what its words are weighed by.
    pub defines: Vec<String>,
    /// The main definition up to its body, on one line, at most 200 characters; only in the chunk it starts in.
    pub signature: Option<String>,
    /// All definitions whose names stand in it, in their order.
    pub definitions: Vec<Defined>,
    /// The lines as they stand in the file, without the last line's end. It is not sent between processes: whoever
    /// receives chunks has the file.
    #[serde(skip)]
    pub text: String,
    /// What its code does.
    pub facts: Facts,
    /// What people wrote in it, in order.
    pub comments: Vec<Comment>,
}

/// The chunks of a file and how they came about.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Chunked {
    /// In line order, without overlap; every line that is not blank is in exactly one.
    pub chunks: Vec<Chunk>,
    /// Along the syntax or by lines.
    pub how: How,
    /// What the file imports, sorted: as written, with the paths above.
    pub imports: Vec<String>,
    /// How values move in it.
    pub flow: Flow,
    /// Why its facts, comments and imports were not read although they were looked for. A reason of [`MISSING_FACTS`]
    /// may be gone another time; the others belong to the text.
    #[serde(with = "word::optional")]
    pub facts_missing: Option<Word>,
}

/// Reasons why a file's facts are missing that another attempt may not meet: its time ran out before there was a tree and
/// chunks along it (`parse_timeout`) or before the facts were read (`facts_timeout`). That it has more facts than are kept
/// (`too_many_facts`) or that its thread failed (`parse_failed`) belongs to the text.
pub const MISSING_FACTS: &[&str] = &["parse_timeout", "facts_timeout"];

/// What the chunk borders follow.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum How {
    /// The syntax tree.
    Syntax,
    /// Lines and blank lines, for this reason (`no_grammar`, `too_large`, `hazard`, `parse_timeout`, `parse_failed`).
    Lines(#[serde(with = "word")] Word),
}

/// Sizes and bounds of chunking. Characters are counted without whitespace.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChunkLimits {
    /// What small neighbours are merged up to.
    pub chars_target: usize,
    /// What a definition may have and still stay whole.
    pub chars_max: usize,
    /// Most chunks of a file; above, neighbours are joined until it holds.
    pub chunks_max: usize,
    /// Longest time for one file's syntax and facts. Reading the queries of its language, once a process, does not
    /// count.
    pub parse_timeout: Duration,
    /// Whether facts are looked for.
    pub facts: bool,
}

impl Default for ChunkLimits {
    fn default() -> Self {
        Self {
            chars_target: 750,
            chars_max: 1500,
            chunks_max: 2000,
            parse_timeout: Duration::from_secs(2),
            facts: true,
        }
    }
}

/// Stack for each byte of text. The parser's own release of its stack recurses where a grammar is ambiguous, at
/// worst once a token: a hundred bytes a frame were seen, five times that is given.
const STACK_BYTES_PER_BYTE: usize = 512;
/// Text up to this fits the stack of any thread; longer text is parsed on a thread of its own, with a stack
/// that it cannot exhaust (address space only: untouched pages cost nothing).
const INLINE_BYTES_MAX: usize = 4096;
/// Text above this is not parsed: its stack would be a gigabyte.
pub const PARSED_BYTES_MAX: usize = 2 * 1024 * 1024;

/// Cuts a text into chunks. Never fails: what cannot be parsed is cut by lines, with the reason.
#[must_use]
pub fn chunk(text: &str, language: Option<&'static Language>, limits: &ChunkLimits) -> Chunked {
    chunk_while(text, language, limits, &|| false)
}

/// As [`chunk()`], until `cancelled` is true: what comes then is cut by lines, as if the time had run out. It is asked some
/// hundred times a second, by one thread at a time.
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
    let parsed = match language
        .and_then(|language| language.grammar.as_ref().map(|grammar| (language, grammar)))
    {
        None => Err("no_grammar"),
        Some(_) if text.len() > PARSED_BYTES_MAX => Err("too_large"),
        Some((_, grammar)) if grammar.hazard.is_some_and(|hazard| hazard(text)) => Err("hazard"),
        Some((language, grammar)) => with_stack(text.len(), || {
            let along = |outline: &Outline<'_>, nodes: &Nodes<'_>| {
                let split = split::split(nodes.node(0), outline, &lines, limits, stop)?;
                let pieces = merge::merge(split, outline, &lines, limits);
                let mut chunked = Chunked::new(name::chunks(&pieces, outline, &lines, stop)?, How::Syntax);
                if limits.facts {
                    chunked.facts_missing = add_facts(&mut chunked, grammar, outline, nodes, stop).err();
                }
                Ok(chunked)
            };
            let cut = syntax::with_outline(text, language.separator, grammar, stop, along)?;
            cut.map_err(|Late| "parse_timeout")
        })
        .unwrap_or(Err("parse_failed")),
    };
    parsed.unwrap_or_else(|reason| cut_by_lines(&lines, limits, reason))
}

/// Cuts a text by lines for a reason of [`How::Lines`], without looking at its syntax.
#[must_use]
pub fn by_lines(text: &str, limits: &ChunkLimits, reason: &'static str) -> Chunked {
    cut_by_lines(&Lines::new(text), limits, reason)
}

fn cut_by_lines(lines: &Lines<'_>, limits: &ChunkLimits, reason: &'static str) -> Chunked {
    let pieces = merge::bound(lines.cut(0, lines.last_row(), limits), limits);
    let mut chunked = Chunked::new(name::blocks(&pieces, lines), How::Lines(reason));
    // Of a language without a grammar nothing was looked for.
    chunked.facts_missing = Some(reason).filter(|reason| *reason != "no_grammar");
    chunked
}

impl Chunked {
    /// Puts the lines of `text` into chunks that came without. None where they are not lines of it, in order and
    /// without overlap.
    #[must_use]
    pub fn with_text(mut self, text: &str) -> Option<Self> {
        let lines = Lines::new(text);
        let mut row = 0;
        for chunk in &mut self.chunks {
            let (first, last) =
                ((chunk.start_line as usize).checked_sub(1)?, chunk.end_line.checked_sub(1)? as usize);
            if first < row || last < first || last >= lines.count() {
                return None;
            }
            lines.text(first, last).clone_into(&mut chunk.text);
            row = last + 1;
        }
        Some(self)
    }

    fn new(chunks: Vec<Chunk>, how: How) -> Self {
        Self { chunks, how, imports: Vec::new(), flow: Flow::default(), facts_missing: None }
    }
}

/// Adds what the language's `facts.scm` finds. The error is the reason why that is not to be had: the chunks stay as
/// they are, and a fact that is not known passes no filter.
fn add_facts(
    chunked: &mut Chunked,
    grammar: &Grammar,
    outline: &Outline<'_>,
    nodes: &Nodes<'_>,
    stop: &Stop<'_>,
) -> Result<(), &'static str> {
    let compiled = grammar.facts().map_err(|_| "bad_query")?;
    let items = facts::items(outline.text, compiled, nodes, stop)?;
    let rows = |chunk: &Chunk| (chunk.start_line as usize - 1, chunk.end_line as usize - 1);
    let places: Vec<_> = chunked.chunks.iter().map(rows).collect();
    let gathered = facts::gather(outline, compiled, items, nodes.node(0), &places, stop);
    let gathered = gathered.map_err(|Late| "facts_timeout")?;
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
    Ok(())
}

/// Runs `work` where there is stack enough for a text of `bytes`. Nothing when there is none to be had or the
/// work panicked.
fn with_stack<R: Send>(bytes: usize, work: impl FnOnce() -> R + Send) -> Option<R> {
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

    use super::*;
    use crate::by_name;
    use crate::facts::Field;

    /// A grammar whose first handles, with which the queries are read, take longer than a file may.
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
    fn reading_the_queries_takes_nothing_of_a_files_time() {
        let limits = ChunkLimits { parse_timeout: Duration::from_secs(1), ..ChunkLimits::default() };
        let chunked = chunk("def send(parcel):\n    wrap(parcel)\n", Some(&SLOW), &limits);
        assert_eq!((chunked.how, chunked.facts_missing), (How::Syntax, None));
        assert!(chunked.chunks[0].facts.has(Field::Call, "wrap"), "{chunked:#?}");
    }

    #[test]
    fn a_file_says_why_it_has_no_facts() {
        let text = "def send(parcel):\n    wrap(parcel)\n".repeat(20_000);
        let python = by_name("python");
        let limits = ChunkLimits { parse_timeout: Duration::from_nanos(1), ..ChunkLimits::default() };
        let chunked = chunk(&text, python, &limits);
        assert_eq!(
            (chunked.how, chunked.facts_missing),
            (How::Lines("parse_timeout"), Some("parse_timeout"))
        );
        assert!(!chunked.chunks.is_empty());
        assert_eq!(chunk("said", None, &limits).facts_missing, None, "nothing was looked for");
        assert_eq!(chunk("said", by_name("dart"), &limits).facts_missing, None, "nor here");

        // Past its time after the tree was there.
        let grammar = python.unwrap().grammar.as_ref().unwrap();
        let in_time = Stop::new(Duration::from_secs(600), &|| false);
        let over = Stop::new(Duration::ZERO, &|| false);
        let outcome = syntax::with_outline(&text, ".", grammar, &in_time, |outline, nodes| {
            let mut chunked = Chunked::new(Vec::new(), How::Syntax);
            add_facts(&mut chunked, grammar, outline, nodes, &over)
        });
        assert_eq!(outcome, Ok(Err("facts_timeout")));
    }
}
