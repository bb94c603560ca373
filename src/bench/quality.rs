//! Short questions with known answers: NDCG@10 of the chunk list and of the files, by category, language and
//! repository, and how much of what should be found fits into how many tokens.

use std::collections::BTreeMap;

use futures::{StreamExt, TryStreamExt, stream};
use serde::Serialize;

use super::checkouts::{self, Wanted};
use super::questions::{self, Question, Repository};
use super::score::{by_file, mean, ndcg, ranks, rounded};
use super::{Lab, Options, Variant, answers, tokens};
use contract::Fault;
use engine::search::{Confidence, Evidence, Output, SearchRequest};
use store::Project;

/// Places of a list that count.
const K: usize = 10;
/// Hits asked for: enough for ten files and 4,000 tokens.
const TOP: usize = 50;
/// Budgets at which tokens are counted.
const BUDGETS: [usize; 4] = [500, 1_000, 2_000, 4_000];
/// Questions under way at once.
const AT_ONCE: usize = 2;

/// The result.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Report {
    /// Repositories asked.
    pub repositories: usize,
    /// Their chunks.
    pub chunks: u64,
    /// Repositories that the corpus does not have.
    pub missing: Vec<String>,
    /// Model that made the vectors.
    pub model: String,
    /// How tokens were counted.
    pub tokenizer: &'static str,
    /// A result each.
    pub variants: Vec<Measured>,
}

/// What one variant reached.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Measured {
    /// Its name.
    pub variant: String,
    /// Over all questions.
    pub all: Figures,
    /// Shares of the targets within so many tokens: of whole chunks as listed, and of the compact answer of the tool.
    pub token_recall: BTreeMap<&'static str, BTreeMap<usize, f64>>,
    /// How many questions got which confidence: those whose right hit is among the first ten of the list, the other ones, and
    /// those that the repository does not answer.
    pub confidence: Believed,
    /// By category of the question.
    pub categories: BTreeMap<String, Figures>,
    /// By language of the repository.
    pub languages: BTreeMap<String, Figures>,
    /// By repository.
    pub by_repository: BTreeMap<String, Figures>,
    /// Each question, where asked for.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub questions: Vec<Asked>,
}

/// Means over questions.
#[derive(Debug, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Figures {
    /// How many questions.
    pub questions: usize,
    /// NDCG@10 of the list as returned: two chunks of a file take two places.
    pub ndcg10: f64,
    /// NDCG@10 of the list with each file once.
    pub ndcg10_files: f64,
    /// Share of the questions whose first hit is right.
    pub right_first: f64,
    /// Share of the questions with a right hit among the first three.
    pub right_among_three: f64,
}

/// Questions by the confidence of their answers.
#[derive(Debug, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Believed {
    /// A right hit is among the first ten, or would be if it were shown.
    pub right: BTreeMap<Confidence, usize>,
    /// It is not.
    pub wrong: BTreeMap<Confidence, usize>,
    /// There is none.
    pub absent: BTreeMap<Confidence, usize>,
}

/// One question and where its targets stand.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Asked {
    /// Its repository.
    pub repository: String,
    #[serde(skip)]
    language: String,
    /// Its category.
    pub category: String,
    /// The question.
    pub query: String,
    /// NDCG@10 of the list.
    pub ndcg10: f64,
    /// … and with each file once.
    pub ndcg10_files: f64,
    /// Rank of the first hit that is right; hits that only help do not count.
    pub right: Option<usize>,
    /// The same before hits without confidence are left out.
    #[serde(skip)]
    kept: Option<usize>,
    /// How far the answer can be believed.
    pub confidence: Option<Confidence>,
    /// What was measured of the answer.
    pub evidence: Option<Evidence>,
    /// Whether the repository has nothing that answers; such questions count for the confidence alone.
    pub absent: bool,
    /// Targets with their ranks in the list.
    pub targets: Vec<(String, Option<usize>)>,
    /// The first ten hits.
    pub hits: Vec<String>,
    /// By what is counted, whether each target lies within each budget, as a share.
    #[serde(skip)]
    within: BTreeMap<&'static str, [f64; BUDGETS.len()]>,
}

/// Indexes what has changed, asks all questions with each variant.
///
/// # Errors
/// `INVALID_INPUT` for questions that cannot be read; faults of runs and searches.
pub async fn measure(lab: &Lab, options: &Options, tell: &(dyn Fn(&str) + Sync)) -> Result<Report, Fault> {
    let mut report = Report {
        repositories: 0,
        chunks: 0,
        missing: Vec::new(),
        model: lab.model().await?,
        tokenizer: "cl100k_base",
        variants: Vec::new(),
    };
    let mut asked: Vec<Vec<Asked>> = vec![Vec::new(); options.variants.len()];
    for repository in questions::repositories(&options.questions, &options.only)? {
        let questions = questions::questions(&options.questions, &repository)?;
        let Some((project, chunks)) = indexed(lab, options, &repository).await? else {
            report.missing.push(repository.name);
            continue;
        };
        tell(&format!("{}: {chunks} chunks, {} questions", repository.name, questions.len()));
        report.repositories += 1;
        report.chunks += chunks;
        for (variant, asked) in options.variants.iter().zip(&mut asked) {
            let answers = stream::iter(&questions)
                .map(|question| ask(lab, &project, &repository, question, variant))
                .buffered(AT_ONCE);
            asked.extend(answers.try_collect::<Vec<_>>().await?);
        }
    }
    let measured = options.variants.iter().zip(asked);
    report.variants =
        measured.map(|(variant, asked)| Measured::of(variant, asked, options.details)).collect();
    Ok(report)
}

