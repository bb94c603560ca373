//! The chunks of files, and the other rows that go with them: counts and removes them, and marks what has to be computed again.

use super::index_state;
use super::term_changes::IS_COUNTED;
use super::uses;
use crate::postgres::sql;
use crate::transaction::ProjectTx;
use contract::Fault;

/// Tables whose rows belong to chunks, or to the lines of a text; all have the column `file_id`.
pub(super) const TEXT_TABLES: &[&str] =
    &["lexical", "grams", "facts", "definitions", "comments", "authors", "line_history", "flows"];

/// Tables whose rows belong to files; all have the column `file_id`.
pub(super) const FILE_TABLES: &[&str] = &["uses", "symbols"];

/// The number of chunks of files.
pub(super) async fn count_chunks(tx: &mut ProjectTx, ids: &[i64]) -> Result<i64, Fault> {
    let text = format!("SELECT coalesce(sum(chunks), 0)::int8 FROM {} WHERE id = ANY($1)", tx.table("files"));
    tx.tx.scalar(sql(text).bind(ids)).await
}

/// Removes the chunks of files and their uses with all their rows, and the history of their lines, and marks the change; returns the number
/// of chunks. [`TermChanges`](super::term_changes::TermChanges) have to be recorded before.
pub(super) async fn remove_chunks_of(tx: &mut ProjectTx, file_ids: &[i64]) -> Result<i64, Fault> {
    for table in TEXT_TABLES {
        let text = format!("DELETE FROM {} WHERE file_id = ANY($1)", tx.table(table));
        tx.execute(sql(text).bind(file_ids)).await?;
    }
    uses::remove(tx, file_ids).await?;
    let chunks = format!("DELETE FROM {} WHERE file_id = ANY($1)", tx.table("chunks"));
    let removed = tx.execute(sql(chunks).bind(file_ids)).await?;
    let removed = i64::try_from(removed).unwrap_or(i64::MAX);
    mark_changed(tx, file_ids, removed).await?;
    Ok(removed)
}

/// Records that `chunks` of these files were added or removed, so that the index is published again, the terms of repositories that are not
/// counted are counted, and the data derived from all of their files are computed again. Call it in the transaction with the change, while
/// the files' rows exist: if the run dies before it ends, the next run then does the rest.
pub(super) async fn mark_changed(tx: &mut ProjectTx, file_ids: &[i64], chunks: i64) -> Result<(), Fault> {
    if chunks == 0 {
        return Ok(());
    }
    index_state::mark_statistics_due(tx).await?;
    mark_repositories_changed(tx, file_ids, chunks).await
}

/// Records that `chunks` of a repository's files are added or removed without being counted, unless the repository is counted, and that the
/// data derived from all of its files have to be computed again.
async fn mark_repositories_changed(tx: &mut ProjectTx, file_ids: &[i64], chunks: i64) -> Result<(), Fault> {
    let text = format!(
        "UPDATE {} SET derived_due = true, changed_since_statistics = \
           CASE WHEN {IS_COUNTED} THEN 0 ELSE changed_since_statistics + $2 END \
         WHERE id IN (SELECT repository_id FROM {} WHERE id = ANY($1))",
        tx.table("repositories"),
        tx.table("files")
    );
    tx.execute(sql(text).bind(file_ids).bind(chunks)).await?;
    Ok(())
}
