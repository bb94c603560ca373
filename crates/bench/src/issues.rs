//! Long, noisy queries: which files does an issue's fix change? Acc@k counts issues with all of these files among the first k.

use std::time::Instant;

use serde::Serialize;

use super::checkouts::{self, Checkout};
use super::quality::require_vectors;
use super::queries::{self, Issue};
use super::score::{all_within, by_file, mean, ranks, rounded};
use super::{Experiment, Options, Variant, answers};
use contract::Fault;
use engine::search::{SearchRequest, Vectors, VectorsUsed};
use store::Project;

/// Number of hits requested: enough for ten files.
const TOP: usize = 100;

/// The result of `bench issues`.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct IssuesReport {
    /// Number of issues measured.
    pub issues: usize,
    /// Chunks of all measured repositories.
    pub chunks: u64,
    /// Issues whose repository or commit is missing from the corpus.
    pub missing: Vec<String>,
    /// Model that made the vectors.
    pub model: String,
    /// Issues that should have been searched with vectors and were not, over all variants.
    pub questions_without_vectors: usize,
    /// The figures of each variant.
    pub variants: Vec<IssuesFigures>,
}

/// The figures of one variant.
#[derive(Debug, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct IssuesFigures {
    /// Name of the variant.
    pub variant: String,
    /// Percentage of issues with all files at rank 1.
    pub acc1: f64,
    /// Percentage of issues with all files among the first 5.
    pub acc5: f64,
    /// Percentage of issues with all files among the first 10.
    pub acc10: f64,
    /// Issues that should have been searched with vectors and were not.
    pub questions_without_vectors: usize,
    /// Median latency in milliseconds.
    pub p50_ms: f64,
    /// Every issue, with `--details`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub issues: Vec<IssueResult>,
}

/// The result of one issue.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct IssueResult {
    /// Id of the issue.
    pub id: String,
    /// The files of the fix with their ranks among files.
    pub targets: Vec<(String, Option<usize>)>,
    /// The first ten files.
    pub files: Vec<String>,
    /// Latency in milliseconds.
    pub ms: f64,
    /// `true` if vectors should have been compared and were not.
    pub without_vectors: bool,
}

/// Indexes the repository of each issue at its commit and searches for the issue.
///
/// # Errors
/// `INVALID_INPUT` for an unreadable issue file; faults of index runs and searches.
pub async fn measure(
    experiment: &Experiment,
    options: &Options,
    on_progress: &(dyn Fn(&str) + Sync),
) -> Result<IssuesReport, Fault> {
    let mut report = IssuesReport {
        issues: 0,
        chunks: 0,
        missing: Vec::new(),
        model: experiment.model().await?,
        questions_without_vectors: 0,
        variants: Vec::new(),
    };
    let issues = queries::read_issues(&options.questions, &options.only)?;
    let (count, started) = (issues.len(), Instant::now());
    let mut results: Vec<Vec<IssueResult>> = vec![Vec::new(); options.variants.len()];
    for (at, issue) in issues.into_iter().enumerate() {
        let Some((project, chunks)) = index_checkout(experiment, options, &issue).await? else {
            report.missing.push(issue.id);
            continue;
        };
        report.issues += 1;
        report.chunks += chunks;
        for (variant, results) in options.variants.iter().zip(&mut results) {
            results.push(run_query(experiment, &project, &issue, variant).await?);
        }
        let seconds = started.elapsed().as_secs_f64();
        on_progress(&progress(&issue, chunks, options, &results, (at + 1, count, seconds)));
    }
    if report.issues == 0 {
        let why = format!("Missing from the corpus: {}.", report.missing.join(", "));
        return Err(queries::nothing_to_measure(&why));
    }
    let measured = options.variants.iter().zip(results);
    report.variants = measured
        .map(|(variant, results)| IssuesFigures::from_results(variant, results, options.details))
        .collect();
    report.questions_without_vectors =
        report.variants.iter().map(|variant| variant.questions_without_vectors).sum();
    Ok(report)
}

