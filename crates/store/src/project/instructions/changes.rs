//! `instruction_changes`: the changes of each revision of the catalog.

use std::collections::BTreeMap;

use crate::postgres::sql;
use crate::transaction::ProjectTx;
use contract::Fault;

/// One revision.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Change {
    /// Number of the revision.
    pub revision: i64,
    /// Time of the change, milliseconds since the epoch.
    pub at_ms: i64,
    /// The principal who made it.
    pub principal: String,
    /// The method, such as `instructions/import`.
    pub action: &'static str,
    /// New entries.
    pub added: Vec<String>,
    /// Entries that existed before.
    pub updated: Vec<String>,
    /// Entries that were removed.
    pub removed: Vec<String>,
    /// Hash of the catalog afterwards.
    pub hash: [u8; 32],
}

/// The change of an entry since a revision.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Since {
    /// It did not exist then.
    Added,
    /// It existed then.
    Updated,
    /// It does not exist any more.
    Removed,
    /// It did not exist then, and does not exist any more.
    CameAndWent,
}

/// Records a revision and forgets those before the last `keep`.
pub async fn append(tx: &mut ProjectTx, change: &Change, keep: i64) -> Result<(), Fault> {
    let table = tx.table("instruction_changes");
    let text = format!(
        "INSERT INTO {table} (revision, at_ms, principal, action, added, updated, removed, hash) \
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8)"
    );
    let query = sql(text).bind(change.revision).bind(change.at_ms).bind(change.principal.as_str());
    let query = query.bind(change.action).bind(&change.added).bind(&change.updated).bind(&change.removed);
    tx.execute(query.bind(change.hash.as_slice())).await?;
    let forget = format!("DELETE FROM {table} WHERE revision <= $1");
    tx.execute(sql(forget).bind(change.revision - keep)).await.map(drop)
}

/// Returns the changes of the entries that changed after `revision`; `None` if a later revision is no longer kept, or `revision` is not
/// reached yet.
pub async fn since(
    tx: &mut ProjectTx,
    revision: i64,
    newest: i64,
) -> Result<Option<BTreeMap<String, Since>>, Fault> {
    let text = format!(
        "SELECT added, updated, removed FROM {} WHERE revision > $1 ORDER BY revision",
        tx.table("instruction_changes")
    );
    let rows = tx.tx.all(sql(text).bind(revision)).await?;
    if !(0..=newest).contains(&revision) || i64::try_from(rows.len()).ok() != Some(newest - revision) {
        return Ok(None);
    }
    let mut changed = BTreeMap::new();
    for row in &rows {
        for id in row.try_get::<Vec<String>>("added")? {
            let known = changed.get(&id);
            let now = if known == Some(&Since::Removed) { Since::Updated } else { Since::Added };
            changed.insert(id, now);
        }
        for id in row.try_get::<Vec<String>>("updated")? {
            changed.entry(id).or_insert(Since::Updated);
        }
        for id in row.try_get::<Vec<String>>("removed")? {
            let known = changed.get(&id);
            let now = if known == Some(&Since::Added) { Since::CameAndWent } else { Since::Removed };
            changed.insert(id, now);
        }
    }
    Ok(Some(changed))
}
