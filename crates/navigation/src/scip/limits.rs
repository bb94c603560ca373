//! Limits of a SCIP file, beyond which it is refused.

/// The limits of what a SCIP file may contain.
#[derive(Debug, Clone, Copy)]
pub struct Limits {
    /// Bytes of the file.
    pub file_bytes: u64,
    /// Bytes of a document; only one document at a time is in memory.
    pub document_bytes: u64,
    /// Documents of the file.
    pub documents: u64,
    /// Occurrences of a document.
    pub occurrences: u64,
    /// Symbol information of a document.
    pub symbols: u64,
    /// Definitions of the file that other documents can see; each takes 36 bytes of memory.
    pub definitions: usize,
    /// Relationships of a symbol.
    pub relationships: u64,
    /// Bytes of the text that names a symbol, and of a display name.
    pub symbol_bytes: u64,
    /// Bytes of a path.
    pub path_bytes: u64,
}

impl Default for Limits {
    /// Allows several times what indexers make of the largest repositories.
    fn default() -> Self {
        Self {
            file_bytes: 2 << 30,
            document_bytes: 64 << 20,
            documents: 1_000_000,
            occurrences: 1_000_000,
            symbols: 500_000,
            definitions: 5_000_000,
            relationships: 10_000,
            symbol_bytes: 16 << 10,
            path_bytes: 4 << 10,
        }
    }
}
