//! `files`, and the one write that replaces what a file said.

use std::collections::HashMap;

use pgvector::SparseVector;
use sqlx::Row;
use sqlx::postgres::PgRow;

use super::index_state::{self, Fence};
use super::lexical::sparse;
use crate::contract::Fault;
use crate::postgres::sql;
use crate::store::door::ProjectTx;

/// Rows of one INSERT: beyond this a larger statement is no faster.
const ROWS_MAX: usize = 1000;
/// Separates the names of `defines` on the wire; no identifier holds it.
const NAME_SEPARATOR: &str = "\u{1f}";

/// What is stored of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileRow {
    /// Row id.
    pub id: i64,
    /// Relative to the repository's root, `/` between parts.
    pub path: String,
    /// blake3 of the bytes; empty when the file was skipped unread.
    pub content_hash: Vec<u8>,
    /// Size.
    pub bytes: i64,
    /// Modification time, nanoseconds since the epoch.
    pub modified_ns: i64,
    /// Why it is not searchable, if it is not.
    pub skipped: Option<String>,
    /// How many chunks it has.
    pub chunks: i32,
}

/// A file as it is now, with all its chunks.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct FileWrite {
    /// Relative to the repository's root; at most once in a batch.
    pub path: String,
    /// Language id.
    pub language: Option<&'static str>,
    /// Lower case without the dot.
    pub extension: Option<String>,
    /// Size.
    pub bytes: i64,
    /// Modification time, nanoseconds since the epoch.
    pub modified_ns: i64,
    /// blake3 of the bytes; empty when skipped unread.
    pub content_hash: Vec<u8>,
    /// Lines.
    pub lines: u32,
    /// Why it is not searchable, if it is not; it then has no chunks.
    pub skipped: Option<&'static str>,
    /// In the order of the file.
    pub chunks: Vec<ChunkWrite>,
}

/// A chunk with its lexical row. No text in it may hold a NUL byte.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ChunkWrite {
    /// 1-based.
    pub start_line: u32,
    /// 1-based, inclusive.
    pub end_line: u32,
    /// function, class, block …
    pub kind: &'static str,
    /// Qualified name of the main definition.
    pub name: Option<String>,
    /// Simple names defined in it.
    pub defines: Vec<String>,
    /// One line.
    pub signature: Option<String>,
    /// The text.
    pub content: String,
    /// blake3 of the text.
    pub content_hash: [u8; 32],
    /// Term ids, sorted and unique.
    pub terms: Vec<i32>,
    /// BM25 weights, parallel to `terms`.
    pub weights: Vec<f32>,
}

/// What a batch did.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Written {
    /// Files written.
    pub files: i64,
    /// Chunks inserted.
    pub chunks: i64,
    /// Chunks that were there before and are gone.
    pub chunks_removed: i64,
}

/// How many files and chunks there are of a kind.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Breakdown {
    /// Language id.
    pub language: Option<String>,
    /// Extension without the dot.
    pub extension: Option<String>,
    /// Searchable files.
    pub files: i64,
    /// Their chunks.
    pub chunks: i64,
}

/// Sums over files.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Totals {
    /// Searchable files.
    pub files: i64,
    /// Files left out, with a reason each.
    pub skipped: i64,
    /// Chunks.
    pub chunks: i64,
    /// Bytes of the searchable files.
    pub bytes: i64,
}

const COLUMNS: &str = "id, path, content_hash, bytes, modified_ns, skipped, chunks";

/// All files of a repository, by path.
///
/// # Errors
/// Storage faults.
pub async fn manifest(tx: &mut ProjectTx, repository_id: i64) -> Result<Vec<FileRow>, Fault> {
    let text = format!("SELECT {COLUMNS} FROM {} WHERE repository_id = $1 ORDER BY path", tx.table("files"));
    let rows = tx.tx.all(sql(text).bind(repository_id)).await?;
    rows.iter().map(decode).collect()
}

