//! The job that advances a run: it takes the run over from an earlier worker, and goes on until people decide.

use std::collections::BTreeMap;
use std::sync::Arc;

use contract::config::LaunchSite;
use contract::{ErrorCode, Fault, ProjectId};
use engine::jobs::RunningJob;
use futures::future::BoxFuture;
use launch::engine::{Next, Situation};
use launch::event::{EventBody, Failure, ItemRef};
use launch::ids::Trace;
use launch::legality::Legality;
use launch::report::ValidationReport;
use launch::sections::{planned_pages, sections_of};
use launch::site_profiles::find_site;
use launch::snapshot::{RunSnapshot, VALIDATION_REPORT};
use launch::state::{RunState, Step};
use launch::worker::{NewArtifact, PAGE_PLAN};
use platform::{failpoints, sha256};
use serde_json::{Value, json};
use store::launch::{ArtifactContent, artifacts};
use store::{Access, Project, ProjectTx, RepositoryRow, Store};

use super::action::{Action, AdvanceUntil, JobRequest};
use super::answer::{JobAnswer, Stop, damage, damage_of, damaged, fault_of};
use super::index_version::Differing;
use super::input_readiness::Inputs;
use super::journal::{Batch, Journal, JournalContext, Writer, run_cancelled, run_not_found};
use super::repository::row_of_run;
use super::status::all_events;
use gate::app::App;
use gate::app::job_kind::{JobKind, as_own_task};

/// The kind of jobs that advance runs.
pub static KIND: JobKind = JobKind {
    name: "launch",
    lane: |run_id| format!("launch:{run_id}"),
    parallel: |config| if config.launch.enabled { config.launch.running_max } else { 0 },
    execute: Some(execute),
};

/// The reason why an item is done again.
const INTERRUPTED: &str = "The process that worked on it ended before it was finished.";

/// A job with everything that it works with.
pub(super) struct RunJob<'a> {
    pub(super) app: &'a Arc<App>,
    pub(super) store: &'a Store,
    pub(super) project: &'a Project,
    pub(super) running: &'a RunningJob,
    pub(super) journal: Journal<'a>,
    /// The files that are known to differ from the commit of the run.
    pub(super) differing: Option<Differing>,
}

/// Runs a claimed job.
pub(super) fn execute(app: Arc<App>, running: RunningJob) -> BoxFuture<'static, Result<Value, Fault>> {
    as_own_task(run_job(app, running))
}

async fn run_job(app: Arc<App>, running: RunningJob) -> Result<Value, Fault> {
    let request: JobRequest = serde_json::from_value(running.job.request.clone())
        .map_err(|error| Fault::internal("The job's request could not be read.", error))?;
    let id = ProjectId::parse(&running.job.project_id)?;
    let progress = running.progress.clone();
    let store = &app.store().await?.with_on_activity(move || progress.touch());
    let project = tenancy::require(store, &id).await?;
    let context = JournalContext {
        store,
        project: &project,
        clock: &*app.clock,
        writer: Writer::Job(running.fence),
        trace: Trace { trace_id: request.trace_id.clone(), parent_span_id: request.parent_span_id.clone() },
    };
    let answer = match Journal::open(context, &running.job.subject).await? {
        None => JobAnswer::refused(RunState::Failed, &run_not_found()),
        Some(journal) => {
            let running = &running;
            let mut job = RunJob { app: &app, store, project: &project, running, journal, differing: None };
            let outcome = job.run_or_fail(&request).await;
            let state = job.journal.snapshot().state;
            match outcome {
                Ok(answer) => answer,
                Err(Stop::Answer(fault)) => JobAnswer::refused(state, &fault),
                Err(Stop::Fault(fault)) => return Err(fault),
            }
        }
    };
    if let Some(why) = answer.refusal() {
        tracing::info!(run_id = running.job.subject, state = %answer.state, "a launch run did not go on: {why}");
    }
    serde_json::to_value(answer)
        .map_err(|error| Fault::internal("The answer of the job could not be written.", error))
}

impl<'a> RunJob<'a> {
    /// Runs the job. A run whose stored state contradicts its log fails.
    async fn run_or_fail(&mut self, request: &JobRequest) -> Result<JobAnswer, Stop> {
        match self.run(request).await {
            Err(Stop::Fault(fault)) => match damage_of(&fault) {
                Some(failure) if !self.snapshot().state.is_terminal() => Err(self.fail(failure).await?),
                Some(failure) => Err(Stop::Answer(fault_of(&failure))),
                None => Err(Stop::Fault(fault)),
            },
            outcome => outcome,
        }
    }

