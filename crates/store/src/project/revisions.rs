//! `revisions`: other branches and tags of a repository than the default branch.
//!
//! Files that a revision shares with the default branch have a bit for it in their row (`files.views`), so that a file that is the same on
//! many revisions is stored and embedded once. Files that only other revisions have belong to a hidden repository, in which a path has a
//! row for each content. No list of repositories contains it; queries that join its rows name the repository that it belongs to.

use std::collections::HashMap;

use super::file_chunks::remove_chunks_of;
use super::files::{self, FILE_COLUMNS, FileRow};
use super::index_state::{self, Fence};
use super::repositories::{self, Versions};
use crate::postgres::{Row, sql};
use crate::transaction::ProjectTx;
use contract::Fault;

/// Maximum number of revisions of a repository: the bits of `files.views` without the sign.
pub const REVISIONS_MAX: usize = 63;

/// Prefix of the root of a hidden repository; the id of the repository that it belongs to follows.
const HIDDEN_PREFIX: &str = "revisions:";

/// An indexed revision.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RevisionRow {
    /// The repository.
    pub repository_id: i64,
    /// The hidden repository with the files that only revisions have.
    pub hidden_id: Option<i64>,
    /// Its bit in [`RevisionFile::views`], 0 to 62.
    pub bit: i16,
    /// Name of the branch or tag.
    pub name: String,
    /// `branch` or `tag`.
    pub kind: String,
    /// The commit that was indexed, hex.
    pub commit: String,
}

impl RevisionRow {
    /// Its bit as a number.
    #[must_use]
    pub fn view(&self) -> i64 {
        1_i64.checked_shl(u32::try_from(self.bit).unwrap_or(u32::MAX)).unwrap_or(0)
    }
}

/// The indexed revisions of all repositories, sorted by repository and name.
pub async fn list(tx: &mut ProjectTx) -> Result<Vec<RevisionRow>, Fault> {
    let text = format!(
        "SELECT v.repository_id, h.id AS hidden_id, v.bit, v.name, v.kind, v.commit_id \
         FROM {revisions} v LEFT JOIN {repositories} h ON h.revisions_of = v.repository_id \
         ORDER BY v.repository_id, v.name",
        revisions = tx.table("revisions"),
        repositories = tx.table("repositories"),
    );
    let rows = tx.tx.all(sql(text)).await?;
    rows.iter()
        .map(|row| {
            Ok(RevisionRow {
                repository_id: row.try_get("repository_id")?,
                hidden_id: row.try_get("hidden_id")?,
                bit: row.try_get("bit")?,
                name: row.try_get("name")?,
                kind: row.try_get("kind")?,
                commit: row.try_get("commit_id")?,
            })
        })
        .collect()
}

/// The patterns of the revisions that are indexed of the repository at `root`; empty for an unknown one.
pub async fn patterns(tx: &mut ProjectTx, root: &str) -> Result<Vec<String>, Fault> {
    let text = format!("SELECT revision_patterns FROM {} WHERE root = $1", tx.table("repositories"));
    let row = tx.tx.first(sql(text).bind(root)).await?;
    row.as_ref().map_or_else(|| Ok(Vec::new()), |row| row.try_get("revision_patterns"))
}

/// The patterns of all repositories that have some, by the id of the repository.
pub async fn all_patterns(tx: &mut ProjectTx) -> Result<HashMap<i64, Vec<String>>, Fault> {
    let text = format!(
        "SELECT id, revision_patterns FROM {} WHERE revision_patterns <> '{{}}'",
        tx.table("repositories")
    );
    let rows = tx.tx.all(sql(text)).await?;
    rows.iter().map(|row| Ok((row.try_get("id")?, row.try_get("revision_patterns")?))).collect()
}

/// Sets the patterns of the revisions that are indexed of a repository.
///
/// # Errors
/// `ILLEGAL_STATE` when another run took over.
pub async fn set_patterns(
    tx: &mut ProjectTx,
    fence: Fence,
    repository_id: i64,
    patterns: &[String],
) -> Result<(), Fault> {
    index_state::check_fence(tx, fence).await?;
    let text = format!(
        "UPDATE {} SET revision_patterns = $2 WHERE id = $1 AND revision_patterns <> $2",
        tx.table("repositories")
    );
    tx.execute(sql(text).bind(repository_id).bind(patterns)).await?;
    Ok(())
}

/// A hidden repository.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Hidden {
    /// Its id.
    pub id: i64,
    /// The versions that its rows were written with.
    pub versions: Versions,
}

