//! Jobs that their worker lost: it died, was cut off, made no progress, or they were taken from it.

use crate::door::ControlTx;
use crate::postgres::sql;
use crate::project::index_state::Fence;
use contract::{ErrorCode, Fault, ProjectId};

/// A job whose worker died this often is given up: it kills its workers.
const ATTEMPTS_MAX: i32 = 5;

/// The note of a job whose lease ran out.
pub(super) const LOST: &str = "The process that ran it ended, or was cut off from the database, without giving it back. \
    Whoever takes it up goes on from what was committed.";

/// Puts right what dead workers left: cancelled where that was asked for, failed after too many attempts,
/// queued again otherwise. Returns how many.
///
/// # Errors
/// Storage faults.
pub async fn requeue_expired(door: &mut ControlTx) -> Result<u64, Fault> {
    let query = sql("UPDATE pairofcleats.jobs SET worker = NULL, lease_until = NULL, note = $3, \
         state = CASE WHEN cancel_requested THEN 'cancelled' WHEN attempt >= $1 THEN 'failed' ELSE 'queued' END, \
         error = CASE WHEN NOT cancel_requested AND attempt >= $1 THEN $2::text::jsonb ELSE error END, \
         finished_at = CASE WHEN cancel_requested OR attempt >= $1 THEN clock_timestamp() END \
         WHERE id IN (SELECT id FROM pairofcleats.jobs WHERE state = 'running' AND lease_until < clock_timestamp() \
         FOR UPDATE SKIP LOCKED)");
    let error = serde_json::json!({
        "code": ErrorCode::Internal.as_str(),
        "message": format!("The run was given up: its process died {ATTEMPTS_MAX} times."),
        "hint": "Look at the server's log for what killed it (memory, for example), then start it again.",
        "retryable": false,
    });
    let lost = door.tx.execute(query.bind(ATTEMPTS_MAX).bind(error.to_string()).bind(LOST)).await?;
    if lost > 0 {
        tracing::warn!(jobs = lost, "runs whose process ended or was cut off go back to the queue");
    }
    Ok(lost)
}

/// Gives a job back that makes no progress here: to the queue with `note`, or failed with it after too many attempts. False
/// when it was no longer this claim's.
///
/// # Errors
/// Storage faults.
pub async fn give_up(door: &mut ControlTx, id: &str, fence: Fence, note: &str) -> Result<bool, Fault> {
    let query = sql("UPDATE pairofcleats.jobs SET worker = NULL, lease_until = NULL, note = $4, \
         state = CASE WHEN cancel_requested THEN 'cancelled' WHEN attempt >= $3 THEN 'failed' ELSE 'queued' END, \
         error = CASE WHEN NOT cancel_requested AND attempt >= $3 THEN $5::text::jsonb ELSE error END, \
         finished_at = CASE WHEN cancel_requested OR attempt >= $3 THEN clock_timestamp() END \
         WHERE id = $1 AND fence = $2 AND state = 'running'");
    let error = serde_json::json!({
        "code": ErrorCode::ToolTimeout.as_str(),
        "message": format!("The run was given up after {ATTEMPTS_MAX} attempts. Of the last one: {note}"),
        "hint": "Look at the server's log and at the disk that holds the repository, then start it again.",
        "retryable": true,
    });
    let query = query.bind(id).bind(fence.0).bind(ATTEMPTS_MAX).bind(note).bind(error.to_string());
    Ok(door.tx.execute(query).await? == 1)
}

/// Takes the project's running jobs from their workers and queues them again.
pub(crate) async fn take_away(door: &mut ControlTx, id: &ProjectId) -> Result<(), Fault> {
    let query = sql(
        "UPDATE pairofcleats.jobs SET state = CASE WHEN cancel_requested THEN 'cancelled' ELSE 'queued' END, \
         finished_at = CASE WHEN cancel_requested THEN clock_timestamp() END, attempt = attempt - 1, worker = NULL, \
         lease_until = NULL WHERE project_id = $1 AND state = 'running'",
    );
    door.tx.execute(query.bind(id.as_str())).await?;
    Ok(())
}
