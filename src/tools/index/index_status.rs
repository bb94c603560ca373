//! `index_status`: what a project holds and how far its runs are.

use std::collections::HashMap;
use std::path::Path;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::app::Bulkhead;
use crate::tools::project_id_arg::ProjectIdArg;
use crate::tools::repository::repository;
use crate::tools::spec::typed;
use crate::tools::standing::EVERYTHING;
use crate::tools::{Call, Effects, TimeoutClass, ToolSpec, Toolset, schema};
use contract::clock::iso_from_millis;
use contract::{ErrorCode, Fault};
use engine::indexing::{RunReport, SkippedFiles};
use engine::jobs::{JobState, Progress, WaitsFor, folder_name, waiting};
use store::{self, Access, Project, ProjectTx, RepositoryRow, breakdown, files, repositories, vectors};
use tenancy::Scope;

pub(crate) const TOOL: ToolSpec = ToolSpec {
    name: "index_status",
    title: "Index status",
    description: "What a project's index holds: repositories, files, chunks, vectors, what was left out and why, and runs \
        under way. Use it after build_index with wait=false, or when a search finds nothing.",
    toolset: Toolset::Index,
    effects: Effects::READS,
    scope: Scope::Search,
    bulkhead: Bulkhead::None,
    timeout: TimeoutClass::Default,
    input: schema::of::<Input>,
    output: schema::of_answer::<Output>,
    run: |call, arguments| typed(call, arguments, run),
};

/// Jobs shown, newest first.
const JOBS_MAX: i64 = 10;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct Input {
    /// Only this repository, with its own figures and runs: its absolute path or its name; `*`, the default, is all.
    #[schemars(length(min = 1, max = 4096))]
    repo_path: Option<String>,
    /// Project; omitted: the default workspace.
    #[serde(rename = "project_id")]
    project_id: Option<ProjectIdArg>,
}

#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct Output {
    /// The project; null is the default workspace.
    #[serde(rename = "project_id")]
    project_id: Option<String>,
    /// The project's Postgres schema.
    #[serde(rename = "schema_name")]
    schema_name: String,
    /// Searchable files: of the project or, as all figures here, of the repository asked for.
    files: i64,
    /// Files left out, with a reason each.
    files_skipped: i64,
    /// Searchable chunks.
    chunks: i64,
    /// Texts with a vector.
    vectors: i64,
    /// Texts that still lack one: found by words only.
    vectors_pending: i64,
    /// The model the project is pinned to.
    model: Model,
    /// Repositories, by path.
    repositories: Vec<Repository>,
    /// The last ten runs, newest first.
    jobs: Vec<Job>,
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
struct Repository {
    /// Identifies it inside the project.
    id: i64,
    /// Its name in answers; tools take it as repoPath.
    name: String,
    /// new, indexing, ready or failed.
    state: &'static str,
    /// Searchable files.
    files: i64,
    /// Searchable chunks.
    chunks: i64,
    /// Searchable files whose facts could not be read, by reason; what ran out of time is tried again by the next run.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schemars(default)]
    facts_missing: Vec<SkippedFiles>,
    /// End of the last complete run, UTC.
    #[serde(skip_serializing_if = "Option::is_none")]
    indexed_at: Option<String>,
    /// What the last complete run did, as `build_index` reports it.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "schema::object", default)]
    report: Option<RunReport>,
}

#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct Job {
    /// The job's id.
    job_id: String,
    /// What kind of work.
    kind: String,
    /// queued, running, succeeded, failed or cancelled.
    state: &'static str,
    /// The name of its repository; absent where it is about none, such as a run over the project's vectors.
    #[serde(skip_serializing_if = "Option::is_none")]
    repository: Option<String>,
    /// Which run goes first, while it is queued behind another one.
    #[serde(skip_serializing_if = "Option::is_none")]
    waits_for: Option<WaitsFor>,
    /// How far it is; absent before it starts.
    #[serde(skip_serializing_if = "Option::is_none")]
    progress: Option<Progress>,
    /// Why it failed.
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<serde_json::Value>,
    /// Why its last process lost it, if one did: it ended, was cut off, or made no progress.
    #[serde(skip_serializing_if = "Option::is_none")]
    note: Option<String>,
    /// When it was asked for, UTC.
    created_at: String,
    /// When it ended, UTC.
    #[serde(skip_serializing_if = "Option::is_none")]
    finished_at: Option<String>,
}

