//! What can be asked and what is answered, before any output shape.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::rank::Parts;
use crate::contract::Warning;
use crate::languages;

/// One question to one project.
#[derive(Debug, Clone, Default)]
pub struct SearchRequest {
    /// The question, 1 ..= `search.query_chars_max` characters.
    pub query: String,
    /// Which chunks may answer.
    pub filter: FilterRequest,
    /// Most hits, 1 ..= `search.top_max`.
    pub top: usize,
    /// Lines shown before and after each hit, up to `search.context_lines_max`.
    pub context_lines: usize,
    /// Whether vectors are used; false asks for words only.
    pub vectors: Vectors,
}

/// Whether vectors are used.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Vectors {
    /// Where there are any.
    #[default]
    Auto,
    /// Never; words decide alone.
    Off,
}

/// Which chunks may answer, as the caller said it. Lists are alternatives; different fields all hold.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct FilterRequest {
    /// Canonical root of the repository; none: all of the project.
    pub repository_root: Option<String>,
    /// Parts of paths, or globs.
    pub paths: Vec<String>,
    /// File extensions, with or without a dot.
    pub extensions: Vec<String>,
    /// Languages by id or alias.
    pub languages: Vec<String>,
    /// Parts of file names, or globs.
    pub files: Vec<String>,
    /// Code, documents or both.
    pub mode: Mode,
}

/// What is searched (T §9, `mode`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Mode {
    /// Code, configuration and data: every file that is not prose.
    Code,
    /// Documents: Markdown, reStructuredText, AsciiDoc, plain text.
    Prose,
    /// Both.
    #[default]
    Both,
    /// The same as both.
    All,
}

impl Mode {
    /// The mode of a file in this language: `code` or `prose`.
    #[must_use]
    pub fn of(language: Option<&str>) -> Self {
        if language.is_some_and(|id| PROSE.contains(&id)) { Self::Prose } else { Self::Code }
    }

    /// The languages this mode is limited to, if it is.
    pub(super) fn languages(self) -> Option<Vec<&'static str>> {
        match self {
            Self::Both | Self::All => None,
            Self::Prose => Some(PROSE.to_vec()),
            Self::Code => {
                Some(languages::all().map(|language| language.id).filter(|id| !PROSE.contains(id)).collect())
            }
        }
    }
}

/// Languages whose files are documents.
const PROSE: &[&str] = &["markdown", "rst", "asciidoc", "text", "latex"];

/// How much of each hit is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Output {
    /// For agents: place, name, signature and the lines that matter.
    #[default]
    Compact,
    /// Everything known of a hit, with its text.
    Full,
    /// As `full`, with statistics and the parts of each score.
    Json,
}

/// The answer.
#[derive(Debug, Clone, PartialEq)]
pub struct SearchAnswer {
    /// Best first.
    pub hits: Vec<Hit>,
    /// Candidates that passed every filter and gate, before `top` cut them.
    pub total: usize,
    /// The question's normal form.
    pub query: String,
    /// Words of the question that name something, lower-case; snippets show where they stand.
    pub words: Vec<String>,
    /// How vectors were compared.
    pub vectors_used: VectorsUsed,
    /// Where the time went.
    pub took: Timings,
    /// What the caller should know.
    pub warnings: Vec<Warning>,
}

/// How vectors were compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum VectorsUsed {
    /// With each vector within the filter.
    Exact,
    /// Through the HNSW index.
    Hnsw,
    /// Not at all.
    None,
}

/// One chunk that answers.
#[derive(Debug, Clone, PartialEq)]
pub struct Hit {
    /// Identifies the chunk inside the project.
    pub chunk_id: i64,
    /// Name of its repository.
    pub repository: String,
    /// Path relative to the repository.
    pub path: String,
    /// Language id, if the file has one.
    pub language: Option<String>,
    /// First line, 1-based.
    pub start_line: u32,
    /// Last line, inclusive.
    pub end_line: u32,
    /// Kind of the main definition, or `block`.
    pub kind: String,
    /// Qualified name of the main definition.
    pub name: Option<String>,
    /// Its signature on one line.
    pub signature: Option<String>,
    /// What the order is by; comparable within one answer only.
    pub score: f32,
    /// How it came about.
    pub parts: Parts,
    /// The chunk's text.
    pub content: String,
    /// Lines before the chunk, as asked for.
    pub before: Vec<String>,
    /// Lines after the chunk.
    pub after: Vec<String>,
}

/// Milliseconds of each stage. The legs run side by side, so the parts can add up to more than the whole.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Timings {
    /// State of the index, document frequencies, the plan.
    pub plan_ms: f64,
    /// The lexical leg.
    pub lexical_ms: f64,
    /// Embedding the question.
    pub embed_ms: f64,
    /// The dense leg, without embedding.
    pub dense_ms: f64,
    /// What the ranking needs to know of the candidates.
    pub hydrate_ms: f64,
    /// Fusing and ranking.
    pub rank_ms: f64,
    /// Texts of what is shown.
    pub content_ms: f64,
    /// All of it.
    pub total_ms: f64,
}
