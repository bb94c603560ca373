//! `facts` and `names`: the facts of chunks and files. A fact is a value of a field; its id is a hash of both.

use std::collections::HashSet;

use super::index_state::{self, Fence};
use super::sizes::RowUsage;
use crate::postgres::{indexable, sql};
use crate::transaction::ProjectTx;
use contract::Fault;

/// Maximum number of chunks of one fact, or values with one prefix, that are read; in a large project thousands call a `push`.
const SAME_NAME_MAX: u32 = 5000;

/// A fact: the code of a field, and its value.
pub type NamedFact = (i16, String);

/// The id of a fact. It is a pure function, so that writers need not query it.
#[must_use]
pub fn fact_id(field: i16, value: &str) -> i64 {
    let mut hasher = blake3::Hasher::new();
    hasher.update(&field.to_le_bytes()).update(value.as_bytes());
    let hash = hasher.finalize();
    let mut first = [0; 8];
    first.copy_from_slice(&hash.as_bytes()[..8]);
    i64::from_le_bytes(first)
}

/// Ids of the facts that a run has stored, so that each is sent only once.
#[derive(Debug, Default)]
pub struct KnownNames(HashSet<i64>);

impl KnownNames {
    /// The ids of facts, in ascending order without duplicates; adds those that were not known to `fresh`.
    pub(super) fn ids<'v>(
        &mut self,
        values: impl IntoIterator<Item = (i16, &'v str)>,
        fresh: &mut NewNames<'v>,
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

/// Facts that a run has not stored yet.
#[derive(Debug, Default)]
pub(super) struct NewNames<'v>(Vec<(i64, i16, &'v str)>);

/// Stores facts; existing ones stay. A value has no bound, because a repository's own risk rules name some; its folded form is
/// indexed, so only as much of it is stored as an index holds.
pub(super) async fn insert(tx: &mut ProjectTx, fresh: &NewNames<'_>) -> Result<(), Fault> {
    if fresh.0.is_empty() {
        return Ok(());
    }
    let text = format!(
        "INSERT INTO {} (id, field, name, folded) \
         SELECT t.id, t.field, t.name, t.folded \
         FROM unnest($1::int8[], $2::int2[], $3::text[], $4::text[]) AS t (id, field, name, folded) \
         ORDER BY t.id ON CONFLICT (id) DO NOTHING",
        tx.table("names")
    );
    let ids: Vec<i64> = fresh.0.iter().map(|(id, ..)| *id).collect();
    let fields: Vec<i16> = fresh.0.iter().map(|(_, field, _)| *field).collect();
    let names: Vec<&str> = fresh.0.iter().map(|(.., name)| *name).collect();
    // Folded here, because the server's case mapping depends on its locale.
    let folded: Vec<String> = names.iter().map(|name| indexable(&name.to_lowercase()).to_owned()).collect();
    tx.execute(sql(text).bind(ids).bind(fields).bind(names).bind(folded)).await?;
    Ok(())
}

/// Ids of the values of some fields that contain one of `texts` (lower-case), also without their own blanks; at most `limit`.
pub async fn containing(
    tx: &mut ProjectTx,
    fields: &[i16],
    texts: &[String],
    limit: i64,
) -> Result<Vec<i64>, Fault> {
    // Usually there is one text, which is much faster without the subquery.
    let contains = if texts.len() == 1 {
        "(position(($2::text[])[1] in n.folded) > 0 OR position(($2::text[])[1] in replace(n.folded, ' ', '')) > 0)"
    } else {
        "EXISTS (SELECT 1 FROM unnest($2::text[]) AS w (text) WHERE position(w.text in n.folded) > 0 \
           OR position(w.text in replace(n.folded, ' ', '')) > 0)"
    };
    let text =
        format!("SELECT n.id FROM {} n WHERE n.field = ANY($1) AND {contains} LIMIT $3", tx.table("names"));
    tx.tx.scalars(sql(text).bind(fields).bind(texts).bind(limit)).await
}

/// Returns different values of some fields whose length in characters is one of `lengths`; at most `limit`.
pub async fn of_lengths(
    tx: &mut ProjectTx,
    fields: &[i16],
    lengths: &[i32],
    limit: i64,
) -> Result<Vec<String>, Fault> {
    let text = format!(
        "SELECT DISTINCT n.name \
         FROM {} n \
         WHERE n.field = ANY($1) AND length(n.name) = ANY($2) \
         LIMIT $3",
        tx.table("names")
    );
    tx.tx.scalars(sql(text).bind(fields).bind(lengths).bind(limit)).await
}

