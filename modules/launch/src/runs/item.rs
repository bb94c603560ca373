//! Does one work item: records that it began, runs its worker, and stores what the worker made in one transaction.

use std::collections::BTreeMap;

use contract::{ErrorCode, Fault};
use launch::allowed_paths::AllowedPaths;
use launch::config::RunConfig;
use launch::event::{ArtifactRef, EventBody, Failure, ItemRef};
use launch::issue::{Issue, IssueStatus};
use launch::report::ValidationReport;
use launch::site::SiteFiles;
use launch::snapshot::{RunSnapshot, VALIDATION_REPORT};
use launch::state::RunState;
use launch::worker::{
    LINK, NewArtifact, SiteView, VALIDATE, WorkItem, Worker, WorkerError, WorkerInput, WorkerOutput,
    is_artifact_name,
};
use store::RepositoryRow;

use super::answer::{JobAnswer, Stop, fault_of};
use super::item_inputs::{Unchanged, inputs_hash, was_finished_with};
use super::journal::{Batch, reference};
use super::pinned::{PinnedIndex, changed_meanwhile, with_pin};
use super::run_job::{RunJob, add_failure, next_attempt};
use super::run_metrics;
use super::site::RunSite;
use super::workers::{self, ReadSite, find_worker};
use gate::app::blocking;

/// Issues that a stored report has.
const REPORTED_MAX: usize = 2000;
/// Issues that are tracked of a report.
const TRACKED_MAX: usize = 1000;

/// The output of a worker, and the resulting site.
struct Made {
    output: WorkerOutput,
    /// The tree of the patched site, and the changed paths.
    patched: Option<(String, Vec<String>)>,
}

