//! `repositories`: what was asked to be indexed, and how that went.

use crate::postgres::Row;

use super::files::remove_chunks_of;
use super::index_state::{self, Fence};
use crate::door::ProjectTx;
use crate::postgres::sql;
use contract::{ErrorCode, Fault};

/// A repository of the project.
#[derive(Debug, Clone, PartialEq)]
pub struct RepositoryRow {
    /// Id inside the project.
    pub id: i64,
    /// Canonical absolute path; of what is no folder a word without a slash.
    pub root: String,
    /// What answers call it.
    pub name: String,
    /// How far it is.
    pub state: RepositoryState,
    /// Counts its complete runs.
    pub generation: i64,
    /// What made its chunks; of a run that rebuilds them all, only once it is complete.
    pub versions: Versions,
    /// Searchable files at the end of the last run that was not killed.
    pub files: i64,
    /// Searchable chunks at the same time.
    pub chunks: i64,
    /// End of the last complete run, milliseconds since the epoch, UTC.
    pub indexed_ms: Option<i64>,
    /// Git branch at the last run; none where there is no repository, or no branch.
    pub branch: Option<String>,
    /// Git commit at the last run, hex.
    pub commit: Option<String>,
    /// The last run's report.
    pub report: Option<serde_json::Value>,
}

impl RepositoryRow {
    /// Whether it is a folder on disk; the records of a project are none.
    #[must_use]
    pub fn is_folder(&self) -> bool {
        self.root.starts_with('/')
    }

    /// Whether it is the project's own records, which lie in no folder.
    #[must_use]
    pub fn is_records(&self) -> bool {
        self.root == RECORDS
    }

    /// Whether no run was complete yet, and one that was cancelled left something to search.
    #[must_use]
    pub fn is_begun(&self) -> bool {
        self.state == RepositoryState::New && self.indexed_ms.is_none() && self.chunks > 0
    }
}

/// The root of the repository that is made of a project's records.
pub const RECORDS: &str = "triage:records";
/// What the root of a repository begins with that came in an archive and has no folder here; its name follows.
pub const IMPORTED: &str = "imported:";

/// Versions of the code that turns text into rows; a different one means chunking everything again.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Versions {
    /// `languages::CHUNKER_VERSION`.
    pub chunker: i32,
    /// `languages::terms::TERMS_VERSION`.
    pub terms: i32,
    /// `languages::facts::FACTS_VERSION`.
    pub facts: i32,
    /// Fingerprint of the risk rules; zeros where risk is not looked for.
    pub rules: [u8; 32],
    /// Fingerprint of the word lists that split names; zeros where none was used.
    pub dictionary: [u8; 32],
    /// Fingerprint of the settings that shape rows: limits, sizes of chunks, redaction.
    pub settings: [u8; 32],
}

/// How far a repository is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RepositoryState {
    /// Known, no run was complete yet; or nothing embedded yet by the model that the project has got.
    New,
    /// A run is under way; what is committed is searchable.
    Indexing,
    /// The last run was complete.
    Ready,
    /// The last run failed; what it committed is searchable.
    Failed,
}

impl RepositoryState {
    /// As it is stored and shown.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::New => "new",
            Self::Indexing => "indexing",
            Self::Ready => "ready",
            Self::Failed => "failed",
        }
    }

    pub(crate) fn parse(text: &str) -> Self {
        match text {
            "indexing" => Self::Indexing,
            "ready" => Self::Ready,
            "failed" => Self::Failed,
            _ => Self::New,
        }
    }
}

const COLUMNS: &str = "id, root, name, state, generation, files, chunks, (extract(epoch FROM indexed_at) * 1000)::int8, report::text, \
     chunker_version, terms_version, facts_version, rules, branch, commit_id, dictionary, settings";

/// The same of the row `r`, without the report, which may be long.
pub(super) const WITHOUT_REPORT: &str = "r.id, r.root, r.name, r.state, r.generation, r.files, r.chunks, \
     (extract(epoch FROM r.indexed_at) * 1000)::int8, NULL::text, \
     r.chunker_version, r.terms_version, r.facts_version, r.rules, r.branch, r.commit_id, r.dictionary, r.settings";

