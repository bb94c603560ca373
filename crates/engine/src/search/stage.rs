//! How far a search is, for whoever waits for it.

/// A stage that is over, with what came of it. Each is told at most once, in this order; a query without words has no
/// retrieval stages.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stage {
    /// The query was read and its filters resolved; so many terms are looked for.
    Understood {
        /// Terms.
        terms: usize,
    },
    /// Words were looked for; so many chunks have some of them.
    Lexical {
        /// Chunks.
        found: usize,
    },
    /// The query was embedded, or it goes on without a vector.
    Embedding {
        /// Whether there is a vector.
        embedded: bool,
    },
    /// Vectors were compared; so many chunks are near.
    Dense {
        /// Chunks.
        found: usize,
    },
    /// The candidates of all retrievers are ranked.
    Ranked {
        /// Chunks.
        candidates: usize,
    },
}

impl Stage {
    /// How many stages there are.
    pub const COUNT: u32 = 5;

    /// Which stage it is, from 1 to [`Stage::COUNT`].
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

    /// Its name in progress reports.
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

    /// One sentence for people.
    #[must_use]
    pub fn sentence(self) -> String {
        match self {
            Self::Understood { terms } => format!("The query was read: {terms} terms."),
            Self::Lexical { found } => format!("{found} candidates by words."),
            Self::Embedding { embedded: true } => "The query was embedded.".to_owned(),
            Self::Embedding { embedded: false } => "The search goes on by words alone.".to_owned(),
            Self::Dense { found } => format!("{found} candidates by meaning."),
            Self::Ranked { candidates } => format!("{candidates} candidates ranked."),
        }
    }
}
