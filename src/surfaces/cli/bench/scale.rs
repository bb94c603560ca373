//! `bench scale`: what size costs.

use std::fmt::Write;
use std::path::PathBuf;

use super::{lab, print, program, tell};
use crate::bench::scale;
use crate::surfaces::cli::session::Session;
use contract::Fault;

/// Arguments of `scale`.
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// Folder of real files that growth is made of; they are only read
    folder: PathBuf,
    /// Sizes of one project
    #[arg(long, value_name = "N,…", value_delimiter = ',', default_value = "10000,100000,1000000")]
    chunks: Vec<usize>,
    /// Numbers of projects
    #[arg(long, value_name = "N,…", value_delimiter = ',', default_value = "1,10,100,1000")]
    projects: Vec<usize>,
    /// Questions at each size
    #[arg(long, value_name = "N", default_value_t = 200)]
    questions: usize,
    /// Of these, questions whose answers are compared with the exact ones
    #[arg(long, value_name = "N", default_value_t = 100)]
    recalled: usize,
}

impl From<Args> for scale::Options {
    fn from(args: Args) -> Self {
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

/// Measures.
pub(super) async fn run(session: &Session, args: Args) -> Result<(), Fault> {
    let lab = lab(session, scale::configure).await?;
    let report = scale::measure(lab, &args.into(), program()?, &|line| tell(session, line)).await?;
    print(session, &report, table);
    Ok(())
}

/// A line a condition and size, then a line a number of projects.
fn table(report: &scale::Report) -> String {
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
        for asked in &size.asked {
            let stages = &asked.stages_ms;
            let _ = writeln!(
                text,
                "{:<16} {:>6.2}% {:>8.1} {:>8.1}  {:>7.4} {:>7.2} {:>7.4}  {:>7.1} {:>7.1} {:>7.1} {:>7.1}  {}",
                asked.condition,
                asked.share * 100.0,
                asked.p50_ms,
                asked.p95_ms,
                asked.dense_recall,
                asked.dense_recall_min,
                asked.answer_recall,
                stages.plan,
                stages.lexical,
                stages.dense,
                stages.hydrate,
                asked.path.join(", ")
            );
        }
    }
    many(&mut text, &report.projects);
    text
}

fn many(text: &mut String, projects: &[scale::Many]) {
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
    for many in projects {
        let _ = writeln!(
            text,
            "{:>8} {:>9.1} {:>8.1} {:>8.1} {:>8.1} {:>8.1} {:>8} {:>9} {:>10} {:>8} {:>8.1} {:>9.1} {:>9.1} {:>7.2}",
            many.projects,
            many.provision_ms,
            many.index_ms,
            many.first_p50_ms,
            many.warm_p50_ms,
            many.warm_p95_ms,
            many.database_kb_each,
            many.catalogs_mb,
            many.backend_mb,
            many.server_mb,
            many.list_ms,
            many.status_ms,
            many.report_ms,
            many.start_seconds
        );
    }
}