/// The hidden repository of a repository, if it has one.
pub async fn hidden(tx: &mut ProjectTx, repository_id: i64) -> Result<Option<Hidden>, Fault> {
    let hidden = repositories::get(tx, &hidden_root(repository_id)).await?;
    Ok(hidden.map(|row| Hidden { id: row.id, versions: row.versions }))
}

/// Creates the hidden repository of a repository that has none.
///
/// # Errors
/// `ILLEGAL_STATE` when another run took over.
pub async fn create_hidden(
    tx: &mut ProjectTx,
    fence: Fence,
    (repository_id, name): (i64, &str),
    versions: Versions,
) -> Result<Hidden, Fault> {
    let id = repositories::ensure(tx, fence, &hidden_root(repository_id), name, versions).await?;
    let text = format!("UPDATE {} SET revisions_of = $2 WHERE id = $1", tx.table("repositories"));
    tx.execute(sql(text).bind(id).bind(repository_id)).await?;
    Ok(Hidden { id, versions })
}

fn hidden_root(repository_id: i64) -> String {
    format!("{HIDDEN_PREFIX}{repository_id}")
}

/// A file of a repository or of its hidden one. The time of a file of a commit is a number that changes with its content.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RevisionFile {
    /// The file.
    pub row: FileRow,
    /// `true` if it is of the hidden repository.
    pub is_hidden: bool,
    /// The revisions that have it, as bits.
    pub views: i64,
}

/// The files of a repository and of its hidden one.
pub async fn files(tx: &mut ProjectTx, repository_id: i64) -> Result<Vec<RevisionFile>, Fault> {
    tx.lift_timeout().await?;
    let text = format!(
        "SELECT {FILE_COLUMNS}, f.repository_id <> $1 AS is_hidden, f.views \
         FROM {files} f JOIN {repositories} r ON r.id = f.repository_id \
         WHERE r.id = $1 OR r.revisions_of = $1",
        files = tx.table("files"),
        repositories = tx.table("repositories"),
    );
    let rows = tx.tx.all(sql(text).bind(repository_id)).await?;
    let file = |row: &Row| {
        Ok(RevisionFile {
            row: files::decode(row)?,
            is_hidden: row.try_get("is_hidden")?,
            views: row.try_get("views")?,
        })
    };
    rows.iter().map(file).collect()
}

/// The file that revisions, as bits, have of a repository at a path.
pub async fn file(
    tx: &mut ProjectTx,
    repository_id: i64,
    views: i64,
    path: &str,
) -> Result<Option<FileRow>, Fault> {
    let text = format!(
        "SELECT {FILE_COLUMNS} \
         FROM {files} f JOIN {repositories} r ON r.id = f.repository_id \
         WHERE (r.id = $1 OR r.revisions_of = $1) AND f.path = $2 AND f.views & $3 <> 0 \
         ORDER BY r.revisions_of IS NOT NULL, f.id LIMIT 1",
        files = tx.table("files"),
        repositories = tx.table("repositories"),
    );
    let row = tx.tx.first(sql(text).bind(repository_id).bind(path).bind(views)).await?;
    row.as_ref().map(files::decode).transpose()
}

/// Publishes the revisions of a repository: replaces their list, and the views of the files given as (id, views). Searches see
/// either all of the old state or all of the new one.
///
/// # Errors
/// `ILLEGAL_STATE` when another run took over.
pub async fn publish(
    tx: &mut ProjectTx,
    fence: Fence,
    repository_id: i64,
    revisions: &[RevisionRow],
    views: &[(i64, i64)],
) -> Result<(), Fault> {
    index_state::check_fence(tx, fence).await?;
    tx.lift_timeout().await?;
    let (ids, views): (Vec<i64>, Vec<i64>) = views.iter().copied().unzip();
    let text = format!(
        "UPDATE {} f SET views = t.views FROM unnest($1::int8[], $2::int8[]) AS t (id, views) WHERE f.id = t.id",
        tx.table("files")
    );
    tx.execute(sql(text).bind(ids).bind(views)).await?;
    let text = format!("DELETE FROM {} WHERE repository_id = $1", tx.table("revisions"));
    tx.execute(sql(text).bind(repository_id)).await?;
    let text = format!(
        "INSERT INTO {} (repository_id, bit, name, kind, commit_id) \
         SELECT $1, t.bit, t.name, t.kind, t.commit_id \
         FROM unnest($2::int2[], $3::text[], $4::text[], $5::text[]) AS t (bit, name, kind, commit_id)",
        tx.table("revisions")
    );
    let texts = |text: fn(&RevisionRow) -> &str| revisions.iter().map(text).collect::<Vec<&str>>();
    let bits: Vec<i16> = revisions.iter().map(|revision| revision.bit).collect();
    let query = sql(text).bind(repository_id).bind(bits).bind(texts(|revision| &revision.name));
    let query = query.bind(texts(|revision| &revision.kind)).bind(texts(|revision| &revision.commit));
    tx.execute(query).await?;
    Ok(())
}

