//! `report_artifacts`: how much room what takes, from the database and the disk, and what is not well.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::app::{Bulkhead, blocking};
use crate::tools::project_id_arg::ProjectIdArg;
use crate::tools::repository::repository;
use crate::tools::spec::typed;
use crate::tools::{Call, Effects, TimeoutClass, ToolSpec, Toolset, schema};
use contract::{Fault, ProjectId};
use store::{
    self, Access, DecidedBy, Project, ProjectTx, RepositoryRow, RepositoryState, Store, files, index_state,
    sizes, vectors,
};
use tenancy::{self, Scope};
use upkeep::folder;

pub(crate) const TOOL: ToolSpec = ToolSpec {
    name: "report_artifacts",
    title: "Report artifacts",
    description: "Report a project's disk use: repositories, tables and indexes of the database, files; and its problems, each with the \
        command that fixes it.",
    toolset: Toolset::Admin,
    effects: Effects::READS,
    scope: Scope::Search,
    bulkhead: Bulkhead::None,
    timeout: TimeoutClass::Default,
    input: schema::of::<Input>,
    output: schema::of_answer::<Output>,
    run: |call, arguments| typed(call, arguments, run),
};

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct Input {
    /// List only this repository: its absolute path or its name.
    #[schemars(length(min = 1, max = 4096))]
    repo_path: Option<String>,
    /// Project; omitted: the default workspace.
    #[serde(rename = "project_id")]
    project_id: Option<ProjectIdArg>,
    /// true: also the size of every project that you may use.
    all: Option<bool>,
}

#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct Output {
    /// The project; null is the default workspace.
    #[serde(rename = "project_id")]
    project_id: Option<String>,
    /// Bytes of its tables, indexes and files.
    total_bytes: u64,
    /// By path.
    repositories: Vec<Repository>,
    /// Of the project's schema.
    tables: Vec<Table>,
    /// Files of the project by kind.
    files: Vec<Files>,
    /// Texts with a vector.
    vectors: i64,
    /// Texts that still lack one.
    vectors_pending: i64,
    /// Vectors that no text needs; cache_gc frees them.
    vectors_orphaned: u64,
    /// What is not well.
    issues: Vec<Issue>,
    /// Bytes of what all projects share; for the operator.
    #[serde(skip_serializing_if = "Option::is_none")]
    machine: Option<Machine>,
    /// With all=true.
    #[serde(skip_serializing_if = "Option::is_none")]
    projects: Option<Vec<ProjectBytes>>,
}

#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct Repository {
    /// Its name in answers.
    name: String,
    /// new, indexing, ready or failed.
    state: &'static str,
    /// Searchable files.
    files: i64,
    /// Files left out.
    files_skipped: i64,
    /// Searchable chunks.
    chunks: i64,
    /// Bytes of the searchable files.
    bytes: i64,
}

#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct Table {
    /// Its name.
    name: String,
    /// Without indexes.
    bytes: u64,
    /// Of its indexes.
    index_bytes: u64,
}

#[derive(Debug, Serialize, JsonSchema)]
struct Files {
    /// The folder they lie in.
    kind: String,
    /// How many.
    count: u64,
    /// Their size.
    bytes: u64,
}

#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct Machine {
    /// The database with all projects.
    database: u64,
    /// The embedded Postgres on disk.
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
    /// Tables, indexes and files.
    bytes: u64,
}

#[derive(Debug, Serialize, JsonSchema)]
struct Issue {
    /// What is wrong.
    message: String,
    /// What to do.
    hint: String,
    /// The command that does it.
    command: String,
}

async fn run(call: Call, input: Input) -> Result<Output, Fault> {
    let project = call.project(input.project_id.as_deref()).await?;
    let only = match &input.repo_path {
        Some(named) => Some(repository(&call, &project, named).await?),
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
        issues.extend(ailing(&row, &project));
        repositories.push(Repository::new(row, totals));
    }
    let tables: Vec<Table> = sizes::tables(&mut tx).await?.into_iter().map(Table::from).collect();
    let (vectors, vectors_pending) = (vectors::count(&mut tx).await?, vectors::pending_count(&mut tx).await?);
    let orphaned = vectors::orphans(&mut tx, &[]).await?;
    let state = index_state::read(&mut tx).await?;
    tx.commit().await?;
    issues.extend(unfinished(&project, &repositories, vectors_pending, &state));
    let files = kinds(&call, &project).await?;
    let of_tables: u64 = tables.iter().map(|table| table.bytes + table.index_bytes).sum();
    let of_files: u64 = files.iter().map(|kind| kind.bytes).sum();
    let total_bytes = of_tables + of_files;
    let everything = input.all.unwrap_or(false);
    Ok(Output {
        project_id: project.id().public().map(str::to_owned),
        total_bytes,
        repositories,
        tables,
        files,
        vectors,
        vectors_pending,
        vectors_orphaned: orphaned.rows,
        issues,
        machine: if call.caller.principal.is_operator() { Some(machine(&call, store).await?) } else { None },
        projects: if everything {
            Some(projects(&call, store, (project.id(), total_bytes)).await?)
        } else {
            None
        },
    })
}

