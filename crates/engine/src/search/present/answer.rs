//! The answer of a search, independent of the output format.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::search::backend::Backend;
use crate::search::exact::LineMatches;
use crate::search::present::facets::Facets;
use crate::search::present::other_places::OtherPlaces;
use crate::search::rank::confidence::{Confidence, Evidence};
use crate::search::rank::scores::ScoreParts;
use crate::search::request::Mode;
use contract::Warning;
use languages::facts::Detail;

/// The answer of a search.
#[derive(Debug, Clone, PartialEq)]
pub struct SearchAnswer {
    /// Search backend that answered.
    pub backend: Backend,
    /// Best first.
    pub hits: Vec<Hit>,
    /// Candidates that passed every filter, before `offset` and `top`.
    pub total: usize,
    /// `true` if `total` is a lower bound: a retriever stopped at its limit, so more chunks may pass.
    pub total_is_least: bool,
    /// Hits skipped.
    pub offset: usize,
    /// The largest `offset` allowed.
    pub offset_max: usize,
    /// `true` if more than one repository was searched, so that a path alone may be ambiguous.
    pub several_repositories: bool,
    /// Confidence in the answer; `None` where it is not calibrated: for a listing, chunks similar to a chunk, a pasted text, and SQLite's
    /// FTS5.
    pub confidence: Option<Confidence>,
    /// Names in the index that are spelled like unknown words of the query; only with low or no confidence.
    pub did_you_mean: Vec<String>,
    /// The query's normal form.
    pub query: String,
    /// Words of the query without stop words, lower-case; snippets show where they occur.
    pub words: Vec<String>,
    /// Method by which vectors were compared.
    pub vectors_used: VectorsUsed,
    /// Parsing and weights of the query.
    pub explain: Explain,
    /// Milliseconds of each stage.
    pub took: Timings,
    /// Warnings for the caller about wrong or missing results.
    pub warnings: Vec<Warning>,
    /// The lines of an exact search, which has no hits; `total` then counts lines.
    pub matches: Option<LineMatches>,
    /// Distribution of all hits, or of all matching lines; empty unless the request is for a page.
    pub facets: Facets,
}

/// How the dense retriever searched.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum VectorsUsed {
    /// It compared every vector within the filter.
    Exact,
    /// It used the HNSW index.
    Hnsw,
    /// It did not take part, or found nothing.
    None,
}

/// One chunk found.
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
    /// Line of the name of the definition that matched, or the first line if the chunk defines nothing. Lies before the
    /// chunk if the chunk is the continuation of a long definition.
    pub line: u32,
    /// First and last line of that definition, if it begins in the chunk.
    pub definition_lines: Option<(u32, u32)>,
    /// The line that a filter matched; snippets must show it.
    pub focus: Option<u32>,
    /// Kind of the definition that matched, or `block`.
    pub kind: String,
    /// Its qualified name.
    pub name: Option<String>,
    /// Its signature on one line.
    pub signature: Option<String>,
    /// Sort key, 0 to 1; comparable within one answer only.
    pub score: f32,
    /// The parts of the score.
    pub parts: ScoreParts,
    /// The chunk's text.
    pub content: String,
    /// Lines before the chunk, up to `context_lines`.
    pub before: Vec<String>,
    /// Lines after the chunk, up to `context_lines`.
    pub after: Vec<String>,
    /// Names of callees, each once, in order of occurrence.
    pub calls: Vec<String>,
    /// Names of functions that are known to call the definition.
    pub called_by: Vec<String>,
    /// The calls of the definition, with their places.
    pub callers: Vec<CallEdge>,
    /// The known callees of the definition, with their places.
    pub callees: Vec<CallEdge>,
    /// Functions that call something of the same name, where calls are not resolved.
    pub may_be_called_by: Vec<String>,
    /// Other places of its text.
    pub other_places: Option<OtherPlaces>,
    /// The revisions that were asked for and have it; empty if none was asked for.
    pub revisions: Vec<String>,
    /// The commit of the first of them.
    pub revision_commit: Option<String>,
    /// All facts; only with `in_full`.
    pub known: Option<AllFacts>,
}

/// A resolved call.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct CallEdge {
    /// Qualified name of the other definition; absent for calls outside of definitions.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// File of the call, or of the called definition.
    pub file: String,
    /// Line of the call, or of the called definition's name.
    pub line: u32,
    /// How it is known: scip or resolved.
    pub certainty: &'static str,
}

/// All facts of a chunk and its file.
#[derive(Debug, Clone, PartialEq, Default, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AllFacts {
    /// Values by the name of the fact, sorted.
    pub facts: BTreeMap<String, Vec<String>>,
    /// Calls, control flow, lint findings, documentation, risk.
    #[serde(flatten)]
    pub detail: Detail,
    /// Git history of the file.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub history: Option<History>,
    /// Metadata of the file as `key=value`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schemars(default)]
    pub meta: Vec<String>,
    /// Flows of untrusted input that begin in other chunks.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub risk_from_elsewhere: Option<serde_json::Value>,
}

/// Git history of a file.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
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
    /// Hash of that commit.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_commit: Option<String>,
    /// Lines added and deleted by the last commits.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub churn: Option<i32>,
    /// Number of commits that `churn` counts.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub churn_commits: Option<i32>,
}

/// How a query was parsed and weighted.
#[derive(Debug, Clone, PartialEq, Default, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Explain {
    /// How likely the query is the name of something, 0 to 1.
    pub symbol: f32,
    /// Weight of the dense retriever in the fused score.
    pub dense_weight: f32,
    /// Terms of the lexical retriever, highest weight first.
    pub terms: Vec<ExplainedTerm>,
    /// `everything` (no filter), `listed` (the filter was resolved to chunks first) or `tested` (it was tested on candidates).
    pub within: String,
    /// Most candidates of each retriever.
    pub candidates: usize,
    /// What the confidence was computed from; absent for a listing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub evidence: Option<Evidence>,
    /// Conditions that every hit fulfils: the mode, each filter, and the filters in the query. Long values are cut.
    pub filters: Vec<String>,
}

/// A term of the query.
#[derive(Debug, Clone, PartialEq, Default, Serialize, JsonSchema)]
pub struct ExplainedTerm {
    /// The term.
    pub term: String,
    /// idf times the term's weight in the query.
    pub weight: f32,
    /// Document frequency: chunks that contain it.
    pub chunks: u64,
}

/// Milliseconds of each stage. The query is embedded while others run, so the sum may exceed `total_ms`.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Timings {
    /// Reading the state of the index and resolving filters.
    pub plan_ms: f64,
    /// The lexical retriever.
    pub lexical_ms: f64,
    /// Waiting for the embedding of the query.
    pub embed_ms: f64,
    /// The dense retriever, without the embedding.
    pub dense_ms: f64,
    /// Reading what the ranking needs of the candidates.
    pub hydrate_ms: f64,
    /// Fusing and ranking.
    pub rank_ms: f64,
    /// Reading the texts of the hits.
    pub content_ms: f64,
    /// The whole search.
    pub total_ms: f64,
}
