//! Runs workers: reads the facts that they need about the site, the repository and its index, and calls them on a thread that may block.

use std::sync::Arc;

use contract::{ErrorCode, Fault};
use engine::indexing::parser::Parsing;
use launch::evidence::Questions;
use launch::snippet::ParsedSnippet;
use launch::validate;
use launch::worker::{
    WorkItem, Worker, WorkerError, WorkerInput, WorkerOutput, facts, fix, link, pages_to_parse, plan, scout,
    snippets, write,
};
use store::RepositoryRow;
use tokio_util::sync::CancellationToken;

use super::answer::Stop;
use super::evidence::read_version;
use super::item::ItemInputs;
use super::page_secrets::PageSecrets;
use super::pinned::PinnedIndex;
use super::run_job::RunJob;
use super::site::{RunSite, TreeFiles};
use super::snippets::parse_site;
use gate::app::{App, blocking};

/// Workers, each with a name of its own.
pub type WorkerTable = &'static [&'static Worker];

/// The workers of this program.
pub static WORKERS: WorkerTable = &[
    &scout::WORKER,
    &facts::WORKER,
    &snippets::WORKER,
    &plan::WORKER,
    &write::WORKER,
    &link::WORKER,
    &validate::WORKER,
    &fix::WORKER,
];

/// The worker with this name: of those that a test gave the application, else of [`WORKERS`].
pub(super) fn find_worker(app: &App, name: &str) -> Option<&'static Worker> {
    let workers = app.state::<WorkerTable>().map_or(WORKERS, |workers| *workers);
    workers.iter().copied().find(|worker| worker.name == name)
}

/// Maximum number of changed paths that are listed: more than the largest budget allows, because each fix may add as many.
const CHANGED_MAX: usize = 20_000;

/// Content of the site that was read before the worker runs.
#[derive(Default)]
pub(super) struct ReadSite {
    /// Paths of the files that the run changed.
    pub(super) changed: Vec<String>,
    /// The code blocks that the worker wants.
    pub(super) snippets: Vec<ParsedSnippet>,
}

/// The files of a site, as the worker sees it and at the pinned commit.
struct SiteTrees {
    site: TreeFiles,
    base: TreeFiles,
}

impl SiteTrees {
    fn open(site: &RunSite, inputs: &ItemInputs) -> Result<Self, Fault> {
        Ok(Self {
            site: site.files(&inputs.site_sha, inputs.site_tree.as_deref())?,
            base: site.files(&inputs.site_sha, None)?,
        })
    }
}

/// The site with what was read of it.
pub(super) struct OpenSite {
    trees: SiteTrees,
    read: ReadSite,
}

impl OpenSite {
    /// The item over what was read.
    pub(super) fn item<'a>(&'a self, inputs: &'a ItemInputs) -> WorkItem<'a> {
        inputs.item(&self.trees.site, &self.trees.base, &self.read)
    }

    /// The files of the site as the worker sees it.
    pub(super) fn site(&self) -> &TreeFiles {
        &self.trees.site
    }
}

/// Runs the worker of an item over an index, without the content of the files in which that differs from the commit of the run. The inner
/// error is the worker's; `None` if the index has changed since it was looked at.
pub(super) async fn run(
    job: &RunJob<'_>,
    inputs: ItemInputs,
    site: RunSite,
    repository: &RepositoryRow,
    index: &PinnedIndex,
) -> Result<Option<Result<WorkerOutput, WorkerError>>, Stop> {
    let inputs = Arc::new(inputs);
    let cancel = job.running.cancel.clone();
    let (read, questions) = {
        let (inputs, parsing) = (Arc::clone(&inputs), job.app.parsing.clone());
        blocking(move || prepare(&site, &inputs, &parsing, &cancel)).await.map_err(stop)?
    };
    job.require_running()?;
    let questions = questions.without_content_of((*index.differing).clone());
    let (version, cancel) = (&index.version, &job.running.cancel);
    let facts = read_version(job.store, job.project, repository, version, questions, cancel).await?;
    job.require_running()?;
    let Some(facts) = facts else { return Ok(None) };
    let (read, observed) = job.observe(&inputs, read).await?;
    let work = move || {
        let item = read.item(&inputs);
        let input = WorkerInput { item, evidence: &facts, secrets: &PageSecrets, observed: &observed };
        Ok(inputs.run(&input))
    };
    blocking(work).await.map(Some).map_err(stop)
}

/// Reads the parts of the site that the worker needs, and collects its questions about the repository. Blocks.
fn prepare(
    site: &RunSite,
    inputs: &ItemInputs,
    parsing: &Parsing,
    cancel: &CancellationToken,
) -> Result<(OpenSite, Questions), Fault> {
    let changed = match &inputs.site_tree {
        Some(tree) => site.changed(&inputs.site_sha, tree, CHANGED_MAX)?,
        None => Vec::new(),
    };
    let mut read =
        OpenSite { trees: SiteTrees::open(site, inputs)?, read: ReadSite { changed, snippets: Vec::new() } };
    if inputs.worker.parses {
        let pages = pages_to_parse(inputs.worker, &read.item(inputs));
        read.read.snippets = parse_site(parsing, &pages, cancel)?;
    }
    let questions = (inputs.worker.asks)(&read.item(inputs));
    Ok((read, questions))
}

/// An unusable site is an answer; everything else makes the job fail.
fn stop(fault: Fault) -> Stop {
    match fault.code {
        ErrorCode::IllegalState | ErrorCode::CommitServiceError => Stop::Answer(fault),
        _ => Stop::from(fault),
    }
}
