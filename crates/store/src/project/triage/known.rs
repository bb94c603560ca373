//! The findings that a report may be about: those with one of its claims, and those that it no longer has.

use super::records::Related;
use crate::postgres::sql;
use crate::transaction::ProjectTx;
use contract::Fault;

/// A stored finding that shares a claim with a report.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct KnownFinding {
    /// Its record id.
    pub id: String,
    /// Its claims, the strongest first; empty for a finding of an older program.
    pub claims: Vec<String>,
    /// Service, environment and repository, folded.
    pub related: Related,
    /// The record as JSON; only for a finding of an older program.
    pub record: Option<String>,
    /// `true` if there are decisions about it.
    pub is_decided: bool,
}

/// The findings with one of `claims`, and those of older programs with one of `former_ids`, in the order of their ids.
pub async fn known(
    tx: &mut ProjectTx,
    claims: &[String],
    former_ids: &[&str],
) -> Result<Vec<KnownFinding>, Fault> {
    let table = tx.table("triage_records");
    let columns = format!(
        "r.id, r.claims, r.service, r.env, r.repo, CASE WHEN r.claims IS NULL THEN r.record END AS record, \
         EXISTS (SELECT 1 FROM {table} d WHERE d.finding_id = r.id AND d.record_type = 'decision') AS is_decided"
    );
    let text = format!(
        "SELECT {columns} FROM {table} r WHERE r.claims && $1::text[] \
         UNION ALL \
         SELECT {columns} FROM {table} r WHERE r.id = ANY($2::text[]) AND r.claims IS NULL \
           AND r.record_type = 'finding' \
         ORDER BY id"
    );
    let rows = tx.tx.all(sql(text).bind(claims).bind(former_ids)).await?;
    rows.iter()
        .map(|row| {
            let claims: Option<Vec<String>> = row.try_get("claims")?;
            Ok(KnownFinding {
                id: row.try_get("id")?,
                claims: claims.unwrap_or_default(),
                related: Related {
                    service: row.try_get("service")?,
                    env: row.try_get("env")?,
                    repo: row.try_get("repo")?,
                    ..Related::default()
                },
                record: row.try_get("record")?,
                is_decided: row.try_get("is_decided")?,
            })
        })
        .collect()
}

/// Those of `ids` under which a different finding is stored from the one whose last claim is at the same position of `claims`.
pub async fn foreign_ids(tx: &mut ProjectTx, ids: &[&str], claims: &[String]) -> Result<Vec<String>, Fault> {
    let text = format!(
        "SELECT r.id FROM unnest($1::text[], $2::text[]) AS w (id, claim) JOIN {} r ON r.id = w.id \
         WHERE r.claims[cardinality(r.claims)] IS DISTINCT FROM w.claim",
        tx.table("triage_records")
    );
    let rows = tx.tx.all(sql(text).bind(ids).bind(claims)).await?;
    rows.iter().map(|row| row.try_get("id")).collect()
}

/// Marks the findings of a scope, and of exactly this service, environment and repository, as fixed, except those with one of the
/// ids `seen` and those that are marked already. Findings of older programs have no scope; of these, `former_ids` are marked.
/// Returns the ids of all that were marked.
pub async fn mark_fixed(
    tx: &mut ProjectTx,
    (scope, related): (&str, &Related),
    (seen, former_ids): (&[&str], &[&str]),
    now_ms: i64,
) -> Result<Vec<String>, Fault> {
    let text = format!(
        "WITH gone AS (SELECT r.id FROM {table} r WHERE r.fixed_ms IS NULL AND r.record_type = 'finding' \
           AND (r.scope = $2 AND r.service IS NOT DISTINCT FROM $3 AND r.env IS NOT DISTINCT FROM $4 \
             AND r.repo IS NOT DISTINCT FROM $5 AND r.id NOT IN (SELECT s.id FROM unnest($6::text[]) AS s (id)) \
           OR r.id = ANY($7::text[]) AND r.scope IS NULL) \
           ORDER BY r.id FOR UPDATE) \
         UPDATE {table} t SET fixed_ms = $1, updated_ms = $1 FROM gone WHERE t.id = gone.id RETURNING t.id",
        table = tx.table("triage_records")
    );
    let query = sql(text).bind(now_ms).bind(scope).bind(related.service.as_deref());
    let query = query.bind(related.env.as_deref()).bind(related.repo.as_deref()).bind(seen).bind(former_ids);
    let rows = tx.tx.all(query).await?;
    rows.iter().map(|row| row.try_get("id")).collect()
}
