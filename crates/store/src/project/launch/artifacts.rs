//! `launch_artifacts`: the output of each run's workers, in all versions.

use super::hash;
use crate::postgres::{Row, sql};
use crate::transaction::ProjectTx;
use contract::Fault;

/// A version of an artifact without its bytes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ArtifactRow {
    /// Its name.
    pub name: String,
    /// Counts from 1.
    pub version: i32,
    /// Hash of its bytes.
    pub sha256: [u8; 32],
    /// Media type.
    pub content_type: String,
    /// The schema that it has, if it is JSON.
    pub schema_id: Option<String>,
    /// Its author.
    pub writer: String,
    /// Its size.
    pub bytes: i64,
}

/// An artifact to store.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ArtifactWrite {
    /// All but its bytes.
    pub row: ArtifactRow,
    /// Its bytes.
    pub content: Vec<u8>,
}

/// A version of an artifact with a part of its bytes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ArtifactContent {
    /// All but its bytes.
    pub row: ArtifactRow,
    /// The part.
    pub content: Vec<u8>,
}

const COLUMNS: &str =
    "name, version, sha256, content_type, schema_id, writer, octet_length(bytes)::int8 AS size";

/// The latest version of each artifact of a run, sorted by name.
pub async fn latest(tx: &mut ProjectTx, run_id: &str) -> Result<Vec<ArtifactRow>, Fault> {
    let text = format!(
        "SELECT DISTINCT ON (name COLLATE \"C\") {COLUMNS} FROM {} WHERE run_id = $1 \
         ORDER BY name COLLATE \"C\", version DESC",
        tx.table("launch_artifacts")
    );
    let rows = tx.tx.all(sql(text).bind(run_id)).await?;
    rows.iter().map(decode).collect()
}

/// A version of an artifact, the latest without a number, with at most `bytes_max` of its bytes from the offset `from`.
pub async fn part(
    tx: &mut ProjectTx,
    run_id: &str,
    name: &str,
    version: Option<i32>,
    (from, bytes_max): (i32, i32),
) -> Result<Option<ArtifactContent>, Fault> {
    // The first byte of a bytea has the number 1.
    let text = format!(
        "SELECT {COLUMNS}, substring(bytes FROM $4::int4 + 1 FOR $5::int4) AS part FROM {} \
         WHERE run_id = $1 AND name = $2 AND ($3::int4 IS NULL OR version = $3) ORDER BY version DESC LIMIT 1",
        tx.table("launch_artifacts")
    );
    let query = sql(text).bind(run_id).bind(name).bind(version).bind(from).bind(bytes_max);
    let row = tx.tx.first(query).await?;
    row.as_ref().map(content).transpose()
}

/// The latest versions of these artifacts of a run with all their bytes, sorted by name.
pub async fn contents(
    tx: &mut ProjectTx,
    run_id: &str,
    names: &[String],
) -> Result<Vec<ArtifactContent>, Fault> {
    let text = format!(
        "SELECT DISTINCT ON (name COLLATE \"C\") {COLUMNS}, bytes AS part FROM {} \
         WHERE run_id = $1 AND name = ANY($2) ORDER BY name COLLATE \"C\", version DESC",
        tx.table("launch_artifacts")
    );
    let rows = tx.tx.all(sql(text).bind(run_id).bind(names)).await?;
    rows.iter().map(content).collect()
}

/// Stores a version of an artifact.
pub(super) async fn insert(tx: &mut ProjectTx, run_id: &str, artifact: &ArtifactWrite) -> Result<(), Fault> {
    let text = format!(
        "INSERT INTO {} (run_id, name, version, sha256, content_type, schema_id, writer, bytes) \
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8)",
        tx.table("launch_artifacts")
    );
    let row = &artifact.row;
    let query = sql(text).bind(run_id).bind(&row.name).bind(row.version).bind(row.sha256.as_slice());
    let query = query.bind(&row.content_type).bind(row.schema_id.as_deref()).bind(&row.writer);
    tx.execute(query.bind(artifact.content.as_slice())).await.map(drop)
}

fn content(row: &Row) -> Result<ArtifactContent, Fault> {
    Ok(ArtifactContent { row: decode(row)?, content: row.try_get("part")? })
}

fn decode(row: &Row) -> Result<ArtifactRow, Fault> {
    Ok(ArtifactRow {
        name: row.try_get("name")?,
        version: row.try_get("version")?,
        sha256: hash(row, "sha256")?,
        content_type: row.try_get("content_type")?,
        schema_id: row.try_get("schema_id")?,
        writer: row.try_get("writer")?,
        bytes: row.try_get("size")?,
    })
}
