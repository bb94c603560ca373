//! Removes a repository with everything that belongs to it.

use super::file_chunks::remove_chunks_of;
use super::index_state::{self, Fence};
use super::revisions;
use crate::postgres::sql;
use crate::transaction::ProjectTx;
use contract::{ErrorCode, Fault};

/// Removes a repository with its revisions and all rows of its files. Vectors stay until orphaned ones are removed.
///
/// # Errors
/// `NOT_FOUND` if it does not exist; `ILLEGAL_STATE` if another run took over.
pub async fn delete(tx: &mut ProjectTx, fence: Fence, id: i64) -> Result<(), Fault> {
    index_state::check_fence(tx, fence).await?;
    revisions::remove(tx, fence, id).await?;
    let files = tx.table("files");
    let text = format!("SELECT id FROM {files} WHERE repository_id = $1");
    let ids: Vec<i64> = tx.tx.scalars(sql(text).bind(id)).await?;
    remove_chunks_of(tx, &ids).await?;
    for table in ["symbols", "name_changes", "scip_documents", "scip_files", "terms", "files"] {
        let text = format!("DELETE FROM {} WHERE repository_id = $1", tx.table(table));
        tx.execute(sql(text).bind(id)).await?;
    }
    let text = format!("DELETE FROM {} WHERE id = $1", tx.table("repositories"));
    if tx.execute(sql(text).bind(id)).await? == 0 {
        return Err(Fault::new(ErrorCode::NotFound, "The project has no such repository."));
    }
    Ok(())
}
