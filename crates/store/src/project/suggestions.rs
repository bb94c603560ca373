//! Names and values that fit the typed text, with the number of chunks that have them.

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

/// Names of definitions that begin with `prefix`, ignoring case: those that are defined most often first, at most `limit`. A prefix
/// with a separator begins a qualified name, or one of its ends: `Context.js` finds `Hono.Context.json`.
pub async fn definitions(
    tx: &mut ProjectTx,
    prefix: &str,
    repositories: &[i64],
    limit: i64,
) -> Result<Vec<SuggestedValue>, Fault> {
    // Languages write different separators, and people write those of another language.
    let prefix = prefix.to_lowercase().replace("::", ".").replace('#', ".");
    let last = prefix.rsplit('.').next().unwrap_or_default().to_owned();
    let qualified = "replace(lower(d.qualified), '::', '.')";
    let (name, is_within) = match prefix.contains('.') {
        true => (
            "d.qualified",
            format!("(starts_with({qualified}, $1::text) OR position('.' || $1::text in {qualified}) > 0)"),
        ),
        false => ("d.name", "true".to_owned()),
    };
    // The simple name is tested first, because that is cheaper. One that has the separator itself is that of a handler: `app.get`.
    let text = format!(
        "SELECT value, count(*) AS chunks \
         FROM (SELECT {name} AS value \
           FROM {definitions} d JOIN {files} f ON f.id = d.file_id \
           WHERE d.symbol IS NOT NULL AND f.repository_id = ANY($2) AND (starts_with(lower(d.name), $1::text) \
             OR (starts_with(lower(d.name), $4::text) AND {is_within})) \
           LIMIT {LOOKED_AT}) found \
         GROUP BY value \
         ORDER BY length(value) = length($1::text) DESC, count(*) DESC, value \
         LIMIT $3",
        definitions = tx.table("definitions"),
        files = tx.table("files"),
    );
    let query = sql(text).bind(prefix).bind(repositories).bind(limit).bind(last);
    read(tx, query).await
}

/// Authors of the last commits of files whose names contain `part`, ignoring case, with the chunks of these files: those that
/// begin with it first, then those with the most chunks, at most `limit`.
pub async fn authors(
    tx: &mut ProjectTx,
    part: &str,
    repositories: &[i64],
    limit: i64,
) -> Result<Vec<SuggestedValue>, Fault> {
    let text = format!(
        "SELECT f.last_author AS value, least(sum(f.chunks), {COUNTED_MAX})::int8 AS chunks \
         FROM {files} f \
         WHERE f.repository_id = ANY($2) AND f.chunks > 0 AND position($1::text in lower(f.last_author)) > 0 \
         GROUP BY f.last_author \
         ORDER BY starts_with(lower(f.last_author), $1::text) DESC, sum(f.chunks) DESC, f.last_author \
         LIMIT $3",
        files = tx.table("files"),
    );
    let query = sql(text).bind(part.to_lowercase()).bind(repositories).bind(limit);
    read(tx, query).await
}

async fn read(tx: &mut ProjectTx, query: crate::postgres::Query<'_>) -> Result<Vec<SuggestedValue>, Fault> {
    let rows = tx.tx.all(query).await?;
    rows.iter()
        .map(|row| Ok(SuggestedValue { value: row.try_get("value")?, chunks: row.try_get("chunks")? }))
        .collect()
}
