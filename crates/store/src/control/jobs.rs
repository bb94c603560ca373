//! `pairofcleats.jobs`: the queue. Leases use the database's clock, so the clocks of workers do not matter.

use serde_json::Value;

use super::job::{COLUMNS, NOTE_BYTES_MAX, decode, millis};
use super::locks::AdvisoryLock;
use crate::postgres::{sql, storable, storable_json};
use crate::project::index_state::Fence;
use crate::project::sizes::RowUsage;
use crate::transaction::ControlTx;
use contract::{ErrorCode, Fault, ProjectId};

pub use super::claimed_jobs::{Claim, NextJob, try_claim};
pub use super::job::{Job, JobState, NewJob, WRITER_LANE};
pub(crate) use super::lost_jobs::requeue_running;
pub use super::lost_jobs::{ATTEMPTS_MAX, PassLimits, give_back_stalled, pass_on, requeue_expired};
pub use super::queued_jobs::{QueueMark, ahead, live_subjects, queue_mark};

/// Attempts of [`enqueue_or_attach`] when live jobs end between its two statements.
const ATTACH_ATTEMPTS: usize = 10;

/// The answer to [`enqueue_or_attach`].
#[derive(Debug, Clone, PartialEq)]
pub struct Enqueued {
    /// The live job about the subject.
    pub job: Job,
    /// `true` if it already existed.
    pub attached: bool,
}

/// The answer to [`heartbeat`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Heartbeat {
    /// The lease was extended.
    Held,
    /// The lease was extended, but the job was asked to stop.
    CancelRequested,
    /// Another worker has the job, it has ended, or its lease expired and another job of its lane runs: the caller must stop and cannot
    /// write any more.
    LeaseLost,
}

/// The outcome of a job.
#[derive(Debug, Clone, PartialEq)]
pub enum Outcome {
    /// With this result.
    Succeeded(Value),
    /// With this error: the public form of a fault.
    Failed(Value),
    /// On request.
    Cancelled,
}

/// Enqueues a job, or returns the live one about the same subject.
///
/// # Errors
/// `STORAGE_UNAVAILABLE` if live jobs keep ending while the caller tries to attach to them; storage faults.
pub async fn enqueue_or_attach(control: &mut ControlTx, new: &NewJob) -> Result<Enqueued, Fault> {
    let insert = format!(
        "INSERT INTO pairofcleats.jobs (id, project_id, kind, subject, state, request, lane) \
         VALUES (replace(gen_random_uuid()::text, '-', ''), $1, $2, $3, 'queued', $4::text::jsonb, $5) \
         ON CONFLICT (project_id, kind, subject) WHERE state IN ('queued', 'running') DO NOTHING \
         RETURNING {COLUMNS}"
    );
    let live = format!(
        "SELECT {COLUMNS} FROM pairofcleats.jobs \
         WHERE project_id = $1 AND kind = $2 AND subject = $3 AND state IN ('queued', 'running')"
    );
    // The live job may end between the two statements; then the insert succeeds at the next attempt.
    for _ in 0..ATTACH_ATTEMPTS {
        let query = sql(insert.as_str()).bind(new.project_id.as_str()).bind(new.kind).bind(&new.subject);
        if let Some(row) = control.tx.first(query.bind(storable_json(&new.request)).bind(&new.lane)).await? {
            return Ok(Enqueued { job: decode(&row)?, attached: false });
        }
        let query = sql(live.as_str()).bind(new.project_id.as_str()).bind(new.kind).bind(&new.subject);
        if let Some(row) = control.tx.first(query).await? {
            return Ok(Enqueued { job: decode(&row)?, attached: true });
        }
    }
    Err(Fault::new(
        ErrorCode::StorageUnavailable,
        "Runs of this repository start and end too fast to join one.",
    )
    .with_hint("Try again."))
}

/// Enqueues a job unless one about the same subject is live, or ended less than `after_ms` ago. Of several
/// processes that call this at once, one succeeds.
///
/// # Errors
/// Storage faults.
pub async fn enqueue_if_due(
    control: &mut ControlTx,
    new: &NewJob,
    after_ms: u64,
) -> Result<Option<Enqueued>, Fault> {
    // A separate statement, so that the insert sees what the previous holder of the lock has committed.
    AdvisoryLock::Due(new.project_id.as_str(), new.kind, &new.subject).acquire(control).await?;
    // max(finished_at) reads one row of an index; a comparison of each row with the clock would read all of them.
    let insert = format!(
        "INSERT INTO pairofcleats.jobs (id, project_id, kind, subject, state, request, lane) \
         SELECT replace(gen_random_uuid()::text, '-', ''), $1, $2, $3, 'queued', $4::text::jsonb, $6 \
         WHERE NOT EXISTS (SELECT 1 FROM pairofcleats.jobs \
           WHERE project_id = $1 AND kind = $2 AND subject = $3 AND state IN ('queued', 'running')) \
         AND coalesce((SELECT max(finished_at) FROM pairofcleats.jobs \
           WHERE project_id = $1 AND kind = $2 AND subject = $3 AND finished_at IS NOT NULL), '-infinity') \
           <= clock_timestamp() - $5 * interval '1 millisecond' \
         ON CONFLICT (project_id, kind, subject) WHERE state IN ('queued', 'running') DO NOTHING \
         RETURNING {COLUMNS}"
    );
    let query = sql(insert).bind(new.project_id.as_str()).bind(new.kind).bind(&new.subject);
    let row = control
        .tx
        .first(query.bind(storable_json(&new.request)).bind(millis(after_ms)).bind(&new.lane))
        .await?;
    row.map(|row| Ok(Enqueued { job: decode(&row)?, attached: false })).transpose()
}

