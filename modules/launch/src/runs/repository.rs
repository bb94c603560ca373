//! The repository that a run is about: found among those that the project has indexed, and pinned to a commit.

use std::path::{Path, PathBuf};

use contract::{ErrorCode, Fault, ProjectId, RepositoryAddress, config, echo};
use engine::indexing::parser::Parsing;
use engine::indexing::tagged_commit;
use history::GitDirectory;
use launch::event::NOT_INDEXED;
use launch::origin::origin_url;
use launch::site_profiles::is_branch_name;
use serde_json::json;
use store::{Access, Project, ProjectTx, RepositoryRow, Store, repositories};
use tenancy::{AllowedRoots, RepositoryRoot};

use gate::app::{App, blocking};

/// Directories whose origin is looked at.
pub(super) const ORIGINS_MAX: usize = 200;
/// The host whose names have no case.
const GITHUB: &str = "github.com";
/// Largest git configuration that is read.
const CONFIG_BYTES_MAX: u64 = 256 << 10;

/// The repository of a run.
#[derive(Debug, Clone)]
pub enum RunRepository {
    /// One that an index run has read.
    Indexed(Box<RepositoryRow>),
    /// One that was fetched by its address, and that the run has indexed.
    Fetched {
        /// Its id, if an index run has begun to read it; else [`NOT_INDEXED`].
        id: i64,
        /// The commit that its host names.
        commit: String,
    },
}

/// All repositories of a project.
pub(super) async fn all_repositories(store: &Store, project: &Project) -> Result<Vec<RepositoryRow>, Fault> {
    let mut tx = ProjectTx::begin(store, project, Access::Search).await?;
    let rows = repositories::list(&mut tx).await?;
    tx.commit().await?;
    Ok(rows)
}

/// Finds the repository that `named` refers to, by its address, its name, its path, or the address that it was cloned from.
///
/// # Errors
/// `REPO_NOT_FOUND` with the names of the indexed repositories.
pub(super) async fn find(
    rows: Vec<RepositoryRow>,
    settings: &config::Indexing,
    project: &ProjectId,
    named: &str,
) -> Result<RepositoryRow, Fault> {
    let readable = rows.iter().filter(|row| row.is_readable());
    let names: Vec<String> = readable.map(|row| row.name.clone()).collect();
    find_if_any(rows, settings, project, named).await?.ok_or_else(|| {
        Fault::new(ErrorCode::RepoNotFound, format!("The project has no repository `{}`.", echo(named)))
            .with_details(json!({ "field": "github_repo_url", "repositories": names }))
            .with_hint("Index it with `build_index`, or name a repository that `index_status` shows.")
    })
}

/// As [`find`]; `None` if the project has no such repository.
///
/// # Errors
/// `INTERNAL` if directories cannot be looked at.
pub(super) async fn find_if_any(
    rows: Vec<RepositoryRow>,
    settings: &config::Indexing,
    project: &ProjectId,
    named: &str,
) -> Result<Option<RepositoryRow>, Fault> {
    let rows: Vec<RepositoryRow> = rows.into_iter().filter(RepositoryRow::is_readable).collect();
    let address = RepositoryAddress::parse(named).and_then(Result::ok);
    let root = address.as_ref().map_or(named, RepositoryAddress::as_str).trim_end_matches('/');
    if let Some(row) = rows.iter().find(|row| row.root == root || row.name == named) {
        return Ok(Some(row.clone()));
    }
    let Some(address) = address else { return Ok(None) };
    let is_meant = |root: &str| {
        let root = RepositoryAddress::parse(root).and_then(Result::ok);
        root.is_some_and(|root| is_same_repository(&root, &address))
    };
    if let Some(row) = rows.iter().find(|row| is_meant(&row.root)) {
        return Ok(Some(row.clone()));
    }
    let allowed = AllowedRoots::for_project(settings, project);
    blocking(move || {
        let mut folders = rows.into_iter().filter(RepositoryRow::is_folder).take(ORIGINS_MAX);
        Ok(folders.find(|row| {
            let origin = origin_of(Path::new(&row.root), &allowed);
            origin.is_some_and(|origin| is_same_repository(&origin, &address))
        }))
    })
    .await
}

/// Returns `true` if two addresses name one repository, regardless of the protocol.
fn is_same_repository(one: &RepositoryAddress, other: &RepositoryAddress) -> bool {
    let is_one_host = !one.host().is_empty() && one.host() == other.host();
    let is_one_path = match one.host() {
        GITHUB => one.path().eq_ignore_ascii_case(other.path()),
        _ => one.path() == other.path(),
    };
    one == other || (is_one_host && is_one_path)
}

/// The repository of a run by its id or, if no index run had begun when the run was started, by its address.
pub(super) async fn row_of_run(
    tx: &mut ProjectTx,
    repository_id: i64,
    address: &str,
) -> Result<Option<RepositoryRow>, Fault> {
    if repository_id == NOT_INDEXED {
        return repositories::get(tx, address).await;
    }
    repositories::with_id(tx, repository_id).await
}