async fn indexed(
    lab: &Lab,
    options: &Options,
    repository: &Repository,
) -> Result<Option<(Project, u64)>, Fault> {
    let wanted = Wanted {
        name: &repository.name,
        repository: &repository.repository,
        commit: &repository.commit,
        root: repository.root.as_deref(),
    };
    let Some(files) = checkouts::copy(&options.corpus, &wanted, &lab.copies())? else { return Ok(None) };
    let id = lab.project_id("quality", &repository.name).await?;
    let report = lab.index(&id, &files).await?;
    Ok(Some((lab.project(&id).await?, report.chunks)))
}

async fn ask(
    lab: &Lab,
    project: &Project,
    repository: &Repository,
    question: &Question,
    variant: &Variant,
) -> Result<Asked, Fault> {
    let request = SearchRequest {
        query: question.query.clone(),
        top: TOP,
        keep_doubtful: true,
        ..SearchRequest::default()
    };
    let mut answer = lab.ask(project, &request, variant).await?;
    let targets = question.targets();
    let kept = ranks(&question.right(), &answers::found(&answer)).into_iter().flatten().min();
    // What follows counts the answer as it ships: without hits that nobody should believe.
    if answer.confidence == Some(Confidence::None) {
        answer.hits.clear();
    }
    let found = answers::found(&answer);
    let in_list = ranks(&targets, &found);
    let in_files = ranks(&targets, &by_file(&found));
    let right = ranks(&question.right(), &found).into_iter().flatten().min();
    let costs = [
        ("chunks", answer.hits.iter().map(answers::whole).map(|text| tokens::count(&text)).collect()),
        (
            "compact",
            answers::shown(&answer, Output::Compact).iter().map(|text| tokens::count(text)).collect(),
        ),
    ];
    let within = costs.map(|(name, costs): (_, Vec<usize>)| (name, within_budgets(&in_list, &costs)));
    Ok(Asked {
        repository: repository.name.clone(),
        language: repository.language.clone(),
        category: question.category.clone(),
        query: question.query.clone(),
        ndcg10: ndcg(&in_list, K),
        ndcg10_files: ndcg(&in_files, K),
        right,
        kept,
        confidence: answer.confidence,
        evidence: answer.explain.evidence,
        absent: question.is_absent(),
        targets: targets.into_iter().map(|target| target.path).zip(in_list).collect(),
        hits: found
            .iter()
            .take(K)
            .map(|hit| format!("{}:{}-{}", hit.path, hit.lines.0, hit.lines.1))
            .collect(),
        within: within.into(),
    })
}

/// The share of targets whose hit ends within each budget, when the hits are read in order.
#[expect(clippy::cast_precision_loss, reason = "counts of targets")]
fn within_budgets(ranks: &[Option<usize>], costs: &[usize]) -> [f64; BUDGETS.len()] {
    let until = |rank: usize| -> usize { costs.iter().take(rank).sum() };
    BUDGETS.map(|budget| {
        let met =
            ranks.iter().flatten().filter(|rank| **rank <= costs.len() && until(**rank) <= budget).count();
        met as f64 / ranks.len().max(1) as f64
    })
}

impl Measured {
    fn of(variant: &Variant, all: Vec<Asked>, details: bool) -> Self {
        let asked: Vec<&Asked> = all.iter().filter(|asked| !asked.absent).collect();
        let groups = |key: fn(&Asked) -> &String| {
            let mut groups: BTreeMap<String, Vec<&Asked>> = BTreeMap::new();
            asked.iter().for_each(|asked| groups.entry(key(asked).clone()).or_default().push(*asked));
            groups.into_iter().map(|(name, asked)| (name, Figures::of(&asked))).collect()
        };
        let recall = |name: &'static str| -> BTreeMap<usize, f64> {
            let at =
                |place: usize| mean(asked.iter().filter_map(|asked| Some(asked.within.get(name)?[place])));
            BUDGETS.into_iter().enumerate().map(|(place, budget)| (budget, rounded(at(place)))).collect()
        };
        Self {
            variant: variant.name.clone(),
            all: Figures::of(&asked),
            token_recall: ["chunks", "compact"].into_iter().map(|name| (name, recall(name))).collect(),
            confidence: Believed::of(&all),
            categories: groups(|asked| &asked.category),
            languages: groups(|asked| &asked.language),
            by_repository: groups(|asked| &asked.repository),
            questions: if details { all } else { Vec::new() },
        }
    }
}

impl Figures {
    fn of(asked: &[&Asked]) -> Self {
        Self {
            questions: asked.len(),
            ndcg10: rounded(mean(asked.iter().map(|asked| asked.ndcg10))),
            ndcg10_files: rounded(mean(asked.iter().map(|asked| asked.ndcg10_files))),
            right_first: share_right(asked, 1),
            right_among_three: share_right(asked, 3),
        }
    }
}

impl Believed {
    fn of(asked: &[Asked]) -> Self {
        let mut believed = Self::default();
        for asked in asked {
            let Some(confidence) = asked.confidence else { continue };
            let counts = match asked.kept {
                _ if asked.absent => &mut believed.absent,
                Some(rank) if rank <= K => &mut believed.right,
                _ => &mut believed.wrong,
            };
            *counts.entry(confidence).or_default() += 1;
        }
        believed
    }
}

/// The share of questions with a right hit among the first `places`.
fn share_right(asked: &[&Asked], places: usize) -> f64 {
    let is_right = |asked: &&Asked| if asked.right.is_some_and(|rank| rank <= places) { 1.0 } else { 0.0 };
    rounded(mean(asked.iter().map(is_right)))
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
