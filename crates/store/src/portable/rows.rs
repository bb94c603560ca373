//! The rows that are copied from a project's tables into a portable file, page by page.

use crate::{DefinitionRow, TermCount};

/// Some files with all rows of their chunks.
#[derive(Debug, Default)]
pub struct Page {
    /// The files.
    pub files: Vec<FileOut>,
    /// Their chunks.
    pub chunks: Vec<ChunkOut>,
    /// The definitions in the chunks.
    pub definitions: Vec<DefinitionRow>,
    /// The chunks' comments.
    pub comments: Vec<CommentOut>,
    /// Vectors of the chunks' texts.
    pub vectors: Vec<VectorOut>,
}

/// A content hash and its vector.
pub type VectorOut = (Vec<u8>, Vec<f32>);

/// A file.
#[derive(Debug, Clone)]
pub struct FileOut {
    /// Id of the row.
    pub id: i64,
    /// Id of its repository.
    pub repository_id: i64,
    /// Relative to the repository's root.
    pub path: String,
    /// Language id.
    pub language: Option<String>,
    /// Lower case without the dot.
    pub extension: Option<String>,
    /// `code`, `prose` or `records`.
    pub mode: String,
    /// Size in bytes.
    pub bytes: i64,
    /// Lines.
    pub lines: i32,
    /// blake3 of the bytes.
    pub content_hash: Vec<u8>,
    /// Ids of the names it imports.
    pub imports: Vec<i64>,
    /// Its metadata as `key=value`.
    pub meta: Option<Vec<String>>,
    /// Its git history.
    pub history: crate::FileFacts,
}

/// A chunk with its words and facts.
#[derive(Debug, Clone)]
pub struct ChunkOut {
    /// Id of the row.
    pub id: i64,
    /// Id of its file.
    pub file_id: i64,
    /// Position among the chunks of its file, from 0.
    pub ordinal: i32,
    /// First and last line, 1-based and inclusive.
    pub lines: (i32, i32),
    /// `function`, `class`, `block` …
    pub kind: String,
    /// Qualified name of the main definition.
    pub name: Option<String>,
    /// Line of that name.
    pub name_line: Option<i32>,
    /// Simple names defined in it.
    pub defines: Vec<String>,
    /// Signature of the main definition, on one line.
    pub signature: Option<String>,
    /// Its text.
    pub content: String,
    /// blake3 of the text.
    pub content_hash: Vec<u8>,
    /// Facts that are displayed but not filtered by, as JSON.
    pub detail: Option<String>,
    /// Numbers of branches, loops, breaks and continues.
    pub counts: [Option<i16>; 4],
    /// Ids of its facts.
    pub facts: Vec<i64>,
    /// Term ids with their BM25 weights.
    pub term_weights: Vec<(i32, f32)>,
}

/// The comments of a chunk.
#[derive(Debug, Clone)]
pub struct CommentOut {
    /// Id of the chunk.
    pub chunk_id: i64,
    /// First and last line, 1-based and inclusive.
    pub lines: (i32, i32),
    /// Their text.
    pub content: String,
    /// Term ids with their BM25 weights.
    pub term_weights: Vec<(i32, f32)>,
}

/// Rows that every update writes again, because they are few or change while the texts do not.
#[derive(Debug)]
pub enum RewrittenRows {
    /// Files whose chunks did not change.
    Files(Vec<FileOut>),
    /// Values of facts: id, field, value, folded value.
    Names(Vec<(i64, i16, String, String)>),
    /// Document frequencies.
    Terms(Vec<TermCount>),
    /// Authors of a chunk's lines: chunk, ids of names.
    Authors(Vec<(i64, Vec<i64>)>),
    /// Flows of untrusted input between files: chunk, ids of facts, JSON.
    Flows(Vec<(i64, Vec<i64>, String)>),
    /// Numbers of other files that use a chunk's definitions: chunk, number.
    Users(Vec<(i64, i32)>),
    /// Vectors of texts that had none.
    Vectors(Vec<VectorOut>),
}
