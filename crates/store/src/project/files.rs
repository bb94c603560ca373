//! `files`: one row for each file of a repository.

use crate::normal::{nfc, nfc_sql};
use crate::postgres::Row;

use super::file_chunks::{FILE_TABLES, TEXT_TABLES, count_chunks, mark_changed, remove_chunks_of};
use super::index_state::{self, Fence};
use super::kept_files;
use super::listed_repositories::is_listed;
use super::sizes::RowUsage;
use super::symbols;
use super::term_changes::TermChanges;
use crate::postgres::sql;
use crate::transaction::ProjectTx;
use contract::Fault;

/// A row of the table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileRow {
    /// Id of the row.
    pub id: i64,
    /// Relative to the repository's root, `/` between parts.
    pub path: String,
    /// blake3 of the bytes; empty if the file was skipped without being read.
    pub content_hash: Vec<u8>,
    /// Size in bytes.
    pub bytes: i64,
    /// Modification time, nanoseconds since the epoch.
    pub modified_ns: i64,
    /// The reason why it is not searchable; `None` if it is.
    pub skipped: Option<String>,
    /// Number of its chunks.
    pub chunks: i32,
    /// `code`, `prose` or `records`; meaningless if the file was skipped.
    pub mode: String,
    /// The reason why its facts could not be read; `None` if they could.
    pub facts_missing: Option<String>,
    /// Milliseconds spent in all on attempts to read its facts that timed out.
    pub facts_tried_ms: i64,
}

/// A file whose content did not change, with the columns to update.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Touched {
    /// Id of the row.
    pub id: i64,
    /// Size in bytes that the directory walk saw. Size and modification time must come from the same walk: if the file changes
    /// between the walk and the read, a mixture would make every run read it again.
    pub bytes: i64,
    /// Modification time that the walk saw, nanoseconds since the epoch.
    pub modified_ns: i64,
    /// Milliseconds spent by this run on an attempt to read its facts that timed out; added to the stored ones.
    pub tried_ms: i64,
}

/// Totals of files.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Totals {
    /// Searchable files.
    pub files: i64,
    /// Files that are not searchable.
    pub skipped: i64,
    /// Chunks.
    pub chunks: i64,
    /// Bytes of the searchable files.
    pub bytes: i64,
}

/// Columns of a file `f`, as [`decode`] reads them.
pub(super) const FILE_COLUMNS: &str = "f.id, f.path, f.content_hash, f.bytes, f.modified_ns, f.skipped, f.chunks, f.mode, \
    f.facts_missing, f.facts_tried_ms";

/// All files of a repository, sorted by path.
pub async fn manifest(tx: &mut ProjectTx, repository_id: i64) -> Result<Vec<FileRow>, Fault> {
    let text = format!(
        "SELECT {FILE_COLUMNS} FROM {} f WHERE f.repository_id = $1 ORDER BY f.path",
        tx.table("files")
    );
    let rows = tx.tx.all(sql(text).bind(repository_id)).await?;
    rows.iter().map(decode).collect()
}

/// One file.
pub async fn get(tx: &mut ProjectTx, repository_id: i64, path: &str) -> Result<Option<FileRow>, Fault> {
    let text = format!(
        "SELECT {FILE_COLUMNS} FROM {} f WHERE f.repository_id = $1 AND f.path = $2",
        tx.table("files")
    );
    let row = tx.tx.first(sql(text).bind(repository_id).bind(path)).await?;
    row.as_ref().map(decode).transpose()
}

/// The paths of files in some repositories, and in their hidden ones, that are this path in another form of its letters; at most 20.
pub async fn other_forms(tx: &mut ProjectTx, repositories: &[i64], path: &str) -> Result<Vec<String>, Fault> {
    if path.is_ascii() {
        return Ok(Vec::new());
    }
    let text = format!(
        "SELECT DISTINCT f.path FROM {files} f JOIN {repositories} r ON r.id = f.repository_id \
         WHERE (r.id = ANY($1) OR r.revisions_of = ANY($1)) AND f.path <> $2 AND {own} = $3 ORDER BY f.path LIMIT 20",
        files = tx.table("files"),
        repositories = tx.table("repositories"),
        own = nfc_sql("f.path"),
    );
    tx.tx.scalars(sql(text).bind(repositories).bind(path).bind(&*nfc(path))).await
}

/// The files of a repository with these paths, sorted by path.
pub async fn with_paths(
    tx: &mut ProjectTx,
    repository_id: i64,
    paths: &[String],
) -> Result<Vec<FileRow>, Fault> {
    let text = format!(
        "SELECT {FILE_COLUMNS} FROM {} f WHERE f.repository_id = $1 AND f.path = ANY($2) ORDER BY f.path",
        tx.table("files")
    );
    let rows = tx.tx.all(sql(text).bind(repository_id).bind(paths)).await?;
    rows.iter().map(decode).collect()
}

