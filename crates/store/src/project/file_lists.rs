//! Lists of files: those that are searchable, and those that are not.

use super::listed_repositories::is_listed;
use crate::postgres::{Row, sql};
use crate::transaction::ProjectTx;
use contract::Fault;

/// A file that is not searchable.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LeftOutFile {
    /// Its repository.
    pub repository_id: i64,
    /// Path relative to the repository.
    pub path: String,
    /// The reason why it is not searchable.
    pub reason: String,
}

/// At most `limit` files of some repositories that are not searchable for one of these reasons, those of the first reason first, and
/// their total number.
pub async fn left_out(
    tx: &mut ProjectTx,
    repository_ids: &[i64],
    reasons: &[String],
    limit: i64,
) -> Result<(Vec<LeftOutFile>, i64), Fault> {
    let text = format!(
        "SELECT f.repository_id, f.path, f.skipped, count(*) OVER () AS total FROM {} f \
         WHERE f.repository_id = ANY($1) AND f.skipped = ANY($2) \
         ORDER BY array_position($2, f.skipped), f.repository_id, f.path LIMIT $3",
        tx.table("files")
    );
    let rows = tx.tx.all(sql(text).bind(repository_ids).bind(reasons).bind(limit)).await?;
    let total = rows.first().map_or(Ok(0), |row| row.try_get("total"))?;
    let file = |row: &Row| {
        Ok(LeftOutFile {
            repository_id: row.try_get("repository_id")?,
            path: row.try_get("path")?,
            reason: row.try_get("skipped")?,
        })
    };
    Ok((rows.iter().map(file).collect::<Result<_, Fault>>()?, total))
}

/// A searchable file in a list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ListedFile {
    /// Id of its repository.
    pub repository_id: i64,
    /// Relative to the repository's root, `/` between parts.
    pub path: String,
    /// Language id, if the file has one.
    pub language: Option<String>,
    /// Size in bytes.
    pub bytes: i64,
    /// Modification time, nanoseconds since the epoch.
    pub modified_ns: i64,
}

/// A page of at most `limit` searchable files after a repository and path, sorted by these: either the documents or all others.
pub async fn page(
    tx: &mut ProjectTx,
    documents: bool,
    (repository_id, path): (i64, &str),
    limit: i64,
) -> Result<Vec<ListedFile>, Fault> {
    let text = format!(
        "SELECT f.repository_id, f.path, f.language, f.bytes, f.modified_ns \
         FROM {} f \
         WHERE (f.repository_id, f.path) > ($1, $2) AND f.skipped IS NULL AND (f.mode = 'prose') = $3 AND {} \
         ORDER BY f.repository_id, f.path LIMIT $4",
        tx.table("files"),
        is_listed(tx)
    );
    let query = sql(text).bind(repository_id).bind(path).bind(documents).bind(limit);
    let rows = tx.tx.all(query).await?;
    let listed = |row: &Row| {
        Ok(ListedFile {
            repository_id: row.try_get("repository_id")?,
            path: row.try_get("path")?,
            language: row.try_get("language")?,
            bytes: row.try_get("bytes")?,
            modified_ns: row.try_get("modified_ns")?,
        })
    };
    rows.iter().map(listed).collect()
}
