//! Many small projects: the cost of one more project, and the effect of their number on all.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Instant;

use serde::Serialize;
use serde_json::json;

use super::corpus::Corpus;
use super::query_figures::quantile;
use super::{Options, grow, machine, start};
use crate::{Experiment, Variant};
use contract::{Fault, ProjectId};
use engine::search::SearchRequest;
use store::{DecidedBy, ModelFacts, sizes};

/// Number of chunks in each project.
const CHUNKS: usize = 200;
/// Number of the latest projects that are measured.
const SAMPLE: usize = 50;

/// The figures at one number of projects.
#[derive(Debug, Clone, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ProjectCountFigures {
    /// Number of projects.
    pub projects: usize,
    /// Chunks in each project.
    pub chunks: u64,
    /// Median time to provision an empty workspace, over the latest projects.
    pub provision_ms: f64,
    /// Median time to index a project whose vectors are cached.
    pub index_ms: f64,
    /// Median latency of the first search in a project.
    pub first_p50_ms: f64,
    /// Median latency of further searches, in turn over the same projects.
    pub warm_p50_ms: f64,
    /// 95th percentile of these.
    pub warm_p95_ms: f64,
    /// Size of the database for each project in kilobytes.
    pub database_kb_each: u64,
    /// Size of the system catalogs in megabytes.
    pub catalogs_mb: u64,
    /// Private memory of the connection that searched every project, in megabytes.
    pub backend_mb: u64,
    /// Memory of all Postgres processes in megabytes.
    pub server_mb: u64,
    /// Time of `workspace_status`, which lists all projects, in milliseconds.
    pub list_ms: f64,
    /// Time of `index_status` for one project in milliseconds.
    pub status_ms: f64,
    /// Time of `report_artifacts` with the sizes of all projects in milliseconds.
    pub report_ms: f64,
    /// Time until a second server is ready, with the database already running.
    pub start_seconds: f64,
}

impl ProjectCountFigures {
    /// The figures by name, for curves.
    pub(super) fn named_figures(&self) -> Vec<(&'static str, f64)> {
        #[expect(clippy::cast_precision_loss, reason = "megabytes of a plot")]
        let whole = |number: u64| number as f64;
        vec![
            ("projectsProvisionMs", self.provision_ms),
            ("projectsIndexMs", self.index_ms),
            ("projectsFirstP50Ms", self.first_p50_ms),
            ("projectsWarmP50Ms", self.warm_p50_ms),
            ("projectsWarmP95Ms", self.warm_p95_ms),
            ("projectsDatabaseKbEach", whole(self.database_kb_each)),
            ("projectsCatalogsMb", whole(self.catalogs_mb)),
            ("projectsBackendMb", whole(self.backend_mb)),
            ("projectsServerMb", whole(self.server_mb)),
            ("projectsListMs", self.list_ms),
            ("projectsStatusMs", self.status_ms),
            ("projectsReportMs", self.report_ms),
            ("projectsStartSeconds", self.start_seconds),
        ]
    }
}

/// Creates projects up to each number and measures there.
///
/// # Errors
/// Faults of runs, searches and tools.
pub(super) async fn measure(
    experiment: &Experiment,
    corpus: &Corpus,
    queries: &[String],
    options: &Options,
    program: &Path,
    on_progress: &(dyn Fn(&str) + Sync),
) -> Result<Vec<ProjectCountFigures>, Fault> {
    let folder = small_repository(experiment, corpus, &options.folder)?;
    let before = database_bytes(experiment).await?.0;
    let (mut all, mut created) = (Vec::new(), Vec::new());
    for number in &options.projects {
        while created.len() < *number {
            created.push(create_project(experiment, created.len(), &folder).await?);
        }
        let many = ProjectCountBenchmark { experiment, queries, program, created: &created, before }
            .measure(*number)
            .await?;
        on_progress(&format!(
            "{number} projects: one more {:.0} + {:.0} ms, first {:.1} ms, then {:.1} ms",
            many.provision_ms, many.index_ms, many.first_p50_ms, many.warm_p50_ms
        ));
        all.push(many);
    }
    Ok(all)
}

/// Copies real files with about [`CHUNKS`] chunks in total into a folder.
fn small_repository(experiment: &Experiment, corpus: &Corpus, folder: &Path) -> Result<PathBuf, Fault> {
    let root = experiment.copies().join("scale-small");
    let failed = |error| Fault::internal(format!("{} could not be written.", root.display()), error);
    let mut chunks = 0;
    for file in corpus.files.iter().filter(|file| file.chunks.len() < CHUNKS / 4) {
        if chunks + file.chunks.len() <= CHUNKS {
            chunks += file.chunks.len();
            let target = root.join(&file.path);
            let parent = target.parent().map_or(Ok(()), fs::create_dir_all);
            parent.and_then(|()| fs::copy(folder.join(&file.path), &target)).map_err(failed)?;
        }
    }
    Ok(root)
}

