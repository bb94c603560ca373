//! Determines the commit of an index by comparing the indexed files with those of the commit.

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};
use tokio_util::sync::CancellationToken;

use super::file::{is_lfs_pointer, root_fault};
use super::historian::{Historian, HistorianError, HistoryLocation, RequestDeadline};
use super::parser::Parsing;
use ::history::{FoundRepository, History, NoHistory};
use contract::config;
use contract::{ErrorCode, Fault};
use platform::safe_open::{Folder, ReadError};
use platform::task::blocking;
use store::{Access, FileRow, Project, ProjectTx, RepositoryRow, RepositoryState, Store, files};
use tenancy::AllowedRoots;

/// Longest time of a comparison. It reads every file of the commit.
const TIME_MAX: Duration = Duration::from_secs(600);
/// Largest file that is compared, which is also the largest object of git that is read.
const FILE_BYTES_MAX: usize = 64 << 20;
/// The reason why the index of an archive, for example, has no commit.
const NO_DIRECTORY: &str = "it has neither a directory nor an address";

/// The commit of an index.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IndexedCommit {
    /// The commit, in hex.
    pub id: String,
    /// Files in which the index differs from the commit, sorted: changed, not committed, or deleted. Files that git LFS keeps
    /// elsewhere are not compared.
    pub differing: Vec<String>,
}

/// An indexed file.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
pub(super) struct HashedFile<'t> {
    path: &'t str,
    /// BLAKE3 of its bytes.
    hash: [u8; 32],
}

impl<'t> HashedFile<'t> {
    /// Returns `None` for a file that is not searchable.
    fn from_row(row: &'t FileRow) -> Option<Self> {
        let hash: [u8; 32] = row.content_hash.as_slice().try_into().ok()?;
        row.skipped.is_none().then_some(Self { path: &row.path, hash })
    }
}

/// Differences between the files of a commit and others.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct CommitDifferences {
    /// Files whose content is different in the commit, or that it does not have.
    differing: Vec<String>,
    /// Files that only the commit has.
    only_committed: Vec<String>,
}

/// Compares the index of a repository with a commit: that of HEAD for a directory, that of the last run for an address. Files are compared
/// by their content, so a change that was indexed is found even if it is no longer in the work tree.
///
/// # Errors
/// `ILLEGAL_STATE` if the index has no commit: its last run was not complete, or the repository is not in git; `CANCELLED`; storage faults.
pub async fn indexed_commit(
    store: &Store,
    project: &Project,
    repository: &RepositoryRow,
    settings: &config::Indexing,
    parsing: &Parsing,
    cancel: &CancellationToken,
) -> Result<IndexedCommit, Fault> {
    if repository.state != RepositoryState::Ready {
        return Err(no_commit("its last run is not complete"));
    }
    if repository.is_remote() {
        // A run over all files reads them from the commit itself.
        let id = repository.commit.clone().ok_or_else(|| no_commit("its commit is unknown"))?;
        return Ok(IndexedCommit { id, differing: Vec::new() });
    }
    compare(store, project, repository, None, settings, parsing, cancel).await
}

/// Returns the files in which the index of a repository differs from a commit that need not be checked out, sorted; otherwise as
/// [`indexed_commit`].
///
/// # Errors
/// As [`indexed_commit`]; also if the repository does not have the commit.
pub async fn differing_from_commit(
    store: &Store,
    project: &Project,
    repository: &RepositoryRow,
    commit: &str,
    settings: &config::Indexing,
    parsing: &Parsing,
    cancel: &CancellationToken,
) -> Result<Vec<String>, Fault> {
    let is_own = repository.commit.as_deref() == Some(commit);
    if is_own && (repository.is_remote() || is_archive(repository).await?) {
        // Runs read the files of an address, and of an archive, from the commit itself.
        return Ok(Vec::new());
    }
    let compared = compare(store, project, repository, Some(commit), settings, parsing, cancel).await?;
    Ok(compared.differing)
}

/// Returns whether a repository is an archive; a directory can have the name of one.
async fn is_archive(repository: &RepositoryRow) -> Result<bool, Fault> {
    if !repository.is_archive() {
        return Ok(false);
    }
    let root = PathBuf::from(&repository.root);
    blocking(move || Ok(root.is_file())).await
}

/// Compares the index of a directory with a commit, by default that of HEAD.
async fn compare(
    store: &Store,
    project: &Project,
    repository: &RepositoryRow,
    commit: Option<&str>,
    settings: &config::Indexing,
    parsing: &Parsing,
    cancel: &CancellationToken,
) -> Result<IndexedCommit, Fault> {
    if !repository.has_path() {
        return Err(no_commit(NO_DIRECTORY));
    }
    let mut tx = ProjectTx::begin(store, project, Access::Snapshot).await?;
    let rows = files::manifest(&mut tx, repository.id).await?;
    tx.commit().await?;
    let (root, parsing, cancel) = (PathBuf::from(&repository.root), parsing.clone(), cancel.clone());
    let allowed = AllowedRoots::for_project(settings, project.id());
    let commit = commit.map(str::to_owned);
    blocking(move || {
        compare_rows(&root, commit.as_deref(), &rows, &allowed, &parsing, &|| cancel.is_cancelled())
    })
    .await
}

