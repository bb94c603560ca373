//! Speed and memory of one project: the first index run, an unchanged run, edits of single files, and searches.
//!
//! Every phase is profiled (cores, bytes read and written). Vector search and embedding are also compared with the limits of
//! the hardware, measured in the same run. The results are valid only on an otherwise idle machine.

pub(super) mod corpus;
mod indexing;
mod latency;
mod limits;
mod profile;
mod queries;
mod searching;

use std::path::PathBuf;

use futures::future::BoxFuture;
use serde::Serialize;
use serde_json::Value;

use super::Experiment;
use contract::{Fault, ProjectId};
use store::{Access, Project, ProjectTx, sizes};
use upkeep::retention::delete_project;

pub use indexing::{EditFigures, IndexFigures};
pub use latency::Latency;
pub use limits::Limits;
pub use profile::{PeakMemory, Profile};
pub use searching::{MeanStages, QueryKindResult};

/// The measured project, which is deleted first.
const PROJECT: &str = "speed";

/// Options of `bench speed`.
#[derive(Debug, Clone)]
pub struct Options {
    /// The folder to index, which is only read.
    pub folder: PathBuf,
    /// Queries of each kind.
    pub questions: usize,
    /// Maximum number of files, spread evenly over the folder; none means all.
    pub files_max: Option<usize>,
    /// Number of single-file edits.
    pub edits: usize,
}

/// Calls `search` over HTTP: takes the arguments, returns the result.
pub type HttpSearch = dyn Fn(Value) -> BoxFuture<'static, Result<Value, Fault>> + Send + Sync;

/// The result of `bench speed`.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct SpeedReport {
    /// Model that made the vectors.
    pub model: String,
    /// Available cores.
    pub cores: usize,
    /// Size of the files in bytes.
    pub bytes: u64,
    /// The first and the unchanged index run.
    pub indexed: IndexFigures,
    /// The edits of single files.
    pub edited: EditFigures,
    /// Search latency by kind of query; all queries are distinct and run after a warm-up.
    pub asked: Vec<QueryKindResult>,
    /// Mean times of the stages of a hybrid search.
    pub stages: MeanStages,
    /// Comparison with the hardware limits.
    pub limits: Limits,
    /// Peak memory.
    pub memory: PeakMemory,
    /// Size of the project's tables and indexes in bytes.
    pub project_bytes: u64,
    /// The same by table.
    pub tables: Vec<TableSize>,
}

/// The size of a table.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct TableSize {
    /// Name of the table.
    pub table: String,
    /// Size of the rows in bytes.
    pub bytes: u64,
    /// Size of its indexes in bytes.
    pub index_bytes: u64,
}

/// Runs the benchmark.
///
/// # Errors
/// File system errors; faults of index runs and searches.
pub async fn measure(
    experiment: &Experiment,
    options: &Options,
    http_search: &HttpSearch,
    on_progress: &(dyn Fn(&str) + Sync),
) -> Result<SpeedReport, Fault> {
    let corpus = corpus::copy_corpus(&options.folder, &experiment.copies().join(PROJECT), options.files_max)?;
    delete_earlier(experiment).await?;
    let server = profile::PostgresServer::find(experiment).await?;
    let watched = server.watch_memory();
    on_progress(&format!("{} files, {:.1} MB", corpus.files.len(), profile::megabytes(corpus.bytes)));

    let indexed = indexing::measure_runs(experiment, &corpus, &server, on_progress).await?;
    let project = experiment.project(PROJECT).await?;
    let edited = indexing::measure_edits(experiment, &project, &corpus, options.edits, on_progress).await?;
    let searching = searching::SearchBenchmark {
        experiment,
        project: &project,
        server: &server,
        http_search,
        on_progress,
    };
    let (asked, stages) = searching.run_all_kinds(&corpus, options.questions).await?;
    let limits = limits::measure(experiment, &project, &corpus, &indexed, on_progress).await?;
    let (project_bytes, tables) = table_sizes(experiment, &project).await?;
    Ok(SpeedReport {
        model: experiment.model().await?,
        cores: profile::cores(),
        bytes: corpus.bytes,
        indexed,
        edited,
        asked,
        stages,
        limits,
        memory: watched.peak(),
        project_bytes,
        tables,
    })
}

/// Deletes the project of an earlier benchmark, so that the first run indexes everything.
async fn delete_earlier(experiment: &Experiment) -> Result<(), Fault> {
    let (store, id) = (experiment.app.store().await?, ProjectId::parse(PROJECT)?);
    if experiment.project(PROJECT).await.is_ok() {
        delete_project(store, &experiment.app.layout, &experiment.app.config.upkeep, &id, true).await?;
    }
    Ok(())
}

async fn table_sizes(experiment: &Experiment, project: &Project) -> Result<(u64, Vec<TableSize>), Fault> {
    let mut tx = ProjectTx::begin(experiment.app.store().await?, project, Access::Search).await?;
    let tables = sizes::tables(&mut tx).await?;
    tx.commit().await?;
    let sum = tables.iter().map(|table| table.bytes + table.index_bytes).sum();
    let tables = tables.into_iter().map(|one| TableSize {
        table: one.table,
        bytes: one.bytes,
        index_bytes: one.index_bytes,
    });
    Ok((sum, tables.collect()))
}
