//! `repositories`: the indexed repositories of a project, and the state of their last runs.

use crate::postgres::Row;

use super::index_state::{self, Fence};
use crate::postgres::{MODULES, sql, storable_json};
use crate::transaction::ProjectTx;
use contract::{Fault, RepositoryAddress, has_archive_name};

pub use super::repository_removal::delete;

/// A repository of the project.
#[derive(Debug, Clone, PartialEq)]
pub struct RepositoryRow {
    /// Id inside the project.
    pub id: i64,
    /// Canonical absolute path of a directory or an archive, or the address of a git repository. Records have `module:name`, and imported
    /// repositories without a folder `imported:name`.
    pub root: String,
    /// Name of the repository in results.
    pub name: String,
    /// Its state.
    pub state: RepositoryState,
    /// Number of its complete runs.
    pub generation: i64,
    /// Versions that all of its files were read with or compared with; set when it is created and when a run over all files
    /// completes.
    pub versions: Versions,
    /// Searchable files when a run last completed or was cancelled.
    pub files: i64,
    /// Searchable chunks at that time.
    pub chunks: i64,
    /// Number of chunks whose terms were counted: N of BM25; 0 until they are counted.
    pub statistics_chunks: i64,
    /// `true` if the counts are those of all its chunks; `false` until its first run has counted them.
    pub is_counted: bool,
    /// End of the last complete run, milliseconds since the epoch, UTC.
    pub indexed_ms: Option<i64>,
    /// Git branch at the last run; `None` if it is not a git repository or no branch is checked out.
    pub branch: Option<String>,
    /// Git commit at the last run, hex.
    pub commit: Option<String>,
    /// The last run's report.
    pub report: Option<serde_json::Value>,
}

impl RepositoryRow {
    /// Returns `true` if it is on a disk: a folder or an archive.
    #[must_use]
    pub fn has_path(&self) -> bool {
        self.root.starts_with('/')
    }

    /// Returns `true` if it is a folder on disk. One with the name of an archive counts as an archive here.
    #[must_use]
    pub fn is_folder(&self) -> bool {
        self.has_path() && !self.is_archive()
    }

    /// Returns `true` if it is an archive, by its name. Only the disk can distinguish it from a folder with such a name.
    #[must_use]
    pub fn is_archive(&self) -> bool {
        self.has_path() && has_archive_name(&self.root)
    }

    /// Returns `true` if it is a git repository that is given by its address.
    #[must_use]
    pub fn is_remote(&self) -> bool {
        RepositoryAddress::parse(&self.root).is_some()
    }

    /// Returns `true` if a run can read its files: it is a folder or an archive, or given by its address.
    #[must_use]
    pub fn is_readable(&self) -> bool {
        self.has_path() || self.is_remote()
    }

    /// Returns `true` if it consists of records of a module (root `module:name`), which are not in a folder.
    #[must_use]
    pub fn is_records(&self) -> bool {
        self.root.split_once(':').is_some_and(|(module, _)| MODULES.iter().any(|known| known.name == module))
    }

    /// Returns `true` if no run has completed yet, but a cancelled one left searchable chunks.
    #[must_use]
    pub fn is_partially_indexed(&self) -> bool {
        self.state == RepositoryState::New && self.indexed_ms.is_none() && self.chunks > 0
    }
}

/// Prefix of the root of a repository that was imported from an archive and has no folder here; its name follows.
pub(crate) const IMPORTED_PREFIX: &str = "imported:";

/// Versions of everything that determines how a text becomes rows. If one differs, all files are indexed again.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Versions {
    /// `languages::CHUNKER_VERSION`.
    pub chunker: i32,
    /// `languages::terms::TERMS_VERSION`.
    pub terms: i32,
    /// `languages::facts::FACTS_VERSION`.
    pub facts: i32,
    /// Fingerprint of the risk rules; zeros without risk analysis.
    pub rules: [u8; 32],
    /// Fingerprint of the word lists that split identifiers; zeros without word lists.
    pub dictionary: [u8; 32],
    /// Fingerprint of the settings that affect rows: limits, chunk sizes, redaction.
    pub settings: [u8; 32],
}

