//! `launch_runs`: one row a run.

use super::hash;
use crate::postgres::{Row, sql};
use crate::project::index_state::Fence;
use crate::transaction::ProjectTx;
use contract::Fault;

/// A run as it is stored. Times are milliseconds since the epoch, UTC.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunRow {
    /// Its id.
    pub run_id: String,
    /// The key of the call that started it.
    pub idempotency_key: Option<String>,
    /// Its configuration, as JSON.
    pub config: String,
    /// Hash of the configuration.
    pub config_hash: [u8; 32],
    /// The product.
    pub product_slug: String,
    /// Its state.
    pub state: String,
    /// The repository.
    pub repository_id: i64,
    /// The commit of the repository.
    pub repo_sha: String,
    /// The site profile.
    pub site_profile: String,
    /// The commit of the site.
    pub site_sha: String,
    /// The tree of the patched site.
    pub site_tree: Option<String>,
    /// Token of the last job that advanced it.
    pub fence: Fence,
    /// Number of its last event.
    pub seq: i32,
    /// Hash of its last event.
    pub head_hash: [u8; 32],
    /// Number of fixes that were begun.
    pub fix_attempts: i16,
    /// `true` if its last report is ok.
    pub report_ok: Option<bool>,
    /// The reason why it waits for its inputs, as JSON.
    pub pending: Option<String>,
    /// The fix in progress, as JSON.
    pub fixing: Option<String>,
    /// Key of the requests that publish it.
    pub publish_key: Option<String>,
    /// The branch on which it is published.
    pub branch: Option<String>,
    /// The published commit.
    pub commit_sha: Option<String>,
    /// Address of the pull request.
    pub pr_url: Option<String>,
    /// Number of the pull request.
    pub pr_number: Option<i64>,
    /// The reason why it failed, as JSON.
    pub failure: Option<String>,
    /// `true` if it was cancelled.
    pub cancel_requested: bool,
    /// Time of its start.
    pub created_ms: i64,
    /// Time of its end.
    pub finished_ms: Option<i64>,
    /// Time of its last event.
    pub updated_ms: i64,
}

/// Conditions on the listed runs.
#[derive(Debug, Clone, Copy, Default)]
pub struct RunFilter<'a> {
    /// Only those of this product.
    pub product_slug: Option<&'a str>,
    /// Only those in this state.
    pub state: Option<&'a str>,
}

const COLUMNS: &str = "run_id, idempotency_key, config, config_hash, product_slug, state, repository_id, repo_sha, site_profile, \
    site_sha, site_tree, fence, seq, head_hash, fix_attempts, report_ok, pending, fixing, publish_key, branch, commit_sha, pr_url, \
    pr_number, failure, cancel_requested, created_ms, finished_ms, updated_ms";

/// States that no state follows.
pub(super) const TERMINAL: &str = "('DONE', 'FAILED', 'CANCELLED')";

/// The run with this id.
pub async fn get(tx: &mut ProjectTx, run_id: &str) -> Result<Option<RunRow>, Fault> {
    let text = format!("SELECT {COLUMNS} FROM {} WHERE run_id = $1", tx.table("launch_runs"));
    let row = tx.tx.first(sql(text).bind(run_id)).await?;
    row.as_ref().map(decode).transpose()
}

/// The run with this id, locked until the transaction ends.
pub async fn lock(tx: &mut ProjectTx, run_id: &str) -> Result<Option<RunRow>, Fault> {
    let text = format!("SELECT {COLUMNS} FROM {} WHERE run_id = $1 FOR UPDATE", tx.table("launch_runs"));
    let row = tx.tx.first(sql(text).bind(run_id)).await?;
    row.as_ref().map(decode).transpose()
}

/// The run that a call with this key started.
pub async fn with_key(tx: &mut ProjectTx, key: &str) -> Result<Option<RunRow>, Fault> {
    let text = format!("SELECT {COLUMNS} FROM {} WHERE idempotency_key = $1", tx.table("launch_runs"));
    let row = tx.tx.first(sql(text).bind(key)).await?;
    row.as_ref().map(decode).transpose()
}

