//! The data types of a chunked file.

use serde::{Deserialize, Serialize};

use super::defined::ChunkDefinition;
use super::facts::{Comment, Facts, Flow};
use super::lines::Lines;
use super::symbols::FileSymbols;
use super::word::{self, Word};

/// A run of whole lines that is searched, embedded and displayed as a unit.
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
    /// Line of that name, 1-based. In another chunk if this one is only a part of a long definition, or its documentation.
    pub line: Option<u32>,
    /// Simple names that this chunk defines, in order, without duplicates, at most 64. Lexical search gives them more weight.
    pub defines: Vec<String>,
    /// The main definition up to its body, on one line, at most 200 characters; only in the chunk it starts in.
    pub signature: Option<String>,
    /// All definitions whose names it contains, in order.
    pub definitions: Vec<ChunkDefinition>,
    /// The text of the lines, without the final line break. It is not serialised, because the process that receives the chunks
    /// has the text of the file.
    #[serde(skip)]
    pub text: String,
    /// Facts of its code.
    pub facts: Facts,
    /// Its comments, in order.
    pub comments: Vec<Comment>,
}

/// The chunks of a file, with its imports and data flow.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Chunked {
    /// In line order, without overlap; every line that is not blank is in exactly one.
    pub chunks: Vec<Chunk>,
    /// The method by which the file was split: along its syntax, along its headings or by lines.
    pub how: ChunkingMethod,
    /// Paths that the file imports, as written, and their parent paths; sorted.
    pub imports: Vec<String>,
    /// Data flow in the file.
    pub flow: Flow,
    /// Its symbols; `None` if there are none for its language, or they were not requested, or its facts are missing.
    pub symbols: Option<FileSymbols>,
    /// The reason why its facts, comments and imports could not be extracted; `None` if they were, or were not requested. With a reason of
    /// [`MISSING_FACTS`], another attempt may succeed.
    #[serde(with = "word::optional")]
    pub facts_missing: Option<Word>,
    /// Line of the first part that the grammar does not accept, 1-based; `None` if it accepts all, or the text was not parsed.
    pub syntax_error: Option<u32>,
}

/// Reasons for missing facts that may not occur again: a timeout while the file was parsed and chunked (`parse_timeout`) or
/// while its facts were extracted (`facts_timeout`). Other reasons depend only on the text, such as `too_many_facts` and
/// `parse_failed`.
pub const MISSING_FACTS: &[&str] = &["parse_timeout", "facts_timeout"];

/// The method by which a file was split into chunks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum ChunkingMethod {
    /// Along its syntax tree.
    Syntax,
    /// Along the headings of a document, or the marks of its pages, without a tree.
    Sections,
    /// At blank lines, for this reason (`no_grammar`, `too_large`, `hazard`, `parse_timeout`, `parse_failed`).
    Lines(#[serde(with = "word")] Word),
}

impl Chunked {
    /// Sets the texts of chunks that were received without them. `None` if the chunks are not lines of `text`, in order and
    /// without overlap, or the symbols are not sound.
    #[must_use]
    pub fn with_text(mut self, text: &str) -> Option<Self> {
        if self.symbols.as_ref().is_some_and(|symbols| !symbols.is_sound()) {
            return None;
        }
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

    pub(super) fn new(chunks: Vec<Chunk>, how: ChunkingMethod) -> Self {
        Self {
            chunks,
            how,
            imports: Vec::new(),
            flow: Flow::default(),
            symbols: None,
            facts_missing: None,
            syntax_error: None,
        }
    }
}
