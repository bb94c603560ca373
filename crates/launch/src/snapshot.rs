//! The state of a run: the fold of its event log. The rows of the database are a copy of it.

use std::collections::BTreeMap;
use std::fmt;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::event::{
    ArtifactRef, ArtifactWritten, Event, EventBody, Failure, InputsPending, ItemRef, PrOpened, RunCreated,
    SiteRebased,
};
use crate::issue::{Issue, IssueStatus};
use crate::state::{RunState, Step, step};

/// Version of the form of `snapshot.json`.
pub const SNAPSHOT_SCHEMA_VERSION: &str = "1.0";

/// Name of the worker that fixes issues.
pub const FIX: &str = "fix";

/// The state of an item.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ItemState {
    /// It is due.
    Queued,
    /// A worker works on it.
    Running,
    /// It is done.
    Finished,
    /// It failed, or was interrupted.
    Failed,
}

impl ItemState {
    /// Its name in the database and in answers.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Queued => "queued",
            Self::Running => "running",
            Self::Finished => "finished",
            Self::Failed => "failed",
        }
    }

    /// The state with this name.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        [Self::Queued, Self::Running, Self::Finished, Self::Failed]
            .into_iter()
            .find(|state| state.as_str() == text)
    }
}

/// One attempt at an item.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Item {
    /// Its state.
    pub state: ItemState,
    /// Hash of everything that the result depends on, hexadecimal; empty until a worker begins.
    pub inputs_hash: String,
    /// The artifacts that it wrote.
    pub outputs: Vec<ArtifactRef>,
    /// The reason why it failed.
    pub error: Option<Failure>,
    /// Time when a worker began, in milliseconds since the epoch.
    pub started_ms: Option<i64>,
    /// Time when it ended.
    pub finished_ms: Option<i64>,
}

/// An issue and the time since when it is open.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct TrackedIssue {
    /// The issue.
    pub issue: Issue,
    /// The event that opened it last.
    pub opened_seq: i32,
    /// The event that resolved it.
    pub closed_seq: Option<i32>,
}

/// A fix in progress.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Fixing {
    /// The issue.
    pub issue_id: String,
    /// Version of the report that it was chosen from.
    pub report_version: u32,
    /// `true` if the fixer changed something; unknown until it ended.
    pub changed: Option<bool>,
}

/// The publication of a run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Publication {
    /// Key of the requests to the forge.
    pub publish_key: String,
    /// The branch.
    pub branch: String,
    /// The pull request, once it is open.
    pub opened: Option<PrOpened>,
}

/// An item of the snapshot: the attempt and its outcome.
pub type ItemRow<'a> = (&'a ItemRef, &'a Item);

/// A run.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct RunSnapshot {
    /// Its id.
    pub run_id: String,
    /// Its parameters; the commit of the site is the one that it continues from.
    pub created: RunCreated,
    /// Its state.
    pub state: RunState,
    /// Number of its last event.
    pub seq: i32,
    /// Time when it was started, in milliseconds since the epoch.
    pub created_ms: i64,
    /// Time when its last event was written.
    pub updated_ms: i64,
    /// Time when it ended.
    pub finished_ms: Option<i64>,
    /// The reason why it waits for its inputs.
    pub pending: Option<InputsPending>,
    /// The tree of the patched site.
    pub site_tree: Option<String>,
    /// The latest version of each artifact, by name.
    pub artifacts: BTreeMap<String, ArtifactWritten>,
    /// All attempts at all items.
    #[serde(serialize_with = "items_as_list")]
    pub items: BTreeMap<ItemRef, Item>,
    /// All issues that were ever open, by id.
    pub issues: BTreeMap<String, TrackedIssue>,
    /// `true` if the last report is ok; unknown without one.
    pub report_ok: Option<bool>,
    /// Number of fixes that were begun, and of plans that were made again.
    pub fix_attempts: u16,
    /// The fix in progress.
    pub fixing: Option<Fixing>,
    /// Its publication, once that is decided.
    pub publication: Option<Publication>,
    /// The reason why it failed.
    pub failure: Option<Failure>,
    /// `true` if its cancellation was requested.
    pub cancel_requested: bool,
}

fn items_as_list<S: serde::Serializer>(
    items: &BTreeMap<ItemRef, Item>,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    let listed = items.iter().map(|(key, item)| {
        let mut value = serde_json::to_value(item).unwrap_or_default();
        value["worker"] = key.worker.as_str().into();
        value["scope_key"] = key.scope_key.as_str().into();
        value["attempt"] = key.attempt.into();
        value
    });
    serializer.collect_seq(listed)
}

