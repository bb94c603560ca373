//! The cost of size: one project with up to a million chunks, and many small projects.
//!
//! Large corpora are generated from real files: copies with some words replaced, and synthetic vectors near those of the
//! originals. The rows, indexes and searches are the product's own.

mod copies;
mod corpus;
mod grow;
mod machine;
mod projects;
mod queries;
mod query_figures;
mod reindex;
mod start;
mod synthetic_vectors;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use serde::Serialize;

pub use self::grow::GrowthFigures;
pub use self::projects::ProjectCountFigures;
pub use self::query_figures::{MedianStages, QueryFigures};
pub use self::reindex::ReindexFigures;

use self::corpus::Corpus;
use self::synthetic_vectors::SyntheticVectors;
use super::Experiment;
use contract::Fault;
use contract::config::Config;
use store::Project;

/// Options of `bench scale`.
#[derive(Debug, Clone)]
pub struct Options {
    /// Folder with the real files, which are only read.
    pub folder: PathBuf,
    /// Sizes of the project in chunks.
    pub chunks: Vec<usize>,
    /// Numbers of projects to measure.
    pub projects: Vec<usize>,
    /// Queries at each size.
    pub questions: usize,
    /// Number of these queries to compare with exact results.
    pub recalled: usize,
}

/// The result of `bench scale`.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ScaleReport {
    /// Number of real chunks.
    pub corpus_chunks: usize,
    /// Model that made their vectors.
    pub model: String,
    /// Settings of the database.
    pub settings: PostgresSettings,
    /// Figures of one project by size.
    pub sizes: Vec<SizeFigures>,
    /// Figures by number of projects.
    pub projects: Vec<ProjectCountFigures>,
    /// Each figure over the size: `[[x, y], …]` by name.
    pub curves: BTreeMap<String, Vec<(f64, f64)>>,
}

/// Memory settings of the embedded Postgres.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct PostgresSettings {
    /// `embedded.shared_buffers_mb`.
    pub shared_buffers_mb: u32,
    /// `embedded.maintenance_work_mem_mb`.
    pub maintenance_work_mem_mb: u32,
}

/// The figures of a project of one size.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct SizeFigures {
    /// Cost of generating the project.
    pub grown: GrowthFigures,
    /// Searches under each filter, and lexical only.
    pub asked: Vec<QueryFigures>,
    /// Cost of one changed file.
    pub reindexed: ReindexFigures,
    /// Memory of the Postgres processes after all searches.
    pub server_mb: u64,
    /// Peak memory of this process.
    pub program_mb: u64,
}

/// Adjusts the configuration: every query is embedded, and exact searches, which are only the reference, get a long timeout.
pub fn configure(config: &mut Config) {
    config.embedding.query_cache_entries = 0;
    config.database.search_statement_timeout_ms = 120_000;
}

/// Generates the projects and measures them.
///
/// # Errors
/// Faults of reading the folder, of the model and of the storage.
pub async fn measure(
    experiment: Experiment,
    options: &Options,
    program: PathBuf,
    on_progress: &(dyn Fn(&str) + Sync),
) -> Result<ScaleReport, Fault> {
    let experiment = experiment.with_vectors("shipped", program.clone()).await?;
    let corpus = Arc::new(Corpus::read(&experiment, options.folder.clone(), on_progress).await?);
    let synthetic =
        Arc::new(SyntheticVectors::new(Arc::clone(experiment.app.embedder().await?), corpus.vectors.clone()));
    let experiment = experiment.with_embedder(Arc::clone(&synthetic) as _, program.clone());
    let embedded = &experiment.app.config.embedded;
    let mut report = ScaleReport {
        corpus_chunks: corpus.chunks(),
        model: experiment.model().await?,
        settings: PostgresSettings {
            shared_buffers_mb: embedded.shared_buffers_mb,
            maintenance_work_mem_mb: embedded.maintenance_work_mem_mb,
        },
        sizes: Vec::new(),
        projects: Vec::new(),
        curves: BTreeMap::new(),
    };
    let queries = queries::sample_queries(&corpus.files, options.questions);
    for wanted in &options.chunks {
        let (project, grown) = grow::grow(&experiment, &corpus, &synthetic, *wanted, on_progress).await?;
        let sized = SizedProject {
            experiment: &experiment,
            corpus: &corpus,
            project: &project,
            queries: &queries,
            on_progress,
        };
        report.sizes.push(sized.measure(*wanted, grown, options).await?);
    }
    if !options.projects.is_empty() {
        report.projects =
            projects::measure(&experiment, &corpus, &queries, options, &program, on_progress).await?;
    }
    report.curves = curves(&report);
    experiment.close().await;
    Ok(report)
}

