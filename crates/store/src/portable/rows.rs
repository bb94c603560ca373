//! What goes from a project's tables into a portable file, a page at a time.

use crate::DefinitionRow;

/// Some files with all that is stored of their chunks.
#[derive(Debug, Default)]
pub struct Page {
    /// The files.
    pub files: Vec<FileOut>,
    /// Their chunks.
    pub chunks: Vec<ChunkOut>,
    /// What the chunks define.
    pub definitions: Vec<DefinitionRow>,
    /// The chunks' comments.
    pub comments: Vec<CommentOut>,
    /// Vectors of the chunks' texts.
    pub vectors: Vec<VectorOut>,
}

/// A content hash with its vector.
pub type VectorOut = (Vec<u8>, Vec<f32>);

/// A file.
#[derive(Debug, Clone)]
pub struct FileOut {
    /// Row id.
    pub id: i64,
    /// Its repository.
    pub repository_id: i64,
    /// Relative to the repository's root.
    pub path: String,
    /// Language id.
    pub language: Option<String>,
    /// Lower case without the dot.
    pub extension: Option<String>,
    /// `code`, `prose` or `records`.
    pub mode: String,
    /// Size.
    pub bytes: i64,
    /// Lines.
    pub lines: i32,
    /// blake3 of the bytes.
    pub content_hash: Vec<u8>,
    /// Ids of what it imports.
    pub imports: Vec<i64>,
    /// `key=value` of its metadata.
    pub meta: Option<Vec<String>>,
    /// What git knows of it.
    pub history: crate::FileFacts,
}

/// A chunk with its words and facts.
#[derive(Debug, Clone)]
pub struct ChunkOut {
    /// Row id.
    pub id: i64,
    /// Its file.
    pub file_id: i64,
    /// Place in the file.
    pub ordinal: i32,
    /// First and last line.
    pub lines: (i32, i32),
    /// Kind.
    pub kind: String,
    /// Qualified name of the main definition.
    pub name: Option<String>,
    /// Line of that name.
    pub name_line: Option<i32>,
    /// Simple names defined in it.
    pub defines: Vec<String>,
    /// One line.
    pub signature: Option<String>,
    /// The text.
    pub content: String,
    /// blake3 of the text.
    pub content_hash: Vec<u8>,
    /// What is shown of it besides, JSON.
    pub detail: Option<String>,
    /// Branches, loops, breaks, continues.
    pub counts: [Option<i16>; 4],
    /// Ids of its facts.
    pub facts: Vec<i64>,
    /// Term ids with their BM25 weights.
    pub words: Vec<(i32, f32)>,
}

/// The comments of a chunk.
#[derive(Debug, Clone)]
pub struct CommentOut {
    /// The chunk.
    pub chunk_id: i64,
    /// First and last line.
    pub lines: (i32, i32),
    /// The text.
    pub content: String,
    /// Term ids with their BM25 weights.
    pub words: Vec<(i32, f32)>,
}

/// What is written anew each time, because it is small or changes without the text.
#[derive(Debug)]
pub enum Small {
    /// Files whose chunks are as they were.
    Files(Vec<FileOut>),
    /// Values of facts: id, field, value, folded value.
    Names(Vec<(i64, i16, String, String)>),
    /// Document frequencies.
    Terms(Vec<(i32, i32)>),
    /// Who wrote a chunk's lines: chunk and ids.
    Authors(Vec<(i64, Vec<i64>)>),
    /// Untrusted input from elsewhere: chunk, ids, JSON.
    Flows(Vec<(i64, Vec<i64>, String)>),
    /// Vectors of texts that had none.
    Vectors(Vec<VectorOut>),
}