/// The repository at `root`, made if it is new; `versions` are those of the code that will fill it.
///
/// # Errors
/// `ILLEGAL_STATE` when another run took over.
pub async fn ensure(
    tx: &mut ProjectTx,
    fence: Fence,
    root: &str,
    name: &str,
    versions: Versions,
) -> Result<i64, Fault> {
    index_state::check_fence(tx, fence).await?;
    if let Some(row) = get(tx, root).await? {
        return Ok(row.id);
    }
    let id = index_state::reserve_ids(tx, fence, 1).await?;
    let text = format!(
        "INSERT INTO {} (id, root, name, state, generation, chunker_version, terms_version, facts_version, rules, dictionary, settings, files, chunks) \
         VALUES ($1, $2, $3, 'new', 0, $4, $5, $6, $7, $8, $9, 0, 0)",
        tx.table("repositories")
    );
    let query = sql(text).bind(id).bind(root).bind(name).bind(versions.chunker).bind(versions.terms);
    let query = query.bind(versions.facts).bind(versions.rules.as_slice());
    let query = query.bind(versions.dictionary.as_slice()).bind(versions.settings.as_slice());
    tx.execute(query).await?;
    Ok(id)
}

/// The repository at `root`, if the project has it.
///
/// # Errors
/// Storage faults.
pub async fn get(tx: &mut ProjectTx, root: &str) -> Result<Option<RepositoryRow>, Fault> {
    let text = format!("SELECT {COLUMNS} FROM {} WHERE root = $1", tx.table("repositories"));
    let row = tx.tx.first(sql(text).bind(root)).await?;
    row.as_ref().map(|row| decode(row, 0)).transpose()
}

/// All repositories, by root.
///
/// # Errors
/// Storage faults.
pub async fn list(tx: &mut ProjectTx) -> Result<Vec<RepositoryRow>, Fault> {
    let text = format!("SELECT {COLUMNS} FROM {} ORDER BY root", tx.table("repositories"));
    let rows = tx.tx.all(sql(text)).await?;
    rows.iter().map(|row| decode(row, 0)).collect()
}

/// Notes that what is made of all files of a repository is due again, because these of them change.
pub(super) async fn mark_derived_due(tx: &mut ProjectTx, file_ids: &[i64]) -> Result<(), Fault> {
    let text = format!(
        "UPDATE {} SET derived_due = true WHERE NOT derived_due AND id IN (SELECT repository_id FROM {} WHERE id = ANY($1))",
        tx.table("repositories"),
        tx.table("files")
    );
    tx.execute(sql(text).bind(file_ids)).await?;
    Ok(())
}

/// Whether what is made of all files of a repository is due.
///
/// # Errors
/// Storage faults.
pub async fn is_derived_due(tx: &mut ProjectTx, id: i64) -> Result<bool, Fault> {
    let text = format!("SELECT derived_due FROM {} WHERE id = $1", tx.table("repositories"));
    tx.tx.one(sql(text).bind(id)).await?.try_get(0)
}

/// Notes that it was made; for the transaction that wrote it.
///
/// # Errors
/// `ILLEGAL_STATE` when another run took over.
pub async fn clear_derived_due(tx: &mut ProjectTx, fence: Fence, id: i64) -> Result<(), Fault> {
    index_state::check_fence(tx, fence).await?;
    let text = format!("UPDATE {} SET derived_due = false WHERE id = $1", tx.table("repositories"));
    tx.execute(sql(text).bind(id)).await?;
    Ok(())
}

/// Notes how far a repository is.
///
/// # Errors
/// `ILLEGAL_STATE` when another run took over.
pub async fn set_state(
    tx: &mut ProjectTx,
    fence: Fence,
    id: i64,
    state: RepositoryState,
) -> Result<(), Fault> {
    index_state::check_fence(tx, fence).await?;
    let text = format!("UPDATE {} SET state = $2 WHERE id = $1", tx.table("repositories"));
    tx.execute(sql(text).bind(id).bind(state.as_str())).await?;
    Ok(())
}

/// Ends a run that was cancelled: the repository is in the state that it had, with what the run committed.
///
/// # Errors
/// `ILLEGAL_STATE` when another run took over.
pub async fn set_stopped(
    tx: &mut ProjectTx,
    fence: Fence,
    id: i64,
    before: RepositoryState,
) -> Result<(), Fault> {
    index_state::check_fence(tx, fence).await?;
    let text = format!(
        "UPDATE {repositories} SET state = $2, \
         files = (SELECT count(*) FROM {files} WHERE repository_id = $1 AND skipped IS NULL), \
         chunks = (SELECT coalesce(sum(chunks), 0)::int8 FROM {files} WHERE repository_id = $1) WHERE id = $1",
        repositories = tx.table("repositories"),
        files = tx.table("files"),
    );
    tx.execute(sql(text).bind(id).bind(before.as_str())).await?;
    Ok(())
}

/// Repositories that were complete but for the vectors of another model are so again.
///
/// # Errors
/// `ILLEGAL_STATE` when another run took over.
pub async fn settle(tx: &mut ProjectTx, fence: Fence) -> Result<(), Fault> {
    index_state::check_fence(tx, fence).await?;
    let text = format!(
        "UPDATE {} SET state = 'ready' WHERE state = 'new' AND indexed_at IS NOT NULL",
        tx.table("repositories")
    );
    tx.execute(sql(text)).await?;
    Ok(())
}

