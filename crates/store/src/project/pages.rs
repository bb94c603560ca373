//! Reads tables page by page to write a portable file. All pages must be read in one snapshot.

use crate::postgres::Row;
use pgvector::{HalfVector, SparseVector};

use super::history::FileFacts;
use super::listed_repositories::is_listed;
use super::statistics::{self, TermCount, WHOLE_PROJECT};
use super::{chunks, definitions};
use crate::portable::FileStamp;
use crate::portable::rows::{ChunkOut, CommentOut, FileOut, Page, VectorOut};
use crate::postgres::sql;
use crate::transaction::ProjectTx;
use contract::Fault;

/// The part of a project to read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProjectPart {
    /// Only this repository; `None`: all.
    pub repository_id: Option<i64>,
    /// Only files of these modes.
    pub modes: Vec<String>,
    /// Only chunks that have comments.
    pub commented: bool,
}

/// The stamps of all files in the part, sorted by id; they show whether a file was indexed again.
pub async fn stamps(tx: &mut ProjectTx, part: &ProjectPart) -> Result<Vec<FileStamp>, Fault> {
    let commented = format!("AND EXISTS (SELECT 1 FROM {} m WHERE m.chunk_id = c.id)", tx.table("comments"));
    let text = format!(
        "SELECT f.id AS file_id, coalesce(min(c.id), 0) AS first_chunk, count(c.id) AS chunks \
         FROM {files} f \
         LEFT JOIN {chunks} c ON c.file_id = f.id {commented} \
         WHERE f.skipped IS NULL AND ($1::int8 IS NULL OR f.repository_id = $1) AND {listed} AND f.mode = ANY($2) \
         GROUP BY f.id {having} ORDER BY f.id",
        files = tx.table("files"),
        chunks = tx.table("chunks"),
        listed = is_listed(tx),
        commented = if part.commented { commented.as_str() } else { "" },
        having = if part.commented { "HAVING count(c.id) > 0" } else { "" },
    );
    let rows = tx.tx.all(sql(text).bind(part.repository_id).bind(&part.modes)).await?;
    rows.iter()
        .map(|row| {
            Ok(FileStamp {
                file_id: row.try_get("file_id")?,
                first_chunk: row.try_get("first_chunk")?,
                chunks: row.try_get("chunks")?,
            })
        })
        .collect()
}

/// Files with all rows of their chunks.
pub async fn page(tx: &mut ProjectTx, part: &ProjectPart, file_ids: &[i64]) -> Result<Page, Fault> {
    let files = files(tx, file_ids).await?;
    let commented = format!("AND EXISTS (SELECT 1 FROM {} m WHERE m.chunk_id = c.id)", tx.table("comments"));
    let text = format!(
        "SELECT c.id, c.file_id, c.ordinal, c.start_line, c.end_line, c.kind, c.name, c.defines, c.signature, \
           c.content, c.content_hash, c.detail, k.branches, k.loops, k.breaks, k.continues, \
           coalesce(k.ids, '{{}}') AS facts, l.weights, c.name_line \
         FROM {chunks} c LEFT JOIN {facts} k ON k.chunk_id = c.id \
         LEFT JOIN {lexical} l ON l.chunk_id = c.id \
         WHERE c.file_id = ANY($1) {commented} ORDER BY c.id",
        chunks = tx.table("chunks"),
        facts = tx.table("facts"),
        lexical = tx.table("lexical"),
        commented = if part.commented { commented.as_str() } else { "" },
    );
    let rows = tx.tx.all(sql(text).bind(file_ids)).await?;
    let chunks = rows.iter().map(chunk).collect::<Result<Vec<_>, Fault>>()?;
    let ids: Vec<i64> = chunks.iter().map(|chunk| chunk.id).collect();
    let text = format!(
        "SELECT chunk_id, start_line, end_line, content, weights \
         FROM {} \
         WHERE chunk_id = ANY($1) ORDER BY chunk_id",
        tx.table("comments")
    );
    let rows = tx.tx.all(sql(text).bind(&ids)).await?;
    let comments = rows.iter().map(comment).collect::<Result<Vec<_>, Fault>>()?;
    let definitions = definitions::of_chunks(tx, &ids).await?;
    let hashes: Vec<&[u8]> = chunks.iter().map(|chunk| chunk.content_hash.as_slice()).collect();
    let vectors = vectors(tx, &hashes).await?;
    Ok(Page { files, chunks, definitions, comments, vectors })
}

