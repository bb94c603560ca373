//! `terms`: document frequencies, counted for each repository, so that its ranking does not depend on its neighbours.

use super::index_state::{self, Fence};
use super::sizes::RowUsage;
use crate::postgres::{Row, sql};
use crate::transaction::ProjectTx;
use contract::Fault;

/// The repository id of rows that an earlier version wrote: they count all chunks of the project, and stand in for repositories
/// whose own terms are not counted yet.
pub const WHOLE_PROJECT: i64 = 0;

/// A term's document frequency in a repository.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct TermCount {
    /// The repository, or [`WHOLE_PROJECT`].
    pub repository_id: i64,
    /// The term.
    pub term: i32,
    /// Number of the repository's chunks that contain it, at least 1.
    pub chunks: i32,
}

/// The document frequencies of `terms` in some repositories.
pub async fn document_frequencies(
    tx: &mut ProjectTx,
    repositories: &[i64],
    terms: &[i32],
) -> Result<Vec<TermCount>, Fault> {
    let text = format!(
        "SELECT repository_id, term, chunks FROM {} WHERE repository_id = ANY($1) AND term = ANY($2)",
        tx.table("terms")
    );
    let rows = tx.tx.all(sql(text).bind(repositories).bind(terms)).await?;
    rows.iter().map(decode).collect()
}

/// Decodes a row of the columns `repository_id`, `term` and `chunks`.
pub(super) fn decode(row: &Row) -> Result<TermCount, Fault> {
    Ok(TermCount {
        repository_id: row.try_get("repository_id")?,
        term: row.try_get("term")?,
        chunks: row.try_get("chunks")?,
    })
}

/// Counts the document frequencies of one repository again, and records the number of chunks counted. Reads the rows of this
/// repository only, and rewrites only changed rows; searches see the old counts until the commit.
///
/// # Errors
/// `ILLEGAL_STATE` when another run took over.
pub async fn rebuild(tx: &mut ProjectTx, fence: Fence, repository_id: i64) -> Result<(), Fault> {
    index_state::check_fence(tx, fence).await?;
    tx.lift_timeout().await?;
    let (terms, lexical, files) = (tx.table("terms"), tx.table("lexical"), tx.table("files"));
    let repositories = tx.table("repositories");
    let text = format!(
        "WITH fresh AS MATERIALIZED (SELECT u.term, count(*)::int4 AS chunks FROM {files} f \
           JOIN {lexical} l ON l.file_id = f.id, unnest(l.terms) AS u (term) \
           WHERE f.repository_id = $1 GROUP BY u.term), \
         gone AS (DELETE FROM {terms} t WHERE t.repository_id = $1 AND NOT EXISTS \
           (SELECT 1 FROM fresh WHERE fresh.term = t.term)) \
         INSERT INTO {terms} AS t (repository_id, term, chunks) \
         SELECT $1, fresh.term, fresh.chunks \
         FROM fresh \
         ON CONFLICT (repository_id, term) DO UPDATE SET chunks = excluded.chunks \
         WHERE t.chunks IS DISTINCT FROM excluded.chunks"
    );
    tx.execute(sql(text).bind(repository_id)).await?;
    let text = format!(
        "UPDATE {repositories} \
         SET changed_since_statistics = 0, statistics_chunks = (SELECT count(*) FROM {files} f \
           JOIN {lexical} l ON l.file_id = f.id WHERE f.repository_id = $1) \
         WHERE id = $1"
    );
    tx.execute(sql(text).bind(repository_id)).await?;
    // Nothing refers to the counts of the whole project once each repository has its own.
    let text = format!(
        "DELETE FROM {terms} WHERE repository_id = $1 AND NOT EXISTS (SELECT 1 FROM {repositories} r \
           WHERE r.statistics_chunks = 0 AND r.revisions_of IS NULL AND EXISTS (SELECT 1 FROM {files} f \
             WHERE f.repository_id = r.id AND f.chunks > 0))"
    );
    tx.execute(sql(text).bind(WHOLE_PROJECT)).await?;
    Ok(())
}

/// As [`rebuild`], for all repositories. Files that only revisions have are ranked by the terms of the default branch.
///
/// # Errors
/// As [`rebuild`].
pub async fn rebuild_all(tx: &mut ProjectTx, fence: Fence) -> Result<(), Fault> {
    index_state::check_fence(tx, fence).await?;
    let text = format!("SELECT id FROM {} WHERE revisions_of IS NULL ORDER BY id", tx.table("repositories"));
    let ids: Vec<i64> = tx.tx.scalars(sql(text)).await?;
    for id in ids {
        rebuild(tx, fence, id).await?;
    }
    Ok(())
}

/// Ids of the repositories whose terms are to be counted: they never were, or an earlier version of the program changed chunks
/// without counting them. Those of all others are kept exact by every change.
pub async fn uncounted(tx: &mut ProjectTx) -> Result<Vec<i64>, Fault> {
    let text = format!(
        "SELECT r.id FROM {repositories} r \
         WHERE r.revisions_of IS NULL AND (r.changed_since_statistics > 0 OR (r.statistics_chunks = 0 AND EXISTS \
           (SELECT 1 FROM {files} f WHERE f.repository_id = r.id AND f.chunks > 0))) \
         ORDER BY r.id",
        repositories = tx.table("repositories"),
        files = tx.table("files"),
    );
    tx.tx.scalars(sql(text)).await
}

/// The terms that occur in some chunks, each with the number of these chunks; for chunks of repositories that are not counted.
pub async fn terms_within(
    tx: &mut ProjectTx,
    chunk_ids: &[i64],
    terms: &[i32],
) -> Result<Vec<(i32, i64)>, Fault> {
    let text = format!(
        "SELECT u.term, count(*) AS chunks FROM {} l CROSS JOIN unnest(l.terms) AS u (term) \
         WHERE l.chunk_id = ANY($1) AND u.term = ANY($2) GROUP BY u.term",
        tx.table("lexical")
    );
    let rows = tx.tx.all(sql(text).bind(chunk_ids).bind(terms)).await?;
    rows.iter().map(|row| Ok((row.try_get("term")?, row.try_get("chunks")?))).collect()
}

/// The rows of terms that no chunk of their repository contains any more, by repository.
pub async fn unused(tx: &mut ProjectTx) -> Result<Vec<(i64, RowUsage)>, Fault> {
    tx.lift_timeout().await?;
    let text = format!(
        "WITH used AS MATERIALIZED (SELECT DISTINCT f.repository_id, u.term FROM {lexical} l \
           JOIN {files} f ON f.id = l.file_id, unnest(l.terms) AS u (term)) \
         SELECT t.repository_id, count(*) AS rows, coalesce(sum(pg_column_size(ROW(t.*))), 0)::int8 AS bytes \
         FROM {terms} t \
         WHERE t.repository_id <> $1 AND NOT EXISTS (SELECT 1 FROM used \
           WHERE used.repository_id = t.repository_id AND used.term = t.term) \
         GROUP BY t.repository_id ORDER BY t.repository_id",
        lexical = tx.table("lexical"),
        files = tx.table("files"),
        terms = tx.table("terms"),
    );
    // Those of the whole project are removed as soon as each repository has its own.
    let rows = tx.tx.all(sql(text).bind(WHOLE_PROJECT)).await?;
    rows.iter().map(|row| Ok((row.try_get("repository_id")?, RowUsage::read(row)?))).collect()
}
