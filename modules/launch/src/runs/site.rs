//! The site repository of a profile: its files at a commit, trees with changed files, and the forge on this machine.

use std::collections::BTreeMap;
use std::path::PathBuf;

use code_hosts::forge::{base_moved, foreign_branch, not_retryable};
use contract::clock::iso_seconds;
use contract::config::{LaunchSite, SiteLocation};
use contract::{ErrorCode, Fault, echo};
use history::{BranchCreated, ChangedFile, NewCommit, RootEntry, SiteError, SiteRepository, SiteTree};
use launch::allowed_paths::AllowedPaths;
use launch::published::page_sha256;
use launch::site::SiteFiles;
use launch::worker::SiteChange;
use platform::failpoints;
use serde_json::json;

use gate::app::App;

/// Name and email address of the author of the runs' commits.
pub(super) const AUTHOR: (&str, &str) = ("PairOfCleats", "launch@pairofcleats.invalid");

/// Commits of the base branch in which a page is looked for that is not there any more.
const COMMITS_MAX: usize = 5000;

/// The site of a run. All calls block.
#[derive(Debug, Clone)]
pub(super) struct RunSite {
    path: PathBuf,
    pub(super) base: String,
}

/// The files of a tree of the site.
pub(super) struct TreeFiles {
    tree: SiteTree,
    repository: SiteRepository,
    /// The commit that the run starts from.
    commit: String,
    /// The day of the commit that runs start from.
    date: Option<String>,
}

impl SiteFiles for TreeFiles {
    fn paths(&self) -> Vec<String> {
        self.tree.paths().map(str::to_owned).collect()
    }

    fn read(&self, path: &str) -> Option<Vec<u8>> {
        self.tree.read(path)
    }

    fn last_version(&self, path: &str) -> Option<Vec<u8>> {
        // If it cannot be found out, such as in a shallow clone, that is no reason to leave a page out.
        self.repository.last_version(&self.commit, path, COMMITS_MAX).ok().flatten()
    }

    fn date(&self) -> Option<String> {
        self.date.clone()
    }
}

/// The content of a run that is published.
#[derive(Debug, Clone)]
pub(super) struct Publishing {
    /// The commit of the site that the run began with.
    pub(super) site_sha: String,
    /// The tree of the patched site.
    pub(super) site_tree: String,
    /// The branch.
    pub(super) branch: String,
    /// Identifies the publication, however often it is tried.
    pub(super) key: String,
    /// The message of the commit.
    pub(super) message: String,
    /// The time of the commit, seconds since the epoch: the same however often it is tried.
    pub(super) time_s: i64,
    /// The paths that may be changed.
    pub(super) allowed_paths: AllowedPaths,
    /// Maximum number of changed files.
    pub(super) files_changed_max: usize,
}

/// The published commit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Published {
    /// The commit.
    pub(super) commit: String,
    /// The changed paths, sorted.
    pub(super) paths: Vec<String>,
    /// The pull request, if a forge opened one.
    pub(super) pull: Option<PullRequest>,
}

/// A pull request on a forge.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct PullRequest {
    /// The address where people read it.
    pub(super) url: String,
    /// Its number.
    pub(super) number: i64,
}

/// The changes of a run to the site, as a forge takes them.
pub(super) struct PublishedContent {
    /// The tree of the commit that the run began with.
    pub(super) base_tree: String,
    /// The changed files, by path.
    pub(super) files: Vec<ChangedFile>,
    /// The topmost entries of the patched tree.
    pub(super) root: Vec<RootEntry>,
}

impl RunSite {
    /// The site of a profile.
    pub(super) fn new(app: &App, profile: &LaunchSite) -> Self {
        let path = match profile.location() {
            SiteLocation::Directory(path) => path,
            SiteLocation::Address(address) => app.mirrors().git_dir(&address),
        };
        Self { path, base: profile.base.clone() }
    }

    pub(super) fn open(&self) -> Result<SiteRepository, Fault> {
        SiteRepository::open(&self.path).map_err(site_fault)
    }

    /// The commit that runs start from.
    ///
    /// # Errors
    /// `COMMIT_SERVICE_ERROR` if the repository cannot be read or has no such branch.
    pub(super) fn head(&self) -> Result<String, Fault> {
        self.open()?.branch(&self.base).map_err(site_fault)?.ok_or_else(|| {
            let message = format!("The site has no branch `{}`.", echo(&self.base));
            not_retryable(message).with_hint("The operator names the branch as `base` of the site profile.")
        })
    }

