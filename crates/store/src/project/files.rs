//! `files`: what is stored of a file besides its chunks.

use crate::postgres::Row;

use super::index_state::{self, Fence};
use super::repositories;
use super::sizes::Measured;
use crate::door::ProjectTx;
use crate::postgres::sql;
use contract::Fault;

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
    /// `code`, `prose` or `records`; says nothing of a file that is left out.
    pub mode: String,
    /// Why its facts could not be read, if they could not.
    pub facts_missing: Option<String>,
    /// How many milliseconds it was given in all when they are missing because time ran out.
    pub facts_tried_ms: i64,
}

/// A file whose rows stay as they are.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Touched {
    /// Row id.
    pub id: i64,
    /// The size and the time to remember: those that the walk saw. A file that changed between walk and reading is known by
    /// others than its own, and would be read by each run if only one of them were set right.
    pub bytes: i64,
    /// See there.
    pub modified_ns: i64,
    /// How many milliseconds were spent in vain on its facts.
    pub tried_ms: i64,
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

const COLUMNS: &str =
    "id, path, content_hash, bytes, modified_ns, skipped, chunks, mode, facts_missing, facts_tried_ms";

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

/// A searchable file in a list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ListedFile {
    /// Its repository.
    pub repository_id: i64,
    /// Relative to the repository's root, `/` between parts.
    pub path: String,
    /// Language id, if the file has one.
    pub language: Option<String>,
    /// Size.
    pub bytes: i64,
    /// Modification time, nanoseconds since the epoch.
    pub modified_ns: i64,
}

/// At most `limit` searchable files after one of them, by repository and path: the documents, or all others.
///
/// # Errors
/// Storage faults.
pub async fn page(
    tx: &mut ProjectTx,
    documents: bool,
    (repository_id, path): (i64, &str),
    limit: i64,
) -> Result<Vec<ListedFile>, Fault> {
    let text = format!(
        "SELECT repository_id, path, language, bytes, modified_ns FROM {} WHERE (repository_id, path) > ($1, $2) \
         AND skipped IS NULL AND (mode = 'prose') = $3 ORDER BY repository_id, path LIMIT $4",
        tx.table("files")
    );
    let query = sql(text).bind(repository_id).bind(path).bind(documents).bind(limit);
    let rows = tx.tx.all(query).await?;
    let listed = |row: &Row| {
        Ok(ListedFile {
            repository_id: row.try_get(0)?,
            path: row.try_get(1)?,
            language: row.try_get(2)?,
            bytes: row.try_get(3)?,
            modified_ns: row.try_get(4)?,
        })
    };
    rows.iter().map(listed).collect()
}

/// At most `limit` paths of searchable files that contain `part` in whatever case, and how many there are. Paths that
/// begin with it come first, then those in which a name does.
///
/// # Errors
/// Storage faults.
pub async fn containing(
    tx: &mut ProjectTx,
    repository_ids: &[i64],
    part: &str,
    limit: i64,
) -> Result<(Vec<String>, i64), Fault> {
    // Several repositories can hold one path; in one of them it stands once.
    let distinct = if repository_ids.len() == 1 { "" } else { "DISTINCT" };
    let text = format!(
        "WITH hit AS MATERIALIZED (SELECT {distinct} path, lower(path) AS folded FROM {} WHERE repository_id = ANY($1) \
         AND skipped IS NULL AND position(lower($2) in lower(path)) > 0) \
         SELECT path, (SELECT count(*) FROM hit) FROM hit \
         ORDER BY starts_with(folded, lower($2)) DESC, position('/' || lower($2) in folded) > 0 DESC, path LIMIT $3",
        tx.table("files")
    );
    let rows = tx.tx.all(sql(text).bind(repository_ids).bind(part).bind(limit)).await?;
    let total = rows.first().map_or(Ok(0), |row| row.try_get(1))?;
    let paths = rows.iter().map(|row| row.try_get(0)).collect::<Result<_, _>>()?;
    Ok((paths, total))
}

/// At most `limit` paths of searchable files that may be meant by a path of another spelling: those of files of the same
/// name in whatever case first, then those about as long, by path.
///
/// # Errors
/// Storage faults.
pub async fn alike(
    tx: &mut ProjectTx,
    repository_ids: &[i64],
    path: &str,
    limit: i64,
) -> Result<Vec<String>, Fault> {
    let name = path.rsplit('/').next().unwrap_or(path).to_lowercase();
    let length = i32::try_from(path.chars().count()).unwrap_or(i32::MAX);
    let slack = length / 4 + 1;
    let text = format!(
        "SELECT path FROM (SELECT DISTINCT path, \
         right(lower('/' || path), length($2) + 1) = '/' || $2 AS same_name FROM {} \
         WHERE repository_id = ANY($1) AND skipped IS NULL) p \
         WHERE same_name OR length(path) BETWEEN $3 AND $4 ORDER BY same_name DESC, path LIMIT $5",
        tx.table("files")
    );
    let query = sql(text).bind(repository_ids).bind(name).bind(length - slack);
    let rows = tx.tx.all(query.bind(length.saturating_add(slack)).bind(limit)).await?;
    rows.iter().map(|row| row.try_get(0)).collect()
}

