//! `report_artifacts`: disk use of a project in the database and in files, and its problems.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::app::{Bulkhead, blocking};
use crate::tools::project_id_arg::ProjectIdArg;
use crate::tools::repository::repository_root;
use crate::tools::spec::run_typed;
use crate::tools::{Call, Effects, ToolSpec, Toolset, schema};
use contract::{Fault, ProjectId};
use store::{
    self, Access, DecidedBy, Project, ProjectTx, RepositoryRow, RepositoryState, Store, files, index_state,
    sizes, vectors,
};
use tenancy::{self, Scope};
use upkeep::retention::{folder_bytes, list_project_files};

pub(crate) const TOOL: ToolSpec = ToolSpec {
    name: "report_artifacts",
    title: "Report artifacts",
    description: "Report a project's disk use: repositories, tables and indexes of the database, files; and its problems, each with the \
        command that fixes it.",
    toolset: Toolset::ADMIN,
    effects: Effects::READS,
    scope: Scope::Search,
    bulkhead: Bulkhead::None,
    timeout: |limits| limits.default_ms,
    input: schema::generate_schema::<ReportArtifactsInput>,
    output: schema::generate_output_schema::<ReportArtifactsOutput>,
    run: |call, arguments| run_typed(call, arguments, report_artifacts),
    ..ToolSpec::BASE
};

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct ReportArtifactsInput {
    /// List only this repository: its absolute path or its name.
    #[schemars(length(min = 1, max = 4096))]
    repo_path: Option<String>,
    /// Project; default: the session's.
    #[serde(rename = "project_id")]
    project_id: Option<ProjectIdArg>,
    /// true: also report the size of every project that you may use.
    all: Option<bool>,
}

#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct ReportArtifactsOutput {
    /// The project; null is the default workspace.
    #[serde(rename = "project_id")]
    project_id: Option<String>,
    /// Bytes of the project's tables, indexes and files.
    total_bytes: u64,
    /// Repositories, ordered by path.
    repositories: Vec<RepositorySize>,
    /// Tables of the project's schema.
    tables: Vec<TableSize>,
    /// Files of the project by kind.
    files: Vec<FileKindSize>,
    /// Texts with a vector.
    vectors: i64,
    /// Texts that have no vector yet.
    vectors_pending: i64,
    /// Vectors that no text uses; cache_gc removes them.
    vectors_orphaned: u64,
    /// Problems, each with the command that fixes it.
    issues: Vec<ArtifactIssue>,
    /// Bytes of what all projects share; only for the operator.
    #[serde(skip_serializing_if = "Option::is_none")]
    machine: Option<SharedBytes>,
    /// Size of every project; only with all=true.
    #[serde(skip_serializing_if = "Option::is_none")]
    projects: Option<Vec<ProjectBytes>>,
}

#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct RepositorySize {
    /// Its name in answers.
    name: String,
    /// new, indexing, ready or failed.
    state: &'static str,
    /// Searchable files.
    files: i64,
    /// Files that were not indexed.
    files_skipped: i64,
    /// Searchable chunks.
    chunks: i64,
    /// Bytes of the searchable files.
    bytes: i64,
}

#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct TableSize {
    /// Table name.
    name: String,
    /// Bytes of the table without its indexes.
    bytes: u64,
    /// Bytes of its indexes.
    index_bytes: u64,
}

#[derive(Debug, Serialize, JsonSchema)]
struct FileKindSize {
    /// Name of the folder that contains them.
    kind: String,
    /// Number of files.
    count: u64,
    /// Total size.
    bytes: u64,
}

#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct SharedBytes {
    /// The database, all projects included.
    database: u64,
    /// Data directory of the embedded Postgres.
    cluster: u64,
    models: u64,
    dictionaries: u64,
    runtime: u64,
    downloads: u64,
}

#[derive(Debug, Serialize, JsonSchema)]
struct ProjectBytes {
    /// The project; null is the default workspace.
    project_id: Option<String>,
    /// Bytes of its tables, indexes and files.
    bytes: u64,
}

