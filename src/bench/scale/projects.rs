//! Many small projects: what one more costs, and what the ones that are there cost each other.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Instant;

use serde::Serialize;
use serde_json::json;

use super::asked::quantile;
use super::corpus::Corpus;
use super::{Options, grow, machine, start};
use crate::bench::{Lab, Variant};
use contract::{Fault, ProjectId};
use engine::search::SearchRequest;
use store::{DecidedBy, ModelFacts, sizes};

/// Chunks of a project.
const CHUNKS: usize = 200;
/// Projects whose making and first questions are looked at.
const SAMPLE: usize = 50;

/// What a number of projects costs.
#[derive(Debug, Clone, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Many {
    /// How many there are.
    pub projects: usize,
    /// Chunks of each.
    pub chunks: u64,
    /// Making an empty workspace: median of the latest ones, milliseconds.
    pub provision_ms: f64,
    /// Indexing into it until it is searchable, vectors known.
    pub index_ms: f64,
    /// First question to a project that no connection has met.
    pub first_p50_ms: f64,
    /// Questions to the same projects in turn, after that.
    pub warm_p50_ms: f64,
    /// …
    pub warm_p95_ms: f64,
    /// Kilobytes of the database for each project.
    pub database_kb_each: u64,
    /// Megabytes of the system catalogs.
    pub catalogs_mb: u64,
    /// Memory that the connection which asked every project has for itself, megabytes.
    pub backend_mb: u64,
    /// All of the server's processes, megabytes.
    pub server_mb: u64,
    /// `workspace_status`, which lists all projects, milliseconds.
    pub list_ms: f64,
    /// `index_status` of one.
    pub status_ms: f64,
    /// `report_artifacts` with the sizes of all.
    pub report_ms: f64,
    /// A second server until it is ready, the database running.
    pub start_seconds: f64,
}

impl Many {
    /// The figures by name, for curves.
    pub(super) fn figures(&self) -> Vec<(&'static str, f64)> {
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

/// Makes projects up to each number and measures there.
///
/// # Errors
/// Faults of runs, searches and tools.
pub(super) async fn measure(
    lab: &Lab,
    corpus: &Corpus,
    questions: &[String],
    options: &Options,
    program: &Path,
    tell: &(dyn Fn(&str) + Sync),
) -> Result<Vec<Many>, Fault> {
    let folder = small(lab, corpus, &options.folder)?;
    let before = bytes(lab).await?.0;
    let (mut all, mut made) = (Vec::new(), Vec::new());
    for number in &options.projects {
        while made.len() < *number {
            made.push(make(lab, made.len(), &folder).await?);
        }
        let many = Measuring { lab, questions, program, made: &made, before }.at(*number).await?;
        tell(&format!(
            "{number} projects: one more {:.0} + {:.0} ms, first {:.1} ms, then {:.1} ms",
            many.provision_ms, many.index_ms, many.first_p50_ms, many.warm_p50_ms
        ));
        all.push(many);
    }
    Ok(all)
}

/// A folder of real files with about the wanted number of chunks.
fn small(lab: &Lab, corpus: &Corpus, folder: &Path) -> Result<PathBuf, Fault> {
    let root = lab.copies().join("scale-small");
    let failed = |error| Fault::internal(format!("{} cannot be written.", root.display()), error);
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

/// A project that was made.
struct Made {
    id: String,
    chunks: u64,
    provision_ms: f64,
    index_ms: f64,
}

async fn make(lab: &Lab, number: usize, folder: &Path) -> Result<Made, Fault> {
    let id = format!("many-{number:04}");
    let model = ModelFacts::of(lab.app.embedder().await?.model());
    let started = Instant::now();
    tenancy::provision(lab.app.store().await?, &ProjectId::parse(&id)?, DecidedBy::Argument, &model).await?;
    let provision_ms = started.elapsed().as_secs_f64() * 1e3;
    let started = Instant::now();
    let report = lab.index(&id, folder).await?;
    Ok(Made { id, chunks: report.chunks, provision_ms, index_ms: started.elapsed().as_secs_f64() * 1e3 })
}

/// Bytes of the database, and of its catalogs.
async fn bytes(lab: &Lab) -> Result<(u64, u64), Fault> {
    let mut door = lab.app.store().await?.control_read().await?;
    let bytes = (sizes::database(&mut door).await?, sizes::catalogs(&mut door).await?);
    door.commit().await?;
    Ok(bytes)
}

struct Measuring<'a> {
    lab: &'a Lab,
    questions: &'a [String],
    program: &'a Path,
    made: &'a [Made],
    /// Bytes of the database before the first project.
    before: u64,
}

impl Measuring<'_> {
    async fn at(&self, number: usize) -> Result<Many, Fault> {
        let latest = &self.made[number.saturating_sub(SAMPLE)..];
        // Nobody has asked the latest ones yet.
        let first = self.ask(latest).await?;
        let warm = self.ask(latest).await?;
        self.ask(self.made).await?;
        let (database, catalogs) = bytes(self.lab).await?;
        let last = &self.made[number - 1];
        let backend = machine::backends(self.lab).await?.into_iter().max().unwrap_or(0);
        Ok(Many {
            projects: number,
            chunks: last.chunks,
            provision_ms: quantile(latest.iter().map(|made| made.provision_ms), 0.5),
            index_ms: quantile(latest.iter().map(|made| made.index_ms), 0.5),
            first_p50_ms: quantile(first.into_iter(), 0.5),
            warm_p50_ms: quantile(warm.iter().copied(), 0.5),
            warm_p95_ms: quantile(warm.into_iter(), 0.95),
            database_kb_each: (database.saturating_sub(self.before) / number as u64) >> 10,
            catalogs_mb: grow::mb(catalogs),
            backend_mb: grow::mb(backend),
            server_mb: grow::mb(machine::server(self.lab).await?),
            list_ms: self.call("workspace_status", json!({})).await?,
            status_ms: self.call("index_status", json!({ "project_id": last.id })).await?,
            report_ms: self.call("report_artifacts", json!({ "project_id": last.id, "all": true })).await?,
            start_seconds: start::seconds(self.program, self.lab.home()).await?,
        })
    }

    /// Milliseconds of a question to each of some projects.
    async fn ask(&self, made: &[Made]) -> Result<Vec<f64>, Fault> {
        let mut times = Vec::with_capacity(made.len());
        for (made, question) in made.iter().zip(self.questions.iter().cycle()) {
            let project = self.lab.project(&made.id).await?;
            let request = SearchRequest { query: question.clone(), top: 10, ..SearchRequest::default() };
            times.push(self.lab.ask(&project, &request, &Variant::shipped()).await?.took.total_ms);
        }
        Ok(times)
    }

    /// Milliseconds of a tool, the second time.
    async fn call(&self, tool: &str, arguments: serde_json::Value) -> Result<f64, Fault> {
        self.lab.call(tool, arguments.clone()).await?;
        let started = Instant::now();
        self.lab.call(tool, arguments).await?;
        Ok((started.elapsed().as_secs_f64() * 1e6).round() / 1e3)
    }
}
