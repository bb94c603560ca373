//! Claims: a job has one worker, and a project and lane one running job.

use super::job::{COLUMNS, Job, decode, millis};
use super::locks::AdvisoryLock;
use super::lost_jobs::LOST;
use crate::postgres::{SEARCH, newest, sql};
use crate::transaction::ControlTx;
use contract::Fault;

/// Which job to claim.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Claim<'a> {
    /// The job with this id.
    Id(&'a str),
    /// The oldest job of this kind.
    Kind(&'a str),
}

/// Claims a job that is queued or whose lease has expired, unless another job in its project and lane is running, `worker`
/// passed it on recently, or a newer program migrated the project. Returns `None` if there is nothing to claim.
///
/// # Errors
/// Storage faults.
pub async fn try_claim(
    control: &mut ControlTx,
    claim: Claim<'_>,
    worker: &str,
    lease_ms: u64,
) -> Result<Option<Job>, Fault> {
    let (condition, value) = match claim {
        Claim::Id(id) => ("j.id = $1", id),
        Claim::Kind(kind) => ("j.kind = $1", kind),
    };
    // Every subquery names the live states, because the partial indexes, which contain no finished job, require it.
    let candidate = format!(
        "SELECT j.id, j.project_id, j.lane FROM pairofcleats.jobs j \
         WHERE {condition} AND j.state IN ('queued', 'running') AND NOT j.cancel_requested \
         AND (j.state = 'queued' OR j.lease_until < clock_timestamp()) \
         AND (j.retry_at IS NULL OR j.retry_at <= clock_timestamp() OR $2 <> ALL (j.passed_by)) \
         AND NOT EXISTS (SELECT 1 FROM pairofcleats.jobs r WHERE r.state IN ('queued', 'running') \
           AND r.project_id = j.project_id AND r.lane = j.lane AND r.id <> j.id \
           AND r.state = 'running' AND r.lease_until >= clock_timestamp()) \
         AND NOT EXISTS (SELECT 1 FROM pairofcleats.projects p \
           WHERE p.id = j.project_id AND p.search_version > {known}) \
         ORDER BY j.created_at, j.id LIMIT 1 FOR UPDATE SKIP LOCKED",
        known = newest(SEARCH)
    );
    let Some(row) = control.tx.first(sql(candidate).bind(value).bind(worker)).await? else {
        return Ok(None);
    };
    let id: String = row.try_get("id")?;
    let (project_id, lane): (String, String) = (row.try_get("project_id")?, row.try_get("lane")?);
    // Not while the project is being deleted or its model is being changed. Of two workers that selected different jobs in one
    // project and lane, one continues.
    if !AdvisoryLock::Claims(&project_id).try_share(control).await?
        || !AdvisoryLock::Lane(&project_id, &lane).try_acquire(control).await?
    {
        return Ok(None);
    }
    let take = format!(
        "UPDATE pairofcleats.jobs SET \
           note = CASE WHEN state = 'running' THEN $5 ELSE note END, \
           state = 'running', \
           worker = $2, \
           attempt = attempt + 1, \
           fence = nextval('pairofcleats.fences'), \
           heartbeat_at = clock_timestamp(), \
           lease_until = clock_timestamp() + $3 * interval '1 millisecond', \
           started_at = coalesce(started_at, clock_timestamp()) \
         WHERE id = $1 AND NOT EXISTS (SELECT 1 FROM pairofcleats.jobs r WHERE r.state IN ('queued', 'running') \
           AND r.project_id = $4 AND r.lane = $6 AND r.id <> $1 \
           AND r.state = 'running' AND r.lease_until >= clock_timestamp()) \
         RETURNING {COLUMNS}"
    );
    let query =
        sql(take).bind(&id).bind(worker).bind(millis(lease_ms)).bind(&project_id).bind(LOST).bind(&lane);
    let row = control.tx.first(query).await?;
    row.as_ref().map(decode).transpose()
}