/// One file.
///
/// # Errors
/// Storage faults.
pub async fn get(tx: &mut ProjectTx, repository_id: i64, path: &str) -> Result<Option<FileRow>, Fault> {
    let text = format!("SELECT {COLUMNS} FROM {} WHERE repository_id = $1 AND path = $2", tx.table("files"));
    let row = tx.tx.first(sql(text).bind(repository_id).bind(path)).await?;
    row.as_ref().map(decode).transpose()
}

/// Replaces what is stored of the files by what they are now: old chunks out, new ones in, so that a search
/// sees each file before or after, never between. A file that stays keeps its id.
///
/// # Errors
/// `ILLEGAL_STATE` when another run took over; storage faults. The transaction must then be dropped.
pub async fn write_batch(
    tx: &mut ProjectTx,
    fence: Fence,
    repository_id: i64,
    files: &[FileWrite],
) -> Result<Written, Fault> {
    let chunks: usize = files.iter().map(|file| file.chunks.len()).sum();
    let first_id = index_state::reserve_ids(tx, fence, count(files.len() + chunks)).await?;
    let chunks_removed = remove_chunks(tx, repository_id, files).await?;
    let ids = upsert(tx, repository_id, files, first_id).await?;
    let mut rows = Vec::with_capacity(chunks);
    let mut next_id = first_id + count(files.len());
    for file in files {
        let Some(&file_id) = ids.get(file.path.as_str()) else { continue };
        for (ordinal, chunk) in file.chunks.iter().enumerate() {
            rows.push(NewChunk { id: next_id, file_id, ordinal, chunk });
            next_id += 1;
        }
    }
    for rows in rows.chunks(ROWS_MAX) {
        insert_chunks(tx, repository_id, rows).await?;
        insert_lexical(tx, rows).await?;
    }
    Ok(Written { files: count(files.len()), chunks: count(chunks), chunks_removed })
}

/// Notes a new modification time of files whose content did not change; the two lists are parallel.
///
/// # Errors
/// `ILLEGAL_STATE` when another run took over.
pub async fn touch(tx: &mut ProjectTx, fence: Fence, ids: &[i64], modified_ns: &[i64]) -> Result<(), Fault> {
    index_state::check_fence(tx, fence).await?;
    let text = format!(
        "UPDATE {} f SET modified_ns = t.modified_ns FROM unnest($1::int8[], $2::int8[]) AS t (id, modified_ns) \
         WHERE f.id = t.id",
        tx.table("files")
    );
    tx.execute(sql(text).bind(ids).bind(modified_ns)).await?;
    Ok(())
}

/// Removes files with their chunks; returns how many chunks that were.
///
/// # Errors
/// `ILLEGAL_STATE` when another run took over.
pub async fn delete(tx: &mut ProjectTx, fence: Fence, ids: &[i64]) -> Result<i64, Fault> {
    index_state::check_fence(tx, fence).await?;
    let removed = remove_chunks_of(tx, ids).await?;
    let text = format!("DELETE FROM {} WHERE id = ANY($1)", tx.table("files"));
    tx.execute(sql(text).bind(ids)).await?;
    Ok(removed)
}

/// Searchable files by language and extension, most files first.
///
/// # Errors
/// Storage faults.
pub async fn breakdown(tx: &mut ProjectTx, repository_id: Option<i64>) -> Result<Vec<Breakdown>, Fault> {
    let text = format!(
        "SELECT language, extension, count(*), coalesce(sum(chunks), 0)::int8 FROM {} \
         WHERE skipped IS NULL AND ($1::int8 IS NULL OR repository_id = $1) \
         GROUP BY language, extension ORDER BY count(*) DESC, language, extension",
        tx.table("files")
    );
    let rows = tx.tx.all(sql(text).bind(repository_id)).await?;
    rows.iter()
        .map(|row| {
            Ok(Breakdown {
                language: row.try_get(0)?,
                extension: row.try_get(1)?,
                files: row.try_get(2)?,
                chunks: row.try_get(3)?,
            })
        })
        .collect()
}