async fn run(call: Call, input: Input) -> Result<Output, Fault> {
    let project = call.project(input.project_id.as_deref()).await?;
    // What a project holds is asked of all of it, wherever the caller works.
    let only = match input.repo_path.as_deref() {
        Some(repo) if repo != EVERYTHING => Some(known(&call, &project, repo).await?),
        _ => None,
    };
    let store = call.app.store().await?;
    let mut tx = ProjectTx::begin(store, &project, Access::Search).await?;
    let rows = repositories::list(&mut tx).await?;
    let names: HashMap<String, String> =
        rows.iter().map(|row| (row.root.clone(), row.name.clone())).collect();
    let shown: Vec<RepositoryRow> =
        rows.into_iter().filter(|row| only.as_ref().is_none_or(|root| *root == row.root)).collect();
    // Of a repository whose first run has not begun there is nothing: no id is 0.
    let one = only.is_some().then(|| shown.first().map_or(0, |row| row.id));
    let totals = files::totals(&mut tx, one).await?;
    let (count, pending) = match one {
        Some(id) => vectors::of_repository(&mut tx, id).await?,
        None => (vectors::count(&mut tx).await?, vectors::pending_count(&mut tx).await?),
    };
    let ids: Vec<i64> = shown.iter().map(|row| row.id).collect();
    let mut missing = breakdown::facts_missing(&mut tx, &ids).await?;
    let mut listed = Vec::with_capacity(shown.len());
    for row in shown {
        let totals = files::totals(&mut tx, Some(row.id)).await?;
        let id = row.id;
        let of_this = missing.extract_if(.., |missing| missing.repository_id == id).map(SkippedFiles::from);
        listed.push(Repository::new(row, totals, of_this.collect()));
    }
    tx.commit().await?;
    let jobs = jobs(store, &project, only.as_deref(), &names).await?;
    Ok(Output {
        project_id: project.id().public().map(str::to_owned),
        schema_name: project.id().schema_name(),
        files: totals.files,
        files_skipped: totals.skipped,
        chunks: totals.chunks,
        vectors: count,
        vectors_pending: pending,
        model: Model {
            id: project.model().id.clone(),
            variant: project.model().variant.clone(),
            dimensions: project.model().dimensions,
        },
        repositories: listed,
        jobs,
    })
}

impl Repository {
    fn new(row: RepositoryRow, totals: files::Totals, facts_missing: Vec<SkippedFiles>) -> Self {
        Self {
            id: row.id,
            name: row.name,
            state: row.state.as_str(),
            files: totals.files,
            chunks: totals.chunks,
            facts_missing,
            indexed_at: row.indexed_ms.map(iso_from_millis),
            report: row.report.and_then(|report| serde_json::from_value(report).ok()),
        }
    }
}

/// The root of a repository by path or name: of an indexed one, or of one whose first run is queued or under way.
async fn known(call: &Call, project: &Project, named: &str) -> Result<String, Fault> {
    let unknown = match repository(call, project, named).await {
        Err(fault) if fault.code == ErrorCode::NoIndex => fault,
        found => return found,
    };
    let path = Path::new(named);
    let root = path.canonicalize().ok().filter(|_| path.is_absolute() && call.caller.principal.is_local);
    let root = root.as_deref().and_then(Path::to_str).unwrap_or(named).trim_end_matches('/');
    let mut door = call.app.store().await?.control_read().await?;
    let live = store::jobs::live_subjects(&mut door, project.id()).await?;
    door.commit().await?;
    live.into_iter().find(|subject| *subject == root || folder_name(subject) == named).ok_or(unknown)
}

async fn jobs(
    store: &store::Store,
    project: &Project,
    only: Option<&str>,
    names: &HashMap<String, String>,
) -> Result<Vec<Job>, Fault> {
    // A job whose process died is not running, whatever its row says: put that right before it is shown.
    let mut door = store.control().await?;
    store::jobs::requeue_expired(&mut door).await?;
    let jobs = store::jobs::list(&mut door, project.id(), only, JOBS_MAX).await?;
    let mut ahead = Vec::with_capacity(jobs.len());
    for job in &jobs {
        ahead.push(match job.state {
            JobState::Queued => store::jobs::ahead(&mut door, job).await?,
            _ => None,
        });
    }
    door.commit().await?;
    let name = |subject: &str| {
        let of_folder = || folder_name(subject);
        (!subject.is_empty()).then(|| names.get(subject).cloned().unwrap_or_else(of_folder))
    };
    Ok(jobs
        .into_iter()
        .zip(ahead)
        .map(|(job, ahead)| Job {
            repository: name(&job.subject),
            waits_for: ahead.map(|ahead| waiting(&ahead, name(&ahead.subject))),
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
