//! `search_code`: a search without filters in one project.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::execute::search_project;
use super::left_out::note_search;
use super::search::answer_budget;
use crate::app::Bulkhead;
use crate::tools::project_id_arg::ProjectIdArg;
use crate::tools::search_scope::{RepositoryArguments, repository_roots};
use crate::tools::spec::run_typed;
use crate::tools::{Call, Effects, ToolSpec, Toolset, schema};
use contract::Fault;
use engine::search::{Confidence, Fitted, Hit, Omitted, SearchRequest, Shrinks, TotalRelation, fit};
use tenancy::Scope;

pub(crate) const TOOL: ToolSpec = ToolSpec {
    name: "search_code",
    title: "Search code (simple)",
    description: "A simpler `search`: takes a question or a name, returns the best chunks of code with file, lines and text.",
    toolset: Toolset::SEARCH,
    effects: Effects::READS,
    scope: Scope::Search,
    bulkhead: Bulkhead::Search,
    timeout: |limits| limits.search_ms,
    input: schema::generate_schema::<SearchCodeInput>,
    output: schema::generate_output_schema::<SearchCodeOutput>,
    run: |call, arguments| run_typed(call, arguments, search_code),
    ..ToolSpec::BASE
};

/// Number of results if `limit` is not given.
const LIMIT_DEFAULT: usize = 10;
/// Lines of a text that are kept if the whole text does not fit.
const LINES_SHORT: usize = 8;
/// Hint of `omitted`.
const OMITTED: &str = "Use a smaller `limit` or a larger `maxTokens`, or read the lines with `show_file`.";

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct SearchCodeInput {
    /// A question, a name, or "phrases" that must occur.
    #[schemars(length(min = 1, max = 8192))]
    query: String,
    /// Project; default: the session's.
    project_id: Option<ProjectIdArg>,
    /// As `repoPath` of `search`.
    #[schemars(length(min = 1, max = 4096))]
    repo_path: Option<String>,
    /// Most results, 1 to 50; default 10.
    #[schemars(range(min = 1, max = 50))]
    limit: Option<usize>,
    /// As in `search`.
    #[serde(rename = "maxTokens")]
    #[schemars(range(min = 300, max = 100_000))]
    max_tokens: Option<usize>,
}

#[derive(Debug, Serialize, JsonSchema)]
struct SearchCodeOutput {
    /// The best chunks, best first.
    results: Vec<SimpleResult>,
    /// The project searched; null is the default workspace.
    project_id: Option<String>,
    /// The project's Postgres schema.
    schema_name: String,
    /// Number of results before the limit; with `total_relation`, a lower bound.
    total_count: usize,
    /// `gte` if `total_count` is a lower bound; absent if it is exact.
    #[serde(skip_serializing_if = "Option::is_none")]
    total_relation: Option<TotalRelation>,
    /// Time of the search, in milliseconds.
    latency_ms: f64,
    /// How likely the results answer the query: high, medium, low (probably not), none (no results are shown).
    #[serde(skip_serializing_if = "Option::is_none")]
    confidence: Option<Confidence>,
    /// Names in the index spelled like unknown words of the query; with low or no confidence.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    did_you_mean: Vec<String>,
    /// What `maxTokens` cut; absent if nothing was.
    #[serde(skip_serializing_if = "Option::is_none")]
    omitted: Option<Omitted>,
}

#[derive(Debug, Serialize, JsonSchema)]
struct SimpleResult {
    /// Identifies the chunk inside the project.
    chunk_id: i64,
    /// Path relative to its repository.
    file_path: String,
    /// The chunk's text; if `maxTokens` does not allow it, its first lines or empty.
    content: String,
    /// First line, 1-based.
    start_line: u32,
    /// Last line, inclusive.
    end_line: u32,
    /// 0 to 1, larger is better; comparable within one answer only.
    similarity_score: f64,
}

async fn search_code(call: Call, input: SearchCodeInput) -> Result<SearchCodeOutput, Fault> {
    let project = call.project(input.project_id.as_deref()).await?;
    let scope =
        RepositoryArguments { repository: input.repo_path.as_deref(), project: input.project_id.as_deref() };
    let request = SearchRequest {
        query: input.query,
        repository_roots: repository_roots(&call, &project, scope).await?,
        top: input.limit.unwrap_or(LIMIT_DEFAULT),
        ..SearchRequest::default()
    };
    let mut answer = search_project(&call, &project, &request).await?;
    note_search(&call, &project, &request, &mut answer).await;
    let count = answer.hits.len();
    let mut output = SearchCodeOutput {
        results: Vec::new(),
        project_id: project.id().public().map(str::to_owned),
        schema_name: project.id().schema_name(),
        total_count: answer.total,
        total_relation: TotalRelation::new(&answer),
        latency_ms: answer.took.total_ms,
        confidence: answer.confidence,
        did_you_mean: answer.did_you_mean,
        omitted: None,
    };
    let found = answer.hits.into_iter().map(SimpleResult::from);
    match input.max_tokens {
        None => output.results = found.collect(),
        Some(most) => {
            // The longest possible `omitted`, so that the real one fits.
            output.omitted = omitted(count, count);
            let Fitted { items, shrunk, dropped } =
                fit(found, answer_budget(&call, Some(most)).less_frame(&output));
            (output.results, output.omitted) = (items, omitted(shrunk, dropped));
        }
    }
    Ok(output)
}

fn omitted(texts: usize, hits: usize) -> Option<Omitted> {
    (texts + hits > 0).then(|| Omitted { texts, hits, hint: OMITTED.to_owned() })
}

impl Shrinks for SimpleResult {
    fn shrink(&mut self) -> bool {
        let first: Vec<&str> = self.content.lines().take(LINES_SHORT).collect();
        let first = first.join("\n");
        let smaller = !self.content.is_empty();
        self.content = if first.len() + 1 < self.content.len() { first } else { String::new() };
        smaller
    }
}

impl From<Hit> for SimpleResult {
    fn from(hit: Hit) -> Self {
        Self {
            chunk_id: hit.chunk_id,
            file_path: hit.path,
            content: hit.content,
            start_line: hit.start_line,
            end_line: hit.end_line,
            similarity_score: f64::from(hit.score),
        }
    }
}
