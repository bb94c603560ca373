//! `bench quality` and `bench issues`: queries with known answers.

use std::fmt::Write;
use std::path::PathBuf;

use super::{current_program, note, open_experiment};
use crate::bench::{Experiment, Options, Variant, issues, quality};
use crate::surfaces::cli::session::Session;
use contract::Fault;
use engine::search::Confidence;

/// Arguments of `quality` and `issues`.
#[derive(Debug, clap::Args)]
pub(super) struct QueryBenchArgs {
    /// Folder with the query files
    #[arg(long, value_name = "DIR")]
    questions: PathBuf,
    /// Folder with the checkouts, which are only read
    #[arg(long, value_name = "DIR")]
    corpus: PathBuf,
    /// Run only this repository, or only issues whose ID contains this text
    #[arg(long, value_name = "NAME")]
    only: Vec<String>,
    /// Also run with another ranking: name:field=value,field=value; `vectors=off` disables vectors
    #[arg(long, value_name = "VARIANT")]
    variant: Vec<String>,
    /// Also run without each ranking signal in turn
    #[arg(long)]
    ablation: bool,
    /// Vectors: shipped; none, path or path-name (what the embedded header holds); stub (word hashes); static:DIR; mixed:DIR
    #[arg(long, value_name = "VECTORS", default_value = "shipped")]
    vectors: String,
    /// Print every query
    #[arg(long)]
    details: bool,
}

impl QueryBenchArgs {
    fn variants(&self) -> Result<Vec<Variant>, Fault> {
        let mut variants = vec![Variant::shipped(), Variant::lexical_only()];
        for text in &self.variant {
            variants.push(Variant::parse(text)?);
        }
        if self.ablation {
            variants.extend(Variant::ablation()?);
        }
        Ok(variants)
    }

    /// Opens the experiment and resolves the options.
    async fn prepare(self, session: &Session) -> Result<(Experiment, Options), Fault> {
        // Reject wrong arguments before anything is installed or indexed.
        let variants = self.variants()?;
        let experiment =
            open_experiment(session, |_| ()).await?.with_vectors(&self.vectors, current_program()?).await?;
        let Self { questions, corpus, only, details, .. } = self;
        Ok((experiment, Options { questions, corpus, only, variants, details }))
    }
}

/// Entry point of `bench quality`.
pub(super) async fn run_quality(session: &Session, args: QueryBenchArgs) -> Result<(), Fault> {
    let (experiment, options) = args.prepare(session).await?;
    let report = quality::measure(&experiment, &options, &|line| note(session, line)).await?;
    session.print_result(&report, &quality_table(&report));
    experiment.close().await;
    Ok(())
}

/// Entry point of `bench issues`.
pub(super) async fn run_issues(session: &Session, args: QueryBenchArgs) -> Result<(), Fault> {
    let (experiment, options) = args.prepare(session).await?;
    let report = issues::measure(&experiment, &options, &|line| note(session, line)).await?;
    session.print_result(&report, &issues_table(&report));
    experiment.close().await;
    Ok(())
}

/// One line for each variant, then the first variant by category and by language.
fn quality_table(report: &quality::QualityReport) -> String {
    let mut text = format!(
        "{} repositories, {} chunks, {}\n\n{:<38} {:>7} {:>7} {:>7} {:>7}  {:>7} {:>7}\n",
        report.repositories,
        report.chunks,
        report.model,
        "NDCG@10",
        "list",
        "files",
        "first",
        "three",
        "@2k",
        "compact"
    );
    push_missing(&mut text, &report.missing);
    for measured in &report.variants {
        let recall = |name: &str| {
            measured.token_recall.get(name).and_then(|at| at.get(&2_000)).copied().unwrap_or(0.0)
        };
        push_figures(
            &mut text,
            &measured.variant,
            &measured.all,
            &format!("  {:>7.4} {:>7.4}", recall("chunks"), recall("compact")),
        );
    }
    let Some(first) = report.variants.first() else { return text };
    text.push_str(&confidence_table(&first.confidence));
    for group in [&first.categories, &first.languages] {
        text.push('\n');
        group.iter().for_each(|(name, figures)| {
            push_figures(&mut text, name, figures, &format!("  {:>4}", figures.questions))
        });
    }
    text
}

fn push_figures(text: &mut String, name: &str, figures: &quality::QueryFigures, more: &str) {
    let quality::QueryFigures { ndcg10, ndcg10_files, right_first, right_among_three, .. } = figures;
    let _ = writeln!(
        text,
        "{name:<38} {ndcg10:>7.4} {ndcg10_files:>7.4} {right_first:>7.4} {right_among_three:>7.4}{more}"
    );
}

/// Number of queries by correctness and confidence of the answer.
fn confidence_table(confidence: &quality::ConfidenceCounts) -> String {
    let mut text =
        format!("\n{:<38} {:>7} {:>7} {:>7} {:>7}\n", "confidence", "high", "medium", "low", "none");
    let rows = [("right", &confidence.right), ("wrong", &confidence.wrong), ("absent", &confidence.absent)];
    for (name, counts) in rows.into_iter().filter(|(_, counts)| !counts.is_empty()) {
        let of = |level| counts.get(&level).copied().unwrap_or(0);
        let levels = [Confidence::High, Confidence::Medium, Confidence::Low, Confidence::None].map(of);
        let _ =
            writeln!(text, "{name:<38} {:>7} {:>7} {:>7} {:>7}", levels[0], levels[1], levels[2], levels[3]);
    }
    text
}

/// One line for each variant.
fn issues_table(report: &issues::IssuesReport) -> String {
    let mut text = format!(
        "{} issues, {} chunks, {}\n\n{:<38} {:>7} {:>7} {:>7} {:>9}\n",
        report.issues, report.chunks, report.model, "", "Acc@1", "Acc@5", "Acc@10", "p50 ms"
    );
    push_missing(&mut text, &report.missing);
    for measured in &report.variants {
        let _ = writeln!(
            text,
            "{:<38} {:>7.1} {:>7.1} {:>7.1} {:>9.1}",
            measured.variant, measured.acc1, measured.acc5, measured.acc10, measured.p50_ms
        );
    }
    text
}

fn push_missing(text: &mut String, missing: &[String]) {
    if !missing.is_empty() {
        let _ = writeln!(text, "missing from the corpus: {}", missing.join(", "));
    }
}