/// At most `limit` runs, the newest first, and of those of one time by id. With `after`, only those that come after the run with this
/// time and id.
pub async fn page(
    tx: &mut ProjectTx,
    filter: RunFilter<'_>,
    after: Option<(i64, &str)>,
    limit: i64,
) -> Result<Vec<RunRow>, Fault> {
    let text = format!(
        "SELECT {COLUMNS} FROM {} \
         WHERE ($1::text IS NULL OR product_slug = $1) AND ($2::text IS NULL OR state = $2) \
         AND ($3::int8 IS NULL OR created_ms < $3 OR (created_ms = $3 AND run_id COLLATE \"C\" > $4)) \
         ORDER BY created_ms DESC, run_id COLLATE \"C\" LIMIT $5",
        tx.table("launch_runs")
    );
    let (time, id) = after.unzip();
    let query = sql(text).bind(filter.product_slug).bind(filter.state).bind(time).bind(id).bind(limit);
    let rows = tx.tx.all(query).await?;
    rows.iter().map(decode).collect()
}

/// The number of runs that have not ended.
pub async fn unfinished(tx: &mut ProjectTx) -> Result<i64, Fault> {
    let text = format!("SELECT count(*) FROM {} WHERE state NOT IN {TERMINAL}", tx.table("launch_runs"));
    tx.tx.scalar(sql(text)).await
}

/// The number of runs in each state that any run is in.
pub async fn count_by_state(tx: &mut ProjectTx) -> Result<Vec<(String, i64)>, Fault> {
    let text = format!(
        "SELECT state, count(*) AS runs FROM {} GROUP BY state ORDER BY state",
        tx.table("launch_runs")
    );
    let rows = tx.tx.all(sql(text)).await?;
    rows.iter().map(|row| Ok((row.try_get("state")?, row.try_get("runs")?))).collect()
}

/// At most `limit` runs that have not ended, the oldest first, and of those of one time by id. With `after`, only those that come after
/// the run with this time and id.
pub async fn unfinished_page(
    tx: &mut ProjectTx,
    after: Option<(i64, &str)>,
    limit: i64,
) -> Result<Vec<RunRow>, Fault> {
    let text = format!(
        "SELECT {COLUMNS} FROM {} WHERE state NOT IN {TERMINAL} \
         AND ($1::int8 IS NULL OR created_ms > $1 OR (created_ms = $1 AND run_id COLLATE \"C\" > $2)) \
         ORDER BY created_ms, run_id COLLATE \"C\" LIMIT $3",
        tx.table("launch_runs")
    );
    let (time, id) = after.unzip();
    let rows = tx.tx.all(sql(text).bind(time).bind(id).bind(limit)).await?;
    rows.iter().map(decode).collect()
}

/// At most `limit` runs on these sites that have pages for people: the newest of each site and product.
pub async fn newest_with_pages(
    tx: &mut ProjectTx,
    site_profiles: &[String],
    limit: i64,
) -> Result<Vec<RunRow>, Fault> {
    let text = format!(
        "SELECT DISTINCT ON (site_profile COLLATE \"C\", product_slug COLLATE \"C\") {COLUMNS} FROM {} \
         WHERE site_profile = ANY($1) AND state IN ('READY_FOR_PR', 'PR_OPENED', 'DONE') \
         ORDER BY site_profile COLLATE \"C\", product_slug COLLATE \"C\", created_ms DESC, run_id COLLATE \"C\" DESC LIMIT $2",
        tx.table("launch_runs")
    );
    let rows = tx.tx.all(sql(text).bind(site_profiles).bind(limit)).await?;
    rows.iter().map(decode).collect()
}

/// At most `limit` runs on a site that were published, or whose publication has begun, the newest first.
pub async fn publishing(tx: &mut ProjectTx, site_profile: &str, limit: i64) -> Result<Vec<RunRow>, Fault> {
    let text = format!(
        "SELECT {COLUMNS} FROM {} WHERE site_profile = $1 AND publish_key IS NOT NULL \
         ORDER BY created_ms DESC, run_id COLLATE \"C\" LIMIT $2",
        tx.table("launch_runs")
    );
    let rows = tx.tx.all(sql(text).bind(site_profile).bind(limit)).await?;
    rows.iter().map(decode).collect()
}