impl RunJob<'_> {
    /// Items that were finished with the inputs that they have now, as worker and scope. An index that moved does not make them due again.
    pub(super) fn done_items(&self) -> Vec<(String, String)> {
        let keys = self.snapshot().items.keys().map(|item| (item.worker.clone(), item.scope_key.clone()));
        let is_done = |(worker, scope_key): &(String, String)| {
            let worker = find_worker(self.app, worker);
            worker.is_some_and(|worker| self.is_done(worker, scope_key, None, Unchanged::Pinned))
        };
        keys.filter(is_done).collect()
    }

    /// Returns `true` if the current pages were validated with the current index. Returns `false` if a validation also runs commands or
    /// asks hosts, whose results may differ each time.
    pub(super) async fn is_validated(&self) -> Result<bool, Stop> {
        if self.looks_outside() {
            return Ok(false);
        }
        let (worker, repository) = (self.worker(VALIDATE)?, self.repository().await?);
        Ok(self.is_done(worker, "", repository.as_ref(), Unchanged::PinnedAndIndex))
    }

    fn is_done(
        &self,
        worker: &Worker,
        scope_key: &str,
        repository: Option<&RepositoryRow>,
        unchanged: Unchanged,
    ) -> bool {
        let hash = inputs_hash(worker, scope_key, self.snapshot(), self.project, repository);
        was_finished_with(self.snapshot(), worker, scope_key, &hash, unchanged)
    }

    fn worker(&self, name: &str) -> Result<&'static Worker, Stop> {
        find_worker(self.app, name).ok_or_else(|| {
            let message = format!("This program has no worker `{name}` for launch runs.");
            let fault = Fault::new(ErrorCode::CapabilityMissing, message);
            Stop::Answer(fault.with_hint("Upgrade this installation."))
        })
    }

    /// Does an item, if the index is of the commit of the run. If its worker fails, so does the run.
    pub(super) async fn do_item(&mut self, name: &str, scope_key: &str) -> Result<(), Stop> {
        let worker = self.worker(name)?;
        let Some(repository) = self.repository().await? else { return Ok(()) };
        let index = self.pinned_index(&repository).await?;
        if index.is_pinned {
            // In both cases, done or overtaken by another index, the snapshot decides the next step.
            self.do_item_over(worker, scope_key, &repository, &index).await?;
        }
        Ok(())
    }

    /// Validates over the current index. An index of another commit makes the report fail.
    pub(super) async fn do_validation(&mut self) -> Result<(), Stop> {
        let worker = self.worker(VALIDATE)?;
        let Some(repository) = self.repository().await? else {
            return Err(Stop::Answer(self.not_pinned(None)));
        };
        let index = self.pinned_index(&repository).await?;
        match self.do_item_over(worker, "", &repository, &index).await? {
            true => Ok(()),
            false => Err(Stop::Answer(changed_meanwhile())),
        }
    }

    /// Does an item over an index. Returns `false` if the index changed meanwhile, since it is then unknown which version was read.
    async fn do_item_over(
        &mut self,
        worker: &'static Worker,
        scope_key: &str,
        repository: &RepositoryRow,
        index: &PinnedIndex,
    ) -> Result<bool, Stop> {
        let item = next_attempt(self.snapshot(), worker.name, scope_key);
        let hash = inputs_hash(worker, scope_key, self.snapshot(), self.project, Some(repository));
        self.journal
            .append(|_| {
                let mut batch = Batch::default();
                batch.event(EventBody::WorkItemQueued(item.clone()));
                batch.event(EventBody::WorkItemStarted { item: item.clone(), inputs_hash: hash });
                Ok(batch)
            })
            .await?;
        let made = match self.make(worker, scope_key, repository, index).await? {
            Some(Ok(made)) => made,
            Some(Err(WorkerError(failure))) => {
                self.fail_item(item, failure).await?;
                self.app.metrics.record_launch_item(worker.name, "failed");
                return Ok(true);
            }
            None => {
                self.drop_item(item).await?;
                self.app.metrics.record_launch_item(worker.name, "dropped");
                return Ok(false);
            }
        };
        self.require_running()?;
        let failed_gates = run_metrics::failed_gates(made.output.report.as_ref());
        let outcome = Outcome::new(item, made, self.snapshot());
        self.journal.append(|snapshot| Ok(outcome.into_batch(snapshot))).await?;
        run_metrics::record_finished(&self.app.metrics, worker.name, failed_gates);
        Ok(true)
    }

    /// Runs a worker and checks what it made; `None` if the index changed while the worker read it.
    async fn make(
        &self,
        worker: &'static Worker,
        scope_key: &str,
        repository: &RepositoryRow,
        index: &PinnedIndex,
    ) -> Result<Option<Result<Made, WorkerError>>, Stop> {
        let site = RunSite::new(self.app, self.site()?);
        let artifacts = self.artifacts_of(worker).await?;
        let inputs = ItemInputs {
            worker,
            scope_key: scope_key.to_owned(),
            config: self.journal.config().clone(),
            repo_sha: self.snapshot().created.repo_sha.clone(),
            site_sha: self.snapshot().created.site_sha.clone(),
            site_tree: self.snapshot().site_tree.clone().filter(|_| worker.site == SiteView::Patched),
            artifacts,
        };
        let mut output = match workers::run(self, inputs.clone(), site.clone(), repository, index).await? {
            Some(Ok(output)) => output,
            Some(Err(error)) => return Ok(Some(Err(error))),
            None => return Ok(None),
        };
        self.require_running()?;
        output.report = output.report.map(|report| {
            let is_published = self.snapshot().state.has_reached(RunState::PrOpened);
            let mut report = with_pin(report, index, &inputs.repo_sha, is_published);
            // The worst come first; all of them decided whether the report is ok.
            report.issues.truncate(REPORTED_MAX);
            report
        });
        if let Err(error) = check_output(&output, &inputs.config, self.app.config.launch.artifact_bytes_max) {
            return Ok(Some(Err(error)));
        }
        let patched = self.apply_changes(&site, &inputs, &output).await?;
        Ok(Some(patched.map(|patched| Made { output, patched })))
    }

    /// Writes the changed files into the site's repository, as objects that no branch has. After linking, a run has a tree of its own
    /// even if nothing changed.
    async fn apply_changes(
        &self,
        site: &RunSite,
        inputs: &ItemInputs,
        output: &WorkerOutput,
    ) -> Result<Result<Option<(String, Vec<String>)>, WorkerError>, Stop> {
        if output.changes.is_empty() && inputs.worker.name != LINK {
            return Ok(Ok(None));
        }
        let allowed_paths = match AllowedPaths::new(&inputs.config.allowed_paths) {
            Ok(allowed_paths) => allowed_paths,
            Err((path, problem)) => {
                let message = format!("The allowed path `{path}` {problem}.");
                return Ok(Err(WorkerError::new("ALLOWED_PATHS_VIOLATION", message)));
            }
        };
        let (site, changes) = (site.clone(), output.changes.clone());
        let (commit, tree) = (inputs.site_sha.clone(), inputs.site_tree.clone());
        let applied =
            blocking(move || site.apply((&commit, tree.as_deref()), &changes, &allowed_paths)).await;
        match applied {
            Ok(patched) => Ok(Ok(Some(patched))),
            Err(fault) if fault.code == ErrorCode::AllowedPathsViolation => Ok(Err(WorkerError(Failure {
                details: fault.details,
                ..Failure::new(fault.code.as_str(), fault.message)
            }))),
            Err(fault) if fault.code == ErrorCode::Internal => Err(Stop::Fault(fault)),
            Err(fault) => Err(Stop::Answer(fault)),
        }
    }

    /// The artifacts that a worker reads.
    async fn artifacts_of(&self, worker: &Worker) -> Result<BTreeMap<String, Vec<u8>>, Fault> {
        let names: Vec<String> =
            self.snapshot().artifacts.keys().filter(|name| worker.reads(name)).cloned().collect();
        self.artifacts(&names).await
    }

    /// Records that a worker failed; the run fails with it.
    async fn fail_item(&mut self, item: ItemRef, failure: Failure) -> Result<(), Stop> {
        self.journal
            .append(|snapshot| {
                let mut batch = Batch::default();
                batch.event(EventBody::WorkItemFailed { item, error: failure.clone() });
                add_failure(&mut batch, snapshot, failure)?;
                Ok(batch)
            })
            .await?;
        Ok(())
    }

    /// Records that an item was not finished, because the index changed: it is due again.
    async fn drop_item(&mut self, item: ItemRef) -> Result<(), Stop> {
        let error = Failure::new("INTERRUPTED", "The index changed while the worker read it.");
        self.journal
            .append(|_| {
                let mut batch = Batch::default();
                batch.event(EventBody::WorkItemFailed { item, error });
                Ok(batch)
            })
            .await?;
        Ok(())
    }

    /// Validates a run that has ended or is published, and stores nothing. The index may be of a later commit: the question is then whether
    /// the pages still hold, and the report names the commit.
    pub(super) async fn check_again(&mut self) -> Result<JobAnswer, Stop> {
        let worker = self.worker(VALIDATE)?;
        let Some(repository) = self.repository().await? else {
            return Err(Stop::Answer(self.not_pinned(None)));
        };
        let index = self.pinned_index(&repository).await?;
        let report = match self.make(worker, "", &repository, &index).await? {
            Some(Ok(Made { output: WorkerOutput { report: Some(report), .. }, .. })) => report,
            Some(Ok(_)) => {
                return Err(Stop::Fault(Fault::internal("A validation has no report.", "report is empty")));
            }
            Some(Err(WorkerError(failure))) => return Err(Stop::Answer(fault_of(&failure))),
            None => return Err(Stop::Answer(changed_meanwhile())),
        };
        Ok(JobAnswer { report: Some(report), ..JobAnswer::new(self.snapshot().state) })
    }
}

