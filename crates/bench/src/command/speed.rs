//! `bench speed`: measures the speed of one project, compared with the hardware limits.

use std::fmt::Write;
use std::path::PathBuf;
use std::sync::Arc;

use super::{current_program, http, note, open_experiment};
use crate::speed;
use contract::Fault;
use embedding::StubEmbedder;
use surfaces::cli::shell::{Session, whole_number};

/// Arguments of `bench speed`.
#[derive(Debug, clap::Args)]
pub(super) struct SpeedArgs {
    /// Folder to index; it is only read
    #[arg(value_name = "FOLDER")]
    folder: PathBuf,
    /// Queries of each kind
    #[arg(long, value_name = "N", value_parser = whole_number::<usize>, default_value_t = 200)]
    questions: usize,
    /// Index at most N files, spread evenly over the folder
    #[arg(long, value_name = "N", value_parser = whole_number::<usize>)]
    limit_files: Option<usize>,
    /// Number of single-file edits to measure
    #[arg(long, value_name = "N", value_parser = whole_number::<usize>, default_value_t = 9)]
    edits: usize,
    /// Use hashed word vectors: measures everything except the model
    #[arg(long)]
    stub: bool,
}

/// Entry point of `bench speed`.
pub(super) async fn run_speed(session: &Session, args: SpeedArgs) -> Result<(), Fault> {
    let mut experiment = open_experiment(session, http::configure_local_server).await?;
    if args.stub {
        experiment = experiment.with_embedder(Arc::new(StubEmbedder::default()), current_program()?);
    }
    let options = speed::Options {
        folder: args.folder,
        questions: args.questions,
        files_max: args.limit_files,
        edits: args.edits,
    };
    let server = http::BenchServer::start(&experiment.app, session.modules).await?;
    let search = server.search_client();
    let report = speed::measure(&experiment, &options, &*search, &|line| note(session, line)).await?;
    session.print_result(&report, &speed_table(&report));
    server.stop(&experiment.app).await;
    experiment.close().await;
    Ok(())
}

/// Formats the index runs, queries and limits.
fn speed_table(report: &speed::SpeedReport) -> String {
    let indexed = &report.indexed;
    let mut text = format!(
        "{} files, {} MB, {} chunks, {} vectors, {}, {} cores\n\n",
        indexed.files,
        megabytes(report.bytes),
        indexed.chunks,
        indexed.vectors,
        report.model,
        report.cores
    );
    push_runs(&mut text, report);
    push_queries(&mut text, report);
    push_limits(&mut text, report);
    text
}

fn push_runs(text: &mut String, report: &speed::SpeedReport) {
    let speed::SpeedReport { indexed, edited, limits, .. } = report;
    let _ = writeln!(
        text,
        "{:<22} {:>9} {:>7} {:>9} {:>9} {:>9}",
        "", "seconds", "own", "Postgres", "read MB", "written"
    );
    for (name, profile) in [("first run", &indexed.first), ("unchanged", &indexed.unchanged)] {
        push_profile(text, name, profile);
    }
    let _ = writeln!(
        text,
        "lexical search ready after {:.1} s, then {:.0} vectors/s: {:.0} % of the {:.0} vectors/s of the model alone",
        indexed.lexical_seconds,
        indexed.vectors_per_second,
        limits.embedding_reached * 100.0,
        limits.model_vectors_per_second
    );
    let _ = writeln!(
        text,
        "one file: searchable after {:.0} ms (p95 {:.0}), complete after {:.0} ms ({} edits)\n",
        edited.searchable.p50_ms, edited.searchable.p95_ms, edited.complete.p50_ms, edited.searchable.count
    );
}

fn push_queries(text: &mut String, report: &speed::SpeedReport) {
    let _ = writeln!(
        text,
        "{:<22} {:>7} {:>7} {:>7} {:>7} {:>7}  {:<6} {:>5} {:>9}",
        "ms", "p50", "p95", "p99", "max", "mean", "", "own", "Postgres"
    );
    for queries in &report.asked {
        push_latency(text, queries.kind, &queries.latency);
        let _ = writeln!(
            text,
            "  {:<6} {:>4.0}% {:>8.0}%",
            queries.vectors,
            queries.profile.own_cores * 100.0,
            queries.profile.postgres_cores * 100.0
        );
    }
    let (stages, mean) = (&report.stages, &report.stages.mean);
    let _ = writeln!(
        text,
        "mean time of stages: plan {:.1}, lexical {:.1}, embedding {:.1}, vectors {:.1} ({}), facts {:.1}, ranking {:.1}, contents {:.1}: {:.1} ms\n",
        mean.plan_ms,
        mean.lexical_ms,
        mean.embed_ms,
        mean.dense_ms,
        stages.vectors,
        mean.hydrate_ms,
        mean.rank_ms,
        mean.content_ms,
        mean.total_ms
    );
}

fn push_limits(text: &mut String, report: &speed::SpeedReport) {
    let speed::SpeedReport { limits, memory, .. } = report;
    push_latency(text, "vectors, exact", &limits.exact);
    let _ = writeln!(
        text,
        "  {:.1} GB/s of the {:.1} GB/s that one core can sum",
        limits.exact_gb_per_second, limits.memory_gb_per_second
    );
    if let Some(hnsw) = &limits.hnsw {
        push_latency(text, "vectors, HNSW", &hnsw.latency);
        let _ = writeln!(text, "  recall@10 {:.3}, recall@200 {:.3}", hnsw.recall_at_10, hnsw.recall_at_200);
    }
    let _ = writeln!(
        text,
        "memory: {:.0} MB, Postgres {:.0} MB; on disk: {} MB",
        memory.own_mb,
        memory.postgres_mb,
        megabytes(report.project_bytes)
    );
}

fn megabytes(bytes: u64) -> u64 {
    bytes / 1_000_000
}

fn push_profile(text: &mut String, name: &str, profile: &speed::Profile) {
    let _ = writeln!(
        text,
        "{name:<22} {:>9.2} {:>6.0}% {:>8.0}% {:>9.1} {:>9.1}",
        profile.seconds,
        profile.own_cores * 100.0,
        profile.postgres_cores * 100.0,
        profile.read_mb,
        profile.written_mb
    );
}

fn push_latency(text: &mut String, name: &str, latency: &speed::Latency) {
    let speed::Latency { p50_ms, p95_ms, p99_ms, max_ms, mean_ms, .. } = latency;
    let _ = write!(text, "{name:<22} {p50_ms:>7.1} {p95_ms:>7.1} {p99_ms:>7.1} {max_ms:>7.1} {mean_ms:>7.1}");
}
