//! Git history of files and of their lines: columns of `files`, and the tables `authors` and `line_history`.

use std::collections::HashMap;

use super::columns::FlatLists;
use super::index_state::{self, Fence};
use super::names::{self, KnownNames, NamedFact, NewNames};
use crate::postgres::sql;
use crate::transaction::ProjectTx;
use contract::Fault;

/// Longest serialised history of a file's lines, in bytes.
pub const LINE_HISTORY_BYTES_MAX: usize = 1 << 20;

/// A searchable file and the state of its stored history.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KnownHistory {
    /// Id of the row.
    pub file_id: i64,
    /// Relative to the repository's root.
    pub path: String,
    /// Its last commit, if known.
    pub last_commit: Option<String>,
    /// The state of the attribution of its lines, as an index run stored it; `None` if its text changed since.
    pub attributed_to: Option<String>,
}

/// The history of one file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HistoryWrite {
    /// Id of the row.
    pub file_id: i64,
    /// Name of the last commit's author.
    pub last_author: String,
    /// Author date, seconds since the epoch.
    pub last_modified_s: i64,
    /// The last commit, hex.
    pub last_commit: String,
    /// Lines added by the file's last commits, at most `indexing.churn_commits` of them.
    pub churn_added: i64,
    /// Lines deleted by the same commits.
    pub churn_deleted: i64,
    /// Number of these commits.
    pub churn_commits: i64,
}

/// The authors of one chunk's lines.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AuthorsWrite {
    /// Id of the chunk.
    pub chunk_id: i64,
    /// Id of its file.
    pub file_id: i64,
    /// The authors' names, as facts.
    pub authors: Vec<NamedFact>,
}

/// A file whose lines were attributed to commits, or whose attribution failed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AttributedFile {
    /// Id of the row.
    pub file_id: i64,
    /// The state of the attribution: to which commit, and how it went.
    pub attributed_to: String,
    /// The history of its lines, serialised; `None` if it is not known.
    pub lines: Option<Vec<u8>>,
}

/// The stored history of a file's lines.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct LineHistoryRow {
    /// The file's last commit, if known.
    pub last_commit: Option<String>,
    /// The state of the attribution; see [`AttributedFile`].
    pub attributed_to: Option<String>,
    /// The history of its lines, serialised.
    pub lines: Option<Vec<u8>>,
}

/// The searchable files of a repository, sorted by path.
pub async fn known(tx: &mut ProjectTx, repository_id: i64) -> Result<Vec<KnownHistory>, Fault> {
    let text = format!(
        "SELECT id AS file_id, path, last_commit, lines_attributed_to AS attributed_to \
         FROM {} \
         WHERE repository_id = $1 AND skipped IS NULL ORDER BY path",
        tx.table("files")
    );
    let rows = tx.tx.all(sql(text).bind(repository_id)).await?;
    rows.iter()
        .map(|row| {
            Ok(KnownHistory {
                file_id: row.try_get("file_id")?,
                path: row.try_get("path")?,
                last_commit: row.try_get("last_commit")?,
                attributed_to: row.try_get("attributed_to")?,
            })
        })
        .collect()
}

/// The git history and metadata of a file.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct FileFacts {
    /// Name of the last commit's author.
    pub last_author: Option<String>,
    /// Author date of the last commit, seconds since the epoch.
    pub last_modified_s: Option<i64>,
    /// The last commit, hex.
    pub last_commit: Option<String>,
    /// Lines added by the file's last commits, at most `indexing.churn_commits` of them.
    pub churn_added: Option<i32>,
    /// Lines deleted by the same commits.
    pub churn_deleted: Option<i32>,
    /// Number of these commits.
    pub churn_commits: Option<i32>,
    /// The file's metadata as `key=value`.
    pub meta: Option<Vec<String>>,
}

