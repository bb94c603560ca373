//! `bench speed`: how fast one project is, and what set each limit.

use std::fmt::Write;
use std::path::PathBuf;
use std::sync::Arc;

use super::{http, lab, print, program, tell};
use crate::bench::speed;
use crate::surfaces::cli::session::Session;
use contract::Fault;
use embedding::StubEmbedder;

/// Arguments of `speed`.
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// Folder of the files; it is only read
    #[arg(value_name = "FOLDER")]
    folder: PathBuf,
    /// Questions of each kind
    #[arg(long, value_name = "N", default_value_t = 200)]
    questions: usize,
    /// At most so many files, spread evenly over all
    #[arg(long, value_name = "N")]
    limit_files: Option<usize>,
    /// Edits of one file
    #[arg(long, value_name = "N", default_value_t = 9)]
    edits: usize,
    /// Vectors of word hashes: tells of everything but the model, without its time
    #[arg(long)]
    stub: bool,
}

/// Measures.
pub(super) async fn run(session: &Session, args: Args) -> Result<(), Fault> {
    let lab = lab(session, http::to_be_measured).await?;
    let lab = if args.stub { lab.with_embedder(Arc::new(StubEmbedder::default()), program()?) } else { lab };
    let options = speed::Options {
        folder: args.folder,
        questions: args.questions,
        files_max: args.limit_files,
        edits: args.edits,
    };
    let server = http::Server::start(&lab.app).await?;
    let report = speed::measure(&lab, &options, &*server.ask(), &|line| tell(session, line)).await?;
    print(session, &report, table);
    server.stop(&lab.app).await;
    lab.close().await;
    Ok(())
}

/// Runs, questions, limits.
fn table(report: &speed::Report) -> String {
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
    runs(&mut text, report);
    questions(&mut text, report);
    limits(&mut text, report);
    text
}

fn runs(text: &mut String, report: &speed::Report) {
    let speed::Report { indexed, edited, limits, .. } = report;
    let _ = writeln!(
        text,
        "{:<22} {:>9} {:>7} {:>9} {:>9} {:>9}",
        "", "seconds", "own", "Postgres", "read MB", "written"
    );
    for (name, profile) in [("first run", &indexed.first), ("unchanged", &indexed.unchanged)] {
        profiled(text, name, profile);
    }
    let _ = writeln!(
        text,
        "words ready after {:.1} s, then {:.0} vectors/s: {:.0} % of the {:.0} that the model alone makes",
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

fn questions(text: &mut String, report: &speed::Report) {
    let _ = writeln!(
        text,
        "{:<22} {:>7} {:>7} {:>7} {:>7} {:>7}  {:<6} {:>5} {:>9}",
        "ms", "p50", "p95", "p99", "max", "mean", "", "own", "Postgres"
    );
    for asked in &report.asked {
        timed(text, asked.kind, &asked.latency);
        let _ = writeln!(
            text,
            "  {:<6} {:>4.0}% {:>8.0}%",
            asked.vectors,
            asked.profile.own_cores * 100.0,
            asked.profile.postgres_cores * 100.0
        );
    }
    let (stages, mean) = (&report.stages, &report.stages.mean);
    let _ = writeln!(
        text,
        "stages, means: plan {:.1}, words {:.1}, embedding {:.1}, vectors {:.1} ({}), facts {:.1}, ranking {:.1}, contents {:.1}: {:.1} ms\n",
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

fn limits(text: &mut String, report: &speed::Report) {
    let speed::Report { limits, memory, .. } = report;
    timed(text, "vectors, exact", &limits.exact);
    let _ = writeln!(
        text,
        "  {:.1} GB/s of the {:.1} that one core sums up",
        limits.exact_gb_per_second, limits.memory_gb_per_second
    );
    if let Some(hnsw) = &limits.hnsw {
        timed(text, "vectors, HNSW", &hnsw.latency);
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

fn profiled(text: &mut String, name: &str, profile: &speed::Profile) {
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

fn timed(text: &mut String, name: &str, latency: &speed::Latency) {
    let speed::Latency { p50_ms, p95_ms, p99_ms, max_ms, mean_ms, .. } = latency;
    let _ = write!(text, "{name:<22} {p50_ms:>7.1} {p95_ms:>7.1} {p99_ms:>7.1} {max_ms:>7.1} {mean_ms:>7.1}");
}