/// A created project and the time that it took.
struct CreatedProject {
    id: String,
    chunks: u64,
    provision_ms: f64,
    index_ms: f64,
}

async fn create_project(
    experiment: &Experiment,
    number: usize,
    folder: &Path,
) -> Result<CreatedProject, Fault> {
    let id = format!("many-{number:04}");
    let model = ModelFacts::from(experiment.app.embedder().await?.model());
    let started = Instant::now();
    tenancy::provision(experiment.app.store().await?, &ProjectId::parse(&id)?, DecidedBy::Argument, &model)
        .await?;
    let provision_ms = started.elapsed().as_secs_f64() * 1e3;
    let started = Instant::now();
    let report = experiment.index(&id, folder).await?;
    Ok(CreatedProject {
        id,
        chunks: report.chunks,
        provision_ms,
        index_ms: started.elapsed().as_secs_f64() * 1e3,
    })
}

/// Size of the database and of its catalogs in bytes.
async fn database_bytes(experiment: &Experiment) -> Result<(u64, u64), Fault> {
    let mut tx = experiment.app.store().await?.control_read().await?;
    let bytes = (sizes::database(&mut tx).await?, sizes::catalogs(&mut tx).await?);
    tx.commit().await?;
    Ok(bytes)
}

struct ProjectCountBenchmark<'a> {
    experiment: &'a Experiment,
    queries: &'a [String],
    program: &'a Path,
    created: &'a [CreatedProject],
    /// Bytes of the database before the first project.
    before: u64,
}

impl ProjectCountBenchmark<'_> {
    async fn measure(&self, number: usize) -> Result<ProjectCountFigures, Fault> {
        let latest = &self.created[number.saturating_sub(SAMPLE)..];
        // Most of the latest projects have not been searched yet, so the first round is cold.
        let first = self.search_each(latest).await?;
        let warm = self.search_each(latest).await?;
        self.search_each(self.created).await?;
        let (database, catalogs) = database_bytes(self.experiment).await?;
        let last = &self.created[number - 1];
        let backend = machine::backend_bytes(self.experiment).await?.into_iter().max().unwrap_or(0);
        Ok(ProjectCountFigures {
            projects: number,
            chunks: last.chunks,
            provision_ms: quantile(latest.iter().map(|created| created.provision_ms), 0.5),
            index_ms: quantile(latest.iter().map(|created| created.index_ms), 0.5),
            first_p50_ms: quantile(first.into_iter(), 0.5),
            warm_p50_ms: quantile(warm.iter().copied(), 0.5),
            warm_p95_ms: quantile(warm.into_iter(), 0.95),
            database_kb_each: (database.saturating_sub(self.before) / number as u64) >> 10,
            catalogs_mb: grow::mb(catalogs),
            backend_mb: grow::mb(backend),
            server_mb: grow::mb(machine::server_bytes(self.experiment).await?),
            list_ms: self.call_ms("workspace_status", json!({})).await?,
            status_ms: self.call_ms("index_status", json!({ "project_id": last.id })).await?,
            report_ms: self
                .call_ms("report_artifacts", json!({ "project_id": last.id, "all": true }))
                .await?,
            start_seconds: start::startup_seconds(self.program, self.experiment.home()).await?,
        })
    }

    /// The latency of one search in each project, in milliseconds.
    async fn search_each(&self, created: &[CreatedProject]) -> Result<Vec<f64>, Fault> {
        let mut times = Vec::with_capacity(created.len());
        for (created, query) in created.iter().zip(self.queries.iter().cycle()) {
            let project = self.experiment.project(&created.id).await?;
            let request = SearchRequest { query: query.clone(), top: 10, ..SearchRequest::default() };
            times.push(self.experiment.search(&project, &request, &Variant::shipped()).await?.took.total_ms);
        }
        Ok(times)
    }

    /// The time of a tool's second call in milliseconds.
    async fn call_ms(&self, tool: &str, arguments: serde_json::Value) -> Result<f64, Fault> {
        self.experiment.call(tool, arguments.clone()).await?;
        let started = Instant::now();
        self.experiment.call(tool, arguments).await?;
        Ok((started.elapsed().as_secs_f64() * 1e6).round() / 1e3)
    }
}
