//! `instruction_state`: one row with the revision and the hashes of the catalog.

use crate::postgres::{Row, sql};
use crate::transaction::ProjectTx;
use contract::Fault;

/// The state of a catalog.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CatalogState {
    /// Counts the transactions that changed it.
    pub revision: i64,
    /// Number of entries.
    pub entries: i32,
    /// Hash over the bodies of all entries.
    pub hash: [u8; 32],
    /// Hash over the metadata of all entries.
    pub meta_hash: [u8; 32],
}

/// The state as of this transaction.
pub async fn load(tx: &mut ProjectTx) -> Result<CatalogState, Fault> {
    let text = format!(
        "SELECT revision, entries, hash, meta_hash FROM {} WHERE id = 1",
        tx.table("instruction_state")
    );
    decode(&tx.tx.one(sql(text)).await?)
}

/// Locks the catalog against all other writers until the transaction ends, and returns its state.
pub async fn lock(tx: &mut ProjectTx) -> Result<CatalogState, Fault> {
    let text = format!(
        "SELECT revision, entries, hash, meta_hash FROM {} WHERE id = 1 FOR UPDATE",
        tx.table("instruction_state")
    );
    decode(&tx.tx.one(sql(text)).await?)
}

/// Stores the state after a change, which the caller made while it held the lock.
pub async fn store(tx: &mut ProjectTx, state: &CatalogState, now_ms: i64) -> Result<(), Fault> {
    let text = format!(
        "UPDATE {} SET revision = $1, entries = $2, hash = $3, meta_hash = $4, updated_ms = $5 WHERE id = 1",
        tx.table("instruction_state")
    );
    let query = sql(text).bind(state.revision).bind(state.entries);
    let query = query.bind(state.hash.as_slice()).bind(state.meta_hash.as_slice()).bind(now_ms);
    tx.execute(query).await.map(drop)
}

fn decode(row: &Row) -> Result<CatalogState, Fault> {
    Ok(CatalogState {
        revision: row.try_get("revision")?,
        entries: row.try_get("entries")?,
        hash: hash(row, "hash")?,
        meta_hash: hash(row, "meta_hash")?,
    })
}

/// A column of 32 bytes.
pub(super) fn hash(row: &Row, column: &str) -> Result<[u8; 32], Fault> {
    let bytes: Vec<u8> = row.try_get(column)?;
    bytes.try_into().map_err(|bytes: Vec<u8>| {
        Fault::internal(
            "A hash in the catalog is malformed.",
            format!("{column} has {} bytes instead of 32", bytes.len()),
        )
    })
}