/// The files with these ids.
pub async fn files(tx: &mut ProjectTx, ids: &[i64]) -> Result<Vec<FileOut>, Fault> {
    let text = format!(
        "SELECT id, repository_id, path, language, extension, mode, bytes, lines, content_hash, imports, \
           meta, last_author, last_modified_s, last_commit, churn_added, churn_deleted, churn_commits \
         FROM {} \
         WHERE id = ANY($1) ORDER BY id",
        tx.table("files")
    );
    let rows = tx.tx.all(sql(text).bind(ids)).await?;
    rows.iter()
        .map(|row| {
            Ok(FileOut {
                id: row.try_get("id")?,
                repository_id: row.try_get("repository_id")?,
                path: row.try_get("path")?,
                language: row.try_get("language")?,
                extension: row.try_get("extension")?,
                mode: row.try_get("mode")?,
                bytes: row.try_get("bytes")?,
                lines: row.try_get("lines")?,
                content_hash: row.try_get("content_hash")?,
                imports: row.try_get("imports")?,
                meta: row.try_get("meta")?,
                history: FileFacts {
                    last_author: row.try_get("last_author")?,
                    last_modified_s: row.try_get("last_modified_s")?,
                    last_commit: row.try_get("last_commit")?,
                    churn_added: row.try_get("churn_added")?,
                    churn_deleted: row.try_get("churn_deleted")?,
                    churn_commits: row.try_get("churn_commits")?,
                    meta: None,
                },
            })
        })
        .collect()
}

/// The vectors of texts, by hash; skips texts without a vector.
pub async fn vectors(tx: &mut ProjectTx, hashes: &[&[u8]]) -> Result<Vec<VectorOut>, Fault> {
    let text = format!("SELECT hash, embedding FROM {} WHERE hash = ANY($1)", tx.table("vectors"));
    let rows = tx.tx.all(sql(text).bind(hashes)).await?;
    rows.iter()
        .map(|row| {
            let vector: HalfVector = row.try_get("embedding")?;
            Ok((row.try_get("hash")?, vector.to_vec().into_iter().map(half::f16::to_f32).collect()))
        })
        .collect()
}

/// Names of facts after the id `after`, sorted by id: id, field, value, folded value.
pub async fn names(
    tx: &mut ProjectTx,
    after: i64,
    limit: i64,
) -> Result<Vec<(i64, i16, String, String)>, Fault> {
    let text = format!(
        "SELECT id, field, name, folded FROM {} WHERE id > $1 ORDER BY id LIMIT $2",
        tx.table("names")
    );
    let rows = tx.tx.all(sql(text).bind(after).bind(limit)).await?;
    let name = |row: &Row| {
        Ok((row.try_get("id")?, row.try_get("field")?, row.try_get("name")?, row.try_get("folded")?))
    };
    rows.iter().map(name).collect()
}

/// Document frequencies of the whole project and of some repositories after a repository and term, sorted by these.
pub async fn terms(
    tx: &mut ProjectTx,
    repositories: &[i64],
    (repository, term): (i64, i32),
    limit: i64,
) -> Result<Vec<TermCount>, Fault> {
    let text = format!(
        "SELECT repository_id, term, chunks \
         FROM {} \
         WHERE (repository_id, term) > ($1, $2) AND (repository_id = $3 OR repository_id = ANY($4)) \
         ORDER BY repository_id, term LIMIT $5",
        tx.table("terms")
    );
    let query = sql(text).bind(repository).bind(term).bind(WHOLE_PROJECT).bind(repositories);
    let rows = tx.tx.all(query.bind(limit)).await?;
    rows.iter().map(statistics::decode).collect()
}

