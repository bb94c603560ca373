//! `build_index`: the index job itself, waited for or handed back as a job (T §6.5.2).

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::job;
use crate::app::Bulkhead;
use crate::contract::{ErrorCode, Fault};
use crate::indexing::{Options, RunReport};
use crate::tenancy::Scope;
use crate::tools::spec::typed;
use crate::tools::{Call, Effects, TimeoutClass, ToolSpec, Toolset, schema};

pub(crate) const TOOL: ToolSpec = ToolSpec {
    name: "build_index",
    title: "Build index",
    description: "Build or refresh the search index of a repository. Incremental by default: unchanged files cost nothing, a changed \
        file touches only itself. One run a repository at a time: a second call joins the running one. Long runs: wait=false returns \
        the job at once and `index_status` shows its progress; searching works meanwhile.",
    toolset: Toolset::Index,
    effects: Effects::WRITES,
    scope: Scope::Index,
    bulkhead: Bulkhead::Index,
    timeout: TimeoutClass::Index,
    input: schema::of::<Input>,
    output: schema::of_answer::<Output>,
    run: |call, arguments| typed(call, arguments, run),
};

/// The name that S has for it (S §3.2); one and the same tool.
pub(crate) const OLDER_NAME: ToolSpec = ToolSpec {
    name: "index_build",
    title: "Build index (older name)",
    description: "The older name of `build_index`, with the same arguments and the same answer.",
    input: input_of_older_name,
    ..TOOL
};

/// The same fields; what they mean is told once, because models pay for each word of the list.
fn input_of_older_name() -> Map<String, Value> {
    let mut input = schema::of::<Input>();
    if let Some(Value::Object(fields)) = input.get_mut("properties") {
        for rule in fields.values_mut().filter_map(Value::as_object_mut) {
            rule.insert("description".to_owned(), Value::from("Same."));
        }
    }
    input
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct Input {
    /// Absolute path to the repository directory on the server; default: the directory the client works in.
    #[schemars(length(min = 1, max = 4096))]
    repo_path: Option<String>,
    /// Project to index into; null or omitted: the default workspace.
    #[serde(rename = "project_id")]
    #[schemars(length(min = 1, max = 50), regex(pattern = r"^[a-z0-9]+(-[a-z0-9]+)*$"))]
    project_id: Option<String>,
    /// true (default): only changed files are read. false: every file is read and chunked again; vectors of unchanged text are kept.
    incremental: Option<bool>,
    /// true (default): answer when the run is over. false: answer at once with the job's id.
    wait: Option<bool>,
    /// Allow a run that would remove more than half of the indexed files.
    force: Option<bool>,
    /// Refresh the project's portable file, too.
    sqlite: Option<bool>,
    /// First take vectors from portable files in `artifactsDir`.
    use_artifacts: Option<bool>,
    /// Default `ci-artifacts` in the repository.
    #[schemars(length(min = 1, max = 4096))]
    artifacts_dir: Option<String>,
}

#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct Output {
    /// The job's id, for `index_status`.
    job_id: String,
    /// queued, running or succeeded.
    state: &'static str,
    /// True when the call joined a run that was already under way.
    attached: bool,
    /// The project; null is the default workspace.
    #[serde(rename = "project_id")]
    project_id: Option<String>,
    /// The project's Postgres schema.
    #[serde(rename = "schema_name")]
    schema_name: String,
    /// What the run did; absent while it is under way.
    #[serde(skip_serializing_if = "Option::is_none")]
    report: Option<RunReport>,
}

async fn run(call: Call, input: Input) -> Result<Output, Fault> {
    let (project_id, repo) = (input.project_id.as_deref(), input.repo_path.as_deref());
    let options = Options {
        full: !input.incremental.unwrap_or(true),
        force: input.force.unwrap_or(false),
        sqlite: input.sqlite.unwrap_or(false),
        artifacts: artifacts(&call, &input).await?,
    };
    if input.wait.unwrap_or(true) {
        let done = job::run(&call, project_id, repo, options).await?;
        return Ok(output(&done.project, done.job_id, "succeeded", done.attached, Some(done.report)));
    }
    let begun = job::begin(&call, project_id, repo, options).await?;
    Ok(output(&begun.project, begun.job_id, begun.state, begun.attached, None))
}

/// The folder whose files are to give their vectors.
async fn artifacts(call: &Call, input: &Input) -> Result<Option<String>, Fault> {
    if input.use_artifacts == Some(true) {
        let folder = input.artifacts_dir.as_deref().unwrap_or("ci-artifacts");
        return job::artifacts(call, input.repo_path.as_deref(), folder).await.map(Some);
    }
    if input.artifacts_dir.is_none() {
        return Ok(None);
    }
    Err(Fault::new(ErrorCode::InvalidRequest, "`artifactsDir` is read only with `useArtifacts`.")
        .with_hint("Set `useArtifacts` as well, or leave `artifactsDir` out."))
}

fn output(
    project: &crate::store::Project,
    job_id: String,
    state: &'static str,
    attached: bool,
    report: Option<RunReport>,
) -> Output {
    Output {
        job_id,
        state,
        attached,
        project_id: project.id().public().map(str::to_owned),
        schema_name: project.id().schema_name(),
        report,
    }
}
