//! Names and values that begin with what somebody types, with the number of chunks that have them.

use crate::postgres::sql;
use crate::transaction::ProjectTx;
use contract::Fault;

/// Chunks that are counted of one value; beyond it the answer is "at least".
pub const COUNTED_MAX: i64 = 1000;
/// Values, or definitions, that are looked at.
const LOOKED_AT: u32 = 2000;

/// A value, and how often it occurs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SuggestedValue {
    /// The value as it is written.
    pub value: String,
    /// Chunks that have it, at most [`COUNTED_MAX`]; of a defined name, its definitions.
    pub chunks: i64,
}

/// Values of some fields of facts that begin with `prefix`, ignoring case, and occur in chunks of the repositories: the shortest
/// first, at most `limit`.
pub async fn facts(
    tx: &mut ProjectTx,
    fields: &[i16],
    prefix: &str,
    repositories: &[i64],
    limit: i64,
) -> Result<Vec<SuggestedValue>, Fault> {
    let text = format!(
        "SELECT value, chunks \
         FROM (SELECT n.name AS value, (SELECT count(*) \
               FROM (SELECT FROM {facts} k JOIN {files} f ON f.id = k.file_id \
                 WHERE k.ids @> ARRAY[n.id] AND f.repository_id = ANY($3) LIMIT {COUNTED_MAX}) c) AS chunks \
             FROM (SELECT DISTINCT ON (name) id, name FROM {names} \
               WHERE field = ANY($1) AND starts_with(folded, $2) ORDER BY name, id LIMIT {LOOKED_AT}) n \
             ORDER BY length(n.name), n.name LIMIT $4 * 4) counted \
         WHERE chunks > 0 \
         LIMIT $4",
        facts = tx.table("facts"),
        files = tx.table("files"),
        names = tx.table("names"),
    );
    let query = sql(text).bind(fields).bind(prefix.to_lowercase()).bind(repositories).bind(limit);
    read(tx, query).await
}

/// Names of definitions that begin with `prefix`, ignoring case: those that are defined most often first, at most `limit`.
pub async fn definitions(
    tx: &mut ProjectTx,
    prefix: &str,
    repositories: &[i64],
    limit: i64,
) -> Result<Vec<SuggestedValue>, Fault> {
    let text = format!(
        "SELECT value, count(*) AS chunks \
         FROM (SELECT d.name AS value \
           FROM {definitions} d JOIN {files} f ON f.id = d.file_id \
           WHERE d.symbol IS NOT NULL AND starts_with(lower(d.name), $1) AND f.repository_id = ANY($2) \
           LIMIT {LOOKED_AT}) found \
         GROUP BY value \
         ORDER BY length(value) = length($1) DESC, count(*) DESC, value \
         LIMIT $3",
        definitions = tx.table("definitions"),
        files = tx.table("files"),
    );
    let query = sql(text).bind(prefix.to_lowercase()).bind(repositories).bind(limit);
    read(tx, query).await
}

async fn read(tx: &mut ProjectTx, query: crate::postgres::Query<'_>) -> Result<Vec<SuggestedValue>, Fault> {
    let rows = tx.tx.all(query).await?;
    rows.iter()
        .map(|row| Ok(SuggestedValue { value: row.try_get("value")?, chunks: row.try_get("chunks")? }))
        .collect()
}