    async fn run(&mut self, request: &JobRequest) -> Result<JobAnswer, Stop> {
        if self.snapshot().state.is_terminal() {
            return self.answer_of_ended(request.action).await;
        }
        self.take_over().await?;
        // An earlier attempt at this job may have begun the fix.
        let has_begun = request.action == Action::Fix && self.own_fix().await?.is_some();
        if !has_begun {
            self.require_legal(request.action)?;
        }
        match request.action {
            Action::Advance => self.advance(request.until).await,
            Action::Validate => self.validate().await,
            Action::Fix => self.fix_one(has_begun).await,
            Action::Publish => self.publish(request.principal.as_deref()).await,
        }
    }

    pub(super) fn snapshot(&self) -> &RunSnapshot {
        self.journal.snapshot()
    }

    /// The answer for a run that has ended: it changes nothing.
    async fn answer_of_ended(&mut self, action: Action) -> Result<JobAnswer, Stop> {
        self.require_legal(action)?;
        match action {
            Action::Validate => self.check_again().await,
            Action::Advance | Action::Fix | Action::Publish => Ok(JobAnswer::new(self.snapshot().state)),
        }
    }

    /// Makes this job the only one that writes, checks the log, and drops unfinished items.
    async fn take_over(&mut self) -> Result<(), Stop> {
        if let Err(problem) = self.journal.verify().await? {
            return Err(self.fail(damage(&problem)).await?);
        }
        self.journal
            .append(|snapshot| {
                let mut batch = Batch::default();
                let dropped = snapshot.unfinished();
                for item in &dropped {
                    let error = Failure::new("INTERRUPTED", INTERRUPTED);
                    batch.event(EventBody::WorkItemFailed { item: item.clone(), error });
                }
                if !dropped.is_empty() {
                    let (state, boundary) = (snapshot.state, snapshot.state.boundary());
                    batch.event(EventBody::ResumeRewind { state, boundary, dropped });
                }
                Ok(batch)
            })
            .await?;
        failpoints::reach("launch.claimed");
        Ok(())
    }

    /// Refuses an action that the state does not allow: it may have changed since the call looked.
    fn require_legal(&self, action: Action) -> Result<(), Stop> {
        let snapshot = self.snapshot();
        if action == Action::Advance {
            return Ok(());
        }
        match action.tool().in_state(snapshot.state, snapshot.report_ok) {
            Legality::Runs | Legality::Repeats => Ok(()),
            Legality::Cancelled => Err(Stop::Answer(run_cancelled())),
            Legality::Refused(required) => Err(Stop::Answer(illegal(snapshot, required, false))),
        }
    }

    /// Goes on until the boundary that was asked for, or until there is nothing to do.
    async fn advance(&mut self, until: AdvanceUntil) -> Result<JobAnswer, Stop> {
        loop {
            self.require_running()?;
            let before = self.snapshot().state;
            match self.next().await? {
                Next::Inputs => match self.await_inputs().await? {
                    Inputs::Ready => {}
                    Inputs::Pending => return Ok(JobAnswer::new(before)),
                    Inputs::Failed(failure) => {
                        self.fail(failure).await?;
                    }
                },
                Next::Item { worker, scope_key } => self.do_item(worker, &scope_key).await?,
                Next::Step(step) => self.take_step(step).await?,
                Next::Fix => self.begin_fix().await?,
                Next::Judge => self.end_fix().await?,
                Next::Pack => self.pack().await?,
                Next::Park => return Ok(JobAnswer::new(before)),
            }
            let state = self.snapshot().state;
            let is_boundary = state.is_stable() && state != before;
            if until == AdvanceUntil::Boundary && is_boundary {
                return Ok(JobAnswer::new(state));
            }
        }
    }

    /// Validates the current site, and returns the resulting state of the run.
    async fn validate(&mut self) -> Result<JobAnswer, Stop> {
        if self.snapshot().state == RunState::PrOpened {
            return self.check_again().await;
        }
        if !self.is_validated().await? {
            self.do_validation().await?;
        }
        let snapshot = self.snapshot();
        let step = match (snapshot.state, snapshot.report_ok) {
            (RunState::Linking, _) => Some(Step::Validate),
            (RunState::ReadyForPr, Some(false)) => Some(Step::RejectReport),
            _ => None,
        };
        if let Some(step) = step {
            self.take_step(step).await?;
        }
        if self.snapshot().state == RunState::Validating && self.snapshot().report_ok == Some(true) {
            self.take_step(Step::AcceptReport).await?;
        }
        Ok(JobAnswer::new(self.snapshot().state))
    }