/// Ends a run: counts the repository's files and chunks, notes what made them and keeps the report. `Ready` also starts a new
/// generation.
///
/// # Errors
/// `ILLEGAL_STATE` when another run took over.
pub async fn set_report(
    tx: &mut ProjectTx,
    fence: Fence,
    id: i64,
    state: RepositoryState,
    versions: Versions,
    report: &serde_json::Value,
) -> Result<(), Fault> {
    index_state::check_fence(tx, fence).await?;
    let text = format!(
        "UPDATE {repositories} SET state = $2, report = $3::text::jsonb, \
         chunker_version = $4, terms_version = $5, facts_version = $6, rules = $7, dictionary = $8, settings = $9, \
         generation = generation + CASE WHEN $2 = 'ready' THEN 1 ELSE 0 END, \
         indexed_at = CASE WHEN $2 = 'ready' THEN now() ELSE indexed_at END, \
         files = (SELECT count(*) FROM {files} WHERE repository_id = $1 AND skipped IS NULL), \
         chunks = (SELECT coalesce(sum(chunks), 0)::int8 FROM {files} WHERE repository_id = $1) WHERE id = $1",
        repositories = tx.table("repositories"),
        files = tx.table("files"),
    );
    let query = sql(text).bind(id).bind(state.as_str()).bind(report.to_string());
    let query = query.bind(versions.chunker).bind(versions.terms).bind(versions.facts);
    let query = query.bind(versions.rules.as_slice()).bind(versions.dictionary.as_slice());
    tx.execute(query.bind(versions.settings.as_slice())).await?;
    Ok(())
}

/// Notes where git stood when the repository was read.
///
/// # Errors
/// `ILLEGAL_STATE` when another run took over.
pub async fn set_head(
    tx: &mut ProjectTx,
    fence: Fence,
    id: i64,
    branch: Option<&str>,
    commit: Option<&str>,
) -> Result<(), Fault> {
    index_state::check_fence(tx, fence).await?;
    let text = format!("UPDATE {} SET branch = $2, commit_id = $3 WHERE id = $1", tx.table("repositories"));
    tx.execute(sql(text).bind(id).bind(branch).bind(commit)).await?;
    Ok(())
}

/// Removes a repository with everything read from it. Vectors stay until orphans are removed.
///
/// # Errors
/// `NOT_FOUND` when there is none; `ILLEGAL_STATE` when another run took over.
pub async fn delete(tx: &mut ProjectTx, fence: Fence, id: i64) -> Result<(), Fault> {
    index_state::check_fence(tx, fence).await?;
    let files = tx.table("files");
    let text = format!("SELECT id FROM {files} WHERE repository_id = $1");
    let rows = tx.tx.all(sql(text).bind(id)).await?;
    let ids = rows.iter().map(|row| row.try_get(0)).collect::<Result<Vec<i64>, _>>()?;
    remove_chunks_of(tx, &ids).await?;
    tx.execute(sql(format!("DELETE FROM {files} WHERE repository_id = $1")).bind(id)).await?;
    let text = format!("DELETE FROM {} WHERE id = $1", tx.table("repositories"));
    if tx.execute(sql(text).bind(id)).await? == 0 {
        return Err(Fault::new(ErrorCode::NotFound, "The project has no such repository."));
    }
    Ok(())
}

/// A repository whose columns begin at `first`.
pub(super) fn decode(row: &Row, first: usize) -> Result<RepositoryRow, Fault> {
    let report: Option<String> = row.try_get(first + 8)?;
    Ok(RepositoryRow {
        id: row.try_get(first)?,
        root: row.try_get(first + 1)?,
        name: row.try_get(first + 2)?,
        state: RepositoryState::parse(row.try_get(first + 3)?),
        generation: row.try_get(first + 4)?,
        versions: Versions {
            chunker: row.try_get(first + 9)?,
            terms: row.try_get(first + 10)?,
            facts: row.try_get(first + 11)?,
            rules: row.try_get::<Vec<u8>>(first + 12)?.try_into().unwrap_or_default(),
            dictionary: row.try_get::<Vec<u8>>(first + 15)?.try_into().unwrap_or_default(),
            settings: row.try_get::<Vec<u8>>(first + 16)?.try_into().unwrap_or_default(),
        },
        branch: row.try_get(first + 13)?,
        commit: row.try_get(first + 14)?,
        files: row.try_get(first + 5)?,
        chunks: row.try_get(first + 6)?,
        indexed_ms: row.try_get(first + 7)?,
        report: report.and_then(|text| serde_json::from_str(&text).ok()),
    })
}
