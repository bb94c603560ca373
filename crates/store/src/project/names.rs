//! `facts` and `names`: the values that chunks and files have, by ids that are hashes of field and value.

use std::collections::HashSet;

use super::index_state::{self, Fence};
use super::sizes::Measured;
use crate::door::ProjectTx;
use crate::postgres::sql;
use contract::Fault;

/// Chunks of one value, or values of one beginning, that are looked at; in a large project thousands call a `push`.
const SAME_NAME_MAX: u32 = 5000;

/// A value of a field: the code of the field and the value itself.
pub type NamedFact = (i16, String);

/// The id under which a value is stored. A pure function, so that writers need not ask for it.
#[must_use]
pub fn fact_id(field: i16, value: &str) -> i64 {
    let mut hasher = blake3::Hasher::new();
    hasher.update(&field.to_le_bytes()).update(value.as_bytes());
    let hash = hasher.finalize();
    let mut first = [0; 8];
    first.copy_from_slice(&hash.as_bytes()[..8]);
    i64::from_le_bytes(first)
}

/// Values that a run has stored already, so that each is sent once.
#[derive(Debug, Default)]
pub struct KnownNames(HashSet<i64>);

impl KnownNames {
    /// The ids of values, in ascending order; those met for the first time are added to `fresh`.
    pub(super) fn ids<'v>(
        &mut self,
        values: impl IntoIterator<Item = (i16, &'v str)>,
        fresh: &mut FreshNames<'v>,
    ) -> Vec<i64> {
        let mut ids: Vec<i64> = values
            .into_iter()
            .map(|(field, value)| {
                let id = fact_id(field, value);
                if self.0.insert(id) {
                    fresh.0.push((id, field, value));
                }
                id
            })
            .collect();
        ids.sort_unstable();
        ids.dedup();
        ids
    }
}

/// Values to be stored.
#[derive(Debug, Default)]
pub(super) struct FreshNames<'v>(Vec<(i64, i16, &'v str)>);

/// Stores values; those that are there stay.
pub(super) async fn insert(tx: &mut ProjectTx, fresh: &FreshNames<'_>) -> Result<(), Fault> {
    if fresh.0.is_empty() {
        return Ok(());
    }
    let text = format!(
        "INSERT INTO {} (id, field, name, folded) SELECT t.id, t.field, t.name, t.folded \
         FROM unnest($1::int8[], $2::int2[], $3::text[], $4::text[]) AS t (id, field, name, folded) ORDER BY t.id ON CONFLICT (id) DO NOTHING",
        tx.table("names")
    );
    let ids: Vec<i64> = fresh.0.iter().map(|(id, ..)| *id).collect();
    let fields: Vec<i16> = fresh.0.iter().map(|(_, field, _)| *field).collect();
    let names: Vec<&str> = fresh.0.iter().map(|(.., name)| *name).collect();
    // Folded here, not by the server, whose idea of letters depends on its locale.
    let folded: Vec<String> = names.iter().map(|name| name.to_lowercase()).collect();
    tx.execute(sql(text).bind(ids).bind(fields).bind(names).bind(folded)).await?;
    Ok(())
}

/// Ids of the values of some fields that contain one of `texts` (lower case), at most `limit`.
///
/// # Errors
/// Storage faults.
pub async fn find(
    tx: &mut ProjectTx,
    fields: &[i16],
    texts: &[String],
    limit: i64,
) -> Result<Vec<i64>, Fault> {
    // One text is the rule, and much faster without the subquery.
    let contains = if texts.len() == 1 {
        "position(($2::text[])[1] in n.folded) > 0"
    } else {
        "EXISTS (SELECT 1 FROM unnest($2::text[]) AS w (text) WHERE position(w.text in n.folded) > 0)"
    };
    let text =
        format!("SELECT n.id FROM {} n WHERE n.field = ANY($1) AND {contains} LIMIT $3", tx.table("names"));
    let rows = tx.tx.all(sql(text).bind(fields).bind(texts).bind(limit)).await?;
    rows.iter().map(|row| row.try_get(0)).collect()
}

/// Names of some fields whose length in characters is within `length`, both ends included; at most `limit`, each once.
///
/// # Errors
/// Storage faults.
pub async fn of_length(
    tx: &mut ProjectTx,
    fields: &[i16],
    length: (i32, i32),
    limit: i64,
) -> Result<Vec<String>, Fault> {
    let text = format!(
        "SELECT DISTINCT n.name FROM {} n WHERE n.field = ANY($1) AND length(n.name) BETWEEN $2 AND $3 LIMIT $4",
        tx.table("names")
    );
    let rows = tx.tx.all(sql(text).bind(fields).bind(length.0).bind(length.1).bind(limit)).await?;
    rows.iter().map(|row| row.try_get(0)).collect()
}