/// Extends the lease and stores the progress. An expired lease is renewed unless another worker has a job in the project and
/// lane by now. A heartbeat proves that this worker can do the job, so the record of workers that passed it on is cleared.
///
/// # Errors
/// Storage faults.
pub async fn heartbeat(
    control: &mut ControlTx,
    id: &str,
    fence: Fence,
    lease_ms: u64,
    progress: &Value,
) -> Result<Heartbeat, Fault> {
    // The subquery names both live states because the partial indexes require it, as in `try_claim`.
    let query = sql("UPDATE pairofcleats.jobs SET \
           heartbeat_at = clock_timestamp(), \
           progress = $4::text::jsonb, \
           lease_until = clock_timestamp() + $3 * interval '1 millisecond', \
           passed_by = '{}', passed_since = NULL, retry_at = NULL \
         WHERE id = $1 AND fence = $2 AND state = 'running' \
         AND (lease_until >= clock_timestamp() OR NOT EXISTS (SELECT 1 FROM pairofcleats.jobs r \
           WHERE r.state IN ('queued', 'running') \
           AND r.project_id = jobs.project_id AND r.lane = jobs.lane AND r.id <> jobs.id \
           AND r.state = 'running' AND r.lease_until >= clock_timestamp())) \
         RETURNING cancel_requested");
    let query = query.bind(id).bind(fence.0).bind(millis(lease_ms)).bind(storable_json(progress));
    Ok(match control.tx.first(query).await? {
        None => Heartbeat::LeaseLost,
        Some(row) if row.try_get("cancel_requested")? => Heartbeat::CancelRequested,
        Some(_) => Heartbeat::Held,
    })
}

/// Ends a job. Returns false if the claim is no longer valid.
///
/// # Errors
/// Storage faults.
pub async fn finish(
    control: &mut ControlTx,
    id: &str,
    fence: Fence,
    outcome: &Outcome,
    progress: &Value,
) -> Result<bool, Fault> {
    let (state, result, error) = match outcome {
        Outcome::Succeeded(result) => (JobState::Succeeded, Some(storable_json(result)), None),
        Outcome::Failed(error) => (JobState::Failed, None, Some(storable_json(error))),
        Outcome::Cancelled => (JobState::Cancelled, None, None),
    };
    let query = sql("UPDATE pairofcleats.jobs SET \
           state = $3, \
           result = $4::text::jsonb, \
           error = $5::text::jsonb, \
           progress = $6::text::jsonb, \
           finished_at = clock_timestamp(), \
           lease_until = NULL \
         WHERE id = $1 AND fence = $2 AND state = 'running'");
    let query = query
        .bind(id)
        .bind(fence.0)
        .bind(state.as_str())
        .bind(result)
        .bind(error)
        .bind(storable_json(progress));
    Ok(control.tx.execute(query).await? == 1)
}

/// Gives an unfinished job back to the queue, with a `note` on what it waits for; the next claim continues it, and this claim
/// does not count as an attempt. A job that was asked to stop becomes `cancelled` instead. Returns false if the claim is no
/// longer valid.
///
/// # Errors
/// Storage faults.
pub async fn release(
    control: &mut ControlTx,
    id: &str,
    fence: Fence,
    note: Option<&str>,
) -> Result<bool, Fault> {
    let query = sql("UPDATE pairofcleats.jobs SET \
           state = CASE WHEN cancel_requested THEN 'cancelled' ELSE 'queued' END, \
           finished_at = CASE WHEN cancel_requested THEN clock_timestamp() END, \
           attempt = attempt - 1, \
           worker = NULL, \
           lease_until = NULL, \
           note = coalesce($3, note) \
         WHERE id = $1 AND fence = $2 AND state = 'running'");
    let note = note.map(|note| storable(note, NOTE_BYTES_MAX));
    Ok(control.tx.execute(query.bind(id).bind(fence.0).bind(note)).await? == 1)
}

/// Cancels a queued job, or asks the worker of a running one to stop at its next heartbeat. Returns the job as it is
/// afterwards, or `None` if it does not exist.
///
/// # Errors
/// Storage faults.
pub async fn request_cancel(control: &mut ControlTx, id: &str) -> Result<Option<Job>, Fault> {
    let text = format!(
        "UPDATE pairofcleats.jobs SET {CANCEL} \
         WHERE id = $1 AND state IN ('queued', 'running') \
         RETURNING {COLUMNS}"
    );
    match control.tx.first(sql(text).bind(id)).await? {
        Some(row) => Ok(Some(decode(&row)?)),
        None => get(control, id).await,
    }
}

