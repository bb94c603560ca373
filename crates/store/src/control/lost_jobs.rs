//! Jobs whose worker lost them: it died, was disconnected, made no progress, cannot execute them, or they were taken away.

use serde_json::Value;

use super::job::{NOTE_BYTES_MAX, millis};
use crate::postgres::{sql, storable, storable_json};
use crate::project::index_state::Fence;
use crate::transaction::ControlTx;
use contract::{ErrorCode, Fault, ProjectId};

/// Number of attempts after which a job fails, because it probably kills its workers.
pub const ATTEMPTS_MAX: i32 = 5;

/// The note of a job whose lease expired.
pub(super) const LOST: &str = "The process that ran it ended, or lost its database connection, without giving it back. \
    The next worker continues from what was committed.";

/// Maximum number of workers remembered for having passed a job on; the oldest are forgotten first.
const PASSED_BY_MAX: i32 = 100;

/// Limits on the time that a job waits for a worker that can execute it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PassLimits {
    /// Shortest time in milliseconds before a worker claims a job again that it passed on. Each wait is as long as the time
    /// since the job was first passed on.
    pub retry_ms_min: u64,
    /// Longest wait in milliseconds.
    pub retry_ms_max: u64,
    /// Time in milliseconds after which the job fails if no worker could execute it.
    pub give_up_ms: u64,
}

/// Ends or requeues jobs whose lease expired: cancelled if that was requested, failed after too many attempts,
/// otherwise queued. Returns how many.
///
/// # Errors
/// Storage faults.
pub async fn requeue_expired(control: &mut ControlTx) -> Result<u64, Fault> {
    let query = sql("UPDATE pairofcleats.jobs SET \
           worker = NULL, \
           lease_until = NULL, \
           note = $3, \
           state = CASE WHEN cancel_requested THEN 'cancelled' WHEN attempt >= $1 THEN 'failed' ELSE 'queued' END, \
           error = CASE WHEN NOT cancel_requested AND attempt >= $1 THEN $2::text::jsonb ELSE error END, \
           finished_at = CASE WHEN cancel_requested OR attempt >= $1 THEN clock_timestamp() END \
         WHERE id IN (SELECT id FROM pairofcleats.jobs \
           WHERE state = 'running' AND lease_until < clock_timestamp() FOR UPDATE SKIP LOCKED)");
    let error = serde_json::json!({
        "code": ErrorCode::Internal.as_str(),
        "message": format!("The run failed: its process died {ATTEMPTS_MAX} times."),
        "hint": "Look in the server's log for the cause (memory, for example), then start it again.",
        "retryable": false,
    });
    let lost = control.tx.execute(query.bind(ATTEMPTS_MAX).bind(error.to_string()).bind(LOST)).await?;
    if lost > 0 {
        tracing::warn!(jobs = lost, "ended or requeued jobs whose lease expired");
    }
    Ok(lost)
}

/// Gives back a job that makes no progress: to the queue with `note`, or failed with it after too many attempts. Returns false
/// if the claim is no longer valid.
///
/// # Errors
/// Storage faults.
pub async fn give_back_stalled(
    control: &mut ControlTx,
    id: &str,
    fence: Fence,
    note: &str,
) -> Result<bool, Fault> {
    let query = sql("UPDATE pairofcleats.jobs SET \
           worker = NULL, \
           lease_until = NULL, \
           note = $4, \
           state = CASE WHEN cancel_requested THEN 'cancelled' WHEN attempt >= $3 THEN 'failed' ELSE 'queued' END, \
           error = CASE WHEN NOT cancel_requested AND attempt >= $3 THEN $5::text::jsonb ELSE error END, \
           finished_at = CASE WHEN cancel_requested OR attempt >= $3 THEN clock_timestamp() END \
         WHERE id = $1 AND fence = $2 AND state = 'running'");
    let error = serde_json::json!({
        "code": ErrorCode::ToolTimeout.as_str(),
        "message": format!("The run failed after {ATTEMPTS_MAX} attempts. The last attempt: {note}"),
        "hint": "Check the server's log and the disk that holds the repository, then start it again.",
        "retryable": true,
    });
    let query = query
        .bind(id)
        .bind(fence.0)
        .bind(ATTEMPTS_MAX)
        .bind(storable(note, NOTE_BYTES_MAX))
        .bind(storable_json(&error));
    Ok(control.tx.execute(query).await? == 1)
}

/// Gives back a job that this worker cannot execute but another may: to the queue with `note`, or failed with `error` if no
/// worker could for too long. Other workers may claim it at once. This claim does not count as an attempt. Returns false if the
/// claim is no longer valid.
///
/// # Errors
/// Storage faults.
pub async fn pass_on(
    control: &mut ControlTx,
    id: &str,
    fence: Fence,
    (note, error): (&str, &Value),
    limits: PassLimits,
) -> Result<bool, Fault> {
    // Milliseconds since it was first passed on.
    let elapsed =
        "extract(epoch FROM clock_timestamp() - coalesce(passed_since, clock_timestamp()))::float8 * 1000";
    let text = format!(
        "UPDATE pairofcleats.jobs SET \
           state = CASE WHEN cancel_requested THEN 'cancelled' WHEN {elapsed} >= $7 THEN 'failed' ELSE 'queued' END, \
           error = CASE WHEN NOT cancel_requested AND {elapsed} >= $7 THEN $4::text::jsonb ELSE error END, \
           finished_at = CASE WHEN cancel_requested OR {elapsed} >= $7 THEN clock_timestamp() END, \
           note = $3, \
           attempt = attempt - 1, \
           worker = NULL, \
           lease_until = NULL, \
           passed_by = (array_append(array_remove(passed_by, worker), worker))\
             [greatest(1, cardinality(passed_by) + 2 - {PASSED_BY_MAX}):], \
           passed_since = coalesce(passed_since, clock_timestamp()), \
           retry_at = clock_timestamp() + least($6, greatest($5, {elapsed})) * interval '1 millisecond' \
         WHERE id = $1 AND fence = $2 AND state = 'running'"
    );
    let query =
        sql(text).bind(id).bind(fence.0).bind(storable(note, NOTE_BYTES_MAX)).bind(storable_json(error));
    let query = query.bind(millis(limits.retry_ms_min)).bind(millis(limits.retry_ms_max));
    Ok(control.tx.execute(query.bind(millis(limits.give_up_ms))).await? == 1)
}

/// Takes the project's running jobs from their workers and requeues them.
pub(crate) async fn requeue_running(control: &mut ControlTx, id: &ProjectId) -> Result<(), Fault> {
    let query = sql("UPDATE pairofcleats.jobs SET \
           state = CASE WHEN cancel_requested THEN 'cancelled' ELSE 'queued' END, \
           finished_at = CASE WHEN cancel_requested THEN clock_timestamp() END, \
           attempt = attempt - 1, \
           worker = NULL, \
           lease_until = NULL \
         WHERE project_id = $1 AND state = 'running'");
    control.tx.execute(query.bind(id.as_str())).await?;
    Ok(())
}
