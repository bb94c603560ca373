//! A job as it is stored: its states, its columns.

use serde_json::Value;

use crate::postgres::Row;
use crate::project::index_state::Fence;
use contract::{Fault, ProjectId};

/// Longest note on a job or a source, in bytes.
pub(super) const NOTE_BYTES_MAX: usize = 8_000;

/// The lane of all jobs that write a project's index, so that a project has one writer.
pub const WRITER_LANE: &str = "writer";

/// A job to enqueue.
#[derive(Debug, Clone, PartialEq)]
pub struct NewJob {
    /// The project it works on.
    pub project_id: ProjectId,
    /// The kind of work, for example `index`.
    pub kind: &'static str,
    /// Of the jobs in one project and lane, one runs at a time.
    pub lane: String,
    /// Its subject, for example a repository's root. A project has at most one live job of a kind and subject.
    pub subject: String,
    /// The worker's input.
    pub request: Value,
}

/// The state of a job.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum JobState {
    /// Waits for a worker.
    Queued,
    /// A worker holds its lease.
    Running,
    /// Ended with a result.
    Succeeded,
    /// Ended with an error.
    Failed,
    /// Stopped on request.
    Cancelled,
}

impl JobState {
    /// The word in the database and in answers.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Queued => "queued",
            Self::Running => "running",
            Self::Succeeded => "succeeded",
            Self::Failed => "failed",
            Self::Cancelled => "cancelled",
        }
    }

    /// Returns `true` if the job has ended; no state follows.
    #[must_use]
    pub fn is_final(self) -> bool {
        !matches!(self, Self::Queued | Self::Running)
    }

    fn parse(text: &str) -> Self {
        match text {
            "queued" => Self::Queued,
            "running" => Self::Running,
            "succeeded" => Self::Succeeded,
            "cancelled" => Self::Cancelled,
            _ => Self::Failed,
        }
    }
}

/// A job. Times are milliseconds since the epoch, UTC, by the database's clock.
#[derive(Debug, Clone, PartialEq)]
pub struct Job {
    /// 32 hexadecimal digits of a random UUID.
    pub id: String,
    /// The project it works on.
    pub project_id: String,
    /// The kind of work.
    pub kind: String,
    /// Of the jobs in one project and lane, one runs at a time.
    pub lane: String,
    /// Its subject.
    pub subject: String,
    /// Its state.
    pub state: JobState,
    /// The worker's input.
    pub request: Value,
    /// The progress that the worker reported last.
    pub progress: Option<Value>,
    /// The result, if it succeeded.
    pub result: Option<Value>,
    /// The public form of the fault, if it failed.
    pub error: Option<Value>,
    /// Number of claims that count as attempts.
    pub attempt: i32,
    /// Fence token of the last claim.
    pub fence: Option<Fence>,
    /// The worker that claimed it last.
    pub worker: Option<String>,
    /// `true` if it was asked to stop.
    pub cancel_requested: bool,
    /// Time of its creation.
    pub created_ms: i64,
    /// Time of its first claim.
    pub started_ms: Option<i64>,
    /// Time of its end.
    pub finished_ms: Option<i64>,
    /// The reason why its last worker lost it or gave it back.
    pub note: Option<String>,
}

/// The columns of a [`Job`], for [`decode`].
pub(super) const COLUMNS: &str = "id, project_id, kind, lane, subject, state, \
    request::text AS request, progress::text AS progress, result::text AS result, error::text AS error, \
    attempt, fence, worker, cancel_requested, note, \
    (extract(epoch FROM created_at) * 1000)::int8 AS created_ms, \
    (extract(epoch FROM started_at) * 1000)::int8 AS started_ms, \
    (extract(epoch FROM finished_at) * 1000)::int8 AS finished_ms";

/// A job from a row of [`COLUMNS`].
pub(super) fn decode(row: &Row) -> Result<Job, Fault> {
    let json = |column: &str| -> Result<Option<Value>, Fault> {
        let text: Option<String> = row.try_get(column)?;
        Ok(text.and_then(|text| serde_json::from_str(&text).ok()))
    };
    Ok(Job {
        id: row.try_get("id")?,
        project_id: row.try_get("project_id")?,
        kind: row.try_get("kind")?,
        lane: row.try_get("lane")?,
        subject: row.try_get("subject")?,
        state: JobState::parse(row.try_get("state")?),
        request: json("request")?.unwrap_or_default(),
        progress: json("progress")?,
        result: json("result")?,
        error: json("error")?,
        attempt: row.try_get("attempt")?,
        fence: row.try_get::<Option<i64>>("fence")?.map(Fence),
        worker: row.try_get("worker")?,
        cancel_requested: row.try_get("cancel_requested")?,
        created_ms: row.try_get("created_ms")?,
        started_ms: row.try_get("started_ms")?,
        finished_ms: row.try_get("finished_ms")?,
        note: row.try_get("note")?,
    })
}

/// Milliseconds as Postgres multiplies them with an interval.
pub(super) fn millis(milliseconds: u64) -> f64 {
    #[expect(clippy::cast_precision_loss, reason = "leases and waits are far below 2^52 milliseconds")]
    {
        milliseconds as f64
    }
}