/// Authors of chunks after the chunk `after`, sorted by chunk.
pub async fn authors(tx: &mut ProjectTx, after: i64, limit: i64) -> Result<Vec<(i64, Vec<i64>)>, Fault> {
    let text = format!(
        "SELECT chunk_id, ids FROM {} WHERE chunk_id > $1 ORDER BY chunk_id LIMIT $2",
        tx.table("authors")
    );
    let rows = tx.tx.all(sql(text).bind(after).bind(limit)).await?;
    rows.iter().map(|row| Ok((row.try_get("chunk_id")?, row.try_get("ids")?))).collect()
}

/// Flows of chunks after the chunk `after`, sorted by chunk.
pub async fn flows(
    tx: &mut ProjectTx,
    after: i64,
    limit: i64,
) -> Result<Vec<(i64, Vec<i64>, String)>, Fault> {
    let text = format!(
        "SELECT chunk_id, ids, detail FROM {} WHERE chunk_id > $1 ORDER BY chunk_id LIMIT $2",
        tx.table("flows")
    );
    let rows = tx.tx.all(sql(text).bind(after).bind(limit)).await?;
    rows.iter()
        .map(|row| Ok((row.try_get("chunk_id")?, row.try_get("ids")?, row.try_get("detail")?)))
        .collect()
}

/// Numbers of other files that use a definition of the chunks after the chunk `after`, sorted by chunk; 0 for chunks that none uses.
pub async fn users(tx: &mut ProjectTx, after: i64, limit: i64) -> Result<Vec<(i64, i32)>, Fault> {
    let text = format!(
        "SELECT n.chunk_id, {users} AS users \
         FROM (SELECT DISTINCT chunk_id FROM {definitions} WHERE chunk_id > $1 ORDER BY chunk_id LIMIT $2) n \
         ORDER BY n.chunk_id",
        users = chunks::users(tx, "n.chunk_id"),
        definitions = tx.table("definitions"),
    );
    let rows = tx.tx.all(sql(text).bind(after).bind(limit)).await?;
    rows.iter().map(|row| Ok((row.try_get("chunk_id")?, row.try_get("users")?))).collect()
}

fn chunk(row: &Row) -> Result<ChunkOut, Fault> {
    let weights: Option<SparseVector> = row.try_get("weights")?;
    Ok(ChunkOut {
        id: row.try_get("id")?,
        file_id: row.try_get("file_id")?,
        ordinal: row.try_get("ordinal")?,
        lines: (row.try_get("start_line")?, row.try_get("end_line")?),
        kind: row.try_get("kind")?,
        name: row.try_get("name")?,
        name_line: row.try_get("name_line")?,
        defines: row.try_get("defines")?,
        signature: row.try_get("signature")?,
        content: row.try_get("content")?,
        content_hash: row.try_get("content_hash")?,
        detail: row.try_get("detail")?,
        counts: [
            row.try_get("branches")?,
            row.try_get("loops")?,
            row.try_get("breaks")?,
            row.try_get("continues")?,
        ],
        facts: row.try_get("facts")?,
        term_weights: weights.as_ref().map(term_weights).unwrap_or_default(),
    })
}

fn comment(row: &Row) -> Result<CommentOut, Fault> {
    let weights: SparseVector = row.try_get("weights")?;
    Ok(CommentOut {
        chunk_id: row.try_get("chunk_id")?,
        lines: (row.try_get("start_line")?, row.try_get("end_line")?),
        content: row.try_get("content")?,
        term_weights: term_weights(&weights),
    })
}

fn term_weights(weights: &SparseVector) -> Vec<(i32, f32)> {
    weights.indices().iter().copied().zip(weights.values().iter().copied()).collect()
}
