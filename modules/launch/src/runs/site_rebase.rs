//! Rebases the changes of a run onto another commit of the base branch, if people changed nothing there that they depend on.

use code_hosts::forge::base_moved;
use contract::{Fault, escaped_line};
use history::{SiteError, SiteRepository};
use launch::gate::{Change, structure_issues};
use launch::site::{Site, SiteFiles, SiteLimits};
use serde_json::json;

use super::site::{Publishing, RunSite, allowed_changes, site_fault};

/// Maximum number of files in which the two commits may differ.
const MOVED_MAX: usize = 200_000;
/// Conflicts that are named.
const NAMED_MAX: usize = 10;

impl RunSite {
    /// Returns the tree of the base's head with the changes of a run.
    ///
    /// # Errors
    /// `COMMIT_SERVICE_ERROR` if people changed the same files since the run began, or what its pages link to; as [`RunSite::files`].
    pub(super) fn rebase(&self, run: &Publishing, head: &str) -> Result<String, Fault> {
        let repository = self.open()?;
        let (base_tree, paths) = allowed_changes(&repository, run)?;
        let head_tree = repository.tree_of(head).map_err(site_fault)?;
        let moved = repository.changed_paths(&base_tree, &head_tree, MOVED_MAX).map_err(site_fault)?;
        let both: Vec<String> =
            paths.iter().filter(|path| moved.binary_search(path).is_ok()).cloned().collect();
        if !both.is_empty() {
            return Err(self.conflict(run, head, &both));
        }
        let files = repository.changed_files(&base_tree, &run.site_tree, &paths).map_err(site_fault)?;
        let contents: Vec<(&str, &[u8])> =
            files.iter().map(|file| (file.path.as_str(), file.content.as_slice())).collect();
        let tree = repository.write_tree(&head_tree, &contents).map_err(|error| match error {
            SiteError::Blocked(path) => self.conflict(run, head, &[path]),
            error => site_fault(error),
        })?;
        let before = structure(&repository, &base_tree, &run.site_tree, &paths)?;
        let now = structure(&repository, &head_tree, &tree, &paths)?;
        let new: Vec<String> = now
            .into_iter()
            .filter(|(id, _)| before.iter().all(|(known, _)| known != id))
            .map(|(_, what)| what)
            .collect();
        if new.is_empty() { Ok(tree) } else { Err(self.conflict(run, head, &new)) }
    }

    /// The fault of a base on which the pages of a run do not fit any more.
    fn conflict(&self, run: &Publishing, head: &str, conflicts: &[String]) -> Fault {
        let named: Vec<String> = conflicts.iter().take(NAMED_MAX).map(|what| escaped_line(what)).collect();
        let mut fault = base_moved(&self.base, &run.site_sha, Some(head));
        fault.message = format!(
            "The branch `{}` of the site moved since the run began, and its pages do not fit there any more: {}.",
            self.base,
            named.join("; ").trim_end_matches('.')
        );
        fault.with_details(json!({
            "base": self.base,
            "expected": run.site_sha,
            "found": head,
            "conflicts": named,
            "conflict_count": conflicts.len(),
        }))
    }
}

/// Returns the faults in how the changed pages fit with the others: an id and a sentence each.
fn structure(
    repository: &SiteRepository,
    base_tree: &str,
    tree: &str,
    paths: &[String],
) -> Result<Vec<(String, String)>, Fault> {
    let (base, site) =
        (repository.files(base_tree).map_err(site_fault)?, repository.files(tree).map_err(site_fault)?);
    let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
    let change = |path: &String| Change {
        path: path.clone(),
        before: base.read(path).map(text),
        after: site.read(path).map(text).unwrap_or_default(),
    };
    let changes: Vec<Change> = paths.iter().map(change).collect();
    let site = Site::read(&Pages(&site), None, &SiteLimits::default());
    let issues = structure_issues(&site, &changes).into_iter();
    let described = |path: Option<String>, message: String| match path {
        Some(path) => format!("`{path}`: {message}"),
        None => message,
    };
    Ok(issues.map(|issue| (issue.issue_id, described(issue.path, issue.message))).collect())
}

/// The files of a tree as those of a site.
struct Pages<'t>(&'t history::SiteTree);

impl SiteFiles for Pages<'_> {
    fn paths(&self) -> Vec<String> {
        self.0.paths().map(str::to_owned).collect()
    }

    fn read(&self, path: &str) -> Option<Vec<u8>> {
        self.0.read(path)
    }
}