    /// Returns `true` if the repository has a commit with all of its folders.
    ///
    /// # Errors
    /// `COMMIT_SERVICE_ERROR` if the repository cannot be read.
    pub(super) fn has(&self, commit: &str) -> Result<bool, Fault> {
        let repository = self.open()?;
        match repository.tree_of(commit).and_then(|tree| repository.files(&tree)) {
            Ok(_) => Ok(true),
            Err(SiteError::Damaged(_)) => Ok(false),
            Err(error) => Err(site_fault(error)),
        }
    }

    /// Returns `true` if the repository has a branch.
    ///
    /// # Errors
    /// `COMMIT_SERVICE_ERROR` if the repository cannot be read.
    pub(super) fn has_branch(&self, name: &str) -> Result<bool, Fault> {
        Ok(self.open()?.branch(name).map_err(site_fault)?.is_some())
    }

    /// The files of a commit or, with a tree, of that tree.
    ///
    /// # Errors
    /// `ILLEGAL_STATE` with `worktree_missing` if objects are missing; `COMMIT_SERVICE_ERROR`.
    pub(super) fn files(&self, commit: &str, tree: Option<&str>) -> Result<TreeFiles, Fault> {
        let repository = self.open()?;
        let files = match tree {
            Some(tree) => repository.complete_files(tree),
            None => repository.tree_of(commit).and_then(|tree| repository.files(&tree)),
        };
        let tree = files.map_err(site_fault)?;
        let committed_s = repository.committed_s(commit).map_err(site_fault)?;
        let date = iso_seconds(committed_s).split('T').next().map(str::to_owned);
        Ok(TreeFiles { tree, repository, commit: commit.to_owned(), date })
    }

    /// The paths in which a tree differs from a commit, sorted.
    ///
    /// # Errors
    /// As [`RunSite::files`]; also if there are more than `paths_max`.
    pub(super) fn changed(&self, commit: &str, tree: &str, paths_max: usize) -> Result<Vec<String>, Fault> {
        let repository = self.open()?;
        let base = repository.tree_of(commit).map_err(site_fault)?;
        repository.changed_paths(&base, tree, paths_max).map_err(site_fault)
    }

    /// Returns the hashes of those of these pages of a tree that are text.
    ///
    /// # Errors
    /// As [`RunSite::files`].
    pub(super) fn page_hashes(
        &self,
        tree: &str,
        paths: &[String],
    ) -> Result<BTreeMap<String, String>, Fault> {
        let files = self.open()?.files(tree).map_err(site_fault)?;
        let hash = |path: &String| {
            let text = String::from_utf8(files.read(path)?).ok()?;
            Some((path.clone(), page_sha256(&text)))
        };
        Ok(paths.iter().filter_map(hash).collect())
    }

    /// Returns the tree of the site with these changed files, and their paths, sorted.
    ///
    /// # Errors
    /// `ALLOWED_PATHS_VIOLATION` if one lies outside the allowed paths, or a link is on its way; as [`RunSite::files`].
    pub(super) fn apply(
        &self,
        (commit, tree): (&str, Option<&str>),
        changes: &[SiteChange],
        allowed_paths: &AllowedPaths,
    ) -> Result<(String, Vec<String>), Fault> {
        allowed_paths.require(changes.iter().map(|change| change.path.as_str()))?;
        let repository = self.open()?;
        let base = match tree {
            Some(tree) => tree.to_owned(),
            None => repository.tree_of(commit).map_err(site_fault)?,
        };
        let files: Vec<(&str, &[u8])> =
            changes.iter().map(|change| (change.path.as_str(), change.bytes.as_slice())).collect();
        let patched = repository.write_tree(&base, &files).map_err(|error| match error {
            SiteError::Blocked(path) => allowed_paths.violation(&path, BLOCKED),
            error => site_fault(error),
        })?;
        let mut paths: Vec<String> = changes.iter().map(|change| change.path.clone()).collect();
        paths.sort();
        paths.dedup();
        Ok((patched, paths))
    }