/// Sums over the project or one repository.
///
/// # Errors
/// Storage faults.
pub async fn totals(tx: &mut ProjectTx, repository_id: Option<i64>) -> Result<Totals, Fault> {
    let text = format!(
        "SELECT count(*) FILTER (WHERE skipped IS NULL), count(*) FILTER (WHERE skipped IS NOT NULL), \
         coalesce(sum(chunks), 0)::int8, coalesce(sum(bytes) FILTER (WHERE skipped IS NULL), 0)::int8 \
         FROM {} WHERE $1::int8 IS NULL OR repository_id = $1",
        tx.table("files")
    );
    let row = tx.tx.one(sql(text).bind(repository_id)).await?;
    Ok(Totals {
        files: row.try_get(0)?,
        skipped: row.try_get(1)?,
        chunks: row.try_get(2)?,
        bytes: row.try_get(3)?,
    })
}

struct NewChunk<'a> {
    id: i64,
    file_id: i64,
    ordinal: usize,
    chunk: &'a ChunkWrite,
}

async fn remove_chunks(tx: &mut ProjectTx, repository_id: i64, files: &[FileWrite]) -> Result<i64, Fault> {
    let paths: Vec<&str> = files.iter().map(|file| file.path.as_str()).collect();
    let text = format!("SELECT id FROM {} WHERE repository_id = $1 AND path = ANY($2)", tx.table("files"));
    let rows = tx.tx.all(sql(text).bind(repository_id).bind(paths)).await?;
    let ids = rows.iter().map(|row| row.try_get(0)).collect::<Result<Vec<i64>, _>>()?;
    if ids.is_empty() { Ok(0) } else { remove_chunks_of(tx, &ids).await }
}

async fn remove_chunks_of(tx: &mut ProjectTx, file_ids: &[i64]) -> Result<i64, Fault> {
    let lexical = format!("DELETE FROM {} WHERE file_id = ANY($1)", tx.table("lexical"));
    tx.execute(sql(lexical).bind(file_ids)).await?;
    let chunks = format!("DELETE FROM {} WHERE file_id = ANY($1)", tx.table("chunks"));
    let removed = tx.execute(sql(chunks).bind(file_ids)).await?;
    Ok(i64::try_from(removed).unwrap_or(i64::MAX))
}

/// Writes the files' rows; returns each path's id. New paths take ids from `first_id` on.
async fn upsert<'a>(
    tx: &mut ProjectTx,
    repository_id: i64,
    files: &'a [FileWrite],
    first_id: i64,
) -> Result<HashMap<&'a str, i64>, Fault> {
    let text = format!(
        "INSERT INTO {} AS f (id, repository_id, path, language, extension, bytes, modified_ns, content_hash, lines, chunks, skipped) \
         SELECT t.id, $1, t.path, t.language, t.extension, t.bytes, t.modified_ns, t.content_hash, t.lines, t.chunks, t.skipped \
         FROM unnest($2::int8[], $3::text[], $4::text[], $5::text[], $6::int8[], $7::int8[], $8::bytea[], $9::int4[], $10::int4[], $11::text[]) \
         AS t (id, path, language, extension, bytes, modified_ns, content_hash, lines, chunks, skipped) \
         ON CONFLICT (repository_id, path) DO UPDATE SET language = excluded.language, extension = excluded.extension, \
         bytes = excluded.bytes, modified_ns = excluded.modified_ns, content_hash = excluded.content_hash, \
         lines = excluded.lines, chunks = excluded.chunks, skipped = excluded.skipped RETURNING f.path, f.id",
        tx.table("files")
    );
    let ids: Vec<i64> = (first_id..first_id + count(files.len())).collect();
    let query = sql(text)
        .bind(repository_id)
        .bind(ids)
        .bind(column(files, |f| f.path.as_str()))
        .bind(column(files, |f| f.language))
        .bind(column(files, |f| f.extension.as_deref()))
        .bind(column(files, |f| f.bytes))
        .bind(column(files, |f| f.modified_ns))
        .bind(column(files, |f| f.content_hash.as_slice()))
        .bind(column(files, |f| line(f.lines)))
        .bind(column(files, |f| i32::try_from(f.chunks.len()).unwrap_or(i32::MAX)))
        .bind(column(files, |f| f.skipped));
    let rows = tx.tx.all(query).await?;
    let mut stored = rows
        .iter()
        .map(|row| Ok((row.try_get(0)?, row.try_get(1)?)))
        .collect::<Result<HashMap<String, i64>, Fault>>()?;
    Ok(files.iter().filter_map(|f| Some((f.path.as_str(), stored.remove(&f.path)?))).collect())
}