/// State of a repository.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RepositoryState {
    /// No run has completed yet, or none since the project's model was changed.
    New,
    /// A run is in progress, or was interrupted and not repeated yet; what it committed is searchable.
    Indexing,
    /// Complete. A later run may have been cancelled.
    Ready,
    /// A run failed, or the repository is being removed; the remaining files are searchable.
    Failed,
}

impl RepositoryState {
    /// The name in the database and in results.
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

const COLUMNS: &str = "id, root, name, state, generation, files, chunks, statistics_chunks, \
      (extract(epoch FROM indexed_at) * 1000)::int8 AS indexed_ms, report::text AS report, chunker_version, \
      terms_version, facts_version, rules, branch, commit_id, dictionary, settings, \
      statistics_chunks > 0 AND changed_since_statistics = 0 AS is_counted";

/// As [`COLUMNS`], for the row `r` and without the report, which may be long.
pub(super) const WITHOUT_REPORT: &str = "r.id, r.root, r.name, r.state, r.generation, r.files, r.chunks, r.statistics_chunks, \
      (extract(epoch FROM r.indexed_at) * 1000)::int8 AS indexed_ms, NULL::text AS report, \
      r.chunker_version, r.terms_version, r.facts_version, r.rules, r.branch, r.commit_id, r.dictionary, \
      r.settings, r.statistics_chunks > 0 AND r.changed_since_statistics = 0 AS is_counted";

/// Returns the id of the repository at `root`; creates it with `versions` if it is new.
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
        "INSERT INTO {} (id, root, name, state, generation, chunker_version, terms_version, facts_version, \
           rules, dictionary, settings, files, chunks) \
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
pub async fn get(tx: &mut ProjectTx, root: &str) -> Result<Option<RepositoryRow>, Fault> {
    let text = format!("SELECT {COLUMNS} FROM {} WHERE root = $1", tx.table("repositories"));
    let row = tx.tx.first(sql(text).bind(root)).await?;
    row.as_ref().map(decode).transpose()
}

/// The repository with this id, if the project has it.
pub async fn with_id(tx: &mut ProjectTx, id: i64) -> Result<Option<RepositoryRow>, Fault> {
    let text = format!("SELECT {COLUMNS} FROM {} WHERE id = $1", tx.table("repositories"));
    let row = tx.tx.first(sql(text).bind(id)).await?;
    row.as_ref().map(decode).transpose()
}

/// All repositories, sorted by root, without the hidden ones of revisions.
pub async fn list(tx: &mut ProjectTx) -> Result<Vec<RepositoryRow>, Fault> {
    let text = format!(
        "SELECT {COLUMNS} FROM {} WHERE revisions_of IS NULL ORDER BY root",
        tx.table("repositories")
    );
    let rows = tx.tx.all(sql(text)).await?;
    rows.iter().map(decode).collect()
}

/// Returns `true` if the data derived from all files of a repository have to be computed again.
pub async fn is_derived_due(tx: &mut ProjectTx, id: i64) -> Result<bool, Fault> {
    let text = format!("SELECT derived_due FROM {} WHERE id = $1", tx.table("repositories"));
    tx.tx.scalar(sql(text).bind(id)).await
}

/// Records that the data derived from all files of a repository are up to date; for the transaction that wrote them.
///
/// # Errors
/// `ILLEGAL_STATE` when another run took over.
pub async fn clear_derived_due(tx: &mut ProjectTx, fence: Fence, id: i64) -> Result<(), Fault> {
    index_state::check_fence(tx, fence).await?;
    let text = format!("UPDATE {} SET derived_due = false WHERE id = $1", tx.table("repositories"));
    tx.execute(sql(text).bind(id)).await?;
    Ok(())
}

/// Sets the state of a repository.
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

/// Ends a cancelled run: restores the repository's previous state, and counts the files and chunks that the run committed.
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
        "UPDATE {repositories} \
         SET state = $2, files = (SELECT count(*) FROM {files} WHERE repository_id = $1 \
           AND skipped IS NULL), chunks = (SELECT coalesce(sum(chunks), 0)::int8 FROM {files} \
           WHERE repository_id = $1) \
         WHERE id = $1",
        repositories = tx.table("repositories"),
        files = tx.table("files"),
    );
    tx.execute(sql(text).bind(id).bind(before.as_str())).await?;
    Ok(())
}

