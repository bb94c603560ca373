//! `pairofcleats.audit`: the audit log of calls. Rows are never changed, and deleted when they are old.

use crate::postgres::sql;
use crate::transaction::ControlTx;
use contract::Fault;

/// An audited call.
#[derive(Debug, Clone, PartialEq)]
pub struct AuditEntry {
    /// When it ended, milliseconds since the epoch, UTC.
    pub at_ms: i64,
    /// Id of the principal that called.
    pub principal: String,
    /// Name of the principal.
    pub name: String,
    /// `cli`, `stdio`, `mcp`, `sse` or `http`.
    pub surface: &'static str,
    /// Name of the tool.
    pub tool: String,
    /// The project it concerned, if that was resolved.
    pub project_id: Option<String>,
    /// `ok` or an error code.
    pub outcome: &'static str,
    /// Its duration in milliseconds.
    pub duration_ms: f64,
    /// Correlation id.
    pub request_id: Option<String>,
    /// The query, if the operator's settings keep queries.
    pub query: Option<String>,
}

/// Appends entries.
pub async fn append(control: &mut ControlTx, entries: &[AuditEntry]) -> Result<(), Fault> {
    let column = |pick: fn(&AuditEntry) -> Option<String>| entries.iter().map(pick).collect::<Vec<_>>();
    let query =
        sql("INSERT INTO pairofcleats.audit (at, principal, name, surface, tool, project_id, outcome, \
               duration_ms, request_id, query) \
             SELECT to_timestamp(at / 1000.0), principal, name, surface, tool, project_id, outcome, \
               duration_ms, request_id, query \
             FROM unnest($1::int8[], $2::text[], $3::text[], $4::text[], $5::text[], $6::text[], $7::text[], \
               $8::float8[], $9::text[], $10::text[]) AS entry (at, principal, name, surface, tool, \
               project_id, outcome, duration_ms, request_id, query)");
    let query = query
        .bind(entries.iter().map(|entry| entry.at_ms).collect::<Vec<_>>())
        .bind(column(|entry| Some(entry.principal.clone())))
        .bind(column(|entry| Some(entry.name.clone())))
        .bind(column(|entry| Some(entry.surface.to_owned())))
        .bind(column(|entry| Some(entry.tool.clone())))
        .bind(column(|entry| entry.project_id.clone()))
        .bind(column(|entry| Some(entry.outcome.to_owned())))
        .bind(entries.iter().map(|entry| entry.duration_ms).collect::<Vec<_>>())
        .bind(column(|entry| entry.request_id.clone()))
        .bind(column(|entry| entry.query.clone()));
    control.tx.execute(query).await?;
    Ok(())
}

/// Deletes entries older than `days`; returns how many.
pub async fn prune(control: &mut ControlTx, days: u32) -> Result<u64, Fault> {
    let query = sql("DELETE FROM pairofcleats.audit WHERE at < now() - make_interval(days => $1)");
    control.tx.execute(query.bind(i32::try_from(days).unwrap_or(i32::MAX))).await
}

/// The last calls of a principal, newest first: tool, project, outcome.
pub async fn recent_calls(
    control: &mut ControlTx,
    principal: &str,
    limit: i64,
) -> Result<Vec<(String, Option<String>, String)>, Fault> {
    let query = sql("SELECT tool, project_id, outcome \
         FROM pairofcleats.audit \
         WHERE principal = $1 ORDER BY id DESC LIMIT $2");
    let rows = control.tx.all(query.bind(principal).bind(limit)).await?;
    rows.iter()
        .map(|row| Ok((row.try_get("tool")?, row.try_get("project_id")?, row.try_get("outcome")?)))
        .collect()
}
