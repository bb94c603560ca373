//! `search_code`: a question to ranked chunks of one project (M).

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::ask::ask;
use super::search::budget;
use crate::app::Bulkhead;
use crate::tools::project_id_arg::ProjectIdArg;
use crate::tools::spec::typed;
use crate::tools::standing::{Named, searched};
use crate::tools::{Call, Effects, TimeoutClass, ToolSpec, Toolset, schema};
use contract::Fault;
use engine::search::{Confidence, Fitted, Hit, Omitted, SearchRequest, Shrinks, TotalRelation, fit};
use tenancy::Scope;

pub(crate) const TOOL: ToolSpec = ToolSpec {
    name: "search_code",
    title: "Search code (simple)",
    description: "Search code by meaning and by words in one project's workspace: a question or a name in, the best chunks with \
        file, lines and text out. `search` does the same with filters and compact output.",
    toolset: Toolset::Search,
    effects: Effects::READS,
    scope: Scope::Search,
    bulkhead: Bulkhead::Search,
    timeout: TimeoutClass::Search,
    input: schema::of::<Input>,
    output: schema::of_answer::<Output>,
    run: |call, arguments| typed(call, arguments, run),
};

/// Results when `limit` is not given (M).
const LIMIT_DEFAULT: usize = 10;
/// Lines of a text that does not fit whole.
const LINES_SHORT: usize = 8;
/// How to get what is left out.
const OMITTED: &str = "Ask for fewer (`limit`), with a larger `maxTokens`, or read a place with `show_file`.";

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Input {
    /// A question in plain words, or a name. Words rank; "quoted phrases" must occur, -words must not.
    #[schemars(length(min = 1, max = 8192))]
    query: String,
    /// Project to search; null or omitted: the default workspace.
    project_id: Option<ProjectIdArg>,
    /// As `repoPath` of `search`.
    #[schemars(length(min = 1, max = 4096))]
    repo_path: Option<String>,
    /// Most results, 1 to 50; default 10.
    #[schemars(range(min = 1, max = 50))]
    limit: Option<usize>,
    /// Most cl100k tokens of the whole answer; `omitted` says what is cut.
    #[serde(rename = "maxTokens")]
    #[schemars(range(min = 300, max = 100_000))]
    max_tokens: Option<usize>,
}

#[derive(Debug, Serialize, JsonSchema)]
struct Output {
    /// The best chunks, best first.
    results: Vec<Found>,
    /// The project searched; null is the default workspace.
    project_id: Option<String>,
    /// The project's Postgres schema.
    schema_name: String,
    /// Results found before the limit; with `total_relation`, at least so many.
    total_count: usize,
    /// `gte` where `total_count` is a lower bound; absent where it is exact.
    #[serde(skip_serializing_if = "Option::is_none")]
    total_relation: Option<TotalRelation>,
    /// Time of the search, in milliseconds.
    latency_ms: f64,
    /// Whether to believe the results: high, medium, low (probably nothing here answers), none (no results are shown).
    #[serde(skip_serializing_if = "Option::is_none")]
    confidence: Option<Confidence>,
    /// Names in the index spelt like unknown words of the query; with low or no confidence.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    did_you_mean: Vec<String>,
    /// What `maxTokens` left out; absent when nothing was.
    #[serde(skip_serializing_if = "Option::is_none")]
    omitted: Option<Omitted>,
}

#[derive(Debug, Serialize, JsonSchema)]
struct Found {
    /// Identifies the chunk inside the project.
    chunk_id: i64,
    /// Path relative to its repository.
    file_path: String,
    /// The chunk's text; with `maxTokens` its first lines, or empty, where it does not fit.
    content: String,
    /// First line, 1-based.
    start_line: u32,
    /// Last line, inclusive.
    end_line: u32,
    /// 0 to 1, larger is better; comparable within one answer only.
    similarity_score: f64,
}

async fn run(call: Call, input: Input) -> Result<Output, Fault> {
    let project = call.project(input.project_id.as_deref()).await?;
    let named = Named { repository: input.repo_path.as_deref(), project: input.project_id.as_deref() };
    let request = SearchRequest {
        query: input.query,
        repository_roots: searched(&call, &project, named).await?,
        top: input.limit.unwrap_or(LIMIT_DEFAULT),
        ..SearchRequest::default()
    };
    let answer = ask(&call, &project, &request).await?;
    let count = answer.hits.len();
    let mut output = Output {
        results: Vec::new(),
        project_id: project.id().public().map(str::to_owned),
        schema_name: project.id().schema_name(),
        total_count: answer.total,
        total_relation: TotalRelation::of(&answer),
        latency_ms: answer.took.total_ms,
        confidence: answer.confidence,
        did_you_mean: answer.did_you_mean,
        omitted: None,
    };
    let found = answer.hits.into_iter().map(Found::from);
    match input.max_tokens {
        None => output.results = found.collect(),
        Some(most) => {
            // As if much did not fit, so that saying so fits.
            output.omitted = omitted(count, count);
            let Fitted { items, shrunk, dropped } = fit(found, budget(&call, Some(most)).less_frame(&output));
            (output.results, output.omitted) = (items, omitted(shrunk, dropped));
        }
    }
    Ok(output)
}

fn omitted(texts: usize, hits: usize) -> Option<Omitted> {
    (texts + hits > 0).then(|| Omitted { texts, hits, hint: OMITTED.to_owned() })
}

impl Shrinks for Found {
    fn shrink(&mut self) -> bool {
        let first: Vec<&str> = self.content.lines().take(LINES_SHORT).collect();
        let first = first.join("\n");
        let smaller = !self.content.is_empty();
        self.content = if first.len() + 1 < self.content.len() { first } else { String::new() };
        smaller
    }
}

impl From<Hit> for Found {
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
