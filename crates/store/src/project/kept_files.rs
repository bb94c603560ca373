//! Keeps files that the default branch loses for the revisions that still have them.

use super::file_chunks::{count_chunks, mark_changed};
use super::{symbols, uses};
use crate::postgres::sql;
use crate::transaction::ProjectTx;
use contract::Fault;

/// Keeps the files that the default branch is about to lose and revisions still have: moves their rows to the hidden repository. Returns
/// the ids of the files that were moved.
pub(super) async fn keep(tx: &mut ProjectTx, file_ids: &[i64]) -> Result<Vec<i64>, Fault> {
    let files = tx.table("files");
    let repositories = tx.table("repositories");
    // A run that died may have left both.
    let text = format!(
        "UPDATE {files} h SET views = h.views | f.views \
         FROM {files} f JOIN {repositories} r ON r.revisions_of = f.repository_id \
         WHERE f.id = ANY($1) AND f.views <> 0 AND h.repository_id = r.id AND h.path = f.path AND h.version = f.modified_ns"
    );
    tx.execute(sql(text).bind(file_ids)).await?;
    let text = format!(
        "SELECT f.id \
         FROM {files} f JOIN {repositories} r ON r.revisions_of = f.repository_id \
         WHERE f.id = ANY($1) AND f.views <> 0 AND NOT EXISTS (SELECT 1 FROM {files} h \
           WHERE h.repository_id = r.id AND h.path = f.path AND h.version = f.modified_ns)"
    );
    let moved: Vec<i64> = tx.tx.scalars(sql(text).bind(file_ids)).await?;
    if moved.is_empty() {
        return Ok(moved);
    }
    symbols::record_removal(tx, &moved).await?;
    uses::remove(tx, &moved).await?;
    let chunks = count_chunks(tx, &moved).await?;
    mark_changed(tx, &moved, chunks).await?;
    // A hidden file lacks the data that a run derives from all files of the default branch, or from its history.
    for table in ["symbols", "authors", "line_history", "flows"] {
        let text = format!("DELETE FROM {} WHERE file_id = ANY($1)", tx.table(table));
        tx.execute(sql(text).bind(&moved)).await?;
    }
    let text = format!(
        "UPDATE {} SET symbol = NULL, name_id = NULL WHERE file_id = ANY($1)",
        tx.table("definitions")
    );
    tx.execute(sql(text).bind(&moved)).await?;
    for (table, key, more) in [
        ("chunks", "file_id", ""),
        (
            "files",
            "id",
            ", version = t.modified_ns, last_author = NULL, last_modified_s = NULL, last_commit = NULL, \
               churn_added = NULL, churn_deleted = NULL, churn_commits = NULL, lines_attributed_to = NULL",
        ),
    ] {
        let text = format!(
            "UPDATE {} t SET repository_id = r.id {more} \
             FROM {repositories} r WHERE r.revisions_of = t.repository_id AND t.{key} = ANY($1)",
            tx.table(table)
        );
        tx.execute(sql(text).bind(&moved)).await?;
    }
    Ok(moved)
}
