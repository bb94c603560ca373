//! `launch_issues`: the findings of each run's validations.

use crate::postgres::{Row, sql};
use crate::project::columns::column;
use crate::transaction::ProjectTx;
use contract::Fault;

/// An issue as it is stored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IssueRow {
    /// Its id.
    pub issue_id: String,
    /// The gate.
    pub gate: String,
    /// Its severity.
    pub severity: String,
    /// Kind of issue.
    pub code: String,
    /// The problem, in a few words.
    pub title: String,
    /// The problem at this place.
    pub message: String,
    /// Path of the file.
    pub path: Option<String>,
    /// Line in the file, 1-based.
    pub line: Option<i32>,
    /// Its status.
    pub status: String,
    /// `true` if a fixer may be able to repair it.
    pub fixable: bool,
    /// The event that opened it last.
    pub opened_seq: i32,
    /// The event that resolved it.
    pub closed_seq: Option<i32>,
}

/// All issues that a run ever had, by id.
pub async fn list(tx: &mut ProjectTx, run_id: &str) -> Result<Vec<IssueRow>, Fault> {
    let text = format!(
        "SELECT issue_id, gate, severity, code, title, message, path, line, status, fixable, opened_seq, closed_seq \
         FROM {} WHERE run_id = $1 ORDER BY issue_id",
        tx.table("launch_issues")
    );
    let rows = tx.tx.all(sql(text).bind(run_id)).await?;
    rows.iter().map(decode).collect()
}

/// The number of open issues of each of these runs that has any.
pub async fn count_open(tx: &mut ProjectTx, run_ids: &[String]) -> Result<Vec<(String, i64)>, Fault> {
    let text = format!(
        "SELECT run_id, count(*) AS issues FROM {} WHERE run_id = ANY($1) AND status = 'open' \
         GROUP BY run_id ORDER BY run_id",
        tx.table("launch_issues")
    );
    let rows = tx.tx.all(sql(text).bind(run_ids)).await?;
    rows.iter().map(|row| Ok((row.try_get("run_id")?, row.try_get("issues")?))).collect()
}

/// Stores new issues, and the changes of known ones.
pub(super) async fn put(tx: &mut ProjectTx, run_id: &str, issues: &[IssueRow]) -> Result<(), Fault> {
    let text = format!(
        "INSERT INTO {} (run_id, issue_id, gate, severity, code, title, message, path, line, status, fixable, opened_seq, closed_seq) \
         SELECT $1, w.issue_id, w.gate, w.severity, w.code, w.title, w.message, w.path, w.line, w.status, w.fixable, w.opened_seq, \
           w.closed_seq \
         FROM unnest($2::text[], $3::text[], $4::text[], $5::text[], $6::text[], $7::text[], $8::text[], $9::int4[], $10::text[], \
           $11::bool[], $12::int4[], $13::int4[]) \
           AS w (issue_id, gate, severity, code, title, message, path, line, status, fixable, opened_seq, closed_seq) \
         ON CONFLICT (run_id, issue_id) DO UPDATE SET severity = excluded.severity, title = excluded.title, \
           message = excluded.message, path = excluded.path, line = excluded.line, status = excluded.status, \
           fixable = excluded.fixable, opened_seq = excluded.opened_seq, closed_seq = excluded.closed_seq",
        tx.table("launch_issues")
    );
    let query = sql(text)
        .bind(run_id)
        .bind(column(issues, |i| i.issue_id.as_str()))
        .bind(column(issues, |i| i.gate.as_str()))
        .bind(column(issues, |i| i.severity.as_str()))
        .bind(column(issues, |i| i.code.as_str()))
        .bind(column(issues, |i| i.title.as_str()))
        .bind(column(issues, |i| i.message.as_str()))
        .bind(column(issues, |i| i.path.as_deref()))
        .bind(column(issues, |i| i.line))
        .bind(column(issues, |i| i.status.as_str()))
        .bind(column(issues, |i| i.fixable))
        .bind(column(issues, |i| i.opened_seq))
        .bind(column(issues, |i| i.closed_seq));
    tx.execute(query).await.map(drop)
}

fn decode(row: &Row) -> Result<IssueRow, Fault> {
    Ok(IssueRow {
        issue_id: row.try_get("issue_id")?,
        gate: row.try_get("gate")?,
        severity: row.try_get("severity")?,
        code: row.try_get("code")?,
        title: row.try_get("title")?,
        message: row.try_get("message")?,
        path: row.try_get("path")?,
        line: row.try_get("line")?,
        status: row.try_get("status")?,
        fixable: row.try_get("fixable")?,
        opened_seq: row.try_get("opened_seq")?,
        closed_seq: row.try_get("closed_seq")?,
    })
}
