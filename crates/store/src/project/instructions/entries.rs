//! `instructions`: the entries of the catalog.

use super::state::hash;
use crate::postgres::{Row, sql};
use crate::transaction::ProjectTx;
use contract::Fault;

/// An entry as it is stored. Times are milliseconds since the epoch, UTC.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EntryRow {
    /// Unique id.
    pub id: String,
    /// Title on one line.
    pub title: String,
    /// Text.
    pub body: String,
    /// The reason why it exists.
    pub rationale: Option<String>,
    /// From 1 to 100.
    pub priority: i16,
    /// `individual`, `group` or `all`.
    pub audience: String,
    /// Its binding force.
    pub requirement: String,
    /// Sorted, in lower case.
    pub categories: Vec<String>,
    /// Id of the entry that replaces it.
    pub deprecated_by: Option<String>,
    /// Hash of the body.
    pub source_hash: [u8; 32],
    /// Hash of the metadata.
    pub meta_hash: [u8; 32],
    /// Version of the entry format.
    pub schema_version: String,
    /// Time of its creation.
    pub created_ms: i64,
    /// Time of its last change.
    pub updated_ms: i64,
}

/// An entry to store.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EntryWrite {
    /// The entry.
    pub row: EntryRow,
    /// Title and body in lower case, which is only searched and never read.
    pub folded: String,
}

/// An entry without its text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EntrySummaryRow {
    /// Unique id.
    pub id: String,
    /// Title on one line.
    pub title: String,
    /// Its binding force.
    pub requirement: String,
    /// From 1 to 100.
    pub priority: i16,
    /// Hash of the body.
    pub source_hash: [u8; 32],
}

/// The hashes of an entry.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EntryHashes {
    /// Unique id.
    pub id: String,
    /// Hash of the body.
    pub source_hash: [u8; 32],
    /// Hash of the metadata.
    pub meta_hash: [u8; 32],
    /// Time of its creation, milliseconds since the epoch.
    pub created_ms: i64,
}

const COLUMNS: &str = "id, title, body, rationale, priority, audience, requirement, categories, deprecated_by, source_hash, \
    meta_hash, schema_version, created_ms, updated_ms";

/// The hashes of all entries, in byte order of their ids.
pub async fn hashes(tx: &mut ProjectTx) -> Result<Vec<EntryHashes>, Fault> {
    let text = format!(
        "SELECT id, source_hash, meta_hash, created_ms FROM {} ORDER BY id COLLATE \"C\"",
        tx.table("instructions")
    );
    let rows = tx.tx.all(sql(text)).await?;
    rows.iter()
        .map(|row| {
            Ok(EntryHashes {
                id: row.try_get("id")?,
                source_hash: hash(row, "source_hash")?,
                meta_hash: hash(row, "meta_hash")?,
                created_ms: row.try_get("created_ms")?,
            })
        })
        .collect()
}

/// At most `limit` entries with ids after `after`, in byte order of their ids.
pub async fn page(tx: &mut ProjectTx, after: &str, limit: i64) -> Result<Vec<EntryRow>, Fault> {
    let text = format!(
        "SELECT {COLUMNS} FROM {} WHERE id COLLATE \"C\" > $1 ORDER BY id COLLATE \"C\" LIMIT $2",
        tx.table("instructions")
    );
    let rows = tx.tx.all(sql(text).bind(after).bind(limit)).await?;
    rows.iter().map(decode).collect()
}

/// The entries with these ids, in byte order of their ids; ids without an entry are left out.
pub async fn with_ids(tx: &mut ProjectTx, ids: &[String]) -> Result<Vec<EntryRow>, Fault> {
    let text = format!(
        "SELECT {COLUMNS} FROM {} WHERE id = ANY($1) ORDER BY id COLLATE \"C\"",
        tx.table("instructions")
    );
    let rows = tx.tx.all(sql(text).bind(ids)).await?;
    rows.iter().map(decode).collect()
}