    /// Changes the state.
    pub(super) async fn take_step(&mut self, step: Step) -> Result<(), Stop> {
        self.journal
            .append(|snapshot| {
                let mut batch = Batch::default();
                batch.step(snapshot.state, step)?;
                Ok(batch)
            })
            .await?;
        Ok(())
    }

    /// Ends the run with a failure. Returns the answer to the call.
    pub(super) async fn fail(&mut self, failure: Failure) -> Result<Stop, Fault> {
        let fault = fault_of(&failure);
        self.journal
            .append(|snapshot| {
                let mut batch = Batch::default();
                add_failure(&mut batch, snapshot, failure)?;
                Ok(batch)
            })
            .await?;
        Ok(Stop::Answer(fault))
    }

    /// Stops if the job has to: because the process shuts down, the lease is lost, or the run was cancelled.
    pub(super) fn require_running(&self) -> Result<(), Stop> {
        self.running.progress.touch();
        if self.running.cancel.is_cancelled() {
            return Err(Stop::Fault(Fault::new(ErrorCode::Cancelled, "The launch run was stopped.")));
        }
        Ok(())
    }

    pub(super) async fn next(&mut self) -> Result<Next, Stop> {
        // Each artifact is read only in the state in which it decides anything.
        let state = self.snapshot().state;
        let report = if state == RunState::Validating { self.report(None).await? } else { None };
        let plan = if state == RunState::Drafting { self.artifact(PAGE_PLAN, None).await? } else { None };
        let sections = sections_of(&planned_pages(&plan.unwrap_or_default()));
        let repository = self.repository().await?;
        let done = self.done_items();
        let is_done =
            |worker: &str, scope: &str| done.iter().any(|(known, of)| known == worker && of == scope);
        let inputs_ready = repository.as_ref().is_some_and(|row| self.is_ready(row));
        Ok(launch::engine::next(
            self.snapshot(),
            &Situation {
                config: self.journal.config(),
                inputs_ready,
                sections: &sections,
                report: report.as_ref(),
                auto_fix: self.app.config.launch.auto_fix,
                is_done: &is_done,
            },
        ))
    }

    /// The repository of the run, if the project still has it.
    pub(super) async fn repository(&self) -> Result<Option<RepositoryRow>, Fault> {
        let mut tx = ProjectTx::begin(self.store, self.project, Access::Search).await?;
        let address = &self.journal.config().github_repo_url;
        let row = row_of_run(&mut tx, self.snapshot().created.repository_id, address).await?;
        tx.commit().await?;
        Ok(row)
    }