/// A log that no run of this program can have.
#[derive(Debug)]
pub struct MalformedLog {
    /// The event.
    pub seq: i32,
    /// The problem with it.
    pub problem: String,
}

impl fmt::Display for MalformedLog {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "event {}: {}", self.seq, self.problem)
    }
}

impl std::error::Error for MalformedLog {}

impl RunSnapshot {
    /// Folds the events of a run, beginning with the first.
    ///
    /// # Errors
    /// [`MalformedLog`] if this program did not write them.
    pub fn fold(events: &[Event]) -> Result<Self, MalformedLog> {
        let malformed = |seq, problem: &str| MalformedLog { seq, problem: problem.to_owned() };
        let (first, rest) = events.split_first().ok_or_else(|| malformed(0, "the log is empty"))?;
        let mut snapshot = Self::begin(first)?;
        for event in rest {
            snapshot.apply(event)?;
        }
        Ok(snapshot)
    }

    /// Returns the run after its first event.
    ///
    /// # Errors
    /// As [`RunSnapshot::fold`].
    pub fn begin(first: &Event) -> Result<Self, MalformedLog> {
        let EventBody::RunCreated(created) = body_of(first)? else {
            return Err(MalformedLog { seq: first.seq, problem: "a run begins with RUN_CREATED".to_owned() });
        };
        Ok(Self {
            run_id: first.run_id.clone(),
            created,
            state: RunState::Created,
            seq: first.seq,
            created_ms: first.ts_ms,
            updated_ms: first.ts_ms,
            finished_ms: None,
            pending: None,
            site_tree: None,
            artifacts: BTreeMap::new(),
            items: BTreeMap::new(),
            issues: BTreeMap::new(),
            report_ok: None,
            fix_attempts: 0,
            fixing: None,
            publication: None,
            failure: None,
            cancel_requested: false,
        })
    }

    /// Adds an event.
    ///
    /// # Errors
    /// As [`RunSnapshot::fold`].
    pub fn apply(&mut self, event: &Event) -> Result<(), MalformedLog> {
        let body = body_of(event)?;
        (self.seq, self.updated_ms) = (event.seq, event.ts_ms);
        match body {
            EventBody::RunCreated(_) => return Err(self.malformed("a run is created once")),
            EventBody::InputsPending(pending) => self.pending = Some(pending),
            EventBody::WorkItemQueued(item) => self.queue(item),
            EventBody::WorkItemStarted { item, inputs_hash } => {
                let known = self.item(&item)?;
                known.state = ItemState::Running;
                known.inputs_hash = inputs_hash;
                known.started_ms = Some(event.ts_ms);
                // Later, an item that begins shows that the run no longer waits; the first state ends with a step.
                if self.state != RunState::Created {
                    self.pending = None;
                }
            }
            EventBody::WorkItemFinished { item, outputs, report_ok } => {
                self.finish(&item, outputs, event.ts_ms)?;
                self.report_ok = report_ok.or(self.report_ok);
            }
            EventBody::WorkItemFailed { item, error } => {
                let known = self.item(&item)?;
                known.state = ItemState::Failed;
                known.error = Some(error);
                known.finished_ms = Some(event.ts_ms);
            }
            EventBody::ArtifactWritten(written) => {
                self.artifacts.insert(written.name.clone(), written);
            }
            EventBody::IssueOpened(issue) => {
                let tracked = TrackedIssue { issue, opened_seq: event.seq, closed_seq: None };
                self.issues.insert(tracked.issue.issue_id.clone(), tracked);
            }
            EventBody::IssueResolved { issue_id } => {
                let Some(tracked) = self.issues.get_mut(&issue_id) else {
                    return Err(self.malformed("an issue is resolved that was never open"));
                };
                tracked.issue.status = IssueStatus::Resolved;
                tracked.closed_seq = Some(event.seq);
            }
            EventBody::PatchApplied { tree, paths, .. } => {
                self.site_tree = Some(tree);
                if let Some(fixing) = &mut self.fixing {
                    fixing.changed = Some(!paths.is_empty());
                }
            }
            EventBody::RunStateChanged { from, to, step: taken, issue_id, .. } => {
                self.change_state((from, to), taken, issue_id, event.ts_ms)?;
            }
            EventBody::PublishPrepared { publish_key, branch, .. } => {
                self.publication = Some(Publication { publish_key, branch, opened: None });
            }
            EventBody::SiteRebased(SiteRebased { site_sha, tree, .. }) => {
                self.created.site_sha = site_sha;
                self.site_tree = Some(tree);
            }
            EventBody::PrOpened { opened, .. } => {
                let Some(publication) = &mut self.publication else {
                    return Err(self.malformed("a pull request was opened that was not prepared"));
                };
                publication.opened = Some(opened);
            }
            EventBody::RunFailed { failure } => self.failure = Some(failure),
            EventBody::RunCancelled { .. } => self.cancel_requested = true,
            EventBody::GateRunStarted { .. }
            | EventBody::GateRunFinished { .. }
            | EventBody::ResumeRewind { .. }
            | EventBody::ToolCalled { .. }
            | EventBody::RunCompleted { .. } => {}
        }
        Ok(())
    }

