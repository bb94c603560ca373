//! Events: everything that happens to a run, in order, chained by hashes.
//!
//! The state of a run is derived from its events ([`crate::snapshot`]). They are only ever appended; each contains the hash of its
//! predecessor, so a change or removal of an event is noticed.

use std::fmt;

use contract::clock::iso_from_millis;
use platform::sha256;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::ids::{Trace, span_id, work_item_id};
use crate::issue::Issue;
use crate::report::{GateStatus, sorted};
use crate::state::{RunState, Step};

/// The hash before the first event.
pub const NO_HASH: [u8; 32] = [0; 32];

/// The type and payload of an event.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", content = "payload", rename_all = "SCREAMING_SNAKE_CASE")]
pub enum EventBody {
    /// The run was started.
    RunCreated(RunCreated),
    /// The inputs cannot be read yet.
    InputsPending(InputsPending),
    /// A work item is due.
    WorkItemQueued(ItemRef),
    /// A worker began with an item.
    WorkItemStarted {
        /// The item.
        #[serde(flatten)]
        item: ItemRef,
        /// Hash of everything that the result depends on, hexadecimal.
        inputs_hash: String,
    },
    /// A worker finished an item.
    WorkItemFinished {
        /// The item.
        #[serde(flatten)]
        item: ItemRef,
        /// The artifacts that it wrote.
        outputs: Vec<ArtifactRef>,
        /// For a validation: `true` if the report is ok.
        #[serde(skip_serializing_if = "Option::is_none")]
        report_ok: Option<bool>,
    },
    /// A worker failed, or was interrupted.
    WorkItemFailed {
        /// The item.
        #[serde(flatten)]
        item: ItemRef,
        /// Why.
        error: Failure,
    },
    /// An artifact was stored.
    ArtifactWritten(ArtifactWritten),
    /// A gate began.
    GateRunStarted {
        /// Its name.
        gate: String,
    },
    /// A gate ended.
    GateRunFinished {
        /// Its name.
        gate: String,
        /// Its outcome.
        status: GateStatus,
        /// Number of its issues.
        issues: u32,
    },
    /// A validation found an issue.
    IssueOpened(Issue),
    /// A later validation did not find it any more.
    IssueResolved {
        /// Its id.
        issue_id: String,
    },
    /// Patches were applied to the site.
    PatchApplied {
        /// Their ids, in order.
        patch_ids: Vec<String>,
        /// The changed paths, sorted.
        paths: Vec<String>,
        /// The tree of the patched site.
        tree: String,
    },
    /// The state changed.
    RunStateChanged {
        /// The state before.
        from: RunState,
        /// The state afterwards.
        to: RunState,
        /// The step that changed it.
        step: Step,
        /// For the beginning of a fix, the issue.
        #[serde(skip_serializing_if = "Option::is_none")]
        issue_id: Option<String>,
        /// For the beginning of a fix, the job that began it, so that another attempt at that job does not begin a second one.
        #[serde(skip_serializing_if = "Option::is_none")]
        job_id: Option<String>,
    },
    /// A process took the run over from one that had ended in the middle of some items.
    ResumeRewind {
        /// The state.
        state: RunState,
        /// The boundary after which everything that is unfinished is done again.
        boundary: RunState,
        /// The items that were not finished.
        dropped: Vec<ItemRef>,
    },
    /// A tool was called.
    ToolCalled {
        /// Its name.
        tool: String,
        /// The caller.
        principal: String,
        /// `ok`, or the code of the error.
        outcome: String,
    },
    /// The run is about to be published: everything from here on is the same however often it is tried.
    PublishPrepared {
        /// Key of the requests.
        publish_key: String,
        /// The branch.
        branch: String,
        /// The principal who asked for it; unknown in logs of older programs.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        principal: Option<String>,
    },
    /// The base branch of the site moved, and the changes of the run were rebased onto it.
    SiteRebased(SiteRebased),
    /// The pull request is open.
    PrOpened {
        /// The pull request, or the branch.
        #[serde(flatten)]
        opened: PrOpened,
        /// The principal who asked for it; unknown in logs of older programs.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        principal: Option<String>,
    },
    /// Everything is done.
    RunCompleted {
        /// Number of artifacts.
        artifacts: u32,
    },
    /// The run cannot go on.
    RunFailed {
        /// Why.
        failure: Failure,
    },
    /// The run was cancelled.
    RunCancelled {
        /// The principal who cancelled it.
        principal: String,
    },
}