/// Those of the facts `ids` that occur in chunks of some repositories.
pub async fn used_in_repositories(
    tx: &mut ProjectTx,
    ids: &[i64],
    repositories: &[i64],
) -> Result<Vec<i64>, Fault> {
    let text = format!(
        "SELECT w.id \
         FROM unnest($1::int8[]) AS w (id) \
         WHERE EXISTS (SELECT 1 FROM {facts} k JOIN {files} f ON f.id = k.file_id WHERE k.ids @> ARRAY[w.id] \
           AND f.repository_id = ANY($2))",
        facts = tx.table("facts"),
        files = tx.table("files"),
    );
    // Forces index lookups of each fact; a sequential scan would compare every row with each of them.
    tx.execute(sql("SET LOCAL enable_seqscan = off")).await?;
    let held = tx.tx.scalars(sql(text).bind(ids).bind(repositories)).await?;
    tx.execute(sql("SET LOCAL enable_seqscan = on")).await?;
    Ok(held)
}

/// Ids of the values of a field that equal `text`, or begin with it and one of `separators`, ignoring case; at most 5,000.
/// Each separator must be one character.
pub async fn with_prefix(
    tx: &mut ProjectTx,
    field: i16,
    text: &str,
    separators: &[&str],
) -> Result<Vec<i64>, Fault> {
    let (whole, prefixes) = folded(text, separators);
    let text = format!(
        "SELECT n.id \
         FROM {} n \
         WHERE n.field = $1 AND (n.folded = $2 OR left(n.folded, length($2) + 1) = ANY($3)) \
         ORDER BY n.id LIMIT {SAME_NAME_MAX}",
        tx.table("names")
    );
    tx.tx.scalars(sql(text).bind(field).bind(whole).bind(prefixes)).await
}

/// Ids of a field's values that end with `text`, or contain it followed by one of `separators`, ignoring case; at most 5,000.
pub async fn with_suffix(
    tx: &mut ProjectTx,
    field: i16,
    text: &str,
    separators: &[&str],
) -> Result<Vec<i64>, Fault> {
    let (whole, prefixes) = folded(text, separators);
    let text = format!(
        "SELECT n.id \
         FROM {} n \
         WHERE n.field = $1 AND (right(n.folded, length($2)) = $2 OR EXISTS \
           (SELECT 1 FROM unnest($3::text[]) AS w (text) WHERE position(w.text in n.folded) > 0)) \
         ORDER BY n.id LIMIT {SAME_NAME_MAX}",
        tx.table("names")
    );
    tx.tx.scalars(sql(text).bind(field).bind(whole).bind(prefixes)).await
}

/// A text in lower case, and the same text followed by each separator.
pub(crate) fn folded(text: &str, separators: &[&str]) -> (String, Vec<String>) {
    let whole = text.to_lowercase();
    let prefixes = separators.iter().map(|separator| format!("{whole}{separator}")).collect();
    (whole, prefixes)
}

/// Chunks that have one of the facts `ids`; with `flows`, also those that have it through a flow between files.
pub async fn chunks_with(tx: &mut ProjectTx, ids: &[i64], flows: bool) -> Result<Vec<i64>, Fault> {
    let mut text = format!("SELECT k.chunk_id FROM {} k WHERE k.ids && $1", tx.table("facts"));
    if flows {
        text.push_str(&format!(" UNION SELECT w.chunk_id FROM {} w WHERE w.ids && $1", tx.table("flows")));
    }
    // Forces the index: for many ids the planner would choose a sequential scan that compares all of them with each row.
    tx.execute(sql("SET LOCAL enable_seqscan = off")).await?;
    let chunks = tx.tx.scalars(sql(text).bind(ids)).await?;
    tx.execute(sql("SET LOCAL enable_seqscan = on")).await?;
    Ok(chunks)
}

/// The facts and authors of chunks as (chunk, field, value), sorted by these.
pub async fn of_chunks(tx: &mut ProjectTx, chunk_ids: &[i64]) -> Result<Vec<(i64, i16, String)>, Fault> {
    let text = format!(
        "SELECT u.chunk_id, n.field, n.name \
         FROM (SELECT k.chunk_id, unnest(k.ids) AS id FROM {facts} k WHERE k.chunk_id = ANY($1) UNION ALL \
           SELECT a.chunk_id, unnest(a.ids) FROM {authors} a WHERE a.chunk_id = ANY($1)) u \
         JOIN {names} n ON n.id = u.id \
         ORDER BY u.chunk_id, n.field, n.name",
        facts = tx.table("facts"),
        authors = tx.table("authors"),
        names = tx.table("names"),
    );
    let rows = tx.tx.all(sql(text).bind(chunk_ids)).await?;
    rows.iter()
        .map(|row| Ok((row.try_get("chunk_id")?, row.try_get("field")?, row.try_get("name")?)))
        .collect()
}

