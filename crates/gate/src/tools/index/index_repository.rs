//! `index_repository`: indexes a repository into a project and waits for the end of the run.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::index_run::{self, IndexRequest};
use crate::app::Bulkhead;
use crate::tools::project_id_arg::ProjectIdArg;
use crate::tools::spec::run_typed;
use crate::tools::{Call, Effects, ToolSpec, Toolset, schema};
use contract::Fault;
use tenancy::Scope;

pub(crate) const TOOL: ToolSpec = ToolSpec {
    name: "index_repository",
    title: "Index a repository",
    description: "Index a code repository into the project's workspace (created on first use) and wait until it is searchable. Later calls index only \
        what changed.",
    toolset: Toolset::INDEX,
    effects: Effects::WRITES,
    scope: Scope::Index,
    bulkhead: Bulkhead::Index,
    timeout: |limits| limits.index_ms,
    input: schema::generate_schema::<IndexRepositoryInput>,
    output: schema::generate_output_schema::<IndexRepositoryOutput>,
    run: |call, arguments| run_typed(call, arguments, index_repository),
    ..ToolSpec::BASE
};

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct IndexRepositoryInput {
    /// Absolute path on the server, or git URL.
    #[schemars(length(min = 1, max = 4096))]
    repo_path: String,
    /// Project; default: the session's.
    project_id: Option<ProjectIdArg>,
}

#[derive(Debug, Serialize, JsonSchema)]
struct IndexRepositoryOutput {
    /// Always `success`; failures are errors.
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
    /// Duration of the run, in seconds.
    duration_seconds: f64,
}

async fn index_repository(call: Call, input: IndexRepositoryInput) -> Result<IndexRepositoryOutput, Fault> {
    let request = IndexRequest {
        project_id: input.project_id.as_deref(),
        repo: Some(&input.repo_path),
        ..IndexRequest::default()
    };
    let finished = index_run::run_to_end(&call, &request).await?;
    let report = finished.report;
    Ok(IndexRepositoryOutput {
        status: "success",
        repository_id: report.repository_id,
        project_id: finished.project.id().public().map(str::to_owned),
        schema_name: finished.project.id().schema_name(),
        files_indexed: report.files,
        chunks_created: report.chunks,
        duration_seconds: report.seconds,
    })
}