async fn insert_chunks(tx: &mut ProjectTx, repository_id: i64, rows: &[NewChunk<'_>]) -> Result<(), Fault> {
    let text = format!(
        "INSERT INTO {} (id, file_id, repository_id, ordinal, start_line, end_line, kind, name, defines, signature, content, content_hash) \
         SELECT t.id, t.file_id, $1, t.ordinal, t.start_line, t.end_line, t.kind, t.name, string_to_array(t.defines, $2), \
         t.signature, t.content, t.content_hash \
         FROM unnest($3::int8[], $4::int8[], $5::int4[], $6::int4[], $7::int4[], $8::text[], $9::text[], $10::text[], $11::text[], $12::text[], $13::bytea[]) \
         AS t (id, file_id, ordinal, start_line, end_line, kind, name, defines, signature, content, content_hash)",
        tx.table("chunks")
    );
    let query = sql(text)
        .bind(repository_id)
        .bind(NAME_SEPARATOR)
        .bind(column(rows, |r| r.id))
        .bind(column(rows, |r| r.file_id))
        .bind(column(rows, |r| i32::try_from(r.ordinal).unwrap_or(i32::MAX)))
        .bind(column(rows, |r| line(r.chunk.start_line)))
        .bind(column(rows, |r| line(r.chunk.end_line)))
        .bind(column(rows, |r| r.chunk.kind))
        .bind(column(rows, |r| r.chunk.name.as_deref()))
        .bind(column(rows, |r| r.chunk.defines.join(NAME_SEPARATOR)))
        .bind(column(rows, |r| r.chunk.signature.as_deref()))
        .bind(column(rows, |r| r.chunk.content.as_str()))
        .bind(column(rows, |r| r.chunk.content_hash.as_slice()));
    tx.execute(query).await?;
    Ok(())
}

/// Terms travel as one flat array with each row's bounds, since arrays of arrays must be rectangular.
async fn insert_lexical(tx: &mut ProjectTx, rows: &[NewChunk<'_>]) -> Result<(), Fault> {
    let text = format!(
        "INSERT INTO {} (chunk_id, file_id, terms, weights) \
         SELECT t.chunk_id, t.file_id, ($1::int4[])[t.first:t.last], t.weights \
         FROM unnest($2::int8[], $3::int8[], $4::int4[], $5::int4[], $6::sparsevec[]) \
         AS t (chunk_id, file_id, first, last, weights)",
        tx.table("lexical")
    );
    let weights: Vec<SparseVector> = column(rows, |r| sparse(&r.chunk.terms, &r.chunk.weights));
    let mut terms: Vec<i32> = Vec::new();
    let (mut first, mut last) = (Vec::with_capacity(rows.len()), Vec::with_capacity(rows.len()));
    for weights in &weights {
        first.push(bound(terms.len() + 1));
        terms.extend(weights.indices());
        last.push(bound(terms.len()));
    }
    let query = sql(text)
        .bind(terms)
        .bind(column(rows, |r| r.id))
        .bind(column(rows, |r| r.file_id))
        .bind(first)
        .bind(last)
        .bind(weights);
    tx.execute(query).await?;
    Ok(())
}

fn column<'a, R, T>(rows: &'a [R], value: impl Fn(&'a R) -> T) -> Vec<T> {
    rows.iter().map(value).collect()
}

fn count(number: usize) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

fn bound(number: usize) -> i32 {
    i32::try_from(number).unwrap_or(i32::MAX)
}

fn line(number: u32) -> i32 {
    i32::try_from(number).unwrap_or(i32::MAX)
}

fn decode(row: &PgRow) -> Result<FileRow, Fault> {
    Ok(FileRow {
        id: row.try_get(0)?,
        path: row.try_get(1)?,
        content_hash: row.try_get(2)?,
        bytes: row.try_get(3)?,
        modified_ns: row.try_get(4)?,
        skipped: row.try_get(5)?,
        chunks: row.try_get(6)?,
    })
}
