//! `bench scale`: measures the cost of size.

use std::fmt::Write;
use std::path::PathBuf;

use super::{current_program, note, open_experiment};
use crate::scale;
use contract::Fault;
use surfaces::cli::shell::{Session, whole_number};

/// Arguments of `bench scale`.
#[derive(Debug, clap::Args)]
pub(super) struct ScaleArgs {
    /// Folder with the real files from which larger corpora are generated; they are only read
    folder: PathBuf,
    /// Sizes of the project, in chunks
    #[arg(long, value_name = "N,…", value_parser = whole_number::<usize>, value_delimiter = ',')]
    #[arg(default_value = "10000,100000,1000000")]
    chunks: Vec<usize>,
    /// Numbers of projects to measure
    #[arg(long, value_name = "N,…", value_parser = whole_number::<usize>, value_delimiter = ',')]
    #[arg(default_value = "1,10,100,1000")]
    projects: Vec<usize>,
    /// Queries at each size
    #[arg(long, value_name = "N", value_parser = whole_number::<usize>, default_value_t = 200)]
    questions: usize,
    /// How many of these queries to compare with exact results
    #[arg(long, value_name = "N", value_parser = whole_number::<usize>, default_value_t = 100)]
    recalled: usize,
}

impl From<ScaleArgs> for scale::Options {
    fn from(args: ScaleArgs) -> Self {
        let sizes = |mut sizes: Vec<usize>| {
            sizes.retain(|size| *size > 0);
            sizes.sort_unstable();
            sizes
        };
        Self {
            folder: args.folder,
            chunks: sizes(args.chunks),
            projects: sizes(args.projects),
            questions: args.questions,
            recalled: args.recalled,
        }
    }
}

/// Entry point of `bench scale`.
pub(super) async fn run_scale(session: &Session, args: ScaleArgs) -> Result<(), Fault> {
    let experiment = open_experiment(session, scale::configure).await?;
    let report =
        scale::measure(experiment, &args.into(), current_program()?, &|line| note(session, line)).await?;
    session.print_result(&report, &scale_table(&report));
    Ok(())
}

/// Formats one line for each size and filter, then one line for each number of projects.
fn scale_table(report: &scale::ScaleReport) -> String {
    let settings = &report.settings;
    let mut text = format!(
        "{} real chunks, {}, shared_buffers {} MB, maintenance_work_mem {} MB\n",
        report.corpus_chunks, report.model, settings.shared_buffers_mb, settings.maintenance_work_mem_mb
    );
    for size in &report.sizes {
        let grown = &size.grown;
        let _ = writeln!(
            text,
            "\n{} chunks, {} vectors, {} MB: rows {:.1} s, statistics {:.1} s, terms index {:.1} s, vectors {:.1} s, \
             HNSW {:.1} s ({} MB); server {} MB, program {} MB; one file {:.3} s\n{:<16} {:>7} {:>8} {:>8}  {:>7} {:>7} {:>7}  \
             {:>7} {:>7} {:>7} {:>7}",
            grown.chunks,
            grown.vectors,
            grown.database_mb,
            grown.rows_seconds,
            grown.statistics_seconds,
            grown.terms_index_seconds,
            grown.vectors_seconds,
            grown.hnsw_seconds,
            grown.hnsw_server_mb,
            size.server_mb,
            size.program_mb,
            size.reindexed.seconds,
            "",
            "share",
            "p50 ms",
            "p95 ms",
            "dense",
            "least",
            "answer",
            "plan",
            "words",
            "vectors",
            "rows"
        );
        for queries in &size.asked {
            let stages = &queries.stages_ms;
            let _ = writeln!(
                text,
                "{:<16} {:>6.2}% {:>8.1} {:>8.1}  {:>7.4} {:>7.2} {:>7.4}  {:>7.1} {:>7.1} {:>7.1} {:>7.1}  {}",
                queries.condition,
                queries.share * 100.0,
                queries.p50_ms,
                queries.p95_ms,
                queries.dense_recall,
                queries.dense_recall_min,
                queries.answer_recall,
                stages.plan,
                stages.lexical,
                stages.dense,
                stages.hydrate,
                queries.path.join(", ")
            );
        }
    }
    push_project_counts(&mut text, &report.projects);
    text
}

fn push_project_counts(text: &mut String, projects: &[scale::ProjectCountFigures]) {
    if projects.is_empty() {
        return;
    }
    let _ = writeln!(
        text,
        "\n{:>8} {:>9} {:>8} {:>8} {:>8} {:>8} {:>8} {:>9} {:>10} {:>8} {:>8} {:>9} {:>9} {:>7}",
        "projects",
        "provision",
        "index",
        "first",
        "p50 ms",
        "p95 ms",
        "kB each",
        "catalogs",
        "backend MB",
        "server",
        "list ms",
        "status ms",
        "report ms",
        "start s"
    );
    for figures in projects {
        let _ = writeln!(
            text,
            "{:>8} {:>9.1} {:>8.1} {:>8.1} {:>8.1} {:>8.1} {:>8} {:>9} {:>10} {:>8} {:>8.1} {:>9.1} {:>9.1} {:>7.2}",
            figures.projects,
            figures.provision_ms,
            figures.index_ms,
            figures.first_p50_ms,
            figures.warm_p50_ms,
            figures.warm_p95_ms,
            figures.database_kb_each,
            figures.catalogs_mb,
            figures.backend_mb,
            figures.server_mb,
            figures.list_ms,
            figures.status_ms,
            figures.report_ms,
            figures.start_seconds
        );
    }
}
