//! Short queries with known answers: NDCG@10 of chunks and of files by category, language and repository, and the recall within
//! token budgets.

use std::collections::BTreeMap;

use futures::{StreamExt, TryStreamExt, stream};
use serde::Serialize;

use super::checkouts::{self, Checkout};
use super::queries::{self, AnnotatedQuery, Repository};
use super::score::{by_file, mean, ndcg, ranks, rounded};
use super::{Experiment, Options, Variant, answers, tokens};
use contract::Fault;
use engine::search::{Confidence, Evidence, Output, SearchRequest};
use store::Project;

/// Cutoff rank of NDCG.
const K: usize = 10;
/// Number of hits requested: enough for ten files and 4,000 tokens.
const TOP: usize = 50;
/// Token budgets at which recall is measured.
const BUDGETS: [usize; 4] = [500, 1_000, 2_000, 4_000];
/// Number of concurrent queries.
const CONCURRENT_QUERIES: usize = 2;

/// The result of `bench quality`.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct QualityReport {
    /// Number of repositories measured.
    pub repositories: usize,
    /// Chunks of all measured repositories.
    pub chunks: u64,
    /// Repositories that are missing from the corpus.
    pub missing: Vec<String>,
    /// Model that made the vectors.
    pub model: String,
    /// The tokenizer of the budgets.
    pub tokenizer: &'static str,
    /// The results of each variant.
    pub variants: Vec<VariantResult>,
}

/// The results of one variant.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct VariantResult {
    /// Name of the variant.
    pub variant: String,
    /// Figures over all queries.
    pub all: QueryFigures,
    /// Share of the targets within each token budget, by output: complete chunks, and the compact output of the tool.
    pub token_recall: BTreeMap<&'static str, BTreeMap<usize, f64>>,
    /// Number of queries by confidence.
    pub confidence: ConfidenceCounts,
    /// By category of the query.
    pub categories: BTreeMap<String, QueryFigures>,
    /// By language of the repository.
    pub languages: BTreeMap<String, QueryFigures>,
    /// By repository.
    pub by_repository: BTreeMap<String, QueryFigures>,
    /// Every query, with `--details`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub questions: Vec<QueryResult>,
}

/// Means over queries.
#[derive(Debug, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct QueryFigures {
    /// Number of queries.
    pub questions: usize,
    /// NDCG@10 of the returned chunks.
    pub ndcg10: f64,
    /// NDCG@10 of the files, each at its best rank.
    pub ndcg10_files: f64,
    /// Share of the queries whose first hit is relevant.
    pub right_first: f64,
    /// Share of the queries with a relevant hit among the first three.
    pub right_among_three: f64,
}

/// Number of queries by the confidence of their answers.
#[derive(Debug, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ConfidenceCounts {
    /// Queries with a relevant hit among the first ten, even if low confidence suppressed it.
    pub right: BTreeMap<Confidence, usize>,
    /// Queries without one.
    pub wrong: BTreeMap<Confidence, usize>,
    /// Queries without an answer in the repository.
    pub absent: BTreeMap<Confidence, usize>,
}

/// The result of one query.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct QueryResult {
    /// Name of the repository.
    pub repository: String,
    #[serde(skip)]
    language: String,
    /// Category of the query.
    pub category: String,
    /// The query.
    pub query: String,
    /// NDCG@10 of the chunks.
    pub ndcg10: f64,
    /// NDCG@10 of the files.
    pub ndcg10_files: f64,
    /// Rank of the first relevant hit; secondary targets do not count.
    pub right: Option<usize>,
    /// The same rank before low confidence suppressed hits.
    #[serde(skip)]
    unsuppressed: Option<usize>,
    /// Confidence of the answer.
    pub confidence: Option<Confidence>,
    /// The measurements behind the confidence.
    pub evidence: Option<Evidence>,
    /// Whether the repository has no answer; such queries count only for the confidence.
    pub absent: bool,
    /// Targets with their ranks among chunks.
    pub targets: Vec<(String, Option<usize>)>,
    /// The first ten hits.
    pub hits: Vec<String>,
    /// Share of the targets within each budget, by output.
    #[serde(skip)]
    within: BTreeMap<&'static str, [f64; BUDGETS.len()]>,
}

