//! `index_status`: the contents of a project's index and the progress of its runs.

use std::collections::HashMap;
use std::path::Path;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::app::Bulkhead;
use crate::tools::project_id_arg::ProjectIdArg;
use crate::tools::repository::repository_root;
use crate::tools::search_scope::ALL_REPOSITORIES;
use crate::tools::spec::run_typed;
use crate::tools::{Call, Effects, ToolSpec, Toolset, schema};
use contract::clock::iso_from_millis;
use contract::{ErrorCode, Fault, RepositoryAddress};
use engine::indexing::{IndexedRevision, RunReport, SkippedFiles};
use engine::jobs::{JobState, Progress, WaitsFor, describe_wait, folder_name};
use store::{
    self, Access, Project, ProjectTx, RepositoryRow, breakdown, files, repositories, revisions, vectors,
};
use tenancy::Scope;

pub(crate) const TOOL: ToolSpec = ToolSpec {
    name: "index_status",
    title: "Index status",
    description: "Show what a project's index contains, what was skipped and why, and the progress of runs.",
    toolset: Toolset::INDEX,
    effects: Effects::READS,
    scope: Scope::Search,
    bulkhead: Bulkhead::None,
    timeout: |limits| limits.default_ms,
    input: schema::generate_schema::<IndexStatusInput>,
    output: schema::generate_output_schema::<IndexStatusOutput>,
    run: |call, arguments| run_typed(call, arguments, index_status),
    ..ToolSpec::BASE
};

/// Number of jobs in the answer.
const JOBS_MAX: i64 = 10;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct IndexStatusInput {
    /// Only this repository: absolute path or name; default: all.
    #[schemars(length(min = 1, max = 4096))]
    repo_path: Option<String>,
    /// Project; default: the session's.
    #[serde(rename = "project_id")]
    project_id: Option<ProjectIdArg>,
}

#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct IndexStatusOutput {
    /// The project; null is the default workspace.
    #[serde(rename = "project_id")]
    project_id: Option<String>,
    /// The project's Postgres schema.
    #[serde(rename = "schema_name")]
    schema_name: String,
    /// Searchable files. With repoPath, this and the next four numbers count only that repository.
    files: i64,
    /// Files that were not indexed; the report of a run counts them by reason.
    files_skipped: i64,
    /// Searchable chunks.
    chunks: i64,
    /// Texts with a vector.
    vectors: i64,
    /// Texts that have no vector yet; only lexical search finds them.
    vectors_pending: i64,
    /// The model that embeds the project's texts.
    model: PinnedModel,
    /// Repositories, by path.
    repositories: Vec<RepositoryStatus>,
    /// The last ten runs, newest first.
    jobs: Vec<JobStatus>,
}

#[derive(Debug, Serialize, JsonSchema)]
struct PinnedModel {
    /// Model id in the manifest.
    id: String,
    /// int8 or fp32.
    variant: String,
    /// Dimensions of its vectors.
    dimensions: usize,
}

#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct RepositoryStatus {
    /// Identifies it inside the project.
    id: i64,
    /// Its name in answers; tools take it as repoPath.
    name: String,
    /// The address that it is fetched from; absent for a directory.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(default)]
    address: Option<String>,
    /// Git branch of what is indexed.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(default)]
    branch: Option<String>,
    /// Git commit of what is indexed.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(default)]
    commit: Option<String>,
    /// Other branches and tags that are searched with `rev:NAME`, by name.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schemars(default)]
    revisions: Vec<IndexedRevision>,
    /// The patterns of the branches and tags to index, as `build_index` got them last.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schemars(default)]
    revision_patterns: Vec<String>,
    /// new, indexing, ready or failed.
    state: &'static str,
    /// Searchable files.
    files: i64,
    /// Searchable chunks.
    chunks: i64,
    /// Searchable files whose facts could not be extracted, by reason; the next run tries again those that ran out of time.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schemars(default)]
    facts_missing: Vec<SkippedFiles>,
    /// End of the last complete run, UTC.
    #[serde(skip_serializing_if = "Option::is_none")]
    indexed_at: Option<String>,
    /// Report of the last complete run, as `build_index` returns it.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "schema::any_object", default)]
    report: Option<RunReport>,
}

#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct JobStatus {
    /// The job's id.
    job_id: String,
    /// Kind of job, such as `index`.
    kind: String,
    /// queued, running, succeeded, failed or cancelled.
    state: &'static str,
    /// The name of its repository; absent if it has none, such as a job that embeds missing vectors of the project.
    #[serde(skip_serializing_if = "Option::is_none")]
    repository: Option<String>,
    /// The run that goes first, while this job is queued behind it.
    #[serde(skip_serializing_if = "Option::is_none")]
    waits_for: Option<WaitsFor>,
    /// Its progress; absent before it starts.
    #[serde(skip_serializing_if = "Option::is_none")]
    progress: Option<Progress>,
    /// The error with which it failed.
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<serde_json::Value>,
    /// Why an earlier process did not finish it: it ended, lost the database, or made no progress.
    #[serde(skip_serializing_if = "Option::is_none")]
    note: Option<String>,
    /// When it was queued, UTC.
    created_at: String,
    /// When it ended, UTC.
    #[serde(skip_serializing_if = "Option::is_none")]
    finished_at: Option<String>,
}

