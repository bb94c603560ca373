//! `workspace_status`: the workspaces there are, and the repositories of each.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::app::Bulkhead;
use crate::tools::project_id_arg::ProjectIdArg;
use crate::tools::spec::typed;
use crate::tools::{Call, Effects, TimeoutClass, ToolSpec, Toolset, schema};
use contract::clock::iso_from_millis;
use contract::{Fault, ProjectId};
use store::{self, Access, DecidedBy, ProjectSummary, ProjectTx, RepositoryRow, files, repositories};
use tenancy::{self, Scope};

pub(crate) const TOOL: ToolSpec = ToolSpec {
    name: "workspace_status",
    title: "Workspace status",
    description: "List the projects (isolated workspaces) and their indexed repositories. Use it to find out what can be searched and \
        which project_id to pass.",
    toolset: Toolset::Search,
    effects: Effects::READS,
    scope: Scope::Search,
    bulkhead: Bulkhead::None,
    timeout: TimeoutClass::Default,
    input: schema::of::<Input>,
    output: schema::of_answer::<Output>,
    run: |call, arguments| typed(call, arguments, run),
};

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Input {
    /// Only this project; omitted: all that you may use.
    project_id: Option<ProjectIdArg>,
}

#[derive(Debug, Serialize, JsonSchema)]
struct Output {
    /// The projects, by id.
    projects: Vec<Workspace>,
}

#[derive(Debug, Serialize, JsonSchema)]
struct Workspace {
    /// The id; null is the default workspace.
    project_id: Option<String>,
    /// The project's Postgres schema.
    schema_name: String,
    /// When it was made, UTC.
    created_at: String,
    /// Its repositories, by path.
    repositories: Vec<Repository>,
}

#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct Repository {
    /// Its name in answers; tools take it as repoPath.
    name: String,
    /// new, indexing, ready or failed.
    state: &'static str,
    /// Searchable files at the end of the last complete run; before the first one has ended, those so far.
    files: i64,
    /// Searchable chunks, in the same way.
    chunks: i64,
    /// End of the last complete run, UTC.
    #[serde(skip_serializing_if = "Option::is_none")]
    indexed_at: Option<String>,
}

async fn run(call: Call, input: Input) -> Result<Output, Fault> {
    let only = match &input.project_id {
        Some(_) => Some(call.project(input.project_id.as_deref()).await?.id().clone()),
        None => None,
    };
    let store = call.app.store().await?;
    let mut door = store.control_read().await?;
    let known = store::projects::list(&mut door).await?;
    door.commit().await?;
    let mut projects = Vec::new();
    let shown =
        |id: &ProjectId| call.caller.principal.may_use(id) && only.as_ref().is_none_or(|only| only == id);
    for summary in known.into_iter().filter(|summary| shown(&summary.id)) {
        projects.extend(workspace(store, summary).await?);
    }
    Ok(Output { projects })
}

/// None when the project went away since it was listed.
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
        repositories: repositories.into_iter().map(Repository::from).collect(),
    }))
}

impl From<RepositoryRow> for Repository {
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