/// Indexes every repository and runs all queries with each variant.
///
/// # Errors
/// `INVALID_INPUT` for an unreadable query file; faults of index runs and searches.
pub async fn measure(
    experiment: &Experiment,
    options: &Options,
    on_progress: &(dyn Fn(&str) + Sync),
) -> Result<QualityReport, Fault> {
    let mut report = QualityReport {
        repositories: 0,
        chunks: 0,
        missing: Vec::new(),
        model: experiment.model().await?,
        tokenizer: "cl100k_base",
        variants: Vec::new(),
    };
    let mut results: Vec<Vec<QueryResult>> = vec![Vec::new(); options.variants.len()];
    for repository in queries::read_repositories(&options.questions, &options.only)? {
        let questions = queries::read_queries(&options.questions, &repository)?;
        let Some((project, chunks)) = index_checkout(experiment, options, &repository).await? else {
            report.missing.push(repository.name);
            continue;
        };
        on_progress(&format!("{}: {chunks} chunks, {} questions", repository.name, questions.len()));
        report.repositories += 1;
        report.chunks += chunks;
        for (variant, results) in options.variants.iter().zip(&mut results) {
            let answers = stream::iter(&questions)
                .map(|query| run_query(experiment, &project, &repository, query, variant))
                .buffered(CONCURRENT_QUERIES);
            results.extend(answers.try_collect::<Vec<_>>().await?);
        }
    }
    let measured = options.variants.iter().zip(results);
    report.variants = measured
        .map(|(variant, results)| VariantResult::from_results(variant, results, options.details))
        .collect();
    Ok(report)
}

async fn index_checkout(
    experiment: &Experiment,
    options: &Options,
    repository: &Repository,
) -> Result<Option<(Project, u64)>, Fault> {
    let checkout = Checkout {
        name: &repository.name,
        repository: &repository.repository,
        commit: &repository.commit,
        root: repository.root.as_deref(),
    };
    let Some(files) = checkouts::copy_checkout(&options.corpus, &checkout, &experiment.copies())? else {
        return Ok(None);
    };
    let id = experiment.project_id("quality", &repository.name).await?;
    let report = experiment.index(&id, &files).await?;
    Ok(Some((experiment.project(&id).await?, report.chunks)))
}

async fn run_query(
    experiment: &Experiment,
    project: &Project,
    repository: &Repository,
    query: &AnnotatedQuery,
    variant: &Variant,
) -> Result<QueryResult, Fault> {
    let request = SearchRequest {
        query: query.query.clone(),
        top: TOP,
        keep_doubtful: true,
        ..SearchRequest::default()
    };
    let mut answer = experiment.search(project, &request, variant).await?;
    let targets = query.targets();
    let unsuppressed =
        ranks(&query.relevant_targets(), &answers::hit_locations(&answer)).into_iter().flatten().min();
    // The other figures measure the answer as the tool returns it: without hits if the confidence is `none`.
    if answer.confidence == Some(Confidence::None) {
        answer.hits.clear();
    }
    let found = answers::hit_locations(&answer);
    let in_list = ranks(&targets, &found);
    let in_files = ranks(&targets, &by_file(&found));
    let right = ranks(&query.relevant_targets(), &found).into_iter().flatten().min();
    let costs = [
        ("chunks", answer.hits.iter().map(answers::full_text).map(|text| tokens::count(&text)).collect()),
        (
            "compact",
            answers::tool_hits(&answer, Output::Compact).iter().map(|text| tokens::count(text)).collect(),
        ),
    ];
    let within = costs.map(|(name, costs): (_, Vec<usize>)| (name, within_budgets(&in_list, &costs)));
    Ok(QueryResult {
        repository: repository.name.clone(),
        language: repository.language.clone(),
        category: query.category.clone(),
        query: query.query.clone(),
        ndcg10: ndcg(&in_list, K),
        ndcg10_files: ndcg(&in_files, K),
        right,
        unsuppressed,
        confidence: answer.confidence,
        evidence: answer.explain.evidence,
        absent: query.is_absent(),
        targets: targets.into_iter().map(|target| target.path).zip(in_list).collect(),
        hits: found
            .iter()
            .take(K)
            .map(|hit| format!("{}:{}-{}", hit.path, hit.lines.0, hit.lines.1))
            .collect(),
        within: within.into(),
    })
}