    /// The site of the run.
    pub(super) fn site(&self) -> Result<&'a LaunchSite, Stop> {
        let profile = &self.snapshot().created.site_profile;
        find_site(&self.app.config.launch.sites, self.project.id(), profile).map_err(Stop::Answer)
    }

    /// The bytes of an artifact, of the latest version without a number. They are those that the log has the hash of.
    pub(super) async fn artifact(&self, name: &str, version: Option<u32>) -> Result<Option<Vec<u8>>, Fault> {
        let mut tx = ProjectTx::begin(self.store, self.project, Access::Search).await?;
        let number = version.map(|version| i32::try_from(version).unwrap_or(i32::MAX));
        let part = artifacts::part(&mut tx, self.journal.run_id(), name, number, (0, i32::MAX - 1)).await?;
        tx.commit().await?;
        let Some(part) = part else { return Ok(None) };
        let logged = self.logged_sha256(name, version).await?;
        if logged.as_deref() != Some(&*sha256::digest_hex(&part.content)) {
            return Err(damaged(&format!("the artifact `{name}` was changed")));
        }
        Ok(Some(part.content))
    }

    /// The bytes of the latest versions of these artifacts, as far as there are any. They are those that the log has the hashes of.
    pub(super) async fn artifacts(&self, names: &[String]) -> Result<BTreeMap<String, Vec<u8>>, Fault> {
        if names.is_empty() {
            return Ok(BTreeMap::new());
        }
        let mut tx = ProjectTx::begin(self.store, self.project, Access::Search).await?;
        let found = artifacts::contents(&mut tx, self.journal.run_id(), names).await?;
        tx.commit().await?;
        let mut read = BTreeMap::new();
        for ArtifactContent { row, content } in found {
            let logged = self.snapshot().artifacts.get(&row.name).map(|logged| logged.sha256.as_str());
            if logged != Some(&*sha256::digest_hex(&content)) {
                return Err(damaged(&format!("the artifact `{}` was changed", row.name)));
            }
            read.insert(row.name, content);
        }
        Ok(read)
    }

    /// The hash of a version of an artifact, as the log has it.
    async fn logged_sha256(&self, name: &str, version: Option<u32>) -> Result<Option<String>, Fault> {
        let latest = self.snapshot().artifacts.get(name);
        if version.is_none() || version == latest.map(|latest| latest.version) {
            return Ok(latest.map(|latest| latest.sha256.clone()));
        }
        let events = all_events(self.store, self.project, self.journal.run_id()).await?;
        let hash = events.iter().find_map(|event| match event.body() {
            Ok(EventBody::ArtifactWritten(written))
                if written.name == name && Some(written.version) == version =>
            {
                Some(written.sha256)
            }
            _ => None,
        });
        Ok(hash)
    }

    /// A report, the latest without a version.
    pub(super) async fn report(&self, version: Option<u32>) -> Result<Option<ValidationReport>, Fault> {
        let bytes = self.artifact(VALIDATION_REPORT, version).await?;
        let read = |bytes: Vec<u8>| {
            serde_json::from_slice(&bytes)
                .map_err(|error| Fault::internal("A validation report could not be read.", error))
        };
        bytes.map(read).transpose()
    }

    pub(super) async fn require_report(&self, version: Option<u32>) -> Result<ValidationReport, Fault> {
        self.report(version)
            .await?
            .ok_or_else(|| Fault::internal("A launch run has no validation report.", VALIDATION_REPORT))
    }
}

/// The fault of a tool that is not legal in the state of a run.
pub(super) fn illegal(snapshot: &RunSnapshot, required: &str, is_advancing: bool) -> Fault {
    let state = snapshot.state;
    let next = launch::legality::legal_tools(state, snapshot.report_ok, is_advancing);
    let hint = match is_advancing {
        true => "The run is going on; call again when `launch_get_status` shows the required state.",
        false => "`next` lists the tools that are legal now.",
    };
    let fault = Fault::new(
        ErrorCode::IllegalState,
        format!("The run is in the state {state}; this needs {required}."),
    );
    let fault = fault.with_hint(hint).with_details(json!({
        "current_state": state,
        "required": required,
        "last_report_ok": snapshot.report_ok,
        "next": next,
    }));
    Fault { retryable: is_advancing, ..fault }
}

/// Adds the failure of a run, and its text for people.
pub(super) fn add_failure(batch: &mut Batch, snapshot: &RunSnapshot, failure: Failure) -> Result<(), Fault> {
    let summary = failure_summary(&failure, snapshot);
    batch.artifact(NewArtifact::markdown("reports/failure_summary.md", summary), "engine");
    batch.step(snapshot.state, Step::Fail)?.event(EventBody::RunFailed { failure });
    Ok(())
}

/// Returns the text that people read about a failed run.
fn failure_summary(failure: &Failure, snapshot: &RunSnapshot) -> String {
    let mut text = format!(
        "# The run failed\n\n- State: {}\n- Code: `{}`\n- {}\n",
        snapshot.state, failure.code, failure.message
    );
    let open = snapshot.open_issues();
    if !open.is_empty() {
        text.push_str("\n## Open issues\n\n");
        for issue in open.iter().take(ISSUES_LISTED_MAX) {
            let place = issue.path.as_deref().map(|path| format!(" in `{path}`")).unwrap_or_default();
            text.push_str(&format!(
                "- {} `{}`{place}: {}\n",
                issue.severity.as_str(),
                issue.issue_id,
                issue.title
            ));
        }
    }
    text
}

/// Issues that the summary of a failure lists.
const ISSUES_LISTED_MAX: usize = 50;

/// The number of the next attempt at an item.
pub(super) fn next_attempt(snapshot: &RunSnapshot, worker: &str, scope_key: &str) -> ItemRef {
    let last = snapshot.latest(worker, scope_key).map_or(0, |(item, _)| item.attempt);
    ItemRef { worker: worker.to_owned(), scope_key: scope_key.to_owned(), attempt: last.saturating_add(1) }
}