/// The entries with these ids without their texts, in byte order of their ids.
pub async fn summaries(tx: &mut ProjectTx, ids: &[String]) -> Result<Vec<EntrySummaryRow>, Fault> {
    let text = format!(
        "SELECT id, title, requirement, priority, source_hash FROM {} WHERE id = ANY($1) ORDER BY id COLLATE \"C\"",
        tx.table("instructions")
    );
    let rows = tx.tx.all(sql(text).bind(ids)).await?;
    rows.iter()
        .map(|row| {
            Ok(EntrySummaryRow {
                id: row.try_get("id")?,
                title: row.try_get("title")?,
                requirement: row.try_get("requirement")?,
                priority: row.try_get("priority")?,
                source_hash: hash(row, "source_hash")?,
            })
        })
        .collect()
}

/// The ids of the entries whose title or body contains `folded`, which is in lower case, in byte order.
pub async fn containing(tx: &mut ProjectTx, folded: &str) -> Result<Vec<String>, Fault> {
    let text = format!(
        "SELECT id FROM {} WHERE position($1 in folded) > 0 ORDER BY id COLLATE \"C\"",
        tx.table("instructions")
    );
    tx.tx.scalars(sql(text).bind(folded)).await
}

/// The ids of the entries in a category, or of all, in byte order.
pub async fn ids(tx: &mut ProjectTx, category: Option<&str>) -> Result<Vec<String>, Fault> {
    let text = format!(
        "SELECT id FROM {} WHERE $1::text IS NULL OR $1 = ANY(categories) ORDER BY id COLLATE \"C\"",
        tx.table("instructions")
    );
    tx.tx.scalars(sql(text).bind(category)).await
}

/// Those of these ids that have an entry, in byte order.
pub async fn existing(tx: &mut ProjectTx, ids: &[String]) -> Result<Vec<String>, Fault> {
    let text =
        format!("SELECT id FROM {} WHERE id = ANY($1) ORDER BY id COLLATE \"C\"", tx.table("instructions"));
    tx.tx.scalars(sql(text).bind(ids)).await
}

/// Returns `true` if there are any entries.
pub async fn any(tx: &mut ProjectTx) -> Result<bool, Fault> {
    let text = format!("SELECT EXISTS (SELECT 1 FROM {})", tx.table("instructions"));
    tx.tx.scalar(sql(text)).await
}

/// The bytes of all titles, bodies and rationales. Postgres knows them without reading the texts.
pub async fn text_bytes(tx: &mut ProjectTx) -> Result<i64, Fault> {
    let text = format!(
        "SELECT coalesce(sum(octet_length(title)::int8 + octet_length(body) + coalesce(octet_length(rationale), 0)), 0)::int8 \
         FROM {}",
        tx.table("instructions")
    );
    tx.tx.scalar(sql(text)).await
}