/// A chunk that has a fact.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChunkWithFact {
    /// Id of the fact.
    pub id: i64,
    /// The chunk's repository.
    pub repository_id: i64,
    /// Id of the chunk.
    pub chunk_id: i64,
    /// Name of its main definition.
    pub name: Option<String>,
    /// Path of its file, relative to the root of the repository.
    pub path: String,
    /// Facts of the chunk that are displayed but not filtered by, as JSON.
    pub detail: Option<String>,
}

/// For each pair of a fact and a repository, the chunks of the repository that have the fact; sorted by fact and path, at most
/// `limit` for each pair.
pub async fn chunks_with_facts(
    tx: &mut ProjectTx,
    wanted: &[(i64, i64)],
    limit: i64,
) -> Result<Vec<ChunkWithFact>, Fault> {
    let text = format!(
        "SELECT w.id, w.repository_id, c.id AS chunk_id, c.name, f.path, c.detail \
         FROM unnest($1::int8[], $2::int8[]) AS w (id, repository_id) \
         CROSS JOIN LATERAL (SELECT n.chunk_id FROM (SELECT k.chunk_id, k.file_id FROM {facts} k \
           WHERE k.ids @> ARRAY[w.id] LIMIT {SAME_NAME_MAX}) AS n JOIN {files} o ON o.id = n.file_id \
           WHERE o.repository_id = w.repository_id LIMIT $3) AS h \
         JOIN {chunks} c ON c.id = h.chunk_id \
         JOIN {files} f ON f.id = c.file_id ORDER BY w.id, f.path, c.id",
        facts = tx.table("facts"),
        chunks = tx.table("chunks"),
        files = tx.table("files"),
    );
    let (ids, repositories): (Vec<i64>, Vec<i64>) = wanted.iter().copied().unzip();
    let rows = tx.tx.all(sql(text).bind(ids).bind(repositories).bind(limit)).await?;
    rows.iter()
        .map(|row| {
            Ok(ChunkWithFact {
                id: row.try_get("id")?,
                repository_id: row.try_get("repository_id")?,
                chunk_id: row.try_get("chunk_id")?,
                name: row.try_get("name")?,
                path: row.try_get("path")?,
                detail: row.try_get("detail")?,
            })
        })
        .collect()
}

/// The rows of facts that would be unused if the repositories `without` were removed.
pub async fn orphans(tx: &mut ProjectTx, without: &[i64]) -> Result<RowUsage, Fault> {
    tx.lift_timeout().await?;
    let text = format!(
        "WITH kept AS MATERIALIZED (SELECT id, imports FROM {files} WHERE repository_id NOT IN \
           (SELECT id FROM {repositories} WHERE id = ANY($1) OR revisions_of = ANY($1))), {used} \
         SELECT count(*) AS rows, coalesce(sum(pg_column_size(ROW(n.*))), 0)::int8 AS bytes \
         FROM {names} n \
         WHERE NOT EXISTS (SELECT 1 FROM used WHERE used.id = n.id)",
        repositories = tx.table("repositories"),
        files = tx.table("files"),
        used = used(tx),
        names = tx.table("names"),
    );
    RowUsage::read(&tx.tx.one(sql(text).bind(without)).await?)
}

/// Removes unused facts; returns the removed rows.
///
/// # Errors
/// `ILLEGAL_STATE` when another run took over.
pub async fn remove_orphans(tx: &mut ProjectTx, fence: Fence) -> Result<RowUsage, Fault> {
    index_state::check_fence(tx, fence).await?;
    tx.lift_timeout().await?;
    let text = format!(
        "WITH kept AS MATERIALIZED (SELECT id, imports FROM {files}), {used}, gone AS (DELETE FROM {names} n \
           WHERE NOT EXISTS (SELECT 1 FROM used WHERE used.id = n.id) \
           RETURNING pg_column_size(ROW(n.*)) AS bytes) \
         SELECT count(*) AS rows, coalesce(sum(bytes), 0)::int8 AS bytes \
         FROM gone",
        files = tx.table("files"),
        used = used(tx),
        names = tx.table("names"),
    );
    RowUsage::read(&tx.tx.one(sql(text)).await?)
}

/// The common table expression `used`: ids of the facts of the files in `kept`.
fn used(tx: &ProjectTx) -> String {
    let select = |table: &'static str| {
        let table = tx.table(table);
        format!("SELECT unnest(t.ids) FROM {table} t JOIN kept k ON k.id = t.file_id")
    };
    format!(
        "used (id) AS MATERIALIZED ({} UNION {} UNION {} UNION SELECT unnest(imports) FROM kept)",
        select("facts"),
        select("authors"),
        select("flows")
    )
}
