//! `check_status`: is the server well?

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::app::Bulkhead;
use crate::tools::project_id_arg::ProjectIdArg;
use crate::tools::spec::typed;
use crate::tools::{Call, Effects, TimeoutClass, ToolSpec, Toolset, schema};
use contract::{ErrorCode, Fault, TOOLING_VERSION};
use store::{Access, Project, ProjectTx, files, vectors};
use tenancy::{self, Scope};

pub(crate) const TOOL: ToolSpec = ToolSpec {
    name: "check_status",
    title: "Check status",
    description: "Check the server's health: database, embedding model, the project that is named; lists issues and how to fix them.",
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
    /// Project; omitted: the default workspace.
    project_id: Option<ProjectIdArg>,
}

#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct Output {
    /// Version of the server.
    version: &'static str,
    /// Milliseconds since the server started.
    uptime_ms: u64,
    /// True when there is no issue.
    healthy: bool,
    /// The database, if it can be reached.
    #[serde(skip_serializing_if = "Option::is_none")]
    database: Option<Database>,
    /// The embedding model, if it is installed.
    #[serde(skip_serializing_if = "Option::is_none")]
    model: Option<Model>,
    /// What the project holds; absent when nothing was indexed into it.
    #[serde(skip_serializing_if = "Option::is_none")]
    index: Option<Index>,
    /// What is not well.
    issues: Vec<Issue>,
}

#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct Database {
    /// embedded or external.
    kind: &'static str,
    /// Version of the server.
    version: String,
    /// Version of the vector extension.
    pgvector: String,
}

#[derive(Debug, Serialize, JsonSchema)]
struct Model {
    /// Name in the manifest.
    id: String,
    /// int8 or fp32.
    variant: String,
    /// Length of a vector.
    dimensions: usize,
}

#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct Index {
    /// Searchable files.
    files: i64,
    /// Searchable chunks.
    chunks: i64,
    /// Texts with a vector.
    vectors: i64,
    /// Texts that still lack one.
    vectors_pending: i64,
}

#[derive(Debug, Serialize, JsonSchema)]
struct Issue {
    /// The contract's error code.
    code: ErrorCode,
    /// What is wrong.
    message: String,
    /// What to do.
    #[serde(skip_serializing_if = "Option::is_none")]
    hint: Option<String>,
}

impl From<Fault> for Issue {
    fn from(fault: Fault) -> Self {
        Self { code: fault.code, message: fault.message, hint: fault.hint }
    }
}

async fn run(call: Call, input: Input) -> Result<Output, Fault> {
    let mut issues: Vec<Issue> = Vec::new();
    let uptime = call.app.clock.instant().duration_since(call.app.started);
    let local = call.caller.surface.is_local();
    let told = |fault: Fault| if local { fault.told_locally() } else { fault };
    let database = noted(database(&call).await.map_err(told), &mut issues);
    let model = noted(model(&call).await.map_err(told), &mut issues);
    let project = match database {
        Some(_) => call.project_if_any(input.project_id.as_deref()).await?,
        None => None,
    };
    // The default workspace may well be empty; a project that somebody names should be there.
    if database.is_some() && project.is_none() && call.names_a_project(input.project_id.as_deref()).await? {
        issues.push(Issue::from(tenancy::no_index().with_hint(call.caller.principal.hint())));
    }
    let index = match &project {
        Some(project) => noted(index(&call, project).await, &mut issues),
        None => None,
    };
    Ok(Output {
        version: TOOLING_VERSION,
        uptime_ms: u64::try_from(uptime.as_millis()).unwrap_or(u64::MAX),
        healthy: issues.is_empty(),
        database,
        model,
        index,
        issues,
    })
}

/// What is not well is an issue in the answer, not a failure of asking.
fn noted<T>(outcome: Result<T, Fault>, issues: &mut Vec<Issue>) -> Option<T> {
    outcome.map_err(|fault| issues.push(Issue::from(fault))).ok()
}

async fn database(call: &Call) -> Result<Database, Fault> {
    let database = call.app.store().await?.database();
    database.ping().await?;
    let facts = database.facts();
    Ok(Database {
        kind: if database.is_external() { "external" } else { "embedded" },
        version: facts.version.clone(),
        pgvector: facts.vector_version.clone(),
    })
}

async fn model(call: &Call) -> Result<Model, Fault> {
    let model = call.app.embedder().await?.model();
    Ok(Model { id: model.id.clone(), variant: model.variant.clone(), dimensions: model.dimensions })
}

async fn index(call: &Call, project: &Project) -> Result<Index, Fault> {
    let mut tx = ProjectTx::begin(call.app.store().await?, project, Access::Search).await?;
    let totals = files::totals(&mut tx, None).await?;
    let (vectors, vectors_pending) = (vectors::count(&mut tx).await?, vectors::pending_count(&mut tx).await?);
    tx.commit().await?;
    Ok(Index { files: totals.files, chunks: totals.chunks, vectors, vectors_pending })
}