/// The git history of files with their ids, in no particular order.
pub async fn of_files(tx: &mut ProjectTx, ids: &[i64]) -> Result<Vec<(i64, FileFacts)>, Fault> {
    let text = format!(
        "SELECT id, last_author, last_modified_s, last_commit, churn_added, churn_deleted, churn_commits, \
           meta \
         FROM {} \
         WHERE id = ANY($1)",
        tx.table("files")
    );
    let rows = tx.tx.all(sql(text).bind(ids)).await?;
    rows.iter()
        .map(|row| {
            let facts = FileFacts {
                last_author: row.try_get("last_author")?,
                last_modified_s: row.try_get("last_modified_s")?,
                last_commit: row.try_get("last_commit")?,
                churn_added: row.try_get("churn_added")?,
                churn_deleted: row.try_get("churn_deleted")?,
                churn_commits: row.try_get("churn_commits")?,
                meta: row.try_get("meta")?,
            };
            Ok((row.try_get("id")?, facts))
        })
        .collect()
}

/// Returns the stored history of a file's lines; nothing if the file is gone.
pub async fn lines_of_file(tx: &mut ProjectTx, file_id: i64) -> Result<LineHistoryRow, Fault> {
    let text = format!(
        "SELECT f.last_commit, f.lines_attributed_to AS attributed_to, h.lines \
         FROM {files} f \
         LEFT JOIN {line_history} h ON h.file_id = f.id \
         WHERE f.id = $1",
        files = tx.table("files"),
        line_history = tx.table("line_history"),
    );
    let Some(row) = tx.tx.first(sql(text).bind(file_id)).await? else { return Ok(LineHistoryRow::default()) };
    Ok(LineHistoryRow {
        last_commit: row.try_get("last_commit")?,
        attributed_to: row.try_get("attributed_to")?,
        lines: row.try_get("lines")?,
    })
}

/// The lines of a chunk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Span {
    /// Id of the chunk.
    pub chunk_id: i64,
    /// First line, 1-based.
    pub first: i32,
    /// Last line, 1-based and inclusive.
    pub last: i32,
}

/// The chunks of files, by file id, in file order.
pub async fn spans(tx: &mut ProjectTx, file_ids: &[i64]) -> Result<HashMap<i64, Vec<Span>>, Fault> {
    let text = format!(
        "SELECT file_id, id, start_line, end_line \
         FROM {} \
         WHERE file_id = ANY($1) ORDER BY file_id, ordinal",
        tx.table("chunks")
    );
    let rows = tx.tx.all(sql(text).bind(file_ids)).await?;
    let mut spans: HashMap<i64, Vec<Span>> = HashMap::new();
    for row in &rows {
        let span = Span {
            chunk_id: row.try_get("id")?,
            first: row.try_get("start_line")?,
            last: row.try_get("end_line")?,
        };
        spans.entry(row.try_get("file_id")?).or_default().push(span);
    }
    Ok(spans)
}

/// Writes histories; does not touch rows that are the same already.
///
/// # Errors
/// `ILLEGAL_STATE` when another run took over.
pub async fn write(tx: &mut ProjectTx, fence: Fence, histories: &[HistoryWrite]) -> Result<(), Fault> {
    index_state::check_fence(tx, fence).await?;
    let text = format!(
        "UPDATE {} f \
         SET last_author = t.author, last_modified_s = t.modified, last_commit = t.commit, \
           churn_added = t.added, churn_deleted = t.deleted, churn_commits = t.commits \
         FROM unnest($1::int8[], $2::text[], $3::int8[], $4::text[], $5::int8[], $6::int8[], $7::int8[]) \
           AS t (id, author, modified, commit, added, deleted, commits) \
         WHERE f.id = t.id AND (f.last_commit, f.churn_added, f.churn_deleted, f.churn_commits) IS DISTINCT \
           FROM (t.commit, t.added::int4, t.deleted::int4, t.commits::int4)",
        tx.table("files")
    );
    let numbers = |value: fn(&HistoryWrite) -> i64| histories.iter().map(value).collect::<Vec<i64>>();
    let query = sql(text)
        .bind(numbers(|h| h.file_id))
        .bind(histories.iter().map(|h| h.last_author.as_str()).collect::<Vec<_>>())
        .bind(numbers(|h| h.last_modified_s))
        .bind(histories.iter().map(|h| h.last_commit.as_str()).collect::<Vec<_>>())
        .bind(numbers(|h| h.churn_added))
        .bind(numbers(|h| h.churn_deleted))
        .bind(numbers(|h| h.churn_commits));
    tx.execute(query).await?;
    Ok(())
}

