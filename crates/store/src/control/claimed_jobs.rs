//! Claims: a job has one worker, and a project and lane one running job.

use super::job::{COLUMNS, Job, decode, millis};
use super::locks::AdvisoryLock;
use super::lost_jobs::LOST;
use crate::postgres::{SEARCH, newest, sql};
use crate::transaction::ControlTx;
use contract::Fault;

/// The job to claim.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Claim<'a> {
    /// The job with this id.
    Id(&'a str),
    /// A job of a kind.
    Next(NextJob<'a>),
}

/// Selects a job of a kind: the oldest of the project that was served longest ago.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct NextJob<'a> {
    /// The kind.
    pub kind: &'a str,
    /// Projects in the order in which they were served last; those that are not named go first.
    pub served: &'a [String],
    /// Maximum number of jobs of the kind that the worker runs of one project at a time.
    pub share: i64,
    /// Ids of jobs that are left alone.
    pub except: &'a [String],
}

impl<'a> NextJob<'a> {
    /// The oldest job of a kind.
    #[must_use]
    pub fn oldest(kind: &'a str) -> Self {
        Self { kind, share: i64::MAX, ..Self::default() }
    }
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
    let of_kind = "j.kind = $1 AND j.id <> ALL ($4) AND (SELECT count(*) FROM pairofcleats.jobs r \
           WHERE r.state IN ('queued', 'running') AND r.project_id = j.project_id AND r.kind = j.kind \
           AND r.state = 'running' AND r.worker = $2 AND r.lease_until >= clock_timestamp()) < $5";
    let (condition, value, next) = match claim {
        Claim::Id(id) => {
            ("j.id = $1 AND $4::text[] IS NOT NULL AND $5::int8 IS NOT NULL", id, NextJob::default())
        }
        Claim::Next(next) => (of_kind, next.kind, next),
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
         ORDER BY coalesce(array_position($3::text[], j.project_id), 0), j.created_at, j.id \
         LIMIT 1 FOR UPDATE SKIP LOCKED",
        known = newest(SEARCH)
    );
    let query = sql(candidate).bind(value).bind(worker).bind(next.served).bind(next.except).bind(next.share);
    let Some(row) = control.tx.first(query).await? else {
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
