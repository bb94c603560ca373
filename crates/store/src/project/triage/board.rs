//! Findings as a board shows them: filtered, counted and in order within each status; and the decisions about one of them.

use super::records::{RecordRow, decode, with_current};
use crate::postgres::sql;
use crate::transaction::ProjectTx;
use contract::Fault;

/// Status of a finding for which no decision is in force.
pub const STATUS_OPEN: &str = "open";
/// Status of such a finding after a report of its tool no longer had it.
pub const STATUS_FIXED: &str = "fixed";
/// The severities, the most urgent first. The last one represents all other texts.
pub const SEVERITIES: [&str; 6] = ["critical", "high", "medium", "low", "unknown", SEVERITY_OTHER];
const SEVERITY_OTHER: &str = "other";

/// Conditions on the findings of a board, beside status and severity; absent conditions hold for all. Texts are folded to lower case.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct FindingFilter {
    /// The service.
    pub service: Option<String>,
    /// The format of the report.
    pub source: Option<String>,
    /// A part of the vulnerability's id or title, or of the package's name.
    pub text: Option<String>,
}

/// The part of the filtered findings that is read.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct BoardPage<'a> {
    /// Only this status.
    pub status: Option<&'a str>,
    /// Only this one of [`SEVERITIES`].
    pub severity: Option<&'a str>,
    /// Findings of each status to skip.
    pub offset: i64,
    /// Maximum number of findings of each status.
    pub limit: i64,
}

/// Number of findings with a status and a severity.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FindingCount {
    /// The status.
    pub status: String,
    /// One of [`SEVERITIES`].
    pub severity: String,
    /// The number.
    pub count: i64,
}

/// The findings that pass a filter, each with its decision in force at `$1`. `$2` are [`SEVERITIES`]; `$3`, `$4` and `$5` are the
/// fields of [`FindingFilter`] in their order.
fn filtered(tx: &ProjectTx) -> String {
    format!(
        "SELECT r.id, r.created_ms, coalesce(d.status, CASE WHEN r.fixed_ms IS NULL THEN '{STATUS_OPEN}' \
           ELSE '{STATUS_FIXED}' END) AS status, d.id AS current_id, \
           d.status AS current_status, d.expires_ms AS current_expires_ms, s.severity \
         FROM {records} \
         CROSS JOIN LATERAL (SELECT r.record::jsonb AS fields OFFSET 0) j \
         CROSS JOIN LATERAL (SELECT CASE WHEN j.fields #>> '{{vuln,severity}}' = ANY($2::text[]) \
           THEN j.fields #>> '{{vuln,severity}}' ELSE '{SEVERITY_OTHER}' END AS severity) s \
         WHERE r.record_type = 'finding' AND ($3::text IS NULL OR r.service = $3) \
           AND ($4::text IS NULL OR j.fields ->> 'source' = $4) \
           AND ($5::text IS NULL OR position($5 in concat_ws(E'\\n', r.vuln, r.package, \
             lower(j.fields #>> '{{vuln,vulnId}}'), lower(j.fields #>> '{{vuln,title}}'))) > 0)",
        records = with_current(tx),
    )
}

/// A page of findings with their decisions in force at `now_ms`: by status, then by severity, then the newest first.
pub async fn findings(
    tx: &mut ProjectTx,
    filter: &FindingFilter,
    page: BoardPage<'_>,
    now_ms: i64,
) -> Result<Vec<RecordRow>, Fault> {
    let text = format!(
        "SELECT r.id, false AS is_decision, r.finding_id, r.status, r.expires_ms, r.created_ms, r.updated_ms, \
           r.fixed_ms, r.record, n.current_id, n.current_status, n.current_expires_ms \
         FROM (SELECT f.*, row_number() OVER (PARTITION BY f.status \
             ORDER BY array_position($2::text[], f.severity), f.created_ms DESC, f.id) AS place \
           FROM ({filtered}) f \
           WHERE ($6::text IS NULL OR f.status = $6) AND ($7::text IS NULL OR f.severity = $7)) n \
         JOIN {table} r ON r.id = n.id \
         WHERE n.place > $8 AND n.place <= $8 + $9 \
         ORDER BY n.status, n.place",
        filtered = filtered(tx),
        table = tx.table("triage_records"),
    );
    let query = sql(text).bind(now_ms).bind(SEVERITIES).bind(filter.service.as_deref());
    let query = query.bind(filter.source.as_deref()).bind(filter.text.as_deref());
    let query = query.bind(page.status).bind(page.severity).bind(page.offset).bind(page.limit);
    let rows = tx.tx.all(query).await?;
    rows.iter().map(decode).collect()
}

/// Counts the filtered findings of each status and severity at `now_ms`.
pub async fn finding_counts(
    tx: &mut ProjectTx,
    filter: &FindingFilter,
    now_ms: i64,
) -> Result<Vec<FindingCount>, Fault> {
    let text = format!(
        "SELECT f.status, f.severity, count(*) AS count FROM ({}) f GROUP BY f.status, f.severity",
        filtered(tx)
    );
    let query = sql(text).bind(now_ms).bind(SEVERITIES).bind(filter.service.as_deref());
    let rows = tx.tx.all(query.bind(filter.source.as_deref()).bind(filter.text.as_deref())).await?;
    rows.iter()
        .map(|row| {
            Ok(FindingCount {
                status: row.try_get("status")?,
                severity: row.try_get("severity")?,
                count: row.try_get("count")?,
            })
        })
        .collect()
}

/// The latest decisions about a finding, expired or not, the latest first.
pub async fn decisions(tx: &mut ProjectTx, finding_id: &str, limit: i64) -> Result<Vec<RecordRow>, Fault> {
    let text = format!(
        "SELECT r.id, true AS is_decision, r.finding_id, r.status, r.expires_ms, r.created_ms, r.updated_ms, \
           r.fixed_ms, r.record, NULL::text AS current_id, NULL::text AS current_status, \
           NULL::int8 AS current_expires_ms \
         FROM {} r WHERE r.record_type = 'decision' AND r.finding_id = $1 \
         ORDER BY r.created_ms DESC, r.id LIMIT $2",
        tx.table("triage_records")
    );
    let rows = tx.tx.all(sql(text).bind(finding_id).bind(limit)).await?;
    rows.iter().map(decode).collect()
}