/// The id of a repository that the project does not have yet: an index run of the address in the configuration adds it.
pub const NOT_INDEXED: i64 = 0;

/// The parameters that a run was started with.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunCreated {
    /// The product.
    pub product_slug: String,
    /// Hash of the configuration, hexadecimal.
    pub config_hash: String,
    /// Id of the repository in the project; [`NOT_INDEXED`] if no index run had begun yet.
    pub repository_id: i64,
    /// The commit of the repository.
    pub repo_sha: String,
    /// The site profile.
    pub site_profile: String,
    /// The commit of the site.
    pub site_sha: String,
}

/// The reason why a run waits for its inputs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct InputsPending {
    /// The reason, for people.
    pub reason: String,
    /// The index job that it waits for.
    pub job_id: String,
    /// `true` if that job had been requested before, so that it may have read the repository too early.
    pub attached: bool,
}

/// A reference to a work item.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct ItemRef {
    /// The worker.
    pub worker: String,
    /// The scope of the item, such as a section; empty for the whole run.
    pub scope_key: String,
    /// Counts from 1.
    pub attempt: u16,
}

/// An artifact that an item wrote.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ArtifactRef {
    /// Its name.
    pub name: String,
    /// Hash of its bytes, hexadecimal.
    pub sha256: String,
}

/// A stored artifact.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ArtifactWritten {
    /// Its name.
    pub name: String,
    /// Counts from 1.
    pub version: u32,
    /// Hash of its bytes, hexadecimal.
    pub sha256: String,
    /// Media type.
    pub content_type: String,
    /// The schema that it has, if it is JSON.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub schema_id: Option<String>,
    /// The worker or tool that wrote it.
    pub writer: String,
    /// Its size.
    pub bytes: u64,
}

/// A site whose base branch moved.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SiteRebased {
    /// The commit that the run started from.
    pub from_sha: String,
    /// The commit that it goes on from.
    pub site_sha: String,
    /// The tree of the patched site.
    pub tree: String,
}

/// An open pull request.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PrOpened {
    /// The branch.
    pub branch: String,
    /// The commit.
    pub commit_sha: String,
    /// Address of its web page.
    pub pr_url: String,
    /// Its number, if the forge counts them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pr_number: Option<i64>,
}

/// The cause of the failure of an item or a run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Failure {
    /// A code of the error table, or one of the worker.
    pub code: String,
    /// For people.
    pub message: String,
    /// Structured facts.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub details: Option<Value>,
}

impl Failure {
    /// A failure without details.
    #[must_use]
    pub fn new(code: impl Into<String>, message: impl Into<String>) -> Self {
        Self { code: code.into(), message: message.into(), details: None }
    }

    /// Adds structured facts.
    #[must_use]
    pub fn with_details(self, details: Value) -> Self {
        Self { details: Some(details), ..self }
    }
}

impl EventBody {
    /// The change of the state by a step.
    #[must_use]
    pub fn state_changed(from: RunState, to: RunState, step: Step) -> Self {
        Self::RunStateChanged { from, to, step, issue_id: None, job_id: None }
    }

    /// Type and payload, as they are stored: the payload is JSON on one line with sorted keys.
    fn stored(&self) -> (String, String) {
        let mut value = serde_json::to_value(self).unwrap_or_default();
        let kind = value["type"].as_str().unwrap_or_default().to_owned();
        (kind, sorted(value["payload"].take()).to_string())
    }

    /// Reads what [`EventBody::stored`] wrote.
    fn read(kind: &str, payload: &str) -> Result<Self, serde_json::Error> {
        let payload: Value = serde_json::from_str(payload)?;
        serde_json::from_value(json!({ "type": kind, "payload": payload }))
    }

    /// Names the span of the event: events about the same thing have the same span.
    fn span_name(&self, run_id: &str) -> String {
        match self {
            Self::ToolCalled { .. } => "call".to_owned(),
            Self::WorkItemQueued(item)
            | Self::WorkItemStarted { item, .. }
            | Self::WorkItemFinished { item, .. }
            | Self::WorkItemFailed { item, .. } => {
                work_item_id(run_id, &item.worker, item.attempt, &item.scope_key)
            }
            Self::GateRunStarted { gate } | Self::GateRunFinished { gate, .. } => {
                format!("{run_id}:gate:{gate}")
            }
            _ => run_id.to_owned(),
        }
    }
}

