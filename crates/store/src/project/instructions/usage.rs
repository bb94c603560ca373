//! `instruction_usage`: how often entries were used. Writes add, so those of several processes are all counted.

use crate::postgres::{Row, sql};
use crate::transaction::ProjectTx;
use contract::Fault;

/// The use count of an entry. Times are milliseconds since the epoch, UTC.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UsageRow {
    /// Id of the entry, which need not exist any more.
    pub id: String,
    /// Number of uses.
    pub count: i64,
    /// Time of the last use.
    pub last_ms: i64,
}

/// Uses of an entry to add.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UsageDelta {
    /// Id of the entry; unique within a write.
    pub id: String,
    /// Number of uses.
    pub count: i64,
    /// Time of the first use.
    pub first_ms: i64,
    /// Time of the last use.
    pub last_ms: i64,
}

/// The usage of these entries; of all if `ids` is `None`.
pub async fn load(tx: &mut ProjectTx, ids: Option<&[String]>) -> Result<Vec<UsageRow>, Fault> {
    let text = format!(
        "SELECT id, usage_count, last_used_ms FROM {} WHERE $1::text[] IS NULL OR id = ANY($1)",
        tx.table("instruction_usage")
    );
    let rows = tx.tx.all(sql(text).bind(ids)).await?;
    rows.iter().map(decode).collect()
}

/// Adds uses.
pub async fn add(tx: &mut ProjectTx, deltas: &[UsageDelta]) -> Result<(), Fault> {
    let text = format!(
        "INSERT INTO {} AS t (id, usage_count, first_used_ms, last_used_ms) \
         SELECT w.id, w.count, w.first_ms, w.last_ms \
         FROM unnest($1::text[], $2::int8[], $3::int8[], $4::int8[]) AS w (id, count, first_ms, last_ms) \
         ORDER BY w.id \
         ON CONFLICT (id) DO UPDATE SET usage_count = t.usage_count + excluded.usage_count, \
           last_used_ms = greatest(t.last_used_ms, excluded.last_used_ms)",
        tx.table("instruction_usage")
    );
    let ids: Vec<&str> = deltas.iter().map(|delta| delta.id.as_str()).collect();
    let counts: Vec<i64> = deltas.iter().map(|delta| delta.count).collect();
    let first: Vec<i64> = deltas.iter().map(|delta| delta.first_ms).collect();
    let last: Vec<i64> = deltas.iter().map(|delta| delta.last_ms).collect();
    tx.execute(sql(text).bind(ids).bind(counts).bind(first).bind(last)).await.map(drop)
}

fn decode(row: &Row) -> Result<UsageRow, Fault> {
    Ok(UsageRow {
        id: row.try_get("id")?,
        count: row.try_get("usage_count")?,
        last_ms: row.try_get("last_used_ms")?,
    })
}
