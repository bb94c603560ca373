//! Cost of exact search and navigation at a size: one project with copies of a folder, each a repository of its own.
//!
//! The texts are real and repeated, so the lists of the trigrams grow as those of a large project do. Vectors are hashes,
//! because neither of the two uses them. Run it on an otherwise idle machine.

mod edits;
mod exact;
mod graph;

use std::path::PathBuf;
use std::time::Instant;

use serde::Serialize;

use super::Experiment;
use super::speed::Latency;
use super::speed::corpus::{copy_corpus, list_files};
use contract::{Fault, ProjectId};
use store::{Access, Project, ProjectTx, sizes};
use upkeep::retention::delete_project;

pub use exact::PatternFigures;
pub use graph::RelationFigures;

/// The measured project, which is deleted first unless it is kept.
const PROJECT: &str = "code";

/// Options of `bench code`.
#[derive(Debug, Clone)]
pub struct Options {
    /// The folder to index, which is only read.
    pub folder: PathBuf,
    /// Number of copies of it.
    pub copies: usize,
    /// The number of times that each pattern is searched, and each relation queried.
    pub repeats: usize,
    /// Number of single-file edits.
    pub edits: usize,
    /// Measure the project of the last run again, without indexing.
    pub keep: bool,
}

/// The result of `bench code`.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct CodeReport {
    /// Number of chunks.
    pub chunks: i64,
    /// Number of repositories.
    pub copies: usize,
    /// Seconds to index the first copy, and the last one.
    pub index_seconds: (f64, f64),
    /// Bytes of the trigrams and their index, for each chunk.
    pub trigram_bytes_per_chunk: i64,
    /// Bytes of definitions, symbols and uses and their indexes, for each chunk.
    pub graph_bytes_per_chunk: i64,
    /// The first 50 lines of each pattern.
    pub patterns: Vec<PatternFigures>,
    /// Median of the medians of the patterns, in milliseconds.
    pub patterns_p50_ms: f64,
    /// The times of each relation.
    pub relations: Vec<RelationFigures>,
    /// From the write of a file until its new edge is found.
    pub edge_true: Latency,
}

/// Runs the benchmark.
///
/// # Errors
/// File system errors; faults of index runs and searches.
pub async fn measure(
    experiment: &Experiment,
    options: &Options,
    on_progress: &(dyn Fn(&str) + Sync),
) -> Result<CodeReport, Fault> {
    let roots = (1..=options.copies).map(|copy| root(experiment, copy)).collect::<Vec<_>>();
    let index_seconds = match options.keep && experiment.project(PROJECT).await.is_ok() {
        true => (0.0, 0.0),
        false => index(experiment, options, &roots, on_progress).await?,
    };
    let project = experiment.project(PROJECT).await?;
    let (chunks, trigrams, graph) = bytes_per_chunk(experiment, &project).await?;
    let patterns = exact::measure(experiment, options.repeats, on_progress).await?;
    let files = list_files(&roots[0])
        .map_err(|error| Fault::internal(format!("{} could not be read.", roots[0].display()), error))?;
    let relations = graph::measure(experiment, &roots[0], &files, options.repeats, on_progress).await?;
    let edge_true = edits::measure(experiment, &roots[0], &files, options.edits, on_progress).await?;
    Ok(CodeReport {
        chunks,
        copies: options.copies,
        index_seconds,
        trigram_bytes_per_chunk: trigrams,
        graph_bytes_per_chunk: graph,
        patterns_p50_ms: exact::median(&patterns),
        patterns,
        relations,
        edge_true,
    })
}

/// The root of a copy.
fn root(experiment: &Experiment, copy: usize) -> PathBuf {
    experiment.copies().join(format!("{PROJECT}-{copy:02}"))
}

/// Indexes every copy; returns the seconds of the first and of the last.
async fn index(
    experiment: &Experiment,
    options: &Options,
    roots: &[PathBuf],
    on_progress: &(dyn Fn(&str) + Sync),
) -> Result<(f64, f64), Fault> {
    if experiment.project(PROJECT).await.is_ok() {
        let (store, id) = (experiment.app.store().await?, ProjectId::parse(PROJECT)?);
        delete_project(store, &experiment.app.layout, &experiment.app.config.upkeep, &id, true).await?;
    }
    let mut seconds = Vec::with_capacity(roots.len());
    for root in roots {
        copy_corpus(&options.folder, root, None)?;
        let started = Instant::now();
        let report = experiment.index(PROJECT, root).await?;
        seconds.push((started.elapsed().as_secs_f64() * 1e3).round() / 1e3);
        on_progress(&format!("{}: {} chunks in {:.1} s", root.display(), report.chunks, report.seconds));
    }
    Ok((seconds.first().copied().unwrap_or_default(), seconds.last().copied().unwrap_or_default()))
}

/// Number of chunks, and bytes for each of the trigrams and of the graph.
async fn bytes_per_chunk(experiment: &Experiment, project: &Project) -> Result<(i64, i64, i64), Fault> {
    let mut tx = ProjectTx::begin(experiment.app.store().await?, project, Access::Search).await?;
    let tables = sizes::tables(&mut tx).await?;
    let chunks = store::files::totals(&mut tx, None).await?.chunks;
    tx.commit().await?;
    let bytes = |names: &[&str]| {
        let of = tables.iter().filter(|table| names.contains(&table.table.as_str()));
        i64::try_from(of.map(|table| table.bytes + table.index_bytes).sum::<u64>()).unwrap_or(i64::MAX)
            / chunks.max(1)
    };
    Ok((chunks, bytes(&["grams"]), bytes(&["definitions", "symbols", "uses"])))
}