async fn index_status(call: Call, input: IndexStatusInput) -> Result<IndexStatusOutput, Fault> {
    let project = call.project(input.project_id.as_deref()).await?;
    // Unlike a search, the status covers all repositories by default, wherever the caller works.
    let only = match input.repo_path.as_deref() {
        Some(repo) if repo != ALL_REPOSITORIES => Some(find_root(&call, &project, repo).await?),
        _ => None,
    };
    let store = call.app.store().await?;
    let mut tx = ProjectTx::begin(store, &project, Access::Search).await?;
    let rows = repositories::list(&mut tx).await?;
    let names: HashMap<String, String> =
        rows.iter().map(|row| (row.root.clone(), row.name.clone())).collect();
    let shown: Vec<RepositoryRow> =
        rows.into_iter().filter(|row| only.as_ref().is_none_or(|root| *root == row.root)).collect();
    // A repository whose first run has not started has no row. Id 0 does not exist, so its totals are 0.
    let only_id = only.is_some().then(|| shown.first().map_or(0, |row| row.id));
    let totals = files::totals(&mut tx, only_id).await?;
    let (count, pending) = match only_id {
        Some(id) => vectors::of_repository(&mut tx, id).await?,
        None => (vectors::count(&mut tx).await?, vectors::pending_count(&mut tx).await?),
    };
    let ids: Vec<i64> = shown.iter().map(|row| row.id).collect();
    let mut missing = breakdown::facts_missing(&mut tx, &ids).await?;
    let mut indexed = revisions::list(&mut tx).await?;
    let mut patterns = revisions::all_patterns(&mut tx).await?;
    let mut listed = Vec::with_capacity(shown.len());
    for row in shown {
        let totals = files::totals(&mut tx, Some(row.id)).await?;
        let id = row.id;
        let of_repository =
            missing.extract_if(.., |missing| missing.repository_id == id).map(SkippedFiles::from);
        let revisions = indexed.extract_if(.., |revision| revision.repository_id == id);
        listed.push(RepositoryStatus {
            facts_missing: of_repository.collect(),
            revisions: revisions.map(IndexedRevision::from).collect(),
            revision_patterns: patterns.remove(&id).unwrap_or_default(),
            ..RepositoryStatus::new(row, totals)
        });
    }
    tx.commit().await?;
    let jobs = list_jobs(store, &project, only.as_deref(), &names).await?;
    Ok(IndexStatusOutput {
        project_id: project.id().public().map(str::to_owned),
        schema_name: project.id().schema_name(),
        files: totals.files,
        files_skipped: totals.skipped,
        chunks: totals.chunks,
        vectors: count,
        vectors_pending: pending,
        model: PinnedModel {
            id: project.model().id.clone(),
            variant: project.model().variant.clone(),
            dimensions: project.model().dimensions,
        },
        repositories: listed,
        jobs,
    })
}

impl RepositoryStatus {
    /// The status without what other tables say.
    fn new(row: RepositoryRow, totals: files::Totals) -> Self {
        Self {
            id: row.id,
            address: row.is_remote().then(|| row.root.clone()),
            branch: row.branch,
            commit: row.commit,
            revisions: Vec::new(),
            revision_patterns: Vec::new(),
            name: row.name,
            state: row.state.as_str(),
            files: totals.files,
            chunks: totals.chunks,
            facts_missing: Vec::new(),
            indexed_at: row.indexed_ms.map(iso_from_millis),
            report: row.report.and_then(|report| serde_json::from_value(report).ok()),
        }
    }
}

/// The root of a repository by path or name; also of one whose first run is queued or running.
async fn find_root(call: &Call, project: &Project, named: &str) -> Result<String, Fault> {
    let unknown = match repository_root(call, project, named).await {
        Err(fault) if fault.code == ErrorCode::NoIndex => fault,
        found => return found,
    };
    let path = Path::new(named);
    let root = path.canonicalize().ok().filter(|_| path.is_absolute() && call.caller.principal.is_local);
    let address = RepositoryAddress::parse(named).and_then(Result::ok);
    let root = match &address {
        Some(address) => address.as_str(),
        None => root.as_deref().and_then(Path::to_str).unwrap_or(named).trim_end_matches('/'),
    };
    let mut tx = call.app.store().await?.control_read().await?;
    let live = store::jobs::live_subjects(&mut tx, project.id()).await?;
    tx.commit().await?;
    live.into_iter().find(|subject| *subject == root || folder_name(subject) == named).ok_or(unknown)
}

async fn list_jobs(
    store: &store::Store,
    project: &Project,
    only: Option<&str>,
    names: &HashMap<String, String>,
) -> Result<Vec<JobStatus>, Fault> {
    // A job whose process died still has the state `running`: requeue it first, so that the answer is right.
    let mut tx = store.control().await?;
    store::jobs::requeue_expired(&mut tx).await?;
    let jobs = store::jobs::list(&mut tx, project.id(), only, JOBS_MAX).await?;
    let mut ahead = Vec::with_capacity(jobs.len());
    for job in &jobs {
        ahead.push(match job.state {
            JobState::Queued => store::jobs::ahead(&mut tx, job).await?,
            _ => None,
        });
    }
    tx.commit().await?;
    let name = |subject: &str| {
        let of_folder = || folder_name(subject);
        (!subject.is_empty()).then(|| names.get(subject).cloned().unwrap_or_else(of_folder))
    };
    Ok(jobs
        .into_iter()
        .zip(ahead)
        .map(|(job, ahead)| JobStatus {
            repository: name(&job.subject),
            waits_for: ahead.map(|ahead| describe_wait(&ahead, name(&ahead.subject))),
            job_id: job.id,
            kind: job.kind,
            state: job.state.as_str(),
            progress: job.progress.as_ref().map(Progress::from_value),
            error: job.error,
            note: job.note,
            created_at: iso_from_millis(job.created_ms),
            finished_at: job.finished_ms.map(iso_from_millis),
        })
        .collect())
}
