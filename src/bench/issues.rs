//! Long, noisy texts: which files does the fix of an issue change? Acc@k: all of them are among the first k files.

use serde::Serialize;

use super::checkouts::{self, Wanted};
use super::questions::{self, Issue};
use super::score::{all_within, by_file, mean, ranks, rounded};
use super::{Lab, Options, Variant, answers};
use contract::Fault;
use engine::search::SearchRequest;
use store::Project;

/// Hits asked for: enough for ten files.
const TOP: usize = 100;

/// The result.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Report {
    /// Issues asked.
    pub issues: usize,
    /// Chunks of all their repositories.
    pub chunks: u64,
    /// Issues whose repository or commit the corpus does not have.
    pub missing: Vec<String>,
    /// Model that made the vectors.
    pub model: String,
    /// A result each.
    pub variants: Vec<Measured>,
}

/// What one variant reached.
#[derive(Debug, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Measured {
    /// Its name.
    pub variant: String,
    /// Shares of issues, in percent.
    pub acc1: f64,
    /// …
    pub acc5: f64,
    /// …
    pub acc10: f64,
    /// Median milliseconds of a question.
    pub p50_ms: f64,
    /// Each issue, where asked for.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub issues: Vec<Asked>,
}

/// One issue and where its files stand.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Asked {
    /// Its id.
    pub id: String,
    /// The files of its fix with their ranks among files.
    pub targets: Vec<(String, Option<usize>)>,
    /// The first ten files.
    pub files: Vec<String>,
    /// Time of the question.
    pub ms: f64,
}

/// Indexes each repository as it was, and asks the issue.
///
/// # Errors
/// `INVALID_INPUT` for issues that cannot be read; faults of runs and searches.
pub async fn measure(lab: &Lab, options: &Options, tell: &(dyn Fn(&str) + Sync)) -> Result<Report, Fault> {
    let mut report =
        Report { issues: 0, chunks: 0, missing: Vec::new(), model: lab.model().await?, variants: Vec::new() };
    let mut asked: Vec<Vec<Asked>> = vec![Vec::new(); options.variants.len()];
    for issue in questions::issues(&options.questions, &options.only)? {
        let Some((project, chunks)) = indexed(lab, options, &issue).await? else {
            report.missing.push(issue.id);
            continue;
        };
        tell(&format!("{}: {chunks} chunks", issue.id));
        report.issues += 1;
        report.chunks += chunks;
        for (variant, asked) in options.variants.iter().zip(&mut asked) {
            asked.push(ask(lab, &project, &issue, variant).await?);
        }
    }
    let measured = options.variants.iter().zip(asked);
    report.variants =
        measured.map(|(variant, asked)| Measured::of(variant, asked, options.details)).collect();
    Ok(report)
}

async fn indexed(lab: &Lab, options: &Options, issue: &Issue) -> Result<Option<(Project, u64)>, Fault> {
    let wanted = Wanted { name: &issue.id, repository: &issue.repository, commit: &issue.commit, root: None };
    let Some(files) = checkouts::copy(&options.corpus, &wanted, &lab.copies())? else { return Ok(None) };
    let id = lab.project_id("issue", &issue.id).await?;
    let report = lab.index(&id, &files).await?;
    Ok(Some((lab.project(&id).await?, report.chunks)))
}

async fn ask(lab: &Lab, project: &Project, issue: &Issue, variant: &Variant) -> Result<Asked, Fault> {
    // What is longer than a question may be is cut, as its asker would have to.
    let query = issue.query.chars().take(lab.app.config.search.query_chars_max).collect();
    let request = SearchRequest { query, top: TOP, ..SearchRequest::default() };
    let answer = lab.ask(project, &request, variant).await?;
    let files = by_file(&answers::found(&answer));
    let targets = issue.targets();
    let ranks = ranks(&targets, &files);
    Ok(Asked {
        id: issue.id.clone(),
        targets: targets.into_iter().map(|target| target.path).zip(ranks).collect(),
        files: files.into_iter().take(10).map(|file| file.path).collect(),
        ms: answer.took.total_ms,
    })
}

impl Measured {
    fn of(variant: &Variant, mut asked: Vec<Asked>, details: bool) -> Self {
        let acc = |k: usize| {
            let met = |asked: &Asked| {
                let ranks: Vec<_> = asked.targets.iter().map(|(_, rank)| *rank).collect();
                f64::from(u8::from(all_within(&ranks, k)))
            };
            rounded(mean(asked.iter().map(met))) * 100.0
        };
        let (acc1, acc5, acc10) = (acc(1), acc(5), acc(10));
        let mut times: Vec<f64> = asked.iter().map(|asked| asked.ms).collect();
        times.sort_by(f64::total_cmp);
        let p50_ms = times.get(times.len() / 2).copied().unwrap_or(0.0);
        if !details {
            asked.clear();
        }
        Self { variant: variant.name.clone(), acc1, acc5, acc10, p50_ms, issues: asked }
    }
}