#[derive(Debug, Serialize, JsonSchema)]
struct ArtifactIssue {
    /// What is wrong.
    message: String,
    /// How to fix it.
    hint: String,
    /// The command that fixes it; PATH stands for the repository's directory.
    command: String,
}

async fn report_artifacts(call: Call, input: ReportArtifactsInput) -> Result<ReportArtifactsOutput, Fault> {
    let project = call.project(input.project_id.as_deref()).await?;
    let only = match &input.repo_path {
        Some(named) => Some(repository_root(&call, &project, named).await?),
        None => None,
    };
    let store = call.app.store().await?;
    let mut issues = Vec::new();
    let mut tx = ProjectTx::begin(store, &project, Access::Search).await?;
    let known: Vec<RepositoryRow> = store::repositories::list(&mut tx)
        .await?
        .into_iter()
        .filter(|row| only.as_ref().is_none_or(|root| *root == row.root))
        .collect();
    let mut repositories = Vec::with_capacity(known.len());
    for row in known {
        let totals = files::totals(&mut tx, Some(row.id)).await?;
        issues.extend(repository_issue(&row, &project));
        repositories.push(RepositorySize::new(row, totals));
    }
    let tables: Vec<TableSize> = sizes::tables(&mut tx).await?.into_iter().map(TableSize::from).collect();
    let (vectors, vectors_pending) = (vectors::count(&mut tx).await?, vectors::pending_count(&mut tx).await?);
    let orphaned = vectors::orphans(&mut tx, &[]).await?;
    let state = index_state::read(&mut tx).await?;
    tx.commit().await?;
    issues.extend(index_issues(&project, &repositories, vectors_pending, &state));
    let files = file_kind_sizes(&call, &project).await?;
    let table_bytes: u64 = tables.iter().map(|table| table.bytes + table.index_bytes).sum();
    let file_bytes: u64 = files.iter().map(|kind| kind.bytes).sum();
    let total_bytes = table_bytes + file_bytes;
    let everything = input.all.unwrap_or(false);
    Ok(ReportArtifactsOutput {
        project_id: project.id().public().map(str::to_owned),
        total_bytes,
        repositories,
        tables,
        files,
        vectors,
        vectors_pending,
        vectors_orphaned: orphaned.rows,
        issues,
        machine: if call.caller.principal.is_operator() {
            Some(shared_bytes(&call, store).await?)
        } else {
            None
        },
        projects: if everything {
            Some(project_sizes(&call, store, (project.id(), total_bytes)).await?)
        } else {
            None
        },
    })
}

impl RepositorySize {
    fn new(row: RepositoryRow, totals: files::Totals) -> Self {
        Self {
            name: row.name,
            state: row.state.as_str(),
            files: totals.files,
            files_skipped: totals.skipped,
            chunks: totals.chunks,
            bytes: totals.bytes,
        }
    }
}

impl From<sizes::TableSize> for TableSize {
    fn from(size: sizes::TableSize) -> Self {
        Self { name: size.table, bytes: size.bytes, index_bytes: size.index_bytes }
    }
}

/// ` --project ID`; empty for the default workspace.
fn project_flag(project: &Project) -> String {
    project.id().public().map(|id| format!(" --project {id}")).unwrap_or_default()
}

/// The problem of a repository, if it has one.
fn repository_issue(row: &RepositoryRow, project: &Project) -> Option<ArtifactIssue> {
    // Records and imported repositories have no directory that could be indexed.
    if !row.is_readable() {
        return None;
    }
    let (what, hint) = match row.state {
        RepositoryState::Failed => {
            ("its last run failed", "Index it again; `index_status` says why it failed.")
        }
        RepositoryState::New if row.is_partially_indexed() => {
            ("its first run was cancelled", "Index it again; the run resumes where it stopped.")
        }
        RepositoryState::New => ("it was never indexed", "Index it."),
        RepositoryState::Indexing | RepositoryState::Ready => return None,
    };
    Some(ArtifactIssue {
        message: format!("{}: {what}.", row.name),
        hint: hint.to_owned(),
        command: format!("pairofcleats index PATH{}", project_flag(project)),
    })
}