/// Gives the default branch's files the revisions of hidden files with the same path and content, which no revision then has. For
/// a run in which no revision changed.
///
/// # Errors
/// `ILLEGAL_STATE` when another run took over.
pub async fn merge(
    tx: &mut ProjectTx,
    fence: Fence,
    (repository_id, hidden_id): (i64, i64),
) -> Result<(), Fault> {
    index_state::check_fence(tx, fence).await?;
    tx.lift_timeout().await?;
    let text = format!(
        "WITH merged AS (UPDATE {files} f SET views = f.views | h.views FROM {files} h \
           WHERE h.repository_id = $2 AND h.views <> 0 AND f.repository_id = $1 AND f.path = h.path \
             AND f.version = 0 AND f.modified_ns = h.version \
           RETURNING h.id) \
         UPDATE {files} SET views = 0 WHERE id IN (SELECT id FROM merged)",
        files = tx.table("files"),
    );
    tx.execute(sql(text).bind(repository_id).bind(hidden_id)).await?;
    Ok(())
}

/// Ids of the files of a hidden repository that no revision has any more.
pub async fn unused_files(tx: &mut ProjectTx, hidden_id: i64) -> Result<Vec<i64>, Fault> {
    let text =
        format!("SELECT id FROM {} WHERE repository_id = $1 AND views = 0 ORDER BY id", tx.table("files"));
    tx.tx.scalars(sql(text).bind(hidden_id)).await
}

/// The repository and revisions that a file of a hit belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FileViews {
    /// Id of the file.
    pub file_id: i64,
    /// The repository, also of a file of its hidden one.
    pub repository_id: i64,
    /// `true` if the default branch has it.
    pub is_default: bool,
    /// The revisions that have it, as bits.
    pub views: i64,
}

/// The revisions that have some files.
pub async fn views_of(tx: &mut ProjectTx, file_ids: &[i64]) -> Result<Vec<FileViews>, Fault> {
    let text = format!(
        "SELECT f.id, coalesce(r.revisions_of, r.id) AS repository_id, r.revisions_of IS NULL AS is_default, f.views \
         FROM {files} f JOIN {repositories} r ON r.id = f.repository_id \
         WHERE f.id = ANY($1)",
        files = tx.table("files"),
        repositories = tx.table("repositories"),
    );
    let rows = tx.tx.all(sql(text).bind(file_ids)).await?;
    rows.iter()
        .map(|row| {
            Ok(FileViews {
                file_id: row.try_get("id")?,
                repository_id: row.try_get("repository_id")?,
                is_default: row.try_get("is_default")?,
                views: row.try_get("views")?,
            })
        })
        .collect()
}

/// Forgets the revisions of a repository, whose files stay until [`remove`].
///
/// # Errors
/// `ILLEGAL_STATE` when another run took over.
pub async fn forget(tx: &mut ProjectTx, fence: Fence, repository_id: i64) -> Result<(), Fault> {
    index_state::check_fence(tx, fence).await?;
    let text = format!("DELETE FROM {} WHERE repository_id = $1", tx.table("revisions"));
    tx.execute(sql(text).bind(repository_id)).await?;
    Ok(())
}

/// Removes the revisions of a repository, with the hidden repository.
///
/// # Errors
/// `ILLEGAL_STATE` when another run took over.
pub async fn remove(tx: &mut ProjectTx, fence: Fence, repository_id: i64) -> Result<(), Fault> {
    forget(tx, fence, repository_id).await?;
    let text = format!("UPDATE {} SET views = 0 WHERE repository_id = $1 AND views <> 0", tx.table("files"));
    tx.execute(sql(text).bind(repository_id)).await?;
    let Some(Hidden { id, .. }) = hidden(tx, repository_id).await? else { return Ok(()) };
    let text = format!("SELECT id FROM {} WHERE repository_id = $1", tx.table("files"));
    let ids: Vec<i64> = tx.tx.scalars(sql(text).bind(id)).await?;
    remove_chunks_of(tx, &ids).await?;
    for (table, key) in [("files", "repository_id"), ("repositories", "id")] {
        let text = format!("DELETE FROM {} WHERE {key} = $1", tx.table(table));
        tx.execute(sql(text).bind(id)).await?;
    }
    Ok(())
}
