//! `bench quality` and `bench issues`: questions with known answers.

use std::fmt::Write;
use std::path::PathBuf;

use super::{lab, print, program, tell};
use crate::bench::{Lab, Options, Variant, issues, quality};
use crate::surfaces::cli::session::Session;
use contract::Fault;
use engine::search::Confidence;

/// Arguments of `quality` and `issues`.
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// Folder of the questions
    #[arg(long, value_name = "DIR")]
    questions: PathBuf,
    /// Folder of checkouts; they are only read
    #[arg(long, value_name = "DIR")]
    corpus: PathBuf,
    /// Only the repository of this name, or issues whose id contains it
    #[arg(long, value_name = "NAME")]
    only: Vec<String>,
    /// Ask also with another ranking, as name:field=value,field=value; `vectors=off` leaves them out
    #[arg(long, value_name = "VARIANT")]
    variant: Vec<String>,
    /// Ask also without each signal of the ranking, one after the other
    #[arg(long)]
    ablation: bool,
    /// Vectors: shipped; none, path or path-name (as much of the header); stub (word hashes); static:DIR; mixed:DIR
    #[arg(long, value_name = "VECTORS", default_value = "shipped")]
    vectors: String,
    /// Tell each question
    #[arg(long)]
    details: bool,
}

impl Args {
    fn variants(&self) -> Result<Vec<Variant>, Fault> {
        let mut variants = vec![Variant::shipped(), Variant::words()];
        for text in &self.variant {
            variants.push(Variant::parse(text)?);
        }
        if self.ablation {
            variants.extend(Variant::ablation()?);
        }
        Ok(variants)
    }

    /// Where it is measured, and what.
    async fn prepared(self, session: &Session) -> Result<(Lab, Options), Fault> {
        // What is wrong with the arguments is said before anything is installed or indexed.
        let variants = self.variants()?;
        let lab = lab(session, |_| ()).await?.remembering(&self.vectors, program()?).await?;
        let Self { questions, corpus, only, details, .. } = self;
        Ok((lab, Options { questions, corpus, only, variants, details }))
    }
}

/// Measures short questions.
pub(super) async fn quality(session: &Session, args: Args) -> Result<(), Fault> {
    let (lab, options) = args.prepared(session).await?;
    let report = quality::measure(&lab, &options, &|line| tell(session, line)).await?;
    print(session, &report, quality_table);
    lab.close().await;
    Ok(())
}

/// Measures texts of issues.
pub(super) async fn issues(session: &Session, args: Args) -> Result<(), Fault> {
    let (lab, options) = args.prepared(session).await?;
    let report = issues::measure(&lab, &options, &|line| tell(session, line)).await?;
    print(session, &report, issues_table);
    lab.close().await;
    Ok(())
}

/// A line a variant, then the first one by category and language.
fn quality_table(report: &quality::Report) -> String {
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
    missing(&mut text, &report.missing);
    for measured in &report.variants {
        let recall = |name: &str| {
            measured.token_recall.get(name).and_then(|at| at.get(&2_000)).copied().unwrap_or(0.0)
        };
        line(
            &mut text,
            &measured.variant,
            &measured.all,
            &format!("  {:>7.4} {:>7.4}", recall("chunks"), recall("compact")),
        );
    }
    let Some(first) = report.variants.first() else { return text };
    text.push_str(&believed(&first.confidence));
    for group in [&first.categories, &first.languages] {
        text.push('\n');
        group.iter().for_each(|(name, figures)| {
            line(&mut text, name, figures, &format!("  {:>4}", figures.questions))
        });
    }
    text
}

fn line(text: &mut String, name: &str, figures: &quality::Figures, more: &str) {
    let quality::Figures { ndcg10, ndcg10_files, right_first, right_among_three, .. } = figures;
    let _ = writeln!(
        text,
        "{name:<38} {ndcg10:>7.4} {ndcg10_files:>7.4} {right_first:>7.4} {right_among_three:>7.4}{more}"
    );
}

/// Questions by the confidence of their answers.
fn believed(believed: &quality::Believed) -> String {
    let mut text =
        format!("\n{:<38} {:>7} {:>7} {:>7} {:>7}\n", "confidence", "high", "medium", "low", "none");
    let rows = [("right", &believed.right), ("wrong", &believed.wrong), ("absent", &believed.absent)];
    for (name, counts) in rows.into_iter().filter(|(_, counts)| !counts.is_empty()) {
        let of = |level| counts.get(&level).copied().unwrap_or(0);
        let levels = [Confidence::High, Confidence::Medium, Confidence::Low, Confidence::None].map(of);
        let _ =
            writeln!(text, "{name:<38} {:>7} {:>7} {:>7} {:>7}", levels[0], levels[1], levels[2], levels[3]);
    }
    text
}

/// A line a variant.
fn issues_table(report: &issues::Report) -> String {
    let mut text = format!(
        "{} issues, {} chunks, {}\n\n{:<38} {:>7} {:>7} {:>7} {:>9}\n",
        report.issues, report.chunks, report.model, "", "Acc@1", "Acc@5", "Acc@10", "p50 ms"
    );
    missing(&mut text, &report.missing);
    for measured in &report.variants {
        let _ = writeln!(
            text,
            "{:<38} {:>7.1} {:>7.1} {:>7.1} {:>9.1}",
            measured.variant, measured.acc1, measured.acc5, measured.acc10, measured.p50_ms
        );
    }
    text
}

fn missing(text: &mut String, missing: &[String]) {
    if !missing.is_empty() {
        let _ = writeln!(text, "not in the corpus: {}", missing.join(", "));
    }
}
