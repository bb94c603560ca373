//! `triage_records`: findings, and decisions about them.

use crate::postgres::{Row, indexable, sql};
use crate::transaction::ProjectTx;
use contract::Fault;

/// A record as it is stored. Times are milliseconds since the epoch, UTC.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RecordRow {
    /// 40 hexadecimal digits.
    pub id: String,
    /// `true` if it is a decision rather than a finding.
    pub is_decision: bool,
    /// For a decision, the finding that it is about.
    pub finding_id: Option<String>,
    /// For a decision, its status.
    pub status: Option<String>,
    /// For a decision, when it expires.
    pub expires_ms: Option<i64>,
    /// Time when it was first stored.
    pub created_ms: i64,
    /// Time of its last change.
    pub updated_ms: i64,
    /// For a finding, when a report of its tool first lacked it or called it fixed.
    pub fixed_ms: Option<i64>,
    /// All other fields, as JSON.
    pub record: String,
    /// For a finding, the latest decision that has not expired.
    pub current: Option<Current>,
}

/// The decision in force for a finding.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Current {
    /// Id of the decision.
    pub id: String,
    /// Status that was decided.
    pub status: String,
    /// Time of its expiry.
    pub expires_ms: Option<i64>,
}

/// The fields, folded to lower case, that relate decisions to findings. Vulnerability and package are indexed, so only as much of them is
/// stored and compared as an index holds.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub struct Related {
    /// Id of the vulnerability.
    pub vuln: Option<String>,
    /// Name of the package.
    pub package: Option<String>,
    /// Name of the service.
    pub service: Option<String>,
    /// Name of the environment.
    pub env: Option<String>,
    /// Name of the repository.
    pub repo: Option<String>,
}

/// The claims of reports about a finding, used to recognise it in later ones.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Identity {
    /// Hash of format, tool and category of the report.
    pub scope: String,
    /// Hashes, the strongest claim first; the last one is of all facts together.
    pub claims: Vec<String>,
}

/// A record to store.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RecordWrite {
    /// 40 hexadecimal digits; unique within a batch.
    pub id: String,
    /// For a decision, the finding that it is about. A record without one is a finding.
    pub finding_id: Option<String>,
    /// For a decision, its status.
    pub status: Option<String>,
    /// For a decision, when it expires.
    pub expires_ms: Option<i64>,
    /// The fields that relate it to other records.
    pub related: Related,
    /// For a finding, the claims of its report about it.
    pub identity: Option<Identity>,
    /// For a finding, whether its report says that it is fixed.
    pub is_fixed: bool,
    /// Hash of `record`. If it equals the stored one, the record is not written.
    pub content_hash: [u8; 32],
    /// All other fields, as JSON without NUL characters.
    pub record: String,
}

const COLUMNS: &str = "r.id, r.record_type = 'decision' AS is_decision, r.finding_id, r.status, r.expires_ms, r.created_ms, \
    r.updated_ms, r.fixed_ms, r.record, d.id AS current_id, d.status AS current_status, d.expires_ms AS current_expires_ms";

/// The FROM clause for records `r`, each with its latest decision `d` that has not expired at `$1`.
pub(super) fn with_current(tx: &ProjectTx) -> String {
    let table = tx.table("triage_records");
    format!(
        "{table} r \
         LEFT JOIN LATERAL (SELECT c.id, c.status, c.expires_ms FROM {table} c WHERE c.finding_id = r.id \
           AND c.record_type = 'decision' AND (c.expires_ms IS NULL OR c.expires_ms > $1) \
           ORDER BY c.created_ms DESC, c.id LIMIT 1) d ON true"
    )
}

