//! `triage_records`: findings, and decisions about them.

use crate::postgres::Row;

use crate::door::ProjectTx;
use crate::postgres::sql;
use contract::Fault;

/// A record as it is stored. Times are milliseconds since the epoch, UTC.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RecordRow {
    /// 40 hexadecimal digits.
    pub id: String,
    /// Whether it is a decision rather than a finding.
    pub is_decision: bool,
    /// Of a decision: the finding it is about.
    pub finding_id: Option<String>,
    /// Of a decision: what was decided.
    pub status: Option<String>,
    /// Of a decision: when it ends.
    pub expires_ms: Option<i64>,
    /// When it was first stored.
    pub created_ms: i64,
    /// When it last changed.
    pub updated_ms: i64,
    /// All else, as JSON.
    pub record: String,
    /// Of a finding: the latest decision that has not expired.
    pub current: Option<Current>,
}

/// The decision that holds for a finding.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Current {
    /// The decision's id.
    pub id: String,
    /// What was decided.
    pub status: String,
    /// When it ends.
    pub expires_ms: Option<i64>,
}

/// What relates decisions to findings, folded.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Related {
    /// The vulnerability's id.
    pub vuln: Option<String>,
    /// The package's name.
    pub package: Option<String>,
    /// The service.
    pub service: Option<String>,
    /// The environment.
    pub env: Option<String>,
}

/// A record to be stored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RecordWrite {
    /// 40 hexadecimal digits; at most once in a statement.
    pub id: String,
    /// Of a decision: the finding it is about. A record without one is a finding.
    pub finding_id: Option<String>,
    /// Of a decision: what was decided.
    pub status: Option<String>,
    /// Of a decision: when it ends.
    pub expires_ms: Option<i64>,
    /// What relates it to others.
    pub related: Related,
    /// Hash of `record`; an equal one changes nothing.
    pub content_hash: [u8; 32],
    /// All else, as JSON. It holds no NUL.
    pub record: String,
}

const COLUMNS: &str = "r.id, r.record_type = 'decision', r.finding_id, r.status, r.expires_ms, r.created_ms, r.updated_ms, r.record, \
     d.id, d.status, d.expires_ms";

/// The latest decision about `r` that holds at `$1`.
fn with_current(tx: &ProjectTx) -> String {
    let table = tx.table("triage_records");
    format!(
        "{table} r LEFT JOIN LATERAL (SELECT c.id, c.status, c.expires_ms FROM {table} c WHERE c.finding_id = r.id \
         AND c.record_type = 'decision' AND (c.expires_ms IS NULL OR c.expires_ms > $1) \
         ORDER BY c.created_ms DESC, c.id LIMIT 1) d ON true"
    )
}

/// Stores records: new ones, and those whose content changed, which keep the time of their making. Returns the ids that
/// were written, each with whether it is new; the others were there already, with the same content.
///
/// # Errors
/// Storage faults.
pub async fn put(
    tx: &mut ProjectTx,
    records: &[RecordWrite],
    now_ms: i64,
) -> Result<Vec<(String, bool)>, Fault> {
    let text = format!(
        "INSERT INTO {} AS t (id, record_type, finding_id, status, expires_ms, vuln, package, service, env, content_hash, created_ms, updated_ms, record) \
         SELECT w.id, CASE WHEN w.finding_id IS NULL THEN 'finding' ELSE 'decision' END, w.finding_id, w.status, w.expires_ms, w.vuln, \
         w.package, w.service, w.env, w.content_hash, $1, $1, w.record \
         FROM unnest($2::text[], $3::text[], $4::text[], $5::int8[], $6::text[], $7::text[], $8::text[], $9::text[], $10::bytea[], $11::text[]) \
         AS w (id, finding_id, status, expires_ms, vuln, package, service, env, content_hash, record) ORDER BY w.id \
         ON CONFLICT (id) DO UPDATE SET status = excluded.status, expires_ms = excluded.expires_ms, vuln = excluded.vuln, \
         package = excluded.package, service = excluded.service, env = excluded.env, content_hash = excluded.content_hash, \
         updated_ms = excluded.updated_ms, record = excluded.record WHERE t.content_hash <> excluded.content_hash \
         RETURNING t.id, t.xmax = 0",
        tx.table("triage_records")
    );
    fn column<'a, T>(records: &'a [RecordWrite], value: impl Fn(&'a RecordWrite) -> T) -> Vec<T> {
        records.iter().map(value).collect()
    }
    let query = sql(text)
        .bind(now_ms)
        .bind(column(records, |r| r.id.as_str()))
        .bind(column(records, |r| r.finding_id.as_deref()))
        .bind(column(records, |r| r.status.as_deref()))
        .bind(column(records, |r| r.expires_ms))
        .bind(column(records, |r| r.related.vuln.as_deref()))
        .bind(column(records, |r| r.related.package.as_deref()))
        .bind(column(records, |r| r.related.service.as_deref()))
        .bind(column(records, |r| r.related.env.as_deref()))
        .bind(column(records, |r| r.content_hash.as_slice()))
        .bind(column(records, |r| r.record.as_str()));
    let rows = tx.tx.all(query).await?;
    rows.iter().map(|row| Ok((row.try_get(0)?, row.try_get(1)?))).collect()
}