/// The ranks that an issue's files got with each variant, and the time left.
#[expect(clippy::cast_precision_loss, reason = "a count of issues")]
fn progress(
    issue: &Issue,
    chunks: u64,
    options: &Options,
    results: &[Vec<IssueResult>],
    (done, all, seconds): (usize, usize, f64),
) -> String {
    let ranks = |result: &IssueResult| {
        let rank = |rank: Option<usize>| rank.map_or("-".to_owned(), |rank| rank.to_string());
        result.targets.iter().map(|(_, at)| rank(*at)).collect::<Vec<_>>().join("/")
    };
    let last = options.variants.iter().zip(results);
    let last =
        last.filter_map(|(variant, results)| Some(format!("{} {}", variant.name, ranks(results.last()?))));
    let left = seconds / done as f64 * (all - done) as f64;
    format!(
        "{}: {chunks} chunks, ranks of its files: {}; {done} of {all}, about {left:.0} s left",
        issue.id,
        last.collect::<Vec<_>>().join(", ")
    )
}

impl IssuesReport {
    /// The failure of a run whose figures do not measure what they claim to.
    ///
    /// # Errors
    /// `GATE_FAILED` if issues were searched without their vectors, unless `allow_degraded`.
    pub fn verdict(&self, allow_degraded: bool) -> Result<(), Fault> {
        require_vectors(self.questions_without_vectors, allow_degraded)
    }
}

async fn index_checkout(
    experiment: &Experiment,
    options: &Options,
    issue: &Issue,
) -> Result<Option<(Project, u64)>, Fault> {
    let checkout =
        Checkout { name: &issue.id, repository: &issue.repository, commit: &issue.commit, root: None };
    let Some(files) = checkouts::copy_checkout(&options.corpus, &checkout, &experiment.copies())? else {
        return Ok(None);
    };
    let id = experiment.project_id("issue", &issue.id).await?;
    let report = experiment.index(&id, &files).await?;
    Ok(Some((experiment.project(&id).await?, report.chunks)))
}

async fn run_query(
    experiment: &Experiment,
    project: &Project,
    issue: &Issue,
    variant: &Variant,
) -> Result<IssueResult, Fault> {
    // Cut longer texts to the longest allowed query.
    let query = issue.query.chars().take(experiment.app.config.search.query_chars_max).collect();
    let request = SearchRequest { query, top: TOP, ..SearchRequest::default() };
    let answer = experiment.search(project, &request, variant).await?;
    let files = by_file(&answers::hit_locations(&answer, None));
    let targets = issue.targets();
    let ranks = ranks(&targets, &files);
    Ok(IssueResult {
        id: issue.id.clone(),
        targets: targets.into_iter().map(|target| target.path).zip(ranks).collect(),
        files: files.into_iter().take(10).map(|file| file.path).collect(),
        ms: answer.took.total_ms,
        without_vectors: variant.vectors == Vectors::Auto && answer.vectors_used == VectorsUsed::None,
    })
}

impl IssuesFigures {
    fn from_results(variant: &Variant, mut results: Vec<IssueResult>, details: bool) -> Self {
        let acc = |k: usize| {
            let met = |result: &IssueResult| {
                let ranks: Vec<_> = result.targets.iter().map(|(_, rank)| *rank).collect();
                f64::from(u8::from(all_within(&ranks, k)))
            };
            rounded(mean(results.iter().map(met))) * 100.0
        };
        let (acc1, acc5, acc10) = (acc(1), acc(5), acc(10));
        let questions_without_vectors = results.iter().filter(|result| result.without_vectors).count();
        let mut times: Vec<f64> = results.iter().map(|result| result.ms).collect();
        times.sort_by(f64::total_cmp);
        let p50_ms = times.get(times.len() / 2).copied().unwrap_or(0.0);
        if !details {
            results.clear();
        }
        Self {
            variant: variant.name.clone(),
            acc1,
            acc5,
            acc10,
            questions_without_vectors,
            p50_ms,
            issues: results,
        }
    }
}