impl Repository {
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

impl From<sizes::TableSize> for Table {
    fn from(size: sizes::TableSize) -> Self {
        Self { name: size.table, bytes: size.bytes, index_bytes: size.index_bytes }
    }
}

/// ` --project ID`, where it has to be said.
fn flag(project: &Project) -> String {
    project.id().public().map(|id| format!(" --project {id}")).unwrap_or_default()
}

/// What is not well with a repository.
fn ailing(row: &RepositoryRow, project: &Project) -> Option<Issue> {
    // Security records are no folder that could be indexed.
    if !row.is_folder() {
        return None;
    }
    let (what, hint) = match row.state {
        RepositoryState::Failed => {
            ("its last run failed", "Index it again; `index_status` says why it failed.")
        }
        RepositoryState::New if row.is_begun() => {
            ("its first run was cancelled", "Index it again; the run goes on where it stopped.")
        }
        RepositoryState::New => ("nothing was indexed", "Index it."),
        RepositoryState::Indexing | RepositoryState::Ready => return None,
    };
    Some(Issue {
        message: format!("{}: {what}.", row.name),
        hint: hint.to_owned(),
        command: format!("pairofcleats index PATH{}", flag(project)),
    })
}

/// What is not well with the project's index as a whole.
fn unfinished(
    project: &Project,
    repositories: &[Repository],
    vectors_pending: i64,
    state: &index_state::IndexState,
) -> Vec<Issue> {
    let mut issues = Vec::new();
    let mut issue = |message: String, hint: &str| {
        let command = format!("pairofcleats index PATH{}", flag(project));
        issues.push(Issue { message, hint: hint.to_owned(), command });
    };
    if repositories.is_empty() {
        issue("The project holds no repository.".to_owned(), "Index one.");
    }
    if vectors_pending > 0 {
        let message = format!("{vectors_pending} texts wait for their vector and are found by words only.");
        issue(message, "Index again where the embedding model is installed.");
    }
    if state.chunks > 0 && !state.terms_indexed {
        issue(
            "The index on words is missing; searches are slow.".to_owned(),
            "Index again; the run makes it.",
        );
    }
    issues
}

async fn kinds(call: &Call, project: &Project) -> Result<Vec<Files>, Fault> {
    let (folder, most) = (call.app.layout.project(project.id().as_str()), call.app.config.upkeep.files_max);
    let entries = blocking(move || folder::list(&folder, most)).await?;
    let mut kinds: BTreeMap<String, (u64, u64)> = BTreeMap::new();
    for entry in entries {
        let (count, bytes) = kinds.entry(entry.kind().to_owned()).or_default();
        (*count, *bytes) = (*count + 1, *bytes + entry.bytes);
    }
    Ok(kinds.into_iter().map(|(kind, (count, bytes))| Files { kind, count, bytes }).collect())
}

async fn machine(call: &Call, store: &Store) -> Result<Machine, Fault> {
    let mut door = store.control_read().await?;
    let database = sizes::database(&mut door).await?;
    door.commit().await?;
    let layout = call.app.layout.clone();
    let dictionaries = call.app.dictionaries.folder().to_owned();
    blocking(move || {
        Ok(Machine {
            database,
            cluster: folder::bytes(&layout.cluster()),
            models: folder::bytes(&layout.models()),
            dictionaries: folder::bytes(&dictionaries),
            runtime: folder::bytes(&layout.runtime()),
            downloads: folder::bytes(&layout.downloads()),
        })
    })
    .await
}

/// Every project that the caller may use; nothing of others, not even their number. `measured` is one with its bytes, which
/// are not measured again: they would be others a moment later.
async fn projects(
    call: &Call,
    store: &Store,
    measured: (&ProjectId, u64),
) -> Result<Vec<ProjectBytes>, Fault> {
    let mut door = store.control_read().await?;
    let known = store::projects::list(&mut door).await?;
    door.commit().await?;
    let mut sized = Vec::new();
    for summary in known.into_iter().filter(|summary| call.caller.principal.may_use(&summary.id)) {
        let project_id = summary.id.public().map(str::to_owned);
        if summary.id == *measured.0 {
            sized.push(ProjectBytes { project_id, bytes: measured.1 });
            continue;
        }
        let Some(project) = tenancy::open(store, &summary.id, DecidedBy::Argument).await? else { continue };
        let mut tx = ProjectTx::begin(store, &project, Access::Search).await?;
        let rows = sizes::total(&mut tx).await?;
        tx.commit().await?;
        let files: u64 = kinds(call, &project).await?.iter().map(|kind| kind.bytes).sum();
        sized.push(ProjectBytes { project_id, bytes: rows + files });
    }
    Ok(sized)
}
