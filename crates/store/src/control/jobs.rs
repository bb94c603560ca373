//! `pairofcleats.jobs`: the queue. Leases use the database's clock, so a wrong clock elsewhere harms nobody.

use crate::postgres::Row;
use serde_json::Value;

use crate::door::ControlTx;
use crate::postgres::{SEARCH, newest, sql};
use crate::project::index_state::Fence;
use crate::project::sizes::Measured;
use contract::{ErrorCode, Fault, ProjectId};

use super::lost_jobs::LOST;
pub(crate) use super::lost_jobs::take_away;
pub use super::lost_jobs::{give_up, requeue_expired};
pub use super::queued_jobs::{ahead, live_subjects};

/// What is asked for.
#[derive(Debug, Clone, PartialEq)]
pub struct NewJob {
    /// The project it works on.
    pub project_id: ProjectId,
    /// What to do.
    pub kind: &'static str,
    /// What to do it to, for example a repository's root. One live job a project, kind and subject.
    pub subject: String,
    /// The worker's input.
    pub request: Value,
}

/// Where a job is in its life.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum JobState {
    /// Waits for a worker.
    Queued,
    /// A worker holds its lease.
    Running,
    /// Done.
    Succeeded,
    /// Given up.
    Failed,
    /// Stopped on request.
    Cancelled,
}

impl JobState {
    /// As it is stored and shown.
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

    /// Whether nothing can happen to it any more.
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
    /// What to do.
    pub kind: String,
    /// What to do it to.
    pub subject: String,
    /// Where it is in its life.
    pub state: JobState,
    /// The worker's input.
    pub request: Value,
    /// The last snapshot the worker left.
    pub progress: Option<Value>,
    /// What came of it, once it succeeded.
    pub result: Option<Value>,
    /// Why it failed, once it did.
    pub error: Option<Value>,
    /// How often it was claimed.
    pub attempt: i32,
    /// Token of the last claim.
    pub fence: Option<Fence>,
    /// Who claimed it last.
    pub worker: Option<String>,
    /// Whether somebody asked for it to stop.
    pub cancel_requested: bool,
    /// When it was asked for.
    pub created_ms: i64,
    /// When it was first claimed.
    pub started_ms: Option<i64>,
    /// When it ended.
    pub finished_ms: Option<i64>,
    /// Why its last worker lost it, if one did.
    pub note: Option<String>,
}

/// The answer to [`enqueue_or_attach`].
#[derive(Debug, Clone, PartialEq)]
pub struct Enqueued {
    /// The live job about that subject.
    pub job: Job,
    /// True when it was there already.
    pub attached: bool,
}

/// Which job to take.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Claim<'a> {
    /// This one.
    Id(&'a str),
    /// The oldest of this kind.
    Kind(&'a str),
}

/// The answer to [`heartbeat`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Heartbeat {
    /// Go on.
    Held,
    /// Somebody asked for the job to stop; the lease is still held.
    CancelRequested,
    /// The job is another worker's, or over: stop at once and write nothing.
    LeaseLost,
}

/// How a job ended.
#[derive(Debug, Clone, PartialEq)]
pub enum Outcome {
    /// With this result.
    Succeeded(Value),
    /// For this reason (the public form of a fault).
    Failed(Value),
    /// On request.
    Cancelled,
}

pub(super) const COLUMNS: &str = "id, project_id, kind, subject, state, request::text, progress::text, result::text, error::text, \
    attempt, fence, worker, cancel_requested, (extract(epoch FROM created_at) * 1000)::int8, \
    (extract(epoch FROM started_at) * 1000)::int8, (extract(epoch FROM finished_at) * 1000)::int8, \
    note";