/// Which of some values the chunks of some repositories have.
///
/// # Errors
/// Storage faults.
pub async fn held_within(tx: &mut ProjectTx, ids: &[i64], repositories: &[i64]) -> Result<Vec<i64>, Fault> {
    let text = format!(
        "SELECT w.id FROM unnest($1::int8[]) AS w (id) WHERE EXISTS (SELECT 1 FROM {facts} k JOIN {files} f ON f.id = k.file_id \
         WHERE k.ids @> ARRAY[w.id] AND f.repository_id = ANY($2))",
        facts = tx.table("facts"),
        files = tx.table("files"),
    );
    // Each value is looked up; all rows together would be compared with each of them.
    tx.execute(sql("SET LOCAL enable_seqscan = off")).await?;
    let rows = tx.tx.all(sql(text).bind(ids).bind(repositories)).await?;
    tx.execute(sql("SET LOCAL enable_seqscan = on")).await?;
    rows.iter().map(|row| row.try_get(0)).collect()
}

/// Ids of the values of a field that are `text`, or begin with it before one of `signs`, in any case.
///
/// # Errors
/// Storage faults.
pub async fn beginning(
    tx: &mut ProjectTx,
    field: i16,
    text: &str,
    signs: &[&str],
) -> Result<Vec<i64>, Fault> {
    let (whole, begun) = folded(text, signs);
    let text = format!(
        "SELECT n.id FROM {} n WHERE n.field = $1 AND (n.folded = $2 OR left(n.folded, length($2) + 1) = ANY($3)) \
         ORDER BY n.id LIMIT {SAME_NAME_MAX}",
        tx.table("names")
    );
    let rows = tx.tx.all(sql(text).bind(field).bind(whole).bind(begun)).await?;
    rows.iter().map(|row| row.try_get(0)).collect()
}

/// Ids of the values of a field that end with `text`, which is in lower case, or hold it before one of `signs`.
///
/// # Errors
/// Storage faults.
pub async fn ending(tx: &mut ProjectTx, field: i16, text: &str, signs: &[&str]) -> Result<Vec<i64>, Fault> {
    let (whole, begun) = folded(text, signs);
    let text = format!(
        "SELECT n.id FROM {} n WHERE n.field = $1 AND (right(n.folded, length($2)) = $2 \
         OR EXISTS (SELECT 1 FROM unnest($3::text[]) AS w (text) WHERE position(w.text in n.folded) > 0)) \
         ORDER BY n.id LIMIT {SAME_NAME_MAX}",
        tx.table("names")
    );
    let rows = tx.tx.all(sql(text).bind(field).bind(whole).bind(begun)).await?;
    rows.iter().map(|row| row.try_get(0)).collect()
}

/// A text in lower case, alone and before each of some signs of one character.
pub(crate) fn folded(text: &str, signs: &[&str]) -> (String, Vec<String>) {
    let whole = text.to_lowercase();
    let begun = signs.iter().map(|sign| format!("{whole}{sign}")).collect();
    (whole, begun)
}

/// Chunks that have one of `ids`; with `flows`, also those at an end of such a flow from another file.
///
/// # Errors
/// Storage faults.
pub async fn chunks_with(tx: &mut ProjectTx, ids: &[i64], flows: bool) -> Result<Vec<i64>, Fault> {
    let mut text = format!("SELECT k.chunk_id FROM {} k WHERE k.ids && $1", tx.table("facts"));
    if flows {
        text.push_str(&format!(" UNION SELECT w.chunk_id FROM {} w WHERE w.ids && $1", tx.table("flows")));
    }
    // For many ids the planner would rather compare all of them with each row, which takes their product.
    tx.execute(sql("SET LOCAL enable_seqscan = off")).await?;
    let rows = tx.tx.all(sql(text).bind(ids)).await?;
    tx.execute(sql("SET LOCAL enable_seqscan = on")).await?;
    rows.iter().map(|row| row.try_get(0)).collect()
}

/// What chunks have, as (chunk, field, value), by chunk, field and value.
///
/// # Errors
/// Storage faults.
pub async fn of_chunks(tx: &mut ProjectTx, chunk_ids: &[i64]) -> Result<Vec<(i64, i16, String)>, Fault> {
    let text = format!(
        "SELECT u.chunk_id, n.field, n.name FROM (SELECT k.chunk_id, unnest(k.ids) AS id FROM {facts} k WHERE k.chunk_id = ANY($1) \
         UNION ALL SELECT a.chunk_id, unnest(a.ids) FROM {authors} a WHERE a.chunk_id = ANY($1)) u \
         JOIN {names} n ON n.id = u.id ORDER BY u.chunk_id, n.field, n.name",
        facts = tx.table("facts"),
        authors = tx.table("authors"),
        names = tx.table("names"),
    );
    let rows = tx.tx.all(sql(text).bind(chunk_ids)).await?;
    rows.iter().map(|row| Ok((row.try_get(0)?, row.try_get(1)?, row.try_get(2)?))).collect()
}