fn compare_rows(
    root: &Path,
    commit: Option<&str>,
    rows: &[FileRow],
    allowed: &AllowedRoots,
    parsing: &Parsing,
    cancelled: &dyn Fn() -> bool,
) -> Result<IndexedCommit, Fault> {
    // An archive; a directory can have the name of one.
    if root.is_file() {
        return Err(no_commit(NO_DIRECTORY));
    }
    let found =
        FoundRepository::find(root, &|path| allowed.contains(path)).map_err(|reason| match reason {
            NoHistory::Absent => no_commit("it is not in a git repository"),
            NoHistory::Refused(why) => no_commit(&format!("its git history was not read: {why}")),
        })?;
    let found = match commit {
        Some(commit) => found.at_commit(commit),
        None => found,
    };
    let (Some(head), Some(location)) = (found.head(), HistoryLocation::from_found(root, &found)) else {
        return Err(no_commit("it has no commit yet"));
    };
    let until = RequestDeadline { deadline: Instant::now() + TIME_MAX, cancelled };
    let hashed = rows.iter().filter_map(HashedFile::from_row).collect();
    let compared = Historian::open(&location, parsing, &until)
        .and_then(|mut historian| historian.compare(hashed, &until))
        .map_err(|error| match error {
            HistorianError::Cancelled => Fault::new(ErrorCode::Cancelled, "The comparison was cancelled."),
            HistorianError::Failed(why) => no_commit(&format!("its git history was not read: {why}")),
        })?;
    let CommitDifferences { mut differing, only_committed } = compared;
    // Files that the index omits, for example because they are binary or vendored, still exist.
    let folder = Folder::open(root).map_err(root_fault)?;
    let is_deleted = |path: &String| matches!(folder.open_file(path), Err(ReadError::NotFound));
    differing.extend(only_committed.into_iter().filter(is_deleted));
    differing.sort();
    Ok(IndexedCommit { id: head.commit.clone(), differing })
}

/// Returns the fault for an index without a commit, for a reason that completes the sentence.
fn no_commit(reason: &str) -> Fault {
    Fault::new(ErrorCode::IllegalState, format!("The index of the repository is of no commit: {reason}."))
        .with_hint("Index a commit of a git repository completely, then run again.")
}

/// Compares files with those of HEAD. `None` if the folders of the commit cannot be read.
pub(super) fn compare_files(history: &History, files: &[HashedFile<'_>]) -> Option<CommitDifferences> {
    let committed = history.committed_files()?;
    let is_same = |file: &HashedFile<'_>| {
        let bytes = committed.read(file.path, FILE_BYTES_MAX);
        bytes.is_some_and(|bytes| is_checked_out_as(&bytes, &file.hash))
    };
    let differing = files.iter().filter(|file| !is_same(file)).map(|file| file.path.to_owned()).collect();
    let indexed: HashSet<&str> = files.iter().map(|file| file.path).collect();
    let only_committed = committed.into_paths().filter(|path| !indexed.contains(path.as_str())).collect();
    Some(CommitDifferences { differing, only_committed })
}

/// Returns whether git checks a committed file out as one with this hash: unchanged, with the line ends of Windows, or from LFS storage.
fn is_checked_out_as(committed: &[u8], hash: &[u8; 32]) -> bool {
    let has_hash = |bytes: &[u8]| blake3::hash(bytes).as_bytes() == hash;
    has_hash(committed)
        || has_hash(&with_crlf(committed))
        || std::str::from_utf8(committed).is_ok_and(is_lfs_pointer)
}

fn with_crlf(bytes: &[u8]) -> Vec<u8> {
    let mut converted = Vec::with_capacity(bytes.len() + bytes.len() / 32);
    let mut previous = 0;
    for byte in bytes {
        if *byte == b'\n' && previous != b'\r' {
            converted.push(b'\r');
        }
        converted.push(*byte);
        previous = *byte;
    }
    converted
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_the_same_with_other_line_ends() {
        let hash = |text: &str| *blake3::hash(text.as_bytes()).as_bytes();
        let same = |committed: &str, file: &str| is_checked_out_as(committed.as_bytes(), &hash(file));
        assert!(same("a\nb\n", "a\nb\n") && same("a\nb\n", "a\r\nb\r\n") && same("a\r\nb\n", "a\r\nb\r\n"));
        assert!(!same("a\nb\n", "a\nb") && !same("a\n", "a\r") && !same("", "a"));
        let pointer = "version https://git-lfs.github.com/spec/v1\noid sha256:4d7a\nsize 12345\n";
        assert!(same(pointer, "the file itself"));
    }

    #[test]
    fn only_searchable_files_are_compared() {
        let row = |skipped: Option<&str>, hash: Vec<u8>| FileRow {
            id: 1,
            path: "a.rs".to_owned(),
            content_hash: hash,
            bytes: 1,
            modified_ns: 0,
            skipped: skipped.map(str::to_owned),
            chunks: 1,
            mode: "code".to_owned(),
            facts_missing: None,
            facts_tried_ms: 0,
        };
        assert!(HashedFile::from_row(&row(None, vec![7; 32])).is_some());
        assert!(HashedFile::from_row(&row(Some("binary"), vec![7; 32])).is_none());
        assert!(HashedFile::from_row(&row(None, Vec::new())).is_none());
    }
}