/// Puts a job into the queue, or finds the live one about the same subject.
///
/// # Errors
/// Storage faults.
pub async fn enqueue_or_attach(door: &mut ControlTx, new: &NewJob) -> Result<Enqueued, Fault> {
    let insert = format!(
        "INSERT INTO pairofcleats.jobs (id, project_id, kind, subject, state, request) \
         VALUES (replace(gen_random_uuid()::text, '-', ''), $1, $2, $3, 'queued', $4::text::jsonb) \
         ON CONFLICT (project_id, kind, subject) WHERE state IN ('queued', 'running') DO NOTHING RETURNING {COLUMNS}"
    );
    let live = format!(
        "SELECT {COLUMNS} FROM pairofcleats.jobs WHERE project_id = $1 AND kind = $2 AND subject = $3 \
         AND state IN ('queued', 'running')"
    );
    // The live job may end between the two statements; then there is room for a new one.
    for _ in 0..10 {
        let query = sql(insert.as_str()).bind(new.project_id.as_str()).bind(new.kind).bind(&new.subject);
        if let Some(row) = door.tx.first(query.bind(new.request.to_string())).await? {
            return Ok(Enqueued { job: decode(&row)?, attached: false });
        }
        let query = sql(live.as_str()).bind(new.project_id.as_str()).bind(new.kind).bind(&new.subject);
        if let Some(row) = door.tx.first(query).await? {
            return Ok(Enqueued { job: decode(&row)?, attached: true });
        }
    }
    Err(Fault::new(
        ErrorCode::StorageUnavailable,
        "Runs of this repository start and end too fast to join one.",
    )
    .with_hint("Try again."))
}

/// Puts a job into the queue unless one about the same subject is live, or ended less than `after_ms` ago. Of several
/// processes that ask at once, one gets it.
///
/// # Errors
/// Storage faults.
pub async fn enqueue_if_due(
    door: &mut ControlTx,
    new: &NewJob,
    after_ms: u64,
) -> Result<Option<Enqueued>, Fault> {
    // A statement of its own: the next one then sees what the one who had the lock before has written.
    let lock = sql(
        "SELECT pg_advisory_xact_lock(hashtextextended('pairofcleats:due:' || $1 || ':' || $2 || ':' || $3, 0))",
    );
    door.tx.execute(lock.bind(new.project_id.as_str()).bind(new.kind).bind(&new.subject)).await?;
    let insert = format!(
        "INSERT INTO pairofcleats.jobs (id, project_id, kind, subject, state, request) \
         SELECT replace(gen_random_uuid()::text, '-', ''), $1, $2, $3, 'queued', $4::text::jsonb \
         WHERE NOT EXISTS (SELECT 1 FROM pairofcleats.jobs WHERE project_id = $1 AND kind = $2 AND subject = $3 \
         AND (state IN ('queued', 'running') OR finished_at > clock_timestamp() - $5 * interval '1 millisecond')) \
         ON CONFLICT (project_id, kind, subject) WHERE state IN ('queued', 'running') DO NOTHING RETURNING {COLUMNS}"
    );
    let query = sql(insert).bind(new.project_id.as_str()).bind(new.kind).bind(&new.subject);
    let row = door.tx.first(query.bind(new.request.to_string()).bind(millis(after_ms))).await?;
    row.map(|row| Ok(Enqueued { job: decode(&row)?, attached: false })).transpose()
}

