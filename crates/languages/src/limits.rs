//! The limits of chunking.

use std::time::Duration;

use serde::{Deserialize, Serialize};

/// Sizes and bounds of chunking. Characters are counted without whitespace.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChunkLimits {
    /// Size up to which small neighbours are merged.
    pub chars_target: usize,
    /// Size up to which a definition stays whole; one with members is split if it exceeds `chars_target`.
    pub chars_max: usize,
    /// Maximum number of chunks of a file; if there are more, neighbours are joined.
    pub chunks_max: usize,
    /// Time limit for parsing one file and extracting its facts. Does not include compiling the queries of its language, which
    /// happens once per process.
    pub parse_timeout: Duration,
    /// `true` if facts are extracted.
    pub facts: bool,
    /// `true` if the text is that of a notebook: lines such as `# %%` begin its cells, and no chunk has lines of two.
    pub cells: bool,
}

impl Default for ChunkLimits {
    fn default() -> Self {
        Self {
            chars_target: 750,
            chars_max: 1500,
            chunks_max: 2000,
            parse_timeout: Duration::from_secs(2),
            facts: true,
            cells: false,
        }
    }
}