/// Returns `true` if no index run of an address is complete, so that it is not known yet which commit will be indexed.
pub(super) fn awaits_first_run(row: &RepositoryRow) -> bool {
    row.is_remote() && row.indexed_ms.is_none()
}

/// The address that a directory was cloned from.
pub(super) fn origin_of(root: &Path, allowed: &AllowedRoots) -> Option<RepositoryAddress> {
    let directory = git_directory(&allowed.check(root).ok()?)?;
    let config = directory.read_common_file("config", CONFIG_BYTES_MAX).ok()?;
    RepositoryAddress::parse(&origin_url(&String::from_utf8_lossy(&config))?)?.ok()
}

/// Resolves a branch, a tag or a commit of a repository to a commit; without one, returns the commit that is indexed.
///
/// # Errors
/// `INVALID_INPUT` if the repository has no such commit.
pub(super) async fn pin(
    row: &RepositoryRow,
    app: &App,
    project: &ProjectId,
    reference: Option<&str>,
) -> Result<String, Fault> {
    let Some(reference) = reference else {
        return row
            .commit
            .clone()
            .ok_or_else(|| no_commit(row, "it is not a git repository, or not indexed yet"));
    };
    if is_commit(reference) {
        return Ok(reference.to_ascii_lowercase());
    }
    if !is_branch_name(reference) {
        return Err(no_commit(row, "`github_ref` is no commit and not the name of a branch or a tag"));
    }
    let found = if row.is_folder() {
        let (root, parsing) = (PathBuf::from(&row.root), app.parsing.clone());
        let allowed = AllowedRoots::for_project(&app.config.indexing, project);
        let name = reference.to_owned();
        blocking(move || Ok(read_reference(&root, &allowed, &parsing, &name))).await?
    } else {
        None
    };
    // Of a repository on another machine, only the indexed branch is known here.
    let indexed = || row.commit.clone().filter(|_| row.branch.as_deref() == Some(reference));
    found.or_else(indexed).ok_or_else(|| no_commit(row, "it has no such branch or tag"))
}

fn read_reference(root: &Path, allowed: &AllowedRoots, parsing: &Parsing, name: &str) -> Option<String> {
    let root = allowed.check(root).ok()?;
    let directory = git_directory(&root)?;
    let read = |folder: &str| directory.reference(&format!("refs/{folder}/{name}")).ok().flatten();
    read("heads").or_else(|| {
        let tag = read("tags")?;
        // Only the objects distinguish an annotated tag from a commit. An object that cannot be read is taken for a commit.
        tagged_commit(root.path(), &tag, allowed, parsing).or(Some(tag))
    })
}

/// Checks whether an index run makes the index one of this commit: it was of it when it was last looked at, or the commit is checked out.
pub(super) async fn can_be_indexed(
    row: &RepositoryRow,
    settings: &config::Indexing,
    project: &ProjectId,
    commit: &str,
) -> Result<bool, Fault> {
    if row.commit.as_deref() == Some(commit) {
        return Ok(true);
    }
    if !row.is_folder() {
        return Ok(false);
    }
    let (root, allowed) = (PathBuf::from(&row.root), AllowedRoots::for_project(settings, project));
    let checked_out = blocking(move || Ok(read_head(&root, &allowed))).await?;
    Ok(checked_out.as_deref() == Some(commit))
}

/// Refuses a commit that is neither indexed nor checked out: no run could read it.
///
/// # Errors
/// `INVALID_INPUT`.
pub(super) async fn require_indexable(
    row: &RepositoryRow,
    settings: &config::Indexing,
    project: &ProjectId,
    commit: &str,
) -> Result<(), Fault> {
    if can_be_indexed(row, settings, project, commit).await? {
        return Ok(());
    }
    let why = format!("{commit} is neither indexed nor checked out");
    Err(no_commit(row, &why).with_hint(
        "Check the commit out and index the repository, or leave `github_ref` out for the indexed commit.",
    ))
}

/// The commit that is checked out in a folder.
fn read_head(root: &Path, allowed: &AllowedRoots) -> Option<String> {
    let head = git_directory(&allowed.check(root).ok()?)?.head().ok()?;
    head.map(|head| head.commit)
}

fn git_directory(root: &RepositoryRoot) -> Option<GitDirectory> {
    GitDirectory::find(root.path(), &|path| root.allowed().contains(path)).ok()
}

fn is_commit(text: &str) -> bool {
    text.len() == 40 && text.bytes().all(|digit| digit.is_ascii_hexdigit())
}

fn no_commit(row: &RepositoryRow, why: &str) -> Fault {
    Fault::new(ErrorCode::InvalidInput, format!("The commit of `{}` is unknown: {why}.", echo(&row.name)))
        .with_details(
            json!({ "field": "github_ref", "indexed_branch": row.branch, "indexed_commit": row.commit }),
        )
        .with_hint(
            "Leave `github_ref` out for the indexed commit, or give a commit of 40 hexadecimal digits.",
        )
}
