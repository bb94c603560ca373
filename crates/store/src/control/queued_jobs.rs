//! Queries on the queue: the waiting jobs, the jobs that they wait for, and marks that show progress.

use super::job::{COLUMNS, Job, decode};
use crate::postgres::sql;
use crate::transaction::ControlTx;
use contract::{Fault, ProjectId};

/// Maximum number of subjects that [`live_subjects`] returns.
const SUBJECTS_MAX: i64 = 1000;

/// The job that a queued one waits for: the running one of its project and lane, else the oldest one enqueued before it.
///
/// # Errors
/// Storage faults.
pub async fn ahead(control: &mut ControlTx, job: &Job) -> Result<Option<Job>, Fault> {
    let text = format!(
        "SELECT {COLUMNS} FROM pairofcleats.jobs j \
         WHERE project_id = $1 AND lane = $3 AND id <> $2 AND state IN ('queued', 'running') \
         AND ((state = 'running' AND lease_until >= clock_timestamp()) \
           OR (state = 'queued' AND EXISTS (SELECT 1 FROM pairofcleats.jobs own \
             WHERE own.id = $2 AND (j.created_at, j.id) < (own.created_at, own.id)))) \
         ORDER BY state = 'running' DESC, created_at, id LIMIT 1"
    );
    let row = control.tx.first(sql(text).bind(&job.project_id).bind(&job.id).bind(&job.lane)).await?;
    row.as_ref().map(decode).transpose()
}

/// The subjects of a project's queued and running jobs, oldest first; at most 1,000.
///
/// # Errors
/// Storage faults.
pub async fn live_subjects(control: &mut ControlTx, project_id: &ProjectId) -> Result<Vec<String>, Fault> {
    let query = sql("SELECT subject FROM pairofcleats.jobs \
         WHERE project_id = $1 AND state IN ('queued', 'running') \
         ORDER BY created_at, id LIMIT $2");
    control.tx.scalars(query.bind(project_id.as_str()).bind(SUBJECTS_MAX)).await
}

/// The state of some kinds of jobs. If it differs from an earlier one, a job was queued, began or ended meanwhile.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct QueueMark {
    /// The fence token of the last claim.
    fence: i64,
    /// Number of live jobs.
    live: i64,
    /// Combined hash of the ids and states of these jobs.
    states: i64,
}

/// Returns the state of these kinds of jobs in one small read, which covers only the queue, not ended jobs.
///
/// # Errors
/// Storage faults.
pub async fn queue_mark(control: &mut ControlTx, kinds: &[&str]) -> Result<QueueMark, Fault> {
    let query = sql("SELECT (SELECT last_value FROM pairofcleats.fences) AS fence, count(*) AS live, \
         coalesce(bit_xor(hashtextextended(id || state, 0)), 0) AS states \
         FROM pairofcleats.jobs WHERE kind = ANY($1) AND state IN ('queued', 'running')");
    let kinds: Vec<String> = kinds.iter().map(|kind| (*kind).to_owned()).collect();
    let row = control.tx.one(query.bind(kinds)).await?;
    Ok(QueueMark { fence: row.try_get("fence")?, live: row.try_get("live")?, states: row.try_get("states")? })
}
