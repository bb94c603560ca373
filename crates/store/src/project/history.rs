//! What git knows of files and of the lines of chunks: columns of `files`, and `authors`.

use std::collections::HashMap;

use super::index_state::{self, Fence};
use super::names::{self, FreshNames, KnownNames, NamedFact};
use super::write::Flat;
use crate::door::ProjectTx;
use crate::postgres::sql;
use contract::Fault;

/// A searchable file and how far its history is known.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KnownHistory {
    /// Row id.
    pub file_id: i64,
    /// Relative to the repository's root.
    pub path: String,
    /// Its last commit, if that is known.
    pub last_commit: Option<String>,
    /// The commit up to which its lines were attributed.
    pub attributed_to: Option<String>,
}

/// The history of one file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HistoryWrite {
    /// Row id.
    pub file_id: i64,
    /// Name of the last commit's author.
    pub last_author: String,
    /// Author date, seconds since the epoch.
    pub last_modified_s: i64,
    /// Hex.
    pub last_commit: String,
    /// Lines added over the window's commits.
    pub churn_added: i64,
    /// Lines deleted.
    pub churn_deleted: i64,
    /// Commits that the window holds.
    pub churn_commits: i64,
}

/// The authors of one chunk's lines.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AuthorsWrite {
    /// The chunk.
    pub chunk_id: i64,
    /// Its file.
    pub file_id: i64,
    /// Names.
    pub authors: Vec<NamedFact>,
}

/// Searchable files of a repository, by path.
///
/// # Errors
/// Storage faults.
pub async fn known(tx: &mut ProjectTx, repository_id: i64) -> Result<Vec<KnownHistory>, Fault> {
    let text = format!(
        "SELECT id, path, last_commit, lines_attributed_to FROM {} WHERE repository_id = $1 AND skipped IS NULL ORDER BY path",
        tx.table("files")
    );
    let rows = tx.tx.all(sql(text).bind(repository_id)).await?;
    rows.iter()
        .map(|row| {
            Ok(KnownHistory {
                file_id: row.try_get(0)?,
                path: row.try_get(1)?,
                last_commit: row.try_get(2)?,
                attributed_to: row.try_get(3)?,
            })
        })
        .collect()
}

/// What git knows of a file.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct FileFacts {
    /// Name of the last commit's author.
    pub last_author: Option<String>,
    /// Author date of the last commit, seconds since the epoch.
    pub last_modified_s: Option<i64>,
    /// The last commit, hex.
    pub last_commit: Option<String>,
    /// Lines that the last commits added.
    pub churn_added: Option<i32>,
    /// Lines that they deleted.
    pub churn_deleted: Option<i32>,
    /// How many commits those are.
    pub churn_commits: Option<i32>,
    /// `key=value` of the file's metadata.
    pub meta: Option<Vec<String>>,
}

/// What git knows of files, by id, in no order.
///
/// # Errors
/// Storage faults.
pub async fn of_files(tx: &mut ProjectTx, ids: &[i64]) -> Result<Vec<(i64, FileFacts)>, Fault> {
    let text = format!(
        "SELECT id, last_author, last_modified_s, last_commit, churn_added, churn_deleted, churn_commits, meta FROM {} WHERE id = ANY($1)",
        tx.table("files")
    );
    let rows = tx.tx.all(sql(text).bind(ids)).await?;
    rows.iter()
        .map(|row| {
            let facts = FileFacts {
                last_author: row.try_get(1)?,
                last_modified_s: row.try_get(2)?,
                last_commit: row.try_get(3)?,
                churn_added: row.try_get(4)?,
                churn_deleted: row.try_get(5)?,
                churn_commits: row.try_get(6)?,
                meta: row.try_get(7)?,
            };
            Ok((row.try_get(0)?, facts))
        })
        .collect()
}

/// Where a chunk lies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Span {
    /// The chunk.
    pub chunk_id: i64,
    /// 1-based.
    pub first: i32,
    /// 1-based, inclusive.
    pub last: i32,
}

/// The chunks of files, by file, in the order of lines.
///
/// # Errors
/// Storage faults.
pub async fn spans(tx: &mut ProjectTx, file_ids: &[i64]) -> Result<HashMap<i64, Vec<Span>>, Fault> {
    let text = format!(
        "SELECT file_id, id, start_line, end_line FROM {} WHERE file_id = ANY($1) ORDER BY file_id, ordinal",
        tx.table("chunks")
    );
    let rows = tx.tx.all(sql(text).bind(file_ids)).await?;
    let mut spans: HashMap<i64, Vec<Span>> = HashMap::new();
    for row in &rows {
        let span = Span { chunk_id: row.try_get(1)?, first: row.try_get(2)?, last: row.try_get(3)? };
        spans.entry(row.try_get(0)?).or_default().push(span);
    }
    Ok(spans)
}