/// Inserts a run; false if there is one with its id or its key.
pub(super) async fn insert(tx: &mut ProjectTx, run: &RunRow) -> Result<bool, Fault> {
    let text = format!(
        "INSERT INTO {} ({COLUMNS}) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19, \
           $20, $21, $22, $23, $24, $25, $26, $27, $28) \
         ON CONFLICT DO NOTHING",
        tx.table("launch_runs")
    );
    let query = sql(text).bind(&run.run_id).bind(run.idempotency_key.as_deref()).bind(&run.config);
    let query = query.bind(run.config_hash.as_slice()).bind(&run.product_slug).bind(&run.state);
    let query = query.bind(run.repository_id).bind(&run.repo_sha).bind(&run.site_profile);
    let query = query.bind(&run.site_sha).bind(run.site_tree.as_deref()).bind(run.fence.0).bind(run.seq);
    let query = query.bind(run.head_hash.as_slice()).bind(run.fix_attempts).bind(run.report_ok);
    let query = query.bind(run.pending.as_deref()).bind(run.fixing.as_deref());
    let query = query.bind(run.publish_key.as_deref()).bind(run.branch.as_deref());
    let query = query.bind(run.commit_sha.as_deref()).bind(run.pr_url.as_deref()).bind(run.pr_number);
    let query = query.bind(run.failure.as_deref()).bind(run.cancel_requested).bind(run.created_ms);
    Ok(tx.execute(query.bind(run.finished_ms).bind(run.updated_ms)).await? == 1)
}

/// Stores the changes that events made to a run whose last event had the number `before`; returns `false` if it has a different one by now,
/// or a later job advances it.
pub(super) async fn update(tx: &mut ProjectTx, run: &RunRow, before: i32) -> Result<bool, Fault> {
    let text = format!(
        "UPDATE {} SET state = $4, site_tree = $5, fence = $2, seq = $6, head_hash = $7, fix_attempts = $8, report_ok = $9, \
           pending = $10, fixing = $11, publish_key = $12, branch = $13, commit_sha = $14, pr_url = $15, pr_number = $16, \
           failure = $17, cancel_requested = $18, finished_ms = $19, updated_ms = $20, site_sha = $21 \
         WHERE run_id = $1 AND fence <= $2 AND seq = $3",
        tx.table("launch_runs")
    );
    let query = sql(text).bind(&run.run_id).bind(run.fence.0).bind(before).bind(&run.state);
    let query = query.bind(run.site_tree.as_deref()).bind(run.seq).bind(run.head_hash.as_slice());
    let query = query.bind(run.fix_attempts).bind(run.report_ok).bind(run.pending.as_deref());
    let query = query.bind(run.fixing.as_deref()).bind(run.publish_key.as_deref());
    let query = query.bind(run.branch.as_deref()).bind(run.commit_sha.as_deref());
    let query = query.bind(run.pr_url.as_deref()).bind(run.pr_number).bind(run.failure.as_deref());
    let query = query.bind(run.cancel_requested).bind(run.finished_ms).bind(run.updated_ms);
    Ok(tx.execute(query.bind(&run.site_sha)).await? == 1)
}

fn decode(row: &Row) -> Result<RunRow, Fault> {
    Ok(RunRow {
        run_id: row.try_get("run_id")?,
        idempotency_key: row.try_get("idempotency_key")?,
        config: row.try_get("config")?,
        config_hash: hash(row, "config_hash")?,
        product_slug: row.try_get("product_slug")?,
        state: row.try_get("state")?,
        repository_id: row.try_get("repository_id")?,
        repo_sha: row.try_get("repo_sha")?,
        site_profile: row.try_get("site_profile")?,
        site_sha: row.try_get("site_sha")?,
        site_tree: row.try_get("site_tree")?,
        fence: Fence(row.try_get("fence")?),
        seq: row.try_get("seq")?,
        head_hash: hash(row, "head_hash")?,
        fix_attempts: row.try_get("fix_attempts")?,
        report_ok: row.try_get("report_ok")?,
        pending: row.try_get("pending")?,
        fixing: row.try_get("fixing")?,
        publish_key: row.try_get("publish_key")?,
        branch: row.try_get("branch")?,
        commit_sha: row.try_get("commit_sha")?,
        pr_url: row.try_get("pr_url")?,
        pr_number: row.try_get("pr_number")?,
        failure: row.try_get("failure")?,
        cancel_requested: row.try_get("cancel_requested")?,
        created_ms: row.try_get("created_ms")?,
        finished_ms: row.try_get("finished_ms")?,
        updated_ms: row.try_get("updated_ms")?,
    })
}
