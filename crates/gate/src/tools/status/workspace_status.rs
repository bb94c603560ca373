//! `workspace_status`: lists the workspaces and their repositories.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::app::Bulkhead;
use crate::tools::project_id_arg::ProjectIdArg;
use crate::tools::spec::run_typed;
use crate::tools::{Call, Effects, ToolSpec, Toolset, schema};
use contract::clock::iso_from_millis;
use contract::{Fault, ProjectId};
use store::{self, Access, DecidedBy, ProjectSummary, ProjectTx, RepositoryRow, files, repositories};
use tenancy::{self, Scope};

pub(crate) const TOOL: ToolSpec = ToolSpec {
    name: "workspace_status",
    title: "Workspace status",
    description: "List the projects and their indexed repositories: what can be searched, and which project_id to pass.",
    toolset: Toolset::SEARCH,
    effects: Effects::READS,
    scope: Scope::Search,
    bulkhead: Bulkhead::None,
    timeout: |limits| limits.default_ms,
    input: schema::generate_schema::<WorkspaceStatusInput>,
    output: schema::generate_output_schema::<WorkspaceStatusOutput>,
    run: |call, arguments| run_typed(call, arguments, workspace_status),
    ..ToolSpec::BASE
};

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct WorkspaceStatusInput {
    /// Only this project; omitted: all projects that you may use.
    project_id: Option<ProjectIdArg>,
}

#[derive(Debug, Serialize, JsonSchema)]
struct WorkspaceStatusOutput {
    /// The projects, by id.
    projects: Vec<Workspace>,
}

#[derive(Debug, Serialize, JsonSchema)]
struct Workspace {
    /// The project; null is the default workspace.
    project_id: Option<String>,
    /// The project's Postgres schema.
    schema_name: String,
    /// When it was created, UTC.
    created_at: String,
    /// Its repositories, by path.
    repositories: Vec<WorkspaceRepository>,
}

#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct WorkspaceRepository {
    /// Its name in answers; tools take it as repoPath.
    name: String,
    /// new, indexing, ready or failed.
    state: &'static str,
    /// Searchable files at the end of the last complete run; during the first run, those so far.
    files: i64,
    /// Searchable chunks at that time.
    chunks: i64,
    /// End of the last complete run, UTC.
    #[serde(skip_serializing_if = "Option::is_none")]
    indexed_at: Option<String>,
}

async fn workspace_status(call: Call, input: WorkspaceStatusInput) -> Result<WorkspaceStatusOutput, Fault> {
    let only = match &input.project_id {
        Some(_) => Some(call.project(input.project_id.as_deref()).await?.id().clone()),
        None => None,
    };
    let store = call.app.store().await?;
    let mut tx = store.control_read().await?;
    let known = store::projects::list(&mut tx).await?;
    tx.commit().await?;
    let mut projects = Vec::new();
    let is_visible =
        |id: &ProjectId| call.caller.principal.may_use(id) && only.as_ref().is_none_or(|only| only == id);
    for summary in known.into_iter().filter(|summary| is_visible(&summary.id)) {
        projects.extend(workspace(store, summary).await?);
    }
    Ok(WorkspaceStatusOutput { projects })
}

/// Reads the repositories of a project; `None` if it was deleted since it was listed.
async fn workspace(store: &store::Store, summary: ProjectSummary) -> Result<Option<Workspace>, Fault> {
    let Some(project) = tenancy::open(store, &summary.id, DecidedBy::Argument).await? else {
        return Ok(None);
    };
    let mut tx = ProjectTx::begin(store, &project, Access::Search).await?;
    let mut repositories = repositories::list(&mut tx).await?;
    for row in repositories.iter_mut().filter(|row| row.indexed_ms.is_none()) {
        let so_far = files::totals(&mut tx, Some(row.id)).await?;
        (row.files, row.chunks) = (so_far.files, so_far.chunks);
    }
    tx.commit().await?;
    Ok(Some(Workspace {
        project_id: summary.id.public().map(str::to_owned),
        schema_name: summary.schema_name,
        created_at: iso_from_millis(summary.created_ms),
        repositories: repositories.into_iter().map(WorkspaceRepository::from).collect(),
    }))
}

impl From<RepositoryRow> for WorkspaceRepository {
    fn from(row: RepositoryRow) -> Self {
        Self {
            name: row.name,
            state: row.state.as_str(),
            files: row.files,
            chunks: row.chunks,
            indexed_at: row.indexed_ms.map(iso_from_millis),
        }
    }
}
