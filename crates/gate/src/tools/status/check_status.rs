//! `check_status`: checks the health of the server.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::app::Bulkhead;
use crate::tools::project_id_arg::ProjectIdArg;
use crate::tools::spec::run_typed;
use crate::tools::{Call, Effects, ToolSpec, Toolset, schema};
use contract::{ErrorCode, Fault, TOOLING_VERSION};
use store::{Access, Project, ProjectTx, files, vectors};
use tenancy::{self, Scope};

pub(crate) const TOOL: ToolSpec = ToolSpec {
    name: "check_status",
    title: "Check status",
    description: "Check the server's health: database, embedding model and, if given, a project; lists issues and how to fix them.",
    toolset: Toolset::SEARCH,
    effects: Effects::READS,
    scope: Scope::Search,
    bulkhead: Bulkhead::None,
    timeout: |limits| limits.default_ms,
    input: schema::generate_schema::<CheckStatusInput>,
    output: schema::generate_output_schema::<CheckStatusOutput>,
    run: |call, arguments| run_typed(call, arguments, check_status),
    ..ToolSpec::BASE
};

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct CheckStatusInput {
    /// Project; default: the session's.
    project_id: Option<ProjectIdArg>,
}

#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct CheckStatusOutput {
    /// Version of this program.
    version: &'static str,
    /// Milliseconds since the server started.
    uptime_ms: u64,
    /// True if there is no issue.
    healthy: bool,
    /// The database; absent if it cannot be reached.
    #[serde(skip_serializing_if = "Option::is_none")]
    database: Option<DatabaseHealth>,
    /// The embedding model; absent if it cannot be loaded.
    #[serde(skip_serializing_if = "Option::is_none")]
    model: Option<LoadedModel>,
    /// Size of the project's index; absent if the project has none.
    #[serde(skip_serializing_if = "Option::is_none")]
    index: Option<IndexTotals>,
    /// Problems, each with a hint.
    issues: Vec<HealthIssue>,
}

#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct DatabaseHealth {
    /// embedded or external.
    kind: &'static str,
    /// Version of PostgreSQL.
    version: String,
    /// Version of pgvector.
    pgvector: String,
}

#[derive(Debug, Serialize, JsonSchema)]
struct LoadedModel {
    /// Model id in the manifest.
    id: String,
    /// int8 or fp32.
    variant: String,
    /// Dimensions of its vectors.
    dimensions: usize,
}

#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct IndexTotals {
    /// Searchable files.
    files: i64,
    /// Searchable chunks.
    chunks: i64,
    /// Texts with a vector.
    vectors: i64,
    /// Texts that have no vector yet.
    vectors_pending: i64,
}

#[derive(Debug, Serialize, JsonSchema)]
struct HealthIssue {
    /// Error code of the contract.
    code: ErrorCode,
    /// What is wrong.
    message: String,
    /// How to fix it.
    #[serde(skip_serializing_if = "Option::is_none")]
    hint: Option<String>,
}

impl From<Fault> for HealthIssue {
    fn from(fault: Fault) -> Self {
        Self { code: fault.code, message: fault.message, hint: fault.hint }
    }
}

async fn check_status(call: Call, input: CheckStatusInput) -> Result<CheckStatusOutput, Fault> {
    let mut issues: Vec<HealthIssue> = Vec::new();
    let uptime = call.app.clock.instant().duration_since(call.app.started);
    let local = call.caller.surface.is_local();
    let for_caller = |fault: Fault| if local { fault.for_local_caller() } else { fault };
    let database = or_issue(check_database(&call).await.map_err(for_caller), &mut issues);
    let model = or_issue(check_model(&call).await.map_err(for_caller), &mut issues);
    let project = match database {
        Some(_) => call.project_if_any(input.project_id.as_deref()).await?,
        None => None,
    };
    // A missing default workspace is normal; a missing project that the call or its session names is an issue.
    if database.is_some() && project.is_none() && call.names_project(input.project_id.as_deref()).await? {
        issues.push(HealthIssue::from(call.no_index(input.project_id.as_deref()).await?));
    }
    let index = match &project {
        Some(project) => or_issue(index_totals(&call, project).await, &mut issues),
        None => None,
    };
    Ok(CheckStatusOutput {
        version: TOOLING_VERSION,
        uptime_ms: u64::try_from(uptime.as_millis()).unwrap_or(u64::MAX),
        healthy: issues.is_empty(),
        database,
        model,
        index,
        issues,
    })
}

/// Turns a failed check into an issue, so that the call succeeds and reports it.
fn or_issue<T>(outcome: Result<T, Fault>, issues: &mut Vec<HealthIssue>) -> Option<T> {
    outcome.map_err(|fault| issues.push(HealthIssue::from(fault))).ok()
}

async fn check_database(call: &Call) -> Result<DatabaseHealth, Fault> {
    let database = call.app.store().await?.database();
    database.ping().await?;
    let facts = database.facts();
    Ok(DatabaseHealth {
        kind: if database.is_external() { "external" } else { "embedded" },
        version: facts.version.clone(),
        pgvector: facts.vector_version.clone(),
    })
}

async fn check_model(call: &Call) -> Result<LoadedModel, Fault> {
    let model = call.app.embedder().await?.model();
    Ok(LoadedModel { id: model.id.clone(), variant: model.variant.clone(), dimensions: model.dimensions })
}

async fn index_totals(call: &Call, project: &Project) -> Result<IndexTotals, Fault> {
    let mut tx = ProjectTx::begin(call.app.store().await?, project, Access::Search).await?;
    let totals = files::totals(&mut tx, None).await?;
    let (vectors, vectors_pending) = (vectors::count(&mut tx).await?, vectors::pending_count(&mut tx).await?);
    tx.commit().await?;
    Ok(IndexTotals { files: totals.files, chunks: totals.chunks, vectors, vectors_pending })
}