/// Clears the history of files that git does not track any more.
///
/// # Errors
/// `ILLEGAL_STATE` when another run took over.
pub async fn clear(tx: &mut ProjectTx, fence: Fence, file_ids: &[i64]) -> Result<(), Fault> {
    index_state::check_fence(tx, fence).await?;
    let text = format!(
        "UPDATE {} \
         SET last_author = NULL, last_modified_s = NULL, last_commit = NULL, churn_added = NULL, \
           churn_deleted = NULL, churn_commits = NULL, lines_attributed_to = NULL \
         WHERE id = ANY($1)",
        tx.table("files")
    );
    tx.execute(sql(text).bind(file_ids)).await?;
    remove_lines(tx, file_ids).await
}

/// Removes the stored authors and commits of the lines of files.
async fn remove_lines(tx: &mut ProjectTx, file_ids: &[i64]) -> Result<(), Fault> {
    for table in ["authors", "line_history"] {
        let text = format!("DELETE FROM {} WHERE file_id = ANY($1)", tx.table(table));
        tx.execute(sql(text).bind(file_ids)).await?;
    }
    Ok(())
}

/// Replaces the line histories of `files` and the authors of their chunks.
///
/// # Errors
/// `ILLEGAL_STATE` when another run took over.
pub async fn write_authors(
    tx: &mut ProjectTx,
    fence: Fence,
    files: &[AttributedFile],
    authors: &[AuthorsWrite],
    known: &mut KnownNames,
) -> Result<(), Fault> {
    index_state::check_fence(tx, fence).await?;
    let (ids, states): (Vec<i64>, Vec<&str>) =
        files.iter().map(|file| (file.file_id, file.attributed_to.as_str())).unzip();
    remove_lines(tx, &ids).await?;
    let (with_lines, lines): (Vec<i64>, Vec<&[u8]>) =
        files.iter().filter_map(|file| Some((file.file_id, file.lines.as_deref()?))).unzip();
    let text = format!(
        "INSERT INTO {} (file_id, lines) \
         SELECT t.file_id, t.lines \
         FROM unnest($1::int8[], $2::bytea[]) AS t (file_id, lines)",
        tx.table("line_history")
    );
    tx.execute(sql(text).bind(with_lines).bind(lines)).await?;
    let mut fresh = NewNames::default();
    let flat = FlatLists::from_lists(
        authors
            .iter()
            .map(|one| known.ids(one.authors.iter().map(|(f, name)| (*f, name.as_str())), &mut fresh)),
    );
    let text = format!(
        "INSERT INTO {} (chunk_id, file_id, ids) \
         SELECT t.chunk_id, t.file_id, ($1::int8[])[t.first:t.last] \
         FROM unnest($2::int8[], $3::int8[], $4::int4[], $5::int4[]) AS t (chunk_id, file_id, first, last)",
        tx.table("authors")
    );
    let chunks: Vec<i64> = authors.iter().map(|one| one.chunk_id).collect();
    let owners: Vec<i64> = authors.iter().map(|one| one.file_id).collect();
    tx.execute(sql(text).bind(flat.all).bind(chunks).bind(owners).bind(flat.first).bind(flat.last)).await?;
    names::insert(tx, &fresh).await?;
    let text = format!(
        "UPDATE {} f SET lines_attributed_to = t.state \
         FROM unnest($1::int8[], $2::text[]) AS t (id, state) \
         WHERE f.id = t.id",
        tx.table("files")
    );
    tx.execute(sql(text).bind(ids).bind(states)).await?;
    Ok(())
}
