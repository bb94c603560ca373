//! `bench navigation`: measures the correctness of the edges between definitions.

use std::fmt::Write;
use std::path::PathBuf;
use std::time::Instant;

use crate::navigation::{self, Judged, Options, Report};
use contract::Fault;
use surfaces::cli::shell::{Session, whole_number};

/// Arguments of `bench navigation`.
#[derive(Debug, clap::Args)]
pub(super) struct NavigationArgs {
    /// Folder with the repository, which is only read
    #[arg(long, value_name = "DIR")]
    repository: PathBuf,
    /// SCIP file of the repository, with which its calls are compared
    #[arg(long, value_name = "FILE")]
    scip: Option<PathBuf>,
    /// Leave out tests
    #[arg(long)]
    without_tests: bool,
    /// Draw this many edges and call sites by lot, to be judged by hand
    #[arg(long, value_name = "N", value_parser = whole_number::<usize>, default_value_t = 0)]
    sample: usize,
    /// Number from which the lot is drawn
    #[arg(long, value_name = "N", value_parser = whole_number::<u64>, default_value_t = 1)]
    seed: u64,
    /// Print every edge that is wrong and every call that is missing
    #[arg(long)]
    details: bool,
}

/// Entry point of `bench navigation`.
pub(super) fn run_navigation(session: &Session, args: NavigationArgs) -> Result<(), Fault> {
    let NavigationArgs { repository, scip, without_tests, sample, seed, details } = args;
    let options = Options { repository, scip, without_tests, sample, seed, details };
    let begin = Instant::now();
    let clock = || u64::try_from(begin.elapsed().as_millis()).unwrap_or(u64::MAX);
    let report = navigation::measure(&options, &clock)?;
    session.print_result(&report, &table(&report));
    Ok(())
}

fn table(report: &Report) -> String {
    let mut text = String::new();
    for line in &report.drawn {
        let _ = writeln!(text, "{line}");
    }
    let Report { files, bytes, chunks, symbol_bytes, resolved, named, parse_ms, resolve_ms, .. } = report;
    let _ = writeln!(text, "{files} files, {bytes} bytes, {chunks} chunks, {symbol_bytes} bytes of symbols");
    let _ = writeln!(text, "{resolved} references resolved, of {named} only the name is known");
    let _ = writeln!(text, "{parse_ms} ms to parse, {resolve_ms} ms to resolve");
    if let Some(judged) = &report.judged {
        judgement(&mut text, judged);
    }
    text
}

fn judgement(text: &mut String, judged: &Judged) {
    for line in &judged.details {
        let _ = writeln!(text, "{line}");
    }
    let share = |part: usize, whole: usize| part as f64 / whole.max(1) as f64;
    let Judged { edges, right, sites, found, function_sites, functions_found, .. } = judged;
    let _ = writeln!(text, "precision {:.4} ({right} of {edges} edges)", share(*right, *edges));
    let _ = writeln!(text, "recall {:.4} ({found} of {sites} call sites)", share(*found, *sites));
    let functions = share(*functions_found, *function_sites);
    let _ = writeln!(text, "recall {functions:.4} ({functions_found} of {function_sites}) without types");
    for (form, [edges, right, sites, found]) in &judged.forms {
        let _ = writeln!(text, "  {form}: {right} of {edges} edges right, {found} of {sites} sites found");
    }
}
