//! The rows of a file, as a run writes them.

use super::names::NamedFact;

/// The new state of a file, with all its chunks.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct FileWrite {
    /// Path relative to the repository's root; unique within a batch, except in a hidden repository of revisions.
    pub path: String,
    /// Language id.
    pub language: Option<&'static str>,
    /// Extension in lower case, without the dot.
    pub extension: Option<String>,
    /// `code`, `prose` or `records`.
    pub mode: &'static str,
    /// Size in bytes.
    pub bytes: i64,
    /// Modification time, nanoseconds since the epoch.
    pub modified_ns: i64,
    /// blake3 of the bytes; empty if the file was skipped without being read.
    pub content_hash: Vec<u8>,
    /// Number of lines.
    pub lines: u32,
    /// The reason why it is not searchable; it then has no chunks. `None` if it is.
    pub skipped: Option<&'static str>,
    /// The reason why its facts could not be read, if it is searchable all the same.
    pub facts_missing: Option<&'static str>,
    /// Milliseconds spent in all on attempts to read its facts that timed out.
    pub facts_tried_ms: i64,
    /// Names that it imports.
    pub imports: Vec<NamedFact>,
    /// Its metadata as `key=value`, lower-case; `None` if it has none.
    pub meta: Option<Vec<String>>,
    /// Open ends of flows (untrusted input that leaves the file, and dangerous parameters), as JSON; `None` if there are none.
    pub risk_ends: Option<String>,
    /// Its symbols; `None` if they were not read.
    pub symbols: Option<SymbolsWrite>,
    /// Its chunks, in file order.
    pub chunks: Vec<ChunkWrite>,
}

/// The symbols of a file.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SymbolsWrite {
    /// The part that other files can see and the rest, serialised; `None` if they are larger than a run may store.
    pub halves: Option<(Vec<u8>, Vec<u8>)>,
    /// Names that the file defines or passes on. The upper half of each is the hash of the name, the lower one that of its meaning.
    pub offers: Vec<i64>,
    /// Hashes of all names that the file mentions.
    pub mentions: Vec<i32>,
    /// `true` if some symbols are missing, because the file has too many.
    pub truncated: bool,
}

/// A chunk with its lexical row. Its texts must not contain NUL.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ChunkWrite {
    /// First line, 1-based.
    pub start_line: u32,
    /// Last line, 1-based and inclusive.
    pub end_line: u32,
    /// `function`, `class`, `block` …
    pub kind: &'static str,
    /// Qualified name of the main definition.
    pub name: Option<String>,
    /// Simple names defined in it.
    pub defines: Vec<String>,
    /// Line of the main definition's name, which may be in another chunk.
    pub name_line: Option<u32>,
    /// Signature of the main definition, on one line.
    pub signature: Option<String>,
    /// Its definitions, in file order.
    pub definitions: Vec<DefinitionWrite>,
    /// Ids of the names that it defines, as facts.
    pub defined: Vec<i64>,
    /// Signatures of all its definitions, one on each line.
    pub signatures: Option<String>,
    /// Its text.
    pub content: String,
    /// blake3 of the text.
    pub content_hash: [u8; 32],
    /// Its terms, with their weights.
    pub words: WordsWrite,
    /// Facts that filters find it by.
    pub facts: Vec<NamedFact>,
    /// Numbers of branches, loops, breaks and continues; `None` if they are not counted.
    pub counts: Option<[i16; 4]>,
    /// Facts that are displayed but not filtered by, as JSON.
    pub detail: Option<String>,
    /// Its comments, if they contain text.
    pub comment: Option<CommentWrite>,
}

/// A chunk with the ids that it gets.
pub(super) struct NewChunk<'a> {
    pub(super) id: i64,
    pub(super) file_id: i64,
    pub(super) ordinal: usize,
    pub(super) chunk: &'a ChunkWrite,
    /// The symbols of its definitions.
    pub(super) symbols: Vec<Option<i64>>,
}

/// A definition of a chunk.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct DefinitionWrite {
    /// Simple name.
    pub name: String,
    /// Name, qualified with those of the enclosing definitions.
    pub qualified: String,
    /// `function`, `class`, `method` …
    pub kind: &'static str,
    /// The fact of its folded simple name; navigation finds it by this fact. `None` if it is not a name of code.
    pub name_id: Option<i64>,
    /// Signature, on one line.
    pub signature: Option<String>,
    /// Line of the name, 1-based.
    pub line: u32,
    /// Column of the name in characters, 1-based.
    pub column: u32,
    /// First line, including attributes, 1-based.
    pub start_line: u32,
    /// Last line, 1-based and inclusive.
    pub end_line: u32,
    /// `true` if other files can use it; `None` if that is unknown.
    pub exported: Option<bool>,
    /// Its facts; `None` if they are those of the chunk.
    pub facts: Option<Vec<NamedFact>>,
}

/// The lexical row of a text.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct WordsWrite {
    /// Term ids, sorted and unique.
    pub terms: Vec<i32>,
    /// BM25 weights, parallel to `terms`.
    pub weights: Vec<f32>,
}

/// The comments of a chunk as one text.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct CommentWrite {
    /// First line of the first comment, 1-based.
    pub start_line: u32,
    /// Last line of the last comment, inclusive.
    pub end_line: u32,
    /// Their text.
    pub content: String,
    /// Its terms, with their weights.
    pub words: WordsWrite,
}