/// A page of at most `limit` paths after a repository and path, sorted by these, of all files, searchable or not.
pub async fn paths_page(
    tx: &mut ProjectTx,
    (repository_id, path): (i64, &str),
    limit: i64,
) -> Result<Vec<(i64, String)>, Fault> {
    let text = format!(
        "SELECT f.repository_id, f.path FROM {} f WHERE (f.repository_id, f.path) > ($1, $2) AND {} \
         ORDER BY f.repository_id, f.path LIMIT $3",
        tx.table("files"),
        is_listed(tx)
    );
    let rows = tx.tx.all(sql(text).bind(repository_id).bind(path).bind(limit)).await?;
    rows.iter().map(|row| Ok((row.try_get("repository_id")?, row.try_get("path")?))).collect()
}

/// At most `limit` paths of searchable files that contain `part`, ignoring case, and their total number. Paths that begin with
/// it come first, then those in which a component does. If there are none, those that have its letters in this order, the shortest
/// first: `srvmain` finds `server/main.rs`.
pub async fn paths_containing(
    tx: &mut ProjectTx,
    repository_ids: &[i64],
    part: &str,
    limit: i64,
) -> Result<(Vec<String>, i64), Fault> {
    let condition = "position(lower($2) in lower(path)) > 0";
    let order = "starts_with(folded, lower($2)) DESC, position('/' || lower($2) in folded) > 0 DESC, path";
    let found = paths_where(tx, repository_ids, (condition, order), part, limit).await?;
    let letters: Vec<String> = part.chars().filter(|c| !c.is_whitespace()).map(like_letter).collect();
    if found.1 > 0 || letters.len() < 2 {
        return Ok(found);
    }
    let pattern = format!("%{}%", letters.join("%"));
    paths_where(tx, repository_ids, ("lower(path) LIKE lower($2)", "length(path), path"), &pattern, limit)
        .await
}

/// Escapes a letter for a `LIKE` pattern, so that it matches only itself.
fn like_letter(letter: char) -> String {
    if matches!(letter, '%' | '_' | '\\') { format!("\\{letter}") } else { letter.to_string() }
}

/// Paths of searchable files that fulfil a condition on `$2`, in an order.
async fn paths_where(
    tx: &mut ProjectTx,
    repository_ids: &[i64],
    (condition, order): (&str, &str),
    part: &str,
    limit: i64,
) -> Result<(Vec<String>, i64), Fault> {
    // Paths are unique within one repository, but not across several.
    let distinct = if repository_ids.len() == 1 { "" } else { "DISTINCT" };
    let text = format!(
        "WITH hit AS MATERIALIZED (SELECT {distinct} path, lower(path) AS folded FROM {} \
           WHERE repository_id = ANY($1) AND skipped IS NULL AND {condition}) \
         SELECT path, (SELECT count(*) FROM hit) AS total \
         FROM hit \
         ORDER BY {order} \
         LIMIT $3",
        tx.table("files")
    );
    let rows = tx.tx.all(sql(text).bind(repository_ids).bind(part).bind(limit)).await?;
    let total = rows.first().map_or(Ok(0), |row| row.try_get("total"))?;
    let paths = rows.iter().map(|row| row.try_get("path")).collect::<Result<_, _>>()?;
    Ok((paths, total))
}

/// An entry of a folder: the name of a file or folder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FolderEntry {
    /// The last component of its path.
    pub name: String,
    /// Searchable files in a folder; `None` for a file.
    pub files: Option<i64>,
}

/// At most `limit` entries of a folder with searchable files: folders first, then files, both by name. `prefix` is the path of the
/// folder with a slash at its end, or empty for the repository itself.
pub async fn folder(
    tx: &mut ProjectTx,
    repository_id: i64,
    prefix: &str,
    limit: i64,
) -> Result<Vec<FolderEntry>, Fault> {
    let text = format!(
        "WITH below AS (SELECT substr(path, length($2) + 1) AS path FROM {} \
           WHERE repository_id = $1 AND skipped IS NULL AND starts_with(path, $2)), \
         entries AS (SELECT split_part(path, '/', 1) AS name, position('/' in path) > 0 AS is_folder, count(*) AS files \
           FROM below GROUP BY 1, 2) \
         SELECT name, is_folder, files FROM entries ORDER BY is_folder DESC, name COLLATE \"C\" LIMIT $3",
        tx.table("files")
    );
    let rows = tx.tx.all(sql(text).bind(repository_id).bind(prefix).bind(limit)).await?;
    let entry = |row: &Row| {
        let is_folder: bool = row.try_get("is_folder")?;
        let files = if is_folder { Some(row.try_get("files")?) } else { None };
        Ok(FolderEntry { name: row.try_get("name")?, files })
    };
    rows.iter().map(entry).collect()
}