/// Stores new records and those whose content changed, which keep their creation time. Returns the ids of these, each with
/// whether it is new; of the others, at most the claims are stored again.
pub async fn put(
    tx: &mut ProjectTx,
    records: &[RecordWrite],
    now_ms: i64,
) -> Result<Vec<(String, bool)>, Fault> {
    const CHANGED: &str =
        "t.content_hash <> excluded.content_hash OR (t.fixed_ms IS NULL) <> (excluded.fixed_ms IS NULL)";
    let text = format!(
        "WITH written AS (INSERT INTO {} AS t (id, record_type, finding_id, status, expires_ms, vuln, package, \
           service, env, repo, content_hash, created_ms, updated_ms, record, scope, claims, fixed_ms) \
         SELECT w.id, CASE WHEN w.finding_id IS NULL THEN 'finding' ELSE 'decision' END, w.finding_id, \
           w.status, w.expires_ms, w.vuln, w.package, w.service, w.env, w.repo, w.content_hash, $1::int8, $1::int8, w.record, \
           w.scope, string_to_array(w.claims, ' '), CASE WHEN w.is_fixed THEN $1::int8 END \
         FROM unnest($2::text[], $3::text[], $4::text[], $5::int8[], $6::text[], $7::text[], $8::text[], \
           $9::text[], $10::text[], $11::bytea[], $12::text[], $13::text[], $14::text[], $15::bool[]) AS w (id, \
           finding_id, status, expires_ms, vuln, package, service, env, repo, content_hash, record, scope, \
           claims, is_fixed) \
         ORDER BY w.id \
         ON CONFLICT (id) DO UPDATE SET status = excluded.status, expires_ms = excluded.expires_ms, \
           vuln = excluded.vuln, package = excluded.package, service = excluded.service, env = excluded.env, \
           repo = excluded.repo, content_hash = excluded.content_hash, record = excluded.record, \
           scope = excluded.scope, claims = excluded.claims, \
           updated_ms = CASE WHEN {CHANGED} THEN excluded.updated_ms ELSE t.updated_ms END, \
           fixed_ms = CASE WHEN excluded.fixed_ms IS NOT NULL THEN coalesce(t.fixed_ms, excluded.fixed_ms) END \
         WHERE {CHANGED} OR t.scope IS DISTINCT FROM excluded.scope OR t.claims IS DISTINCT FROM excluded.claims \
           OR t.repo IS DISTINCT FROM excluded.repo \
         RETURNING t.id, t.xmax = 0 AS is_new, t.updated_ms = $1::int8 AS is_changed) \
         SELECT id, is_new FROM written WHERE is_changed",
        tx.table("triage_records")
    );
    fn column<'a, T>(records: &'a [RecordWrite], value: impl Fn(&'a RecordWrite) -> T) -> Vec<T> {
        records.iter().map(value).collect()
    }
    let claims = |record: &RecordWrite| record.identity.as_ref().map(|identity| identity.claims.join(" "));
    let query = sql(text)
        .bind(now_ms)
        .bind(column(records, |r| r.id.as_str()))
        .bind(column(records, |r| r.finding_id.as_deref()))
        .bind(column(records, |r| r.status.as_deref()))
        .bind(column(records, |r| r.expires_ms))
        .bind(column(records, |r| r.related.vuln.as_deref().map(indexable)))
        .bind(column(records, |r| r.related.package.as_deref().map(indexable)))
        .bind(column(records, |r| r.related.service.as_deref()))
        .bind(column(records, |r| r.related.env.as_deref()))
        .bind(column(records, |r| r.related.repo.as_deref()))
        .bind(column(records, |r| r.content_hash.as_slice()))
        .bind(column(records, |r| r.record.as_str()))
        .bind(column(records, |r| r.identity.as_ref().map(|identity| identity.scope.as_str())))
        .bind(column(records, claims))
        .bind(column(records, |r| r.is_fixed));
    let rows = tx.tx.all(query).await?;
    rows.iter().map(|row| Ok((row.try_get("id")?, row.try_get("is_new")?))).collect()
}

