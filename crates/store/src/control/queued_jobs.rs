//! Looks at the queue: what a job waits for, and what is asked for.

use super::jobs::{COLUMNS, Job, decode};
use crate::door::ControlTx;
use crate::postgres::sql;
use contract::{Fault, ProjectId};

/// The job that a queued one waits for: the one of its project that a worker has, else the oldest queued one that was asked for
/// before it.
///
/// # Errors
/// Storage faults.
pub async fn ahead(door: &mut ControlTx, job: &Job) -> Result<Option<Job>, Fault> {
    let text = format!(
        "SELECT {COLUMNS} FROM pairofcleats.jobs j WHERE project_id = $1 AND id <> $2 \
         AND ((state = 'running' AND lease_until >= clock_timestamp()) OR (state = 'queued' AND EXISTS \
         (SELECT 1 FROM pairofcleats.jobs own WHERE own.id = $2 AND (j.created_at, j.id) < (own.created_at, own.id)))) \
         ORDER BY state = 'running' DESC, created_at, id LIMIT 1"
    );
    let row = door.tx.first(sql(text).bind(&job.project_id).bind(&job.id)).await?;
    row.as_ref().map(decode).transpose()
}

/// What the queued and running jobs of a project are about, oldest first; at most 1,000.
///
/// # Errors
/// Storage faults.
pub async fn live_subjects(door: &mut ControlTx, project_id: &ProjectId) -> Result<Vec<String>, Fault> {
    let query = sql("SELECT subject FROM pairofcleats.jobs WHERE project_id = $1 \
         AND state IN ('queued', 'running') ORDER BY created_at, id LIMIT 1000");
    let rows = door.tx.all(query.bind(project_id.as_str())).await?;
    rows.iter().map(|row| row.try_get(0)).collect()
}