/// At most `limit` paths of searchable files that a misspelled path may mean: first those with the same file name, ignoring
/// case, then those of about the same length; within both, sorted by path.
pub async fn similar_paths(
    tx: &mut ProjectTx,
    repository_ids: &[i64],
    path: &str,
    limit: i64,
) -> Result<Vec<String>, Fault> {
    let name = path.rsplit('/').next().unwrap_or(path).to_lowercase();
    let length = i32::try_from(path.chars().count()).unwrap_or(i32::MAX);
    let slack = length / 4 + 1;
    let text = format!(
        "SELECT path \
         FROM (SELECT DISTINCT path, right(lower('/' || path), length($2) + 1) = '/' || $2 AS same_name \
           FROM {} WHERE repository_id = ANY($1) AND skipped IS NULL) p \
         WHERE same_name OR length(path) BETWEEN $3 AND $4 \
         ORDER BY same_name DESC, path LIMIT $5",
        tx.table("files")
    );
    let query = sql(text).bind(repository_ids).bind(name).bind(length - slack);
    tx.tx.scalars(query.bind(length.saturating_add(slack)).bind(limit)).await
}

/// Updates size and modification time of files whose content did not change.
///
/// # Errors
/// `ILLEGAL_STATE` when another run took over.
pub async fn touch(tx: &mut ProjectTx, fence: Fence, touched: &[Touched]) -> Result<(), Fault> {
    index_state::check_fence(tx, fence).await?;
    let text = format!(
        "UPDATE {} f \
         SET bytes = t.bytes, modified_ns = t.modified_ns, facts_tried_ms = f.facts_tried_ms + t.tried_ms \
         FROM unnest($1::int8[], $2::int8[], $3::int8[], $4::int8[]) AS t (id, bytes, modified_ns, tried_ms) \
         WHERE f.id = t.id",
        tx.table("files")
    );
    let column = |value: fn(&Touched) -> i64| touched.iter().map(value).collect::<Vec<i64>>();
    let (ids, bytes, times) = (column(|one| one.id), column(|one| one.bytes), column(|one| one.modified_ns));
    tx.execute(sql(text).bind(ids).bind(bytes).bind(times).bind(column(|one| one.tried_ms))).await?;
    Ok(())
}

/// The number of chunks of all files, also of those that only revisions have.
pub async fn all_chunks(tx: &mut ProjectTx) -> Result<i64, Fault> {
    let text = format!("SELECT coalesce(sum(chunks), 0)::int8 FROM {}", tx.table("files"));
    tx.tx.scalar(sql(text)).await
}

/// Removes files with their chunks, except those that revisions have; returns the number of chunks that the repository lost.
///
/// # Errors
/// `ILLEGAL_STATE` when another run took over.
pub async fn delete(tx: &mut ProjectTx, fence: Fence, ids: &[i64]) -> Result<i64, Fault> {
    index_state::check_fence(tx, fence).await?;
    let mut changes = TermChanges::default();
    changes.remove(tx, ids).await?;
    let kept = kept_files::keep(tx, ids).await?;
    let lost = count_chunks(tx, &kept).await?;
    let ids: Vec<i64> = ids.iter().copied().filter(|id| !kept.contains(id)).collect();
    let removed = remove_chunks_of(tx, &ids).await?;
    symbols::record_removal(tx, &ids).await?;
    for (table, key) in [("symbols", "file_id"), ("files", "id")] {
        let text = format!("DELETE FROM {} WHERE {key} = ANY($1)", tx.table(table));
        tx.execute(sql(text).bind(&ids)).await?;
    }
    changes.write(tx).await?;
    Ok(removed + lost)
}

