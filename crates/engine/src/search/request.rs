//! The request of a search, independent of the surface.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::search::exact::ExactQuery;
use crate::search::filters::request_filter::RequestFilter;

/// A search in one project.
#[derive(Debug, Clone, Default)]
pub struct SearchRequest {
    /// The query; 1 ..= `search.query_chars_max` characters.
    pub query: String,
    /// Canonical roots of the repositories to search; empty: all of the project.
    pub repository_roots: Vec<String>,
    /// Exact search for the lines that match the query as one pattern; `None`: the query ranks and filters chunks.
    pub exact: Option<ExactQuery>,
    /// Searched kinds of text.
    pub mode: Mode,
    /// Filters besides those in the query; a hit must pass all of them.
    pub filters: Vec<RequestFilter>,
    /// `true` if paths and branches are compared case-sensitively.
    pub case_file: bool,
    /// `true` if words, phrases and exclusions are compared case-sensitively.
    pub case_tokens: bool,
    /// Maximum number of hits, 1 ..= `search.top_max`; lines of an exact search, 1 ..= `search.exact_top_max`.
    pub top: usize,
    /// Hits to skip, up to `search.offset_max`; lines of an exact search, up to `search.exact_matches_max`.
    pub offset: usize,
    /// Lines shown before and after each hit, up to `search.context_lines_max`.
    pub context_lines: usize,
    /// Participation of the dense retriever.
    pub vectors: Vectors,
    /// `true` if [`Hit::known`](super::Hit::known) is read.
    pub in_full: bool,
    /// `true` if hits are returned even if the confidence is `none`, for callers that judge them themselves.
    pub keep_doubtful: bool,
    /// `true` if the answer contains the parts that only a page shows: [`SearchAnswer::facets`](super::SearchAnswer::facets), and the texts
    /// around matching lines.
    pub for_page: bool,
}

/// Participation of the dense retriever.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Vectors {
    /// If there are a model and vectors.
    #[default]
    Auto,
    /// Never: the search is lexical only.
    Off,
}

/// What is searched.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Mode {
    /// Code, configuration and data.
    Code,
    /// Documents and comments.
    Prose,
    /// Comments and documentation strings, without the code.
    ExtractedProse,
    /// Records: findings, logs and traces.
    Records,
    /// Code with its comments, and documents.
    #[default]
    Both,
    /// Everything.
    All,
}

impl Mode {
    /// Parses the stored mode of a file.
    #[must_use]
    pub fn from_stored(word: &str) -> Self {
        match word {
            "prose" => Self::Prose,
            "records" => Self::Records,
            _ => Self::Code,
        }
    }
}

/// Output format of `search`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Output {
    /// For agents: location, name, signature and a snippet.
    #[default]
    Compact,
    /// Whole chunks with all facts.
    Full,
    /// As `full`, with timings and the parts of each score.
    Json,
}