    /// Publishes a run as a branch of the site's repository. It looks before it acts: the results of an interrupted attempt are used.
    ///
    /// # Errors
    /// `ALLOWED_PATHS_VIOLATION` if the tree differs from the commit outside the allowed paths; `COMMIT_SERVICE_ERROR` if the base moved or the
    /// branch is another one's.
    pub(super) fn publish(&self, run: &Publishing) -> Result<Published, Fault> {
        let repository = self.open()?;
        let (_, paths) = allowed_changes(&repository, run)?;
        let own = |commit: &str| -> Result<bool, Fault> {
            Ok(repository.tree_of(commit).map_err(site_fault)? == run.site_tree)
        };
        if let Some(other) = repository.conflicting_branch(&run.branch).map_err(site_fault)? {
            return Err(conflicting_branch(&run.branch, &other));
        }
        if let Some(commit) = repository.branch(&run.branch).map_err(site_fault)? {
            return if own(&commit)? {
                Ok(Published { commit, paths, pull: None })
            } else {
                Err(foreign_branch(&run.branch))
            };
        }
        let head = repository.branch(&self.base).map_err(site_fault)?;
        if head.as_deref() != Some(&run.site_sha) {
            return Err(base_moved(&self.base, &run.site_sha, head.as_deref()));
        }
        let commit = NewCommit {
            tree: &run.site_tree,
            parent: &run.site_sha,
            name: AUTHOR.0,
            email: AUTHOR.1,
            time_s: run.time_s,
            message: &run.message,
        };
        let commit = repository.write_commit(&commit).map_err(site_fault)?;
        failpoints::reach("launch.objects_written");
        let created = repository.create_branch(&run.branch, &commit).map_err(site_fault)?;
        failpoints::reach("launch.branch_created");
        match created {
            BranchCreated::New => Ok(Published { commit, paths, pull: None }),
            BranchCreated::Exists(commit) if own(&commit)? => Ok(Published { commit, paths, pull: None }),
            BranchCreated::Exists(_) => Err(foreign_branch(&run.branch)),
            BranchCreated::Blocked(other) => Err(conflicting_branch(&run.branch, &other)),
        }
    }

    /// Returns the content that a forge needs to publish a run.
    ///
    /// # Errors
    /// As [`RunSite::publish`].
    pub(super) fn content(&self, run: &Publishing) -> Result<PublishedContent, Fault> {
        let repository = self.open()?;
        let (base_tree, paths) = allowed_changes(&repository, run)?;
        let files = repository.changed_files(&base_tree, &run.site_tree, &paths).map_err(site_fault)?;
        let root = repository.root_entries(&run.site_tree).map_err(site_fault)?;
        Ok(PublishedContent { base_tree, files, root })
    }
}

/// The tree of the commit that a run began with, and the paths in which the patched tree differs from it: all of them within the allowed paths.
pub(super) fn allowed_changes(
    repository: &SiteRepository,
    run: &Publishing,
) -> Result<(String, Vec<String>), Fault> {
    let base_tree = repository.tree_of(&run.site_sha).map_err(site_fault)?;
    let paths =
        repository.changed_paths(&base_tree, &run.site_tree, run.files_changed_max).map_err(site_fault)?;
    run.allowed_paths.require(paths.iter().map(String::as_str))?;
    Ok((base_tree, paths))
}

/// The reason why a path cannot be changed although the allowed paths admit it.
const BLOCKED: &str = "a link, a submodule or a file is on the way to it";

/// The fault of a branch that git does not allow beside another one, because one would be a folder of the other.
fn conflicting_branch(branch: &str, other: &str) -> Fault {
    let other = echo(other);
    not_retryable(format!("The site has a branch `{other}`, so it cannot have the branch `{branch}`."))
        .with_details(json!({ "branch": branch, "conflicting_branch": other }))
        .with_hint("Look at the branch; if it is not needed, rename or delete it and call again.")
}

/// The fault of a site that cannot be used.
pub(super) fn site_fault(error: SiteError) -> Fault {
    match error {
        SiteError::Damaged(_) => {
            Fault::new(ErrorCode::IllegalState, "Objects of the site that the run needs are missing.")
                .with_details(json!({ "worktree_missing": true }))
                .with_hint(
                    "Cancel this run and start another one; `git gc` may have removed what it had written.",
                )
                .with_source(error)
        }
        SiteError::Blocked(path) => {
            let message = format!("`{}` of the site must not be changed: {BLOCKED}.", echo(&path));
            Fault::new(ErrorCode::AllowedPathsViolation, message)
        }
        SiteError::Io(_) => Fault::new(
            ErrorCode::CommitServiceError,
            "The site's repository cannot be used right now.",
        )
        .with_hint(
            "The operator finds the cause in the server's log: permissions, or a full disk, for example.",
        )
        .with_source(error),
        SiteError::NotRepository(_) | SiteError::TooLarge => {
            not_retryable(format!("The site's repository cannot be used: {}.", public(&error)))
                .with_hint("The operator names a bare git repository as `repository` of the site profile.")
                .with_source(error)
        }
    }
}

/// Returns the part of a problem that a caller may see: no path of this machine.
fn public(error: &SiteError) -> &'static str {
    match error {
        SiteError::TooLarge => "it has too many files, or the run changes too many",
        _ => "it is no bare git repository that can be read",
    }
}