/// Takes a job that waits or whose worker's lease ran out, unless another job of the same project runs:
/// a project has one writer. None when there is nothing to take right now.
///
/// # Errors
/// Storage faults.
pub async fn try_claim(
    door: &mut ControlTx,
    claim: Claim<'_>,
    worker: &str,
    lease_ms: u64,
) -> Result<Option<Job>, Fault> {
    let (condition, value) = match claim {
        Claim::Id(id) => ("j.id = $1", id),
        Claim::Kind(kind) => ("j.kind = $1", kind),
    };
    let candidate = format!(
        "SELECT j.id, j.project_id FROM pairofcleats.jobs j WHERE {condition} AND NOT j.cancel_requested \
         AND (j.state = 'queued' OR (j.state = 'running' AND j.lease_until < clock_timestamp())) \
         AND NOT EXISTS (SELECT 1 FROM pairofcleats.jobs r WHERE r.project_id = j.project_id AND r.id <> j.id \
         AND r.state = 'running' AND r.lease_until >= clock_timestamp()) \
         AND NOT EXISTS (SELECT 1 FROM pairofcleats.projects p WHERE p.id = j.project_id AND p.search_version > {known}) \
         ORDER BY j.created_at, j.id LIMIT 1 FOR UPDATE SKIP LOCKED",
        known = newest(SEARCH)
    );
    let Some(row) = door.tx.first(sql(candidate).bind(value)).await? else { return Ok(None) };
    let (id, project_id): (String, String) = (row.try_get(0)?, row.try_get(1)?);
    // Two workers may each have picked another job of one project; the lock lets one of them look again.
    let lock = sql("SELECT pg_try_advisory_xact_lock(hashtextextended('pairofcleats:claim:' || $1, 0))");
    if !door.tx.one(lock.bind(&project_id)).await?.try_get::<bool>(0)? {
        return Ok(None);
    }
    let take = format!(
        "UPDATE pairofcleats.jobs SET note = CASE WHEN state = 'running' THEN $5 ELSE note END, \
         state = 'running', worker = $2, attempt = attempt + 1, \
         fence = nextval('pairofcleats.fences'), heartbeat_at = clock_timestamp(), \
         lease_until = clock_timestamp() + $3 * interval '1 millisecond', \
         started_at = coalesce(started_at, clock_timestamp()) \
         WHERE id = $1 AND NOT EXISTS (SELECT 1 FROM pairofcleats.jobs r WHERE r.project_id = $4 AND r.id <> $1 \
         AND r.state = 'running' AND r.lease_until >= clock_timestamp()) RETURNING {COLUMNS}"
    );
    let query = sql(take).bind(&id).bind(worker).bind(millis(lease_ms)).bind(&project_id).bind(LOST);
    let row = door.tx.first(query).await?;
    row.as_ref().map(decode).transpose()
}

/// Extends the lease and leaves a snapshot of the progress. A lease that ran out is taken up again, unless another worker
/// writes to the project by now.
///
/// # Errors
/// Storage faults.
pub async fn heartbeat(
    door: &mut ControlTx,
    id: &str,
    fence: Fence,
    lease_ms: u64,
    progress: &Value,
) -> Result<Heartbeat, Fault> {
    let query = sql(
        "UPDATE pairofcleats.jobs SET heartbeat_at = clock_timestamp(), progress = $4::text::jsonb, \
         lease_until = clock_timestamp() + $3 * interval '1 millisecond' \
         WHERE id = $1 AND fence = $2 AND state = 'running' AND (lease_until >= clock_timestamp() OR NOT EXISTS \
         (SELECT 1 FROM pairofcleats.jobs r WHERE r.project_id = jobs.project_id AND r.id <> jobs.id \
         AND r.state = 'running' AND r.lease_until >= clock_timestamp())) RETURNING cancel_requested",
    );
    let query = query.bind(id).bind(fence.0).bind(millis(lease_ms)).bind(progress.to_string());
    Ok(match door.tx.first(query).await? {
        None => Heartbeat::LeaseLost,
        Some(row) if row.try_get(0)? => Heartbeat::CancelRequested,
        Some(_) => Heartbeat::Held,
    })
}

/// Ends a job; false when it is no longer this claim's to end.
///
/// # Errors
/// Storage faults.
pub async fn finish(
    door: &mut ControlTx,
    id: &str,
    fence: Fence,
    outcome: &Outcome,
    progress: &Value,
) -> Result<bool, Fault> {
    let (state, result, error) = match outcome {
        Outcome::Succeeded(result) => (JobState::Succeeded, Some(result.to_string()), None),
        Outcome::Failed(error) => (JobState::Failed, None, Some(error.to_string())),
        Outcome::Cancelled => (JobState::Cancelled, None, None),
    };
    let query =
        sql("UPDATE pairofcleats.jobs SET state = $3, result = $4::text::jsonb, error = $5::text::jsonb, \
         progress = $6::text::jsonb, finished_at = clock_timestamp(), lease_until = NULL \
         WHERE id = $1 AND fence = $2 AND state = 'running'");
    let query =
        query.bind(id).bind(fence.0).bind(state.as_str()).bind(result).bind(error).bind(progress.to_string());
    Ok(door.tx.execute(query).await? == 1)
}