/// The inputs of a worker, owned, so that it can run on another thread.
#[derive(Clone)]
pub(super) struct ItemInputs {
    pub(super) worker: &'static Worker,
    pub(super) scope_key: String,
    pub(super) config: RunConfig,
    pub(super) repo_sha: String,
    pub(super) site_sha: String,
    pub(super) site_tree: Option<String>,
    pub(super) artifacts: BTreeMap<String, Vec<u8>>,
}

impl ItemInputs {
    /// The item over these files of the site, and of the site at the pinned commit.
    pub(super) fn item<'a>(
        &'a self,
        site: &'a dyn SiteFiles,
        base: &'a dyn SiteFiles,
        read: &'a ReadSite,
    ) -> WorkItem<'a> {
        WorkItem {
            config: &self.config,
            scope_key: &self.scope_key,
            repo_sha: &self.repo_sha,
            site_sha: &self.site_sha,
            artifacts: &self.artifacts,
            site,
            base,
            changed: &read.changed,
            snippets: &read.snippets,
        }
    }

    /// Runs the worker. Blocks.
    pub(super) fn run(&self, input: &WorkerInput<'_>) -> Result<WorkerOutput, WorkerError> {
        (self.worker.run)(input)
    }
}

/// Refuses what a worker must not make.
fn check_output(output: &WorkerOutput, config: &RunConfig, bytes_max: usize) -> Result<(), WorkerError> {
    for artifact in &output.artifacts {
        if !is_artifact_name(&artifact.name) {
            return Err(WorkerError::new(
                "INTERNAL",
                "A worker named an artifact with characters that names do not have.",
            ));
        }
        if artifact.bytes.len() > bytes_max {
            let message = format!("The artifact `{}` has more than {bytes_max} bytes.", artifact.name);
            return Err(WorkerError::new("ARTIFACT_TOO_LARGE", message));
        }
    }
    let most = usize::try_from(config.budgets.max_files_changed).unwrap_or(usize::MAX);
    if output.changes.len() > most {
        let message = format!("The run would change {} files; its budget is {most}.", output.changes.len());
        return Err(WorkerError::new("BUDGET_EXCEEDED", message));
    }
    Ok(())
}