/// An event as it is stored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Event {
    /// The run.
    pub run_id: String,
    /// Counts from 1.
    pub seq: i32,
    /// Unique.
    pub event_id: String,
    /// Time of the event, in milliseconds since the epoch.
    pub ts_ms: i64,
    /// The type, such as `RUN_CREATED`.
    pub kind: String,
    /// The payload as JSON.
    pub payload: String,
    /// The trace that it belongs to.
    pub trace_id: String,
    /// The span that it belongs to.
    pub span_id: String,
    /// The span above.
    pub parent_span_id: Option<String>,
    /// Hash of the event before.
    pub prev_hash: [u8; 32],
    /// Hash of this event.
    pub hash: [u8; 32],
}

/// The last event of a log: its number and hash. The next event is chained to it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LogHead {
    /// Number of the last event; 0 for an empty log.
    pub seq: i32,
    /// Its hash.
    pub hash: [u8; 32],
}

impl LogHead {
    /// The head of an empty log.
    pub const EMPTY: Self = Self { seq: 0, hash: NO_HASH };
}

/// The chain of a log is broken: an event was changed or removed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BrokenChain {
    /// The first event that does not fit.
    pub seq: i32,
}

impl fmt::Display for BrokenChain {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "event {} does not fit the one before", self.seq)
    }
}

impl std::error::Error for BrokenChain {}

impl Event {
    /// The event that follows `head`.
    #[must_use]
    pub fn seal(run_id: &str, head: LogHead, ts_ms: i64, body: &EventBody, trace: &Trace) -> Self {
        let (kind, payload) = body.stored();
        let seq = head.seq.saturating_add(1);
        let is_call = matches!(body, EventBody::ToolCalled { .. });
        let identity = format!("{run_id}\0{seq}\0{}\0{ts_ms}", sha256::to_hex(&head.hash));
        let mut event_id = sha256::digest_hex(identity.as_bytes());
        event_id.truncate(32);
        let mut event = Self {
            run_id: run_id.to_owned(),
            seq,
            event_id,
            ts_ms,
            kind,
            payload,
            trace_id: trace.trace_id.clone(),
            span_id: span_id(&trace.trace_id, &body.span_name(run_id)),
            parent_span_id: trace.parent_span_id.clone().filter(|_| !is_call),
            prev_hash: head.hash,
            hash: NO_HASH,
        };
        event.hash = event.computed_hash();
        event
    }

    /// Parses the payload.
    ///
    /// # Errors
    /// If this program did not write the payload.
    pub fn body(&self) -> Result<EventBody, serde_json::Error> {
        EventBody::read(&self.kind, &self.payload)
    }

    /// Number and hash.
    #[must_use]
    pub fn head(&self) -> LogHead {
        LogHead { seq: self.seq, hash: self.hash }
    }

    /// Computes the hash over all fields of the event.
    fn computed_hash(&self) -> [u8; 32] {
        let parts = json!([
            self.run_id,
            self.seq,
            self.event_id,
            self.ts_ms,
            self.kind,
            self.payload,
            self.trace_id,
            self.span_id,
            self.parent_span_id,
            sha256::to_hex(&self.prev_hash),
        ]);
        sha256::digest(parts.to_string().as_bytes())
    }

    /// The event as JSON, as streams and archives show it.
    #[must_use]
    pub fn to_json(&self) -> Value {
        let payload: Value = serde_json::from_str(&self.payload).unwrap_or_default();
        json!({
            "event_id": self.event_id,
            "run_id": self.run_id,
            "seq": self.seq,
            "ts": iso_from_millis(self.ts_ms),
            "type": self.kind,
            "payload": payload,
            "trace_id": self.trace_id,
            "span_id": self.span_id,
            "parent_span_id": self.parent_span_id,
            "prev_hash": sha256::to_hex(&self.prev_hash),
            "event_hash": sha256::to_hex(&self.hash),
        })
    }
}

/// Checks that `events` follow `head` and one another without a gap, and that none was changed. Returns the new head.
///
/// # Errors
/// [`BrokenChain`] with the first event that does not fit.
pub fn verify_chain(head: LogHead, events: &[Event]) -> Result<LogHead, BrokenChain> {
    events.iter().try_fold(head, |head, event| {
        let fits = event.seq == head.seq.saturating_add(1)
            && event.prev_hash == head.hash
            && event.hash == event.computed_hash();
        if fits { Ok(event.head()) } else { Err(BrokenChain { seq: head.seq.saturating_add(1) }) }
    })
}

#[cfg(test)]
mod tests;