/// Stores new entries and replaces existing ones, whose creation times the caller must have kept.
pub async fn put(tx: &mut ProjectTx, entries: &[EntryWrite], revision: i64, by: &str) -> Result<(), Fault> {
    // Categories travel as one text each, because arrays of arrays must be rectangular; no category contains a line feed.
    let text = format!(
        "INSERT INTO {} AS t (id, revision, title, body, rationale, priority, audience, requirement, categories, \
           deprecated_by, source_hash, meta_hash, schema_version, created_ms, updated_ms, updated_by, folded) \
         SELECT w.id, $1, w.title, w.body, w.rationale, w.priority, w.audience, w.requirement, \
           string_to_array(w.categories, E'\\n'), w.deprecated_by, w.source_hash, w.meta_hash, w.schema_version, \
           w.created_ms, w.updated_ms, $2, w.folded \
         FROM unnest($3::text[], $4::text[], $5::text[], $6::text[], $7::int2[], $8::text[], $9::text[], $10::text[], \
           $11::text[], $12::bytea[], $13::bytea[], $14::text[], $15::int8[], $16::int8[], $17::text[]) \
           AS w (id, title, body, rationale, priority, audience, requirement, categories, deprecated_by, source_hash, \
           meta_hash, schema_version, created_ms, updated_ms, folded) \
         ORDER BY w.id \
         ON CONFLICT (id) DO UPDATE SET revision = excluded.revision, title = excluded.title, body = excluded.body, \
           rationale = excluded.rationale, priority = excluded.priority, audience = excluded.audience, \
           requirement = excluded.requirement, categories = excluded.categories, \
           deprecated_by = excluded.deprecated_by, source_hash = excluded.source_hash, \
           meta_hash = excluded.meta_hash, schema_version = excluded.schema_version, \
           created_ms = excluded.created_ms, updated_ms = excluded.updated_ms, updated_by = excluded.updated_by, \
           folded = excluded.folded",
        tx.table("instructions")
    );
    fn column<'a, T>(entries: &'a [EntryWrite], value: impl Fn(&'a EntryRow) -> T) -> Vec<T> {
        entries.iter().map(|entry| value(&entry.row)).collect()
    }
    let query = sql(text).bind(revision).bind(by);
    let query = query
        .bind(column(entries, |e| e.id.as_str()))
        .bind(column(entries, |e| e.title.as_str()))
        .bind(column(entries, |e| e.body.as_str()))
        .bind(column(entries, |e| e.rationale.as_deref()))
        .bind(column(entries, |e| e.priority))
        .bind(column(entries, |e| e.audience.as_str()))
        .bind(column(entries, |e| e.requirement.as_str()))
        .bind(column(entries, |e| e.categories.join("\n")))
        .bind(column(entries, |e| e.deprecated_by.as_deref()))
        .bind(column(entries, |e| e.source_hash.as_slice()))
        .bind(column(entries, |e| e.meta_hash.as_slice()))
        .bind(column(entries, |e| e.schema_version.as_str()))
        .bind(column(entries, |e| e.created_ms))
        .bind(column(entries, |e| e.updated_ms))
        .bind(entries.iter().map(|entry| entry.folded.as_str()).collect::<Vec<_>>());
    tx.execute(query).await.map(drop)
}

/// Stores the hashes of entries whose stored hashes were wrong.
pub async fn put_hashes(
    tx: &mut ProjectTx,
    hashes: &[EntryHashes],
    revision: i64,
    now_ms: i64,
    by: &str,
) -> Result<(), Fault> {
    let text = format!(
        "UPDATE {} AS t SET source_hash = w.source_hash, meta_hash = w.meta_hash, revision = $1, updated_ms = $2, \
           updated_by = $3 \
         FROM unnest($4::text[], $5::bytea[], $6::bytea[]) AS w (id, source_hash, meta_hash) WHERE t.id = w.id",
        tx.table("instructions")
    );
    let ids: Vec<&str> = hashes.iter().map(|entry| entry.id.as_str()).collect();
    let source: Vec<&[u8]> = hashes.iter().map(|entry| entry.source_hash.as_slice()).collect();
    let meta: Vec<&[u8]> = hashes.iter().map(|entry| entry.meta_hash.as_slice()).collect();
    let query = sql(text).bind(revision).bind(now_ms).bind(by).bind(ids).bind(source).bind(meta);
    tx.execute(query).await.map(drop)
}

/// Removes entries; returns the ids of those that existed, in byte order.
pub async fn remove(tx: &mut ProjectTx, ids: &[String]) -> Result<Vec<String>, Fault> {
    let text = format!("DELETE FROM {} WHERE id = ANY($1) RETURNING id", tx.table("instructions"));
    let mut removed: Vec<String> = tx.tx.scalars(sql(text).bind(ids)).await?;
    removed.sort();
    Ok(removed)
}

fn decode(row: &Row) -> Result<EntryRow, Fault> {
    Ok(EntryRow {
        id: row.try_get("id")?,
        title: row.try_get("title")?,
        body: row.try_get("body")?,
        rationale: row.try_get("rationale")?,
        priority: row.try_get("priority")?,
        audience: row.try_get("audience")?,
        requirement: row.try_get("requirement")?,
        categories: row.try_get("categories")?,
        deprecated_by: row.try_get("deprecated_by")?,
        source_hash: hash(row, "source_hash")?,
        meta_hash: hash(row, "meta_hash")?,
        schema_version: row.try_get("schema_version")?,
        created_ms: row.try_get("created_ms")?,
        updated_ms: row.try_get("updated_ms")?,
    })
}