/// Notes a new modification time of files whose content did not change; the two lists are parallel.
///
/// # Errors
/// `ILLEGAL_STATE` when another run took over.
pub async fn touch(tx: &mut ProjectTx, fence: Fence, touched: &[Touched]) -> Result<(), Fault> {
    index_state::check_fence(tx, fence).await?;
    let text = format!(
        "UPDATE {} f SET bytes = t.bytes, modified_ns = t.modified_ns, facts_tried_ms = f.facts_tried_ms + t.tried_ms \
         FROM unnest($1::int8[], $2::int8[], $3::int8[], $4::int8[]) AS t (id, bytes, modified_ns, tried_ms) \
         WHERE f.id = t.id",
        tx.table("files")
    );
    let column = |of: fn(&Touched) -> i64| touched.iter().map(of).collect::<Vec<i64>>();
    let (ids, bytes, times) = (column(|one| one.id), column(|one| one.bytes), column(|one| one.modified_ns));
    tx.execute(sql(text).bind(ids).bind(bytes).bind(times).bind(column(|one| one.tried_ms))).await?;
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

/// What is stored of a repository's files and their chunks takes.
///
/// # Errors
/// Storage faults.
pub async fn measure(tx: &mut ProjectTx, repository_id: i64) -> Result<Measured, Fault> {
    tx.lift_timeout().await?;
    let files = tx.table("files");
    let mut all = Measured::default();
    for table in OF_CHUNKS.iter().copied().chain(["chunks"]) {
        let text = format!(
            "SELECT count(*), coalesce(sum(pg_column_size(ROW(t.*))), 0)::int8 FROM {} t \
             JOIN {files} f ON f.id = t.file_id WHERE f.repository_id = $1",
            tx.table(table)
        );
        all += Measured::of(&tx.tx.one(sql(text).bind(repository_id)).await?)?;
    }
    let text = format!(
        "SELECT count(*), coalesce(sum(pg_column_size(ROW(t.*))), 0)::int8 FROM {files} t WHERE t.repository_id = $1"
    );
    all += Measured::of(&tx.tx.one(sql(text).bind(repository_id)).await?)?;
    Ok(all)
}

/// Removes files of a repository with all that is stored of them, as many as have `rows_max` chunks and at least one;
/// returns what they took and the number of files.
///
/// # Errors
/// `ILLEGAL_STATE` when another run took over.
pub async fn remove_some(
    tx: &mut ProjectTx,
    fence: Fence,
    repository_id: i64,
    rows_max: i64,
) -> Result<(Measured, u64), Fault> {
    index_state::check_fence(tx, fence).await?;
    let files = tx.table("files");
    let text = format!(
        "SELECT id FROM (SELECT id, sum(chunks + 1) OVER (ORDER BY id) - chunks AS before FROM \
         (SELECT id, chunks FROM {files} WHERE repository_id = $1 ORDER BY id LIMIT $2) AS batch) AS counted WHERE before <= $2"
    );
    let rows = tx.tx.all(sql(text).bind(repository_id).bind(rows_max.max(1))).await?;
    let ids = rows.iter().map(|row| row.try_get(0)).collect::<Result<Vec<i64>, _>>()?;
    let mut all = Measured::default();
    for (table, key) in
        OF_CHUNKS.iter().map(|table| (*table, "file_id")).chain([("chunks", "file_id"), ("files", "id")])
    {
        let text = format!(
            "WITH gone AS (DELETE FROM {} t WHERE t.{key} = ANY($1) RETURNING pg_column_size(ROW(t.*)) AS bytes) \
             SELECT count(*), coalesce(sum(bytes), 0)::int8 FROM gone",
            tx.table(table)
        );
        let gone = Measured::of(&tx.tx.one(sql(text).bind(&ids)).await?)?;
        if table == "chunks" {
            note_changes(tx, &ids, i64::try_from(gone.rows).unwrap_or(i64::MAX)).await?;
        }
        all += gone;
    }
    Ok((all, ids.len() as u64))
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

/// Tables with rows of chunks, by file.
const OF_CHUNKS: &[&str] = &["lexical", "facts", "definitions", "comments", "authors", "flows"];

/// Removes all that is stored of the files' chunks, and notes that; returns how many chunks that were.
pub(super) async fn remove_chunks_of(tx: &mut ProjectTx, file_ids: &[i64]) -> Result<i64, Fault> {
    for table in OF_CHUNKS {
        let text = format!("DELETE FROM {} WHERE file_id = ANY($1)", tx.table(table));
        tx.execute(sql(text).bind(file_ids)).await?;
    }
    let chunks = format!("DELETE FROM {} WHERE file_id = ANY($1)", tx.table("chunks"));
    let removed = tx.execute(sql(chunks).bind(file_ids)).await?;
    let removed = i64::try_from(removed).unwrap_or(i64::MAX);
    note_changes(tx, file_ids, removed).await?;
    Ok(removed)
}

/// Notes that `chunks` of these files came or went: statistics of the project, and what is made of all files of their
/// repositories, are due then. In the transaction that changes them, while the files' rows are there, so that a run that dies
/// before its end owes it to the next one.
pub(super) async fn note_changes(tx: &mut ProjectTx, file_ids: &[i64], chunks: i64) -> Result<(), Fault> {
    if chunks == 0 {
        return Ok(());
    }
    index_state::mark_statistics_due(tx, chunks).await?;
    repositories::mark_derived_due(tx, file_ids).await
}

fn decode(row: &Row) -> Result<FileRow, Fault> {
    Ok(FileRow {
        id: row.try_get(0)?,
        path: row.try_get(1)?,
        content_hash: row.try_get(2)?,
        bytes: row.try_get(3)?,
        modified_ns: row.try_get(4)?,
        skipped: row.try_get(5)?,
        chunks: row.try_get(6)?,
        mode: row.try_get(7)?,
        facts_missing: row.try_get(8)?,
        facts_tried_ms: row.try_get(9)?,
    })
}
