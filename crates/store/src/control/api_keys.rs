//! `pairofcleats.api_keys`: which keys there are. A key itself is never stored, only its hash.

use crate::postgres::Row;

use crate::door::ControlTx;
use crate::postgres::sql;
use contract::{Fault, ProjectId};

/// A key as it is kept. Times are milliseconds since the epoch, UTC.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeyRow {
    /// The public part of the key.
    pub id: String,
    /// What the operator calls it.
    pub name: String,
    /// SHA-256 of the whole key.
    pub hash: Vec<u8>,
    /// Project ids; None: all.
    pub projects: Option<Vec<String>>,
    /// Scope names.
    pub scopes: Vec<String>,
    /// Calls a minute; None: the server's limit.
    pub calls_per_minute: Option<i32>,
    /// Directories below which it may index; None: those of the project.
    pub roots: Option<Vec<String>>,
    /// When it was made.
    pub created_ms: i64,
    /// When it stops to work.
    pub expires_ms: Option<i64>,
    /// When it was revoked.
    pub revoked_ms: Option<i64>,
    /// When it was last used, within a minute.
    pub last_used_ms: Option<i64>,
    /// Whether it works now, by the database's clock.
    pub live: bool,
}

const COLUMNS: &str = "id, name, hash, projects, scopes, calls_per_minute, (extract(epoch FROM created_at) * 1000)::int8, \
    (extract(epoch FROM expires_at) * 1000)::int8, (extract(epoch FROM revoked_at) * 1000)::int8, \
    (extract(epoch FROM last_used_at) * 1000)::int8, revoked_at IS NULL AND (expires_at IS NULL OR expires_at > now()), roots";

/// Keeps a new key; its times and `live` are the database's to say.
///
/// # Errors
/// Storage faults.
pub async fn insert(door: &mut ControlTx, key: &KeyRow) -> Result<(), Fault> {
    let query = sql(
        "INSERT INTO pairofcleats.api_keys (id, name, hash, projects, scopes, calls_per_minute, expires_at, roots) \
         VALUES ($1, $2, $3, $4, $5, $6, to_timestamp($7::int8 / 1000.0), $8)",
    );
    let query = query
        .bind(&key.id)
        .bind(&key.name)
        .bind(&key.hash)
        .bind(&key.projects)
        .bind(&key.scopes)
        .bind(key.calls_per_minute)
        .bind(key.expires_ms)
        .bind(&key.roots);
    door.tx.execute(query).await?;
    Ok(())
}

/// The key of that id, whether it works or not.
///
/// # Errors
/// Storage faults.
pub async fn find(door: &mut ControlTx, id: &str) -> Result<Option<KeyRow>, Fault> {
    let text = format!("SELECT {COLUMNS} FROM pairofcleats.api_keys WHERE id = $1");
    door.tx.first(sql(text).bind(id)).await?.as_ref().map(read).transpose()
}

/// All keys, oldest first.
///
/// # Errors
/// Storage faults.
pub async fn list(door: &mut ControlTx) -> Result<Vec<KeyRow>, Fault> {
    let text = format!("SELECT {COLUMNS} FROM pairofcleats.api_keys ORDER BY created_at, id");
    door.tx.all(sql(text)).await?.iter().map(read).collect()
}

/// The ids of keys that work and name a project, oldest first.
///
/// # Errors
/// Storage faults.
pub async fn naming(door: &mut ControlTx, project_id: &ProjectId) -> Result<Vec<String>, Fault> {
    let query = sql("SELECT id FROM pairofcleats.api_keys WHERE $1 = ANY (projects) AND revoked_at IS NULL \
         AND (expires_at IS NULL OR expires_at > now()) ORDER BY created_at, id");
    let rows = door.tx.all(query.bind(project_id.as_str())).await?;
    rows.iter().map(|row| row.try_get(0)).collect()
}

/// How many projects the keys that work name in all; keys for every project name none.
///
/// # Errors
/// Storage faults.
pub async fn projects_named(door: &mut ControlTx) -> Result<i64, Fault> {
    let query = sql("SELECT count(DISTINCT named) FROM pairofcleats.api_keys, unnest(projects) AS named \
         WHERE revoked_at IS NULL AND (expires_at IS NULL OR expires_at > now())");
    door.tx.one(query).await?.try_get(0)
}

/// Makes a key stop to work; false when there is no such key or it was revoked before.
///
/// # Errors
/// Storage faults.
pub async fn revoke(door: &mut ControlTx, id: &str) -> Result<bool, Fault> {
    let query =
        sql("UPDATE pairofcleats.api_keys SET revoked_at = now() WHERE id = $1 AND revoked_at IS NULL");
    Ok(door.tx.execute(query.bind(id)).await? > 0)
}

/// Notes that a key was used, at most once a minute.
///
/// # Errors
/// Storage faults.
pub async fn used(door: &mut ControlTx, id: &str) -> Result<(), Fault> {
    let query = sql("UPDATE pairofcleats.api_keys SET last_used_at = now() \
         WHERE id = $1 AND (last_used_at IS NULL OR last_used_at < now() - interval '1 minute')");
    door.tx.execute(query.bind(id)).await?;
    Ok(())
}

fn read(row: &Row) -> Result<KeyRow, Fault> {
    Ok(KeyRow {
        id: row.try_get(0)?,
        name: row.try_get(1)?,
        hash: row.try_get(2)?,
        projects: row.try_get(3)?,
        scopes: row.try_get(4)?,
        calls_per_minute: row.try_get(5)?,
        created_ms: row.try_get(6)?,
        expires_ms: row.try_get(7)?,
        revoked_ms: row.try_get(8)?,
        last_used_ms: row.try_get(9)?,
        live: row.try_get(10)?,
        roots: row.try_get(11)?,
    })
}