    fn queue(&mut self, item: ItemRef) {
        let queued = Item {
            state: ItemState::Queued,
            inputs_hash: String::new(),
            outputs: Vec::new(),
            error: None,
            started_ms: None,
            finished_ms: None,
        };
        self.items.insert(item, queued);
    }

    fn finish(&mut self, item: &ItemRef, outputs: Vec<ArtifactRef>, ts_ms: i64) -> Result<(), MalformedLog> {
        let known = self.item(item)?;
        known.state = ItemState::Finished;
        known.outputs = outputs;
        known.finished_ms = Some(ts_ms);
        if item.worker == FIX
            && let Some(fixing) = &mut self.fixing
        {
            // A patch would have been recorded before, in the same transaction.
            fixing.changed = fixing.changed.or(Some(false));
        }
        Ok(())
    }

    fn item(&mut self, item: &ItemRef) -> Result<&mut Item, MalformedLog> {
        let seq = self.seq;
        self.items.get_mut(item).ok_or_else(|| MalformedLog {
            seq,
            problem: format!("the item {}:{} was never queued", item.worker, item.scope_key),
        })
    }

    fn change_state(
        &mut self,
        (from, to): (RunState, RunState),
        taken: Step,
        issue_id: Option<String>,
        ts_ms: i64,
    ) -> Result<(), MalformedLog> {
        let next = step(self.state, taken).map_err(|illegal| self.malformed(&illegal.to_string()))?;
        if (from, to) != (self.state, next) {
            return Err(self.malformed("a change of the state does not fit the state before"));
        }
        (self.state, self.pending) = (next, None);
        match taken {
            Step::BeginFix => {
                self.fix_attempts = self.fix_attempts.saturating_add(1);
                let issue_id = issue_id.unwrap_or_default();
                let report_version = self.artifacts.get(VALIDATION_REPORT).map_or(0, |report| report.version);
                self.fixing = Some(Fixing { issue_id, report_version, changed: None });
            }
            Step::EndFix => self.fixing = None,
            Step::PlanAgain => {
                self.fix_attempts = self.fix_attempts.saturating_add(1);
                self.report_ok = None;
                self.site_tree = None;
            }
            _ => {}
        }
        if next.is_terminal() {
            (self.finished_ms, self.fixing) = (Some(ts_ms), None);
        }
        Ok(())
    }

    fn malformed(&self, problem: &str) -> MalformedLog {
        MalformedLog { seq: self.seq, problem: problem.to_owned() }
    }

    /// The latest attempt at an item.
    #[must_use]
    pub fn latest(&self, worker: &str, scope_key: &str) -> Option<ItemRow<'_>> {
        self.items.iter().rev().find(|(item, _)| item.worker == worker && item.scope_key == scope_key)
    }

    /// The items that are queued, or that a worker began and did not end.
    #[must_use]
    pub fn unfinished(&self) -> Vec<ItemRef> {
        let is_open = |item: &Item| matches!(item.state, ItemState::Queued | ItemState::Running);
        self.items.iter().filter(|(_, item)| is_open(item)).map(|(key, _)| key.clone()).collect()
    }

    /// The open issues, the worst first.
    #[must_use]
    pub fn open_issues(&self) -> Vec<&Issue> {
        let is_open = |issue: &&Issue| issue.status == IssueStatus::Open;
        let mut open: Vec<&Issue> =
            self.issues.values().map(|tracked| &tracked.issue).filter(is_open).collect();
        open.sort_by(|one, other| one.order().cmp(&other.order()));
        open
    }

    /// The snapshot as JSON, for `snapshot.json`.
    #[must_use]
    pub fn to_json(&self) -> Value {
        let mut value = serde_json::to_value(self).unwrap_or_default();
        value["schema_version"] = json!(SNAPSHOT_SCHEMA_VERSION);
        value
    }
}

/// Name of the artifact with the report of the last validation.
pub const VALIDATION_REPORT: &str = "validation_report.json";

fn body_of(event: &Event) -> Result<EventBody, MalformedLog> {
    event.body().map_err(|error| MalformedLog { seq: event.seq, problem: error.to_string() })
}

#[cfg(test)]
pub(crate) mod tests;
