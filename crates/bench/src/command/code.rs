//! `bench code`: measures the cost of exact search and navigation at a size.

use std::fmt::Write;
use std::path::PathBuf;
use std::sync::Arc;

use super::{current_program, note, open_experiment};
use crate::code::{self, CodeReport, Options};
use crate::speed::Latency;
use contract::Fault;
use embedding::StubEmbedder;
use surfaces::cli::shell::{Session, whole_number};

/// Arguments of `bench code`.
#[derive(Debug, clap::Args)]
pub(super) struct CodeArgs {
    /// Folder to index; it is only read
    #[arg(value_name = "FOLDER")]
    folder: PathBuf,
    /// Index this many copies of the folder, each as a repository
    #[arg(long, value_name = "N", value_parser = whole_number::<usize>, default_value_t = 1)]
    copies: usize,
    /// How often each pattern is searched
    #[arg(long, value_name = "N", value_parser = whole_number::<usize>, default_value_t = 10)]
    repeats: usize,
    /// Number of single-file edits to measure
    #[arg(long, value_name = "N", value_parser = whole_number::<usize>, default_value_t = 9)]
    edits: usize,
    /// Measure the project of the last run again, without indexing
    #[arg(long)]
    keep: bool,
}

/// Entry point of `bench code`.
pub(super) async fn run_code(session: &Session, args: CodeArgs) -> Result<(), Fault> {
    let experiment = open_experiment(session, |_| ()).await?;
    let experiment = experiment.with_embedder(Arc::new(StubEmbedder::default()), current_program()?);
    let CodeArgs { folder, copies, repeats, edits, keep } = args;
    let options = Options { folder, copies: copies.max(1), repeats: repeats.max(1), edits, keep };
    let report = code::measure(&experiment, &options, &|line| note(session, line)).await?;
    session.print_result(&report, &table(&report));
    experiment.close().await;
    Ok(())
}

fn push_row(text: &mut String, name: &str, found: &str, Latency { p50_ms, p95_ms, .. }: Latency) {
    let _ = writeln!(text, "{name:<28} {found:>8} {p50_ms:>8.1} {p95_ms:>8.1}");
}

fn table(report: &CodeReport) -> String {
    let CodeReport { chunks, copies, index_seconds: (first, last), .. } = report;
    let mut text = format!(
        "{chunks} chunks in {copies} repositories, indexed in {first:.1} s (first) to {last:.1} s (last)\n"
    );
    let _ = writeln!(
        text,
        "bytes a chunk: {} of trigrams, {} of symbols and uses\n",
        report.trigram_bytes_per_chunk, report.graph_bytes_per_chunk
    );
    let _ = writeln!(text, "{:<28} {:>8} {:>8} {:>8}", "first 50 lines", "lines", "p50 ms", "p95 ms");
    for one in &report.patterns {
        push_row(&mut text, one.pattern, &one.lines.to_string(), one.latency);
    }
    let _ = writeln!(text, "{:<28} {:>8} {:>8.1}\n", "median", "", report.patterns_p50_ms);
    let _ = writeln!(text, "{:<28} {:>8} {:>8} {:>8}", "navigation", "places", "p50 ms", "p95 ms");
    for one in &report.relations {
        push_row(&mut text, one.relation, &format!("{:.1}", one.places), one.latency);
    }
    let edge = report.edge_true;
    let _ = writeln!(
        text,
        "\none edited file: its edge is true after {:.0} ms (p95 {:.0}, {} edits)",
        edge.p50_ms, edge.p95_ms, edge.count
    );
    text
}