/// The stored outcome of a finished item.
struct Outcome {
    item: ItemRef,
    artifacts: Vec<NewArtifact>,
    patch_ids: Vec<String>,
    patched: Option<(String, Vec<String>)>,
    report: Option<ValidationReport>,
}

impl Outcome {
    fn new(item: ItemRef, made: Made, snapshot: &RunSnapshot) -> Self {
        let Made { output, patched } = made;
        let WorkerOutput { mut artifacts, patch_ids, report, .. } = output;
        if let Some(report) = &report {
            artifacts.push(NewArtifact::json(VALIDATION_REPORT, "validation_report", report.to_json()));
        }
        let patched = patched.filter(|(tree, _)| snapshot.site_tree.as_ref() != Some(tree));
        Self { item, artifacts, patch_ids, patched, report }
    }

    fn into_batch(self, snapshot: &RunSnapshot) -> Batch {
        let Self { item, artifacts, patch_ids, patched, report } = self;
        let mut batch = Batch::default();
        let outputs: Vec<ArtifactRef> = artifacts.iter().map(reference).collect();
        for artifact in artifacts {
            batch.artifact(artifact, &item.worker);
        }
        if let Some((tree, paths)) = patched {
            batch.event(EventBody::PatchApplied { patch_ids, paths, tree });
        }
        if let Some(report) = &report {
            for outcome in &report.gates {
                batch.event(EventBody::GateRunStarted { gate: outcome.gate.clone() });
                batch.event(EventBody::GateRunFinished {
                    gate: outcome.gate.clone(),
                    status: outcome.status,
                    issues: outcome.issues,
                });
            }
            add_issues(&mut batch, report, snapshot);
        }
        let report_ok = report.map(|report| report.ok);
        batch.event(EventBody::WorkItemFinished { item, outputs, report_ok });
        batch
    }
}

/// Adds which issues opened, changed or are gone.
fn add_issues(batch: &mut Batch, report: &ValidationReport, snapshot: &RunSnapshot) {
    let found: BTreeMap<&str, Issue> = report
        .issues
        .iter()
        .filter(|issue| issue.status == IssueStatus::Open)
        .take(TRACKED_MAX)
        .map(|issue| (issue.issue_id.as_str(), storable(issue)))
        .collect();
    for issue in snapshot.open_issues() {
        if !found.contains_key(issue.issue_id.as_str()) {
            batch.event(EventBody::IssueResolved { issue_id: issue.issue_id.clone() });
        }
    }
    for (id, issue) in found {
        if snapshot.issues.get(id).is_none_or(|known| known.issue != issue) {
            batch.event(EventBody::IssueOpened(issue));
        }
    }
}

/// The issue without NUL characters, which the database does not store.
fn storable(issue: &Issue) -> Issue {
    let clean = |text: &str| text.replace('\0', "\u{fffd}");
    Issue { message: clean(&issue.message), path: issue.path.as_deref().map(clean), ..issue.clone() }
}
