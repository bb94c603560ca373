//! `pairofcleats.audit`: the audit log of calls. Rows are never changed, and deleted when they are old.

use std::borrow::Cow;

use crate::postgres::{sql, storable};
use crate::transaction::ControlTx;
use contract::Fault;

/// An audited call.
#[derive(Debug, Clone, PartialEq)]
pub struct AuditEntry {
    /// End of the call, milliseconds since the epoch, UTC.
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

/// Longest text of an entry, in bytes.
const TEXT_BYTES_MAX: usize = 16 << 10;

/// Appends entries. Clients choose some of the texts; characters that no column can hold are replaced.
pub async fn append(control: &mut ControlTx, entries: &[AuditEntry]) -> Result<(), Fault> {
    fn column(entries: &[AuditEntry], pick: fn(&AuditEntry) -> Option<&str>) -> Vec<Option<Cow<'_, str>>> {
        entries.iter().map(|entry| pick(entry).map(|text| storable(text, TEXT_BYTES_MAX))).collect()
    }
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
        .bind(column(entries, |entry| Some(&entry.principal)))
        .bind(column(entries, |entry| Some(&entry.name)))
        .bind(column(entries, |entry| Some(entry.surface)))
        .bind(column(entries, |entry| Some(&entry.tool)))
        .bind(column(entries, |entry| entry.project_id.as_deref()))
        .bind(column(entries, |entry| Some(entry.outcome)))
        .bind(entries.iter().map(|entry| entry.duration_ms).collect::<Vec<_>>())
        .bind(column(entries, |entry| entry.request_id.as_deref()))
        .bind(column(entries, |entry| entry.query.as_deref()));
    control.tx.execute(query).await?;
    Ok(())
}

/// Deletes entries older than `days`; returns how many.
pub async fn prune(control: &mut ControlTx, days: u32) -> Result<u64, Fault> {
    let query = sql("DELETE FROM pairofcleats.audit WHERE at < now() - make_interval(days => $1)");
    control.tx.execute(query.bind(i32::try_from(days).unwrap_or(i32::MAX))).await
}

/// An audited call as it is stored.
#[derive(Debug, Clone, PartialEq)]
pub struct AuditRow {
    /// Grows with time; pages continue below the last one.
    pub id: i64,
    /// End of the call, milliseconds since the epoch, UTC.
    pub at_ms: i64,
    /// Id of the principal.
    pub principal: String,
    /// Its name.
    pub name: String,
    /// The surface that the call came through.
    pub surface: String,
    /// The tool.
    pub tool: String,
    /// The project.
    pub project_id: Option<String>,
    /// `ok` or an error code.
    pub outcome: String,
    /// Milliseconds.
    pub duration_ms: f64,
    /// Correlation id.
    pub request_id: Option<String>,
    /// The query, where queries are kept.
    pub query: Option<String>,
}

/// Conditions on the listed entries; `None` takes all.
#[derive(Debug, Clone, Copy, Default)]
pub struct AuditFilter<'a> {
    /// Id or a part of the name of the principal.
    pub principal: Option<&'a str>,
    /// The tool.
    pub tool: Option<&'a str>,
    /// The project.
    pub project_id: Option<&'a str>,
    /// `ok` or an error code; `failed` takes every error.
    pub outcome: Option<&'a str>,
    /// Only entries with a smaller id.
    pub before: Option<i64>,
}

/// Entries, newest first.
pub async fn list(
    control: &mut ControlTx,
    filter: AuditFilter<'_>,
    limit: i64,
) -> Result<Vec<AuditRow>, Fault> {
    let query =
        sql("SELECT id, (extract(epoch FROM at) * 1000)::int8 AS at_ms, principal, name, surface, tool, \
           project_id, outcome, duration_ms, request_id, query \
         FROM pairofcleats.audit \
         WHERE ($1::text IS NULL OR principal = $1 OR strpos(name, $1) > 0) \
           AND ($2::text IS NULL OR tool = $2) \
           AND ($3::text IS NULL OR project_id = $3) \
           AND ($4::text IS NULL OR outcome = $4 OR ($4 = 'failed' AND outcome <> 'ok')) \
           AND ($5::int8 IS NULL OR id < $5) \
         ORDER BY id DESC LIMIT $6");
    let AuditFilter { principal, tool, project_id, outcome, before } = filter;
    let query = query.bind(principal).bind(tool).bind(project_id).bind(outcome).bind(before).bind(limit);
    let rows = control.tx.all(query).await?;
    rows.iter()
        .map(|row| {
            Ok(AuditRow {
                id: row.try_get("id")?,
                at_ms: row.try_get("at_ms")?,
                principal: row.try_get("principal")?,
                name: row.try_get("name")?,
                surface: row.try_get("surface")?,
                tool: row.try_get("tool")?,
                project_id: row.try_get("project_id")?,
                outcome: row.try_get("outcome")?,
                duration_ms: row.try_get("duration_ms")?,
                request_id: row.try_get("request_id")?,
                query: row.try_get("query")?,
            })
        })
        .collect()
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
