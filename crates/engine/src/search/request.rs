//! What can be asked and what is answered, before any output shape.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::confidence::{Confidence, Evidence};
use super::given::Given;
use super::rank::Parts;
use contract::Warning;
use languages::facts::Detail;
use store::Index;
use store::portable::WordsBy;

/// One question to one project.
#[derive(Debug, Clone, Default)]
pub struct SearchRequest {
    /// The question, 1 ..= `search.query_chars_max` characters.
    pub query: String,
    /// Canonical roots of the repositories that are searched; empty: all of the project.
    pub repository_roots: Vec<String>,
    /// What is searched.
    pub mode: Mode,
    /// Fields of the filter table; all hold.
    pub given: Vec<Given>,
    /// Paths and branches are compared with upper and lower case apart.
    pub case_file: bool,
    /// Words, phrases and exclusions are compared with upper and lower case apart.
    pub case_tokens: bool,
    /// Most hits, 1 ..= `search.top_max`.
    pub top: usize,
    /// Hits left out before the first one shown, up to `search.offset_max`.
    pub offset: usize,
    /// Lines shown before and after each hit, up to `search.context_lines_max`.
    pub context_lines: usize,
    /// Whether vectors are used; false asks for words only.
    pub vectors: Vectors,
    /// Whether all that is known of each hit is looked up.
    pub in_full: bool,
    /// Whether hits are shown although nothing seems to answer the query: for readers that weigh them themselves.
    pub keep_doubtful: bool,
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

/// What is searched.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Mode {
    /// Code, configuration and data.
    Code,
    /// Documents, and what comments say.
    Prose,
    /// What comments and documentation strings of code say, without the code.
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
    /// The mode of a file by its stored word.
    #[must_use]
    pub fn of_file(word: &str) -> Self {
        match word {
            "prose" => Self::Prose,
            "records" => Self::Records,
            _ => Self::Code,
        }
    }
}

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

/// What answers a search.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Backend {
    /// The project's schema in Postgres.
    Postgres,
    /// A portable file, with the weights and vectors of Postgres.
    Sqlite,
    /// A portable file, by FTS5 alone.
    SqliteFts,
}

impl Backend {
    pub(super) fn of(index: &Index<'_>) -> Self {
        match index {
            Index::Postgres(..) => Self::Postgres,
            Index::Portable(file) => match file.words_by() {
                WordsBy::Postings => Self::Sqlite,
                WordsBy::Fts => Self::SqliteFts,
            },
        }
    }
}

/// The answer.
#[derive(Debug, Clone, PartialEq)]
pub struct SearchAnswer {
    /// What answered.
    pub backend: Backend,
    /// Best first.
    pub hits: Vec<Hit>,
    /// Candidates that passed every filter and gate, before `offset` and `top` cut them.
    pub total: usize,
    /// Whether `total` is a lower bound: a leg was filled, so that more may pass than were ranked.
    pub total_is_least: bool,
    /// Hits left out before the first one.
    pub offset: usize,
    /// The largest offset that can be asked for.
    pub offset_max: usize,
    /// Whether more than one repository was asked, so that a path alone need not say which file is meant.
    pub several_repositories: bool,
    /// How far the answer can be believed; absent where that is not known: a listing, what is like a chunk,
    /// a pasted text, and SQLite's FTS5, whose scores were not calibrated.
    pub confidence: Option<Confidence>,
    /// Names in the index that are spelt like words of the query that it does not have; only where confidence is low or
    /// none.
    pub did_you_mean: Vec<String>,
    /// The question's normal form.
    pub query: String,
    /// Words of the question that name something, lower-case; snippets show where they stand.
    pub words: Vec<String>,
    /// How vectors were compared.
    pub vectors_used: VectorsUsed,
    /// How the question was read and weighed.
    pub explain: Explain,
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
    /// Identifies its file.
    pub file_id: i64,
    /// Name of its repository.
    pub repository: String,
    /// Path relative to the repository.
    pub path: String,
    /// Language id, if the file has one.
    pub language: Option<String>,
    /// `code`, `prose`, `extracted-prose` or `records`.
    pub mode: Mode,
    /// First line, 1-based.
    pub start_line: u32,
    /// Last line, inclusive.
    pub end_line: u32,
    /// Line of the name of the definition that matched, or the first line where nothing is defined. The name of a
    /// definition that is only continued here stands before the chunk.
    pub line: u32,
    /// First and last line of that definition, where it begins in the chunk.
    pub definition_lines: Option<(u32, u32)>,
    /// The line that must be seen: where what a filter found stands.
    pub focus: Option<u32>,
    /// Kind of the definition that matched, or `block`.
    pub kind: String,
    /// Its qualified name.
    pub name: Option<String>,
    /// Its signature on one line.
    pub signature: Option<String>,
    /// What the order is by, 0 to 1; comparable within one answer only.
    pub score: f32,
    /// How it came about.
    pub parts: Parts,
    /// The chunk's text.
    pub content: String,
    /// Lines before the chunk, as asked for.
    pub before: Vec<String>,
    /// Lines after the chunk.
    pub after: Vec<String>,
    /// What it calls, each once, in order.
    pub calls: Vec<String>,
    /// Which functions call what it defines, by name, where that is known.
    pub called_by: Vec<String>,
    /// All that is known of it; looked up only where it was asked for.
    pub known: Option<Known>,
}

/// All that is known of a chunk and its file.
#[derive(Debug, Clone, PartialEq, Default, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Known {
    /// Values by the name of the fact, sorted.
    pub facts: BTreeMap<String, Vec<String>>,
    /// Calls, control flow, broken rules, documentation, risk.
    #[serde(flatten)]
    pub detail: Detail,
    /// What git knows of the file.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub history: Option<History>,
    /// Metadata of the file as `key=value`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schemars(default)]
    pub meta: Vec<String>,
    /// Untrusted input that comes in from other chunks.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub risk_from_elsewhere: Option<serde_json::Value>,
}

/// What git knows of a file.
#[derive(Debug, Clone, PartialEq, Default, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct History {
    /// Branch of the repository when it was indexed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub branch: Option<String>,
    /// Commit of the repository when it was indexed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub commit: Option<String>,
    /// Author of the last commit that changed the file.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_author: Option<String>,
    /// Author date of that commit, UTC.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_modified: Option<String>,
    /// That commit.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_commit: Option<String>,
    /// Lines added and deleted by the last commits.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub churn: Option<i32>,
    /// How many commits those are.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub churn_commits: Option<i32>,
}

/// How a question was read and weighed.
#[derive(Debug, Clone, PartialEq, Default, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Explain {
    /// How far the question is the name of something, 0 to 1.
    pub symbol: f32,
    /// Share of the vectors in the fused score.
    pub dense_weight: f32,
    /// Terms by which words were weighed, weightiest first.
    pub terms: Vec<ExplainedTerm>,
    /// `everything`, `listed` (each chunk within the filter was compared) or `tested` (candidates were).
    pub within: String,
    /// Candidates taken from each leg.
    pub candidates: usize,
    /// What the confidence was told by; absent for a listing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub evidence: Option<Evidence>,
    /// What had to hold of every hit: the mode, each filter, and what the question itself demands. Values are cut.
    pub filters: Vec<String>,
}

/// A term of the question.
#[derive(Debug, Clone, PartialEq, Default, Serialize, JsonSchema)]
pub struct ExplainedTerm {
    /// The term.
    pub term: String,
    /// idf times the question's own weight.
    pub weight: f32,
    /// Chunks that say it.
    pub chunks: u64,
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