/// Problems of the project's index as a whole.
fn index_issues(
    project: &Project,
    repositories: &[RepositorySize],
    vectors_pending: i64,
    state: &index_state::IndexState,
) -> Vec<ArtifactIssue> {
    let mut issues = Vec::new();
    let mut issue = |message: String, hint: &str| {
        let command = format!("pairofcleats index PATH{}", project_flag(project));
        issues.push(ArtifactIssue { message, hint: hint.to_owned(), command });
    };
    if repositories.is_empty() {
        issue("The project has no repository.".to_owned(), "Index one.");
    }
    if vectors_pending > 0 {
        let message = format!("{vectors_pending} texts have no vector yet; only lexical search finds them.");
        issue(message, "Index again where the embedding model is installed.");
    }
    if state.chunks > 0 && !state.terms_indexed {
        issue(
            "The lexical index is missing, so searches are slow.".to_owned(),
            "Index again; the run builds it.",
        );
    }
    issues
}

async fn file_kind_sizes(call: &Call, project: &Project) -> Result<Vec<FileKindSize>, Fault> {
    let (folder, most) = (call.app.layout.project(project.id().as_str()), call.app.config.upkeep.files_max);
    let entries = blocking(move || list_project_files(&folder, most)).await?;
    let mut kinds: BTreeMap<String, (u64, u64)> = BTreeMap::new();
    for entry in entries {
        let (count, bytes) = kinds.entry(entry.kind().to_owned()).or_default();
        (*count, *bytes) = (*count + 1, *bytes + entry.bytes);
    }
    Ok(kinds.into_iter().map(|(kind, (count, bytes))| FileKindSize { kind, count, bytes }).collect())
}

async fn shared_bytes(call: &Call, store: &Store) -> Result<SharedBytes, Fault> {
    let mut tx = store.control_read().await?;
    let database = sizes::database(&mut tx).await?;
    tx.commit().await?;
    let layout = call.app.layout.clone();
    let dictionaries = call.app.dictionaries.folder().to_owned();
    blocking(move || {
        Ok(SharedBytes {
            database,
            cluster: folder_bytes(&layout.cluster()),
            models: folder_bytes(&layout.models()),
            dictionaries: folder_bytes(&dictionaries),
            runtime: folder_bytes(&layout.runtime()),
            downloads: folder_bytes(&layout.downloads()),
        })
    })
    .await
}

/// Sizes of the projects that the caller may use. `measured` is the project of the call with its bytes; it is not measured
/// again, because a second figure in the same answer could differ.
async fn project_sizes(
    call: &Call,
    store: &Store,
    measured: (&ProjectId, u64),
) -> Result<Vec<ProjectBytes>, Fault> {
    let mut tx = store.control_read().await?;
    let known = store::projects::list(&mut tx).await?;
    tx.commit().await?;
    let mut sized = Vec::new();
    for summary in known.into_iter().filter(|summary| call.caller.principal.may_use(&summary.id)) {
        let project_id = summary.id.public().map(str::to_owned);
        if summary.id == *measured.0 {
            sized.push(ProjectBytes { project_id, bytes: measured.1 });
            continue;
        }
        let Some(project) = tenancy::open(store, &summary.id, DecidedBy::Argument).await? else { continue };
        let mut tx = ProjectTx::begin(store, &project, Access::Search).await?;
        let database_bytes = sizes::total(&mut tx).await?;
        tx.commit().await?;
        let files: u64 = file_kind_sizes(call, &project).await?.iter().map(|kind| kind.bytes).sum();
        sized.push(ProjectBytes { project_id, bytes: database_bytes + files });
    }
    Ok(sized)
}
