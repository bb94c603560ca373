//! The stages of a search, reported as progress.

/// A completed stage with its result. Each is reported at most once, in this order; a query without words has no retrieval
/// stages.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SearchStage {
    /// The query is parsed and its filters are resolved.
    Understood {
        /// Terms of the query.
        terms: usize,
    },
    /// The lexical retriever is done.
    Lexical {
        /// Chunks found.
        found: usize,
    },
    /// The query is embedded, or the search continues without a vector.
    Embedding {
        /// `true` if there is a vector.
        embedded: bool,
    },
    /// The dense retriever is done.
    Dense {
        /// Chunks found.
        found: usize,
    },
    /// The candidates of both retrievers are ranked.
    Ranked {
        /// Chunks ranked.
        candidates: usize,
    },
}

impl SearchStage {
    /// Number of stages.
    pub const COUNT: u32 = 5;

    /// Returns the position of the stage, 1 to [`SearchStage::COUNT`].
    #[must_use]
    pub fn number(self) -> u32 {
        match self {
            Self::Understood { .. } => 1,
            Self::Lexical { .. } => 2,
            Self::Embedding { .. } => 3,
            Self::Dense { .. } => 4,
            Self::Ranked { .. } => 5,
        }
    }

    /// Returns the name in progress reports.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Understood { .. } => "understood",
            Self::Lexical { .. } => "lexical",
            Self::Embedding { .. } => "embedding",
            Self::Dense { .. } => "dense",
            Self::Ranked { .. } => "ranked",
        }
    }

    /// Returns a sentence for people.
    #[must_use]
    pub fn sentence(self) -> String {
        match self {
            Self::Understood { terms } => format!("Parsed the query: {terms} terms."),
            Self::Lexical { found } => format!("{found} lexical candidates."),
            Self::Embedding { embedded: true } => "Embedded the query.".to_owned(),
            Self::Embedding { embedded: false } => "No vector: the search goes on lexically.".to_owned(),
            Self::Dense { found } => format!("{found} dense candidates."),
            Self::Ranked { candidates } => format!("Ranked {candidates} candidates."),
        }
    }
}
