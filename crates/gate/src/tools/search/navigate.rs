//! `navigate`: where a symbol is defined and used, what it uses, and what a change of it reaches.

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value};

use super::file_target::{hit_line, hit_text};
use super::left_out::{explain_unknown_name, note_navigation};
use super::open_file::{RepositoryChoice, find_indexed_file, require_relative};
use super::search::answer_budget;
use crate::app::Bulkhead;
use crate::tools::project_id_arg::ProjectIdArg;
use crate::tools::search_scope::{RepositoryArguments, repository_roots};
use crate::tools::spec::run_typed;
use crate::tools::{Call, Effects, ToolSpec, Toolset, schema};
use contract::{ErrorCode, Fault};
use engine::navigation::{
    Certainty, NavigationPayload, NavigationRequest, Relation, Subject, UsedAs, navigate as answer, present,
};
use store::Project;
use tenancy::Scope;

pub(crate) const TOOL: ToolSpec = ToolSpec {
    name: "navigate",
    title: "Navigate",
    description: "Who calls this, where is it defined, what breaks if it changes: places with the line's text and how each is known. Takes a name \
        (`Context.json`, `src/context.ts:Context.json`) or a place. Lists what imports, scopes and types resolve, not equal names; an ambiguous \
        name answers candidates.",
    toolset: Toolset::SEARCH,
    effects: Effects::READS,
    scope: Scope::Search,
    bulkhead: Bulkhead::Search,
    timeout: |limits| limits.search_ms,
    input: schema::generate_schema::<NavigateInput>,
    output: schema::generate_output_schema::<NavigationPayload>,
    run: |call, arguments| run_typed(call, arguments, navigate),
    ..ToolSpec::BASE
};

/// Number of places if `limit` is not given.
const LIMIT_DEFAULT: usize = 50;
/// Number of steps if `depth` is not given.
const DEPTH_DEFAULT: u32 = 3;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct NavigateInput {
    /// A name; `file` and `line` narrow it.
    #[schemars(length(min = 1, max = 4096))]
    symbol: Option<String>,
    /// A hit of `search`.
    hit: Option<Map<String, Value>>,
    /// Path.
    #[schemars(length(min = 1, max = 4096))]
    file: Option<String>,
    /// Line.
    #[schemars(range(min = 1))]
    line: Option<u32>,
    /// Column, if the line has several names.
    #[schemars(range(min = 1))]
    column: Option<u32>,
    /// Default: references. impact: uses of uses.
    relation: Option<Relation>,
    /// As in `search`.
    #[schemars(length(min = 1, max = 4096))]
    repo_path: Option<String>,
    /// As in `search`.
    #[serde(rename = "project_id")]
    project_id: Option<ProjectIdArg>,
    /// Steps of impact, hierarchy; default 3.
    #[schemars(range(min = 1, max = 10))]
    depth: Option<u32>,
    /// Default 50.
    #[schemars(range(min = 1, max = 500))]
    limit: Option<usize>,
    /// Places to skip.
    offset: Option<usize>,
    /// The weakest shown; default resolved.
    certainty: Option<Certainty>,
    /// Only these uses.
    kind: Option<UsedAs>,
    /// As in `search`.
    #[schemars(range(min = 300, max = 100_000))]
    max_tokens: Option<usize>,
}

async fn navigate(call: Call, input: NavigateInput) -> Result<NavigationPayload, Fault> {
    // Invalid arguments are refused before anything is read.
    let (subject, hit_repository) = subject(&input)?;
    let project = call.project(input.project_id.as_deref()).await?;
    let repository = input.repo_path.as_deref().or(hit_repository.as_deref());
    let scope = RepositoryArguments { repository, project: input.project_id.as_deref() };
    let request = NavigationRequest {
        subject,
        relation: input.relation.unwrap_or_default(),
        repository_roots: repository_roots(&call, &project, scope).await?,
        depth: input.depth.unwrap_or(DEPTH_DEFAULT),
        limit: input.limit.unwrap_or(LIMIT_DEFAULT),
        offset: input.offset.unwrap_or(0),
        certainty: input.certainty.unwrap_or_default(),
        kind: input.kind,
    };
    let found = match answer(call.app.store().await?, &project, &*call.app.clock, &request).await {
        Ok(found) => found,
        Err(fault) => return Err(explained(&call, &project, &request, fault).await),
    };
    note_navigation(&call, &project, &request, &found).await;
    for warning in &found.warnings {
        call.warn(warning.clone());
    }
    Ok(present(found, answer_budget(&call, input.max_tokens)))
}

/// Completes the fault: for an unknown file with the reason why it is not indexed, or with the nearest paths; for a name without a
/// definition with the files that are not indexed.
async fn explained(call: &Call, project: &Project, request: &NavigationRequest, fault: Fault) -> Fault {
    let is_unknown_file = fault.details.as_ref().is_some_and(|details| details["unknownPath"].is_string());
    let (true, Subject::Place { file, .. }) = (is_unknown_file, &request.subject) else {
        return explain_unknown_name(call, project, request, fault).await;
    };
    let within = match request.repository_roots.as_slice() {
        [only] => RepositoryChoice::Only(only.clone()),
        _ => RepositoryChoice::Any,
    };
    find_indexed_file(call, project, &within, file, None).await.err().unwrap_or(fault)
}

/// Returns the subject of the arguments, and the repository of the hit. Arguments beside a hit take precedence over its fields.
fn subject(input: &NavigateInput) -> Result<(Subject, Option<String>), Fault> {
    let hit = input.hit.clone().unwrap_or_default();
    let own_place = input.file.is_some() || input.symbol.is_some();
    let (mut file, mut line) = (input.file.clone(), input.line);
    if !own_place {
        file = hit_text(&hit, &["file", "file_path"])?;
        line = match line {
            Some(line) => Some(line),
            None => hit_line(&hit, &["line", "startLine", "start_line"])?
                .and_then(|line| u32::try_from(line).ok()),
        };
    }
    let repository = hit_text(&hit, &["repo"])?.filter(|_| !own_place);
    let file = file.map(|file| require_relative(file.trim_start_matches("./"))).transpose()?;
    let subject = match (input.symbol.clone(), file, line) {
        (Some(symbol), file, line) => Subject::Name { symbol, file, line },
        (None, Some(file), Some(line)) => Subject::Place { file, line, column: input.column },
        (None, Some(_), None) => return Err(unnamed("`file` needs a `line` or a `symbol`.")),
        (None, None, _) => return Err(unnamed("No symbol is named.")),
    };
    Ok((subject, repository))
}

fn unnamed(message: &str) -> Fault {
    Fault::new(ErrorCode::InvalidRequest, message)
        .with_hint("Give `symbol`, or `file` with `line`, or a search hit as `hit`.")
}