/// The job with this id.
///
/// # Errors
/// Storage faults.
pub async fn get(control: &mut ControlTx, id: &str) -> Result<Option<Job>, Fault> {
    let text = format!("SELECT {COLUMNS} FROM pairofcleats.jobs WHERE id = $1");
    let row = control.tx.first(sql(text).bind(id)).await?;
    row.as_ref().map(decode).transpose()
}

/// The newest jobs of a project, newest first; with a `subject`, only those about it.
///
/// # Errors
/// Storage faults.
pub async fn list(
    control: &mut ControlTx,
    project_id: &ProjectId,
    subject: Option<&str>,
    limit: i64,
) -> Result<Vec<Job>, Fault> {
    let text = format!(
        "SELECT {COLUMNS} FROM pairofcleats.jobs \
         WHERE project_id = $1 AND ($2::text IS NULL OR subject = $2) \
         ORDER BY created_at DESC, id LIMIT $3"
    );
    let rows = control.tx.all(sql(text).bind(project_id.as_str()).bind(subject).bind(limit)).await?;
    rows.iter().map(decode).collect()
}

/// The number of jobs of a project that are queued, or running with a valid lease; a job whose lease expired does not count.
pub(crate) async fn unfinished(control: &mut ControlTx, project_id: &ProjectId) -> Result<i64, Fault> {
    let query = sql("SELECT count(*) FROM pairofcleats.jobs WHERE project_id = $1 \
         AND (state = 'queued' OR (state = 'running' AND lease_until >= clock_timestamp()))");
    control.tx.scalar(query.bind(project_id.as_str())).await
}

/// The number of jobs of a project that are running with a valid lease.
pub(crate) async fn running(control: &mut ControlTx, project_id: &ProjectId) -> Result<i64, Fault> {
    let query = sql("SELECT count(*) FROM pairofcleats.jobs \
         WHERE project_id = $1 AND state = 'running' AND lease_until >= clock_timestamp()");
    control.tx.scalar(query.bind(project_id.as_str())).await
}

/// Cancels all jobs of a project as [`request_cancel`] does. Returns how many.
pub(crate) async fn cancel_all(control: &mut ControlTx, project_id: &ProjectId) -> Result<u64, Fault> {
    let query = sql(format!(
        "UPDATE pairofcleats.jobs SET {CANCEL} \
         WHERE project_id = $1 AND state IN ('queued', 'running')"
    ));
    control.tx.execute(query.bind(project_id.as_str())).await
}

/// Deletes all jobs of a project. Returns how many.
pub(crate) async fn remove_all(control: &mut ControlTx, project_id: &ProjectId) -> Result<u64, Fault> {
    let query = sql("DELETE FROM pairofcleats.jobs WHERE project_id = $1");
    control.tx.execute(query.bind(project_id.as_str())).await
}

/// Rows and bytes of a project's jobs that ended at least `days` ago; with a `subject`, only those about it.
///
/// # Errors
/// Storage faults.
pub async fn finished(
    control: &mut ControlTx,
    project_id: &ProjectId,
    subject: Option<&str>,
    days: u32,
) -> Result<RowUsage, Fault> {
    let text = format!(
        "SELECT count(*) AS rows, coalesce(sum(pg_column_size(ROW(j.*))), 0)::int8 AS bytes \
         FROM pairofcleats.jobs j WHERE {FINISHED}"
    );
    let query = sql(text).bind(project_id.as_str()).bind(subject).bind(at_most_a_century(days));
    RowUsage::read(&control.tx.one(query).await?)
}

/// Deletes the jobs that [`finished`] measures.
///
/// # Errors
/// Storage faults.
pub async fn remove_finished(
    control: &mut ControlTx,
    project_id: &ProjectId,
    subject: Option<&str>,
    days: u32,
) -> Result<RowUsage, Fault> {
    let text = format!(
        "WITH deleted AS (DELETE FROM pairofcleats.jobs j WHERE {FINISHED} \
           RETURNING pg_column_size(ROW(j.*)) AS bytes) \
         SELECT count(*) AS rows, coalesce(sum(bytes), 0)::int8 AS bytes FROM deleted"
    );
    let query = sql(text).bind(project_id.as_str()).bind(subject).bind(at_most_a_century(days));
    RowUsage::read(&control.tx.one(query).await?)
}

/// A queued job ends at once, a running one at its worker's next heartbeat.
const CANCEL: &str = "cancel_requested = true, \
    finished_at = CASE WHEN state = 'queued' THEN clock_timestamp() END, \
    state = CASE WHEN state = 'queued' THEN 'cancelled' ELSE state END";

/// Ended jobs of project `$1` and subject `$2` (null: any), at least `$3` days old.
const FINISHED: &str = "j.project_id = $1 AND ($2::text IS NULL OR j.subject = $2) \
    AND j.state IN ('succeeded', 'failed', 'cancelled') \
    AND j.finished_at <= clock_timestamp() - make_interval(days => $3)";

/// Days within the range of an interval.
fn at_most_a_century(days: u32) -> i32 {
    i32::try_from(days.min(36_500)).unwrap_or(36_500)
}
