//! `scip_documents` and `scip_files`: the output of compilers' indexers for the files of a repository.

use std::collections::HashMap;

use super::index_state::{self, Fence};
use crate::postgres::sql;
use crate::transaction::ProjectTx;
use contract::Fault;

/// An indexer's document about a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ScipDocumentWrite {
    /// Path of the file, relative to the root.
    pub path: String,
    /// blake3 of the file that it was made of.
    pub content_hash: Vec<u8>,
    /// The document, serialised.
    pub document: Vec<u8>,
}

/// Replaces the documents of these files, and records that their uses are not resolved. The files must be those of one SCIP file, made by
/// `tool`.
///
/// # Errors
/// `ILLEGAL_STATE` when another run took over.
pub async fn replace(
    tx: &mut ProjectTx,
    fence: Fence,
    repository_id: i64,
    tool: &str,
    documents: &[ScipDocumentWrite],
) -> Result<(), Fault> {
    index_state::check_fence(tx, fence).await?;
    let text = format!(
        "INSERT INTO {} (repository_id, path, content_hash, tool, document) \
         SELECT $1, t.path, t.content_hash, $2, t.document \
         FROM unnest($3::text[], $4::bytea[], $5::bytea[]) AS t (path, content_hash, document) \
         ON CONFLICT (repository_id, path) DO UPDATE SET content_hash = excluded.content_hash, \
           tool = excluded.tool, document = excluded.document",
        tx.table("scip_documents")
    );
    let paths: Vec<&str> = documents.iter().map(|one| one.path.as_str()).collect();
    let query = sql(text)
        .bind(repository_id)
        .bind(tool)
        .bind(&paths)
        .bind(documents.iter().map(|one| one.content_hash.as_slice()).collect::<Vec<_>>())
        .bind(documents.iter().map(|one| one.document.as_slice()).collect::<Vec<_>>());
    tx.execute(query).await?;
    let text = format!(
        "UPDATE {symbols} s SET resolved = false FROM {files} f \
         WHERE f.id = s.file_id AND f.repository_id = $1 AND f.path = ANY($2) AND s.interface IS NOT NULL",
        symbols = tx.table("symbols"),
        files = tx.table("files"),
    );
    tx.execute(sql(text).bind(repository_id).bind(&paths)).await?;
    Ok(())
}

/// Returns the documents about these files that match their current content, as (file, document).
pub async fn documents(tx: &mut ProjectTx, file_ids: &[i64]) -> Result<Vec<(i64, Vec<u8>)>, Fault> {
    let text = format!(
        "SELECT f.id, d.document \
         FROM {files} f JOIN {documents} d ON d.repository_id = f.repository_id AND d.path = f.path \
           AND d.content_hash = f.content_hash \
         WHERE f.id = ANY($1) ORDER BY f.id",
        files = tx.table("files"),
        documents = tx.table("scip_documents"),
    );
    let rows = tx.tx.all(sql(text).bind(file_ids)).await?;
    rows.iter().map(|row| Ok((row.try_get("id")?, row.try_get("document")?))).collect()
}

/// The files of a repository with a document that matches their current content, sorted.
pub async fn known_files(tx: &mut ProjectTx, repository_id: i64) -> Result<Vec<i64>, Fault> {
    let text = format!(
        "SELECT f.id \
         FROM {files} f JOIN {documents} d ON d.repository_id = f.repository_id AND d.path = f.path \
           AND d.content_hash = f.content_hash \
         WHERE d.repository_id = $1 ORDER BY f.id",
        files = tx.table("files"),
        documents = tx.table("scip_documents"),
    );
    tx.tx.scalars(sql(text).bind(repository_id)).await
}

/// Removes the documents of files that no longer exist; with `all`, those of all files of the repository, and the record of the SCIP files
/// that were read. Returns the number of removed documents.
///
/// # Errors
/// `ILLEGAL_STATE` when another run took over.
pub async fn prune(tx: &mut ProjectTx, fence: Fence, repository_id: i64, all: bool) -> Result<u64, Fault> {
    index_state::check_fence(tx, fence).await?;
    if all {
        let text = format!(
            "UPDATE {symbols} s SET resolved = false FROM {files} f, {documents} d \
             WHERE f.id = s.file_id AND f.repository_id = $1 AND d.repository_id = $1 AND d.path = f.path \
               AND s.interface IS NOT NULL",
            symbols = tx.table("symbols"),
            files = tx.table("files"),
            documents = tx.table("scip_documents"),
        );
        tx.execute(sql(text).bind(repository_id)).await?;
        let text = format!("DELETE FROM {} WHERE repository_id = $1", tx.table("scip_files"));
        tx.execute(sql(text).bind(repository_id)).await?;
    }
    let text = format!(
        "DELETE FROM {documents} d WHERE d.repository_id = $1 AND ($2 OR NOT EXISTS \
           (SELECT 1 FROM {files} f WHERE f.repository_id = $1 AND f.path = d.path))",
        documents = tx.table("scip_documents"),
        files = tx.table("files"),
    );
    tx.execute(sql(text).bind(repository_id).bind(all)).await
}

/// A SCIP file of a repository's folder for them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ScipFile {
    /// blake3 of its bytes.
    pub hash: Vec<u8>,
    /// Documents that did not fit their files when it was read.
    pub refused: i64,
}

/// The SCIP files of a repository that were read, by name.
pub async fn files_read(tx: &mut ProjectTx, repository_id: i64) -> Result<HashMap<String, ScipFile>, Fault> {
    let text = format!("SELECT name, hash, refused FROM {} WHERE repository_id = $1", tx.table("scip_files"));
    let rows = tx.tx.all(sql(text).bind(repository_id)).await?;
    rows.iter()
        .map(|row| {
            let file = ScipFile { hash: row.try_get("hash")?, refused: row.try_get("refused")? };
            Ok((row.try_get("name")?, file))
        })
        .collect()
}

/// Records that a SCIP file was read.
///
/// # Errors
/// `ILLEGAL_STATE` when another run took over.
pub async fn record_file(
    tx: &mut ProjectTx,
    fence: Fence,
    repository_id: i64,
    name: &str,
    file: &ScipFile,
) -> Result<(), Fault> {
    index_state::check_fence(tx, fence).await?;
    let text = format!(
        "INSERT INTO {} (repository_id, name, hash, refused) VALUES ($1, $2, $3, $4) \
         ON CONFLICT (repository_id, name) DO UPDATE SET hash = excluded.hash, refused = excluded.refused",
        tx.table("scip_files")
    );
    tx.execute(sql(text).bind(repository_id).bind(name).bind(&file.hash).bind(file.refused)).await?;
    Ok(())
}