/// Writes histories; rows that say the same already are left alone.
///
/// # Errors
/// `ILLEGAL_STATE` when another run took over.
pub async fn write(tx: &mut ProjectTx, fence: Fence, histories: &[HistoryWrite]) -> Result<(), Fault> {
    index_state::check_fence(tx, fence).await?;
    let text = format!(
        "UPDATE {} f SET last_author = t.author, last_modified_s = t.modified, last_commit = t.commit, churn_added = t.added, \
         churn_deleted = t.deleted, churn_commits = t.commits \
         FROM unnest($1::int8[], $2::text[], $3::int8[], $4::text[], $5::int8[], $6::int8[], $7::int8[]) \
         AS t (id, author, modified, commit, added, deleted, commits) WHERE f.id = t.id \
         AND (f.last_commit, f.churn_added, f.churn_deleted, f.churn_commits) IS DISTINCT FROM (t.commit, t.added::int4, t.deleted::int4, t.commits::int4)",
        tx.table("files")
    );
    let numbers = |of: fn(&HistoryWrite) -> i64| histories.iter().map(of).collect::<Vec<i64>>();
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

/// Forgets what git knew of files that it knows no more.
///
/// # Errors
/// `ILLEGAL_STATE` when another run took over.
pub async fn forget(tx: &mut ProjectTx, fence: Fence, file_ids: &[i64]) -> Result<(), Fault> {
    index_state::check_fence(tx, fence).await?;
    let text = format!(
        "UPDATE {} SET last_author = NULL, last_modified_s = NULL, last_commit = NULL, churn_added = NULL, churn_deleted = NULL, \
         churn_commits = NULL, lines_attributed_to = NULL WHERE id = ANY($1)",
        tx.table("files")
    );
    tx.execute(sql(text).bind(file_ids)).await?;
    let text = format!("DELETE FROM {} WHERE file_id = ANY($1)", tx.table("authors"));
    tx.execute(sql(text).bind(file_ids)).await?;
    Ok(())
}

/// Replaces the authors of the chunks of `files`, given with the commits up to which they were looked for.
///
/// # Errors
/// `ILLEGAL_STATE` when another run took over.
pub async fn write_authors(
    tx: &mut ProjectTx,
    fence: Fence,
    files: &[(i64, String)],
    authors: &[AuthorsWrite],
    known: &mut KnownNames,
) -> Result<(), Fault> {
    index_state::check_fence(tx, fence).await?;
    let (ids, commits): (Vec<i64>, Vec<&str>) =
        files.iter().map(|(id, commit)| (*id, commit.as_str())).unzip();
    let text = format!("DELETE FROM {} WHERE file_id = ANY($1)", tx.table("authors"));
    tx.execute(sql(text).bind(&ids)).await?;
    let mut fresh = FreshNames::default();
    let flat = Flat::of(
        authors
            .iter()
            .map(|one| known.ids(one.authors.iter().map(|(f, name)| (*f, name.as_str())), &mut fresh)),
    );
    let text = format!(
        "INSERT INTO {} (chunk_id, file_id, ids) SELECT t.chunk_id, t.file_id, ($1::int8[])[t.first:t.last] \
         FROM unnest($2::int8[], $3::int8[], $4::int4[], $5::int4[]) AS t (chunk_id, file_id, first, last)",
        tx.table("authors")
    );
    let chunks: Vec<i64> = authors.iter().map(|one| one.chunk_id).collect();
    let owners: Vec<i64> = authors.iter().map(|one| one.file_id).collect();
    tx.execute(sql(text).bind(flat.all).bind(chunks).bind(owners).bind(flat.first).bind(flat.last)).await?;
    names::insert(tx, &fresh).await?;
    let text = format!(
        "UPDATE {} f SET lines_attributed_to = t.commit FROM unnest($1::int8[], $2::text[]) AS t (id, commit) WHERE f.id = t.id",
        tx.table("files")
    );
    tx.execute(sql(text).bind(ids).bind(commits)).await?;
    Ok(())
}
