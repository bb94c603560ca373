//! `pairofcleats.api_keys`: the API keys. Only the hash of a key is stored, never the key itself.

use crate::postgres::Row;

use crate::postgres::sql;
use crate::transaction::ControlTx;
use contract::{Fault, ProjectId};

/// A key as it is stored. Times are milliseconds since the epoch, UTC.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeyRow {
    /// The public part of the key.
    pub id: String,
    /// The operator's name for it.
    pub name: String,
    /// SHA-256 of the whole key.
    pub hash: Vec<u8>,
    /// Ids of the projects it may access; `None`: all.
    pub projects: Option<Vec<String>>,
    /// Scope names.
    pub scopes: Vec<String>,
    /// Maximum calls per minute; `None`: the server's limit.
    pub calls_per_minute: Option<i32>,
    /// Directories below which it may index; `None`: those of the project.
    pub roots: Option<Vec<String>>,
    /// Time of its creation.
    pub created_ms: i64,
    /// Time from which it is not valid any more.
    pub expires_ms: Option<i64>,
    /// Time of its revocation.
    pub revoked_ms: Option<i64>,
    /// Time of its last use, to the minute.
    pub last_used_ms: Option<i64>,
    /// `true` if it is valid now, by the database's clock: neither revoked nor expired.
    pub live: bool,
}

const COLUMNS: &str = "id, name, hash, projects, scopes, calls_per_minute, roots, \
    (extract(epoch FROM created_at) * 1000)::int8 AS created_ms, \
    (extract(epoch FROM expires_at) * 1000)::int8 AS expires_ms, \
    (extract(epoch FROM revoked_at) * 1000)::int8 AS revoked_ms, \
    (extract(epoch FROM last_used_at) * 1000)::int8 AS last_used_ms, \
    revoked_at IS NULL AND (expires_at IS NULL OR expires_at > now()) AS live";

/// Stores a new key. The database sets its creation time, and it is neither revoked nor used yet; these fields of `key`, and
/// `live`, are ignored.
pub async fn insert(control: &mut ControlTx, key: &KeyRow) -> Result<(), Fault> {
    let query = sql(
        "INSERT INTO pairofcleats.api_keys (id, name, hash, projects, scopes, calls_per_minute, expires_at, \
           roots) \
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
    control.tx.execute(query).await?;
    Ok(())
}

/// The key with this id, even if it was revoked or has expired.
pub async fn find(control: &mut ControlTx, id: &str) -> Result<Option<KeyRow>, Fault> {
    let text = format!("SELECT {COLUMNS} FROM pairofcleats.api_keys WHERE id = $1");
    control.tx.first(sql(text).bind(id)).await?.as_ref().map(read).transpose()
}

/// As [`find`], and keeps the key from being changed before the transaction ends. Locks it like an update, so that a key that revokes
/// itself twice at once waits for itself instead of getting stuck.
pub async fn find_locked(control: &mut ControlTx, id: &str) -> Result<Option<KeyRow>, Fault> {
    let text = format!("SELECT {COLUMNS} FROM pairofcleats.api_keys WHERE id = $1 FOR NO KEY UPDATE");
    control.tx.first(sql(text).bind(id)).await?.as_ref().map(read).transpose()
}

/// All keys, oldest first.
pub async fn list(control: &mut ControlTx) -> Result<Vec<KeyRow>, Fault> {
    let text = format!("SELECT {COLUMNS} FROM pairofcleats.api_keys ORDER BY created_at, id");
    control.tx.all(sql(text)).await?.iter().map(read).collect()
}

/// The ids of valid keys that list a project, oldest first.
pub async fn ids_naming_project(
    control: &mut ControlTx,
    project_id: &ProjectId,
) -> Result<Vec<String>, Fault> {
    let query = sql("SELECT id \
         FROM pairofcleats.api_keys \
         WHERE $1 = ANY (projects) AND revoked_at IS NULL AND (expires_at IS NULL OR expires_at > now()) \
         ORDER BY created_at, id");
    control.tx.scalars(query.bind(project_id.as_str())).await
}

/// The number of different projects that valid keys list; keys for all projects list none.
pub async fn projects_named(control: &mut ControlTx) -> Result<i64, Fault> {
    let query = sql("SELECT count(DISTINCT named) \
         FROM pairofcleats.api_keys, unnest(projects) AS named \
         WHERE revoked_at IS NULL AND (expires_at IS NULL OR expires_at > now())");
    control.tx.scalar(query).await
}

/// Revokes a key; returns false if there is no such key or it was revoked already.
pub async fn revoke(control: &mut ControlTx, id: &str) -> Result<bool, Fault> {
    let query =
        sql("UPDATE pairofcleats.api_keys SET revoked_at = now() WHERE id = $1 AND revoked_at IS NULL");
    Ok(control.tx.execute(query.bind(id)).await? > 0)
}

/// Records that a key was used, at most once a minute.
pub async fn note_use(control: &mut ControlTx, id: &str) -> Result<(), Fault> {
    let query = sql("UPDATE pairofcleats.api_keys SET last_used_at = now() \
         WHERE id = $1 AND (last_used_at IS NULL OR last_used_at < now() - interval '1 minute')");
    control.tx.execute(query.bind(id)).await?;
    Ok(())
}

fn read(row: &Row) -> Result<KeyRow, Fault> {
    Ok(KeyRow {
        id: row.try_get("id")?,
        name: row.try_get("name")?,
        hash: row.try_get("hash")?,
        projects: row.try_get("projects")?,
        scopes: row.try_get("scopes")?,
        calls_per_minute: row.try_get("calls_per_minute")?,
        created_ms: row.try_get("created_ms")?,
        expires_ms: row.try_get("expires_ms")?,
        revoked_ms: row.try_get("revoked_ms")?,
        last_used_ms: row.try_get("last_used_ms")?,
        live: row.try_get("live")?,
        roots: row.try_get("roots")?,
    })
}