/// A chunk that has a value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Holder {
    /// The value's id.
    pub id: i64,
    /// The chunk's repository.
    pub repository_id: i64,
    /// The chunk.
    pub chunk_id: i64,
    /// Name of its main definition.
    pub name: Option<String>,
    /// Its file.
    pub path: String,
    /// What is shown of it besides names, as JSON.
    pub detail: Option<String>,
}

/// Chunks that have a value within a repository, for each of some pairs of a value's id and a repository, by id and path; at
/// most `limit` for each pair.
///
/// # Errors
/// Storage faults.
pub async fn holders(tx: &mut ProjectTx, wanted: &[(i64, i64)], limit: i64) -> Result<Vec<Holder>, Fault> {
    let text = format!(
        "SELECT w.id, w.repository_id, c.id, c.name, f.path, c.detail \
         FROM unnest($1::int8[], $2::int8[]) AS w (id, repository_id) CROSS JOIN LATERAL \
         (SELECT n.chunk_id FROM (SELECT k.chunk_id, k.file_id FROM {facts} k WHERE k.ids @> ARRAY[w.id] LIMIT {SAME_NAME_MAX}) AS n \
         JOIN {files} o ON o.id = n.file_id WHERE o.repository_id = w.repository_id LIMIT $3) AS h \
         JOIN {chunks} c ON c.id = h.chunk_id JOIN {files} f ON f.id = c.file_id ORDER BY w.id, f.path, c.id",
        facts = tx.table("facts"),
        chunks = tx.table("chunks"),
        files = tx.table("files"),
    );
    let (ids, repositories): (Vec<i64>, Vec<i64>) = wanted.iter().copied().unzip();
    let rows = tx.tx.all(sql(text).bind(ids).bind(repositories).bind(limit)).await?;
    rows.iter()
        .map(|row| {
            Ok(Holder {
                id: row.try_get(0)?,
                repository_id: row.try_get(1)?,
                chunk_id: row.try_get(2)?,
                name: row.try_get(3)?,
                path: row.try_get(4)?,
                detail: row.try_get(5)?,
            })
        })
        .collect()
}

/// What the values take that nothing has, once the repositories `without` are gone.
///
/// # Errors
/// Storage faults.
pub async fn orphans(tx: &mut ProjectTx, without: &[i64]) -> Result<Measured, Fault> {
    tx.lift_timeout().await?;
    let text = format!(
        "WITH kept AS MATERIALIZED (SELECT id, imports FROM {files} WHERE repository_id <> ALL ($1)), {used} \
         SELECT count(*), coalesce(sum(pg_column_size(ROW(n.*))), 0)::int8 FROM {names} n \
         WHERE NOT EXISTS (SELECT 1 FROM used WHERE used.id = n.id)",
        files = tx.table("files"),
        used = used(tx),
        names = tx.table("names"),
    );
    Measured::of(&tx.tx.one(sql(text).bind(without)).await?)
}

/// Removes values that nothing has any more; returns what they took.
///
/// # Errors
/// `ILLEGAL_STATE` when another run took over.
pub async fn remove_orphans(tx: &mut ProjectTx, fence: Fence) -> Result<Measured, Fault> {
    index_state::check_fence(tx, fence).await?;
    tx.lift_timeout().await?;
    let text = format!(
        "WITH kept AS MATERIALIZED (SELECT id, imports FROM {files}), {used}, \
         gone AS (DELETE FROM {names} n WHERE NOT EXISTS (SELECT 1 FROM used WHERE used.id = n.id) \
         RETURNING pg_column_size(ROW(n.*)) AS bytes) SELECT count(*), coalesce(sum(bytes), 0)::int8 FROM gone",
        files = tx.table("files"),
        used = used(tx),
        names = tx.table("names"),
    );
    Measured::of(&tx.tx.one(sql(text)).await?)
}

/// The ids in use by what is `kept`.
fn used(tx: &ProjectTx) -> String {
    let of = |table: &'static str| {
        let table = tx.table(table);
        format!("SELECT unnest(t.ids) FROM {table} t JOIN kept k ON k.id = t.file_id")
    };
    format!(
        "used (id) AS MATERIALIZED ({} UNION {} UNION {} UNION SELECT unnest(imports) FROM kept)",
        of("facts"),
        of("authors"),
        of("flows")
    )
}
