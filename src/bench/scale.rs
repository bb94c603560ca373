//! What size costs: one project grown to a million chunks, and many small projects; as curves over the size.
//!
//! Growth is made of real files: copies of them with other words here and there, and vectors drawn near those of the
//! originals. The rows are written by the store, the indexes made and the questions answered by the product.

mod asked;
mod copies;
mod corpus;
mod drawn;
mod grow;
mod machine;
mod projects;
mod questions;
mod reindex;
mod start;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use serde::Serialize;

pub use self::asked::{Asked, Stages};
pub use self::grow::Grown;
pub use self::projects::Many;
pub use self::reindex::Reindexed;

use self::corpus::Corpus;
use self::drawn::Drawn;
use super::Lab;
use contract::Fault;
use contract::config::Config;
use store::Project;

/// What is measured.
#[derive(Debug, Clone)]
pub struct Options {
    /// Folder of real files; they are only read.
    pub folder: PathBuf,
    /// Sizes of one project.
    pub chunks: Vec<usize>,
    /// Numbers of projects.
    pub projects: Vec<usize>,
    /// Questions asked at each size.
    pub questions: usize,
    /// Of these, questions whose answers are compared with the exact ones.
    pub recalled: usize,
}

/// The result.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Report {
    /// Real chunks that growth was made of.
    pub corpus_chunks: usize,
    /// Model that made their vectors.
    pub model: String,
    /// Settings of the database.
    pub settings: Settings,
    /// One project, size by size.
    pub sizes: Vec<Size>,
    /// Many projects, number by number.
    pub projects: Vec<Many>,
    /// Each figure over the size: `[[x, y], …]` by name.
    pub curves: BTreeMap<String, Vec<(f64, f64)>>,
}

/// What the embedded server was given.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Settings {
    /// `embedded.shared_buffers_mb`.
    pub shared_buffers_mb: u32,
    /// `embedded.maintenance_work_mem_mb`.
    pub maintenance_work_mem_mb: u32,
}

/// One project of a size.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Size {
    /// What growing took.
    pub grown: Grown,
    /// Questions under each condition, and by words alone.
    pub asked: Vec<Asked>,
    /// One file changed.
    pub reindexed: Reindexed,
    /// What the server's processes take after all questions.
    pub server_mb: u64,
    /// What this process has taken at most.
    pub program_mb: u64,
}

/// Changes the configuration to what is measured: every question is embedded, and exact answers, which are only for
/// comparison, may take their time.
pub fn configure(config: &mut Config) {
    config.embedding.query_cache_entries = 0;
    config.database.search_statement_timeout_ms = 120_000;
}

/// Grows and measures.
///
/// # Errors
/// Those of reading the folder, of the model and of the storage.
pub async fn measure(
    lab: Lab,
    options: &Options,
    program: PathBuf,
    tell: &(dyn Fn(&str) + Sync),
) -> Result<Report, Fault> {
    let lab = lab.remembering("shipped", program.clone()).await?;
    let corpus = Arc::new(Corpus::read(&lab, options.folder.clone(), tell).await?);
    let drawn = Arc::new(Drawn::new(Arc::clone(lab.app.embedder().await?), corpus.vectors.clone()));
    let lab = lab.with_embedder(Arc::clone(&drawn) as _, program.clone());
    let embedded = &lab.app.config.embedded;
    let mut report = Report {
        corpus_chunks: corpus.chunks(),
        model: lab.model().await?,
        settings: Settings {
            shared_buffers_mb: embedded.shared_buffers_mb,
            maintenance_work_mem_mb: embedded.maintenance_work_mem_mb,
        },
        sizes: Vec::new(),
        projects: Vec::new(),
        curves: BTreeMap::new(),
    };
    let questions = questions::questions(&corpus.files, options.questions);
    for wanted in &options.chunks {
        let (project, grown) = grow::grow(&lab, &corpus, &drawn, *wanted, tell).await?;
        let one = One { lab: &lab, corpus: &corpus, project: &project, questions: &questions, tell };
        report.sizes.push(one.measure(*wanted, grown, options).await?);
    }
    if !options.projects.is_empty() {
        report.projects = projects::measure(&lab, &corpus, &questions, options, &program, tell).await?;
    }
    report.curves = curves(&report);
    lab.close().await;
    Ok(report)
}

/// A grown project.
struct One<'a> {
    lab: &'a Lab,
    corpus: &'a Corpus,
    project: &'a Project,
    questions: &'a [String],
    tell: &'a (dyn Fn(&str) + Sync),
}

impl One<'_> {
    async fn measure(&self, wanted: usize, grown: Grown, options: &Options) -> Result<Size, Fault> {
        let Self { lab, corpus, project, questions, tell } = self;
        let sizes: Vec<(&str, usize)> =
            corpus.files.iter().map(|file| (file.path.as_str(), file.chunks.len())).collect();
        let conditions = questions::conditions(&corpus.files, &copies::places(&sizes, wanted))?;
        let mut all = Vec::new();
        for condition in &conditions {
            let asked = asked::ask(lab, project, questions, condition, options.recalled).await?;
            tell(&format!(
                "{wanted}, {}: p50 {:.1} ms, recall {:.3} {:.3}, {}",
                asked.condition,
                asked.p50_ms,
                asked.dense_recall,
                asked.answer_recall,
                asked.path.join(", ")
            ));
            all.push(asked);
        }
        all.push(asked::ask_words(lab, project, questions, &conditions[0]).await?);
        let server_mb = grow::mb(machine::server(lab).await?);
        let reindexed = reindex::measure(lab, &options.folder, corpus, project).await?;
        tell(&format!("{wanted}, one file: {:.3} s", reindexed.seconds));
        Ok(Size { grown, asked: all, reindexed, server_mb, program_mb: grow::mb(machine::own_peak()) })
    }
}

/// Every figure as a curve over chunks or projects.
#[expect(clippy::cast_precision_loss, reason = "counts and megabytes of a plot")]
fn curves(report: &Report) -> BTreeMap<String, Vec<(f64, f64)>> {
    let mut curves: BTreeMap<String, Vec<(f64, f64)>> = BTreeMap::new();
    let mut add = |name: String, x: usize, y: f64| curves.entry(name).or_default().push((x as f64, y));
    for Size { grown, asked, reindexed, server_mb, .. } in &report.sizes {
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
        many.figures().into_iter().for_each(|(name, y)| add(name.to_owned(), many.projects, y));
    }
    curves
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn curves_have_a_point_for_each_number_of_projects() {
        let many = |projects| Many { projects, warm_p50_ms: 2.0, ..Many::default() };
        let report = Report {
            corpus_chunks: 1,
            model: String::new(),
            settings: Settings { shared_buffers_mb: 1, maintenance_work_mem_mb: 1 },
            sizes: Vec::new(),
            projects: vec![many(1), many(10)],
            curves: BTreeMap::new(),
        };
        assert_eq!(curves(&report)["projectsWarmP50Ms"], [(1.0, 2.0), (10.0, 2.0)]);
    }
}