/// Sets repositories that lacked only the vectors of a new model back to `ready`, after these vectors were written.
///
/// # Errors
/// `ILLEGAL_STATE` when another run took over.
pub async fn mark_embedded_ready(tx: &mut ProjectTx, fence: Fence) -> Result<(), Fault> {
    index_state::check_fence(tx, fence).await?;
    let text = format!(
        "UPDATE {} SET state = 'ready' WHERE state = 'new' AND indexed_at IS NOT NULL",
        tx.table("repositories")
    );
    tx.execute(sql(text)).await?;
    Ok(())
}

/// Ends a run: counts the repository's files and chunks, and stores the versions and the report. `Ready` also starts a new
/// generation and sets the time of the last complete run.
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
        "UPDATE {repositories} \
         SET state = $2, report = $3::text::jsonb, chunker_version = $4, terms_version = $5, \
           facts_version = $6, rules = $7, dictionary = $8, settings = $9, generation = generation + CASE \
           WHEN $2 = 'ready' THEN 1 ELSE 0 END, indexed_at = CASE WHEN $2 = 'ready' THEN now() \
           ELSE indexed_at END, files = (SELECT count(*) FROM {files} WHERE repository_id = $1 \
           AND skipped IS NULL), chunks = (SELECT coalesce(sum(chunks), 0)::int8 FROM {files} \
           WHERE repository_id = $1) \
         WHERE id = $1",
        repositories = tx.table("repositories"),
        files = tx.table("files"),
    );
    let query = sql(text).bind(id).bind(state.as_str()).bind(storable_json(report));
    let query = query.bind(versions.chunker).bind(versions.terms).bind(versions.facts);
    let query = query.bind(versions.rules.as_slice()).bind(versions.dictionary.as_slice());
    tx.execute(query.bind(versions.settings.as_slice())).await?;
    Ok(())
}

/// Stores the git branch and commit that were checked out when the repository was read.
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

/// Decodes a row of [`COLUMNS`].
pub(super) fn decode(row: &Row) -> Result<RepositoryRow, Fault> {
    let report: Option<String> = row.try_get("report")?;
    Ok(RepositoryRow {
        id: row.try_get("id")?,
        root: row.try_get("root")?,
        name: row.try_get("name")?,
        state: RepositoryState::parse(row.try_get("state")?),
        generation: row.try_get("generation")?,
        versions: Versions {
            chunker: row.try_get("chunker_version")?,
            terms: row.try_get("terms_version")?,
            facts: row.try_get("facts_version")?,
            rules: row.try_get::<Vec<u8>>("rules")?.try_into().unwrap_or_default(),
            dictionary: row.try_get::<Vec<u8>>("dictionary")?.try_into().unwrap_or_default(),
            settings: row.try_get::<Vec<u8>>("settings")?.try_into().unwrap_or_default(),
        },
        branch: row.try_get("branch")?,
        commit: row.try_get("commit_id")?,
        files: row.try_get("files")?,
        chunks: row.try_get("chunks")?,
        statistics_chunks: row.try_get("statistics_chunks")?,
        is_counted: row.try_get("is_counted")?,
        indexed_ms: row.try_get("indexed_ms")?,
        report: report.and_then(|text| serde_json::from_str(&text).ok()),
    })
}
