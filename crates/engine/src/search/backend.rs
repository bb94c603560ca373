//! The kinds of index that answer a search.

use schemars::JsonSchema;
use serde::Serialize;

use store::Index;
use store::portable::LexicalBackend;

/// The index that answers a search.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Backend {
    /// The project's schema in Postgres.
    Postgres,
    /// A portable file, with BM25 weights and vectors as in Postgres.
    Sqlite,
    /// A portable file, with SQLite's FTS5 only.
    SqliteFts,
}

impl Backend {
    pub(in crate::search) fn new(index: &Index<'_>) -> Self {
        match index {
            Index::Postgres(..) => Self::Postgres,
            Index::Portable(file) => match file.lexical_backend() {
                LexicalBackend::Postings => Self::Sqlite,
                LexicalBackend::Fts => Self::SqliteFts,
            },
        }
    }
}
