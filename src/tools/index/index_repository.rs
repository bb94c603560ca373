//! `index_repository`: index a repository into a project and wait for the end (M).

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::job::{self, Wanted};
use crate::app::Bulkhead;
use crate::tools::project_id_arg::ProjectIdArg;
use crate::tools::spec::typed;
use crate::tools::{Call, Effects, TimeoutClass, ToolSpec, Toolset, schema};
use contract::Fault;
use tenancy::Scope;

pub(crate) const TOOL: ToolSpec = ToolSpec {
    name: "index_repository",
    title: "Index a repository",
    description: "Index a code repository into the project's isolated workspace, made on first use, and wait until it is searchable. Later \
        calls handle what changed. For a large first run prefer `build_index` with wait=false.",
    toolset: Toolset::Index,
    effects: Effects::WRITES,
    scope: Scope::Index,
    bulkhead: Bulkhead::Index,
    timeout: TimeoutClass::Index,
    input: schema::of::<Input>,
    output: schema::of_answer::<Output>,
    run: |call, arguments| typed(call, arguments, run),
};

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Input {
    /// Absolute path of the repository on the server.
    #[schemars(length(min = 1, max = 4096))]
    repo_path: String,
    /// Project; omitted: the default workspace.
    project_id: Option<ProjectIdArg>,
}

#[derive(Debug, Serialize, JsonSchema)]
struct Output {
    /// Always `success`; a failure is an error.
    status: &'static str,
    /// Identifies the repository inside the project.
    repository_id: i64,
    /// The project; null is the default workspace.
    project_id: Option<String>,
    /// The project's Postgres schema.
    schema_name: String,
    /// Files of the repository that are searchable now.
    files_indexed: u64,
    /// Chunks of the repository that are searchable now.
    chunks_created: u64,
    /// How long the run took, in seconds.
    duration_seconds: f64,
}

async fn run(call: Call, input: Input) -> Result<Output, Fault> {
    let wanted =
        Wanted { project_id: input.project_id.as_deref(), repo: Some(&input.repo_path), ..Wanted::default() };
    let finished = job::run(&call, &wanted).await?;
    let report = finished.report;
    Ok(Output {
        status: "success",
        repository_id: report.repository_id,
        project_id: finished.project.id().public().map(str::to_owned),
        schema_name: finished.project.id().schema_name(),
        files_indexed: report.files,
        chunks_created: report.chunks,
        duration_seconds: report.seconds,
    })
}
