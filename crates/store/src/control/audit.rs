//! `pairofcleats.audit`: who did what. Rows are added and, when they are old, dropped; never changed.

use crate::door::ControlTx;
use crate::postgres::sql;
use contract::Fault;

/// One call.
#[derive(Debug, Clone, PartialEq)]
pub struct AuditEntry {
    /// When it was answered, milliseconds since the epoch, UTC.
    pub at_ms: i64,
    /// Who called: the principal's id.
    pub principal: String,
    /// … and its name.
    pub name: String,
    /// cli, stdio, mcp, sse or http.
    pub surface: &'static str,
    /// What was called.
    pub tool: String,
    /// The project it was about, if that was found out.
    pub project_id: Option<String>,
    /// `ok` or an error code.
    pub outcome: &'static str,
    /// How long it took.
    pub duration_ms: f64,
    /// Correlation id.
    pub request_id: Option<String>,
    /// The question, where the operator wants questions kept.
    pub query: Option<String>,
}

/// Adds entries, in their order.
///
/// # Errors
/// Storage faults.
pub async fn append(door: &mut ControlTx, entries: &[AuditEntry]) -> Result<(), Fault> {
    let column = |pick: fn(&AuditEntry) -> Option<String>| entries.iter().map(pick).collect::<Vec<_>>();
    let query = sql(
        "INSERT INTO pairofcleats.audit (at, principal, name, surface, tool, project_id, outcome, duration_ms, \
         request_id, query) SELECT to_timestamp(at / 1000.0), principal, name, surface, tool, project_id, outcome, duration_ms, \
         request_id, query FROM unnest($1::int8[], $2::text[], $3::text[], $4::text[], $5::text[], $6::text[], $7::text[], \
         $8::float8[], $9::text[], $10::text[]) AS entry (at, principal, name, surface, tool, project_id, outcome, duration_ms, \
         request_id, query)",
    );
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
    door.tx.execute(query).await?;
    Ok(())
}

/// Drops entries older than `days`.
///
/// # Errors
/// Storage faults.
pub async fn prune(door: &mut ControlTx, days: u32) -> Result<u64, Fault> {
    let query = sql("DELETE FROM pairofcleats.audit WHERE at < now() - make_interval(days => $1)");
    door.tx.execute(query.bind(i32::try_from(days).unwrap_or(i32::MAX))).await
}

/// What a principal did last, newest first: tool, project, outcome.
///
/// # Errors
/// Storage faults.
pub async fn of_principal(
    door: &mut ControlTx,
    principal: &str,
    limit: i64,
) -> Result<Vec<(String, Option<String>, String)>, Fault> {
    let query = sql(
        "SELECT tool, project_id, outcome FROM pairofcleats.audit WHERE principal = $1 ORDER BY id DESC LIMIT $2",
    );
    let rows = door.tx.all(query.bind(principal).bind(limit)).await?;
    rows.iter().map(|row| Ok((row.try_get(0)?, row.try_get(1)?, row.try_get(2)?))).collect()
}