/// Gives a job back unfinished, with a `note` that says what it waits for, if anything; the next claim goes on with it. This
/// claim does not count as an attempt. False when it was no longer this claim's.
///
/// # Errors
/// Storage faults.
pub async fn release(
    door: &mut ControlTx,
    id: &str,
    fence: Fence,
    note: Option<&str>,
) -> Result<bool, Fault> {
    let query = sql(
        "UPDATE pairofcleats.jobs SET state = CASE WHEN cancel_requested THEN 'cancelled' ELSE 'queued' END, \
         finished_at = CASE WHEN cancel_requested THEN clock_timestamp() END, attempt = attempt - 1, \
         worker = NULL, lease_until = NULL, note = coalesce($3, note) \
         WHERE id = $1 AND fence = $2 AND state = 'running'",
    );
    Ok(door.tx.execute(query.bind(id).bind(fence.0).bind(note)).await? == 1)
}

/// Asks for a job to stop: at once if it waits, else at its worker's next heartbeat. Returns the job as it
/// then is; None when there is none.
///
/// # Errors
/// Storage faults.
pub async fn request_cancel(door: &mut ControlTx, id: &str) -> Result<Option<Job>, Fault> {
    let text = format!(
        "UPDATE pairofcleats.jobs SET cancel_requested = true, \
         finished_at = CASE WHEN state = 'queued' THEN clock_timestamp() END, \
         state = CASE WHEN state = 'queued' THEN 'cancelled' ELSE state END \
         WHERE id = $1 AND state IN ('queued', 'running') RETURNING {COLUMNS}"
    );
    match door.tx.first(sql(text).bind(id)).await? {
        Some(row) => Ok(Some(decode(&row)?)),
        None => get(door, id).await,
    }
}

/// One job.
///
/// # Errors
/// Storage faults.
pub async fn get(door: &mut ControlTx, id: &str) -> Result<Option<Job>, Fault> {
    let text = format!("SELECT {COLUMNS} FROM pairofcleats.jobs WHERE id = $1");
    let row = door.tx.first(sql(text).bind(id)).await?;
    row.as_ref().map(decode).transpose()
}

/// The newest jobs of a project, newest first; of one subject, if one is named.
///
/// # Errors
/// Storage faults.
pub async fn list(
    door: &mut ControlTx,
    project_id: &ProjectId,
    subject: Option<&str>,
    limit: i64,
) -> Result<Vec<Job>, Fault> {
    let text = format!(
        "SELECT {COLUMNS} FROM pairofcleats.jobs WHERE project_id = $1 AND ($2::text IS NULL OR subject = $2) \
         ORDER BY created_at DESC, id LIMIT $3"
    );
    let rows = door.tx.all(sql(text).bind(project_id.as_str()).bind(subject).bind(limit)).await?;
    rows.iter().map(decode).collect()
}

/// How many jobs of a project run, or wait for a worker that will come.
pub(crate) async fn live(door: &mut ControlTx, project_id: &ProjectId) -> Result<i64, Fault> {
    let query = sql("SELECT count(*) FROM pairofcleats.jobs WHERE project_id = $1 \
         AND (state = 'queued' OR (state = 'running' AND lease_until >= clock_timestamp()))");
    door.tx.one(query.bind(project_id.as_str())).await?.try_get(0)
}

/// How many jobs of a project are in the hands of a worker.
pub(crate) async fn running(door: &mut ControlTx, project_id: &ProjectId) -> Result<i64, Fault> {
    let query = sql("SELECT count(*) FROM pairofcleats.jobs WHERE project_id = $1 AND state = 'running' \
         AND lease_until >= clock_timestamp()");
    door.tx.one(query.bind(project_id.as_str())).await?.try_get(0)
}