/// The share of targets whose hit is complete within each budget if the hits are read in order.
#[expect(clippy::cast_precision_loss, reason = "counts of targets")]
fn within_budgets(ranks: &[Option<usize>], costs: &[usize]) -> [f64; BUDGETS.len()] {
    let until = |rank: usize| -> usize { costs.iter().take(rank).sum() };
    BUDGETS.map(|budget| {
        let met =
            ranks.iter().flatten().filter(|rank| **rank <= costs.len() && until(**rank) <= budget).count();
        met as f64 / ranks.len().max(1) as f64
    })
}

impl VariantResult {
    fn from_results(variant: &Variant, all: Vec<QueryResult>, details: bool) -> Self {
        let results: Vec<&QueryResult> = all.iter().filter(|result| !result.absent).collect();
        let groups = |key: fn(&QueryResult) -> &String| {
            let mut groups: BTreeMap<String, Vec<&QueryResult>> = BTreeMap::new();
            results.iter().for_each(|result| groups.entry(key(result).clone()).or_default().push(*result));
            groups.into_iter().map(|(name, results)| (name, QueryFigures::from_results(&results))).collect()
        };
        let recall = |name: &'static str| -> BTreeMap<usize, f64> {
            let at = |place: usize| {
                mean(results.iter().filter_map(|result| Some(result.within.get(name)?[place])))
            };
            BUDGETS.into_iter().enumerate().map(|(place, budget)| (budget, rounded(at(place)))).collect()
        };
        Self {
            variant: variant.name.clone(),
            all: QueryFigures::from_results(&results),
            token_recall: ["chunks", "compact"].into_iter().map(|name| (name, recall(name))).collect(),
            confidence: ConfidenceCounts::from_results(&all),
            categories: groups(|result| &result.category),
            languages: groups(|result| &result.language),
            by_repository: groups(|result| &result.repository),
            questions: if details { all } else { Vec::new() },
        }
    }
}

impl QueryFigures {
    fn from_results(results: &[&QueryResult]) -> Self {
        Self {
            questions: results.len(),
            ndcg10: rounded(mean(results.iter().map(|result| result.ndcg10))),
            ndcg10_files: rounded(mean(results.iter().map(|result| result.ndcg10_files))),
            right_first: share_right(results, 1),
            right_among_three: share_right(results, 3),
        }
    }
}

impl ConfidenceCounts {
    fn from_results(results: &[QueryResult]) -> Self {
        let mut counts = Self::default();
        for result in results {
            let Some(confidence) = result.confidence else { continue };
            let group = match result.unsuppressed {
                _ if result.absent => &mut counts.absent,
                Some(rank) if rank <= K => &mut counts.right,
                _ => &mut counts.wrong,
            };
            *group.entry(confidence).or_default() += 1;
        }
        counts
    }
}

/// The share of queries with a relevant hit among the first `k`.
fn share_right(results: &[&QueryResult], k: usize) -> f64 {
    let is_right = |result: &&QueryResult| if result.right.is_some_and(|rank| rank <= k) { 1.0 } else { 0.0 };
    rounded(mean(results.iter().map(is_right)))
}

#[cfg(test)]
mod tests {
    use super::within_budgets;

    #[test]
    fn a_target_counts_once_its_hit_was_read_whole() {
        let shares = within_budgets(&[Some(1), Some(3), None, Some(9)], &[400, 300, 300, 10]);
        assert_eq!(shares, [0.25, 0.5, 0.5, 0.5]);
    }
}