/// A generated project.
struct SizedProject<'a> {
    experiment: &'a Experiment,
    corpus: &'a Corpus,
    project: &'a Project,
    queries: &'a [String],
    on_progress: &'a (dyn Fn(&str) + Sync),
}

impl SizedProject<'_> {
    async fn measure(
        &self,
        wanted: usize,
        grown: GrowthFigures,
        options: &Options,
    ) -> Result<SizeFigures, Fault> {
        let Self { experiment, corpus, project, queries, on_progress } = self;
        let sizes: Vec<(&str, usize)> =
            corpus.files.iter().map(|file| (file.path.as_str(), file.chunks.len())).collect();
        let filters = queries::benchmark_filters(&corpus.files, &copies::file_copies(&sizes, wanted))?;
        let mut all = Vec::new();
        for filter in &filters {
            let asked =
                query_figures::measure(experiment, project, queries, filter, options.recalled).await?;
            on_progress(&format!(
                "{wanted}, {}: p50 {:.1} ms, recall {:.3} {:.3}, {}",
                asked.condition,
                asked.p50_ms,
                asked.dense_recall,
                asked.answer_recall,
                asked.path.join(", ")
            ));
            all.push(asked);
        }
        all.push(query_figures::measure_lexical(experiment, project, queries, &filters[0]).await?);
        let server_mb = grow::mb(machine::server_bytes(experiment).await?);
        let reindexed = reindex::measure(experiment, &options.folder, corpus, project).await?;
        on_progress(&format!("{wanted}, one file: {:.3} s", reindexed.seconds));
        Ok(SizeFigures {
            grown,
            asked: all,
            reindexed,
            server_mb,
            program_mb: grow::mb(machine::own_peak_bytes()),
        })
    }
}

/// Every figure as a curve over the number of chunks or projects.
#[expect(clippy::cast_precision_loss, reason = "counts and megabytes of a plot")]
fn curves(report: &ScaleReport) -> BTreeMap<String, Vec<(f64, f64)>> {
    let mut curves: BTreeMap<String, Vec<(f64, f64)>> = BTreeMap::new();
    let mut add = |name: String, x: usize, y: f64| curves.entry(name).or_default().push((x as f64, y));
    for SizeFigures { grown, asked, reindexed, server_mb, .. } in &report.sizes {
        let x = grown.chunks;
        for (name, y) in [
            ("rowsSeconds", grown.rows_seconds),
            ("statisticsSeconds", grown.statistics_seconds),
            ("termsIndexSeconds", grown.terms_index_seconds),
            ("vectorsSeconds", grown.vectors_seconds),
            ("hnswSeconds", grown.hnsw_seconds),
            ("hnswServerMb", grown.hnsw_server_mb as f64),
            ("databaseMb", grown.database_mb as f64),
            ("serverMb", *server_mb as f64),
            ("oneFileSeconds", reindexed.seconds),
        ] {
            add(name.to_owned(), x, y);
        }
        for asked in asked {
            let condition = &asked.condition;
            add(format!("p50Ms, {condition}"), x, asked.p50_ms);
            add(format!("p95Ms, {condition}"), x, asked.p95_ms);
            if condition != "words alone" {
                add(format!("denseRecall, {condition}"), x, asked.dense_recall);
                add(format!("answerRecall, {condition}"), x, asked.answer_recall);
            }
        }
    }
    for many in &report.projects {
        many.named_figures().into_iter().for_each(|(name, y)| add(name.to_owned(), many.projects, y));
    }
    curves
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn curves_have_a_point_for_each_number_of_projects() {
        let many =
            |projects| ProjectCountFigures { projects, warm_p50_ms: 2.0, ..ProjectCountFigures::default() };
        let report = ScaleReport {
            corpus_chunks: 1,
            model: String::new(),
            settings: PostgresSettings { shared_buffers_mb: 1, maintenance_work_mem_mb: 1 },
            sizes: Vec::new(),
            projects: vec![many(1), many(10)],
            curves: BTreeMap::new(),
        };
        assert_eq!(curves(&report)["projectsWarmP50Ms"], [(1.0, 2.0), (10.0, 2.0)]);
    }
}