/// Asks every job of a project to stop; returns how many.
pub(crate) async fn cancel_all(door: &mut ControlTx, project_id: &ProjectId) -> Result<u64, Fault> {
    let query = sql("UPDATE pairofcleats.jobs SET cancel_requested = true, \
         finished_at = CASE WHEN state = 'queued' THEN clock_timestamp() END, \
         state = CASE WHEN state = 'queued' THEN 'cancelled' ELSE state END \
         WHERE project_id = $1 AND state IN ('queued', 'running')");
    door.tx.execute(query.bind(project_id.as_str())).await
}

/// Removes every job of a project; returns how many.
pub(crate) async fn remove_all(door: &mut ControlTx, project_id: &ProjectId) -> Result<u64, Fault> {
    let query = sql("DELETE FROM pairofcleats.jobs WHERE project_id = $1");
    door.tx.execute(query.bind(project_id.as_str())).await
}

/// What the finished jobs of a project take that ended at least `days` ago; of one subject, if one is named.
///
/// # Errors
/// Storage faults.
pub async fn finished(
    door: &mut ControlTx,
    project_id: &ProjectId,
    subject: Option<&str>,
    days: u32,
) -> Result<Measured, Fault> {
    let text = format!(
        "SELECT count(*), coalesce(sum(pg_column_size(ROW(j.*))), 0)::int8 FROM pairofcleats.jobs j WHERE {FINISHED}"
    );
    let query = sql(text).bind(project_id.as_str()).bind(subject).bind(int(days));
    Measured::of(&door.tx.one(query).await?)
}

/// Removes what [`finished`] measures.
///
/// # Errors
/// Storage faults.
pub async fn remove_finished(
    door: &mut ControlTx,
    project_id: &ProjectId,
    subject: Option<&str>,
    days: u32,
) -> Result<Measured, Fault> {
    let text = format!(
        "WITH gone AS (DELETE FROM pairofcleats.jobs j WHERE {FINISHED} RETURNING pg_column_size(ROW(j.*)) AS bytes) \
         SELECT count(*), coalesce(sum(bytes), 0)::int8 FROM gone"
    );
    let query = sql(text).bind(project_id.as_str()).bind(subject).bind(int(days));
    Measured::of(&door.tx.one(query).await?)
}

/// By project, subject and age in days.
const FINISHED: &str = "j.project_id = $1 AND ($2::text IS NULL OR j.subject = $2) \
     AND j.state IN ('succeeded', 'failed', 'cancelled') AND j.finished_at <= clock_timestamp() - make_interval(days => $3)";

/// Older than a century is older than anything.
fn int(days: u32) -> i32 {
    i32::try_from(days.min(36_500)).unwrap_or(36_500)
}

fn millis(lease_ms: u64) -> f64 {
    #[expect(clippy::cast_precision_loss, reason = "a lease is far below 2^52 milliseconds")]
    {
        lease_ms as f64
    }
}

pub(super) fn decode(row: &Row) -> Result<Job, Fault> {
    let json = |at: usize| -> Result<Option<Value>, Fault> {
        let text: Option<String> = row.try_get(at)?;
        Ok(text.and_then(|text| serde_json::from_str(&text).ok()))
    };
    Ok(Job {
        id: row.try_get(0)?,
        project_id: row.try_get(1)?,
        kind: row.try_get(2)?,
        subject: row.try_get(3)?,
        state: JobState::parse(row.try_get(4)?),
        request: json(5)?.unwrap_or_default(),
        progress: json(6)?,
        result: json(7)?,
        error: json(8)?,
        attempt: row.try_get(9)?,
        fence: row.try_get::<Option<i64>>(10)?.map(Fence),
        worker: row.try_get(11)?,
        cancel_requested: row.try_get(12)?,
        created_ms: row.try_get(13)?,
        started_ms: row.try_get(14)?,
        finished_ms: row.try_get(15)?,
        note: row.try_get(16)?,
    })
}