/// Rows and bytes of a repository's files and their chunks, with those that only its revisions have.
pub async fn measure(tx: &mut ProjectTx, repository_id: i64) -> Result<RowUsage, Fault> {
    tx.lift_timeout().await?;
    let files = tx.table("files");
    let of_repository =
        format!("IN (SELECT id FROM {} WHERE id = $1 OR revisions_of = $1)", tx.table("repositories"));
    let mut all = RowUsage::default();
    for table in TEXT_TABLES.iter().chain(FILE_TABLES).copied().chain(["chunks"]) {
        let text = format!(
            "SELECT count(*) AS rows, coalesce(sum(pg_column_size(ROW(t.*))), 0)::int8 AS bytes \
             FROM {} t JOIN {files} f ON f.id = t.file_id \
             WHERE f.repository_id {of_repository}",
            tx.table(table)
        );
        all += RowUsage::read(&tx.tx.one(sql(text).bind(repository_id)).await?)?;
    }
    let text = format!(
        "SELECT count(*) AS rows, coalesce(sum(pg_column_size(ROW(t.*))), 0)::int8 AS bytes \
         FROM {files} t \
         WHERE t.repository_id {of_repository}"
    );
    all += RowUsage::read(&tx.tx.one(sql(text).bind(repository_id)).await?)?;
    Ok(all)
}

/// Removes a batch of files of a repository and its revisions with all their rows: files with about `rows_max` chunks in all, and at least
/// one file. Returns the removed rows and the number of files.
///
/// # Errors
/// `ILLEGAL_STATE` when another run took over.
pub async fn remove_some(
    tx: &mut ProjectTx,
    fence: Fence,
    repository_id: i64,
    rows_max: i64,
) -> Result<(RowUsage, u64), Fault> {
    index_state::check_fence(tx, fence).await?;
    let files = tx.table("files");
    let text = format!(
        "SELECT id \
         FROM (SELECT id, sum(chunks + 1) OVER (ORDER BY id) - chunks AS before FROM (SELECT id, chunks \
           FROM {files} WHERE repository_id IN (SELECT id FROM {repositories} WHERE id = $1 OR revisions_of = $1) \
           ORDER BY id LIMIT $2) AS batch) AS counted \
         WHERE before <= $2",
        repositories = tx.table("repositories"),
    );
    let ids: Vec<i64> = tx.tx.scalars(sql(text).bind(repository_id).bind(rows_max.max(1))).await?;
    let mut all = RowUsage::default();
    let mut changes = TermChanges::default();
    changes.remove(tx, &ids).await?;
    symbols::record_removal(tx, &ids).await?;
    let tables = TEXT_TABLES.iter().chain(FILE_TABLES).map(|table| (*table, "file_id"));
    for (table, key) in tables.chain([("chunks", "file_id"), ("files", "id")]) {
        let text = format!(
            "WITH gone AS (DELETE FROM {} t WHERE t.{key} = ANY($1) \
               RETURNING pg_column_size(ROW(t.*)) AS bytes) \
             SELECT count(*) AS rows, coalesce(sum(bytes), 0)::int8 AS bytes \
             FROM gone",
            tx.table(table)
        );
        let gone = RowUsage::read(&tx.tx.one(sql(text).bind(&ids)).await?)?;
        if table == "chunks" {
            mark_changed(tx, &ids, i64::try_from(gone.rows).unwrap_or(i64::MAX)).await?;
        }
        all += gone;
    }
    changes.write(tx).await?;
    Ok((all, ids.len() as u64))
}

/// Totals of the project, or of one repository.
pub async fn totals(tx: &mut ProjectTx, repository_id: Option<i64>) -> Result<Totals, Fault> {
    let text = format!(
        "SELECT count(*) FILTER (WHERE f.skipped IS NULL) AS files, \
           count(*) FILTER (WHERE f.skipped IS NOT NULL) AS skipped, coalesce(sum(f.chunks), 0)::int8 AS chunks, \
           coalesce(sum(f.bytes) FILTER (WHERE f.skipped IS NULL), 0)::int8 AS bytes \
         FROM {} f \
         WHERE ($1::int8 IS NULL AND {}) OR f.repository_id = $1",
        tx.table("files"),
        is_listed(tx)
    );
    let row = tx.tx.one(sql(text).bind(repository_id)).await?;
    Ok(Totals {
        files: row.try_get("files")?,
        skipped: row.try_get("skipped")?,
        chunks: row.try_get("chunks")?,
        bytes: row.try_get("bytes")?,
    })
}

/// Decodes a row of [`FILE_COLUMNS`].
pub(super) fn decode(row: &Row) -> Result<FileRow, Fault> {
    Ok(FileRow {
        id: row.try_get("id")?,
        path: row.try_get("path")?,
        content_hash: row.try_get("content_hash")?,
        bytes: row.try_get("bytes")?,
        modified_ns: row.try_get("modified_ns")?,
        skipped: row.try_get("skipped")?,
        chunks: row.try_get("chunks")?,
        mode: row.try_get("mode")?,
        facts_missing: row.try_get("facts_missing")?,
        facts_tried_ms: row.try_get("facts_tried_ms")?,
    })
}