/// Returns `true` if there are any records.
pub async fn any(tx: &mut ProjectTx) -> Result<bool, Fault> {
    let text = format!("SELECT EXISTS (SELECT 1 FROM {})", tx.table("triage_records"));
    tx.tx.scalar(sql(text)).await
}

/// A record, with its decision in force at `now_ms`.
pub async fn get(tx: &mut ProjectTx, id: &str, now_ms: i64) -> Result<Option<RecordRow>, Fault> {
    let text = format!("SELECT {COLUMNS} FROM {} WHERE r.id = $2", with_current(tx));
    let row = tx.tx.first(sql(text).bind(now_ms).bind(id)).await?;
    row.as_ref().map(decode).transpose()
}

/// A page of at most `limit` records after the id `after`, sorted by id, with their decisions in force at `now_ms`.
pub async fn page(tx: &mut ProjectTx, after: &str, limit: i64, now_ms: i64) -> Result<Vec<RecordRow>, Fault> {
    let text = format!("SELECT {COLUMNS} FROM {} WHERE r.id > $2 ORDER BY r.id LIMIT $3", with_current(tx));
    let rows = tx.tx.all(sql(text).bind(now_ms).bind(after).bind(limit)).await?;
    rows.iter().map(decode).collect()
}

/// Decisions that are relevant to a finding, the most relevant first, and the latest first among equally relevant ones. In this
/// order: decisions about the finding itself; about the same vulnerability or package in the same service and environment;
/// about these elsewhere; about anything else in that service and environment.
pub async fn history(
    tx: &mut ProjectTx,
    finding_id: &str,
    related: &Related,
    limit: i64,
) -> Result<Vec<RecordRow>, Fault> {
    let text = format!(
        "SELECT r.id, true AS is_decision, r.finding_id, r.status, r.expires_ms, r.created_ms, r.updated_ms, \
           r.fixed_ms, r.record, NULL::text AS current_id, NULL::text AS current_status, \
           NULL::int8 AS current_expires_ms \
         FROM {} r \
         WHERE r.record_type = 'decision' AND (r.finding_id = $1 OR r.vuln = $2 OR r.package = $3 \
           OR (r.service = $4 AND r.env = $5)) \
         ORDER BY CASE WHEN r.finding_id = $1 THEN 0 WHEN r.service IS DISTINCT FROM $4 OR r.env IS DISTINCT \
           FROM $5 THEN CASE WHEN r.vuln = $2 THEN 3 ELSE 4 END WHEN r.vuln = $2 THEN 1 WHEN r.package = $3 \
           THEN 2 ELSE 5 END, r.created_ms DESC, r.id \
         LIMIT $6",
        tx.table("triage_records")
    );
    let (vuln, package) = (related.vuln.as_deref().map(indexable), related.package.as_deref().map(indexable));
    let query = sql(text).bind(finding_id).bind(vuln).bind(package);
    let query = query.bind(related.service.as_deref()).bind(related.env.as_deref()).bind(limit);
    let rows = tx.tx.all(query).await?;
    rows.iter().map(decode).collect()
}

pub(super) fn decode(row: &Row) -> Result<RecordRow, Fault> {
    let current: (Option<String>, Option<String>) =
        (row.try_get("current_id")?, row.try_get("current_status")?);
    let current_expires_ms = row.try_get("current_expires_ms")?;
    Ok(RecordRow {
        id: row.try_get("id")?,
        is_decision: row.try_get("is_decision")?,
        finding_id: row.try_get("finding_id")?,
        status: row.try_get("status")?,
        expires_ms: row.try_get("expires_ms")?,
        created_ms: row.try_get("created_ms")?,
        updated_ms: row.try_get("updated_ms")?,
        fixed_ms: row.try_get("fixed_ms")?,
        record: row.try_get("record")?,
        current: current.0.zip(current.1).map(|(id, status)| Current {
            id,
            status,
            expires_ms: current_expires_ms,
        }),
    })
}