/// Whether there are records.
///
/// # Errors
/// Storage faults.
pub async fn any(tx: &mut ProjectTx) -> Result<bool, Fault> {
    let text = format!("SELECT EXISTS (SELECT 1 FROM {})", tx.table("triage_records"));
    tx.tx.one(sql(text)).await?.try_get(0)
}

/// One record as it is at `now_ms`.
///
/// # Errors
/// Storage faults.
pub async fn get(tx: &mut ProjectTx, id: &str, now_ms: i64) -> Result<Option<RecordRow>, Fault> {
    let text = format!("SELECT {COLUMNS} FROM {} WHERE r.id = $2", with_current(tx));
    let row = tx.tx.first(sql(text).bind(now_ms).bind(id)).await?;
    row.as_ref().map(decode).transpose()
}

/// At most `limit` records after one of them, by id, as they are at `now_ms`.
///
/// # Errors
/// Storage faults.
pub async fn page(tx: &mut ProjectTx, after: &str, limit: i64, now_ms: i64) -> Result<Vec<RecordRow>, Fault> {
    let text = format!("SELECT {COLUMNS} FROM {} WHERE r.id > $2 ORDER BY r.id LIMIT $3", with_current(tx));
    let rows = tx.tx.all(sql(text).bind(now_ms).bind(after).bind(limit)).await?;
    rows.iter().map(decode).collect()
}

/// Decisions that bear on a finding, the nearest first and the latest of equally near ones: about the finding itself;
/// about the same vulnerability or package in the same service and environment; about them elsewhere; about anything
/// else in that service and environment.
///
/// # Errors
/// Storage faults.
pub async fn history(
    tx: &mut ProjectTx,
    finding_id: &str,
    related: &Related,
    limit: i64,
) -> Result<Vec<RecordRow>, Fault> {
    let text = format!(
        "SELECT r.id, true, r.finding_id, r.status, r.expires_ms, r.created_ms, r.updated_ms, r.record, \
         NULL::text, NULL::text, NULL::int8 FROM {} r WHERE r.record_type = 'decision' \
         AND (r.finding_id = $1 OR r.vuln = $2 OR r.package = $3 OR (r.service = $4 AND r.env = $5)) \
         ORDER BY CASE WHEN r.finding_id = $1 THEN 0 \
         WHEN r.service IS DISTINCT FROM $4 OR r.env IS DISTINCT FROM $5 THEN CASE WHEN r.vuln = $2 THEN 3 ELSE 4 END \
         WHEN r.vuln = $2 THEN 1 WHEN r.package = $3 THEN 2 ELSE 5 END, r.created_ms DESC, r.id LIMIT $6",
        tx.table("triage_records")
    );
    let query = sql(text).bind(finding_id).bind(related.vuln.as_deref()).bind(related.package.as_deref());
    let query = query.bind(related.service.as_deref()).bind(related.env.as_deref()).bind(limit);
    let rows = tx.tx.all(query).await?;
    rows.iter().map(decode).collect()
}

fn decode(row: &Row) -> Result<RecordRow, Fault> {
    let current: (Option<String>, Option<String>) = (row.try_get(8)?, row.try_get(9)?);
    let expires_ms = row.try_get(10)?;
    Ok(RecordRow {
        id: row.try_get(0)?,
        is_decision: row.try_get(1)?,
        finding_id: row.try_get(2)?,
        status: row.try_get(3)?,
        expires_ms: row.try_get(4)?,
        created_ms: row.try_get(5)?,
        updated_ms: row.try_get(6)?,
        record: row.try_get(7)?,
        current: current.0.zip(current.1).map(|(id, status)| Current { id, status, expires_ms }),
    })
}
