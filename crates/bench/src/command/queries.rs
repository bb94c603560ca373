//! `bench quality` and `bench issues`: queries with known answers.

use std::fmt::Write;
use std::path::PathBuf;

use super::quality_table::{push_missing, quality_table};
use super::{current_program, note, open_experiment};
use crate::{Experiment, Modes, Options, Variant, issues, quality, vectors};
use contract::clock::{Clock, SystemClock, iso_millis};
use contract::{Envelope, ErrorCode, Fault, Meta};
use surfaces::cli::shell::{CommandError, CommandResult, Exit, Session};

/// The time that a benchmark waits for the vector of a query: an answer without it would measure something else.
const EMBED_WAIT_MS: u64 = 600_000;
/// The setting that limits this wait, for users who set it on purpose.
const EMBED_WAIT: &str = "search.embed_wait_ms";

/// Arguments of `quality` and `issues`.
#[derive(Debug, clap::Args)]
pub(super) struct QueryBenchArgs {
    /// Folder with the query files; more than one measures all of them
    #[arg(long, value_name = "DIR", required = true)]
    questions: Vec<PathBuf>,
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
    /// Vectors: shipped; none, path or path-name (what the embedded header holds); stub (word hashes), stub:none …; random; static:DIR; mixed:DIR
    #[arg(long, value_name = "VECTORS", default_value = "shipped")]
    vectors: String,
    /// Run every variant without vectors, and none with them; nothing is embedded by a model
    #[arg(long, conflicts_with = "vectors")]
    words_only: bool,
    /// Exit with success even if queries were answered without their vectors
    #[arg(long)]
    allow_degraded: bool,
    /// Print every query
    #[arg(long)]
    details: bool,
}

/// Arguments of `quality`.
#[derive(Debug, clap::Args)]
pub(super) struct QualityArgs {
    #[command(flatten)]
    queries: QueryBenchArgs,
    /// Ask in one project of all repositories, with the repository named and not named
    #[arg(long)]
    one_project: bool,
    /// With --one-project: also ask in a project of each repository, and compare
    #[arg(long, requires = "one_project")]
    alone: bool,
    /// Also ask each repository the queries of another one, which it does not answer
    #[arg(long)]
    absent: bool,
    /// For each repository, choose the variant that is best on all others, and report its score
    #[arg(long)]
    leave_out: bool,
    /// Keep the results in FILE as soon as a repository is done
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
    /// Take over what a broken run of the same program with the same settings left in --out
    #[arg(long = "continue", requires = "out")]
    continues: bool,
}

impl QueryBenchArgs {
    /// Returns the variants to measure, each name once. `pairs`: every variant also without vectors.
    fn variants(&self, pairs: bool) -> Result<Vec<Variant>, Fault> {
        let mut variants = vec![Variant::with_vectors(self.vectors()), Variant::lexical_only()];
        for text in &self.variant {
            variants.push(Variant::parse(text)?);
        }
        if self.ablation {
            variants.extend(Variant::ablation()?);
        }
        if self.words_only {
            variants.remove(0);
            variants = variants.iter().map(Variant::without_vectors).collect();
        } else if pairs {
            let words: Vec<Variant> = variants[2..].iter().map(Variant::without_vectors).collect();
            variants.extend(words);
        }
        let mut names = std::collections::HashSet::new();
        variants.retain(|variant| names.insert(variant.name.clone()));
        Ok(variants)
    }

    /// Returns the vectors setting. If no search uses vectors, those of the index need no model.
    fn vectors(&self) -> &str {
        if self.words_only { "stub" } else { &self.vectors }
    }

    /// Opens the experiment and resolves the options.
    async fn prepare(self, session: &Session, pairs: bool) -> Result<(Experiment, Options), CommandError> {
        // Reject wrong arguments before anything is installed or indexed.
        let variants = self.variants(pairs).map_err(CommandError::not_run)?;
        vectors::check_name(self.vectors()).map_err(CommandError::not_run)?;
        let is_given = session.settings.iter().any(|(name, _)| name == EMBED_WAIT);
        let wait = |config: &mut contract::config::Config| {
            if !is_given {
                config.search.embed_wait_ms = EMBED_WAIT_MS;
            }
        };
        let vectors = self.vectors().to_owned();
        let experiment =
            open_experiment(session, wait).await?.with_vectors(&vectors, current_program()?).await?;
        let Self { questions, corpus, only, details, .. } = self;
        let (modes, kept, continues) = (Modes::default(), None, false);
        Ok((
            experiment,
            Options { questions, corpus, only, variants, vectors, modes, kept, continues, details },
        ))
    }
}

/// Entry point of `bench quality`.
pub(super) async fn run_quality(session: &Session, args: QualityArgs) -> CommandResult {
    let QualityArgs { queries, one_project, alone, absent, leave_out, out, continues } = args;
    if leave_out && queries.variant.is_empty() && !queries.ablation {
        let fault = Fault::new(ErrorCode::InvalidRequest, "There are no variants to choose from.");
        return Err(CommandError::not_run(fault.with_hint("Give --leave-out one --variant or more.")));
    }
    let allow_degraded = queries.allow_degraded;
    let (experiment, options) = queries.prepare(session, leave_out).await?;
    let modes = Modes { alone, one_project, absent, leave_out };
    let options = Options { modes, kept: out, continues, ..options };
    let measured = quality::measure(&experiment, &options, &|line| note(session, line)).await;
    experiment.close().await;
    let report = measured?;
    session.print_result(&report, &quality_table(&report));
    Ok(judge(session, report.verdict(allow_degraded)))
}

/// Entry point of `bench issues`.
pub(super) async fn run_issues(session: &Session, args: QueryBenchArgs) -> CommandResult {
    let allow_degraded = args.allow_degraded;
    let (experiment, options) = args.prepare(session, false).await?;
    let measured = issues::measure(&experiment, &options, &|line| note(session, line)).await;
    experiment.close().await;
    let report = measured?;
    session.print_result(&report, &issues_table(&report));
    Ok(judge(session, report.verdict(allow_degraded)))
}

/// Reports on stderr why figures that were printed cannot be trusted.
fn judge(session: &Session, verdict: Result<(), Fault>) -> Exit {
    match verdict {
        Ok(()) => Exit::Ok,
        Err(fault) => {
            let now = iso_millis(SystemClock.now());
            session.output.failure(&Envelope::failure(&fault, Meta::new(now)));
            Exit::Failed
        }
    }
}

/// Formats one line for each variant.
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
